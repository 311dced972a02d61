/* planes_shape.h - sizes of the loops of planes_dsp.h. */
#ifndef TORT_FIRMWARE_CODE_PLANES_SHAPE_H
#define TORT_FIRMWARE_CODE_PLANES_SHAPE_H

#include "kernels/firmware/code/conv_bytes_shape.h"

typedef struct tinyort_planes_dsp_shape {
    tinyort_bytes_shape rows;
    tinyort_window_shape window;
    int32_t batch, taps, three;
} tinyort_planes_dsp_shape;

#endif
