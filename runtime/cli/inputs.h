/* inputs.h - input values of a run: from files, pictures, archives, or a random generator. */
#ifndef TORT_CLI_INPUTS_H
#define TORT_CLI_INPUTS_H

#include "runtime/cli/options.h"

/* Values of the model's inputs, in the model's order. */
typedef struct cli_inputs {
    tort_tensor *tensors; /* of type UNDEFINED if the input is not a tensor */
    tort_value **values;  /* inputs that are not tensors, owned; NULL for an optional without a value */
    bool *random;         /* filled at random */
    char **notes;         /* assumptions made for each input; "" */
    char *shapes;         /* --shape options that would give the chosen sizes; "" */
    int32_t count;
} cli_inputs;

/* Binds every --input to an input of the model, by name or in order, and fills the rest at random where --random asks
 * for it. The caller frees with cli_inputs_free, also after a failure. */
tort_status cli_inputs_read(const cli_options *options, const tort_model *model, cli_inputs *inputs, tort_error *error);
void cli_inputs_free(cli_inputs *inputs);

/* Fills those inputs anew that are random, for other sizes (options->attempt). */
tort_status cli_inputs_refill(const cli_options *options, const tort_model *model, cli_inputs *inputs,
                              tort_error *error);

/* Prints the assumptions on stderr. Called once it is certain that there will be a run. */
void cli_inputs_tell(const cli_inputs *inputs);

/* After a failed run: appends to the message how to set an integer input that was random, as its values may be the
 * cause. */
void cli_inputs_explain(const cli_inputs *inputs, const tort_model *model, tort_error *error);

#endif
