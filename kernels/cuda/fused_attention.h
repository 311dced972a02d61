/* fused_attention.h - FusedAttention: what fused_attention.c asks of fused_attention.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_FUSED_ATTENTION_H
#define TORT_KERNELS_CUDA_FUSED_ATTENTION_H

#include "kernels/cuda/claims.h"
#include "ops/fused_attention.h"

enum { GPU_ATTENTION_SIZE = 128 }; /* the most elements of a key or value */

/* Types are those of q, but for keep; what a node does not have is NULL. */
typedef struct gpu_fused_attention {
    tort_fused_attention_params params;
    const void *q, *k, *v, *mask;
    const uint8_t *keep;
    void *y;
} gpu_fused_attention;

#ifdef CUDA_DEVICE
#ifdef __cplusplus
extern "C" {
#endif
cudaError_t gpu_run_fused_attention(gpu_stream stream, gpu_type type, const gpu_fused_attention *attention);
cudaError_t gpu_load_fused_attention(gpu_type type);
#ifdef __cplusplus
}
#endif
#endif

#endif
