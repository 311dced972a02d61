/* cpu_kernel_cases_quantized.c - makers of random nodes of com.microsoft's quantized operators. Scales are powers of
 * two where a result is quantized, so that kernels and plain loops round the same numbers. Read first:
 * cpu_kernel_cases.c. */
#include <math.h>
#include <string.h>

#include "runtime/include/op.h"
#include "tests/unit/cpu_kernel_cases.h"

static void add_absent(random_node *n) {
    n->inputs[n->input_count++] = (tort_tensor){.type = TORT_UNDEFINED};
}

/* One scale, or `count` of them. */
static void add_scales(random_node *n, random_source *r, bool many, int64_t count) {
    add_tensor(n, r, many, &count);
    float *scales = n->inputs[n->input_count - 1].data;
    for (int64_t i = 0; i < (many ? count : 1); i++) scales[i] = (float)(1 << draw(r, 0, 3)) / 64;
}

static void set_single(random_node *n, float value) {
    *(float *)n->inputs[n->input_count - 1].data = value;
}

/* ---- of ONNX ----------------------------------------------------------------------------------------------------- */

static void add_scale(random_node *n, random_source *r, int32_t rank, const int64_t *dims) {
    const tort_tensor *tensor = add_buffer(n, TORT_FLOAT, rank, dims);
    for (int64_t i = 0; i < tort_count(tensor); i++) ((float *)tensor->data)[i] = (float)draw(r, 1, 40) / 1024;
}

void make_matmul_integer(random_node *n, random_source *r) {
    const int64_t m = draw(r, 1, 40), k = draw(r, 1, 700), columns = draw(r, 1, 40), batch = draw(r, 1, 3);
    const int64_t a[3] = {batch, m, k}, b[3] = {batch, k, columns};
    const tort_type a_type = byte_type(r), b_type = byte_type(r);
    const int32_t rank = (int32_t)draw(r, 2, 3);
    add_integers(n, r, a_type, rank, a + 3 - rank);
    const int32_t b_rank = chance(r, 50) ? 2 : rank; /* a B of rank 2 serves all batches */
    add_integers(n, r, b_type, b_rank, b + 3 - b_rank);
    if (chance(r, 70)) add_integers(n, r, a_type, 0, a);
    if (n->input_count == 3 && chance(r, 70)) add_integers(n, r, b_type, (int32_t)draw(r, 0, 1), &columns);
    n->constant[1] = chance(r, 50);
    n->opset = 10;
}

static void make_integer_window(random_node *n, random_source *r, int64_t x[4], int64_t w[4]) {
    const int64_t group = chance(r, 70) ? 1 : 2;
    x[0] = draw(r, 1, 2);
    w[1] = draw(r, 1, 40);
    x[1] = group * w[1];
    w[0] = group * draw(r, 1, 9);
    for (int32_t i = 2; i < 4; i++) {
        x[i] = draw(r, 6, 15);
        w[i] = draw(r, 1, 3);
    }
    n->opset = 10;
    add_int(n, "group", group);
    make_window(n, r, 2, w + 2);
}

void make_conv_integer(random_node *n, random_source *r) {
    int64_t x[4], w[4];
    const tort_type x_type = byte_type(r), w_type = byte_type(r);
    make_integer_window(n, r, x, w);
    add_integers(n, r, x_type, 4, x);
    add_integers(n, r, w_type, 4, w);
    if (chance(r, 70)) add_integers(n, r, x_type, 0, x);
    if (n->input_count == 3 && chance(r, 70)) add_integers(n, r, w_type, (int32_t)draw(r, 0, 1), w);
    n->constant[1] = n->constant[3] = true;
}

static void make_linear_conv(random_node *n, random_source *r, bool depthwise) {
    int64_t x[4], w[4];
    const tort_type x_type = byte_type(r), w_type = byte_type(r);
    const int32_t rank = (int32_t)draw(r, 0, 1);
    make_integer_window(n, r, x, w);
    if (depthwise) {
        x[1] = n->attributes[0].u.i = draw(r, 1, 9);
        w[0] = x[1] * draw(r, 1, 2);
        w[1] = 1;
    }
    add_integers(n, r, x_type, 4, x);
    add_scale(n, r, 0, x);
    add_integers(n, r, x_type, 0, x);
    add_integers(n, r, w_type, 4, w);
    add_scale(n, r, rank, w);
    add_integers(n, r, w_type, rank, w);
    add_scale(n, r, 0, x);
    add_integers(n, r, x_type, 0, x);
    if (chance(r, 60)) add_integers(n, r, TORT_INT32, 1, w);
    if (n->input_count == 9 && chance(r, 20)) ((int32_t *)n->inputs[8].data)[0] = chance(r, 50) ? INT32_MAX : INT32_MIN;
    n->constant[3] = n->constant[5] = true;
}

void make_qlinear_conv(random_node *n, random_source *r) {
    make_linear_conv(n, r, false);
}

void make_qlinear_depthwise(random_node *n, random_source *r) {
    make_linear_conv(n, r, true);
}

/* The scales are powers of 2, so that their products are exact in any order. */
void make_qlinear_matmul(random_node *n, random_source *r) {
    const int64_t a[2] = {draw(r, 1, 40), pick(r, (const int64_t[]){1, 7, 257, 1000}, 4)},
                  b[2] = {a[1], draw(r, 1, 40)};
    for (int32_t i = 0; i < 3; i++) {
        const tort_type type = byte_type(r);
        const int32_t rank = i < 2 && chance(r, 30);
        const int64_t length = i == 0 ? a[0] : b[1];
        if (i < 2) add_integers(n, r, type, 2, i ? b : a);
        add_tensor(n, r, rank, &length);
        float *scale = n->inputs[n->input_count - 1].data;
        for (int64_t j = 0; j < (rank ? length : 1); j++) scale[j] = (float)(1 << draw(r, 0, 3)) / 64;
        if (i == 2) scale[0] *= 256;
        add_integers(n, r, type, rank, &length);
    }
    n->constant[3] = n->constant[5] = chance(r, 60);
    n->opset = 10;
}

/* tinyort's: A has one scale, and there is a bias, an int32 for each column. */
void make_biased_matmul(random_node *n, random_source *r) {
    const int64_t a[3] = {draw(r, 1, 3), draw(r, 1, 20), pick(r, (const int64_t[]){1, 7, 257, 1000}, 4)};
    const int64_t b[2] = {a[2], draw(r, 1, 40)};
    const bool many = chance(r, 50);
    for (int32_t i = 0; i < 3; i++) {
        const tort_type type = byte_type(r);
        const int32_t rank = i == 1 && many;
        if (i == 0) add_integers(n, r, type, 3, a);
        if (i == 1) add_integers(n, r, type, 2, b);
        add_tensor(n, r, rank, &b[1]);
        float *scale = n->inputs[n->input_count - 1].data;
        for (int64_t j = 0; j < (rank ? b[1] : 1); j++) scale[j] = (float)(1 << draw(r, 0, 3)) / 64;
        if (i == 2) scale[0] *= 256;
        add_integers(n, r, type, rank, &b[1]);
    }
    add_integers(n, r, TORT_INT32, 1, &b[1]);
    n->constant[3] = n->constant[5] = chance(r, 60);
    n->opset = 1;
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

void make_matmul_to_float(random_node *n, random_source *r) {
    const int64_t a[2] = {draw(r, 1, 40), draw(r, 1, 300)}, b[2] = {a[1], draw(r, 1, 40)};
    const tort_type a_type = byte_type(r), b_type = byte_type(r);
    const bool many = chance(r, 40), zeros = chance(r, 60), biased = chance(r, 50);
    add_integers(n, r, a_type, 2, a);
    add_integers(n, r, b_type, 2, b);
    add_scales(n, r, false, 1);
    add_scales(n, r, many, b[1]);
    if (zeros) add_integers(n, r, a_type, 0, a);
    if (zeros) add_integers(n, r, b_type, many, &b[1]);
    if (zeros && biased) add_tensor(n, r, 1, &b[1]);
    n->constant[1] = chance(r, 60);
    n->constant[5] = zeros && chance(r, 80);
    n->tolerance = 1e-5f;
    n->opset = 1;
}

void make_dynamic_matmul(random_node *n, random_source *r) {
    const int64_t a[2] = {draw(r, 1, 40), draw(r, 1, 300)}, b[2] = {a[1], draw(r, 1, 40)};
    const tort_type b_type = byte_type(r);
    const bool many = chance(r, 40);
    add_tensor(n, r, 2, a);
    add_integers(n, r, b_type, 2, b);
    add_scales(n, r, many, b[1]);
    add_integers(n, r, b_type, many, &b[1]);
    if (chance(r, 50)) add_tensor(n, r, 1, &b[1]);
    n->constant[1] = n->constant[3] = chance(r, 60);
    n->tolerance = 1e-5f;
    n->opset = 1;
}

void make_qgemm(random_node *n, random_source *r) {
    const int64_t m = draw(r, 1, 40), k = draw(r, 1, 300), columns = draw(r, 1, 40);
    const bool trans_a = chance(r, 40), trans_b = chance(r, 50), many = chance(r, 40);
    const int64_t a[2] = {trans_a ? k : m, trans_a ? m : k}, b[2] = {trans_b ? columns : k, trans_b ? k : columns};
    const int64_t c[2] = {chance(r, 50) ? m : 1, chance(r, 70) ? columns : 1};
    const tort_type a_type = byte_type(r), b_type = byte_type(r);
    add_integers(n, r, a_type, 2, a);
    add_scales(n, r, false, 1);
    add_integers(n, r, a_type, 0, a);
    add_integers(n, r, b_type, 2, b);
    add_scales(n, r, many, columns);
    add_integers(n, r, b_type, many, &columns);
    if (chance(r, 60))
        add_integers(n, r, TORT_INT32, 2, c);
    else
        add_absent(n);
    if (chance(r, 60)) {
        add_scales(n, r, false, 1);
        set_single(n, 16);
        add_integers(n, r, a_type, 0, a);
    }
    add_int(n, "transA", trans_a);
    add_int(n, "transB", trans_b);
    add_float(n, "alpha", chance(r, 50) ? 2 : 1);
    n->constant[3] = n->constant[5] = chance(r, 60);
    n->tolerance = 1e-5f;
    n->opset = 1;
}

void make_matmul_nbits(random_node *n, random_source *r) {
    const int64_t bits = pick(r, (const int64_t[]){2, 4, 8}, 3), block = pick(r, (const int64_t[]){16, 32, 128}, 3);
    const int64_t rows = pick(r, (const int64_t[]){1, 2, 7, 40}, 4), k = draw(r, 1, 300), columns = draw(r, 1, 70);
    const int64_t blocks = (k + block - 1) / block, a[2] = {rows, k};
    const int64_t b[3] = {columns, blocks, block * bits / 8}, scales[2] = {columns, blocks};
    const int64_t zeros[2] = {columns, (blocks * bits + 7) / 8}, kind = draw(r, 0, 2);
    add_tensor(n, r, 2, a);
    add_integers(n, r, TORT_UINT8, 3, b);
    add_tensor(n, r, 2, scales);
    if (kind == 0)
        add_absent(n);
    else if (kind == 1)
        add_integers(n, r, TORT_UINT8, 2, zeros);
    else
        add_tensor(n, r, 2, scales);
    add_absent(n);
    if (chance(r, 50)) add_tensor(n, r, 1, &columns);
    n->constant[1] = n->constant[2] = true;
    n->constant[3] = kind > 0;
    add_int(n, "N", columns);
    add_int(n, "K", k);
    add_int(n, "bits", bits);
    add_int(n, "block_size", block);
    add_int(n, "accuracy_level", chance(r, 50) ? 4 : 0);
    n->tolerance = 1e-3f;
    n->opset = 1;
}

/* ---- element by element, and windows ----------------------------------------------------------------------------- */

void make_qlinear_binary(random_node *n, random_source *r) {
    const int64_t whole[3] = {draw(r, 1, 5), draw(r, 1, 9), draw(r, 1, 60)};
    const int64_t part[3] = {whole[0], chance(r, 50) ? 1 : whole[1], chance(r, 50) ? 1 : whole[2]};
    const bool swapped = chance(r, 50);
    const tort_type type = byte_type(r);
    add_integers(n, r, type, 3, swapped ? part : whole);
    add_scales(n, r, false, 1);
    add_integers(n, r, type, 0, whole);
    const int32_t rank = (int32_t)draw(r, 1, 3);
    add_integers(n, r, type, rank, (swapped ? whole : part) + 3 - rank);
    add_scales(n, r, false, 1);
    add_integers(n, r, type, 0, whole);
    add_scales(n, r, false, 1);
    add_integers(n, r, type, 0, whole);
    n->opset = 1;
}

/* A list of one number a channel beside a picture, in blocks of channels. */
void make_qlinear_channels(random_node *n, random_source *r) {
    const int64_t x[4] = {draw(r, 1, 2), pick(r, (const int64_t[]){16, 21, 48}, 3), draw(r, 2, 12), draw(r, 1, 12)};
    const int64_t list[4] = {x[0], x[1], 1, 1};
    const bool swapped = chance(r, 50);
    const tort_type type = byte_type(r);
    for (int32_t i = 0; i < 2; i++) {
        add_integers(n, r, type, 4, swapped == (i == 0) ? list : x);
        add_scales(n, r, false, 1);
        add_integers(n, r, type, 0, x);
    }
    add_scales(n, r, false, 1);
    add_integers(n, r, type, 0, x);
    n->opset = 1;
}

void make_byte_table(random_node *n, random_source *r) {
    const int64_t dims[2] = {draw(r, 1, 5), draw(r, 0, 99)}, bytes = 256;
    add_integers(n, r, byte_type(r), 2, dims);
    add_integers(n, r, byte_type(r), 1, &bytes);
    n->constant[1] = chance(r, 70);
    n->opset = 1;
}

void make_qlinear_function(random_node *n, random_source *r) {
    const int64_t dims[2] = {draw(r, 1, 5), draw(r, 0, 99)};
    const tort_type type = byte_type(r);
    add_integers(n, r, type, 2, dims);
    for (int32_t i = 0; i < 2; i++) {
        add_scales(n, r, false, 1);
        add_integers(n, r, type, 0, dims);
    }
    n->opset = 1;
}

/* Half of them with the channels of x last. */
static void put_some_last(random_node *n, random_source *r) {
    n->opset = 1;
    if (chance(r, 50)) return;
    int64_t *dims = n->inputs[0].dims;
    const int64_t channels = dims[1];
    memmove(dims + 1, dims + 2, 2 * sizeof *dims);
    dims[3] = channels;
    add_int(n, "channels_last", 1);
}

void make_qlinear_mean(random_node *n, random_source *r) {
    const int64_t dims[4] = {draw(r, 1, 2), draw(r, 1, 20), draw(r, 1, 9), draw(r, 1, 9)};
    const tort_type type = byte_type(r);
    add_integers(n, r, type, 4, dims);
    for (int32_t i = 0; i < 2; i++) {
        add_scales(n, r, false, 1);
        add_integers(n, r, type, 0, dims);
    }
    put_some_last(n, r);
}

void make_qlinear_softmax(random_node *n, random_source *r) {
    make_qlinear_function(n, r);
    add_int(n, "opset", 13);
}

void make_qlinear_conv_of_microsoft(random_node *n, random_source *r) {
    make_qlinear_conv(n, r);
    put_some_last(n, r);
}

void make_qlinear_depthwise_of_microsoft(random_node *n, random_source *r) {
    make_qlinear_depthwise(n, r);
    put_some_last(n, r);
}

/* ---- to and from 8 bits ------------------------------------------------------------------------------------------ */

/* A scale and zero point for all of x, or one for each index of its axis 1. */
static void add_scale_and_zero(random_node *n, random_source *r, tort_type type, const int64_t *dims) {
    const bool many = chance(r, 40);
    add_scales(n, r, many, dims[1]);
    float *scales = n->inputs[1].data;
    for (int64_t i = 0; i < (many ? dims[1] : 1); i++) scales[i] *= 0.37f;
    if (many || chance(r, 70)) add_integers(n, r, type, many, dims + 1);
    n->opset = 13;
}

static void draw_dims(random_source *r, int64_t *dims) {
    dims[0] = draw(r, 1, 3);
    dims[1] = draw(r, 1, 9);
    dims[2] = pick(r, (const int64_t[]){0, 2, 7, 33, 700}, 5);
}

/* Infinities and NaN become bytes too. */
void make_quantize(random_node *n, random_source *r) {
    int64_t dims[3];
    draw_dims(r, dims);
    add_tensor(n, r, 3, dims);
    float *x = n->inputs[0].data;
    const int64_t count = dims[0] * dims[1] * dims[2];
    for (int64_t i = 0; i < count; i++) x[i] *= (float)draw(r, 1, 20);
    if (count > 5) x[0] = NAN, x[2] = INFINITY, x[4] = -INFINITY;
    add_scale_and_zero(n, r, byte_type(r), dims);
}

void make_dequantize(random_node *n, random_source *r) {
    const tort_type type = byte_type(r);
    int64_t dims[3];
    draw_dims(r, dims);
    add_integers(n, r, type, 3, dims);
    add_scale_and_zero(n, r, type, dims);
}

void make_dynamic_quantize(random_node *n, random_source *r) {
    const int64_t count = pick(r, (const int64_t[]){0, 1, 5, 63, 64, 200, 3000}, 7);
    add_tensor(n, r, 1, &count);
    float *x = n->inputs[0].data;
    const int64_t kind = draw(r, 0, 3);
    for (int64_t i = 0; i < count; i++) x[i] = kind == 0 ? 0 : kind == 1 ? fabsf(x[i]) : x[i] * 9;
    n->scalar_outputs = 2;
    n->opset = 11;
}

void make_quantize_of_microsoft(random_node *n, random_source *r) {
    make_quantize(n, r);
    n->opset = 1;
}

void make_dequantize_of_microsoft(random_node *n, random_source *r) {
    make_dequantize(n, r);
    n->opset = 1;
}
