/* channels_last.h - operators whose tensors may be (batch, spatial..., channels): their shapes with the channels first,
 * as the families of ONNX have them, and their elements in that order.
 *
 * Read next: channels_last.c; qlinear_pool.c, which uses it. */
#ifndef TORT_OPS_MICROSOFT_CHANNELS_LAST_H
#define TORT_OPS_MICROSOFT_CHANNELS_LAST_H

#include "runtime/op.h"

/* Infers a node as its family does, which has the channels of input 0 and output 0 first. */
tort_status tort_planar_infer(tort_infer *infer, bool channels_last, tort_status (*family)(tort_infer *infer));
/* Resolves it so into `params`, those of the family. */
tort_status tort_planar_resolve(tort_resolve *resolve, bool channels_last, void *params,
                                tort_status (*family)(tort_resolve *resolve));

#define TORT_PLANAR_X 1u /* input 0, of a set of inputs */

/* Runs a kernel for channels first: the inputs of the set that are there, and Y, output 0, are moved into and out of
 * the front of scratch, as many bytes as tort_planar_scratch tells. Elements have 1, 2, 4 or 8 bytes. */
tort_status tort_planar_run(const tort_call *call, uint32_t inputs, tort_status (*run)(const tort_call *call));
/* Adds to *bytes, in units of 64; nothing as long as a shape is not known. False: more than a size_t. */
bool tort_planar_scratch(const tort_node_view *node, uint32_t inputs, size_t *bytes);

#endif
