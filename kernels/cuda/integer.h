/* integer.h - products of 8-bit tensors with exact 32-bit sums: what becomes of a sum, and how B is packed. Plain C;
 * for integer_matmul.c, conv_bytes.c and their kernels.
 *
 * With zero points a and b, the sum of (A - a) (B - b) over k is
 *
 *     sum of A B  -  a * sum of B's column  -  b * sum of A's row  +  k a b
 *
 * so the tensor cores multiply bytes as they are. Columns are summed when B is packed; rows of A only where b is not
 * known to be 0. A uint8 B is packed as int8, less 128, and so is its zero point. */
#ifndef TORT_KERNELS_CUDA_INTEGER_H
#define TORT_KERNELS_CUDA_INTEGER_H

#include "kernels/cuda/qlinear.h"

/* Kinds of outputs: the sums (modulo 2^32); floats, sums times scales; bytes, floats rounded to steps of the output's
 * scale, as QLinearConv-10 and QLinearMatMul-10 say. */
typedef enum gpu_sums_as { GPU_SUMS_INT32, GPU_SUMS_FLOAT, GPU_SUMS_HALF, GPU_SUMS_BYTES } gpu_sums_as;

/* A number for all, or one for each row or column: number i * step; NULL: none. */
typedef struct gpu_numbers {
    const void *at;
    int32_t step;
} gpu_numbers;

/* What QLinearConvAdd adds to the bytes of the sums, which are A of a QLinearAdd, or B. */
typedef struct gpu_added {
    const void *bytes; /* of the shape and type of the output; NULL: nothing */
    bool second;       /* the sums are B */
    gpu_linear from, to;
} gpu_added;

/* Zero points have the type of their tensor; the bias of columns is
 * int32 and part of the sums, or of the type of scales and added to the output. */
typedef struct gpu_sums {
    gpu_sums_as as;
    bool a_signed, b_signed, y_signed;
    bool bias_in_sums, half_scales;                     /* scales are halves, else floats */
    gpu_numbers a_zero, a_scale, b_zero, b_scale, bias; /* of rows, rows, columns, columns, columns */
    const void *y_scale, *y_zero;
    gpu_added added;         /* then y_scale and y_zero are those of the bytes before it */
    const int32_t *row_sums; /* NULL: the zero points of B are 0 */
    int64_t k;
} gpu_sums;

/* A packed B: its columns one after another, each a line of k bytes and zeros up to a multiple of 16, then the sum of
 * each line as int32. */
static inline int64_t gpu_byte_line(int64_t k) {
    return (k + 15) / 16 * 16;
}
/* Bytes of a packed matrix, a multiple of 16. */
static inline int64_t gpu_byte_matrix(int64_t n, int64_t k) {
    return n * gpu_byte_line(k) + (n + 3) / 4 * 16;
}

/* Products of a sum that cannot exceed 32 bits: 255 * 255 each. */
enum { GPU_BYTE_PRODUCTS = 33025 };

/* Operands of a product: A, B packed, and the output. */
typedef struct gpu_byte_operands {
    const void *a, *packed;
    void *y;
} gpu_byte_operands;

struct tort_integer_inputs; /* ops/integer_matmul.h; A is X of a convolution, B is W */

/* Refuses sums of more products (< 0: not known), which could exceed 32 bits. */
tort_verdict tort_cuda_claim_byte_sums(int64_t products);
/* True if the zero point of B is known; *zero: less 128 of uint8. */
bool tort_cuda_byte_zero(const tort_node_view *node, const struct tort_integer_inputs *in, int32_t *zero);
/* What becomes of the sums of a call; row_sums and k are the caller's. */
gpu_sums tort_cuda_sums_of(const tort_call *call, const struct tort_integer_inputs *in);

#endif
