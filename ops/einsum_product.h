/* einsum_product.h - Einsum of two operands as matrix products, for every provider.
 *
 * Labels have roles: in both operands and the output, a label counts products (LOOP); in one operand and the output,
 * rows or columns; in both operands only, the sum (DEPTH). Labels that are contiguous in all tensors are folded to
 * one. Of the labels left in each role one makes the matrix, the others are loops around it.
 * Example: "bhqd,bhkd->bhqk" has loops b, h folded to one, rows q, columns k and depth d. */
#ifndef TORT_OPS_EINSUM_PRODUCT_H
#define TORT_OPS_EINSUM_PRODUCT_H

#include "ops/einsum.h"
#include "runtime/include/provider.h"

/* A label, or several folded to one: its size and its strides in A, B and the output. */
typedef struct tort_einsum_axis {
    int64_t size, a, b, c;
} tort_einsum_axis;

typedef struct tort_einsum_axes {
    int32_t count;
    tort_einsum_axis axes[TORT_EINSUM_LABELS];
} tort_einsum_axes;

typedef struct tort_einsum_product {
    tort_einsum_axis row, column, depth; /* of one product */
    tort_einsum_axes loops, sums;        /* loops over products, loops over products that are added up */
    bool swapped;                        /* A is the second operand */
} tort_einsum_product;

/* Accepts two operands of known ranks that are multiplied before they are summed up. */
tort_verdict tort_einsum_claim_product(const tort_einsum_params *params);
/* True if they are summed up along some label, rather than only multiplied. */
bool tort_einsum_sums(const tort_einsum_params *params);
/* Makes the product of a claimed node, whose shapes are known. Columns are contiguous in the output if any label is. */
void tort_einsum_product_of(const tort_einsum_params *params, tort_einsum_product *product);
/* The product of the sizes. */
int64_t tort_einsum_count(const tort_einsum_axes *axes);

#endif
