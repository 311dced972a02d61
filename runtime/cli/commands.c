/* commands.c - the subcommands, and the page that lists them. */
#include "runtime/cli/cli.h"

const cli_command cli_commands[] = {
#define COMMAND(number, name, operands, summary) {#name, CLI_CMD_##number, operands, summary, cli_##name},
#include "runtime/cli/command_list.h"
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
