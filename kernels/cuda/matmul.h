/* matmul.h - interface between matmul.c and matmul.cu: matrix products of MatMul and Gemm. Plain C. */
#ifndef TORT_KERNELS_CUDA_MATMUL_H
#define TORT_KERNELS_CUDA_MATMUL_H

#include "kernels/cuda/epilogue.h"
#include "kernels/cuda/tiling.h"

/* The product y[b] = epilogue(alpha * A[b] * B[b] + beta * C), (m, k) by (k, n). Strides in elements; C and the
 * residual, which is laid out as Y, are NULL if absent. */
typedef struct gpu_matmul {
    int64_t m, n, k, batches;
    int64_t a_row, a_column, b_row, b_column; /* strides inside a matrix */
    int32_t batch_rank;
    int64_t batch_dims[TORT_MAX_RANK], a_batch[TORT_MAX_RANK], b_batch[TORT_MAX_RANK], c_batch[TORT_MAX_RANK];
    int64_t c_row, c_column;
    float alpha, beta;
    tort_epilogue epilogue;
} gpu_matmul;

enum { GPU_JOINED = 4 }; /* maximum of products of one A in one launch */

/* Operands of a batch; or of several products of one A, which then are the batch, each with its own B, C and Y. */
typedef struct gpu_matmul_operands {
    const void *a, *b, *c, *residual;
    void *y;
    const void *more_b[GPU_JOINED - 1], *more_c[GPU_JOINED - 1];
    void *more_y[GPU_JOINED - 1];
    int32_t joined; /* 0: a batch */
} gpu_matmul_operands;

/* Columns of a block of the kernel for few rows, for elements of so many bytes; 0: that kernel does not serve. Every
 * line that it reads consists of whole packs of 16 bytes; that operands begin at such packs is seen when it runs. */
static inline int32_t gpu_few_rows_columns(const gpu_matmul *p, int64_t bytes) {
    const int64_t pack = 16 / bytes, b_line = p->b_row == 1 ? p->b_column : p->b_row;
    bool packs = p->m <= GPU_FEW_ROWS && p->a_column == 1 && (p->b_row == 1 || p->b_column == 1);
    packs = packs && p->k > 0 && p->k % pack == 0 && p->a_row % pack == 0 && b_line % pack == 0;
    packs = packs && (p->b_row == 1 || (p->n >= pack && p->n % pack == 0));
    for (int32_t i = 0; packs && i < p->batch_rank; i++)
        packs = p->batch_dims[i] == 1 || (p->a_batch[i] % pack == 0 && p->b_batch[i] % pack == 0);
    return !packs ? 0 : p->b_row == 1 ? GPU_FEW_COLUMNS_ALONG_K : (int32_t)(32 * pack);
}

GPU_LAUNCHER gpu_run_matmul(gpu_stream stream, gpu_type type, const gpu_matmul *p, const gpu_matmul_operands *o,
                            const gpu_tiling *tiling, const gpu_parts *parts);
GPU_LAUNCHER gpu_load_matmul(gpu_type type);

#endif
