/* pool_any.h - pools of the general form: arguments and launchers of pool_any.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_POOL_ANY_H
#define TORT_KERNELS_CUDA_POOL_ANY_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/number.h"
#include "ops/pool.h"

/* Element types: those of gpu_type, then 8-bit integers, for maxima only. */
enum { GPU_POOL_INT8 = GPU_TYPE_COUNT, GPU_POOL_UINT8, GPU_POOL_TYPES };

typedef struct gpu_any_pool {
    tort_pool_params params;
    size_t count, plane, output_plane; /* of Y; of a plane of X and of Y */
    const void *x;
    void *y;
    int64_t *indices; /* may be NULL */
} gpu_any_pool;

GPU_LAUNCHER gpu_run_any_pool(gpu_stream stream, int type, const gpu_any_pool *pool);
GPU_LAUNCHER gpu_load_any_pool(int type);

#endif
