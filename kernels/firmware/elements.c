/* elements.c - Relu, Clip, Softmax, and pairs of operands that broadcast. */
#include "ops/activation.h"
#include "kernels/firmware/code/bound.h"
#include "kernels/firmware/code/clip.h"
#include "kernels/firmware/code/log_softmax.h"
#include "kernels/firmware/code/pair.h"
#include "kernels/firmware/code/softmax.h"
#include "kernels/firmware/firmware.h"
#include "ops/elementwise.h"
#include "ops/softmax.h"

#include <string.h>

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

void tort_firmware_broadcast(const tort_tensor *y, const tort_tensor *a, const tort_tensor *b, int32_t *shape) {
    const tort_loop loop = tort_loop_broadcast(y, (const tort_tensor[]){*a, *b}, 2);
    *shape++ = loop.rank;
    memset(shape, 0, 24 * sizeof *shape);
    for (int32_t i = 0; i < loop.rank; i++) {
        shape[i] = (int32_t)loop.dims[i];
        shape[i + 8] = (int32_t)loop.strides[0][i];
        shape[i + 16] = (int32_t)loop.strides[1][i];
    }
}

static tinyort_pair_shape pair_of(const tort_call *call) {
    tinyort_pair_shape shape = {.operation = call->kernel->variant};
    const tort_tensor b = tort_aligned_b(call);
    tort_firmware_broadcast(&call->outputs[0], &call->inputs[0], &b, &shape.rank);
    return shape;
}

static tort_status run_pair(const tort_call *call) {
    if (!tort_count(&call->outputs[0])) return TORT_OK;
    const tinyort_pair_shape shape = pair_of(call);
    tinyort_pair(&shape, call->inputs[0].data, call->inputs[1].data, call->outputs[0].data);
    return TORT_OK;
}

static tort_status emit_pair(tort_emit *emit) {
    tort_firmware_step step;
    tort_status status = tort_firmware_open(emit, &step);
    if (status) return status;
    const tinyort_pair_shape shape = pair_of(&step.call);
    tort_firmware_add_code(emit, tort_code_offset);
    tort_firmware_add_code(emit, tort_code_pair);
    status = tort_firmware_emit(emit, &(tort_firmware_call){"tinyort_pair", "operation rank dims[8] as[8] bs[8]",
                                                            &shape.operation, 2, NULL, 0});
    return tort_firmware_close(&step, status);
}

/* ---- Relu and Clip ----------------------------------------------------------------------------------------------- */

static const float relu[2] = {0.0f, INFINITY};

static tort_status run_relu(const tort_call *call) {
    const tinyort_bound_shape shape = {(int32_t)tort_count(&call->outputs[0])};
    tinyort_bound(&shape, call->inputs[0].data, call->outputs[0].data, relu[0], relu[1]);
    return TORT_OK;
}

static tort_status emit_relu(tort_emit *emit) {
    tort_tensor y;
    if (!tort_info_tensor(&emit->node->outputs[0], &y))
        return tort_fail(emit->error, TORT_E_INTERNAL, "a shape is unknown");
    const tinyort_bound_shape shape = {(int32_t)tort_count(&y)};
    emit->code[0] = tort_code_clamp;
    emit->code[1] = tort_code_bound;
    return tort_firmware_emit(emit, &(tort_firmware_call){"tinyort_bound", "count", &shape.count, 1, relu, 2});
}

static tort_status run_clip(const tort_call *call) {
    const tinyort_clip_shape shape = {(int32_t)tort_count(&call->outputs[0])};
    const tort_clip *p = call->params;
    tinyort_clip(&shape, call->inputs[0].data, tort_firmware_input(call, 1), tort_firmware_input(call, 2),
                 call->outputs[0].data, p->low, p->high);
    return TORT_OK;
}

static tort_status emit_clip(tort_emit *emit) {
    const tort_clip *p = emit->node->params;
    const float bounds[2] = {p->low, p->high};
    tort_tensor y;
    if (!tort_info_tensor(&emit->node->outputs[0], &y))
        return tort_fail(emit->error, TORT_E_INTERNAL, "a shape is unknown");
    const tinyort_clip_shape shape = {(int32_t)tort_count(&y)};
    emit->code[0] = tort_code_clamp;
    emit->code[1] = tort_code_clip;
    return tort_firmware_emit(emit, &(tort_firmware_call){"tinyort_clip", "count", &shape.count, 3, bounds, 2});
}

/* ---- Softmax ----------------------------------------------------------------------------------------------------- */

static tinyort_softmax_shape softmax_of(const tort_softmax_params *p) {
    return (tinyort_softmax_shape){(int32_t)p->outer, (int32_t)p->length, (int32_t)p->inner};
}

static tort_status run_softmax(const tort_call *call) {
    const tinyort_softmax_shape shape = softmax_of(call->params);
    if (tort_count(&call->outputs[0])) tinyort_softmax(&shape, call->inputs[0].data, call->outputs[0].data);
    return TORT_OK;
}

static tort_status emit_softmax(tort_emit *emit) {
    const tinyort_softmax_shape shape = softmax_of(emit->node->params);
    tort_firmware_need(emit, "tinyort_exp_below");
    tort_firmware_add_code(emit, tort_code_softmax);
    return tort_firmware_emit(emit,
                              &(tort_firmware_call){"tinyort_softmax", "outer length inner", &shape.outer, 1, NULL, 0});
}

static tort_status run_log_softmax(const tort_call *call) {
    const tinyort_softmax_shape s = softmax_of(call->params);
    const tinyort_log_softmax_shape shape = {s.outer, s.length, s.inner};
    if (tort_count(&call->outputs[0])) tinyort_log_softmax(&shape, call->inputs[0].data, call->outputs[0].data);
    return TORT_OK;
}

static tort_status emit_log_softmax(tort_emit *emit) {
    const tinyort_softmax_shape shape = softmax_of(emit->node->params);
    tort_firmware_need(emit, "tinyort_exp_below");
    tort_firmware_need(emit, "tinyort_log");
    tort_firmware_add_code(emit, tort_code_log_softmax);
    return tort_firmware_emit(
        emit, &(tort_firmware_call){"tinyort_log_softmax", "outer length inner", &shape.outer, 1, NULL, 0});
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define PAIR(op_, variant_)                                                                                            \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = "pair", .claim = tort_firmware_claim_float, .run = run_pair,                  \
        .emit = emit_pair, .variant = variant_, .in_place = 3                                                          \
    }

const tort_kernel tort_firmware_elements[] = {
    PAIR("Add", 0),
    PAIR("Sub", 1),
    PAIR("Mul", 2),
    PAIR("Div", 3),
    {"", "Relu", "bound", .claim = tort_firmware_claim_float, .run = run_relu, .emit = emit_relu, .in_place = 1},
    {"", "Clip", "clip", .claim = tort_firmware_claim_float, .run = run_clip, .emit = emit_clip, .in_place = 1},
    {"", "Softmax", "softmax", .claim = tort_firmware_claim_float, .run = run_softmax, .emit = emit_softmax},
    {"", "LogSoftmax", "log_softmax", .claim = tort_firmware_claim_float, .run = run_log_softmax,
     .emit = emit_log_softmax},
    {.op = NULL},
};
