/* conv_transpose.c - row and claim of ConvTranspose. Output sizes, output_padding and automatic padding are decoded by
 * ops/conv_transpose.c. Kernel: conv_transpose.cu. */
#include "kernels/cuda/conv_transpose.h"

#include "ops/conv.h"

static tort_verdict claim_conv_transpose(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *params = node->params;
    tort_verdict verdict = tort_cuda_claim_window(node, &params->window, 2);
    return verdict.code == TORT_YES ? tort_cuda_claim_float(target, node) : verdict;
}

#ifdef CUDA_DEVICE
static tort_status prepare_conv_transpose(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_conv_transpose(gpu_type_of(p->node->inputs[0].type)));
}

static tort_status run_conv_transpose(const tort_call *call) {
    return tort_cuda_conv_run_by(call, gpu_run_conv_transpose);
}
#endif

const tort_kernel tort_cuda_conv_transpose_kernels[] = {
    {.domain = "",
     .op = "ConvTranspose",
     .name = "conv_transpose",
     .claim = claim_conv_transpose,
     .prepare = CUDA_ONLY(prepare_conv_transpose),
     .run = CUDA_ONLY(run_conv_transpose)},
    {.op = NULL},
};
