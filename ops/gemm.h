/* gemm.h - params of Gemm and FusedGemm; shared by the kernels of all devices. Read next: gemm.c. */
#ifndef TORT_OPS_GEMM_H
#define TORT_OPS_GEMM_H

#include "ops/epilogue.h"

/* Y = alpha * A' * B' + beta * C; A' is (m, k), B' is (k, n), Y is (m, n). A is (k, m) if trans_a, B (n, k) if trans_b.
 * Sizes that are not known yet, while providers claim nodes, are -1. */
typedef struct tort_gemm_params {
    int64_t m, n, k;
    bool trans_a, trans_b;
    bool has_c; /* false also when beta is 0 */
    float alpha, beta;
    int64_t c_row_stride, c_column_stride; /* strides of C broadcast to Y, in elements; 0 where repeated */
    tort_epilogue epilogue;                /* of FusedGemm; all zero for Gemm */
} tort_gemm_params;

#endif
