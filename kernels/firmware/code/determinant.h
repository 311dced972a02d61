/* determinant.h - the determinants of `count` matrices of `size` rows, by elimination with the largest pivots, wide:
 * `scratch` has room for a matrix of double. */
#ifndef TORT_FIRMWARE_CODE_DETERMINANT_H
#define TORT_FIRMWARE_CODE_DETERMINANT_H

#include <math.h>
#include <stdint.h>

typedef struct tinyort_determinant_shape {
    int32_t count, size;
} tinyort_determinant_shape;

static void tinyort_determinant(const tinyort_determinant_shape *s, const float *x, float *y, void *scratch) {
    const int32_t n = s->size;
    double *a = (double *)scratch;
    for (int32_t m = 0; m < s->count; m++) {
        double product = 1.0;
        for (int32_t i = 0; i < (n * n); i++) {
            a[i] = (double)*x++;
        }
        for (int32_t k = 0; (k < n) && (product != 0.0); k++) {
            int32_t pivot = k;
            for (int32_t i = k + 1; i < n; i++) {
                if (fabs(a[(i * n) + k]) > fabs(a[(pivot * n) + k])) {
                    pivot = i;
                }
            }
            product *= (pivot == k) ? a[(k * n) + k] : -a[(pivot * n) + k];
            for (int32_t j = k; j < n; j++) {
                const double other = a[(pivot * n) + j];
                a[(pivot * n) + j] = a[(k * n) + j];
                a[(k * n) + j] = other;
            }
            for (int32_t i = k + 1; (i < n) && (product != 0.0); i++) {
                const double factor = a[(i * n) + k] / a[(k * n) + k];
                for (int32_t j = k + 1; j < n; j++) {
                    const double term = factor * a[(k * n) + j];
                    a[(i * n) + j] -= term;
                }
            }
        }
        y[m] = (float)product;
    }
}

#endif
