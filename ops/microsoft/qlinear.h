/* qlinear.h - what operators on 8-bit numbers with a scale and a zero point share: those two, and tables that answer
 * for each of the 256 numbers. Read next: qlinear_elementwise.c, qlinear_table.c. */
#ifndef TORT_OPS_MICROSOFT_QLINEAR_H
#define TORT_OPS_MICROSOFT_QLINEAR_H

#include "ops/broadcast.h"

/* A number q stands for (q - zero) * scale. */
typedef struct tort_linear {
    float scale, zero;
} tort_linear;

/* Of the inputs with these numbers, of one element each; the zero point may be absent: 0. */
tort_linear tort_linear_of(const tort_call *call, int32_t scale, int32_t zero);

/* TORT_E_MODEL if one of `count` scales or zero points (bit i of `inputs`: input i) has other than one element. */
tort_status tort_linear_check(const tort_infer *infer, uint32_t inputs);

/* The real number that each byte of a type (int8, uint8) stands for. */
void tort_linear_values(tort_type type, tort_linear from, float *values);
/* out[byte] = the byte of type `type` that stands for values[byte]; all 256 of them. */
void tort_linear_table(tort_type type, const float *values, tort_linear to, uint8_t *out);
/* What a byte of one scale is in another. The same scale and zero point change nothing. */
void tort_linear_convert(tort_type type, tort_linear from, tort_linear to, uint8_t *out);

/* Elements first .. first+count-1 of y of type int8 or uint8: x rounded to even, plus the zero point, saturated. */
void tort_linear_store(const tort_tensor *y, int64_t first, int64_t count, const float *x, float zero);

/* y[i] = table[x[i]], on several threads where that pays. */
void tort_linear_map(const tort_call *call, const uint8_t *table, const void *x, void *y, int64_t count);

/* What QLinearSigmoid and QLinearLeakyRelu make of each byte. */
void tort_qlinear_sigmoid_table(const tort_call *call, uint8_t *table);
void tort_qlinear_leaky_relu_table(const tort_call *call, uint8_t *table);

/* Addition and multiplication, of which the inputs are A, its scale and zero point, those of B, and those of C. */
enum { TORT_QLINEAR_A = 0, TORT_QLINEAR_B = 3, TORT_QLINEAR_C = 6 };

/* QLinearAdd: C is a * A + b * B + fixed, rounded to even. */
typedef struct tort_sum_of_linear {
    float a, b, fixed;
} tort_sum_of_linear;

tort_sum_of_linear tort_linear_sum(const tort_call *call);

#endif
