/* table.c - collects cells, then prints them in columns as wide as their widest cell, or as the terminal allows. */
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/table.h"
#include "runtime/cli/text.h"

#define MAX_COLUMNS 16

enum { GAP = 2, MIN_NAME = 16, MIN_LAST = 24, WORTH_A_LINE = 4 };

typedef struct cell {
    char *text; /* escaped */
    int columns;
    cli_colour colour;
    bool wide; /* spans the remaining columns */
} cell;

struct cli_table {
    int columns, indent, lines; /* lines: limit for a cell of the last column; 0: none */
    bool right[MAX_COLUMNS], shrinks[MAX_COLUMNS], optional[MAX_COLUMNS];
    cell *cells; /* row by row, the titles first */
    size_t count;
};

static void add_cell(cli_table *table, char *text, cli_colour colour) {
    table->cells = cli_room(table->cells, table->count, sizeof *table->cells);
    table->cells[table->count++] = (cell){text, cli_columns(text), colour, false};
}

cli_table *cli_table_new(const char *titles, int indent) {
    cli_table *table = cli_alloc(1, sizeof *table);
    table->indent = indent;
    for (const char *title = titles;; title++) {
        size_t length = strcspn(title, "|"), shown = length;
        for (; shown && strchr(">~?", title[shown - 1]); shown--) {
            table->right[table->columns] |= title[shown - 1] == '>';
            table->shrinks[table->columns] |= title[shown - 1] == '~';
            table->optional[table->columns] |= title[shown - 1] == '?';
        }
        add_cell(table, cli_copy_text(title, shown), CLI_DIM);
        table->columns++;
        title += length;
        if (!*title || table->columns == MAX_COLUMNS) return table;
    }
}

void cli_cell(cli_table *table, cli_colour colour, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    add_cell(table, cli_print_list(format, arguments), colour);
    va_end(arguments);
}

void cli_cell_if(cli_table *table, bool filled, cli_colour colour, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    add_cell(table, filled ? cli_print_list(format, arguments) : cli_copy_text("", 0), colour);
    va_end(arguments);
}

void cli_row_end(cli_table *table) {
    while (table->count % (size_t)table->columns != 0) add_cell(table, cli_copy_text("", 0), CLI_PLAIN);
}

void cli_row_widen(cli_table *table) {
    table->cells[table->count - 1].wide = true;
    cli_row_end(table);
}

void cli_table_cut(cli_table *table, int lines) {
    table->lines = lines;
}

/* ---- widths ------------------------------------------------------------------------------------------------------ */

/* Width of each column; 0 hides one without content, with its title. */
static void natural_widths(const cli_table *table, int *widths) {
    size_t columns = (size_t)table->columns;
    for (size_t i = columns; i < table->count; i++)
        if (!table->cells[i].wide && table->cells[i].columns > widths[i % columns])
            widths[i % columns] = table->cells[i].columns;
    for (size_t i = 0; i < columns; i++)
        if (widths[i] && table->cells[i].columns > widths[i]) widths[i] = table->cells[i].columns;
}

static int total_width(const cli_table *table, const int *widths) {
    int total = table->indent, shown = 0;
    for (int i = 0; i < table->columns; i++) {
        total += widths[i];
        shown += widths[i] > 0;
    }
    return total + (shown > 1 ? (shown - 1) * GAP : 0);
}

/* Narrows the widest shrinkable column until the table fits or all of them have their least width. The first, which
 * says what a row is, keeps half as much again as the others. */
static void shrink_names(const cli_table *table, int *widths, int too_wide) {
    for (; too_wide > 0; too_wide--) {
        int widest = -1, max = 0, first = -1;
        for (int i = 0; i < table->columns; i++) {
            if (!table->shrinks[i]) continue;
            if (first < 0) first = i;
            const int share = i == first ? widths[i] * 2 / 3 : widths[i];
            if (widths[i] <= MIN_NAME || share <= max) continue;
            widest = i;
            max = share;
        }
        if (widest < 0) return;
        widths[widest]--;
    }
}

/* Hides optional columns, from the last, until the table fits with names of their least width. */
static void leave_out(const cli_table *table, int *widths, int width) {
    for (int column = table->columns - 1; column >= 0; column--) {
        int min[MAX_COLUMNS];
        for (int i = 0; i < table->columns; i++)
            min[i] = table->shrinks[i] && widths[i] > MIN_NAME ? MIN_NAME : widths[i];
        if (total_width(table, min) <= width) return;
        if (table->optional[column]) widths[column] = 0;
    }
}

/* Fits the table into `width`: names first; the last column, which can wrap, gets the rest, but at least MIN_LAST. */
static void fit_widths(const cli_table *table, int *widths, int width) {
    int last = table->columns - 1, natural = widths[last];
    if (!width || total_width(table, widths) <= width) return;
    if (widths[last] > MIN_LAST && !table->shrinks[last]) widths[last] = MIN_LAST;
    leave_out(table, widths, width);
    shrink_names(table, widths, total_width(table, widths) - width);
    int left = width - total_width(table, widths);
    if (left > 0 && widths[last]) widths[last] = widths[last] + left < natural ? widths[last] + left : natural;
}

/* The next cell of a column, from *i on, that may be shortened; NULL: none. */
static cell *next_long(const cli_table *table, size_t *i) {
    while (*i < table->count && (table->cells[*i].wide || table->cells[*i].columns <= MIN_NAME))
        *i += (size_t)table->columns;
    return *i < table->count ? &table->cells[*i] : NULL;
}

/* Cuts what the long names of a column have in common, "/model/encoder/", to "…", and says so once: what is left tells
 * them apart where it must be shortened, too. */
static void cut_beginnings(cli_table *table, int column, FILE *file) {
    const size_t columns = (size_t)table->columns, begin = columns + (size_t)column;
    size_t i = begin, same = 0, cells = 0;
    const char *first = NULL;
    for (const cell *c; (c = next_long(table, &i)); i += columns) {
        if (!cells++) same = strlen(first = c->text);
        size_t length = 0;
        while (length < same && c->text[length] == first[length]) length++;
        same = length;
    }
    while (same && first[same - 1] != (strchr(first, '/') ? '/' : '.')) same--;
    if (cells < 2 || same < WORTH_A_LINE) return;
    cli_print_colour(file, CLI_DIM, "… in front of a name stands for %.*s\n", (int)same, first);
    i = begin;
    for (cell *c; (c = next_long(table, &i)); i += columns) {
        char *rest = cli_format("…%s", c->text + same);
        free(c->text);
        c->columns = cli_columns(c->text = rest);
    }
}

/* Cuts names until the table fits, if it does not; then sets the widths of columns, natural as well as fitted ones. */
static void choose_widths(cli_table *table, int *natural, int *widths, FILE *file, int width) {
    for (int column = 0; column <= table->columns; column++) {
        memset(natural, 0, MAX_COLUMNS * sizeof *natural);
        natural_widths(table, natural);
        if (!width || total_width(table, natural) <= width) break;
        if (column < table->columns && table->shrinks[column]) cut_beginnings(table, column, file);
    }
    memcpy(widths, natural, MAX_COLUMNS * sizeof *widths);
    fit_widths(table, widths, width);
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

/* Prints spaces up to the next column. Names come from files, and one that is very long does not make every row as
 * long. */
static void pad(FILE *file, int columns) {
    enum { MOST = 1000 };
    cli_print(file, "%*s", columns < MOST ? columns : MOST, "");
}

static void print_cell(FILE *file, bool colours, const cell *c, const char *text, size_t length) {
    if (colours && c->colour != CLI_PLAIN)
        cli_print_colour(file, c->colour, "%.*s", (int)length, text);
    else
        cli_print(file, "%.*s", (int)length, text);
}

/* Prints the last cell of a row, wrapped below its own beginning, and cut after `max` lines (0: no limit). */
static void print_last(FILE *file, bool colours, const cell *c, int begin, int width, int max) {
    const char *text = c->text;
    for (int line = 1; line == 1 || *text; line++) {
        const char *next;
        size_t length = cli_line_of(text, width, &next);
        const bool cut = line == max && *next;
        if (cut) length = cli_line_of(text, width - 4, &next);
        if (line > 1) {
            cli_print(file, "\n");
            pad(file, begin);
        }
        print_cell(file, colours, c, text, length);
        if (cut) cli_print(file, " ...");
        text = cut ? "" : next;
    }
}

/* width: of the whole table; 0: no limit. */
static void print_row(const cli_table *table, size_t first, const int *widths, FILE *file, bool colours, int width) {
    int last = table->columns - 1, at = table->indent;
    for (const cell *row = &table->cells[first]; last > 0; last--)
        if (row[last].wide || (*row[last].text && widths[last])) break;
    cli_print(file, "%*s", table->indent, "");
    for (int column = 0; column <= last; column++) {
        const cell *c = &table->cells[first + (size_t)column];
        if (widths[column] == 0 && !c->wide) continue;
        if (at > table->indent) cli_print(file, "%*s", GAP, "");
        at += at > table->indent ? GAP : 0;
        if (c->wide) {
            print_last(file, colours, c, at, width ? width - at : INT_MAX, 0);
            break;
        }
        bool whole = column == table->columns - 1 && !table->shrinks[column] && !table->right[column];
        char *shown = whole || c->columns <= widths[column] ? NULL : cli_shorten(c->text, widths[column]);
        const char *text = shown ? shown : c->text;
        int padding = widths[column] - cli_columns(text);
        if (table->right[column]) pad(file, padding);
        if (whole && c->columns > widths[column])
            print_last(file, colours, c, at, widths[column], table->lines);
        else
            print_cell(file, colours, c, text, strlen(text));
        if (!table->right[column] && column != last) pad(file, padding);
        at += widths[column];
        free(shown);
    }
    cli_print(file, "\n");
}

/* Tells which columns are left out: those that had a width. */
static void tell_left_out(const cli_table *table, const int *natural, const int *widths, FILE *file) {
    int left_out = 0;
    for (int i = 0; i < table->columns; i++)
        if (natural[i] && !widths[i])
            cli_print_colour(file, CLI_DIM, "%s%s", left_out++ ? ", " : "left out: ", table->cells[i].text);
    if (left_out)
        cli_print_colour(file, CLI_DIM, " (--width %d shows %s)\n", total_width(table, natural),
                         left_out == 1 ? "it" : "them");
}

void cli_table_print(cli_table *table, FILE *file, int width) {
    cli_row_end(table);
    int natural[MAX_COLUMNS] = {0}, widths[MAX_COLUMNS];
    size_t columns = (size_t)table->columns;
    const bool colours = cli_colours(file);
    choose_widths(table, natural, widths, file, width);
    bool titled = false;
    for (size_t i = 0; i < columns; i++) titled = titled || (widths[i] && *table->cells[i].text);
    for (size_t i = titled ? 0 : columns; i < table->count; i += columns)
        print_row(table, i, widths, file, colours, width);
    tell_left_out(table, natural, widths, file);
    for (size_t i = 0; i < table->count; i++) free(table->cells[i].text);
    free(table->cells);
    free(table);
}
