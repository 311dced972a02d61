/* claims.c - refusals that many families share (claims.h). Pure: they look at the node and the target, not at a device.
 */
#include "kernels/cuda/claims.h"

tort_verdict tort_cuda_no_type(const tort_node_view *node, int32_t input, const char *expected) {
    return tort_no(TORT_NO_TYPE, "let cpu have the node, or export the model in float32 or float16",
                   "input %d is %s, the kernel takes %s", input, tort_type_name(node->inputs[input].type), expected);
}

static bool is_float(tort_type type) {
    return type == TORT_FLOAT || type == TORT_FLOAT16;
}

tort_verdict tort_cuda_claim_float(const tort_target *target, const tort_node_view *node) {
    (void)target;
    return is_float(node->inputs[0].type) ? tort_yes() : tort_cuda_no_type(node, 0, "float or float16");
}

tort_verdict tort_cuda_claim_all_float(const tort_target *target, const tort_node_view *node) {
    (void)target;
    for (int32_t i = 0; i < node->input_count; i++)
        if (tort_has_input(node, i) &&
            (!is_float(node->inputs[i].type) || node->inputs[i].type != node->inputs[0].type))
            return tort_cuda_no_type(node, i, "float or float16, all inputs alike");
    for (int32_t i = 0; i < node->output_count; i++)
        if (tort_has_output(node, i) && node->outputs[i].type != node->inputs[0].type)
            return tort_no(TORT_NO_TYPE, "let cpu have the node", "output %d is %s, the kernel makes %s", i,
                           tort_type_name(node->outputs[i].type), tort_type_name(node->inputs[0].type));
    return tort_yes();
}

tort_verdict tort_cuda_claim_movable(const tort_target *target, const tort_node_view *node) {
    (void)target;
    int bits = tort_type_bits(node->inputs[0].type);
    if (node->inputs[0].type != TORT_STRING && (bits == 8 || bits == 16 || bits == 32 || bits == 64)) return tort_yes();
    return tort_cuda_no_type(node, 0, "elements of 1, 2, 4 or 8 bytes");
}

tort_verdict tort_cuda_claim_spatial(const tort_node_view *node, int32_t axes) {
    if (node->inputs[0].rank < 0)
        return tort_no(TORT_NO_DYNAMIC, "fix the rank of the input", "the rank of X is unknown while planning");
    if (axes < 1 || axes > 2)
        return tort_no(TORT_NO_SHAPE, "let cpu have the node", "%d spatial axes, the kernel has 1 or 2", axes);
    return tort_yes();
}
