/* option_table.h - numbers of the options, and readers of their values. */
#ifndef TORT_CLI_OPTION_TABLE_H
#define TORT_CLI_OPTION_TABLE_H

#include "runtime/cli/options.h"

typedef enum cli_option {
    OPTION_EP,
    OPTION_TARGET,
    OPTION_REQUIRE,
    OPTION_STRICT,
    OPTION_ALLOW,
    OPTION_PIN,
    OPTION_BIND,
    OPTION_NO_FUSION,
    OPTION_STEP_BY_STEP,
    OPTION_INPUT,
    OPTION_SHAPE,
    OPTION_MAX,
    OPTION_RANDOM,
    OPTION_RESIZE,
    OPTION_CROP,
    OPTION_SCALE,
    OPTION_MEAN,
    OPTION_STD,
    OPTION_LAYOUT,
    OPTION_BGR,
    OPTION_SECONDS,
    OPTION_REPEAT,
    OPTION_WARMUP,
    OPTION_PROFILE,
    OPTION_TRACE,
    OPTION_RTOL,
    OPTION_ATOL,
    OPTION_OUTPUTS_ONLY,
    OPTION_SHAPES_ONLY,
    OPTION_SAVE,
    OPTION_SAVE_PLAN,
    OPTION_FORMAT,
    OPTION_TOP,
    OPTION_LABELS,
    OPTION_ONLY,
    OPTION_FULL,
    OPTION_ASSUME_OPSET,
    OPTION_ALLOW_LINKS,
    OPTION_MAP,
    OPTION_PLAN,
    OPTION_DYNAMIC_LIMIT,
    OPTION_TRIP_LIMIT,
    OPTION_FUSIONS,
    OPTION_MISSING,
    OPTION_WIDTH,
    OPTION_JSON,
    OPTION_HELP,
    OPTION_COUNT
} cli_option;

_Static_assert(OPTION_COUNT <= 64, "cli_options.given has a bit for each");

typedef struct cli_option_row {
    const char *name;
    const char *value; /* name of the argument in the help; NULL if there is none */
    uint32_t commands;
    const char *help;
} cli_option_row;

extern const cli_option_row cli_option_table[OPTION_COUNT];
/* True for an argument such as "[=NAME,...]", which may be left out and otherwise must follow a '='. */
bool cli_value_is_optional(const cli_option_row *row);

/* True if the option is on the command line. */
static inline bool cli_is_given(const cli_options *options, cli_option id) {
    return options->given >> id & 1;
}

/* Readers of values (option_values.c): each parses the text of an option, or fails with what it expects. */
tort_status cli_read_integer(cli_option id, const char *text, int64_t min, int64_t max, int64_t *out,
                             tort_error *error);
tort_status cli_read_int32(cli_option id, const char *text, int32_t min, int32_t *out, tort_error *error);
tort_status cli_read_number(cli_option id, const char *text, double min, double *out, tort_error *error);
tort_status cli_read_bytes(cli_option id, const char *text, uint64_t *out, tort_error *error);
tort_status cli_read_word(cli_option id, const char *text, const char *const *words, size_t count, size_t *chosen,
                          tort_error *error);
tort_status cli_read_shape(cli_option id, const char *text, tort_input_shape *shape,
                           tort_error *error); /* shape->name: the caller frees */
tort_status cli_read_range(const char *text, cli_random_range *range, tort_error *error);
tort_status cli_read_picture(cli_option id, const char *value, cli_image_options *image, tort_error *error);

/* Checks combinations of options, and the number of operands (option_checks.c). */
tort_status cli_options_check(const cli_command *command, const cli_options *options, tort_error *error);

#endif
