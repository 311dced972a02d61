/* pad.h - pads x, of `rank` axes of sizes `in` and of elements of `element_bytes` bytes, with `before` elements and
 * those that y of sizes `out` still lacks. mode: 0 with the element at `value`, 1 by reflection, 2 by the edge, 3 by
 * repetition; value NULL: `number` in elements of 4 bytes, else 0. */
#ifndef TORT_FIRMWARE_CODE_PAD_H
#define TORT_FIRMWARE_CODE_PAD_H

#include "kernels/firmware/code/axes.h"

#include <stdint.h>
#include <string.h>

typedef struct tinyort_pad_shape {
    int32_t element_bytes, mode, rank, count, in[TINYORT_AXES], out[TINYORT_AXES], before[TINYORT_AXES];
} tinyort_pad_shape;

static void tinyort_pad(const tinyort_pad_shape *s, const void *x, const void *value, void *y, float number) {
    for (int32_t at = 0; at < s->count; at++) {
        int32_t rest = at, from = 0, step = 1, inside = 1;
        for (int32_t k = s->rank - 1; k >= 0; k--) {
            const int32_t size = s->in[k], period = 2 * (size - 1);
            int32_t i = (rest % s->out[k]) - s->before[k];
            rest /= s->out[k];
            if ((s->mode == 0) && ((i < 0) || (i >= size))) {
                inside = 0;
                i = 0;
            }
            if (s->mode == 2) {
                i = (i < 0) ? 0 : (i < size) ? i : (size - 1);
            }
            if (s->mode == 3) {
                i = ((i % size) + size) % size;
            }
            if ((s->mode == 1) && (period > 0)) {
                i = ((i % period) + period) % period;
            }
            if (s->mode == 1) {
                i = (i < size) ? i : (period - i);
            }
            if (size == 1) {
                i = 0;
            }
            from += i * step;
            step *= size;
        }
        unsigned char *to = (unsigned char *)y + (at * s->element_bytes);
        if (inside != 0) {
            (void)memcpy(to, (const unsigned char *)x + (from * s->element_bytes), (size_t)s->element_bytes);
        } else if (value != NULL) {
            (void)memcpy(to, value, (size_t)s->element_bytes);
        } else if (s->element_bytes == 4) {
            (void)memcpy(to, &number, 4);
        } else {
            (void)memset(to, 0, (size_t)s->element_bytes);
        }
    }
}

#endif
