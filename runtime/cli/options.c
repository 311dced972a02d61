/* options.c - reads the command line through getopt_long into cli_options.
 *
 * option_table.c has the table of options, option_values.c parses their values. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "ops/extra/tinyort_extra.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/option_table.h"
#include "runtime/base/suggest.h"

/* ---- applying ---------------------------------------------------------------------------------------------------- */

/* Applies --random: a seed, or the range of one input. */
static tort_status apply_random(cli_options *o, const char *value, tort_error *error) {
    int64_t seed = 0;
    o->random = true;
    if (strchr(value, '=')) {
        tort_status status = cli_read_range(value, &o->ranges[o->range_count], error);
        if (!status) o->range_count++;
        return status;
    }
    tort_status status = cli_read_integer(OPTION_RANDOM, value, 0, INT64_MAX, &seed, error);
    if (status)
        tort_fail(error, status, "--random wants a seed from 0 up, or a range as in NAME=0..9, not '%s'", value);
    o->seed = (uint64_t)seed;
    return status;
}

static tort_status apply_format(cli_options *o, const char *value, tort_error *error) {
    static const char *const formats[] = {"npy", "pb"};
    size_t chosen = 0;
    tort_status status = cli_read_word(OPTION_FORMAT, value, formats, 2, &chosen, error);
    o->save_pb = chosen == 1;
    return status;
}

static tort_status apply_profile(cli_options *o, const char *value, tort_error *error) {
    static const char *const words[] = {"all"};
    size_t chosen;
    o->profile = true;
    o->profile_all = value != NULL;
    return value ? cli_read_word(OPTION_PROFILE, value, words, 1, &chosen, error) : TORT_OK;
}

static tort_status apply_shape(cli_shapes *all, cli_option id, const char *value, tort_error *error) {
    tort_status status = cli_read_shape(id, value, &all->shapes[all->shape_count], error);
    if (!status) all->shape_count++;
    return status;
}

static tort_status apply(cli_options *o, cli_option id, const char *value, tort_error *error) {
    o->given |= (uint64_t)1 << id;
    switch (id) {
    case OPTION_EP: o->chains[o->chain_count++] = value; break;
    case OPTION_TARGET: o->target = value; break;
    case OPTION_REQUIRE: o->require = value; break;
    case OPTION_STRICT: o->strict = true; break;
    case OPTION_ALLOW: o->allow = value; break;
    case OPTION_NO_FUSION: o->no_fusion = value ? value : "*"; break;
    case OPTION_FUSIONS: o->fusions = true; break;
    case OPTION_MISSING: o->missing = true; break;
    case OPTION_PIN: o->pins[o->pin_count++] = value; break;
    case OPTION_BIND: o->bindings[o->binding_count++] = value; break;
    case OPTION_STEP_BY_STEP: o->step_by_step = true; break;
    case OPTION_INPUT: o->inputs[o->input_count++] = value; break;
    case OPTION_SHAPE: return apply_shape(&o->fixed, id, value, error);
    case OPTION_MAX: return apply_shape(&o->max, id, value, error);
    case OPTION_RANDOM: return apply_random(o, value, error);
    case OPTION_SAVE: o->save = value; break;
    case OPTION_SAVE_PLAN: o->save_plan = value; break;
    case OPTION_PLAN: o->plan = value; break;
    case OPTION_FORMAT: return apply_format(o, value, error);
    case OPTION_TOP: return cli_read_int32(id, value, 1, &o->top, error);
    case OPTION_LABELS: o->labels = value; break;
    case OPTION_ONLY: o->only[o->only_count++] = value; break;
    case OPTION_FULL: o->full = true; break;
    case OPTION_SECONDS: return cli_read_number(id, value, 1e-9, &o->seconds, error);
    case OPTION_REPEAT: return cli_read_int32(id, value, 1, &o->repeat, error);
    case OPTION_WARMUP: return cli_read_int32(id, value, 0, &o->warmup, error);
    case OPTION_PROFILE: return apply_profile(o, value, error);
    case OPTION_TRACE: o->trace = value; break;
    case OPTION_RTOL: return cli_read_number(id, value, 0, &o->rtol, error);
    case OPTION_ATOL: return cli_read_number(id, value, 0, &o->atol, error);
    case OPTION_OUTPUTS_ONLY: o->outputs_only = true; break;
    case OPTION_SHAPES_ONLY: o->shapes_only = true; break;
    case OPTION_ASSUME_OPSET: return cli_read_int32(id, value, 1, &o->load.assume_opset, error);
    case OPTION_ALLOW_LINKS: o->load.allow_links = true; break;
    case OPTION_MAP: o->load.map_external = true; break;
    case OPTION_DYNAMIC_LIMIT: return cli_read_bytes(id, value, &o->dynamic_limit, error);
    case OPTION_TRIP_LIMIT: return cli_read_integer(id, value, 1, INT64_MAX, &o->trip_limit, error);
    case OPTION_WIDTH: return cli_read_int32(id, value, 40, &o->width, error);
    case OPTION_JSON: o->json = true; break;
    case OPTION_HELP: o->help = true; break;
    default: return cli_read_picture(id, value, &o->image, error);
    }
    return TORT_OK;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Error for an abbreviation of several options, such as --re; TORT_OK if the word abbreviates none. */
static tort_status ambiguous_option(const cli_command *command, const char *word, tort_error *error) {
    char list[200] = "";
    size_t length = strlen(word), used = 0;
    for (int id = 0; id < OPTION_COUNT; id++)
        if (cli_option_table[id].commands & command->bit && !strncmp(cli_option_table[id].name, word, length) &&
            used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s--%s", used ? ", " : "",
                                     cli_option_table[id].name);
    if (!length || !used) return TORT_OK;
    return tort_fail(error, TORT_E_USAGE, "--%s is short for several options: %s", word, list);
}

/* The option that other tools give this name; NULL if none. */
static const char *option_elsewhere(const char *word) {
    static const struct {
        const char *word, *option;
    } words[] = {{"runs", "repeat"},    {"iterations", "repeat"},
                 {"loops", "repeat"},   {"duration", "seconds"},
                 {"provider", "ep"},    {"providers", "ep"},
                 {"device", "ep"},      {"backend", "ep"},
                 {"output", "save"},    {"out", "save"},
                 {"against", "ep"},     {"size", "resize"},
                 {"tolerance", "rtol"}, {"threads", "ep cpu:threads=N"},
                 {"seed", "random"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(word, words[i].word)) return words[i].option;
    return NULL;
}

/* text: the option as it was typed, "--nmae=value". */
static tort_status unknown_option(const cli_command *command, const char *text, tort_error *error) {
    const char *names[OPTION_COUNT];
    size_t count = 0;
    char word[64], hint[100] = "";
    while (*text == '-') text++;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(text, "="), text);
    for (int id = 0; id < OPTION_COUNT; id++) {
        const cli_option_row *row = &cli_option_table[id];
        if (row->commands & command->bit) {
            if (!strcmp(word, row->name)) return tort_fail(error, TORT_E_USAGE, "--%s takes no value", word);
            names[count++] = row->name;
        } else if (!strcmp(word, row->name))
            return tort_fail(error, TORT_E_USAGE, "--%s is not an option of '%s'; 'tinyort %s --help' lists them", word,
                             command->name, command->name);
    }
    tort_status status = ambiguous_option(command, word, error);
    if (status) return status;
    const char *nearest = tort_nearest(word, names, count), *elsewhere = option_elsewhere(word);
    for (size_t i = 0; elsewhere && i < count; i++)
        if (strlen(names[i]) == strcspn(elsewhere, " ") && !strncmp(names[i], elsewhere, strlen(names[i])))
            nearest = elsewhere;
    if (nearest)
        snprintf(hint, sizeof hint, "; did you mean --%s?", nearest);
    else
        snprintf(hint, sizeof hint, "; 'tinyort %s --help' lists them", command->name);
    return tort_fail(error, TORT_E_USAGE, "there is no option --%s%s", word, hint);
}

/* The options of this subcommand for getopt_long; `val` is 256 + id, beyond all characters. */
static void long_options(const cli_command *command, struct option *out) {
    for (int id = 0; id < OPTION_COUNT; id++) {
        const cli_option_row *row = &cli_option_table[id];
        if (!(row->commands & command->bit)) continue;
        const int argument = cli_value_is_optional(row) ? optional_argument
                             : row->value               ? required_argument
                                                        : no_argument;
        *out++ = (struct option){row->name, argument, NULL, 256 + id};
    }
    *out = (struct option){0};
}

static tort_status read_arguments(const cli_command *command, int argc, char **argv, cli_options *options,
                                  tort_error *error) {
    struct option accepted[OPTION_COUNT + 1];
    long_options(command, accepted);
    opterr = 0;
    for (;;) {
        int found = getopt_long(argc, argv, ":h", accepted, NULL);
        if (found == -1) break;
        if (found == ':') {
            const cli_option_row *row = &cli_option_table[optopt - 256];
            return tort_fail(error, TORT_E_USAGE, "--%s wants a value: --%s %s; 'tinyort %s --help' says more",
                             row->name, row->name, row->value, command->name);
        }
        if (found == '?' && optopt > 0 && optopt < 256)
            return tort_fail(error, TORT_E_USAGE, "there is no option -%c; 'tinyort %s --help' lists them", optopt,
                             command->name);
        if (found == '?') return unknown_option(command, argv[optind - 1], error);
        tort_status status = apply(options, found == 'h' ? OPTION_HELP : (cli_option)(found - 256), optarg, error);
        if (status) return status;
    }
    while (optind < argc) options->operands[options->operand_count++] = argv[optind++];
    return TORT_OK;
}

static void open_shapes(cli_shapes *all, cli_option id, size_t max) {
    all->option = cli_option_table[id].name;
    all->shapes = cli_alloc(max, sizeof *all->shapes);
    all->symbols = cli_alloc(max, sizeof *all->symbols);
}

static void free_shapes(cli_shapes *all) {
    for (int32_t i = 0; i < all->shape_count; i++) free((char *)(uintptr_t)all->shapes[i].name);
    for (int32_t i = 0; i < all->symbol_count; i++) free((char *)(uintptr_t)all->symbols[i].name);
    free(all->shapes);
    free(all->symbols);
}

tort_status cli_options_read(const cli_command *command, int argc, char **argv, cli_options *options,
                             tort_error *error) {
    size_t max = (size_t)argc + 1;
    *options = (cli_options){.command = command->name, .warmup = 2, .rtol = -1, .atol = -1};
    options->load.struct_size = sizeof options->load;
    options->load.operators = tort_extra_operators;
    options->load.operator_abi = tort_extra_abi;
    options->operands = cli_alloc(max, sizeof *options->operands);
    options->chains = cli_alloc(max, sizeof *options->chains);
    options->pins = cli_alloc(max, sizeof *options->pins);
    options->bindings = cli_alloc(max, sizeof *options->bindings);
    options->inputs = cli_alloc(max, sizeof *options->inputs);
    open_shapes(&options->fixed, OPTION_SHAPE, max);
    open_shapes(&options->max, OPTION_MAX, max);
    options->max.bounds = true;
    options->ranges = cli_alloc(max, sizeof *options->ranges);
    options->only = cli_alloc(max, sizeof *options->only);
    /* --json promises a document even if reading the arguments fails before it. */
    bool json = false;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) json = json || !strcmp(argv[i], "--json");
    tort_status status = read_arguments(command, argc, argv, options, error);
    if (!status) status = cli_options_check(command, options, error);
    options->json = options->json || json;
    return status;
}

void cli_options_free(cli_options *options) {
    free_shapes(&options->fixed);
    free_shapes(&options->max);
    for (int32_t i = 0; i < options->range_count; i++) free(options->ranges[i].name);
    free(options->operands);
    free(options->chains);
    free(options->pins);
    free(options->bindings);
    free(options->inputs);
    free(options->ranges);
    free(options->only);
}
