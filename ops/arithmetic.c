/* arithmetic.c - Add, Sub, Mul, Div and Mod with broadcasting; see pow.c for Pow.
 *
 * Integers wrap. Division truncates towards zero; by zero it gives 0, as does Mod: a defined value for what ONNX leaves
 * open. Contents that shapes determine flow through Add, Sub, Mul and Div. */
#include "ops/elementwise.h"

#include <math.h>

/* ---- infer ------------------------------------------------------------------------------------------------------- */

#define INFER(name)                                                                                                    \
    static tort_status infer_##name(tort_infer *infer) {                                                               \
        tort_status status = tort_infer_binary(infer);                                                                 \
        return status != TORT_OK ? status : tort_infer_elements(infer, tort_scalar_##name);                            \
    }
INFER(add)
INFER(sub)
INFER(mul)
INFER(div)

/* ---- Add, Sub, Mul ----------------------------------------------------------------------------------------------- */

/* Unsigned arithmetic of 64 bits wraps in every narrower width too. */
#define DEFINE(enumerator, ctype, type)                                                                                \
    TORT_PAIR_LOOP(add_##type, ctype, ctype, void, (uint64_t)a + (uint64_t)b)                                          \
    TORT_PAIR_LOOP(sub_##type, ctype, ctype, void, (uint64_t)a - (uint64_t)b)                                          \
    TORT_PAIR_LOOP(mul_##type, ctype, ctype, void, (uint64_t)a *(uint64_t)b)
TORT_FOR_INTEGERS(DEFINE)
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

/* -1 is a case of its own: the least integer divided by it overflows. */
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

#define ADD(enumerator, ctype, type) [enumerator] = add_##type,
#define SUB(enumerator, ctype, type) [enumerator] = sub_##type,
#define MUL(enumerator, ctype, type) [enumerator] = mul_##type,
#define DIV(enumerator, ctype, type) [enumerator] = div_##type,
#define MOD(enumerator, ctype, type) [enumerator] = mod_##type,
#define REM(enumerator, ctype, type) [enumerator] = rem_##type,
static const tort_pair add_pair = {{TORT_FOR_NATIVE(ADD)}, 6};
static const tort_pair sub_pair = {{TORT_FOR_NATIVE(SUB)}, 6};
static const tort_pair mul_pair = {{TORT_FOR_NATIVE(MUL)}, 6};
static const tort_pair div_pair = {{TORT_FOR_NATIVE(DIV)}, 16};
static const tort_pair mod_pair = {{TORT_FOR_NATIVE(MOD)}, 64};
static const tort_pair rem_pair = {
    {TORT_FOR_SIGNED(REM) TORT_FOR_UNSIGNED(MOD) REM(TORT_FLOAT, float, float) REM(TORT_DOUBLE, double, double)}, 64};

static tort_status run_add(const tort_call *call) {
    return tort_run_pair(call, &add_pair);
}
static tort_status run_sub(const tort_call *call) {
    return tort_run_pair(call, &sub_pair);
}
static tort_status run_mul(const tort_call *call) {
    return tort_run_pair(call, &mul_pair);
}
static tort_status run_div(const tort_call *call) {
    return tort_run_pair(call, &div_pair);
}
static tort_status run_mod(const tort_call *call) {
    const tort_modulo *params = call->params;
    return tort_run_pair(call, params->c_like ? &rem_pair : &mod_pair);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const tort_op tort_ops_arithmetic[] = {
    {"", "Add", 1, 5, "A:T B:T", "C:T", "T=floats", "axis:int broadcast:int=0 consumed_inputs:ints", 0,
     TORT_OP_IN_PLACE, sizeof(tort_binary), tort_infer_binary_old, tort_resolve_binary, run_add},
    {"", "Add", 6, 6, "A:T B:T", "C:T", "T=high", "axis:int broadcast:int=0", 0, TORT_OP_IN_PLACE, sizeof(tort_binary),
     tort_infer_binary_old, tort_resolve_binary, run_add},
    {"", "Add", 7, 12, "A:T B:T", "C:T", "T=high", "", 0, TORT_OP_COMMUTES | TORT_OP_IN_PLACE, sizeof(tort_binary),
     infer_add, tort_resolve_binary, run_add},
    {"", "Add", 13, 13, "A:T B:T", "C:T", "T=high13", "", 0, TORT_OP_COMMUTES | TORT_OP_IN_PLACE, sizeof(tort_binary),
     infer_add, tort_resolve_binary, run_add},
    {"", "Add", 14, 28, "A:T B:T", "C:T", "T=numeric13", "", 0, TORT_OP_COMMUTES | TORT_OP_IN_PLACE,
     sizeof(tort_binary), infer_add, tort_resolve_binary, run_add},
    {"", "Sub", 1, 5, "A:T B:T", "C:T", "T=floats", "axis:int broadcast:int=0 consumed_inputs:ints", 0,
     TORT_OP_IN_PLACE, sizeof(tort_binary), tort_infer_binary_old, tort_resolve_binary, run_sub},
    {"", "Sub", 6, 6, "A:T B:T", "C:T", "T=high", "axis:int broadcast:int=0", 0, TORT_OP_IN_PLACE, sizeof(tort_binary),
     tort_infer_binary_old, tort_resolve_binary, run_sub},
    {"", "Sub", 7, 12, "A:T B:T", "C:T", "T=high", "", 0, TORT_OP_IN_PLACE, sizeof(tort_binary), infer_sub,
     tort_resolve_binary, run_sub},
    {"", "Sub", 13, 13, "A:T B:T", "C:T", "T=high13", "", 0, TORT_OP_IN_PLACE, sizeof(tort_binary), infer_sub,
     tort_resolve_binary, run_sub},
    {"", "Sub", 14, 28, "A:T B:T", "C:T", "T=numeric13", "", 0, TORT_OP_IN_PLACE, sizeof(tort_binary), infer_sub,
     tort_resolve_binary, run_sub},
    {"", "Mul", 1, 5, "A:T B:T", "C:T", "T=floats", "axis:int broadcast:int=0 consumed_inputs:ints", 0,
     TORT_OP_IN_PLACE, sizeof(tort_binary), tort_infer_binary_old, tort_resolve_binary, run_mul},
    {"", "Mul", 6, 6, "A:T B:T", "C:T", "T=high", "axis:int broadcast:int=0", 0, TORT_OP_IN_PLACE, sizeof(tort_binary),
     tort_infer_binary_old, tort_resolve_binary, run_mul},
    {"", "Mul", 7, 12, "A:T B:T", "C:T", "T=high", "", 0, TORT_OP_COMMUTES | TORT_OP_IN_PLACE, sizeof(tort_binary),
     infer_mul, tort_resolve_binary, run_mul},
    {"", "Mul", 13, 13, "A:T B:T", "C:T", "T=high13", "", 0, TORT_OP_COMMUTES | TORT_OP_IN_PLACE, sizeof(tort_binary),
     infer_mul, tort_resolve_binary, run_mul},
    {"", "Mul", 14, 28, "A:T B:T", "C:T", "T=numeric13", "", 0, TORT_OP_COMMUTES | TORT_OP_IN_PLACE,
     sizeof(tort_binary), infer_mul, tort_resolve_binary, run_mul},
    {"", "Div", 1, 5, "A:T B:T", "C:T", "T=floats", "axis:int broadcast:int=0 consumed_inputs:ints", 0,
     TORT_OP_IN_PLACE, sizeof(tort_binary), tort_infer_binary_old, tort_resolve_binary, run_div},
    {"", "Div", 6, 6, "A:T B:T", "C:T", "T=high", "axis:int broadcast:int=0", 0, TORT_OP_IN_PLACE, sizeof(tort_binary),
     tort_infer_binary_old, tort_resolve_binary, run_div},
    {"", "Div", 7, 12, "A:T B:T", "C:T", "T=high", "", 0, TORT_OP_IN_PLACE, sizeof(tort_binary), infer_div,
     tort_resolve_binary, run_div},
    {"", "Div", 13, 13, "A:T B:T", "C:T", "T=high13", "", 0, TORT_OP_IN_PLACE, sizeof(tort_binary), infer_div,
     tort_resolve_binary, run_div},
    {"", "Div", 14, 28, "A:T B:T", "C:T", "T=numeric13", "", 0, TORT_OP_IN_PLACE, sizeof(tort_binary), infer_div,
     tort_resolve_binary, run_div},
    {"", "Mod", 10, 12, "A:T B:T", "C:T", "T=numeric", "fmod:int=0", 0, TORT_OP_IN_PLACE, sizeof(tort_modulo),
     tort_infer_binary, resolve_mod, run_mod},
    {"", "Mod", 13, 27, "A:T B:T", "C:T", "T=numeric13", "fmod:int=0", 0, TORT_OP_IN_PLACE, sizeof(tort_modulo),
     tort_infer_binary, resolve_mod, run_mod},
    {"", "Mod", 28, 28, "A:T B:T", "C:T", "T=numeric13", "fmod:int=0", 0, TORT_OP_IN_PLACE, sizeof(tort_modulo),
     tort_infer_binary, resolve_mod, run_mod},
    {0},
};
