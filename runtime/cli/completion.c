/* completion.c - `tinyort completion SHELL`: the script of completion/ for a shell, with a table of all commands and
 * options in place of its @TABLE@. */
#include <stdlib.h>
#include <string.h>

#include "runtime/core/base/build.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/option_table.h"
#include "runtime/include/provider.h"
#include "runtime/core/base/suggest.h"

static const char *const bash[] = {
#include "runtime/cli/completion/tinyort.bash.inc"
    NULL};
static const char *const zsh[] = {
#include "runtime/cli/completion/tinyort.zsh.inc"
    NULL};
static const char *const fish[] = {
#include "runtime/cli/completion/tinyort.fish.inc"
    NULL};

enum { SHELLS = 3 };
static const char *const shell_names[SHELLS] = {"bash", "zsh", "fish"};
static const char *const *const shell_scripts[SHELLS] = {bash, zsh, fish};

/* ---- what an argument may be ------------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end) {
    const size_t length = strlen(text), tail = strlen(end);
    return length >= tail && !strcmp(text + length - tail, end);
}

/* The argument is named as in the help. */
static bool names_providers(const char *argument) {
    return !strcmp(argument, "CHAIN") || ends_with(argument, "EP") || ends_with(argument, "EP,...");
}

static void add_word(char **list, const char *word) {
    cli_append(list, "%s%s", **list ? "|" : "", word);
}

/* FILE, MODEL or DIR; words such as "npy|pb"; or "-": it cannot be completed. `words`: NULL, or those of the option's
 * row. The caller frees. */
static char *what_it_is(const char *argument, const char *words) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789|";
    char *list = cli_copy_text("", 0);
    const char *word = argument + strspn(argument, "[="); /* of "[=all]" too */
    const size_t length = strspn(word, letters);
    if (words)
        cli_append(&list, "%s", words);
    else if (length && strspn(word + length, "]") == strlen(word + length))
        cli_append(&list, "%.*s", (int)length, word);
    else if (names_providers(argument))
        for (const tort_provider *const *row = tort_build.providers; *row; row++) add_word(&list, (*row)->name);
    else if (!strcmp(argument, "SHELL"))
        for (int i = 0; i < SHELLS; i++) add_word(&list, shell_names[i]);
    else if (!strcmp(argument, "COMMAND"))
        for (const cli_command *command = cli_commands; command->name; command++) add_word(&list, command->name);
    else if (ends_with(argument, "FILE") || !strcmp(argument, "OUT.onnx"))
        cli_append(&list, "FILE");
    else
        cli_append(&list, "%s", !strcmp(argument, "MODEL") ? "MODEL" : strstr(argument, "DIR") ? "DIR" : "-");
    return list;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

/* Prints a text that stands between single quotes, whichever of the three shells it is. */
static void print_quoted(const char *text) {
    for (size_t length; text[length = strcspn(text, "'")]; text += length + 1)
        cli_print(stdout, "%.*s'\\''", (int)length, text);
    cli_print(stdout, "%s", text);
}

/* A line of the table, with "-" for what there is not. What is completed begins behind the separator: a ',' in a list,
 * a '=' in "NODE=EP". */
static void print_row(const char *command, const char *name, const char *argument, const char *words,
                      const char *help) {
    const char separator = strchr(argument + strspn(argument, "[="), '=') ? '=' : names_providers(argument) ? ',' : '-';
    char *what = what_it_is(argument, words);
    cli_print(stdout, "%s\t%s\t%s\t%c\t%s\t", command, name, *argument ? argument : "-", separator, what);
    print_quoted(help);
    cli_print(stdout, "\n");
    free(what);
}

static void print_table(void) {
    for (const cli_command *command = cli_commands; command->name; command++)
        print_row("tinyort", command->name, command->operands, NULL, command->summary);
    print_row("tinyort", "help", "COMMAND", NULL, "Describes a command and its options.");
    for (const cli_command *command = cli_commands; command->name; command++)
        for (const cli_option_row *row = cli_option_table; row < cli_option_table + OPTION_COUNT; row++) {
            if (!(row->commands & command->bit)) continue;
            char *name = cli_format("--%s", row->name);
            print_row(command->name, name, row->value ? row->value : "", row->words, row->help);
            free(name);
        }
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static void print_script(const char *const *lines) {
    static const char place[] = "@TABLE@";
    for (; *lines; lines++) {
        const char *at = strstr(*lines, place);
        cli_print(stdout, "%.*s", (int)(at ? (size_t)(at - *lines) : strlen(*lines)), *lines);
        if (at) print_table();
        cli_print(stdout, "%s\n", at ? at + strlen(place) : "");
    }
}

int cli_completion(cli_options *options) {
    tort_error error = {0};
    const char *shell = options->operands[0];
    char hint[80];
    int i = 0;
    while (i < SHELLS && strcmp(shell, shell_names[i]) != 0) i++;
    if (options->operand_count > 1)
        tort_fail(&error, TORT_E_USAGE, "one shell at a time: '%s' is one too many", options->operands[1]);
    else if (i == SHELLS)
        tort_fail(&error, TORT_E_USAGE, "there is a script for bash, zsh and fish, not for '%s'%s", shell,
                  tort_did_you_mean(shell, shell_names, SHELLS, hint, sizeof hint));
    else
        print_script(shell_scripts[i]);
    return cli_end_plain(options, &error, NULL);
}
