/* compile.h - a model compiled with the options of the command line: what `compile` writes, and `validate` expects. */
#ifndef TORT_CLI_COMPILE_H
#define TORT_CLI_COMPILE_H

#include "runtime/cli/options.h"
#include "runtime/firmware/compile/compile.h"

typedef struct cli_compilation {
    tort_model *model;
    tort_session *session;
    tort_compiled compiled;
    char *name, *chain;
} cli_compilation;

/* Checks options that can be wrong without a model, and fills the name; then compiles. The caller frees, also after a
 * failure. */
tort_status cli_compilation_check(const cli_options *options, cli_compilation *made, tort_error *error);
tort_status cli_compilation_make(cli_options *options, cli_compilation *made, tort_error *error);
void cli_compilation_free(cli_compilation *made);

#endif
