/* decoder.h - a small language model with a cache, as exporters write them: a token and the keys and values of those
 * before it go in, logits and the cache with one more come out. And the buffers that a loop over tokens needs. */
#ifndef TORT_TESTS_DECODER_H
#define TORT_TESTS_DECODER_H

#include "tests/onnx_bytes.h"

enum { DECODER_MAX_LAYERS = 8 };

/* Inputs: "token" int64 [1, 1]; "past_k0", "past_v0", "past_k1" ... float [1, heads, N, width / heads]. Outputs:
 * "logits" float [1, 1, words]; "present_k0", "present_v0" ... with N + 1 in place of N. */
typedef struct decoder_form {
    int32_t layers, heads, width, words;
    int32_t max; /* tokens that it has positions for */
} decoder_form;

/* Writes it, with weights that depend on the form alone. */
void decoder_write(onnx_bytes *b, const decoder_form *form);

/* The cache of one sequence: two buffers each, one read and one written, which change places after each token. */
typedef struct decoder_sequence {
    const decoder_form *form;
    int64_t past, token;
    float *cache[2][2 * DECODER_MAX_LAYERS];
    float *logits;
} decoder_sequence;

/* Ends the program where there is no memory for it. */
void decoder_begin(decoder_sequence *sequence, const decoder_form *form);
void decoder_end(decoder_sequence *sequence);
/* Tells a context how large the buffers of the sequences are. */
tort_status decoder_capacities(tort_context *context, const decoder_form *form, tort_error *error);
/* Runs one token, whose logits are in sequence->logits then, and takes the likeliest word as the next one. */
tort_status decoder_step(tort_context *context, decoder_sequence *sequence, tort_error *error);

#endif
