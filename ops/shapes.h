/* shapes.h - what the infer and resolve functions of data-moving operators share: axes, products and quotients of
 * symbolic dimensions. The numbers that inputs hold are contents.h's.
 *
 * Symbolic results never guess: what cannot be expressed is a fresh unknown. Sizes are checked for overflow. */
#ifndef TORT_OPS_SHAPES_H
#define TORT_OPS_SHAPES_H

#include "ops/contents.h"

/* Brings `count` axes into 0..rank-1 in place. TORT_E_MODEL if one is out of range or named twice. */
tort_status tort_normalize_axes(tort_error *error, int64_t *axes, int32_t count, int32_t rank);

/* A dim of a value as far as it is a known number, else (an unknown rank, no such axis) -1. */
static inline int64_t tort_known_dim(const tort_info *info, int32_t axis) {
    return axis >= 0 && axis < info->rank && tort_dim_known(info->dims[axis]) ? info->dims[axis] : -1;
}

/* The number of elements of a shape. */
tort_dim tort_dim_product(tort_dims *dims, int32_t rank, const tort_dim *shape);
/* The product of `above` over the product of `below`, which is known to divide it, with common factors cancelled. */
tort_dim tort_dim_quotient(tort_dims *dims, int32_t above_count, const tort_dim *above, int32_t below_count,
                           const tort_dim *below);
/* True if a scalar cannot be negative: a number >= 0, or an expression of sizes that has no difference in it. */
bool tort_scalar_nonnegative(const tort_dims *dims, tort_scalar scalar);

/* The two dims must be equal: the known one of them. TORT_E_MODEL when both are known and differ. */
tort_status tort_dim_unify(tort_error *error, int32_t axis, tort_dim a, tort_dim b, tort_dim *out);

/* a + b and a * b of sizes >= 0, at least one of them from the model; TORT_E_MODEL on overflow. */
tort_status tort_size_add(tort_error *error, int64_t a, int64_t b, int64_t *out);
tort_status tort_size_mul(tort_error *error, int64_t a, int64_t b, int64_t *out);

/* Output o gets this rank and unknown dims. */
void tort_infer_unknown_dims(const tort_infer *infer, int32_t o, tort_type type, int32_t rank);
/* Output o gets this type and nothing else. */
void tort_infer_unknown(const tort_infer *infer, int32_t o, tort_type type);

/* TORT_E_UNSUPPORTED if a rank is above TORT_MAX_RANK. */
tort_status tort_check_rank(tort_error *error, int64_t rank);

#endif
