/* shape.h - dimensions that may be symbols.
 *
 * A tort_dim is a known size (>= 0) or a reference to an interned expression (< 0): two dims are equal if they are
 * the same number. The functions below bring expressions into one form - sums of products, terms sorted, constants
 * last, ceil(a/b) as floor((a+b-1)/b) - so that (a + b) and (b + a) are one expression. Over a budget a fresh unknown
 * is returned: less is known, nothing is wrong. When memory runs out, `failed` is set and dims are not to be used.
 * The same numbers stand for small integer values in shape arithmetic (Shape -> Gather -> Mul -> Concat -> Reshape);
 * such a value may be negative, so elements have a type of their own, tort_scalar. */
#ifndef TORT_RUNTIME_GRAPH_SHAPE_H
#define TORT_RUNTIME_GRAPH_SHAPE_H

#include "runtime/base/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int64_t tort_dim;

typedef enum tort_dim_op {
    TORT_DIM_SYMBOL, /* a name of the model, or a fresh unknown */
    TORT_DIM_CONST,  /* only inside expressions: a negative number */
    TORT_DIM_ADD,
    TORT_DIM_MUL,
    TORT_DIM_FLOORDIV, /* of a sum whose terms the divisor does not divide, by a known number */
    TORT_DIM_TRUNCDIV, /* towards zero, as ONNX divides integers, where that may differ from the floor */
    TORT_DIM_MIN,
    TORT_DIM_MAX
} tort_dim_op;

typedef struct tort_dim_expr {
    tort_dim_op op;
    bool dynamic;     /* depends on data, not only on the shapes of inputs */
    int64_t value;    /* CONST */
    const char *name; /* SYMBOL: its name, or NULL for a fresh one */
    tort_dim a, b;    /* operands: ids, or numbers >= 0 */
    bool negative;    /* may be below 0 */
    int32_t leaves;   /* size of the expression written out */
} tort_dim_expr;

/* The pool of a graph. Ids stay valid while it lives. A pool may stand on another one, whose ids mean the same in it:
 * that one is only read, by any number of threads, and must not change any more. */
typedef struct tort_dims {
    const struct tort_dims *base; /* borrows; NULL */
    tort_arena *arena;            /* borrows */
    const tort_env *env;
    tort_dim_expr *exprs; /* number `first` and on; those before are the base's */
    int32_t first, count, capacity;
    int32_t *buckets; /* of the interning hash: index into exprs + 1, 0 where empty */
    int32_t bucket_count;
    uint64_t seed; /* of the hash: an address, so that a model cannot be made whose expressions all collide */
    bool failed;   /* out of memory */
} tort_dims;

void tort_dims_init(tort_dims *dims, const tort_env *env, tort_arena *arena);
void tort_dims_free(tort_dims *dims);
/* An empty pool on top of another one. Nothing is allocated before it gets an expression of its own. */
void tort_dims_extend(tort_dims *dims, const tort_dims *base, const tort_env *env, tort_arena *arena);
/* Forgets all expressions but those of the base, and keeps its memory; names are the arena's. */
void tort_dims_rewind(tort_dims *dims);

static inline bool tort_dim_known(tort_dim d) {
    return d >= 0;
}
TORT_API tort_dim tort_dim_symbol(tort_dims *dims, const char *name);        /* the same id for the same name */
TORT_API tort_dim tort_dim_fresh(tort_dims *dims, bool dynamic);             /* an unknown of its own */
TORT_API bool tort_dim_dynamic(const tort_dims *dims, tort_dim d);           /* depends on data */
const tort_dim_expr *tort_dim_expression(const tort_dims *dims, tort_dim d); /* of d < 0; until the next is made */

/* Arithmetic; the result is a dim and taken to be >= 0 by whoever asks. */
TORT_API tort_dim tort_dim_add(tort_dims *dims, tort_dim a, tort_dim b);
TORT_API tort_dim tort_dim_add_const(tort_dims *dims, tort_dim a,
                                     int64_t b); /* b may be negative; clamped at 0 if known */
TORT_API tort_dim tort_dim_mul(tort_dims *dims, tort_dim a, tort_dim b);
TORT_API tort_dim tort_dim_floordiv(tort_dims *dims, tort_dim a, int64_t b); /* b >= 1 */
TORT_API tort_dim tort_dim_ceildiv(tort_dims *dims, tort_dim a, int64_t b);  /* b >= 1 */
TORT_API tort_dim tort_dim_min(tort_dims *dims, tort_dim a, tort_dim b);
TORT_API tort_dim tort_dim_max(tort_dims *dims, tort_dim a, tort_dim b);

/* An integer that is computed from shapes: a constant, or an expression id. Unlike a dim it may be a negative number,
 * so the two cases are told apart by a flag. */
typedef struct tort_scalar {
    bool symbolic; /* value is the id of an expression (< 0) */
    int64_t value;
} tort_scalar;

static inline tort_scalar tort_scalar_known(int64_t v) {
    return (tort_scalar){false, v};
}
static inline tort_scalar tort_scalar_of_dim(tort_dim d) {
    return (tort_scalar){d < 0, d};
}
TORT_API tort_scalar tort_scalar_unknown(tort_dims *dims, bool dynamic);
TORT_API tort_scalar tort_scalar_unknown_of(tort_dims *dims, tort_scalar a,
                                            tort_scalar b); /* dynamic where a or b is */
TORT_API tort_scalar tort_scalar_add(tort_dims *dims, tort_scalar a, tort_scalar b);
TORT_API tort_scalar tort_scalar_sub(tort_dims *dims, tort_scalar a, tort_scalar b);
TORT_API tort_scalar tort_scalar_mul(tort_dims *dims, tort_scalar a, tort_scalar b);
TORT_API tort_scalar tort_scalar_div(tort_dims *dims, tort_scalar a, tort_scalar b); /* ONNX's: towards zero */
TORT_API tort_scalar tort_scalar_min(tort_dims *dims, tort_scalar a, tort_scalar b);
TORT_API tort_scalar tort_scalar_max(tort_dims *dims, tort_scalar a, tort_scalar b);
static inline bool tort_scalar_same(tort_scalar a, tort_scalar b) {
    return a.symbolic == b.symbolic && a.value == b.value;
}
/* As a dim: a known negative becomes a fresh unknown. */
TORT_API tort_dim tort_scalar_to_dim(tort_dims *dims, tort_scalar s);

/* The size of a symbol, for evaluating. */
typedef struct tort_dim_binding {
    tort_dim symbol;
    int64_t size;
} tort_dim_binding;

/* The number that d is with these bindings; false where a symbol has none, or where the number overflows. */
bool tort_dim_evaluate(const tort_dims *dims, tort_dim d, const tort_dim_binding *bindings, int32_t count,
                       int64_t *out);

/* Does it never get smaller where a symbol gets larger? False: it may. */
bool tort_dim_grows(const tort_dims *dims, tort_dim d);

#define TORT_DIM_UNBOUND INT64_MIN

/* The numbers of all expressions in one sweep: values[-1 - d] for each d < 0, dims->count of them. Those that are given
 * are bound, the others UNBOUND, and stay so where a symbol has no size or the number overflows. False: an expression
 * that is given comes to another number, so that one symbol would have two sizes. */
bool tort_dims_evaluate(const tort_dims *dims, int64_t *values);

/* Text such as "batch*(seq+1)" into buffer, always terminated; returns buffer. */
const char *tort_dim_text(const tort_dims *dims, tort_dim d, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif
#endif
