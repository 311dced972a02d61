/* outputs.c - writes the outputs of a run into files. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/files/value_file.h"
#include "runtime/cli/files/npy.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/files/whole_file.h"
#include "runtime/cli/opening.h"
#include "runtime/cli/outputs.h"

/* Bytes that a .npy may be larger than its strings: from the first on it is told, more than the second is refused. */
#define WORTH_TELLING ((uint64_t)16 << 20)
#define MAX_PADDING ((uint64_t)1 << 30)

/* The path of an output's file; the caller frees it. */
static char *path_of(const cli_options *options, int32_t output) {
    return cli_format("%s/output_%d.%s", options->save, output, options->format == CLI_PB ? "pb" : "npy");
}

tort_status cli_check_save(const cli_options *options, const tort_model *model, tort_error *error) {
    char type[80];
    tort_status status = TORT_OK;
    for (int32_t i = 0; options->format != CLI_PB && i < tort_model_output_count(model); i++) {
        const tort_port port = cli_output(model, i);
        if (tort_type_kind(port.value_type) != TORT_TENSOR)
            return tort_fail(error, TORT_E_USAGE, "--save: output '%s' is %s, which .npy cannot hold: add --format pb",
                             port.name, tort_type_text(port.value_type, type, sizeof type));
    }
    for (int32_t i = 0; !status && i < tort_model_output_count(model); i++) {
        char *path = path_of(options, i);
        status = cli_check_target(path, model, error);
        if (status) tort_error_prefix(error, "--save");
        free(path);
    }
    return status;
}

/* Tells the user that a .npy holds only the bits of elements if NumPy lacks their type. */
static void tell_bits(const cli_options *options, const char *path, const tort_value *output) {
    const tort_tensor *tensor = tort_value_view(output);
    const char *name = strrchr(path, '/') + 1;
    const tort_type bits = tensor && options->format != CLI_PB ? tort_npy_bits_type(tensor->type) : TORT_UNDEFINED;
    if (bits)
        cli_print(stderr, "%s holds the bits of %s as %s, which --input takes back (--format pb keeps the type)\n",
                  name, tort_type_name(tensor->type), tort_type_name(bits));
}

/* In .npy every string takes the space of the longest, so that little data may fill the disk. */
static tort_status check_padding(const char *path, const tort_value *output, tort_error *error) {
    const tort_tensor *tensor = tort_value_view(output);
    const uint64_t padding = tensor ? tort_npy_padding(tensor) : 0;
    char text[32];
    if (padding < WORTH_TELLING) return TORT_OK;
    cli_bytes_text((double)padding, text, sizeof text);
    if (padding > MAX_PADDING)
        return tort_fail(error, TORT_E_UNSUPPORTED,
                         "\"%s\" would be filled up with %s, as every string of a .npy takes the space of the longest: "
                         "add --format pb",
                         path, text);
    cli_print(stderr, "%s: filled up with %s, as every string takes the space of the longest (--format pb does not)\n",
              path, text);
    return TORT_OK;
}

static tort_status check_paddings(const cli_options *options, tort_value *const *outputs, int32_t count,
                                  tort_error *error) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && options->format != CLI_PB && i < count; i++) {
        char *path = path_of(options, i);
        status = check_padding(path, outputs[i], error);
        if (status) tort_error_prefix(error, "--save");
        free(path);
    }
    return status;
}

tort_status cli_save_outputs(const cli_options *options, const tort_model *model, tort_value *const *outputs,
                             int32_t count, tort_error *error) {
    tort_status status = check_paddings(options, outputs, count, error);
    if (!status) status = cli_make_folder("--save", options->save, error);
    for (int32_t i = 0; !status && i < count; i++) {
        char *path = path_of(options, i);
        cli_progress("writing %s", path);
        status = cli_failed_write(tort_value_file_write(path, cli_output(model, i).name, outputs[i], error), error);
        if (status) tort_error_prefix(error, "--save");
        if (!status) tell_bits(options, path, outputs[i]);
        free(path);
    }
    cli_progress_end();
    return status;
}
