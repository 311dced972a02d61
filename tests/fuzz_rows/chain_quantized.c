/* chain_quantized.c - a stretch of a random chain in 8 bits: the input of the model is quantized, goes through some
 * nodes on bytes, and what comes out is floats again. It begins at the input, whose numbers are exact: elsewhere floats
 * that differ a little could become bytes that differ by a step. Read first: chain.h. */
#include <stdio.h>
#include <string.h>

#include "tests/fuzz_rows/chain.h"

enum { MAX_ELEMENTS = 40000, MAX_PRODUCTS = 3000000, MAX_WEIGHTS = 64 * 64 * 27 };

/* A value of bytes, all of one type and with one scale and zero point each. */
typedef struct stretch {
    chain *c;
    chain_value now; /* the newest */
    bool is_signed;
    int32_t made;
} stretch;

static void add_bytes(stretch *s, char name[CHAIN_NAME], int32_t rank, const int64_t *dims, int64_t min, int64_t max,
                      bool is_signed) {
    static uint8_t bytes[MAX_WEIGHTS];
    chain *c = s->c;
    int64_t count = 1;
    for (int32_t d = 0; d < rank; d++) count *= dims[d];
    for (int64_t i = 0; i < count; i++) bytes[i] = (uint8_t)draw(c->random, min, max);
    snprintf(name, CHAIN_NAME, "w%d", c->weight_count++);
    onnx_tensor(&c->bytes, GRAPH_INITIALIZER, name, is_signed ? TORT_INT8 : TORT_UINT8, rank, dims, bytes,
                (size_t)count);
}

/* A scale and a zero point, as words of a node's inputs. Scales are not round numbers: else many results would be
 * halves of a step, which kernels may round either way, and the nodes behind them make more of a step. */
static void add_scale(stretch *s, char words[2 * CHAIN_NAME + 2], double scale) {
    char name[CHAIN_NAME], zero[CHAIN_NAME];
    const double odd = 1 + (double)draw(s->c->random, 1, 999) / 32771;
    const float number = (float)(scale * odd * (double)draw(s->c->random, 1, 40) / 16);
    const int64_t min = s->is_signed ? -20 : 108, max = s->is_signed ? 20 : 148;
    snprintf(name, sizeof name, "w%d", s->c->weight_count++);
    onnx_tensor(&s->c->bytes, GRAPH_INITIALIZER, name, TORT_FLOAT, 0, NULL, &number, sizeof number);
    add_bytes(s, zero, 0, NULL, min, max, s->is_signed);
    snprintf(words, 2 * CHAIN_NAME + 2, "%s %s", name, zero);
}

/* Names the newest value, which `op` makes. */
static void begin(stretch *s, const char *op, const char *inputs) {
    snprintf(s->now.name, CHAIN_NAME, "b%d_%d", s->c->node_count, s->made++);
    chain_begin(s->c, op, inputs, s->now.name);
}

static void write_window(stretch *s, int64_t size, int64_t stride) {
    const int32_t axes = s->now.rank - 2;
    const int64_t kernel[3] = {size, size, size}, strides[3] = {stride, stride, stride};
    chain_ints(s->c, "kernel_shape", axes, kernel);
    chain_ints(s->c, "strides", axes, strides);
    chain_string(s->c, "auto_pad", chance(s->c->random, 50) ? "SAME_UPPER" : "SAME_LOWER");
}

static void stride_over(chain_value *y, int64_t stride) {
    for (int32_t d = 2; d < y->rank; d++) y->dims[d] = (y->dims[d] + stride - 1) / stride;
}

static void add_conv(stretch *s) {
    random_source *r = s->c->random;
    char scales[3][2 * CHAIN_NAME + 2], weight[CHAIN_NAME], zero[CHAIN_NAME], inputs[16 * CHAIN_NAME];
    const bool depthwise = chance(r, 35);
    const int64_t size = chance(r, 50) ? 1 : 3, stride = chance(r, 75) ? 1 : 2;
    chain_value y = s->now;
    y.dims[1] = depthwise ? y.dims[1] : chain_channels(s->c);
    stride_over(&y, stride);
    int64_t dims[5] = {y.dims[1], depthwise ? 1 : s->now.dims[1]}, products = dims[1];
    for (int32_t d = 2; d < y.rank; d++) products *= dims[d] = size;
    if (chain_elements(&y) > MAX_ELEMENTS || chain_elements(&y) * products > MAX_PRODUCTS) return;
    for (int32_t i = 0; i < 3; i++) add_scale(s, scales[i], i == 1 ? 1.0 / 64 : 1.0 / 16);
    add_bytes(s, weight, y.rank, dims, -100, 100, true);
    add_bytes(s, zero, 0, NULL, 0, chance(r, 90) ? 0 : 3, true);
    *strchr(scales[1], ' ') = 0; /* weights have a zero point of their own type */
    snprintf(inputs, sizeof inputs, "%s %s %s %s %s %s", s->now.name, scales[0], weight, scales[1], zero, scales[2]);
    s->now = y;
    begin(s, "QLinearConv", inputs);
    onnx_int_attribute(&s->c->bytes, "group", depthwise ? y.dims[1] : 1);
    write_window(s, size, stride);
    chain_end(s->c);
}

static void add_pool(stretch *s) {
    const int64_t stride = draw(s->c->random, 1, 2);
    char input[CHAIN_NAME];
    memcpy(input, s->now.name, sizeof input);
    stride_over(&s->now, stride);
    begin(s, "MaxPool", input);
    write_window(s, draw(s->c->random, 1, 3), stride);
    chain_end(s->c);
}

/* With itself: of one shape in any case; the scales differ. */
static void add_pair(stretch *s) {
    char scales[3][2 * CHAIN_NAME + 2], inputs[16 * CHAIN_NAME];
    for (int32_t i = 0; i < 3; i++) add_scale(s, scales[i], 1.0 / 16);
    snprintf(inputs, sizeof inputs, "%s %s %s %s %s", s->now.name, scales[0], s->now.name, scales[1], scales[2]);
    begin(s, chance(s->c->random, 50) ? "QLinearAdd" : "QLinearMul", inputs);
    onnx_text(&s->c->bytes, NODE_DOMAIN, "com.microsoft");
    chain_end(s->c);
}

/* And, more often than not, times what it was made of. */
static void add_function(stretch *s) {
    char scales[4][2 * CHAIN_NAME + 2], inputs[16 * CHAIN_NAME], before[CHAIN_NAME];
    memcpy(before, s->now.name, sizeof before);
    for (int32_t i = 0; i < 4; i++) add_scale(s, scales[i], i == 1 ? 1.0 / 256 : 1.0 / 16);
    snprintf(inputs, sizeof inputs, "%s %s %s", before, scales[0], scales[1]);
    begin(s, chance(s->c->random, 50) ? "QLinearSigmoid" : "QLinearLeakyRelu", inputs);
    onnx_text(&s->c->bytes, NODE_DOMAIN, "com.microsoft");
    chain_end(s->c);
    if (chance(s->c->random, 40)) return;
    snprintf(inputs, sizeof inputs, "%s %s %s %s %s", before, scales[2], s->now.name, scales[1], scales[3]);
    begin(s, "QLinearMul", inputs);
    onnx_text(&s->c->bytes, NODE_DOMAIN, "com.microsoft");
    chain_end(s->c);
}

/* A number for each channel, the largest of its picture, times the picture, or added to it. */
static void add_gate(stretch *s) {
    char scales[3][2 * CHAIN_NAME + 2], inputs[16 * CHAIN_NAME], picture[CHAIN_NAME];
    memcpy(picture, s->now.name, sizeof picture);
    for (int32_t i = 0; i < 3; i++) add_scale(s, scales[i], 1.0 / 16);
    begin(s, "MaxPool", picture);
    chain_ints(s->c, "kernel_shape", s->now.rank - 2, s->now.dims + 2);
    chain_end(s->c);
    snprintf(inputs, sizeof inputs, "%s %s %s %s %s", picture, scales[0], s->now.name, scales[1], scales[2]);
    begin(s, chance(s->c->random, 60) ? "QLinearMul" : "QLinearAdd", inputs);
    onnx_text(&s->c->bytes, NODE_DOMAIN, "com.microsoft");
    chain_end(s->c);
}

void chain_add_quantized(chain *c) {
    random_source *r = c->random;
    stretch s = {.c = c, .now = c->values[0], .is_signed = chance(r, 40)};
    char scale[2 * CHAIN_NAME + 2], inputs[4 * CHAIN_NAME];
    if (c->type != TORT_FLOAT || s.now.rank < 3) return;
    add_scale(&s, scale, 1.0 / 64);
    c->values[0].readers++;
    snprintf(inputs, sizeof inputs, "%s %s", c->values[0].name, scale);
    begin(&s, "QuantizeLinear", inputs);
    chain_end(c);
    for (int64_t count = draw(r, 1, 5); count > 0; count--) {
        const int64_t kind = draw(r, 1, 100);
        if (kind <= 60)
            add_conv(&s);
        else if (kind <= 70)
            add_pool(&s);
        else if (kind <= 80)
            add_pair(&s);
        else if (kind <= 90)
            add_function(&s);
        else
            add_gate(&s);
    }
    snprintf(inputs, sizeof inputs, "%s %s", s.now.name, scale);
    chain_value *made = chain_add_value(c, &s.now);
    chain_begin(c, "DequantizeLinear", inputs, made->name);
    chain_end(c);
}
