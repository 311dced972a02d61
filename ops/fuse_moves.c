/* fuse_moves.c - fusions of nodes that move no bytes, and of sums with a Reshape between them.
 *
 * Exporters pad by 0 and slice whole axes wherever a size might not fit (Swin, with windows). The executor gives such
 * an output the bytes of its input, so nothing is launched or copied. Read next: fuse_attention.c. */
#include "ops/broadcast.h"
#include "ops/extent.h"
#include "runtime/include/pattern.h"

/* ---- nodes that move nothing ------------------------------------------------------------------------------------- */

static bool are_all(tort_match *match, const char *list, double number) {
    tort_tensor numbers;
    bool all = tort_match_constant(match, list, &numbers);
    for (int64_t i = 0; all && i < tort_count(&numbers); i++) all = tort_element_at(&numbers, i) == number;
    return all;
}

/* An output of the input's shape has all of its elements, in their order, if the operator has no other order. Lists are
 * constant, as a run checks others. */
static bool build_same(tort_match *match) {
    return tort_match_same_shape(match, "x", "y");
}

static bool build_slice(tort_match *match) {
    return build_same(match) && (!tort_match_info(match, "steps") || are_all(match, "steps", 1));
}

static bool build_pad(tort_match *match) {
    return are_all(match, "pads", 0);
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

#define LARGEST_SUM 16 /* times the elements of both constants together */

typedef struct sum {
    tort_tensor part, total;
} sum;

static void add_row(void *arg, const tort_loop *loop, int64_t first, int64_t count, const int64_t *offsets) {
    const sum *s = arg;
    for (int64_t i = 0; i < count; i++) {
        const double both =
            tort_element_at(&s->total, first + i) + tort_element_at(&s->part, offsets[0] + i * loop->steps[0]);
        tort_store_doubles(s->total.type, s->total.data, first + i, 1, &both);
    }
}

/* Adds a constant, which broadcasts to this shape of the total. */
static void add_part(sum *s, const tort_info *shape, const tort_tensor *part) {
    tort_tensor out = {.rank = shape->rank};
    memcpy(out.dims, shape->dims, sizeof out.dims);
    const tort_loop loop = tort_loop_broadcast(&out, part, 1);
    s->part = *part;
    tort_loop_run(&loop, 0, loop.count, add_row, s);
}

/* Replaces b, which is added to x, by its sum with k, which is added to r, the same elements under another shape. */
static bool build_sum(tort_match *match) {
    const tort_info *x = tort_match_info(match, "x"), *r = tort_match_info(match, "r");
    sum s = {.total = {.type = x->type, .rank = x->rank}};
    tort_tensor b, k;
    if (!tort_match_same_shape(match, "x", "a") || !tort_match_same_shape(match, "x", "y") ||
        !tort_match_same_shape(match, "r", "n") || !tort_shape_known(x) || !tort_shape_known(r))
        return false;
    memcpy(s.total.dims, x->dims, sizeof x->dims);
    if (!tort_type_is_float(x->type) || !tort_match_constant(match, "b", &b) || !tort_match_constant(match, "k", &k))
        return false;
    if (tort_count(&s.total) / LARGEST_SUM > tort_count(&b) + tort_count(&k)) return false;
    if (!tort_match_replace(match, "b", &s.total)) return false;
    add_part(&s, x, &b);
    add_part(&s, r, &k);
    return true;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const tort_pattern tort_patterns_moves[] = {
    {"identity", "y=Slice(x,starts?,ends?,axes?,steps?)", "Identity(x)", build_slice},
    {"identity", "y=Pad|com.microsoft::Pad(x,pads?,value?,axes?)", "Identity(x)", build_pad},
    {"identity", "y=Expand|Tile|Concat|Split(x,#s?,#t?)", "Identity(x)", build_same},
    {"reshaped_sum", "*a=Add{broadcast=0}(x,#b) r=Reshape(a,s?) n=Add{broadcast=0}(r,#k) y=Reshape(n,t?)", "Add(x,b)",
     build_sum},
    {0},
};
