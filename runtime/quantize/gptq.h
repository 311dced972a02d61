/* gptq.h - a matrix in 4 or 8 bits with one scale a block of its rows: rounded to the nearest code, or by GPTQ, which
 * makes each row's rounding up for that of the rows before it. */
#ifndef TORT_QUANTIZE_GPTQ_H
#define TORT_QUANTIZE_GPTQ_H

#include <stdbool.h>
#include <stdint.h>

/* The right operand of a product, K x N: element (k, n) is at weights[k * k_step + n * n_step]. Codes and scales are
 * those of MatMulNBits: by n, then by block, then by k; a code less its zero (8 or 128) is the number of steps. */
typedef struct tort_block_matrix {
    const float *weights;
    int64_t k, n, k_step, n_step;
    int32_t bits, block;
    uint8_t *codes; /* n x blocks x block * bits / 8 */
    float *scales;  /* n x blocks */
} tort_block_matrix;

static inline int64_t tort_block_count_of(const tort_block_matrix *matrix) { /* blocks of a column, the last padded */
    return (matrix->k + matrix->block - 1) / matrix->block;
}

/* Adds the products of each two elements of `count` rows of k inputs to the lower triangle of sums, k x k. room: 8 k
 * doubles. */
void tort_gptq_add(double *sums, int64_t k, const float *rows, int64_t count, double *room);
/* Damps the sums, and replaces them by their factor. False: they are not finite. */
bool tort_gptq_factor(double *sums, int64_t k);

/* Doubles of room for tort_block_quantize. */
int64_t tort_block_room(const tort_block_matrix *matrix);
/* Fills codes, which are 0, and scales. factor: of the matrix's inputs, by tort_gptq_factor; NULL: to the nearest code.
 */
void tort_block_quantize(const tort_block_matrix *matrix, const double *factor, double *room);

#endif
