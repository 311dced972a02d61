/* reduce_bytes.c - reductions of bytes over any axes: QLinearReduceMean, ReduceMax and ReduceMin; ArgMax and ArgMin. */
#include "kernels/firmware/bytes.h"
#include "kernels/firmware/code/arg_bytes.h"
#include "kernels/firmware/code/reduce_bytes.h"
#include "kernels/firmware/reduce.h"
#include "ops/microsoft/qlinear.h"

enum { X, X_SCALE, X_ZERO, Y_SCALE, Y_ZERO };         /* inputs of QLinearReduceMean */
enum { MEAN, MAX = 1, MIN = -1, LARGEST = 0, LEAST }; /* values of tort_kernel.variant */

static tort_verdict claim_bytes(const tort_target *target, const tort_node_view *node) {
    const tort_type type = node->inputs[X].type;
    (void)target;
    if (type == TORT_INT8 || type == TORT_UINT8) return tort_yes();
    return tort_no(TORT_NO_TYPE, "", "%s, expected int8 or uint8", tort_type_name(type));
}

static tort_verdict claim_mean(const tort_target *target, const tort_node_view *node) {
    const tort_verdict verdict = tort_firmware_claim_constants(node, X_SCALE, Y_ZERO);
    (void)target;
    return verdict.code == TORT_YES ? tort_firmware_claim_sum(((const tort_reduce_params *)node->params)->reduced_count)
                                    : verdict;
}

static tort_status run_mean(const tort_call *call) {
    const tort_reduce_params *p = call->params;
    const tort_linear from = tort_linear_of(call, X_SCALE, X_ZERO), to = tort_linear_of(call, Y_SCALE, Y_ZERO);
    const int32_t x_flip = tort_firmware_flip(call->inputs[X].type), flip = tort_firmware_flip(call->outputs[0].type);
    const float factor = tort_linear_mean(from.scale, to.scale, p->reduced_count);
    const double max = 255.0 * (double)p->reduced_count;
    const tinyort_reduce_bytes_shape shape = {.rows = {.zero = (int32_t)to.zero - flip,
                                                       .flip = flip,
                                                       .x_flip = x_flip,
                                                       .wide = max >= 0x1p24 || max * (double)factor >= 0x1p21},
                                              .axes = tort_firmware_reduce_of(p),
                                              .first = -(int32_t)p->reduced_count * ((int32_t)from.zero - x_flip)};
    tort_firmware_define(call, shape.rows.wide, flip || x_flip, false);
    return TORT_FIRMWARE_CALL_WITH(call, tinyort_reduce_bytes, &shape, (call->inputs[X].data, call->outputs[0].data),
                                   factor);
}

static tort_status run_choice(const tort_call *call) {
    const int32_t flip = tort_firmware_flip(call->inputs[X].type), side = call->kernel->variant;
    const tinyort_reduce_bytes_shape shape = {.rows = {.flip = flip, .x_flip = flip},
                                              .axes = tort_firmware_reduce_of(call->params),
                                              .side = side,
                                              .first = side == MAX ? -128 : 127};
    tort_firmware_define(call, false, flip, false);
    return TORT_FIRMWARE_CALL_WITH(call, tinyort_reduce_bytes, &shape, (call->inputs[X].data, call->outputs[0].data),
                                   0.0f);
}

static tort_status run_arg(const tort_call *call) {
    const tort_arg_reduce_params *p = call->params;
    const tinyort_arg_bytes_shape shape = {(int32_t)p->outer, (int32_t)p->length,
                                           (int32_t)p->inner, call->kernel->variant,
                                           p->select_last,    0x80 - tort_firmware_flip(call->inputs[X].type)};
    return TORT_FIRMWARE_CALL(call, tinyort_arg_bytes, &shape, call->inputs[X].data, call->outputs[0].data);
}

#define ROW(op_, name_, run_, variant_)                                                                                \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = name_, .claim = claim_bytes, .run = run_, .emit = tort_firmware_emit,         \
        .variant = variant_                                                                                            \
    }

const tort_kernel tort_firmware_reduce_bytes[] = {
    {"com.microsoft", "QLinearReduceMean", "reduce_bytes", .claim = claim_mean, .run = run_mean,
     .emit = tort_firmware_emit, .variant = MEAN},
    ROW("ReduceMax", "reduce_bytes", run_choice, MAX),
    ROW("ReduceMin", "reduce_bytes", run_choice, MIN),
    ROW("ArgMax", "arg_bytes", run_arg, LARGEST),
    ROW("ArgMin", "arg_bytes", run_arg, LEAST),
    {.op = NULL},
};
