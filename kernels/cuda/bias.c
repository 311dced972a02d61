/* bias.c - rows of com.microsoft's BiasAdd, BiasDropout (inference), BiasGelu, BiasSplitGelu, FastGelu with a bias, and
 * BiasSoftmax; SwiGLU. Kernel: bias.cu. */
#include "kernels/cuda/bias.h"

#include "ops/activation.h"
#include "ops/microsoft/bias.h"

/* Claims FastGelu with a bias; a row of unary.c serves it without. */
static tort_verdict claim_fast_gelu(const tort_target *target, const tort_node_view *node) {
    if (!tort_has_input(node, 1)) return tort_no(TORT_NO_ATTR, "", "is for a bias, the node has none");
    return tort_cuda_claim_real(target, node);
}

#ifdef CUDA_DEVICE
static tort_status prepare_bias(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_bias(gpu_type_of(p->node->inputs[0].type)));
}

/* Runs rows whose variant is a gpu_bias_function. Only sums have a third input, and only BiasDropout a second output.
 */
static tort_status run(const tort_call *call) {
    const gpu_bias_function function = (gpu_bias_function)call->kernel->variant;
    const tort_bias_params *params = call->params;
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const gpu_bias bias = {.function = function,
                           .count = (size_t)tort_count(y),
                           .columns = (size_t)params->columns,
                           .x = x->data,
                           .bias = call->inputs[1].data,
                           .skip = function == GPU_BIAS_SUM ? cuda_input(call, 2) : NULL,
                           .y = y->data,
                           .mask = cuda_output(call, 1)};
    return cuda_launched(call, gpu_run_bias(cuda_stream_of(call), gpu_type_of(x->type), &bias));
}

static tort_status prepare_softmax(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_bias_softmax(gpu_type_of(p->node->inputs[0].type)));
}

static tort_status run_softmax(const tort_call *call) {
    const tort_bias_softmax_params *params = call->params;
    const tort_tensor *x = &call->inputs[0];
    if (tort_count(x) == 0) return TORT_OK;
    const gpu_bias_softmax softmax = {.lanes = (size_t)params->lanes,
                                      .length = (size_t)params->length,
                                      .repeats = params->inner ? (size_t)(params->lanes / params->bias_lanes) : 1,
                                      .bias_lanes = (size_t)params->bias_lanes,
                                      .x = x->data,
                                      .bias = call->inputs[1].data,
                                      .y = call->outputs[0].data};
    return cuda_launched(call, gpu_run_bias_softmax(cuda_stream_of(call), gpu_type_of(x->type), &softmax));
}

static tort_status prepare_swiglu(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_swiglu(gpu_type_of(p->node->inputs[0].type)));
}

static tort_status run_swiglu(const tort_call *call) {
    const tort_tensor *a = &call->inputs[0];
    const size_t count = (size_t)tort_count(a);
    if (!count) return TORT_OK;
    return cuda_launched(call, gpu_run_swiglu(cuda_stream_of(call), gpu_type_of(a->type),
                                              ((const tort_swiglu *)call->params)->alpha, a->data, call->inputs[1].data,
                                              call->outputs[0].data, count));
}

static tort_status run_dropout(const tort_call *call) {
    const tort_tensor *training = tort_call_input(call, 4);
    if (training && *(const bool *)training->data)
        return tort_fail(call->error, TORT_E_UNSUPPORTED, "training_mode is true; tinyort drops nothing");
    return run(call);
}
#endif

#define ROW(op_name, claim_, function, variant_, host, places)                                                         \
    {                                                                                                                  \
        .domain = "com.microsoft", .op = op_name, .name = "bias", .host_inputs = host, .claim = claim_,                \
        .prepare = CUDA_ONLY(prepare_bias), .run = CUDA_ONLY(function), .variant = variant_, .in_place = places        \
    }

const tort_kernel tort_cuda_bias_kernels[] = {
    ROW("BiasAdd", tort_cuda_claim_real, run, GPU_BIAS_SUM, 0, 1u << 0 | 1u << 2),
    ROW("BiasDropout", tort_cuda_claim_real, run_dropout, GPU_BIAS_SUM, 1u << 4, 1u << 0 | 1u << 2),
    ROW("BiasGelu", tort_cuda_claim_real, run, GPU_BIAS_GELU, 0, 1u << 0),
    ROW("BiasSplitGelu", tort_cuda_claim_real, run, GPU_BIAS_SPLIT, 0, 0),
    ROW("FastGelu", claim_fast_gelu, run, GPU_BIAS_GELU_TANH, 0, 1u << 0),
    {"", "SwiGLU", "swiglu", .claim = tort_cuda_claim_real, .prepare = CUDA_ONLY(prepare_swiglu),
     .run = CUDA_ONLY(run_swiglu), .in_place = 3},
    {"com.microsoft", "BiasSoftmax", "bias_softmax", .claim = tort_cuda_claim_real,
     .prepare = CUDA_ONLY(prepare_softmax), .run = CUDA_ONLY(run_softmax), .in_place = 1},
    {.op = NULL},
};
