/* views.c - Split, Slice and Concat along outer axes that a plan makes views: where it does and where it must not, what
 * that saves, and that results stay the same. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "runtime/core/lowered/lowered.h"
#include "tests/onnx_bytes.h"
#include "tests/report_of.h"
#include "runtime/core/plan/planned.h"

enum { ELEMENTS = 4096, BYTES = ELEMENTS * 4 };

typedef struct opened {
    onnx_bytes bytes;
    tort_model *model;
    tort_session *session;
    tort_context *context;
    float x[ELEMENTS], y[ELEMENTS];
} opened;

/* x and y are [rows, 4096 / rows]; rows below 0: any number of rows of 2048. */
static void begin_model(opened *o, int64_t rows) {
    const int64_t dims[] = {rows, ELEMENTS / (rows < 0 ? 2 : rows)};
    memset(o, 0, sizeof *o);
    for (int i = 0; i < ELEMENTS; i++) o->x[i] = (float)(i % 1001 - 500) / 4;
    onnx_begin_model(&o->bytes, 17);
    onnx_value(&o->bytes, GRAPH_INPUT, "x", TORT_FLOAT, 2, dims);
    onnx_value(&o->bytes, GRAPH_OUTPUT, "y", TORT_FLOAT, 2, dims);
}

static void integers(opened *o, const char *name, int count, const int64_t *values) {
    const int64_t dims[] = {count};
    onnx_tensor(&o->bytes, GRAPH_INITIALIZER, name, TORT_INT64, 1, dims, values, (size_t)count * sizeof *values);
}

static void node(opened *o, const char *op, const char *name, const char *inputs, const char *outputs, int64_t axis) {
    onnx_begin_node(&o->bytes, GRAPH_NODE, op, name, inputs, outputs);
    onnx_int_attribute(&o->bytes, "axis", axis);
    onnx_end(&o->bytes);
}

static void end_model(opened *o) {
    tort_error error;
    onnx_end(&o->bytes);
    cr_assert_eq(tort_model_load_buffer(NULL, o->bytes.data, o->bytes.size, NULL, &o->model, &error), TORT_OK, "%s",
                 error.msg);
    tort_session_options options = {.struct_size = sizeof options, .chain = "cpu"};
    cr_assert_eq(tort_session_create(NULL, o->model, &options, &o->session, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_context_create(o->session, &o->context, &error), TORT_OK, "%s", error.msg);
}

static void run_on(opened *o, int64_t rows, int64_t columns) {
    tort_tensor input = {TORT_FLOAT, 2, {rows, columns}, o->x}, output = input;
    tort_error error;
    output.data = o->y;
    memset(o->y, 0, sizeof o->y);
    cr_assert_eq(tort_context_run(o->context, &input, 1, &output, 1, &error), TORT_OK, "%s", error.msg);
}

static void run_model(opened *o, int64_t rows) {
    run_on(o, rows, ELEMENTS / rows);
}

static void close_model(opened *o) {
    tort_context_free(o->context);
    tort_session_free(o->session);
    tort_model_free(o->model);
    onnx_free(&o->bytes);
}

/* Of the plan used last. */
static int views(const opened *o) {
    const tort_plan *plan = &tort_main_graph(o->session)->plans->plan;
    int count = 0;
    for (int32_t i = 0; i < plan->step_count; i++) count += plan->steps[i].kind == TORT_STEP_VIEW;
    return count;
}

static int64_t arena_of(const opened *o) {
    tort_report *report = report_of(o->session);
    const int64_t bytes = report->providers[0]->peak_bytes;
    tort_report_free(report);
    return bytes;
}

static const char *kernel_of(const tort_report *report, const char *name) {
    for (int32_t i = 0; i < report->node_count; i++)
        if (!strcmp(report->nodes[i]->name, name)) return report->nodes[i]->kernel;
    return "";
}

/* ---- where it does ----------------------------------------------------------------------------------------------- */

Test(views, a_tensor_is_taken_apart_and_put_together_without_moving_it) {
    static opened o;
    begin_model(&o, 4);
    onnx_node(&o.bytes, "Neg", "neg", "x", "a");
    node(&o, "Split", "split", "a", "p q", 0);
    onnx_node(&o.bytes, "Cos", "upper", "p", "r");
    onnx_node(&o.bytes, "Abs", "lower", "q", "s");
    node(&o, "Concat", "join", "s r", "b", 0);
    onnx_node(&o.bytes, "Neg", "last", "b", "y");
    end_model(&o);
    run_model(&o, 4);
    tort_report *report = report_of(o.session);
    cr_expect_eq(views(&o), 2);
    cr_expect_str_eq(kernel_of(report, "split"), "view");
    cr_expect_str_eq(kernel_of(report, "join"), "view");
    cr_expect_str_eq(kernel_of(report, "neg"), "neg_vectors");
    tort_report_free(report);
    cr_expect_eq(arena_of(&o), 2 * BYTES);
    for (int i = 0; i < ELEMENTS / 2; i++) {
        const float q = -o.x[i + ELEMENTS / 2];
        cr_assert_eq(o.y[i], q < 0 ? q : -q);
        cr_assert_float_eq(o.y[i + ELEMENTS / 2], -cosf(o.x[i]), 1e-5f);
    }
    close_model(&o);
}

/* Before the axis are ones alone: then it is the outermost. */
Test(views, slices_of_slices_and_parts_of_parts) {
    static opened o;
    begin_model(&o, 1);
    integers(&o, "first", 1, (const int64_t[]){1024});
    integers(&o, "end", 1, (const int64_t[]){-1024});
    integers(&o, "zero", 1, (const int64_t[]){0});
    integers(&o, "half", 1, (const int64_t[]){1024});
    integers(&o, "all", 1, (const int64_t[]){4096});
    integers(&o, "one", 1, (const int64_t[]){1});
    onnx_node(&o.bytes, "Neg", "neg", "x", "a");
    onnx_node(&o.bytes, "Slice", "middle", "a first end one", "m"); /* 1024..3072 */
    onnx_node(&o.bytes, "Slice", "left", "m zero half one", "l");   /* 1024..2048 */
    onnx_node(&o.bytes, "Slice", "right", "m half all one", "r");   /* 2048..3072 */
    onnx_node(&o.bytes, "Abs", "abs", "l", "s");
    onnx_node(&o.bytes, "Cos", "cos", "r", "t");
    node(&o, "Concat", "inner", "s t", "i", 1);
    onnx_node(&o.bytes, "Sin", "sin", "l", "u");
    onnx_node(&o.bytes, "Exp", "exp", "u", "v");
    node(&o, "Concat", "outer", "i u v", "b", -1);
    onnx_node(&o.bytes, "Neg", "last", "b", "y");
    end_model(&o);
    run_model(&o, 1);
    cr_expect_eq(views(&o), 5);
    for (int i = 0; i < 1024; i++) {
        const float l = -o.x[1024 + i], r = -o.x[2048 + i];
        cr_assert_eq(o.y[i], l < 0 ? l : -l);
        cr_assert_float_eq(o.y[1024 + i], -cosf(r), 1e-5f);
        cr_assert_float_eq(o.y[2048 + i], -sinf(l), 1e-5f);
        cr_assert_float_eq(o.y[3072 + i], -expf(sinf(l)), 1e-4f);
    }
    close_model(&o);
}

/* As in a dense block: each Concat is of the one before and a new part. The last of them holds them all. */
Test(views, what_is_joined_again_and_again_is_made_once) {
    static opened o;
    begin_model(&o, 4);
    integers(&o, "zero", 1, (const int64_t[]){0});
    integers(&o, "one", 1, (const int64_t[]){1});
    onnx_node(&o.bytes, "Slice", "first", "x zero one zero", "p");
    onnx_node(&o.bytes, "Neg", "a", "p", "a0");
    onnx_node(&o.bytes, "Abs", "b", "p", "b0");
    node(&o, "Concat", "two", "a0 b0", "ab", 0);
    onnx_node(&o.bytes, "ReduceSum", "sum2", "ab zero", "s2");
    onnx_node(&o.bytes, "Sin", "c", "s2", "c0");
    node(&o, "Concat", "three", "a0 b0 c0", "abc", 0);
    onnx_node(&o.bytes, "ReduceSum", "sum3", "abc zero", "s3");
    onnx_node(&o.bytes, "Cos", "d", "s3", "d0");
    node(&o, "Concat", "four", "a0 b0 c0 d0", "abcd", 0);
    onnx_node(&o.bytes, "Exp", "exp", "abcd", "y");
    end_model(&o);
    run_model(&o, 4);
    cr_expect_eq(views(&o), 3);
    for (int i = 0; i < ELEMENTS / 4; i++) {
        const float a = -o.x[i], b = o.x[i] < 0 ? -o.x[i] : o.x[i], c = sinf(a + b), d = cosf(a + b + c);
        cr_assert_float_eq(o.y[i + ELEMENTS / 2], expf(c), 1e-4f);
        cr_assert_float_eq(o.y[i + ELEMENTS / 4 * 3], expf(d), 1e-4f);
    }
    close_model(&o);
}

/* For one row columns lie in one piece, for two they do not: each plan decides for itself. */
Test(views, a_plan_for_other_shapes_decides_anew) {
    static opened o;
    begin_model(&o, -1);
    onnx_node(&o.bytes, "Neg", "neg", "x", "a");
    node(&o, "Split", "split", "a", "p q", 1);
    onnx_node(&o.bytes, "Abs", "abs", "p", "r");
    node(&o, "Concat", "join", "q r", "b", 1);
    onnx_node(&o.bytes, "Neg", "last", "b", "y");
    end_model(&o);
    for (int64_t turn = 0; turn < 4; turn++) {
        const int64_t rows = 1 + turn % 2, columns = ELEMENTS / 2, half = columns / 2;
        run_on(&o, rows, columns);
        cr_expect_eq(views(&o), rows == 1); /* q is a part already: the Concat stays */
        for (int64_t i = 0; i < rows * columns; i++) {
            const bool left = i % columns < half;
            const float x = o.x[left ? i + half : i - half];
            cr_assert_eq(o.y[i], left || x > 0 ? (left ? x : -x) : x, "element %d", (int)i);
        }
    }
    close_model(&o);
}

/* ---- where it must not ------------------------------------------------------------------------------------------- */

/* A copy of a model that is run with outputs of the context and checked against `expected`. */
static void expect_none(opened *o, int64_t rows) {
    end_model(o);
    run_model(o, rows);
    cr_expect_eq(views(o), 0);
    for (int i = 0; i < ELEMENTS; i++) cr_assert_eq(o->y[i], -o->x[i], "element %d", i);
    close_model(o);
}

Test(views, what_is_not_aligned_is_moved) {
    static opened o;
    begin_model(&o, 1);
    integers(&o, "lengths", 2, (const int64_t[]){4095, 1});
    onnx_node(&o.bytes, "Neg", "neg", "x", "a");
    node(&o, "Split", "split", "a lengths", "p q", 1);
    onnx_node(&o.bytes, "Neg", "left", "p", "r");
    onnx_node(&o.bytes, "Neg", "right", "q", "s");
    node(&o, "Concat", "join", "r s", "b", 1);
    onnx_node(&o.bytes, "Neg", "last", "b", "y");
    expect_none(&o, 1);
}

Test(views, what_lies_in_strips_is_moved) {
    static opened o;
    begin_model(&o, 2);
    onnx_node(&o.bytes, "Neg", "neg", "x", "a");
    node(&o, "Split", "split", "a", "p q", 1);
    onnx_node(&o.bytes, "Neg", "left", "p", "r");
    onnx_node(&o.bytes, "Neg", "right", "q", "s");
    node(&o, "Concat", "join", "r s", "b", 1);
    onnx_node(&o.bytes, "Neg", "last", "b", "y");
    expect_none(&o, 2);
}

/* The caller's bytes are neither split nor filled; what goes twice into one tensor cannot be made in both places. */
Test(views, inputs_outputs_and_repeated_parts_are_moved) {
    static opened o;
    begin_model(&o, 2);
    integers(&o, "zero", 1, (const int64_t[]){0});
    integers(&o, "one", 1, (const int64_t[]){1});
    node(&o, "Split", "split", "x", "p q", 0);
    onnx_node(&o.bytes, "Neg", "upper", "p", "r");
    node(&o, "Concat", "twice", "r r", "t", 0);
    onnx_node(&o.bytes, "Sin", "sin", "t", "sines");
    onnx_node(&o.bytes, "Slice", "first", "sines zero one zero", "u");
    onnx_node(&o.bytes, "Sub", "nothing", "u u", "z");
    onnx_node(&o.bytes, "Sub", "lower", "z q", "s");
    node(&o, "Concat", "join", "r s", "y", 0);
    end_model(&o);
    run_model(&o, 2);
    cr_expect_eq(views(&o), 1, "the Slice of what Sin makes alone");
    for (int i = 0; i < ELEMENTS; i++) cr_assert_eq(o.y[i], -o.x[i], "element %d", i);
    close_model(&o);
}

/* A row of a large value would hold all of it while others come and go. */
Test(views, nothing_is_shared_that_would_take_more_memory) {
    static opened o;
    begin_model(&o, 64);
    integers(&o, "zero", 1, (const int64_t[]){0});
    integers(&o, "one", 1, (const int64_t[]){1});
    onnx_node(&o.bytes, "Neg", "neg", "x", "a");
    onnx_node(&o.bytes, "Slice", "row", "a zero one zero", "r");
    onnx_node(&o.bytes, "Transpose", "turn", "a", "b");
    onnx_node(&o.bytes, "Transpose", "back", "b", "c");
    onnx_node(&o.bytes, "Transpose", "again", "c", "d");
    onnx_node(&o.bytes, "Transpose", "home", "d", "e");
    onnx_node(&o.bytes, "Add", "add", "e r", "f");
    onnx_node(&o.bytes, "Sub", "sub", "f r", "y");
    end_model(&o);
    run_model(&o, 64);
    cr_expect_eq(views(&o), 0);
    cr_expect_eq(arena_of(&o), 2 * BYTES + 256);
    for (int i = 0; i < ELEMENTS; i++) cr_assert_float_eq(o.y[i], -o.x[i], 1e-4f);
    close_model(&o);
}

/* Neg of a part must not be written over it while the whole is still read. */
Test(views, a_part_is_not_written_over) {
    static opened o;
    begin_model(&o, 4);
    onnx_node(&o.bytes, "Neg", "neg", "x", "a");
    node(&o, "Split", "split", "a", "p q", 0);
    onnx_node(&o.bytes, "Exp", "exp", "p", "e");
    node(&o, "Concat", "join", "e q", "b", 0);
    onnx_node(&o.bytes, "Sub", "sub", "b a", "c");
    onnx_node(&o.bytes, "Add", "add", "c a", "y");
    end_model(&o);
    run_model(&o, 4);
    cr_expect_eq(views(&o), 1, "q is a part already, so that nothing is put together in place");
    for (int i = ELEMENTS / 2; i < ELEMENTS; i++) cr_assert_float_eq(o.y[i], -o.x[i], 1e-3f);
    close_model(&o);
}

/* ---- what an observer sees --------------------------------------------------------------------------------------- */

typedef struct sight {
    const opened *of;
    int seen;
} sight;

/* Every value but scores is 0 - x or a part of it. */
static void look(void *ud, int32_t number, const char *value, const tort_tensor *tensor) {
    sight *s = ud;
    const float *data = tensor->data;
    (void)number;
    if (strcmp(value, "y") != 0) s->seen++;
    for (int64_t i = 0; strcmp(value, "y") != 0 && i < tort_count(tensor); i++)
        cr_assert_eq(data[i], -s->of->x[i / tensor->dims[1] * 64 + i % tensor->dims[1]], "%s", value);
}

/* Columns that the attention reads where they are have no tensor that could be shown, nor has their alias. */
Test(views, what_is_read_by_strides_is_not_shown) {
    static opened o;
    static const int64_t first[] = {0}, half[] = {32}, columns[] = {1};
    begin_model(&o, 64);
    integers(&o, "from", 1, first);
    integers(&o, "to", 1, half);
    integers(&o, "along", 1, columns);
    onnx_node(&o.bytes, "Neg", "neg", "x", "a");
    onnx_node(&o.bytes, "Slice", "left", "a from to along", "q");
    onnx_node(&o.bytes, "Identity", "same", "q", "r");
    onnx_node(&o.bytes, "Slice", "top", "a from to from", "k");
    onnx_node(&o.bytes, "MatMul", "score", "r k", "s");
    onnx_node(&o.bytes, "Softmax", "softmax", "s", "p");
    onnx_node(&o.bytes, "MatMul", "sum", "p a", "y");
    end_model(&o);
    sight s = {.of = &o};
    tort_context_observe(o.context, look, &s);
    run_model(&o, 64);
    tort_report *report = report_of(o.session);
    cr_expect_str_eq(kernel_of(report, "left"), "view");
    cr_expect_gt(s.seen, 0);
    tort_report_free(report);
    close_model(&o);
}
