/* cast.h - params of Cast and CastLike, shared by every provider. The target type is the output's. */
#ifndef TORT_OPS_CAST_H
#define TORT_OPS_CAST_H

#include "ops/numeric.h"
#include "runtime/include/op.h"

typedef struct tort_cast {
    tort_parts parts;       /* cast to the input's own type: the output is a view of the whole input */
    bool saturate;          /* to 8 bits and fewer: out of range is the largest value, else infinity or NaN */
    tort_rounding rounding; /* round_mode (opset 24), to float8e8m0 only */
} tort_cast;

#endif
