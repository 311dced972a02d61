/* main.c - the command line's entry: finds the subcommand, reads its options, and hands over.
 *
 * runtime/cli is the only code that prints, exits, reads the environment or decodes images. Read next: run.c. */
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/suggest.h"

static const cli_command commands[] = {
    {"run", CLI_CMD_RUN, "MODEL", "Runs a model once, and says where every node ran.", cli_run},
    {"plan", CLI_CMD_PLAN, "MODEL", "Shows where every node would run, and why; nothing is run.", cli_plan},
    {"providers", CLI_CMD_PROVIDERS, "", "Shows what is in this build and what opens here, with cause and cure.",
     cli_providers},
    {"inspect", CLI_CMD_INSPECT, "MODEL", "Shows what a model is: inputs, outputs, operators, parameters, FLOPs.",
     cli_inspect},
    {"ops", CLI_CMD_OPS, "", "Lists the operators of this build and their versions.", cli_ops},
    {"test", CLI_CMD_TEST, "DIR...", "Runs ONNX test directories: model.onnx and test_data_set_N.", cli_test},
    {"compare", CLI_CMD_COMPARE, "MODEL", "Runs a model on two chains (--ep A --ep B): the first node that differs.",
     cli_compare},
    {"bench", CLI_CMD_BENCH, "MODEL", "Measures the latency of a model.", cli_bench},
};

#define COMMAND_COUNT (sizeof commands / sizeof *commands)

static void print_summary(void) {
    printf("tinyort %s: runs ONNX models, and says where every node ran and why\n\n", TORT_VERSION);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        char left[32];
        snprintf(left, sizeof left, "%s %s", commands[i].name, commands[i].operands);
        printf("  tinyort %-14s %s\n", left, commands[i].summary);
    }
    printf("\n'tinyort COMMAND --help' lists the options. A first try:\n"
           "  tinyort inspect model.onnx\n"
           "  tinyort run model.onnx --ep cuda,cpu --random 1\n");
}

static bool looks_like_a_model(const char *text) {
    size_t length = strlen(text);
    return length > 5 && strcmp(text + length - 5, ".onnx") == 0;
}

static int unknown_command(const char *word) {
    const char *names[COMMAND_COUNT];
    for (size_t i = 0; i < COMMAND_COUNT; i++) names[i] = commands[i].name;
    char hint[100];
    if (looks_like_a_model(word))
        fprintf(stderr, "tinyort: say what to do with the model: 'tinyort run %s' or 'tinyort inspect %s'\n", word,
                word);
    else
        fprintf(stderr, "tinyort: there is no command '%s'%s; 'tinyort' alone lists them\n", word,
                tort_did_you_mean(word, names, COMMAND_COUNT, hint, sizeof hint));
    return CLI_USAGE;
}

static int run_command(const cli_command *command, int argc, char **argv) {
    cli_options options;
    tort_error error = {0};
    int result = CLI_OK;
    if (cli_options_read(command, argc, argv, &options, &error))
        result = cli_fail(command->name, &error);
    else if (options.help)
        cli_print_usage(command);
    else
        result = command->run(&options);
    cli_options_free(&options);
    if ((fflush(stdout) != 0 || ferror(stdout)) && result == CLI_OK) {
        fprintf(stderr, "tinyort %s: the output could not be written\n", command->name);
        result = CLI_FAILED;
    }
    return result;
}

int main(int argc, char **argv) {
    if (argc < 2 || !strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
        print_summary();
        return CLI_OK;
    }
    if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "version")) {
        printf("tinyort %s\n", TORT_VERSION);
        return CLI_OK;
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (!strcmp(argv[1], commands[i].name)) return run_command(&commands[i], argc - 1, argv + 1);
    return unknown_command(argv[1]);
}
