/* shapes.h - shared by the infer and resolve functions of data-moving operators: axes, products and quotients of
 * symbolic dimensions. contents.h reads the numbers that inputs hold.
 *
 * Symbolic results never guess: a result that cannot be expressed is a fresh unknown. Sizes are checked for
 * overflow. */
#ifndef TORT_OPS_SHAPES_H
#define TORT_OPS_SHAPES_H

#include "ops/contents.h"

/* Brings `count` axes into 0..rank-1 in place. TORT_E_MODEL if one is out of range or named twice. */
tort_status tort_normalize_axes(tort_error *error, int64_t *axes, int32_t count, int32_t rank);

/* Dimension of a value if it is a known number, else -1 (also if the rank is unknown or has no such axis). */
static inline int64_t tort_known_dim(const tort_info *info, int32_t axis) {
    return axis >= 0 && axis < info->rank && tort_dim_known(info->dims[axis]) ? info->dims[axis] : -1;
}

/* Number of elements of a shape. */
tort_dim tort_dim_product(tort_dims *dims, int32_t rank, const tort_dim *shape);
/* Product of `above` divided by the product of `below`, which is known to divide it; common factors cancel. */
tort_dim tort_dim_quotient(tort_dims *dims, int32_t above_count, const tort_dim *above, int32_t below_count,
                           const tort_dim *below);
/* True if a scalar cannot be negative: a number >= 0, or an expression of sizes that has no difference in it. */
bool tort_scalar_nonnegative(const tort_dims *dims, tort_scalar scalar);

/* Unites two dimensions that must be equal: *out is the known one. TORT_E_MODEL if both are known and differ. */
tort_status tort_dim_unify(tort_error *error, int32_t axis, tort_dim a, tort_dim b, tort_dim *out);

/* a + b and a * b of sizes from the model; TORT_E_MODEL on overflow. */
tort_status tort_size_add(tort_error *error, int64_t a, int64_t b, int64_t *out);
tort_status tort_size_mul(tort_error *error, int64_t a, int64_t b, int64_t *out);

/* Gives output o a type, a rank, and unknown dimensions. */
void tort_infer_unknown_dims(const tort_infer *infer, int32_t o, tort_type type, int32_t rank);
/* Gives output o a type, and an unknown shape. */
void tort_infer_unknown(const tort_infer *infer, int32_t o, tort_type type);

/* TORT_E_UNSUPPORTED if a rank is above TORT_MAX_RANK. */
tort_status tort_check_rank(tort_error *error, int64_t rank);

#endif
