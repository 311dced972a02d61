/* conv.c - rows and claims of Conv and FusedConv: directly where every channel is a group of its own, then cuDNN where
 * it is found (conv_cudnn.c), else as an implicit matrix product. */
#include "ops/conv.h"
#include "kernels/cuda/conv.h"

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static tort_verdict claim_conv(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *params = node->params;
    tort_verdict verdict = tort_cuda_claim_window(node, &params->window, 2);
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
gpu_conv_operands tort_cuda_conv_operands(const tort_call *call) {
    return (gpu_conv_operands){.x = call->inputs[0].data,
                               .w = call->inputs[1].data,
                               .bias = cuda_input(call, 2),
                               .residual = cuda_input(call, TORT_EPILOGUE_Z),
                               .y = call->outputs[0].data};
}

tort_status tort_cuda_conv_run_by(const tort_call *call, gpu_conv_launcher *launcher) {
    const tort_conv_params *params = call->params;
    const gpu_conv p = {.window = tort_cuda_window(&params->window),
                        .batch = params->batch,
                        .group = params->group,
                        .channels = params->channels / params->group,
                        .filters = params->filters / params->group,
                        .epilogue = params->epilogue};
    const gpu_conv_operands o = tort_cuda_conv_operands(call);
    return cuda_launched(call, launcher(cuda_stream_of(call), gpu_type_of(call->inputs[0].type), &p, &o));
}

static tort_status prepare_conv(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_conv(gpu_type_of(p->node->inputs[0].type)));
}

static tort_status run_conv(const tort_call *call) {
    return tort_cuda_conv_run_by(call, gpu_run_conv);
}

static tort_status prepare_depthwise(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_conv_depthwise(gpu_type_of(p->node->inputs[0].type)));
}

static tort_status run_depthwise(const tort_call *call) {
    return tort_cuda_conv_run_by(call, gpu_run_conv_depthwise);
}
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Depthwise comes before cuDNN: with one channel a group there is nothing for a matrix product to gain. The work is
 * reading X and writing Y once, which the direct kernel does without workspace; cuDNN's general algorithms would run a
 * product of one row a group. */
#define DEPTHWISE(domain_, op_)                                                                                        \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "conv_depthwise", .claim = claim_depthwise,                              \
        .prepare = CUDA_ONLY(prepare_depthwise), .run = CUDA_ONLY(run_depthwise)                                       \
    }
#define CUDNN(domain_, op_)                                                                                            \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "conv_cudnn", .needs = TORT_LIBRARY_CUDNN,                               \
        .claim = tort_cuda_conv_cudnn_claim, .size = tort_cuda_conv_cudnn_size,                                        \
        .prepare = CUDA_ONLY(tort_cuda_conv_cudnn_prepare), .fit = CUDA_ONLY(tort_cuda_conv_cudnn_fit),                \
        .unfit = CUDA_ONLY(tort_cuda_conv_cudnn_unfit), .run = CUDA_ONLY(tort_cuda_conv_cudnn_run)                     \
    }
#define IMPLICIT_GEMM(domain_, op_)                                                                                    \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "conv_implicit_gemm", .claim = claim_conv,                               \
        .prepare = CUDA_ONLY(prepare_conv), .run = CUDA_ONLY(run_conv)                                                 \
    }

const tort_kernel tort_cuda_conv_kernels[] = {
    DEPTHWISE("", "Conv"),
    CUDNN("", "Conv"),
    IMPLICIT_GEMM("", "Conv"),
    DEPTHWISE("tinyort", "FusedConv"),
    CUDNN("tinyort", "FusedConv"),
    IMPLICIT_GEMM("tinyort", "FusedConv"),
    DEPTHWISE("com.microsoft", "FusedConv"),
    CUDNN("com.microsoft", "FusedConv"),
    IMPLICIT_GEMM("com.microsoft", "FusedConv"),
    {.op = NULL},
};
