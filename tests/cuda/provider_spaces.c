/* provider_spaces.c - two providers on one simulated GPU: what one makes the other reads where it is, on one stream;
 * on two GPUs it is copied by way of the host. Read first: provider_tester.h. */
#include <stdio.h>
#include <string.h>

#include "tests/cuda/provider_tester.h"
#include "tests/report_of.h"

/* The same kernels under another name: a provider of its own, with a device and options of its own. */
static tort_provider second;

static const char *const pins[] = {"mix=cudasim2",         "relu=cudasim2",  "transpose=cudasim2", "add=cudasim2",
                                   "softmax=cudasim2",     "slice=cudasim2", "gather=cudasim2",    "gemm=cudasim2",
                                   "square_gemm=cudasim2", "sub=cudasim2",   "tanh=cudasim2",      "less=cudasim2",
                                   "cast=cudasim2",        "sum=cudasim2",   "attention=cudasim2", "tile=cudasim2"};

enum { PINS = sizeof pins / sizeof *pins };

static tort_status open_pair(tester *t, const char *chain, int32_t pin_count, tort_session **session,
                             tort_context **context, tort_error *error) {
    const tort_provider *const providers[] = {t->provider, &second, NULL};
    tort_session_options options = {.struct_size = sizeof options,
                                    .chain = chain,
                                    .providers = providers,
                                    .pins = pins,
                                    .pin_count = pin_count,
                                    .unfolded = true};
    tort_status status = tort_session_create(&t->memory->env, t->model.model, &options, session, error);
    return status ? status : tort_context_create(*session, context, error);
}

/* One session and context of a chain, its report, and what its first run makes. */
typedef struct pair {
    tort_session *session;
    tort_context *context;
    tort_report *report;
    float output[PROVIDER_MODEL_COUNT];
    tort_status status;
} pair;

static pair run_pair(tester *t, const char *chain, int32_t pin_count) {
    pair p = {0};
    tort_error error;
    p.status = open_pair(t, chain, pin_count, &p.session, &p.context, &error);
    if (!p.status) p.status = provider_model_run(&t->model, p.context, p.output, &error);
    if (!p.status) p.report = report_of(p.session);
    tester_check(t, !p.status, chain, p.status ? error.msg : "");
    return p;
}

static void close_pair(tester *t, pair *p, const char *chain) {
    tester_check(t, !*t->control->failure(), chain, t->control->failure());
    tort_report_free(p->report);
    tort_context_free(p->context);
    tort_session_free(p->session);
    tester_check_leftovers(t, chain);
}

/* What a device holds of values and weights, and what is copied: as where one provider does all. */
static void check_as_one(tester *t, const pair *two, const pair *one) {
    const tort_report_provider *owner = two->report->providers[0], *guest = two->report->providers[1];
    const tort_report_provider *alone = one->report->providers[0];
    tester_check(t, owner->nodes > 10 && guest->nodes == PINS, "nodes", "are not on both providers");
    tester_check(t, !owner->shares && guest->shares && !strcmp(guest->shares, "cudasim"), "the report",
                 "does not say whose memory it is");
    tester_check(t, two->report->copy_count == one->report->copy_count && one->report->copy_count == 3, "copies",
                 "there are others than of two inputs and an output");
    tester_check(t, owner->peak_bytes == alone->peak_bytes && !guest->peak_bytes, "the arena",
                 "is not that of one provider");
    tester_check(t, owner->weight_bytes == alone->weight_bytes && !guest->weight_bytes, "weights",
                 "are not those of one provider");
    tester_check(t, !memcmp(two->output, one->output, sizeof one->output), "the output", "has other bits");
}

/* Kernels of both are ordered by the one stream of a context: with lazy streams nothing else orders them. */
static void check_shared(tester *t, bool lazy) {
    cudasim_settings settings = t->control->defaults();
    settings.lazy_streams = lazy;
    tester_configure(t, &settings);
    pair one = run_pair(t, "cudasim,cpu", 0);
    const int streams = t->control->calls("cudaStreamCreateWithFlags");
    pair two = run_pair(t, "cudasim,cudasim2,cpu", PINS);
    tester_check(t, t->control->calls("cudaStreamCreateWithFlags") == 2 * streams + 1, "streams",
                 "other ones than each context's and each provider's for uploads");
    if (!one.status && !two.status) check_as_one(t, &two, &one);
    tort_report_free(one.report);
    tort_context_free(one.context);
    tort_session_free(one.session);
    close_pair(t, &two, lazy ? "two providers, lazy streams" : "two providers");
}

/* cuBLAS and cuDNN work by handles of the stream, which the first provider opens. */
static void check_libraries(tester *t) {
    static const char *const chains[] = {"cudasim:libraries=off,cudasim2,cpu", "cudasim,cudasim2:libraries=off,cpu"};
    for (int i = 0; i < 2; i++) {
        tester_configure(t, NULL);
        pair p = run_pair(t, chains[i], PINS);
        if (!p.status) tester_check(t, tester_is_right(t, p.output), chains[i], "wrong values");
        for (int32_t n = 0; !p.status && n < p.report->node_count; n++) {
            const tort_report_node *node = p.report->nodes[n];
            const bool library = strstr(node->kernel, "cublas") || strstr(node->kernel, "cudnn");
            tester_check(t, !library || (i && !strcmp(node->provider, "cudasim")), chains[i], node->kernel);
        }
        close_pair(t, &p, chains[i]);
    }
}

static void check_two_devices(tester *t) {
    tester_configure(t, NULL);
    pair p = run_pair(t, "cudasim,cudasim2:device=1,cpu", PINS);
    if (!p.status) {
        tester_check(t, tester_is_right(t, p.output), "two devices", "wrong values");
        tester_check(t, !p.report->providers[1]->shares && p.report->providers[1]->peak_bytes > 0, "two devices",
                     "are said to share memory");
        tester_check(t, p.report->copy_count > PINS, "two devices", "values are not copied between them");
    }
    close_pair(t, &p, "two devices");
}

/* A limit that any of them has holds for the memory. */
static void check_limit(tester *t) {
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_error error;
    tester_configure(t, NULL);
    tort_status status = open_pair(t, "cudasim,cudasim2:mem_limit=4k,cpu", PINS, &session, &context, &error);
    tester_check(t, status == TORT_E_MEMORY && strstr(error.msg, "may use 4096"), "mem_limit of the second",
                 status ? error.msg : "is not kept");
    tort_context_free(context);
    tort_session_free(session);
    tester_check_leftovers(t, "mem_limit of the second");
}

void provider_test_spaces(tester *t) {
    second = *t->provider;
    second.name = "cudasim2";
    check_shared(t, false);
    check_shared(t, true);
    check_libraries(t);
    check_two_devices(t);
    check_limit(t);
}
