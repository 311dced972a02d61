/* options.h - the options of the command line. Their rows are in option_list.h, the reading of values is in
 * option_values.c, checks of combinations are in option_checks.c. */
#ifndef TORT_CLI_OPTIONS_H
#define TORT_CLI_OPTIONS_H

#include "runtime/core/base/error.h"

/* A bit per subcommand: each row of the option table has the set of subcommands that take the option. */
enum {
#define COMMAND(number, ...) CLI_NUMBER_##number,
#include "runtime/cli/command_list.h"
};
enum {
#define COMMAND(number, ...) CLI_CMD_##number = 1u << CLI_NUMBER_##number,
#include "runtime/cli/command_list.h"
};

/* Words of --format, --io, --weights, --weight-type, --to and --layout, as cli_read_word numbers them; 0: not given. */
enum { CLI_NPY = 1, CLI_PB };
enum { CLI_INTEGER = 1, CLI_FLOAT };
enum { CLI_C = 1, CLI_BIN };
enum { CLI_FLOAT16 = 1, CLI_BFLOAT16, CLI_FLOAT32 };
enum { CLI_KEEP = 1, CLI_CONVERT };
enum { CLI_INT4 = 1, CLI_INT8 };
enum { CLI_FINITE = 1, CLI_FP16 = 2 }; /* bits, as cli_read_words sets them */
enum { CLI_LAYOUT_AUTO, CLI_NCHW, CLI_NHWC };

typedef struct cli_extent {
    int32_t width, height; /* in pixels, 0 if not given */
} cli_extent;

/* A number for each channel, or one for all; count 0: not given. */
typedef struct cli_channels {
    float values[4];
    int32_t count;
} cli_channels;

/* Conversion of a picture into a tensor. */
typedef struct cli_image_options {
    const char *first;      /* the first of these options that was given, for messages; NULL: none */
    cli_extent resize;      /* height 0: the shorter side becomes `width` */
    cli_extent crop;        /* height 0: a square */
    double scale;           /* factor for the levels 0..255; negative: not given */
    cli_channels mean, std; /* applied after scaling */
    int32_t layout;         /* CLI_LAYOUT_AUTO, CLI_NCHW or CLI_NHWC */
    bool bgr;
} cli_image_options;

/* --random NAME=LOW..HIGH */
typedef struct cli_random_range {
    char *name; /* owned */
    double low, high;
} cli_random_range;

/* A list of borrowed texts, such as those of an option that may be repeated. */
typedef struct cli_texts {
    const char **items;
    int32_t count;
} cli_texts;

void cli_texts_add(cli_texts *texts, const char *text);

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

/* The memories of `compile --arena`, in bytes; fast 0: not given. */
typedef struct cli_arena {
    uint64_t fast, slow;
} cli_arena;

enum { CLI_MAX_OPTIONS = 112, CLI_MAX_CONTEXTS = 256 };

typedef struct cli_options {
    const char *command;
    bool given[CLI_MAX_OPTIONS]; /* options of the table, by number */
    char **operands;             /* models, directories: the end of argv */
    int32_t operand_count;
    cli_texts chains; /* items[0] is NULL if there is none */
    cli_texts pins, bindings, inputs, open, only;
    const char *target, *require, *allow;
    const char *no_fusion; /* names, "*" for all; NULL: not given */
    bool strict, strict_integers, step_by_step, fusions, missing;
    cli_shapes fixed, max; /* --shape, --max */
    bool random, seeded;   /* --random; --random SEED */
    int32_t attempt;       /* number of the attempt to choose open sizes (made_up.c) */
    uint64_t seed;
    cli_random_range *ranges;
    int32_t range_count;
    cli_image_options image;
    const char *save, *output; /* paths; NULL: not given */
    const char *lock, *check, *optimized, *html, *against;
    int32_t expect; /* bits CLI_FINITE, CLI_FP16 */
    bool stats, github;
    cli_texts dumps, from, to;
    const char *name, *processor, *input_layout, *project; /* of compile; NULL: not given */
    bool main, bands, force, update, serial;
    const char *port; /* of validate; NULL: not given */
    int32_t baud;     /* 0: not given */
    const char *plan; /* path of a saved plan; NULL if the model is an operand */
    int32_t format;   /* CLI_NPY, CLI_PB; 0: not given, which means CLI_NPY */
    int32_t weights;  /* CLI_C, CLI_BIN; 0: not given, which means CLI_C */
    int32_t align;    /* of compile; 0: not given */
    cli_arena arena;
    int32_t io; /* CLI_INTEGER, CLI_FLOAT; 0: not given, which means CLI_FLOAT */
    int32_t top;
    const char *labels;
    const char *data, *truth; /* of quantize; data: of convert, too */
    const char *choices, *write_choices;
    int32_t scheme; /* tort_scheme + 1; 0: not given */
    cli_texts keep, keep_ops;
    double max_error, min_agreement; /* 0: not given */
    uint64_t max_bytes;
    bool quick;
    int32_t type;  /* of convert: CLI_FLOAT16 ...; 0: not given */
    int32_t ports; /* CLI_KEEP, CLI_CONVERT; 0: not given, which means CLI_KEEP */
    double min_db;
    int32_t weight_type, block; /* CLI_INT4, CLI_INT8; 0: not given */
    bool dynamic;
    double seconds; /* 0: not given */
    int32_t repeat, warmup;
    int32_t contexts;          /* 0: not given, which means 1 */
    int32_t profile_all;       /* 1: --profile=all */
    const char *trace, *sweep; /* NULL: not given */
    double rtol, atol;         /* negative: not given */
    bool shapes_only, outputs_only;
    bool full;
    bool ops, nodes;
    int32_t width; /* 0: as wide as the terminal */
    tort_load_options load;
    uint64_t dynamic_limit;
    int64_t trip_limit;
    double time_limit; /* seconds */
    bool json, help;
    bool json_lines; /* each JSON document is on a line of its own */
} cli_options;

/* A subcommand and its help. */
typedef struct cli_command {
    const char *name;
    uint32_t bit;
    const char *operands; /* "MODEL", "DIR...", "[OPERATOR]", "SHELL", "" */
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
