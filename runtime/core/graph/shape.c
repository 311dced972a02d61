/* shape.c - symbolic dimensions as interned expressions in normal form.
 *
 * Algorithm: hash consing (Ershov, "On Programming of Arithmetic Operations", CACM 1958) of polynomials in a canonical
 * form. An operation flattens its operands into a sum of terms, or a product of factors, computes there, and builds the
 * result in sorted order; a hash table gives equal expressions one id. Different ids do not mean different sizes:
 * equality is only unknown. Overflow gives a fresh unknown.
 *
 * Cost: an expression has at most 64 leaves and a sum 32 terms, so one operation is O(1); all E expressions of a pool
 * are evaluated in one sweep of O(E), since operands are older than results.
 *
 * Example: Reshape of [b, 2*s, 64] to [-1, 128]: the -1 is (128*b*s) / 128 = b*s. Half of it is floor(b*s/2); twice
 * that half is not b*s, as b*s may be odd, and stays 2*floor(b*s/2). ceil((n+1)/2) = floor((n+2)/2) = floor(n/2) + 1.
 * This file must not know operators; read shape.h first. */
#include <stdlib.h>
#include <string.h>

#include "runtime/core/base/hash.h"
#include "runtime/core/graph/shape.h"

#define LARGEST_EXPRESSION 64 /* leaves; a larger expression becomes a fresh unknown */
#define LARGEST_SUM 32        /* terms of a sum, factors of a product */

#define LOST INT64_MIN /* the id returned when memory is exhausted */

/* ---- the pool ---------------------------------------------------------------------------------------------------- */

void tort_dims_init(tort_dims *dims, const tort_env *env, tort_arena *arena) {
    *dims = (tort_dims){.arena = arena, .env = env};
}

void tort_dims_free(tort_dims *dims) {
    tort_free(dims->env, dims->exprs, (size_t)dims->capacity * sizeof *dims->exprs);
    tort_free(dims->env, dims->buckets, (size_t)dims->bucket_count * sizeof *dims->buckets);
    tort_dims_init(dims, dims->env, dims->arena);
}

void tort_dims_extend(tort_dims *dims, const tort_dims *base, const tort_env *env, tort_arena *arena) {
    tort_dims_init(dims, env, arena);
    dims->base = base;
    dims->first = dims->count = base->count;
}

void tort_dims_rewind(tort_dims *dims) {
    dims->count = dims->first;
    dims->failed = false;
    if (dims->buckets) memset(dims->buckets, 0, (size_t)dims->bucket_count * sizeof *dims->buckets);
}

const tort_dim_expr *tort_dim_expression(const tort_dims *dims, tort_dim id) {
    static const tort_dim_expr lost = {.op = TORT_DIM_SYMBOL, .dynamic = true, .negative = true, .leaves = 1};
    if (id < -(int64_t)dims->count) return &lost;
    while (-1 - id < dims->first) dims = dims->base;
    return &dims->exprs[-1 - id - dims->first];
}

static uint64_t hash_expression(const tort_dims *dims, const tort_dim_expr *e) {
    const uint64_t *key = dims->env->hash_key;
    const uint64_t name = e->name ? tort_hash(key, e->name, strlen(e->name)) : 0;
    const uint64_t words[] = {name ^ (uint64_t)e->op, (uint64_t)e->value, (uint64_t)e->a, (uint64_t)e->b};
    return tort_hash(key, words, sizeof words);
}

static bool same_expression(const tort_dim_expr *x, const tort_dim_expr *y) {
    if (x->op != y->op || x->value != y->value || x->a != y->a || x->b != y->b) return false;
    return x->op != TORT_DIM_SYMBOL || (x->name && y->name && strcmp(x->name, y->name) == 0);
}

/* The bucket that holds an equal expression, or the empty bucket for it. */
static int32_t *find_bucket(const tort_dims *dims, const tort_dim_expr *e) {
    uint64_t mask = (uint64_t)dims->bucket_count - 1;
    for (uint64_t i = hash_expression(dims, e) & mask;; i = (i + 1) & mask) {
        int32_t *bucket = &dims->buckets[i];
        if (*bucket == 0 || same_expression(&dims->exprs[*bucket - 1], e)) return bucket;
    }
}

/* The id of an equal expression; 0: none. */
static tort_dim find_id(const tort_dims *dims, const tort_dim_expr *e) {
    for (; dims; dims = dims->base) {
        const int32_t found = dims->bucket_count ? *find_bucket(dims, e) : 0;
        if (found) return -(int64_t)dims->first - found;
    }
    return 0;
}

static bool grow_buckets(tort_dims *dims) {
    const int32_t own = dims->count - dims->first;
    if (own < dims->bucket_count / 2) return true;
    if (dims->bucket_count > INT32_MAX / 2) return false;
    tort_dims grown = *dims;
    grown.bucket_count = dims->bucket_count ? dims->bucket_count * 2 : 64;
    grown.buckets = tort_alloc_zero(dims->env, (size_t)grown.bucket_count, sizeof *grown.buckets);
    if (!grown.buckets) return false;
    for (int32_t i = 0; i < own; i++) *find_bucket(&grown, &dims->exprs[i]) = i + 1;
    tort_free(dims->env, dims->buckets, (size_t)dims->bucket_count * sizeof *dims->buckets);
    *dims = grown;
    return true;
}

static tort_dim add_expression(tort_dims *dims, const tort_dim_expr *e) {
    const int32_t own = dims->count - dims->first;
    bool grown = dims->count < INT32_MAX &&
                 tort_grow(dims->env, (void **)&dims->exprs, &dims->capacity, own + 1, sizeof *dims->exprs) &&
                 grow_buckets(dims);
    if (!grown) {
        dims->failed = true;
        return LOST;
    }
    *find_bucket(dims, e) = own + 1;
    dims->exprs[own] = *e;
    dims->count++;
    return -(int64_t)dims->count;
}

static tort_dim intern(tort_dims *dims, const tort_dim_expr *e) {
    const tort_dim known = find_id(dims, e);
    return known ? known : add_expression(dims, e);
}

tort_dim tort_dim_symbol(tort_dims *dims, const char *name) {
    if (!*name || !strcmp(name, "?")) return tort_dim_fresh(dims, false);
    tort_dim_expr e = {.op = TORT_DIM_SYMBOL, .leaves = 1, .name = name};
    const tort_dim known = find_id(dims, &e);
    if (known) return known;
    e.name = tort_arena_text(dims->arena, name, strlen(name));
    if (!e.name) {
        dims->failed = true;
        return LOST;
    }
    return add_expression(dims, &e);
}

/* A nameless symbol is equal to nothing, not even itself (see same_expression); `value` only spreads the hashes. */
static tort_dim add_unknown(tort_dims *dims, bool dynamic, bool negative) {
    tort_dim_expr e = {.op = TORT_DIM_SYMBOL, .dynamic = dynamic, .negative = negative, .leaves = 1};
    e.value = dims->count;
    return add_expression(dims, &e);
}

tort_dim tort_dim_fresh(tort_dims *dims, bool dynamic) {
    return add_unknown(dims, dynamic, false);
}

tort_scalar tort_scalar_unknown(tort_dims *dims, bool dynamic) {
    return (tort_scalar){true, add_unknown(dims, dynamic, true)};
}

static bool is_dynamic(const tort_dims *dims, tort_scalar s) {
    return s.symbolic && tort_dim_dynamic(dims, s.value);
}

tort_scalar tort_scalar_unknown_of(tort_dims *dims, tort_scalar a, tort_scalar b) {
    return tort_scalar_unknown(dims, is_dynamic(dims, a) || is_dynamic(dims, b));
}

bool tort_dim_dynamic(const tort_dims *dims, tort_dim d) {
    return d < 0 && tort_dim_expression(dims, d)->dynamic;
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

/* An operand of an expression: an id, or a number >= 0. A negative number becomes a CONST expression. */
static tort_dim operand(tort_dims *dims, tort_scalar s) {
    if (s.symbolic || s.value >= 0) return s.value;
    return intern(dims, &(tort_dim_expr){.op = TORT_DIM_CONST, .value = s.value, .negative = true, .leaves = 1});
}

tort_scalar tort_scalar_of_operand(const tort_dims *dims, tort_dim d) {
    if (d >= 0) return tort_scalar_known(d);
    const tort_dim_expr *e = tort_dim_expression(dims, d);
    return e->op == TORT_DIM_CONST ? tort_scalar_known(e->value) : (tort_scalar){true, d};
}

static bool may_be_negative(const tort_dims *dims, tort_dim d) {
    return d < 0 && tort_dim_expression(dims, d)->negative;
}

static tort_scalar make(tort_dims *dims, tort_dim_op op, tort_dim a, tort_dim b) {
    int32_t leaves =
        (a < 0 ? tort_dim_expression(dims, a)->leaves : 1) + (b < 0 ? tort_dim_expression(dims, b)->leaves : 1);
    bool negative = may_be_negative(dims, a) || may_be_negative(dims, b);
    if (op == TORT_DIM_MAX) negative = may_be_negative(dims, a) && may_be_negative(dims, b);
    bool dynamic = tort_dim_dynamic(dims, a) || tort_dim_dynamic(dims, b);
    if (leaves > LARGEST_EXPRESSION) return (tort_scalar){true, add_unknown(dims, dynamic, negative)};
    tort_dim_expr e = {.op = op, .a = a, .b = b, .dynamic = dynamic, .negative = negative, .leaves = leaves};
    return (tort_scalar){true, intern(dims, &e)};
}

/* Sorts ids from oldest (-1) to newest, so that names precede what is computed from them. */
static int newer(const void *x, const void *y) {
    const tort_dim *a = x, *b = y;
    return (*a < *b) - (*a > *b);
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

typedef struct term {
    tort_dim id; /* first member, as `newer` compares it */
    int64_t factor;
} term;

typedef struct sum {
    int64_t constant;
    int32_t count;
    term terms[LARGEST_SUM];
} sum;

static bool add_product(int64_t *total, int64_t a, int64_t b) {
    int64_t product;
    return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(*total, product, total);
}

static bool add_term(sum *out, tort_dim id, int64_t factor) {
    for (int32_t i = 0; i < out->count; i++)
        if (out->terms[i].id == id) return add_product(&out->terms[i].factor, factor, 1);
    if (out->count == LARGEST_SUM) return false;
    out->terms[out->count++] = (term){id, factor};
    return true;
}

/* Adds factor * s to the sum. False: overflow, or too many terms. */
static bool gather(const tort_dims *dims, tort_scalar s, int64_t factor, sum *out) {
    if (!s.symbolic) return add_product(&out->constant, s.value, factor);
    const tort_dim_expr *e = tort_dim_expression(dims, s.value);
    if (e->op == TORT_DIM_ADD)
        return gather(dims, tort_scalar_of_operand(dims, e->a), factor, out) &&
               gather(dims, tort_scalar_of_operand(dims, e->b), factor, out);
    if (e->op == TORT_DIM_MUL) {
        tort_scalar last = tort_scalar_of_operand(dims, e->b);
        int64_t both;
        if (!last.symbolic)
            return !__builtin_mul_overflow(factor, last.value, &both) &&
                   gather(dims, tort_scalar_of_operand(dims, e->a), both, out);
    }
    return add_term(out, s.value, factor);
}

static void drop_empty_terms(sum *s) {
    int32_t kept = 0;
    for (int32_t i = 0; i < s->count; i++)
        if (s->terms[i].factor != 0) s->terms[kept++] = s->terms[i];
    s->count = kept;
}

static tort_scalar build_sum(tort_dims *dims, sum *s) {
    drop_empty_terms(s);
    if (s->count == 0) return tort_scalar_known(s->constant);
    qsort(s->terms, (size_t)s->count, sizeof *s->terms, newer);
    tort_scalar total = tort_scalar_known(0);
    for (int32_t i = 0; i < s->count; i++) {
        tort_scalar t = {true, s->terms[i].id};
        if (s->terms[i].factor != 1)
            t = make(dims, TORT_DIM_MUL, t.value, operand(dims, tort_scalar_known(s->terms[i].factor)));
        total = i == 0 ? t : make(dims, TORT_DIM_ADD, total.value, t.value);
    }
    if (s->constant == 0) return total;
    return make(dims, TORT_DIM_ADD, total.value, operand(dims, tort_scalar_known(s->constant)));
}

tort_scalar tort_scalar_add(tort_dims *dims, tort_scalar a, tort_scalar b) {
    sum s = {0};
    return gather(dims, a, 1, &s) && gather(dims, b, 1, &s) ? build_sum(dims, &s) : tort_scalar_unknown_of(dims, a, b);
}

tort_scalar tort_scalar_sub(tort_dims *dims, tort_scalar a, tort_scalar b) {
    sum s = {0};
    return gather(dims, a, 1, &s) && gather(dims, b, -1, &s) ? build_sum(dims, &s) : tort_scalar_unknown_of(dims, a, b);
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

typedef struct product {
    int64_t factor;
    int32_t count;
    tort_dim ids[LARGEST_SUM];
} product;

static bool gather_factors(const tort_dims *dims, tort_dim id, product *out) {
    const tort_dim_expr *e = tort_dim_expression(dims, id);
    if (e->op == TORT_DIM_MUL && e->a < 0 && e->b < 0)
        return gather_factors(dims, e->a, out) && gather_factors(dims, e->b, out);
    if (out->count == LARGEST_SUM) return false;
    out->ids[out->count++] = id;
    return true;
}

/* Multiplies the product by s; a sum of several terms is one factor. */
static bool multiply(const tort_dims *dims, tort_scalar s, product *out) {
    if (!s.symbolic) return !__builtin_mul_overflow(out->factor, s.value, &out->factor);
    sum terms = {0};
    if (!gather(dims, s, 1, &terms)) return false;
    if (terms.count != 1 || terms.constant != 0) return gather_factors(dims, s.value, out);
    return !__builtin_mul_overflow(out->factor, terms.terms[0].factor, &out->factor) &&
           gather_factors(dims, terms.terms[0].id, out);
}

static tort_scalar build_product(tort_dims *dims, product *p) {
    if (p->count == 0 || p->factor == 0) return tort_scalar_known(p->factor);
    qsort(p->ids, (size_t)p->count, sizeof *p->ids, newer);
    tort_scalar total = {true, p->ids[0]};
    for (int32_t i = 1; i < p->count; i++) total = make(dims, TORT_DIM_MUL, total.value, p->ids[i]);
    sum scaled = {0};
    return gather(dims, total, p->factor, &scaled) ? build_sum(dims, &scaled)
                                                   : tort_scalar_unknown_of(dims, total, total);
}

tort_scalar tort_scalar_mul(tort_dims *dims, tort_scalar a, tort_scalar b) {
    product p = {.factor = 1};
    return multiply(dims, a, &p) && multiply(dims, b, &p) ? build_product(dims, &p)
                                                          : tort_scalar_unknown_of(dims, a, b);
}

/* ---- division ---------------------------------------------------------------------------------------------------- */

static int64_t floor_divide(int64_t a, int64_t b) {
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t greatest_common_divisor(int64_t a, int64_t b) {
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

/* floor(rest / divisor), where the divisor does not divide the terms: cancels their common divisor, and merges nested
 * divisions by floor(floor(x/b)/c) = floor(x/(b*c)). */
static tort_scalar divide_rest(tort_dims *dims, sum *rest, int64_t divisor) {
    int64_t common = divisor;
    for (int32_t i = 0; i < rest->count; i++) common = greatest_common_divisor(common, rest->terms[i].factor);
    for (int32_t i = 0; i < rest->count; i++) rest->terms[i].factor /= common;
    rest->constant = floor_divide(rest->constant, common);
    divisor /= common;
    tort_scalar numerator = build_sum(dims, rest);
    if (divisor == 1 || !numerator.symbolic) return numerator;
    const tort_dim_expr *e = tort_dim_expression(dims, numerator.value);
    int64_t both;
    if (e->op == TORT_DIM_FLOORDIV && !__builtin_mul_overflow(e->b, divisor, &both))
        return make(dims, TORT_DIM_FLOORDIV, e->a, both);
    return make(dims, TORT_DIM_FLOORDIV, numerator.value, divisor);
}

/* floor(a / divisor), divisor >= 1: terms that are multiples of the divisor leave the quotient. */
static tort_scalar floor_quotient(tort_dims *dims, tort_scalar a, int64_t divisor) {
    sum all = {0}, rest = {0}, quotient = {0};
    if (!gather(dims, a, 1, &all)) return tort_scalar_unknown_of(dims, a, a);
    drop_empty_terms(&all);
    for (int32_t i = 0; i < all.count; i++) {
        term t = all.terms[i];
        if (t.factor % divisor == 0)
            quotient.terms[quotient.count++] = (term){t.id, t.factor / divisor};
        else
            rest.terms[rest.count++] = t;
    }
    quotient.constant = floor_divide(all.constant, divisor);
    if (rest.count == 0) return build_sum(dims, &quotient);
    rest.constant = all.constant - quotient.constant * divisor;
    return tort_scalar_add(dims, build_sum(dims, &quotient), divide_rest(dims, &rest, divisor));
}

static bool divides(int64_t divisor, const sum *s) {
    bool all = s->constant % divisor == 0;
    for (int32_t i = 0; i < s->count; i++) all = all && s->terms[i].factor % divisor == 0;
    return all;
}

/* a / divisor towards zero, divisor >= 1: the floor if a is not negative or there is no remainder;
 * else a TRUNCDIV expression. */
static tort_scalar truncated_quotient(tort_dims *dims, tort_scalar a, int64_t divisor) {
    sum all = {0};
    if (!a.symbolic) return tort_scalar_known(a.value / divisor);
    if (!gather(dims, a, 1, &all)) return tort_scalar_unknown_of(dims, a, a);
    if (!may_be_negative(dims, a.value) || divides(divisor, &all)) return floor_quotient(dims, a, divisor);
    return make(dims, TORT_DIM_TRUNCDIV, a.value, divisor);
}

/* a / b where every factor of b is a factor of a, as for the -1 of Reshape. False: it is not so. */
static bool cancel(tort_dims *dims, tort_scalar a, tort_scalar b, tort_scalar *out) {
    product above = {.factor = 1}, below = {.factor = 1};
    if (!multiply(dims, a, &above) || !multiply(dims, b, &below) || below.factor < 1) return false;
    for (int32_t i = 0; i < below.count; i++) {
        int32_t k = 0;
        while (k < above.count && above.ids[k] != below.ids[i]) k++;
        if (k == above.count) return false;
        above.ids[k] = above.ids[--above.count];
    }
    *out = truncated_quotient(dims, build_product(dims, &above), below.factor);
    return true;
}

tort_scalar tort_scalar_div(tort_dims *dims, tort_scalar a, tort_scalar b) {
    if (!a.symbolic && !b.symbolic) {
        if (b.value == 0 || (a.value == INT64_MIN && b.value == -1)) return tort_scalar_unknown_of(dims, a, b);
        return tort_scalar_known(a.value / b.value);
    }
    if (!b.symbolic && b.value >= 1) return truncated_quotient(dims, a, b.value);
    tort_scalar quotient;
    return b.symbolic && cancel(dims, a, b, &quotient) ? quotient : tort_scalar_unknown_of(dims, a, b);
}

/* ---- minimum and maximum ----------------------------------------------------------------------------------------- */

/* True if a <= b or b <= a holds for all sizes of the symbols; *a_first: a <= b. */
static bool known_order(const tort_dims *dims, tort_scalar a, tort_scalar b, bool *a_first) {
    sum s = {0};
    if (!gather(dims, a, 1, &s) || !gather(dims, b, -1, &s)) return false;
    drop_empty_terms(&s);
    *a_first = s.constant <= 0;
    if (s.count == 0) return true;
    tort_scalar number = a.symbolic ? b : a, other = a.symbolic ? a : b;
    if (number.symbolic) return false;
    *a_first = number.value <= 0 ? !a.symbolic : a.symbolic;
    return (number.value <= 0 && !may_be_negative(dims, other.value)) || number.value == INT64_MAX;
}

static tort_scalar choose(tort_dims *dims, tort_dim_op op, tort_scalar a, tort_scalar b) {
    bool a_first;
    if (known_order(dims, a, b, &a_first)) return a_first == (op == TORT_DIM_MIN) ? a : b;
    tort_dim x = operand(dims, a), y = operand(dims, b);
    bool swap = x >= 0 || (y < 0 && x < y);
    return make(dims, op, swap ? y : x, swap ? x : y);
}

tort_scalar tort_scalar_min(tort_dims *dims, tort_scalar a, tort_scalar b) {
    return choose(dims, TORT_DIM_MIN, a, b);
}

tort_scalar tort_scalar_max(tort_dims *dims, tort_scalar a, tort_scalar b) {
    return choose(dims, TORT_DIM_MAX, a, b);
}

/* ---- dims -------------------------------------------------------------------------------------------------------- */

tort_dim tort_scalar_to_dim(tort_dims *dims, tort_scalar s) {
    return s.symbolic || s.value >= 0 ? s.value : tort_dim_fresh(dims, true);
}

tort_dim tort_dim_add(tort_dims *dims, tort_dim a, tort_dim b) {
    return tort_scalar_to_dim(dims, tort_scalar_add(dims, tort_scalar_of_dim(a), tort_scalar_of_dim(b)));
}

tort_dim tort_dim_add_const(tort_dims *dims, tort_dim a, int64_t b) {
    tort_scalar s = tort_scalar_add(dims, tort_scalar_of_dim(a), tort_scalar_known(b));
    return !s.symbolic && s.value < 0 ? 0 : s.value;
}

tort_dim tort_dim_mul(tort_dims *dims, tort_dim a, tort_dim b) {
    return tort_scalar_to_dim(dims, tort_scalar_mul(dims, tort_scalar_of_dim(a), tort_scalar_of_dim(b)));
}

tort_dim tort_dim_floordiv(tort_dims *dims, tort_dim a, int64_t b) {
    return tort_scalar_to_dim(dims, floor_quotient(dims, tort_scalar_of_dim(a), b));
}

tort_dim tort_dim_ceildiv(tort_dims *dims, tort_dim a, int64_t b) {
    if (tort_dim_known(a)) return a / b + (a % b != 0);
    tort_scalar above = tort_scalar_add(dims, tort_scalar_of_dim(a), tort_scalar_known(b - 1));
    return tort_scalar_to_dim(dims, floor_quotient(dims, above, b));
}

tort_dim tort_dim_min(tort_dims *dims, tort_dim a, tort_dim b) {
    return tort_scalar_to_dim(dims, tort_scalar_min(dims, tort_scalar_of_dim(a), tort_scalar_of_dim(b)));
}

tort_dim tort_dim_max(tort_dims *dims, tort_dim a, tort_dim b) {
    return tort_scalar_to_dim(dims, tort_scalar_max(dims, tort_scalar_of_dim(a), tort_scalar_of_dim(b)));
}

/* ---- evaluation ------------------------------------------------------------------------------------------------ */

/* The value of an expression from the values of its operands; false on overflow. */
static bool compute(tort_dim_op op, int64_t a, int64_t b, int64_t *out) {
    switch (op) {
    case TORT_DIM_ADD: return !__builtin_add_overflow(a, b, out);
    case TORT_DIM_MUL: return !__builtin_mul_overflow(a, b, out);
    case TORT_DIM_FLOORDIV: *out = floor_divide(a, b); return true;
    case TORT_DIM_TRUNCDIV: *out = a / b; return true;
    case TORT_DIM_MIN: *out = a < b ? a : b; return true;
    default: *out = a > b ? a : b; return true;
    }
}

/* Recursion is bounded by LARGEST_EXPRESSION. */
bool tort_dim_evaluate(const tort_dims *dims, tort_dim d, const tort_dim_binding *bindings, int32_t count,
                       int64_t *out) {
    *out = d;
    if (d >= 0) return true;
    for (int32_t i = 0; i < count; i++)
        if (bindings[i].symbol == d) {
            *out = bindings[i].size;
            return true;
        }
    const tort_dim_expr *e = tort_dim_expression(dims, d);
    if (e->op == TORT_DIM_CONST) *out = e->value;
    if (e->op == TORT_DIM_CONST || e->op == TORT_DIM_SYMBOL) return e->op == TORT_DIM_CONST;
    int64_t a, b;
    return tort_dim_evaluate(dims, e->a, bindings, count, &a) && tort_dim_evaluate(dims, e->b, bindings, count, &b) &&
           compute(e->op, a, b, out);
}

static int64_t evaluated(const int64_t *values, tort_dim d) {
    return d >= 0 ? d : values[-1 - d];
}

/* Operands have lower numbers than results, so they are evaluated first. */
bool tort_dims_evaluate(const tort_dims *dims, int64_t *values) {
    for (int32_t i = 0; i < dims->count; i++) {
        const tort_dim_expr *e = tort_dim_expression(dims, -1 - (int64_t)i);
        int64_t value = e->value;
        if (e->op == TORT_DIM_SYMBOL) continue;
        if (e->op != TORT_DIM_CONST) {
            const int64_t a = evaluated(values, e->a), b = evaluated(values, e->b);
            if (a == TORT_DIM_UNBOUND || b == TORT_DIM_UNBOUND || !compute(e->op, a, b, &value)) continue;
        }
        if (values[i] != TORT_DIM_UNBOUND && values[i] != value) return false;
        values[i] = value;
    }
    return true;
}

/* Recursion is bounded by LARGEST_EXPRESSION. */
bool tort_dim_grows(const tort_dims *dims, tort_dim d) {
    const tort_dim_expr *e = d < 0 ? tort_dim_expression(dims, d) : NULL;
    if (!e || e->op == TORT_DIM_SYMBOL || e->op == TORT_DIM_CONST) return true;
    if (e->op == TORT_DIM_MUL && (may_be_negative(dims, e->a) || may_be_negative(dims, e->b))) return false;
    return tort_dim_grows(dims, e->a) && tort_dim_grows(dims, e->b);
}
