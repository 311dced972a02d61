/* bytes_shape.h - sizes of the loops over bytes, for every form of them. */
#ifndef TORT_FIRMWARE_CODE_BYTES_SHAPE_H
#define TORT_FIRMWARE_CODE_BYTES_SHAPE_H

#include <stdint.h>

/* A compiled model defines what its tensors need, so that its loops have no cases for the rest; the host has them all.
 */
#if !defined(TINYORT_COMPILED) || defined(TINYORT_UINT8)
#define tinyort_flipped(value, flip) ((value) ^ (flip))
#define tinyort_flips(flip) (flip)
#else
#define tinyort_flipped(value, flip) (value)
#define tinyort_flips(flip) 0
#endif /* TINYORT_UINT8 */

/* Attribute of functions with large frames: inlined, the frame would be part of the caller's during all other calls. */
#if defined(__GNUC__)
#define TINYORT_OWN_FRAME __attribute__((noinline))
#else
#define TINYORT_OWN_FRAME
#endif /* __GNUC__ */

/* length, depth: weights of a filter, without what fills them up and with it; zero, flip: the zero point of y, less
 * flip, which is 128 for uint8 and else 0; wide: see requantize.h. */
typedef struct tinyort_bytes_shape {
    int32_t filters, length, depth, zero, flip, x_flip, wide;
} tinyort_bytes_shape;

typedef struct tinyort_dense_bytes_shape {
    tinyort_bytes_shape rows;
    int32_t count; /* rows of rows.length bytes */
} tinyort_dense_bytes_shape;

/* before, now: pixels in the bands of an image that came before this one, and in this one. */
typedef struct tinyort_mean_bytes_shape {
    tinyort_bytes_shape rows;
    int32_t batch, pixels, before, now, x_zero;
} tinyort_mean_bytes_shape;

typedef struct tinyort_matmul_bytes_shape {
    tinyort_bytes_shape rows; /* filters is n, depth is k */
    int32_t batches, m, a_batch, b_batch, a_row, a_column, b_row, b_column, a_zero, b_zero, b_flip;
} tinyort_matmul_bytes_shape;

#endif
