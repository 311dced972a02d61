/* decoder.c - see decoder.h. */
#include "tests/decoder.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/graph/graph.h"
#include "tests/onnx_bytes.h"

enum { PORTS = 1 + 2 * DECODER_MAX_LAYERS };

/* ---- the model --------------------------------------------------------------------------------------------------- */

/* Small, of either sign, another one for each weight. */
static void weight(onnx_bytes *b, const char *name, int64_t rows, int64_t columns, float scale) {
    const int64_t dims[] = {rows, columns};
    float *values = malloc((size_t)(rows * columns) * sizeof *values);
    uint32_t state = 2166136261u;
    for (const char *c = name; *c; c++) state = (state ^ (unsigned char)*c) * 16777619u;
    for (int64_t i = 0; values && i < rows * columns; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = ((float)(state >> 8) / 16777216.0f - 0.5f) * scale;
    }
    if (!values) abort();
    onnx_tensor(b, GRAPH_INITIALIZER, name, TORT_FLOAT, 2, dims, values, (size_t)(rows * columns) * sizeof *values);
    free(values);
}

static void integers(onnx_bytes *b, const char *name, int count, const int64_t *values) {
    const int64_t dims[] = {count};
    onnx_tensor(b, GRAPH_INITIALIZER, name, TORT_INT64, count > 1, dims, values, (size_t)count * sizeof *values);
}

typedef struct layer_text {
    char text[8][64];
    int next;
} layer_text;

/* A text with the number of the layer in it; the last eight stay. */
static const char *of(layer_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static const char *of(layer_text *t, const char *format, ...) {
    char *text = t->text[t->next++ % 8];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof t->text[0], format, arguments);
    va_end(arguments);
    return text;
}

static void node(onnx_bytes *b, layer_text *t, int layer, const char *op, const char *inputs, const char *output) {
    onnx_node(b, op, of(t, "%s_%d", output, layer), inputs, of(t, "%s_%d", output, layer));
}

static void permuted(onnx_bytes *b, layer_text *t, int layer, const char *input, const char *output,
                     const int64_t *order) {
    onnx_begin_node(b, GRAPH_NODE, "Transpose", of(t, "%s_%d", output, layer), input, of(t, "%s_%d", output, layer));
    onnx_begin_attribute(b, "perm", TORT_ATTR_INTS);
    for (int i = 0; i < 4; i++) onnx_int(b, ATTR_INTS, order[i]);
    onnx_end(b);
    onnx_end(b);
}

/* Keys or values of the token, behind those of the past. */
static void grow_cache(onnx_bytes *b, layer_text *t, int l, char which) {
    const int64_t by_head[] = {0, 2, 1, 3};
    char product[24], split[24], heads[24];
    snprintf(product, sizeof product, "%c_product", which);
    snprintf(split, sizeof split, "%c_split", which);
    snprintf(heads, sizeof heads, "%c_heads", which);
    node(b, t, l, "MatMul", of(t, "normed_%d w%c_%d", l, which, l), product);
    node(b, t, l, "Reshape", of(t, "%s_%d by_head", product, l), split);
    permuted(b, t, l, of(t, "%s_%d", split, l), heads, by_head);
    if (which == 'q') return;
    onnx_begin_node(b, GRAPH_NODE, "Concat", of(t, "concat_%c%d", which, l),
                    of(t, "past_%c%d %s_%d", which, l, heads, l), of(t, "present_%c%d", which, l));
    onnx_int_attribute(b, "axis", 2);
    onnx_end(b);
}

static void attention(onnx_bytes *b, layer_text *t, int l, const char *input) {
    const int64_t turned[] = {0, 1, 3, 2}, by_token[] = {0, 2, 1, 3};
    node(b, t, l, "LayerNormalization", of(t, "%s ones", input), "normed");
    for (const char *which = "qkv"; *which; which++) grow_cache(b, t, l, *which);
    permuted(b, t, l, of(t, "present_k%d", l), "turned", turned);
    node(b, t, l, "MatMul", of(t, "q_heads_%d turned_%d", l, l), "scores");
    node(b, t, l, "Mul", of(t, "scores_%d scale", l), "scaled");
    node(b, t, l, "Softmax", of(t, "scaled_%d", l), "weights");
    node(b, t, l, "MatMul", of(t, "weights_%d present_v%d", l, l), "mixed");
    permuted(b, t, l, of(t, "mixed_%d", l), "tokens", by_token);
    node(b, t, l, "Reshape", of(t, "tokens_%d whole", l), "joined");
    node(b, t, l, "MatMul", of(t, "joined_%d wo_%d", l, l), "out");
    node(b, t, l, "Add", of(t, "%s out_%d", input, l), "attended");
}

static void layer(onnx_bytes *b, layer_text *t, const decoder_form *form, int l, const char *input) {
    const int64_t dims[] = {1, form->heads, -1, form->width / form->heads};
    for (const char *which = "qkvo"; *which; which++)
        weight(b, of(t, "w%c_%d", *which, l), form->width, form->width, 0.5f);
    weight(b, of(t, "wide_%d", l), form->width, 4 * form->width, 0.5f);
    weight(b, of(t, "narrow_%d", l), 4 * form->width, form->width, 0.25f);
    onnx_value(b, GRAPH_INPUT, of(t, "past_k%d", l), TORT_FLOAT, 4, dims);
    onnx_value(b, GRAPH_INPUT, of(t, "past_v%d", l), TORT_FLOAT, 4, dims);
    attention(b, t, l, input);
    node(b, t, l, "LayerNormalization", of(t, "attended_%d ones", l), "normed2");
    node(b, t, l, "MatMul", of(t, "normed2_%d wide_%d", l, l), "spread");
    node(b, t, l, "Relu", of(t, "spread_%d", l), "active");
    node(b, t, l, "MatMul", of(t, "active_%d narrow_%d", l, l), "folded");
    node(b, t, l, "Add", of(t, "attended_%d folded_%d", l, l), "layer");
    onnx_value(b, GRAPH_OUTPUT, of(t, "present_k%d", l), TORT_FLOAT, -1, NULL);
    onnx_value(b, GRAPH_OUTPUT, of(t, "present_v%d", l), TORT_FLOAT, -1, NULL);
}

/* The word and its position, which is the length of the past. */
static void embedding(onnx_bytes *b, const decoder_form *form) {
    const int64_t two[] = {2}, by_head[] = {1, 1, form->heads, form->width / form->heads};
    const int64_t whole[] = {1, 1, form->width};
    const float scale[] = {0.125f};
    float *ones = malloc((size_t)form->width * sizeof *ones);
    for (int32_t i = 0; ones && i < form->width; i++) ones[i] = 1.0f;
    if (!ones) abort();
    onnx_tensor(b, GRAPH_INITIALIZER, "ones", TORT_FLOAT, 1, &whole[2], ones, (size_t)form->width * sizeof *ones);
    free(ones);
    onnx_tensor(b, GRAPH_INITIALIZER, "scale", TORT_FLOAT, 0, NULL, scale, sizeof scale);
    integers(b, "two", 1, two);
    integers(b, "by_head", 4, by_head);
    integers(b, "whole", 3, whole);
    weight(b, "words", form->words, form->width, 1.0f);
    weight(b, "positions", form->max, form->width, 0.5f);
    weight(b, "choices", form->width, form->words, 1.0f);
    onnx_node(b, "Gather", "word", "words token", "word");
    onnx_node(b, "Shape", "shape", "past_k0", "shape");
    onnx_node(b, "Gather", "length", "shape two", "length");
    onnx_node(b, "Gather", "position", "positions length", "position");
    onnx_node(b, "Add", "embedding", "word position", "embedding");
}

void decoder_write(onnx_bytes *b, const decoder_form *form) {
    const int64_t one[] = {1, 1}, logits[] = {1, 1, form->words};
    layer_text t = {.next = 0};
    char input[24] = "embedding";
    onnx_begin_model(b, 21);
    onnx_value(b, GRAPH_INPUT, "token", TORT_INT64, 2, one);
    onnx_value(b, GRAPH_OUTPUT, "logits", TORT_FLOAT, 3, logits);
    embedding(b, form);
    for (int l = 0; l < form->layers; l++) {
        layer(b, &t, form, l, input);
        snprintf(input, sizeof input, "layer_%d", l);
    }
    onnx_node(b, "LayerNormalization", "normed", of(&t, "%s ones", input), "normed");
    onnx_node(b, "MatMul", "logits", "normed choices", "logits");
    onnx_end(b);
}

/* ---- a sequence -------------------------------------------------------------------------------------------------- */

static size_t cache_bytes(const decoder_form *form) {
    return (size_t)form->max * (size_t)form->width * sizeof(float);
}

static void *bytes_for(size_t bytes) {
    void *memory = calloc(bytes, 1);
    if (!memory) abort();
    return memory;
}

void decoder_begin(decoder_sequence *s, const decoder_form *form) {
    *s = (decoder_sequence){.form = form, .logits = bytes_for((size_t)form->words * sizeof(float))};
    for (int i = 0; i < 2 * form->layers; i++)
        for (int which = 0; which < 2; which++) s->cache[which][i] = bytes_for(cache_bytes(form));
}

void decoder_end(decoder_sequence *s) {
    for (int i = 0; i < 2 * DECODER_MAX_LAYERS; i++)
        for (int which = 0; which < 2; which++) free(s->cache[which][i]);
    free(s->logits);
}

tort_status decoder_capacities(tort_context *context, const decoder_form *form, tort_error *error) {
    tort_status status = tort_context_output_capacity(context, 0, (size_t)form->words * sizeof(float), error);
    for (int i = 0; !status && i < 2 * form->layers; i++)
        status = tort_context_output_capacity(context, 1 + i, cache_bytes(form), error);
    return status;
}

tort_status decoder_step(tort_context *context, decoder_sequence *s, tort_error *error) {
    const decoder_form *form = s->form;
    const int ports = 1 + 2 * form->layers, from = (int)(s->past % 2);
    tort_tensor inputs[PORTS] = {{.type = TORT_INT64, .rank = 2, .dims = {1, 1}, .data = &s->token}};
    tort_tensor outputs[PORTS] = {{.data = s->logits}};
    for (int i = 1; i < ports; i++) {
        inputs[i] = (tort_tensor){.type = TORT_FLOAT,
                                  .rank = 4,
                                  .dims = {1, form->heads, s->past, form->width / form->heads},
                                  .data = s->cache[from][i - 1]};
        outputs[i].data = s->cache[1 - from][i - 1];
    }
    tort_status status = tort_context_run(context, inputs, ports, outputs, ports, error);
    if (status) return status;
    s->past++;
    s->token = 0;
    for (int32_t w = 1; w < form->words; w++)
        if (s->logits[w] > s->logits[s->token]) s->token = w;
    return TORT_OK;
}
