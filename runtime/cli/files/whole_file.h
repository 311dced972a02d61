/* whole_file.h - whole files, names that are not there, and files that are there whole or not at all. */
#ifndef TORT_CLI_FILES_WHOLE_FILE_H
#define TORT_CLI_FILES_WHOLE_FILE_H

#include "runtime/base/error.h"

/* Is there a file of this name? A misspelt one gets the nearest name in its folder. */
tort_status cli_check_file(const char *path, tort_error *error);
/* All bytes of a file and a 0 behind them, from malloc; *bytes is NULL after a failure. */
tort_status cli_read_file(const char *path, uint8_t **bytes, size_t *size, tort_error *error);

/* Could files be written into this folder, once it is made? Makes nothing. `option` for the message: "--save". */
tort_status cli_check_folder(const char *option, const char *folder, tort_error *error);
/* Makes a folder and those it is in. */
tort_status cli_make_folder(const char *option, const char *folder, tort_error *error);

/* A file under a name of its own in the same folder (with the same ending) until it is whole; an interruption in
 * between removes it. */
typedef struct cli_new_file {
    char *path, *unfinished; /* owned; write to the latter */
} cli_new_file;

cli_new_file cli_new_file_begin(const char *folder, const char *name);
/* Gives the file its name, or removes it after a failure; returns status, or that of the renaming. Frees. */
tort_status cli_new_file_end(cli_new_file *file, tort_status status, tort_error *error);

#endif
