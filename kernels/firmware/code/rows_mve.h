/* rows_mve.h - the products of two columns of bytes with all filters, for a processor with M-profile vectors: `depth`
 * is a multiple of 16. See rows_plain.h. */
#ifndef TORT_FIRMWARE_CODE_ROWS_MVE_H
#define TORT_FIRMWARE_CODE_ROWS_MVE_H

#include "kernels/firmware/code/column_mve.h"

static const void *tinyort_column(const tinyort_bytes_shape *s, const int8_t *from, void *room, int32_t column) {
    (void)s, (void)room, (void)column;
    return from;
}

static void tinyort_rows(const tinyort_bytes_shape *s, const void *a, const void *b, const int8_t *w,
                         const int32_t *bias, const float *factors, int8_t *y, int8_t *z) {
    tinyort_multiply_column(s, (const int8_t *)a, w, bias, factors, y);
    if (y != z) tinyort_multiply_column(s, (const int8_t *)b, w, bias, factors, z);
}

#endif
