/* conv_bytes_shape.h - sizes of the convolutions over bytes, for every form of them. */
#ifndef TORT_FIRMWARE_CODE_CONV_BYTES_SHAPE_H
#define TORT_FIRMWARE_CODE_CONV_BYTES_SHAPE_H

#include "kernels/firmware/code/bytes_shape.h"
#include "kernels/firmware/code/sliding.h"

/* `channels` are those of a group, `pixel` those of all: the distance of pixels. fill and flip are bytes repeated in a
 * word. */
typedef struct tinyort_window_shape {
    tinyort_sliding at;
    int32_t channels, pixel, fill, flip;
} tinyort_window_shape;

/* direct, straight: see column_plain.h, column_dsp.h; downwards: from the last pixel to the first, since y lies above
 * x, which it may overlap. */
typedef struct tinyort_conv_bytes_shape {
    tinyort_bytes_shape rows;
    tinyort_window_shape window;
    int32_t batch, groups, direct, straight, padded, downwards;
} tinyort_conv_bytes_shape;

/* conv: of all phases; multiple: of the length of a column. */
typedef struct tinyort_conv_transpose_bytes_shape {
    tinyort_conv_bytes_shape conv;
    int32_t multiple;
} tinyort_conv_transpose_bytes_shape;

typedef struct tinyort_depthwise_shape {
    tinyort_bytes_shape rows;
    tinyort_window_shape window;
    int32_t batch, downwards;
} tinyort_depthwise_shape;

#endif
