/* option_checks.c - refuses options that would have no effect, and says what to do instead.
 *
 * These checks need no model; inputs.c and opening.c check what only the model can tell. */
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/core/base/ascii.h"
#include "runtime/core/base/build.h"
#include "runtime/include/provider.h"
#include "runtime/cli/option_table.h"

static const struct {
    cli_option option, needed;
    const char *text;
} needs[] = {
    {OPTION_LABELS, OPTION_TOP, "names the entries that --top lists: add --top 5"},
    {OPTION_FORMAT, OPTION_SAVE, "is that of the files which --save writes: add --save DIR"},
    {OPTION_GITHUB, OPTION_CHECK, "is a form of what --check finds: add --check FILE"},
    {OPTION_ALLOW, OPTION_STRICT, "excuses operators from --strict: add --strict"},
    {OPTION_TRACE, OPTION_PROFILE, "is that of the runs which --profile observes: add --profile"},
    {OPTION_PROFILE_HTML, OPTION_PROFILE, "shows the time that --profile measures: add --profile"},
    {OPTION_TRUTH, OPTION_DATA, "labels samples: add --data FOLDER"},
    {OPTION_BLOCK, OPTION_WEIGHT_TYPE, "is that of matrices alone: add --weight-type int4"},
    {OPTION_MISSING, OPTION_EP, "lists what providers lack: say which, as in --ep cuda"},
};

static const struct {
    cli_option option, other;
    const char *text;
} excludes[] = {
    {OPTION_SECONDS, OPTION_REPEAT, "both say how long to measure: take one of them"},
    {OPTION_PROFILE, OPTION_CONTEXTS, "observes one context alone: leave --contexts out"},
    {OPTION_SWEEP, OPTION_PROFILE, "is a table of whole runs: profile one size alone"},
    {OPTION_SHAPES_ONLY, OPTION_RTOL, "compares no values, so a tolerance has no effect"},
    {OPTION_SHAPES_ONLY, OPTION_ATOL, "compares no values, so a tolerance has no effect"},
    {OPTION_ONLY, OPTION_JSON, "is for the table: the JSON has every node"},
    {OPTION_FULL, OPTION_JSON, "is for the table: the JSON has all there is"},
    {OPTION_MISSING, OPTION_JSON, "is for the table: the JSON has every operator"},
    {OPTION_MISSING, OPTION_FUSIONS, "are two tables: take one of them"},
    {OPTION_EP, OPTION_FUSIONS, "would change nothing: fusions are the same for all"},
    {OPTION_DATA, OPTION_RANDOM, "both say what the model is run on: take one of them"},
    {OPTION_LOCK, OPTION_CHECK, "would write what is compared with: take one of them"},
    {OPTION_OPEN, OPTION_PLAN, "changes nothing: the saved plan has settled its inputs when it was made"},
    {OPTION_EXPECT, OPTION_PLAN, "looks at nodes, which a saved plan has folded and fused"},
    {OPTION_STATS, OPTION_PLAN, "looks at nodes, which a saved plan has folded and fused"},
    {OPTION_DUMP, OPTION_PLAN, "looks at nodes, which a saved plan has folded and fused"},
    {OPTION_OPTIMIZED, OPTION_PLAN, "would write a model, which a saved plan is not"},
    {OPTION_GITHUB, OPTION_JSON, "are two forms: take one of them"},
    {OPTION_CHECK, OPTION_ONLY, "lists what has moved, not the nodes"},
    {OPTION_CHECK, OPTION_FULL, "lists what has moved, not the nodes"},
    {OPTION_OPS, OPTION_JSON, "is a file for make: the JSON has the operators, too"},
    {OPTION_OPS, OPTION_NODES_TOO, "are two lists: take one of them"},
    {OPTION_OPS, OPTION_SHAPE, "would change nothing: it lists names alone"},
    {OPTION_OPS, OPTION_WIDTH, "would change nothing: it lists names alone"},
    {OPTION_WEIGHT_TYPE, OPTION_DYNAMIC, "are two ways: take one of them"},
    {OPTION_WEIGHT_TYPE, OPTION_SCHEME, "has no effect: values stay float32"},
    {OPTION_WEIGHT_TYPE, OPTION_MAX_ERROR, "would keep nothing: --keep NODE names what stays float32"},
    {OPTION_WEIGHT_TYPE, OPTION_MIN_AGREEMENT, "would keep nothing: --keep NODE names what stays float32"},
    {OPTION_WEIGHT_TYPE, OPTION_MAX_BYTES, "would keep nothing: --keep NODE names what stays float32"},
    {OPTION_WEIGHT_TYPE, OPTION_QUICK, "has no effect: units are not measured one by one"},
    {OPTION_DYNAMIC, OPTION_DATA, "has no use for it: each run finds the ranges of its values"},
    {OPTION_DYNAMIC, OPTION_SCHEME, "has no effect: there is one way to write it"},
    {OPTION_DYNAMIC, OPTION_MAX_ERROR, "measures no error: --keep NODE names what stays float32"},
    {OPTION_DYNAMIC, OPTION_MIN_AGREEMENT, "measures no error: --keep NODE names what stays float32"},
    {OPTION_DYNAMIC, OPTION_MAX_BYTES, "would keep nothing: --keep NODE names what stays float32"},
    {OPTION_DYNAMIC, OPTION_QUICK, "has no effect: units are not measured one by one"},
    {OPTION_WIDTH, OPTION_JSON, "is for tables: JSON has no width"},
    {OPTION_OUTPUT, OPTION_TARGET, "would save weights that no device has packed: make it on that device"},
};

/* Options that are fixed once a plan is saved. */
static const cli_option settled[] = {
    OPTION_REQUIRE,   OPTION_STRICT, OPTION_STRICT_INTEGERS, OPTION_ALLOW,       OPTION_PIN,
    OPTION_NO_FUSION, OPTION_BIND,   OPTION_ASSUME_OPSET,    OPTION_ALLOW_LINKS, OPTION_MAX};

static tort_status check_pairs(const cli_options *options, tort_error *error) {
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (cli_is_given(options, needs[i].option) && !cli_is_given(options, needs[i].needed))
            return tort_fail(error, TORT_E_USAGE, "--%s %s", cli_option_table[needs[i].option].name, needs[i].text);
    for (size_t i = 0; i < sizeof excludes / sizeof *excludes; i++)
        if (cli_is_given(options, excludes[i].option) && cli_is_given(options, excludes[i].other))
            return tort_fail(error, TORT_E_USAGE, "--%s beside --%s %s", cli_option_table[excludes[i].option].name,
                             cli_option_table[excludes[i].other].name, excludes[i].text);
    if (options->contexts > CLI_MAX_CONTEXTS)
        return tort_fail(error, TORT_E_USAGE, "--contexts %d: at most %d", options->contexts, CLI_MAX_CONTEXTS);
    for (size_t i = 0; options->plan && i < sizeof settled / sizeof *settled; i++)
        if (cli_is_given(options, settled[i]))
            return tort_fail(error, TORT_E_USAGE, "--%s beside --plan: the saved plan has settled it, when it was made",
                             cli_option_table[settled[i]].name);
    return TORT_OK;
}

/* Says what onnxruntime's names of providers mean here. */
static void tell_names(const char *chain) {
    static const char suffix[] = "ExecutionProvider";
    for (const char *at = strstr(chain, suffix); at; at = strstr(at + 1, suffix)) {
        const char *name = at;
        while (name > chain && !strchr(", :", name[-1])) name--;
        for (const tort_provider *const *p = tort_build.providers; *p; p++)
            if (strlen((*p)->name) == (size_t)(at - name) && tort_same_start(name, (*p)->name, (size_t)(at - name)))
                cli_print(stderr, "%.*s%s is onnxruntime's name of %s\n", (int)(at - name), name, suffix, (*p)->name);
    }
}

static tort_status check_chains(const cli_command *command, const cli_options *options, tort_error *error) {
    if (command->bit == CLI_CMD_COMPARE && options->against)
        return options->chains.count < 2 && options->operand_count < 2
                   ? TORT_OK
                   : tort_fail(error, TORT_E_USAGE, "--against compares one run with files: one model, one --ep");
    if (command->bit == CLI_CMD_COMPARE && options->operand_count > 1 && options->chains.count <= 2) return TORT_OK;
    if ((command->bit == CLI_CMD_EXTRACT || command->bit == CLI_CMD_REDUCE) && !options->output)
        return tort_fail(error, TORT_E_USAGE, "tell where the part goes: -o FILE.onnx");
    if (options->block & (options->block - 1))
        return tort_fail(error, TORT_E_USAGE, "--block %d: a power of two is needed, as in --block 32", options->block);
    if (command->bit == CLI_CMD_QUANTIZE && !options->data && !options->weight_type && !options->dynamic)
        return tort_fail(error, TORT_E_USAGE, "tell what the model will see: --data FOLDER");
    if (command->bit == CLI_CMD_CONVERT && !options->type)
        return tort_fail(error, TORT_E_USAGE, "tell what floats become: --to float16, bfloat16 or float32");
    if (command->bit & (CLI_CMD_QUANTIZE | CLI_CMD_CONVERT) && !options->output)
        return tort_fail(error, TORT_E_USAGE, "tell where the model goes: -o FILE.onnx");
    if (command->bit == CLI_CMD_EXTRACT && !options->to.count)
        return tort_fail(error, TORT_E_USAGE, "tell what the part makes: --to VALUE");
    if ((command->bit == CLI_CMD_COMPARE || command->bit == CLI_CMD_REDUCE) && options->chains.count != 2)
        return tort_fail(error, TORT_E_USAGE,
                         "it compares two chains, each by an --ep of its own (--ep cuda --ep cpu); %d given",
                         options->chains.count);
    const bool several = command->bit & (CLI_CMD_COMPARE | CLI_CMD_REDUCE | CLI_CMD_BENCH);
    if (command->bit == CLI_CMD_BENCH && options->chains.count > 1 && cli_is_given(options, OPTION_PROFILE))
        return tort_fail(error, TORT_E_USAGE, "--profile observes one chain alone, and --ep is given %d times",
                         options->chains.count);
    if (!several && options->chains.count > 1)
        return tort_fail(error, TORT_E_USAGE, "--ep is given %d times; a chain is one list: --ep %s,%s",
                         options->chains.count, options->chains.items[0], options->chains.items[1]);
    return TORT_OK;
}

static tort_status check_operands(const cli_command *command, const cli_options *options, tort_error *error) {
    if (!*command->operands && options->operand_count)
        return tort_fail(error, TORT_E_USAGE, "'%s' takes no operand, but got '%s'", command->name,
                         options->operands[0]);
    if (options->plan && options->operand_count)
        return tort_fail(error, TORT_E_USAGE, "--plan is in place of a model: '%s' is one too many",
                         options->operands[0]);
    if (options->plan) return TORT_OK;
    if (*command->operands == '[' && options->operand_count > 1)
        return tort_fail(error, TORT_E_USAGE, "one operator at a time: '%s' is one too many", options->operands[1]);
    if (*command->operands == '[' && options->operand_count && (options->missing || options->fusions))
        return tort_fail(error, TORT_E_USAGE, "--%s is for all operators: leave '%s' out",
                         options->missing ? "missing" : "fusions", options->operands[0]);
    if (*command->operands == '[') return TORT_OK;
    if (*command->operands && !options->operand_count)
        return tort_fail(error, TORT_E_USAGE, "tell it which %s: 'tinyort %s %s'; --help says more", command->operands,
                         command->name, command->operands);
    const bool models = !strncmp(command->operands, "MODEL", 5);
    const int32_t max = command->bit == CLI_CMD_COMPARE ? 2 : 1;
    if (models && options->operand_count > max)
        return tort_fail(error, TORT_E_USAGE, "%s at a time: '%s' is one too many (inputs go by --input)",
                         max > 1 ? "two models" : "one model", options->operands[max]);
    if (models && !strcmp(options->operands[0], "-"))
        return tort_fail(error, TORT_E_USAGE, "a model is read from a file, not from standard input");
    return TORT_OK;
}

/* Refuses an option that says two things of one name: --pin conv=cpu --pin conv=cuda. */
static tort_status check_twice(cli_option id, const cli_texts *texts, tort_error *error) {
    for (int32_t i = 0; i < texts->count; i++)
        for (int32_t k = 0; k < i; k++) {
            const char *a = texts->items[k], *b = texts->items[i], *end = strrchr(b, '=');
            if (end && strcmp(a, b) != 0 && !strncmp(a, b, (size_t)(end + 1 - b)) && !strchr(a + (end + 1 - b), '='))
                return tort_fail(error, TORT_E_USAGE, "--%s says two things of one name: '%s' and '%s'",
                                 cli_option_table[id].name, a, b);
        }
    return TORT_OK;
}

/* Refuses a list such as "," that has no name. */
static tort_status check_lists(const cli_options *options, tort_error *error) {
    for (const cli_option_row *row = cli_option_table; row < cli_option_table + OPTION_COUNT; row++) {
        const void *member = (const char *)options + row->member;
        const char *list = row->kind == CLI_TEXT && strstr(row->value, ",...") ? *(const char *const *)member : NULL;
        if (list && !list[strspn(list, ",")])
            return tort_fail(error, TORT_E_USAGE, "--%s wants %s, and '%s' has no name", row->name, row->value, list);
    }
    return TORT_OK;
}

tort_status cli_options_check(const cli_command *command, const cli_options *options, tort_error *error) {
    if (options->help) return TORT_OK;
    for (int32_t i = 0; i < options->chains.count; i++) tell_names(options->chains.items[i]);
    tort_status status = check_operands(command, options, error);
    if (!status) status = check_chains(command, options, error);
    if (!status) status = check_lists(options, error);
    if (!status) status = check_twice(OPTION_PIN, &options->pins, error);
    if (!status) status = check_twice(OPTION_BIND, &options->bindings, error);
    return status ? status : check_pairs(options, error);
}
