/* integers.c - MatMulInteger and ConvInteger, whose sums are the result, and DynamicQuantizeLinear: zero points and
 * scales may be found during the run. */
#include "kernels/firmware/bytes.h"
#include "kernels/firmware/code/conv_integer.h"
#include "kernels/firmware/code/dynamic_quantize.h"
#include "kernels/firmware/code/matmul_integer.h"
#include "kernels/firmware/window.h"
#include "ops/conv.h"
#include "ops/matmul.h"

enum { A_ZERO = 2, B_ZERO }; /* inputs of both */

static tort_verdict claim_zeros(const tort_node_view *node) {
    for (int32_t i = A_ZERO; i <= B_ZERO; i++)
        if (tort_has_input(node, i) && node->inputs[i].rank > 1)
            return tort_no(TORT_NO_SHAPE, "", "zero points of input %d have %d axes", (int)i,
                           (int)node->inputs[i].rank);
    return tort_yes();
}

/* 1 where a zero point has a neighbour. */
static int32_t step_of(const tort_call *call, int32_t input) {
    const tort_tensor *zero = tort_call_input(call, input);
    return zero && tort_count(zero) > 1;
}

static tort_verdict claim_matmul(const tort_target *target, const tort_node_view *node) {
    (void)target;
    return claim_zeros(node);
}

static tort_status run_matmul(const tort_call *call) {
    const tort_matmul_params *p = call->params;
    const tort_tensor *a = &call->inputs[0], *b = &call->inputs[1];
    tinyort_matmul_integer_shape shape = {.a_flip = tort_firmware_flip(a->type),
                                          .b_flip = tort_firmware_flip(b->type),
                                          .batches = (int32_t)p->batches,
                                          .m = (int32_t)p->m,
                                          .n = (int32_t)p->n,
                                          .k = (int32_t)p->k,
                                          .a_row = (int32_t)p->a_row,
                                          .a_column = (int32_t)p->a_column,
                                          .b_row = (int32_t)p->b_row,
                                          .b_column = (int32_t)p->b_column,
                                          .a_zero = step_of(call, A_ZERO),
                                          .b_zero = step_of(call, B_ZERO),
                                          .rank = p->batch_rank};
    for (int32_t i = 0; i < p->batch_rank; i++) {
        shape.dims[i] = (int32_t)p->batch_dims[i];
        shape.as[i] = (int32_t)p->a_strides[i];
        shape.bs[i] = (int32_t)p->b_strides[i];
    }
    return TORT_FIRMWARE_CALL(call, tinyort_matmul_integer, &shape, a->data, b->data, tort_firmware_input(call, A_ZERO),
                              tort_firmware_input(call, B_ZERO), call->outputs[0].data);
}

static tort_verdict claim_conv(const tort_target *target, const tort_node_view *node) {
    const tort_verdict verdict = claim_zeros(node);
    (void)target;
    return verdict.code == TORT_YES ? tort_firmware_claim_window(&((const tort_conv_params *)node->params)->window)
                                    : verdict;
}

static tort_status run_conv(const tort_call *call) {
    const tort_conv_params *p = call->params;
    const tort_tensor *x = &call->inputs[0], *w = &call->inputs[1];
    const tinyort_conv_integer_shape shape = {.window = tort_firmware_window_of(&p->window),
                                              .batch = (int32_t)p->batch,
                                              .channels = (int32_t)p->channels,
                                              .filters = (int32_t)p->filters,
                                              .groups = (int32_t)p->group,
                                              .x_flip = tort_firmware_flip(x->type),
                                              .w_flip = tort_firmware_flip(w->type),
                                              .w_zero = step_of(call, B_ZERO)};
    return TORT_FIRMWARE_CALL(call, tinyort_conv_integer, &shape, x->data, w->data, tort_firmware_input(call, A_ZERO),
                              tort_firmware_input(call, B_ZERO), call->outputs[0].data);
}

static tort_verdict claim_dynamic(const tort_target *target, const tort_node_view *node) {
    (void)target;
    for (int32_t i = 0; i < 3; i++)
        if (!tort_has_output(node, i)) return tort_no(TORT_NO_ATTR, "name it", "makes output %d, which is absent", i);
    return tort_yes();
}

static tort_status run_dynamic(const tort_call *call) {
    const tort_tensor *y = call->outputs;
    const tinyort_dynamic_quantize_shape shape = {(int32_t)tort_count(y)};
    return TORT_FIRMWARE_CALL(call, tinyort_dynamic_quantize, &shape, call->inputs[0].data, y[0].data, y[1].data,
                              y[2].data);
}

#define ROW(op_, name_, kind)                                                                                          \
    { .domain = "", .op = op_, .name = name_, .claim = claim_##kind, .run = run_##kind, .emit = tort_firmware_emit }

const tort_kernel tort_firmware_integers[] = {
    ROW("MatMulInteger", "matmul_integer", matmul),
    ROW("ConvInteger", "conv_integer", conv),
    ROW("DynamicQuantizeLinear", "dynamic_quantize", dynamic),
    {.op = NULL},
};
