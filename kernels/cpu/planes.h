/* planes.h - channels of an image laid out so that every window position is one offset: padded, and cut by the stride.
 *
 * With stride s along the last axis a row is stored as s rows of every s-th element, so that what neighbouring outputs
 * read at one kernel position lies together. Then output (d, h, x) reads kernel position j at
 * base(d, h) + x + offset(j), for all kernels of conv.c and pool.c. Read next: planes.c. */
#ifndef TORT_KERNELS_CPU_PLANES_H
#define TORT_KERNELS_CPU_PLANES_H

#include "kernels/cpu/cpu.h"
#include "ops/sliding.h"

#define TORT_PLANE_TAIL 16 /* floats behind the last plane that vectors may read: the widest vector */

/* Axes are depth, height, width; those that the operator does not have are 1. */
typedef struct tort_planes {
    int64_t input[3], output[3], kernel[3], dilations[3], begin[3];
    int64_t source_step[3]; /* stored row r is input row r * source_step - begin */
    int64_t row_step[3];    /* stored rows from one output row to the next; 1 along the width */
    int64_t stored[3];      /* stored rows along depth and height; phases times phase_length along the width */
    int64_t phases, phase_length;
    int64_t plane;   /* stored elements of a channel */
    bool direct;     /* what is stored is the input itself */
    int64_t outputs; /* of a channel */
    int64_t kernel_size;
} tort_planes;

/* The layout for a window of at most 3 axes with all sizes known. */
void tort_planes_init(tort_planes *planes, const tort_sliding *window);
/* The stored form of one channel of the input; padding gets `fill`. */
void tort_planes_store(const tort_planes *planes, const float *channel, float fill, float *stored);
/* Offset of each kernel position, kernel_size of them. */
void tort_planes_offsets(const tort_planes *planes, int64_t *offsets);
/* Where the outputs of row `row` (depth * height + height) begin to read. */
int64_t tort_planes_row(const tort_planes *planes, int64_t row);

#endif
