/* where.h - elementwise choice between two tensors: launchers of where.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_WHERE_H
#define TORT_KERNELS_CUDA_WHERE_H

#include "kernels/cuda/broadcast.h"

/* out = condition ? x : y, operands 0, 1 and 2 of the loop; elements of 1, 2, 4 or 8 bytes. */
GPU_LAUNCHER gpu_run_where(gpu_stream stream, int element_bytes, const gpu_loop *loop, const void *condition,
                           const void *x, const void *y, void *out);
GPU_LAUNCHER gpu_load_where(int element_bytes);

#endif
