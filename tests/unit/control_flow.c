/* control_flow.c - what a trip of a loop costs, and what happens when memory runs out in one. What loops compute is
 * tested from end to end in tests/control. */
#include <criterion/criterion.h>

#include "tests/counting_env.h"
#include "tests/report_of.h"
#include "tests/unit/loading.h"

enum { LENGTH = 64 };

static const int64_t dims[] = {LENGTH}, open_dims[] = {-1};

static void begin_model(onnx_bytes *b, int64_t length) {
    onnx_begin_model(b, 18);
    onnx_value(b, GRAPH_INPUT, "n", TORT_INT64, 0, NULL);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 1, length < 0 ? open_dims : dims);
}

static void begin_loop(onnx_bytes *b, const char *inputs, const char *outputs, int64_t length) {
    onnx_begin_loop(b, "loop", inputs, outputs, 1, length < 0 ? open_dims : dims);
}

/* x = tanh(x) + x0, n times; the loop captures x itself. */
static void static_loop(onnx_bytes *b) {
    begin_model(b, LENGTH);
    begin_loop(b, "n - x", "y", LENGTH);
    onnx_node(b, "Tanh", "tanh", "v", "t");
    onnx_node(b, "Add", "add", "t x", "w");
    onnx_value(b, GRAPH_OUTPUT, "still", TORT_BOOL, 0, NULL);
    onnx_value(b, GRAPH_OUTPUT, "w", TORT_FLOAT, 1, dims);
    onnx_end_loop(b);
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, 1, dims);
    onnx_end(b);
}

/* Doubles its length in each trip, and stacks a part of fixed length. */
static void growing_loop(onnx_bytes *b) {
    begin_model(b, -1);
    begin_loop(b, "n - x", "y parts", -1);
    onnx_begin_node(b, GRAPH_NODE, "Concat", "double", "v v", "w");
    onnx_int_attribute(b, "axis", 0);
    onnx_end(b);
    onnx_node(b, "Neg", "neg", "x", "part");
    onnx_value(b, GRAPH_OUTPUT, "still", TORT_BOOL, 0, NULL);
    onnx_value(b, GRAPH_OUTPUT, "w", TORT_FLOAT, 1, open_dims);
    onnx_value(b, GRAPH_OUTPUT, "part", TORT_FLOAT, 1, open_dims);
    onnx_end_loop(b);
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, 1, open_dims);
    onnx_value(b, GRAPH_OUTPUT, "parts", TORT_FLOAT, -1, NULL);
    onnx_end(b);
}

/* x = x sigmoid(x), which is fused, before the loop and in it, where each x goes into a sequence. */
static void listing_loop(onnx_bytes *b) {
    begin_model(b, LENGTH);
    onnx_node(b, "Sigmoid", "first_sigmoid", "x", "t");
    onnx_node(b, "Mul", "first_mul", "x t", "start");
    onnx_node(b, "SequenceEmpty", "empty", "", "none");
    begin_loop(b, "n - start none", "y list", LENGTH);
    onnx_value(b, GRAPH_INPUT, "parts", TORT_UNDEFINED, -1, NULL);
    onnx_node(b, "Sigmoid", "sigmoid", "v", "s");
    onnx_node(b, "Mul", "mul", "v s", "w");
    onnx_node(b, "SequenceInsert", "insert", "parts w", "more");
    onnx_value(b, GRAPH_OUTPUT, "still", TORT_BOOL, 0, NULL);
    onnx_value(b, GRAPH_OUTPUT, "w", TORT_FLOAT, 1, dims);
    onnx_value(b, GRAPH_OUTPUT, "more", TORT_UNDEFINED, -1, NULL);
    onnx_end_loop(b);
    onnx_begin_node(b, GRAPH_NODE, "ConcatFromSequence", "join", "list", "joined");
    onnx_int_attribute(b, "axis", 0);
    onnx_end(b);
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, 1, dims);
    onnx_value(b, GRAPH_OUTPUT, "joined", TORT_FLOAT, 1, open_dims);
    onnx_end(b);
}

typedef struct loop_run {
    tort_counting_env counting;
    tort_model *model;
    tort_session *session;
    tort_context *context;
} loop_run;

static tort_status open_run(loop_run *r, const onnx_bytes *b, tort_error *error) {
    const tort_session_options options = {.struct_size = sizeof options, .chain = "cpu:threads=1"};
    tort_status status = tort_model_load_buffer(&r->counting.env, b->data, b->size, NULL, &r->model, error);
    if (!status) status = tort_session_create(&r->counting.env, r->model, &options, &r->session, error);
    return status ? status : tort_context_create(r->session, &r->context, error);
}

static void close_run(loop_run *r, onnx_bytes *b) {
    tort_context_free(r->context);
    tort_session_free(r->session);
    tort_model_free(r->model);
    cr_expect_eq(r->counting.live_blocks, 0, "%lld blocks are left", (long long)r->counting.live_blocks);
    onnx_free(b);
}

static tort_status run_trips(loop_run *r, int64_t trips, tort_tensor *outputs, int32_t count, tort_error *error) {
    static float x[LENGTH] = {0.5f, -0.25f};
    const tort_tensor inputs[] = {{.type = TORT_INT64, .data = &trips},
                                  {.type = TORT_FLOAT, .rank = 1, .dims = {LENGTH}, .data = x}};
    for (int32_t i = 0; i < count; i++) outputs[i] = (tort_tensor){.data = NULL};
    return tort_context_run(r->context, inputs, 2, outputs, count, error);
}

Test(control_flow, a_trip_of_known_shapes_allocates_nothing) {
    onnx_bytes b = {0};
    loop_run r = {0};
    tort_error error;
    tort_tensor output;
    tort_counting_env_init(&r.counting);
    static_loop(&b);
    cr_assert_eq(open_run(&r, &b, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(run_trips(&r, 3, &output, 1, &error), TORT_OK, "%s", error.msg);
    const int64_t before = r.counting.allocations;
    cr_assert_eq(run_trips(&r, 500, &output, 1, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(r.counting.allocations, before, "%lld allocations", (long long)(r.counting.allocations - before));
    cr_expect_eq(((const float *)output.data)[2], 0.0f);
    close_run(&r, &b);
}

Test(control_flow, shapes_that_grow_and_parts_that_stack) {
    onnx_bytes b = {0};
    loop_run r = {0};
    tort_error error;
    tort_tensor outputs[2];
    tort_counting_env_init(&r.counting);
    growing_loop(&b);
    cr_assert_eq(open_run(&r, &b, &error), TORT_OK, "%s", error.msg);
    for (int64_t trips = 1; trips < 5; trips++) {
        cr_assert_eq(run_trips(&r, trips, outputs, 2, &error), TORT_OK, "%s", error.msg);
        cr_expect_eq(outputs[0].dims[0], LENGTH << trips);
        cr_expect_eq(outputs[1].rank, 2);
        cr_expect_eq(outputs[1].dims[0], trips);
        cr_expect_eq(((const float *)outputs[1].data)[(trips - 1) * LENGTH], -0.5f);
    }
    close_run(&r, &b);
}

/* Fails allocation n: from it on, or it alone. */
static tort_status attempt(onnx_bytes *b, int64_t n, bool once) {
    loop_run r = {0};
    tort_tensor outputs[2];
    tort_counting_env_init(&r.counting);
    r.counting.fail_at = n;
    r.counting.fail_once = once;
    tort_status status = open_run(&r, b, NULL);
    if (!status) status = run_trips(&r, 3, outputs, 2, NULL);
    onnx_bytes none = {0};
    close_run(&r, &none);
    return status;
}

static void fail_each_allocation(void (*write_model)(onnx_bytes *b)) {
    onnx_bytes b = {0};
    write_model(&b);
    int64_t n = 1;
    while (n < 2000 && attempt(&b, n, false) == TORT_E_MEMORY) n++;
    cr_assert(n > 50 && attempt(&b, n, false) == TORT_OK, "allocation %lld", (long long)n);
    for (int64_t i = 1; i < n; i++) cr_expect_eq(attempt(&b, i, true), TORT_E_MEMORY, "allocation %lld", (long long)i);
    onnx_free(&b);
}

Test(control_flow, the_nth_allocation_fails) {
    fail_each_allocation(growing_loop);
}

Test(control_flow, the_nth_allocation_fails_in_a_fusion_or_a_sequence) {
    onnx_bytes b = {0};
    loop_run r = {0};
    tort_error error;
    tort_counting_env_init(&r.counting);
    listing_loop(&b);
    cr_assert_eq(open_run(&r, &b, &error), TORT_OK, "%s", error.msg);
    tort_report *report = report_of(r.session);
    cr_expect_eq(report->fused, 2, "%d nodes are fused into others", (int)report->fused);
    tort_report_free(report);
    close_run(&r, &b);
    fail_each_allocation(listing_loop);
}

Test(control_flow, the_memory_of_a_loop_is_bounded) {
    onnx_bytes b = {0};
    loop_run r = {0};
    tort_error error;
    tort_tensor outputs[2];
    tort_counting_env_init(&r.counting);
    growing_loop(&b);
    cr_assert_eq(open_run(&r, &b, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(run_trips(&r, 60, outputs, 2, &error), TORT_E_MEMORY);
    cr_expect(strstr(error.msg, "dynamic_limit") || strstr(error.msg, "mem_limit"), "%s", error.msg);
    cr_expect(strstr(error.msg, "loop"), "%s", error.msg);
    close_run(&r, &b);
}
