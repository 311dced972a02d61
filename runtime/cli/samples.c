/* samples.c - files and folders of --data as inputs of many runs (samples.h). Names sort as bytes, so that the same
 * folder gives the same samples everywhere. */
#include "runtime/cli/samples.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/files/data_set.h"
#include "runtime/cli/files/npz.h"
#include "runtime/cli/files/tensor_file.h"
#include "runtime/cli/opening.h"
#include "runtime/core/base/memory.h"
#include "runtime/include/op.h"

#define MAX_HELD ((size_t)16 << 20) /* bytes of samples that stay in memory; others are read again for each run */

typedef struct cli_sample {
    char *path;
    int32_t stack; /* -1: the whole file */
    int64_t at;    /* which of the stack */
    bool held;
    cli_inputs inputs;
} cli_sample;

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool ends_with(const char *path, const char *ending) {
    const size_t length = strlen(path), wanted = strlen(ending);
    return length > wanted && !strcmp(path + length - wanted, ending);
}

/* ---- files with several samples ---------------------------------------------------------------------------------- */

/* Samples in a tensor: 1 if it is one itself; 0 if it fits the port in no way. */
static int64_t samples_in(const tort_port *port, const tort_tensor *tensor) {
    const int32_t more = tensor->rank - port->rank;
    bool fits = port->rank >= 0 && (more == 0 || more == 1) && tensor->type == port->type;
    if (port->rank < 0) return 1;
    for (int32_t i = 1 - more; fits && i < port->rank; i++)
        fits = port->dims[i] < 0 || port->dims[i] == tensor->dims[i + more];
    if (!fits) return 0;
    if (more) return tensor->dims[0];
    return !port->rank || port->dims[0] < 0 || port->dims[0] == tensor->dims[0] ? 1
           : port->dims[0] == 1                                                 ? tensor->dims[0]
                                                                                : 0;
}

/* Reads an archive or array as a stack, if it is one: each input has the same number of samples, more than one. */
static tort_status read_stack(cli_samples *s, const char *path, int64_t *count, tort_error *error) {
    const tort_env env = tort_env_complete(NULL);
    const int32_t inputs = tort_model_input_count(s->model);
    cli_npz npz = {0};
    tort_status status = TORT_OK;
    *count = 1;
    if (ends_with(path, ".npz"))
        status = cli_npz_read(path, &npz, error);
    else if (ends_with(path, ".npy") && inputs == 1) {
        npz.arrays = cli_alloc(1, sizeof *npz.arrays);
        npz.arrays[npz.count++].name = cli_copy_text("", 0);
        status = tort_tensor_file_read(&env, path, &npz.arrays[0].tensor, error);
    }
    cli_inputs stack = {.count = inputs, .tensors = cli_alloc((size_t)inputs, sizeof *stack.tensors)};
    bool is_stack = !status && npz.count == inputs;
    for (int32_t i = 0; is_stack && i < npz.count; i++) {
        const int32_t at = inputs == 1 ? 0 : tort_model_input_index(s->model, npz.arrays[i].name);
        const tort_port port = at < 0 ? (tort_port){0} : cli_input_port(s->options, s->model, at);
        const int64_t found = at < 0 ? 0 : samples_in(&port, &npz.arrays[i].tensor);
        is_stack = found > 1 && (i == 0 || found == *count);
        *count = found;
        if (at >= 0) stack.tensors[at] = npz.arrays[i].tensor;
    }
    if (is_stack) {
        for (int32_t i = 0; i < npz.count; i++) npz.arrays[i].tensor = (tort_tensor){0};
        s->stacks = cli_room(s->stacks, (size_t)s->stack_count, sizeof *s->stacks);
        s->stacks[s->stack_count++] = stack;
    } else {
        free(stack.tensors);
        *count = 1;
    }
    cli_npz_free(&npz);
    return status;
}

/* Sample `at` of a stack: views of its tensors. */
static void slice(const cli_samples *s, const cli_sample *sample, tort_tensor *inputs) {
    const cli_inputs *stack = &s->stacks[sample->stack];
    for (int32_t i = 0; i < stack->count; i++) {
        const tort_port port = cli_input_port(s->options, s->model, i);
        const tort_tensor *whole = &stack->tensors[i];
        size_t bytes = 0;
        inputs[i] = *whole;
        if (whole->rank > port.rank) {
            inputs[i].rank--;
            memmove(inputs[i].dims, whole->dims + 1, (size_t)inputs[i].rank * sizeof *whole->dims);
        } else
            inputs[i].dims[0] = 1;
        tort_tensor_bytes(&inputs[i], &bytes);
        inputs[i].data = (char *)whole->data + (size_t)sample->at * bytes;
    }
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

static tort_status add_file(cli_samples *s, const char *path, tort_error *error) {
    int64_t count = 1;
    const tort_status status = cli_is_folder(path) ? TORT_OK : read_stack(s, path, &count, error);
    if (status) return status;
    for (int64_t at = 0; at < count; at++) {
        s->list = cli_room(s->list, (size_t)s->count, sizeof *s->list);
        s->list[s->count++] = (cli_sample){
            .path = cli_copy_text(path, strlen(path)), .stack = count > 1 ? s->stack_count - 1 : -1, .at = at};
    }
    return TORT_OK;
}

/* True for a folder with the inputs of one run, as --input takes it. */
static bool is_data_set(const cli_samples *s, const char *folder) {
    bool is = false;
    for (int32_t i = 0; i < tort_model_input_count(s->model); i++) {
        char *path = NULL;
        tort_error error;
        is = cli_data_set_find(folder, i, cli_input(s->model, i).name, &path, &error) || path || is;
        free(path);
    }
    return is;
}

static tort_status add_folder(cli_samples *s, const char *folder, tort_error *error) {
    char **names = NULL;
    size_t count = 0;
    tort_status status = TORT_OK;
    DIR *opened = opendir(folder);
    if (!opened) return tort_fail(error, TORT_E_IO, "--data: the folder '%s' cannot be read", folder);
    for (struct dirent *entry; (entry = readdir(opened));) {
        if (*entry->d_name == '.') continue;
        names = cli_room(names, count, sizeof *names);
        names[count++] = cli_format("%s/%s", folder, entry->d_name);
    }
    closedir(opened);
    if (count) qsort(names, count, sizeof *names, by_name);
    for (size_t i = 0; i < count; i++) {
        if (!status) status = add_file(s, names[i], error);
        free(names[i]);
    }
    free(names);
    return status;
}

tort_status cli_samples_open(const cli_options *options, const tort_model *model, cli_samples *samples,
                             tort_error *error) {
    const char *path = options->data;
    *samples = (cli_samples){.options = options, .model = model};
    tort_status status = cli_is_folder(path) && !is_data_set(samples, path) ? add_folder(samples, path, error)
                                                                            : add_file(samples, path, error);
    if (!status && !samples->count)
        status = tort_fail(error, TORT_E_INPUT,
                           "--data: there is no file in '%s'; 16 or more samples of what the model "
                           "will see are needed",
                           path);
    return status;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static size_t bytes_of(const cli_inputs *inputs) {
    size_t sum = 0, bytes;
    for (int32_t i = 0; i < inputs->count; i++)
        if (tort_tensor_bytes(&inputs->tensors[i], &bytes)) sum += bytes;
    return sum;
}

tort_status cli_samples_read(void *ud, int32_t index, tort_tensor *inputs, tort_error *error) {
    cli_samples *s = ud;
    cli_sample *sample = &s->list[index];
    if (sample->stack >= 0) {
        slice(s, sample, inputs);
        return TORT_OK;
    }
    cli_inputs *read = &sample->inputs;
    if (!sample->held) {
        cli_options one = *s->options;
        const char *path = sample->path;
        one.inputs = (cli_texts){.items = &path, .count = 1};
        cli_inputs_free(&s->current);
        const tort_status status = cli_inputs_read(&one, s->model, &s->current, error);
        if (status) return status;
        read = &s->current;
    }
    memcpy(inputs, read->tensors, (size_t)read->count * sizeof *inputs);
    if (sample->held || s->held + bytes_of(read) > MAX_HELD) return TORT_OK;
    s->held += bytes_of(read);
    sample->inputs = s->current;
    sample->held = true;
    s->current = (cli_inputs){0};
    return TORT_OK;
}

bool cli_samples_tell(void *ud, const char *phase, int32_t done, int32_t of) {
    (void)ud;
    cli_progress("%s: %d of %d", phase, done, of);
    return true;
}

void cli_samples_free(cli_samples *s) {
    const tort_env env = tort_env_complete(NULL);
    for (int32_t i = 0; i < s->count; i++) {
        cli_inputs_free(&s->list[i].inputs);
        free(s->list[i].path);
    }
    for (int32_t i = 0; i < s->stack_count; i++) {
        for (int32_t k = 0; k < s->stacks[i].count; k++) tort_tensor_file_free(&env, &s->stacks[i].tensors[k]);
        free(s->stacks[i].tensors);
    }
    cli_inputs_free(&s->current);
    free(s->stacks);
    free(s->list);
}
