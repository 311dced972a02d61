/* unary.c - mathematical functions of one tensor, element by element; Not, BitwiseNot, IsInf and IsNaN.
 *
 * float32 uses the vectorizable functions of vector_math.h where there is one, double the C library. Round is to
 * nearest even. Integers wrap: the absolute value of the least one is itself. */
#include "ops/elementwise.h"
#include "ops/vector_math.h"

#include <math.h>
#include <string.h>

/* ---- functions of floats ----------------------------------------------------------------------------------------- */

/* name, expression of float x, expression of double x, work (see tort_map) */
#define FLOAT_FUNCTIONS(X)                                                                                             \
    X(acos, acosf(x), acos(x), 100)                                                                                    \
    X(acosh, acoshf(x), acosh(x), 200)                                                                                 \
    X(asin, asinf(x), asin(x), 100)                                                                                    \
    X(asinh, asinhf(x), asinh(x), 200)                                                                                 \
    X(atan, atanf(x), atan(x), 100)                                                                                    \
    X(atanh, atanhf(x), atanh(x), 200)                                                                                 \
    X(ceil, ceilf(x), ceil(x), 16)                                                                                     \
    X(cos, cosf(x), cos(x), 100)                                                                                       \
    X(cosh, coshf(x), cosh(x), 150)                                                                                    \
    X(exp, tort_expf(x), exp(x), 24)                                                                                   \
    X(floor, floorf(x), floor(x), 16)                                                                                  \
    X(log, tort_logf(x), log(x), 32)                                                                                   \
    X(reciprocal, 1.0f / x, 1.0 / x, 8)                                                                                \
    X(round, rintf(x), rint(x), 16)                                                                                    \
    X(sin, sinf(x), sin(x), 100)                                                                                       \
    X(sinh, sinhf(x), sinh(x), 150)                                                                                    \
    X(sqrt, sqrtf(x), sqrt(x), 16)                                                                                     \
    X(tan, tanf(x), tan(x), 150)                                                                                       \
    X(tanh, tort_tanhf(x), tanh(x), 32)

#define DEFINE(name, of_float, of_double, cost)                                                                        \
    TORT_MAP_LOOP(name##_floats, float, void, of_float)                                                                \
    TORT_MAP_LOOP(name##_doubles, double, void, of_double)
FLOAT_FUNCTIONS(DEFINE)

/* ---- functions of integers too ----------------------------------------------------------------------------------- */

/* name, expression of float, double, int64 and uint64 x, work */
#define NUMBER_FUNCTIONS(X)                                                                                            \
    X(abs, fabsf(x), fabs(x), x < 0 ? -(uint64_t)x : (uint64_t)x, x, 4)                                                \
    X(neg, -x, -x, -(uint64_t)x, -x, 4)                                                                                \
    X(sign, x > 0 ? 1 : x < 0 ? -1 : x, x > 0 ? 1 : x < 0 ? -1 : x, (x > 0) - (x < 0), x > 0, 8)                       \
    X(erf, tort_erff(x), erf(x), erf((double)x), erf((double)x), 32)

#define DEFINE_NUMBERS(name, of_float, of_double, of_integer, of_natural, cost)                                        \
    TORT_MAP_LOOP(name##_integers, int64_t, void, of_integer)                                                          \
    TORT_MAP_LOOP(name##_naturals, uint64_t, void, of_natural)                                                         \
    TORT_MAP_LOOP(name##_floats, float, void, of_float)                                                                \
    TORT_MAP_LOOP(name##_doubles, double, void, of_double)
NUMBER_FUNCTIONS(DEFINE_NUMBERS)

/* Values of tort_op.variant: indices into maps[]. */
#define NAME(name, ...) MAP_##name,
enum { FLOAT_FUNCTIONS(NAME) NUMBER_FUNCTIONS(NAME) };
#define MAP(name, of_float, of_double, cost) {name##_floats, name##_doubles, NULL, NULL, cost},
#define MAP_NUMBERS(name, of_float, of_double, of_integer, of_natural, cost)                                           \
    {name##_floats, name##_doubles, name##_integers, name##_naturals, cost},
static const tort_map maps[] = {FLOAT_FUNCTIONS(MAP) NUMBER_FUNCTIONS(MAP_NUMBERS)};

static tort_status run_map(const tort_call *call) {
    return tort_run_map(call, &maps[call->op->variant], NULL);
}

/* ---- bits -------------------------------------------------------------------------------------------------------- */

/* tort_op.variant is the mask of bits to flip in a byte: 0xff for all bits, 1 for bools. */
static tort_status run_flipped(const tort_call *call) {
    const uint8_t flip = (uint8_t)call->op->variant;
    const tort_tensor *x = &call->inputs[0];
    const uint8_t *in = x->data;
    uint8_t *out = call->outputs[0].data;
    int64_t bytes = tort_count(x) * (tort_type_bits(x->type) / 8);
    for (int64_t at = 0; at < bytes && tort_row_goes_on(call->watch, at); at += TORT_PART)
        for (int64_t i = at; i < at + tort_part_count(bytes, at); i++) out[i] = in[i] ^ flip;
    return TORT_OK;
}

/* ---- IsInf, IsNaN ------------------------------------------------------------------------------------------------ */

static tort_status infer_bool(tort_infer *infer) {
    tort_infer_same(infer, 0, 0);
    infer->outputs[0].type = TORT_BOOL;
    return TORT_OK;
}

static tort_status resolve_is_inf(tort_resolve *resolve) {
    tort_infinities *params = resolve->params;
    params->negative = tort_attr_int(resolve->node, "detect_negative") != 0;
    params->positive = tort_attr_int(resolve->node, "detect_positive") != 0;
    return TORT_OK;
}

typedef struct predicate {
    const tort_call *call;
    bool nan;
    double low, high; /* for IsInf: the infinities that count, or NaN */
} predicate;

static void test_blocks(void *arg, int64_t begin, int64_t end) {
    const predicate *test = arg;
    const tort_tensor *x = &test->call->inputs[0];
    bool *out = test->call->outputs[0].data;
    int64_t total = tort_count(x), last = end * TORT_BLOCK < total ? end * TORT_BLOCK : total;
    for (int64_t at = begin * TORT_BLOCK; at < last; at += TORT_BLOCK) {
        double block[TORT_BLOCK];
        int64_t count = tort_block_count(last, at);
        tort_load_doubles(x->type, x->data, at, count, block);
        for (int64_t i = 0; i < count; i++) {
            out[at + i] = test->nan ? isnan(block[i]) : block[i] == test->low || block[i] == test->high;
        }
    }
}

static tort_status run_is_inf(const tort_call *call) {
    const tort_infinities *params = call->params;
    predicate test = {call, false, params->negative ? -INFINITY : NAN, params->positive ? INFINITY : NAN};
    tort_parallel(call, (tort_count(&call->inputs[0]) + TORT_BLOCK - 1) / TORT_BLOCK, TORT_BLOCK, test_blocks, &test);
    return TORT_OK;
}

static tort_status run_is_nan(const tort_call *call) {
    predicate test = {.call = call, .nan = true};
    tort_parallel(call, (tort_count(&call->inputs[0]) + TORT_BLOCK - 1) / TORT_BLOCK, TORT_BLOCK, test_blocks, &test);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define BY(variant_, reference_)                                                                                       \
    .flags = TORT_OP_IN_PLACE, .variant = variant_, .infer = tort_infer_elementwise, .reference = reference_

const tort_op tort_ops_unary[] = {
    {"", "Abs", 1, 5, "X:T", "Y:T", "T=floats", "consumed_inputs:ints", BY(MAP_abs, run_map)},
    {"", "Abs", 6, 12, "X:T", "Y:T", "T=numeric", "", BY(MAP_abs, run_map)},
    {"", "Abs", 13, TORT_NEWEST_OPSET, "X:T", "Y:T", "T=numeric13", "", BY(MAP_abs, run_map)},
    {"", "Acos", 7, 21, "input:T", "output:T", "T=floats", "", BY(MAP_acos, run_map)},
    {"", "Acos", 22, TORT_NEWEST_OPSET, "input:T", "output:T", "T=floats13", "", BY(MAP_acos, run_map)},
    {"", "Acosh", 9, 21, "input:T", "output:T", "T=floats", "", BY(MAP_acosh, run_map)},
    {"", "Acosh", 22, TORT_NEWEST_OPSET, "input:T", "output:T", "T=floats13", "", BY(MAP_acosh, run_map)},
    {"", "Asin", 7, 21, "input:T", "output:T", "T=floats", "", BY(MAP_asin, run_map)},
    {"", "Asin", 22, TORT_NEWEST_OPSET, "input:T", "output:T", "T=floats13", "", BY(MAP_asin, run_map)},
    {"", "Asinh", 9, 21, "input:T", "output:T", "T=floats", "", BY(MAP_asinh, run_map)},
    {"", "Asinh", 22, TORT_NEWEST_OPSET, "input:T", "output:T", "T=floats13", "", BY(MAP_asinh, run_map)},
    {"", "Atan", 7, 21, "input:T", "output:T", "T=floats", "", BY(MAP_atan, run_map)},
    {"", "Atan", 22, TORT_NEWEST_OPSET, "input:T", "output:T", "T=floats13", "", BY(MAP_atan, run_map)},
    {"", "Atanh", 9, 21, "input:T", "output:T", "T=floats", "", BY(MAP_atanh, run_map)},
    {"", "Atanh", 22, TORT_NEWEST_OPSET, "input:T", "output:T", "T=floats13", "", BY(MAP_atanh, run_map)},
    {"", "Ceil", 1, 5, "X:T", "Y:T", "T=floats", "consumed_inputs:ints", BY(MAP_ceil, run_map)},
    {"", "Ceil", 6, 12, "X:T", "Y:T", "T=floats", "", BY(MAP_ceil, run_map)},
    {"", "Ceil", 13, TORT_NEWEST_OPSET, "X:T", "Y:T", "T=floats13", "", BY(MAP_ceil, run_map)},
    {"", "Cos", 7, 21, "input:T", "output:T", "T=floats", "", BY(MAP_cos, run_map)},
    {"", "Cos", 22, TORT_NEWEST_OPSET, "input:T", "output:T", "T=floats13", "", BY(MAP_cos, run_map)},
    {"", "Cosh", 9, 21, "input:T", "output:T", "T=floats", "", BY(MAP_cosh, run_map)},
    {"", "Cosh", 22, TORT_NEWEST_OPSET, "input:T", "output:T", "T=floats13", "", BY(MAP_cosh, run_map)},
    {"", "Erf", 9, 12, "input:T", "output:T", "T=numeric", "", BY(MAP_erf, run_map)},
    {"", "Erf", 13, TORT_NEWEST_OPSET, "input:T", "output:T", "T=floats13", "", BY(MAP_erf, run_map)},
    {"", "Exp", 1, 5, "input:T", "output:T", "T=floats", "consumed_inputs:ints", BY(MAP_exp, run_map)},
    {"", "Exp", 6, 12, "input:T", "output:T", "T=floats", "", BY(MAP_exp, run_map)},
    {"", "Exp", 13, TORT_NEWEST_OPSET, "input:T", "output:T", "T=floats13", "", BY(MAP_exp, run_map)},
    {"", "Floor", 1, 5, "X:T", "Y:T", "T=floats", "consumed_inputs:ints", BY(MAP_floor, run_map)},
    {"", "Floor", 6, 12, "X:T", "Y:T", "T=floats", "", BY(MAP_floor, run_map)},
    {"", "Floor", 13, TORT_NEWEST_OPSET, "X:T", "Y:T", "T=floats13", "", BY(MAP_floor, run_map)},
    {"", "IsInf", 10, 19, "X:T1", "Y:T2", "T1=float|double T2=bool", "detect_negative:int=1 detect_positive:int=1",
     .params_size = sizeof(tort_infinities), infer_bool, resolve_is_inf, run_is_inf},
    {"", "IsInf", 20, TORT_NEWEST_OPSET, "X:T1", "Y:T2", "T1=floats13|float8 T2=bool",
     "detect_negative:int=1 detect_positive:int=1", .params_size = sizeof(tort_infinities), infer_bool, resolve_is_inf,
     run_is_inf},
    {"", "IsNaN", 9, 12, "X:T1", "Y:T2", "T1=floats T2=bool", "", .infer = infer_bool, .reference = run_is_nan},
    {"", "IsNaN", 13, 19, "X:T1", "Y:T2", "T1=floats13 T2=bool", "", .infer = infer_bool, .reference = run_is_nan},
    {"", "IsNaN", 20, TORT_NEWEST_OPSET, "X:T1", "Y:T2", "T1=floats13|float8 T2=bool", "", .infer = infer_bool,
     .reference = run_is_nan},
    {"", "Log", 1, 5, "input:T", "output:T", "T=floats", "consumed_inputs:ints", BY(MAP_log, run_map)},
    {"", "Log", 6, 12, "input:T", "output:T", "T=floats", "", BY(MAP_log, run_map)},
    {"", "Log", 13, TORT_NEWEST_OPSET, "input:T", "output:T", "T=floats13", "", BY(MAP_log, run_map)},
    {"", "Neg", 1, 5, "X:T", "Y:T", "T=floats", "consumed_inputs:ints", BY(MAP_neg, run_map)},
    {"", "Neg", 6, 12, "X:T", "Y:T", "T=floats|int8|int16|int32|int64", "", BY(MAP_neg, run_map)},
    {"", "Neg", 13, TORT_NEWEST_OPSET, "X:T", "Y:T", "T=floats13|int8|int16|int32|int64", "", BY(MAP_neg, run_map)},
    {"", "Not", 1, TORT_NEWEST_OPSET, "X:T", "Y:T", "T=bool", "", BY(1, run_flipped)},
    {"", "BitwiseNot", 18, TORT_NEWEST_OPSET, "X:T", "Y:T", "T=integers", "", BY(0xff, run_flipped)},
    {"", "Reciprocal", 1, 5, "X:T", "Y:T", "T=floats", "consumed_inputs:ints", BY(MAP_reciprocal, run_map)},
    {"", "Reciprocal", 6, 12, "X:T", "Y:T", "T=floats", "", BY(MAP_reciprocal, run_map)},
    {"", "Reciprocal", 13, TORT_NEWEST_OPSET, "X:T", "Y:T", "T=floats13", "", BY(MAP_reciprocal, run_map)},
    {"", "Round", 11, 21, "X:T", "Y:T", "T=floats", "", BY(MAP_round, run_map)},
    {"", "Round", 22, TORT_NEWEST_OPSET, "X:T", "Y:T", "T=floats13", "", BY(MAP_round, run_map)},
    {"", "Sign", 9, 12, "input:T", "output:T", "T=numeric", "", BY(MAP_sign, run_map)},
    {"", "Sign", 13, TORT_NEWEST_OPSET, "input:T", "output:T", "T=numeric13", "", BY(MAP_sign, run_map)},
    {"", "Sin", 7, 21, "input:T", "output:T", "T=floats", "", BY(MAP_sin, run_map)},
    {"", "Sin", 22, TORT_NEWEST_OPSET, "input:T", "output:T", "T=floats13", "", BY(MAP_sin, run_map)},
    {"", "Sinh", 9, 21, "input:T", "output:T", "T=floats", "", BY(MAP_sinh, run_map)},
    {"", "Sinh", 22, TORT_NEWEST_OPSET, "input:T", "output:T", "T=floats13", "", BY(MAP_sinh, run_map)},
    {"", "Sqrt", 1, 5, "X:T", "Y:T", "T=floats", "consumed_inputs:ints", BY(MAP_sqrt, run_map)},
    {"", "Sqrt", 6, 12, "X:T", "Y:T", "T=floats", "", BY(MAP_sqrt, run_map)},
    {"", "Sqrt", 13, TORT_NEWEST_OPSET, "X:T", "Y:T", "T=floats13", "", BY(MAP_sqrt, run_map)},
    {"", "Tan", 7, 21, "input:T", "output:T", "T=floats", "", BY(MAP_tan, run_map)},
    {"", "Tan", 22, TORT_NEWEST_OPSET, "input:T", "output:T", "T=floats13", "", BY(MAP_tan, run_map)},
    {"", "Tanh", 1, 5, "input:T", "output:T", "T=floats", "consumed_inputs:ints", BY(MAP_tanh, run_map)},
    {"", "Tanh", 6, 12, "input:T", "output:T", "T=floats", "", BY(MAP_tanh, run_map)},
    {"", "Tanh", 13, TORT_NEWEST_OPSET, "input:T", "output:T", "T=floats13", "", BY(MAP_tanh, run_map)},
    {0},
};
