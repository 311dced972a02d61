/* attention.h - softmax(Q * K' / 8) * V of one head in three steps, from scores in memory to the scheme of
 * attend_mma.cu: attention.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_LADDER_ATTENTION_H
#define TORT_KERNELS_CUDA_LADDER_ATTENTION_H

#include "kernels/cuda/stream.h"

enum { LADDER_ATTENTION_STEPS = 3, LADDER_HEAD = 64, LADDER_MAX_KEYS = 4096 };

/* Rows of LADDER_HEAD halves: `queries` of q and y, `keys` of k and v, both multiples of 64; keys up to
 * LADDER_MAX_KEYS. scores: room for queries * keys floats, which step 1 needs. */
GPU_LAUNCHER ladder_attention(gpu_stream stream, int step, const void *q, const void *k, const void *v, void *y,
                              float *scores, int queries, int keys);

#endif
