/* shapes.c - see shapes.h. Read next: metadata.c, whose Reshape uses most of it. */
#include "ops/shapes.h"

#include <string.h>

/* ---- axes and lists ----------------------------------------------------------------------------------------- */

tort_status tort_normalize_axes(tort_error *error, int64_t *axes, int32_t count, int32_t rank) {
    uint64_t seen = 0;
    for (int32_t k = 0; k < count; k++) {
        int32_t axis = 0;
        tort_status status = tort_normalize_axis(error, axes[k], rank, &axis);
        if (status) return status;
        if (seen >> axis & 1) return tort_fail(error, TORT_E_MODEL, "axes name axis %d more than once", (int)axis);
        seen |= 1ull << axis;
        axes[k] = axis;
    }
    return TORT_OK;
}

tort_status tort_check_rank(tort_error *error, int64_t rank) {
    if (rank <= TORT_MAX_RANK) return TORT_OK;
    return tort_fail(error, TORT_E_UNSUPPORTED, "the output would have rank %lld; tensors have at most %d dimensions",
                     (long long)rank, TORT_MAX_RANK);
}

/* ---- sizes -------------------------------------------------------------------------------------------------- */

tort_status tort_size_add(tort_error *error, int64_t a, int64_t b, int64_t *out) {
    if (!__builtin_add_overflow(a, b, out)) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "a dimension of %lld + %lld does not fit 64 bits", (long long)a,
                     (long long)b);
}

tort_status tort_size_mul(tort_error *error, int64_t a, int64_t b, int64_t *out) {
    if (!__builtin_mul_overflow(a, b, out)) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "a dimension of %lld * %lld does not fit 64 bits", (long long)a,
                     (long long)b);
}

tort_status tort_dim_unify(tort_error *error, int32_t axis, tort_dim a, tort_dim b, tort_dim *out) {
    if (tort_dim_known(a) && tort_dim_known(b) && a != b) {
        return tort_fail(error, TORT_E_MODEL, "inputs have %lld and %lld elements along axis %d; they must be equal",
                         (long long)a, (long long)b, (int)axis);
    }
    *out = tort_dim_known(b) ? b : a;
    return TORT_OK;
}

/* ---- products and quotients --------------------------------------------------------------------------------- */

/* A product: a number times symbolic factors that are not products themselves. */
enum { MAX_FACTORS = 32 };
typedef struct factors {
    int64_t number;
    tort_dim symbols[MAX_FACTORS];
    int32_t count;
    bool overflow; /* too large a number or too many symbols: nothing can be said */
} factors;

static void factors_add(const tort_dims *dims, factors *f, tort_dim d) {
    if (tort_dim_known(d)) {
        f->overflow |= __builtin_mul_overflow(f->number, d, &f->number);
        return;
    }
    const tort_dim_expr *expr = tort_dim_expression(dims, d);
    if (expr->op == TORT_DIM_MUL) {
        factors_add(dims, f, expr->a);
        factors_add(dims, f, expr->b);
    } else if (expr->op == TORT_DIM_CONST) {
        f->overflow |= __builtin_mul_overflow(f->number, expr->value, &f->number);
    } else if (f->count < MAX_FACTORS) {
        f->symbols[f->count++] = d;
    } else {
        f->overflow = true;
    }
}

static factors factors_of(const tort_dims *dims, int32_t count, const tort_dim *list) {
    factors f = {.number = 1};
    for (int32_t k = 0; k < count; k++) factors_add(dims, &f, list[k]);
    return f;
}

static void cancel_symbols(factors *above, factors *below) {
    for (int32_t b = 0; b < below->count;) {
        int32_t a = 0;
        while (a < above->count && above->symbols[a] != below->symbols[b]) a++;
        if (a == above->count) {
            b++;
            continue;
        }
        above->symbols[a] = above->symbols[--above->count];
        below->symbols[b] = below->symbols[--below->count];
    }
}

static int64_t greatest_common_divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

tort_dim tort_dim_product(tort_dims *dims, int32_t rank, const tort_dim *shape) {
    tort_dim product = 1;
    for (int32_t k = 0; k < rank; k++) product = tort_dim_mul(dims, product, shape[k]);
    return product;
}

static bool any_dynamic(const tort_dims *dims, int32_t count, const tort_dim *list) {
    for (int32_t k = 0; k < count; k++) {
        if (!tort_dim_known(list[k]) && tort_dim_dynamic(dims, list[k])) return true;
    }
    return false;
}

tort_dim tort_dim_quotient(tort_dims *dims, int32_t above_count, const tort_dim *above, int32_t below_count,
                           const tort_dim *below) {
    factors up = factors_of(dims, above_count, above), down = factors_of(dims, below_count, below);
    bool dynamic = any_dynamic(dims, above_count, above) || any_dynamic(dims, below_count, below);
    if (up.overflow || down.overflow || up.number < 0 || down.number <= 0) return tort_dim_fresh(dims, dynamic);
    cancel_symbols(&up, &down);
    if (down.count > 0) return tort_dim_fresh(dims, dynamic);
    int64_t common = greatest_common_divisor(up.number, down.number);
    tort_dim quotient = up.number / common;
    for (int32_t k = 0; k < up.count; k++) quotient = tort_dim_mul(dims, quotient, up.symbols[k]);
    return down.number == common ? quotient : tort_dim_floordiv(dims, quotient, down.number / common);
}

bool tort_scalar_nonnegative(const tort_dims *dims, tort_scalar scalar) {
    return scalar.symbolic ? !tort_dim_expression(dims, scalar.value)->negative : scalar.value >= 0;
}

/* ---- outputs ------------------------------------------------------------------------------------------------ */

void tort_infer_unknown(const tort_infer *infer, int32_t o, tort_type type) {
    tort_infer_shape(infer, o, type, -1, NULL);
}

void tort_infer_unknown_dims(const tort_infer *infer, int32_t o, tort_type type, int32_t rank) {
    tort_dim dims[TORT_MAX_RANK];
    for (int32_t k = 0; k < rank; k++) dims[k] = tort_dim_fresh(infer->dims, true);
    tort_infer_shape(infer, o, type, rank, dims);
}
