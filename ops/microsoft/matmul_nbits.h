/* matmul_nbits.h - params of MatMulNBits, for every provider of the host.
 *
 * B is (n, blocks, block * bits / 8) bytes: a row for each column of the product, with its numbers one after another,
 * low bits first. Each block of a column has a scale and a zero point. Read next: matmul_nbits.c. */
#ifndef TORT_OPS_MICROSOFT_MATMUL_NBITS_H
#define TORT_OPS_MICROSOFT_MATMUL_NBITS_H

#include "ops/numeric.h"

enum { /* inputs */
       TORT_NBITS_A,
       TORT_NBITS_B,
       TORT_NBITS_SCALES,
       TORT_NBITS_ZEROS,
       TORT_NBITS_GROUPS,
       TORT_NBITS_BIAS
};

typedef struct tort_nbits {
    int64_t m, n, k; /* m is -1 while not known */
    int64_t block, blocks;
    tort_type type;       /* of the numbers: UINT2, UINT4 or UINT8 */
    bool grouped;         /* g_idx gives the block whose scale an element has */
    bool quantizes_a;     /* accuracy_level 4: A is rounded to int8, with a scale of its own for each block of a row */
    tort_type zeros_type; /* UNDEFINED: zero points are half of the range; UINT8: packed as B is; else floats */
} tort_nbits;

/* Loads numbers first .. first+count-1 of column j, before scale and zero point. */
static inline void tort_nbits_load(const tort_nbits *p, const void *b, int64_t j, int64_t first, int64_t count,
                                   float *out) {
    tort_load_floats(p->type, b, j * p->blocks * p->block + first, count, out);
}

/* Zero point of a block of column j; `zeros`: the node's input, NULL if absent (half of the range). */
float tort_nbits_zero(const tort_nbits *p, const void *zeros, int64_t j, int64_t block);

/* Scale that rounds `count` elements to int8: the largest magnitude becomes 127. 0 if all are 0. */
float tort_nbits_scale_of(const float *a, int64_t count);
/* Input A as floats. */
void tort_nbits_load_a(const tort_call *call, float *out);

#endif
