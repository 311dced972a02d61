/* print.h - output to streams: a printf that escapes the arguments of %s and %c (text.h).
 *
 * The format itself is ours and is printed as it is. Arguments of %s and %c come from a file, from the command line or
 * from an error that quotes one of them, and are escaped. Nothing else in runtime/cli writes to a stream, except
 * json.c, which escapes too, and memory.c when no memory is left; tests/cli/hostile.py checks that in the sources. */
#ifndef TORT_CLI_PRINT_H
#define TORT_CLI_PRINT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

typedef enum cli_colour { CLI_PLAIN, CLI_BOLD, CLI_DIM, CLI_RED, CLI_GREEN, CLI_YELLOW, CLI_CYAN } cli_colour;

/* Understands %s %c %d %i %u %x %e %f %g and their sizes, flags, widths and precisions; the width of %s is in columns.
 */
void cli_print(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* cli_print in colour if the file is a terminal and NO_COLOR is not set. */
void cli_print_colour(FILE *file, cli_colour colour, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool cli_colours(FILE *file);
/* cli_print and a newline; on a terminal broken between words, what goes on in the next lines is indented. */
void cli_print_line(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* cli_print into a new text; the caller frees. */
char *cli_print_list(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

/* Columns of a line of `file`: `asked` if not 0, else those of the terminal; 0: no limit. */
int cli_width(FILE *file, int asked);

/* Shows a line on stderr during a long step, and removes it; nothing unless stderr is a terminal. */
void cli_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_progress_end(void);

/* Flushes stdout; true if all of it was written. If not, *reader_gone tells whether it is a pipe whose reader is gone.
 */
bool cli_flush(bool *reader_gone);

#endif
