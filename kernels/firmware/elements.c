/* elements.c - Relu, Clip, Softmax and its like, and pairs of operands that broadcast. */
#include "ops/activation.h"
#include "kernels/firmware/code/bound.h"
#include "kernels/firmware/code/clip.h"
#include "kernels/firmware/code/hardmax.h"
#include "kernels/firmware/code/log_softmax.h"
#include "kernels/firmware/code/pair.h"
#include "kernels/firmware/code/softmax.h"
#include "kernels/firmware/firmware.h"
#include "ops/elementwise.h"
#include "ops/softmax.h"

#include <string.h>

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

void tort_firmware_loop(const tort_loop *loop, int32_t *shape) {
    *shape++ = loop->rank;
    memset(shape, 0, 24 * sizeof *shape);
    for (int32_t i = 0; i < loop->rank; i++) {
        shape[i] = (int32_t)loop->dims[i];
        shape[i + 8] = (int32_t)loop->strides[0][i];
        shape[i + 16] = (int32_t)loop->strides[1][i];
    }
}

static tort_status run_pair(const tort_call *call) {
    tinyort_pair_shape shape = {.operation = call->kernel->variant};
    const tort_tensor operands[] = {call->inputs[0], tort_aligned_b(call)}, *y = &call->outputs[0];
    const tort_loop loop = tort_loop_broadcast(y, operands, 2);
    tort_firmware_loop(&loop, &shape.rank);
    return TORT_FIRMWARE_CALL(call, tinyort_pair, &shape, operands[0].data, operands[1].data, y->data);
}

/* Swish of A, then its product with B. */
static tort_status run_swiglu(const tort_call *call) {
    const tort_firmware_map swish = {"tinyort_swish", true, {((const tort_swiglu *)call->params)->alpha, 0.0f}};
    const tort_tensor *y = &call->outputs[0];
    const int32_t count = (int32_t)tort_count(y);
    const tinyort_pair_shape shape = {.operation = 2, .rank = 1, .dims = {count}, .as = {1}, .bs = {1}};
    const tort_status status = tort_firmware_run_map(call, &swish, count, call->inputs[0].data, y->data);
    return status ? status : TORT_FIRMWARE_CALL(call, tinyort_pair, &shape, y->data, call->inputs[1].data, y->data);
}

/* ---- Relu and Clip ----------------------------------------------------------------------------------------------- */

static tort_status run_relu(const tort_call *call) {
    const tinyort_bound_shape shape = {(int32_t)tort_count(&call->outputs[0])};
    return TORT_FIRMWARE_CALL_WITH(call, tinyort_bound, &shape, (call->inputs[0].data, call->outputs[0].data), 0.0f,
                                   INFINITY);
}

static tort_status run_clip(const tort_call *call) {
    const tinyort_clip_shape shape = {(int32_t)tort_count(&call->outputs[0])};
    const tort_clip *p = call->params;
    return TORT_FIRMWARE_CALL_WITH(
        call, tinyort_clip, &shape,
        (call->inputs[0].data, tort_firmware_input(call, 1), tort_firmware_input(call, 2), call->outputs[0].data),
        p->low, p->high);
}

/* ---- Softmax ----------------------------------------------------------------------------------------------------- */

static tort_status run_softmax(const tort_call *call) {
    const tort_softmax_params *p = call->params;
    const tinyort_softmax_shape shape = {(int32_t)p->outer, (int32_t)p->length, (int32_t)p->inner};
    return TORT_FIRMWARE_CALL(call, tinyort_softmax, &shape, call->inputs[0].data, call->outputs[0].data);
}

static tort_status run_log_softmax(const tort_call *call) {
    const tort_softmax_params *p = call->params;
    const tinyort_log_softmax_shape shape = {(int32_t)p->outer, (int32_t)p->length, (int32_t)p->inner};
    return TORT_FIRMWARE_CALL(call, tinyort_log_softmax, &shape, call->inputs[0].data, call->outputs[0].data);
}

static tort_status run_hardmax(const tort_call *call) {
    const tort_softmax_params *p = call->params;
    const tinyort_hardmax_shape shape = {(int32_t)p->outer, (int32_t)p->length, (int32_t)p->inner};
    return TORT_FIRMWARE_CALL(call, tinyort_hardmax, &shape, call->inputs[0].data, call->outputs[0].data);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define PAIR(op_, variant_)                                                                                            \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = "pair", .claim = tort_firmware_claim_float, .run = run_pair,                  \
        .emit = tort_firmware_emit, .variant = variant_, .in_place = 3                                                 \
    }

const tort_kernel tort_firmware_elements[] = {
    PAIR("Add", 0),
    PAIR("Sub", 1),
    PAIR("Mul", 2),
    PAIR("Div", 3),
    {"", "SwiGLU", "pair", .claim = tort_firmware_claim_float, .run = run_swiglu, .emit = tort_firmware_emit},
    {"", "Relu", "bound", .claim = tort_firmware_claim_float, .run = run_relu, .emit = tort_firmware_emit,
     .in_place = 1},
    {"", "Clip", "clip", .claim = tort_firmware_claim_float, .run = run_clip, .emit = tort_firmware_emit,
     .in_place = 1},
    {"", "Softmax", "softmax", .claim = tort_firmware_claim_float, .run = run_softmax, .emit = tort_firmware_emit},
    {"", "LogSoftmax", "log_softmax", .claim = tort_firmware_claim_float, .run = run_log_softmax,
     .emit = tort_firmware_emit},
    {"", "Hardmax", "hardmax", .claim = tort_firmware_claim_float, .run = run_hardmax, .emit = tort_firmware_emit},
    {.op = NULL},
};
