/* byte_product.h - products of whole tensors of 8-bit integers on all threads, for MatMulInteger, QGemm and the
 * like. Read next: byte_gemm.h, byte_product.c. */
#ifndef TORT_KERNELS_CPU_BYTE_PRODUCT_H
#define TORT_KERNELS_CPU_BYTE_PRODUCT_H

#include "kernels/cpu/byte_gemm.h"
#include "kernels/cpu/cpu.h"
#include "ops/matmul.h"

/* Accepts nodes whose inputs a and b are bytes, on targets with inner loops for byte products. */
tort_verdict tort_byte_claim(const tort_target *target, const tort_node_view *node, int32_t a, int32_t b);
/* Accepts an input i that is absent, has one element or, if `many`, is a list (of one element per column). */
tort_verdict tort_byte_claim_numbers(const tort_node_view *node, int32_t i, const char *name, bool many);

/* pack_size and prepare for a constant B, input b. k_stride and column_stride are those of its elements. */
tort_status tort_byte_product_pack_size(const tort_target *target, int32_t b, int64_t n, int64_t k, size_t *bytes,
                                        uint32_t *consumed, tort_error *error);
tort_status tort_byte_product_prepare(tort_prepare *prepare, int32_t b, int64_t k_stride, int64_t column_stride,
                                      int64_t n, int64_t k);

/* Adds the scratch of tort_byte_product_run for products of m rows; false on overflow. */
bool tort_byte_product_reserve(const tort_target *target, int64_t m, int64_t k, bool b_packed, size_t *scratch);

/* Sets the stored forms of the operands of call; gemm's m, n and k are set already. Input b may be packed. */
void tort_byte_product_open(const tort_call *call, int32_t a, int32_t b, tort_byte_gemm *gemm);
/* Returns a zero point of one element as stored; NULL counts as 0. */
int32_t tort_byte_zero(const tort_tensor *zero, const tort_byte_sign *sign);
/* Returns the zero points of the columns; a list is stored in `each`, which has room for n. */
tort_byte_zeros tort_byte_zeros_of(const tort_tensor *zero, const tort_byte_sign *sign, int64_t n, int32_t *each);
/* Sets Y and its type; for int8 or uint8 also its zero point. */
void tort_byte_product_result(const tort_call *call, const tort_tensor *y_zero, tort_byte_gemm *gemm);

/* Multiplies on all threads. batches: NULL for one product, or one product per batch, at its offsets in A and B. */
void tort_byte_product_run(const tort_call *call, const tort_byte_gemm *gemm, const tort_matmul_params *batches,
                           uint8_t *buffers);

#endif
