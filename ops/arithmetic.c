/* arithmetic.c - Add, Sub, Mul, Div and Mod with broadcasting; see pow.c for Pow.
 *
 * Integers wrap. Integer division truncates towards zero; Div and Mod by zero give 0: ONNX leaves them undefined, and C
 * would trap. Integers computed from shapes pass through Add, Sub, Mul and Div as symbolic expressions. */
#include "ops/elementwise.h"

#include <math.h>

/* ---- Add, Sub, Mul ----------------------------------------------------------------------------------------------- */

/* Computes in uint64, where overflow is defined: cut to any narrower type, signed or not, the result has wrapped. The
 * bits are the same for both. */
#define DEFINE(enumerator, ctype, type)                                                                                \
    TORT_PAIR_LOOP(add_##type, ctype, ctype, void, (uint64_t)a + (uint64_t)b)                                          \
    TORT_PAIR_LOOP(sub_##type, ctype, ctype, void, (uint64_t)a - (uint64_t)b)                                          \
    TORT_PAIR_LOOP(mul_##type, ctype, ctype, void, (uint64_t)a *(uint64_t)b)
TORT_FOR_UNSIGNED(DEFINE)
#undef DEFINE
#define DEFINE(enumerator, ctype, type)                                                                                \
    TORT_PAIR_LOOP(add_##type, ctype, ctype, void, a + b)                                                              \
    TORT_PAIR_LOOP(sub_##type, ctype, ctype, void, a - b)                                                              \
    TORT_PAIR_LOOP(mul_##type, ctype, ctype, void, a *b)                                                               \
    TORT_PAIR_LOOP(div_##type, ctype, ctype, void, a / b)
DEFINE(TORT_FLOAT, float, float)
DEFINE(TORT_DOUBLE, double, double)
#undef DEFINE

/* ---- Div, Mod ---------------------------------------------------------------------------------------------------- */

/* b == -1 is a separate case: dividing the least integer by -1 overflows, which traps. */
#define DEFINE(enumerator, ctype, type)                                                                                \
    TORT_PAIR_LOOP(div_##type, ctype, ctype, void, b == 0 ? 0 : b == -1 ? (ctype)(0 - (uint64_t)a) : a / b)            \
    TORT_PAIR_LOOP(rem_##type, ctype, ctype, void, b == 0 || b == -1 ? 0 : a % b)                                      \
    TORT_PAIR_LOOP(mod_##type, ctype, ctype, void,                                                                     \
                   b == 0 || b == -1 ? 0 : a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0))
TORT_FOR_SIGNED(DEFINE)
#undef DEFINE
#define DEFINE(enumerator, ctype, type)                                                                                \
    TORT_PAIR_LOOP(div_##type, ctype, ctype, void, b == 0 ? 0 : a / b)                                                 \
    TORT_PAIR_LOOP(mod_##type, ctype, ctype, void, b == 0 ? 0 : a % b)
TORT_FOR_UNSIGNED(DEFINE)
#undef DEFINE

static inline double floor_mod(double a, double b) {
    double r = fmod(a, b);
    if (r == 0) return copysign(0, b);
    return (r < 0) != (b < 0) ? r + b : r; /* NaN stays */
}
TORT_PAIR_LOOP(mod_float, float, float, void, floor_mod(a, b))
TORT_PAIR_LOOP(mod_double, double, double, void, floor_mod(a, b))
TORT_PAIR_LOOP(rem_float, float, float, void, fmodf(a, b))
TORT_PAIR_LOOP(rem_double, double, double, void, fmod(a, b))

static tort_status resolve_mod(tort_resolve *resolve) {
    tort_modulo *params = resolve->params;
    params->c_like = tort_attr_int(resolve->node, "fmod") != 0;
    return TORT_OK;
}

/* ---- reference --------------------------------------------------------------------------------------------------- */

#define WRAPPING(name) [TORT_FLOAT] = name##_float, [TORT_DOUBLE] = name##_double, TORT_BOTH_SIGNS(name)
#define DIV(enumerator, ctype, type) [enumerator] = div_##type,
#define MOD(enumerator, ctype, type) [enumerator] = mod_##type,
#define REM(enumerator, ctype, type) [enumerator] = rem_##type,
static const tort_pair mod_pair = {.loops = {TORT_FOR_NATIVE(MOD)}, .work = 64};
static const tort_pair rem_pair = {.loops = {TORT_FOR_SIGNED(REM) TORT_FOR_UNSIGNED(MOD) REM(TORT_FLOAT, float, float)
                                                 REM(TORT_DOUBLE, double, double)},
                                   .work = 64};

/* Each operator has functions of its own, so that a build with OPS=FILE links the loops of its operators alone. */
#define PAIR(name, rows, cost)                                                                                         \
    static tort_status infer_##name(tort_infer *infer) {                                                               \
        tort_status status = tort_infer_binary(infer);                                                                 \
        return status ? status : tort_infer_elements(infer, tort_scalar_##name);                                       \
    }                                                                                                                  \
    static tort_status run_##name(const tort_call *call) {                                                             \
        static const tort_pair pair = {.loops = {rows}, .work = cost};                                                 \
        return tort_run_pair(call, &pair);                                                                             \
    }
PAIR(add, WRAPPING(add), 6)
PAIR(sub, WRAPPING(sub), 6)
PAIR(mul, WRAPPING(mul), 6)
PAIR(div, TORT_FOR_NATIVE(DIV), 16)
#undef PAIR

static tort_status run_mod(const tort_call *call) {
    const tort_modulo *params = call->params;
    return tort_run_pair(call, params->c_like ? &rem_pair : &mod_pair);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define BY_PAIR(name, infer_)                                                                                          \
    .flags = TORT_OP_IN_PLACE, .params_size = sizeof(tort_binary), infer_, tort_resolve_binary, run_##name
#define BY_COMMUTING_PAIR(name)                                                                                        \
    .flags = TORT_OP_COMMUTES | TORT_OP_IN_PLACE, .params_size = sizeof(tort_binary), infer_##name,                    \
    tort_resolve_binary, run_##name
#define BY_MOD .flags = TORT_OP_IN_PLACE, .params_size = sizeof(tort_modulo), tort_infer_binary, resolve_mod, run_mod

const tort_op tort_ops_arithmetic[] = {
    {"", "Add", 1, 5, "A:T B:T", "C:T", "T=floats", "axis:int broadcast:int=0 consumed_inputs:ints",
     BY_PAIR(add, tort_infer_binary_old)},
    {"", "Add", 6, 6, "A:T B:T", "C:T", "T=high", "axis:int broadcast:int=0", BY_PAIR(add, tort_infer_binary_old)},
    {"", "Add", 7, 12, "A:T B:T", "C:T", "T=high", "", BY_COMMUTING_PAIR(add)},
    {"", "Add", 13, 13, "A:T B:T", "C:T", "T=high13", "", BY_COMMUTING_PAIR(add)},
    {"", "Add", 14, TORT_NEWEST_OPSET, "A:T B:T", "C:T", "T=numeric13", "", BY_COMMUTING_PAIR(add)},
    {"", "Sub", 1, 5, "A:T B:T", "C:T", "T=floats", "axis:int broadcast:int=0 consumed_inputs:ints",
     BY_PAIR(sub, tort_infer_binary_old)},
    {"", "Sub", 6, 6, "A:T B:T", "C:T", "T=high", "axis:int broadcast:int=0", BY_PAIR(sub, tort_infer_binary_old)},
    {"", "Sub", 7, 12, "A:T B:T", "C:T", "T=high", "", BY_PAIR(sub, infer_sub)},
    {"", "Sub", 13, 13, "A:T B:T", "C:T", "T=high13", "", BY_PAIR(sub, infer_sub)},
    {"", "Sub", 14, TORT_NEWEST_OPSET, "A:T B:T", "C:T", "T=numeric13", "", BY_PAIR(sub, infer_sub)},
    {"", "Mul", 1, 5, "A:T B:T", "C:T", "T=floats", "axis:int broadcast:int=0 consumed_inputs:ints",
     BY_PAIR(mul, tort_infer_binary_old)},
    {"", "Mul", 6, 6, "A:T B:T", "C:T", "T=high", "axis:int broadcast:int=0", BY_PAIR(mul, tort_infer_binary_old)},
    {"", "Mul", 7, 12, "A:T B:T", "C:T", "T=high", "", BY_COMMUTING_PAIR(mul)},
    {"", "Mul", 13, 13, "A:T B:T", "C:T", "T=high13", "", BY_COMMUTING_PAIR(mul)},
    {"", "Mul", 14, TORT_NEWEST_OPSET, "A:T B:T", "C:T", "T=numeric13", "", BY_COMMUTING_PAIR(mul)},
    {"", "Div", 1, 5, "A:T B:T", "C:T", "T=floats", "axis:int broadcast:int=0 consumed_inputs:ints",
     BY_PAIR(div, tort_infer_binary_old)},
    {"", "Div", 6, 6, "A:T B:T", "C:T", "T=high", "axis:int broadcast:int=0", BY_PAIR(div, tort_infer_binary_old)},
    {"", "Div", 7, 12, "A:T B:T", "C:T", "T=high", "", BY_PAIR(div, infer_div)},
    {"", "Div", 13, 13, "A:T B:T", "C:T", "T=high13", "", BY_PAIR(div, infer_div)},
    {"", "Div", 14, TORT_NEWEST_OPSET, "A:T B:T", "C:T", "T=numeric13", "", BY_PAIR(div, infer_div)},
    {"", "Mod", 10, 12, "A:T B:T", "C:T", "T=numeric", "fmod:int=0", BY_MOD},
    {"", "Mod", 13, 27, "A:T B:T", "C:T", "T=numeric13", "fmod:int=0", BY_MOD},
    {"", "Mod", 28, TORT_NEWEST_OPSET, "A:T B:T", "C:T", "T=numeric13", "fmod:int=0", BY_MOD},
    {0},
};
