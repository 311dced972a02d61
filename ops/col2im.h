/* col2im.h - params of Col2Im, for every provider. */
#ifndef TORT_OPS_COL2IM_H
#define TORT_OPS_COL2IM_H

#include "runtime/include/tinyort.h"

#define TORT_COL2IM_RANK (TORT_MAX_RANK - 2) /* maximum number of spatial dimensions */

typedef struct tort_col2im_params {
    int32_t spatial;
    int64_t image[TORT_COL2IM_RANK], block[TORT_COL2IM_RANK];
    int64_t strides[TORT_COL2IM_RANK], dilations[TORT_COL2IM_RANK], pads[TORT_COL2IM_RANK]; /* pads: begin only */
    int64_t places[TORT_COL2IM_RANK]; /* positions of the block along each axis */
    int64_t block_size, place_count;
} tort_col2im_params;

#endif
