/* cast_real.h - converts between types of which one is double, float16, bfloat16 or uint64_t (real.h). */
#ifndef TORT_FIRMWARE_CODE_CAST_REAL_H
#define TORT_FIRMWARE_CODE_CAST_REAL_H

#include "kernels/firmware/code/real.h"

typedef struct tinyort_cast_real_shape {
    int32_t from, to, count;
} tinyort_cast_real_shape;

static void tinyort_cast_real(const tinyort_cast_real_shape *s, const void *x, void *y) {
    for (int32_t i = 0; i < s->count; i++) {
        tinyort_store_real(s->to, y, i, tinyort_load_real(s->from, x, i));
    }
}

#endif
