/* new_file.h - new files of the command line: as in runtime/core/base/new_file.h, and an interruption removes what is
 * not whole. */
#ifndef TORT_CLI_FILES_NEW_FILE_H
#define TORT_CLI_FILES_NEW_FILE_H

#include "runtime/core/base/new_file.h"

/* Opens a new file; one at a time. It borrows the path. After a failure there is nothing to end. */
tort_status cli_new_file_open(const char *path, tort_new_file *file, tort_error *error);
/* tort_new_file_end. */
tort_status cli_new_file_end(tort_new_file *file, tort_status status, tort_error *error);
/* Writes a new file of these bytes. */
tort_status cli_new_file_of(const char *path, const void *bytes, size_t size, tort_error *error);

#endif
