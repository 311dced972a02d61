/* memory.h - the allocator hook, a bump arena, and arithmetic on sizes that cannot overflow unseen.
 *
 * Everything that the library allocates goes through tort_env.alloc. Many small things with one life time (names,
 * attributes, nodes) go into an arena. Nothing here knows of models. */
#ifndef TORT_RUNTIME_BASE_MEMORY_H
#define TORT_RUNTIME_BASE_MEMORY_H

#include "runtime/tinyort.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TORT_HOST_ALIGN 64 /* of host offsets and weights, so that vector loads need no prologue */
#define TORT_DEVICE_ALIGN 256
#define TORT_DEVICE_PART_ALIGN 16 /* of a part of something on a device, an application's pointers too */

/* The environment with the default allocator filled in; parallel_for stays NULL where the application gave none: a
 * session puts its pool there. */
tort_env tort_env_complete(const tort_env *env);
/* Does it allocate as the library does by itself, from any number of threads at once? */
bool tort_env_is_default(const tort_env *env);
/* A size that the caller forgot to set would drop all that it asked for. TORT_E_USAGE naming `what`. */
tort_status tort_check_struct_size(size_t struct_size, const char *what, tort_error *error);

TORT_API void *tort_alloc(const tort_env *env, size_t size);                    /* uninitialised; NULL on failure */
TORT_API void *tort_alloc_zero(const tort_env *env, size_t count, size_t size); /* NULL on failure or overflow */
/* Grows an array of `size`-byte elements to hold at least `need`, doubling; updates *capacity. False: unchanged. */
bool tort_grow(const tort_env *env, void **array, int32_t *capacity, int32_t need, size_t size);
TORT_API void tort_free(const tort_env *env, void *ptr, size_t size);

/* A block aligned to TORT_HOST_ALIGN. Free with the same size. */
TORT_API void *tort_alloc_aligned(const tort_env *env, size_t size);
size_t tort_aligned_bytes(size_t size); /* that such a block takes of the allocator; SIZE_MAX on overflow */
TORT_API void tort_free_aligned(const tort_env *env, void *ptr, size_t size);

TORT_API bool tort_add_size(size_t a, size_t b, size_t *out); /* false on overflow */
TORT_API bool tort_mul_size(size_t a, size_t b, size_t *out);
TORT_API bool tort_align_size(size_t a, size_t align, size_t *out);

#define TORT_ARENA_FIRST 4096 /* bytes of an arena's first chunk; later ones double, to a limit */

/* Chunks of memory that are freed together. */
typedef struct tort_arena {
    const tort_env *env; /* borrows */
    struct tort_chunk *chunks;
    struct tort_chunk *spare; /* of before it was rewound */
} tort_arena;

void tort_arena_init(tort_arena *arena, const tort_env *env);
void tort_arena_free(tort_arena *arena);
void tort_arena_rewind(tort_arena *arena);       /* empty again; its chunks are kept for what comes next */
size_t tort_arena_held(const tort_arena *arena); /* bytes that it has of its environment */
TORT_API void *tort_arena_alloc(tort_arena *arena, size_t size); /* zeroed, aligned to 16; NULL on failure */
TORT_API void *tort_arena_array(tort_arena *arena, size_t count, size_t size);
char *tort_arena_text(tort_arena *arena, const char *text, size_t length); /* a terminated copy; NULL on failure */
char *tort_arena_format(tort_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif
#endif
