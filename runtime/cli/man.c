/* man.c - `tinyort man`: the manual page tinyort(1) in roff, from the tables of commands and options. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/option_table.h"

/* Prints text as roff, which reads '\' as the start of an escape, a '.' or ''' that begins a line as the start of a
 * request, and turns plain '-', '^', '~', '`' into typographic forms that cannot be typed. */
static void print_text(const char *text) {
    static const struct {
        char character;
        const char *escape;
    } escapes[] = {{'\\', "\\e"}, {'-', "\\-"}, {'\'', "\\(aq"}, {'^', "\\(ha"}, {'~', "\\(ti"}, {'`', "\\(ga"}};
    bool begins = true;
    for (; *text; text++) {
        const char *escape = NULL;
        for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++)
            if (*text == escapes[i].character) escape = escapes[i].escape;
        if (*text == '\n')
            cli_print(stdout, "\n");
        else if (escape)
            cli_print(stdout, "%s", escape);
        else
            cli_print(stdout, "%s%c", begins && *text == '.' ? "\\&" : "", *text);
        begins = *text == '\n';
    }
}

/* A paragraph whose tag is a word in bold and its argument in italics, with `between` between them. */
static void print_tag(const char *word, const char *between, const char *argument) {
    cli_print(stdout, ".TP\n\\fB");
    print_text(word);
    cli_print(stdout, "\\fR%s\\fI", between);
    print_text(argument);
    cli_print(stdout, "\\fR\n");
}

static void print_commands(void) {
    cli_print(stdout, ".SH COMMANDS\n");
    for (const cli_command *command = cli_commands; command->name; command++) {
        print_tag(command->name, *command->operands ? " " : "", command->operands);
        print_text(command->summary);
        cli_print(stdout, "\n");
    }
    cli_print(stdout, ".PP\n\\fBtinyort\\fR \\fICOMMAND\\fR \\fB\\-\\-help\\fR lists the options of a command.\n");
}

static void print_takers(uint32_t takers) {
    const char *before = "Of";
    for (const cli_command *command = cli_commands; command->name; command++) {
        if (!(takers & command->bit)) continue;
        cli_print(stdout, "%s \\fB%s\\fR", before, command->name);
        before = ",";
    }
    cli_print(stdout, ".\n");
}

static void print_options(void) {
    cli_print(stdout, ".SH OPTIONS\n");
    for (const cli_option_row *row = cli_option_table; row < cli_option_table + OPTION_COUNT; row++) {
        if (!row->commands) {
            cli_print(stdout, ".SS ");
            print_text(row->help);
            cli_print(stdout, "\n");
            continue;
        }
        char *name = cli_format("--%s", row->name);
        print_tag(name, row->value && !cli_value_is_optional(row) ? " " : "", row->value ? row->value : "");
        free(name);
        print_text(row->help);
        cli_print(stdout, "\n.br\n");
        print_takers(row->commands);
    }
}

static void print_provider_options(void) {
    cli_print(stdout, ".SH OPTIONS OF PROVIDERS\n"
                      "As in \\fB\\-\\-ep cuda:device=1:mem_limit=2G,cpu:threads=4\\fR.\n");
    for (const cli_provider_option *option = cli_provider_options; option->key; option++) {
        if (!cli_build_has(option)) continue;
        char *word = cli_format("%s:%s=", option->provider, option->key);
        print_tag(word, "", option->example);
        free(word);
        print_text(option->help);
        cli_print(stdout, "\n");
    }
}

int cli_man(cli_options *options) {
    cli_print(stdout, ".TH TINYORT 1 \"\" \"tinyort %s\" \"User Commands\"\n.SH NAME\ntinyort \\- ", TORT_VERSION);
    print_text(CLI_WHAT_IT_IS);
    cli_print(stdout, "\n.SH SYNOPSIS\n\\fBtinyort\\fR \\fICOMMAND\\fR [\\fIoption\\fR]...\n");
    print_commands();
    print_options();
    print_provider_options();
    cli_print(stdout, ".SH ENVIRONMENT\n");
    print_tag("TINYORT_DISABLE=", "", "cuda,...");
    print_text(CLI_DISABLE_HELP);
    cli_print(stdout, "\n.SH EXIT STATUS\n");
    print_text(CLI_EXIT_STATUSES);
    cli_print(stdout, ".SH EXAMPLES\n.nf\n");
    print_text(CLI_FIRST_TRY);
    cli_print(stdout, ".fi\n");
    return cli_end_plain(options, &(tort_error){.code = TORT_OK}, NULL);
}
