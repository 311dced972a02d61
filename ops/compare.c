/* compare.c - Equal, Greater, GreaterOrEqual, Less and LessOrEqual with broadcasting: bool results.
 *
 * Comparisons with NaN are false. Strings are equal if their bytes are. */
#include "ops/elementwise.h"
#include "ops/shapes.h"

#include <string.h>

/* ---- infer ------------------------------------------------------------------------------------------------------- */

/* True if a < b whatever the symbolic sizes are, which are not negative: `seq + 1 > seq` and `seq > -1` always hold. */
static bool surely_less(tort_dims *dims, tort_scalar a, tort_scalar b) {
    tort_scalar gap = tort_scalar_sub(dims, tort_scalar_sub(dims, b, a), tort_scalar_known(1));
    return tort_scalar_nonnegative(dims, gap);
}

static tort_scalar scalar_equal(tort_dims *dims, tort_scalar a, tort_scalar b) {
    if (tort_scalar_same(a, b)) return tort_scalar_known(1);
    if (!a.symbolic && !b.symbolic) return tort_scalar_known(0);
    bool differ = surely_less(dims, a, b) || surely_less(dims, b, a);
    return differ ? tort_scalar_known(0) : tort_scalar_unknown_of(dims, a, b);
}

static tort_scalar scalar_less(tort_dims *dims, tort_scalar a, tort_scalar b) {
    if (!a.symbolic && !b.symbolic) return tort_scalar_known(a.value < b.value);
    if (surely_less(dims, a, b)) return tort_scalar_known(1);
    bool not_less = tort_scalar_nonnegative(dims, tort_scalar_sub(dims, a, b));
    return not_less ? tort_scalar_known(0) : tort_scalar_unknown_of(dims, a, b);
}

static tort_scalar scalar_greater(tort_dims *dims, tort_scalar a, tort_scalar b) {
    return scalar_less(dims, b, a);
}

static tort_scalar scalar_not(tort_dims *dims, tort_scalar a) {
    return a.symbolic ? tort_scalar_unknown_of(dims, a, a) : tort_scalar_known(!a.value);
}

static tort_scalar scalar_less_or_equal(tort_dims *dims, tort_scalar a, tort_scalar b) {
    return scalar_not(dims, scalar_less(dims, b, a));
}

static tort_scalar scalar_greater_or_equal(tort_dims *dims, tort_scalar a, tort_scalar b) {
    return scalar_not(dims, scalar_less(dims, a, b));
}

/* ---- reference --------------------------------------------------------------------------------------------------- */

static inline bool same_text(tort_string a, tort_string b) {
    return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}
TORT_PAIR_LOOP(equal_string, tort_string, bool, void, same_text(a, b))
TORT_PAIR_LOOP(equal_bool, uint8_t, bool, void, (a != 0) == (b != 0))

TORT_PAIR_LOOP(equal_float, float, bool, void, a == b)
TORT_PAIR_LOOP(equal_double, double, bool, void, a == b)

#define DEFINE(enumerator, ctype, type) TORT_PAIR_LOOP(equal_##type, ctype, bool, void, a == b)
TORT_FOR_UNSIGNED(DEFINE)
#undef DEFINE
#define DEFINE(enumerator, ctype, type)                                                                                \
    TORT_PAIR_LOOP(less_##type, ctype, bool, void, a < b)                                                              \
    TORT_PAIR_LOOP(less_or_equal_##type, ctype, bool, void, a <= b)
TORT_FOR_NATIVE(DEFINE)
#undef DEFINE

#define LESS(enumerator, ctype, type) [enumerator] = less_##type,
#define LESS_OR_EQUAL(enumerator, ctype, type) [enumerator] = less_or_equal_##type,

/* Values of tort_op.variant. */
enum { PAIR_EQUAL, PAIR_LESS, PAIR_LESS_OR_EQUAL, PAIR_GREATER, PAIR_GREATER_OR_EQUAL };

static const struct {
    tort_scalar (*combine)(tort_dims *, tort_scalar, tort_scalar);
    tort_pair pair;
} comparisons[] = {
    [PAIR_EQUAL] = {scalar_equal,
                    {.loops = {[TORT_FLOAT] = equal_float,
                               [TORT_DOUBLE] = equal_double,
                               [TORT_BOOL] = equal_bool,
                               [TORT_STRING] = equal_string,
                               TORT_BOTH_SIGNS(equal)},
                     .work = 6}},
    [PAIR_LESS] = {scalar_less, {.loops = {TORT_FOR_NATIVE(LESS)}, .work = 6}},
    [PAIR_LESS_OR_EQUAL] = {scalar_less_or_equal, {.loops = {TORT_FOR_NATIVE(LESS_OR_EQUAL)}, .work = 6}},
    [PAIR_GREATER] = {scalar_greater, {.loops = {TORT_FOR_NATIVE(LESS)}, .work = 6, .exchanged = true}},
    [PAIR_GREATER_OR_EQUAL] = {scalar_greater_or_equal,
                               {.loops = {TORT_FOR_NATIVE(LESS_OR_EQUAL)}, .work = 6, .exchanged = true}},
};

static tort_status infer_pair(tort_infer *infer) {
    tort_status status = tort_infer_compare(infer);
    return status ? status : tort_infer_elements(infer, comparisons[infer->node->op->variant].combine);
}

static tort_status run_pair(const tort_call *call) {
    return tort_run_pair(call, &comparisons[call->op->variant].pair);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define BY_PAIR(variant_)                                                                                              \
    .variant = variant_, .params_size = sizeof(tort_binary), .infer = infer_pair, .resolve = tort_resolve_binary,      \
    .reference = run_pair
#define BY_OLD(variant_)                                                                                               \
    .variant = variant_, .params_size = sizeof(tort_binary), .infer = tort_infer_compare_old,                          \
    .resolve = tort_resolve_binary, .reference = run_pair

const tort_op tort_ops_compare[] = {
    {"", "Equal", 1, 6, "A:T B:T", "C:T1", "T=bool|int32|int64 T1=bool", "axis:int broadcast:int=0",
     BY_OLD(PAIR_EQUAL)},
    {"", "Equal", 7, 10, "A:T B:T", "C:T1", "T=bool|int32|int64 T1=bool", "", BY_PAIR(PAIR_EQUAL)},
    {"", "Equal", 11, 12, "A:T B:T", "C:T1", "T=numeric|bool T1=bool", "", BY_PAIR(PAIR_EQUAL)},
    {"", "Equal", 13, 18, "A:T B:T", "C:T1", "T=numeric13|bool T1=bool", "", BY_PAIR(PAIR_EQUAL)},
    {"", "Equal", 19, TORT_NEWEST_OPSET, "A:T B:T", "C:T1", "T=numeric13|bool|string T1=bool", "", BY_PAIR(PAIR_EQUAL)},
    {"", "Greater", 1, 6, "A:T B:T", "C:T1", "T=floats T1=bool", "axis:int broadcast:int=0", BY_OLD(PAIR_GREATER)},
    {"", "Greater", 7, 8, "A:T B:T", "C:T1", "T=floats T1=bool", "", BY_PAIR(PAIR_GREATER)},
    {"", "Greater", 9, 12, "A:T B:T", "C:T1", "T=numeric T1=bool", "", BY_PAIR(PAIR_GREATER)},
    {"", "Greater", 13, TORT_NEWEST_OPSET, "A:T B:T", "C:T1", "T=numeric13 T1=bool", "", BY_PAIR(PAIR_GREATER)},
    {"", "GreaterOrEqual", 12, 15, "A:T B:T", "C:T1", "T=numeric T1=bool", "", BY_PAIR(PAIR_GREATER_OR_EQUAL)},
    {"", "GreaterOrEqual", 16, TORT_NEWEST_OPSET, "A:T B:T", "C:T1", "T=numeric13 T1=bool", "",
     BY_PAIR(PAIR_GREATER_OR_EQUAL)},
    {"", "Less", 1, 6, "A:T B:T", "C:T1", "T=floats T1=bool", "axis:int broadcast:int=0", BY_OLD(PAIR_LESS)},
    {"", "Less", 7, 8, "A:T B:T", "C:T1", "T=floats T1=bool", "", BY_PAIR(PAIR_LESS)},
    {"", "Less", 9, 12, "A:T B:T", "C:T1", "T=numeric T1=bool", "", BY_PAIR(PAIR_LESS)},
    {"", "Less", 13, TORT_NEWEST_OPSET, "A:T B:T", "C:T1", "T=numeric13 T1=bool", "", BY_PAIR(PAIR_LESS)},
    {"", "LessOrEqual", 12, 15, "A:T B:T", "C:T1", "T=numeric T1=bool", "", BY_PAIR(PAIR_LESS_OR_EQUAL)},
    {"", "LessOrEqual", 16, TORT_NEWEST_OPSET, "A:T B:T", "C:T1", "T=numeric13 T1=bool", "",
     BY_PAIR(PAIR_LESS_OR_EQUAL)},
    {0},
};
