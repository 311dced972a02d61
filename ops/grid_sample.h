/* grid_sample.h - params of GridSample, for every provider. */
#ifndef TORT_OPS_GRID_SAMPLE_H
#define TORT_OPS_GRID_SAMPLE_H

#include "runtime/include/tinyort.h"

typedef enum tort_grid_mode { TORT_GRID_NEAREST, TORT_GRID_LINEAR, TORT_GRID_CUBIC } tort_grid_mode;
typedef enum tort_grid_padding { TORT_GRID_ZEROS, TORT_GRID_BORDER, TORT_GRID_REFLECTION } tort_grid_padding;

/* X is [batch, channels, sizes...], grid [batch, points..., spatial], the output [batch, channels, points...].
 * A point's coordinates are in -1..1, the last axis first. */
typedef struct tort_grid_params {
    tort_grid_mode mode;
    tort_grid_padding padding;
    bool align_corners;
    int32_t spatial; /* axes behind the channels */
    int64_t batch, channels, points;
    int64_t sizes[TORT_MAX_RANK];
} tort_grid_params;

#endif
