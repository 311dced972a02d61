/* conv.c - rows and claims of Conv over one or two spatial axes: directly where every channel is a group of its own,
 * else as an implicit matrix product. */
#include "ops/conv.h"
#include "kernels/cuda/matmul.h"

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static tort_verdict claim_conv(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *params = node->params;
    tort_verdict verdict = tort_cuda_claim_spatial(node, params->window.axes);
    if (verdict.code != TORT_YES) return verdict;
    return tort_cuda_claim_float(target, node);
}

static tort_verdict claim_depthwise(const tort_target *target, const tort_node_view *node) {
    const tort_info *w = &node->inputs[1];
    tort_verdict verdict = claim_conv(target, node);
    if (verdict.code != TORT_YES) return verdict;
    if (w->rank > 1 && w->dims[1] == 1) return verdict;
    return tort_no(TORT_NO_SHAPE, "", "a group has more than one channel");
}

#ifdef CUDA_DEVICE
/* A 1-D Conv is one of a single row. */
static gpu_conv conv_of(const tort_conv_params *params) {
    const tort_sliding *window = &params->window;
    int32_t w = window->axes - 1;
    bool flat = window->axes == 1;
    return (gpu_conv){.batch = params->batch,
                      .group = params->group,
                      .channels = params->channels / params->group,
                      .filters = params->filters / params->group,
                      .in_h = flat ? 1 : window->input[0],
                      .in_w = window->input[w],
                      .out_h = flat ? 1 : window->output[0],
                      .out_w = window->output[w],
                      .kernel_h = flat ? 1 : window->kernel[0],
                      .kernel_w = window->kernel[w],
                      .stride_h = flat ? 1 : window->strides[0],
                      .stride_w = window->strides[w],
                      .dilation_h = flat ? 1 : window->dilations[0],
                      .dilation_w = window->dilations[w],
                      .pad_h = flat ? 0 : window->begin[0],
                      .pad_w = window->begin[w]};
}

typedef cudaError_t (*conv_launcher)(cudaStream_t, gpu_type, const gpu_conv *, const void *, const void *, const void *,
                                     void *);

static tort_status run_with(const tort_call *call, conv_launcher launcher) {
    gpu_conv p = conv_of(call->params);
    bool biased = call->input_count > 2 && tort_present(&call->inputs[2]);
    return cuda_launched(call,
                         launcher(cuda_stream_of(call), gpu_type_of(call->inputs[0].type), &p, call->inputs[0].data,
                                  call->inputs[1].data, biased ? call->inputs[2].data : NULL, call->outputs[0].data));
}

static tort_status run_conv(const tort_call *call) {
    return run_with(call, gpu_run_conv);
}

static tort_status run_depthwise(const tort_call *call) {
    return run_with(call, gpu_run_conv_depthwise);
}
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const tort_kernel tort_cuda_conv_kernels[] = {
    {.domain = "", .op = "Conv", .name = "conv_depthwise", .claim = claim_depthwise, .run = CUDA_ONLY(run_depthwise)},
    {.domain = "", .op = "Conv", .name = "conv_implicit_gemm", .claim = claim_conv, .run = CUDA_ONLY(run_conv)},
    {.op = NULL},
};
