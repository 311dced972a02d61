/* channels_last.h - operators whose tensors may be (batch, spatial..., channels): their shapes with the channels first,
 * as the families of ONNX have them, and their elements in that order.
 *
 * Read next: channels_last.c; qlinear_pool.c, which uses it. */
#ifndef TORT_OPS_MICROSOFT_CHANNELS_LAST_H
#define TORT_OPS_MICROSOFT_CHANNELS_LAST_H

#include "runtime/op.h"

/* The same tensor with its last dimension in place 1; a rank below 3 stays as it is. */
tort_info tort_channels_first(const tort_info *info);
/* Output 0 the other way round, after it was inferred. */
void tort_channels_last(tort_info *info);

enum { TORT_PLANAR_INPUTS = 16 }; /* no schema of such an operator has more */

/* X and Y, input `x` and output 0 of a node, and the node as a family sees it that has channels first. */
typedef struct tort_planar_view {
    tort_node_view node;
    tort_info inputs[TORT_PLANAR_INPUTS], output;
} tort_planar_view;

void tort_planar_view_of(const tort_node_view *node, bool channels_last, int32_t x, tort_planar_view *view);

/* (batch, columns, rows) of elements of `size` bytes from (batch, rows, columns). */
void tort_channels_move(const tort_call *call, size_t size, const void *from, void *to, int64_t batch, int64_t rows,
                        int64_t columns);

/* Runs a kernel for channels first: X, input 0, and Y, output 0, have 8-bit elements and are moved into and out of the
 * front of scratch, as many bytes as tort_planar_scratch tells. */
tort_status tort_planar_run(const tort_call *call, tort_status (*run)(const tort_call *call));
/* Adds to *bytes, in units of 64. False: more than a size_t. */
bool tort_planar_scratch(const tort_node_view *node, size_t *bytes);

#endif
