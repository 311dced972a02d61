/* text.h - what people may be shown of a text that a file brought along.
 *
 * Names, messages, labels, string tensors: every byte of them may be hostile. print.c and json.c are the two borders
 * at which they are made harmless, by what is here; nothing else of the command line writes to a stream. */
#ifndef TORT_CLI_TEXT_H
#define TORT_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads the character of UTF-8 at *text, which is before `end`, and moves behind it. False: what stands there is no
 * UTF-8; *c is then that one byte. */
bool cli_next_character(const char **text, const char *end, uint32_t *c);

/* Can a character do more on a terminal than be seen: controls, reordering of text, separators of lines, everything
 * that is invisible? */
bool cli_is_unsafe(uint32_t c);

/* The text with each unsafe character as \n, \t, \r, \x1b or \u{202e}, and each byte that is no UTF-8 as \xff; else as
 * it is, a backslash too, so that what is escaped once may be escaped again. The caller frees. */
char *cli_escape(const char *text, size_t length);

/* Columns that a terminal takes for an escaped text: two for the wide characters of East Asia, none for accents. */
int cli_columns(const char *text);
/* The same for the first `length` bytes. */
int cli_columns_of(const char *text, size_t length);

/* The text if it fits in so many columns, else its beginning and its end around "…", of a path whole parts of it:
 * "/model/layers.11/…/Conv". The caller frees. */
char *cli_shorten(const char *text, int columns);
/* The same of a name as a file has it, escaped first. The caller frees. */
char *cli_short_name(const char *name, int columns);

/* The longest beginning of a text that fits in so many columns and ends before a blank; a word that is longer than all
 * of them is cut. *next is where the rest begins, behind the blanks. */
size_t cli_line_of(const char *text, int columns, const char **next);

#endif
