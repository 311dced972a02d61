/* reduce.h - reductions over axes: arguments and launchers of reduce.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_REDUCE_H
#define TORT_KERNELS_CUDA_REDUCE_H

#include "kernels/cuda/broadcast.h"
#include "kernels/cuda/number.h"

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
    bool columns; /* neighbouring outputs read neighbouring inputs */
} gpu_reduce;

GPU_LAUNCHER gpu_run_reduce(gpu_stream stream, gpu_reduction kind, gpu_number type, const gpu_reduce *reduce,
                            const void *x, void *y);
/* Loads the forms for rows and for columns: shapes are not known yet. */
GPU_LAUNCHER gpu_load_reduce(gpu_reduction kind, gpu_number type);

#endif
