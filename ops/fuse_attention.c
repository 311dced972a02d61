/* fuse_attention.c - fusions of the products, scale, mask and softmax that exporters write for attention into
 * FusedAttention.
 *
 * The two products and the nodes between them are fused first; then the nodes around them: transpositions of the heads,
 * and scales of queries or keys instead of scores. Read next: fused_attention.c. */
#include "ops/numeric.h"
#include "runtime/include/pattern.h"

#include <math.h>
#include <string.h>

/* Reads a constant of one number, which must not be NaN. */
static bool read_number(tort_match *match, const char *name, double *number) {
    tort_tensor tensor;
    if (!tort_match_constant(match, name, &tensor) || tort_count(&tensor) != 1) return false;
    tort_load_doubles(tensor.type, tensor.data, 0, 1, number);
    return !isnan(*number);
}

/* Multiplies *scale by the number of node s, or divides it; without such a node *scale stays. */
static bool times_scale(tort_match *match, double *scale) {
    const tort_node_view node = tort_match_node(match, "s");
    double number;
    if (!node.op) return true;
    if (!read_number(match, "c", &number)) return false;
    *scale = !strcmp(node.op->name, "Div") ? *scale / number : *scale * number;
    return isfinite((float)*scale);
}

/* ---- between the products ---------------------------------------------------------------------------------------- */

/* True if the softmax is along the keys. Before version 13 it normalizes all axes from `axis` on together, so that only
 * the last one fits. */
static bool is_along_keys(tort_match *match) {
    const tort_node_view softmax = tort_match_node(match, "p");
    const int64_t axis = tort_attr_int(&softmax, "axis"), rank = tort_match_info(match, "p")->rank;
    return axis == -1 || axis == rank - 1;
}

/* True if Q, K and V have the batch dimensions of the scores, with no broadcast. */
static bool is_one_batch(tort_match *match) {
    static const char *const names[] = {"q", "k", "v"};
    const tort_info *scores = tort_match_info(match, "a");
    if (scores->rank < 2 || scores->rank > 4) return false;
    for (int32_t i = 0; i < 3; i++) {
        const tort_info *info = tort_match_info(match, names[i]);
        if (info->rank != scores->rank) return false;
        for (int32_t d = 0; d < scores->rank - 2; d++)
            if (info->dims[d] != scores->dims[d]) return false;
    }
    return true;
}

/* Reads what com.microsoft's FusedMatMul adds to MatMul: a scale, and transB, which becomes k_perm. */
static bool read_product(tort_match *match, double *scale) {
    const tort_node_view product = tort_match_node(match, "a");
    const int32_t rank = tort_match_info(match, "a")->rank;
    if (strcmp(product.op->domain, "com.microsoft") != 0) return true;
    *scale *= (double)tort_attr_float(&product, "alpha");
    if (!tort_attr_int(&product, "transB")) return true;
    int64_t *order = rank < 2 ? NULL : tort_match_memory(match, (size_t)rank * sizeof *order);
    for (int32_t i = 0; order && i < rank; i++) order[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    return order &&
           tort_match_set(
               match, &(tort_attribute){.name = "k_perm", .kind = TORT_ATTR_INTS, .count = rank, .u = {.ints = order}});
}

/* Scale, Where and mask must not broadcast the scores to another shape. */
static bool build_attention(tort_match *match) {
    double scale = 1, fill = 0;
    if (!tort_match_same_shape(match, "a", "p") || tort_match_info(match, "b")) return false;
    if (!is_along_keys(match) || !is_one_batch(match)) return false;
    if (!read_product(match, &scale) || !times_scale(match, &scale)) return false;
    if (tort_match_info(match, "f") && !read_number(match, "f", &fill)) return false;
    return tort_match_set_float(match, "scale", (float)scale) && tort_match_set_float(match, "fill", (float)fill);
}

/* ---- around the products ----------------------------------------------------------------------------------------- */

static bool build_scale(tort_match *match) {
    const tort_node_view attention = tort_match_node(match, "y");
    double scale = (double)tort_attr_float(&attention, "scale");
    return tort_match_same_shape(match, "s", "x") && times_scale(match, &scale) &&
           tort_match_set_float(match, "scale", (float)scale);
}

/* Entry i of a perm attribute; absent, it is the reverse order in Transpose, the identity in FusedAttention. */
static int64_t entry_of(const tort_node_view *node, const char *name, int32_t rank, int32_t i) {
    int32_t count = 0;
    const int64_t *perm = tort_attr_ints(node, name, &count);
    if (count) return perm[i];
    return strcmp(node->op->name, "Transpose") ? i : rank - 1 - i;
}

/* Sets attribute `name` to the order of axes that `first` and then `second` make. */
static bool set_order(tort_match *match, const char *name, const tort_node_view *first, const char *first_name,
                      const tort_node_view *second, const char *second_name) {
    const int32_t rank = tort_match_info(match, "t")->rank;
    int64_t *order = tort_match_memory(match, (size_t)rank * sizeof *order + 1);
    for (int32_t i = 0; order && i < rank; i++)
        order[i] = entry_of(first, first_name, rank, (int32_t)entry_of(second, second_name, rank, i));
    return order &&
           tort_match_set(match,
                          &(tort_attribute){.name = name, .kind = TORT_ATTR_INTS, .count = rank, .u = {.ints = order}});
}

static bool build_transposed(tort_match *match, const char *name) {
    const tort_node_view transpose = tort_match_node(match, "t"), attention = tort_match_node(match, "y");
    return set_order(match, name, &transpose, "perm", &attention, name);
}

static bool build_query_order(tort_match *match) {
    return build_transposed(match, "q_perm");
}

static bool build_key_order(tort_match *match) {
    return build_transposed(match, "k_perm");
}

static bool build_value_order(tort_match *match) {
    return build_transposed(match, "v_perm");
}

static bool build_output_order(tort_match *match) {
    const tort_node_view transpose = tort_match_node(match, "t"), attention = tort_match_node(match, "a");
    return set_order(match, "y_perm", &attention, "y_perm", &transpose, "perm");
}

/* True if the Cast behind a Softmax keeps the type. */
static bool build_cast(tort_match *match) {
    return tort_match_info(match, "p")->type == tort_match_info(match, "y")->type;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define FUSED "tinyort::FusedAttention"
#define SCORES "*a=MatMul(q,k) "
#define SCALED SCORES "s=Mul|Div(a,#c) "
#define OPTIMIZED "*a=com.microsoft::FusedMatMul{transA=0,transBatchA=0,transBatchB=0}(q,k) "
#define SOFTMAX(x_) "p=Softmax(" x_ ") y=MatMul(p,v)"
/* A NaN behind the softmax, in a row whose keys are all hidden, becomes 0. */
#define SAFE_SOFTMAX(x_) "p=Softmax(" x_ ") n=IsNaN(p) z=Where(n,#0,p) y=MatMul(z,v)"
#define ROW(nodes_, makes_)                                                                                            \
    { "attention", nodes_, FUSED "(q,k,v" makes_, build_attention }
/* All ways to hide scores, applied to x_. */
#define MASKS(before_, x_)                                                                                             \
    ROW(before_ SOFTMAX(x_), ")"), ROW(before_ "m=Add(" x_ ",mask) " SOFTMAX("m"), ",mask)"),                          \
        ROW(before_ "w=Where(keep," x_ ",#f) " SOFTMAX("w"), ",none,keep)"),                                           \
        ROW(before_ "w=Where(hide,#f," x_ ") " SOFTMAX("w"), ",none,hide){keep_where=0}"),                             \
        ROW(before_ "w=Where(keep," x_ ",#f) m=Add(w,mask) " SOFTMAX("m"), ",mask,keep)")
#define WHOLE FUSED "(q,k,v,mask,keep)"
#define TRANSPOSED(t_, operands_, build_)                                                                              \
    { "attention_transpose", "t=Transpose(" t_ ") *y=" FUSED "(" operands_ ",mask?,keep?)", WHOLE, build_ }

const tort_pattern tort_patterns_attention[] = {
    {"softmax_cast", "p=Softmax(x) y=Cast(p)", "Softmax(x)", build_cast},
    MASKS(SCORES, "a"),
    MASKS(SCALED, "s"),
    ROW("*a=tinyort::FusedMatMul{activation=none}(q,k,b?,mask) " SOFTMAX("a"), ",mask)"),
    ROW(SCORES SAFE_SOFTMAX("a"), "){nan_to_zero=1}"),
    ROW(SCORES "m=Add(a,mask) " SAFE_SOFTMAX("m"), ",mask){nan_to_zero=1}"),
    ROW("*a=tinyort::FusedMatMul{activation=none}(q,k,b?,mask) " SAFE_SOFTMAX("a"), ",mask){nan_to_zero=1}"),
    MASKS(OPTIMIZED, "a"),
    {"attention_scale", "s=Mul|Div(x,#c) *y=" FUSED "(s,k,v,mask?,keep?)", FUSED "(x,k,v,mask,keep)", build_scale},
    {"attention_scale", "s=Mul|Div(x,#c) *y=" FUSED "(q,s,v,mask?,keep?)", FUSED "(q,x,v,mask,keep)", build_scale},
    TRANSPOSED("q", "t,k,v", build_query_order),
    TRANSPOSED("k", "q,t,v", build_key_order),
    TRANSPOSED("v", "q,k,t", build_value_order),
    {"attention_transpose", "*a=" FUSED "(q,k,v,mask?,keep?) t=Transpose(a)", WHOLE, build_output_order},
    {0},
};
