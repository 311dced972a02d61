/* resize.c - Resize and Upsample of floats, by passes over one axis or two neighbours, with tables of input elements
 * and weights: a run makes them in its scratch, or prints them. The scratch begins with what passes hand on. */
#include "ops/resize.h"
#include "kernels/firmware/code/resize.h"
#include "kernels/firmware/firmware.h"
#include "runtime/firmware/compile/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The axes of a pass: the last one, and the one before it, unless that is -1. Both are -1 where nothing is resized. */
typedef struct pass {
    int32_t first, height, width;
    bool is_last;
} pass;

/* The pass over the last axes before `end` that are resized. */
static pass pass_of(const tort_resize_params *p, int32_t end) {
    int32_t width = end - 1;
    while (width >= 0 && p->axes[width].identity) width--;
    const bool pair = width > 0 && !p->axes[width - 1].identity;
    pass made = {pair ? width - 1 : width, pair ? width - 1 : -1, width, true};
    for (int32_t i = 0; i < made.first; i++) made.is_last &= p->axes[i].identity;
    return made;
}

static int32_t taps_of(const tort_resize_axis *axis) {
    return axis && !axis->identity ? (int32_t)axis->taps : 1;
}

static tinyort_resize_shape shape_of(const tort_resize_params *p, const pass *v) {
    const tort_resize_axis *rows = v->height >= 0 ? &p->axes[v->height] : NULL;
    const tort_resize_axis *columns = v->width >= 0 ? &p->axes[v->width] : NULL;
    tinyort_resize_shape shape = {.outer = 1,
                                  .height = rows ? (int32_t)rows->in : 1,
                                  .width = columns ? (int32_t)columns->in : 1,
                                  .inner = 1,
                                  .out_h = rows ? (int32_t)rows->out : 1,
                                  .out_w = columns ? (int32_t)columns->out : 1,
                                  .taps_h = taps_of(rows),
                                  .taps_w = taps_of(columns)};
    for (int32_t i = 0; i < v->first; i++) shape.outer *= (int32_t)p->axes[i].in;
    for (int32_t i = v->width + 1; i < p->rank; i++) shape.inner *= (int32_t)p->axes[i].out;
    return shape;
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
        const bool inside = tort_resize_taps(p, axis, i, at, factors);
        for (size_t k = 0; k < taps; k++) {
            *elements++ = inside ? (int32_t)at[k] : -1;
            *weights++ = inside ? (float)factors[k] : 0.0f;
        }
    }
    const bool made = at && factors;
    free(at);
    free(factors);
    return made ? TORT_OK : tort_out_of_memory(error, taps * sizeof *at);
}

/* Fills the tables: elements, then weights, of rows and then of columns. */
static tort_status fill_tables(const tort_resize_params *p, const pass *v, size_t rows, int32_t *elements,
                               float *weights, tort_error *error) {
    const tort_status status = fill_axis(p, v->height >= 0 ? &p->axes[v->height] : NULL, elements, weights, error);
    return status ? status
                  : fill_axis(p, v->width >= 0 ? &p->axes[v->width] : NULL, elements + rows, weights + rows, error);
}

/* Bytes of the scratch: what passes with an even and an odd number hand on, then the tables of any pass. */
typedef struct room {
    size_t handed[2], tables;
} room;

static room room_of(const tort_resize_params *p) {
    room needed = {{0, 0}, 0};
    pass v = {.first = p->rank};
    for (int32_t i = 0; !v.is_last; i++) {
        v = pass_of(p, v.first);
        const tinyort_resize_shape s = shape_of(p, &v);
        const size_t tables = entries_of(&s) * (sizeof(int32_t) + sizeof(float));
        const size_t bytes = (size_t)(s.outer * s.out_h * s.out_w) * (size_t)s.inner * sizeof(float);
        if (tables > needed.tables) needed.tables = tables;
        if (!v.is_last && bytes > needed.handed[i % 2]) needed.handed[i % 2] = bytes;
    }
    return needed;
}

static tort_status size_resize(const tort_target *target, const tort_node_view *node, size_t *scratch,
                               tort_error *error) {
    const room needed = room_of(node->params);
    (void)target;
    (void)error;
    *scratch = needed.handed[0] + needed.handed[1] + needed.tables;
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
    snprintf(text, sizeof text, "\n    static const %s %s[] = {", elements ? "int32_t" : "float", name);
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
static tort_status print_pass(const tort_call *call, const tinyort_resize_shape *shape, const int32_t *elements,
                              const float *weights, const void *x, const void *y, float outside) {
    tort_emit *emit = tort_firmware_emit_of(call);
    const size_t rows = (size_t)shape->out_h * (size_t)shape->taps_h, columns = entries_of(shape) - rows;
    append(emit, *emit->call ? "\n{" : "{");
    append_table(emit, "rows", elements, NULL, rows);
    append_table(emit, "row_weights", NULL, weights, rows);
    append_table(emit, "columns", elements + rows, NULL, columns);
    append_table(emit, "column_weights", NULL, weights + rows, columns);
    const tort_status status = tort_firmware_print(
        call, NULL, "tinyort_resize", shape,
        TORT_FIRMWARE_OPERANDS(x, "rows", "row_weights", "columns", "column_weights", y), &outside, 1);
    if (!status) append(emit, "\n}");
    return status;
}

static tort_status run_pass(const tort_call *call, const pass *v, int32_t *elements, const void *x, void *y) {
    const tort_resize_params *p = call->params;
    const tinyort_resize_shape shape = shape_of(p, v);
    const size_t rows = (size_t)shape.out_h * (size_t)shape.taps_h;
    const float outside = (float)p->extrapolation;
    float *weights = (float *)(elements + entries_of(&shape));
    const tort_status status = fill_tables(p, v, rows, elements, weights, call->error);
    if (status) return status;
    if (tort_firmware_emit_of(call)) return print_pass(call, &shape, elements, weights, x, y, outside);
    tinyort_resize(&shape, x, elements, weights, elements + rows, weights + rows, y, outside);
    return TORT_OK;
}

static tort_status run_resize(const tort_call *call) {
    const tort_resize_params *p = call->params;
    const room needed = room_of(p);
    const bool prints = tort_firmware_emit_of(call) != NULL;
    char text[64], *handed[2] = {call->scratch, call->scratch};
    if (!tort_count(&call->outputs[0])) return TORT_OK;
    if (prints) {
        snprintf(text, sizeof text, "%s + %zu", handed[0], needed.handed[0]);
        handed[1] = text;
    } else {
        handed[1] += needed.handed[0];
    }
    void *tables = prints ? malloc(needed.tables) : handed[1] + needed.handed[1];
    if (!tables) return tort_out_of_memory(call->error, needed.tables);
    const void *x = call->inputs[0].data;
    tort_status status = TORT_OK;
    pass v = {.first = p->rank};
    for (int32_t i = 0; !status && !v.is_last; i++) {
        v = pass_of(p, v.first);
        void *y = v.is_last ? call->outputs[0].data : handed[i % 2];
        status = run_pass(call, &v, tables, x, y);
        x = y;
    }
    if (prints) free(tables);
    return status;
}

#define ROW(op_)                                                                                                       \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = "resize", .claim = tort_firmware_claim_first_float, .run = run_resize,        \
        .size = size_resize, .emit = tort_firmware_emit                                                                \
    }

const tort_kernel tort_firmware_resize[] = {ROW("Resize"), ROW("Upsample"), {.op = NULL}};
