/* moe_matrix.h - the matrices of the experts of MoE and QMoE: (experts, rows, depth), of floats or of 2, 4 or 8 bits
 * with a scale for each row, or for each block of one. Read next: moe_matrix.c. */
#ifndef TORT_OPS_MICROSOFT_MOE_MATRIX_H
#define TORT_OPS_MICROSOFT_MOE_MATRIX_H

#include "ops/numeric.h"

typedef struct tort_moe_matrix {
    int64_t rows, depth;                  /* of one expert; rows 0: no such matrix */
    int32_t weights, scales, zeros, bias; /* inputs; -1: absent */
    tort_type type;                       /* of the numbers: UINT2, UINT4, UINT8, or a float type */
    int64_t block, blocks;                /* of scales; `depth` and 1 if a row has one scale */
    int64_t zeros_row;                    /* stride of zero points between rows (if blocked), or between experts */
} tort_moe_matrix;

/* Bits of the weights of product 0, 1 or 2 of QMoE; 8 if the attribute is not 2, 4 or 8. */
int64_t tort_moe_bits(const tort_node_view *node, int32_t product);
/* Reads a matrix. inputs: indices of weights, scales, zero points and bias. TORT_E_MODEL for shapes that do not fit. */
tort_status tort_moe_matrix_read(const tort_resolve *resolve, int32_t product, const int32_t *inputs, int64_t experts,
                                 int64_t rows, int64_t depth, tort_moe_matrix *matrix);
/* Computes y (rows) = the matrix of an expert times x (depth) + bias. */
void tort_moe_matrix_multiply(const tort_call *call, const tort_moe_matrix *matrix, int64_t expert, const float *x,
                              float *y);

#endif
