/* pow.c - Pow: base and exponent may have different types; the result has the base's.
 *
 * An integer to an integer power is exact and wraps; a negative power is 0, except of 1 and -1. Other pairs go through
 * the C library in float, or in double if one is double or an integer of 32 or 64 bits. An exponent of one element, as
 * in most models, is inspected once per block: 2, 3, 1/2 and the like need no pow. */
#include "ops/elementwise.h"

#include <math.h>

typedef struct powers {
    const tort_tensor *base, *exponent;
    const tort_tensor *out;
} powers;

static int64_t power_of_integer(int64_t base, int64_t exponent) {
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
    uint64_t result = 1, factor = (uint64_t)base;
    for (uint64_t left = (uint64_t)exponent; left > 0; left >>= 1) {
        if (left & 1) result *= factor;
        factor *= factor;
    }
    return (int64_t)result;
}

/* Computes powers with a single exponent that have a shorter form; false: this has none. */
static bool common_powers(float exponent, int64_t count, const float *base, float *out) {
    if (exponent == 2.0f) {
        for (int64_t i = 0; i < count; i++) out[i] = base[i] * base[i];
    } else if (exponent == 3.0f) {
        for (int64_t i = 0; i < count; i++) out[i] = base[i] * base[i] * base[i];
    } else if (exponent == 1.0f) {
        for (int64_t i = 0; i < count; i++) out[i] = base[i];
    } else if (exponent == -1.0f) {
        for (int64_t i = 0; i < count; i++) out[i] = 1.0f / base[i];
    } else if (exponent == 0.5f) { /* pow(-0, 1/2) is 0, pow(-inf, 1/2) is inf */
        for (int64_t i = 0; i < count; i++) out[i] = base[i] == -INFINITY ? INFINITY : sqrtf(base[i]) + 0.0f;
    } else {
        return false;
    }
    return true;
}

static void float_row(void *arg, const tort_loop *loop, int64_t first, int64_t count, const int64_t *offsets) {
    const powers *p = arg;
    int64_t a_step = loop->steps[0], b_step = loop->steps[1];
    for (int64_t at = 0; at < count; at += TORT_BLOCK) {
        float a[TORT_BLOCK], b[TORT_BLOCK], out[TORT_BLOCK];
        int64_t n = tort_block_count(count, at);
        tort_load_floats(p->base->type, p->base->data, offsets[0] + at * a_step, a_step ? n : 1, a);
        tort_load_floats(p->exponent->type, p->exponent->data, offsets[1] + at * b_step, b_step ? n : 1, b);
        if (a_step == 0 || b_step != 0 || !common_powers(b[0], n, a, out)) {
            for (int64_t i = 0; i < n; i++) out[i] = powf(a[i * a_step], b[i * b_step]);
        }
        tort_store_floats(p->out->type, p->out->data, first + at, n, out);
    }
}

#define POWER_ROW(row, ctype, name, power)                                                                             \
    static void row(void *arg, const tort_loop *loop, int64_t first, int64_t count, const int64_t *offsets) {          \
        const powers *p = arg;                                                                                         \
        int64_t a_step = loop->steps[0], b_step = loop->steps[1];                                                      \
        for (int64_t at = 0; at < count; at += TORT_BLOCK) {                                                           \
            ctype a[TORT_BLOCK], b[TORT_BLOCK], out[TORT_BLOCK];                                                       \
            int64_t n = tort_block_count(count, at), a_first = offsets[0] + at * a_step;                               \
            tort_load_##name(p->base->type, p->base->data, a_first, a_step ? n : 1, a);                                \
            tort_load_##name(p->exponent->type, p->exponent->data, offsets[1] + at * b_step, b_step ? n : 1, b);       \
            for (int64_t i = 0; i < n; i++) out[i] = power(a[i * a_step], b[i * b_step]);                              \
            tort_store_##name(p->out->type, p->out->data, first + at, n, out);                                         \
        }                                                                                                              \
    }
POWER_ROW(double_row, double, doubles, pow)
POWER_ROW(integer_row, int64_t, integers, power_of_integer)

static bool needs_double(tort_type type) {
    return type == TORT_DOUBLE || type == TORT_INT32 || type == TORT_INT64 || type == TORT_UINT32 ||
           type == TORT_UINT64;
}

static tort_status run_pow(const tort_call *call) {
    const tort_tensor *out = &call->outputs[0];
    const tort_tensor inputs[2] = {call->inputs[0], tort_aligned_b(call)};
    tort_loop loop = tort_loop_broadcast(out, inputs, 2);
    powers p = {&inputs[0], &inputs[1], out};
    tort_row row = float_row;
    if (tort_type_is_integer(inputs[0].type) && tort_type_is_integer(inputs[1].type)) {
        row = integer_row;
    } else if (needs_double(inputs[0].type) || needs_double(inputs[1].type)) {
        row = double_row;
    }
    tort_loop_parallel(call, &loop, 160, row, &p);
    return TORT_OK;
}

#define BY(infer_) .flags = TORT_OP_IN_PLACE, .params_size = sizeof(tort_binary), infer_, tort_resolve_binary, run_pow

const tort_op tort_ops_pow[] = {
    {"", "Pow", 1, 6, "X:T Y:T", "Z:T", "T=floats", "axis:int broadcast:int=0", BY(tort_infer_binary_old)},
    {"", "Pow", 7, 11, "X:T Y:T", "Z:T", "T=floats", "", BY(tort_infer_binary)},
    {"", "Pow", 12, 12, "X:T Y:T1", "Z:T", "T=floats|int32|int64 T1=numeric", "", BY(tort_infer_binary)},
    {"", "Pow", 13, 14, "X:T Y:T1", "Z:T", "T=floats13|int32|int64 T1=numeric", "", BY(tort_infer_binary)},
    {"", "Pow", 15, TORT_NEWEST_OPSET, "X:T Y:T1", "Z:T", "T=floats13|int32|int64 T1=numeric13", "",
     BY(tort_infer_binary)},
    {0},
};
