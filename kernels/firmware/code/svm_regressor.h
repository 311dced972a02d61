/* svm_regressor.h - a score for each row: the sum of the kernels of its support vectors, weighted, and rho. outlier: 1
 * above 0, else -1. */
#ifndef TORT_FIRMWARE_CODE_SVM_REGRESSOR_H
#define TORT_FIRMWARE_CODE_SVM_REGRESSOR_H

#include "kernels/firmware/code/svm_value.h"

typedef struct tinyort_svm_regressor_shape {
    tinyort_svm_shape svm;
    int32_t outlier;
} tinyort_svm_regressor_shape;

/* coefficients NULL: 1. transform NULL: none. */
static void tinyort_svm_regressor(const tinyort_svm_regressor_shape *s, const void *x, const float *vectors,
                                  const float *coefficients, float (*f)(float), void (*transform)(float *, int32_t),
                                  float *y, float gamma, float coef0, float rho) {
    for (int32_t row = 0; row < s->svm.rows; row++) {
        float sum = 0.0f;
        for (int32_t v = 0; v < s->svm.vectors; v++) {
            const float value = tinyort_svm_value(&s->svm, x, row, vectors + v * s->svm.columns, f, gamma, coef0);
            const float product = coefficients != NULL ? value * coefficients[v] : value;
            sum += product;
        }
        y[row] = sum + rho;
        if (s->outlier) {
            y[row] = y[row] > 0.0f ? 1.0f : -1.0f;
        } else if (transform != NULL) {
            transform(y + row, 1);
        }
    }
}

#endif
