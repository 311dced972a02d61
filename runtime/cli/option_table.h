/* option_table.h - numbers and table of the options, both made from option_list.h, and readers of their values. */
#ifndef TORT_CLI_OPTION_TABLE_H
#define TORT_CLI_OPTION_TABLE_H

#include "runtime/cli/options.h"

typedef enum cli_option {
#define HEADING(number, ...) HEADING_##number,
#define OPTION(number, ...) OPTION_##number,
#include "runtime/cli/option_list.h"
    OPTION_COUNT
} cli_option;

_Static_assert((int)OPTION_COUNT <= (int)CLI_MAX_OPTIONS, "cli_options.given has an element for each");

struct cli_option_row;
/* Parses the text of an option into `out`, the member that the option's row names, or fails with what it expects. */
typedef tort_status cli_reader(const struct cli_option_row *row, const char *text, void *out, tort_error *error);

/* An option, or a heading of the help, which no subcommand takes. */
typedef struct cli_option_row {
    const char *name;
    const char *value; /* name of the argument in the help; NULL if there is none */
    uint32_t commands;
    enum { CLI_FLAG, CLI_TEXT, CLI_TEXTS, CLI_PARSED } kind;
    size_t member;    /* offset in cli_options of the member that holds the value */
    const char *help; /* or the heading */
    cli_reader *read; /* NULL unless CLI_PARSED */
    double min;       /* least value of a number */
} cli_option_row;

extern const cli_option_row cli_option_table[OPTION_COUNT];
/* True for an argument such as "[=NAME,...]", which may be left out and otherwise must follow a '='. */
bool cli_value_is_optional(const cli_option_row *row);

/* True if the option is on the command line. */
static inline bool cli_is_given(const cli_options *options, cli_option id) {
    return options->given[id];
}

#define CLI_DISABLE_HELP "switches providers off, as if they did not open"

/* Readers of values (option_values.c). */
cli_reader cli_read_word, cli_read_words, cli_read_scheme, cli_read_float_type, cli_read_int32, cli_read_int64,
    cli_read_number, cli_read_bytes, cli_read_arena, cli_read_shapes, cli_read_random, cli_read_extent,
    cli_read_channels;

/* Checks combinations of options, and the number of operands (option_checks.c). */
tort_status cli_options_check(const cli_command *command, const cli_options *options, tort_error *error);

#endif
