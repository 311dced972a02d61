/* matmul.h - params of MatMul and its kin, shared by the kernels of all devices; and rows of matrix products for the
 * plain loops of MatMul, Gemm and their kin. Read next: matmul.c. */
#ifndef TORT_OPS_MATMUL_H
#define TORT_OPS_MATMUL_H

#include "ops/epilogue.h"

/* alpha times `batches` products of (m, k) and (k, n). Batch dimensions are those of Y before its last two; a 1-D A is
 * a row, a 1-D B a column. Strides are in elements; those of the batch are 0 where a matrix is used again; within a
 * matrix that of rows or of columns is 1, unless there is only one. Sizes that are not known yet, while providers claim
 * nodes, are -1. */
typedef struct tort_matmul_params {
    int64_t m, n, k, batches;
    int64_t a_row, a_column, b_row, b_column; /* between rows and columns of a matrix */
    float alpha;
    int32_t batch_rank;
    int64_t batch_dims[TORT_MAX_RANK], a_strides[TORT_MAX_RANK], b_strides[TORT_MAX_RANK];
    tort_epilogue epilogue; /* of FusedMatMul, whose bias is input 2; all zero for every other operator */
} tort_matmul_params;

/* JoinedMatMul: output i is X * W_i + bias_i. Inputs: X, then `count` W of one shape, then as many biases or none. */
typedef struct tort_joined_matmul_params {
    tort_matmul_params product; /* each product */
    int32_t count;
    bool biased;
} tort_joined_matmul_params;

tort_status tort_infer_matmul(tort_infer *infer);       /* inputs A and B */
tort_status tort_resolve_matmul(tort_resolve *resolve); /* params are tort_matmul_params */

/* Element offsets of the matrices of product number `batch`. */
void tort_matmul_offsets(const tort_matmul_params *params, int64_t batch, int64_t *a, int64_t *b);

/* A row of a product: k elements of A from a_first on, a_step apart; B from b_first on, its rows b_row_step and its
 * columns b_column_step apart. */
typedef struct tort_product_row {
    struct tort_watch *watch; /* NULL: nothing ends the product */
    const void *a, *b;
    int64_t k, a_first, a_step, b_first, b_row_step, b_column_step;
} tort_product_row;

/* Computes acc[0 .. columns) of a row, in double, from float or double matrices. */
void tort_product_floats(tort_type type, const tort_product_row *row, int64_t columns, double *acc);
/* The same for int32, uint32, int64 or uint64 matrices, modulo 2^64. */
void tort_product_integers(tort_type type, const tort_product_row *row, int64_t columns, uint64_t *acc);

#endif
