/* inputs.c - which file goes to which input, and what is in it.
 *
 * "NAME=FILE" is an input's name only if the model has such an input; otherwise the whole text is a file, which goes to
 * the next input that has none. Types must match exactly: nothing is converted unseen. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "loader/tensor_file.h"
#include "ops/numeric.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/files.h"
#include "runtime/cli/images.h"
#include "runtime/cli/inputs.h"
#include "runtime/cli/npz.h"
#include "runtime/suggest.h"
#include "runtime/graph.h"

typedef struct reader {
    const cli_options *options;
    const tort_model *model;
    cli_inputs *inputs;
    tort_error *error;
} reader;

/* The size of a symbol in a shape of the input that `port` describes; -1: it does not say. */
static int64_t size_of_symbol(const tort_port *port, const char *symbol, int32_t rank, const int64_t *dims) {
    for (int32_t i = 0; i < port->rank && i < rank; i++)
        if (port->dims[i] < 0 && port->dim_names[i] && !strcmp(port->dim_names[i], symbol)) return dims[i];
    return -1;
}

/* What --shape says of a symbol, of whichever input that has it. */
static int64_t symbol_by_shape(const cli_options *options, const tort_model *model, const char *symbol) {
    int64_t size = -1;
    for (int32_t i = 0; size < 0 && i < tort_model_input_count(model); i++) {
        tort_port port = tort_model_input(model, i);
        for (int32_t k = 0; size < 0 && k < options->shape_count; k++)
            if (!strcmp(options->shapes[k].name, port.name))
                size = size_of_symbol(&port, symbol, options->shapes[k].rank, options->shapes[k].dims);
    }
    return size;
}

static bool is_open(const tort_port *port, int32_t dim) {
    return port->dims[dim] < 0 && port->dim_names[dim] && *port->dim_names[dim];
}

tort_port cli_input_port(const cli_options *options, const tort_model *model, int32_t index) {
    tort_port port = tort_model_input(model, index);
    for (int32_t i = 0; i < options->shape_count; i++) {
        const tort_input_shape *shape = &options->shapes[i];
        if (strcmp(shape->name, port.name) != 0) continue;
        port.rank = shape->rank;
        memcpy(port.dims, shape->dims, sizeof port.dims);
    }
    for (int32_t i = 0; i < port.rank; i++)
        if (is_open(&port, i)) port.dims[i] = symbol_by_shape(options, model, port.dim_names[i]);
    return port;
}

static bool has_ending(const char *path, const char *ending) {
    size_t length = strlen(path), wanted = strlen(ending);
    return length > wanted && strcasecmp(path + length - wanted, ending) == 0;
}

static const char *port_shape(const tort_port *port, char *buffer, size_t size) {
    return cli_shape_text(port->rank, port->dims, port->dim_names, buffer, size);
}

/* ---- names ----------------------------------------------------------------------------------------------------- */

static tort_status unknown_name(const reader *r, const char *name, tort_status code) {
    const char **names = cli_alloc((size_t)r->inputs->count, sizeof *names);
    for (int32_t i = 0; i < r->inputs->count; i++) names[i] = tort_model_input(r->model, i).name;
    char hint[200];
    tort_did_you_mean(name, names, (size_t)r->inputs->count, hint, sizeof hint);
    if (!*hint && r->inputs->count) snprintf(hint, sizeof hint, "; its first is '%s'", names[0]);
    free(names);
    return tort_fail(r->error, code, "the model has no input '%s'%s", name, hint);
}

static int32_t find_input(const reader *r, const char *name, size_t length) {
    for (int32_t i = 0; i < r->inputs->count; i++) {
        const char *candidate = tort_model_input(r->model, i).name;
        if (strlen(candidate) == length && !memcmp(candidate, name, length)) return i;
    }
    return -1;
}

static bool is_given(const reader *r, int32_t index) {
    return r->inputs->tensors[index].type != TORT_UNDEFINED;
}

/* Splits "NAME=FILE": *index is -1 where the text is a file alone. */
static tort_status split(const reader *r, const char *text, int32_t *index, const char **file) {
    *index = -1;
    *file = text;
    for (const char *equals = strchr(text, '='); equals; equals = strchr(equals + 1, '=')) {
        *index = find_input(r, text, (size_t)(equals - text));
        *file = equals + 1;
        if (*index >= 0) return TORT_OK;
    }
    *file = text;
    FILE *there = strchr(text, '=') ? fopen(text, "rb") : NULL;
    if (there) fclose(there);
    if (there || !strchr(text, '=')) return TORT_OK;
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

/* ---- files ----------------------------------------------------------------------------------------------------- */

static tort_status check_tensor(const reader *r, const char *file, const tort_port *port, const tort_tensor *tensor) {
    char wanted[200], found[200];
    if (tensor->type != port->type)
        return tort_fail(r->error, TORT_E_INPUT, "%s is %s, and input '%s' wants %s; save it with that type", file,
                         tort_type_name(tensor->type), port->name, tort_type_name(port->type));
    bool fits = port->rank < 0 || port->rank == tensor->rank;
    for (int32_t i = 0; fits && i < port->rank; i++) fits = port->dims[i] < 0 || port->dims[i] == tensor->dims[i];
    if (fits) return TORT_OK;
    return tort_fail(r->error, TORT_E_INPUT, "%s is %s, and input '%s' wants %s", file,
                     cli_shape_text(tensor->rank, tensor->dims, NULL, found, sizeof found), port->name,
                     port_shape(port, wanted, sizeof wanted));
}

/* Complete dims of a port, for what has no shape of its own. */
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

/* Symbols that inputs given as files have settled. */
static void settle_symbols(const reader *r, tort_port *port) {
    for (int32_t i = 0; i < port->rank; i++)
        for (int32_t k = 0; is_open(port, i) && k < r->inputs->count; k++) {
            const tort_tensor *given = &r->inputs->tensors[k];
            tort_port other = tort_model_input(r->model, k);
            if (is_given(r, k)) port->dims[i] = size_of_symbol(&other, port->dim_names[i], given->rank, given->dims);
        }
}

/* Sizes that the model leaves open become 1, and that is said. */
static tort_tensor *sized_as_one(const tort_port *port, tort_tensor *tensor) {
    char declared[200], taken[200];
    bool open = false;
    *tensor = (tort_tensor){.type = port->type, .rank = port->rank};
    for (int32_t i = 0; i < port->rank; i++) {
        open = open || port->dims[i] < 0;
        tensor->dims[i] = port->dims[i] < 0 ? 1 : port->dims[i];
    }
    if (open)
        fprintf(stderr, "input '%s' is %s: taken as %s (--shape %s=... for another size)\n", port->name,
                port_shape(port, declared, sizeof declared),
                cli_shape_text(tensor->rank, tensor->dims, NULL, taken, sizeof taken), port->name);
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
    uint8_t *raw;
    size_t size, bytes;
    status = cli_read_file(file, &raw, &size, r->error);
    if (status) return status;
    if (!tort_tensor_bytes(tensor, &bytes) || bytes != size) {
        char shape[200];
        status = tort_fail(r->error, TORT_E_INPUT, "%s has %zu bytes, and input '%s' (%s %s) does not take as many",
                           file, size, port->name, tort_type_name(port->type), port_shape(port, shape, sizeof shape));
    } else {
        status = new_tensor_data(r, tensor, &bytes);
        if (!status) memcpy(tensor->data, raw, bytes);
    }
    free(raw);
    return status;
}

static tort_status read_one(const reader *r, const char *file, int32_t index) {
    tort_env env = tort_env_complete(NULL);
    tort_port port = cli_input_port(r->options, r->model, index);
    if (is_given(r, index)) return tort_fail(r->error, TORT_E_USAGE, "input '%s' is given twice", port.name);
    tort_status status = cli_check_file(file, r->error);
    if (status) return status;
    tort_tensor tensor = {0};
    if (cli_is_image(file))
        status = cli_image_read(file, &port, &r->options->image, &tensor, r->error);
    else if (has_ending(file, ".raw"))
        status = read_raw(r, file, &port, &tensor);
    else if (has_ending(file, ".npy") || has_ending(file, ".pb"))
        status = tort_tensor_file_read(&env, file, &tensor, r->error);
    else
        status = tort_fail(r->error, TORT_E_USAGE, "%s: an input is a .npy .npz .pb .raw .png or .jpg file", file);
    if (!status) status = check_tensor(r, file, &port, &tensor);
    if (status)
        tort_tensor_file_free(&env, &tensor);
    else
        r->inputs->tensors[index] = tensor;
    return status;
}

/* ---- archives -------------------------------------------------------------------------------------------------- */

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

/* A single array goes to the input that was named, or is next; of several, each goes to the input of its name. */
static tort_status read_archive(const reader *r, const char *file, int32_t index) {
    cli_npz npz;
    tort_status status = cli_npz_read(file, &npz, r->error);
    if (!status && npz.count == 0) status = tort_fail(r->error, TORT_E_INPUT, "%s has no arrays", file);
    if (!status && npz.count == 1 && find_input(r, npz.arrays[0].name, strlen(npz.arrays[0].name)) < 0) {
        if (index < 0) index = next_input(r);
        status = index < 0 ? tort_fail(r->error, TORT_E_USAGE, "%s: the model has no further input", file)
                           : take_array(r, file, &npz.arrays[0], index);
    } else {
        for (int32_t i = 0; !status && i < npz.count; i++) {
            int32_t at = find_input(r, npz.arrays[i].name, strlen(npz.arrays[i].name));
            if (index >= 0 && at != index) continue;
            status =
                at < 0 ? unknown_name(r, npz.arrays[i].name, TORT_E_INPUT) : take_array(r, file, &npz.arrays[i], at);
            if (at < 0) tort_error_prefix(r->error, "%s", file);
        }
        if (!status && index >= 0 && !is_given(r, index))
            status =
                tort_fail(r->error, TORT_E_INPUT, "%s has no array '%s'", file, tort_model_input(r->model, index).name);
    }
    cli_npz_free(&npz);
    return status;
}

/* ---- random ---------------------------------------------------------------------------------------------------- */

/* splitmix64: the same numbers everywhere for a seed. */
static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void fill_random(tort_tensor *tensor, uint64_t seed) {
    int64_t count = tort_count(tensor);
    float block[TORT_BLOCK];
    uint64_t state = seed;
    for (int64_t first = 0; first < count; first += TORT_BLOCK) {
        int64_t length = count - first < TORT_BLOCK ? count - first : TORT_BLOCK;
        for (int64_t i = 0; i < length; i++) {
            uint64_t bits = next_random(&state);
            if (tort_type_is_float(tensor->type))
                block[i] = (float)(bits >> 40) * 0x1p-24f;
            else
                block[i] = (float)(bits % (tensor->type == TORT_BOOL || tort_type_bits(tensor->type) < 8 ? 2 : 10));
        }
        tort_store_floats(tensor->type, tensor->data, first, length, block);
    }
}

static tort_status read_random(const reader *r, int32_t index) {
    tort_port port = cli_input_port(r->options, r->model, index);
    if (!tort_type_is_float(port.type) && !tort_type_is_integer(port.type) && port.type != TORT_BOOL)
        return tort_fail(r->error, TORT_E_USAGE, "--random cannot fill input '%s', which is %s; give it a file",
                         port.name, tort_type_name(port.type));
    tort_tensor *tensor = &r->inputs->tensors[index];
    size_t bytes;
    settle_symbols(r, &port);
    tort_status status = port.rank < 0 ? full_shape(r, &port, "--random", tensor) : TORT_OK;
    if (!status) status = new_tensor_data(r, sized_as_one(&port, tensor), &bytes);
    if (!status)
        fill_random(tensor, r->options->seed * 1000003u + (uint64_t)index);
    else
        *tensor = (tort_tensor){0};
    return status;
}

/* ---- all ------------------------------------------------------------------------------------------------------- */

static tort_status missing_input(const reader *r, int32_t index) {
    tort_port port = cli_input_port(r->options, r->model, index);
    char shape[200];
    return tort_fail(r->error, TORT_E_USAGE, "input '%s' (%s %s) is not given: --input %s=FILE, or --random 1",
                     port.name, tort_type_name(port.type), port_shape(&port, shape, sizeof shape), port.name);
}

/* A sequence, an optional or a map has no public form to pass it in. */
static tort_status check_kinds(const tort_model *model, tort_error *error) {
    const tort_graph *graph = &model->graphs[0];
    for (int32_t i = 0; i < graph->input_count; i++) {
        const tort_value *value = &graph->values[graph->inputs[i]];
        if (value->info.kind != TORT_TENSOR)
            return tort_fail(error, TORT_E_UNSUPPORTED,
                             "input '%s' is a sequence, optional or map; only tensors can be given", value->name);
    }
    return TORT_OK;
}

tort_status cli_inputs_read(const cli_options *options, const tort_model *model, cli_inputs *inputs,
                            tort_error *error) {
    tort_status kinds = check_kinds(model, error);
    if (kinds) return kinds;
    inputs->count = tort_model_input_count(model);
    inputs->tensors = cli_alloc((size_t)inputs->count, sizeof *inputs->tensors);
    reader r = {options, model, inputs, error};
    for (int32_t i = 0; i < options->input_count; i++) {
        int32_t index;
        const char *file;
        tort_status status = split(&r, options->inputs[i], &index, &file);
        if (status) return status;
        if (has_ending(file, ".npz"))
            status = read_archive(&r, file, index);
        else if (index < 0 && (index = next_input(&r)) < 0)
            status = tort_fail(error, TORT_E_USAGE, "--input %s: the model has only %d input%s", file, inputs->count,
                               inputs->count == 1 ? "" : "s");
        else
            status = read_one(&r, file, index);
        if (status == TORT_E_UNSUPPORTED) error->code = status = TORT_E_INPUT; /* the file is at fault, not the build */
        if (status) return status;
    }
    for (int32_t i = 0; i < inputs->count; i++) {
        if (is_given(&r, i)) continue;
        tort_status status = options->random ? read_random(&r, i) : missing_input(&r, i);
        if (status) return status;
    }
    return TORT_OK;
}

void cli_inputs_free(cli_inputs *inputs) {
    tort_env env = tort_env_complete(NULL);
    for (int32_t i = 0; i < inputs->count; i++) tort_tensor_file_free(&env, &inputs->tensors[i]);
    free(inputs->tensors);
    *inputs = (cli_inputs){0};
}
