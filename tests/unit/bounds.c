/* bounds.c - tests of upper bounds beside those of a decoder (growing.c): bounds that say too little, what does not
 * grow with the symbols, and outputs that become inputs. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/include/provider.h"
#include "tests/build_model.h"
#include "tests/counting_env.h"
#include "tests/report_of.h"

/* ---- what is refused --------------------------------------------------------------------------------------------- */

/* y = Add(x [n, m], z [3]) */
static tort_model *two_symbols(void) {
    model_builder b = build_begin(NULL);
    tort_error error;
    const int32_t x = build_input(&b, "x", TORT_FLOAT, 2, (const int64_t[]){-1, -2});
    const int32_t z = build_input(&b, "z", TORT_FLOAT, 1, (const int64_t[]){3});
    build_output(&b, build_node(&b, "Add", "add", (const int32_t[]){x, z, -1}));
    tort_model *model = build_end(&b, &error);
    cr_assert_not_null(model, "%s", error.msg);
    return model;
}

static void expect_refused(const tort_symbol_size *symbols, int32_t symbol_count, const tort_input_shape *shape,
                           const char *words) {
    tort_model *model = two_symbols();
    tort_session *session = NULL;
    tort_error error;
    const tort_session_options options = {.struct_size = sizeof options,
                                          .max_symbols = symbols,
                                          .max_symbol_count = symbol_count,
                                          .max_shapes = shape,
                                          .max_shape_count = shape != NULL};
    cr_expect_eq(tort_session_create(NULL, model, &options, &session, &error), TORT_E_USAGE, "%s", error.msg);
    cr_expect(strstr(error.msg, words), "%s, not: %s", words, error.msg);
    tort_model_free(model);
}

Test(bounds, bounds_that_say_too_little_or_nonsense_are_refused) {
    expect_refused(&(tort_symbol_size){"n", 4}, 1, NULL, "\"m\", has no upper bound");
    expect_refused(&(tort_symbol_size){"k", 4}, 1, NULL, "called \"k\"");
    expect_refused(&(tort_symbol_size){"n", -4}, 1, NULL, "cannot be at most -4");
    expect_refused(NULL, 0, &(tort_input_shape){"y", 1, {4}}, "no input \"y\"");
    expect_refused(NULL, 0, &(tort_input_shape){"x", 1, {4}}, "it has 2 dimensions");
    expect_refused(NULL, 0, &(tort_input_shape){"x", 2, {4, -1}}, "\"m\", has no upper bound");
    expect_refused(NULL, 0, &(tort_input_shape){"z", 1, {2}}, "is 3, which is more than its upper bound 2");
}

/* Of a symbol that has two, the smaller one counts. */
Test(bounds, bounds_of_shapes_and_of_symbols_meet) {
    tort_model *model = two_symbols();
    tort_session *session = NULL;
    tort_error error;
    const tort_input_shape shape = {"x", 2, {8, 3}};
    const tort_symbol_size n = {"n", 5};
    const tort_session_options options = {.struct_size = sizeof options,
                                          .max_symbols = &n,
                                          .max_symbol_count = 1,
                                          .max_shapes = &shape,
                                          .max_shape_count = 1};
    cr_assert_eq(tort_session_create(NULL, model, &options, &session, &error), TORT_OK, "%s", error.msg);
    tort_report *report = report_of(session);
    cr_assert_eq(report->bound_count, 2);
    cr_expect_eq(report->bounds[0].size, 5);
    cr_expect_eq(report->bounds[1].size, 3);
    tort_report_free(report);
    tort_session_free(session);
    tort_model_free(model);
}

/* ---- what does not grow with the symbols ------------------------------------------------------------------------- */

/* y = -2 * Expand(z [1], n - m + 1), where x is [n] and w is [m]; and -x, exp(w). */
static tort_model *difference(void) {
    int64_t one = 1;
    float value = 2;
    model_builder b = build_begin(NULL);
    tort_error error;
    const int32_t x = build_input(&b, "x", TORT_FLOAT, 1, (const int64_t[]){-1});
    const int32_t w = build_input(&b, "w", TORT_FLOAT, 1, (const int64_t[]){-2});
    const int32_t ones = build_weight(&b, "one", &(tort_tensor){TORT_INT64, 1, {1}, &one});
    const int32_t z = build_weight(&b, "z", &(tort_tensor){TORT_FLOAT, 1, {1}, &value});
    const int32_t n = build_node(&b, "Shape", "n", (const int32_t[]){x, -1});
    const int32_t m = build_node(&b, "Shape", "m", (const int32_t[]){w, -1});
    const int32_t rest = build_node(&b, "Sub", "rest", (const int32_t[]){n, m, -1});
    const int32_t more = build_node(&b, "Add", "more", (const int32_t[]){rest, ones, -1});
    const int32_t wide = build_node(&b, "Expand", "wide", (const int32_t[]){z, more, -1});
    const int32_t twice = build_node(&b, "Add", "twice", (const int32_t[]){wide, wide, -1});
    build_output(&b, build_node(&b, "Neg", "neg", (const int32_t[]){x, -1}));
    build_output(&b, build_node(&b, "Exp", "exp", (const int32_t[]){w, -1}));
    build_output(&b, build_node(&b, "Neg", "y", (const int32_t[]){twice, -1}));
    tort_model *model = build_end(&b, &error);
    cr_assert_not_null(model, "%s", error.msg);
    return model;
}

static void run_difference(tort_context *context, int64_t n, int64_t m) {
    float x[40], w[40];
    tort_error error;
    for (int i = 0; i < 40; i++) x[i] = (float)i, w[i] = 0;
    const tort_tensor inputs[] = {{TORT_FLOAT, 1, {n}, x}, {TORT_FLOAT, 1, {m}, w}};
    tort_tensor outputs[3] = {{.data = NULL}};
    cr_assert_eq(tort_context_run(context, inputs, 2, outputs, 3, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(outputs[2].dims[0], n - m + 1);
    for (int64_t i = 0; i < n - m + 1; i++) cr_assert_eq(((const float *)outputs[2].data)[i], -4.0f);
    for (int64_t i = 0; i < n; i++) cr_assert_eq(((const float *)outputs[0].data)[i], -(float)i);
    for (int64_t i = 0; i < m; i++) cr_assert_eq(((const float *)outputs[1].data)[i], 1.0f);
}

Test(bounds, a_value_that_is_larger_below_the_bounds_gets_a_layout_of_its_own) {
    tort_model *model = difference();
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_error error;
    const tort_symbol_size max[] = {{"n", 40}, {"m", 40}};
    const tort_session_options options = {.struct_size = sizeof options, .max_symbols = max, .max_symbol_count = 2};
    cr_assert_eq(tort_session_create(NULL, model, &options, &session, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_context_create(session, &context, &error), TORT_OK, "%s", error.msg);
    tort_report *report = report_of(session);
    cr_expect(strstr(report->bounds_note, "n-m+1"), "%s", report->bounds_note);
    tort_report_free(report);
    for (int64_t m = 40; m > 0; m -= 3) {
        run_difference(context, 40, m);
        run_difference(context, m, m);
    }
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
}

/* That layout may find no memory: the run fails, and the next one is as if it had not been. */
Test(bounds, a_layout_without_memory_can_be_tried_again) {
    tort_counting_env counting;
    tort_model *model = difference();
    tort_error error;
    const tort_symbol_size max[] = {{"n", 40}, {"m", 40}};
    const tort_session_options options = {.struct_size = sizeof options, .max_symbols = max, .max_symbol_count = 2};
    float values[40] = {0};
    const tort_tensor inputs[] = {{TORT_FLOAT, 1, {40}, values}, {TORT_FLOAT, 1, {1}, values}};
    tort_counting_env_init(&counting);
    tort_status status = TORT_E_MEMORY;
    for (int64_t n = 1; status; n++) {
        tort_session *session = NULL;
        tort_context *context = NULL;
        tort_tensor outputs[3] = {{.data = NULL}};
        cr_assert_eq(tort_session_create(&counting.env, model, &options, &session, &error), TORT_OK, "%s", error.msg);
        cr_assert_eq(tort_context_create(session, &context, &error), TORT_OK, "%s", error.msg);
        counting.allocations = 0;
        counting.fail_at = n;
        counting.fail_once = false;
        status = tort_context_run(context, inputs, 2, outputs, 3, &error);
        counting.fail_at = 0;
        cr_assert(status == TORT_OK || status == TORT_E_MEMORY, "%s", error.msg);
        run_difference(context, 40, 1);
        tort_context_free(context);
        tort_session_free(session);
    }
    tort_model_free(model);
    cr_expect_eq(counting.live_blocks, 0);
    cr_expect_eq(counting.wrong_sizes, 0);
}

/* A kernel that wants more scratch for fewer elements, and fills all of it. */
static tort_status size_scratch(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                tort_error *error) {
    (void)target, (void)error;
    *scratch = (size_t)(100 - node->inputs[0].dims[0]) * 64;
    return TORT_OK;
}

static tort_status fill_scratch(const tort_call *call) {
    const int64_t count = tort_count(&call->inputs[0]);
    memset(call->scratch, 0xff, (size_t)(100 - call->inputs[0].dims[0]) * 64);
    for (int64_t i = 0; i < count; i++)
        ((float *)call->outputs[0].data)[i] = ((const float *)call->inputs[0].data)[i] + 1.0f;
    return TORT_OK;
}

static void open_here(const tort_provider_config *config, void **device, tort_target *target,
                      tort_condition *condition) {
    (void)config;
    *device = NULL;
    *target = (tort_target){.description = "wants scratch"};
    *condition = (tort_condition){.ready = true, .code = "READY"};
}

static const tort_kernel kernels[] = {
    {.domain = "", .op = "Relu", .name = "scratch", .size = size_scratch, .run = fill_scratch}, {.op = NULL}};
static const tort_kernel *const tables[] = {kernels, NULL};
static const tort_provider scratching = {.abi = TORT_PROVIDER_ABI,
                                         .name = "scratching",
                                         .summary = "for tests",
                                         .host_memory = true,
                                         .kernels = tables,
                                         .open = open_here};
static const tort_provider *const providers[] = {&scratching, NULL};

Test(bounds, so_does_scratch_that_is_larger_below_the_bounds) {
    model_builder b = build_begin(NULL);
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_error error;
    const tort_symbol_size max = {"n", 90};
    const int32_t x = build_input(&b, "x", TORT_FLOAT, 1, (const int64_t[]){-1});
    const int32_t first = build_node(&b, "Relu", "first", (const int32_t[]){x, -1});
    build_output(&b, first);
    build_output(&b, build_node(&b, "Relu", "second", (const int32_t[]){first, -1}));
    tort_model *model = build_end(&b, &error);
    const tort_session_options options = {.struct_size = sizeof options,
                                          .chain = "scratching",
                                          .providers = providers,
                                          .max_symbols = &max,
                                          .max_symbol_count = 1};
    cr_assert_eq(tort_session_create(NULL, model, &options, &session, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_context_create(session, &context, &error), TORT_OK, "%s", error.msg);
    float values[90] = {0};
    for (int64_t n = 90; n > 0; n -= 11) {
        const tort_tensor input = {TORT_FLOAT, 1, {n}, values};
        tort_tensor outputs[2] = {{.data = NULL}};
        cr_assert_eq(tort_context_run(context, &input, 1, outputs, 2, &error), TORT_OK, "%s", error.msg);
        for (int64_t i = 0; i < n; i++) cr_assert_eq(((const float *)outputs[0].data)[i], 1.0f);
        for (int64_t i = 0; i < n; i++) cr_assert_eq(((const float *)outputs[1].data)[i], 2.0f);
    }
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
}

/* ---- outputs that become inputs ---------------------------------------------------------------------------------- */

/* -(x + x) */
static tort_model *doubling(void) {
    model_builder b = build_begin(NULL);
    tort_error error;
    const int32_t x = build_input(&b, "x", TORT_FLOAT, 2, (const int64_t[]){-1, 1});
    const int32_t y = build_node(&b, "Add", "sum", (const int32_t[]){x, x, -1});
    build_output(&b, build_node(&b, "Neg", "neg", (const int32_t[]){y, -1}));
    tort_model *model = build_end(&b, &error);
    cr_assert_not_null(model, "%s", error.msg);
    return model;
}

Test(bounds, what_a_context_lent_is_no_input_of_its_next_run_but_of_another_context) {
    tort_model *model = doubling();
    tort_session *session = NULL;
    tort_context *contexts[2];
    tort_error error;
    float start[6] = {1, 2, 3, 4, 5, 6};
    cr_assert_eq(tort_session_create(NULL, model, NULL, &session, &error), TORT_OK, "%s", error.msg);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(tort_context_create(session, &contexts[i], &error), TORT_OK, "%s", error.msg);
    tort_tensor value = {TORT_FLOAT, 2, {6, 1}, start}, lent = {.data = NULL}, none = {.data = NULL};
    cr_assert_eq(tort_context_run(contexts[0], &value, 1, &lent, 1, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(tort_context_run(contexts[0], &lent, 1, &none, 1, &error), TORT_E_INPUT);
    cr_expect(strstr(error.msg, "input \"x\" is memory of this context"), "%s", error.msg);
    for (int i = 1; i < 6; i++) {
        value = lent;
        lent.data = NULL;
        cr_assert_eq(tort_context_run(contexts[i % 2], &value, 1, &lent, 1, &error), TORT_OK, "%s", error.msg);
    }
    for (int i = 0; i < 6; i++) cr_expect_eq(((const float *)lent.data)[i], 64.0f * start[i]);
    for (int i = 0; i < 2; i++) tort_context_free(contexts[i]);
    tort_session_free(session);
    tort_model_free(model);
}
