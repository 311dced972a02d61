/* requantize_few.h - requantize.h for the sums of four filters from `m` on, of which the last ones may not exist. */
#ifndef TORT_FIRMWARE_CODE_REQUANTIZE_FEW_H
#define TORT_FIRMWARE_CODE_REQUANTIZE_FEW_H

#include "kernels/firmware/code/requantize.h"

static inline void tinyort_requantize_few(const tinyort_bytes_shape *s, int32_t y0, int32_t y1, int32_t y2, int32_t y3,
                                          const float *factors, int32_t m, int8_t *y) {
    y[m] = tinyort_requantize(s, y0, factors[m]);
    if ((m + 1) < s->filters) {
        y[m + 1] = tinyort_requantize(s, y1, factors[m + 1]);
    }
    if ((m + 2) < s->filters) {
        y[m + 2] = tinyort_requantize(s, y2, factors[m + 2]);
    }
    if ((m + 3) < s->filters) {
        y[m + 3] = tinyort_requantize(s, y3, factors[m + 3]);
    }
}

#endif
