/* resize_bytes.c - Resize of bytes, and QLinearResize, of at most two axes that are neighbours, in whole numbers;
 * images with their channels last, too. The tables are packed. */
#include "kernels/firmware/code/resize_bytes.h"
#include "kernels/firmware/bytes.h"
#include "kernels/firmware/nhwc.h"
#include "ops/microsoft/qlinear.h"
#include "ops/resize.h"

#include <math.h>

enum { X, X_SCALE, X_ZERO, Y_SCALE, Y_ZERO };    /* inputs of QLinearResize */
enum { PLAIN, NHWC, LINEAR_PLAIN, LINEAR_NHWC }; /* values of tort_kernel.variant: Resize, QLinearResize */
enum { COLUMN_BITS = 22, ROW_BITS = 24, MAX_FACTOR = 64, MAX_TAPS = 64 };

/* The axes that are resized: -1: there is no such axis. */
typedef struct view {
    int32_t height, width;
} view;

static bool view_of(const tort_resize_params *p, view *v) {
    int32_t first = 0, last = p->rank - 1;
    while (first < p->rank && p->axes[first].identity) first++;
    while (last >= 0 && p->axes[last].identity) last--;
    if (first > last) first = last = p->rank - 1;
    *v = (view){last > first ? first : -1, last};
    return p->rank > 0 && last - first < 2 && first < 2 && p->rank - last <= 2;
}

static double factor_of(const tort_node_view *node) {
    return node->kernel->variant < LINEAR_PLAIN
               ? 1.0
               : tort_firmware_number(node, X_SCALE, 0, 1) / tort_firmware_number(node, Y_SCALE, 0, 1);
}

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_resize_params *p = node->params;
    const tort_info *x = &node->inputs[X];
    const int32_t variant = node->kernel->variant;
    tort_verdict verdict = tort_yes();
    view v;
    (void)target;
    if (x->type != TORT_INT8 && x->type != TORT_UINT8)
        return tort_no(TORT_NO_TYPE, "", "%s, expected int8 or uint8", tort_type_name(x->type));
    if (variant >= LINEAR_PLAIN) verdict = tort_firmware_claim_constants(node, X_SCALE, Y_ZERO);
    if (verdict.code != TORT_YES) return verdict;
    if (p->transform == TORT_RESIZE_TF_CROP_AND_RESIZE)
        return tort_no(TORT_NO_ATTR, "", "coordinate_transformation_mode is tf_crop_and_resize");
    if (!view_of(p, &v)) return tort_no(TORT_NO_SHAPE, "", "resizes at most two axes, which are neighbours");
    if (p->axes[v.width].taps > MAX_TAPS || (v.height >= 0 && p->axes[v.height].taps > MAX_TAPS))
        return tort_no(TORT_NO_SHAPE, "", "shrinks by more than a factor of %d", MAX_TAPS / 2);
    if (!(factor_of(node) < MAX_FACTOR)) return tort_no(TORT_NO_ATTR, "calibrate again", "its scales are far apart");
    if (variant == PLAIN || variant == LINEAR_PLAIN) return tort_yes();
    if ((x->rank != 3 && x->rank != 4) || v.width != p->rank - 1 || p->rank != x->rank - 1)
        return tort_no(TORT_NO_SHAPE, "", "does not resize all axes of pixels");
    return tort_yes();
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static tinyort_resize_bytes_shape shape_of(const tort_resize_params *p, int32_t channels) {
    view v;
    view_of(p, &v);
    const tort_resize_axis *rows = v.height >= 0 ? &p->axes[v.height] : NULL, *columns = &p->axes[v.width];
    const int32_t first = v.height >= 0 ? v.height : v.width;
    return (tinyort_resize_bytes_shape){.outer = first ? (int32_t)p->axes[0].in / channels : 1,
                                        .height = rows ? (int32_t)rows->in : 1,
                                        .width = (int32_t)columns->in,
                                        .inner =
                                            channels * (v.width + 1 < p->rank ? (int32_t)p->axes[v.width + 1].in : 1),
                                        .out_h = rows ? (int32_t)rows->out : 1,
                                        .out_w = (int32_t)columns->out,
                                        .taps_h = rows && !rows->identity ? (int32_t)rows->taps : 1,
                                        .taps_w = columns->identity ? 1 : (int32_t)columns->taps};
}

static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    const tinyort_resize_bytes_shape s = shape_of(node->params, 1);
    (void)target, (void)error;
    *bytes = ((size_t)s.out_h * (size_t)s.taps_h + (size_t)s.out_w * (size_t)s.taps_w) * 2 * sizeof(int32_t);
    *consumed = 0;
    return TORT_OK;
}

/* Fills the table of an axis; NULL: an axis of one element. False: its weights are too large. */
static bool fill(const tort_resize_params *p, const tort_resize_axis *axis, int32_t taps, double unit,
                 int32_t *elements, int32_t *weights) {
    int64_t at[MAX_TAPS] = {0};
    double factors[MAX_TAPS] = {1.0};
    for (int64_t i = 0; i < (axis ? axis->out : 1); i++) {
        double size = 0;
        if (axis) tort_resize_taps(p, axis, i, at, factors);
        for (int32_t k = 0; k < taps; k++, elements++, weights++) {
            *elements = (int32_t)at[k];
            *weights = (int32_t)rint(factors[k] * unit);
            size += fabs(factors[k]);
        }
        if (size >= 1.9) return false;
    }
    return true;
}

static tort_status prepare(tort_prepare *prepare) {
    const tort_node_view *node = prepare->node;
    const tort_resize_params *p = node->params;
    const tinyort_resize_bytes_shape s = shape_of(p, 1);
    const size_t rows = (size_t)s.out_h * (size_t)s.taps_h, columns = (size_t)s.out_w * (size_t)s.taps_w;
    int32_t *tables = prepare->packed;
    view v;
    view_of(p, &v);
    if (fill(p, v.height >= 0 ? &p->axes[v.height] : NULL, s.taps_h, ldexp(factor_of(node), ROW_BITS), tables,
             tables + rows) &&
        fill(p, &p->axes[v.width], s.taps_w, ldexp(1.0, COLUMN_BITS), tables + 2 * rows, tables + 2 * rows + columns))
        return TORT_OK;
    return tort_fail(prepare->error, TORT_E_MODEL, "the weights of %s are too large for whole numbers", node->op->name);
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

static int32_t zero_of(const tort_call *call, int32_t input, int32_t flip) {
    if (call->kernel->variant < LINEAR_PLAIN) return 0;
    const tort_tensor *zero = &call->inputs[input];
    return (int32_t)tort_element_at(zero, 0) - flip;
}

static bool same_scale(const tort_call *call) {
    return call->kernel->variant < LINEAR_PLAIN ||
           tort_linear_of(call, X_SCALE, X_ZERO).scale == tort_linear_of(call, Y_SCALE, Y_ZERO).scale;
}

static tort_status run(const tort_call *call) {
    const tort_tensor *x = &call->inputs[X], *y = &call->outputs[0];
    const bool nhwc = call->kernel->variant == NHWC || call->kernel->variant == LINEAR_NHWC;
    tinyort_resize_bytes_shape s = shape_of(call->params, nhwc ? (int32_t)x->dims[1] : 1);
    const size_t rows = (size_t)s.out_h * (size_t)s.taps_h, columns = (size_t)s.out_w * (size_t)s.taps_w;
    const int32_t *tables = call->packed;
    s.x_flip = tort_firmware_flip(x->type);
    s.flip = tort_firmware_flip(y->type);
    s.x_zero = zero_of(call, X_ZERO, s.x_flip);
    s.zero = zero_of(call, Y_ZERO, s.flip);
    s.copies = s.taps_h == 1 && s.taps_w == 1 && s.x_flip == s.flip && s.x_zero == s.zero && same_scale(call);
    tort_firmware_array(call, 0, TORT_INT32, 0, rows);
    tort_firmware_array(call, 1, TORT_INT32, rows * 4, rows);
    tort_firmware_array(call, 2, TORT_INT32, rows * 8, columns);
    tort_firmware_array(call, 3, TORT_INT32, rows * 8 + columns * 4, columns);
    return TORT_FIRMWARE_CALL(call, tinyort_resize_bytes, &s, x->data, tables, tables + rows, tables + 2 * rows,
                              tables + 2 * rows + columns, y->data);
}

#define ROW(domain_, op_, variant_, ...)                                                                               \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "resize_bytes", .claim = claim, .pack = {.size = pack_size},             \
        .prepare = prepare, .run = run, .emit = tort_firmware_emit, .variant = variant_, __VA_ARGS__                   \
    }
#define LAST .layout = {.id = TORT_FIRMWARE_NHWC, .inputs = 1, .outputs = 1}

const tort_kernel tort_firmware_resize_bytes[] = {
    ROW("", "Resize", NHWC, LAST),
    ROW("", "Resize", PLAIN, .in_place = 0),
    ROW("tinyort", "QLinearResize", LINEAR_NHWC, LAST),
    ROW("tinyort", "QLinearResize", LINEAR_PLAIN, .in_place = 0),
    {.op = NULL},
};
