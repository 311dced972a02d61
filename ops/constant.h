/* constant.h - params of ConstantOfShape, for every provider. */
#ifndef TORT_OPS_CONSTANT_H
#define TORT_OPS_CONSTANT_H

#include "runtime/include/tinyort.h"

typedef struct tort_fill_params {
    unsigned char value[16]; /* one element */
} tort_fill_params;

#endif
