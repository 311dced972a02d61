/* table.h - aligned columns of text, with colours where the file is a terminal. */
#ifndef TORT_CLI_TABLE_H
#define TORT_CLI_TABLE_H

#include <stdbool.h>
#include <stdio.h>

typedef enum cli_colour { CLI_PLAIN, CLI_BOLD, CLI_DIM, CLI_RED, CLI_GREEN, CLI_YELLOW, CLI_CYAN } cli_colour;

typedef struct cli_table cli_table;

/* Columns by their titles, separated by '|'; a title that ends with '>' is flushed right. Indented by `indent`. */
cli_table *cli_table_new(const char *titles, int indent);
/* Fills the next cell; cells go row by row. */
void cli_cell(cli_table *table, cli_colour colour, const char *format, ...) __attribute__((format(printf, 3, 4)));
void cli_row_end(cli_table *table); /* the rest of the row stays empty */
/* Prints and frees. A column without any content is left out. */
void cli_table_print(cli_table *table, FILE *file);

bool cli_colours(FILE *file); /* a terminal, and NO_COLOR is not set */
const char *cli_colour_begin(FILE *file, cli_colour colour);
const char *cli_colour_end(FILE *file, cli_colour colour);

#endif
