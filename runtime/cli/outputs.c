/* outputs.c - writes the outputs of a run into files. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/files/value_file.h"
#include "runtime/cli/files/npy.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/files/whole_file.h"
#include "runtime/cli/opening.h"
#include "runtime/cli/outputs.h"

/* Replaces the temporary path in the writer's message by the final one. */
static void name_file(const cli_new_file *file, tort_error *error) {
    const char *cause = strstr(error->msg, "\": ");
    char *text = cli_copy_text(cause ? cause + 3 : error->msg, strlen(cause ? cause + 3 : error->msg));
    tort_fail(error, TORT_E_RUN, "--save: '%s' cannot be written: %s", file->path, text);
    free(text);
}

tort_status cli_check_save(const cli_options *options, const tort_model *model, tort_error *error) {
    char type[80];
    for (int32_t i = 0; options->format != CLI_PB && i < tort_model_output_count(model); i++) {
        const tort_port port = cli_output(model, i);
        if (tort_type_kind(port.value_type) != TORT_TENSOR)
            return tort_fail(error, TORT_E_USAGE, "--save: output '%s' is %s, which .npy cannot hold: add --format pb",
                             port.name, tort_type_text(port.value_type, type, sizeof type));
    }
    return TORT_OK;
}

/* Tells the user that a .npy holds only the bits of elements if NumPy lacks their type. */
static void tell_bits(const cli_options *options, const char *name, const tort_value *output) {
    const tort_tensor *tensor = tort_value_view(output);
    const tort_type bits = tensor && options->format != CLI_PB ? tort_npy_bits_type(tensor->type) : TORT_UNDEFINED;
    if (bits)
        cli_print(stderr, "%s holds the bits of %s as %s, which --input takes back (--format pb keeps the type)\n",
                  name, tort_type_name(tensor->type), tort_type_name(bits));
}

tort_status cli_save_outputs(const cli_options *options, const tort_model *model, tort_value *const *outputs,
                             int32_t count, tort_error *error) {
    tort_status status = cli_make_folder("--save", options->save, error);
    for (int32_t i = 0; !status && i < count; i++) {
        char *name = cli_format("output_%d.%s", i, options->format == CLI_PB ? "pb" : "npy");
        cli_new_file file = cli_new_file_begin(options->save, name);
        cli_progress("writing %s", file.path);
        status = tort_value_file_write(file.unfinished, cli_output(model, i).name, outputs[i], error);
        if (status) name_file(&file, error);
        status = cli_new_file_end(&file, status ? TORT_E_RUN : TORT_OK, error);
        if (!status) tell_bits(options, name, outputs[i]);
        free(name);
    }
    cli_progress_end();
    return status;
}
