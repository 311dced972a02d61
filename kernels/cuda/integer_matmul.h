/* integer_matmul.h - interface between integer_matmul.c and integer_matmul.cu: products of 8-bit matrices. Plain C. */
#ifndef TORT_KERNELS_CUDA_INTEGER_MATMUL_H
#define TORT_KERNELS_CUDA_INTEGER_MATMUL_H

#include "kernels/cuda/integer.h"
#include "kernels/cuda/tiling.h"

/* `batches` products (m, k) by (k, n). The elements of A's rows are adjacent, and its rows. Strides of the batch: in
 * elements of A, in matrices of B. */
typedef struct gpu_integer_matmul {
    int64_t m, n, k, batches;
    int64_t line, matrix; /* bytes of a packed column, and of a packed matrix (integer.h) */
    int32_t batch_rank;
    int64_t batch_dims[TORT_MAX_RANK], a_batch[TORT_MAX_RANK], b_batch[TORT_MAX_RANK];
    gpu_sums sums;
} gpu_integer_matmul;

/* o->packed: all matrices of B, one after another, each as integer.h says. */
GPU_LAUNCHER gpu_run_integer_matmul(gpu_stream stream, const gpu_integer_matmul *p, const gpu_byte_operands *o,
                                    const gpu_tiling *tiling, const gpu_parts *parts);
/* Packs `matrices` matrices (k, n) of bytes, which are stored by rows or by columns. */
GPU_LAUNCHER gpu_pack_bytes(gpu_stream stream, const void *b, bool by_columns, bool is_signed, int64_t matrices,
                            int64_t n, int64_t k, void *packed);
/* sums[i] = the sum of row i of `rows` rows of k bytes. */
GPU_LAUNCHER gpu_sum_byte_rows(gpu_stream stream, const void *a, bool is_signed, int64_t rows, int64_t k,
                               int32_t *sums);
GPU_LAUNCHER gpu_load_integer_matmul(bool a_signed);

/* pack.size and prepare of rows with a B that may be constant, which is packed then. */
tort_status tort_cuda_pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes,
                                uint32_t *consumed, tort_error *error);
tort_status tort_cuda_pack(tort_prepare *prepare);

#endif
