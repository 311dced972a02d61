/* plan_shapes.c - tests of plans for new input shapes: they are those that a plan made afresh is, or are refused with
 * the same words; their outline is shared, and no weight is read. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/build_model.h"
#include "tests/report_of.h"
#include "tests/same_plan.h"
#include "tests/unit/loading.h"
#include "runtime/core/plan/planned.h"

enum { MAX_INPUTS = 4 };

static tort_session *open_session(const tort_model *model, const char *chain) {
    tort_session *session = NULL;
    tort_error error;
    const tort_session_options options = {.struct_size = sizeof options, .chain = chain};
    cr_assert_eq(tort_session_create(NULL, model, &options, &session, &error), TORT_OK, "%s", error.msg);
    return session;
}

static void close_session(tort_session *session) {
    const tort_model *model = session->model;
    tort_session_free(session);
    tort_model_free((tort_model *)model);
}

/* The same plan in the memory of one for other sizes, whether there can be such a plan or not. */
static tort_status plan_again(tort_lowered *lowered, const tort_tensor *inputs, tort_planned **again,
                              tort_error *error) {
    tort_tensor others[MAX_INPUTS] = {{.data = NULL}};
    for (int32_t i = 0; i < lowered->graph.input_count; i++) {
        const tort_info *info = &lowered->infos[lowered->graph.inputs[i]];
        others[i] = inputs[i];
        for (int32_t d = 0; d < info->rank; d++) others[i].dims[d] += info->dims[d] < 0;
    }
    cr_assert_eq(tort_planned_open(lowered, &lowered->session->env, again, error), TORT_OK);
    tort_planned_fill(*again, others, false, NULL);
    return tort_planned_fill(*again, inputs, false, error);
}

/* Makes the plan of a graph for these inputs in all ways, which must agree. */
static tort_status plan_all_ways(tort_lowered *lowered, const tort_tensor *inputs, tort_error *error) {
    tort_planned *plan = NULL, *afresh = NULL, *again = NULL;
    tort_error other = {.node = -1, .msg = ""}, third = {.node = -1, .msg = ""};
    char text[100];
    *error = (tort_error){.node = -1, .msg = ""};
    const tort_status status = tort_plan_make(lowered, inputs, false, &plan, error);
    cr_expect_eq(tort_plan_make(lowered, inputs, true, &afresh, &other), status, "%s|%s", error->msg, other.msg);
    cr_expect_str_eq(error->msg, other.msg);
    if (plan && afresh) cr_expect_null(plan_difference(plan, afresh, text, sizeof text), "%s", text);
    cr_expect_eq(plan_again(lowered, inputs, &again, &third), status, "%s|%s", error->msg, third.msg);
    cr_expect_str_eq(error->msg, third.msg);
    if (afresh) cr_expect_null(plan_difference(again, afresh, text, sizeof text), "made again: %s", text);
    tort_planned_free(plan);
    tort_planned_free(afresh);
    tort_planned_free(again);
    return status;
}

/* The main graph, where the symbols n, m, k have these sizes. */
static tort_status plan_sizes(tort_session *session, int64_t n, int64_t m, int64_t k, tort_error *error) {
    tort_lowered *lowered = tort_main_graph(session);
    tort_tensor inputs[MAX_INPUTS] = {{.data = NULL}};
    for (int32_t i = 0; i < lowered->graph.input_count; i++) {
        const tort_port port = input_of(session->model, i);
        inputs[i] = (tort_tensor){.type = port.type, .rank = port.rank};
        for (int32_t d = 0; d < port.rank; d++) {
            const char *name = port.dim_names[d];
            inputs[i].dims[d] = *name == 'n' ? n : *name == 'm' ? m : *name == 'k' ? k : port.dims[d];
        }
    }
    return plan_all_ways(lowered, inputs, error);
}

static int32_t outlines_of(const tort_lowered *lowered) {
    int32_t count = 0;
    for (const tort_outline *o = lowered->outlines; o; o = o->next) count++;
    return count;
}

static int32_t asked_of(const tort_lowered *lowered) {
    int32_t count = 0;
    for (int32_t i = 0; i < lowered->graph.node_count; i++) count += lowered->rule_use[i] == TORT_RULE_ALWAYS;
    return count;
}

static int32_t int64_weight(model_builder *b, const char *name, int64_t value, int32_t rank) {
    return build_weight(b, name, &(tort_tensor){.type = TORT_INT64, .rank = rank, .dims = {1}, .data = &value});
}

static int32_t node(model_builder *b, const char *op, const char *name, int32_t x, int32_t y) {
    return build_node(b, op, name, (const int32_t[]){x, y, -1});
}

static int32_t unary(model_builder *b, const char *op, const char *name, int32_t x) {
    return build_node(b, op, name, (const int32_t[]){x, -1});
}

static tort_model *finish(model_builder *b, int32_t output) {
    tort_error error;
    build_output(b, output);
    tort_model *model = build_end(b, &error);
    cr_assert_not_null(model, "%s", error.msg);
    return model;
}

/* ---- shape arithmetic -------------------------------------------------------------------------------------------- */

/* x [n, m]: reshaped to [n * m - n], which is refused unless m is one more than asked for; see below. */
static tort_model *arithmetic_model(const char *last, int64_t by) {
    model_builder b = build_begin(NULL);
    const int32_t x = build_input(&b, "x", TORT_FLOAT, 2, (const int64_t[]){-1, -2});
    const int32_t shape = unary(&b, "Shape", "shape", x);
    const int32_t n = node(&b, "Gather", "n", shape, int64_weight(&b, "zero", 0, 1));
    const int32_t m = node(&b, "Gather", "m", shape, int64_weight(&b, "one", 1, 1));
    const int32_t size = node(&b, "Mul", "size", n, m);
    const int32_t changed = node(&b, last, "changed", size, int64_weight(&b, "by", by, 1));
    return finish(&b, node(&b, "Reshape", "reshape", unary(&b, "Neg", "neg", x), changed));
}

Test(plan_shapes, shape_arithmetic_is_evaluated) {
    tort_session *session = open_session(arithmetic_model("Div", 1), NULL);
    const tort_lowered *lowered = tort_main_graph(session);
    tort_error error;
    cr_expect_eq(asked_of(lowered), 2, "%d nodes: Neg and Reshape alone are asked", asked_of(lowered));
    for (int64_t n = 1; n < 30; n++) cr_expect_eq(plan_sizes(session, n, 31 - n, 0, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(outlines_of(lowered), 1);
    close_session(session);
}

Test(plan_shapes, what_a_shape_rule_refuses_is_refused_with_its_words) {
    tort_session *session = open_session(arithmetic_model("Sub", 2), NULL);
    tort_error error;
    cr_expect_eq(plan_sizes(session, 3, 4, 0, &error), TORT_E_MODEL);
    cr_expect(strstr(error.msg, "Reshape"), "%s", error.msg);
    cr_expect_eq(plan_sizes(session, 1, 2, 0, &error), TORT_E_MODEL);             /* to [0], of 2 elements */
    cr_expect_eq(plan_sizes(session, 1, 1, 0, &error), TORT_OK, "%s", error.msg); /* to [-1] */
    cr_expect_eq(error.node, -1);
    close_session(session);
}

Test(plan_shapes, empty_tensors) {
    tort_session *session = open_session(arithmetic_model("Mul", 1), NULL);
    tort_error error;
    for (int64_t n = 0; n < 3; n++)
        for (int64_t m = 0; m < 3; m++) plan_sizes(session, n, m, 0, &error);
    close_session(session);
}

/* The size of a convolution's output is a difference that shape rules end at 0, and expressions do not. */
Test(plan_shapes, a_difference_that_would_be_negative) {
    model_builder b = build_begin(NULL);
    static float ones[7];
    const int32_t x = build_input(&b, "x", TORT_FLOAT, 3, (const int64_t[]){1, 1, -1});
    const tort_tensor weight = {.type = TORT_FLOAT, .rank = 3, .dims = {1, 1, 7}, .data = ones};
    const int32_t y = node(&b, "Conv", "conv", x, build_weight(&b, "w", &weight));
    const int32_t length = node(&b, "Gather", "length", unary(&b, "Shape", "shape", y), int64_weight(&b, "two", 2, 1));
    tort_session *session =
        open_session(finish(&b, node(&b, "Expand", "expand", build_input(&b, "s", TORT_FLOAT, 0, NULL), length)), NULL);
    tort_error error;
    cr_expect_eq(plan_sizes(session, 9, 0, 0, &error), TORT_OK, "%s", error.msg);
    for (int64_t n = 0; n < 9; n++) plan_sizes(session, n, 0, 0, &error);
    close_session(session);
}

/* ---- shapes that clash ------------------------------------------------------------------------------------------- */

Test(plan_shapes, a_broadcast_is_checked_for_every_size) {
    static const float five[5];
    model_builder b = build_begin(NULL);
    const int32_t x = build_input(&b, "x", TORT_FLOAT, 1, (const int64_t[]){-1});
    const int32_t y = build_input(&b, "y", TORT_FLOAT, 1, (const int64_t[]){-2});
    const tort_tensor weight = {.type = TORT_FLOAT, .rank = 1, .dims = {5}, .data = (void *)five};
    const int32_t sum = node(&b, "Add", "sum", x, y);
    tort_session *session =
        open_session(finish(&b, node(&b, "Mul", "product", sum, build_weight(&b, "w", &weight))), NULL);
    tort_error error;
    cr_expect_eq(plan_sizes(session, 5, 1, 0, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(plan_sizes(session, 1, 5, 0, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(plan_sizes(session, 1, 1, 0, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(plan_sizes(session, 5, 4, 0, &error), TORT_E_MODEL);
    cr_expect(strstr(error.msg, "\"sum\""), "%s", error.msg);
    cr_expect_eq(plan_sizes(session, 4, 4, 0, &error), TORT_E_MODEL);
    cr_expect(strstr(error.msg, "\"product\""), "%s", error.msg);
    cr_expect_eq(outlines_of(tort_main_graph(session)), 1);
    close_session(session);
}

Test(plan_shapes, an_inner_size_is_checked) {
    static const float ones[12];
    model_builder b = build_begin(NULL);
    const int32_t x = build_input(&b, "x", TORT_FLOAT, 2, (const int64_t[]){-1, -2});
    const tort_tensor weight = {.type = TORT_FLOAT, .rank = 2, .dims = {4, 3}, .data = (void *)ones};
    tort_session *session =
        open_session(finish(&b, node(&b, "MatMul", "product", x, build_weight(&b, "w", &weight))), NULL);
    tort_error error;
    cr_expect_eq(plan_sizes(session, 2, 4, 0, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(plan_sizes(session, 2, 5, 0, &error), TORT_E_MODEL);
    cr_expect_eq(error.node, 0);
    close_session(session);
}

/* ---- what depends on data, or is known for some sizes only ------------------------------------------------------- */

Test(plan_shapes, what_depends_on_data_stays_dynamic) {
    model_builder b = build_begin(NULL);
    const int32_t x = build_input(&b, "x", TORT_FLOAT, 1, (const int64_t[]){-1});
    const int32_t where = unary(&b, "NonZero", "where", x);
    build_output(&b, unary(&b, "Shape", "shape", where));
    build_output(&b, unary(&b, "Abs", "abs", x));
    tort_session *session = open_session(finish(&b, unary(&b, "Neg", "neg", where)), "cpu");
    tort_error error;
    for (int64_t n = 0; n < 5; n++) cr_expect_eq(plan_sizes(session, n, 0, 0, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(outlines_of(tort_main_graph(session)), 1);
    close_session(session);
}

/* Shape arithmetic is followed up to some number of elements: beyond it a list that determines a shape is data. */
Test(plan_shapes, plans_that_know_other_things_have_other_outlines) {
    model_builder b = build_begin(NULL);
    const int32_t x = build_input(&b, "x", TORT_FLOAT, 1, (const int64_t[]){-1});
    const int32_t zero = int64_weight(&b, "zero", 0, 0), one = int64_weight(&b, "one", 1, 0);
    const int32_t n = node(&b, "Gather", "n", unary(&b, "Shape", "shape", x), zero);
    const int32_t list = build_node(&b, "Range", "list", (const int32_t[]){zero, n, one, -1});
    tort_session *session = open_session(finish(&b, node(&b, "Gather", "gather", x, list)), "cpu");
    tort_error error;
    for (int64_t size = 1; size < 2000; size += 97)
        cr_expect_eq(plan_sizes(session, size, 0, 0, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(outlines_of(tort_main_graph(session)), 2);
    close_session(session);
}

/* ---- bodies ------------------------------------------------------------------------------------------------------ */

/* A Loop over x [N] with shape arithmetic in its body, which captures z [3] and stacks its negative. */
static void write_loop(onnx_bytes *b) {
    onnx_begin_model(b, 17);
    onnx_value(b, GRAPH_INPUT, "n", TORT_INT64, 0, NULL);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 1, (const int64_t[]){-1});
    onnx_value(b, GRAPH_INPUT, "z", TORT_FLOAT, 1, three);
    onnx_begin_node(b, GRAPH_NODE, "Loop", "loop", "n - x", "y stack");
    onnx_begin_body(b, "body");
    onnx_value(b, GRAPH_INPUT, "i", TORT_INT64, 0, NULL);
    onnx_value(b, GRAPH_INPUT, "again", TORT_BOOL, 0, NULL);
    onnx_value(b, GRAPH_INPUT, "a", TORT_FLOAT, 1, (const int64_t[]){-1});
    onnx_node(b, "Shape", "", "a", "s");
    onnx_node(b, "Add", "", "s s", "double");
    onnx_node(b, "Sub", "", "double s", "same");
    onnx_node(b, "Reshape", "", "a same", "r");
    onnx_node(b, "Neg", "", "r", "out");
    onnx_node(b, "Neg", "", "z", "part");
    onnx_value(b, GRAPH_OUTPUT, "again", TORT_BOOL, 0, NULL);
    onnx_value(b, GRAPH_OUTPUT, "out", TORT_FLOAT, 1, (const int64_t[]){-1});
    onnx_value(b, GRAPH_OUTPUT, "part", TORT_FLOAT, 1, three);
    for (int i = 0; i < 3; i++) onnx_end(b);
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, 1, (const int64_t[]){-1});
    onnx_value(b, GRAPH_OUTPUT, "stack", TORT_FLOAT, 2, (const int64_t[]){-1, 3});
    onnx_end(b);
}

/* A body that got other shapes than the session knew when it planned would ask every rule. */
Test(plan_shapes, a_body_takes_any_shape) {
    onnx_bytes b = {0};
    write_loop(&b);
    tort_session *session = open_session(load_model(&b), "cpu");
    tort_lowered *body = &session->graphs[1];
    tort_error error;
    cr_assert(body->lowered);
    cr_assert_eq(body->graph.input_count, 4);
    for (int64_t size = 0; size < 12; size++) {
        tort_tensor inputs[] = {{.type = TORT_INT64}, {.type = TORT_BOOL}, {.rank = 1}, {.rank = 1, .dims = {3}}};
        inputs[2].type = inputs[3].type = TORT_FLOAT;
        inputs[2].dims[0] = size / 2;
        if (size % 2) inputs[3].dims[0] = 7;
        cr_expect_eq(plan_all_ways(body, inputs, &error), TORT_OK, "%s", error.msg);
    }
    close_session(session);
    onnx_free(&b);
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

static struct {
    tort_status (*read)(void *ud, int32_t file, uint64_t offset, uint64_t length, void *dst, tort_error *error);
    const void *(*view)(void *ud, int32_t file, uint64_t offset, uint64_t length);
    int times;
} source;

static tort_status count_read(void *ud, int32_t file, uint64_t offset, uint64_t length, void *dst, tort_error *error) {
    source.times++;
    return source.read(ud, file, offset, length, dst, error);
}

static const void *count_view(void *ud, int32_t file, uint64_t offset, uint64_t length) {
    source.times++;
    return source.view ? source.view(ud, file, offset, length) : NULL;
}

/* Plans alone, so that no weight is in memory that planning did not keep itself. */
static void expect_no_reads(tort_model *model) {
    const tort_session_options options = {.struct_size = sizeof options, .plan_only = true};
    tort_session *session = NULL;
    tort_error error;
    source.read = model->source_read;
    source.view = model->source_view;
    model->source_read = count_read;
    model->source_view = count_view;
    cr_assert_eq(tort_session_create(NULL, model, &options, &session, &error), TORT_OK, "%s", error.msg);
    cr_expect_gt(source.times, 0, "the source counts");
    source.times = 0;
    for (int64_t size = 1; size < 6; size++) {
        tort_input_shape shape = {.rank = input_of(model, 0).rank};
        for (int32_t d = 0; d < shape.rank; d++) {
            const int64_t declared = input_of(model, 0).dims[d];
            shape.dims[d] = declared < 0 ? size : declared;
        }
        cr_expect_eq(tort_session_plan(session, &shape, 1, &error), TORT_OK, "%s", error.msg);
    }
    cr_expect_eq(source.times, 0, "%d reads", source.times);
    tort_session_free(session);
}

Test(plan_shapes, no_weight_is_read) {
    tort_model *model = NULL;
    tort_error error;
    cr_assert_eq(tort_model_load(NULL, "models/digits.onnx", NULL, &model, &error), TORT_OK, "%s", error.msg);
    expect_no_reads(model);
    tort_model_free(model);
}

/* A weight that determines shapes is larger than what inference reads of others. */
Test(plan_shapes, no_long_list_of_sizes_is_read) {
    enum { PARTS = 200 };
    int64_t sizes[PARTS];
    char outputs[PARTS * 8] = "";
    onnx_bytes b = {0};
    for (int i = 0; i < PARTS; i++) {
        sizes[i] = 1;
        snprintf(outputs + strlen(outputs), sizeof outputs - strlen(outputs), "%sy%d", i ? " " : "", i);
    }
    onnx_begin_model(&b, 17);
    onnx_value(&b, GRAPH_INPUT, "x", TORT_FLOAT, 2, (const int64_t[]){PARTS, -1});
    onnx_tensor(&b, GRAPH_INITIALIZER, "sizes", TORT_INT64, 1, (const int64_t[]){PARTS}, sizes, sizeof sizes);
    onnx_node(&b, "Split", "split", "x sizes", outputs);
    onnx_value(&b, GRAPH_OUTPUT, "y7", TORT_FLOAT, 2, (const int64_t[]){1, -1});
    onnx_end(&b);
    tort_model *model = load_model(&b);
    expect_no_reads(model);
    free_model(model, &b);
}
