/* point_transpose.c - ConvTranspose in fp32 whose input has one element per channel, as in the first layer of a
 * generator: a matrix product.
 *
 * Every output sees the one element of each channel through one kernel position, so Y (batch, filters * positions)
 * is X (batch, channels) times W as it is stored. Read next: product.h, conv_transpose.c. */
#include "kernels/cpu/product.h"
#include "ops/conv.h"

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *p = node->params;
    const tort_sliding *window = &p->window;
    if (p->channels < 0 || p->filters < 0) return tort_no(TORT_NO_DYNAMIC, "", "the number of channels is not known");
    if (p->group != 1) return tort_no(TORT_NO_ATTR, "group", "is for one group, there are %lld", (long long)p->group);
    for (int32_t i = 0; i < window->axes; i++) {
        const bool spread = window->dilations[i] != 1 && window->kernel[i] > 1;
        if (window->kernel[i] < 0 || window->input[i] != 1 || window->output[i] != window->kernel[i] ||
            window->begin[i] != 0 || spread)
            return tort_no(TORT_NO_SHAPE, "",
                           "is for inputs of one element a channel, and outputs of the kernel's shape");
    }
    return tort_cpu_claim_float(target, node);
}

static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    const tort_conv_params *p = node->params;
    if (!node->inputs[1].constant) return TORT_OK;
    return tort_product_pack_size(target, p->filters * tort_sliding_positions(&p->window), p->channels, bytes, consumed,
                                  error);
}

static tort_status prepare(tort_prepare *prepare) {
    const tort_conv_params *p = prepare->node->params;
    const int64_t n = p->filters * tort_sliding_positions(&p->window);
    if (!prepare->packed) return TORT_OK;
    return tort_product_prepare(prepare, n, 1, n, p->channels, 1);
}

static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    return tort_product_reserve(target, node->inputs[1].constant, scratch, error);
}

static void begin_with_bias(const tort_call *call, const float *bias, float *y) {
    const tort_conv_params *p = call->params;
    const int64_t positions = tort_sliding_positions(&p->window), work = tort_work(positions, 16, 1);
    for (int64_t i = 0; i < p->batch * p->filters && tort_piece_goes_on(call, i, work); i++)
        for (int64_t k = 0; k < positions; k++) *y++ = bias[i % p->filters];
}

static tort_status run(const tort_call *call) {
    const tort_conv_params *p = call->params;
    const tort_tensor *bias = tort_call_input(call, 2);
    const int64_t n = p->filters * tort_sliding_positions(&p->window);
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    tort_packed_gemm gemm = {.m = p->batch,
                             .n = n,
                             .k = p->channels,
                             .a = call->inputs[0].data,
                             .a_row_stride = p->channels,
                             .a_k_stride = 1,
                             .scale = 1,
                             .b = call->inputs[1].data,
                             .b_k_stride = n,
                             .b_column_stride = 1,
                             .c = call->outputs[0].data,
                             .c_stride = n,
                             .accumulate = bias != NULL};
    if (bias) begin_with_bias(call, bias->data, gemm.c);
    return tort_product_run(call, &gemm, NULL, call->scratch);
}

const tort_kernel tort_cpu_point_transpose[] = {
    {"", "ConvTranspose", "conv_transpose_point", .claim = claim, .size = size, .pack.size = pack_size,
     .pack.in_parts = 1u << 1, .pack.writes_all = true, .prepare = prepare, .run = run},
    {.op = NULL},
};
