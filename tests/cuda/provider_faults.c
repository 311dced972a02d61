/* provider_faults.c - what happens when any call of CUDA or of a library, or any allocation of host memory, fails; a
 * lost device; a bad value. Read first: provider_tester.h. */
#include <stdio.h>
#include <string.h>

#include "kernels/cudasim/cudart.h"
#include "tests/cuda/provider_tester.h"
#include "tests/cuda/simulator.h"
#include "tests/report_of.h"

/* ---- one use of everything, of which any call may fail ---- */

/* After a failed run of a device that lives, the next one is right; a lost one says so for good. */
static void check_after(tester *t, tort_context *context, tort_status status, const char *what) {
    float output[PROVIDER_MODEL_COUNT];
    tort_error error;
    tort_status next = provider_model_run(&t->model, context, output, &error);
    if (status == TORT_E_DEVICE_LOST)
        tester_check(t, next == TORT_E_DEVICE_LOST, what, "a lost device does not stay lost");
    else if (next)
        tester_check(t, false, what, error.msg);
    else
        tester_check(t, tester_is_right(t, output), what, "the run after the failed one gives wrong values");
}

/* *ran: it came to a run. */
static tort_status use(tester *t, const char *chain, const char *what, bool *ran, tort_error *error) {
    tort_session *session = NULL;
    tort_context *context = NULL;
    float output[PROVIDER_MODEL_COUNT];
    tort_status status = tester_open(t, &t->model, chain, &session, error);
    if (!status) status = tort_context_create(session, &context, error);
    *ran = !status;
    for (int i = 0; !status && i < 2; i++) {
        status = provider_model_run(&t->model, context, output, error);
        if (!status && !tester_is_right(t, output))
            tester_check(t, false, what, "a run that reports no failure gives wrong values");
        if (status) check_after(t, context, status, what);
    }
    tort_report *report = NULL;
    if (session && !tort_session_report(session, &report, NULL)) {
        const tort_report_provider *p = report->providers[0];
        if (!p->ready && (!*p->message || !*p->cure))
            tester_check(t, false, what, "did not open, and does not say why");
    }
    tort_report_free(report);
    tort_context_free(context);
    tort_session_free(session);
    return status;
}

static const char *code_name(int code) {
    return code == cudaErrorMemoryAllocation ? "out of memory" : code == cudaErrorUnknown ? "unknown" : "lost device";
}

static void fail_every_call(tester *t, const char *chain, int code) {
    char what[120];
    tort_error error;
    tester_configure(t, NULL);
    bool ran;
    if (use(t, chain, chain, &ran, &error)) {
        tester_check(t, false, chain, error.msg);
        return;
    }
    int calls = t->control->calls(NULL), that_matter = simulator_calls_that_matter(t->control), failures = 0;
    bool lost = code == cudaErrorLaunchFailure;
    for (int n = 1; n <= calls; n++) {
        snprintf(what, sizeof what, "%s: %s in call %d of %d", chain, code_name(code), n, calls);
        tester_configure(t, NULL);
        t->control->fail_nth(NULL, n, code);
        tort_status status = use(t, chain, what, &ran, &error);
        failures += status != TORT_OK;
        bool named = lost ? status == TORT_E_DEVICE_LOST : status == TORT_E_RUN || status == TORT_E_MEMORY;
        named = named && error.provider && !strcmp(error.provider, "cudasim");
        named = named && (error.node >= 0 || strstr(error.msg, "cudasim") || strstr(error.msg, "at or before"));
        named = named && !(lost && ran && error.node >= 0); /* it may have been lost before that node */
        tester_check(t, !status || (named && error.code == status), what, status ? error.msg : "");
        tester_check_leftovers(t, what);
    }
    tester_check(t, failures > that_matter / 2, chain, "most of the failed calls went unnoticed");
    tester_configure(t, NULL);
}

static void fail_every_allocation(tester *t, const char *chain) {
    char what[120];
    tort_error error;
    tort_counting_env *memory = t->memory;
    tester_configure(t, NULL);
    memory->allocations = 0;
    bool ran;
    tort_status status = use(t, chain, chain, &ran, &error);
    tester_check(t, !status, chain, status ? error.msg : "");
    const int64_t allocations = memory->allocations;
    for (int64_t n = 1; n <= allocations; n++) {
        snprintf(what, sizeof what, "%s: host allocation %lld of %lld", chain, (long long)n, (long long)allocations);
        memory->allocations = 0;
        memory->fail_at = n;
        memory->fail_once = true;
        status = use(t, chain, what, &ran, &error);
        memory->fail_at = 0;
        tester_check(t, !status || status == TORT_E_MEMORY, what, status ? error.msg : "");
        tester_check_leftovers(t, what);
    }
}

/* ---- a lost device, a bad value ---- */

/* A new session does not open on a device that is lost to the whole program, and says what helps. */
static void check_lost_for_all(tester *t) {
    tort_session *session = NULL;
    tort_error error;
    tort_status status = tester_open(t, &t->model, "cudasim,cpu", &session, &error);
    tester_check(t, !status, "a session after a lost device", status ? error.msg : "");
    tort_report *report = status ? NULL : report_of(session);
    tester_check(t,
                 report && !report->providers[0]->ready && strstr(report->providers[0]->cure, "start the program anew"),
                 "a session after a lost device", report ? report->providers[0]->cure : "");
    tort_report_free(report);
    tort_session_free(session);
}

/* One run of which a kernel fails; the error. */
static void run_to_loss(tester *t, const cudasim_settings *settings, bool wait_steps, int kernel, tort_error *error) {
    const tort_provider *const providers[] = {t->provider, NULL};
    tort_session_options options = {.struct_size = sizeof options,
                                    .chain = "cudasim,cpu",
                                    .providers = providers,
                                    .unfolded = true,
                                    .wait_steps = wait_steps};
    tort_session *session = NULL;
    tort_context *context = NULL;
    float output[PROVIDER_MODEL_COUNT];
    tort_error later;
    tester_configure(t, settings);
    tort_status status = tort_session_create(&t->memory->env, t->model.model, &options, &session, error);
    if (!status) status = tort_context_create(session, &context, error);
    tester_check(t, !status, "a session", status ? error->msg : "");
    if (!status) {
        t->control->fault_nth(kernel, cudaErrorIllegalAddress);
        status = provider_model_run(&t->model, context, output, error);
        tester_check(t, status == TORT_E_DEVICE_LOST, "a kernel that loses the device", error->msg);
        status = provider_model_run(&t->model, context, output, &later);
        tester_check(t, status == TORT_E_DEVICE_LOST && strstr(later.msg, "new session"), "the run after it",
                     later.msg);
        check_lost_for_all(t);
    }
    tort_context_free(context);
    tort_session_free(session);
    tester_check_leftovers(t, "after a lost device");
}

/* The fault of a kernel shows at once, at a later node, or at the end; only waiting after each step finds the node. */
static void check_lost(tester *t) {
    enum { RELU = 2 }; /* which kernel it is: behind Convs of cuDNN and norm */
    static const struct {
        bool lazy;
        int queue_length;
        bool wait_steps;
        const char *named; /* that the message names */
    } cases[] = {
        {false, 0, false, "\"relu\""}, {false, 0, true, "\"relu\""}, {true, 3, false, "\"matmul\""},
        {true, 3, true, "\"relu\""},   {true, 0, false, NULL},       {true, 0, true, "\"relu\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cudasim_settings settings = t->control->defaults();
        tort_error error = {.msg = ""};
        settings.lazy_streams = cases[i].lazy;
        settings.queue_length = cases[i].queue_length;
        run_to_loss(t, &settings, cases[i].wait_steps, RELU, &error);
        tester_check(t,
                     strstr(error.msg, "illegal memory access") && strstr(error.msg, "start the program anew") &&
                         error.provider && !strcmp(error.provider, "cudasim"),
                     "the message of a lost device names cause, cure and provider", error.msg);
        if (cases[i].named) tester_check(t, strstr(error.msg, cases[i].named), cases[i].named, error.msg);
        const bool sure = !strstr(error.msg, "at or before") && error.node == 3;
        const bool unsure = (strstr(error.msg, "at or before") || !cases[i].named) && error.node == -1;
        tester_check(t, cases[i].wait_steps ? sure : unsure, "the node of a lost device", error.msg);
    }
}

static void check_bad_index(tester *t, const char *chain) {
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_error error;
    float output[PROVIDER_MODEL_COUNT];
    tester_configure(t, NULL);
    tort_status status = tester_start(t, chain, &session, &context, &error);
    tester_check(t, !status, chain, status ? error.msg : "");
    if (status) return;
    t->model.ids[1] = 7;
    status = provider_model_run(&t->model, context, output, &error);
    t->model.ids[1] = PROVIDER_MODEL_ID;
    tester_check(t,
                 status == TORT_E_RUN && strstr(error.msg, "index 7") && strstr(error.msg, "of indices") &&
                     strstr(error.msg, "not in [-3, 3)") && strstr(error.msg, "\"gather\"") && error.node >= 0,
                 "a bad index names node, index, place and range", error.msg);
    status = provider_model_run(&t->model, context, output, &error);
    tester_check(t, !status && tester_is_right(t, output), "the run after a bad index",
                 status ? error.msg : "wrong values");
    tort_context_free(context);
    tort_session_free(session);
    tester_check_leftovers(t, "after a bad index");
}

/* If the status word cannot be cleared, later runs would find what is not theirs: the context is lost. */
static void check_stale_status(tester *t) {
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_error error;
    float output[PROVIDER_MODEL_COUNT];
    tester_configure(t, NULL);
    tort_status status = tester_start(t, "cudasim,cpu", &session, &context, &error);
    const int before = t->control->calls("cudaMemsetAsync");
    if (!status) status = provider_model_run(&t->model, context, output, &error);
    tester_check(t, !status, "a run", status ? error.msg : "");
    if (!status) {
        t->model.ids[1] = 7;
        t->control->fail_nth("cudaMemsetAsync", t->control->calls("cudaMemsetAsync") - before + 1, cudaErrorUnknown);
        status = provider_model_run(&t->model, context, output, &error);
        t->model.ids[1] = PROVIDER_MODEL_ID;
        tester_check(t, status == TORT_E_DEVICE_LOST && strstr(error.msg, "clearing the status word"),
                     "a status word that is not cleared", error.msg);
        status = provider_model_run(&t->model, context, output, &error);
        tester_check(t, status == TORT_E_DEVICE_LOST, "the run after it", "is not refused");
    }
    tort_context_free(context);
    tort_session_free(session);
    tester_check_leftovers(t, "after a stale status word");
}

/* The same of a loop, a condition, fusions and a sequence. */
static void fail_in_bodies(tester *t) {
    const char *chain = "cudasim,cpu:threads=1";
    tester bodies = *t;
    bodies.model = (provider_model){.model = NULL};
    if (!provider_bodies_make(&bodies.model) || !tester_run_on_cpu(&bodies)) {
        tester_check(t, false, "the model of bodies", "does not run");
        return;
    }
    fail_every_call(&bodies, chain, cudaErrorMemoryAllocation);
    fail_every_call(&bodies, chain, cudaErrorLaunchFailure);
    fail_every_allocation(&bodies, chain);
    provider_model_free(&bodies.model);
    t->passed = bodies.passed;
    t->failed = bodies.failed;
}

void provider_test_faults(tester *t) {
    static const int codes[] = {cudaErrorMemoryAllocation, cudaErrorUnknown, cudaErrorLaunchFailure};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        fail_every_call(t, "cudasim,cpu:threads=1", codes[i]);
        fail_every_call(t, "cudasim:libraries=off,cpu:threads=1", codes[i]);
    }
    fail_every_allocation(t, "cudasim,cpu:threads=1");
    fail_in_bodies(t);
    check_lost(t);
    check_bad_index(t, "cpu");
    check_bad_index(t, "cudasim,cpu");
    check_stale_status(t);
}
