/* elements.c - elementwise loops of two operands, Where, and conversions, by element type.
 *
 * A loop does whole chunks; ../elements.c makes chunks of tails and broadcasts. These are plain loops that compilers
 * vectorize. Read next: folds.c. */
#include "kernels/cpu/simd/vector.h"

/* Defines `element`, which may be unaligned and alias other types. Loops do not copy chunks into arrays first:
 * compilers copy 64 bytes in pieces of 16, and a processor that then loads 32 at once stalls, as it cannot forward
 * two stores to one load. */
#define ELEMENT(ctype) typedef ctype element __attribute__((aligned(1), may_alias))

/* Defines a loop of y = expression of a and b; y may be an operand. */
#define PAIR(name, ctype, expression)                                                                                  \
    static void name(const tort_chunks *chunks) {                                                                      \
        ELEMENT(ctype);                                                                                                \
        const char *pa = chunks->in[0], *pb = chunks->in[1];                                                           \
        const int64_t a_step = chunks->steps[0], b_step = chunks->steps[1];                                            \
        char *py = chunks->y;                                                                                          \
        for (int64_t n = chunks->count; n > 0; n--, pa += a_step, pb += b_step, py += TORT_CHUNK) {                    \
            const element *as = (const element *)pa, *bs = (const element *)pb;                                        \
            element *y = (element *)py;                                                                                \
            _Pragma("omp simd") for (size_t i = 0; i < TORT_CHUNK / sizeof(ctype); i++) {                              \
                const ctype a = as[i], b = bs[i];                                                                      \
                y[i] = (ctype)(expression);                                                                            \
            }                                                                                                          \
        }                                                                                                              \
    }

/* NaN in either operand is the result; of equal operands, a is. */
#define EXTREMES(type, ctype)                                                                                          \
    PAIR(max_##type, ctype, ((b > a) | (b != b)) ? b : a)                                                              \
    PAIR(min_##type, ctype, ((b < a) | (b != b)) ? b : a)
#define INTEGERS(type, ctype, unsigned_type)                                                                           \
    PAIR(sub_##type, ctype, (unsigned_type)a - (unsigned_type)b)                                                       \
    EXTREMES(type, ctype)

PAIR(add_float, float, a + b)
PAIR(sub_float, float, a - b)
PAIR(mul_float, float, a *b)
PAIR(div_float, float, a / b)
PAIR(prelu_float, float, a < 0 ? a * b : a)
EXTREMES(float, float)
PAIR(add_double, double, a + b)
PAIR(div_double, double, a / b)
EXTREMES(double, double)
INTEGERS(int32, int32_t, uint32_t)
INTEGERS(int64, int64_t, uint64_t)
INTEGERS(int8, int8_t, uint8_t)
EXTREMES(uint8, uint8_t)

const tort_chunk_loop SIMD(tort_simd_pairs)[TORT_TYPE_COUNT][TORT_PAIR_COUNT] = {
    [TORT_FLOAT] = {add_float, sub_float, mul_float, div_float, max_float, min_float, prelu_float},
    [TORT_DOUBLE] = {[TORT_PAIR_ADD] = add_double,
                     [TORT_PAIR_DIV] = div_double,
                     [TORT_PAIR_MAX] = max_double,
                     [TORT_PAIR_MIN] = min_double},
    [TORT_INT32] = {[TORT_PAIR_SUB] = sub_int32, [TORT_PAIR_MAX] = max_int32, [TORT_PAIR_MIN] = min_int32},
    [TORT_INT64] = {[TORT_PAIR_SUB] = sub_int64, [TORT_PAIR_MAX] = max_int64, [TORT_PAIR_MIN] = min_int64},
    [TORT_INT8] = {[TORT_PAIR_SUB] = sub_int8, [TORT_PAIR_MAX] = max_int8, [TORT_PAIR_MIN] = min_int8},
    [TORT_UINT8] = {[TORT_PAIR_MAX] = max_uint8, [TORT_PAIR_MIN] = min_uint8},
};

/* ---- Where ------------------------------------------------------------------------------------------------------- */

/* in[0] is the condition, widened to the size of an element; not 0 means true. */
#define CHOOSE(name, ctype)                                                                                            \
    static void name(const tort_chunks *chunks) {                                                                      \
        ELEMENT(ctype);                                                                                                \
        const char *in[3] = {chunks->in[0], chunks->in[1], chunks->in[2]};                                             \
        const int64_t steps[3] = {chunks->steps[0], chunks->steps[1], chunks->steps[2]};                               \
        char *py = chunks->y;                                                                                          \
        for (int64_t n = chunks->count; n > 0; n--, py += TORT_CHUNK) {                                                \
            const element *conditions = (const element *)in[0];                                                        \
            const element *yes = (const element *)in[1], *no = (const element *)in[2];                                 \
            element *y = (element *)py;                                                                                \
            _Pragma("omp simd") for (size_t i = 0; i < TORT_CHUNK / sizeof(ctype); i++) {                              \
                const ctype condition = conditions[i], a = yes[i], b = no[i];                                          \
                y[i] = condition ? a : b;                                                                              \
            }                                                                                                          \
            in[0] += steps[0], in[1] += steps[1], in[2] += steps[2];                                                   \
        }                                                                                                              \
    }
CHOOSE(choose_1, uint8_t)
CHOOSE(choose_2, uint16_t)
CHOOSE(choose_4, uint32_t)
CHOOSE(choose_8, uint64_t)

const tort_chunk_loop SIMD(tort_simd_wheres)[4] = {choose_1, choose_2, choose_4, choose_8};

/* ---- Cast -------------------------------------------------------------------------------------------------------- */

/* X(from, its C type, to, its C type, expression of x, condition under which x can be converted) */
#define WITHIN(limit) ((x) >= -(limit) && (x) < (limit))
#define CASTS(X)                                                                                                       \
    X(FLOAT, float, DOUBLE, double, x, true)                                                                           \
    X(FLOAT, float, INT32, int32_t, x, WITHIN(0x1p31f))                                                                \
    X(FLOAT, float, INT64, int64_t, x, WITHIN(0x1p63f))                                                                \
    X(FLOAT, float, UINT8, uint8_t, (int32_t)x, WITHIN(0x1p31f))                                                       \
    X(FLOAT, float, INT8, int8_t, (int32_t)x, WITHIN(0x1p31f))                                                         \
    X(FLOAT, float, BOOL, uint8_t, x != 0, true)                                                                       \
    X(DOUBLE, double, FLOAT, float, x, true)                                                                           \
    X(DOUBLE, double, INT32, int32_t, x, WITHIN(0x1p31))                                                               \
    X(DOUBLE, double, INT64, int64_t, x, WITHIN(0x1p63))                                                               \
    X(INT32, int32_t, FLOAT, float, x, true)                                                                           \
    X(INT32, int32_t, DOUBLE, double, x, true)                                                                         \
    X(INT32, int32_t, INT64, int64_t, x, true)                                                                         \
    X(INT32, int32_t, UINT8, uint8_t, x, true)                                                                         \
    X(INT32, int32_t, BOOL, uint8_t, x != 0, true)                                                                     \
    X(INT64, int64_t, FLOAT, float, x, true)                                                                           \
    X(INT64, int64_t, DOUBLE, double, x, true)                                                                         \
    X(INT64, int64_t, INT32, int32_t, x, true)                                                                         \
    X(INT64, int64_t, BOOL, uint8_t, x != 0, true)                                                                     \
    X(UINT8, uint8_t, FLOAT, float, x, true)                                                                           \
    X(UINT8, uint8_t, INT32, int32_t, x, true)                                                                         \
    X(UINT8, uint8_t, INT64, int64_t, x, true)                                                                         \
    X(UINT8, uint8_t, BOOL, uint8_t, x != 0, true)                                                                     \
    X(INT8, int8_t, FLOAT, float, x, true)                                                                             \
    X(INT8, int8_t, INT32, int32_t, x, true)                                                                           \
    X(BOOL, uint8_t, FLOAT, float, x != 0, true)                                                                       \
    X(BOOL, uint8_t, INT16, int16_t, x != 0, true)                                                                     \
    X(BOOL, uint8_t, INT32, int32_t, x != 0, true)                                                                     \
    X(BOOL, uint8_t, INT64, int64_t, x != 0, true)

#define CAST(from, from_type, to, to_type, expression, fits)                                                           \
    static bool cast_##from##_##to(const void *input, void *output, int64_t chunks) {                                  \
        const from_type *restrict xs = input;                                                                          \
        to_type *restrict y = output;                                                                                  \
        const int64_t count = chunks * TORT_CAST_CHUNK;                                                                \
        int32_t all_fit = true;                                                                                        \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            const from_type x = xs[i];                                                                                 \
            all_fit &= fits;                                                                                           \
            y[i] = (to_type)(expression);                                                                              \
        }                                                                                                              \
        return all_fit;                                                                                                \
    }
CASTS(CAST)

#define CAST_ROW(from, from_type, to, to_type, expression, fits) {TORT_##from, TORT_##to, cast_##from##_##to},
const tort_cast_loop SIMD(tort_simd_casts)[] = {CASTS(CAST_ROW){TORT_UNDEFINED, TORT_UNDEFINED, NULL}};
