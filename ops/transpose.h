/* transpose.h - params of Transpose, DepthToSpace and SpaceToDepth; shared by every provider. */
#ifndef TORT_OPS_TRANSPOSE_H
#define TORT_OPS_TRANSPOSE_H

#include "runtime/op.h"

/* Output dimension k is input dimension perm[k]. */
typedef struct tort_transpose_params {
    tort_parts parts; /* the whole, where no axis moves but those of length 1: the bytes stay */
    int32_t rank;
    int32_t perm[TORT_MAX_RANK];
} tort_transpose_params;

/* A pixel of C*block*block channels against a block*block square of pixels with C channels. */
typedef struct tort_depth_space_params {
    int64_t block;
    bool channel_first; /* mode CRD: depth is (C, block, block); else DCR: (block, block, C) */
} tort_depth_space_params;

#endif
