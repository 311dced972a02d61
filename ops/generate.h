/* generate.h - params of EyeLike and OneHot, for every provider. Range has none. */
#ifndef TORT_OPS_GENERATE_H
#define TORT_OPS_GENERATE_H

#include "runtime/include/tinyort.h"

typedef struct tort_eye_params {
    int64_t diagonal; /* 0: the main diagonal; > 0: above it */
} tort_eye_params;

typedef struct tort_one_hot_params {
    int32_t axis; /* of the output */
} tort_one_hot_params;

#endif
