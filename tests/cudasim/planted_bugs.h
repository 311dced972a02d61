/* planted_bugs.h - kernels and host code with one planted bug each, by name; see planted_bugs.cu. */
#ifndef TESTS_CUDASIM_PLANTED_BUGS_H
#define TESTS_CUDASIM_PLANTED_BUGS_H

#include "kernels/cuda/cuda_api.h"

/* What a bug may use. Device 0's unless said otherwise. */
struct PlantedBuffers {
    float *y;       /* 100 floats of poison, where the output goes */
    float *x;       /* 256 ones */
    float *host;    /* 256 ones in host memory */
    float *foreign; /* 256 floats on device 1 */
};

struct PlantedBug {
    const char *name;
    cudaError_t (*act)(const PlantedBuffers *buffers);
    int outputs; /* floats of y that it writes */
};
extern const PlantedBug planted_bugs[]; /* ends with a NULL name */

#endif
