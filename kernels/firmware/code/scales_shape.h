/* scales_shape.h - whole numbers beside floats, [outer, length, inner] elements, of which (o, a, i) has the scale and
 * the zero point at o * steps[0] + a / block * steps[1] + i * steps[2]. type: of the whole numbers (load.h). */
#ifndef TORT_FIRMWARE_CODE_SCALES_SHAPE_H
#define TORT_FIRMWARE_CODE_SCALES_SHAPE_H

#include <stdint.h>

typedef struct tinyort_scales_shape {
    int32_t outer, length, inner, block, type, steps[3];
} tinyort_scales_shape;

/* The place of the scale of element i. */
static int32_t tinyort_scale_of(const tinyort_scales_shape *s, int32_t i) {
    const int32_t row = i / s->inner;
    return (row / s->length * s->steps[0]) + (row % s->length / s->block * s->steps[1]) + (i % s->inner * s->steps[2]);
}

#endif
