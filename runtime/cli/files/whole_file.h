/* whole_file.h - reads whole files, suggests names for missing ones, and writes files that appear whole or not at all.
 */
#ifndef TORT_CLI_FILES_WHOLE_FILE_H
#define TORT_CLI_FILES_WHOLE_FILE_H

#include "runtime/base/error.h"

/* Checks that there is a file of this name; the error for a misspelt one suggests the nearest name in its folder. */
tort_status cli_check_file(const char *path, tort_error *error);
/* Reads all bytes of a file, with a 0 after them, into memory from malloc; *bytes is NULL after a failure. */
tort_status cli_read_file(const char *path, uint8_t **bytes, size_t *size, tort_error *error);

/* Checks that files could be written into this folder once it is created; creates nothing. `option` is for the message:
 * "--save". */
tort_status cli_check_folder(const char *option, const char *folder, tort_error *error);
/* Creates a folder and its parents. */
tort_status cli_make_folder(const char *option, const char *folder, tort_error *error);

/* A new file, under a temporary name in the same folder (with the same ending) until it is whole; an interruption
 * removes it. */
typedef struct cli_new_file {
    char *path, *unfinished; /* owned; the caller writes to `unfinished` */
} cli_new_file;

cli_new_file cli_new_file_begin(const char *folder, const char *name);
/* Renames the file to its final name, or removes it after a failure; returns status, or that of the renaming. Frees
 * *file. */
tort_status cli_new_file_end(cli_new_file *file, tort_status status, tort_error *error);
/* Writes a new file of these bytes. */
tort_status cli_write_file(const char *folder, const char *name, const void *bytes, size_t size, tort_error *error);

#endif
