/* softmax_bytes_shape.h - lanes of a softmax of bytes, see softmax_bytes.h. */
#ifndef TORT_FIRMWARE_CODE_SOFTMAX_BYTES_SHAPE_H
#define TORT_FIRMWARE_CODE_SOFTMAX_BYTES_SHAPE_H

#include <stdint.h>

typedef struct tinyort_softmax_bytes_shape {
    int32_t outer, length, inner, flip, zero, low, high;
} tinyort_softmax_bytes_shape;

#endif
