/* table_bytes.h - every byte through a table of 256, indexed by its bits. y may lie over x. */
#ifndef TORT_FIRMWARE_CODE_TABLE_BYTES_H
#define TORT_FIRMWARE_CODE_TABLE_BYTES_H

#include <stdint.h>

typedef struct tinyort_table_bytes_shape {
    int32_t count;
} tinyort_table_bytes_shape;

static void tinyort_table_bytes(const tinyort_table_bytes_shape *s, const void *x, const void *table, void *y) {
    const uint8_t *from = (const uint8_t *)x, *entries = (const uint8_t *)table;
    uint8_t *to = (uint8_t *)y;
    for (int32_t i = 0; i < s->count; i++) {
        to[i] = entries[from[i]];
    }
}

#endif
