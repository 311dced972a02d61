/* sliding.h - windows that slide over spatial axes: the geometry that Conv, the pools and DeformConv have in common.
 *
 * Reads kernel_shape, strides, dilations, pads, auto_pad and ceil_mode once, and computes output sizes and the input
 * positions that a window sees. It must not know what a kernel does with them. Read next: conv.c, pool.c. */
#ifndef TORT_OPS_SLIDING_H
#define TORT_OPS_SLIDING_H

#include "ops/shapes.h"

#define TORT_MAX_SPATIAL (TORT_MAX_RANK - 2)

typedef enum tort_auto_pad { TORT_PAD_NOTSET, TORT_PAD_SAME_UPPER, TORT_PAD_SAME_LOWER, TORT_PAD_VALID } tort_auto_pad;

/* Sizes are elements along each spatial axis; -1 where not yet known. */
typedef struct tort_sliding {
    int32_t axes;
    tort_auto_pad auto_pad;
    bool ceil_mode;
    int64_t input[TORT_MAX_SPATIAL], output[TORT_MAX_SPATIAL], kernel[TORT_MAX_SPATIAL];
    int64_t strides[TORT_MAX_SPATIAL], dilations[TORT_MAX_SPATIAL];
    int64_t begin[TORT_MAX_SPATIAL], end[TORT_MAX_SPATIAL]; /* padding; of SAME_* set once the input is known */
} tort_sliding;

/* Reads the attributes; kernel is -1 if kernel_shape is absent. TORT_E_MODEL if a list has the wrong length or an entry
 * is out of range. */
tort_status tort_sliding_read(const tort_node_view *node, int32_t axes, tort_sliding *sliding, tort_error *error);
/* Takes the kernel's shape from the spatial dims of the weights, dims[0 .. axes): fills in absent entries of
 * kernel_shape, refuses different ones. */
tort_status tort_sliding_kernel(tort_sliding *sliding, const tort_dim *dims, tort_error *error);
/* Output size along an axis. */
tort_status tort_sliding_output(const tort_infer *infer, const tort_sliding *sliding, int32_t axis, tort_dim input,
                                tort_dim *output);
/* Fills input, output and the padding of SAME_* from the spatial dims of input 0 and output 0, as far as known. */
void tort_sliding_place(const tort_node_view *node, tort_sliding *sliding);

static inline bool tort_sliding_is_same(const tort_sliding *sliding) {
    return sliding->auto_pad == TORT_PAD_SAME_UPPER || sliding->auto_pad == TORT_PAD_SAME_LOWER;
}

/* Number of input positions that a window spans along an axis, dilation included. */
static inline int64_t tort_sliding_extent(const tort_sliding *sliding, int32_t axis) {
    return (sliding->kernel[axis] - 1) * sliding->dilations[axis] + 1;
}

/* Number of positions of a kernel whose shape is known. */
static inline int64_t tort_sliding_positions(const tort_sliding *sliding) {
    int64_t count = 1;
    for (int32_t i = 0; i < sliding->axes; i++) count *= sliding->kernel[i];
    return count;
}

/* ---- for plain loops, which go row by row along the last axis ---------------------------------------------------- */

/* Smallest n >= 0 with n * step >= distance. */
static inline int64_t tort_sliding_first_at(int64_t distance, int64_t step) {
    return distance > 0 ? (distance + step - 1) / step : 0;
}
/* Number of rows: the product of `sizes` over all axes but the last. */
int64_t tort_sliding_rows(const tort_sliding *sliding, const int64_t *sizes);
/* Coordinates of row `row` over all axes but the last of `sizes`. */
void tort_sliding_coordinates(const tort_sliding *sliding, const int64_t *sizes, int64_t row, int64_t *coordinates);
/* Kernel positions along an axis with which an output of first .. last-1 sees the input: *from .. *to-1. Some between
 * them may not see it. A window may be larger than any image: positions that see only padding are never walked. */
void tort_sliding_reach(const tort_sliding *sliding, int32_t axis, int64_t first, int64_t last, int64_t *from,
                        int64_t *to);
/* Walk over the kernel rows that see the input from one output row. at: their positions over all axes but the last. */
typedef struct tort_sliding_walk {
    int64_t at[TORT_MAX_SPATIAL], from[TORT_MAX_SPATIAL], to[TORT_MAX_SPATIAL];
} tort_sliding_walk;

/* Find the first kernel row for the output row at `out`, and the next one; false: there is none. */
bool tort_sliding_walk_begin(const tort_sliding *sliding, const int64_t *out, tort_sliding_walk *walk);
bool tort_sliding_walk_next(const tort_sliding *sliding, tort_sliding_walk *walk);
/* Number of the input row that the kernel row sees, and number of the kernel row itself. */
int64_t tort_sliding_input_row(const tort_sliding *sliding, const int64_t *out, const tort_sliding_walk *walk);
int64_t tort_sliding_kernel_row(const tort_sliding *sliding, const tort_sliding_walk *walk);
/* Cost of a row of outputs for tort_parallel, where each costs `each` for every element that it can see. */
int64_t tort_sliding_row_cost(const tort_sliding *sliding, int64_t each);
/* Range *from .. *to-1 of the outputs first .. last-1 along the last axis that see the input at kernel position k. */
void tort_sliding_span(const tort_sliding *sliding, int64_t k, int64_t first, int64_t last, int64_t *from, int64_t *to);
/* acc[i * acc_step] += weight * in[first + i * in_step] for i < count; `in` is of type float or double. */
void tort_sliding_add(tort_type type, double *acc, int64_t acc_step, const void *in, int64_t first, int64_t in_step,
                      double weight, int64_t count);

#endif
