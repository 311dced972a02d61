/* scatter.h - updates by index: arguments and launchers of scatter.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_SCATTER_H
#define TORT_KERNELS_CUDA_SCATTER_H

#include "kernels/cuda/gather.h"
#include "kernels/cuda/number.h"
#include "ops/scatter.h"

/* Update u consists of `inner` elements for a slice of the output; updates apply in the order of u. */
typedef struct gpu_scatter {
    tort_scatter_reduction reduction;
    gpu_number type;     /* of combined elements; replacing goes by size */
    bool tuples;         /* targets are given by nd, otherwise by elements */
    size_t count, inner; /* updates; elements of each */
    size_t length, tail; /* updates' elements as [lanes, length, tail]: only those of the same lane and tail index may
                            hit the same element */
    size_t slices;       /* in the output */
    const void *updates;
    unsigned long long *last; /* replacing: scratch, one per slice */
    gpu_elements elements;
    tort_gather_nd_params nd;
} gpu_scatter;

static inline bool gpu_has_scatter(tort_scatter_reduction reduction, gpu_number type) {
    return reduction == TORT_SCATTER_REPLACE || type <= GPU_NUMBER_UINT64;
}

/* The output must already hold a copy of data. */
GPU_LAUNCHER gpu_run_scatter(gpu_stream stream, const gpu_indexing *call, const gpu_scatter *scatter);
GPU_LAUNCHER gpu_load_scatter(const gpu_indexing *call, const gpu_scatter *scatter);

#endif
