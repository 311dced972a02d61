/* mean_bytes.h - the mean of all pixels of bytes whose channels are last, of another scale: a sum times a factor. The
 * pixels may come in bands: the first begins the sums, the last makes y of them. room: an int32_t for each channel. */
#ifndef TORT_FIRMWARE_CODE_MEAN_BYTES_H
#define TORT_FIRMWARE_CODE_MEAN_BYTES_H

#include "kernels/firmware/code/requantize.h"

static void tinyort_mean_bytes(const tinyort_mean_bytes_shape *s, const void *x, void *room, void *y, float factor) {
    const int32_t channels = s->rows.filters;
    const int8_t *from = (const int8_t *)x;
    int8_t *to = (int8_t *)y;
    int32_t *sums = (int32_t *)room;
    for (int32_t n = 0; n < s->batch; n++) {
        for (int32_t c = 0; (c < channels) && (s->before == 0); c++) {
            sums[c] = -s->pixels * s->x_zero;
        }
        for (int32_t p = 0; p < s->now; p++) {
            for (int32_t c = 0; c < channels; c++) {
                sums[c] += (int8_t)tinyort_flipped(from[c], s->rows.x_flip);
            }
            from += channels;
        }
        for (int32_t c = 0; (c < channels) && ((s->before + s->now) == s->pixels); c++) {
            to[c] = tinyort_requantize(&s->rows, sums[c], factor);
        }
        to += channels;
    }
}

#endif
