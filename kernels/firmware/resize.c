/* resize.c - Resize and Upsample of floats, of at most two axes that are neighbours, by tables of input elements and
 * weights: a run makes them in its scratch, or prints them. */
#include "ops/resize.h"
#include "kernels/firmware/code/resize.h"
#include "kernels/firmware/firmware.h"
#include "runtime/firmware/compile/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The view (outer, height, width, inner): -1: no such axis. */
typedef struct view {
    int32_t outer, height, width, inner;
} view;

/* False: axes that are resized have others between them, or are more than two. */
static bool view_of(const tort_resize_params *p, view *v) {
    int32_t first = 0, last = p->rank - 1;
    while (first < p->rank && p->axes[first].identity) first++;
    while (last >= 0 && p->axes[last].identity) last--;
    if (first > last) first = last = p->rank - 1;
    *v = (view){first - 1, last > first ? first : -1, last, last + 1 < p->rank ? last + 1 : -1};
    return last - first < 2 && first < 2 && p->rank - last <= 2;
}

static tort_verdict claim_resize(const tort_target *target, const tort_node_view *node) {
    const tort_resize_params *p = node->params;
    view v;
    if (p->transform == TORT_RESIZE_TF_CROP_AND_RESIZE)
        return tort_no(TORT_NO_ATTR, "", "coordinate_transformation_mode is tf_crop_and_resize");
    if (p->rank < 1 || !view_of(p, &v))
        return tort_no(TORT_NO_SHAPE, "", "resizes at most two axes, which are neighbours");
    return tort_firmware_claim_first_float(target, node);
}

static int32_t taps_of(const tort_resize_axis *axis) {
    return axis && !axis->identity ? (int32_t)axis->taps : 1;
}

static tinyort_resize_shape shape_of(const tort_resize_params *p) {
    view v;
    view_of(p, &v);
    const tort_resize_axis *rows = v.height >= 0 ? &p->axes[v.height] : NULL, *columns = &p->axes[v.width];
    return (tinyort_resize_shape){.outer = v.outer >= 0 ? (int32_t)p->axes[v.outer].in : 1,
                                  .height = rows ? (int32_t)rows->in : 1,
                                  .width = (int32_t)columns->in,
                                  .inner = v.inner >= 0 ? (int32_t)p->axes[v.inner].in : 1,
                                  .out_h = rows ? (int32_t)rows->out : 1,
                                  .out_w = (int32_t)columns->out,
                                  .taps_h = taps_of(rows),
                                  .taps_w = taps_of(columns)};
}

/* Entries of the tables of rows, then of columns. */
static size_t entries_of(const tinyort_resize_shape *s) {
    return (size_t)s->out_h * (size_t)s->taps_h + (size_t)s->out_w * (size_t)s->taps_w;
}

/* Fills the tables of an axis; NULL: an axis of one element. */
static tort_status fill_axis(const tort_resize_params *p, const tort_resize_axis *axis, int32_t *elements,
                             float *weights, tort_error *error) {
    const size_t taps = (size_t)taps_of(axis);
    elements[0] = 0;
    weights[0] = 1.0f;
    if (!axis) return TORT_OK;
    int64_t *at = malloc(taps * sizeof *at);
    double *factors = malloc(taps * sizeof *factors);
    for (int64_t i = 0; at && factors && i < axis->out; i++) {
        tort_resize_taps(p, axis, i, at, factors);
        for (size_t k = 0; k < taps; k++) {
            *elements++ = (int32_t)at[k];
            *weights++ = (float)factors[k];
        }
    }
    const bool made = at && factors;
    free(at);
    free(factors);
    return made ? TORT_OK : tort_out_of_memory(error, taps * sizeof *at);
}

/* Fills the tables: elements, then weights, of rows and then of columns. */
static tort_status fill_tables(const tort_resize_params *p, const tinyort_resize_shape *s, int32_t *elements,
                               float *weights, tort_error *error) {
    const size_t rows = (size_t)s->out_h * (size_t)s->taps_h;
    view v;
    view_of(p, &v);
    const tort_resize_axis *height = v.height >= 0 ? &p->axes[v.height] : NULL;
    const tort_status status = fill_axis(p, height, elements, weights, error);
    return status ? status : fill_axis(p, &p->axes[v.width], elements + rows, weights + rows, error);
}

static tort_status size_resize(const tort_target *target, const tort_node_view *node, size_t *scratch,
                               tort_error *error) {
    const tinyort_resize_shape shape = shape_of(node->params);
    (void)target;
    (void)error;
    *scratch = entries_of(&shape) * (sizeof(int32_t) + sizeof(float));
    return TORT_OK;
}

/* Appends text to the statement, which tort_firmware_print checks for its room. */
static void append(tort_emit *emit, const char *text) {
    const size_t used = strlen(emit->call);
    snprintf(emit->call + used, sizeof emit->call - used, "%s", text);
}

/* Appends "static const TYPE NAME[] = {...};" of elements, or, where they are NULL, of weights. */
static void append_table(tort_emit *emit, const char *name, const int32_t *elements, const float *weights,
                         size_t count) {
    char text[64], number[TORT_COMPILE_FLOAT];
    snprintf(text, sizeof text, "%s    static const %s %s[] = {", *emit->call ? "\n    " : "{\n    ",
             elements ? "int32_t" : "float", name);
    append(emit, text);
    for (size_t i = 0; i < count; i++) {
        snprintf(text, sizeof text, "%s", i ? ", " : "");
        append(emit, text);
        if (elements)
            snprintf(number, sizeof number, "%d", (int)elements[i]);
        else
            tort_compile_float(weights[i], number);
        append(emit, number);
    }
    append(emit, "};");
}

/* Prints the tables, and the call with their names. */
static tort_status print_resize(const tort_call *call, const tinyort_resize_shape *shape, const int32_t *elements,
                                const float *weights) {
    tort_emit *emit = tort_firmware_emit_of(call);
    const size_t rows = (size_t)shape->out_h * (size_t)shape->taps_h, columns = entries_of(shape) - rows;
    append_table(emit, "rows", elements, NULL, rows);
    append_table(emit, "row_weights", NULL, weights, rows);
    append_table(emit, "columns", elements + rows, NULL, columns);
    append_table(emit, "column_weights", NULL, weights + rows, columns);
    const tort_status status =
        tort_firmware_print(call, NULL, "tinyort_resize", shape,
                            TORT_FIRMWARE_OPERANDS(call->inputs[0].data, "rows", "row_weights", "columns",
                                                   "column_weights", call->outputs[0].data),
                            NULL, 0);
    if (!status) append(emit, "\n    }");
    return status;
}

static tort_status run_resize(const tort_call *call) {
    const tinyort_resize_shape shape = shape_of(call->params);
    const size_t rows = (size_t)shape.out_h * (size_t)shape.taps_h, all = entries_of(&shape);
    const bool prints = tort_firmware_emit_of(call) != NULL;
    if (!tort_count(&call->outputs[0])) return TORT_OK;
    int32_t *elements = prints ? malloc(all * (sizeof *elements + sizeof(float))) : call->scratch;
    if (!elements) return tort_out_of_memory(call->error, all * sizeof *elements);
    float *weights = (float *)(elements + all);
    tort_status status = fill_tables(call->params, &shape, elements, weights, call->error);
    if (!status && prints) status = print_resize(call, &shape, elements, weights);
    if (!status && !prints)
        tinyort_resize(&shape, call->inputs[0].data, elements, weights, elements + rows, weights + rows,
                       call->outputs[0].data);
    if (prints) free(elements);
    return status;
}

#define ROW(op_)                                                                                                       \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = "resize", .claim = claim_resize, .run = run_resize, .size = size_resize,      \
        .emit = tort_firmware_emit                                                                                     \
    }

const tort_kernel tort_firmware_resize[] = {ROW("Resize"), ROW("Upsample"), {.op = NULL}};
