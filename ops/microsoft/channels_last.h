/* channels_last.h - operators whose tensors may be (batch, spatial..., channels): they infer and resolve as the
 * channels-first families of ONNX, and run their kernels on transposed copies.
 *
 * Read next: channels_last.c; qlinear_pool.c, which uses it. */
#ifndef TORT_OPS_MICROSOFT_CHANNELS_LAST_H
#define TORT_OPS_MICROSOFT_CHANNELS_LAST_H

#include "runtime/include/op.h"

static inline bool tort_channels_last(const tort_node_view *node) {
    return tort_attr_int(node, "channels_last") != 0;
}

/* Infers a node by its family, which has the channels of input 0 and output 0 first. */
tort_status tort_planar_infer(tort_infer *infer, bool channels_last, tort_status (*family)(tort_infer *infer));
/* Resolves a node in the same way into `params`, those of the family. */
tort_status tort_planar_resolve(tort_resolve *resolve, bool channels_last, void *params,
                                tort_status (*family)(tort_resolve *resolve));

#define TORT_PLANAR_X 1u /* bit of input 0 in a set of inputs */

/* Runs a channels-first kernel: the present inputs of the set, and Y, output 0, are transposed to and from the front of
 * scratch, which has the bytes of tort_planar_scratch. Elements have 1, 2, 4 or 8 bytes. */
tort_status tort_planar_run(const tort_call *call, uint32_t inputs, tort_status (*run)(const tort_call *call));
/* Adds the bytes of these copies to *bytes, in units of 64; nothing while a shape is not known. False: overflow. */
bool tort_planar_scratch(const tort_node_view *node, uint32_t inputs, size_t *bytes);

#endif
