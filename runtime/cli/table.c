/* table.c - collects cells, then prints them in columns as wide as their widest cell. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/table.h"

#define MOST_COLUMNS 16

typedef struct cell {
    char *text;
    cli_colour colour;
} cell;

struct cli_table {
    int columns, indent;
    bool right[MOST_COLUMNS];
    cell *cells; /* row by row, the titles first */
    size_t count, capacity;
};

static void add_cell(cli_table *table, char *text, cli_colour colour) {
    if (table->count == table->capacity) {
        table->capacity = table->capacity ? table->capacity * 2 : 64;
        table->cells = cli_realloc(table->cells, table->capacity, sizeof *table->cells);
    }
    table->cells[table->count++] = (cell){text, colour};
}

cli_table *cli_table_new(const char *titles, int indent) {
    cli_table *table = cli_alloc(1, sizeof *table);
    table->indent = indent;
    for (const char *title = titles;; title++) {
        size_t length = strcspn(title, "|"), shown = length;
        if (length && title[length - 1] == '>') {
            table->right[table->columns] = true;
            shown--;
        }
        add_cell(table, cli_copy_text(title, shown), CLI_DIM);
        table->columns++;
        title += length;
        if (!*title || table->columns == MOST_COLUMNS) return table;
    }
}

void cli_cell(cli_table *table, cli_colour colour, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    add_cell(table, cli_format_list(format, arguments), colour);
    va_end(arguments);
}

void cli_row_end(cli_table *table) {
    while (table->count % (size_t)table->columns != 0) add_cell(table, cli_copy_text("", 0), CLI_PLAIN);
}

/* Characters, not bytes: continuation bytes of UTF-8 take no room. */
static int width(const char *text) {
    int columns = 0;
    for (; *text; text++) columns += ((unsigned char)*text & 0xc0) != 0x80;
    return columns;
}

bool cli_colours(FILE *file) {
    const char *refused = getenv("NO_COLOR");
    return (!refused || !*refused) && isatty(fileno(file));
}

const char *cli_colour_begin(FILE *file, cli_colour colour) {
    static const char *const codes[] = {"", "\033[1m", "\033[2m", "\033[31m", "\033[32m", "\033[33m", "\033[36m"};
    return cli_colours(file) ? codes[colour] : "";
}

const char *cli_colour_end(FILE *file, cli_colour colour) {
    return colour != CLI_PLAIN && cli_colours(file) ? "\033[0m" : "";
}

static void print_row(const cli_table *table, size_t first, const int *widths, FILE *file) {
    int last = table->columns - 1;
    while (last > 0 && !*table->cells[first + (size_t)last].text) last--;
    fprintf(file, "%*s", table->indent, "");
    bool started = false;
    for (int column = 0; column <= last; column++) {
        const cell *c = &table->cells[first + (size_t)column];
        if (widths[column] == 0) continue;
        int padding = widths[column] - width(c->text);
        if (started) fputs("  ", file);
        started = true;
        if (table->right[column]) fprintf(file, "%*s", padding, "");
        fprintf(file, "%s%s%s", cli_colour_begin(file, c->colour), c->text, cli_colour_end(file, c->colour));
        if (!table->right[column] && column != last) fprintf(file, "%*s", padding, "");
    }
    fputc('\n', file);
}

void cli_table_print(cli_table *table, FILE *file) {
    cli_row_end(table);
    int widths[MOST_COLUMNS] = {0};
    size_t columns = (size_t)table->columns;
    for (size_t i = columns; i < table->count; i++) {
        int cell_width = width(table->cells[i].text);
        if (cell_width > widths[i % columns]) widths[i % columns] = cell_width;
    }
    for (size_t i = 0; i < columns; i++)
        if (widths[i] && width(table->cells[i].text) > widths[i]) widths[i] = width(table->cells[i].text);
    bool titled = false;
    for (size_t i = 0; i < columns; i++) titled = titled || (widths[i] && *table->cells[i].text);
    for (size_t i = titled ? 0 : columns; i < table->count; i += columns) print_row(table, i, widths, file);
    for (size_t i = 0; i < table->count; i++) free(table->cells[i].text);
    free(table->cells);
    free(table);
}
