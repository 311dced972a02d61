/* byte_gemm.h - an exact product of matrices of 8-bit integers over packed panels, with requantization.
 *
 * Y (m, n) = (A - row_zero) * (B - column_zero), summed modulo 2^32. Rows or columns are packed ahead (weights), or
 * into a buffer during the run. It knows neither operators nor threads: callers give each thread its part of Y and a
 * buffer.
 * Read next: bytes.h, byte_gemm.c; byte_product.h and byte_conv.c, which use it. */
#ifndef TORT_KERNELS_CPU_BYTE_GEMM_H
#define TORT_KERNELS_CPU_BYTE_GEMM_H

#include "kernels/cpu/pieces.h"

/* Form in which an operand's bytes are stored: possibly with their highest bit flipped to change the sign. */
typedef struct tort_byte_sign {
    uint8_t flip;
    bool is_signed; /* as stored */
    int32_t shift;  /* added to zero points */
} tort_byte_sign;

/* Returns the stored form of an operand of int8 or uint8. Weights are stored signed and the other operand unsigned,
 * unless the tile wants both signed. */
tort_byte_sign tort_byte_sign_of(const tort_bytes *bytes, tort_type type, bool is_weight);

/* A matrix in memory: its lines are rows of A or columns of B. */
typedef struct tort_byte_matrix {
    const uint8_t *data;
    int64_t line_stride, k_stride;
    tort_byte_sign sign;
} tort_byte_matrix;

/* An operand packed ahead: the panels, then the sum of each line as stored. */
typedef struct tort_packed_bytes {
    const uint8_t *panels; /* NULL: not packed ahead */
    const int32_t *sums;
    /* Lists of columns, if tort_bytes.turned: sums of tort_turned, but for safe words; and for each panel the number of
     * these and tort_byte_tile.order, or 0 and nothing; NULL where k is very long. */
    const int32_t *turned, *order;
} tort_packed_bytes;

/* Zero points as stored: one per line, or `one` for all. */
typedef struct tort_byte_zeros {
    const int32_t *each; /* NULL: `one` */
    int32_t one;
} tort_byte_zeros;

typedef struct tort_byte_gemm {
    const tort_call *call; /* the product ends with its run, incomplete */
    const tort_simd *simd;
    const tort_bytes *bytes;
    int64_t m, n, k; /* k as stored: it may have gaps, in which the rows are 0 */
    bool unsigned_rows;
    tort_packed_bytes packed_rows, packed_columns;
    tort_byte_matrix a, b; /* used where not packed ahead */
    /* Makes the panel of `columns` columns from column_first on, in place of b; then `ones`, a packed row of as many
     * ones as there are products, is required if the rows have zero points. */
    void (*pack)(const struct tort_byte_gemm *gemm, int64_t column_first, int32_t columns, uint8_t *panel);
    const void *pack_arg;
    const uint8_t *ones;
    int64_t products;                        /* per sum: k without gaps */
    tort_byte_zeros row_zeros, column_zeros; /* at most one of them has a list */
    /* (sum + bias) * factor; a list that is NULL counts as 0, or 1. */
    const int32_t *row_bias, *column_bias;
    const float *row_factors, *column_factors, *column_floats; /* column_floats: added to float results */
    tort_byte_result result;
    tort_type y_type;
    int32_t y_zero_point;
    void *y;
    int64_t y_stride; /* elements */
} tort_byte_gemm;

/* Returns the bytes of `lines` rows, or columns, of k bytes that are packed ahead; -1: overflow. */
int64_t tort_packed_byte_rows_size(const tort_bytes *bytes, int64_t lines, int64_t k);
int64_t tort_packed_byte_columns_size(const tort_bytes *bytes, int64_t lines, int64_t k);
/* watch: of the session that is made, with which packing may end. */
void tort_pack_byte_rows(struct tort_watch *watch, const tort_simd *simd, const tort_bytes *bytes, uint8_t *packed,
                         const tort_byte_matrix *a, int64_t lines, int64_t k);
void tort_pack_byte_columns(struct tort_watch *watch, const tort_simd *simd, const tort_bytes *bytes, uint8_t *packed,
                            const tort_byte_matrix *b, int64_t lines, int64_t k);
tort_packed_bytes tort_packed_byte_rows(const tort_bytes *bytes, const void *packed, int64_t lines, int64_t k);
tort_packed_bytes tort_packed_byte_columns(const tort_bytes *bytes, const void *packed, int64_t lines, int64_t k);

#define TORT_EXACT_PRODUCTS 16000 /* upper limit of products per sum for float requantization */
/* True if float arithmetic requantizes sums of at most TORT_EXACT_PRODUCTS products exactly with such factors (NULL:
 * 1); otherwise doubles are needed. */
bool tort_byte_factors_exact(const float *factors, int64_t count);

/* Returns the bytes of the buffer of tort_byte_gemm_block, which must be aligned to 64; -1: overflow. */
int64_t tort_byte_gemm_buffer(const tort_bytes *bytes, int64_t m, int64_t k, bool rows_packed, bool columns_packed);
/* Makes rows m_first..m_last and columns n_first..n_last of Y; both firsts are multiples of the tile. */
void tort_byte_gemm_block(const tort_byte_gemm *gemm, int64_t m_first, int64_t m_last, int64_t n_first, int64_t n_last,
                          uint8_t *buffer);

#endif
