/* group_norm.h - params of com.microsoft's GroupNorm and SkipGroupNorm, for every provider. */
#ifndef TORT_OPS_MICROSOFT_GROUP_NORM_H
#define TORT_OPS_MICROSOFT_GROUP_NORM_H

#include "runtime/include/tinyort.h"

typedef struct tort_group_norm_params {
    int64_t batch, groups, channels, pixels;
    double epsilon;
    bool silu, channels_last;
    bool skip_is_pixel; /* skip has one pixel for all of an image */
} tort_group_norm_params;

#endif
