/* norm.c - normalizations: over rows (LayerNormalization and its like), over a batch outside training, along an axis,
 * and over channels; all of floats. */
#include "ops/norm.h"
#include "kernels/firmware/code/batch_norm.h"
#include "kernels/firmware/code/lp_norm.h"
#include "kernels/firmware/code/lrn.h"
#include "kernels/firmware/code/normalize.h"
#include "kernels/firmware/code/pair.h"
#include "kernels/firmware/firmware.h"
#include "ops/broadcast.h"

#include <string.h>

/* ---- rows of statistics, then scale and bias as pairs ------------------------------------------------------------ */

static tort_verdict claim_rows(const tort_target *target, const tort_node_view *node) {
    for (int32_t i = 1; i < node->output_count; i++)
        if (tort_has_output(node, i)) return tort_no(TORT_NO_ATTR, "", "makes output 0 only");
    return tort_firmware_claim_float(target, node);
}

enum { MULTIPLY = 2, ADD = 0 }; /* operations of pair.h */

static tinyort_pair_shape pair_of(const tort_norm_params *p, int32_t operation) {
    tinyort_pair_shape shape = {.operation = operation};
    int64_t own[TORT_MAX_RANK + 1];
    tort_loop loop;
    tort_strides(p->rank, p->dims, own);
    tort_loop_begin(&loop, p->rank, p->dims);
    tort_loop_operand(&loop, own);
    tort_loop_operand(&loop, operation == MULTIPLY ? p->scale_strides : p->bias_strides);
    tort_loop_ready(&loop);
    shape.rank = loop.rank;
    for (int32_t i = 0; i < loop.rank; i++) {
        shape.dims[i] = (int32_t)loop.dims[i];
        shape.as[i] = (int32_t)loop.strides[0][i];
        shape.bs[i] = (int32_t)loop.strides[1][i];
    }
    return shape;
}

static tinyort_normalize_shape rows_of(const tort_norm_params *p) {
    return (tinyort_normalize_shape){(int32_t)p->rows, (int32_t)p->size, p->centered};
}

static tort_status run_rows(const tort_call *call) {
    const tort_norm_params *p = call->params;
    const tinyort_normalize_shape shape = rows_of(p);
    const tinyort_pair_shape scale = pair_of(p, MULTIPLY), bias = pair_of(p, ADD);
    const float *added = tort_firmware_input(call, 2);
    float *y = call->outputs[0].data;
    if (!tort_count(&call->outputs[0])) return TORT_OK;
    tinyort_normalize(&shape, call->inputs[0].data, y, (float)p->epsilon);
    tinyort_pair(&scale, y, call->inputs[1].data, y);
    if (added) tinyort_pair(&bias, y, added, y);
    return TORT_OK;
}

static tort_status emit_scale(tort_emit *emit, int32_t operation, const char *with) {
    const tinyort_pair_shape shape = pair_of(emit->node->params, operation);
    const char *const operands[] = {emit->outputs[0], with, emit->outputs[0], NULL};
    return tort_firmware_emit_with(emit,
                                   &(tort_firmware_call){.function = "tinyort_pair",
                                                         .members = "operation rank dims[8] as[8] bs[8]",
                                                         .shape = &shape.operation},
                                   operands);
}

static tort_status emit_rows(tort_emit *emit) {
    const tort_norm_params *p = emit->node->params;
    const tinyort_normalize_shape shape = rows_of(p);
    const float epsilon = (float)p->epsilon;
    tort_firmware_add_code(emit, tort_code_normalize);
    tort_firmware_add_code(emit, tort_code_offset);
    tort_firmware_add_code(emit, tort_code_pair);
    tort_status status = tort_firmware_emit(
        emit, &(tort_firmware_call){"tinyort_normalize", "rows size centered", &shape.rows, 1, &epsilon, 1});
    if (!status) status = emit_scale(emit, MULTIPLY, emit->inputs[1]);
    if (!status && tort_has_input(emit->node, 2)) status = emit_scale(emit, ADD, emit->inputs[2]);
    return status;
}

/* ---- BatchNormalization ------------------------------------------------------------------------------------------ */

static tort_verdict claim_batch(const tort_target *target, const tort_node_view *node) {
    const tort_batch_norm_params *p = node->params;
    if (p->training) return tort_no(TORT_NO_ATTR, "export the model for inference", "is for inference");
    return claim_rows(target, node);
}

static tinyort_batch_norm_shape batch_of(const tort_batch_norm_params *p) {
    return (tinyort_batch_norm_shape){(int32_t)p->batch, (int32_t)p->channels, (int32_t)p->inner};
}

static tort_status run_batch(const tort_call *call) {
    const tort_batch_norm_params *p = call->params;
    const tinyort_batch_norm_shape shape = batch_of(p);
    const tort_tensor *in = call->inputs;
    tinyort_batch_norm(&shape, in[0].data, in[1].data, in[2].data, in[3].data, in[4].data, call->outputs[0].data,
                       (float)p->epsilon);
    return TORT_OK;
}

static tort_status emit_batch(tort_emit *emit) {
    const tort_batch_norm_params *p = emit->node->params;
    const tinyort_batch_norm_shape shape = batch_of(p);
    const float epsilon = (float)p->epsilon;
    tort_firmware_add_code(emit, tort_code_batch_norm);
    return tort_firmware_emit(
        emit, &(tort_firmware_call){"tinyort_batch_norm", "batch channels inner", &shape.batch, 5, &epsilon, 1});
}

/* ---- LpNormalization, LRN ---------------------------------------------------------------------------------------- */

static tinyort_lp_norm_shape lp_of(const tort_lp_norm_params *p) {
    return (tinyort_lp_norm_shape){(int32_t)p->outer, (int32_t)p->length, (int32_t)p->inner, p->p == 2};
}

static tort_status run_lp(const tort_call *call) {
    const tinyort_lp_norm_shape shape = lp_of(call->params);
    if (tort_count(&call->outputs[0])) tinyort_lp_norm(&shape, call->inputs[0].data, call->outputs[0].data);
    return TORT_OK;
}

static tort_status emit_lp(tort_emit *emit) {
    const tinyort_lp_norm_shape shape = lp_of(emit->node->params);
    tort_firmware_add_code(emit, tort_code_lp_norm);
    return tort_firmware_emit(
        emit, &(tort_firmware_call){"tinyort_lp_norm", "outer length inner squares", &shape.outer, 1, NULL, 0});
}

static tinyort_lrn_shape lrn_of(const tort_lrn_params *p, float *numbers) {
    numbers[0] = (float)(p->alpha / (double)p->size);
    numbers[1] = (float)p->beta;
    numbers[2] = (float)p->bias;
    const int64_t before = p->before < p->channels ? p->before : p->channels;
    const int64_t after = p->after < p->channels ? p->after : p->channels;
    return (tinyort_lrn_shape){(int32_t)p->batch, (int32_t)p->channels, (int32_t)p->inner, (int32_t)before,
                               (int32_t)after};
}

static tort_status run_lrn(const tort_call *call) {
    float numbers[3];
    const tinyort_lrn_shape shape = lrn_of(call->params, numbers);
    float (*power)(float, float) = (float (*)(float, float))tort_firmware_function_of("tinyort_pow");
    tinyort_lrn(&shape, call->inputs[0].data, call->outputs[0].data, power, numbers[0], numbers[1], numbers[2]);
    return TORT_OK;
}

static tort_status emit_lrn(tort_emit *emit) {
    float numbers[3];
    const tinyort_lrn_shape shape = lrn_of(emit->node->params, numbers);
    const char *const operands[] = {emit->inputs[0], emit->outputs[0], "tinyort_pow", NULL};
    tort_firmware_need(emit, "tinyort_pow");
    tort_firmware_add_code(emit, tort_code_lrn);
    return tort_firmware_emit_with(emit,
                                   &(tort_firmware_call){.function = "tinyort_lrn",
                                                         .members = "batch channels inner before after",
                                                         .shape = &shape.batch,
                                                         .numbers = numbers,
                                                         .number_count = 3},
                                   operands);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define ROWS(op_)                                                                                                      \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = "normalize", .claim = claim_rows, .run = run_rows, .emit = emit_rows,         \
        .in_place = 1                                                                                                  \
    }

const tort_kernel tort_firmware_norm[] = {
    ROWS("LayerNormalization"),
    ROWS("RMSNormalization"),
    ROWS("SimplifiedLayerNormalization"),
    ROWS("InstanceNormalization"),
    ROWS("GroupNormalization"),
    {"", "BatchNormalization", "batch_norm", .claim = claim_batch, .run = run_batch, .emit = emit_batch, .in_place = 1},
    {"", "LpNormalization", "lp_norm", .claim = tort_firmware_claim_float, .run = run_lp, .emit = emit_lp},
    {"", "LRN", "lrn", .claim = tort_firmware_claim_float, .run = run_lrn, .emit = emit_lrn},
    {.op = NULL},
};
