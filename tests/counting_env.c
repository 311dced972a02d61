/* counting_env.c - see counting_env.h. A block's size is kept in front of it. */
#include "tests/counting_env.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 16 };

static void *counted_alloc(void *ud, void *ptr, size_t old_size, size_t new_size) {
    tort_counting_env *counting = ud;
    char *block = ptr ? (char *)ptr - HEADER : NULL;
    size_t had = 0;
    if (block) {
        memcpy(&had, block, sizeof had);
        counting->wrong_sizes += had != old_size;
    }
    if (new_size) {
        const int64_t number = new_size < counting->min_size ? 0 : ++counting->allocations;
        bool reached = counting->fail_at && number >= counting->fail_at;
        if (reached && (!counting->fail_once || number == counting->fail_at)) return NULL;
        block = realloc(block, new_size + HEADER);
        if (!block) return NULL;
        memcpy(block, &new_size, sizeof new_size);
        counting->live_blocks += !ptr;
    } else {
        free(block);
        counting->live_blocks -= block != NULL;
    }
    const size_t grown = new_size - had, now = atomic_fetch_add(&counting->live_bytes, grown) + grown;
    size_t max = counting->max_bytes;
    while (now > max && !atomic_compare_exchange_weak(&counting->max_bytes, &max, now)) continue;
    return new_size ? block + HEADER : NULL;
}

void tort_counting_env_init(tort_counting_env *counting) {
    *counting = (tort_counting_env){.env = {.struct_size = sizeof(tort_env), .alloc = counted_alloc}};
    counting->env.alloc_ud = counting;
}
