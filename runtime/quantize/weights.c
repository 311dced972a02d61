/* weights.c - weights in 8 bits (weights.h). */
#include "runtime/quantize/weights.h"

#include <math.h>

tort_byte_weights tort_weights_of(const TortOnnx__TensorProto *tensor, int32_t axis, const double *min_scales,
                                  tort_maker *maker) {
    const float *from = (const float *)(const void *)tensor->raw_data.data;
    const int64_t count = tort_net_count(tensor), channels = axis < 0 ? 1 : tensor->dims[axis];
    int64_t inner = 1; /* elements of a channel behind one another */
    for (size_t i = (size_t)(axis + 1); i < tensor->n_dims; i++) inner *= tensor->dims[i];
    tort_byte_weights made = {.codes = tort_make(maker, (size_t)count, 1),
                              .scales = tort_make(maker, (size_t)channels, sizeof(float)),
                              .channels = channels};
    for (int64_t at = 0, row = 0; at < count; at += inner, row++) {
        float *scale = &made.scales[row % channels];
        for (int64_t i = at; i < at + inner; i++) *scale = fabsf(from[i]) > *scale ? fabsf(from[i]) : *scale;
    }
    for (int64_t c = 0; c < channels; c++) {
        const double scale = fmax((double)made.scales[c] / 127, min_scales ? min_scales[c] : 0);
        made.scales[c] = scale < 1e-30 ? 1 : (float)scale; /* a channel of zeros */
    }
    for (int64_t at = 0, row = 0; at < count; at += inner, row++) {
        const float scale = made.scales[row % channels];
        for (int64_t i = at; i < at + inner; i++)
            made.codes[i] = (int8_t)fminf(fmaxf(nearbyintf(from[i] / scale), -127), 127);
    }
    return made;
}
