/* block.c - an allocator inside one block of memory that the application provides.
 *
 * Algorithm: first fit by address with coalescing of neighbours (Knuth, "The Art of Computer Programming", vol. 1,
 * 2.5). Offsets do not depend on the size of the block, so what was needed in a large block suffices, to the byte, in a
 * smaller one. A free chunk stores its size and the next chunk; memory in use needs no header, as callers pass its size
 * to free. The allocator's own state is at the begin of the block. */
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "runtime/core/base/error.h"
#include "runtime/core/base/memory.h"

enum { BLOCK_ALIGN = 16, FIRST_TRY = 1 << 16 };

typedef struct chunk {
    size_t size;
    struct chunk *next; /* the next free chunk by address, not adjacent */
} chunk;

typedef struct block {
    atomic_flag busy;
    bool refused;            /* an allocation did not fit */
    size_t bytes, used, max; /* bytes: of the block; used: up to the end of the last allocation; max: maximum of used */
    chunk *free;
} block;

static char *at(block *b, size_t offset) {
    return (char *)b + offset;
}

static bool rounded(size_t size, size_t *out) {
    return tort_align_size(size ? size : 1, BLOCK_ALIGN, out);
}

/* ---- allocate, free ---------------------------------------------------------------------------------------------- */

static void *take_free(block *b, size_t size) {
    for (chunk **link = &b->free; *link; link = &(*link)->next) {
        chunk *found = *link;
        if (found->size < size) continue;
        if (found->size > size) {
            chunk *rest = (chunk *)(void *)((char *)found + size);
            *rest = (chunk){found->size - size, found->next};
            *link = rest;
        } else {
            *link = found->next;
        }
        return found;
    }
    return NULL;
}

static void *take(block *b, size_t size) {
    void *found = take_free(b, size);
    if (found) return found;
    if (size > b->bytes - b->used) {
        b->refused = true;
        return NULL;
    }
    found = at(b, b->used);
    b->used += size;
    if (b->used > b->max) b->max = b->used;
    return found;
}

/* Frees memory: merges it with free neighbours. Free memory behind all allocations is cut off
 * instead of kept as a chunk. */
static void give_back(block *b, void *ptr, size_t size) {
    chunk **link = &b->free, *before = NULL, *freed = ptr;
    while (*link && (char *)*link < (char *)ptr) {
        before = *link;
        link = &before->next;
    }
    *freed = (chunk){size, *link};
    if (freed->next && (char *)freed + freed->size == (char *)freed->next)
        *freed = (chunk){size + freed->next->size, freed->next->next};
    *link = freed;
    if (before && (char *)before + before->size == (char *)freed)
        *before = (chunk){before->size + freed->size, freed->next};
    for (link = &b->free; *link; link = &(*link)->next) {
        if ((char *)*link + (*link)->size != at(b, b->used)) continue;
        b->used -= (*link)->size;
        *link = NULL; /* only the last chunk can end there */
        return;
    }
}

static void *move(block *b, void *ptr, size_t old_size, size_t new_size) {
    size_t before = 0, after;
    if (ptr && !rounded(old_size, &before)) return NULL;
    if (!rounded(new_size, &after)) return NULL;
    if (before == after) return ptr;
    void *moved = take(b, after);
    if (!moved || !ptr) return moved;
    memcpy(moved, ptr, old_size < new_size ? old_size : new_size);
    give_back(b, ptr, before);
    return moved;
}

static void *block_alloc(void *ud, void *ptr, size_t old_size, size_t new_size) {
    block *b = ud;
    void *result = NULL;
    size_t size;
    while (atomic_flag_test_and_set_explicit(&b->busy, memory_order_acquire)) continue;
    if (new_size)
        result = move(b, ptr, old_size, new_size);
    else if (ptr && rounded(old_size, &size))
        give_back(b, ptr, size);
    atomic_flag_clear_explicit(&b->busy, memory_order_release);
    return result;
}

/* ---- for applications -------------------------------------------------------------------------------------------- */

tort_status tort_env_in_block(tort_env *env, void *memory, size_t bytes, tort_error *error) {
    size_t begin;
    if (!env) return tort_fail(error, TORT_E_USAGE, "tort_env_in_block needs an environment");
    tort_align_size(sizeof(block), BLOCK_ALIGN, &begin);
    tort_status status = tort_check_struct_size(env->struct_size, "tort_env", error);
    if (status) return status;
    if ((uintptr_t)memory % BLOCK_ALIGN || !memory)
        return tort_fail(error, TORT_E_USAGE, "the block must begin at a multiple of %d bytes", BLOCK_ALIGN);
    if (bytes < begin)
        return tort_fail(error, TORT_E_MEMORY, "the block has %zu bytes, at least %zu are needed", bytes, begin);
    block *b = memory;
    *b = (block){.busy = ATOMIC_FLAG_INIT, .bytes = bytes, .used = begin, .max = begin};
    env->alloc = block_alloc;
    env->alloc_ud = b;
    return TORT_OK;
}

size_t tort_block_max(const tort_env *env) {
    return env && env->alloc == block_alloc ? ((const block *)env->alloc_ud)->max : 0;
}

/* ---- the size that a block needs --------------------------------------------------------------------------------- */

/* Makes a session and its contexts, and frees them. `list` has capacity for the contexts. */
static tort_status rehearse(const tort_env *inside, const tort_model *model, const tort_session_options *options,
                            tort_context **list, int32_t contexts, tort_error *error) {
    tort_session *session = NULL;
    int32_t made = 0;
    tort_status status = tort_session_create(inside, model, options, &session, error);
    while (!status && made < contexts) status = tort_context_create(session, &list[made++], error);
    while (made > 0) tort_context_free(list[--made]);
    tort_session_free(session);
    return status;
}

/* Tries blocks of doubled sizes until no allocation fails, as some steps do without memory that they do not get. */
static tort_status rehearse_in_blocks(const tort_env *env, const tort_model *model, const tort_session_options *options,
                                      tort_context **list, int32_t contexts, size_t *bytes, tort_error *error) {
    for (size_t size = FIRST_TRY;; size *= 2) {
        tort_env inside = *env;
        block *b = tort_alloc(env, size);
        tort_status status = b ? tort_env_in_block(&inside, b, size, error) : tort_out_of_memory(error, size);
        if (!status) status = rehearse(&inside, model, options, list, contexts, error);
        const bool refused = b && b->refused;
        if (b) *bytes = b->max;
        tort_free(env, b, size);
        if (!refused || size > SIZE_MAX / 2) return status;
    }
}

tort_status tort_session_bytes(const tort_env *env, const tort_model *model, const tort_session_options *options,
                               int32_t contexts, size_t *bytes, tort_error *error) {
    if (!bytes) return tort_fail(error, TORT_E_USAGE, "tort_session_bytes needs a place for the bytes");
    *bytes = 0;
    if (!model) return tort_fail(error, TORT_E_USAGE, "tort_session_bytes needs a model");
    const tort_env complete = tort_env_complete(env);
    tort_status status = env ? tort_check_struct_size(env->struct_size, "tort_env", error) : TORT_OK;
    if (!status && contexts < 0) status = tort_fail(error, TORT_E_USAGE, "%d contexts cannot be made", contexts);
    if (status) return status;
    tort_context **list = tort_alloc_zero(&complete, (size_t)contexts, sizeof *list);
    if (!list) return tort_out_of_memory(error, (size_t)contexts * sizeof *list);
    status = rehearse_in_blocks(&complete, model, options, list, contexts, bytes, error);
    tort_free(&complete, list, (size_t)contexts * sizeof *list);
    return status;
}
