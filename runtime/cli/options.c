/* options.c - the table of options, and the reading of them through getopt_long.
 *
 * A new option is a row of the table and a case of `apply`; the help of every subcommand is printed from the table. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runtime/cli/cli.h"
#include "runtime/suggest.h"

typedef enum option_id {
    OPTION_EP,
    OPTION_TARGET,
    OPTION_REQUIRE,
    OPTION_STRICT,
    OPTION_ALLOW,
    OPTION_PIN,
    OPTION_BIND,
    OPTION_INPUT,
    OPTION_SHAPE,
    OPTION_RANDOM,
    OPTION_RESIZE,
    OPTION_CROP,
    OPTION_SCALE,
    OPTION_MEAN,
    OPTION_STD,
    OPTION_LAYOUT,
    OPTION_BGR,
    OPTION_SAVE,
    OPTION_FORMAT,
    OPTION_TOP,
    OPTION_LABELS,
    OPTION_SECONDS,
    OPTION_REPEAT,
    OPTION_WARMUP,
    OPTION_RTOL,
    OPTION_ATOL,
    OPTION_SHAPES_ONLY,
    OPTION_ASSUME_OPSET,
    OPTION_ALLOW_LINKS,
    OPTION_MAP,
    OPTION_DYNAMIC_LIMIT,
    OPTION_JSON,
    OPTION_HELP,
    OPTION_COUNT
} option_id;

#define PLANNING (CLI_CMD_RUN | CLI_CMD_PLAN | CLI_CMD_COMPARE | CLI_CMD_BENCH)
#define RUNNING (CLI_CMD_RUN | CLI_CMD_COMPARE | CLI_CMD_BENCH)
#define LOADING (PLANNING | CLI_CMD_INSPECT | CLI_CMD_TEST)
#define EVERY 0xffffffffu

static const struct {
    const char *name;
    const char *value; /* what the argument is called; NULL: there is none */
    uint32_t commands;
    const char *help;
} table[OPTION_COUNT] = {
    [OPTION_EP] = {"ep", "CHAIN", PLANNING | CLI_CMD_TEST | CLI_CMD_PROVIDERS,
                   "providers in order, with options: cuda:device=1:mem_limit=2G,cpu:threads=2 (default cpu)"},
    [OPTION_TARGET] = {"target", "DEVICE", CLI_CMD_PLAN, "plan for a device that is not here: cuda:sm_87"},
    [OPTION_REQUIRE] = {"require", "EP,...", PLANNING, "providers that must open"},
    [OPTION_STRICT] = {"strict", NULL, PLANNING, "every node must be on the first provider"},
    [OPTION_ALLOW] = {"allow", "OP,...", PLANNING, "operators that --strict lets pass"},
    [OPTION_PIN] = {"pin", "NODE=EP", PLANNING, "put a node, by name or as '#12', on this provider (repeatable)"},
    [OPTION_BIND] = {"bind", "NAME=EP", CLI_CMD_PLAN | CLI_CMD_BENCH,
                     "an input or output ('*': all) stays in this provider's memory, uncopied (repeatable)"},
    [OPTION_INPUT] = {"input", "[NAME=]FILE", RUNNING,
                      "an input: .npy .npz .pb .raw .png .jpg, by name or in the model's order (repeatable)"},
    [OPTION_SHAPE] = {"shape", "NAME=1x3x224x224", PLANNING | CLI_CMD_INSPECT,
                      "fix an input's shape, for --random, .raw files and planning (repeatable)"},
    [OPTION_RANDOM] = {"random", "SEED", RUNNING,
                       "random values for inputs that are not given: floats in 0..1, integers 0..9"},
    [OPTION_RESIZE] = {"resize", "WxH|N", RUNNING, "picture: resize; N is the length of its shorter side"},
    [OPTION_CROP] = {"crop", "WxH|N", RUNNING, "picture: then cut out its middle"},
    [OPTION_SCALE] = {"scale", "S", RUNNING,
                      "picture: multiply levels 0..255 by S (default 1/255; for uint8 inputs 1)"},
    [OPTION_MEAN] = {"mean", "R,G,B", RUNNING, "picture: then subtract"},
    [OPTION_STD] = {"std", "R,G,B", RUNNING, "picture: then divide by"},
    [OPTION_LAYOUT] = {"layout", "nchw|nhwc", RUNNING,
                       "picture: order of the tensor (default: as the input's shape tells)"},
    [OPTION_BGR] = {"bgr", NULL, RUNNING, "picture: blue first"},
    [OPTION_SAVE] = {"save", "DIR", CLI_CMD_RUN, "write output_0.npy, output_1.npy ..."},
    [OPTION_FORMAT] = {"format", "npy|pb", CLI_CMD_RUN, "of what --save writes (default npy)"},
    [OPTION_TOP] = {"top", "K", CLI_CMD_RUN, "the K largest entries of the first output"},
    [OPTION_LABELS] = {"labels", "FILE", CLI_CMD_RUN, "their names, one a line"},
    [OPTION_SECONDS] = {"seconds", "S", CLI_CMD_BENCH, "how long to measure (default 3)"},
    [OPTION_REPEAT] = {"repeat", "N", CLI_CMD_BENCH, "runs to measure, in place of --seconds"},
    [OPTION_WARMUP] = {"warmup", "N", CLI_CMD_BENCH, "runs before measuring (default 2)"},
    [OPTION_RTOL] = {"rtol", "R", CLI_CMD_TEST | CLI_CMD_COMPARE, "equal means |a-b| <= A + R*|b| ..."},
    [OPTION_ATOL] = {"atol", "A", CLI_CMD_TEST | CLI_CMD_COMPARE,
                     "... (default: R 1e-4, A 1e-5; for compare 1e-3, 1e-4; for 16-bit floats 1e-2)"},
    [OPTION_SHAPES_ONLY] = {"shapes-only", NULL, CLI_CMD_TEST, "compare types and shapes alone: for random values"},
    [OPTION_ASSUME_OPSET] = {"assume-opset", "N", LOADING, "treat a newer opset as this one"},
    [OPTION_ALLOW_LINKS] = {"allow-links", NULL, LOADING, "external data may be a link or have several names"},
    [OPTION_MAP] = {"map", NULL, LOADING, "map external data instead of reading it"},
    [OPTION_DYNAMIC_LIMIT] = {"dynamic-limit", "BYTES", RUNNING,
                              "for values whose shape depends on data, such as 512M (default 1G)"},
    [OPTION_JSON] = {"json", NULL, EVERY, "machine-readable output on stdout"},
    [OPTION_HELP] = {"help", NULL, EVERY, "this text"},
};

/* ---- values ---------------------------------------------------------------------------------------------------- */

static tort_status wrong_value(option_id id, const char *text, const char *wanted, tort_error *error) {
    return tort_fail(error, TORT_E_USAGE, "--%s wants %s, not '%s'", table[id].name, wanted, text);
}

static tort_status read_integer(option_id id, const char *text, int64_t least, int64_t most, int64_t *out,
                                tort_error *error) {
    char *end, wanted[80];
    errno = 0;
    long long value = strtoll(text, &end, 10);
    snprintf(wanted, sizeof wanted, "a whole number from %lld to %lld", (long long)least, (long long)most);
    if (end == text || *end || errno || value < least || value > most) return wrong_value(id, text, wanted, error);
    *out = value;
    return TORT_OK;
}

static tort_status read_int32(option_id id, const char *text, int32_t least, int32_t *out, tort_error *error) {
    int64_t value = 0;
    tort_status status = read_integer(id, text, least, INT32_MAX, &value, error);
    if (!status) *out = (int32_t)value;
    return status;
}

static tort_status read_number(option_id id, const char *text, double least, double *out, tort_error *error) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value >= least)) return wrong_value(id, text, "a number that is not negative", error);
    *out = value;
    return TORT_OK;
}

/* "2G", "512M", "64k", "1000". */
static tort_status read_bytes(option_id id, const char *text, uint64_t *out, tort_error *error) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    static const char units[] = "kMGT";
    const char *unit = *end ? strchr(units, *end) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (unit) end++;
    if (end == text || *text == '-' || *end || errno || value > UINT64_MAX >> shift)
        return wrong_value(id, text, "bytes such as 512M or 2G", error);
    *out = (uint64_t)value << shift;
    return TORT_OK;
}

/* "WxH", or "N" where height stays 0. */
static tort_status read_extent(option_id id, const char *text, int32_t *width, int32_t *height, tort_error *error) {
    enum { MOST = 1 << 16 };
    char *end;
    long w = strtol(text, &end, 10), h = 0;
    bool good = end != text && w >= 1 && w <= MOST;
    if (good && *end == 'x') {
        const char *second = end + 1;
        h = strtol(second, &end, 10);
        good = end != second && h >= 1 && h <= MOST;
    }
    if (!good || *end) return wrong_value(id, text, "WIDTHxHEIGHT or one number", error);
    *width = (int32_t)w;
    *height = (int32_t)h;
    return TORT_OK;
}

static tort_status read_channels(option_id id, const char *text, float *values, int32_t *count, tort_error *error) {
    *count = 0;
    for (const char *p = text;; p++) {
        char *end;
        float value = strtof(p, &end);
        if (end == p || *count == 4)
            return wrong_value(id, text, "one number a channel, as in 0.485,0.456,0.406", error);
        values[(*count)++] = value;
        p = end;
        if (!*p) break;
        if (*p != ',') return wrong_value(id, text, "one number a channel, as in 0.485,0.456,0.406", error);
    }
    for (int32_t i = 0; id == OPTION_STD && i < *count; i++)
        if (values[i] == 0) return wrong_value(id, text, "numbers other than 0", error);
    return TORT_OK;
}

static tort_status read_word(option_id id, const char *text, const char *const *words, size_t count, size_t *chosen,
                             tort_error *error) {
    for (*chosen = 0; *chosen < count; ++*chosen)
        if (!strcasecmp(text, words[*chosen])) return TORT_OK;
    char hint[80];
    return tort_fail(error, TORT_E_USAGE, "--%s wants %s, not '%s'%s", table[id].name, table[id].value, text,
                     tort_did_you_mean(text, words, count, hint, sizeof hint));
}

/* "NAME=1x3x224x224"; "NAME=" is a scalar. The name is copied: argv is not ours to cut. */
static tort_status read_shape(const char *text, tort_input_shape *shape, tort_error *error) {
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text) return wrong_value(OPTION_SHAPE, text, "NAME=1x3x224x224", error);
    *shape = (tort_input_shape){0};
    for (const char *p = equals + 1; *p;) {
        char *end;
        errno = 0;
        long long dim = strtoll(p, &end, 10);
        if (end == p || dim < 0 || errno || (*end && *end != 'x') || (*end == 'x' && !end[1]))
            return wrong_value(OPTION_SHAPE, text, "NAME=1x3x224x224", error);
        if (shape->rank == TORT_MAX_RANK)
            return tort_fail(error, TORT_E_USAGE, "--shape %s: more than %d dimensions", text, TORT_MAX_RANK);
        shape->dims[shape->rank++] = dim;
        p = *end ? end + 1 : end;
    }
    shape->name = cli_copy_text(text, (size_t)(equals - text));
    return TORT_OK;
}

/* ---- applying -------------------------------------------------------------------------------------------------- */

static tort_status apply_picture(cli_image_options *image, option_id id, const char *value, tort_error *error) {
    static const char *const layouts[] = {"nchw", "nhwc"};
    size_t chosen;
    double number = 0;
    tort_status status = TORT_OK;
    switch (id) {
    case OPTION_RESIZE: return read_extent(id, value, &image->resize_width, &image->resize_height, error);
    case OPTION_CROP:
        status = read_extent(id, value, &image->crop_width, &image->crop_height, error);
        if (!status && !image->crop_height) image->crop_height = image->crop_width;
        return status;
    case OPTION_SCALE:
        status = read_number(id, value, 0, &number, error);
        image->scale = (float)number;
        image->levels = true;
        return status;
    case OPTION_MEAN: return read_channels(id, value, image->mean, &image->mean_count, error);
    case OPTION_STD: return read_channels(id, value, image->std, &image->std_count, error);
    case OPTION_LAYOUT:
        status = read_word(id, value, layouts, 2, &chosen, error);
        image->layout = chosen == 0 ? CLI_NCHW : CLI_NHWC;
        return status;
    default: image->bgr = true; return TORT_OK;
    }
}

static tort_status apply(cli_options *o, option_id id, const char *value, tort_error *error) {
    static const char *const formats[] = {"npy", "pb"};
    size_t chosen = 0;
    int64_t integer = 0;
    tort_status status = TORT_OK;
    switch (id) {
    case OPTION_EP: o->chains[o->chain_count++] = value; break;
    case OPTION_TARGET: o->target = value; break;
    case OPTION_REQUIRE: o->require = value; break;
    case OPTION_STRICT: o->strict = true; break;
    case OPTION_ALLOW: o->allow = value; break;
    case OPTION_PIN: o->pins[o->pin_count++] = value; break;
    case OPTION_BIND: o->bindings[o->binding_count++] = value; break;
    case OPTION_INPUT: o->inputs[o->input_count++] = value; break;
    case OPTION_SHAPE:
        status = read_shape(value, &o->shapes[o->shape_count], error);
        if (!status) o->shape_count++;
        break;
    case OPTION_RANDOM:
        status = read_integer(id, value, 0, INT64_MAX, &integer, error);
        o->random = true;
        o->seed = (uint64_t)integer;
        break;
    case OPTION_SAVE: o->save = value; break;
    case OPTION_FORMAT:
        status = read_word(id, value, formats, 2, &chosen, error);
        o->save_pb = chosen == 1;
        break;
    case OPTION_TOP: status = read_int32(id, value, 1, &o->top, error); break;
    case OPTION_LABELS: o->labels = value; break;
    case OPTION_SECONDS: status = read_number(id, value, 0, &o->seconds, error); break;
    case OPTION_REPEAT: status = read_int32(id, value, 1, &o->repeat, error); break;
    case OPTION_WARMUP: status = read_int32(id, value, 0, &o->warmup, error); break;
    case OPTION_RTOL: status = read_number(id, value, 0, &o->rtol, error); break;
    case OPTION_ATOL: status = read_number(id, value, 0, &o->atol, error); break;
    case OPTION_SHAPES_ONLY: o->shapes_only = true; break;
    case OPTION_ASSUME_OPSET: status = read_int32(id, value, 1, &o->load.assume_opset, error); break;
    case OPTION_ALLOW_LINKS: o->load.allow_links = true; break;
    case OPTION_MAP: o->load.map_external = true; break;
    case OPTION_DYNAMIC_LIMIT: status = read_bytes(id, value, &o->dynamic_limit, error); break;
    case OPTION_JSON: o->json = true; break;
    case OPTION_HELP: o->help = true; break;
    default: return apply_picture(&o->image, id, value, error);
    }
    return status;
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

static tort_status unknown_option(const cli_command *command, const char *text, tort_error *error) {
    const char *names[OPTION_COUNT];
    size_t count = 0;
    char word[64], hint[100] = "";
    while (*text == '-') text++;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(text, "="), text);
    for (int id = 0; id < OPTION_COUNT; id++) {
        if (!(table[id].commands & command->bit)) {
            if (!strcmp(word, table[id].name))
                return tort_fail(error, TORT_E_USAGE, "--%s is not an option of '%s'; 'tinyort %s --help' lists them",
                                 word, command->name, command->name);
            continue;
        }
        if (!strcmp(word, table[id].name)) return tort_fail(error, TORT_E_USAGE, "--%s takes no value", word);
        names[count++] = table[id].name;
    }
    const char *nearest = tort_nearest(word, names, count);
    if (nearest)
        snprintf(hint, sizeof hint, "; did you mean --%s?", nearest);
    else
        snprintf(hint, sizeof hint, "; 'tinyort %s --help' lists them", command->name);
    return tort_fail(error, TORT_E_USAGE, "there is no option --%s%s", word, hint);
}

/* The options of this subcommand for getopt_long, whose `val` is their id behind the range of characters. */
static void long_options(const cli_command *command, struct option *out) {
    for (int id = 0; id < OPTION_COUNT; id++) {
        if (!(table[id].commands & command->bit)) continue;
        *out++ = (struct option){table[id].name, table[id].value ? required_argument : no_argument, NULL, 256 + id};
    }
    *out = (struct option){0};
}

tort_status cli_options_read(const cli_command *command, int argc, char **argv, cli_options *options,
                             tort_error *error) {
    size_t most = (size_t)argc + 1;
    *options = (cli_options){.command = command->name, .warmup = 2, .rtol = -1, .atol = -1};
    options->load.struct_size = sizeof options->load;
    options->operands = cli_alloc(most, sizeof *options->operands);
    options->chains = cli_alloc(most, sizeof *options->chains);
    options->pins = cli_alloc(most, sizeof *options->pins);
    options->bindings = cli_alloc(most, sizeof *options->bindings);
    options->inputs = cli_alloc(most, sizeof *options->inputs);
    options->shapes = cli_alloc(most, sizeof *options->shapes);
    struct option accepted[OPTION_COUNT + 1];
    long_options(command, accepted);
    opterr = 0;
    for (;;) {
        int found = getopt_long(argc, argv, ":h", accepted, NULL);
        if (found == -1) break;
        if (found == ':')
            return tort_fail(error, TORT_E_USAGE, "%s wants a value; 'tinyort %s --help' says which", argv[optind - 1],
                             command->name);
        if (found == '?')
            return unknown_option(command, argv[optind - 1][0] == '-' ? argv[optind - 1] : argv[optind], error);
        tort_status status = apply(options, found == 'h' ? OPTION_HELP : (option_id)(found - 256), optarg, error);
        if (status) return status;
    }
    if (options->chain_count > 1 && command->bit != CLI_CMD_COMPARE)
        return tort_fail(error, TORT_E_USAGE, "--ep is given %d times; a chain is one list: --ep %s,%s",
                         options->chain_count, options->chains[0], options->chains[1]);
    while (optind < argc) options->operands[options->operand_count++] = argv[optind++];
    if (!options->help && !*command->operands && options->operand_count)
        return tort_fail(error, TORT_E_USAGE, "'%s' takes no operand, but got '%s'", command->name,
                         options->operands[0]);
    if (!options->help && *command->operands && !options->operand_count)
        return tort_fail(error, TORT_E_USAGE, "tell it which %s: 'tinyort %s %s'; --help says more", command->operands,
                         command->name, command->operands);
    if (!options->help && !strcmp(command->operands, "MODEL") && options->operand_count > 1)
        return tort_fail(error, TORT_E_USAGE, "one model at a time: '%s' is one too many (inputs go by --input)",
                         options->operands[1]);
    return TORT_OK;
}

void cli_options_free(cli_options *options) {
    for (int32_t i = 0; i < options->shape_count; i++) free((char *)(uintptr_t)options->shapes[i].name);
    free(options->operands);
    free(options->chains);
    free(options->pins);
    free(options->bindings);
    free(options->inputs);
    free(options->shapes);
}

void cli_print_usage(const cli_command *command) {
    printf("usage: tinyort %s%s%s [option]...\n%s\n\n", command->name, *command->operands ? " " : "", command->operands,
           command->summary);
    for (int id = 0; id < OPTION_COUNT; id++) {
        if (!(table[id].commands & command->bit)) continue;
        char left[40];
        snprintf(left, sizeof left, "--%s%s%s", table[id].name, table[id].value ? " " : "",
                 table[id].value ? table[id].value : "");
        printf("  %-24s %s\n", left, table[id].help);
    }
}
