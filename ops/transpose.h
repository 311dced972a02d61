/* transpose.h - params of DepthToSpace and SpaceToDepth; shared by every provider. */
#ifndef TORT_OPS_TRANSPOSE_H
#define TORT_OPS_TRANSPOSE_H

#include "runtime/include/op.h"

/* Exchange of a pixel with C*block*block channels for a block*block square of pixels with C channels. */
typedef struct tort_depth_space_params {
    int64_t block;
    bool channel_first; /* mode CRD: depth is (C, block, block); else DCR: (block, block, C) */
} tort_depth_space_params;

#endif
