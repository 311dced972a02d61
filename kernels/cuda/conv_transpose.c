/* conv_transpose.c - rows and claim of ConvTranspose, also with pads as an input. ops/conv_transpose.c decodes
 * output sizes, output_padding and automatic padding. Kernel: conv_transpose.cu. */
#include "kernels/cuda/conv_transpose.h"

#include "ops/conv.h"

static tort_verdict claim_conv_transpose(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *params = node->params;
    tort_verdict verdict = tort_cuda_claim_window(node, &params->window, GPU_CONV_AXES);
    return verdict.code == TORT_YES ? tort_cuda_claim_real(target, node) : verdict;
}

/* No scratch memory; sizes must fit the kernel's 32 bits. */
static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    (void)target;
    *scratch = 0;
    return tort_cuda_conv_nhwc_check(node->params, error);
}

#ifdef CUDA_DEVICE
static tort_status prepare_conv_transpose(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_conv_transpose(gpu_type_of(p->node->inputs[0].type)));
}

static tort_status run_conv_transpose(const tort_call *call) {
    const gpu_nhwc_conv p = tort_cuda_nhwc_images_of(call->params);
    const gpu_conv_operands o = tort_cuda_conv_operands(call);
    return cuda_launched(call, gpu_run_conv_transpose(cuda_stream_of(call), gpu_type_of(call->inputs[0].type), &p, &o));
}

static tort_status run_dynamic_pads(const tort_call *call) {
    tort_tensor inputs[3];
    const tort_call plain = tort_conv_without_pads(call, inputs);
    return run_conv_transpose(&plain);
}
#endif

const tort_kernel tort_cuda_conv_transpose_kernels[] = {
    {"", "ConvTranspose", "conv_transpose", .claim = claim_conv_transpose, .size = size,
     .prepare = CUDA_ONLY(prepare_conv_transpose), .run = CUDA_ONLY(run_conv_transpose)},
    {"com.microsoft", "ConvTransposeWithDynamicPads", "conv_transpose", .host_inputs = 1u << TORT_CONV_PADS,
     .claim = claim_conv_transpose, .size = size, .prepare = CUDA_ONLY(prepare_conv_transpose),
     .run = CUDA_ONLY(run_dynamic_pads)},
    {.op = NULL},
};
