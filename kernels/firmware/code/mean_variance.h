/* mean_variance.h - (x - mean) / (deviation + epsilon), with mean and standard deviation over the reduced axes, for
 * each index of the kept ones. Sums are wide, as a plane of an image has many elements. y may be x. */
#ifndef TORT_FIRMWARE_CODE_MEAN_VARIANCE_H
#define TORT_FIRMWARE_CODE_MEAN_VARIANCE_H

#include "kernels/firmware/code/offset.h"
#include "kernels/firmware/code/reduce_shape.h"

#include <math.h>

typedef struct tinyort_mean_variance_shape {
    tinyort_reduce_shape axes;
} tinyort_mean_variance_shape;

static void tinyort_mean_variance(const tinyort_mean_variance_shape *s, const float *x, float *y, float epsilon) {
    const tinyort_reduce_shape *axes = &s->axes;
    int32_t size = 1;
    for (int32_t i = 0; i < axes->reduced; i++) {
        size *= axes->dims[i];
    }
    for (int32_t at = 0; at < axes->count; at++) {
        const int32_t first = tinyort_offset(at, axes->kept, axes->kept_dims, axes->kept_steps);
        double sum = 0.0, squares = 0.0;
        for (int32_t i = 0; i < size; i++) {
            sum += (double)x[first + tinyort_offset(i, axes->reduced, axes->dims, axes->steps)];
        }
        const float mean = (float)(sum / size);
        for (int32_t i = 0; i < size; i++) {
            const float away = x[first + tinyort_offset(i, axes->reduced, axes->dims, axes->steps)] - mean;
            const float square = away * away;
            squares += (double)square;
        }
        const float deviation = sqrtf((float)(squares / size)) + epsilon;
        for (int32_t i = 0; i < size; i++) {
            const int32_t k = first + tinyort_offset(i, axes->reduced, axes->dims, axes->steps);
            y[k] = (x[k] - mean) / deviation;
        }
    }
}

#endif
