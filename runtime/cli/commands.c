/* commands.c - the subcommands, and the page that lists them. */
#include "runtime/cli/cli.h"

const cli_command cli_commands[] = {
    {"run", CLI_CMD_RUN, "MODEL", "Runs a model once, and reports where every node ran.", cli_run},
    {"plan", CLI_CMD_PLAN, "MODEL", "Shows where every node would run, and why; nothing is run.", cli_plan},
    {"providers", CLI_CMD_PROVIDERS, "", "Lists the providers and whether they open here, with cause and cure.",
     cli_providers},
    {"inspect", CLI_CMD_INSPECT, "MODEL", "Shows what a model is: inputs, outputs, operators, parameters, FLOPs.",
     cli_inspect},
    {"ops", CLI_CMD_OPS, "[OPERATOR]", "Lists operators and which providers run them, or one in full.", cli_ops},
    {"test", CLI_CMD_TEST, "DIR...", "Runs ONNX test directories: model.onnx and test_data_set_N.", cli_test},
    {"compare", CLI_CMD_COMPARE, "MODEL...", "Compares two chains, or two models: the first node that differs.",
     cli_compare},
    {"extract", CLI_CMD_EXTRACT, "MODEL", "Writes a part of a model, with its inputs, as a model of its own.",
     cli_extract},
    {"reduce", CLI_CMD_REDUCE, "MODEL", "Writes the smallest part that two chains compute differently.", cli_reduce},
    {"bench", CLI_CMD_BENCH, "MODEL", "Measures the latency of a model; Ctrl-C ends it early.", cli_bench},
    {"compile", CLI_CMD_COMPILE, "MODEL", "Writes a model as C99 files for firmware, which need no library.",
     cli_compile},
    {"version", CLI_CMD_VERSION, "", "Describes this build: commit, compiler, instruction sets, opsets.", cli_version},
    {"schema", CLI_CMD_SCHEMA, "", "Prints the JSON schema of the output of every command with --json.", cli_schema},
    {0},
};

void cli_print_summary(void) {
    cli_print(stdout, "tinyort %s: %s\n\n", TORT_VERSION, CLI_WHAT_IT_IS);
    for (const cli_command *command = cli_commands; command->name; command++) {
        char left[32];
        snprintf(left, sizeof left, "%s %s", command->name, command->operands);
        cli_print(stdout, "  tinyort %-16s %s\n", left, command->summary);
    }
    cli_print(stdout, "\n'tinyort COMMAND --help' lists the options. A first try:\n" CLI_FIRST_TRY
                      "Exit status: " CLI_EXIT_STATUSES);
}
