/* memory.c - the default allocator, aligned blocks, checked sizes, and the bump arena.
 *
 * The hook wants the size with every free, so whoever allocates keeps the size. Nothing here knows
 * models or tensors. */
#define _DEFAULT_SOURCE /* madvise */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/core/base/error.h"
#include "runtime/core/base/memory.h"
#include "runtime/core/base/locale.h"

/* ---- the environment --------------------------------------------------------------------------------------------- */

#define LARGE_PAGE ((size_t)2 << 20)

/* Weights and arenas are written once from end to end, where faulting in pages of 4 KiB takes longer than the writes:
 * large blocks are put on huge pages, if the system has them. The last part stays on small pages, so that a block takes
 * no more memory than its bytes. */
static void *alloc_large(size_t size) {
    void *block;
    if (posix_memalign(&block, LARGE_PAGE, size)) return NULL;
#ifdef MADV_HUGEPAGE
    madvise(block, size / LARGE_PAGE * LARGE_PAGE, MADV_HUGEPAGE); /* failure only costs time */
#endif
    return block;
}

static void *default_alloc(void *ud, void *ptr, size_t old_size, size_t new_size) {
    (void)ud;
    (void)old_size;
    if (new_size == 0) {
        free(ptr);
        return NULL;
    }
    return !ptr && new_size >= LARGE_PAGE ? alloc_large(new_size) : realloc(ptr, new_size);
}

tort_env tort_env_complete(const tort_env *env) {
    tort_env complete = {0};
    if (env) memcpy(&complete, env, env->struct_size < sizeof complete ? env->struct_size : sizeof complete);
    complete.struct_size = sizeof complete;
    if (!complete.alloc) complete.alloc = default_alloc;
    return complete;
}

bool tort_env_is_default(const tort_env *env) {
    return env->alloc == default_alloc;
}

tort_status tort_check_struct_size(size_t struct_size, const char *what, tort_error *error) {
    if (struct_size) return TORT_OK;
    return tort_fail(error, TORT_E_USAGE, "%s has struct_size 0: set it to sizeof(%s), or all of it would be ignored",
                     what, what);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* For the hook a size of 0 means free, so an empty block has one byte. */
static size_t at_min_one(size_t size) {
    return size ? size : 1;
}

void *tort_alloc(const tort_env *env, size_t size) {
    return env->alloc(env->alloc_ud, NULL, 0, at_min_one(size));
}

void *tort_alloc_zero(const tort_env *env, size_t count, size_t size) {
    size_t bytes;
    if (!tort_mul_size(count, size, &bytes)) return NULL;
    void *ptr = tort_alloc(env, bytes);
    if (ptr) memset(ptr, 0, bytes);
    return ptr;
}

void tort_free(const tort_env *env, void *ptr, size_t size) {
    if (ptr) env->alloc(env->alloc_ud, ptr, at_min_one(size), 0);
}

bool tort_grow(const tort_env *env, void **array, int32_t *capacity, int32_t need, size_t size) {
    if (need <= *capacity) return true;
    int32_t wanted = *capacity > INT32_MAX / 2 ? INT32_MAX : *capacity * 2;
    if (wanted < 8) wanted = 8;
    if (wanted < need) wanted = need;
    size_t bytes;
    if (!tort_mul_size((uint64_t)wanted, size, &bytes)) return false;
    void *grown = env->alloc(env->alloc_ud, *array, (size_t)*capacity * size, bytes);
    if (!grown) return false;
    *array = grown;
    *capacity = wanted;
    return true;
}

size_t tort_aligned_bytes(size_t size) {
    size_t bytes;
    return tort_add_size(size, TORT_HOST_ALIGN, &bytes) ? bytes : SIZE_MAX;
}

/* The pointer to the hook's block is stored right before the aligned address. There is always room for it, as the
 * hook aligns like malloc. */
void *tort_alloc_aligned(const tort_env *env, size_t size) {
    const size_t bytes = tort_aligned_bytes(size);
    char *block = bytes < SIZE_MAX ? tort_alloc(env, bytes) : NULL;
    if (!block) return NULL;
    char *aligned = block + TORT_HOST_ALIGN - (uintptr_t)block % TORT_HOST_ALIGN;
    memcpy(aligned - sizeof block, &block, sizeof block);
    return aligned;
}

void tort_free_aligned(const tort_env *env, void *ptr, size_t size) {
    if (!ptr) return;
    char *block;
    memcpy(&block, (char *)ptr - sizeof block, sizeof block);
    tort_free(env, block, tort_aligned_bytes(size));
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

bool tort_add_size(uint64_t a, uint64_t b, size_t *out) {
    return !__builtin_add_overflow(a, b, out);
}

bool tort_mul_size(uint64_t a, uint64_t b, size_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}

bool tort_align_size(uint64_t a, uint64_t align, size_t *out) {
    const uint64_t rest = a % align;
    return tort_add_size(a, rest ? align - rest : 0, out);
}

/* ---- the arena --------------------------------------------------------------------------------------------------- */

#define ARENA_ALIGN 16
#define LARGEST_CHUNK (1 << 20)

typedef struct tort_chunk {
    struct tort_chunk *next;
    size_t size, used; /* both include this header */
} tort_chunk;

void tort_arena_init(tort_arena *arena, const tort_env *env) {
    *arena = (tort_arena){.env = env};
}

static void free_chunks(const tort_env *env, tort_chunk *chunk) {
    for (tort_chunk *next; chunk; chunk = next) {
        next = chunk->next;
        tort_free(env, chunk, chunk->size);
    }
}

void tort_arena_free(tort_arena *arena) {
    free_chunks(arena->env, arena->chunks);
    free_chunks(arena->env, arena->spare);
    tort_arena_init(arena, arena->env);
}

/* Reverses the order, so that the oldest chunk is reused first, and equal allocations get equal addresses. */
void tort_arena_rewind(tort_arena *arena) {
    for (tort_chunk *chunk = arena->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        chunk->next = arena->spare;
        arena->spare = chunk;
    }
    arena->chunks = NULL;
}

static size_t held_by(const tort_chunk *chunk) {
    size_t bytes = 0;
    for (; chunk; chunk = chunk->next) bytes += chunk->size;
    return bytes;
}

size_t tort_arena_held(const tort_arena *arena) {
    return held_by(arena->chunks) + held_by(arena->spare);
}

/* The first spare chunk of at least so many bytes; NULL: none. */
static tort_chunk *take_spare(tort_arena *arena, size_t need) {
    tort_chunk **link = &arena->spare;
    while (*link && (*link)->size < need) link = &(*link)->next;
    tort_chunk *chunk = *link;
    if (chunk) *link = chunk->next;
    return chunk;
}

/* Chunk sizes double, so that a large model needs few; a large allocation gets a chunk of its own size. */
static tort_chunk *add_chunk(tort_arena *arena, size_t need) {
    size_t header, size = TORT_ARENA_FIRST;
    if (arena->chunks) size = arena->chunks->size < LARGEST_CHUNK / 2 ? arena->chunks->size * 2 : LARGEST_CHUNK;
    tort_align_size(sizeof(tort_chunk), ARENA_ALIGN, &header);
    if (!tort_add_size(need, header, &need)) return NULL;
    if (size < need) size = need;
    tort_chunk *chunk = take_spare(arena, need);
    if (chunk) size = chunk->size;
    if (!chunk) chunk = tort_alloc(arena->env, size);
    if (!chunk) return NULL;
    *chunk = (tort_chunk){.next = arena->chunks, .size = size, .used = header};
    arena->chunks = chunk;
    return chunk;
}

void *tort_arena_alloc(tort_arena *arena, size_t size) {
    size_t bytes;
    if (!tort_align_size(size, ARENA_ALIGN, &bytes)) return NULL;
    tort_chunk *chunk = arena->chunks;
    if (!chunk || bytes > chunk->size - chunk->used) chunk = add_chunk(arena, bytes);
    if (!chunk) return NULL;
    char *ptr = (char *)chunk + chunk->used;
    chunk->used += bytes;
    return memset(ptr, 0, bytes);
}

void *tort_arena_array(tort_arena *arena, size_t count, size_t size) {
    size_t bytes;
    return tort_mul_size(count, size, &bytes) ? tort_arena_alloc(arena, bytes) : NULL;
}

char *tort_arena_text(tort_arena *arena, const char *text, size_t length) {
    size_t bytes;
    char *copy = tort_add_size(length, 1, &bytes) ? tort_arena_alloc(arena, bytes) : NULL;
    if (copy && length) memcpy(copy, text, length);
    return copy;
}

char *tort_arena_format(tort_arena *arena, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = tort_vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = length >= 0 ? tort_arena_alloc(arena, (size_t)length + 1) : NULL;
    if (text) tort_vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}
