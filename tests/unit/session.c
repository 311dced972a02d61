/* session.c - tests of sessions and contexts: folding, dynamic sizes, allocation, failure of every allocation. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/build_model.h"
#include "tests/fake_provider.h"
#include "tests/report_of.h"

/* An allocator that counts, and fails at the n-th request. */
typedef struct counting {
    int64_t calls, fail_at, live;
} counting;

static void *counting_alloc(void *ud, void *ptr, size_t old_size, size_t new_size) {
    counting *c = ud;
    if (new_size == 0) {
        c->live -= ptr != NULL;
        free(ptr);
        return NULL;
    }
    if (++c->calls == c->fail_at) return NULL;
    (void)old_size;
    void *grown = realloc(ptr, new_size);
    c->live += grown && !ptr;
    return grown;
}

/* y = Softmax(Relu(x) * w), x of shape [n, 4]; w = Exp of a weight, which folds. */
static tort_model *small_model(const tort_env *env, tort_error *error) {
    static float weight[4] = {0, 1, 2, 3};
    model_builder b = build_begin(env);
    int32_t x = build_input(&b, "x", TORT_FLOAT, 2, (const int64_t[]){-1, 4});
    int32_t w = build_weight(&b, "w", &(tort_tensor){.type = TORT_FLOAT, .rank = 1, .dims = {4}, .data = weight});
    int32_t e = build_node(&b, "Exp", "exp", (const int32_t[]){w, -1});
    int32_t r = build_node(&b, "Relu", "relu", (const int32_t[]){x, -1});
    int32_t m = build_node(&b, "Mul", "mul", (const int32_t[]){r, e, -1});
    build_output(&b, build_node(&b, "Softmax", "softmax", (const int32_t[]){m, -1}));
    return build_end(&b, error);
}

static tort_status run_rows(tort_context *context, int64_t rows, tort_error *error) {
    static float x[64], y[64];
    for (int i = 0; i < 64; i++) x[i] = (float)(i % 5) * 0.1f;
    tort_tensor input = {.type = TORT_FLOAT, .rank = 2, .dims = {rows, 4}, .data = x};
    tort_tensor output = {.type = TORT_FLOAT, .rank = 2, .dims = {rows, 4}, .data = y};
    tort_status status = tort_context_run(context, &input, 1, &output, 1, error);
    for (int64_t r = 0; !status && r < rows; r++) {
        float sum = y[4 * r] + y[4 * r + 1] + y[4 * r + 2] + y[4 * r + 3];
        cr_expect_float_eq(sum, 1.0f, 1e-5f);
    }
    return status;
}

/* The whole life of a model on `chain`; used with failing allocators. */
static tort_status live(const tort_env *env, const char *chain, const tort_provider *const *providers,
                        tort_error *error) {
    tort_model *model = small_model(env, error);
    if (!model) return error->code;
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_session_options options = {.struct_size = sizeof options, .chain = chain, .providers = providers};
    tort_status status = tort_session_create(env, model, &options, &session, error);
    if (!status) status = tort_context_create(session, &context, error);
    if (!status) status = run_rows(context, 3, error);
    if (!status) status = run_rows(context, 5, error);
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
    return status;
}

Test(session, constants_fold_and_are_reported) {
    tort_error error;
    tort_model *model = small_model(NULL, &error);
    tort_session *session = NULL;
    cr_assert_eq(tort_session_create(NULL, model, NULL, &session, &error), TORT_OK, "%s", error.msg);
    tort_report *report = report_of(session);
    cr_expect_eq(report->folded, 1);
    cr_expect_str_eq(report->nodes[0]->provider, "folded");
    cr_expect_eq(report->providers[0]->nodes, 3);
    tort_report_free(report);
    tort_session_free(session);
    tort_model_free(model);
}

/* As PyTorch writes it before it optimizes: a constant gets the type of a value of the run. */
Test(session, a_constant_cast_like_a_value_of_the_run_folds) {
    static int64_t weight[2] = {2, -3};
    model_builder b = build_begin(NULL);
    tort_error error;
    int32_t x = build_input(&b, "x", TORT_FLOAT, 2, (const int64_t[]){-1, 2});
    int32_t w = build_weight(&b, "w", &(tort_tensor){.type = TORT_INT64, .rank = 1, .dims = {2}, .data = weight});
    int32_t like_x = build_node(&b, "CastLike", "of_a_constant", (const int32_t[]){w, x, -1});
    int32_t like_w = build_node(&b, "CastLike", "of_a_value", (const int32_t[]){x, w, -1});
    build_output(&b, build_node(&b, "Add", "add", (const int32_t[]){x, like_x, -1}));
    build_output(&b, like_w);
    tort_model *model = build_end(&b, &error);
    cr_assert_not_null(model, "%s", error.msg);
    tort_session *session = NULL;
    tort_context *context = NULL;
    float values[2] = {0.5f, 1.5f};
    tort_tensor input = {.type = TORT_FLOAT, .rank = 2, .dims = {1, 2}, .data = values}, outputs[2] = {{.data = NULL}};
    cr_assert_eq(tort_session_create(NULL, model, NULL, &session, &error), TORT_OK, "%s", error.msg);
    tort_report *report = report_of(session);
    cr_expect_eq(report->folded, 1);
    cr_expect_str_eq(report->nodes[0]->provider, "folded");
    tort_report_free(report);
    cr_assert_eq(tort_context_create(session, &context, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_context_run(context, &input, 1, outputs, 2, &error), TORT_OK, "%s", error.msg);
    const float *sum = outputs[0].data;
    const int64_t *whole = outputs[1].data;
    cr_expect(sum[0] == 2.5f && sum[1] == -1.5f && whole[0] == 0 && whole[1] == 1);
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
}

Test(session, every_size_has_its_plan_and_no_run_on_a_known_one_allocates) {
    counting c = {0};
    tort_env env = {.struct_size = sizeof env, .alloc = counting_alloc, .alloc_ud = &c};
    tort_error error;
    tort_model *model = small_model(&env, &error);
    cr_assert_not_null(model);
    tort_session *session = NULL;
    tort_context *context = NULL;
    cr_assert_eq(tort_session_create(&env, model, NULL, &session, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_context_create(session, &context, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(run_rows(context, 3, &error), TORT_OK, "%s", error.msg);
    int64_t before = c.calls;
    for (int i = 0; i < 10; i++) cr_assert_eq(run_rows(context, 3, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(c.calls, before, "%lld allocations in ten runs", (long long)(c.calls - before));
    cr_assert_eq(run_rows(context, 7, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(run_rows(context, 0, &error), TORT_OK, "%s", error.msg);
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
    cr_expect_eq(c.live, 0, "%lld allocations leaked", (long long)c.live);
}

Test(session, wrong_inputs_are_named) {
    tort_error error;
    tort_model *model = small_model(NULL, &error);
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_session_create(NULL, model, NULL, &session, &error);
    cr_assert_eq(tort_context_create(session, &context, &error), TORT_OK, "%s", error.msg);
    float x[8] = {0};
    tort_tensor output = {.data = NULL};
    tort_tensor wrong_type = {.type = TORT_DOUBLE, .rank = 2, .dims = {1, 4}, .data = x};
    cr_expect_eq(tort_context_run(context, &wrong_type, 1, &output, 1, &error), TORT_E_INPUT);
    cr_expect_str_eq(error.msg, "input \"x\" is of type double, the model wants float");
    tort_tensor wrong_dim = {.type = TORT_FLOAT, .rank = 2, .dims = {1, 5}, .data = x};
    cr_expect_eq(tort_context_run(context, &wrong_dim, 1, &output, 1, &error), TORT_E_INPUT);
    cr_expect_str_eq(error.msg, "dimension 1 of input \"x\" is 5, the model wants 4");
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
}

static void fail_each_allocation(const char *chain, const tort_provider *const *providers) {
    counting c = {0};
    tort_env env = {.struct_size = sizeof env, .alloc = counting_alloc, .alloc_ud = &c};
    tort_error error;
    cr_assert_eq(live(&env, chain, providers, &error), TORT_OK, "%s", error.msg);
    int64_t calls = c.calls;
    cr_assert_gt(calls, 20);
    for (int64_t n = 1; n <= calls; n++) {
        c = (counting){.fail_at = n};
        tort_status status = live(&env, chain, providers, &error);
        cr_expect(status == TORT_E_MEMORY || status == TORT_OK, "allocation %lld: %s: %s", (long long)n,
                  tort_status_name(status), error.msg);
        cr_assert_eq(c.live, 0, "allocation %lld: %lld blocks leaked", (long long)n, (long long)c.live);
    }
}

Test(session, the_nth_allocation_fails) {
    fail_each_allocation("cpu:threads=1", NULL);
    fail_each_allocation("fake,cpu:threads=1", fake_providers);
}

/* Some of the outputs of a node are numbers when shapes are symbols, others only when they are known. */
Test(session, shape_arithmetic_that_is_partly_known) {
    static int64_t ones[] = {1, 1, 1, 1}, halves[] = {2, 2};
    for (int parts = 4; parts >= 2; parts -= 2) {
        model_builder b = build_begin(NULL);
        tort_error error;
        int32_t x = build_input(&b, "x", TORT_FLOAT, 4, (const int64_t[]){1, 3, -1, -2}), out[4];
        int32_t split = build_weight(
            &b, "split",
            &(tort_tensor){.type = TORT_INT64, .rank = 1, .dims = {parts}, .data = parts == 4 ? ones : halves});
        int32_t shape = build_node(&b, "Shape", "shape", (const int32_t[]){x, -1});
        build_wide_node(&b, "Split", "split_shape", (const int32_t[]){shape, split, -1}, parts == 4 ? "1111" : "11",
                        out);
        for (int i = 0; i < parts; i++) build_output(&b, out[i]);
        tort_model *model = build_end(&b, &error);
        cr_assert_not_null(model, "%s", error.msg);
        tort_session *session = NULL;
        tort_context *context = NULL;
        float values[60] = {0};
        tort_tensor input = {.type = TORT_FLOAT, .rank = 4, .dims = {1, 3, 4, 5}, .data = values};
        tort_tensor outputs[4] = {{.data = NULL}};
        cr_assert_eq(tort_session_create(NULL, model, NULL, &session, &error), TORT_OK, "%s", error.msg);
        cr_assert_eq(tort_context_create(session, &context, &error), TORT_OK, "%s", error.msg);
        cr_assert_eq(tort_context_run(context, &input, 1, outputs, parts, &error), TORT_OK, "%s", error.msg);
        const int64_t *last = outputs[parts - 1].data, *first = outputs[0].data;
        cr_expect_eq(first[0], 1);
        cr_expect_eq(last[4 / parts - 1], 5);
        if (parts == 2) cr_expect(first[1] == 3 && last[0] == 4);
        tort_context_free(context);
        tort_session_free(session);
        tort_model_free(model);
    }
}
