/* linear_attention.c - rows of LinearAttention and CausalConvWithState. Kernels: linear_attention.cu. */
#include "kernels/cuda/linear_attention.h"

enum { QUERY, KEY, VALUE, PAST, DECAY, BETA }; /* inputs of LinearAttention */

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_linear_params *p = node->params;
    if (p->key_size <= GPU_LINEAR_KEY_SIZE) return tort_cuda_claim_real(target, node);
    return tort_no(TORT_NO_SHAPE, "", "keys of %lld elements, the kernel takes up to %d", (long long)p->key_size,
                   GPU_LINEAR_KEY_SIZE);
}

#ifdef CUDA_DEVICE
static tort_status prepare_linear(tort_prepare *p) {
    const tort_type type = p->node->inputs[QUERY].type,
                    state = tort_has_input(p->node, PAST) ? p->node->inputs[PAST].type : type;
    return cuda_loaded(p, gpu_load_linear_attention(gpu_type_of(type), gpu_type_of(state)));
}

static tort_status run_linear(const tort_call *call) {
    const gpu_linear_attention p = {.params = *(const tort_linear_params *)call->params,
                                    .query = call->inputs[QUERY].data,
                                    .key = call->inputs[KEY].data,
                                    .value = call->inputs[VALUE].data,
                                    .past = cuda_input(call, PAST),
                                    .decay = cuda_input(call, DECAY),
                                    .beta = cuda_input(call, BETA),
                                    .y = call->outputs[0].data,
                                    .present = cuda_output(call, 1)};
    const tort_type state = p.past ? call->inputs[PAST].type : call->inputs[QUERY].type;
    return cuda_launched(call, gpu_run_linear_attention(cuda_stream_of(call), gpu_type_of(call->inputs[QUERY].type),
                                                        gpu_type_of(state), &p));
}

static tort_status prepare_causal(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_causal_conv(gpu_type_of(p->node->inputs[0].type)));
}

static tort_status run_causal(const tort_call *call) {
    const gpu_causal_conv p = {.params = *(const tort_causal_params *)call->params,
                               .x = call->inputs[0].data,
                               .w = call->inputs[1].data,
                               .bias = cuda_input(call, 2),
                               .past = cuda_input(call, 3),
                               .y = call->outputs[0].data,
                               .present = cuda_output(call, 1)};
    return cuda_launched(call, gpu_run_causal_conv(cuda_stream_of(call), gpu_type_of(call->inputs[0].type), &p));
}
#endif

const tort_kernel tort_cuda_linear_attention_kernels[] = {
    {"", "LinearAttention", "linear_attention", .claim = claim, .prepare = CUDA_ONLY(prepare_linear),
     .run = CUDA_ONLY(run_linear)},
    {"", "CausalConvWithState", "causal_conv", .claim = tort_cuda_claim_real, .prepare = CUDA_ONLY(prepare_causal),
     .run = CUDA_ONLY(run_causal)},
    {.op = NULL},
};
