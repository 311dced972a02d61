/* qgemm.h - params of QGemm, for every provider of the host. Read next: qgemm.c. */
#ifndef TORT_OPS_MICROSOFT_QGEMM_H
#define TORT_OPS_MICROSOFT_QGEMM_H

#include "runtime/include/op.h"

enum { /* inputs */
       TORT_QGEMM_A,
       TORT_QGEMM_A_SCALE,
       TORT_QGEMM_A_ZERO,
       TORT_QGEMM_B,
       TORT_QGEMM_B_SCALE,
       TORT_QGEMM_B_ZERO,
       TORT_QGEMM_C,
       TORT_QGEMM_Y_SCALE,
       TORT_QGEMM_Y_ZERO
};

/* Strides are in elements. Sizes that are not known yet, while providers claim nodes, are -1. */
typedef struct tort_qgemm {
    int64_t m, n, k;
    int64_t a_row_stride, a_k_stride, b_k_stride, b_column_stride;
    int64_t c_row_stride, c_column_stride; /* 0: the same number for all */
    float alpha;
    bool trans_b;
} tort_qgemm;

/* Widens A and B to floats, less their zero points, in their own layout; b NULL: not needed. */
void tort_qgemm_widen(const tort_call *call, float *a, float *b);
/* Fills the factors of the sums of columns first .. first+count-1, with 1 / y_scale if the node has one. */
void tort_qgemm_factors(const tort_call *call, int64_t first, int64_t count, float *factors);

#endif
