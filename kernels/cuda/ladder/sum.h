/* sum.h - the sum of a list in five steps, from atomics to the scheme of reduce.cu: sum.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_LADDER_SUM_H
#define TORT_KERNELS_CUDA_LADDER_SUM_H

#include <stdint.h>

#include "kernels/cuda/stream.h"

enum { LADDER_SUM_STEPS = 5, LADDER_SUM_BLOCKS = 64 };

/* *y = sum of `count` floats, a multiple of 256, by step 1 to LADDER_SUM_STEPS. Before a call *y is 0; step 5 uses room
 * for LADDER_SUM_BLOCKS floats, and a counter that is 0 before and after. */
GPU_LAUNCHER ladder_sum(gpu_stream stream, int step, const float *x, int count, float *y, float *room,
                        uint32_t *counter);

#endif
