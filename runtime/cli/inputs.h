/* inputs.h - the tensors that a run starts with: from files, pictures, archives, or a random generator. */
#ifndef TORT_CLI_INPUTS_H
#define TORT_CLI_INPUTS_H

#include "runtime/cli/options.h"

/* One tensor an input of the model, in its order. */
typedef struct cli_inputs {
    tort_tensor *tensors;
    int32_t count;
} cli_inputs;

/* Binds every --input to an input of the model, by name or in order, and fills the rest at random where --random asks
 * for it. The caller frees with cli_inputs_free, also after a failure. */
tort_status cli_inputs_read(const cli_options *options, const tort_model *model, cli_inputs *inputs, tort_error *error);
void cli_inputs_free(cli_inputs *inputs);

/* An input of the model, with the shape that --shape gives it. */
tort_port cli_input_port(const cli_options *options, const tort_model *model, int32_t index);

#endif
