/* pool_bytes.c - MaxPool, QLinearAveragePool and QLinearGlobalAveragePool of bytes, channels last. */
#include "kernels/firmware/bytes.h"
#include "kernels/firmware/code/average_bytes.h"
#include "kernels/firmware/code/max_pool_bytes.h"
#include "kernels/firmware/code/mean_bytes.h"
#include "kernels/firmware/nhwc.h"
#include "kernels/firmware/window.h"
#include "ops/microsoft/qlinear.h"
#include "ops/pool.h"
#include "ops/reduce.h"

/* ---- maximum ----------------------------------------------------------------------------------------------------- */

static tort_verdict claim_max(const tort_target *target, const tort_node_view *node) {
    const tort_pool_params *p = node->params;
    (void)target;
    if (node->inputs[0].type != TORT_INT8 && node->inputs[0].type != TORT_UINT8)
        return tort_no(TORT_NO_TYPE, "", "%s, expected int8 or uint8", tort_type_name(node->inputs[0].type));
    if (node->output_count > 1 && node->outputs[1].type != TORT_UNDEFINED)
        return tort_no(TORT_NO_ATTR, "", "it has an output Indices");
    return tort_firmware_claim_window(&p->window);
}

static tort_rows rows_of_max(const tort_target *target, const tort_node_view *node) {
    const tort_pool_params *p = node->params;
    (void)target;
    return tort_firmware_window_rows(&p->window, p->batch);
}

static tort_status run_max(const tort_call *call) {
    const tort_pool_params *p = call->params;
    const tort_tensor *x = &call->inputs[0];
    tinyort_max_pool_bytes_shape shape = {.window = tort_firmware_window_of(&p->window),
                                          .batch = (int32_t)p->batch,
                                          .channels = (int32_t)p->channels,
                                          .flip = tort_firmware_flip(x->type)};
    if (call->band) tort_firmware_take_band(&shape.window, call->band);
    return TORT_FIRMWARE_CALL(call, tinyort_max_pool_bytes, &shape, x->data, call->outputs[0].data);
}

/* ---- mean -------------------------------------------------------------------------------------------------------- */

enum { X, X_SCALE, X_ZERO, Y_SCALE, Y_ZERO }; /* inputs */
enum { KEPT, FLAT };                          /* values of tort_kernel.variant of QLinearReduceMean */

/* count: elements of a mean. */
static tort_verdict claim_numbers(const tort_node_view *node, int64_t count) {
    static const char *const names[] = {"", "x_scale", "x_zero_point", "y_scale", "y_zero_point"};
    tort_verdict verdict = tort_firmware_claim_sum(count);
    for (int32_t i = X_SCALE; verdict.code == TORT_YES && i <= Y_ZERO; i++)
        verdict = tort_firmware_claim_constant(node, i, names[i]);
    return verdict;
}

static tort_verdict claim_pool(const tort_node_view *node, int64_t count) {
    if (tort_attr_int(node, "channels_last"))
        return tort_no(TORT_NO_ATTR, "export it with the channels first", "channels_last is set");
    return claim_numbers(node, count);
}

static tort_verdict claim_mean(const tort_target *target, const tort_node_view *node) {
    const tort_info *x = &node->inputs[X];
    (void)target;
    return claim_pool(node, tort_extent(x->dims, 2, x->rank));
}

/* QLinearReduceMean over all pixels; its result has the axes of an image, or none for pixels. */
static tort_verdict claim_reduce(const tort_target *target, const tort_node_view *node) {
    const tort_reduce_params *p = node->params;
    const tort_info *x = &node->inputs[X];
    (void)target;
    if ((x->rank != 3 && x->rank != 4) || p->kept_count != x->dims[0] * x->dims[1] ||
        p->reduced_count != tort_extent(x->dims, 2, x->rank) || (p->rank == 2 && p->reduced[0]) || p->rank > 2)
        return tort_no(TORT_NO_ATTR, "", "not over the pixels of an image");
    if ((node->outputs[0].rank == x->rank) != (node->kernel->variant == KEPT))
        return tort_no(TORT_NO_ATTR, "", "its result has another rank");
    return claim_numbers(node, p->reduced_count);
}

static tort_status size_mean(const tort_target *target, const tort_node_view *node, size_t *scratch,
                             tort_error *error) {
    (void)target, (void)error;
    *scratch = (size_t)node->inputs[0].dims[1] * sizeof(int32_t);
    return TORT_OK;
}

/* Takes in rows of one image of two axes; the sums of all are in scratch. */
static tort_rows rows_of_mean(const tort_target *target, const tort_node_view *node) {
    const tort_info *x = &node->inputs[X];
    (void)target;
    if (x->rank != 4 || x->dims[0] != 1 || x->dims[2] < 1 || x->dims[2] > INT32_MAX) return (tort_rows){0};
    const int32_t height = (int32_t)x->dims[2];
    return (tort_rows){
        .inputs = 1u << X, .in_rows = height, .out_rows = height, .stride = 1, .reach = 1, .reduces = true};
}

static tort_status run_mean(const tort_call *call) {
    const tort_tensor *x = &call->inputs[X], *y = &call->outputs[0];
    const tinyort_band *band = call->band;
    const tort_linear from = tort_linear_of(call, X_SCALE, X_ZERO), to = tort_linear_of(call, Y_SCALE, Y_ZERO);
    const int32_t pixels = (int32_t)tort_extent(x->dims, 2, x->rank), row = band ? (int32_t)x->dims[3] : 0;
    const int32_t x_flip = tort_firmware_flip(x->type), flip = tort_firmware_flip(y->type);
    const float factor = tort_linear_mean(from.scale, to.scale, pixels);
    const tinyort_mean_bytes_shape shape = {
        .rows = {.filters = (int32_t)x->dims[1],
                 .zero = (int32_t)to.zero - flip,
                 .flip = flip,
                 .x_flip = x_flip,
                 .wide = pixels >= (1 << 16) || 255.0 * pixels * (double)factor >= 0x1p21},
        .batch = (int32_t)x->dims[0],
        .pixels = pixels,
        .before = band ? band->out_first * row : 0,
        .now = band ? band->out_rows * row : pixels,
        .x_zero = (int32_t)from.zero - x_flip,
    };
    tort_firmware_define(call, shape.rows.wide, flip || x_flip, false);
    return TORT_FIRMWARE_CALL_WITH(call, tinyort_mean_bytes, &shape, (x->data, call->scratch, y->data), factor);
}

/* ---- average ----------------------------------------------------------------------------------------------------- */

static tort_verdict claim_average(const tort_target *target, const tort_node_view *node) {
    const tort_pool_params *p = node->params; /* the first member of the operator's */
    const tort_verdict verdict = claim_pool(node, tort_sliding_positions(&p->window));
    (void)target;
    return verdict.code == TORT_YES ? tort_firmware_claim_window(&p->window) : verdict;
}

/* The padding below an image is not told of a band. */
static tort_rows rows_of_average(const tort_target *target, const tort_node_view *node) {
    const tort_pool_params *p = node->params;
    (void)target;
    if (p->count_include_pad) return (tort_rows){0};
    return tort_firmware_window_rows(&p->window, p->batch);
}

static tort_status run_average(const tort_call *call) {
    const tort_pool_params *p = call->params;
    const tort_tensor *x = &call->inputs[X], *y = &call->outputs[0];
    const tort_linear from = tort_linear_of(call, X_SCALE, X_ZERO), to = tort_linear_of(call, Y_SCALE, Y_ZERO);
    const int32_t x_flip = tort_firmware_flip(x->type), flip = tort_firmware_flip(y->type);
    const double max = 255.0 * (double)tort_sliding_positions(&p->window);
    tinyort_average_bytes_shape shape = {
        .rows = {.filters = (int32_t)p->channels,
                 .zero = (int32_t)to.zero - flip,
                 .flip = flip,
                 .x_flip = x_flip,
                 .wide = max >= 0x1p24 || max * (double)from.scale / (double)to.scale >= 0x1p21},
        .window = tort_firmware_window_of(&p->window),
        .batch = (int32_t)p->batch,
        .x_zero = (int32_t)from.zero - x_flip,
        .count_padding = p->count_include_pad,
    };
    if (call->band) tort_firmware_take_band(&shape.window, call->band);
    tort_firmware_define(call, shape.rows.wide, flip || x_flip, false);
    return TORT_FIRMWARE_CALL_WITH(call, tinyort_average_bytes, &shape, (x->data, call->scratch, y->data), from.scale,
                                   to.scale);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define NHWC .layout = {.id = TORT_FIRMWARE_NHWC, .inputs = 1, .outputs = 1, .alone = tort_firmware_alone}

const tort_kernel tort_firmware_pool_bytes[] = {
    {"", "MaxPool", "max_pool_bytes", .claim = claim_max, .rows = rows_of_max, .run = run_max,
     .emit = tort_firmware_emit, NHWC},
    {"com.microsoft", "QLinearGlobalAveragePool", "mean_bytes", .claim = claim_mean, .size = size_mean,
     .rows = rows_of_mean, .run = run_mean, .emit = tort_firmware_emit, NHWC},
    {"com.microsoft", "QLinearReduceMean", "mean_bytes", .claim = claim_reduce, .size = size_mean, .rows = rows_of_mean,
     .run = run_mean, .emit = tort_firmware_emit, .variant = KEPT, NHWC},
    {"com.microsoft", "QLinearReduceMean", "mean_bytes", .claim = claim_reduce, .size = size_mean, .rows = rows_of_mean,
     .run = run_mean, .emit = tort_firmware_emit, .variant = FLAT,
     .layout = {.id = TORT_FIRMWARE_NHWC, .inputs = 1, .alone = tort_firmware_alone}},
    {"com.microsoft", "QLinearAveragePool", "average_bytes", .claim = claim_average, .size = size_mean,
     .rows = rows_of_average, .run = run_average, .emit = tort_firmware_emit, NHWC},
    {.op = NULL},
};
