/* values.h - shared by operators over sequences and optionals: giving values to outputs. */
#ifndef TORT_OPS_VALUES_H
#define TORT_OPS_VALUES_H

#include "runtime/include/op.h"
#include "runtime/core/graph/value.h"

/* Makes `value` the only output. NULL, which a constructor returns when memory runs out, gives TORT_E_MEMORY. */
tort_status tort_give_value(const tort_call *call, tort_value *value);
/* Makes input 0 the output: the same value, or a copy of the bytes if all operands of the node are tensors. */
tort_status tort_give_input(const tort_call *call);

#endif
