/* table.h - aligned columns of text, with colours where the file is a terminal, no wider than a terminal. */
#ifndef TORT_CLI_TABLE_H
#define TORT_CLI_TABLE_H

#include "runtime/cli/print.h"

typedef struct cli_table cli_table;

/* Columns by their titles, separated by '|'. A title that ends with '>' is flushed right, with '~' its cells are
 * shortened in their middle where the table would be too wide; the last column is broken into lines at blanks.
 * Indented by `indent`. */
cli_table *cli_table_new(const char *titles, int indent);
/* Fills the next cell, as cli_print prints; cells go row by row. */
void cli_cell(cli_table *table, cli_colour colour, const char *format, ...) __attribute__((format(printf, 3, 4)));
void cli_row_end(cli_table *table); /* the rest of the row stays empty */
/* Ends the row: its last cell takes the room of all columns that are left, and is broken into lines at blanks. */
void cli_row_widen(cli_table *table);
/* Cells of the last column are cut after so many lines; 0, as at first: they are not. */
void cli_table_cut(cli_table *table, int lines);
/* Prints, in lines of at most `width` columns (0: no limit), and frees. A column without any content is left out. */
void cli_table_print(cli_table *table, FILE *file, int width);

#endif
