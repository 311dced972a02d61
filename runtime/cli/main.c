/* main.c - entry of the command line: finds the subcommand, reads its options, and calls it.
 *
 * runtime/cli is the only code that prints, exits or reads the environment. Read next: run.c. */
#include <signal.h>
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/base/suggest.h"

static const cli_command commands[] = {
    {"run", CLI_CMD_RUN, "MODEL", "Runs a model once, and reports where every node ran.", cli_run},
    {"plan", CLI_CMD_PLAN, "MODEL", "Shows where every node would run, and why; nothing is run.", cli_plan},
    {"providers", CLI_CMD_PROVIDERS, "",
     "Lists the providers of this build, and whether they open here, with cause and cure.", cli_providers},
    {"inspect", CLI_CMD_INSPECT, "MODEL", "Shows what a model is: inputs, outputs, operators, parameters, FLOPs.",
     cli_inspect},
    {"ops", CLI_CMD_OPS, "[OPERATOR]", "Lists operators and which providers run them; or one operator in full.",
     cli_ops},
    {"test", CLI_CMD_TEST, "DIR...", "Runs ONNX test directories: model.onnx and test_data_set_N.", cli_test},
    {"compare", CLI_CMD_COMPARE, "MODEL [OTHER]",
     "Compares two chains (--ep A --ep B), or two models: the first node that differs.", cli_compare},
    {"extract", CLI_CMD_EXTRACT, "MODEL",
     "Writes a part of a model, with its inputs, as a model: --from and --to values.", cli_extract},
    {"reduce", CLI_CMD_REDUCE, "MODEL", "Writes the smallest part of a model that two chains compute differently.",
     cli_reduce},
    {"bench", CLI_CMD_BENCH, "MODEL", "Measures the latency of a model; Ctrl-C ends it early.", cli_bench},
    {"compile", CLI_CMD_COMPILE, "MODEL", "Writes a model as C99 files for firmware, which need no library.",
     cli_compile},
    {"version", CLI_CMD_VERSION, "", "Describes this build: commit, compiler, instruction sets, opsets.", cli_version},
    {"schema", CLI_CMD_SCHEMA, "", "Prints the JSON schema of the output of every command with --json.", cli_schema},
};

#define COMMAND_COUNT (sizeof commands / sizeof *commands)

static void print_summary(void) {
    cli_print(stdout, "tinyort %s: runs ONNX models, and reports where every node ran and why\n\n", TORT_VERSION);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        char left[32];
        snprintf(left, sizeof left, "%s %s", commands[i].name, commands[i].operands);
        cli_print(stdout, "  tinyort %-14s %s\n", left, commands[i].summary);
    }
    cli_print(stdout,
              "\n'tinyort COMMAND --help' lists the options. A first try:\n"
              "  tinyort inspect model.onnx\n"
              "  tinyort run model.onnx --ep cuda,cpu --random 1\n"
              "Exit status: 0 success, 1 a bug in tinyort, 2 usage, 3 bad model or input, 4 placement refused,\n"
              "5 failed while running, 130 interrupted.\n");
}

static const cli_command *find_command(const char *word) {
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (!strcmp(word, commands[i].name)) return &commands[i];
    return NULL;
}

static bool looks_like_a_model(const char *text) {
    size_t length = strlen(text);
    return length > 5 && strcmp(text + length - 5, ".onnx") == 0;
}

static int unknown_command(const char *word) {
    static const char *const others[] = {"--version", "--help", "help"};
    const char *names[COMMAND_COUNT + 3];
    for (size_t i = 0; i < COMMAND_COUNT; i++) names[i] = commands[i].name;
    for (size_t i = 0; i < 3; i++) names[COMMAND_COUNT + i] = others[i];
    char hint[100];
    if (looks_like_a_model(word))
        cli_print(stderr, "tinyort: say what to do with the model: 'tinyort run %s' or 'tinyort inspect %s'\n", word,
                  word);
    else
        cli_print(stderr, "tinyort: there is no command '%s'%s\n", word,
                  *tort_did_you_mean(word, names, COMMAND_COUNT + 3, hint, sizeof hint)
                      ? hint
                      : "; 'tinyort' alone lists them");
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
            print_summary();
        return check_output(&commands[0], CLI_OK);
    }
    const cli_command *command = find_command(!strcmp(argv[1], "--version") ? "version" : argv[1]);
    return command ? run_command(command, argc - 1, argv + 1) : unknown_command(argv[1]);
}
