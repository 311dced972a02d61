/* held.c - see held.h. */
#include "runtime/core/run/held.h"

void tort_held_leave(tort_held *held) {
    if (!held || atomic_fetch_sub(&held->owners, 1) > 1) return;
    const tort_env inner = held->inner;
    tort_free(&inner, held, sizeof *held);
}

size_t tort_held_bytes(const tort_held *held) {
    const size_t objects = held->objects, before = held->before;
    return held->regions + (objects > before ? objects - before : 0);
}

static void *held_alloc(void *ud, void *ptr, size_t old_size, size_t new_size) {
    tort_held *held = ud;
    const size_t had = ptr ? old_size : 0, limit = held->limit, now = limit < SIZE_MAX ? tort_held_bytes(held) : 0;
    if (new_size > had && (now > limit || new_size - had > limit - now)) {
        held->refused = new_size - had;
        return NULL;
    }
    void *block = held->inner.alloc(held->inner.alloc_ud, ptr, old_size, new_size);
    if (new_size && !block) return NULL;
    held->objects += new_size - had;
    if (new_size && !ptr) held->owners++;
    if (!new_size && ptr) tort_held_leave(held);
    return block;
}

tort_held *tort_held_new(const tort_env *inner, tort_env *env) {
    tort_held *held = tort_alloc_zero(inner, 1, sizeof *held);
    if (!held) return NULL;
    held->inner = *inner;
    held->limit = SIZE_MAX;
    held->owners = 1;
    env->alloc = held_alloc;
    env->alloc_ud = held;
    return held;
}

void tort_held_begin(tort_held *held, uint64_t limit) {
    held->before = held->objects;
    held->limit = limit < SIZE_MAX ? (size_t)limit : SIZE_MAX;
    held->refused = 0;
}

void tort_held_end(tort_held *held) {
    held->limit = SIZE_MAX;
}
