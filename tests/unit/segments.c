/* segments.c - tests of segment.c and unit_view.c: which nodes become one, and that a run of them gives what single
 * nodes give; plans, errors, memory that runs out, bodies. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

#include "runtime/include/tinyort_plan.h"
#include "tests/report_of.h"
#include "tests/unit/loading.h"
#include "tests/unit/segment_models.h"

TestSuite(segments, .init = make_engines);

/* ---- accepted ---------------------------------------------------------------------------------------------------- */

Test(segments, connected_nodes_become_one_and_are_told) {
    opened o;
    open_segments(&o, build_chain, "engine", (tort_session_options){0});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    cr_assert_eq(o.report->node_count, 1);
    const tort_report_node *node = o.report->nodes[0];
    cr_expect_str_eq(node->provider, "engine");
    cr_expect_str_eq(node->kernel, "compiled");
    cr_expect_str_eq(node->op, "Segment");
    cr_expect_str_eq(node->name, "relu");
    cr_expect_eq(node->index, 2, "it has the number of its last node");
    cr_expect_eq(o.report->fused, 2);
    cr_expect_eq(o.report->providers[0]->nodes, 1);
    cr_expect_eq(node->verdict_count, 0);
    expect_from(&o, "sum", "relu sum square");
    opened_close(&o);
    expect_as_cpu(build_chain, "engine", 1);
}

Test(segments, a_foreign_node_between_makes_two) {
    opened o;
    open_segments(&o, build_diamond, "engine,cpu", (tort_session_options){0});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    cr_expect_eq(o.report->node_count, 3);
    expect_from(&o, "relu", "relu double");
    expect_from(&o, "end", "join end");
    cr_expect_str_eq(segment_node(&o, "exp")->provider, "cpu");
    opened_close(&o);
    expect_as_cpu(build_diamond, "engine,cpu", 1);
}

Test(segments, who_reads_a_segment_runs_behind_it_whatever_the_order_of_the_file) {
    opened o;
    open_segments(&o, build_early, "engine,cpu", (tort_session_options){0});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    expect_from(&o, "relu", "relu sum");
    for (int32_t i = 1; i < o.report->node_count; i++)
        cr_expect_lt(o.report->nodes[i - 1]->index, o.report->nodes[i]->index);
    opened_close(&o);
    expect_as_cpu(build_early, "engine,cpu", 2);
}

Test(segments, values_inside_can_be_outputs) {
    expect_as_cpu(build_two, "engine", 2);
    static const char *const wanted[] = {"sum_out"};
    opened o;
    tort_tensor output;
    open_segments(&o, build_two, "lenient", (tort_session_options){.outputs = wanted, .output_count = 1});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    expect_from(&o, "sum", "relu sum"); /* nobody wants the square */
    cr_assert_eq(run_segments(&o, 1, &output, 1), TORT_OK, "%s", o.error.msg);
    cr_expect_float_eq(((float *)output.data)[1], -2, 0);
    opened_close(&o);
}

Test(segments, an_engine_may_have_memory_of_its_own) {
    opened o;
    open_segments(&o, build_diamond, "device,cpu", (tort_session_options){0});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    cr_expect_eq(o.report->copy_count, 4, "x and exp in, double and y out; relu stays: %d", o.report->copy_count);
    opened_close(&o);
    expect_as_cpu(build_diamond, "device,cpu", 1);
    expect_as_cpu(build_early, "device,cpu", 2);
}

Test(segments, memory_is_used_again) {
    opened o;
    open_segments(&o, build_long, "engine,cpu", (tort_session_options){0});
    tort_tensor output;
    cr_assert_eq(run_segments(&o, 4, &output, 1), TORT_OK, "%s", o.error.msg);
    tort_report_free(o.report);
    o.report = report_of(o.session);
    cr_expect_eq(o.report->fused, 3, "%d", o.report->fused);
    cr_expect_lt(o.report->providers[0]->peak_bytes, o.report->providers[0]->naive_bytes);
    opened_close(&o);
    expect_as_cpu(build_long, "engine,cpu", 1);
}

Test(segments, shapes_of_values_inside_are_known_for_every_size) {
    opened o;
    open_segments(&o, build_shaped, "engine,cpu", (tort_session_options){0});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    expect_from(&o, "sum", "relu sum end");
    opened_close(&o);
    expect_as_cpu(build_shaped, "engine,cpu", 2);
}

Test(segments, whatever_is_compiled_gives_what_single_nodes_give) {
    static const char *const chains[] = {"engine,cpu",
                                         "device,cpu",
                                         "lenient,cpu",
                                         "adding,others,cpu",
                                         "ahead,cpu",
                                         "ahead:room=2,engine,cpu",
                                         "ahead:declines=Mul+Relu,cpu"};
    for (segment_seed = 0; segment_seed < 150; segment_seed++)
        for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) expect_as_cpu(build_random, chains[i], 2);
}

Test(segments, what_the_executor_does_can_stand_in_one) {
    opened o;
    open_segments(&o, build_alias, "engine,cpu", (tort_session_options){0});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    expect_from(&o, "sum", "before relu alias sum");
    cr_expect_str_eq(segment_node(&o, "other")->provider, "host", "alone it is not a segment");
    opened_close(&o);
    open_segments(&o, build_alias, "refusing,cpu", (tort_session_options){0});
    cr_expect_str_eq(segment_node(&o, "alias")->provider, "host");
    cr_expect_eq(segment_node(&o, "alias")->verdict_count, 0);
    cr_expect_str_eq(segment_node(&o, "sum")->provider, "cpu");
    opened_close(&o);
    expect_as_cpu(build_alias, "engine,cpu", 2);
}

Test(segments, weights_can_be_prepared_once) {
    expect_as_cpu(build_chain, "packing", 1);
    cr_expect_eq(segments_prepared, 0, "it is given back");
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

Test(segments, a_segment_is_compiled_once_for_each_shape) {
    opened o;
    tort_tensor output;
    open_segments(&o, build_diamond, "counting,cpu", (tort_session_options){0});
    cr_expect_eq(segments_compiled, 0, "no shape is known yet");
    for (int32_t round = 0; round < 3; round++)
        for (int64_t rows = 1; rows <= 3; rows++)
            cr_assert_eq(run_segments(&o, rows, &output, 1), TORT_OK, "%s", o.error.msg);
    cr_expect_eq(segments_compiled, 6, "two segments, three shapes: %d", segments_compiled);
    opened_close(&o);
    cr_expect_eq(segments_released, 6);
}

Test(segments, a_fixed_shape_is_compiled_with_the_session_and_a_run_allocates_nothing) {
    opened o;
    tort_tensor output;
    const tort_input_shape shape = {.name = "x", .rank = 2, .dims = {2, 4}};
    open_segments(&o, build_diamond, "counting,cpu:threads=1",
                  (tort_session_options){.shapes = &shape, .shape_count = 1});
    cr_expect_eq(segments_compiled, 2);
    cr_assert_eq(run_segments(&o, 2, &output, 1), TORT_OK, "%s", o.error.msg);
    const int64_t before = o.counting.allocations;
    for (int32_t i = 0; i < 5; i++) cr_assert_eq(run_segments(&o, 2, &output, 1), TORT_OK, "%s", o.error.msg);
    cr_expect_eq(o.counting.allocations, before);
    cr_expect_eq(segments_compiled, 2);
    opened_close(&o);
}

Test(segments, only_planned_is_not_compiled) {
    opened o;
    const tort_input_shape shape = {.name = "x", .rank = 2, .dims = {2, 4}};
    open_segments(&o, build_diamond, "counting,cpu",
                  (tort_session_options){.shapes = &shape, .shape_count = 1, .plan_only = true});
    cr_expect_eq(segments_compiled, 0);
    cr_expect_eq(o.report->node_count, 3);
    opened_close(&o);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

Test(segments, an_error_names_the_nodes) {
    opened o;
    tort_tensor output;
    open_segments(&o, build_chain, "failing", (tort_session_options){0});
    cr_expect_eq(run_segments(&o, 2, &output, 1), TORT_E_RUN);
    cr_expect_eq(o.error.node, 2);
    cr_expect_str_eq(o.error.provider, "failing");
    cr_expect_str_eq(o.error.msg, "node 2 \"relu\" (tinyort::Segment-1, made of relu, sum, square): told to fail");
    opened_close(&o);
}

/* Its nodes have run for other shapes: they never go elsewhere in silence. */
Test(segments, a_compile_that_fails_for_a_later_shape_is_an_error_that_names_the_segment) {
    opened o;
    tort_tensor output;
    open_segments(&o, build_chain, "narrow,cpu", (tort_session_options){0});
    cr_assert_eq(run_segments(&o, 2, &output, 1), TORT_OK, "%s", o.error.msg);
    cr_expect_eq(run_segments(&o, 3, &output, 1), TORT_E_RUN);
    cr_expect_str_eq(o.error.msg,
                     "node 2 \"relu\" (tinyort::Segment-1, made of relu, sum, square): 3 rows are too many "
                     "for the engine");
    cr_expect_str_eq(o.error.provider, "narrow");
    cr_expect_eq(run_segments(&o, 1, &output, 1), TORT_OK, "%s", o.error.msg);
    opened_close(&o);
}

static void *cancel_when_it_runs(void *context) {
    while (!atomic_load(&segment_is_running)) continue;
    tort_context_cancel(context);
    return NULL;
}

Test(segments, a_run_of_an_engine_can_be_cancelled, .timeout = 60) {
    opened o;
    pthread_t thread;
    tort_tensor output = {.data = NULL};
    float numbers[8] = {1, -2, 3, -4, 5, -6, 7, -8};
    const tort_tensor input = {.type = TORT_FLOAT, .rank = 2, .dims = {2, 4}, .data = numbers};
    open_segments(&o, build_chain, "waiting", (tort_session_options){0});
    cr_assert_eq(tort_context_create(o.session, &o.context, &o.error), TORT_OK, "%s", o.error.msg);
    cr_assert_eq(pthread_create(&thread, NULL, cancel_when_it_runs, o.context), 0);
    cr_expect_eq(tort_context_run(o.context, &input, 1, &output, 1, &o.error), TORT_E_CANCELLED, "%s", o.error.msg);
    pthread_join(thread, NULL);
    opened_close(&o);
}

static void expect_memory_errors(const char *chain) {
    bool failed = true;
    for (int64_t n = 1; failed; n++) {
        tort_counting_env counting;
        tort_counting_env_init(&counting);
        tort_error error;
        tort_model *model = segment_model(build_early, &counting.env, &error);
        cr_assert_not_null(model, "%s", error.msg);
        const int64_t before = counting.live_blocks;
        counting.fail_at = counting.allocations + n;
        counting.fail_once = true;
        tort_session *session = NULL;
        tort_context *context = NULL;
        const tort_session_options options = {
            .struct_size = sizeof options, .chain = chain, .providers = segment_providers};
        tort_tensor outputs[2] = {{.data = NULL}, {.data = NULL}};
        float numbers[8] = {1, -2, 3, -4, 5, -6, 7, -8};
        const tort_tensor input = {.type = TORT_FLOAT, .rank = 2, .dims = {2, 4}, .data = numbers};
        tort_status status = tort_session_create(&counting.env, model, &options, &session, &error);
        if (!status) status = tort_context_create(session, &context, &error);
        if (!status) status = tort_context_run(context, &input, 1, outputs, 2, &error);
        failed = counting.allocations >= counting.fail_at;
        cr_expect(status == (failed ? TORT_E_MEMORY : TORT_OK), "allocation %lld: %s: %s", (long long)n,
                  tort_status_name(status), error.msg);
        tort_context_free(context);
        tort_session_free(session);
        cr_assert_eq(counting.live_blocks, before, "allocation %lld leaks", (long long)n);
        cr_assert_eq(counting.wrong_sizes, 0);
        tort_model_free(model);
    }
}

Test(segments, the_nth_allocation_fails) {
    expect_memory_errors("refusing,packing,cpu:threads=1");
}

Test(segments, the_nth_allocation_of_an_engine_fails) {
    expect_memory_errors("ahead,cpu:threads=1");
}

/* ---- bodies ------------------------------------------------------------------------------------------------------ */

/* v = relu(v + x) * x, n times; x is captured. */
static void write_loop(onnx_bytes *b) {
    const int64_t dims[] = {4};
    onnx_begin_model(b, 18);
    onnx_value(b, GRAPH_INPUT, "n", TORT_INT64, 0, NULL);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 1, dims);
    onnx_begin_loop(b, "loop", "n - x", "y", 1, dims);
    onnx_node(b, "Add", "sum", "v x", "s");
    onnx_node(b, "Relu", "relu", "s", "r");
    onnx_node(b, "Mul", "scaled", "r x", "w");
    onnx_value(b, GRAPH_OUTPUT, "still", TORT_BOOL, 0, NULL);
    onnx_value(b, GRAPH_OUTPUT, "w", TORT_FLOAT, 1, dims);
    onnx_end_loop(b);
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, 1, dims);
    onnx_end(b);
}

Test(segments, a_body_has_segments_too) {
    opened o = {.session = NULL};
    onnx_bytes b = {0};
    float x[4] = {0.5f, -1, 1, 1.5f}, wanted[4];
    int64_t trips = 5;
    write_loop(&b);
    tort_counting_env_init(&o.counting);
    const tort_session_options options = {
        .struct_size = sizeof options, .chain = "counting,cpu:threads=1", .providers = segment_providers};
    const tort_tensor inputs[] = {{.type = TORT_INT64, .data = &trips},
                                  {.type = TORT_FLOAT, .rank = 1, .dims = {4}, .data = x}};
    tort_tensor output = {.data = NULL};
    tort_status status = tort_model_load_buffer(&o.counting.env, b.data, b.size, NULL, &o.model, &o.error);
    if (!status) status = tort_session_create(&o.counting.env, o.model, &options, &o.session, &o.error);
    if (!status) status = tort_context_create(o.session, &o.context, &o.error);
    if (!status) status = tort_context_run(o.context, inputs, 2, &output, 1, &o.error);
    cr_assert_eq(status, TORT_OK, "%s", o.error.msg);
    o.report = report_of(o.session);
    expect_from(&o, "loop/body/relu", "loop/body/sum loop/body/relu loop/body/scaled");
    cr_expect_eq(segments_compiled, 1);
    memcpy(wanted, x, sizeof x);
    for (int64_t t = 0; t < trips; t++)
        for (int32_t i = 0; i < 4; i++) wanted[i] = (wanted[i] + x[i] > 0 ? wanted[i] + x[i] : 0) * x[i];
    for (int32_t i = 0; i < 4; i++) cr_expect_float_eq(((float *)output.data)[i], wanted[i], 1e-5f);
    opened_close(&o);
    onnx_free(&b);
}
