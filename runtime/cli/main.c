/* main.c - entry of the command line: finds the subcommand, reads its options, and calls it.
 *
 * runtime/cli is the only code that prints, exits or reads the environment. Read next: run.c. */
#include <signal.h>
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/core/base/suggest.h"

static const cli_command *find_command(const char *word) {
    for (const cli_command *command = cli_commands; command->name; command++)
        if (!strcmp(word, command->name)) return command;
    return NULL;
}

/* The command that others call so; NULL: none. */
static const char *command_elsewhere(const char *word) {
    static const struct {
        const char *word, *command;
    } words[] = {{"benchmark", "bench"},
                 {"perf", "bench"},
                 {"profile", "bench MODEL --profile"},
                 {"diff", "compare"},
                 {"optimize", "plan MODEL --optimized OUT.onnx"},
                 {"simplify", "plan MODEL --optimized OUT.onnx"},
                 {"view", "plan MODEL --html FILE"},
                 {"show", "inspect"},
                 {"info", "inspect"},
                 {"infer", "run"},
                 {"predict", "run"},
                 {"export", "compile"},
                 {"codegen", "compile"},
                 {"validate", "test"},
                 {"verify", "test"},
                 {"placement", "plan"},
                 {"devices", "providers"},
                 {"operators", "ops"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(word, words[i].word)) return words[i].command;
    return NULL;
}

static bool looks_like_a_model(const char *text) {
    size_t length = strlen(text);
    return length > 5 && strcmp(text + length - 5, ".onnx") == 0;
}

static int unknown_command(const char *word) {
    const char *names[32] = {"--version", "--help", "help"};
    size_t count = 3;
    for (const cli_command *command = cli_commands; command->name && count < 32; command++)
        names[count++] = command->name;
    char hint[100];
    const char *elsewhere = command_elsewhere(word);
    if (elsewhere)
        cli_print(stderr, "tinyort: there is no command '%s'; did you mean '%s'?\n", word, elsewhere);
    else if (looks_like_a_model(word))
        cli_print(stderr, "tinyort: say what to do with the model: 'tinyort run %s' or 'tinyort inspect %s'\n", word,
                  word);
    else
        cli_print(stderr, "tinyort: there is no command '%s'%s\n", word,
                  *tort_did_you_mean(word, names, count, hint, sizeof hint) ? hint : "; 'tinyort' alone lists them");
    return CLI_USAGE;
}

/* A failed write to stdout is a failure of the command, unless the reader of a pipe has closed it. */
static int check_output(const cli_command *command, int result) {
    bool reader_gone;
    if (cli_flush(&reader_gone)) return result;
    if (reader_gone) return CLI_READER_GONE;
    cli_print(stderr, "tinyort %s: the output could not be written\n", command->name);
    return result == CLI_OK ? CLI_FAILED : result;
}

static int run_command(const cli_command *command, int argc, char **argv) {
    cli_options options;
    tort_error error = {0};
    int result = CLI_OK;
    cli_json_start();
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--json"))
            cli_memory_json(command->name); /* before options are read, which takes memory */
    if (cli_options_read(command, argc, argv, &options, &error))
        result = cli_end_plain(&options, &error, NULL);
    else if (options.help)
        cli_print_usage(command);
    else
        result = command->run(&options);
    cli_options_free(&options);
    return check_output(command, result);
}

int main(int argc, char **argv) {
    signal(SIGXFSZ, SIG_IGN); /* a file beyond ulimit -f is then a write that fails, which is told */
    if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        const cli_command *command = argc > 2 ? find_command(argv[2]) : NULL;
        if (argc > 2 && !command) return unknown_command(argv[2]);
        if (command)
            cli_print_usage(command);
        else
            cli_print_summary();
        return check_output(&cli_commands[0], CLI_OK);
    }
    const cli_command *command = find_command(!strcmp(argv[1], "--version") ? "version" : argv[1]);
    return command ? run_command(command, argc - 1, argv + 1) : unknown_command(argv[1]);
}
