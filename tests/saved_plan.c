#include "tests/saved_plan.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/core/saved/saved_format.h"

static int append(void *ud, const void *bytes, size_t size) {
    saved_bytes *to = ud;
    if (to->size + size > to->capacity) {
        const size_t capacity = 2 * (to->size + size);
        uint8_t *grown = realloc(to->data, capacity);
        if (!grown) return -1;
        to->data = grown;
        to->capacity = capacity;
    }
    memcpy(to->data + to->size, bytes, size);
    to->size += size;
    return 0;
}

tort_writer saved_writer(saved_bytes *bytes) {
    return (tort_writer){.struct_size = sizeof(tort_writer), .write = append, .ud = bytes};
}

static uint64_t sum_of(const uint8_t *data, uint64_t size) {
    tort_sum sum = {0};
    tort_sum_add(&sum, data, (size_t)size);
    return tort_sum_end(&sum);
}

void saved_reseal(uint8_t *data, size_t size) {
    const size_t table_size = TORT_SECTION_COUNT * TORT_SAVED_ENTRY;
    if (size < TORT_SAVED_HEADER + table_size + TORT_SAVED_TRAILER) return;
    uint8_t *trailer = data + size - TORT_SAVED_TRAILER;
    uint64_t table, at, bytes, sum;
    memcpy(&table, trailer, sizeof table);
    if (table > size || table + table_size > size) return;
    for (int i = 0; i < TORT_SECTION_COUNT; i++) {
        uint8_t *entry = data + table + i * TORT_SAVED_ENTRY;
        memcpy(&at, entry + 8, sizeof at);
        memcpy(&bytes, entry + 16, sizeof bytes);
        if (at > size || bytes > size - at) continue;
        sum = sum_of(data + at, bytes);
        memcpy(entry + 24, &sum, sizeof sum);
    }
    sum = sum_of(data + table, table_size);
    memcpy(trailer + 8, &sum, sizeof sum);
}
