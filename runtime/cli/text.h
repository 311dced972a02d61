/* text.h - makes text from a file safe to show on a terminal.
 *
 * Names, messages, labels, string tensors: every byte of them may be hostile. print.c and json.c, which write all
 * output of the command line, escape them by these functions. */
#ifndef TORT_CLI_TEXT_H
#define TORT_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes the UTF-8 character at *text, which is before `end`, and moves past it. False if the bytes there are not
 * UTF-8; then *c is the first of them, which alone is passed. */
bool cli_next_character(const char **text, const char *end, uint32_t *c);

/* True if a character can do more on a terminal than be seen: controls, reordering of text, separators of lines,
 * everything invisible. */
bool cli_is_unsafe(uint32_t c);

/* Escapes each unsafe character as \n, \t, \r, \x1b or \u{202e}, and each byte that is not UTF-8 as \xff. All else
 * stays, backslashes too, so that escaping twice does no harm. The caller frees. */
char *cli_escape(const char *text, size_t length);

/* What stands for a character in some format. Lists of rows end with a `c` of 0. */
typedef struct cli_escape_row {
    char c;
    const char *text;
} cli_escape_row;

/* The text with the rows' characters replaced. The caller frees. */
char *cli_replace(const char *text, const cli_escape_row *rows);

/* Columns of an escaped text on a terminal: two for the wide characters of East Asia, none for combining marks. */
int cli_columns(const char *text);

/* Shortens a text to so many columns: keeps its beginning and its end around "…", in a path whole parts of it:
 * "/model/layers.11/…/Conv". The caller frees. */
char *cli_shorten(const char *text, int columns);
/* cli_shorten of a name as it is in a file: escapes it first. The caller frees. */
char *cli_short_name(const char *name, int columns);

/* Ends the line at *at with a 0, which may be in place of a CR, and moves to the next; NULL: there is none. */
char *cli_take_line(char **at);
/* Length of the longest prefix that fits in so many columns and ends before a blank; a longer word is cut. *next is set
 * to the rest, after the blanks. */
size_t cli_line_of(const char *text, int columns, const char **next);

#endif
