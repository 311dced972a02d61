/* fill.h - fills an array with one element of `element_bytes` bytes (1, 2, 4 or 8); `low` has its lower 32 bits, `high`
 * the rest. Elements are set from number `first` on, `gap` apart. */
#ifndef TORT_FIRMWARE_CODE_FILL_H
#define TORT_FIRMWARE_CODE_FILL_H

#include <stdint.h>
#include <string.h>

typedef struct tinyort_fill_shape {
    int32_t element_bytes, count, low, high, first, gap;
} tinyort_fill_shape;

static void tinyort_fill(const tinyort_fill_shape *s, void *y) {
    const uint8_t one = (uint8_t)s->low;
    const uint16_t two = (uint16_t)s->low;
    const uint64_t eight = ((uint64_t)(uint32_t)s->high << 32) | (uint32_t)s->low;
    const void *from = (s->element_bytes == 1)   ? &one
                       : (s->element_bytes == 2) ? (const void *)&two
                       : (s->element_bytes == 4) ? &s->low
                                                 : (const void *)&eight;
    for (int32_t i = 0; i < s->count; i++) {
        (void)memcpy((unsigned char *)y + ((s->first + (i * (s->gap + 1))) * s->element_bytes), from,
                     (size_t)s->element_bytes);
    }
}

#endif
