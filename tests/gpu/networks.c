/* networks.c - writes ResNet-50 and BERT-base with random weights as ONNX files, and their inputs, for bench.sh.
 *
 *   networks [--tiny] FOLDER
 *
 * Weights are made where they are needed, as they are too large to carry. For each network NAME:
 *   NAME.onnx, NAME.float16.onnx   opset 20, a symbolic batch; the same weights rounded to half in the second
 *   NAME.weights                   all weights as float32, in the order in which pytorch.py takes them
 *   NAME.BATCH.npy, NAME.BATCH.float16.npy   inputs, for the two batch sizes that are timed
 * The graphs are plain: BatchNormalization stands behind its Conv, attention is MatMul and Softmax, no mask. Values are
 * scaled so that activations stay near 1 through all layers. --tiny is for the tests. Read next: pytorch.py. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/numeric.h"
#include "tests/onnx_bytes.h"

/* ---- a model that is being written ---- */

typedef struct network {
    onnx_bytes bytes;
    tort_type type;
    FILE *weights; /* NULL: written already, for the other type */
    uint64_t random;
    int value_count;
} network;

/* A value by number. */
typedef struct value {
    char name[16];
} value;

static void give_up(const char *what, const char *path) {
    fprintf(stderr, "networks: %s %s\n", what, path);
    exit(1);
}

static value new_value(network *n) {
    value v;
    snprintf(v.name, sizeof v.name, "v%d", n->value_count++);
    return v;
}

/* In [-1, 1). */
static double next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (double)(*state >> 11) / (double)(1ull << 52) - 1;
}

/* mean + spread * uniform [-1, 1), in the network's type; the float32 of it goes to the file of weights. */
static value weight(network *n, double mean, double spread, int rank, const int64_t *dims) {
    value v = new_value(n);
    int64_t count = 1;
    for (int i = 0; i < rank; i++) count *= dims[i];
    const size_t size = (size_t)count * (size_t)tort_type_bits(n->type) / 8;
    float *floats = malloc((size_t)count * sizeof *floats);
    void *data = malloc(size);
    if (!floats || !data) give_up("no memory for", "weights");
    for (int64_t i = 0; i < count; i++) {
        double exact = mean + spread * next_random(&n->random);
        floats[i] = (float)exact;
        exact = floats[i];
        tort_store_doubles(n->type, data, i, 1, &exact);
    }
    if (n->weights && fwrite(floats, sizeof *floats, (size_t)count, n->weights) != (size_t)count)
        give_up("cannot write", "weights");
    onnx_tensor(&n->bytes, GRAPH_INITIALIZER, v.name, n->type, rank, dims, data, size);
    free(floats);
    free(data);
    return v;
}

static value integers(network *n, int count, const int64_t *integers) {
    const int64_t dims[] = {count};
    value v = new_value(n);
    onnx_tensor(&n->bytes, GRAPH_INITIALIZER, v.name, TORT_INT64, 1, dims, integers, (size_t)count * sizeof *integers);
    return v;
}

static value scalar(network *n, double number) {
    value v = new_value(n);
    char data[8];
    tort_store_doubles(n->type, data, 0, 1, &number);
    onnx_tensor(&n->bytes, GRAPH_INITIALIZER, v.name, n->type, 0, NULL, data, (size_t)tort_type_bits(n->type) / 8);
    return v;
}

/* Begins a node of `count` inputs (each a value); attributes may follow, then onnx_end. */
static value begin(network *n, const char *op, int count, ...) {
    char inputs[128] = "";
    value v = new_value(n);
    va_list arguments;
    va_start(arguments, count);
    for (int i = 0; i < count; i++) {
        value input = va_arg(arguments, value);
        size_t used = strlen(inputs);
        snprintf(inputs + used, sizeof inputs - used, "%s%s", i ? " " : "", input.name);
    }
    va_end(arguments);
    onnx_begin_node(&n->bytes, GRAPH_NODE, op, v.name, inputs, v.name);
    return v;
}

static value end(network *n, value v) {
    onnx_end(&n->bytes);
    return v;
}

static void int_list(network *n, const char *name, int count, const int64_t *list) {
    onnx_begin_attribute(&n->bytes, name, 7);
    for (int i = 0; i < count; i++) onnx_int(&n->bytes, ATTR_INTS, list[i]);
    onnx_end(&n->bytes);
}

static value relu(network *n, value x) {
    return end(n, begin(n, "Relu", 1, x));
}

static value add(network *n, value a, value b) {
    return end(n, begin(n, "Add", 2, a, b));
}

/* ---- ResNet-50 (He et al. 2015; the stride is in the 3x3 layer, as in PyTorch's) ---- */

typedef struct resnet_sizes {
    int64_t side, width, classes;
    int blocks[4];
} resnet_sizes;

/* Convolution and BatchNormalization; `scale` is the mean of the latter's scale. */
static value conv(network *n, value x, int64_t channels, int64_t filters, int64_t kernel, int64_t stride,
                  double scale) {
    const int64_t dims[] = {filters, channels, kernel, kernel}, pad = kernel / 2;
    const int64_t pads[] = {pad, pad, pad, pad}, strides[] = {stride, stride};
    const double fan_in = (double)(channels * kernel * kernel);
    value w = weight(n, 0, sqrt(6 / fan_in), 4, dims);
    value y = begin(n, "Conv", 2, x, w);
    int_list(n, "pads", 4, pads);
    int_list(n, "strides", 2, strides);
    end(n, y);
    value gamma = weight(n, scale, 0.1, 1, dims), beta = weight(n, 0, 0.1, 1, dims);
    value mean = weight(n, 0, 0.1, 1, dims), variance = weight(n, 1, 0.3, 1, dims);
    return end(n, begin(n, "BatchNormalization", 5, y, gamma, beta, mean, variance));
}

static value bottleneck(network *n, value x, int64_t channels, int64_t width, int64_t stride) {
    value y = relu(n, conv(n, x, channels, width, 1, 1, 1));
    y = relu(n, conv(n, y, width, width, 3, stride, 1));
    y = conv(n, y, width, 4 * width, 1, 1, 0.3);
    if (channels != 4 * width) x = conv(n, x, channels, 4 * width, 1, stride, 1);
    return relu(n, add(n, y, x));
}

static value resnet(network *n, value image, const resnet_sizes *s) {
    static const int64_t window[] = {3, 3}, strides[] = {2, 2}, pads[] = {1, 1, 1, 1};
    value x = relu(n, conv(n, image, 3, s->width, 7, 2, 1));
    x = begin(n, "MaxPool", 1, x);
    int_list(n, "kernel_shape", 2, window);
    int_list(n, "strides", 2, strides);
    int_list(n, "pads", 4, pads);
    end(n, x);
    int64_t channels = s->width;
    for (int stage = 0; stage < 4; stage++) {
        const int64_t width = s->width << stage;
        for (int block = 0; block < s->blocks[stage]; block++, channels = 4 * width)
            x = bottleneck(n, x, channels, width, stage && !block ? 2 : 1);
    }
    x = end(n, begin(n, "GlobalAveragePool", 1, x));
    x = end(n, begin(n, "Flatten", 1, x));
    const int64_t dims[] = {s->classes, channels};
    value w = weight(n, 0, sqrt(3.0 / (double)channels), 2, dims), bias = weight(n, 0, 0.1, 1, dims);
    value y = begin(n, "Gemm", 3, x, w, bias);
    onnx_int_attribute(&n->bytes, "transB", 1);
    return end(n, y);
}

/* ---- BERT-base (Devlin et al. 2018), without a mask and without segments ---- */

typedef struct bert_sizes {
    int64_t words, length, size, heads, layers, inner;
} bert_sizes;

/* Weights are (in, out). */
static value linear(network *n, value x, int64_t in, int64_t out) {
    const int64_t dims[] = {in, out}, bias[] = {out};
    value w = weight(n, 0, sqrt(3.0 / (double)in), 2, dims), b = weight(n, 0, 0.1, 1, bias);
    return add(n, end(n, begin(n, "MatMul", 2, x, w)), b);
}

static value norm(network *n, value x, int64_t size) {
    const int64_t dims[] = {size};
    value scale = weight(n, 1, 0.1, 1, dims), bias = weight(n, 0, 0.1, 1, dims);
    return end(n, begin(n, "LayerNormalization", 3, x, scale, bias));
}

static value transpose(network *n, value x, const int64_t perm[4]) {
    value y = begin(n, "Transpose", 1, x);
    int_list(n, "perm", 4, perm);
    return end(n, y);
}

static value attention(network *n, value x, const bert_sizes *s) {
    static const int64_t heads_first[] = {0, 2, 1, 3}, keys[] = {0, 2, 3, 1};
    const int64_t split_dims[] = {0, 0, s->heads, s->size / s->heads}, joined_dims[] = {0, 0, s->size};
    value split = integers(n, 4, split_dims), joined = integers(n, 3, joined_dims);
    value q = linear(n, x, s->size, s->size), k = linear(n, x, s->size, s->size), v = linear(n, x, s->size, s->size);
    q = transpose(n, end(n, begin(n, "Reshape", 2, q, split)), heads_first);
    k = transpose(n, end(n, begin(n, "Reshape", 2, k, split)), keys);
    v = transpose(n, end(n, begin(n, "Reshape", 2, v, split)), heads_first);
    value scores = end(n, begin(n, "MatMul", 2, q, k));
    scores = end(n, begin(n, "Mul", 2, scores, scalar(n, 1 / sqrt((double)(s->size / s->heads)))));
    scores = end(n, begin(n, "Softmax", 1, scores));
    value y = transpose(n, end(n, begin(n, "MatMul", 2, scores, v)), heads_first);
    return linear(n, end(n, begin(n, "Reshape", 2, y, joined)), s->size, s->size);
}

static value bert(network *n, value tokens, const bert_sizes *s) {
    const int64_t words[] = {s->words, s->size}, places[] = {s->length, s->size};
    value x = end(n, begin(n, "Gather", 2, weight(n, 0, 1, 2, words), tokens));
    x = norm(n, add(n, x, weight(n, 0, 1, 2, places)), s->size);
    for (int64_t layer = 0; layer < s->layers; layer++) {
        x = norm(n, add(n, attention(n, x, s), x), s->size);
        value inner = end(n, begin(n, "Gelu", 1, linear(n, x, s->size, s->inner)));
        x = norm(n, add(n, linear(n, inner, s->inner, s->size), x), s->size);
    }
    const int64_t first[] = {0};
    value start = begin(n, "Gather", 2, x, integers(n, 1, first));
    onnx_int_attribute(&n->bytes, "axis", 1);
    return end(n, begin(n, "Tanh", 1, linear(n, end(n, start), s->size, s->size)));
}

/* ---- files ---- */

static FILE *open_file(const char *folder, const char *name, const char *suffix, char path[512]) {
    snprintf(path, 512, "%s/%s%s", folder, name, suffix);
    FILE *file = fopen(path, "wb");
    if (!file) give_up("cannot write", path);
    return file;
}

static void close_file(FILE *file, const char *path) {
    if (fclose(file)) give_up("cannot write", path);
}

/* A tensor in numpy's format, version 1.0. */
static void write_npy(const char *folder, const char *name, int64_t batch, const char *suffix, const tort_tensor *t) {
    char path[512], file_name[64], shape[96] = "", header[118];
    size_t bytes = 0;
    snprintf(file_name, sizeof file_name, "%s.%lld", name, (long long)batch);
    FILE *file = open_file(folder, file_name, suffix, path);
    for (int32_t d = 0; d < t->rank; d++) snprintf(shape + strlen(shape), 24, "%lld, ", (long long)t->dims[d]);
    int used = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
                        t->type == TORT_INT64     ? "<i8"
                        : t->type == TORT_FLOAT16 ? "<f2"
                                                  : "<f4",
                        shape);
    memset(header + used, ' ', sizeof header - (size_t)used);
    header[sizeof header - 1] = '\n';
    (void)tort_tensor_bytes(t, &bytes);
    fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file); /* 0x76: 118 bytes of header follow */
    fwrite(header, 1, sizeof header, file);
    if (fwrite(t->data, 1, bytes, file) != bytes) give_up("cannot write", path);
    close_file(file, path);
}

/* ---- the two networks, in two types ---- */

typedef struct plan {
    const char *name, *input;
    bool tokens; /* the input is int64 [batch, length], else [batch, 3, side, side] of the network's type */
    resnet_sizes resnet;
    bert_sizes bert;
    int64_t batches[2];
} plan;

static const plan full[] = {
    {.name = "resnet50",
     .input = "image",
     .resnet = {.side = 224, .width = 64, .classes = 1000, .blocks = {3, 4, 6, 3}},
     .batches = {1, 32}},
    {.name = "bert", .input = "tokens", .tokens = true, .bert = {30522, 128, 768, 12, 12, 3072}, .batches = {1, 32}}};
static const plan tiny[] = {
    {.name = "resnet50",
     .input = "image",
     .resnet = {.side = 32, .width = 4, .classes = 10, .blocks = {3, 4, 6, 3}},
     .batches = {1, 2}},
    {.name = "bert", .input = "tokens", .tokens = true, .bert = {100, 11, 24, 3, 12, 48}, .batches = {1, 2}}};

static tort_tensor input_of(const plan *p, tort_type type, int64_t batch) {
    if (p->tokens) return (tort_tensor){.type = TORT_INT64, .rank = 2, .dims = {batch, p->bert.length}};
    return (tort_tensor){.type = type, .rank = 4, .dims = {batch, 3, p->resnet.side, p->resnet.side}};
}

static void write_input(const plan *p, tort_type type, int64_t batch, const char *folder, const char *suffix) {
    uint64_t random = 0x9e3779b97f4a7c15u;
    tort_tensor t = input_of(p, type, batch);
    size_t bytes = 0;
    if (!tort_tensor_bytes(&t, &bytes) || !(t.data = malloc(bytes))) give_up("no memory for", "an input");
    for (int64_t i = 0; i < tort_count(&t); i++) {
        double number = next_random(&random);
        int64_t word = (int64_t)((number + 1) / 2 * (double)p->bert.words);
        if (p->tokens)
            tort_store_integers(t.type, t.data, i, 1, &word);
        else
            tort_store_doubles(t.type, t.data, i, 1, &number);
    }
    write_npy(folder, p->name, batch, suffix, &t);
    free(t.data);
}

static void write_network(const plan *p, tort_type type, const char *folder) {
    const bool half = type == TORT_FLOAT16;
    network n = {.type = type, .random = 88172645463325252u};
    char path[512], weights_path[512] = "";
    value input;
    tort_tensor port = input_of(p, type, -1);
    if (!half) n.weights = open_file(folder, p->name, ".weights", weights_path);
    onnx_begin_model(&n.bytes, 20);
    onnx_value(&n.bytes, GRAPH_INPUT, p->input, port.type, port.rank, port.dims);
    snprintf(input.name, sizeof input.name, "%s", p->input);
    value output = p->tokens ? bert(&n, input, &p->bert) : resnet(&n, input, &p->resnet);
    onnx_begin(&n.bytes, GRAPH_OUTPUT);
    onnx_text(&n.bytes, 1, output.name); /* ValueInfoProto.name; type and shape are inferred */
    onnx_end(&n.bytes);
    onnx_end(&n.bytes);
    if (n.weights) close_file(n.weights, weights_path);
    FILE *file = open_file(folder, p->name, half ? ".float16.onnx" : ".onnx", path);
    if (fwrite(n.bytes.data, 1, n.bytes.size, file) != n.bytes.size) give_up("cannot write", path);
    close_file(file, path);
    onnx_free(&n.bytes);
    for (int i = 0; i < 2; i++) write_input(p, type, p->batches[i], folder, half ? ".float16.npy" : ".npy");
}

int main(int argc, char **argv) {
    const bool small = argc > 1 && !strcmp(argv[1], "--tiny");
    const plan *plans = small ? tiny : full;
    if (argc != 2 + small) {
        fprintf(stderr, "usage: networks [--tiny] FOLDER\n");
        return 2;
    }
    for (int i = 0; i < 2; i++) {
        write_network(&plans[i], TORT_FLOAT, argv[1 + small]);
        write_network(&plans[i], TORT_FLOAT16, argv[1 + small]);
    }
    return 0;
}
