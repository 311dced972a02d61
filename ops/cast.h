/* cast.h - params of Cast and CastLike, shared by every provider. The target type is the output's. */
#ifndef TORT_OPS_CAST_H
#define TORT_OPS_CAST_H

#include "ops/numeric.h"
#include "runtime/op.h"

typedef struct tort_cast {
    tort_parts parts;       /* to the type that the input has already, the output is all of it, and a view */
    bool saturate;          /* to 8-bit floats: out of range becomes the largest value, else infinity or NaN */
    tort_rounding rounding; /* to float8e8m0 */
} tort_cast;

#endif
