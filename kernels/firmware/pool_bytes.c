/* pool_bytes.c - MaxPool, QLinearAveragePool and QLinearGlobalAveragePool of bytes, channels last. */
#include "kernels/firmware/bytes.h"
#include "kernels/firmware/code/average_bytes.h"
#include "kernels/firmware/code/max_pool_bytes.h"
#include "kernels/firmware/code/mean_bytes.h"
#include "kernels/firmware/nhwc.h"
#include "kernels/firmware/window.h"
#include "ops/microsoft/qlinear.h"
#include "ops/pool.h"

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

static tinyort_max_pool_bytes_shape max_of(const tort_pool_params *p, tort_type type) {
    return (tinyort_max_pool_bytes_shape){.window = tort_firmware_window_of(&p->window),
                                          .batch = (int32_t)p->batch,
                                          .channels = (int32_t)p->channels,
                                          .flip = tort_firmware_flip(type)};
}

static tort_rows rows_of_max(const tort_target *target, const tort_node_view *node) {
    const tort_pool_params *p = node->params;
    (void)target;
    return tort_firmware_window_rows(&p->window, p->batch);
}

static tort_status run_max(const tort_call *call) {
    tinyort_max_pool_bytes_shape shape = max_of(call->params, call->inputs[0].type);
    if (call->band) tort_firmware_take_band(&shape.window, call->band);
    tinyort_max_pool_bytes(&shape, call->inputs[0].data, call->outputs[0].data);
    return TORT_OK;
}

static tort_status emit_max(tort_emit *emit) {
    const tinyort_max_pool_bytes_shape shape = max_of(emit->node->params, emit->node->inputs[0].type);
    emit->code[0] = tort_code_sliding;
    emit->code[1] = tort_code_max_pool_bytes;
    return tort_firmware_emit(emit,
                              &(tort_firmware_call){.function = "tinyort_max_pool_bytes",
                                                    .members = TORT_FIRMWARE_WINDOW("window.") "batch channels flip",
                                                    .shape = &shape.window.height,
                                                    .inputs = 1});
}

/* ---- mean -------------------------------------------------------------------------------------------------------- */

enum { X, X_SCALE, X_ZERO, Y_SCALE, Y_ZERO }; /* inputs */

static tort_verdict claim_mean(const tort_target *target, const tort_node_view *node) {
    static const char *const names[] = {"", "x_scale", "x_zero_point", "y_scale", "y_zero_point"};
    tort_verdict verdict = tort_yes();
    (void)target;
    if (tort_attr_int(node, "channels_last"))
        return tort_no(TORT_NO_ATTR, "export it with the channels first", "channels_last is set");
    for (int32_t i = X_SCALE; verdict.code == TORT_YES && i <= Y_ZERO; i++)
        verdict = tort_firmware_claim_constant(node, i, names[i]);
    return verdict;
}

/* before, now: pixels that a band comes after, and that it has. */
static tinyort_mean_bytes_shape mean_of(const tort_tensor *x, tort_type y, const double *n, int32_t before, int32_t now,
                                        float *factor) {
    const int32_t pixels = (int32_t)tort_extent(x->dims, 2, x->rank), x_flip = tort_firmware_flip(x->type),
                  flip = tort_firmware_flip(y);
    *factor = tort_linear_mean((float)n[X_SCALE], (float)n[Y_SCALE], pixels);
    return (tinyort_mean_bytes_shape){
        .rows = {.filters = (int32_t)x->dims[1],
                 .zero = (int32_t)n[Y_ZERO] - flip,
                 .flip = flip,
                 .x_flip = x_flip,
                 .wide = pixels >= (1 << 16) || 255.0 * pixels * (double)*factor >= 0x1p21},
        .batch = (int32_t)x->dims[0],
        .pixels = pixels,
        .before = before,
        .now = now,
        .x_zero = (int32_t)n[X_ZERO] - x_flip,
    };
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
    double n[5];
    float factor;
    for (int32_t i = X_SCALE; i <= Y_ZERO; i++) n[i] = tort_element_at(&call->inputs[i], 0);
    const tort_tensor *x = &call->inputs[X];
    const int32_t row = call->band ? (int32_t)x->dims[3] : 0, pixels = (int32_t)tort_extent(x->dims, 2, x->rank);
    const tinyort_mean_bytes_shape shape =
        mean_of(x, call->outputs[0].type, n, call->band ? call->band->out_first * row : 0,
                call->band ? call->band->out_rows * row : pixels, &factor);
    if (tort_count(&call->outputs[0]))
        tinyort_mean_bytes(&shape, x->data, call->scratch, call->outputs[0].data, factor);
    return TORT_OK;
}

static tort_status emit_mean(tort_emit *emit) {
    const tort_node_view *node = emit->node;
    double n[5];
    float factor;
    tort_tensor x;
    for (int32_t i = X_SCALE; i <= Y_ZERO; i++) n[i] = tort_firmware_number(node, i, 0, i % 2);
    if (!tort_info_tensor(&node->inputs[X], &x)) return tort_fail(emit->error, TORT_E_INTERNAL, "a shape is unknown");
    const int32_t row = emit->banded ? (int32_t)x.dims[3] : 0, pixels = (int32_t)tort_extent(x.dims, 2, x.rank);
    const tinyort_mean_bytes_shape shape =
        mean_of(&x, node->outputs[0].type, n, row, emit->banded ? row : pixels, &factor);
    const char *operands[] = {emit->inputs[X], emit->scratch, emit->outputs[0], NULL};
    tort_firmware_define(emit, shape.rows.wide, shape.rows.flip || shape.rows.x_flip, false);
    emit->code[0] = tort_code_bytes_shape;
    emit->code[1] = tort_code_requantize;
    emit->code[2] = tort_code_mean_bytes;
    return tort_firmware_emit_with(emit,
                                   &(tort_firmware_call){.function = "tinyort_mean_bytes",
                                                         .members = TORT_FIRMWARE_ROWS "batch pixels before now x_zero",
                                                         .shape = &shape.rows.filters,
                                                         .numbers = &factor,
                                                         .number_count = 1},
                                   operands);
}

/* ---- average ----------------------------------------------------------------------------------------------------- */

static tort_verdict claim_average(const tort_target *target, const tort_node_view *node) {
    const tort_pool_params *p = node->params; /* the first member of the operator's */
    const tort_verdict verdict = claim_mean(target, node);
    return verdict.code == TORT_YES ? tort_firmware_claim_window(&p->window) : verdict;
}

/* numbers: the scales of x and y. */
static tinyort_average_bytes_shape average_of(const tort_pool_params *p, tort_type x, tort_type y, const double *n,
                                              float *numbers) {
    const int32_t x_flip = tort_firmware_flip(x), flip = tort_firmware_flip(y);
    const double max = 255.0 * (double)tort_sliding_positions(&p->window);
    numbers[0] = (float)n[X_SCALE];
    numbers[1] = (float)n[Y_SCALE];
    return (tinyort_average_bytes_shape){
        .rows = {.filters = (int32_t)p->channels,
                 .zero = (int32_t)n[Y_ZERO] - flip,
                 .flip = flip,
                 .x_flip = x_flip,
                 .wide = max >= 0x1p24 || max * n[X_SCALE] / n[Y_SCALE] >= 0x1p21},
        .window = tort_firmware_window_of(&p->window),
        .batch = (int32_t)p->batch,
        .x_zero = (int32_t)n[X_ZERO] - x_flip,
        .count_padding = p->count_include_pad,
    };
}

/* The padding below an image is not told of a band. */
static tort_rows rows_of_average(const tort_target *target, const tort_node_view *node) {
    const tort_pool_params *p = node->params;
    (void)target;
    if (p->count_include_pad) return (tort_rows){0};
    return tort_firmware_window_rows(&p->window, p->batch);
}

static tort_status run_average(const tort_call *call) {
    double n[5] = {0};
    float numbers[2];
    for (int32_t i = X_SCALE; i <= Y_ZERO; i++) {
        const tort_tensor *given = tort_call_input(call, i);
        if (given) n[i] = tort_element_at(given, 0);
    }
    tinyort_average_bytes_shape shape =
        average_of(call->params, call->inputs[X].type, call->outputs[0].type, n, numbers);
    if (call->band) tort_firmware_take_band(&shape.window, call->band);
    if (tort_count(&call->outputs[0]))
        tinyort_average_bytes(&shape, call->inputs[X].data, call->scratch, call->outputs[0].data, numbers[0],
                              numbers[1]);
    return TORT_OK;
}

static tort_status emit_average(tort_emit *emit) {
    const tort_node_view *node = emit->node;
    double n[5];
    float numbers[2];
    for (int32_t i = X_SCALE; i <= Y_ZERO; i++) n[i] = tort_firmware_number(node, i, 0, i % 2);
    const tinyort_average_bytes_shape shape =
        average_of(node->params, node->inputs[X].type, node->outputs[0].type, n, numbers);
    const char *operands[] = {emit->inputs[X], emit->scratch, emit->outputs[0], NULL};
    tort_firmware_define(emit, shape.rows.wide, shape.rows.flip || shape.rows.x_flip, false);
    emit->code[0] = tort_code_bytes_shape;
    emit->code[1] = tort_code_requantize;
    emit->code[2] = tort_code_sliding;
    emit->code[3] = tort_code_average_bytes;
    return tort_firmware_emit_with(emit,
                                   &(tort_firmware_call){.function = "tinyort_average_bytes",
                                                         .members = TORT_FIRMWARE_ROWS TORT_FIRMWARE_WINDOW(
                                                             "window.") "batch x_zero count_padding",
                                                         .shape = &shape.rows.filters,
                                                         .numbers = numbers,
                                                         .number_count = 2},
                                   operands);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define NHWC .layout = {.id = TORT_FIRMWARE_NHWC, .inputs = 1, .outputs = 1, .alone = tort_firmware_alone}

const tort_kernel tort_firmware_pool_bytes[] = {
    {"", "MaxPool", "max_pool_bytes", .claim = claim_max, .rows = rows_of_max, .run = run_max, .emit = emit_max, NHWC},
    {"com.microsoft", "QLinearGlobalAveragePool", "mean_bytes", .claim = claim_mean, .size = size_mean,
     .rows = rows_of_mean, .run = run_mean, .emit = emit_mean, NHWC},
    {"com.microsoft", "QLinearAveragePool", "average_bytes", .claim = claim_average, .size = size_mean,
     .rows = rows_of_average, .run = run_average, .emit = emit_average, NHWC},
    {.op = NULL},
};
