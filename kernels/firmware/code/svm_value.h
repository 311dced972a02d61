/* svm_value.h - the kernel of a row of features and a support vector: f((gamma * product + coef0)^degree), or, with
 * `distance`, f(-gamma * the square of their distance); f NULL: the number itself. */
#ifndef TORT_FIRMWARE_CODE_SVM_VALUE_H
#define TORT_FIRMWARE_CODE_SVM_VALUE_H

#include "kernels/firmware/code/dot.h"

typedef struct tinyort_svm_shape {
    int32_t rows, columns, type, vectors, distance, degree;
} tinyort_svm_shape;

static float tinyort_svm_value(const tinyort_svm_shape *s, const void *x, int32_t row, const float *vector,
                               float (*f)(float), float gamma, float coef0) {
    const float sum = tinyort_dot(s->type, x, row * s->columns, vector, s->columns, s->distance);
    const float scaled = s->distance ? -gamma * sum : gamma * sum;
    const float base = scaled + coef0;
    float power = 1.0f;
    for (int32_t i = 0; i < s->degree; i++) {
        power *= base;
    }
    return f != NULL ? f(power) : power;
}

#endif
