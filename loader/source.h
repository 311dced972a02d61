/* source.h - the bytes of a model: file 0 is the model itself (a file, the caller's buffer or its reader), files 1..
 * are the external ones that its tensors name. Reading is thread-safe; a source is what stands behind the model's
 * source_read, source_view and source_close.
 *
 * Weights are read when they are needed, so the files must stay as they are while the model lives. An external file
 * that was exchanged for another is noticed and refused. Two things are not: a file that is written in place gives the
 * new bytes to whoever reads next, without any word (an update should write a new file and rename it); and a file that
 * is cut short while it is mapped (tort_load_options.map_external) ends the process with SIGBUS when a lost page is
 * read, as with every mapping; without mapping that is an error. Map only files that nobody else writes. */
#ifndef TORT_LOADER_SOURCE_H
#define TORT_LOADER_SOURCE_H

#include "runtime/base/error.h"
#include "runtime/base/memory.h"

typedef struct tort_source tort_source;

/* `env` is borrowed until tort_source_close; of `options`, which may be NULL, a copy is kept. */
tort_status tort_source_open_file(const tort_env *env, const char *path, const tort_load_options *options,
                                  tort_source **source, tort_error *error);
/* Borrows `bytes` until tort_source_close. */
tort_status tort_source_open_buffer(const tort_env *env, const void *bytes, size_t size,
                                    const tort_load_options *options, tort_source **source, tort_error *error);
/* Keeps a copy of the reader, which is complete. */
tort_status tort_source_open_reader(const tort_env *env, const tort_reader *reader, const tort_load_options *options,
                                    tort_source **source, tort_error *error);
void tort_source_close(void *source); /* NULL is allowed */

const tort_load_options *tort_source_options(const tort_source *source); /* the copy, complete */
uint64_t tort_source_size(const tort_source *source);                    /* of file 0 */
bool tort_source_is_ours(const tort_source *source);       /* no function of the application is called to read it */
const void *tort_source_buffer(const tort_source *source); /* of file 0; NULL if it is not in memory */

/* Gives the number of an external file, and makes sure that it may be read (see external_data.h) and that it has
 * `length` bytes at `offset`. */
tort_status tort_source_external(tort_source *source, const char *location, uint64_t offset, uint64_t length,
                                 int32_t *file, tort_error *error);

tort_status tort_source_read(void *source, int32_t file, uint64_t offset, uint64_t length, void *dst,
                             tort_error *error);
/* The bytes in place where they are in memory, aligned to TORT_HOST_ALIGN; NULL otherwise. */
const void *tort_source_view(void *source, int32_t file, uint64_t offset, uint64_t length);

#endif
