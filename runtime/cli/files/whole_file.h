/* whole_file.h - reads whole files, suggests names for missing ones, and checks where files will be written. */
#ifndef TORT_CLI_FILES_WHOLE_FILE_H
#define TORT_CLI_FILES_WHOLE_FILE_H

#include <stdio.h>

#include "runtime/core/base/error.h"

/* Checks that there is a file of this name; the error for a misspelt one suggests the nearest name in its folder. */
tort_status cli_check_file(const char *path, tort_error *error);
/* Opens a regular file of at most `max` bytes; a device and a pipe are refused without waiting for them. The caller
 * closes it; *file is NULL after a failure. */
tort_status cli_open_file(const char *path, size_t max, FILE **file, size_t *size, tort_error *error);
/* Reads so many bytes, which the file must have. */
tort_status cli_read_all(const char *path, FILE *file, void *bytes, size_t size, tort_error *error);
/* Reads all bytes of a regular file of at most `max` bytes, with a 0 after them, into memory from malloc; *bytes is
 * NULL after a failure. */
tort_status cli_read_file(const char *path, size_t max, uint8_t **bytes, size_t *size, tort_error *error);
/* Reads standard input to its end, at most `max` bytes, into memory from malloc; *bytes is NULL after a failure. What
 * does not begin with `magic` is refused before more of it is read; `what` is for that message: ".npy". */
tort_status cli_read_standard_input(const char *magic, const char *what, uint64_t max, uint8_t **bytes, size_t *size,
                                    tort_error *error);

/* Checks that files could be written into this folder once it is created; creates nothing. `option` is for the message:
 * "--save". */
tort_status cli_check_folder(const char *option, const char *folder, tort_error *error);
/* Creates a folder and its parents. */
tort_status cli_make_folder(const char *option, const char *folder, tort_error *error);

/* Checks that what is at this path may be replaced, and is no file that the model is read from. */
tort_status cli_check_target(const char *path, const tort_model *model, tort_error *error);
/* cli_check_target, and checks that the folder is there and may be written to. */
tort_status cli_check_new_file(const char *path, const tort_model *model, tort_error *error);
/* What could be written when it was checked, and then cannot, is a failure of the run: TORT_E_IO becomes TORT_E_RUN. */
tort_status cli_failed_write(tort_status status, tort_error *error);

#endif
