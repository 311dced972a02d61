/* source.h - the bytes of a model: file 0 is the model itself (a file, the caller's buffer or its reader), files 1..
 * are the external ones that its tensors name. Reading is thread-safe; a source implements the model's source_read,
 * source_view and source_close.
 *
 * Weights are read when they are needed, so the files must not change while the model lives. A replaced external file
 * is noticed and refused. Two changes are not noticed: a file that is written in place silently gives the new bytes to
 * the next reader (an update should write a new file and rename it); and a file that is truncated while it is mapped
 * (tort_load_options.map_external) ends the process with SIGBUS when a lost page is read, as with every mapping;
 * without mapping that is an error. Map only files that nobody else writes. */
#ifndef TORT_LOADER_SOURCE_H
#define TORT_LOADER_SOURCE_H

#include "runtime/core/base/error.h"
#include "runtime/core/base/memory.h"

typedef struct tort_source tort_source;

/* Origin of a model: a path, a reader or, if both are NULL, bytes in memory. */
typedef struct tort_origin {
    const char *path;
    const tort_reader *reader; /* copied; must be complete */
    const void *bytes;         /* borrowed until tort_source_close */
    size_t size;
} tort_origin;

/* `env` is borrowed until tort_source_close; `options`, which may be NULL, is copied. */
tort_status tort_source_open(const tort_env *env, const tort_origin *from, const tort_load_options *options,
                             tort_source **source, tort_error *error);
void tort_source_close(void *source); /* NULL is allowed */

const tort_load_options *tort_source_options(const tort_source *source); /* the copy, with all fields */
uint64_t tort_source_size(const tort_source *source);                    /* size of file 0 */
bool tort_source_is_ours(const tort_source *source);       /* true if reading calls no function of the application */
const void *tort_source_buffer(const tort_source *source); /* bytes of file 0; NULL if it is not in memory */

/* Returns the number of an external file, after checking that it may be read (external_data.h) and has `length` bytes
 * at `offset`. */
tort_status tort_source_external(tort_source *source, const char *location, uint64_t offset, uint64_t length,
                                 int32_t *file, tort_error *error);

tort_status tort_source_read(void *source, int32_t file, uint64_t offset, uint64_t length, void *dst,
                             tort_error *error);
/* The bytes in place if they are in memory and aligned to TORT_HOST_ALIGN; NULL otherwise. */
const void *tort_source_view(void *source, int32_t file, uint64_t offset, uint64_t length);
/* True if the model's file or an external one has this identity (st_dev and st_ino of stat). */
bool tort_source_reads(const void *source, uint64_t device, uint64_t inode);

#endif
