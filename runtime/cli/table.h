/* table.h - aligned columns of text, with colours where the file is a terminal, no wider than a terminal. */
#ifndef TORT_CLI_TABLE_H
#define TORT_CLI_TABLE_H

#include "runtime/cli/print.h"

typedef struct cli_table cli_table;

/* Creates a table with columns by their titles, separated by '|'. A title that ends with '>' aligns its column right;
 * with '~', cells are shortened in the middle if the table is too wide; with '?', it is left out before that. The last
 * column wraps at blanks. The table is indented by `indent`. */
cli_table *cli_table_new(const char *titles, int indent);
/* Fills the next cell, row by row; formats like cli_print. */
void cli_cell(cli_table *table, cli_colour colour, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* cli_cell, or an empty one. */
void cli_cell_if(cli_table *table, bool filled, cli_colour colour, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void cli_row_end(cli_table *table); /* leaves the rest of the row empty */
/* Ends the row: its last cell spans the remaining columns, and wraps at blanks. */
void cli_row_widen(cli_table *table);
/* Limits cells of the last column to so many lines; 0, the default: no limit. */
void cli_table_cut(cli_table *table, int lines);
/* Prints the table in lines of at most `width` columns (0: no limit), and frees it. Leaves out columns without content.
 */
void cli_table_print(cli_table *table, FILE *file, int width);

#endif
