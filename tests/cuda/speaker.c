/* speaker.c - see speaker.h. */
#include "tests/cuda/speaker.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ops/numeric.h"

enum { KEY_HEADS = 2, HEAD_SIZE = 16 };
enum { IDS, MASK, FIRST_PAST, INPUTS = FIRST_PAST + SPEAKER_CACHES };
enum { LOGITS, FIRST_PRESENT, OUTPUTS = FIRST_PRESENT + SPEAKER_CACHES };

static const char *const ports[2 * SPEAKER_CACHES] = {"past_key0",    "past_value0",   "past_key1",
                                                      "past_value1",  "present_key0",  "present_value0",
                                                      "present_key1", "present_value1"};

static size_t cache_bytes(tort_type type, int64_t length) {
    return (size_t)(KEY_HEADS * HEAD_SIZE * length) * (type == TORT_FLOAT ? sizeof(float) : sizeof(uint16_t));
}

static tort_tensor cache_tensor(const speaker *s, char *data, int64_t length) {
    return (tort_tensor){.type = s->type, .rank = 4, .dims = {1, KEY_HEADS, length, HEAD_SIZE}, .data = data};
}

static tort_status open_session(speaker *s, const tort_model *model, const tort_session_options *given,
                                tort_error *error) {
    tort_session_options options = *given;
    char texts[2 * SPEAKER_CACHES][60];
    const char *bindings[2 * SPEAKER_CACHES];
    for (int i = 0; i < 2 * SPEAKER_CACHES; i++) {
        snprintf(texts[i], sizeof texts[i], "%s=%s", ports[i], s->provider ? s->provider : "");
        bindings[i] = texts[i];
    }
    options.bindings = bindings;
    options.binding_count = s->provider ? 2 * SPEAKER_CACHES : 0;
    return tort_session_create(NULL, model, &options, &s->session, error);
}

tort_status speaker_open(speaker *s, const tort_model *model, const tort_session_options *options, tort_error *error) {
    tort_port port = {.struct_size = sizeof port};
    tort_status status = tort_model_input(model, FIRST_PAST, &port, error);
    s->type = port.type;
    if (!status) status = open_session(s, model, options, error);
    if (!status) status = tort_context_create(s->session, &s->context, error);
    for (int i = 0; !status && i < 2 * SPEAKER_CACHES; i++) {
        const size_t bytes = cache_bytes(s->type, SPEAKER_ROOM);
        void *data = NULL;
        if (s->provider && i < SPEAKER_CACHES)
            status = tort_memory_alloc(s->session, s->provider, bytes, &data, error);
        else if (!s->provider)
            data = calloc(1, bytes);
        s->caches[i / SPEAKER_CACHES][i % SPEAKER_CACHES] = data;
    }
    return status;
}

void speaker_close(speaker *s) {
    for (int i = 0; i < 2 * SPEAKER_CACHES; i++) {
        char *data = s->caches[i / SPEAKER_CACHES][i % SPEAKER_CACHES];
        if (!s->provider)
            free(data);
        else if (s->session)
            tort_memory_free(s->session, s->provider, data, cache_bytes(s->type, SPEAKER_ROOM));
    }
    tort_context_free(s->context);
    tort_session_free(s->session);
}

tort_status speaker_say(speaker *s, int64_t number, tort_error *error) {
    const int64_t past = s->provider ? SPEAKER_ROOM : number, present = s->provider ? SPEAKER_ROOM : number + 1;
    char *const *from = s->caches[s->provider ? 0 : number % 2], *const *to =
                                                                     s->caches[s->provider ? 0 : 1 - number % 2];
    tort_tensor inputs[INPUTS] = {
        {.type = TORT_INT64, .rank = 2, .dims = {1, 1}, .data = s->ids},
        {.type = TORT_INT64, .rank = 2, .dims = {1, s->fixed_mask ? SPEAKER_ROOM : number + 1}, .data = s->mask}};
    tort_tensor outputs[OUTPUTS] = {{.type = s->type, .rank = 3, .dims = {1, 1, SPEAKER_WORDS}, .data = s->logits}};
    for (int i = 0; i < SPEAKER_CACHES; i++) {
        inputs[FIRST_PAST + i] = cache_tensor(s, from[i], past);
        outputs[FIRST_PRESENT + i] = cache_tensor(s, to[i], present);
    }
    s->ids[0] = number * 17 % SPEAKER_WORDS;
    for (int64_t i = 0; i < SPEAKER_ROOM; i++) s->mask[i] = i <= number;
    return tort_context_run(s->context, inputs, INPUTS, outputs, OUTPUTS, error);
}

double speaker_difference(const speaker *a, const speaker *b) {
    float x[SPEAKER_WORDS], y[SPEAKER_WORDS];
    double max = 0;
    tort_load_floats(a->type, a->logits, 0, SPEAKER_WORDS, x);
    tort_load_floats(b->type, b->logits, 0, SPEAKER_WORDS, y);
    for (int word = 0; word < SPEAKER_WORDS; word++) max = fmax(max, fabs((double)x[word] - (double)y[word]));
    return max;
}
