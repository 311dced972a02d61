/* pool.h - pooling over one or two spatial axes: arguments and launchers of pool.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_POOL_H
#define TORT_KERNELS_CUDA_POOL_H

#include "kernels/cuda/number.h"
#include "kernels/cuda/plane_tiles.h"
#include "kernels/cuda/window.h"

typedef struct gpu_pool {
    gpu_window window;
    int64_t planes;         /* batch * channels */
    bool maximum;           /* false: average */
    bool count_include_pad; /* divisor of an average counts padding */
    bool tiled;             /* tiles are chosen, and every coordinate fits an int */
    gpu_plane_tiles tiles;
} gpu_pool;

/* Floating-point types, int8 and uint8. */
GPU_LAUNCHER gpu_run_pool(gpu_stream stream, gpu_number type, const gpu_pool *p, const void *x, void *y);
GPU_LAUNCHER gpu_load_pool(gpu_number type);
/* The average or maximum of all `pixels` of a plane, one block per plane. */
GPU_LAUNCHER gpu_run_global_pool(gpu_stream stream, gpu_type type, bool maximum, size_t planes, size_t pixels,
                                 const void *x, void *y);
GPU_LAUNCHER gpu_load_global_pool(gpu_type type);

#endif
