/* tokens.c - tokens of a decoder on a device, whose cache is extended in place.
 *
 *   tokens MODEL PROVIDER
 *
 * MODEL is a decoder of tests/cuda/networks.py; PROVIDER is cuda, or cudasim in tests. With a mask of fixed length
 * every token has the same shapes: logits of recorded runs must have the bits of plain ones. With a mask as long as the
 * text, upper bounds give memory once. In both they must be near those of cpu, where each token has caches of its own.
 */
#include <stdio.h>
#include <string.h>

#include "tests/cuda/speaker.h"

typedef struct conversation {
    const char *name, *chain;
    speaker cpu, plain, recorded;
    tort_error error;
} conversation;

static const tort_symbol_size bounds[] = {{"all", SPEAKER_ROOM}, {"past", SPEAKER_ROOM}, {"batch", 1}, {"sequence", 1}};

static tort_status open_one(conversation *c, speaker *s, const tort_model *model, const char *chain) {
    const bool grows = s->provider && !s->fixed_mask;
    const tort_session_options options = {.struct_size = sizeof options,
                                          .chain = chain,
                                          .require = s->provider,
                                          .max_symbols = grows ? bounds : NULL,
                                          .max_symbol_count = grows ? 4 : 0};
    return speaker_open(s, model, &options, &c->error);
}

/* Returns how many tokens were wrong. */
static int say_all(conversation *c) {
    double max = 0;
    int other_bits = 0, wrong = 0;
    tort_status status = TORT_OK;
    for (int64_t i = 0; !status && i < SPEAKER_TOKENS; i++) {
        status = speaker_say(&c->cpu, i, &c->error);
        if (!status) status = speaker_say(&c->plain, i, &c->error);
        if (!status) status = speaker_say(&c->recorded, i, &c->error);
        if (status) break;
        const double difference = speaker_difference(&c->cpu, &c->recorded);
        max = difference > max ? difference : max;
        wrong += !(difference <= (c->cpu.type == TORT_FLOAT ? 1e-3 : 5e-2));
        other_bits += memcmp(c->plain.logits, c->recorded.logits, sizeof c->plain.logits) != 0;
    }
    if (status) printf("FAILED: %s\n", c->error.msg);
    printf("%s: %d tokens are not those of cpu (logits differ by %.2g), %d have other bits where they are recorded\n",
           c->name, wrong, max, other_bits);
    return wrong + other_bits + (status != TORT_OK);
}

static int converse(const tort_model *model, const char *provider, bool fixed_mask) {
    conversation c = {.name = fixed_mask ? "a mask of fixed length" : "a mask as long as the text",
                      .plain = {.provider = provider, .fixed_mask = fixed_mask},
                      .recorded = {.provider = provider, .fixed_mask = fixed_mask}};
    char plain[80];
    int wrong = 1;
    snprintf(plain, sizeof plain, "%s:graph=off", provider);
    tort_status status = open_one(&c, &c.cpu, model, "cpu");
    if (!status) status = open_one(&c, &c.plain, model, plain);
    if (!status) status = open_one(&c, &c.recorded, model, provider);
    if (status)
        printf("FAILED: %s\n", c.error.msg);
    else
        wrong = say_all(&c);
    speaker_close(&c.cpu);
    speaker_close(&c.plain);
    speaker_close(&c.recorded);
    return wrong;
}

int main(int argc, char **argv) {
    tort_model *model = NULL;
    tort_error error;
    if (argc != 3) {
        fprintf(stderr, "usage: tokens MODEL PROVIDER\n");
        return 2;
    }
    if (tort_model_load(NULL, argv[1], NULL, &model, &error)) {
        printf("FAILED: %s\n", error.msg);
        return 1;
    }
    const int wrong = converse(model, argv[2], true) + converse(model, argv[2], false);
    tort_model_free(model);
    return wrong != 0;
}
