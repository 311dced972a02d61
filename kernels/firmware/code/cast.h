/* cast.h - converts between types of numbers (load.h, store.h). */
#ifndef TORT_FIRMWARE_CODE_CAST_H
#define TORT_FIRMWARE_CODE_CAST_H

#include "kernels/firmware/code/load.h"
#include "kernels/firmware/code/store.h"

typedef struct tinyort_cast_shape {
    int32_t from, to, count;
} tinyort_cast_shape;

static void tinyort_cast(const tinyort_cast_shape *s, const void *x, void *y) {
    for (int32_t i = 0; i < s->count; i++) {
        if ((s->from == 7) && (s->to == 8)) {
            ((uint8_t *)y)[i] = ((const float *)x)[i] != 0.0f;
        } else if ((s->from == 7) && (s->to == 7)) {
            ((float *)y)[i] = ((const float *)x)[i];
        } else {
            tinyort_store(s->to, y, i, tinyort_load(s->from, x, i));
        }
    }
}

#endif
