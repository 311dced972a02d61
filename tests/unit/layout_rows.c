/* layout_rows.c - tests of rows with layouts: those that make no sense, and those beside which others must stand. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "runtime/core/lowered/lowered.h"
#include "tests/unit/layout_models.h"

TestSuite(layout_rows, .init = make_channels);

/* The first provider with these rows, the first of them its own, in the place of the first one of its operator. */
static tort_kernel own_rows[CHANNEL_ROWS + 2];
static const tort_kernel *const own_tables[] = {own_rows, NULL};
static tort_layout own_layouts[3];
static tort_provider own;

static void begin_own(void) {
    own = *layout_providers[0];
    own.kernels = own_tables;
    own.layouts = own_layouts;
    memcpy(own_rows, *layout_providers[0]->kernels, CHANNEL_ROWS * sizeof *own_rows);
    memcpy(own_layouts, layout_providers[0]->layouts, 2 * sizeof *own_layouts);
    layout_providers[0] = &own;
}

/* ---- packed weights ---------------------------------------------------------------------------------------------- */

static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    (void)target, (void)error;
    *bytes = (size_t)(node->inputs[1].dims[0] * node->inputs[1].dims[1]) * sizeof(float);
    *consumed = 1u << 1;
    return TORT_OK;
}

static tort_status pack(tort_prepare *p) {
    const tort_info *w = &p->node->inputs[1];
    memcpy(p->packed, w->data, (size_t)(w->dims[0] * w->dims[1]) * sizeof(float));
    return TORT_OK;
}

static tort_status run_packed(const tort_call *call) {
    tort_tensor inputs[3] = {call->inputs[0], call->inputs[1], call->inputs[2]};
    tort_call unpacked = *call;
    memcpy(&inputs[1].data, &call->packed, sizeof call->packed); /* drops const: it is only read */
    unpacked.inputs = inputs;
    return (*layout_providers[4]->kernels)[0].run(&unpacked);
}

/* The row that a lone unit leaves would have packed its weights; the next one reads them as they are. */
Test(layout_rows, weights_are_packed_for_the_row_that_stays) {
    begin_own();
    own_rows[0].pack.size = pack_size;
    own_rows[0].prepare = pack;
    own_rows[0].run = run_packed;
    expect_image_as_cpu(build_convs, "channels", 1);
    expect_image_as_cpu(build_lone, "channels,cpu", 1);
    opened o;
    open_image(&o, build_lone, "channels,cpu", (tort_session_options){0});
    cr_expect_str_eq(image_node(&o, "conv")->kernel, "conv_plain");
    cr_expect_eq(o.report->providers[0]->weight_bytes, 0, "they are the model's");
    opened_close(&o);
}

/* ---- in place ---------------------------------------------------------------------------------------------------- */

/* Adds what is plain to what is in the layout. */
static tort_status run_mixed(const tort_call *call) {
    const tort_tensor *a = &call->inputs[0], *b = &call->inputs[1];
    const int64_t channels = a->dims[1], pixels = a->dims[2] * a->dims[3];
    float *y = call->outputs[0].data;
    for (int64_t n = 0; n < a->dims[0]; n++)
        for (int64_t p = 0; p < pixels; p++)
            for (int64_t c = 0; c < channels; c++) {
                const int64_t at = (n * pixels + p) * channels + c, plain = (n * channels + c) * pixels + p;
                y[at] = ((const float *)a->data)[at] + ((const float *)b->data)[plain];
            }
    return TORT_OK;
}

/* The row says that it may write over either; what is plain has its elements elsewhere. */
Test(layout_rows, nothing_in_a_layout_is_written_over_what_is_plain) {
    begin_own();
    own_rows[5].run = run_mixed;
    own_rows[5].layout.id = 1;
    own_rows[5].layout.inputs = 1;
    own_rows[5].in_place = 3;
    expect_image_as_cpu(build_mixed, "channels,cpu", 2);
    opened o;
    open_image(&o, build_mixed, "channels,cpu", (tort_session_options){0});
    expect_conversions(&o, "x plain->nhwc conv1; conv1_out nhwc->plain exp; conv2_out nhwc->plain ");
    opened_close(&o);
}

/* ---- decisions --------------------------------------------------------------------------------------------------- */

Test(layout_rows, a_provider_can_have_two_layouts) {
    begin_own();
    own_layouts[1] = layout_providers[1]->layouts[0];
    own_rows[2].layout.id = 2; /* the average */
    own_rows[2].run = (*layout_providers[1]->kernels)[2].run;
    own_rows[3].op = "Softsign";
    expect_image_as_cpu(build_many, "channels", 1);
    opened o;
    open_image(&o, build_many, "channels", (tort_session_options){0});
    expect_conversions(&o, "x plain->nhwc conv1; conv2_out nhwc->plain average; conv2_out plain->wide average");
    opened_close(&o);
}

Test(layout_rows, a_value_that_is_read_twice_is_converted_once) {
    opened o;
    open_image(&o, build_double, "channels,cpu", (tort_session_options){0});
    expect_conversions(&o, "tanh_out plain->nhwc double");
    opened_close(&o);
    expect_image_as_cpu(build_double, "channels,cpu", 1);
}

/* ---- the fewest conversions -------------------------------------------------------------------------------------- */

/* Of one value, by the layouts of the units as they are now. */
static int32_t count_of(const tort_lowered *lowered, int32_t value) {
    const tort_graph *graph = &lowered->graph;
    bool made = false, plain = false, wanted = false;
    for (int32_t n = 0; n < graph->node_count; n++) {
        const tort_unit *unit = &lowered->units[n];
        const tort_node *node = &graph->nodes[n];
        for (int32_t i = 0; unit->provider >= 0 && i < node->output_count; i++)
            made |= node->outputs[i] == value && tort_output_layout(unit, i);
        for (int32_t i = 0; unit->provider >= 0 && i < node->input_count; i++) {
            wanted |= node->inputs[i] == value && tort_input_layout(unit, i);
            plain |= node->inputs[i] == value && !tort_input_layout(unit, i);
        }
    }
    for (int32_t i = 0; i < graph->output_count; i++) plain |= graph->outputs[i] == value;
    return made ? plain : wanted;
}

static int32_t count_all(const tort_lowered *lowered) {
    int32_t count = 0;
    for (int32_t v = 0; v < lowered->graph.value_count; v++) count += count_of(lowered, v);
    return count;
}

/* Tries every choice of the units of the first provider that have one. */
static int32_t find_fewest(tort_lowered *lowered) {
    tort_unit *units[20];
    int32_t count = 0, fewest = INT32_MAX;
    for (int32_t n = 0; n < lowered->graph.node_count; n++) {
        tort_unit *unit = &lowered->units[n];
        if (unit->provider != 0 || unit->kernel->layout.id != TORT_ANY_LAYOUT || !unit->layout.inputs) continue;
        cr_assert_lt(count, 20);
        units[count++] = unit;
    }
    for (int32_t choice = 0; choice < 1 << count; choice++) {
        for (int32_t i = 0; i < count; i++) units[i]->layout.id = choice >> i & 1;
        const int32_t found = count_all(lowered);
        if (found < fewest) fewest = found;
    }
    return fewest;
}

/* One unit after the other is not always the best for all of them together: in 11 of 3000 such graphs it was not. */
Test(layout_rows, conversions_are_the_fewest_in_nearly_all_small_graphs) {
    int32_t worse = 0;
    for (layout_seed = 0; layout_seed < 400; layout_seed++) {
        opened o;
        open_image(&o, build_random_image, "channels,cpu", (tort_session_options){0});
        cr_expect_eq(count_all(tort_main_graph(o.session)), o.report->conversion_count);
        worse += find_fewest(tort_main_graph(o.session)) < o.report->conversion_count;
        opened_close(&o);
    }
    cr_expect_leq(worse, 8, "%d", (int)worse);
}

/* ---- what does not fit ------------------------------------------------------------------------------------------- */

static bool never(const tort_info *info) {
    return info->rank == 3;
}

static bool countless(const tort_tensor *tensor, size_t *bytes) {
    (void)bytes;
    return tensor->dims[0] < 3;
}

Test(layout_rows, what_does_not_fit_is_plain_or_an_error_with_its_name) {
    tort_layout layouts[2];
    memcpy(layouts, layout_providers[0]->layouts, sizeof layouts);
    tort_provider changed = *layout_providers[0];
    changed.layouts = layouts;
    layout_providers[0] = &changed;
    layouts[0].fits = never;
    opened o;
    tort_tensor output;
    open_image(&o, build_convs, "channels", (tort_session_options){0});
    expect_conversions(&o, "");
    cr_expect_str_eq(image_node(&o, "conv1")->kernel, "conv_plain");
    cr_expect(strstr(image_node(&o, "conv1")->verdicts[0]->message, "input 0 cannot be in layout nhwc"));
    opened_close(&o);
    memcpy(layouts, layout_providers[1]->layouts, sizeof layouts);
    layouts[0].bytes = countless;
    open_image(&o, build_convs, "channels", (tort_session_options){0});
    cr_expect_eq(run_image(&o, 3, &output, 1), TORT_E_INPUT);
    cr_expect(strstr(o.error.msg, "value \"x\" cannot be in layout wide"), "%s", o.error.msg);
    opened_close(&o);
}

/* ---- rows that make no sense ------------------------------------------------------------------------------------- */

static void expect_bad(tort_kernel row, const char *words) {
    opened o;
    bad_rows[0] = row;
    open_image(&o, build_convs, "bad", (tort_session_options){0});
    cr_expect_eq(o.status, TORT_E_INTERNAL, "%s", words);
    cr_expect(strstr(o.error.msg, words), "%s, not: %s", words, o.error.msg);
    cr_expect(strstr(o.error.msg, "provider bad: kernel conv_last"), "%s", o.error.msg);
    cr_expect_null(o.session);
    opened_close(&o);
}

static tort_status size_nothing(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                tort_error *error) {
    (void)target, (void)node, (void)scratch, (void)error;
    return TORT_OK;
}

Test(layout_rows, a_layout_without_all_of_its_functions_is_refused) {
    opened o;
    begin_own();
    own_layouts[0].to_plain = NULL;
    open_image(&o, build_convs, "channels", (tort_session_options){0});
    cr_expect_eq(o.status, TORT_E_INTERNAL);
    cr_expect_str_eq(o.error.msg, "provider channels: layout nhwc lacks one of its functions");
    opened_close(&o);
}

static tort_status run_nothing(const tort_call *call) {
    (void)call;
    return TORT_OK;
}

Test(layout_rows, segments_have_no_layout) {
    const tort_kernel segments = {.name = "all", .run = run_nothing, .layout.id = 1};
    opened o;
    begin_own();
    own.segments = &segments;
    open_image(&o, build_convs, "channels", (tort_session_options){0});
    cr_expect_eq(o.status, TORT_E_INTERNAL);
    cr_expect_str_eq(o.error.msg, "provider channels: segments have no layout");
    opened_close(&o);
}

Test(layout_rows, rows_that_make_no_sense_are_refused) {
    const tort_kernel good = bad_rows[0];
    tort_kernel row = good;
    row.layout.id = 2;
    expect_bad(row, "names a layout that does not exist (layout 2 of 1)");
    row.layout.id = -2;
    expect_bad(row, "names a layout that does not exist");
    row.layout.id = 0;
    expect_bad(row, "has operands in no layout");
    row = good;
    row.layout.inputs = 1u << 3;
    expect_bad(row, "names inputs or outputs that its operator has not");
    row.layout.inputs = 1;
    row.layout.outputs = 3;
    expect_bad(row, "names inputs or outputs that its operator has not");
    row.layout.inputs = row.layout.outputs = 0;
    expect_bad(row, "names a layout, but no input or output that is in it");
    row = good;
    row.host_inputs = 1;
    expect_bad(row, "reads an input in host memory and in a layout");
    row = good;
    row.run = NULL;
    expect_bad(row, "has a layout, but no run");
    row = good;
    row.layout.id = TORT_ANY_LAYOUT;
    row.layout.outputs = 0;
    expect_bad(row, "is for any layout, but not of an input and output 0");
    row.layout.outputs = 1;
    row.size = size_nothing;
    expect_bad(row, "is for any layout, but depends on shapes");
}
