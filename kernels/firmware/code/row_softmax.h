/* row_softmax.h - the softmax of a row of scores in place. zero: scores within 1e-7 of 0 are left out of the sum, and
 * scaled as the others are. */
#ifndef TORT_FIRMWARE_CODE_ROW_SOFTMAX_H
#define TORT_FIRMWARE_CODE_ROW_SOFTMAX_H

#include "kernels/firmware/code/exp.h"
#include "kernels/firmware/code/exp_below.h"

static void tinyort_row_softmax(float *scores, int32_t count, int32_t zero) {
    float max = scores[0], sum = 0.0f;
    for (int32_t i = 1; i < count; i++) {
        max = scores[i] > max ? scores[i] : max;
    }
    for (int32_t i = 0; i < count; i++) {
        const int32_t counts = !zero || scores[i] > 1e-7f || scores[i] < -1e-7f;
        scores[i] = counts ? tinyort_exp_below(scores[i] - max) : scores[i] * tinyort_exp(-max);
        sum += counts ? scores[i] : 0.0f;
    }
    for (int32_t i = 0; i < count; i++) {
        scores[i] /= sum;
    }
}

#endif
