/* affine_grid.h - params of AffineGrid, for every provider. */
#ifndef TORT_OPS_AFFINE_GRID_H
#define TORT_OPS_AFFINE_GRID_H

#include "runtime/include/tinyort.h"

typedef struct tort_affine_grid_params {
    bool align_corners;
} tort_affine_grid_params;

#endif
