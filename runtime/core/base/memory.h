/* memory.h - the allocator hook, a bump arena, and size arithmetic with overflow checks.
 *
 * All allocations of the library go through tort_env.alloc. Small objects with a common lifetime (names, attributes,
 * nodes) go into an arena. Nothing here knows models. */
#ifndef TORT_RUNTIME_BASE_MEMORY_H
#define TORT_RUNTIME_BASE_MEMORY_H

#include "runtime/include/tinyort.h"

#define TORT_HOST_ALIGN 64 /* bytes; of offsets and weights in host memory, so that vector loads need no prologue */
#define TORT_DEVICE_ALIGN 256
#define TORT_DEVICE_PART_ALIGN 16 /* bytes; of a part of a block on a device, and of an application's pointers */

/* A copy with the default allocator filled in. parallel_for stays NULL if not set: a session uses its pool then. */
tort_env tort_env_complete(const tort_env *env);
/* True if it uses the library's default allocator, which any number of threads may call at once. */
bool tort_env_is_default(const tort_env *env);
/* TORT_E_USAGE naming `what` if struct_size is 0: a caller who forgot it would have all options ignored. */
tort_status tort_check_struct_size(size_t struct_size, const char *what, tort_error *error);

TORT_API void *tort_alloc(const tort_env *env, size_t size);                    /* uninitialised; NULL on failure */
TORT_API void *tort_alloc_zero(const tort_env *env, size_t count, size_t size); /* NULL on failure or overflow */
/* Makes the capacity at least `need` elements of `size` bytes, doubling it; updates *capacity. False: unchanged. */
bool tort_grow(const tort_env *env, void **array, int32_t *capacity, int32_t need, size_t size);
TORT_API void tort_free(const tort_env *env, void *ptr, size_t size);

/* A block aligned to TORT_HOST_ALIGN; free it with the same size. */
TORT_API void *tort_alloc_aligned(const tort_env *env, size_t size);
size_t tort_aligned_bytes(size_t size); /* bytes it takes of the allocator; SIZE_MAX on overflow */
TORT_API void tort_free_aligned(const tort_env *env, void *ptr, size_t size);

/* False on overflow. They take 64 bits, which hold every dim and count, where a size_t has 32. */
TORT_API bool tort_add_size(uint64_t a, uint64_t b, size_t *out);
TORT_API bool tort_mul_size(uint64_t a, uint64_t b, size_t *out);
TORT_API bool tort_align_size(uint64_t a, uint64_t align, size_t *out);

#define TORT_ARENA_FIRST 4096 /* bytes of an arena's first chunk; later ones double, to a limit */

/* A bump allocator: its memory is freed as a whole. */
typedef struct tort_arena {
    const tort_env *env; /* borrowed */
    struct tort_chunk *chunks;
    struct tort_chunk *spare; /* chunks kept by tort_arena_rewind */
} tort_arena;

void tort_arena_init(tort_arena *arena, const tort_env *env);
void tort_arena_free(tort_arena *arena);
void tort_arena_rewind(tort_arena *arena);                       /* empties it; keeps the chunks for reuse */
size_t tort_arena_held(const tort_arena *arena);                 /* bytes it holds of its environment */
TORT_API void *tort_arena_alloc(tort_arena *arena, size_t size); /* zeroed, aligned to 16; NULL on failure */
TORT_API void *tort_arena_array(tort_arena *arena, size_t count, size_t size);
char *tort_arena_text(tort_arena *arena, const char *text, size_t length); /* a NUL-terminated copy; NULL on failure */
char *tort_arena_format(tort_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
