/* options.h - everything that can be typed after `tinyort`, and what it means. The table of options is in
 * option_table.c, the reading of values in option_values.c, what goes together in option_checks.c. */
#ifndef TORT_CLI_OPTIONS_H
#define TORT_CLI_OPTIONS_H

#include "runtime/base/error.h"

/* One bit a subcommand: the table of options says with them which takes what. */
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

/* How a picture becomes a tensor. Widths and heights in pixels, 0: not asked for. */
typedef struct cli_image_options {
    const char *first;                   /* of these options that was given, for messages; NULL: none */
    int32_t resize_width, resize_height; /* height 0: the shorter side becomes resize_width */
    int32_t crop_width, crop_height;
    float mean[4], std[4]; /* of a channel, after scaling */
    int32_t mean_count, std_count;
    float scale; /* what a level of 0..255 is multiplied by */
    bool levels; /* --scale was given */
    cli_image_layout layout;
    bool bgr;
} cli_image_options;

/* --random NAME=LOW..HIGH */
typedef struct cli_random_range {
    char *name; /* owned */
    double low, high;
} cli_random_range;

/* Every --shape, or every --max: of inputs, and sizes of dimensions; cli_check_names sorts out which is which. */
typedef struct cli_shapes {
    const char *option;
    bool bounds; /* they are upper bounds */
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
    int32_t attempt; /* at sizes that are made up (made_up.h) */
    uint64_t seed;
    cli_random_range *ranges;
    int32_t range_count;
    cli_image_options image;
    const char *save, *save_plan;
    const char *plan; /* NULL: a model is an operand */
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
    bool json_lines; /* a document is one line of several */
} cli_options;

/* A subcommand as the help shows it. */
typedef struct cli_command {
    const char *name;
    uint32_t bit;
    const char *operands; /* "MODEL", "DIR...", "[OPERATOR]", "" */
    const char *summary;
    int (*run)(cli_options *options);
} cli_command;

/* Reads the arguments behind the subcommand's name. The options borrow from argv. */
tort_status cli_options_read(const cli_command *command, int argc, char **argv, cli_options *options,
                             tort_error *error);
void cli_options_free(cli_options *options);

/* The usage of a subcommand with the options that it takes, on stdout. */
void cli_print_usage(const cli_command *command);

#endif
