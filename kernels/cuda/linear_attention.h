/* linear_attention.h - interface between linear_attention.c and linear_attention.cu: layers that carry a state from
 * token to token. Plain C. */
#ifndef TORT_KERNELS_CUDA_LINEAR_ATTENTION_H
#define TORT_KERNELS_CUDA_LINEAR_ATTENTION_H

#include "kernels/cuda/claims.h"
#include "ops/linear_attention.h"

enum { GPU_LINEAR_KEY_SIZE = 256 }; /* max: a thread has an eighth of a column of the state in registers */

typedef struct gpu_linear_attention {
    tort_linear_params params;
    const void *query, *key, *value, *past, *decay, *beta; /* past, decay and beta may be NULL */
    void *y, *present;
} gpu_linear_attention;

/* state: type of past and present, float, half or bfloat16, as `type` of the others. */
GPU_LAUNCHER gpu_run_linear_attention(gpu_stream stream, gpu_type type, gpu_type state, const gpu_linear_attention *p);
GPU_LAUNCHER gpu_load_linear_attention(gpu_type type, gpu_type state);

typedef struct gpu_causal_conv {
    tort_causal_params params;
    const void *x, *w, *bias, *past; /* bias and past may be NULL */
    void *y, *present;
} gpu_causal_conv;

GPU_LAUNCHER gpu_run_causal_conv(gpu_stream stream, gpu_type type, const gpu_causal_conv *p);
GPU_LAUNCHER gpu_load_causal_conv(gpu_type type);

#endif
