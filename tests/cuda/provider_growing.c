/* provider_growing.c - a decoder whose cache grows by one each run on the CUDA provider: with an upper bound no run
 * takes memory of the host or of the device; without, few do; the values are those of cpu. Read first:
 * provider_tester.h. */
#include <math.h>
#include <stdio.h>

#include "tests/cuda/provider_tester.h"
#include "tests/decoder.h"

enum { TOKENS = 40, FEW = 12 };

static const decoder_form form = {.layers = 1, .heads = 2, .width = 16, .words = 12, .max = TOKENS};

typedef struct growing {
    tester *t;
    tort_model *model;
    tort_session *sessions[2]; /* of cpu, and of the chain */
    tort_context *contexts[2];
    decoder_sequence sequences[2];
    tort_error error;
} growing;

/* most 0: without a bound. */
static tort_status open_one(growing *g, int which, const char *chain, int64_t max) {
    const tort_provider *const providers[] = {g->t->provider, NULL};
    const tort_symbol_size past = {"N", max};
    const tort_session_options options = {.struct_size = sizeof options,
                                          .chain = chain,
                                          .providers = providers,
                                          .max_symbols = &past,
                                          .max_symbol_count = max > 0};
    tort_status status = tort_session_create(&g->t->memory->env, g->model, &options, &g->sessions[which], &g->error);
    if (!status) status = tort_context_create(g->sessions[which], &g->contexts[which], &g->error);
    if (!status) status = decoder_capacities(g->contexts[which], &form, &g->error);
    return status;
}

static bool is_near(const decoder_sequence *a, const decoder_sequence *b) {
    for (int32_t i = 0; i < form.words; i++)
        if (!(fabsf(a->logits[i] - b->logits[i]) <= 1e-4f + 1e-3f * fabsf(b->logits[i]))) return false;
    return true;
}

/* Both get the same words, whatever a rounding makes the likeliest. */
static tort_status run_both(growing *g) {
    tort_status status = TORT_OK;
    bool near = true;
    while (!status && g->sequences[0].past < TOKENS) {
        g->sequences[1].token = g->sequences[0].token;
        for (int which = 0; !status && which < 2; which++)
            status = decoder_step(g->contexts[which], &g->sequences[which], &g->error);
        near = near && is_near(&g->sequences[1], &g->sequences[0]);
    }
    tester_check(g->t, near, "growing", "the logits are not those of cpu");
    return status;
}

static void check_taken(growing *g, bool bounded, int64_t allocations, int device) {
    char text[120];
    snprintf(text, sizeof text, "%lld allocations on the host, %d on the device", (long long)allocations, device);
    tester_check(g->t, bounded ? !allocations && !device : device <= FEW, bounded ? "with a bound" : "without", text);
}

static void check_growing(tester *t, const char *chain, bool bounded, bool lazy) {
    growing g = {.t = t};
    onnx_bytes bytes = {0};
    cudasim_settings settings = t->control->defaults();
    settings.lazy_streams = lazy;
    tester_configure(t, &settings);
    decoder_write(&bytes, &form);
    tort_status status = tort_model_load_buffer(&t->memory->env, bytes.data, bytes.size, NULL, &g.model, &g.error);
    for (int which = 0; which < 2; which++) decoder_begin(&g.sequences[which], &form);
    if (!status) status = open_one(&g, 0, "cpu:threads=1", TOKENS - 1);
    if (!status) status = open_one(&g, 1, chain, bounded ? TOKENS - 1 : 0);
    const int64_t before = t->memory->allocations;
    const int device = t->control->calls("cudaMalloc");
    if (!status) status = run_both(&g);
    tester_check(t, !status, chain, g.error.msg);
    if (!status) check_taken(&g, bounded, t->memory->allocations - before, t->control->calls("cudaMalloc") - device);
    for (int which = 0; which < 2; which++) {
        decoder_end(&g.sequences[which]);
        tort_context_free(g.contexts[which]);
        tort_session_free(g.sessions[which]);
    }
    tort_model_free(g.model);
    onnx_free(&bytes);
    tester_check_leftovers(t, "growing");
}

void provider_test_growing(tester *t) {
    for (int lazy = 0; lazy < 2; lazy++) {
        check_growing(t, "cudasim,cpu:threads=1", true, lazy);
        check_growing(t, "cudasim:libraries=off,cpu:threads=1", true, lazy);
    }
    check_growing(t, "cudasim,cpu:threads=1", false, false);
    tester_configure(t, NULL);
}
