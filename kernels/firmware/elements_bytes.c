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
#include <stdio.h>
#include <string.h>

static tort_verdict claim_constants(const tort_node_view *node, int32_t first, int32_t last) {
    tort_verdict verdict = tort_yes();
    for (int32_t i = first; verdict.code == TORT_YES && i <= last; i++)
        verdict = tort_firmware_claim_constant(node, i, i % 2 ? "a scale" : "a zero point");
    return verdict;
}

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
    const tort_sum_of_linear sum = tort_linear_sum(call);
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
    float numbers[3];
    if (!tort_count(&call->outputs[0])) return TORT_OK;
    const tinyort_pair_bytes_shape shape = pair_of(call, numbers);
    tinyort_pair_bytes(&shape, call->inputs[TORT_QLINEAR_A].data, call->inputs[TORT_QLINEAR_B].data,
                       call->outputs[0].data, numbers[0], numbers[1], numbers[2]);
    return TORT_OK;
}

static tort_status emit_pair(tort_emit *emit) {
    tort_tensor tensors[OPERANDS];
    tort_call call;
    float numbers[3];
    tort_firmware_call_of(emit->node, tensors, &call);
    const tinyort_pair_bytes_shape shape = pair_of(&call, numbers);
    const char *operands[] = {emit->inputs[TORT_QLINEAR_A], emit->inputs[TORT_QLINEAR_B], emit->outputs[0], NULL};
    tort_firmware_define(emit, false, shape.flip, shape.far);
    emit->code[0] = tort_code_bytes_shape;
    emit->code[1] = tort_code_vector;
    emit->code[2] = tort_code_requantize;
    emit->code[3] = tort_code_pair_bytes;
    return tort_firmware_emit_with(
        emit,
        &(tort_firmware_call){.function = "tinyort_pair_bytes",
                              .members = "multiplies flip zero far d0 d1 d2 d3 a0 a1 a2 a3 b0 b1 b2 b3",
                              .shape = &shape.multiplies,
                              .numbers = numbers,
                              .number_count = 3},
        operands);
}

/* ---- borders ----------------------------------------------------------------------------------------------------- */

enum { QUANTIZE, DEQUANTIZE }; /* values of tort_kernel.variant */

static tort_verdict claim_border(const tort_target *target, const tort_node_view *node) {
    const bool quantizes = node->kernel->variant == QUANTIZE;
    const tort_type bytes = quantizes ? node->outputs[0].type : node->inputs[0].type,
                    floats = quantizes ? node->inputs[0].type : node->outputs[0].type;
    (void)target;
    if ((bytes != TORT_INT8 && bytes != TORT_UINT8) || floats != TORT_FLOAT || node->inputs[1].type != TORT_FLOAT)
        return tort_no(TORT_NO_TYPE, "", "%s and %s, expected int8 or uint8 and float", tort_type_name(bytes),
                       tort_type_name(floats));
    if (tort_firmware_count(node, 1) != 1) return tort_no(TORT_NO_ATTR, "quantize by tensor", "it has several scales");
    return claim_constants(node, 1, 2);
}

static tinyort_quantize_shape border_of(const tort_call *call, float *scale) {
    const tort_linear linear = tort_linear_of(call, 1, 2);
    const tort_tensor *bytes = call->kernel->variant == QUANTIZE ? &call->outputs[0] : &call->inputs[0];
    *scale = linear.scale;
    return (tinyort_quantize_shape){(int32_t)tort_count(bytes), (int32_t)linear.zero, tort_firmware_flip(bytes->type)};
}

static tort_status run_border(const tort_call *call) {
    float scale;
    const tinyort_quantize_shape s = border_of(call, &scale);
    if (call->kernel->variant == QUANTIZE)
        tinyort_quantize(&s, call->inputs[0].data, call->outputs[0].data, scale);
    else
        tinyort_dequantize(&(tinyort_dequantize_shape){s.count, s.zero, s.flip}, call->inputs[0].data,
                           call->outputs[0].data, scale);
    return TORT_OK;
}

static tort_status emit_border(tort_emit *emit) {
    const bool quantizes = emit->node->kernel->variant == QUANTIZE;
    tort_tensor tensors[OPERANDS];
    tort_call call;
    float scale;
    tort_firmware_call_of(emit->node, tensors, &call);
    const tinyort_quantize_shape shape = border_of(&call, &scale);
    emit->code[0] = quantizes ? tort_code_quantize : tort_code_dequantize;
    return tort_firmware_emit(emit,
                              &(tort_firmware_call){.function = quantizes ? "tinyort_quantize" : "tinyort_dequantize",
                                                    .members = "count zero flip",
                                                    .shape = &shape.count,
                                                    .inputs = 1,
                                                    .numbers = &scale,
                                                    .number_count = 1});
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static tort_status run_table(const tort_call *call) {
    const tinyort_table_bytes_shape shape = {(int32_t)tort_count(&call->outputs[0])};
    tinyort_table_bytes(&shape, call->inputs[0].data, call->inputs[1].data, call->outputs[0].data);
    return TORT_OK;
}

static tort_status emit_table(tort_emit *emit) {
    tort_tensor y;
    if (!tort_info_tensor(&emit->node->outputs[0], &y)) return tort_fail(emit->error, TORT_E_INTERNAL, "no shape");
    const tinyort_table_bytes_shape shape = {(int32_t)tort_count(&y)};
    emit->code[0] = tort_code_table_bytes;
    return tort_firmware_emit(
        emit, &(tort_firmware_call){
                  .function = "tinyort_table_bytes", .members = "count", .shape = &shape.count, .inputs = 2});
}

/* QLinearSigmoid and QLinearLeakyRelu: the table is packed. */
enum { SIGMOID, LEAKY_RELU }; /* values of tort_kernel.variant */

static tort_verdict claim_function(const tort_target *target, const tort_node_view *node) {
    (void)target;
    return claim_constants(node, 1, 4);
}

static tort_status function_size(const tort_target *target, const tort_node_view *node, size_t *bytes,
                                 uint32_t *consumed, tort_error *error) {
    (void)target, (void)node, (void)error;
    *bytes = 256;
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
    const tinyort_table_bytes_shape shape = {(int32_t)tort_count(&call->outputs[0])};
    tinyort_table_bytes(&shape, call->inputs[0].data, call->packed, call->outputs[0].data);
    return TORT_OK;
}

static tort_status emit_function(tort_emit *emit) {
    char table[80];
    const char *inputs[] = {emit->inputs[0], table}, *const *given = emit->inputs;
    snprintf(table, sizeof table, "%s_0", emit->packed);
    emit->arrays[0] = (tort_packed_array){TORT_UINT8, 0, 256};
    emit->inputs = inputs;
    const tort_status status = emit_table(emit);
    emit->inputs = given;
    return status;
}

/* ---- softmax ----------------------------------------------------------------------------------------------------- */

static tort_verdict claim_softmax(const tort_target *target, const tort_node_view *node) {
    const tort_softmax_params *p = node->params;
    (void)target;
    if (p->length <= 0)
        return tort_no(TORT_NO_DYNAMIC, "fix the shape of its input", "the length of a lane is not known");
    return claim_constants(node, 1, 4);
}

static tort_status softmax_size(const tort_target *target, const tort_node_view *node, size_t *bytes,
                                uint32_t *consumed, tort_error *error) {
    (void)target, (void)node, (void)error;
    *bytes = 256 * sizeof(uint32_t);
    *consumed = 0;
    return TORT_OK;
}

static tort_status prepare_softmax(tort_prepare *prepare) {
    tort_linear_powers((float)tort_firmware_number(prepare->node, 1, 0, 1), prepare->packed);
    return TORT_OK;
}

static tinyort_softmax_bytes_shape softmax_of(const tort_call *call, float *scale) {
    const tort_softmax_params *p = call->params;
    const tort_linear to = tort_linear_of(call, 3, 4);
    const int32_t flip = tort_firmware_flip(call->outputs[0].type), zero = (int32_t)to.zero;
    *scale = to.scale;
    return (tinyort_softmax_bytes_shape){.outer = (int32_t)p->outer,
                                         .length = (int32_t)p->length,
                                         .inner = (int32_t)p->inner,
                                         .flip = 0x80 - flip,
                                         .zero = zero,
                                         .low = -128 + flip - zero,
                                         .high = 127 + flip - zero};
}

static tort_status run_softmax(const tort_call *call) {
    float scale;
    const tinyort_softmax_bytes_shape shape = softmax_of(call, &scale);
    if (tort_count(&call->outputs[0]))
        tinyort_softmax_bytes(&shape, call->inputs[0].data, call->packed, call->outputs[0].data, scale);
    return TORT_OK;
}

static tort_status emit_softmax(tort_emit *emit) {
    tort_tensor tensors[OPERANDS];
    tort_call call;
    char powers[80];
    float scale;
    tort_firmware_call_of(emit->node, tensors, &call);
    const tinyort_softmax_bytes_shape shape = softmax_of(&call, &scale);
    snprintf(powers, sizeof powers, "%s_0", emit->packed);
    const char *operands[] = {emit->inputs[0], powers, emit->outputs[0], NULL};
    emit->arrays[0] = (tort_packed_array){TORT_UINT32, 0, 256};
    emit->code[0] = tort_code_softmax_bytes;
    return tort_firmware_emit_with(emit,
                                   &(tort_firmware_call){.function = "tinyort_softmax_bytes",
                                                         .members = "outer length inner flip zero low high",
                                                         .shape = &shape.outer,
                                                         .numbers = &scale,
                                                         .number_count = 1},
                                   operands);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define PAIR(op_, variant_)                                                                                            \
    {                                                                                                                  \
        "com.microsoft", op_, "pair_bytes", .claim = claim_pair, .rows = rows_of_pair, .run = run_pair,                \
                                            .emit = emit_pair, .variant = variant_,                                    \
                                            .in_place = 1u << TORT_QLINEAR_A | 1u << TORT_QLINEAR_B, .layout = {       \
                                                .id = TORT_ANY_LAYOUT,                                                 \
                                                .inputs = 1u << TORT_QLINEAR_A | 1u << TORT_QLINEAR_B,                 \
                                                .outputs = 1                                                           \
                                            }                                                                          \
    }
#define BORDER(op_, name_, variant_)                                                                                   \
    {                                                                                                                  \
        "", op_, name_, .claim = claim_border, .run = run_border, .emit = emit_border, .border = true,                 \
                        .variant = variant_                                                                            \
    }

#define FUNCTION(op_, variant_)                                                                                        \
    {                                                                                                                  \
        "com.microsoft", op_, "table_bytes", .claim = claim_function, .pack = {.size = function_size},                 \
                                             .prepare = prepare_function, .rows = any_rows, .run = run_function,       \
                                             .emit = emit_function, .variant = variant_, .in_place = 1                 \
    }

const tort_kernel tort_firmware_elements_bytes[] = {
    PAIR("QLinearAdd", ADD),
    PAIR("QLinearMul", MULTIPLY),
    BORDER("QuantizeLinear", "quantize", QUANTIZE),
    BORDER("DequantizeLinear", "dequantize", DEQUANTIZE),
    {"tinyort", "ByteTable", "table_bytes", .rows = any_rows, .run = run_table, .emit = emit_table, .in_place = 1,
     .layout = {.id = TORT_ANY_LAYOUT, .inputs = 1, .outputs = 1}},
    FUNCTION("QLinearSigmoid", SIGMOID),
    FUNCTION("QLinearLeakyRelu", LEAKY_RELU),
    {"com.microsoft", "QLinearSoftmax", "softmax_bytes", .claim = claim_softmax, .pack = {.size = softmax_size},
     .prepare = prepare_softmax, .run = run_softmax, .emit = emit_softmax},
    {.op = NULL},
};
