/* values.c - see values.h. */
#include <stdlib.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/opening.h"
#include "runtime/cli/values.h"

bool cli_only_tensors(const tort_model *model) {
    bool tensors = true;
    for (int32_t i = 0; i < tort_model_input_count(model); i++)
        tensors = tensors && tort_type_kind(cli_input(model, i).value_type) == TORT_TENSOR;
    for (int32_t i = 0; i < tort_model_output_count(model); i++)
        tensors = tensors && tort_type_kind(cli_output(model, i).value_type) == TORT_TENSOR;
    return tensors;
}

static tort_value *borrowed(const tort_tensor *tensor) {
    return cli_check_memory(tort_value_borrow(NULL, tensor, NULL, NULL));
}

tort_value **cli_input_values(const cli_inputs *inputs) {
    tort_value **values = cli_alloc((size_t)inputs->count, sizeof *values);
    for (int32_t i = 0; i < inputs->count; i++)
        values[i] = inputs->tensors[i].type != TORT_UNDEFINED ? borrowed(&inputs->tensors[i])
                                                              : tort_value_retain(inputs->values[i]);
    return values;
}

void cli_values_free(tort_value **values, int32_t count) {
    for (int32_t i = 0; values && i < count; i++) tort_value_release(values[i]);
    free(values);
}

/* Runs a model of tensors. A missing input has type UNDEFINED, which the run refuses. */
static tort_status run_tensors(tort_context *context, tort_value *const *inputs, int32_t input_count,
                               tort_value **outputs, int32_t output_count, tort_error *error) {
    tort_tensor *tensors = cli_alloc((size_t)input_count, sizeof *tensors);
    tort_tensor *made = cli_alloc((size_t)output_count, sizeof *made);
    for (int32_t i = 0; i < input_count; i++)
        if (inputs[i]) tensors[i] = *tort_value_view(inputs[i]);
    const tort_status status = tort_context_run(context, tensors, input_count, made, output_count, error);
    for (int32_t i = 0; !status && i < output_count; i++) outputs[i] = borrowed(&made[i]);
    free(tensors);
    free(made);
    return status;
}

tort_status cli_run_model(tort_context *context, const tort_model *model, tort_value *const *inputs,
                          tort_value **outputs, tort_error *error) {
    const int32_t input_count = tort_model_input_count(model), output_count = tort_model_output_count(model);
    if (cli_only_tensors(model)) return run_tensors(context, inputs, input_count, outputs, output_count, error);
    return tort_context_run_values(context, (const tort_value *const *)inputs, input_count, outputs, output_count,
                                   error);
}
