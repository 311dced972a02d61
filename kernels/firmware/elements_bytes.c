/* elements_bytes.c - QLinearAdd and QLinearMul, QuantizeLinear and DequantizeLinear by tensor, ByteTable,
 * QLinearSoftmax.
 */
#include "kernels/firmware/bytes.h"
#include "kernels/firmware/code/dequantize.h"
#include "kernels/firmware/code/pair_bytes.h"
#include "kernels/firmware/code/quantize.h"
#include "kernels/firmware/code/softmax_bytes.h"
#include "kernels/firmware/code/table_bytes.h"
#include "ops/broadcast.h"
#include "ops/microsoft/qlinear.h"
#include "ops/softmax.h"

#include <math.h>

enum { OPERANDS = 10 }; /* inputs and outputs of the operators here, at most */

/* ---- sums and products ------------------------------------------------------------------------------------------- */

enum { ADD, MULTIPLY }; /* values of tort_kernel.variant */

static tort_verdict claim_pair(const tort_target *target, const tort_node_view *node) {
    (void)target;
    for (int32_t i = 1; i < node->input_count; i++) {
        const tort_verdict verdict =
            i == TORT_QLINEAR_B ? tort_yes() : tort_firmware_claim_constant(node, i, "a scale or zero point");
        if (verdict.code != TORT_YES) return verdict;
    }
    if (node->outputs[0].rank >= 0 && node->outputs[0].rank <= 4) return tort_yes();
    return tort_no(TORT_NO_SHAPE, "reshape its inputs", "is for at most 4 axes, its output has %d",
                   (int)node->outputs[0].rank);
}

static tinyort_pair_bytes_shape pair_of(const tort_call *call, float *numbers) {
    const tort_tensor *in = call->inputs, *y = &call->outputs[0],
                      operands[2] = {in[TORT_QLINEAR_A], in[TORT_QLINEAR_B]};
    const tort_loop loop = tort_loop_broadcast(y, operands, 2);
    tinyort_pair_bytes_shape s = {.multiplies = call->kernel->variant, .flip = tort_firmware_flip(y->type)};
    int32_t *dims = &s.d0;
    for (int32_t i = 0; i < 4; i++) dims[i] = 1;
    for (int32_t i = 0; i < loop.rank; i++) {
        const int32_t to = i + 4 - loop.rank;
        dims[to] = (int32_t)loop.dims[i];
        dims[4 + to] = (int32_t)loop.strides[0][i];
        dims[8 + to] = (int32_t)loop.strides[1][i];
    }
    const tort_linear a = tort_linear_of(call, TORT_QLINEAR_A + 1, TORT_QLINEAR_A + 2),
                      b = tort_linear_of(call, TORT_QLINEAR_B + 1, TORT_QLINEAR_B + 2),
                      c = tort_linear_of(call, TORT_QLINEAR_C, TORT_QLINEAR_C + 1);
    const tort_sum_of_linear sum = tort_linear_sum(a, b, c);
    s.zero = s.multiplies ? (int32_t)c.zero : 0;
    numbers[0] = s.multiplies ? a.zero : sum.a;
    numbers[1] = s.multiplies ? b.zero : sum.b;
    numbers[2] = s.multiplies ? a.scale * b.scale / c.scale : sum.fixed;
    const double reach = s.multiplies
                             ? 383.0 * 383 * fabs((double)numbers[2])
                             : 255 * (fabs((double)numbers[0]) + fabs((double)numbers[1])) + fabs((double)numbers[2]);
    s.far = !(reach < 0x1p21);
    return s;
}

static bool same_dims(const tort_info *a, const tort_info *b) {
    bool same = a->rank == b->rank;
    for (int32_t i = 0; same && i < a->rank; i++) same = a->dims[i] == b->dims[i];
    return same;
}

/* Any rows, if neither operand is broadcast. */
static tort_rows rows_of_pair(const tort_target *target, const tort_node_view *node) {
    const tort_info *y = &node->outputs[0];
    (void)target;
    if (!same_dims(&node->inputs[TORT_QLINEAR_A], y) || !same_dims(&node->inputs[TORT_QLINEAR_B], y))
        return (tort_rows){0};
    return (tort_rows){.inputs = 1u << TORT_QLINEAR_A | 1u << TORT_QLINEAR_B};
}

static tort_rows any_rows(const tort_target *target, const tort_node_view *node) {
    (void)target, (void)node;
    return (tort_rows){.inputs = 1};
}

static tort_status run_pair(const tort_call *call) {
    float n[3];
    const tinyort_pair_bytes_shape shape = pair_of(call, n);
    tort_firmware_define(call, false, shape.flip, shape.far);
    return TORT_FIRMWARE_CALL_WITH(
        call, tinyort_pair_bytes, &shape,
        (call->inputs[TORT_QLINEAR_A].data, call->inputs[TORT_QLINEAR_B].data, call->outputs[0].data), n[0], n[1],
        n[2]);
}

/* ---- borders ----------------------------------------------------------------------------------------------------- */

enum { QUANTIZE, DEQUANTIZE }; /* values of tort_kernel.variant */

static tort_verdict claim_border(const tort_target *target, const tort_node_view *node) {
    const bool quantizes = node->kernel->variant == QUANTIZE;
    const tort_type bytes = quantizes ? node->outputs[0].type : node->inputs[0].type,
                    floats = quantizes ? node->inputs[0].type : node->outputs[0].type;
    (void)target;
    if ((bytes != TORT_INT8 && bytes != TORT_UINT8) || floats != TORT_FLOAT || node->inputs[1].type != TORT_FLOAT)
        return tort_no(TORT_NO_TYPE,
                       bytes == TORT_INT16 || bytes == TORT_UINT16 ? "quantize activations to 8 bits" : "",
                       "%s and %s, expected int8 or uint8 and float", tort_type_name(bytes), tort_type_name(floats));
    if (tort_firmware_count(node, 1) != 1) return tort_no(TORT_NO_ATTR, "quantize by tensor", "it has several scales");
    return tort_firmware_claim_constants(node, 1, 2);
}

static tort_status run_border(const tort_call *call) {
    const bool quantizes = call->kernel->variant == QUANTIZE;
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0], *bytes = quantizes ? y : x;
    const tort_linear linear = tort_linear_of(call, 1, 2);
    const tinyort_quantize_shape s = {(int32_t)tort_count(bytes), (int32_t)linear.zero,
                                      tort_firmware_flip(bytes->type)};
    const tinyort_dequantize_shape back = {s.count, s.zero, s.flip};
    return quantizes ? TORT_FIRMWARE_CALL_WITH(call, tinyort_quantize, &s, (x->data, y->data), linear.scale)
                     : TORT_FIRMWARE_CALL_WITH(call, tinyort_dequantize, &back, (x->data, y->data), linear.scale);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static tort_status look_up(const tort_call *call, const void *table) {
    const tinyort_table_bytes_shape shape = {(int32_t)tort_count(&call->outputs[0])};
    return TORT_FIRMWARE_CALL(call, tinyort_table_bytes, &shape, call->inputs[0].data, table, call->outputs[0].data);
}

static tort_status run_table(const tort_call *call) {
    return look_up(call, call->inputs[1].data);
}

/* QLinearSigmoid and QLinearLeakyRelu: the table is packed. */
enum { SIGMOID, LEAKY_RELU, SOFTMAX }; /* values of tort_kernel.variant */

static tort_verdict claim_function(const tort_target *target, const tort_node_view *node) {
    (void)target;
    return tort_firmware_claim_constants(node, 1, 4);
}

/* A table has 256 entries, of a byte or, for QLinearSoftmax, of four. */
static tort_status table_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                              tort_error *error) {
    (void)target, (void)error;
    *bytes = 256 * (node->kernel->variant == SOFTMAX ? sizeof(uint32_t) : 1);
    *consumed = 0;
    return TORT_OK;
}

static tort_status prepare_function(tort_prepare *prepare) {
    tort_tensor tensors[OPERANDS];
    tort_call call;
    tort_firmware_call_of(prepare->node, tensors, &call);
    if (prepare->node->kernel->variant == SIGMOID)
        tort_qlinear_sigmoid_table(&call, prepare->packed);
    else
        tort_qlinear_leaky_relu_table(&call, prepare->packed);
    return TORT_OK;
}

static tort_status run_function(const tort_call *call) {
    tort_firmware_array(call, 0, TORT_UINT8, 0, 256);
    return look_up(call, call->packed);
}

/* ---- softmax ----------------------------------------------------------------------------------------------------- */

static tort_verdict claim_softmax(const tort_target *target, const tort_node_view *node) {
    const tort_softmax_params *p = node->params;
    (void)target;
    if (p->length <= 0)
        return tort_no(TORT_NO_DYNAMIC, "fix the shape of its input", "the length of a lane is not known");
    return tort_firmware_claim_constants(node, 1, 4);
}

static tort_status prepare_softmax(tort_prepare *prepare) {
    tort_linear_powers((float)tort_firmware_number(prepare->node, 1, 0, 1), prepare->packed);
    return TORT_OK;
}

static tort_status run_softmax(const tort_call *call) {
    const tort_softmax_params *p = call->params;
    const tort_linear to = tort_linear_of(call, 3, 4);
    const int32_t flip = tort_firmware_flip(call->outputs[0].type), zero = (int32_t)to.zero;
    const tinyort_softmax_bytes_shape shape = {.outer = (int32_t)p->outer,
                                               .length = (int32_t)p->length,
                                               .inner = (int32_t)p->inner,
                                               .flip = 0x80 - flip,
                                               .zero = zero,
                                               .low = -128 + flip - zero,
                                               .high = 127 + flip - zero};
    tort_firmware_array(call, 0, TORT_UINT32, 0, 256);
    return TORT_FIRMWARE_CALL_WITH(call, tinyort_softmax_bytes, &shape,
                                   (call->inputs[0].data, call->packed, call->outputs[0].data), to.scale);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define PAIR(op_, variant_)                                                                                            \
    {                                                                                                                  \
        "com.microsoft", op_, "pair_bytes", .claim = claim_pair, .rows = rows_of_pair, .run = run_pair,                \
                                            .emit = tort_firmware_emit, .variant = variant_,                           \
                                            .in_place = 1u << TORT_QLINEAR_A | 1u << TORT_QLINEAR_B, .layout = {       \
                                                .id = TORT_ANY_LAYOUT,                                                 \
                                                .inputs = 1u << TORT_QLINEAR_A | 1u << TORT_QLINEAR_B,                 \
                                                .outputs = 1                                                           \
                                            }                                                                          \
    }
#define BORDER(op_, name_, variant_)                                                                                   \
    {                                                                                                                  \
        "", op_, name_, .claim = claim_border, .run = run_border, .emit = tort_firmware_emit, .border = true,          \
                        .variant = variant_                                                                            \
    }

#define FUNCTION(op_, variant_)                                                                                        \
    {                                                                                                                  \
        "com.microsoft", op_, "table_bytes", .claim = claim_function, .pack = {.size = table_size},                    \
                                             .prepare = prepare_function, .rows = any_rows, .run = run_function,       \
                                             .emit = tort_firmware_emit, .variant = variant_, .in_place = 1            \
    }

const tort_kernel tort_firmware_elements_bytes[] = {
    PAIR("QLinearAdd", ADD),
    PAIR("QLinearMul", MULTIPLY),
    BORDER("QuantizeLinear", "quantize", QUANTIZE),
    BORDER("DequantizeLinear", "dequantize", DEQUANTIZE),
    {"tinyort", "ByteTable", "table_bytes", .rows = any_rows, .run = run_table, .emit = tort_firmware_emit,
     .in_place = 1, .layout = {.id = TORT_ANY_LAYOUT, .inputs = 1, .outputs = 1}},
    FUNCTION("QLinearSigmoid", SIGMOID),
    FUNCTION("QLinearLeakyRelu", LEAKY_RELU),
    {"com.microsoft", "QLinearSoftmax", "softmax_bytes", .claim = claim_softmax, .pack = {.size = table_size},
     .prepare = prepare_softmax, .run = run_softmax, .emit = tort_firmware_emit, .variant = SOFTMAX},
    {.op = NULL},
};
