/* files.h - whole files, and names that are not there. */
#ifndef TORT_CLI_FILES_H
#define TORT_CLI_FILES_H

#include "runtime/error.h"

/* Is there a file of this name? A misspelt one gets the nearest name in its folder. */
tort_status cli_check_file(const char *path, tort_error *error);
/* All bytes of a file and a 0 behind them, from malloc; *bytes is NULL after a failure. */
tort_status cli_read_file(const char *path, uint8_t **bytes, size_t *size, tort_error *error);

#endif
