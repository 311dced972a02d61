/* against.h - the folder of `compare --against`: files of values, by name or as outputs by number. */
#ifndef TORT_CLI_AGAINST_H
#define TORT_CLI_AGAINST_H

#include "runtime/cli/options.h"

typedef struct cli_against_file {
    char *name; /* "logits.npy" */
    bool taken;
} cli_against_file;

typedef struct cli_against {
    const char *folder;
    cli_against_file *files;
    int32_t count;
    bool by_name; /* index.tsv of --dump is there: output_0.npy is the value 'output_0', not the first output */
} cli_against;

/* Lists the .npy and .pb of a folder, which is borrowed. TORT_E_INPUT if it cannot be read, or has none. The caller
 * frees, also after a failure. */
tort_status cli_against_open(const char *folder, cli_against *against, tort_error *error);
void cli_against_free(cli_against *against);
/* The path of the file of a value or, if `output` is not negative, of the model's output of this number, as `run
 * --save` writes it. The caller frees; NULL: there is none. */
char *cli_against_take(cli_against *against, const char *value, int32_t output);
/* "logit.npy, x.npy and 3 more": the files that no value has taken. The caller frees; NULL: none. */
char *cli_against_left(const cli_against *against);

#endif
