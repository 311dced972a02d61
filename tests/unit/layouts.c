/* layouts.c - tests of layout.c and of the conversions of plans: which values are in a layout, and that a run gives
 * what cpu gives; the shapes, sizes and failures of such plans. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/lowered/lowered.h"
#include "runtime/include/tinyort_plan.h"
#include "tests/report_of.h"
#include "tests/saved_plan.h"
#include "tests/unit/layout_models.h"
#include "tests/unit/loading.h"
#include "runtime/core/plan/planned.h"

TestSuite(layouts, .init = make_channels);

/* ---- what is decided --------------------------------------------------------------------------------------------- */

static void expect_decided(build_image *build, const char *chain, int32_t outputs, const char *conversions) {
    opened o;
    open_image(&o, build, chain, (tort_session_options){0});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    expect_conversions(&o, conversions);
    opened_close(&o);
    expect_image_as_cpu(build, chain, outputs);
}

Test(layouts, a_chain_is_converted_once_in_and_once_out) {
    expect_decided(build_convs, "channels", 1, "x plain->nhwc conv1; conv2_out nhwc->plain ");
    expect_decided(build_convs, "twice", 1, "x plain->wide conv1; conv2_out wide->plain ");
}

Test(layouts, a_conversion_is_told) {
    const tort_symbol_size n = {"n", 2};
    opened o;
    open_image(&o, build_convs, "twice", (tort_session_options){.symbols = &n, .symbol_count = 1});
    cr_assert_eq(o.report->conversion_count, 2);
    const tort_report_copy *in = o.report->conversions[0], *out = o.report->conversions[1];
    cr_expect_str_eq(in->provider, "twice");
    cr_expect_eq(in->bytes, 2 * 2 * 3 * 2 * 3 * 4, "what is between the elements counts: %lld", (long long)in->bytes);
    cr_expect_eq(in->node, 0);
    cr_expect_eq(out->bytes, 2 * 2 * 2 * 3 * 4);
    cr_expect_eq(out->node, -1);
    cr_expect_eq(o.report->copy_count, 0);
    opened_close(&o);
}

Test(layouts, a_value_that_is_read_in_both_forms_is_converted_once) {
    expect_decided(build_branch, "channels,cpu", 2,
                   "x plain->nhwc conv1; relu_out nhwc->plain tanh; conv2_out nhwc->plain ");
}

Test(layouts, an_output_of_the_graph_is_plain_also_where_others_read_it_in_a_layout) {
    expect_decided(build_shown, "channels", 2, "x plain->nhwc conv1; conv2_out nhwc->plain ; conv1_out nhwc->plain ");
}

Test(layouts, what_the_executor_does_is_plain) {
    expect_decided(build_reshaped, "channels", 2,
                   "x plain->nhwc conv1; conv1_out nhwc->plain flat; conv2_out nhwc->plain ");
}

/* The average reads the layout and writes plain; single elements are no reason to leave it. */
Test(layouts, rows_for_any_layout_pass_it_on) {
    expect_decided(build_many, "channels", 1, "x plain->nhwc conv1");
    expect_decided(build_many, "twice", 1, "x plain->wide conv1");
    expect_decided(build_residual, "channels,cpu", 1, "x plain->nhwc conv1; relu2_out nhwc->plain tanh");
}

/* The sum would need two conversions in the layout, and needs one without. */
Test(layouts, rows_for_any_layout_stay_plain_where_that_is_cheaper) {
    expect_decided(build_foreign, "channels,cpu", 2, "relu2_out plain->nhwc conv1; conv2_out nhwc->plain sum");
}

Test(layouts, whatever_is_decided_gives_what_cpu_gives) {
    static const char *const chains[] = {"channels,cpu", "twice,cpu", "lone,second,cpu", "device,cpu"};
    for (layout_seed = 0; layout_seed < 150; layout_seed++)
        for (size_t i = 0; i < sizeof chains / sizeof *chains; i++)
            expect_image_as_cpu(build_random_image, chains[i], 2);
}

/* Each way alone could be converted anywhere; both of them, once at their root. */
Test(layouts, a_layout_reaches_back_to_where_ways_part) {
    expect_decided(build_fork, "channels,cpu", 1, "tanh_out plain->nhwc root");
}

/* ---- units that would be alone ----------------------------------------------------------------------------------- */

Test(layouts, a_unit_alone_takes_the_plain_row_and_says_why) {
    opened o;
    open_image(&o, build_lone, "channels,cpu", (tort_session_options){0});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    expect_conversions(&o, "");
    const tort_report_node *node = image_node(&o, "conv");
    cr_expect_str_eq(node->kernel, "conv_plain");
    cr_assert_eq(node->verdict_count, 1);
    cr_expect_str_eq(node->verdicts[0]->kernel, "conv_last");
    cr_expect_eq(node->verdicts[0]->code, TORT_NO_SHAPE);
    cr_expect(strstr(node->verdicts[0]->message, "layout nhwc"), "%s", node->verdicts[0]->message);
    cr_expect_not(node->fell_back);
    opened_close(&o);
    expect_image_as_cpu(build_lone, "channels,cpu", 1);
}

Test(layouts, without_another_row_it_stays) {
    opened o;
    open_image(&o, build_lone, "lone,cpu", (tort_session_options){0});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    expect_conversions(&o, "tanh_out plain->nhwc conv; conv_out nhwc->plain exp");
    cr_expect_str_eq(image_node(&o, "conv")->kernel, "conv_last");
    cr_expect_eq(image_node(&o, "conv")->verdict_count, 0);
    opened_close(&o);
    expect_image_as_cpu(build_lone, "lone,cpu", 1);
}

/* ---- memories and providers -------------------------------------------------------------------------------------- */

Test(layouts, on_a_device_values_are_converted_there_and_copied_plain) {
    opened o;
    open_image(&o, build_branch, "device,cpu", (tort_session_options){0});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    expect_conversions(&o, "x plain->nhwc conv1; relu_out nhwc->plain tanh; conv2_out nhwc->plain ");
    cr_expect_eq(o.report->copy_count, 3, "x in, relu and conv2 out: %d", o.report->copy_count);
    cr_expect_str_eq(o.report->copies[1]->value, "relu_out");
    opened_close(&o);
    expect_image_as_cpu(build_branch, "device,cpu", 2);
    expect_image_as_cpu(build_many, "device,cpu", 1);
}

/* Each is alone on its own provider; pinned, the second convolution is another provider's. */
Test(layouts, providers_do_not_share_layouts) {
    static const char *const pins[] = {"conv2=twice"};
    opened o;
    tort_tensor output;
    open_image(&o, build_many, "lone,twice", (tort_session_options){.pins = pins, .pin_count = 1});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    cr_expect_str_eq(image_node(&o, "conv2")->provider, "twice");
    cr_expect_str_eq(image_node(&o, "conv2")->kernel, "conv_plain");
    cr_assert_eq(run_image(&o, 2, &output, 1), TORT_OK, "%s", o.error.msg);
    opened_close(&o);
    static const char *const others[] = {"conv2=twice", "average=twice"};
    open_image(&o, build_many, "lone,twice", (tort_session_options){.pins = others, .pin_count = 2});
    expect_conversions(&o, "x plain->nhwc conv1; relu3_out nhwc->plain conv2; relu3_out plain->wide conv2");
    cr_assert_eq(run_image(&o, 2, &output, 1), TORT_OK, "%s", o.error.msg);
    opened_close(&o);
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

Test(layouts, sizes_that_depend_on_data_are_converted_too) {
    expect_image_as_cpu(build_cut, "channels,cpu", 2);
    expect_image_as_cpu(build_cut, "twice,cpu", 2);
    expect_image_as_cpu(build_cut, "device,cpu", 2);
    opened o;
    open_image(&o, build_cut, "channels,cpu", (tort_session_options){0});
    expect_conversions(&o, "cut_out plain->nhwc conv1; conv2_out nhwc->plain ");
    tort_tensor outputs[2];
    cr_assert_eq(run_image(&o, 3, outputs, 2), TORT_OK, "%s", o.error.msg);
    cr_expect_eq(outputs[0].dims[0], 2);
    look_again(&o);
    cr_expect_eq(o.report->conversions[0]->bytes, -1);
    opened_close(&o);
}

/* More of them than plans are kept: the oldest are made again. */
Test(layouts, one_session_runs_many_shapes) {
    opened o, cpu;
    open_image(&o, build_residual, "twice,cpu", (tort_session_options){0});
    open_image(&cpu, build_residual, "cpu", (tort_session_options){.unfolded = true});
    for (int64_t i = 0; i < 60; i++) {
        const int64_t rows = 1 + i * 7 % 20;
        tort_tensor got, wanted;
        cr_assert_eq(run_image(&o, rows, &got, 1), TORT_OK, "%s", o.error.msg);
        cr_assert_eq(run_image(&cpu, rows, &wanted, 1), TORT_OK, "%s", cpu.error.msg);
        for (int64_t e = 0; e < tort_count(&got); e++)
            cr_expect_float_eq(((float *)got.data)[e], ((float *)wanted.data)[e], 1e-4f);
    }
    opened_close(&o);
    opened_close(&cpu);
}

/* In each run, as it is not packed; still cheaper than to leave the layout for the sum. */
Test(layouts, a_constant_is_converted_where_it_is_read) {
    static const char *const chains[] = {"channels,cpu", "twice,cpu", "device,cpu"};
    const tort_symbol_size n = {"n", 1};
    for (size_t i = 0; i < 3; i++) {
        opened o, cpu;
        tort_tensor got, wanted;
        open_image(&o, build_constant, chains[i], (tort_session_options){.symbols = &n, .symbol_count = 1});
        open_image(&cpu, build_constant, "cpu", (tort_session_options){.unfolded = true});
        cr_assert_eq(o.report->conversion_count, 3);
        cr_expect_str_eq(o.report->conversions[1]->value, "constant");
        cr_assert_eq(run_image(&o, 1, &got, 1), TORT_OK, "%s", o.error.msg);
        cr_assert_eq(run_image(&cpu, 1, &wanted, 1), TORT_OK, "%s", cpu.error.msg);
        for (int64_t e = 0; e < tort_count(&got); e++)
            cr_expect_float_eq(((float *)got.data)[e], ((float *)wanted.data)[e], 1e-4f);
        opened_close(&o);
        opened_close(&cpu);
    }
}

Test(layouts, a_fixed_shape_allocates_nothing_in_a_run) {
    const tort_symbol_size n = {"n", 2};
    opened o;
    tort_tensor output;
    open_image(&o, build_many, "twice", (tort_session_options){.symbols = &n, .symbol_count = 1});
    cr_assert_eq(run_image(&o, 2, &output, 1), TORT_OK, "%s", o.error.msg);
    const int64_t before = o.counting.allocations;
    for (int32_t i = 0; i < 5; i++) cr_assert_eq(run_image(&o, 2, &output, 1), TORT_OK, "%s", o.error.msg);
    cr_expect_eq(o.counting.allocations, before);
    opened_close(&o);
}

Test(layouts, upper_bounds_hold_for_layouts_too) {
    const tort_symbol_size n = {"n", 4};
    static const char *const chains[] = {"twice,cpu", "device,cpu"};
    for (size_t i = 0; i < 2; i++) {
        opened o, cpu;
        open_image(&o, build_residual, chains[i], (tort_session_options){.max_symbols = &n, .max_symbol_count = 1});
        cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
        open_image(&cpu, build_residual, "cpu", (tort_session_options){.unfolded = true});
        tort_tensor got, wanted;
        cr_assert_eq(run_image(&o, 4, &got, 1), TORT_OK, "%s", o.error.msg);
        const int64_t before = o.counting.allocations;
        for (int64_t rows = 0; rows <= 4; rows++) {
            cr_assert_eq(run_image(&o, rows, &got, 1), TORT_OK, "%s", o.error.msg);
            cr_assert_eq(run_image(&cpu, rows, &wanted, 1), TORT_OK, "%s", cpu.error.msg);
            for (int64_t e = 0; e < tort_count(&got); e++)
                cr_expect_float_eq(((float *)got.data)[e], ((float *)wanted.data)[e], 1e-4f);
        }
        cr_expect_eq(o.counting.allocations, before);
        cr_expect_eq(run_image(&o, 5, &got, 1), TORT_E_INPUT);
        opened_close(&o);
        opened_close(&cpu);
    }
}

/* In the plan of the chain the Relu is written over what the convolution made; no conversion is written over. */
Test(layouts, a_kernel_writes_in_place_within_a_layout) {
    const tort_symbol_size n = {"n", 2};
    opened o;
    open_image(&o, build_convs, "twice", (tort_session_options){.symbols = &n, .symbol_count = 1});
    const tort_plan *plan = &tort_main_graph(o.session)->plans->plan;
    cr_assert_eq(plan->step_count, 5);
    for (int32_t i = 0; i < plan->step_count; i++) cr_expect_eq(plan->steps[i].in_place, i == 2 ? 1 : 0);
    opened_close(&o);
}

/* ---- what others see --------------------------------------------------------------------------------------------- */

typedef struct seen {
    char names[200];
    float first[8][8];
    int32_t count;
} seen;

static void look(void *ud, int32_t node, const char *value, const tort_tensor *tensor) {
    seen *s = ud;
    (void)node;
    cr_assert_lt(s->count, 8);
    strcat(s->names, value);
    strcat(s->names, " ");
    memcpy(s->first[s->count++], tensor->data, 8 * sizeof(float));
}

Test(layouts, an_observer_sees_every_value_once_and_plain) {
    static const char *const chains[] = {"channels,cpu", "twice,cpu", "device,cpu", "cpu"};
    seen all[4] = {{.count = 0}};
    for (int32_t i = 0; i < 4; i++) {
        opened o;
        tort_tensor output;
        open_image(&o, build_residual, chains[i], (tort_session_options){.fusions_off = "*"});
        cr_assert_eq(tort_context_create(o.session, &o.context, &o.error), TORT_OK);
        tort_context_observe(o.context, look, &all[i]);
        cr_assert_eq(run_image(&o, 2, &output, 1), TORT_OK, "%s", o.error.msg);
        opened_close(&o);
    }
    for (int32_t i = 0; i < 3; i++) {
        cr_expect_str_eq(all[i].names, "conv1_out relu1_out conv2_out sum_out relu2_out tanh_out ");
        cr_expect_str_eq(all[i].names, all[3].names);
        for (int32_t v = 0; v < all[3].count; v++)
            for (int32_t e = 0; e < 8; e++) cr_expect_float_eq(all[i].first[v][e], all[3].first[v][e], 1e-4f);
    }
}

static tort_status save_image(opened *o, build_image *build, saved_bytes *bytes) {
    const tort_writer writer = saved_writer(bytes);
    open_image(o, build, "twice,cpu:threads=1", (tort_session_options){0});
    cr_assert_eq(o->status, TORT_OK, "%s", o->error.msg);
    return tort_session_save_writer(o->session, &writer, &o->error);
}

static tort_status load_image(opened *loaded, const uint8_t *data, size_t size) {
    const tort_plan_options options = {.struct_size = sizeof options, .providers = layout_providers};
    return tort_session_load_buffer(opened_begin(loaded), data, size, &options, &loaded->session, &loaded->error);
}

Test(layouts, a_saved_plan_has_the_same_conversions_and_bits) {
    static build_image *const models[] = {build_convs, build_branch, build_lone, build_many, build_foreign};
    static const int32_t outputs[] = {1, 2, 1, 1, 2};
    for (int32_t m = 0; m < 5; m++) {
        opened o, loaded;
        saved_bytes bytes = {0};
        tort_tensor before[2], after[2];
        cr_assert_eq(save_image(&o, models[m], &bytes), TORT_OK, "%s", o.error.msg);
        cr_assert_eq(run_image(&o, 3, before, outputs[m]), TORT_OK, "%s", o.error.msg);
        cr_assert_eq(load_image(&loaded, bytes.data, bytes.size), TORT_OK, "%s", loaded.error.msg);
        loaded.report = report_of(loaded.session);
        cr_assert_eq(run_image(&loaded, 3, after, outputs[m]), TORT_OK, "%s", loaded.error.msg);
        cr_assert_eq(loaded.report->conversion_count, o.report->conversion_count);
        for (int32_t i = 0; i < o.report->conversion_count; i++) {
            cr_expect_str_eq(loaded.report->conversions[i]->value, o.report->conversions[i]->value);
            cr_expect_str_eq(loaded.report->conversions[i]->to, o.report->conversions[i]->to);
            cr_expect_str_eq(loaded.report->conversions[i]->before, o.report->conversions[i]->before);
        }
        for (int32_t i = 0; i < outputs[m]; i++)
            cr_expect_arr_eq(after[i].data, before[i].data, (size_t)tort_count(&before[i]) * sizeof(float));
        opened_close(&loaded);
        opened_close(&o);
        free(bytes.data);
    }
}

/* Whatever it says: an error with a message, or a session that runs, or fails to. */
static void survive(const uint8_t *data, size_t size) {
    opened loaded;
    tort_tensor output;
    tort_status status = load_image(&loaded, data, size);
    const bool same_ports = !status && tort_model_input_count(tort_session_model(loaded.session)) == 1 &&
                            tort_model_output_count(tort_session_model(loaded.session)) == 1;
    if (same_ports) status = run_image(&loaded, 2, &output, 1);
    cr_expect(!status || *loaded.error.msg);
    cr_expect_neq(status, TORT_E_INTERNAL, "%s", loaded.error.msg);
    opened_close(&loaded);
}

Test(layouts, a_hostile_saved_plan_does_no_harm) {
    static const uint8_t changes[] = {0x01, 0x80, 0xff, 0x03};
    opened o;
    saved_bytes bytes = {0};
    cr_assert_eq(save_image(&o, build_many, &bytes), TORT_OK, "%s", o.error.msg);
    uint8_t *copy = malloc(bytes.size);
    for (size_t at = 0; at < bytes.size; at++) {
        memcpy(copy, bytes.data, bytes.size);
        copy[at] ^= changes[at % 4];
        saved_reseal(copy, bytes.size);
        survive(copy, bytes.size);
    }
    free(copy);
    free(bytes.data);
    opened_close(&o);
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

Test(layouts, the_nth_allocation_fails) {
    static build_image *const models[] = {build_branch, build_lone, build_cut};
    static const char *const chains[] = {"device,cpu:threads=1", "channels,cpu:threads=1", "twice,cpu:threads=1"};
    for (int32_t m = 0; m < 3; m++) {
        bool failed = true;
        for (int64_t n = 1; failed; n++) {
            opened o;
            o.model = image_model(models[m], opened_begin(&o), &o.error);
            cr_assert_not_null(o.model, "%s", o.error.msg);
            o.counting.fail_at = o.counting.allocations + n;
            o.counting.fail_once = true;
            const tort_session_options options = {
                .struct_size = sizeof options, .chain = chains[m], .providers = layout_providers};
            seen s = {.count = 0};
            tort_tensor outputs[2];
            tort_status status = tort_session_create(&o.counting.env, o.model, &options, &o.session, &o.error);
            if (!status) status = tort_context_create(o.session, &o.context, &o.error);
            if (!status) tort_context_observe(o.context, look, &s);
            if (!status) status = run_image(&o, 3, outputs, m == 1 ? 1 : 2);
            if (!status) {
                tort_report *report = NULL;
                status = tort_session_report(o.session, &report, &o.error);
                tort_report_free(report);
            }
            failed = o.counting.allocations >= o.counting.fail_at;
            cr_expect(status == (failed ? TORT_E_MEMORY : TORT_OK), "%s, allocation %lld: %s: %s", chains[m],
                      (long long)n, tort_status_name(status), o.error.msg);
            opened_close(&o);
        }
    }
}

static tort_status told_to_fail(const tort_call *call) {
    return tort_fail(call->error, TORT_E_RUN, "told to fail");
}

Test(layouts, a_conversion_that_fails_names_the_node_and_the_provider) {
    tort_layout layouts[2];
    memcpy(layouts, layout_providers[0]->layouts, sizeof layouts);
    layouts[0].from_plain = told_to_fail;
    tort_provider failing = *layout_providers[0];
    failing.layouts = layouts;
    layout_providers[0] = &failing;
    opened o;
    tort_tensor output;
    open_image(&o, build_convs, "channels", (tort_session_options){0});
    cr_expect_eq(run_image(&o, 2, &output, 1), TORT_E_RUN);
    cr_expect_str_eq(o.error.provider, "channels");
    cr_expect_str_eq(o.error.msg, "node 0 \"conv1\" (Conv-11): told to fail");
    opened_close(&o);
}

/* ---- bodies ------------------------------------------------------------------------------------------------------ */

static const int64_t body_dims[] = {1, 3, 2, 3};

static void begin_loop_model(onnx_bytes *b, const float *weights) {
    const int64_t filter[] = {3, 3, 1, 1};
    onnx_begin_model(b, 18);
    onnx_value(b, GRAPH_INPUT, "n", TORT_INT64, 0, NULL);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 4, body_dims);
    onnx_tensor(b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 4, filter, weights, 9 * sizeof *weights);
}

static void end_loop_model(onnx_bytes *b) {
    onnx_value(b, GRAPH_OUTPUT, "still", TORT_BOOL, 0, NULL);
    onnx_value(b, GRAPH_OUTPUT, "u", TORT_FLOAT, 4, body_dims);
    onnx_end_loop(b);
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, 4, body_dims);
    onnx_end(b);
}

/* v = conv(relu(conv(v))), n times; from three channels to three. */
static void write_loop(onnx_bytes *b, const float *weights) {
    begin_loop_model(b, weights);
    onnx_begin_loop(b, "loop", "n - x", "y", 4, body_dims);
    onnx_node(b, "Conv", "first", "v w", "c");
    onnx_node(b, "Relu", "relu", "c", "r");
    onnx_node(b, "Conv", "second", "r w", "u");
    end_loop_model(b);
}

/* The body captures what is in a layout outside: v = v + relu(conv(x)), from conv of that on. */
static void write_capture(onnx_bytes *b, const float *weights) {
    begin_loop_model(b, weights);
    onnx_node(b, "Conv", "first", "x w", "c");
    onnx_node(b, "Relu", "relu", "c", "r");
    onnx_node(b, "Conv", "second", "r w", "s");
    onnx_begin_loop(b, "loop", "n - s", "y", 4, body_dims);
    onnx_node(b, "Add", "sum", "v r", "u");
    end_loop_model(b);
}

static void run_loop(void (*write)(onnx_bytes *, const float *), const char *chain, float *y, opened *o) {
    float weights[9], x[18];
    int64_t trips = 3;
    onnx_bytes b = {0};
    for (int32_t i = 0; i < 9; i++) weights[i] = (float)(i - 3) / 4;
    for (int32_t i = 0; i < 18; i++) x[i] = (float)(i % 5 - 2);
    write(&b, weights);
    opened_begin(o);
    const tort_session_options options = {.struct_size = sizeof options, .chain = chain, .providers = layout_providers};
    const tort_tensor inputs[] = {{.type = TORT_INT64, .data = &trips},
                                  {.type = TORT_FLOAT, .rank = 4, .dims = {1, 3, 2, 3}, .data = x}};
    tort_tensor output = {.data = NULL};
    tort_status status = tort_model_load_buffer(&o->counting.env, b.data, b.size, NULL, &o->model, &o->error);
    if (!status) status = tort_session_create(&o->counting.env, o->model, &options, &o->session, &o->error);
    if (!status) status = tort_context_create(o->session, &o->context, &o->error);
    if (!status) status = tort_context_run(o->context, inputs, 2, &output, 1, &o->error);
    cr_assert_eq(status, TORT_OK, "%s", o->error.msg);
    memcpy(y, output.data, 18 * sizeof *y);
    o->report = report_of(o->session);
    onnx_free(&b);
}

static void expect_loop(void (*write)(onnx_bytes *, const float *), const char *conversions) {
    static const char *const chains[] = {"channels,cpu", "device,cpu"};
    float wanted[18], got[18];
    opened cpu, o;
    run_loop(write, "cpu", wanted, &cpu);
    for (size_t i = 0; i < 2; i++) {
        run_loop(write, chains[i], got, &o);
        expect_conversions(&o, conversions);
        for (int32_t e = 0; e < 18; e++) cr_expect_float_eq(got[e], wanted[e], 1e-4f);
        opened_close(&o);
    }
    opened_close(&cpu);
}

Test(layouts, a_body_has_layouts_too_and_plain_borders) {
    expect_loop(write_loop, "v plain->nhwc loop/body/first; u nhwc->plain ");
    expect_loop(write_capture, "x plain->nhwc first; s nhwc->plain loop; r nhwc->plain loop");
}
