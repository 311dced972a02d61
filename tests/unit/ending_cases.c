/* ending_cases.c - nodes that take a second and more, on inputs of some megabytes: wide products, windows of hundreds
 * of thousands of elements, many steps. What is not said is 0. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/include/op.h"
#include "tests/unit/cpu_tree_cases.h"
#include "tests/unit/ending_cases.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})

static void add_zeros(random_node *n, tort_type type, int32_t rank, const int64_t *dims) {
    const tort_tensor *tensor = add_buffer(n, type, rank, dims);
    size_t bytes;
    cr_assert(tort_tensor_bytes(tensor, &bytes));
    memset(tensor->data, 0, bytes);
}

static void add_floats(random_node *n, int32_t rank, const int64_t *dims) {
    add_zeros(n, TORT_FLOAT, rank, dims);
}

static void add_absent(random_node *n) {
    n->inputs[n->input_count++] = (tort_tensor){.type = TORT_UNDEFINED};
}

static void add_one(random_node *n, int32_t rank, int64_t count) {
    const tort_tensor *tensor = add_buffer(n, TORT_FLOAT, rank, &count);
    for (int64_t i = 0; i < tort_count(tensor); i++) ((float *)tensor->data)[i] = 1;
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

enum { WIDE = 2048, WIDE_BYTES = 4096, LONG = 4096 };

static void add_matrices(random_node *n, tort_type type) {
    n->opset = 13;
    for (int i = 0; i < 2; i++) add_zeros(n, type, 2, DIMS(WIDE, WIDE));
}

static void make_matmul_of_floats(random_node *n) {
    add_matrices(n, TORT_FLOAT);
}

static void make_matmul_of_weights(random_node *n) {
    add_matrices(n, TORT_FLOAT);
    for (int64_t i = 0; i < (int64_t)WIDE * WIDE; i++) ((float *)n->inputs[1].data)[i] = 1;
    n->constant[1] = true;
}

static void make_matmul_of_halves(random_node *n) {
    add_matrices(n, TORT_FLOAT16);
}

static void make_many_matmuls(random_node *n) {
    n->opset = 13;
    for (int i = 0; i < 2; i++) add_floats(n, 3, DIMS(1 << 16, 16, 16));
}

/* A single row reads B as it lies. */
static void make_row_matmul(random_node *n) {
    n->opset = 13;
    add_floats(n, 2, DIMS(1, 30000));
    add_floats(n, 2, DIMS(30000, 1500));
}

static void make_gemm_of_floats(random_node *n) {
    add_matrices(n, TORT_FLOAT);
    add_floats(n, 2, DIMS(WIDE, WIDE));
}

static void make_einsum_of(random_node *n, const char *equation) {
    add_matrices(n, TORT_FLOAT);
    add_string(n, "equation", equation);
}

static void make_rows_of_einsum(random_node *n) {
    make_einsum_of(n, "ij,jk->ik");
}

static void make_scattered_einsum(random_node *n) {
    n->opset = 13;
    add_floats(n, 3, DIMS(64, 512, 512));
    add_floats(n, 3, DIMS(64, 512, 512));
    add_string(n, "equation", "bij,bjk->kib");
}

static void make_matmul_of_bytes(random_node *n) {
    n->opset = 13;
    for (int i = 0; i < 2; i++) add_zeros(n, TORT_UINT8, 2, DIMS(WIDE_BYTES, WIDE_BYTES));
}

/* One tile of outputs, whose sums are long. */
static void make_deep_matmul_of_bytes(random_node *n) {
    n->opset = 13;
    add_zeros(n, TORT_INT8, 2, DIMS(3, 10000000));
    add_zeros(n, TORT_UINT8, 2, DIMS(10000000, 3));
    add_zeros(n, TORT_INT8, 0, DIMS(0));
    add_zeros(n, TORT_UINT8, 0, DIMS(0));
    *(int8_t *)n->inputs[2].data = 1;
    *(uint8_t *)n->inputs[3].data = 2;
}

static void make_nbits(random_node *n, int64_t accuracy) {
    n->opset = 1;
    add_floats(n, 2, DIMS(WIDE, WIDE));
    add_zeros(n, TORT_UINT8, 3, DIMS(WIDE, WIDE / 128, 64));
    add_floats(n, 2, DIMS(WIDE, WIDE / 128));
    n->constant[1] = n->constant[2] = true;
    add_int(n, "N", WIDE);
    add_int(n, "K", WIDE);
    add_int(n, "bits", 4);
    add_int(n, "block_size", 128);
    add_int(n, "accuracy_level", accuracy);
}

static void make_nbits_of_floats(random_node *n) {
    make_nbits(n, 0);
}

static void make_nbits_of_bytes(random_node *n) {
    make_nbits(n, 4);
}

/* ---- convolutions ------------------------------------------------------------------------------------------------ */

/* Filters of a square kernel over a square picture of twice its side. */
static void add_conv(random_node *n, tort_type type, int64_t channels, int64_t filters, int64_t group, int64_t kernel) {
    n->opset = 11;
    add_zeros(n, type, 4, DIMS(1, channels, 2 * kernel, 2 * kernel));
    add_zeros(n, type, 4, DIMS(filters, channels / group, kernel, kernel));
    n->constant[1] = true;
    add_int(n, "group", group);
}

static void make_conv_of_one(random_node *n) {
    add_conv(n, TORT_FLOAT, 1, 1, 1, 700);
}

static void make_conv_of_three(random_node *n) {
    add_conv(n, TORT_FLOAT, 3, 16, 1, 200);
}

static void make_wide_conv(random_node *n) {
    add_conv(n, TORT_FLOAT, 16, 16, 1, 200);
}

static void make_wide_depthwise_conv(random_node *n) {
    add_conv(n, TORT_FLOAT, 16, 16, 16, 300);
}

static void make_winograd_conv(random_node *n) {
    n->opset = 11;
    add_floats(n, 4, DIMS(1, 256, 202, 202));
    add_floats(n, 4, DIMS(256, 256, 3, 3));
    n->constant[1] = true;
}

static void make_transposed_conv(random_node *n, int64_t channels, int64_t side, int64_t kernel) {
    n->opset = 11;
    add_floats(n, 4, DIMS(1, channels, side, side));
    add_floats(n, 4, DIMS(channels, channels, kernel, kernel));
    n->constant[1] = true;
}

static void make_wide_transpose(random_node *n) {
    make_transposed_conv(n, 4, 200, 200);
}

static void make_blocks_of_transpose(random_node *n) {
    make_transposed_conv(n, 16, 200, 60);
}

static void make_deform(random_node *n) {
    n->opset = 19;
    add_floats(n, 4, DIMS(1, 64, 94, 94));
    add_floats(n, 4, DIMS(64, 64, 31, 31));
    add_floats(n, 4, DIMS(1, 2 * 31 * 31, 64, 64));
}

static void make_conv_of_bytes(random_node *n) {
    add_conv(n, TORT_UINT8, 1, 4, 1, 300);
}

/* The operands of QLinearConv from those of ConvInteger. */
static void make_linear(random_node *n) {
    const tort_tensor x = n->inputs[0], w = n->inputs[1];
    n->inputs[3] = w;
    n->constant[1] = false;
    n->constant[3] = true;
    n->opset = 10;
    for (int32_t i = 0; i < 8; i++) {
        if (i == 0 || i == 3) continue;
        const bool scale = i == 1 || i == 4 || i == 6;
        n->input_count = i;
        if (scale)
            add_one(n, 0, 1);
        else
            add_zeros(n, i == 5 ? w.type : x.type, 0, DIMS(0));
    }
    n->input_count = 8;
}

static void make_linear_conv_of_bytes(random_node *n) {
    make_conv_of_bytes(n);
    make_linear(n);
}

static void make_blocked_bytes(random_node *n) {
    n->opset = 10;
    add_zeros(n, TORT_UINT8, 4, DIMS(1, 16, 400, 400));
    add_zeros(n, TORT_INT8, 4, DIMS(32, 16, 31, 31));
    make_linear(n);
}

static void make_depthwise_bytes(random_node *n) {
    n->opset = 10;
    add_zeros(n, TORT_UINT8, 4, DIMS(1, 16, 1600, 1600));
    add_zeros(n, TORT_INT8, 4, DIMS(16, 1, 11, 11));
    add_int(n, "group", 16);
    make_linear(n);
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

static void make_pool(random_node *n, tort_type type, int64_t channels, int64_t side, int64_t window) {
    n->opset = 12;
    add_zeros(n, type, 4, DIMS(1, channels, side, side));
    int64_t *kernel = add_list(n, "kernel_shape", 2);
    kernel[0] = kernel[1] = window;
}

static void make_pool_of_rows(random_node *n) {
    make_pool(n, TORT_FLOAT, 4, 1000, 250);
}

static void make_pool_of_blocks(random_node *n) {
    make_pool(n, TORT_FLOAT, 16, 800, 400);
}

static void make_pool_of_bytes(random_node *n) {
    make_pool(n, TORT_INT8, 1, 4000, 1000);
}

static void make_pool_of_byte_blocks(random_node *n) {
    make_pool(n, TORT_UINT8, 16, 800, 400);
}

static void add_resize(random_node *n, int64_t channels, float scale, const char *mode) {
    n->opset = 19;
    add_floats(n, 4, DIMS(1, channels, 500, 500));
    add_absent(n);
    const tort_tensor *scales = add_buffer(n, TORT_FLOAT, 1, DIMS(4));
    memcpy(scales->data, (const float[]){1, 1, scale, scale}, 4 * sizeof(float));
    n->constant[2] = true;
    add_string(n, "mode", mode);
}

static void make_larger(random_node *n) {
    add_resize(n, 2, 6, "cubic");
}

static void make_larger_blocks(random_node *n) {
    add_resize(n, 64, 2, "linear");
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

static void make_heads_of_onnx(random_node *n) {
    n->opset = 23;
    for (int i = 0; i < 3; i++) add_floats(n, 4, DIMS(1, 16, LONG, 64));
}

static void make_few_queries(random_node *n) {
    n->opset = 23;
    add_floats(n, 4, DIMS(1, 2000, 2, 128));
    for (int i = 0; i < 2; i++) add_floats(n, 4, DIMS(1, 1, 4000, 128));
}

static void make_fused_attention(random_node *n) {
    n->opset = 1;
    add_floats(n, 3, DIMS(16, LONG, 64));
    add_floats(n, 3, DIMS(16, 64, LONG));
    add_floats(n, 3, DIMS(16, LONG, 64));
}

static void make_heads_of_microsoft(random_node *n) {
    n->opset = 1;
    for (int i = 0; i < 3; i++) add_floats(n, 3, DIMS(1, LONG, 16 * 64));
    add_int(n, "num_heads", 16);
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

enum { STEPS = 30000, HIDDEN = 256 };

static void make_recurrent(random_node *n, int64_t gates) {
    n->opset = 14;
    add_floats(n, 3, DIMS(STEPS, 1, 8));
    add_floats(n, 3, DIMS(1, gates * HIDDEN, 8));
    add_floats(n, 3, DIMS(1, gates * HIDDEN, HIDDEN));
    add_int(n, "hidden_size", HIDDEN);
}

static void make_long_lstm(random_node *n) {
    make_recurrent(n, 4);
}

static void make_long_gru(random_node *n) {
    make_recurrent(n, 3);
}

static void make_long_rnn(random_node *n) {
    make_recurrent(n, 1);
}

static void make_long_quantized_lstm(random_node *n) {
    n->opset = 1;
    add_floats(n, 3, DIMS(STEPS, 1, 8));
    add_zeros(n, TORT_UINT8, 3, DIMS(1, 8, 4 * HIDDEN));
    add_zeros(n, TORT_UINT8, 3, DIMS(1, HIDDEN, 4 * HIDDEN));
    n->constant[1] = n->constant[2] = true;
    for (int i = 0; i < 5; i++) add_absent(n);
    for (int i = 0; i < 2; i++) {
        add_one(n, 1, 1);
        add_zeros(n, TORT_UINT8, 1, DIMS(1));
    }
    add_int(n, "hidden_size", HIDDEN);
}

/* Elements in rising order, so that each is better than all before. */
static void make_topk_of(random_node *n, int64_t count, int64_t k) {
    n->opset = 11;
    float *x = add_buffer(n, TORT_FLOAT, 1, &count)->data;
    for (int64_t i = 0; i < count; i++) x[i] = (float)i;
    *(int64_t *)add_buffer(n, TORT_INT64, 1, DIMS(1))->data = k;
    n->constant[1] = true;
    n->second_output = true;
}

static void make_sorted_topk(random_node *n) {
    make_topk_of(n, 8000000, 4000000);
}

static void make_topk_of_few(random_node *n) {
    make_topk_of(n, 8000000, 900000);
}

/* Many rows through the trees of a random ensemble. */
static void make_rows_of_trees(random_node *n) {
    random_source source = {7};
    make_tree_regressor(n, &source);
    const int64_t features = n->inputs[0].dims[n->inputs[0].rank - 1];
    free(n->inputs[0].data);
    n->input_count = 0;
    add_floats(n, 2, DIMS(1000000, features));
}

#define MICROSOFT "com.microsoft"

const ending_case ending_cases[] = {
    {"", "MatMul", "matmul_packed", "2048^3", make_matmul_of_floats},
    {"", "MatMul", "matmul_packed", "2048^3, weights", make_matmul_of_weights},
    {"", "MatMul", "matmul_packed", "float16 2048^3", make_matmul_of_halves},
    {"", "MatMul", "matmul_packed", "65536 of 16^3", make_many_matmuls},
    {"", "MatMul", "matmul_packed", "1 x 30000 x 1500", make_row_matmul},
    {"", "Gemm", "gemm_packed", "2048^3", make_gemm_of_floats},
    {"", "Einsum", "einsum_products", "2048^3", make_rows_of_einsum},
    {"", "Einsum", "einsum_products", "64 of 512^3, scattered", make_scattered_einsum},
    {"", "MatMulInteger", "matmul_integer_packed", "4096^3", make_matmul_of_bytes},
    {"", "MatMulInteger", "matmul_integer_packed", "3 x 10000000 x 3", make_deep_matmul_of_bytes},
    {MICROSOFT, "MatMulNBits", "matmul_nbits_packed", "2048^3", make_nbits_of_floats},
    {MICROSOFT, "MatMulNBits", "matmul_nbits_packed", "of bytes 2048^3", make_nbits_of_bytes},
    {"", "Conv", "conv_packed_gemm", "kernel 700x700", make_conv_of_one},
    {"", "Conv", "conv_depthwise", "kernel 700x700", make_conv_of_one},
    {"", "Conv", "conv_blocked_first", "kernel 200x200, 3 channels", make_conv_of_three},
    {"", "Conv", "conv_blocked", "kernel 200x200, 16 channels", make_wide_conv},
    {"", "Conv", "conv_blocked_depthwise", "kernel 300x300", make_wide_depthwise_conv},
    {"", "Conv", "conv_blocked_winograd", "256 channels, 200x200", make_winograd_conv},
    {"", "ConvTranspose", "conv_transpose_packed_gemm", "kernel 200x200", make_wide_transpose},
    {"", "ConvTranspose", "conv_transpose_blocked", "kernel 60x60", make_blocks_of_transpose},
    {"", "DeformConv", "deform_conv_packed_gemm", "kernel 31x31", make_deform},
    {"", "ConvInteger", "conv_integer_packed", "kernel 300x300", make_conv_of_bytes},
    {"", "QLinearConv", "qlinear_conv_packed", "kernel 300x300", make_linear_conv_of_bytes},
    {"", "QLinearConv", "qlinear_conv_blocked", "kernel 31x31", make_blocked_bytes},
    {"", "QLinearConv", "qlinear_conv_depthwise", "kernel 11x11", make_depthwise_bytes},
    {"", "QLinearConv", "qlinear_conv_blocked_depthwise", "kernel 11x11", make_depthwise_bytes},
    {"", "QLinearConv", "qlinear_conv_blocked_quads", "kernel 11x11", make_depthwise_bytes},
    {"", "MaxPool", "max_pool_rows", "window 250x250", make_pool_of_rows},
    {"", "AveragePool", "average_pool_rows", "window 250x250", make_pool_of_rows},
    {"", "MaxPool", "max_pool_blocked", "window 400x400", make_pool_of_blocks},
    {"", "AveragePool", "average_pool_blocked", "window 400x400", make_pool_of_blocks},
    {"", "MaxPool", "max_pool_bytes", "window 1000x1000", make_pool_of_bytes},
    {"", "MaxPool", "max_pool_blocked_bytes", "window 400x400", make_pool_of_byte_blocks},
    {"", "Resize", "resize_rows", "2 of 3000x3000", make_larger},
    {"", "Resize", "resize_blocked", "64 of 1000x1000", make_larger_blocks},
    {"", "Attention", "attention_blocks", "4096 queries and keys", make_heads_of_onnx},
    {"", "Attention", "attention_blocks", "2000 of 2 queries, 4000 keys", make_few_queries},
    {"tinyort", "FusedAttention", "attention_blocks", "4096 queries and keys", make_fused_attention},
    {MICROSOFT, "MultiHeadAttention", "heads_blocks", "4096 queries and keys", make_heads_of_microsoft},
    {"", "LSTM", "rnn_packed", "30000 steps", make_long_lstm},
    {"", "GRU", "rnn_packed", "30000 steps", make_long_gru},
    {"", "RNN", "rnn_packed", "30000 steps", make_long_rnn},
    {MICROSOFT, "DynamicQuantizeLSTM", "quantized_lstm_packed", "30000 steps", make_long_quantized_lstm},
    {"", "TopK", "topk_lanes", "4000000 of 8000000", make_sorted_topk},
    {"", "TopK", "topk_lanes", "900000 of 8000000", make_topk_of_few},
    {"ai.onnx.ml", "TreeEnsembleRegressor", "trees_packed", "1000000 rows", make_rows_of_trees},
    {.op = NULL},
};
