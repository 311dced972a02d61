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

/* All types but bool. */
GPU_LAUNCHER gpu_run_cumulative(gpu_stream stream, gpu_number type, const gpu_cumulative *cumulative, const void *x,
                                void *y);
GPU_LAUNCHER gpu_load_cumulative(gpu_number type);

#endif
