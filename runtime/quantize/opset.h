/* opset.h - raises a message to the version of ONNX that has weights by channel. */
#ifndef TORT_QUANTIZE_OPSET_H
#define TORT_QUANTIZE_OPSET_H

#include "runtime/quantize/net.h"

enum { TORT_QUANTIZE_OPSET = 13 }; /* DequantizeLinear has an axis since then */

/* The version of ONNX that a message imports; 0: it has no operators of ONNX. */
int64_t tort_opset_of(const TortOnnx__ModelProto *proto);
/* Changes the nodes of a message, of opset 7 to 12, to what means the same in 13. Types of what is between are gone
 * then. TORT_E_UNSUPPORTED names a node that cannot be changed. */
tort_status tort_opset_raise(TortOnnx__ModelProto *proto, tort_maker *maker, tort_error *error);

#endif
