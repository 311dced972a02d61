/* product.h - matrix products of whole tensors on all threads, for MatMul and Gemm. Read next: product.c. */
#ifndef TORT_KERNELS_CPU_PRODUCT_H
#define TORT_KERNELS_CPU_PRODUCT_H

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/packed_gemm.h"
#include "ops/matmul.h"

/* pack_size and prepare for a constant B (k, n), input 1, multiplied by scale. */
tort_status tort_product_pack_size(const tort_target *target, int64_t n, int64_t k, size_t *bytes, uint32_t *consumed,
                                   tort_error *error);
tort_status tort_product_prepare(tort_prepare *prepare, int64_t k_stride, int64_t column_stride, int64_t n, int64_t k,
                                 float scale);
/* True if B is a constant of rank 2: one matrix for all batches, packed ahead. */
bool tort_product_packs_b(const tort_node_view *node);
tort_status tort_product_size(const tort_target *target, const tort_node_view *node, size_t *scratch,
                              tort_error *error);
/* Likewise, whatever the rank of B: b_packed tells whether it is packed ahead. */
tort_status tort_product_reserve(const tort_target *target, bool b_packed, size_t *scratch, tort_error *error);
/* Makes the product that gemm describes; its simd and packed_b are set from call. batches: NULL, or one product per
 * batch is made, at its offsets in A and B. buffers: the part of scratch that tort_product_size reserved. */
tort_status tort_product_run(const tort_call *call, tort_packed_gemm *gemm, const tort_matmul_params *batches,
                             void *buffers);
/* True if all batches are one product: the rows of A are contiguous, and B is the same for all. */
bool tort_product_is_one(const tort_matmul_params *params);

#endif
