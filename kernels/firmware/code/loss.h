/* loss.h - minus x at the target class of each of `batch` times `inner` samples, times the weight of the class (1
 * without weights); with `softmax`, the logarithm of the softmax in place of x. x is (batch, classes, inner), `type`
 * that of the targets, of load.h. Reduction 0: a number for each sample, 1: their sum, 2: the sum divided by that of
 * the weights. Targets that are no class, or `ignored`, have weight 0. */
#ifndef TORT_FIRMWARE_CODE_LOSS_H
#define TORT_FIRMWARE_CODE_LOSS_H

#include "kernels/firmware/code/exp_below.h"
#include "kernels/firmware/code/load.h"
#include "kernels/firmware/code/log.h"

typedef struct tinyort_loss_shape {
    int32_t type, batch, classes, inner, reduction, ignored, softmax;
} tinyort_loss_shape;

static void tinyort_loss(const tinyort_loss_shape *s, const float *x, const void *targets, const float *weights,
                         float *y) {
    double sum = 0.0, divisor = 0.0; /* of many samples, such as the pixels of an image */
    for (int32_t i = 0; i < (s->batch * s->inner); i++) {
        const float *sample = x + (i / s->inner * s->classes * s->inner) + (i % s->inner);
        const int64_t target = tinyort_load(s->type, targets, i);
        float loss = 0.0f;
        if ((target >= 0) && (target < s->classes) && (target != s->ignored)) {
            const float weight = weights ? weights[target] : 1.0f;
            float max = s->softmax ? sample[0] : 0.0f, shares = 0.0f;
            for (int32_t c = 1; s->softmax && (c < s->classes); c++) {
                if (sample[c * s->inner] > max) {
                    max = sample[c * s->inner];
                }
            }
            for (int32_t c = 0; s->softmax && (c < s->classes); c++) {
                shares += tinyort_exp_below(sample[c * s->inner] - max);
            }
            const float score = sample[(int32_t)target * s->inner] - max;
            loss = weight * ((s->softmax ? tinyort_log(shares) : 0.0f) - score);
            divisor += (double)weight;
        }
        if (!s->reduction) {
            y[i] = loss;
        }
        sum += (double)loss;
    }
    if (s->reduction != 0) {
        *y = (float)((s->reduction == 2) ? (sum / divisor) : sum);
    }
}

#endif
