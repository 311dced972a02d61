/* where.h - elements of a where c is true, otherwise of b, each broadcast to y of `rank` axes, 1 at least: cs is the
 * step of c along each axis in elements, as and bs in bytes. An element of a, b and y has `element_bytes` bytes. */
#ifndef TORT_FIRMWARE_CODE_WHERE_H
#define TORT_FIRMWARE_CODE_WHERE_H

#include "kernels/firmware/code/axes.h"
#include "kernels/firmware/code/offset.h"

#include <string.h>

typedef struct tinyort_where_shape {
    int32_t element_bytes, count, rank, dims[TINYORT_AXES], cs[TINYORT_AXES], as[TINYORT_AXES], bs[TINYORT_AXES];
} tinyort_where_shape;

static void tinyort_where(const tinyort_where_shape *s, const uint8_t *c, const void *a, const void *b, void *y) {
    for (int32_t i = 0; i < s->count; i++) {
        const int32_t chosen = c[tinyort_offset(i, s->rank, s->dims, s->cs)];
        const unsigned char *from = (const unsigned char *)(chosen ? a : b);
        from += tinyort_offset(i, s->rank, s->dims, chosen ? s->as : s->bs);
        (void)memcpy((unsigned char *)y + (i * s->element_bytes), from, (size_t)s->element_bytes);
    }
}

#endif
