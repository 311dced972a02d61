/* reduce.h - reductions over axes: arguments and launchers of reduce.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_REDUCE_H
#define TORT_KERNELS_CUDA_REDUCE_H

#include "kernels/cuda/broadcast.h"
#include "kernels/cuda/number.h"
#include "kernels/cuda/tiling.h"

typedef enum gpu_reduction {
    GPU_REDUCE_SUM,
    GPU_REDUCE_MEAN,
    GPU_REDUCE_MAX,
    GPU_REDUCE_MIN,
    GPU_REDUCE_PROD,
    GPU_REDUCE_L1,
    GPU_REDUCE_L2,
    GPU_REDUCE_LOG_SUM,
    GPU_REDUCE_LOG_SUM_EXP,
    GPU_REDUCE_SUM_SQUARE,
    GPU_REDUCTION_COUNT
} gpu_reduction;

/* Offsets of inputs: output i combines the elements kept(i) + reduced(j) for all j; operand 0 of both loops. */
typedef struct gpu_reduce {
    gpu_loop kept, reduced;
    bool columns;    /* neighbouring outputs read neighbouring inputs */
    int64_t parts;   /* blocks that share the elements of columns in packs; the last to arrive joins them */
    gpu_parts joint; /* of several parts: gpu_reduce_scratch bytes, and a counter for each block of columns */
} gpu_reduce;

/* Columns of a block that reads packs of 16 bytes, and rows of its threads. */
enum { GPU_REDUCE_BYTES = 128, GPU_REDUCE_SLICES = 32 };

/* Blocks of columns of elements of so many bytes; bytes of scratch memory: a float for each column and part. */
static inline int64_t gpu_reduce_blocks(int64_t columns, int64_t element_bytes) {
    return gpu_pieces(columns, GPU_REDUCE_BYTES / element_bytes);
}
static inline size_t gpu_reduce_scratch(int64_t columns, int64_t element_bytes, int64_t parts) {
    const int64_t across = GPU_REDUCE_BYTES / element_bytes * (int64_t)sizeof(float);
    return parts > 1 ? (size_t)(gpu_reduce_blocks(columns, element_bytes) * parts * across) : 0;
}

GPU_LAUNCHER gpu_run_reduce(gpu_stream stream, gpu_reduction kind, gpu_number type, const gpu_reduce *reduce,
                            const void *x, void *y);
/* Loads the forms for rows and for columns: shapes are not known yet. */
GPU_LAUNCHER gpu_load_reduce(gpu_reduction kind, gpu_number type);

#endif
