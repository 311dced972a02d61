/* cpu_kernel_cases.c - the random nodes of cpu_kernels.c: one maker a kind of operator, and a case for each row.
 *
 * Inputs are small multiples of 1/8, so that sums of their products are exact in any order. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/epilogue.h"
#include "ops/numeric.h"
#include "tests/unit/cpu_tree_cases.h"

#define TAIL 64 /* bytes behind an input that a vector may read */

int64_t draw(random_source *r, int64_t low, int64_t high) {
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return low + (int64_t)((r->state >> 33) % (uint64_t)(high - low + 1));
}

bool chance(random_source *r, int percent) {
    return draw(r, 1, 100) <= percent;
}

int64_t pick(random_source *r, const int64_t *values, int32_t count) {
    return values[draw(r, 0, count - 1)];
}

void add_int(random_node *n, const char *name, int64_t value) {
    n->attributes[n->attribute_count++] =
        (tort_attribute){.name = name, .kind = TORT_ATTR_INT, .count = 1, .u.i = value};
}

void add_float(random_node *n, const char *name, float value) {
    n->attributes[n->attribute_count++] =
        (tort_attribute){.name = name, .kind = TORT_ATTR_FLOAT, .count = 1, .u.f = value};
}

int64_t *add_list(random_node *n, const char *name, int32_t count) {
    int64_t *list = n->lists[n->list_count++];
    n->attributes[n->attribute_count++] =
        (tort_attribute){.name = name, .kind = TORT_ATTR_INTS, .count = count, .u.ints = list};
    return list;
}

tort_tensor *add_buffer(random_node *n, tort_type type, int32_t rank, const int64_t *dims) {
    tort_tensor *tensor = &n->inputs[n->input_count++];
    *tensor = (tort_tensor){.type = type, .rank = rank};
    for (int32_t i = 0; i < rank; i++) tensor->dims[i] = dims[i];
    tensor->data = malloc((size_t)tort_count(tensor) * sizeof(double) + TAIL);
    cr_assert(tensor->data);
    return tensor;
}

void add_tensor(random_node *n, random_source *r, int32_t rank, const int64_t *dims) {
    const tort_tensor *tensor = add_buffer(n, TORT_FLOAT, rank, dims);
    float *data = tensor->data;
    for (int64_t i = 0; i < tort_count(tensor); i++) data[i] = (float)draw(r, -8, 8) / 8;
}

/* Any value of an integer type of 8 bits; of int32, small ones. */
void add_integers(random_node *n, random_source *r, tort_type type, int32_t rank, const int64_t *dims) {
    const tort_tensor *tensor = add_buffer(n, type, rank, dims);
    for (int64_t i = 0; i < tort_count(tensor); i++) {
        const int64_t value = type == TORT_UINT8  ? draw(r, 0, 255)
                              : type == TORT_INT8 ? draw(r, -128, 127)
                                                  : draw(r, -999, 999);
        tort_store_integers(type, tensor->data, i, 1, &value);
    }
}

void add_numbers(random_node *n, int32_t rank, const int64_t *dims, const int64_t *values) {
    const tort_tensor *tensor = add_buffer(n, TORT_INT32, rank, dims);
    tort_store_integers(TORT_INT32, tensor->data, 0, tort_count(tensor), values);
}

void add_string(random_node *n, const char *name, const char *value) {
    n->attributes[n->attribute_count++] = (tort_attribute){
        .name = name, .kind = TORT_ATTR_STRING, .count = 1, .u.s = (tort_string){value, strlen(value)}};
}

/* Strides, dilations and padding of a window over `axes` axes. */
void make_window(random_node *n, random_source *r, int32_t axes, const int64_t *kernel) {
    if (chance(r, 60)) {
        int64_t *strides = add_list(n, "strides", axes);
        for (int32_t i = 0; i < axes; i++) strides[i] = draw(r, 1, 3);
    }
    if (chance(r, 40)) {
        int64_t *dilations = add_list(n, "dilations", axes);
        for (int32_t i = 0; i < axes; i++) dilations[i] = draw(r, 1, 2);
    }
    if (chance(r, 25)) {
        add_string(n, "auto_pad", chance(r, 50) ? "SAME_UPPER" : "SAME_LOWER");
    } else if (chance(r, 70)) {
        int64_t *pads = add_list(n, "pads", 2 * axes);
        for (int32_t i = 0; i < 2 * axes; i++) pads[i] = draw(r, 0, kernel[i % axes] - 1);
    }
}

/* Small along most axes, and wider than any vector along some. */
static int64_t draw_size(random_source *r, int32_t axes) {
    return axes == 3 ? draw(r, 4, 9) : chance(r, 20) ? draw(r, 60, 90) : draw(r, 6, 23);
}

static void make_conv(random_node *n, random_source *r, bool depthwise) {
    const int32_t axes = (int32_t)draw(r, 1, 3);
    const int64_t group = depthwise ? draw(r, 1, 7) : chance(r, 70) ? 1 : draw(r, 2, 3);
    const int64_t channels = depthwise ? 1 : pick(r, (const int64_t[]){2, 3, 7, 40}, 4);
    const int64_t filters = depthwise ? draw(r, 1, 2) : pick(r, (const int64_t[]){1, 2, 5, 13, 31, 50}, 6);
    int64_t x[5] = {draw(r, 1, 2), group * channels}, w[5] = {group * filters, channels};
    for (int32_t i = 0; i < axes; i++) {
        w[i + 2] = draw(r, 1, axes == 1 ? 9 : 3);
        x[i + 2] = draw_size(r, axes);
    }
    if (axes == 1) x[2] += 16; /* dilated kernels must fit */
    add_tensor(n, r, axes + 2, x);
    add_tensor(n, r, axes + 2, w);
    if (chance(r, 60)) add_tensor(n, r, 1, w);
    n->constant[1] = chance(r, 70);
    n->opset = 11;
    add_int(n, "group", group);
    make_window(n, r, axes, w + 2);
}

static void make_dense_conv(random_node *n, random_source *r) {
    make_conv(n, r, false);
}

static void make_depthwise_conv(random_node *n, random_source *r) {
    make_conv(n, r, true);
}

/* The same elements with another shape. */
static void put_channels_last(tort_tensor *tensor) {
    const int64_t channels = tensor->dims[1];
    memmove(tensor->dims + 1, tensor->dims + 2, (size_t)(tensor->rank - 2) * sizeof channels);
    tensor->dims[tensor->rank - 1] = channels;
}

static void make_nhwc_conv(random_node *n, random_source *r) {
    make_conv(n, r, false);
    put_channels_last(&n->inputs[0]);
    n->opset = 1;
}

static void make_nhwc_depthwise_conv(random_node *n, random_source *r) {
    make_conv(n, r, true);
    put_channels_last(&n->inputs[0]);
    n->opset = 1;
}

void make_conv_transpose(random_node *n, random_source *r) {
    const int32_t axes = (int32_t)draw(r, 1, 3);
    const int64_t group = chance(r, 60) ? 1 : draw(r, 2, 3);
    const int64_t channels = pick(r, (const int64_t[]){1, 3, 7, 40}, 4);
    const int64_t filters = pick(r, (const int64_t[]){1, 2, 5, 13, 50}, 5);
    int64_t x[5] = {draw(r, 1, 2), group * channels}, w[5] = {group * channels, filters};
    for (int32_t i = 0; i < axes; i++) {
        w[i + 2] = draw(r, 1, axes == 1 ? 9 : 4);
        x[i + 2] = axes == 1 ? draw(r, 1, 1200) : axes == 2 ? draw(r, 1, 30) : draw(r, 1, 6);
    }
    const int64_t bias = group * filters;
    add_tensor(n, r, axes + 2, x);
    add_tensor(n, r, axes + 2, w);
    if (chance(r, 60)) add_tensor(n, r, 1, &bias);
    n->constant[1] = chance(r, 70);
    n->opset = 11;
    add_int(n, "group", group);
    make_window(n, r, axes, w + 2);
}

tort_type byte_type(random_source *r) {
    return chance(r, 50) ? TORT_UINT8 : TORT_INT8;
}

static void make_pool(random_node *n, random_source *r, tort_type type, bool average) {
    const int32_t axes = (int32_t)draw(r, 1, 3);
    int64_t x[5] = {draw(r, 1, 2), draw(r, 1, 5)};
    int64_t *kernel = add_list(n, "kernel_shape", axes);
    for (int32_t i = 0; i < axes; i++) {
        kernel[i] = draw(r, 1, 3);
        x[i + 2] = draw_size(r, axes);
    }
    if (type == TORT_FLOAT)
        add_tensor(n, r, axes + 2, x);
    else
        add_integers(n, r, type, axes + 2, x);
    make_window(n, r, axes, kernel);
    n->opset = 19;
    if (chance(r, 40)) add_int(n, "ceil_mode", 1);
    if (average && chance(r, 50)) add_int(n, "count_include_pad", 1);
}

static void make_max_pool(random_node *n, random_source *r) {
    make_pool(n, r, TORT_FLOAT, false);
}

static void make_byte_max_pool(random_node *n, random_source *r) {
    make_pool(n, r, byte_type(r), false);
}

static void make_average_pool(random_node *n, random_source *r) {
    make_pool(n, r, TORT_FLOAT, true);
}

static int64_t draw_length(random_source *r) {
    return pick(r, (const int64_t[]){1, 2, 3, 7, 16, 17, 33, 100, 300}, 9);
}

void make_gemm(random_node *n, random_source *r) {
    const int64_t m = draw_length(r), k = draw_length(r), columns = draw_length(r);
    const bool trans_a = chance(r, 30), trans_b = chance(r, 50);
    add_tensor(n, r, 2, trans_a ? (const int64_t[]){k, m} : (const int64_t[]){m, k});
    add_tensor(n, r, 2, trans_b ? (const int64_t[]){columns, k} : (const int64_t[]){k, columns});
    if (chance(r, 80)) {
        const int64_t shapes[4][2] = {{m, columns}, {1, columns}, {m, 1}, {1, 1}};
        const int64_t *shape = shapes[draw(r, 0, 3)];
        const bool vector = shape[0] == 1 && chance(r, 50);
        add_tensor(n, r, vector ? 1 : 2, vector ? shape + 1 : shape);
    }
    n->constant[1] = chance(r, 60);
    n->opset = 13;
    add_int(n, "transA", trans_a);
    add_int(n, "transB", trans_b);
    if (chance(r, 40)) add_float(n, "alpha", 0.5f);
    if (chance(r, 40)) add_float(n, "beta", chance(r, 50) ? 0.25f : 0.0f);
}

void make_matmul(random_node *n, random_source *r) {
    const int64_t m = draw_length(r), k = draw_length(r), columns = draw_length(r);
    int64_t a[4], b[4];
    int32_t batch = (int32_t)draw(r, 0, 2);
    for (int32_t i = 0; i < batch; i++) {
        const int64_t size = draw(r, 1, 3);
        a[i] = chance(r, 70) ? size : 1;
        b[i] = chance(r, 60) ? size : 1;
    }
    a[batch] = m;
    a[batch + 1] = b[batch] = k;
    b[batch + 1] = columns;
    const int32_t skipped = chance(r, 50) ? batch : 0; /* a B of rank 2 serves all batches */
    if (chance(r, 15))
        add_tensor(n, r, 1, &k);
    else
        add_tensor(n, r, batch + 2, a);
    if (chance(r, 15))
        add_tensor(n, r, 1, &k);
    else
        add_tensor(n, r, batch + 2 - skipped, b + skipped);
    n->constant[1] = chance(r, 60);
    n->opset = 13;
}

/* A single row against a B that comes at the run: nothing is packed. */
static void make_row_by_matrix(random_node *n, random_source *r) {
    const int64_t k = draw_length(r), b[2] = {k, draw(r, 1, 150)};
    add_tensor(n, r, 1, &k);
    add_tensor(n, r, 2, b);
    n->opset = 13;
}

/* Functions that are not exact; also far from 0. */
void make_map(random_node *n, random_source *r) {
    const int64_t dims[3] = {draw(r, 1, 5), draw(r, 1, 40), draw(r, 1, 9)};
    add_tensor(n, r, (int32_t)draw(r, 1, 3), dims);
    float *x = n->inputs[0].data;
    for (int64_t i = 0; i < tort_count(&n->inputs[0]); i++) x[i] *= (float)draw(r, 1, 12);
    n->opset = 20;
    n->tolerance = 1e-5f;
}

static void make_gelu(random_node *n, random_source *r) {
    make_map(n, r);
    if (chance(r, 50)) add_string(n, "approximate", "tanh");
}

static void make_leaky_relu(random_node *n, random_source *r) {
    make_map(n, r);
    if (chance(r, 70)) add_float(n, "alpha", (float)draw(r, -8, 8) / 8);
}

static void make_hard_sigmoid(random_node *n, random_source *r) {
    make_leaky_relu(n, r);
    if (chance(r, 70)) add_float(n, "beta", (float)draw(r, -8, 8) / 8);
}

void make_swish(random_node *n, random_source *r) {
    make_leaky_relu(n, r);
    n->opset = 24;
}

/* Bounds are attributes, inputs or absent; now and then the lower is above the upper. */
static void make_clip(random_node *n, random_source *r) {
    make_map(n, r);
    if (chance(r, 10)) ((float *)n->inputs[0].data)[0] = chance(r, 50) ? NAN : -INFINITY;
    if (chance(r, 30)) {
        n->opset = 6;
        if (chance(r, 50)) add_float(n, "min", (float)draw(r, -8, 2));
        if (chance(r, 50)) add_float(n, "max", (float)draw(r, -2, 8));
        return;
    }
    if (chance(r, 70)) add_tensor(n, r, 0, NULL);
    if (n->input_count == 2 && chance(r, 70)) add_tensor(n, r, 0, NULL);
}

static void make_softmax(random_node *n, random_source *r) {
    make_map(n, r);
    add_int(n, "axis", chance(r, 80) ? -1 : 0);
    if (chance(r, 10)) ((float *)n->inputs[0].data)[0] = chance(r, 50) ? NAN : -INFINITY;
}

/* ---- with an epilogue -------------------------------------------------------------------------------------------- */

/* FusedMatMul has a bias of its own. */
static void add_bias(random_node *n, random_source *r, const char *op) {
    const tort_tensor *b = &n->inputs[1];
    const int64_t columns = b->rank == 1 ? 1 : b->dims[b->rank - 1];
    if (strcmp(op, "FusedMatMul") == 0 && chance(r, 60)) add_tensor(n, r, 1, &columns);
}

/* In place, from the last element: buffers have room for elements of 8 bytes. */
void to_doubles(random_node *n) {
    for (int32_t i = 0; i < n->input_count; i++) {
        tort_tensor *tensor = &n->inputs[i];
        if (!tort_present(tensor) || tensor->type != TORT_FLOAT) continue;
        for (int64_t e = tort_count(tensor) - 1; e >= 0; e--)
            ((double *)tensor->data)[e] = (double)((const float *)tensor->data)[e];
        tensor->type = TORT_DOUBLE;
    }
}

void add_epilogue(random_node *n, random_source *r, const kernel_case *kernel, const tort_info *y) {
    const bool operator_names = strcmp(kernel->domain, "com.microsoft") == 0;
    static const char *const exact[] = {"none", "relu", "leaky_relu", "clip", "hard_sigmoid"};
    static const char *const inexact[] = {"sigmoid", "silu", "gelu", "gelu_tanh", "hard_swish", "tanh",
                                          "elu",     "selu", "celu", "softplus",  "softsign",   "thresholded_relu"};
    const bool is_exact = chance(r, 50);
    if (!operator_names) add_bias(n, r, kernel->op);
    if (chance(r, 60)) {
        if (n->input_count == 2) n->inputs[n->input_count++] = (tort_tensor){.type = TORT_UNDEFINED};
        add_tensor(n, r, y->rank, y->dims);
        const tort_tensor *z = &n->inputs[n->input_count - 1];
        if (chance(r, 30) && tort_count(z) > 0) ((float *)z->data)[draw(r, 0, tort_count(z) - 1)] = NAN;
    }
    if (operator_names) {
        add_operator_activation(n, r, is_exact);
    } else {
        const bool near = n->tolerance > 0; /* then nothing with a step in it, which is the last */
        add_string(n, "activation", (is_exact ? exact : inexact)[draw(r, 0, is_exact ? 4 : 11 - near)]);
        add_float(n, "activation_alpha", (float)draw(r, -8, 8) / 8);
        add_float(n, "activation_beta", (float)draw(r, -4, 12) / 8);
    }
    if (strcmp(kernel->op, "NhwcFusedConv") == 0) {
        put_channels_last(&n->inputs[0]);
        if (n->input_count > TORT_EPILOGUE_Z) put_channels_last(&n->inputs[TORT_EPILOGUE_Z]);
    }
    if (!is_exact && n->tolerance < 1e-5f) n->tolerance = 1e-5f;
    if (n->inputs[0].type == TORT_DOUBLE) to_doubles(n);
    n->opset = 1;
}

static const kernel_case kernel_cases[] = {
    {"", "Conv", "conv_blocked", make_blocked_conv, NULL},
    {"", "Conv", "conv_blocked_first", make_first_conv, NULL},
    {"", "Conv", "conv_blocked_dilated", make_dilated_conv, NULL},
    {"", "Conv", "conv_blocked_depthwise", make_blocked_depthwise, NULL},
    {"", "Conv", "conv_blocked_winograd", make_winograd, NULL},
    {"tinyort", "FusedConv", "conv_blocked", make_blocked_conv, "Conv"},
    {"tinyort", "FusedConv", "conv_blocked_first", make_first_conv, "Conv"},
    {"tinyort", "FusedConv", "conv_blocked_dilated", make_dilated_conv, "Conv"},
    {"tinyort", "FusedConv", "conv_blocked_depthwise", make_blocked_depthwise, "Conv"},
    {"tinyort", "FusedConv", "conv_blocked_winograd", make_winograd, "Conv"},
    {"com.microsoft", "FusedConv", "conv_blocked", make_blocked_conv, "Conv"},
    {"com.microsoft", "FusedConv", "conv_blocked_first", make_first_conv, "Conv"},
    {"com.microsoft", "FusedConv", "conv_blocked_dilated", make_dilated_conv, "Conv"},
    {"com.microsoft", "FusedConv", "conv_blocked_depthwise", make_blocked_depthwise, "Conv"},
    {"com.microsoft", "FusedConv", "conv_blocked_winograd", make_winograd, "Conv"},
    {"", "MaxPool", "max_pool_blocked", make_blocked_max_pool, NULL},
    {"", "AveragePool", "average_pool_blocked", make_blocked_average_pool, NULL},
    {"", "GlobalAveragePool", "global_average_pool_blocked", make_blocked_global_pool, NULL},
    {"", "ReduceMean", "mean_blocked", make_kept_mean, NULL},
    {"", "ReduceMean", "mean_blocked_to_list", make_dropped_mean, NULL},
    {"", "BatchNormalization", "batch_norm_blocked", make_blocked_batch_norm, NULL},
    {"", "Mul", "channels_blocked", make_channel_pair, NULL},
    {"", "Add", "channels_blocked", make_channel_pair, NULL},
    {"", "Sub", "channels_blocked", make_channel_pair, NULL},
    {"", "Concat", "concat_blocked", make_blocked_concat, NULL},
    {"", "RNN", "rnn_packed", make_rnn, NULL},
    {"", "LSTM", "rnn_packed", make_lstm, NULL},
    {"", "GRU", "rnn_packed", make_gru, NULL},
    {"com.microsoft", "DynamicQuantizeLSTM", "quantized_lstm_packed", make_quantized_lstm, NULL},
    {"", "Conv", "conv_packed_gemm", make_dense_conv, NULL},
    {"", "Conv", "conv_depthwise", make_depthwise_conv, NULL},
    {"", "ConvTranspose", "conv_transpose_point", make_point_transpose, NULL},
    {"", "ConvTranspose", "conv_transpose_blocked", make_blocked_transpose, NULL},
    {"", "ConvTranspose", "conv_transpose_packed_gemm", make_conv_transpose, NULL},
    {"", "MaxPool", "max_pool_rows", make_max_pool, NULL},
    {"", "AveragePool", "average_pool_rows", make_average_pool, NULL},
    {"", "Gemm", "gemm_packed", make_gemm, NULL},
    {"", "MatMul", "matmul_packed", make_matmul, NULL},
    {"", "MatMul", "matmul_packed", make_row_by_matrix, NULL},
    {"", "MatMulInteger", "matmul_integer_packed", make_matmul_integer, NULL},
    {"", "QLinearMatMul", "qlinear_matmul_packed", make_qlinear_matmul, NULL},
    {"tinyort", "QLinearMatMul", "qlinear_matmul_biased", make_biased_matmul, NULL},
    {"", "ConvInteger", "conv_integer_packed", make_conv_integer, NULL},
    {"", "QLinearConv", "qlinear_conv_packed", make_qlinear_conv, NULL},
    {"", "QLinearConv", "qlinear_conv_depthwise", make_qlinear_depthwise, NULL},
    {"", "QLinearConv", "qlinear_conv_blocked", make_blocked_linear_conv, NULL},
    {"", "QLinearConv", "qlinear_conv_blocked_first", make_first_linear_conv, NULL},
    {"", "QLinearConv", "qlinear_conv_blocked_depthwise", make_blocked_linear_depthwise, NULL},
    {"", "QLinearConv", "qlinear_conv_blocked_quads", make_blocked_linear_quads, NULL},
    {"", "MaxPool", "max_pool_blocked_bytes", make_blocked_byte_pool, NULL},
    {"", "MaxPool", "max_pool_bytes", make_byte_max_pool, NULL},
    {"", "QuantizeLinear", "quantize_vectors", make_quantize, NULL},
    {"", "DequantizeLinear", "dequantize_vectors", make_dequantize, NULL},
    {"", "DynamicQuantizeLinear", "dynamic_quantize_vectors", make_dynamic_quantize, NULL},
    {"", "Exp", "exp_vectors", make_map, NULL},
    {"", "Erf", "erf_vectors", make_map, NULL},
    {"", "Tanh", "tanh_vectors", make_map, NULL},
    {"", "Abs", "abs_vectors", make_map, NULL},
    {"", "Neg", "neg_vectors", make_map, NULL},
    {"", "Floor", "floor_vectors", make_map, NULL},
    {"", "Ceil", "ceil_vectors", make_map, NULL},
    {"", "Round", "round_vectors", make_map, NULL},
    {"", "Sqrt", "sqrt_vectors", make_map, NULL},
    {"", "Reciprocal", "reciprocal_vectors", make_map, NULL},
    {"", "Log", "log_vectors", make_map, NULL},
    {"", "Sigmoid", "sigmoid_vectors", make_map, NULL},
    {"", "Gelu", "gelu_vectors", make_gelu, NULL},
    {"", "Softmax", "softmax_rows", make_softmax, NULL},
    {"", "LogSoftmax", "log_softmax_rows", make_softmax, NULL},
    {"", "InstanceNormalization", "instance_norm_rows", make_instance_norm, NULL},
    {"", "LayerNormalization", "layer_norm_rows", make_layer_norm, NULL},
    {"", "Relu", "relu_vectors", make_map, NULL},
    {"", "LeakyRelu", "leaky_relu_vectors", make_leaky_relu, NULL},
    {"", "Clip", "clip_vectors", make_clip, NULL},
    {"", "Swish", "swish_vectors", make_swish, NULL},
    {"", "HardSigmoid", "hard_sigmoid_vectors", make_hard_sigmoid, NULL},
    {"", "HardSwish", "hard_swish_vectors", make_map, NULL},
    {"", "Mish", "mish_vectors", make_map, NULL},
    {"", "Softplus", "softplus_vectors", make_map, NULL},
    {"", "Softsign", "softsign_vectors", make_map, NULL},
    {"", "ThresholdedRelu", "thresholded_relu_vectors", make_leaky_relu, NULL},
    {"", "Elu", "elu_vectors", make_leaky_relu, NULL},
    {"", "Selu", "selu_vectors", make_leaky_relu, NULL},
    {"", "Celu", "celu_vectors", make_swish, NULL},
    {"tinyort", "FusedConv", "conv_packed_gemm", make_dense_conv, "Conv"},
    {"tinyort", "FusedConv", "conv_depthwise", make_depthwise_conv, "Conv"},
    {"tinyort", "FusedGemm", "gemm_packed", make_gemm, "Gemm"},
    {"tinyort", "FusedMatMul", "matmul_packed", make_matmul, "MatMul"},
    {"tinyort", "FusedMatMul", "matmul_packed", make_row_by_matrix, "MatMul"},
    {"tinyort", "FusedAttention", "attention_blocks", make_attention, NULL},
    {"", "Attention", "attention_blocks", make_onnx_attention, NULL},
    {"", "Einsum", "einsum_products", make_einsum, NULL},
    {"", "BatchNormalization", "batch_norm_planes", make_batch_norm, NULL},
    {"", "GroupNormalization", "group_norm_planes", make_group_norm, NULL},
    {"", "LpNormalization", "lp_norm_rows", make_lp_norm, NULL},
    {"", "Resize", "resize_blocked", make_blocked_resize, NULL},
    {"", "Upsample", "resize_blocked", make_blocked_upsample, NULL},
    {"", "Resize", "resize_rows", make_resize, NULL},
    {"", "Upsample", "resize_rows", make_upsample, NULL},
    {"", "RotaryEmbedding", "rotary_rows", make_rotary, NULL},
    {"com.microsoft", "RotaryEmbedding", "rotary_rows", make_rotary_of_microsoft, NULL},
    {"", "GridSample", "grid_sample_points", make_grid_sample, NULL},
    {"com.microsoft", "GridSample", "grid_sample_points", make_grid_sample_of_microsoft, NULL},
    {"", "RoiAlign", "roi_align_bins", make_roi_align, NULL},
    {"", "DeformConv", "deform_conv_packed_gemm", make_deform_conv, NULL},
    {"com.microsoft", "ConvTransposeWithDynamicPads", "conv_transpose_packed_gemm", make_dynamic_pads, NULL},
    {"com.microsoft", "FusedConv", "conv_packed_gemm", make_dense_conv, "Conv"},
    {"com.microsoft", "FusedConv", "conv_depthwise", make_depthwise_conv, "Conv"},
    {"com.microsoft", "NhwcConv", "conv_packed_gemm", make_nhwc_conv, NULL},
    {"com.microsoft", "NhwcConv", "conv_depthwise", make_nhwc_depthwise_conv, NULL},
    {"com.microsoft", "NhwcFusedConv", "conv_packed_gemm", make_dense_conv, "Conv"},
    {"com.microsoft", "NhwcFusedConv", "conv_depthwise", make_depthwise_conv, "Conv"},
    {"com.microsoft", "FusedGemm", "gemm_packed", make_activated_gemm, NULL},
    {"com.microsoft", "FusedMatMul", "matmul_packed", make_transposed_matmul, NULL},
    {"com.microsoft", "FusedMatMulActivation", "matmul_packed", make_activated_matmul, NULL},
    {"com.microsoft", "GemmFastGelu", "matmul_packed", make_gelu_matmul, NULL},
    {"com.microsoft", "TransposeMatMul", "matmul_packed", make_older_matmul, NULL},
    {"com.microsoft", "Attention", "heads_projected", make_projected_attention, NULL},
    {"com.microsoft", "GroupQueryAttention", "heads_blocks", make_group_query, NULL},
    {"com.microsoft", "MultiHeadAttention", "heads_blocks", make_multi_head, NULL},
    {"com.microsoft", "DecoderMaskedMultiHeadAttention", "heads_blocks", make_decoder_masked, NULL},
    {"com.microsoft", "Gelu", "gelu_vectors", make_map_of_microsoft, NULL},
    {"com.microsoft", "QuickGelu", "swish_vectors", make_quick_gelu, NULL},
    {"com.microsoft", "FastGelu", "bias_gelu_vectors", make_bias_gelu, NULL},
    {"com.microsoft", "FastGelu", "bias_gelu_vectors", make_map_of_microsoft, NULL},
    {"com.microsoft", "BiasGelu", "bias_gelu_vectors", make_bias_gelu, NULL},
    {"", "RMSNormalization", "rms_norm_rows", make_rms_norm, NULL},
    {"", "SimplifiedLayerNormalization", "rms_norm_rows", make_rms_norm, NULL},
    {"com.microsoft", "SkipLayerNormalization", "skip_norm_rows", make_skip_norm, NULL},
    {"com.microsoft", "SkipSimplifiedLayerNormalization", "skip_norm_rows", make_simplified_skip_norm, NULL},
    {"com.microsoft", "DynamicQuantizeMatMul", "dynamic_quantize_matmul_packed", make_dynamic_matmul, NULL},
    {"com.microsoft", "MatMulIntegerToFloat", "matmul_integer_to_float_packed", make_matmul_to_float, NULL},
    {"com.microsoft", "MatMulNBits", "matmul_nbits_packed", make_matmul_nbits, NULL},
    {"com.microsoft", "QGemm", "qgemm_packed", make_qgemm, NULL},
    {"com.microsoft", "QLinearAdd", "qlinear_binary", make_qlinear_binary, NULL},
    {"com.microsoft", "QLinearConv", "qlinear_conv_packed", make_qlinear_conv_of_microsoft, NULL},
    {"com.microsoft", "QLinearConv", "qlinear_conv_depthwise", make_qlinear_depthwise_of_microsoft, NULL},
    {"com.microsoft", "QuantizeLinear", "quantize_vectors", make_quantize_of_microsoft, NULL},
    {"com.microsoft", "DequantizeLinear", "dequantize_vectors", make_dequantize_of_microsoft, NULL},
    {"com.microsoft", "QLinearMul", "qlinear_binary", make_qlinear_binary, NULL},
    {"com.microsoft", "QLinearAdd", "qlinear_channels_blocked", make_qlinear_channels, NULL},
    {"com.microsoft", "QLinearMul", "qlinear_channels_blocked", make_qlinear_channels, NULL},
    {"com.microsoft", "QLinearSigmoid", "byte_table_vectors", make_qlinear_function, NULL},
    {"com.microsoft", "QLinearLeakyRelu", "byte_table_vectors", make_qlinear_function, NULL},
    {"tinyort", "ByteTable", "byte_table_vectors", make_byte_table, NULL},
    {"com.microsoft", "QLinearGlobalAveragePool", "mean_bytes", make_qlinear_mean, NULL},
    {"com.microsoft", "QLinearSoftmax", "softmax_bytes", make_qlinear_softmax, NULL},
    {"", "Cast", "cast_halves", make_cast_half, NULL},
    {"", "CastLike", "cast_halves", make_cast_like_half, NULL},
    {"ai.onnx.ml", "TreeEnsembleRegressor", "trees_packed", make_tree_regressor, NULL},
    {"ai.onnx.ml", "TreeEnsembleClassifier", "trees_packed", make_tree_classifier, NULL},
    {"ai.onnx.ml", "TreeEnsemble", "trees_packed", make_tree_ensemble, NULL},
    {"", "Add", "add_vectors", make_pair, NULL},
    {"", "Sub", "sub_vectors", make_pair, NULL},
    {"", "Mul", "mul_vectors", make_pair, NULL},
    {"", "Div", "div_vectors", make_pair, NULL},
    {"", "PRelu", "prelu_vectors", make_prelu, NULL},
    {"", "Max", "max_vectors", make_extreme, NULL},
    {"", "Min", "min_vectors", make_extreme, NULL},
    {"", "Sum", "sum_vectors", make_sum, NULL},
    {"", "Mean", "mean_vectors", make_mean, NULL},
    {"", "Relu", "relu_integers", make_integer_map, NULL},
    {"", "Neg", "neg_integers", make_integer_map, NULL},
    {"", "Abs", "abs_integers", make_integer_map, NULL},
    {"", "Clip", "clip_integers", make_integer_clip, NULL},
    {"", "Where", "where_vectors", make_where, NULL},
    {"", "Cast", "cast_vectors", make_number_cast, NULL},
    {"", "CastLike", "cast_vectors", make_number_cast_like, NULL},
    {"", "ReduceSum", "reduce_vectors", make_reduce, NULL},
    {"", "ReduceMean", "reduce_vectors", make_reduce, NULL},
    {"", "ReduceMax", "reduce_vectors", make_reduce, NULL},
    {"", "ReduceMin", "reduce_vectors", make_reduce, NULL},
    {"", "ReduceL1", "reduce_vectors", make_reduce, NULL},
    {"", "ReduceL2", "reduce_vectors", make_reduce, NULL},
    {"", "ReduceLogSum", "reduce_vectors", make_reduce, NULL},
    {"", "ReduceSumSquare", "reduce_vectors", make_reduce, NULL},
    {"", "GlobalAveragePool", "reduce_vectors", make_global_pool, NULL},
    {"", "GlobalMaxPool", "reduce_vectors", make_global_pool, NULL},
    {"", "Transpose", "move_tiles", make_transpose, NULL},
    {"", "DepthToSpace", "move_tiles", make_depth_to_space, NULL},
    {"", "SpaceToDepth", "move_tiles", make_space_to_depth, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

#define TABLE(name) extern const kernel_case name[];
#include "tests/cases/rows.inc"
#undef TABLE

#define TABLE(name) name,
static const kernel_case *const tables[] = {
    kernel_cases,
#include "tests/cases/rows.inc"
    NULL,
};

const kernel_case *kernel_case_at(size_t i) {
    for (const kernel_case *const *table = tables; *table; table++)
        for (const kernel_case *at = *table; at->op; at++)
            if (i-- == 0) return at;
    return NULL;
}
