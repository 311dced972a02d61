/* traffic_kernels.h - kernels whose traffic is known by hand; see traffic_kernels.cu. */
#ifndef TESTS_CUDASIM_TRAFFIC_KERNELS_H
#define TESTS_CUDASIM_TRAFFIC_KERNELS_H

#include "kernels/cuda/cuda_api.h"

/* Runs on so many threads (a multiple of 256), one of them an element of y. x holds 64 floats for each, y 16. */
struct TrafficKernel {
    const char *name;
    cudaError_t (*launch)(const float *x, float *y, unsigned threads);
    double reads, writes; /* bytes requested by a thread */
    double sectors;       /* of a warp, all its accesses together */
    double conflicts;     /* of a warp */
};
extern const TrafficKernel traffic_kernels[]; /* ends with a NULL name */

#endif
