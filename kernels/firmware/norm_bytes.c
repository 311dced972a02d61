/* norm_bytes.c - QLinearLayerNormalization and QLinearInstanceNormalization, in whole numbers. */
#include "kernels/firmware/bytes.h"
#include "kernels/firmware/code/norm_bytes.h"
#include "ops/microsoft/qlinear.h"
#include "ops/norm.h"

#include <math.h>

enum { X, X_SCALE, X_ZERO, Y_SCALE, Y_ZERO, SCALE, BIAS }; /* inputs */
enum { MAX_SIZE = 1 << 16, FRACTION = 20, EPSILON = 8 };   /* elements of a row; bits of numbers in norm_bytes.h */

enum { OF_ELEMENTS, OF_ROWS }; /* values of tort_kernel.variant: what scale and bias are of */

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_norm_params *p = node->params;
    (void)target;
    tort_verdict verdict = tort_firmware_claim_constants(node, X_SCALE, Y_ZERO);
    if (verdict.code == TORT_YES) verdict = tort_firmware_claim_constant(node, SCALE, "the scale of rows");
    if (verdict.code == TORT_YES) verdict = tort_firmware_claim_constant(node, BIAS, "the bias of rows");
    if (verdict.code != TORT_YES) return verdict;
    if (!(p->epsilon >= 0)) return tort_no(TORT_NO_ATTR, "", "epsilon is %g, expected 0 or more", p->epsilon);
    if (p->size < 1 || p->size > MAX_SIZE)
        return tort_no(TORT_NO_SHAPE, "", "rows of %lld elements, firmware sums up to %d", (long long)p->size,
                       MAX_SIZE);
    if (node->kernel->variant == OF_ELEMENTS &&
        (tort_firmware_count(node, SCALE) != p->size ||
         (tort_has_input(node, BIAS) && tort_firmware_count(node, BIAS) != p->size)))
        return tort_no(TORT_NO_SHAPE, "expand them", "scale or bias has not a number for each element of a row");
    return tort_yes();
}

static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    (void)target, (void)error;
    *bytes = 2 * sizeof(int32_t) * (size_t)tort_firmware_count(node, SCALE);
    *consumed = 1u << SCALE | 1u << BIAS;
    return TORT_OK;
}

static tort_status prepare(tort_prepare *prepare) {
    const tort_node_view *node = prepare->node;
    const int64_t count = tort_firmware_count(node, SCALE);
    const double y_scale = tort_firmware_number(node, Y_SCALE, 0, 1);
    int32_t *scales = prepare->packed, *biases = scales + count;
    for (int64_t i = 0; i < count; i++) {
        const double scale = rint(ldexp(tort_firmware_number(node, SCALE, i, 0) / y_scale, FRACTION));
        const double bias = rint(ldexp(tort_firmware_number(node, BIAS, i, 0) / y_scale, FRACTION));
        if (!(fabs(scale) <= INT32_MAX && fabs(bias) <= INT32_MAX))
            return tort_fail(prepare->error, TORT_E_MODEL, "scale or bias %lld is over 2047 steps of its result",
                             (long long)i);
        scales[i] = (int32_t)scale;
        biases[i] = (int32_t)bias;
    }
    return TORT_OK;
}

static tort_status run(const tort_call *call) {
    const tort_norm_params *p = call->params;
    const tort_tensor *x = &call->inputs[X], *y = &call->outputs[0];
    const tort_linear from = tort_linear_of(call, X_SCALE, X_ZERO), to = tort_linear_of(call, Y_SCALE, Y_ZERO);
    const int32_t flip = tort_firmware_flip(y->type);
    const size_t count = (size_t)tort_count(&call->inputs[SCALE]);
    const double steps = (double)p->size / (double)from.scale;
    const double epsilon = rint(ldexp(p->epsilon * steps * steps, EPSILON));
    const uint64_t fixed = epsilon < 0x1p58 ? (uint64_t)epsilon : (uint64_t)1 << 58; /* then all results are 0 */
    const int32_t *scales = call->packed;
    const tinyort_norm_bytes_shape shape = {.rows = (int32_t)p->rows,
                                            .size = (int32_t)p->size,
                                            .by_row = call->kernel->variant == OF_ROWS,
                                            .channels = (int32_t)count,
                                            .x_flip = tort_firmware_flip(x->type),
                                            .flip = flip,
                                            .zero = (int32_t)to.zero - flip,
                                            .epsilon_low = (int32_t)(uint32_t)fixed,
                                            .epsilon_high = (int32_t)(fixed >> 32)};
    tort_firmware_array(call, 0, TORT_INT32, 0, count);
    tort_firmware_array(call, 1, TORT_INT32, count * sizeof(int32_t), count);
    return TORT_FIRMWARE_CALL(call, tinyort_norm_bytes, &shape, x->data, scales, scales + count, y->data);
}

#define ROW(op_, variant_)                                                                                             \
    {                                                                                                                  \
        .domain = "tinyort", .op = op_, .name = "norm_bytes", .claim = claim, .pack = {.size = pack_size},             \
        .prepare = prepare, .run = run, .emit = tort_firmware_emit, .variant = variant_, .in_place = 1                 \
    }

const tort_kernel tort_firmware_norm_bytes[] = {
    ROW("QLinearLayerNormalization", OF_ELEMENTS),
    ROW("QLinearInstanceNormalization", OF_ROWS),
    {.op = NULL},
};
