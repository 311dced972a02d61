/* scatter.h - updates by index: what scatter.c asks of scatter.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_SCATTER_H
#define TORT_KERNELS_CUDA_SCATTER_H

#include "kernels/cuda/gather.h"
#include "kernels/cuda/number.h"
#include "ops/scatter.h"

/* Update u is `inner` elements that go to a slice of the output; they are applied in the order of u. */
typedef struct gpu_scatter {
    tort_scatter_reduction reduction;
    gpu_number type;     /* of a reduction; replacing goes by size */
    bool tuples;         /* nd says where, else elements */
    size_t count, inner; /* of updates, of the elements of each */
    size_t length, tail; /* the updates' elements as [lanes, length, tail]: only those of one lane and place of the
                            tail may meet */
    size_t slices;       /* in the output */
    const void *updates;
    unsigned long long *last; /* replacing: scratch, one a slice */
    gpu_elements elements;
    tort_gather_nd_params nd;
} gpu_scatter;

static inline bool gpu_has_scatter(tort_scatter_reduction reduction, gpu_number type) {
    return reduction == TORT_SCATTER_REPLACE || type <= GPU_NUMBER_UINT64;
}

#ifdef CUDA_DEVICE
#ifdef __cplusplus
extern "C" {
#endif
/* The output holds the data already. */
cudaError_t gpu_run_scatter(gpu_stream stream, const gpu_indexing *call, const gpu_scatter *scatter);
cudaError_t gpu_load_scatter(const gpu_indexing *call, const gpu_scatter *scatter);
#ifdef __cplusplus
}
#endif
#endif

#endif
