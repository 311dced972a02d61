/* values.h - what operators over sequences and optionals share: handing out values. */
#ifndef TORT_OPS_VALUES_H
#define TORT_OPS_VALUES_H

#include "runtime/op.h"
#include "runtime/graph/value.h"

/* Leaves `value` as the only output. NULL, which is what making one gives where memory runs out: TORT_E_MEMORY. */
tort_status tort_give_value(const tort_call *call, tort_value *value);
/* The output is input 0: the same value; of a tensor, where the node has no other operands, a copy. */
tort_status tort_give_input(const tort_call *call);

#endif
