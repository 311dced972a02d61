/* limits.h - limits of memory while loading: a stated multiple of the file's size, whatever the file says.
 *
 *    TORT_LOAD_FACTOR bytes for each byte of the file, and TORT_LOAD_BASE more;
 *    for calls of functions as if the function stood in place of each call, at most TORT_MAX_EXPANDED;
 *    for sparse tensors their dense size, and the space to expand them, at most TORT_MAX_SPARSE.
 *
 * Weights that stay in their files are not read while loading and cost nothing. What the loader builds stays below the
 * limit by itself, mostly far below; the limit guarantees it where a few bytes describe much: values captured through
 * many nested bodies, shapes computed from shapes. The model's account, which stands between the loader and the
 * application's allocator, enforces it. */
#ifndef TORT_LOADER_LIMITS_H
#define TORT_LOADER_LIMITS_H

#include <stddef.h>
#include <stdint.h>

enum { TORT_LOAD_FACTOR = 96 };
#define TORT_LOAD_BASE ((size_t)16 << 20)
#define TORT_MAX_EXPANDED ((size_t)512 << 20)
#define TORT_MAX_SPARSE ((size_t)256 << 20)

/* The limit for a file of this size without calls and sparse tensors; SIZE_MAX: no limit. */
static inline size_t tort_load_limit(uint64_t file_size) {
    if (file_size > (SIZE_MAX - TORT_LOAD_BASE) / TORT_LOAD_FACTOR) return SIZE_MAX;
    return (size_t)file_size * TORT_LOAD_FACTOR + TORT_LOAD_BASE;
}

#endif
