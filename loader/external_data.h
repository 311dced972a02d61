/* external_data.h - opens a file that a model names, but never one outside the model's folder.
 *
 * A model is untrusted: a `location` such as ../../etc/passwd, or a symbolic link in a downloaded folder, would let it
 * read any file into its weights. So a location must be a relative path of plain names; every folder on the way and the
 * file are opened without following links; a file with several (hard) links is refused too, since it may be any file of
 * the disk. The caller can allow links (download caches are full of them). source.h says what can still happen to a
 * file after it was opened. */
#ifndef TORT_LOADER_EXTERNAL_DATA_H
#define TORT_LOADER_EXTERNAL_DATA_H

#include <sys/stat.h>

#include "runtime/core/base/error.h"

/* Refuses a location that is not a relative path of plain names. */
tort_status tort_external_check(const char *location, tort_error *error);
/* Opens `location` in the open `folder` for reading; the caller closes *fd; *facts describes the file. */
tort_status tort_external_open(int folder, const char *location, bool allow_links, int *fd, struct stat *facts,
                               tort_error *error);

#endif
