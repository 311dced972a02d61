/* fused_attention.c - row and claim of FusedAttention, which is one launch. Shapes and strides are decoded by
 * ops/fused_attention.c. Kernel: fused_attention.cu. */
#include "kernels/cuda/fused_attention.h"

static tort_verdict claim_attention(const tort_target *target, const tort_node_view *node) {
    const tort_fused_attention_params *p = node->params;
    if (p->key_size < 0 || p->value_size < 0)
        return tort_no(TORT_NO_DYNAMIC, "", "it is not known how many elements a key and a value have");
    if (p->key_size > GPU_ATTENTION_SIZE || p->value_size > GPU_ATTENTION_SIZE)
        return tort_no(TORT_NO_SHAPE, "", "keys have %lld elements and values %lld, the kernel takes up to %d",
                       (long long)p->key_size, (long long)p->value_size, GPU_ATTENTION_SIZE);
    return tort_cuda_claim_float(target, node);
}

#ifdef CUDA_DEVICE
static tort_status prepare_attention(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_fused_attention(gpu_type_of(p->node->inputs[0].type)));
}

static tort_status run_attention(const tort_call *call) {
    const gpu_fused_attention attention = {.params = *(const tort_fused_attention_params *)call->params,
                                           .q = cuda_input(call, TORT_ATTENTION_Q),
                                           .k = cuda_input(call, TORT_ATTENTION_K),
                                           .v = cuda_input(call, TORT_ATTENTION_V),
                                           .mask = cuda_input(call, TORT_ATTENTION_MASK),
                                           .keep = cuda_input(call, TORT_ATTENTION_KEEP),
                                           .y = call->outputs[0].data};
    return cuda_launched(call,
                         gpu_run_fused_attention(cuda_stream_of(call), gpu_type_of(call->inputs[0].type), &attention));
}
#endif

const tort_kernel tort_cuda_fused_attention_kernels[] = {
    {.domain = "tinyort",
     .op = "FusedAttention",
     .name = "fused_attention",
     .claim = claim_attention,
     .strided = 1u << TORT_ATTENTION_Q | 1u << TORT_ATTENTION_K | 1u << TORT_ATTENTION_V,
     .restride = tort_attention_restride,
     .prepare = CUDA_ONLY(prepare_attention),
     .run = CUDA_ONLY(run_attention)},
    {.op = NULL},
};
