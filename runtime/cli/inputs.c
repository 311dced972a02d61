/* inputs.c - assigns files to inputs, and reads them: single ones, those of a folder, and standard input.
 *
 * "NAME=FILE" names an input only if the model has it; otherwise the whole text is a path, as paths may contain '=',
 * and goes to the next input without a value. Types must match exactly: nothing is converted silently. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cli/files/data_set.h"
#include "runtime/cli/files/npy.h"
#include "runtime/cli/files/tensor_file.h"
#include "runtime/cli/files/value_file.h"
#include "runtime/core/graph/infer.h"
#include "runtime/core/plan/inputs.h"
#include "runtime/include/op.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/files/whole_file.h"
#include "runtime/cli/files/images.h"
#include "runtime/cli/random.h"
#include "runtime/cli/inputs.h"
#include "runtime/cli/files/npz.h"
#include "runtime/cli/opening.h"
#include "runtime/cli/option_table.h"
#include "runtime/core/base/hash.h"
#include "runtime/core/base/memory.h"
#include "runtime/core/base/names.h"
#include "runtime/core/base/suggest.h"
#include "runtime/core/base/ascii.h"

typedef struct reader {
    const cli_options *options;
    const tort_model *model;
    cli_inputs *inputs;
    int32_t pictures;   /* number of inputs that are pictures */
    bool piped;         /* an input is read from standard input */
    tort_names symbols; /* of dimensions: the first input with a value that has it */
    tort_error *error;
} reader;

static bool is_open(const tort_port *port, int32_t dim) {
    return port->dims[dim] < 0 && port->dim_names[dim] && *port->dim_names[dim];
}

static bool has_ending(const char *path, const char *ending) {
    size_t length = strlen(path), wanted = strlen(ending);
    return length > wanted && tort_same_word(path + length - wanted, ending);
}

static bool wants_tensor(const tort_port *port) {
    return tort_type_kind(port->value_type) == TORT_TENSOR;
}

/* The type of a port as text: "seq(tensor(float))", but "float" for a tensor. */
static const char *type_text(const tort_port *port, char *buffer, size_t size) {
    return wants_tensor(port) ? tort_type_name(port->type) : tort_type_text(port->value_type, buffer, size);
}

static const char *port_shape(const tort_port *port, char *buffer, size_t size) {
    return cli_shape_text(port->rank, port->dims, port->dim_names, buffer, size);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static tort_status unknown_name(const reader *r, const char *name, tort_status code) {
    const tort_graph *graph = &r->model->graphs[0];
    for (int32_t i = 0; i < graph->value_count; i++)
        if (graph->values[i].has_default && !strcmp(graph->values[i].name, name))
            return tort_fail(r->error, code,
                             "input '%s' has a default, which the model was loaded with: give it as "
                             "--input %s=FILE",
                             name, name);
    const char **names = cli_alloc((size_t)r->inputs->count, sizeof *names);
    for (int32_t i = 0; i < r->inputs->count; i++) names[i] = cli_input(r->model, i).name;
    char hint[200];
    tort_did_you_mean(name, names, (size_t)r->inputs->count, hint, sizeof hint);
    if (!*hint && r->inputs->count) snprintf(hint, sizeof hint, "; its first is '%s'", names[0]);
    free(names);
    return tort_fail(r->error, code, "the %s has no input '%s'%s%s", r->options->plan ? "saved plan" : "model", name,
                     hint,
                     r->options->plan ? "; one with a default is an input of a plan that was made with --open" : "");
}

static int32_t find_input(const reader *r, const char *name, size_t length) {
    for (int32_t i = 0; i < r->inputs->count; i++) {
        const char *candidate = cli_input(r->model, i).name;
        if (strlen(candidate) == length && !memcmp(candidate, name, length)) return i;
    }
    return -1;
}

static bool is_given(const reader *r, int32_t index) {
    return r->inputs->tensors[index].type != TORT_UNDEFINED || r->inputs->values[index];
}

/* Splits "NAME=FILE"; *index is -1 if the text is only a path. */
static tort_status split(const reader *r, const char *text, int32_t *index, const char **file) {
    *index = -1;
    *file = text;
    for (const char *equals = strchr(text, '='); equals; equals = strchr(equals + 1, '=')) {
        *index = find_input(r, text, (size_t)(equals - text));
        *file = equals + 1;
        if (*index >= 0) return TORT_OK;
    }
    *file = text;
    if (!strchr(text, '=') || access(text, F_OK) == 0) return TORT_OK;
    char *name = cli_copy_text(text, strcspn(text, "="));
    tort_status status = unknown_name(r, name, TORT_E_USAGE);
    free(name);
    return status;
}

static int32_t next_input(const reader *r) {
    for (int32_t i = 0; i < r->inputs->count; i++)
        if (!is_given(r, i)) return i;
    return -1;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static bool fits_port(const tort_port *port, const tort_tensor *tensor) {
    bool fits = port->rank < 0 || port->rank == tensor->rank;
    for (int32_t i = 0; fits && i < port->rank; i++) fits = port->dims[i] < 0 || port->dims[i] == tensor->dims[i];
    return fits;
}

/* Retypes an array of unsigned integers that hold the bits of the port's type, as --save writes types that NumPy lacks.
 * Packing in place is safe: element i is written at or before byte i, which has been read by then. */
static void take_bits(const tort_port *port, tort_tensor *tensor) {
    const int bits = tort_type_bits(port->type);
    uint8_t *bytes = tensor->data;
    if (!port->type || tort_npy_bits_type(port->type) != tensor->type) return;
    tensor->type = port->type;
    const int64_t count = bits < 8 ? tort_count(tensor) : 0;
    for (int64_t i = 0; i < count; i++) {
        const unsigned value = (unsigned)bytes[i] & ((1u << bits) - 1), shift = (unsigned)(i * bits % 8);
        uint8_t *to = bytes + i * bits / 8;
        if (shift == 0) *to = 0;
        *to = (uint8_t)(*to | value << shift);
        if (shift + (unsigned)bits > 8) to[1] = (uint8_t)(value >> (8 - shift));
    }
}

static tort_status check_tensor(const reader *r, const char *file, const tort_port *port, const tort_tensor *tensor) {
    char wanted[200], found[200], hint[300];
    if (!wants_tensor(port))
        return tort_fail(r->error, TORT_E_INPUT, "%s is a tensor, and input '%s' wants %s, from a .pb file", file,
                         port->name, tort_type_text(port->value_type, wanted, sizeof wanted));
    if (tensor->type != port->type)
        return tort_fail(r->error, TORT_E_INPUT, "%s is %s, and input '%s' wants %s; save it with that type", file,
                         tort_type_name(tensor->type), port->name, tort_type_name(port->type));
    if (fits_port(port, tensor)) return TORT_OK;
    return tort_fail(r->error, TORT_E_INPUT, "%s is %s, and input '%s' wants %s%s", file,
                     cli_shape_text(tensor->rank, tensor->dims, NULL, found, sizeof found), port->name,
                     port_shape(port, wanted, sizeof wanted),
                     tort_channels_hint(tensor, port->dims, port->rank, hint, sizeof hint));
}

/* Shapes a tensor like a port without open dimensions, for data that has no shape of its own (.raw, --random). */
static tort_status full_shape(const reader *r, const tort_port *port, const char *what, tort_tensor *tensor) {
    *tensor = (tort_tensor){.type = port->type, .rank = port->rank < 0 ? 0 : port->rank};
    memcpy(tensor->dims, port->dims, sizeof tensor->dims);
    bool known = port->rank >= 0;
    for (int32_t i = 0; i < port->rank; i++) known = known && port->dims[i] >= 0;
    if (known) return TORT_OK;
    char declared[200], example[200];
    int64_t dims[TORT_MAX_RANK];
    for (int32_t i = 0; i < port->rank; i++) dims[i] = port->dims[i] < 0 ? 1 : port->dims[i];
    return tort_fail(r->error, TORT_E_USAGE, "%s: the shape of input '%s' is %s: say it, as in --shape %s=%s", what,
                     port->name, port_shape(port, declared, sizeof declared), port->name,
                     port->rank < 0 ? "1x3x224x224" : cli_shape_text(port->rank, dims, NULL, example, sizeof example));
}

/* Size of a symbolic dimension in the tensor given for `port`; -1 if the port does not have it. */
static int64_t size_in_tensor(const tort_port *port, const char *symbol, const tort_tensor *tensor) {
    for (int32_t i = 0; i < port->rank && i < tensor->rank; i++)
        if (is_open(port, i) && !strcmp(port->dim_names[i], symbol)) return tensor->dims[i];
    return -1;
}

/* Notes the symbolic dimensions that an input with a value settles. */
static tort_status note_symbols(reader *r, int32_t index) {
    const tort_port port = cli_input(r->model, index);
    int32_t other;
    for (int32_t i = 0; is_given(r, index) && i < port.rank; i++)
        if (is_open(&port, i) && !tort_names_find(&r->symbols, port.dim_names[i], &other) &&
            !tort_names_add(&r->symbols, port.dim_names[i], index))
            return tort_out_of_memory(r->error, 0);
    return TORT_OK;
}

/* Sets the symbolic dimensions of a port that inputs with a value have already settled. */
static void settle_symbols(const reader *r, tort_port *port) {
    int32_t k;
    for (int32_t i = 0; i < port->rank; i++) {
        if (!is_open(port, i) || !tort_names_find(&r->symbols, port->dim_names[i], &k)) continue;
        const tort_port other = cli_input(r->model, k);
        port->dims[i] = size_in_tensor(&other, port->dim_names[i], &r->inputs->tensors[k]);
    }
}

/* Shapes a tensor like a port, chooses sizes for open dimensions, and notes them for cli_inputs_tell. */
static tort_tensor *make_sizes_up(const reader *r, int32_t index, const tort_port *port, tort_tensor *tensor) {
    char declared[200], taken[200];
    bool open = false;
    *tensor = (tort_tensor){.type = port->type, .rank = port->rank};
    for (int32_t i = port->rank - 1; i >= 0; i--) {
        open = open || port->dims[i] < 0;
        tensor->dims[i] = port->dims[i] < 0 ? cli_made_up_size(r->options, r->model, index, i) : port->dims[i];
    }
    if (!open) return tensor;
    cli_shape_text(tensor->rank, tensor->dims, NULL, taken, sizeof taken);
    cli_append(&r->inputs->notes[index], "input '%s' is %s: taken as %s", port->name,
               port_shape(port, declared, sizeof declared), taken);
    cli_append(&r->inputs->shapes, "%s--shape %s=%s", *r->inputs->shapes ? " " : "", port->name, taken);
    return tensor;
}

static tort_status new_tensor_data(const reader *r, tort_tensor *tensor, size_t *bytes) {
    tort_env env = tort_env_complete(NULL);
    if (!tort_tensor_bytes(tensor, bytes))
        return tort_fail(r->error, TORT_E_USAGE, "the shape is too large for any memory");
    return tort_tensor_file_alloc(&env, tensor, 0, r->error);
}

static tort_status read_raw(const reader *r, const char *file, const tort_port *port, tort_tensor *tensor) {
    tort_status status = full_shape(r, port, file, tensor);
    if (status) return status;
    if (port->type == TORT_STRING) return tort_fail(r->error, TORT_E_INPUT, "%s: strings have no raw form", file);
    FILE *raw;
    size_t size, bytes;
    status = cli_open_file(file, SIZE_MAX, &raw, &size, r->error);
    if (status) return status;
    if (!tort_tensor_bytes(tensor, &bytes) || bytes != size) {
        char shape[200];
        status = tort_fail(r->error, TORT_E_INPUT, "%s has %zu bytes, and input '%s' (%s %s) does not take as many",
                           file, size, port->name, tort_type_name(port->type), port_shape(port, shape, sizeof shape));
    }
    if (!status) status = new_tensor_data(r, tensor, &bytes);
    if (!status) status = cli_read_all(file, raw, tensor->data, bytes, r->error);
    fclose(raw);
    return status;
}

/* ---- standard input ---------------------------------------------------------------------------------------------- */

static bool is_piped(const char *file) {
    return !strcmp(file, "-");
}

static const char *name_of(const char *file) {
    return is_piped(file) ? "standard input" : file;
}

/* The most bytes that an .npy for this input can have, of whatever type, so that a wrong type gets its own message. */
static uint64_t max_bytes(const tort_port *port) {
    const size_t widest = 16, header = 1 << 20;
    tort_tensor tensor = {.rank = port->rank};
    int64_t count;
    size_t bytes;
    bool known = port->rank >= 0 && port->type != TORT_STRING;
    memcpy(tensor.dims, port->dims, sizeof tensor.dims);
    for (int32_t i = 0; i < port->rank; i++) known = known && port->dims[i] >= 0;
    if (!known || !tort_tensor_count(&tensor, &count) || !tort_mul_size((uint64_t)count, widest, &bytes) ||
        bytes > TORT_MAX_FILE_BYTES - header)
        return TORT_MAX_FILE_BYTES;
    return bytes + header;
}

static tort_status read_piped(reader *r, const tort_port *port, tort_tensor *tensor) {
    uint8_t *bytes;
    size_t size;
    if (r->piped) return tort_fail(r->error, TORT_E_USAGE, "standard input ('-') can be one input, not two");
    r->piped = true;
    tort_status status = cli_read_standard_input(TORT_NPY_MAGIC, ".npy file", max_bytes(port), &bytes, &size, r->error);
    if (status) return status;
    status = tort_tensor_npy_decode(NULL, bytes, size, tensor, r->error);
    if (status) tort_error_prefix(r->error, "standard input");
    free(bytes);
    return status;
}

/* ---- one file ---------------------------------------------------------------------------------------------------- */

/* Reads a value of the port's type, since a .pb file does not state its own. */
static tort_status read_value(const reader *r, const char *file, int32_t index, const tort_port *port) {
    char type[80];
    if (has_ending(file, ".pb"))
        return tort_value_file_read(NULL, file, port->value_type, &r->inputs->values[index], r->error);
    return tort_fail(r->error, TORT_E_USAGE, "%s: input '%s' is %s, which only a .pb file holds", name_of(file),
                     port->name, tort_type_text(port->value_type, type, sizeof type));
}

static tort_status read_tensor(reader *r, const char *file, const tort_port *port, tort_tensor *tensor) {
    tort_env env = tort_env_complete(NULL);
    tort_status status;
    if (is_piped(file))
        status = read_piped(r, port, tensor);
    else if (cli_is_image(file))
        status = cli_image_read(file, port, &r->options->image, tensor, r->error);
    else if (has_ending(file, ".raw"))
        status = read_raw(r, file, port, tensor);
    else if (has_ending(file, ".npy") || has_ending(file, ".pb"))
        status = tort_tensor_file_read(&env, file, tensor, r->error);
    else
        status = tort_fail(r->error, TORT_E_USAGE, "%s: an input is a .npy .npz .pb .raw .png or .jpg file", file);
    if (!status && (is_piped(file) || has_ending(file, ".npy"))) take_bits(port, tensor);
    return status ? status : check_tensor(r, name_of(file), port, tensor);
}

static tort_status read_one(reader *r, const char *file, int32_t index) {
    tort_env env = tort_env_complete(NULL);
    tort_port port = cli_input_port(r->options, r->model, index);
    if (is_given(r, index)) return tort_fail(r->error, TORT_E_USAGE, "input '%s' is given twice", port.name);
    tort_status status = is_piped(file) ? TORT_OK : cli_check_file(file, r->error);
    if (status) return status;
    if (!wants_tensor(&port)) return read_value(r, file, index, &port);
    tort_tensor tensor = {0};
    status = read_tensor(r, file, &port, &tensor);
    if (status)
        tort_tensor_file_free(&env, &tensor);
    else
        r->inputs->tensors[index] = tensor;
    return status;
}

/* ---- archives ---------------------------------------------------------------------------------------------------- */

/* Moves an array into an input. */
static tort_status take_array(const reader *r, const char *file, cli_npz_array *array, int32_t index) {
    tort_port port = cli_input_port(r->options, r->model, index);
    if (is_given(r, index)) return tort_fail(r->error, TORT_E_USAGE, "input '%s' is given twice", port.name);
    tort_status status = check_tensor(r, file, &port, &array->tensor);
    if (status) return status;
    r->inputs->tensors[index] = array->tensor;
    array->tensor = (tort_tensor){0};
    return TORT_OK;
}

/* Assigns each array to the input of its name; a single array whose name is no input goes to input `index`, or to the
 * next. */
static tort_status read_archive(const reader *r, const char *file, int32_t index) {
    cli_npz npz;
    tort_status status = cli_npz_read(file, &npz, r->error);
    if (!status && npz.count == 0) status = tort_fail(r->error, TORT_E_INPUT, "%s has no arrays", file);
    if (!status && npz.count == 1 && find_input(r, npz.arrays[0].name, strlen(npz.arrays[0].name)) < 0) {
        const char *name = npz.arrays[0].name;
        const bool named = index >= 0 || !strcmp(name, "arr_0"); /* NumPy's name for an unnamed array */
        if (index < 0) index = next_input(r);
        status = index < 0 ? tort_fail(r->error, TORT_E_USAGE, "%s: the model has no further input", file)
                           : take_array(r, file, &npz.arrays[0], index);
        if (!status && !named)
            cli_append(&r->inputs->notes[index], "input '%s' is taken from array '%s' of %s",
                       cli_input(r->model, index).name, name, file);
    } else {
        for (int32_t i = 0; !status && i < npz.count; i++) {
            int32_t at = find_input(r, npz.arrays[i].name, strlen(npz.arrays[i].name));
            if (index >= 0 && at != index) continue;
            status =
                at < 0 ? unknown_name(r, npz.arrays[i].name, TORT_E_INPUT) : take_array(r, file, &npz.arrays[i], at);
            if (at < 0) tort_error_prefix(r->error, "%s", file);
        }
        if (!status && index >= 0 && !is_given(r, index))
            status = tort_fail(r->error, TORT_E_INPUT, "%s has no array '%s'", file, cli_input(r->model, index).name);
    }
    cli_npz_free(&npz);
    return status;
}

/* ---- random ------------------------------------------------------------------------------------------------------ */

static tort_status read_random(const reader *r, int32_t index) {
    tort_port port = cli_input_port(r->options, r->model, index);
    char type[80];
    if (!wants_tensor(&port) || !cli_can_be_random(port.type))
        return tort_fail(r->error, TORT_E_USAGE, "--random cannot fill input '%s', which is %s; give it a file",
                         port.name, type_text(&port, type, sizeof type));
    tort_tensor *tensor = &r->inputs->tensors[index];
    size_t bytes;
    settle_symbols(r, &port);
    tort_status status = port.rank < 0 ? full_shape(r, &port, "--random", tensor) : TORT_OK;
    if (!status) status = new_tensor_data(r, make_sizes_up(r, index, &port, tensor), &bytes);
    if (!status) status = cli_fill_random(r->options, r->model, index, tensor, r->error);
    if (status && !tensor->data) *tensor = (tort_tensor){0};
    r->inputs->random[index] = true;
    return status;
}

/* Refuses --random if every input has a value, and ranges of inputs that do not exist or have one. */
static tort_status check_random(const reader *r) {
    const cli_options *options = r->options;
    int32_t filled = 0;
    for (int32_t i = 0; i < r->inputs->count; i++) filled += r->inputs->random[i];
    for (int32_t i = 0; i < options->range_count; i++) {
        const char *name = options->ranges[i].name;
        int32_t index = find_input(r, name, strlen(name));
        if (index < 0) {
            tort_status status = unknown_name(r, name, TORT_E_USAGE);
            tort_error_prefix(r->error, "--random");
            return status;
        }
        if (!r->inputs->random[index])
            return tort_fail(r->error, TORT_E_USAGE, "--random %s=...: input '%s' is given by --input", name, name);
    }
    if (filled || !cli_is_given(options, OPTION_RANDOM)) return TORT_OK;
    return tort_fail(r->error, TORT_E_USAGE, "--random: %s",
                     r->inputs->count ? "every input is given by --input" : "the model has no input");
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static tort_status missing_input(const reader *r, const tort_port *port) {
    char shape[200], type[80];
    if (!wants_tensor(port))
        return tort_fail(r->error, TORT_E_USAGE, "input '%s' (%s) is not given: --input %s=FILE.pb", port->name,
                         tort_type_text(port->value_type, type, sizeof type), port->name);
    return tort_fail(r->error, TORT_E_USAGE, "input '%s' (%s %s) is not given: --input %s=FILE, or --random 1",
                     port->name, tort_type_name(port->type), port_shape(port, shape, sizeof shape), port->name);
}

/* Fills an input without --input: leaves an optional empty, fills a tensor at random. */
static tort_status fill_input(const reader *r, int32_t index) {
    tort_port port = cli_input_port(r->options, r->model, index);
    if (tort_type_kind(port.value_type) == TORT_OPTIONAL) {
        cli_append(&r->inputs->notes[index],
                   "input '%s' is not given: an optional without an element (--input %s=FILE.pb for another)",
                   port.name, port.name);
        return TORT_OK;
    }
    return r->options->random ? read_random(r, index) : missing_input(r, &port);
}

/* Reads a file for the input `index`, or for the next if that is -1; an archive may have several inputs. */
static tort_status read_file(reader *r, const char *file, int32_t index) {
    r->pictures += cli_is_image(file);
    if (has_ending(file, ".npz")) return read_archive(r, file, index);
    if (index < 0) index = next_input(r);
    if (index >= 0) return read_one(r, file, index);
    return tort_fail(r->error, TORT_E_USAGE, "--input %s: the model has only %d input%s", file, r->inputs->count,
                     r->inputs->count == 1 ? "" : "s");
}

/* Finds the file of each input in a folder; paths[i] is NULL if there is none. Names that become the same file, as a/b
 * and a_b do, would be given one value: that is refused. */
static tort_status find_files(const reader *r, const char *folder, char **paths, int32_t *found) {
    tort_env env = tort_env_complete(NULL);
    tort_names seen;
    tort_env_choose_key(&env);
    tort_names_init(&seen, &env);
    tort_status status = cli_data_set_check(folder, "input", r->inputs->count, r->error);
    if (status) tort_error_prefix(r->error, "%s", folder);
    for (int32_t i = 0; !status && i < r->inputs->count; i++) {
        int32_t other;
        const char *name = cli_input(r->model, i).name;
        status = cli_data_set_find(folder, i, name, &paths[i], r->error);
        if (status || !paths[i]) continue;
        ++*found;
        if (tort_names_find(&seen, paths[i], &other))
            status = tort_fail(r->error, TORT_E_INPUT, "%s may be input '%s' or '%s': say which, as in --input '%s=%s'",
                               paths[i], cli_input(r->model, other).name, name, name, paths[i]);
        else if (!tort_names_add(&seen, paths[i], i))
            status = tort_out_of_memory(r->error, 0);
    }
    tort_names_free(&seen);
    return status;
}

static tort_status read_folder(reader *r, const char *folder) {
    const int32_t count = r->inputs->count;
    char **paths = cli_alloc((size_t)count, sizeof *paths);
    int32_t found = 0;
    tort_status status = find_files(r, folder, paths, &found);
    if (!status && !count) status = tort_fail(r->error, TORT_E_USAGE, "--input %s: the model has no input", folder);
    if (!status && !found) status = cli_data_set_is_empty(folder, cli_input(r->model, 0).name, r->error);
    for (int32_t i = 0; !status && i < count; i++)
        if (paths[i]) status = read_file(r, paths[i], i);
    for (int32_t i = 0; i < count; i++) free(paths[i]);
    free(paths);
    return status;
}

/* Reads the files of one --input. */
static tort_status read_given(reader *r, const char *text) {
    int32_t index;
    const char *file;
    tort_status status = split(r, text, &index, &file);
    if (!status) status = index < 0 && cli_is_folder(file) ? read_folder(r, file) : read_file(r, file, index);
    if (status == TORT_E_UNSUPPORTED) r->error->code = status = TORT_E_INPUT; /* the file is at fault, not the build */
    return status;
}

/* Fills the inputs that have no file. The symbols are hashed, as a model may have any number of them. */
static tort_status fill_inputs(reader *r) {
    tort_env env = tort_env_complete(NULL);
    tort_status status = TORT_OK;
    tort_env_choose_key(&env);
    tort_names_init(&r->symbols, &env);
    for (int32_t i = 0; !status && i < r->inputs->count; i++) status = note_symbols(r, i);
    for (int32_t i = 0; !status && i < r->inputs->count; i++) {
        if (is_given(r, i)) continue;
        status = fill_input(r, i);
        if (!status) status = note_symbols(r, i);
    }
    tort_names_free(&r->symbols);
    return status;
}

tort_status cli_inputs_read(const cli_options *options, const tort_model *model, cli_inputs *inputs,
                            tort_error *error) {
    tort_status status = TORT_OK;
    inputs->count = tort_model_input_count(model);
    inputs->tensors = cli_alloc((size_t)inputs->count, sizeof *inputs->tensors);
    inputs->values = cli_alloc((size_t)inputs->count, sizeof *inputs->values);
    inputs->random = cli_alloc((size_t)inputs->count, sizeof *inputs->random);
    inputs->notes = cli_alloc((size_t)inputs->count, sizeof *inputs->notes);
    inputs->shapes = cli_copy_text("", 0);
    for (int32_t i = 0; i < inputs->count; i++) inputs->notes[i] = cli_copy_text("", 0);
    reader r = {.options = options, .model = model, .inputs = inputs, .error = error};
    for (int32_t i = 0; !status && i < options->inputs.count; i++) status = read_given(&r, options->inputs.items[i]);
    if (!status && options->image.first && !r.pictures)
        status = tort_fail(error, TORT_E_USAGE, "--%s is for pictures, and no --input is a .png or .jpg",
                           options->image.first);
    if (!status) status = fill_inputs(&r);
    return status ? status : check_random(&r);
}

tort_status cli_inputs_refill(const cli_options *options, const tort_model *model, cli_inputs *inputs,
                              tort_error *error) {
    tort_env env = tort_env_complete(NULL);
    reader r = {.options = options, .model = model, .inputs = inputs, .error = error};
    *inputs->shapes = 0;
    for (int32_t i = 0; i < inputs->count; i++) {
        if (inputs->random[i]) {
            tort_tensor_file_free(&env, &inputs->tensors[i]);
            inputs->tensors[i] = (tort_tensor){0};
        }
        inputs->random[i] = false;
        if (!is_given(&r, i)) *inputs->notes[i] = 0;
    }
    return fill_inputs(&r);
}

void cli_inputs_tell(const cli_inputs *inputs) {
    for (int32_t i = 0; i < inputs->count; i++)
        if (*inputs->notes[i]) cli_print_line(stderr, "%s", inputs->notes[i]);
    if (*inputs->shapes) cli_print_line(stderr, "sizes were made up, as if you had typed %s", inputs->shapes);
}

/* The input at random to which the error at a node is due; -1: none, or nobody can tell. */
static int32_t guilty_input(const cli_inputs *inputs, const tort_model *model, const tort_error *error) {
    const tort_graph *graph = &model->graphs[0];
    const bool known = error->node >= 0 && error->node < graph->node_count;
    const int32_t deciding = known ? tort_deciding_input(graph, &graph->nodes[error->node]) : -1;
    int32_t found = -1, others = 0;
    for (int32_t i = 0; inputs->random && i < inputs->count; i++) {
        if (i == deciding) return inputs->random[i] ? i : -1;
        if (!inputs->random[i] || !cli_is_counted(inputs->tensors[i].type)) continue;
        others += found >= 0;
        found = i;
    }
    return others ? -1 : found;
}

/* The numbers that a message says are taken: "index 572 is not in [-500, 500)", "5; expected 0 to 1". */
static void taken_numbers(const char *message, long long *low, long long *high) {
    const char *list = strstr(message, "not in ["), *range = strstr(message, "expected ");
    char end = 0;
    *low = 0, *high = 9;
    if (list && sscanf(list, "not in [%lld, %lld%c", low, high, &end) == 3)
        *high -= end == ')';
    else if (range)
        sscanf(range, "expected %lld to %lld", low, high);
    if (*low < 0 && *high >= 0) *low = 0;
}

void cli_inputs_explain(const cli_inputs *inputs, const tort_model *model, tort_error *error) {
    if (error->code != TORT_E_RUN && error->code != TORT_E_INPUT) return;
    const int32_t found = guilty_input(inputs, model, error);
    if (found < 0) return;
    const char *name = cli_input(model, found).name;
    long long low, high;
    taken_numbers(error->msg, &low, &high);
    tort_error_append(error,
                      "; input '%s' has random values: give it others by --random %s=%lld..%lld or --input %s=FILE",
                      name, name, low, high, name);
}

void cli_inputs_free(cli_inputs *inputs) {
    tort_env env = tort_env_complete(NULL);
    for (int32_t i = 0; i < inputs->count; i++) {
        tort_tensor_file_free(&env, &inputs->tensors[i]);
        tort_value_release(inputs->values[i]);
        if (inputs->notes) free(inputs->notes[i]);
    }
    free(inputs->notes);
    free(inputs->shapes);
    free(inputs->tensors);
    free(inputs->values);
    free(inputs->random);
    *inputs = (cli_inputs){0};
}
