/* packed_gemm.h - a matrix product over packed panels, cut into blocks that fit the caches.
 *
 * C (m, n) = A (m, k) * B (k, n). Each operand is packed ahead (a weight), or block by block into a buffer during
 * the run. This file knows neither operators nor threads: callers give each thread its part of C and a buffer.
 * Read next: packed_gemm.c for the algorithm, then matmul.c and conv.c, which use it. */
#ifndef TORT_KERNELS_CPU_PACKED_GEMM_H
#define TORT_KERNELS_CPU_PACKED_GEMM_H

#include "kernels/cpu/pieces.h"

#include <stddef.h>

#define TORT_PACKED_DEPTH 384 /* of a block of k: operands packed ahead are stored block by block */

typedef struct tort_packed_gemm {
    const tort_call *call; /* the product ends with its run, incomplete */
    const tort_simd *simd;
    int64_t m, n, k;
    /* A: packed by tort_pack_a, or as it is in memory, multiplied by scale. */
    const float *packed_a;
    const float *a;
    int64_t a_row_stride, a_k_stride;
    float scale;
    /* B: packed by tort_pack_b, or made by pack_b: rows k_first .. +k_count of `columns` columns from column_first
     * on. */
    const float *packed_b;
    void (*pack_b)(const struct tort_packed_gemm *gemm, int64_t k_first, int64_t k_count, int64_t column_first,
                   int32_t columns, float *panel);
    const float *b;
    int64_t b_k_stride, b_column_stride; /* for tort_pack_b_matrix */
    const void *b_arg;                   /* for other functions pack_b */
    float *c;
    int64_t c_stride;
    const float *row_bias, *column_bias; /* m and n elements, or NULL */
    bool accumulate;                     /* C += A * B; neither biases nor a residual are added then */
    const float *residual;               /* (m, n), rows c_stride apart; may be C, or NULL */
    const tort_epilogue *epilogue; /* its activation is applied to C, tile by tile, once sums are complete; or NULL */
} tort_packed_gemm;

/* Returns the floats of an operand packed ahead. */
int64_t tort_packed_a_size(const tort_simd *simd, int64_t m, int64_t k);
int64_t tort_packed_b_size(const tort_simd *simd, int64_t n, int64_t k);
/* Packs A, or B times scale. watch: of the run or of the session that is made, with which it may end. */
void tort_pack_a(struct tort_watch *watch, const tort_simd *simd, float *packed, const float *a, int64_t row_stride,
                 int64_t k_stride, int64_t m, int64_t k);
void tort_pack_b(struct tort_watch *watch, const tort_simd *simd, float *packed, const float *b, int64_t k_stride,
                 int64_t column_stride, int64_t n, int64_t k, float scale);
/* A part of B: rows k_first..k_last, columns n_first..n_last. Columns are multiples of the tile, except at the end
 * of B. */
typedef struct tort_b_part {
    int64_t k_first, k_last, n_first, n_last;
} tort_b_part;
/* Packs a part of B, which begins at b, to its place in the result of tort_pack_b. All parts together write every
 * byte. */
void tort_pack_b_part(const tort_simd *simd, float *packed, const float *b, int64_t k_stride, int64_t column_stride,
                      int64_t n, int64_t k, float scale, const tort_b_part *part);
/* Implements pack_b for a matrix B with strides. */
void tort_pack_b_matrix(const tort_packed_gemm *gemm, int64_t k_first, int64_t k_count, int64_t column_first,
                        int32_t columns, float *panel);

/* Returns the bytes of the buffer that tort_packed_gemm_block needs for operands not packed ahead. */
size_t tort_packed_gemm_buffer(const tort_simd *simd, bool a_packed, bool b_packed);
/* Makes rows m_first..m_last and columns n_first..n_last of C; both firsts are multiples of the tile. */
void tort_packed_gemm_block(const tort_packed_gemm *gemm, int64_t m_first, int64_t m_last, int64_t n_first,
                            int64_t n_last, float *buffer);

#endif
