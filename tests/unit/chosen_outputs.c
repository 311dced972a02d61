/* Tests of tort_session_options.outputs: a session of some of the model's outputs, in an order of its own. What only
 * the others need does not run. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/build_model.h"
#include "tests/counting_env.h"
#include "tests/fake_provider.h"
#include "tests/report_of.h"

/* a = Relu(x); b = Exp(Neg(x)); c = Abs(a); and, where asked for, d = Mystery(x), which no build has. The outputs are
 * called a_out ... */
static tort_model *model_with(bool mystery, tort_error *error) {
    model_builder b = build_begin(NULL);
    int32_t x = build_input(&b, "x", TORT_FLOAT, 1, (const int64_t[]){-1});
    int32_t relu = build_node(&b, "Relu", "a", (const int32_t[]){x, -1});
    int32_t neg = build_node(&b, "Neg", "n", (const int32_t[]){x, -1});
    build_output(&b, relu);
    build_output(&b, build_node(&b, "Exp", "b", (const int32_t[]){neg, -1}));
    build_output(&b, build_node(&b, "Abs", "c", (const int32_t[]){relu, -1}));
    if (mystery) build_output(&b, build_node(&b, "Mystery", "d", (const int32_t[]){x, -1}));
    tort_model *model = build_end(&b, error);
    cr_assert_not_null(model, "%s", error->msg);
    return model;
}

static void count_steps(void *ud, int32_t node, const char *value, const tort_tensor *tensor) {
    (void)node, (void)value, (void)tensor;
    ++*(int *)ud;
}

static void expect_run(tort_session *session, const char *order, int steps) {
    float x[2] = {-1, 2};
    const float wanted[3][2] = {{0, 2}, {2.7182818f, 0.13533528f}, {0, 2}};
    const int32_t count = (int32_t)strlen(order);
    const tort_tensor input = {.type = TORT_FLOAT, .rank = 1, .dims = {2}, .data = x};
    tort_tensor outputs[3] = {{.data = NULL}};
    tort_context *context = NULL;
    tort_error error;
    int ran = 0;
    cr_assert_eq(tort_context_create(session, &context, &error), TORT_OK, "%s", error.msg);
    tort_context_observe(context, count_steps, &ran);
    cr_assert_eq(tort_context_run(context, &input, 1, outputs, count, &error), TORT_OK, "%s", error.msg);
    for (int32_t i = 0; i < count; i++)
        for (int k = 0; k < 2; k++)
            cr_expect_float_eq(((const float *)outputs[i].data)[k], wanted[order[i] - 'a'][k], 1e-6f, "%c", order[i]);
    cr_expect_eq(ran, steps, "%s: %d steps", order, ran);
    cr_expect_eq(tort_context_run(context, &input, 1, outputs, count + 1, &error), TORT_E_INPUT);
    cr_expect(strstr(error.msg, "outputs given, the session has"), "%s", error.msg);
    tort_context_free(context);
}

Test(chosen_outputs, only_what_they_need_runs) {
    static const struct {
        const char *order;
        int steps;
    } cases[] = {{"a", 1}, {"b", 2}, {"c", 2}, {"ca", 2}, {"cb", 4}, {"bac", 4}};
    tort_error error;
    tort_model *model = model_with(false, &error);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int way = 0; way < 4; way++) {
            char texts[3][6];
            const char *names[3];
            for (size_t k = 0; k < strlen(cases[i].order); k++) {
                memcpy(texts[k], "a_out", sizeof texts[k]);
                texts[k][0] = cases[i].order[k];
                names[k] = texts[k];
            }
            const tort_session_options options = {.struct_size = sizeof options,
                                                  .chain = way & 1 ? "fake,cpu" : "cpu:threads=1",
                                                  .providers = fake_providers,
                                                  .unfolded = way & 2,
                                                  .outputs = names,
                                                  .output_count = (int32_t)strlen(cases[i].order)};
            tort_session *session = NULL;
            cr_assert_eq(tort_session_create(NULL, model, &options, &session, &error), TORT_OK, "%s", error.msg);
            memset(texts, 'x', sizeof texts); /* nothing of them is needed any more */
            expect_run(session, cases[i].order, cases[i].steps);
            tort_session_free(session);
        }
    tort_model_free(model);
}

Test(chosen_outputs, a_node_that_is_left_out_needs_no_provider) {
    static const char *const without[] = {"a_out", "c_out"};
    tort_error error;
    tort_model *model = model_with(true, &error);
    tort_session *session = NULL;
    tort_session_options options = {.struct_size = sizeof options};
    cr_expect_eq(tort_session_create(NULL, model, &options, &session, &error), TORT_E_PLACEMENT);
    tort_session_free(session);
    options.outputs = without;
    options.output_count = 2;
    cr_assert_eq(tort_session_create(NULL, model, &options, &session, &error), TORT_OK, "%s", error.msg);
    tort_report *report = report_of(session);
    cr_expect_eq(report->unplaced, 0);
    cr_expect_eq(report->folded, 3, "n, b and d are left out");
    cr_expect_str_eq(report->nodes[4]->kernel, "unread");
    tort_report_free(report);
    tort_session_free(session);
    tort_model_free(model);
}

Test(chosen_outputs, bindings_go_by_name) {
    static const char *const outputs[] = {"c_out", "a_out"}, *const bindings[] = {"a_out=fake"};
    tort_error error;
    tort_model *model = model_with(false, &error);
    tort_session *session = NULL;
    const tort_session_options options = {.struct_size = sizeof options,
                                          .chain = "fake,cpu",
                                          .providers = fake_providers,
                                          .bindings = bindings,
                                          .binding_count = 1,
                                          .outputs = outputs,
                                          .output_count = 2};
    cr_assert_eq(tort_session_create(NULL, model, &options, &session, &error), TORT_OK, "%s", error.msg);
    cr_expect_null(tort_session_output_memory(session, 0));
    cr_expect_str_eq(tort_session_output_memory(session, 1), "fake");
    tort_session_free(session);
    tort_model_free(model);
}

static void refuse(const tort_model *model, const char *const *names, int32_t count, const char *words) {
    tort_error error;
    tort_session *session = NULL;
    const tort_session_options options = {.struct_size = sizeof options, .outputs = names, .output_count = count};
    cr_expect_eq(tort_session_create(NULL, model, &options, &session, &error), TORT_E_USAGE, "%s", words);
    cr_expect(strstr(error.msg, words), "%s: %s", words, error.msg);
    cr_expect_null(session);
}

Test(chosen_outputs, wrong_names_are_errors) {
    tort_error error;
    tort_model *model = model_with(false, &error);
    refuse(model, (const char *const[]){"a_out", "n_out"}, 2,
           "the model has no output \"n_out\" (it has: a_out, b_out, c_out)");
    refuse(model, (const char *const[]){"x"}, 1, "no output \"x\"");
    refuse(model, (const char *const[]){NULL}, 1, "no output \"NULL\"");
    refuse(model, (const char *const[]){"a_out", "b_out", "a_out"}, 3, "\"a_out\" is there twice");
    refuse(model, NULL, 1, "1 names, but no list");
    refuse(model, NULL, -1, "-1 names");
    tort_model_free(model);
}

Test(chosen_outputs, the_nth_allocation_fails) {
    static const char *const outputs[] = {"c_out"};
    const tort_session_options options = {
        .struct_size = sizeof options, .chain = "cpu:threads=1", .outputs = outputs, .output_count = 1};
    tort_error error;
    tort_counting_env counting;
    tort_model *model = model_with(false, &error);
    tort_status status = TORT_E_MEMORY;
    for (int64_t n = 1; status; n++) {
        tort_session *session = NULL;
        tort_counting_env_init(&counting);
        counting.fail_at = n;
        status = tort_session_create(&counting.env, model, &options, &session, &error);
        cr_assert(!status || status == TORT_E_MEMORY, "%s", error.msg);
        tort_session_free(session);
        cr_assert_eq(counting.live_blocks, 0);
    }
    tort_model_free(model);
}
