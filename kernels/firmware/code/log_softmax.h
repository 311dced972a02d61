/* log_softmax.h - the logarithm of the softmax of `outer` times `inner` lanes of `length` elements, `inner` apart. */
#ifndef TORT_FIRMWARE_CODE_LOG_SOFTMAX_H
#define TORT_FIRMWARE_CODE_LOG_SOFTMAX_H

#include "kernels/firmware/code/exp_below.h"
#include "kernels/firmware/code/log.h"

typedef struct tinyort_log_softmax_shape {
    int32_t outer, length, inner;
} tinyort_log_softmax_shape;

static void tinyort_log_softmax(const tinyort_log_softmax_shape *s, const float *x, float *y) {
    for (int32_t lane = 0; lane < (s->outer * s->inner); lane++) {
        const int32_t first = (lane / s->inner * s->inner * s->length) + (lane % s->inner);
        const int32_t end = first + (s->length * s->inner);
        float max = x[first], sum = 0.0f;
        for (int32_t i = first; i < end; i += s->inner) {
            if (x[i] > max) {
                max = x[i];
            }
        }
        for (int32_t i = first; i < end; i += s->inner) {
            sum += tinyort_exp_below(x[i] - max);
        }
        const float log = tinyort_log(sum);
        for (int32_t i = first; i < end; i += s->inner) {
            y[i] = (x[i] - max) - log;
        }
    }
}

#endif
