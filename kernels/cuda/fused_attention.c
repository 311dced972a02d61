/* fused_attention.c - row and claim of FusedAttention, which is one launch, as in heads.c. ops/fused_attention.c
 * decodes shapes and strides. Kernels: attend_mma.cu, attend_float.cu. */
#include "ops/fused_attention.h"
#include "kernels/cuda/heads.h"

static tort_verdict claim_attention(const tort_target *target, const tort_node_view *node) {
    const tort_heads_params *p = node->params;
    const tort_verdict verdict = tort_cuda_claim_attend(p->key_size, p->value_size);
    return verdict.code == TORT_YES ? tort_cuda_claim_attend_type(target, node) : verdict;
}

const tort_kernel tort_cuda_fused_attention_kernels[] = {
    {"tinyort", "FusedAttention", "fused_attention", .claim = claim_attention, .size = tort_cuda_size_heads,
     .strides.inputs = 1u << TORT_HEADS_QUERY | 1u << TORT_HEADS_KEY | 1u << TORT_HEADS_VALUE,
     .strides.restride = tort_attention_restride, .prepare = CUDA_ONLY(cuda_prepare_heads),
     .run = CUDA_ONLY(cuda_run_heads)},
    {.op = NULL},
};
