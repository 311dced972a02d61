/* shape.h - dimensions that may be symbolic.
 *
 * A tort_dim is a known size (>= 0) or the id of an interned expression (< 0): equal numbers mean equal dims. The
 * functions below bring expressions into a normal form - sums of products, terms sorted, constant last, ceil(a/b) as
 * floor((a+b-1)/b) - so that a + b and b + a have one id. An expression beyond a size limit becomes a fresh unknown:
 * then less is known, but nothing is wrong. When memory runs out, `failed` is set, and dims must not be used. Ids also
 * stand for small integers in shape arithmetic (Shape -> Gather -> Mul -> Concat -> Reshape); these may be negative, so
 * elements have their own type, tort_scalar. */
#ifndef TORT_RUNTIME_GRAPH_SHAPE_H
#define TORT_RUNTIME_GRAPH_SHAPE_H

#include "runtime/core/base/memory.h"

typedef int64_t tort_dim;

typedef enum tort_dim_op {
    TORT_DIM_SYMBOL, /* a name of the model, or a fresh unknown */
    TORT_DIM_CONST,  /* a negative number, only inside expressions */
    TORT_DIM_ADD,
    TORT_DIM_MUL,
    TORT_DIM_FLOORDIV, /* floor of a sum by a known divisor that does not divide all of its terms */
    TORT_DIM_TRUNCDIV, /* rounds towards zero, as ONNX divides integers; used where that may differ from the floor */
    TORT_DIM_MIN,
    TORT_DIM_MAX
} tort_dim_op;

typedef struct tort_dim_expr {
    tort_dim_op op;
    bool dynamic;     /* depends on data, not only on input shapes */
    int64_t value;    /* CONST */
    const char *name; /* SYMBOL; NULL: a fresh one */
    tort_dim a, b;    /* operands: ids, or numbers >= 0 */
    bool negative;    /* may be below 0 */
    int32_t leaves;   /* number of leaves of the expression tree */
} tort_dim_expr;

/* The pool of expressions. Ids are valid as long as the pool. A pool may extend a base pool, whose ids are valid in it
 * too; the base is only read, by any number of threads, and must not change any more. */
typedef struct tort_dims {
    const struct tort_dims *base; /* borrowed; NULL */
    tort_arena *arena;            /* borrowed */
    const tort_env *env;
    tort_dim_expr *exprs; /* the expressions from number `first` on; earlier ones are in the base */
    int32_t first, count, capacity;
    int32_t *buckets; /* hash table: index into exprs + 1; 0: empty */
    int32_t bucket_count;
    bool failed; /* out of memory */
} tort_dims;

void tort_dims_init(tort_dims *dims, const tort_env *env, tort_arena *arena);
void tort_dims_free(tort_dims *dims);
/* An empty pool that extends another one; allocates nothing until it gets its own expression. */
void tort_dims_extend(tort_dims *dims, const tort_dims *base, const tort_env *env, tort_arena *arena);
/* Forgets all expressions but the base's, and keeps the memory; names stay in the arena. */
void tort_dims_rewind(tort_dims *dims);

static inline bool tort_dim_known(tort_dim d) {
    return d >= 0;
}
TORT_API tort_dim tort_dim_symbol(tort_dims *dims, const char *name); /* one id per name; "" and "?" name nothing */
TORT_API tort_dim tort_dim_fresh(tort_dims *dims, bool dynamic);      /* a new unknown, unequal to all others */
TORT_API bool tort_dim_dynamic(const tort_dims *dims, tort_dim d);    /* true if it depends on data */
const tort_dim_expr *tort_dim_expression(const tort_dims *dims, tort_dim d); /* d < 0; valid till the next one */

/* Arithmetic. The caller guarantees that the result is >= 0. */
TORT_API tort_dim tort_dim_add(tort_dims *dims, tort_dim a, tort_dim b);
TORT_API tort_dim tort_dim_add_const(tort_dims *dims, tort_dim a,
                                     int64_t b); /* b may be negative; a known result is clamped at 0 */
TORT_API tort_dim tort_dim_mul(tort_dims *dims, tort_dim a, tort_dim b);
TORT_API tort_dim tort_dim_floordiv(tort_dims *dims, tort_dim a, int64_t b); /* b >= 1 */
TORT_API tort_dim tort_dim_ceildiv(tort_dims *dims, tort_dim a, int64_t b);  /* b >= 1 */
TORT_API tort_dim tort_dim_min(tort_dims *dims, tort_dim a, tort_dim b);
TORT_API tort_dim tort_dim_max(tort_dims *dims, tort_dim a, tort_dim b);

/* An integer computed from shapes: a number, or the id of an expression. The number may be negative, unlike a dim's, so
 * a flag tells the two apart. */
typedef struct tort_scalar {
    bool symbolic; /* value is an id (< 0) */
    int64_t value;
} tort_scalar;

static inline tort_scalar tort_scalar_known(int64_t v) {
    return (tort_scalar){false, v};
}
static inline tort_scalar tort_scalar_of_dim(tort_dim d) {
    return (tort_scalar){d < 0, d};
}
tort_scalar tort_scalar_of_operand(const tort_dims *dims, tort_dim d); /* of an expression: also a negative number */
TORT_API tort_scalar tort_scalar_unknown(tort_dims *dims, bool dynamic);
TORT_API tort_scalar tort_scalar_unknown_of(tort_dims *dims, tort_scalar a, tort_scalar b); /* dynamic if a or b is */
TORT_API tort_scalar tort_scalar_add(tort_dims *dims, tort_scalar a, tort_scalar b);
TORT_API tort_scalar tort_scalar_sub(tort_dims *dims, tort_scalar a, tort_scalar b);
TORT_API tort_scalar tort_scalar_mul(tort_dims *dims, tort_scalar a, tort_scalar b);
TORT_API tort_scalar tort_scalar_div(tort_dims *dims, tort_scalar a, tort_scalar b); /* rounds towards zero */
TORT_API tort_scalar tort_scalar_min(tort_dims *dims, tort_scalar a, tort_scalar b);
TORT_API tort_scalar tort_scalar_max(tort_dims *dims, tort_scalar a, tort_scalar b);
static inline bool tort_scalar_same(tort_scalar a, tort_scalar b) {
    return a.symbolic == b.symbolic && a.value == b.value;
}
/* Converts to a dim; a known negative number becomes a fresh unknown. */
TORT_API tort_dim tort_scalar_to_dim(tort_dims *dims, tort_scalar s);

/* The size of a symbol, for evaluation. */
typedef struct tort_dim_binding {
    tort_dim symbol;
    int64_t size;
} tort_dim_binding;

/* Evaluates d with these bindings; false if a symbol has none, or on overflow. */
TORT_API bool tort_dim_evaluate(const tort_dims *dims, tort_dim d, const tort_dim_binding *bindings, int32_t count,
                                int64_t *out);

/* True if d never shrinks when a symbol grows; false: unknown. */
bool tort_dim_grows(const tort_dims *dims, tort_dim d);

#define TORT_DIM_UNBOUND INT64_MIN

/* Evaluates all expressions in one sweep: values[-1 - d] for each d < 0, dims->count in all. Entries are bound on entry
 * or TORT_DIM_UNBOUND; those that depend on an unbound symbol, or overflow, stay unbound. False: a bound expression has
 * another value, so that a symbol would have two sizes. */
bool tort_dims_evaluate(const tort_dims *dims, int64_t *values);

/* Writes text such as "batch*(seq+1)" into the buffer, always NUL-terminated; returns the buffer. */
TORT_API const char *tort_dim_text(const tort_dims *dims, tort_dim d, char *buffer, size_t size);

#endif
