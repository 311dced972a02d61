/* print.h - the one way out to a terminal: printf whose %s and %c are made harmless (text.h).
 *
 * What a format itself says is ours and goes out as it is; what is put in by %s or %c comes from a file, from the
 * command line or from an error that quotes one of them, and is escaped. There is no way round: nothing else in
 * runtime/cli writes to a stream (tests/cli/hostile.py holds that against the sources). */
#ifndef TORT_CLI_PRINT_H
#define TORT_CLI_PRINT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

typedef enum cli_colour { CLI_PLAIN, CLI_BOLD, CLI_DIM, CLI_RED, CLI_GREEN, CLI_YELLOW, CLI_CYAN } cli_colour;

/* Understands %s %c %d %i %u %x %e %f %g and their sizes, flags, widths and precisions; the width of %s is in columns.
 */
void cli_print(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* In colour where the file is a terminal and NO_COLOR is not set. */
void cli_print_colour(FILE *file, cli_colour colour, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool cli_colours(FILE *file);

/* The same into a text; the caller frees. */
char *cli_print_list(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

/* Columns that a line of `file` may have: what is asked for, or else the terminal's; 0: no limit. */
int cli_width(FILE *file, int asked);

/* A line on stderr while something long goes on, and its removal; nothing unless stderr is a terminal. */
void cli_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_progress_end(void);

/* Has all of stdout been written? If not, *reader_gone tells whether it is only that nobody reads the pipe any more. */
bool cli_flush(bool *reader_gone);

#endif
