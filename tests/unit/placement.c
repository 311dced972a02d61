/* placement.c - tests of place.c, chain.c and plan.c through the public interface, with the providers of the tests. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/build_model.h"
#include "tests/fake_provider.h"
#include "tests/report_of.h"

typedef struct fixture {
    tort_model *model;
    tort_session *session;
    tort_report *report; /* NULL where there is no session */
    tort_error error;
    tort_status status;
} fixture;

/* x -> Relu -> Exp -> Neg -> y, floats of shape [2, 3]. */
static tort_model *chain_model(tort_error *error) {
    model_builder b = build_begin(NULL);
    int32_t x = build_input(&b, "x", TORT_FLOAT, 2, (const int64_t[]){2, 3});
    int32_t relu = build_node(&b, "Relu", "relu", (const int32_t[]){x, -1});
    int32_t exp = build_node(&b, "Exp", "exp", (const int32_t[]){relu, -1});
    int32_t neg = build_node(&b, "Neg", "neg", (const int32_t[]){exp, -1});
    build_output(&b, neg);
    return build_end(&b, error);
}

static fixture open_with(const tort_provider *const *providers, const char *chain, tort_session_options options) {
    fixture f = {.session = NULL};
    f.model = chain_model(&f.error);
    cr_assert_not_null(f.model, "%s", f.error.msg);
    options.struct_size = sizeof options;
    options.chain = chain;
    options.providers = providers;
    f.status = tort_session_create(NULL, f.model, &options, &f.session, &f.error);
    if (f.session) f.report = report_of(f.session);
    return f;
}

static fixture open_fake(const char *chain, tort_session_options options) {
    return open_with(fake_providers, chain, options);
}

static fixture open_fault(const char *chain) {
    return open_with(fault_providers, chain, (tort_session_options){0});
}

static void close_fixture(fixture *f) {
    tort_report_free(f->report);
    tort_session_free(f->session);
    tort_model_free(f->model);
}

static const tort_report_node *node_of(const fixture *f, int32_t index) {
    return f->report->nodes[index];
}

static tort_status run_chain(fixture *f, float *y) {
    tort_context *context = NULL;
    float x[6] = {-1, 0, 1, 2, -3, 0.5f};
    tort_tensor input = {.type = TORT_FLOAT, .rank = 2, .dims = {2, 3}, .data = x};
    tort_tensor output = {.type = TORT_FLOAT, .rank = 2, .dims = {2, 3}, .data = y};
    tort_status status = tort_context_create(f->session, &context, &f->error);
    if (!status) status = tort_context_run(context, &input, 1, &output, 1, &f->error);
    tort_context_free(context);
    return status;
}

/* ---- claims by rule ---------------------------------------------------------------------------------------------- */

Test(placement, first_provider_that_says_yes_serves) {
    fixture f = open_fake("fake,cpu", (tort_session_options){0});
    cr_assert_eq(f.status, TORT_OK, "%s", f.error.msg);
    cr_expect_str_eq(node_of(&f, 0)->provider, "fake");
    cr_expect_str_eq(node_of(&f, 0)->kernel, "fake_relu");
    cr_expect_str_eq(node_of(&f, 1)->provider, "cpu");
    cr_expect_str_eq(node_of(&f, 2)->provider, "fake");
    cr_expect_eq(f.report->fallen_back, 1);
    cr_assert_eq(node_of(&f, 1)->verdict_count, 1);
    cr_expect_eq(node_of(&f, 1)->verdicts[0]->code, TORT_NO_OP);
    close_fixture(&f);
}

Test(placement, copies_are_steps_and_reported) {
    fixture f = open_fake("fake,cpu", (tort_session_options){0});
    const tort_report *report = f.report;
    cr_assert_eq(report->copy_count, 4); /* x to fake, relu to cpu, exp to fake, y to cpu */
    cr_expect_str_eq(report->copies[0]->value, "x");
    cr_expect_str_eq(report->copies[1]->from, "fake");
    cr_expect_str_eq(report->copies[1]->to, "cpu");
    cr_expect_str_eq(report->copies[1]->before, "exp");
    cr_expect_eq(report->copies[1]->bytes, 24);
    float y[6];
    cr_assert_eq(run_chain(&f, y), TORT_OK, "%s", f.error.msg);
    cr_expect_float_eq(y[0], -1.0f, 1e-6f);
    cr_expect_float_eq(y[3], -7.389056f, 1e-5f);
    close_fixture(&f);
}

Test(placement, nothing_is_added_to_the_chain) {
    fixture f = open_fake("fake", (tort_session_options){0});
    cr_assert_eq(f.status, TORT_E_PLACEMENT);
    cr_expect(strstr(f.error.msg, "\"exp\" (Exp-13)"), "%s", f.error.msg);
    cr_assert_not_null(f.session, "the report is there also when placement fails");
    cr_expect_null(node_of(&f, 1)->provider);
    cr_expect_eq(f.report->unplaced, 1);
    close_fixture(&f);
}

/* ---- refusals by every code -------------------------------------------------------------------------------------- */

Test(placement, every_refusal_is_kept) {
    const char *codes[] = {"NO_OP",    "NO_OPSET",   "NO_TYPE",       "NO_KIND",    "NO_ATTR",
                           "NO_SHAPE", "NO_DYNAMIC", "NO_CAPABILITY", "NO_LIBRARY", "NO_MEMORY"};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        char chain[64];
        snprintf(chain, sizeof chain, "fault:claim=%s,cpu", codes[i]);
        fixture f = open_fault(chain);
        cr_assert_eq(f.status, TORT_OK, "%s: %s", codes[i], f.error.msg);
        cr_expect_str_eq(node_of(&f, 0)->provider, "cpu");
        cr_assert_eq(node_of(&f, 0)->verdict_count, 1);
        const tort_report_verdict *verdict = node_of(&f, 0)->verdicts[0];
        cr_expect_str_eq(tort_verdict_name(verdict->code), codes[i]);
        cr_expect_str_eq(verdict->message, "told to refuse");
        cr_expect_str_eq(verdict->cure, "drop the option claim");
        cr_expect_str_eq(verdict->kernel, "fault_library_relu");
        close_fixture(&f);
    }
}

Test(placement, missing_library_is_a_refusal_with_its_cure) {
    fixture f = open_fault("fault:library=missing,cpu");
    cr_assert_eq(node_of(&f, 0)->verdicts[0]->code, TORT_NO_LIBRARY);
    cr_expect_str_eq(node_of(&f, 0)->verdicts[0]->message, "libfault.so.1 was not found");
    cr_expect_str_eq(node_of(&f, 0)->verdicts[0]->cure, "install libfault");
    close_fixture(&f);
}

Test(placement, node_that_cannot_fit_is_refused) {
    fixture f = open_fault("fault:memory=40,cpu");
    cr_assert_eq(node_of(&f, 0)->verdicts[0]->code, TORT_NO_MEMORY);
    close_fixture(&f);
}

/* Each node fits, all together do not: one error with what is needed, and the report all the same. */
Test(placement, chain_that_cannot_fit_is_one_error_with_its_report) {
    fixture f = open_fault("fault:memory=60,cpu");
    cr_expect_eq(f.status, TORT_E_MEMORY, "%s", f.error.msg);
    cr_expect(strstr(f.error.msg, "fault needs 0 bytes for weights and "), "%s", f.error.msg);
    cr_expect(strstr(f.error.msg, "for values, but may use 60: raise mem_limit"), "%s", f.error.msg);
    cr_assert_not_null(f.session);
    cr_expect_str_eq(node_of(&f, 0)->provider, "fault");
    tort_context *context = NULL;
    cr_expect_eq(tort_context_create(f.session, &context, NULL), TORT_E_USAGE);
    close_fixture(&f);
}

Test(placement, provider_that_does_not_open_says_why_at_every_node) {
    fixture f = open_fault("fault:open=NO_DRIVER,cpu");
    cr_assert_eq(f.status, TORT_OK);
    const tort_report_provider *down = f.report->providers[0];
    cr_expect_not(down->ready);
    cr_expect_str_eq(down->code, "NO_DRIVER");
    cr_expect_str_eq(down->message, "told to fail");
    cr_expect_eq(node_of(&f, 1)->verdicts[0]->code, TORT_PROVIDER_DOWN);
    cr_expect_str_eq(node_of(&f, 1)->verdicts[0]->message, "NO_DRIVER: told to fail");
    close_fixture(&f);
}

Test(placement, disabled_provider) {
    fixture f = open_fake("fake,cpu", (tort_session_options){.disabled = "cuda,fake"});
    cr_assert_eq(f.status, TORT_OK, "%s", f.error.msg);
    cr_expect_eq(node_of(&f, 0)->verdicts[0]->code, TORT_DISABLED);
    close_fixture(&f);
    f = open_fake("fake,cpu", (tort_session_options){.disabled = "cuda,fakee"});
    cr_expect_eq(f.status, TORT_E_USAGE);
    cr_expect(strstr(f.error.msg, "the list of providers to switch off: unknown provider \"fakee\""), "%s",
              f.error.msg);
    close_fixture(&f);
}

Test(placement, upstream_names_the_node_that_was_not_understood) {
    model_builder b = build_begin(NULL);
    int32_t x = build_input(&b, "x", TORT_FLOAT, 1, (const int64_t[]){4});
    int32_t strange = build_node(&b, "NoSuchOperator", "strange", (const int32_t[]){x, -1});
    int32_t relu = build_node(&b, "Relu", "relu", (const int32_t[]){strange, -1});
    build_output(&b, build_node(&b, "Neg", "neg", (const int32_t[]){relu, -1}));
    fixture f = {.model = build_end(&b, &f.error)};
    cr_assert_not_null(f.model, "an unknown operator is not a broken model");
    f.status = tort_session_create(NULL, f.model, NULL, &f.session, &f.error);
    cr_assert_eq(f.status, TORT_E_PLACEMENT);
    f.report = report_of(f.session);
    cr_expect_eq(node_of(&f, 0)->verdicts[0]->code, TORT_NO_OP);
    cr_expect_eq(node_of(&f, 1)->verdicts[0]->code, TORT_UPSTREAM);
    cr_expect(strstr(node_of(&f, 1)->verdicts[0]->message, "\"strange\""));
    cr_expect_eq(node_of(&f, 0)->verdicts[0]->root, -1);
    cr_expect_eq(node_of(&f, 1)->verdicts[0]->root, 0);
    cr_expect_eq(node_of(&f, 2)->verdicts[0]->root, 0, "the root, not the node before");
    cr_expect(strstr(f.error.msg, "3 nodes with no provider"), "%s", f.error.msg);
    close_fixture(&f);
}

/* ---- rules of the user ------------------------------------------------------------------------------------------- */

Test(placement, require) {
    fixture f = open_with(fault_providers, "fault:open=OLD_DRIVER,cpu", (tort_session_options){.require = "fault"});
    cr_expect_eq(f.status, TORT_E_PLACEMENT);
    cr_expect(strstr(f.error.msg, "fault did not open: OLD_DRIVER, told to fail; drop the option open"), "%s",
              f.error.msg);
    cr_expect_not_null(f.session);
    close_fixture(&f);
    f = open_fake("cpu", (tort_session_options){.require = "fake"});
    cr_expect_eq(f.status, TORT_E_PLACEMENT);
    cr_expect(strstr(f.error.msg, "not in the chain"), "%s", f.error.msg);
    close_fixture(&f);
}

Test(placement, strict_and_allow) {
    fixture f = open_fake("fake,cpu", (tort_session_options){.strict = true});
    cr_expect_eq(f.status, TORT_E_PLACEMENT);
    cr_expect(strstr(f.error.msg, "1 node is not on fake"), "%s", f.error.msg);
    close_fixture(&f);
    f = open_fake("fake,cpu", (tort_session_options){.strict = true, .allow = "Resize,Exp"});
    cr_expect_eq(f.status, TORT_OK, "%s", f.error.msg);
    close_fixture(&f);
}

Test(placement, pins) {
    const char *by_name[] = {"relu=cpu"}, *by_index[] = {"#2=cpu"};
    fixture f = open_fake("fake,cpu", (tort_session_options){.pins = by_name, .pin_count = 1});
    cr_expect_str_eq(node_of(&f, 0)->provider, "cpu");
    cr_expect_eq(node_of(&f, 0)->verdicts[0]->code, TORT_PINNED);
    cr_expect_str_eq(node_of(&f, 2)->provider, "fake");
    close_fixture(&f);
    f = open_fake("fake,cpu", (tort_session_options){.pins = by_index, .pin_count = 1});
    cr_expect_str_eq(node_of(&f, 2)->provider, "cpu");
    close_fixture(&f);
}

Test(placement, a_pin_is_no_fallback_and_passes_strict) {
    const char *pins[] = {"relu=cpu"};
    fixture f =
        open_fake("fake,cpu", (tort_session_options){.pins = pins, .pin_count = 1, .strict = true, .allow = "Exp"});
    cr_assert_eq(f.status, TORT_OK, "%s", f.error.msg);
    cr_expect_eq(f.report->pinned, 1);
    cr_expect_eq(f.report->fallen_back, 1, "Exp alone, which fake has not");
    cr_expect(node_of(&f, 0)->pinned && !node_of(&f, 0)->fell_back);
    cr_expect(!node_of(&f, 1)->pinned && node_of(&f, 1)->fell_back);
    cr_expect_eq(node_of(&f, 0)->verdicts[0]->code, TORT_PINNED);
    close_fixture(&f);
}

Test(placement, two_pins_on_a_node_agree_or_are_an_error) {
    const char *agree[] = {"relu=cpu", "#0=cpu"}, *differ[] = {"relu=cpu", "#0=fake"};
    fixture f = open_fake("fake,cpu", (tort_session_options){.pins = agree, .pin_count = 2});
    cr_assert_eq(f.status, TORT_OK, "%s", f.error.msg);
    cr_expect_str_eq(node_of(&f, 0)->provider, "cpu");
    close_fixture(&f);
    f = open_fake("fake,cpu", (tort_session_options){.pins = differ, .pin_count = 2});
    cr_expect_eq(f.status, TORT_E_USAGE);
    cr_expect_str_eq(f.error.msg, "pin \"#0=fake\": node \"relu\" is pinned to cpu already");
    close_fixture(&f);
}

/* x -> Reshape (a view) -> Relu, beside a sum of two constants, which folds. */
static tort_status open_settled(fixture *f, const char *pin) {
    static int64_t square[] = {2, 2};
    static float one[] = {1};
    model_builder b = build_begin(NULL);
    int32_t x = build_input(&b, "x", TORT_FLOAT, 1, (const int64_t[]){4});
    int32_t to = build_weight(&b, "to", &(tort_tensor){.type = TORT_INT64, .rank = 1, .dims = {2}, .data = square});
    int32_t w = build_weight(&b, "w", &(tort_tensor){.type = TORT_FLOAT, .rank = 1, .dims = {1}, .data = one});
    int32_t sum = build_node(&b, "Add", "sum", (const int32_t[]){w, w, -1});
    int32_t view = build_node(&b, "Reshape", "view", (const int32_t[]){x, to, -1});
    build_output(&b, build_node(&b, "Add", "add", (const int32_t[]){view, sum, -1}));
    *f = (fixture){.model = build_end(&b, &f->error)};
    tort_session_options options = {.struct_size = sizeof options, .pins = &pin, .pin_count = 1};
    return f->status = tort_session_create(NULL, f->model, &options, &f->session, &f->error);
}

Test(placement, a_pin_on_what_no_provider_runs_is_answered) {
    fixture f;
    cr_expect_eq(open_settled(&f, "view=cpu"), TORT_E_USAGE);
    cr_expect(strstr(f.error.msg, "\"view\" (Reshape-21): is pinned to cpu, but runs on no provider"), "%s",
              f.error.msg);
    cr_expect(strstr(f.error.msg, "(host)"), "%s", f.error.msg);
    close_fixture(&f);
    cr_expect_eq(open_settled(&f, "sum=cpu"), TORT_E_USAGE);
    cr_expect(strstr(f.error.msg, "computed while planning (folded)"), "%s", f.error.msg);
    close_fixture(&f);
    cr_expect_eq(open_settled(&f, "add=cpu"), TORT_OK, "%s", f.error.msg);
    close_fixture(&f);
}

Test(placement, a_forgotten_struct_size_is_an_error_and_drops_no_option) {
    fixture f = {.model = chain_model(&f.error)};
    tort_session_options options = {.chain = "fake", .strict = true};
    cr_expect_eq(tort_session_create(NULL, f.model, &options, &f.session, &f.error), TORT_E_USAGE);
    cr_expect(strstr(f.error.msg, "sizeof(tort_session_options)"), "%s", f.error.msg);
    cr_expect_null(f.session);
    const tort_env env = {.alloc = NULL};
    cr_expect_eq(tort_session_create(&env, f.model, NULL, &f.session, &f.error), TORT_E_USAGE);
    cr_expect(strstr(f.error.msg, "sizeof(tort_env)"), "%s", f.error.msg);
    tort_model *model = NULL;
    const tort_load_options load = {.allow_links = true};
    cr_expect_eq(tort_model_load(NULL, "models/digits.onnx", &load, &model, &f.error), TORT_E_USAGE);
    cr_expect(strstr(f.error.msg, "sizeof(tort_load_options)"), "%s", f.error.msg);
    cr_expect_eq(tort_model_load(&env, "models/digits.onnx", NULL, &model, &f.error), TORT_E_USAGE);
    close_fixture(&f);
}

Test(placement, a_provider_is_in_a_chain_once) {
    fixture f = open_fake("cpu:threads=1,fake,cpu", (tort_session_options){0});
    cr_expect_eq(f.status, TORT_E_USAGE);
    cr_expect_str_eq(f.error.msg, "provider cpu is in the chain twice: name it once, with all its options");
    close_fixture(&f);
}

Test(placement, wrong_names_are_errors_with_the_nearest_right_one) {
    const char *unknown[] = {"rellu=cpu"};
    fixture f = open_fake("fake,cpu", (tort_session_options){.pins = unknown, .pin_count = 1});
    cr_expect_eq(f.status, TORT_E_USAGE);
    cr_expect(strstr(f.error.msg, "no node \"rellu\""), "%s", f.error.msg);
    close_fixture(&f);
    f = open_fake("cpuu", (tort_session_options){0});
    cr_expect_eq(f.status, TORT_E_USAGE);
    cr_expect(strstr(f.error.msg, "did you mean \"cpu\""), "%s", f.error.msg);
    close_fixture(&f);
    f = open_fake("TensorRT,cpu", (tort_session_options){0});
    cr_expect_eq(f.status, TORT_E_USAGE);
    cr_expect(strstr(f.error.msg, "not in this build"), "%s", f.error.msg);
    close_fixture(&f);
    f = open_fake("cpu:colour=red", (tort_session_options){0});
    cr_expect_eq(f.status, TORT_E_USAGE);
    cr_expect(strstr(f.error.msg, "has no option \"colour\""), "%s", f.error.msg);
    close_fixture(&f);
}

/* ---- failures while planning and running ------------------------------------------------------------------------- */

Test(failure, prepare_fit_and_size) {
    fixture f = open_fault("fault:prepare=1,cpu");
    cr_expect_eq(f.status, TORT_E_RUN);
    cr_expect(strstr(f.error.msg, "\"relu\" (Relu-14): prepare told to fail"), "%s", f.error.msg);
    close_fixture(&f);
    f = open_fault("fault:fit=1,cpu");
    cr_expect_eq(f.status, TORT_E_RUN);
    cr_expect(strstr(f.error.msg, "\"relu\" (Relu-14): fit told to fail"), "%s", f.error.msg);
    cr_expect_str_eq(f.error.provider, "fault");
    close_fixture(&f);
    f = open_fault("fault:size=1,cpu");
    cr_expect_eq(f.status, TORT_E_RUN);
    close_fixture(&f);
    f = open_fault("fault:scratch=huge,cpu");
    cr_expect_eq(f.status, TORT_E_MEMORY);
    close_fixture(&f);
}

Test(failure, running_names_the_node_and_the_session_stays_usable) {
    fixture f = open_fault("fault:run=1,cpu");
    float y[6];
    cr_assert_eq(f.status, TORT_OK, "%s", f.error.msg);
    cr_expect_eq(run_chain(&f, y), TORT_E_RUN);
    cr_expect_eq(f.error.node, 0);
    cr_expect_str_eq(f.error.provider, "fault");
    cr_expect(strstr(f.error.msg, "kernel told to fail"), "%s", f.error.msg);
    cr_expect_eq(run_chain(&f, y), TORT_OK, "%s", f.error.msg);
    close_fixture(&f);
}

Test(failure, copy_alloc_and_sync) {
    const char *chains[] = {"fault:copy=1,cpu", "fault:copy=2,cpu", "fault:alloc=1,cpu", "fault:sync=1,cpu"};
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        fixture f = open_fault(chains[i]);
        float y[6];
        cr_assert_eq(f.status, TORT_OK, "%s", f.error.msg);
        cr_expect_neq(run_chain(&f, y), TORT_OK, "%s", chains[i]);
        cr_expect_str_eq(f.error.provider, "fault", "%s: %s", chains[i], f.error.msg);
        cr_expect_eq(run_chain(&f, y), TORT_OK, "%s: %s", chains[i], f.error.msg);
        close_fixture(&f);
    }
}

/* Whatever is asked of the session afterwards: the same answer. */
Test(failure, lost_device_is_sticky) {
    fixture f = open_fault("fault:lost=1,cpu");
    tort_context *context = NULL, *another = NULL;
    float y[6];
    void *memory = NULL;
    cr_assert_eq(f.status, TORT_OK, "%s", f.error.msg);
    cr_assert_eq(tort_context_create(f.session, &context, &f.error), TORT_OK, "%s", f.error.msg);
    cr_expect_eq(run_chain(&f, y), TORT_E_DEVICE_LOST);
    const tort_input_shape shape = {"x", 2, {2, 3}};
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(tort_context_create(f.session, &another, &f.error), TORT_E_DEVICE_LOST);
        cr_expect_null(another);
        cr_expect_eq(tort_session_plan(f.session, &shape, 1, &f.error), TORT_E_DEVICE_LOST);
        cr_expect_eq(tort_memory_alloc(f.session, "fault", 16, &memory, &f.error), TORT_E_DEVICE_LOST);
        cr_expect_eq(tort_memory_copy(context, "fault", y, y, 4, TORT_TO_HOST, &f.error), TORT_E_DEVICE_LOST);
        cr_expect(strstr(f.error.msg, "make a new session"), "%s", f.error.msg);
        float x[6] = {0};
        tort_tensor input = {.type = TORT_FLOAT, .rank = 2, .dims = {2, 3}, .data = x}, output = {.data = NULL};
        cr_expect_eq(tort_context_run(context, &input, 1, &output, 1, &f.error), TORT_E_DEVICE_LOST);
    }
    tort_context_free(context);
    close_fixture(&f);
}

/* Wherever the device is lost, it is noticed. */
Test(failure, a_device_lost_outside_of_a_run_is_lost_too) {
    const char *chains[] = {"fault:lost_sync=1,cpu", "fault:lost_copy=1,cpu"};
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        fixture f = open_fault(chains[i]);
        tort_context *context = NULL;
        void *memory = NULL;
        float y[4] = {0};
        cr_assert_eq(f.status, TORT_OK, "%s", f.error.msg);
        cr_assert_eq(tort_context_create(f.session, &context, &f.error), TORT_OK, "%s", f.error.msg);
        cr_assert_eq(tort_memory_alloc(f.session, "fault", sizeof y, &memory, &f.error), TORT_OK, "%s", f.error.msg);
        cr_expect_eq(tort_memory_copy(context, "fault", memory, y, sizeof y, TORT_TO_DEVICE, &f.error),
                     TORT_E_DEVICE_LOST);
        tort_memory_free(f.session, "fault", memory, sizeof y);
        cr_expect_eq(tort_memory_alloc(f.session, "fault", 16, &memory, &f.error), TORT_E_DEVICE_LOST, "%s", chains[i]);
        tort_context_free(context);
        close_fixture(&f);
    }
}

Test(failure, a_session_whose_placement_was_refused_plans_nothing) {
    fixture f = open_fake("fake", (tort_session_options){0});
    const tort_input_shape shape = {"x", 2, {2, 3}};
    cr_assert_eq(f.status, TORT_E_PLACEMENT);
    cr_expect_eq(tort_session_plan(f.session, &shape, 1, &f.error), TORT_E_USAGE);
    cr_expect(strstr(f.error.msg, "placement was refused"), "%s", f.error.msg);
    close_fixture(&f);
}

static tort_status open_no_stream(void *device, void **stream, tort_error *error) {
    (void)device, (void)error;
    *stream = NULL;
    return TORT_OK;
}

/* A device with streams works behind the host's back: a kernel that reports the loss need not have caused it. */
Test(failure, a_lost_device_blames_a_node_only_where_it_is_certain) {
    tort_provider late = *fault_providers[0];
    late.stream.open = open_no_stream;
    const tort_provider *const providers[] = {&late, NULL};
    float y[6];
    fixture f = open_with(providers, "fault:lost=1,cpu", (tort_session_options){0});
    cr_expect_eq(run_chain(&f, y), TORT_E_DEVICE_LOST);
    cr_expect_eq(f.error.node, -1);
    cr_expect(strstr(f.error.msg, "at or before this node"), "%s", f.error.msg);
    close_fixture(&f);
    f = open_with(providers, "fault:lost_sync=1,cpu", (tort_session_options){.wait_steps = true});
    cr_expect_eq(run_chain(&f, y), TORT_E_DEVICE_LOST);
    cr_expect_eq(f.error.node, 0);
    cr_expect(!strstr(f.error.msg, "at or before") && strstr(f.error.msg, "\"relu\" (Relu-14)"), "%s", f.error.msg);
    close_fixture(&f);
}
