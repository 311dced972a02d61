/* pair_bytes_shape.h - sizes of a sum or product of two tensors of bytes, see pair_bytes.h. */
#ifndef TORT_FIRMWARE_CODE_PAIR_BYTES_SHAPE_H
#define TORT_FIRMWARE_CODE_PAIR_BYTES_SHAPE_H

#include "kernels/firmware/code/bytes_shape.h"

typedef struct tinyort_pair_bytes_shape {
    int32_t multiplies, flip, zero, far, d0, d1, d2, d3, a0, a1, a2, a3, b0, b1, b2, b3;
} tinyort_pair_bytes_shape;

#endif
