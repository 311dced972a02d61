/* option_table.c - the table of options, made from option_list.h, and the help of every subcommand. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/base/build.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/option_table.h"
#include "runtime/cli/table.h"
#include "runtime/include/provider.h"

#define PIECES (CLI_CMD_EXTRACT | CLI_CMD_REDUCE)
#define PLANNING (CLI_CMD_RUN | CLI_CMD_PLAN | CLI_CMD_COMPARE | CLI_CMD_BENCH | PIECES)
#define PLACING (PLANNING | CLI_CMD_TEST)
#define RUNNING (CLI_CMD_RUN | CLI_CMD_COMPARE | CLI_CMD_BENCH | PIECES)
#define FIRMWARE (CLI_CMD_COMPILE | CLI_CMD_VALIDATE)
#define FEEDING (RUNNING | CLI_CMD_VALIDATE)
#define SAMPLING (CLI_CMD_QUANTIZE | CLI_CMD_CONVERT) /* runs a model on many inputs */
#define PICTURES (FEEDING | SAMPLING)
#define LOADING (PLACING | CLI_CMD_INSPECT | FIRMWARE | SAMPLING)
#define TABLES                                                                                                         \
    (SAMPLING | CLI_CMD_BENCH | CLI_CMD_RUN | CLI_CMD_PLAN | CLI_CMD_INSPECT | CLI_CMD_OPS | CLI_CMD_PROVIDERS)
#define PRINTING CLI_CMD_SCHEMA /* a text that has its own form */
#define EVERY 0xffffffffu

/* Destinations of values: initializers of a row from its kind to its member, which its help follows. A value is stored
 * by way of void *, so STORE proves the type of the member: _Generic does not compile for another. */
#define STORE(how, type, place)                                                                                        \
    .kind = how, .member = offsetof(cli_options, place) + 0 * sizeof(_Generic(((cli_options *)0)->place, type : 0))
#define FLAG(place) STORE(CLI_FLAG, bool, place)
#define TEXT(place) STORE(CLI_TEXT, const char *, place)
#define TEXTS(place) STORE(CLI_TEXTS, cli_texts, place) /* the option may be repeated */
#define VALUE(reader, type, place) .read = reader, STORE(CLI_PARSED, type, place)
#define WORD(place) VALUE(cli_read_word, int32_t, place)
#define INT32(place, least) .min = least, VALUE(cli_read_int32, int32_t, place)
#define INT64(place, least) .min = least, VALUE(cli_read_int64, int64_t, place)
#define NUMBER(place, least) .min = least, VALUE(cli_read_number, double, place)
#define WHOLE(reader) .read = reader, .kind = CLI_PARSED, .member = 0 /* the reader is handed all of cli_options */

const cli_option_row cli_option_table[OPTION_COUNT] = {
#define HEADING(number, title) [HEADING_##number] = {.name = "", .help = title},
#define OPTION(number, ...) [OPTION_##number] = {__VA_ARGS__},
#include "runtime/cli/option_list.h"
};

bool cli_value_is_optional(const cli_option_row *row) {
    return row->value && !strncmp(row->value, "[=", 2);
}

/* ---- help -------------------------------------------------------------------------------------------------------- */

/* A line across the table, as a heading is. */
static void add_line(cli_table *table, const char *text) {
    cli_cell(table, CLI_PLAIN, "%s", text);
    cli_row_widen(table);
}

static void add_provider_options(cli_table *table) {
    add_line(table, "Options of providers, as in --ep cuda:device=1:mem_limit=2G,cpu:threads=4");
    const tort_option_help *before = NULL; /* of one list for several providers the others tell the first line */
    for (const tort_provider *const *row = tort_build.providers; *row; before = (*row)->options, row++)
        for (const tort_option_help *option = (*row)->options; option && option->key; option++) {
            if (option != (*row)->options && before == (*row)->options) break;
            cli_cell(table, CLI_PLAIN, "  %-12s %s=%s", (*row)->name, option->key, option->example);
            cli_cell(table, CLI_PLAIN, "%s", option->help);
        }
    add_line(table, "In the environment");
    cli_cell(table, CLI_PLAIN, "  TINYORT_DISABLE=cuda,...");
    cli_cell(table, CLI_PLAIN, "%s", CLI_DISABLE_HELP);
    cli_cell(table, CLI_PLAIN, "  TINYORT_PLUGINS=DIR:...");
    cli_cell(table, CLI_PLAIN, "%s", "folders with plugins, looked at before Python's packages");
}

void cli_print_usage(const cli_command *command) {
    cli_table *table = cli_table_new("|", 0);
    char *usage = cli_format("usage: tinyort %s%s%s [option]...", command->name, *command->operands ? " " : "",
                             command->operands);
    add_line(table, usage);
    add_line(table, command->summary);
    free(usage);
    const char *heading = NULL; /* not printed yet: a group without options of this subcommand has none */
    for (const cli_option_row *row = cli_option_table; row < cli_option_table + OPTION_COUNT; row++) {
        if (!row->commands) heading = row->help;
        if (!(row->commands & command->bit)) continue;
        if (heading) add_line(table, heading);
        heading = NULL;
        cli_cell(table, CLI_PLAIN, "  --%s%s%s", row->name, row->value && !cli_value_is_optional(row) ? " " : "",
                 row->value ? row->value : "");
        cli_cell(table, CLI_PLAIN, "%s", row->help);
    }
    if (command->bit == CLI_CMD_PROVIDERS)
        add_provider_options(table);
    else if (cli_option_table[OPTION_EP].commands & command->bit)
        add_line(table, "Options of providers, as in cuda:device=1, and TINYORT_DISABLE: 'tinyort providers --help'");
    cli_table_print(table, stdout, cli_width(stdout, 0));
}
