/* cumulative.h - interface between cumulative.c and cumulative.cu: prefix sums and products. Plain C. */
#ifndef TORT_KERNELS_CUDA_CUMULATIVE_H
#define TORT_KERNELS_CUDA_CUMULATIVE_H

#include "kernels/cuda/number.h"
#include "kernels/cuda/claims.h"

/* Views x and y as [outer, length, inner]. */
typedef struct gpu_cumulative {
    size_t outer, length, inner;
    bool product, exclusive, reverse;
} gpu_cumulative;

#ifdef CUDA_DEVICE
#ifdef __cplusplus
extern "C" {
#endif
/* All types but bool. */
cudaError_t gpu_run_cumulative(gpu_stream stream, gpu_number type, const gpu_cumulative *cumulative, const void *x,
                               void *y);
cudaError_t gpu_load_cumulative(gpu_number type);
#ifdef __cplusplus
}
#endif
#endif

#endif
