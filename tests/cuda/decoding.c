/* decoding.c - what tokens of a decoder ask of the simulated device, whose cache is extended in place.
 *
 * With a mask of fixed length, whose ones grow, every token has the same shapes, and is recorded. With a mask that is
 * as long as the text, shapes grow: upper bounds keep memory, and all is recorded but what is made of the mask
 * (runtime/core/plan/plan_changes.c). In both, a token is a handful of calls, and logits must be those of cpu. Read
 * first: speaker.h. */
#include "tests/cuda/decoding.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/cuda/simulator.h"
#include "tests/cuda/speaker.h"

enum { MAX_CALLS = 6, FIRST_STEADY = 4 };

/* What the tokens behind the first few asked the device for. */
typedef struct asked {
    int max_calls, heuristics;
    uint64_t allocations;
    double difference;
    int changed; /* tokens that had other logits when they were said again */
} asked;

typedef char logits[sizeof((speaker *)0)->logits];

/* Both get the same words. The first tokens prepare: libraries start, and it is found out which steps do the same in
 * each token, and these are recorded. */
static tort_status say_all(const cudasim_control *control, speaker *cpu, speaker *device, logits *said, asked *found,
                           tort_error *error) {
    tort_status status = TORT_OK;
    *found = (asked){.max_calls = 0};
    for (int64_t i = 0; !status && i < SPEAKER_TOKENS; i++) {
        const tort_device_calls before = simulator_saw(control);
        const int calls = control->calls(NULL), heuristics = control->calls("cublasLtMatmulAlgoGetHeuristic");
        status = speaker_say(device, i, error);
        memcpy(said[i], device->logits, sizeof device->logits);
        const int now = control->calls(NULL) - calls;
        if (i >= 1) found->heuristics += control->calls("cublasLtMatmulAlgoGetHeuristic") - heuristics;
        if (i >= 1) found->allocations += simulator_saw_since(control, &before).allocations;
        if (i >= FIRST_STEADY && now > found->max_calls) found->max_calls = now;
        if (!status) status = speaker_say(cpu, i, error);
        if (!status) found->difference = fmax(found->difference, speaker_difference(cpu, device));
    }
    return status;
}

/* Says the tokens again, far apart and in pairs of neighbours: a recording must not outlive what it was made of. */
static tort_status say_again(speaker *device, logits *said, asked *found, tort_error *error) {
    tort_status status = TORT_OK;
    for (int64_t i = 0; !status && i < SPEAKER_TOKENS; i++) {
        const int64_t number = (i / 2 * 74 + i % 2) % SPEAKER_TOKENS;
        status = speaker_say(device, number, error);
        found->changed += memcmp(said[number], device->logits, sizeof device->logits) != 0;
    }
    return status;
}

static bool hold(const asked *found, const speaker *device, const char *what, const char *chain) {
    const double tolerance = device->type == TORT_FLOAT ? 1e-4 : 3e-2;
    printf(
        "%s on %s, a mask of %s: up to %d calls of CUDA for a token, %llu allocations, %d questions to the heuristic "
        "of cublasLt, logits differ by %.2g; said again, %d of them do not have the same\n",
        what, chain, device->fixed_mask ? "fixed length" : "growing length", found->max_calls,
        (unsigned long long)found->allocations, found->heuristics, found->difference, found->changed);
    const bool good = found->max_calls <= MAX_CALLS && !found->allocations && !found->heuristics &&
                      found->difference <= tolerance && !found->changed;
    if (!good)
        printf("FAILED: expected %d calls at most, no allocations, no questions, logits within %g, always the same\n",
               MAX_CALLS, tolerance);
    return good;
}

static bool check(const tort_provider *provider, const cudasim_control *control, const char *path, const char *what,
                  const char *chain, bool fixed_mask) {
    const tort_provider *const providers[] = {provider, NULL};
    const tort_symbol_size max[] = {{"all", SPEAKER_ROOM}, {"past", SPEAKER_ROOM}, {"batch", 1}, {"sequence", 1}};
    const tort_session_options plain = {.struct_size = sizeof plain, .chain = "cpu:threads=1"},
                               bound = {.struct_size = sizeof bound,
                                        .chain = chain,
                                        .providers = providers,
                                        .max_symbols = fixed_mask ? NULL : max,
                                        .max_symbol_count = fixed_mask ? 0 : 4};
    speaker cpu = {.provider = NULL}, device = {.provider = "cudasim", .fixed_mask = fixed_mask};
    tort_model *model = NULL;
    asked found = {.max_calls = 0};
    logits said[SPEAKER_TOKENS];
    tort_error error = {.node = -1};
    tort_status status = tort_model_load(NULL, path, NULL, &model, &error);
    if (!status) status = speaker_open(&cpu, model, &plain, &error);
    if (!status) status = speaker_open(&device, model, &bound, &error);
    if (!status) status = say_all(control, &cpu, &device, said, &found, &error);
    if (!status) status = say_again(&device, said, &found, &error);
    if (status) printf("FAILED: %s on %s: %s\n", what, chain, error.msg);
    const bool good = !status && hold(&found, &device, what, chain);
    speaker_close(&device);
    speaker_close(&cpu);
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
        const bool good = check(provider, control, path, names[name], chains[i % 2], i / 2 % 2);
        *passed += good;
        *failed += !good;
    }
}
