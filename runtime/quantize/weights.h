/* weights.h - constants in 8 bits: by channel, symmetric, -127..127. */
#ifndef TORT_QUANTIZE_WEIGHTS_H
#define TORT_QUANTIZE_WEIGHTS_H

#include "runtime/quantize/net.h"

typedef struct tort_byte_weights {
    int8_t *codes;
    float *scales;
    int64_t channels; /* 1 for axis -1 */
} tort_byte_weights;

/* Quantizes a float32 initializer along an axis (-1: one scale). min_scales: of each channel;
 * NULL: none. */
tort_byte_weights tort_weights_of(const TortOnnx__TensorProto *tensor, int32_t axis, const double *min_scales,
                                  tort_maker *maker);

#endif
