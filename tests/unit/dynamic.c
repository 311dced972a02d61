/* dynamic.c - tests of values whose shape depends on data. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/build_model.h"
#include "tests/fake_provider.h"
#include "tests/report_of.h"

/* y = Neg(NonZero(x)) as int64 of shape [2, count], and its Shape; x of shape [n]. */
static tort_model *nonzero_model(tort_error *error) {
    model_builder b = build_begin(NULL);
    int32_t x = build_input(&b, "x", TORT_FLOAT, 1, (const int64_t[]){-1});
    int32_t where = build_node(&b, "NonZero", "where", (const int32_t[]){x, -1});
    build_output(&b, build_node(&b, "Neg", "neg", (const int32_t[]){where, -1}));
    build_output(&b, build_node(&b, "Shape", "shape", (const int32_t[]){where, -1}));
    return build_end(&b, error);
}

static tort_status run_nonzero(tort_session *session, tort_context *context, const float *values, int64_t count,
                               int64_t expected, tort_error *error) {
    tort_tensor x = {.type = TORT_FLOAT, .rank = 1, .dims = {count}};
    memcpy(&x.data, &values, sizeof values);
    tort_tensor outputs[2] = {{.data = NULL}, {.data = NULL}};
    (void)session;
    tort_status status = tort_context_run(context, &x, 1, outputs, 2, error);
    if (status) return status;
    cr_expect_eq(outputs[0].rank, 2);
    cr_expect_eq(outputs[0].dims[1], expected);
    const int64_t *shape = outputs[1].data;
    cr_expect_eq(shape[0], 1);
    cr_expect_eq(shape[1], expected);
    return TORT_OK;
}

Test(dynamic, shapes_follow_the_data) {
    tort_error error;
    tort_model *model = nonzero_model(&error);
    tort_session *session = NULL;
    tort_context *context = NULL;
    cr_assert_eq(tort_session_create(NULL, model, NULL, &session, &error), TORT_OK, "%s", error.msg);
    tort_report *report = report_of(session);
    cr_expect_str_eq(report->nodes[2]->provider, "host");
    tort_report_free(report);
    cr_assert_eq(tort_context_create(session, &context, &error), TORT_OK, "%s", error.msg);
    const float some[] = {1, 0, 2, 0, 3}, none[] = {0, 0}, all[] = {1, 1, 1};
    cr_expect_eq(run_nonzero(session, context, some, 5, 3, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(run_nonzero(session, context, none, 2, 0, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(run_nonzero(session, context, all, 3, 3, &error), TORT_OK, "%s", error.msg);
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
}

Test(dynamic, the_limit_holds_and_the_session_stays_usable) {
    tort_error error;
    tort_model *model = nonzero_model(&error);
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_session_options options = {.struct_size = sizeof options, .dynamic_limit = 64};
    cr_assert_eq(tort_session_create(NULL, model, &options, &session, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_context_create(session, &context, &error), TORT_OK, "%s", error.msg);
    float many[100];
    for (int i = 0; i < 100; i++) many[i] = 1;
    cr_expect_eq(run_nonzero(session, context, many, 100, 100, &error), TORT_E_MEMORY);
    cr_expect(strstr(error.msg, "dynamic_limit"), "%s", error.msg);
    cr_expect_eq(error.node, 0);
    cr_expect_eq(run_nonzero(session, context, many, 2, 2, &error), TORT_OK, "%s", error.msg);
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
}

/* Reshape to a shape that is only known while running, with one node on another device in between. */
Test(dynamic, a_live_reshape_and_a_device) {
    model_builder b = build_begin(NULL);
    tort_error error;
    int32_t x = build_input(&b, "x", TORT_FLOAT, 1, (const int64_t[]){6});
    int32_t shape = build_input(&b, "shape", TORT_INT64, 1, (const int64_t[]){2});
    int32_t relu = build_node(&b, "Relu", "relu", (const int32_t[]){x, -1});
    int32_t reshaped = build_node(&b, "Reshape", "reshape", (const int32_t[]){relu, shape, -1});
    build_output(&b, build_node(&b, "Neg", "neg", (const int32_t[]){reshaped, -1}));
    tort_model *model = build_end(&b, &error);
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_session_options options = {.struct_size = sizeof options, .chain = "fake,cpu", .providers = fake_providers};
    cr_assert_eq(tort_session_create(NULL, model, &options, &session, &error), TORT_OK, "%s", error.msg);
    tort_report *report = report_of(session);
    cr_expect_str_eq(report->nodes[1]->provider, "host");
    cr_expect_str_eq(report->nodes[2]->provider, "fake");
    tort_report_free(report);
    cr_assert_eq(tort_context_create(session, &context, &error), TORT_OK, "%s", error.msg);
    float values[6] = {1, -2, 3, 4, 5, 6};
    int64_t to[2] = {3, -1}, wrong[2] = {4, 4};
    tort_tensor inputs[2] = {{.type = TORT_FLOAT, .rank = 1, .dims = {6}, .data = values},
                             {.type = TORT_INT64, .rank = 1, .dims = {2}, .data = to}};
    tort_tensor output = {.data = NULL};
    cr_assert_eq(tort_context_run(context, inputs, 2, &output, 1, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(output.rank, 2);
    cr_expect_eq(output.dims[0], 3);
    cr_expect_eq(output.dims[1], 2);
    cr_expect_float_eq(((const float *)output.data)[2], -3.0f, 1e-6f);
    inputs[1].data = wrong;
    output.data = NULL;
    cr_expect_eq(tort_context_run(context, inputs, 2, &output, 1, &error), TORT_E_RUN, "%s", error.msg);
    cr_expect(strstr(error.msg, "\"reshape\" (Reshape-21)"), "%s", error.msg);
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
}

/* A kernel is fitted once to each shape that a plan is made for, and to a shape that only the run tells. */
static void check_fits(bool reshaped) {
    model_builder b = build_begin(NULL);
    tort_error error;
    int32_t x = build_input(&b, "x", TORT_FLOAT, 1, (const int64_t[]){-1});
    int32_t shape = reshaped ? build_input(&b, "shape", TORT_INT64, 1, (const int64_t[]){2}) : -1;
    if (reshaped) x = build_node(&b, "Reshape", "reshape", (const int32_t[]){x, shape, -1});
    build_output(&b, build_node(&b, "Relu", "relu", (const int32_t[]){x, -1}));
    tort_model *model = build_end(&b, &error);
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_session_options options = {
        .struct_size = sizeof options, .chain = "fault:fit=3,cpu", .providers = fault_providers};
    cr_assert_eq(tort_session_create(NULL, model, &options, &session, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_context_create(session, &context, &error), TORT_OK, "%s", error.msg);
    const int64_t counts[] = {4, 6, 4, 8, 8};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        float values[8] = {1, -2, 3, -4, 5, -6, 7, -8};
        int64_t to[2] = {2, counts[i] / 2};
        tort_tensor inputs[2] = {{.type = TORT_FLOAT, .rank = 1, .dims = {counts[i]}, .data = values},
                                 {.type = TORT_INT64, .rank = 1, .dims = {2}, .data = to}};
        tort_tensor output = {.data = NULL};
        tort_status status = tort_context_run(context, inputs, reshaped ? 2 : 1, &output, 1, &error);
        if (status) cr_expect(strstr(error.msg, "\"relu\" (Relu-14): fit told to fail"), "%s", error.msg);
        if (!status) cr_expect_float_eq(((const float *)output.data)[3], 0.0f, 1e-6f);
        /* The third fit fails: of the third run where each run fits, else of the third shape; then it is made. */
        cr_expect_eq(status != TORT_OK, i == (reshaped ? 2 : 3), "run %zu: %s", i, error.msg);
    }
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
}

Test(dynamic, a_kernel_is_fitted_to_each_plan) {
    check_fits(false);
}

Test(dynamic, a_kernel_is_fitted_while_running) {
    check_fits(true);
}

/* Plans for shapes that differ elsewhere share a fit; one that was used long ago is made again. */
Test(dynamic, plans_share_what_is_fitted_to_one_shape) {
    enum { KEPT = 32 };
    model_builder b = build_begin(NULL);
    tort_error error;
    const int32_t x = build_input(&b, "x", TORT_FLOAT, 1, (const int64_t[]){-1});
    const int32_t z = build_input(&b, "z", TORT_INT64, 1, (const int64_t[]){-2});
    build_output(&b, build_node(&b, "Relu", "relu", (const int32_t[]){x, -1}));
    build_output(&b, build_node(&b, "Neg", "neg", (const int32_t[]){z, -1}));
    tort_model *model = build_end(&b, &error);
    tort_session *session = NULL;
    tort_context *context = NULL;
    const tort_session_options options = {
        .struct_size = sizeof options, .chain = "fault:fit=36,cpu", .providers = fault_providers};
    cr_assert_eq(tort_session_create(NULL, model, &options, &session, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_context_create(session, &context, &error), TORT_OK, "%s", error.msg);
    for (int64_t run = 0; run < 100; run++) {
        float values[KEPT + 3] = {0};
        int64_t numbers[60] = {0};
        /* Two sizes in turns, then 33 others, each with plans of their own; the first size is the 36th fit. */
        const int64_t size = run < 60 ? 1 + run % 2 : run < 60 + KEPT + 1 ? run - 60 + 3 : 1;
        const tort_tensor inputs[2] = {{.type = TORT_FLOAT, .rank = 1, .dims = {size}, .data = values},
                                       {.type = TORT_INT64, .rank = 1, .dims = {1 + run % 60}, .data = numbers}};
        tort_tensor outputs[2] = {{.data = NULL}, {.data = NULL}};
        const tort_status status = tort_context_run(context, inputs, 2, outputs, 2, &error);
        cr_assert_eq(status == TORT_OK, run < 60 + KEPT + 1, "run %lld: %s", (long long)run, error.msg);
        if (status) break;
    }
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
}

/* ---- scratch of steps whose shapes only the run tells is in the memory of their provider ---- */

enum { MAX_BLOCKS = 64 };

static struct {
    char *begin;
    size_t bytes;
} blocks[MAX_BLOCKS];

static int tracked_calls;

static void *tracked_alloc(void *device, size_t bytes) {
    tracked_calls++;
    char *memory = fake_providers[0]->memory.alloc(device, bytes);
    int at = 0;
    while (at < MAX_BLOCKS && blocks[at].begin) at++;
    cr_assert_lt(at, MAX_BLOCKS);
    blocks[at].begin = memory;
    blocks[at].bytes = bytes;
    return memory;
}

static void tracked_free(void *device, void *memory, size_t bytes) {
    for (int i = 0; i < MAX_BLOCKS; i++)
        if (blocks[i].begin == memory) blocks[i].begin = NULL;
    fake_providers[0]->memory.free(device, memory, bytes);
}

static tort_status small_scratch(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                 tort_error *error) {
    (void)target, (void)node, (void)error;
    *scratch = 64;
    return TORT_OK;
}

static tort_status relu_with_scratch(const tort_call *call) {
    const char *scratch = call->scratch;
    for (int i = 0; i < MAX_BLOCKS; i++)
        if (blocks[i].begin && scratch >= blocks[i].begin && scratch + 64 <= blocks[i].begin + blocks[i].bytes)
            return (*fake_providers[0]->kernels)[0].run(call);
    return tort_fail(call->error, TORT_E_INTERNAL, "the scratch is not in the device's memory");
}

static const tort_kernel scratch_kernels[] = {
    {.domain = "", .op = "Relu", .name = "relu", .size = small_scratch, .run = relu_with_scratch},
    {.op = NULL},
};

Test(dynamic, scratch_is_kept_by_memory) {
    const tort_kernel *const tables[] = {scratch_kernels, NULL};
    tort_provider tracked = *fake_providers[0];
    tracked.memory.alloc = tracked_alloc;
    tracked.memory.free = tracked_free;
    tracked.kernels = tables;
    const tort_provider *const providers[] = {&tracked, NULL};
    static int64_t three[] = {3};
    model_builder b = build_begin(NULL);
    tort_error error;
    int32_t x = build_input(&b, "x", TORT_FLOAT, 1, (const int64_t[]){8}), top[2];
    int32_t shape = build_input(&b, "shape", TORT_INT64, 1, (const int64_t[]){2});
    int32_t k = build_weight(&b, "k", &(tort_tensor){.type = TORT_INT64, .rank = 1, .dims = {1}, .data = three});
    int32_t live = build_node(&b, "Reshape", "reshape", (const int32_t[]){x, shape, -1});
    build_wide_node(&b, "TopK", "top", (const int32_t[]){live, k, -1}, "11", top); /* its scratch is the larger one */
    build_output(&b, build_node(&b, "Relu", "relu", (const int32_t[]){top[0], -1}));
    tort_model *model = build_end(&b, &error);
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_session_options options = {.struct_size = sizeof options, .chain = "fake,cpu", .providers = providers};
    cr_assert_eq(tort_session_create(NULL, model, &options, &session, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_context_create(session, &context, &error), TORT_OK, "%s", error.msg);
    float values[8] = {1, -2, 3, -4, 5, -6, 7, -8};
    int64_t to[2] = {2, 4};
    tort_tensor inputs[2] = {{.type = TORT_FLOAT, .rank = 1, .dims = {8}, .data = values},
                             {.type = TORT_INT64, .rank = 1, .dims = {2}, .data = to}};
    tort_tensor output = {.data = NULL};
    cr_assert_eq(tort_context_run(context, inputs, 2, &output, 1, &error), TORT_OK, "%s", error.msg);
    cr_expect_float_eq(((const float *)output.data)[3], 7.0f, 1e-6f);
    tracked_calls = 0;
    for (int run = 0; run < 3; run++) {
        output.data = NULL;
        cr_assert_eq(tort_context_run(context, inputs, 2, &output, 1, &error), TORT_OK, "%s", error.msg);
    }
    cr_expect_eq(tracked_calls, 0, "what a run gave back serves the next");
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
}

/* ---- a view of a value whose shape only the run tells, under a shape that is known ---- */

Test(dynamic, a_known_shape_of_an_unknown_value) {
    static int64_t square[] = {2, 1};
    model_builder b = build_begin(NULL);
    tort_error error;
    int32_t x = build_input(&b, "x", TORT_FLOAT, 1, (const int64_t[]){4});
    int32_t to = build_weight(&b, "to", &(tort_tensor){.type = TORT_INT64, .rank = 1, .dims = {2}, .data = square});
    int32_t found = build_node(&b, "NonZero", "found", (const int32_t[]){x, -1});
    build_output(&b, build_node(&b, "Reshape", "reshape", (const int32_t[]){found, to, -1}));
    tort_model *model = build_end(&b, &error);
    tort_session *session = NULL;
    tort_context *context = NULL;
    cr_assert_eq(tort_session_create(NULL, model, NULL, &session, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_context_create(session, &context, &error), TORT_OK, "%s", error.msg);
    float two[4] = {0, 1, 0, 1}, three[4] = {1, 1, 0, 1};
    tort_tensor input = {.type = TORT_FLOAT, .rank = 1, .dims = {4}, .data = two}, output = {.data = NULL};
    cr_assert_eq(tort_context_run(context, &input, 1, &output, 1, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(((const int64_t *)output.data)[1], 3);
    input.data = three;
    output.data = NULL;
    cr_expect_eq(tort_context_run(context, &input, 1, &output, 1, &error), TORT_E_RUN, "%s", error.msg);
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
}

/* ---- outputs that nobody wants ---- */

Test(dynamic, a_node_without_outputs_that_are_wanted_is_no_step) {
    static int64_t square[] = {2, 2};
    model_builder b = build_begin(NULL);
    tort_error error;
    int32_t x = build_input(&b, "x", TORT_FLOAT, 1, (const int64_t[]){4}), none;
    int32_t to = build_weight(&b, "to", &(tort_tensor){.type = TORT_INT64, .rank = 1, .dims = {2}, .data = square});
    build_wide_node(&b, "Reshape", "unwanted_view", (const int32_t[]){x, to, -1}, "0", &none);
    build_wide_node(&b, "Relu", "unwanted_value", (const int32_t[]){x, -1}, "0", &none);
    build_output(&b, build_node(&b, "Neg", "neg", (const int32_t[]){x, -1}));
    tort_model *model = build_end(&b, &error);
    cr_assert_not_null(model, "%s", error.msg);
    for (int unfolded = 0; unfolded < 2; unfolded++) {
        tort_session *session = NULL;
        tort_context *context = NULL;
        tort_session_options options = {.struct_size = sizeof options, .unfolded = unfolded};
        cr_assert_eq(tort_session_create(NULL, model, &options, &session, &error), TORT_OK, "%s", error.msg);
        cr_assert_eq(tort_context_create(session, &context, &error), TORT_OK, "%s", error.msg);
        float values[4] = {1, -2, 3, -4};
        tort_tensor input = {.type = TORT_FLOAT, .rank = 1, .dims = {4}, .data = values}, output = {.data = NULL};
        cr_assert_eq(tort_context_run(context, &input, 1, &output, 1, &error), TORT_OK, "%s", error.msg);
        cr_expect_float_eq(((const float *)output.data)[1], 2.0f, 1e-6f);
        tort_context_free(context);
        tort_session_free(session);
    }
    tort_model_free(model);
}
