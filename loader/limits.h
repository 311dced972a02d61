/* limits.h - how much memory loading may take: a stated multiple of the file, whatever the file says.
 *
 *   TORT_LOAD_FACTOR bytes for each byte of the file and TORT_LOAD_BASE beside;
 *   for calls of functions as if the function stood in place of each call, TORT_MAX_EXPANDED at most;
 *   for sparse tensors what they take once they are dense, and while that is done, TORT_MAX_SPARSE at most.
 *
 * Weights that stay in their files are not read while loading and cost nothing. What the loader builds of a file stays
 * below this by itself, mostly far below; the limit makes it a promise also where a few bytes describe much: values
 * that are captured through many bodies within each other, shapes that are computed from shapes. The model's account,
 * which stands between the loader and the application's allocator, keeps it. */
#ifndef TORT_LOADER_LIMITS_H
#define TORT_LOADER_LIMITS_H

#include <stddef.h>
#include <stdint.h>

enum { TORT_LOAD_FACTOR = 96 };
#define TORT_LOAD_BASE ((size_t)16 << 20)
#define TORT_MAX_EXPANDED ((size_t)512 << 20)
#define TORT_MAX_SPARSE ((size_t)256 << 20)

/* For a file of this size without calls and sparse tensors; SIZE_MAX: none. */
static inline size_t tort_load_limit(uint64_t file_size) {
    if (file_size > (SIZE_MAX - TORT_LOAD_BASE) / TORT_LOAD_FACTOR) return SIZE_MAX;
    return (size_t)file_size * TORT_LOAD_FACTOR + TORT_LOAD_BASE;
}

#endif
