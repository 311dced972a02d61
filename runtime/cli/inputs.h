/* inputs.h - the values that a run starts with: from files, pictures, archives, or a random generator. */
#ifndef TORT_CLI_INPUTS_H
#define TORT_CLI_INPUTS_H

#include "runtime/cli/options.h"

/* What is given to each input of the model, in its order. */
typedef struct cli_inputs {
    tort_tensor *tensors; /* of type UNDEFINED where the input is no tensor */
    tort_value **values;  /* of those; an optional that is not given is NULL. Owned */
    bool *random;         /* filled at random */
    char **notes;         /* what was assumed of each; "" */
    char *shapes;         /* the --shape options that say the sizes that were made up; "" */
    int32_t count;
} cli_inputs;

/* Binds every --input to an input of the model, by name or in order, and fills the rest at random where --random asks
 * for it. The caller frees with cli_inputs_free, also after a failure. */
tort_status cli_inputs_read(const cli_options *options, const tort_model *model, cli_inputs *inputs, tort_error *error);
void cli_inputs_free(cli_inputs *inputs);

/* What was assumed, on stderr: once it is certain that there will be a run. */
void cli_inputs_tell(const cli_inputs *inputs);

/* After a run that failed: where integers were random, they may be why, and the message says how to give others. */
void cli_inputs_explain(const cli_inputs *inputs, const tort_model *model, tort_error *error);

#endif
