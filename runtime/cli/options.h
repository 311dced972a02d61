/* options.h - the options of the command line. The table of options is in option_table.c, the reading of values in
 * option_values.c, checks of combinations in option_checks.c. */
#ifndef TORT_CLI_OPTIONS_H
#define TORT_CLI_OPTIONS_H

#include "runtime/base/error.h"

/* A bit per subcommand: each row of the option table has the set of subcommands that take the option. */
enum {
    CLI_CMD_RUN = 1u << 0,
    CLI_CMD_PLAN = 1u << 1,
    CLI_CMD_PROVIDERS = 1u << 2,
    CLI_CMD_INSPECT = 1u << 3,
    CLI_CMD_OPS = 1u << 4,
    CLI_CMD_TEST = 1u << 5,
    CLI_CMD_COMPARE = 1u << 6,
    CLI_CMD_BENCH = 1u << 7,
    CLI_CMD_VERSION = 1u << 8,
    CLI_CMD_SCHEMA = 1u << 9
};

typedef enum cli_image_layout { CLI_LAYOUT_AUTO, CLI_NCHW, CLI_NHWC } cli_image_layout;

/* Conversion of a picture into a tensor. Widths and heights are in pixels, 0 if not given. */
typedef struct cli_image_options {
    const char *first;                   /* the first of these options that was given, for messages; NULL: none */
    int32_t resize_width, resize_height; /* height 0: the shorter side becomes resize_width */
    int32_t crop_width, crop_height;
    float mean[4], std[4]; /* per channel, applied after scaling */
    int32_t mean_count, std_count;
    float scale; /* factor for the levels 0..255 */
    bool levels; /* --scale was given */
    cli_image_layout layout;
    bool bgr;
} cli_image_options;

/* --random NAME=LOW..HIGH */
typedef struct cli_random_range {
    char *name; /* owned */
    double low, high;
} cli_random_range;

/* All --shape or all --max options. They are parsed into `shapes`; cli_check_names moves those of dimensions to
 * `symbols`. */
typedef struct cli_shapes {
    const char *option;
    bool bounds; /* true for --max */
    tort_input_shape *shapes;
    int32_t shape_count;
    tort_symbol_size *symbols;
    int32_t symbol_count;
} cli_shapes;

typedef struct cli_options {
    const char *command;
    uint64_t given;        /* bit i: option i of the table */
    const char **operands; /* models, directories */
    int32_t operand_count;
    const char **chains; /* every --ep */
    int32_t chain_count;
    const char *target, *require, *allow;
    const char *no_fusion; /* names, "*" for all; NULL: not given */
    bool strict, step_by_step, fusions, missing;
    const char **pins;
    int32_t pin_count;
    const char **bindings;
    int32_t binding_count;
    cli_shapes fixed, max; /* --shape, --max */
    const char **inputs;   /* every --input, unread */
    int32_t input_count;
    bool random;
    int32_t attempt; /* number of the attempt to choose open sizes (made_up.h) */
    uint64_t seed;
    cli_random_range *ranges;
    int32_t range_count;
    cli_image_options image;
    const char *save, *save_plan;
    const char *plan; /* path of a saved plan; NULL if the model is an operand */
    bool save_pb;
    int32_t top;
    const char *labels;
    double seconds; /* 0: not given */
    int32_t repeat, warmup;
    bool profile, profile_all;
    const char *trace;
    double rtol, atol; /* negative: not given */
    bool shapes_only, outputs_only;
    const char **only; /* every --only */
    int32_t only_count;
    bool full;
    int32_t width; /* 0: as wide as the terminal */
    tort_load_options load;
    uint64_t dynamic_limit;
    int64_t trip_limit;
    bool json, help;
    bool json_lines; /* each JSON document is on a line of its own */
} cli_options;

/* A subcommand and its help. */
typedef struct cli_command {
    const char *name;
    uint32_t bit;
    const char *operands; /* "MODEL", "DIR...", "[OPERATOR]", "" */
    const char *summary;
    int (*run)(cli_options *options);
} cli_command;

/* Reads the arguments after the subcommand's name. The options borrow from argv. */
tort_status cli_options_read(const cli_command *command, int argc, char **argv, cli_options *options,
                             tort_error *error);
void cli_options_free(cli_options *options);

/* Prints the usage of a subcommand with its options on stdout. */
void cli_print_usage(const cli_command *command);

#endif
