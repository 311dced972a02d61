/* options.c - reads the command line through getopt_long into cli_options.
 *
 * option_list.h has the options, option_values.c parses their values. */
#include <getopt.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "ops/extra/tinyort_extra.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/option_table.h"
#include "runtime/core/base/suggest.h"

/* ---- applying ---------------------------------------------------------------------------------------------------- */

void cli_texts_add(cli_texts *texts, const char *text) {
    texts->items = cli_room(texts->items, (size_t)texts->count, sizeof *texts->items);
    texts->items[texts->count++] = text;
}

/* Refuses an option that was given before, unless its values add up; a flag only says the same again. */
static tort_status check_again(const cli_option_row *row, const char *before, const char *value, tort_error *error) {
    if (row->kind == CLI_FLAG || row->kind == CLI_TEXTS || row->read == cli_read_shapes ||
        row->read == cli_read_random || row->read == cli_read_words)
        return TORT_OK;
    if (before && value && strstr(row->value, ",..."))
        return tort_fail(error, TORT_E_USAGE, "--%s is given twice; it takes one list: --%s%s%s,%s", row->name,
                         row->name, cli_value_is_optional(row) ? "=" : " ", before, value);
    return tort_fail(error, TORT_E_USAGE, "--%s is given twice, and takes one value; the second is '%s'", row->name,
                     value ? value : "");
}

static tort_status apply(cli_options *o, const cli_option_row *row, const char *value, tort_error *error) {
    const size_t image = offsetof(cli_options, image);
    void *member = (char *)o + row->member;
    if (o->given[row - cli_option_table]) {
        const char *before = row->kind == CLI_TEXT ? *(const char *const *)member : NULL;
        const tort_status status = check_again(row, before, value, error);
        if (status) return status;
    }
    o->given[row - cli_option_table] = true;
    if (!o->image.first && row->member >= image && row->member < image + sizeof o->image) o->image.first = row->name;
    switch (row->kind) {
    case CLI_FLAG: *(bool *)member = true; return TORT_OK;
    case CLI_TEXT: *(const char **)member = value ? value : "*"; return TORT_OK; /* left out: all names */
    case CLI_TEXTS: cli_texts_add(member, value); return TORT_OK;
    default: return row->read(row, value, member, error);
    }
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Error for an abbreviation of several options, such as --re; TORT_OK if the word abbreviates none. */
static tort_status ambiguous_option(const cli_command *command, const char *word, tort_error *error) {
    char list[200] = "";
    size_t length = strlen(word), used = 0;
    for (const cli_option_row *row = cli_option_table; row < cli_option_table + OPTION_COUNT; row++)
        if (row->commands & command->bit && !strncmp(row->name, word, length) && used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s--%s", used ? ", " : "", row->name);
    if (!length || !used) return TORT_OK;
    return tort_fail(error, TORT_E_USAGE, "--%s is short for several options: %s", word, list);
}

/* The new name of an option that a command had under another one; NULL if none. */
static const char *renamed_option(const cli_command *command, const char *word) {
    static const struct {
        uint32_t command;
        const char *was, *is;
    } names[] = {{CLI_CMD_RUN, "check", "expect"},
                 {CLI_CMD_PLAN, "save", "output"},
                 {CLI_CMD_PLAN, "format", "github, or --json"},
                 {CLI_CMD_COMPILE, "layout", "input-layout"},
                 {CLI_CMD_COMPILE, "stream", "bands"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (command->bit == names[i].command && !strcmp(word, names[i].was)) return names[i].is;
    return NULL;
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
    const char *renamed = renamed_option(command, word);
    if (renamed) return tort_fail(error, TORT_E_USAGE, "--%s of '%s' is now --%s", word, command->name, renamed);
    for (const cli_option_row *row = cli_option_table; row < cli_option_table + OPTION_COUNT; row++) {
        if (row->commands & command->bit) {
            if (!strcmp(word, row->name)) return tort_fail(error, TORT_E_USAGE, "--%s takes no value", word);
            names[count++] = row->name;
        } else if (row->commands && !strcmp(word, row->name))
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
    const bool writes = cli_option_table[OPTION_OUTPUT].commands & command->bit; /* with -o, as compilers */
    opterr = 0;
    for (;;) {
        int found = getopt_long(argc, argv, writes ? ":ho:" : ":h", accepted, NULL);
        if (found == -1) break;
        if (found == ':') {
            const cli_option_row *row = &cli_option_table[optopt == 'o' ? OPTION_OUTPUT : optopt - 256];
            return tort_fail(error, TORT_E_USAGE, "--%s needs a value: --%s %s; 'tinyort %s --help' says more",
                             row->name, row->name, row->value, command->name);
        }
        if (found == '?' && optopt > 0 && optopt < 256)
            return tort_fail(error, TORT_E_USAGE, "there is no option -%c; 'tinyort %s --help' lists them", optopt,
                             command->name);
        if (found == '?') return unknown_option(command, argv[optind - 1], error);
        const int id = found == 'h' ? OPTION_HELP : found == 'o' ? OPTION_OUTPUT : found - 256;
        tort_status status = apply(options, &cli_option_table[id], optarg, error);
        if (status) return status;
    }
    options->operands = argv + optind; /* getopt_long has moved them behind the options */
    options->operand_count = argc - optind;
    return TORT_OK;
}

static void free_shapes(cli_shapes *all) {
    for (int32_t i = 0; i < all->shape_count; i++) free((char *)(uintptr_t)all->shapes[i].name);
    for (int32_t i = 0; i < all->symbol_count; i++) free((char *)(uintptr_t)all->symbols[i].name);
    free(all->shapes);
    free(all->symbols);
}

tort_status cli_options_read(const cli_command *command, int argc, char **argv, cli_options *options,
                             tort_error *error) {
    *options = (cli_options){.command = command->name, .warmup = 2, .rtol = -1, .atol = -1, .operands = argv + argc};
    options->image.scale = -1;
    options->max.bounds = true;
    options->load.struct_size = sizeof options->load;
    options->load.operators = tort_extra_operators;
    options->load.operator_abi = tort_extra_abi;
    options->chains.items = cli_alloc(1, sizeof *options->chains.items);
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
    free(options->ranges);
    for (const cli_option_row *row = cli_option_table; row < cli_option_table + OPTION_COUNT; row++) {
        cli_texts *texts = (void *)((char *)options + row->member);
        if (row->kind == CLI_TEXTS) free(texts->items);
    }
}
