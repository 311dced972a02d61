/* select.h - params of Compress and Trilu, for every provider. NonZero has none. */
#ifndef TORT_OPS_SELECT_H
#define TORT_OPS_SELECT_H

#include "runtime/include/tinyort.h"

typedef struct tort_compress_params {
    bool flat; /* no axis: the input is flattened */
    int32_t axis;
} tort_compress_params;

typedef struct tort_trilu_params {
    bool upper;
} tort_trilu_params;

#endif
