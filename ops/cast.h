/* cast.h - params of Cast and CastLike, shared by every provider. The target type is the output's. */
#ifndef TORT_OPS_CAST_H
#define TORT_OPS_CAST_H

#include "ops/numeric.h"

typedef struct tort_cast {
    bool saturate;          /* to 8-bit floats: out of range becomes the largest value, else infinity or NaN */
    tort_rounding rounding; /* to float8e8m0 */
} tort_cast;

#endif
