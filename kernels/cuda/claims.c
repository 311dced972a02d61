/* claims.c - refusals that many families share (claims.h): pure functions of node and target, without a device.
 * runtime/core/graph/check.c has checked before any claim that inputs of one type parameter have one type. */
#include "kernels/cuda/claims.h"

#include "kernels/cuda/images.h"
#include "kernels/cuda/number.h"
#include "ops/numeric.h"

tort_verdict tort_cuda_no_type(const tort_node_view *node, int32_t input, const char *expected) {
    const tort_type type = node->inputs[input].type;
    const char *cure = tort_type_is_float(type) ? "export the model in float32 or float16" : "";
    return tort_no(TORT_NO_TYPE, cure, "input %d is %s, the kernel takes %s", input, tort_type_name(type), expected);
}

tort_verdict tort_cuda_not_alike(const tort_node_view *node, int32_t input, int32_t like) {
    return tort_no(TORT_NO_TYPE, "put a Cast before it",
                   "input %d is %s and input %d is %s, the kernel takes both of one type", input,
                   tort_type_name(node->inputs[input].type), like, tort_type_name(node->inputs[like].type));
}

/* Accepts the types up to `last` in the order of gpu_number; `expected` names them. */
static tort_verdict claim_up_to(const tort_node_view *node, gpu_number last, const char *expected) {
    if (gpu_number_of(node->inputs[0].type) <= last) return tort_yes();
    return tort_cuda_no_type(node, 0, expected);
}

tort_verdict tort_cuda_claim_float(const tort_target *target, const tort_node_view *node) {
    (void)target;
    return claim_up_to(node, GPU_NUMBER_HALF, "float or float16");
}

tort_verdict tort_cuda_claim_product(const tort_target *target, const tort_node_view *node) {
    enum { WITH_BFLOAT16 = 80 };
    const int32_t code = tort_cuda_image_of((int32_t)target->instructions).code;
    if (node->inputs[0].type == TORT_BFLOAT16 && code < WITH_BFLOAT16)
        return tort_no(TORT_NO_CAPABILITY, "export the model in float16 or float32",
                       "bfloat16 needs the tensor cores of sm_%d, the code for this device is of sm_%d", WITH_BFLOAT16,
                       (int)code);
    return claim_up_to(node, GPU_NUMBER_BFLOAT16, "float, float16 or bfloat16");
}

tort_verdict tort_cuda_claim_real(const tort_target *target, const tort_node_view *node) {
    (void)target;
    return claim_up_to(node, GPU_NUMBER_DOUBLE, "float, float16, bfloat16 or double");
}

tort_verdict tort_cuda_claim_number(const tort_target *target, const tort_node_view *node) {
    (void)target;
    return claim_up_to(node, GPU_NUMBER_UINT64, "floats of 16 to 64 bits and integers of 8 to 64");
}

bool tort_cuda_is_movable(tort_type type) {
    const int bits = tort_type_bits(type);
    return type != TORT_STRING && (bits == 8 || bits == 16 || bits == 32 || bits == 64);
}

tort_verdict tort_cuda_claim_moved(const tort_node_view *node, int32_t input) {
    if (tort_cuda_is_movable(node->inputs[input].type)) return tort_yes();
    return tort_cuda_no_type(node, input, "elements of 1, 2, 4 or 8 bytes");
}

tort_verdict tort_cuda_claim_movable(const tort_target *target, const tort_node_view *node) {
    (void)target;
    return tort_cuda_claim_moved(node, 0);
}

tort_verdict tort_cuda_claim_rank(const tort_node_view *node) {
    if (node->inputs[0].rank >= 0) return tort_yes();
    return tort_no(TORT_NO_DYNAMIC, "give the model's inputs their shapes (--shape NAME=1x3x224x224)",
                   "the rank of X is unknown while planning");
}

#ifndef CUDA_DEVICE
tort_status tort_cuda_measures_elsewhere(const tort_call *call, tort_info *outputs) {
    (void)outputs;
    return tort_fail(call->error, TORT_E_INTERNAL, "this build has no CUDA");
}
#endif
