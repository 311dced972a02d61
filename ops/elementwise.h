/* elementwise.h - drivers of operators that compute every element by itself, and the params that kernels share.
 *
 * An operator gives one loop for each type it computes in; the drivers split the work over threads, walk broadcast
 * shapes, and bring float16, bfloat16 and smaller floats to float and back, so that they round once. */
#ifndef TORT_OPS_ELEMENTWISE_H
#define TORT_OPS_ELEMENTWISE_H

#include "ops/broadcast.h"

/* ---- one input --------------------------------------------------------------------------------------------------- */

/* Loops y[i] = f(x[i]); params are those of tort_run_map. NULL for types that the operator does not have. int64 serves
 * every signed integer (results wrap to the type), uint64 every unsigned one. */
typedef struct tort_map {
    void (*floats)(const void *params, int64_t count, const float *x, float *y);
    void (*doubles)(const void *params, int64_t count, const double *x, double *y);
    void (*integers)(const void *params, int64_t count, const int64_t *x, int64_t *y);
    void (*naturals)(const void *params, int64_t count, const uint64_t *x, uint64_t *y);
    int32_t work; /* rough cost of an element, nanoseconds times 16 */
} tort_map;

/* Computes output 0 from input 0. `params` is handed to the loops. */
tort_status tort_run_map(const tort_call *call, const tort_map *map, const void *params);

/* Defines a loop for tort_map from an expression of x; `p` points to the params. */
#define TORT_MAP_LOOP(function, ctype, params_type, expression)                                                        \
    static void function(const void *restrict params, int64_t count, const ctype *input, ctype *output) {              \
        const params_type *restrict p = params;                                                                        \
        (void)p;                                                                                                       \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            const ctype x = input[i];                                                                                  \
            output[i] = (ctype)(expression);                                                                           \
        }                                                                                                              \
    }

/* Params of IsInf: the infinities that count. */
typedef struct tort_infinities {
    bool negative, positive;
} tort_infinities;

/* ---- two inputs, broadcast --------------------------------------------------------------------------------------- */

/* Computes out[i] = f(a[i * a_step], b[i * b_step]); a step is 1, or 0 for broadcast; params are the call's. */
typedef void (*tort_pair_loop)(const void *params, int64_t count, const void *a, int64_t a_step, const void *b,
                               int64_t b_step, void *out);

/* Loops of an operator, by type of A; small floats use the loop of float. */
typedef struct tort_pair {
    tort_pair_loop loops[TORT_TYPE_COUNT];
    int32_t work;   /* rough cost of an element, nanoseconds times 16 */
    bool exchanged; /* the loops get B as their a: a > b is b < a */
} tort_pair;

/* Rows of the table of loops for integers, where the loop of the unsigned type makes the bits of the signed one too. */
#define TORT_BOTH_SIGNS(name)                                                                                          \
    [TORT_INT8] = name##_uint8, [TORT_UINT8] = name##_uint8, [TORT_INT16] = name##_uint16,                             \
    [TORT_UINT16] = name##_uint16, [TORT_INT32] = name##_uint32, [TORT_UINT32] = name##_uint32,                        \
    [TORT_INT64] = name##_uint64, [TORT_UINT64] = name##_uint64

/* Params of operators with two inputs. Before opset 7, `broadcast` and `axis` align B with A: B is then followed by
 * `trailing` dimensions of 1. Larger params start with this struct, which tort_run_pair reads. */
typedef struct tort_binary {
    int32_t trailing;
} tort_binary;

/* Params of Mod. */
typedef struct tort_modulo {
    tort_binary binary;
    bool c_like; /* fmod=1: result has the sign of A, as C's % and fmod; otherwise that of B */
} tort_modulo;

/* Params of BitShift. */
typedef struct tort_shift {
    tort_binary binary;
    bool left;
} tort_shift;

tort_status tort_resolve_binary(tort_resolve *resolve);
/* TORT_E_MODEL unless input 1, followed by `trailing` dimensions of 1, broadcasts to the shape of input 0. */
tort_status tort_check_fits(const tort_infer *infer, int32_t trailing);
/* Infer functions of opset 1 to 6: the shape of A, and its type or bool. */
tort_status tort_infer_binary_old(tort_infer *infer);
tort_status tort_infer_compare_old(tort_infer *infer);

/* Input B followed by its trailing dimensions of 1, so that it broadcasts by numpy's rule. */
tort_tensor tort_aligned_b(const tort_call *call);
/* Computes output 0 from inputs 0 and 1. */
tort_status tort_run_pair(const tort_call *call, const tort_pair *pair);

/* Defines a loop from an expression of a and b; `p` points to the params. Three loops, so that compilers vectorize
 * each. */
#define TORT_PAIR_LOOP(function, ctype, out_type, params_type, expression)                                             \
    static void function(const void *params, int64_t count, const void *pa, int64_t a_step, const void *pb,            \
                         int64_t b_step, void *po) {                                                                   \
        const params_type *p = params;                                                                                 \
        const ctype *as = pa, *bs = pb;                                                                                \
        out_type *out = po;                                                                                            \
        (void)p;                                                                                                       \
        if (a_step == 1 && b_step == 1) {                                                                              \
            for (int64_t i = 0; i < count; i++) {                                                                      \
                const ctype a = as[i], b = bs[i];                                                                      \
                out[i] = (out_type)(expression);                                                                       \
            }                                                                                                          \
        } else if (a_step == 1) {                                                                                      \
            const ctype b = bs[0];                                                                                     \
            for (int64_t i = 0; i < count; i++) {                                                                      \
                const ctype a = as[i];                                                                                 \
                out[i] = (out_type)(expression);                                                                       \
            }                                                                                                          \
        } else {                                                                                                       \
            const ctype a = as[0];                                                                                     \
            for (int64_t i = 0; i < count; i++) {                                                                      \
                const ctype b = bs[i * b_step];                                                                        \
                out[i] = (out_type)(expression);                                                                       \
            }                                                                                                          \
        }                                                                                                              \
    }

/* ---- integers carried by shapes ---------------------------------------------------------------------------------- */

/* Sets the contents of output 0 to combine(a, b), broadcast, if those of inputs 0 and 1 are known; see
 * tort_infer_integers. */
tort_status tort_infer_elements(tort_infer *infer, tort_scalar (*combine)(tort_dims *, tort_scalar, tort_scalar));

#endif
