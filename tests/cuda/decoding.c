/* decoding.c - tokens of a decoder as onnxruntime's model builder makes it, on the simulated device: the cache lies in
 * one buffer of the device, which is past and present at once, and is extended there.
 *
 * With a mask of fixed length, whose ones grow, every token has the same shapes: the second is recorded, and each later
 * one is a handful of calls. With a mask that is as long as the text, shapes grow: upper bounds keep memory. In both,
 * logits must be those of cpu, where each token gets a past of its exact length and a present of its own. Read first:
 * network_calls.c. */
#include "tests/cuda/decoding.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/numeric.h"
#include "tests/cuda/simulator.h"

/* As networks.py makes it. */
enum { LAYERS = 2, CACHES = 2 * LAYERS, KEY_HEADS = 2, HEAD_SIZE = 16, WORDS = 50, ROOM = 104 };
enum { IDS, MASK, FIRST_PAST, INPUTS = FIRST_PAST + CACHES };
enum { LOGITS, FIRST_PRESENT, OUTPUTS = FIRST_PRESENT + CACHES };
enum { TOKENS = 100, MAX_CALLS = 6 };

static const char *const bindings[2 * CACHES] = {
    "past_key0=cudasim",    "past_value0=cudasim",    "past_key1=cudasim",    "past_value1=cudasim",
    "present_key0=cudasim", "present_value0=cudasim", "present_key1=cudasim", "present_value1=cudasim"};

/* A session, and where its tokens are. */
typedef struct speaker {
    tort_session *session;
    tort_context *context;
    tort_type type;
    bool in_place;              /* caches in one buffer of ROOM positions; else of the exact length, in turns */
    bool fixed_mask;            /* of ROOM elements */
    char *caches[2][CACHES];    /* in place: the first of each two alone */
    int64_t ids[1], mask[ROOM]; /* ones for the tokens up to this one */
    char logits[WORDS * sizeof(float)];
} speaker;

static size_t element_bytes(tort_type type) {
    return type == TORT_FLOAT ? sizeof(float) : sizeof(uint16_t);
}

static size_t cache_bytes(tort_type type, int64_t length) {
    return (size_t)(KEY_HEADS * HEAD_SIZE * length) * element_bytes(type);
}

static tort_tensor cache_tensor(const speaker *s, char *data, int64_t length) {
    return (tort_tensor){.type = s->type, .rank = 4, .dims = {1, KEY_HEADS, length, HEAD_SIZE}, .data = data};
}

static tort_status open_speaker(speaker *s, const tort_model *model, const tort_session_options *options,
                                tort_error *error) {
    tort_status status = tort_session_create(NULL, model, options, &s->session, error);
    if (!status) status = tort_context_create(s->session, &s->context, error);
    for (int i = 0; !status && i < 2 * CACHES; i++) {
        void *data = NULL;
        if (s->in_place && i < CACHES)
            status = tort_memory_alloc(s->session, "cudasim", cache_bytes(s->type, ROOM), &data, error);
        else if (!s->in_place)
            data = calloc(1, cache_bytes(s->type, ROOM));
        s->caches[i / CACHES][i % CACHES] = data;
    }
    return status;
}

static void close_speaker(speaker *s) {
    for (int i = 0; i < 2 * CACHES; i++) {
        char *data = s->caches[i / CACHES][i % CACHES];
        if (s->in_place && s->session)
            tort_memory_free(s->session, "cudasim", data, cache_bytes(s->type, ROOM));
        else
            free(data);
    }
    tort_context_free(s->context);
    tort_session_free(s->session);
}

/* Runs token `count`, counted from 0. */
static tort_status say(speaker *s, int64_t count, int64_t word, tort_error *error) {
    const int64_t past = s->in_place ? ROOM : count, present = s->in_place ? ROOM : count + 1;
    char *const *from = s->caches[s->in_place ? 0 : count % 2], *const *to = s->caches[s->in_place ? 0 : 1 - count % 2];
    tort_tensor inputs[INPUTS] = {
        {.type = TORT_INT64, .rank = 2, .dims = {1, 1}, .data = s->ids},
        {.type = TORT_INT64, .rank = 2, .dims = {1, s->fixed_mask ? ROOM : count + 1}, .data = s->mask}};
    tort_tensor outputs[OUTPUTS] = {{.type = s->type, .rank = 3, .dims = {1, 1, WORDS}, .data = s->logits}};
    for (int i = 0; i < CACHES; i++) {
        inputs[FIRST_PAST + i] = cache_tensor(s, from[i], past);
        outputs[FIRST_PRESENT + i] = cache_tensor(s, to[i], present);
    }
    s->ids[0] = word;
    s->mask[count] = 1;
    return tort_context_run(s->context, inputs, INPUTS, outputs, OUTPUTS, error);
}

static double difference(const speaker *a, const speaker *b) {
    float x[WORDS], y[WORDS];
    double max = 0;
    tort_load_floats(a->type, a->logits, 0, WORDS, x);
    tort_load_floats(b->type, b->logits, 0, WORDS, y);
    for (int word = 0; word < WORDS; word++) max = fmax(max, fabs((double)x[word] - (double)y[word]));
    return max;
}

/* What the tokens behind the first few asked the device for. */
typedef struct asked {
    int max_calls, heuristics;
    uint64_t allocations;
    double difference;
} asked;

/* Both get the same words. The first tokens prepare: libraries start, and the second of the same shapes is recorded. */
static tort_status say_all(const cudasim_control *control, speaker *cpu, speaker *device, asked *found,
                           tort_error *error) {
    tort_status status = TORT_OK;
    *found = (asked){.max_calls = 0};
    for (int64_t i = 0; !status && i < TOKENS; i++) {
        const int64_t word = i * 17 % WORDS;
        const tort_device_calls before = simulator_saw(control);
        const int calls = control->calls(NULL), heuristics = control->calls("cublasLtMatmulAlgoGetHeuristic");
        status = say(device, i, word, error);
        const int now = control->calls(NULL) - calls;
        if (i >= 1) found->heuristics += control->calls("cublasLtMatmulAlgoGetHeuristic") - heuristics;
        if (i >= 1) found->allocations += simulator_saw_since(control, &before).allocations;
        if (i >= 2 && now > found->max_calls) found->max_calls = now;
        if (!status) status = say(cpu, i, word, error);
        if (!status) found->difference = fmax(found->difference, difference(cpu, device));
    }
    return status;
}

static bool hold(const asked *found, const speaker *device, const char *what, const char *chain) {
    const double tolerance = device->type == TORT_FLOAT ? 1e-4 : 3e-2;
    printf(
        "%s on %s, a mask of %s: up to %d calls of CUDA for a token, %llu allocations, %d questions to the heuristic "
        "of cublasLt, logits differ by %.2g\n",
        what, chain, device->fixed_mask ? "fixed length" : "growing length", found->max_calls,
        (unsigned long long)found->allocations, found->heuristics, found->difference);
    const bool few = !device->fixed_mask || found->max_calls <= MAX_CALLS;
    const bool good = few && !found->allocations && !found->heuristics && found->difference <= tolerance;
    if (!good)
        printf("FAILED: expected %sno allocations, no questions, logits within %g\n",
               device->fixed_mask ? "6 calls at most, " : "", tolerance);
    return good;
}

static bool check(const tort_provider *provider, const cudasim_control *control, const char *path, const char *what,
                  tort_type type, const char *chain, bool fixed_mask) {
    const tort_provider *const providers[] = {provider, NULL};
    const tort_symbol_size max[] = {{"all", ROOM}, {"past", ROOM}, {"batch", 1}, {"sequence", 1}};
    const tort_session_options plain = {.struct_size = sizeof plain, .chain = "cpu:threads=1"},
                               bound = {.struct_size = sizeof bound,
                                        .chain = chain,
                                        .providers = providers,
                                        .bindings = bindings,
                                        .binding_count = 2 * CACHES,
                                        .max_symbols = fixed_mask ? NULL : max,
                                        .max_symbol_count = fixed_mask ? 0 : 4};
    speaker cpu = {.type = type}, device = {.type = type, .in_place = true, .fixed_mask = fixed_mask};
    tort_model *model = NULL;
    asked found = {.max_calls = 0};
    tort_error error = {.node = -1};
    tort_status status = tort_model_load(NULL, path, NULL, &model, &error);
    if (!status) status = open_speaker(&cpu, model, &plain, &error);
    if (!status) status = open_speaker(&device, model, &bound, &error);
    if (!status) status = say_all(control, &cpu, &device, &found, &error);
    if (status) printf("FAILED: %s on %s: %s\n", what, chain, error.msg);
    const bool good = !status && hold(&found, &device, what, chain);
    close_speaker(&device);
    close_speaker(&cpu);
    tort_model_free(model);
    return good;
}

void decoding_check(const tort_provider *provider, const cudasim_control *control, const char *folder, int *passed,
                    int *failed) {
    static const char *const names[] = {"decoder-older", "decoder-newer", "decoder-older-half", "decoder-newer-half"},
                             *const chains[] = {"cudasim", "cudasim:libraries=off"};
    for (int i = 0; i < 16; i++) {
        const int name = i / 4;
        char path[400];
        snprintf(path, sizeof path, "%s/%s.onnx", folder, names[name]);
        const bool good =
            check(provider, control, path, names[name], name < 2 ? TORT_FLOAT : TORT_FLOAT16, chains[i % 2], i / 2 % 2);
        *passed += good;
        *failed += !good;
    }
}
