/* trilu.h - matrices of x, of which only the part on and above diagonal k (`upper`), or on and below it, is kept; the
 * rest is 0. k: one number, 0 without. An element has `element_bytes` bytes. */
#ifndef TORT_FIRMWARE_CODE_TRILU_H
#define TORT_FIRMWARE_CODE_TRILU_H

#include <stdint.h>
#include <string.h>

typedef struct tinyort_trilu_shape {
    int32_t element_bytes, matrices, rows, columns, upper;
} tinyort_trilu_shape;

static void tinyort_trilu(const tinyort_trilu_shape *s, const void *x, const int64_t *k, void *y) {
    const size_t row_bytes = (size_t)s->columns * (size_t)s->element_bytes;
    const int64_t diagonal = k ? *k : 0;
    for (int32_t i = 0; i < (s->matrices * s->rows); i++) {
        const unsigned char *from = (const unsigned char *)x + ((size_t)i * row_bytes);
        unsigned char *to = (unsigned char *)y + ((size_t)i * row_bytes);
        int64_t split = diagonal; /* the first column of the right part */
        if (split < -s->rows) {
            split = -s->rows;
        }
        split += (i % s->rows) + !s->upper;
        if (split < 0) {
            split = 0;
        }
        if (split > s->columns) {
            split = s->columns;
        }
        const size_t left = (size_t)split * (size_t)s->element_bytes;
        (void)memset(s->upper ? to : (to + left), 0, s->upper ? left : (row_bytes - left));
        if (s->upper != 0) {
            (void)memcpy(to + left, from + left, row_bytes - left);
        } else {
            (void)memcpy(to, from, left);
        }
    }
}

#endif
