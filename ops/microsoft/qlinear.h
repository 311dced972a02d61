/* qlinear.h - shared by operators on 8-bit numbers with a scale and a zero point: reading those two, and tables with an
 * entry for each of the 256 numbers. Read next: qlinear_elementwise.c, qlinear_table.c. */
#ifndef TORT_OPS_MICROSOFT_QLINEAR_H
#define TORT_OPS_MICROSOFT_QLINEAR_H

#include "ops/broadcast.h"
#include "ops/pool.h"

/* A number q stands for (q - zero) * scale. */
typedef struct tort_linear {
    float scale, zero;
} tort_linear;

/* Reads the inputs with these indices, of one element each; an absent zero point is 0. */
tort_linear tort_linear_of(const tort_call *call, int32_t scale, int32_t zero);

/* TORT_E_MODEL if a scale or zero point (bit i of `inputs`: input i) is known not to have exactly one element. */
tort_status tort_linear_check(const tort_infer *infer, uint32_t inputs);

/* Fills the real number that each byte of a type (int8, uint8) stands for. */
void tort_linear_values(tort_type type, tort_linear from, float *values);
/* out[byte] = the byte of type `type` that stands for values[byte]; all 256 of them. */
void tort_linear_table(tort_type type, const float *values, tort_linear to, uint8_t *out);
/* Fills the table that converts bytes of one scale to another; equal scales and zero points give the identity. */
void tort_linear_convert(tort_type type, tort_linear from, tort_linear to, uint8_t *out);

/* Stores elements first .. first+count-1 of y of type int8 or uint8: x rounded to even, plus the zero point,
 * saturated. */
void tort_linear_store(const tort_tensor *y, int64_t first, int64_t count, const float *x, float zero);

/* y[i] = table[x[i]], on several threads where that pays. */
void tort_linear_map(const tort_call *call, const uint8_t *table, const void *x, void *y, int64_t count);

/* Tables of QLinearSigmoid and QLinearLeakyRelu. */
void tort_qlinear_sigmoid_table(const tort_call *call, uint8_t *table);
void tort_qlinear_leaky_relu_table(const tort_call *call, uint8_t *table);

/* QLinearSoftmax: 256 powers of e for the scale of the input, of which 1 is UINT32_MAX: number 255 - d is that of d
 * steps below the largest. */
void tort_linear_powers(float scale, uint32_t *powers);

/* Constants of a QLinearSoftmax, the same for all of its lanes. */
typedef struct tort_softmax_bytes {
    uint8_t flip;                /* makes the bytes of int8 ascend like those of uint8 */
    uint32_t powers[511];        /* the last, of 0, repeats for elements that have come to be above the largest */
    float scale, zero, min, max; /* of the output: min and max less zero */
} tort_softmax_bytes;

/* QLinearSoftmax and QLinearGlobalAveragePool, which sum integers. `lane` makes a lane of up to TORT_PART contiguous
 * bytes, `sum` adds up to as many, XORed with `flip`; NULL: plain loops do. */
tort_status tort_run_linear_softmax(const tort_call *call, void (*lane)(const tort_softmax_bytes *softmax,
                                                                        const uint8_t *x, uint8_t *y, int64_t count));
tort_status tort_run_linear_mean(const tort_call *call, uint32_t (*sum)(const uint8_t *x, int64_t count, uint8_t flip));

/* QLinearGlobalAveragePool: the factor of a sum of `count` numbers that gives their mean in steps of the output; that
 * of none is 0. */
static inline float tort_linear_mean(float x_scale, float y_scale, int64_t count) {
    return count > 0 ? x_scale / (y_scale * (float)count) : 0;
}

/* Params of QLinearAveragePool and QLinearGlobalAveragePool. */
typedef struct tort_qlinear_pool {
    tort_pool_params pool;
    bool channels_last;
} tort_qlinear_pool;

/* Input indices of QLinearAdd and QLinearMul: A, its scale and zero point; the same of B; scale and zero point of C. */
enum { TORT_QLINEAR_A = 0, TORT_QLINEAR_B = 3, TORT_QLINEAR_C = 6 };

/* Input indices of QLinearConcat: scale and zero point of Y, then a tensor, its scale and its zero point for each part.
 */
enum { TORT_QLINEAR_PART = 2, TORT_QLINEAR_PARTS = 3 };

/* Params of QLinearLeakyRelu. */
typedef struct tort_qlinear_leaky {
    float alpha;
} tort_qlinear_leaky;

/* Params of QLinearConcat. */
typedef struct tort_qlinear_concat {
    int32_t axis;
} tort_qlinear_concat;

/* QLinearAdd: C is a * A + b * B + fixed, rounded to even. */
typedef struct tort_sum_of_linear {
    float a, b, fixed;
} tort_sum_of_linear;

tort_sum_of_linear tort_linear_sum(tort_linear a, tort_linear b, tort_linear c);
/* The same of the inputs of QLinearAdd. */
tort_sum_of_linear tort_linear_sum_of(const tort_call *call);

#endif
