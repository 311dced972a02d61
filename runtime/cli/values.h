/* values.h - runs any model with tort_values as inputs and outputs. A model of tensors alone runs through
 * tort_context_run, which does not copy outputs. */
#ifndef TORT_CLI_VALUES_H
#define TORT_CLI_VALUES_H

#include "runtime/cli/inputs.h"

/* True if all inputs and outputs of the model are tensors (no sequence, map or optional). */
bool cli_only_tensors(const tort_model *model);

/* The inputs as values in the model's order, for cli_values_free: tensors are borrowed; an optional without a value is
 * NULL. */
tort_value **cli_input_values(const cli_inputs *inputs);
void cli_values_free(tort_value **values, int32_t count);

/* Runs once. outputs[i] is a new reference, NULL after a failure; in a model of tensors alone it borrows from the
 * context until the next run. */
tort_status cli_run_model(tort_context *context, const tort_model *model, tort_value *const *inputs,
                          tort_value **outputs, tort_error *error);

#endif
