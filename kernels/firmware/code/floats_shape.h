/* floats_shape.h - sizes of the loops over floats. */
#ifndef TORT_FIRMWARE_CODE_FLOATS_SHAPE_H
#define TORT_FIRMWARE_CODE_FLOATS_SHAPE_H

#include "kernels/firmware/code/sliding.h"

/* channels and filters are those of a group; direct: a window is one pixel, neighbours stay neighbours, and there are
 * four. */
typedef struct tinyort_conv_tiles_shape {
    tinyort_sliding window;
    int32_t batch, groups, channels, filters, direct;
} tinyort_conv_tiles_shape;

/* filters: those of a channel; rows, pitch: the size of a padded plane; dense: rows of three taps, strides of 1. */
typedef struct tinyort_depthwise_float_shape {
    tinyort_sliding window;
    int32_t batch, channels, filters, rows, pitch, dense;
} tinyort_depthwise_float_shape;

/* row: elements from one row of x to the next; c_row, c_column: the same for c, 0 repeats it. */
typedef struct tinyort_dense_float_shape {
    int32_t rows, filters, depth, row, c_row, c_column;
} tinyort_dense_float_shape;

/* Steps in elements: see gemm.h. */
typedef struct tinyort_gemm_shape {
    int32_t groups, batches, m, n, k, a_group, a_batch, a_row, a_column, b_group, b_batch, b_row, b_column, c_row,
        c_column;
} tinyort_gemm_shape;

#endif
