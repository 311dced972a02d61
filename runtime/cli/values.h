/* values.h - a run of any model: one of tensors alone, whose outputs are not copied, or one of values.
 *
 * To the commands an input and an output is a tort_value in any case. */
#ifndef TORT_CLI_VALUES_H
#define TORT_CLI_VALUES_H

#include "runtime/cli/inputs.h"

/* Are all inputs and outputs of the model tensors? */
bool cli_only_tensors(const tort_model *model);

/* The inputs in their order, for cli_values_free: tensors are borrowed, an optional that is not given is NULL. */
tort_value **cli_input_values(const cli_inputs *inputs);
void cli_values_free(tort_value **values, int32_t count);

/* One run. outputs[i] is a new reference, or NULL after a failure; where the model has tensors alone it borrows from
 * the context until that runs again. */
tort_status cli_run_model(tort_context *context, const tort_model *model, tort_value *const *inputs,
                          tort_value **outputs, tort_error *error);

#endif
