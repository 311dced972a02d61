/* captured.c - keeps the values of a run, and writes pieces with theirs (captured.h). */
#include "runtime/cli/captured.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/core/base/hash.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/files/new_file.h"
#include "runtime/cli/files/value_file.h"
#include "runtime/cli/files/whole_file.h"
#include "runtime/cli/random.h"
#include "runtime/cli/opening.h"
#include "runtime/cli/values.h"
#include "runtime/core/graph/graph.h"
#include "runtime/include/op.h"

/* ---- values ------------------------------------------------------------------------------------------------------ */

static void keep(cli_captured *c, const char *name, const tort_tensor *tensor) {
    size_t bytes = 0;
    if (!*name || tensor->type == TORT_STRING || !tort_tensor_bytes(tensor, &bytes)) return;
    c->keys = cli_room(c->keys, (size_t)c->count, sizeof *c->keys);
    c->tensors = cli_room(c->tensors, (size_t)c->count, sizeof *c->tensors);
    tort_tensor copy = *tensor;
    copy.data = cli_alloc(bytes + 1, 1);
    if (bytes) memcpy(copy.data, tensor->data, bytes);
    c->keys[c->count] = cli_copy_text(name, strlen(name));
    c->tensors[c->count] = copy;
    if (tort_names_add(&c->names, c->keys[c->count], c->count)) c->count++;
}

static void keep_value(void *ud, int32_t node, const char *value, const tort_tensor *tensor) {
    cli_captured *c = ud;
    int32_t known;
    if (node < c->model->graphs[0].node_count && !tort_names_find(&c->names, value, &known)) keep(c, value, tensor);
}

static tort_status run(cli_options *options, cli_captured *c, const tort_session_options *session_options,
                       tort_context *context, tort_error *error) {
    const int32_t count = tort_model_output_count(c->model);
    tort_status status = cli_settle_sizes(options, c->model, session_options, context, &c->inputs, error);
    if (status) return status;
    cli_inputs_tell(&c->inputs);
    for (int32_t i = 0; i < c->inputs.count; i++)
        if (c->inputs.tensors[i].type != TORT_UNDEFINED) keep(c, cli_input(c->model, i).name, &c->inputs.tensors[i]);
    tort_value **inputs = cli_input_values(&c->inputs), **outputs = cli_alloc((size_t)count, sizeof *outputs);
    tort_context_observe(context, keep_value, c);
    cli_progress("running");
    status = cli_run_model(context, c->model, inputs, outputs, error);
    cli_progress_end();
    if (status) cli_inputs_explain(&c->inputs, c->model, error);
    cli_values_free(inputs, c->inputs.count);
    cli_values_free(outputs, count);
    return status;
}

tort_status cli_capture(cli_options *options, const tort_model *model, const char *chain, cli_captured *c,
                        tort_error *error) {
    *c = (cli_captured){.model = model};
    c->env = tort_env_complete(NULL);
    tort_env_choose_key(&c->env);
    tort_names_init(&c->names, &c->env);
    options->random = options->random || options->inputs.count == 0;
    tort_status status = cli_inputs_read(options, model, &c->inputs, error);
    tort_session_options session_options = cli_session_options(options, chain);
    session_options.unfolded = true;
    if (!status) status = cli_open_session(model, &session_options, &c->session, error);
    tort_context *context = NULL;
    if (!status) status = tort_context_create(c->session, &context, error);
    if (!status) status = run(options, c, &session_options, context, error);
    tort_context_free(context);
    return status;
}

void cli_captured_free(cli_captured *c) {
    if (!c->model) return;
    for (int32_t i = 0; i < c->count; i++) {
        free(c->keys[i]);
        free(c->tensors[i].data);
    }
    tort_names_free(&c->names);
    free(c->keys);
    free(c->tensors);
    cli_inputs_free(&c->inputs);
    tort_session_free(c->session);
}

const tort_tensor *cli_captured_at(const cli_captured *c, const char *value) {
    int32_t number;
    return *value && tort_names_find(&c->names, value, &number) ? &c->tensors[number] : NULL;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* The folder of a path, with its slash; "" for the current one. The caller frees. */
static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return cli_copy_text(path, slash ? (size_t)(slash + 1 - path) : 0);
}

tort_status cli_piece_check(const char *path, const tort_model *model, tort_error *error) {
    char *folder = folder_of(path);
    tort_status status = cli_check_folder("--output", *folder ? folder : ".", error);
    if (!status) status = cli_check_target(path, model, error);
    free(folder);
    return status;
}

static tort_status write_values(const char *folder, const char *what, const cli_piece_port *ports, int32_t count,
                                tort_error *error) {
    tort_status status = TORT_OK;
    for (int32_t i = 0, written = 0; !status && i < count; i++) {
        if (!ports[i].tensor) continue;
        char *path = cli_format("%s/%s_%d.pb", folder, what, written++);
        tort_value *value = cli_check_memory(tort_value_borrow(NULL, ports[i].tensor, NULL, NULL));
        status = tort_value_file_write(path, ports[i].name, value, error);
        tort_value_release(value);
        free(path);
    }
    return status;
}

tort_status cli_piece_write(const char *path, const cli_message *piece, const cli_piece_port *inputs,
                            int32_t input_count, const cli_piece_port *outputs, int32_t output_count,
                            tort_error *error) {
    char *folder = folder_of(path), *data = cli_format("%stest_data_set_0", folder);
    tort_status status = cli_make_folder("--output", data, error);
    if (!status) status = cli_new_file_of(path, piece->bytes, piece->size, error);
    if (!status) status = write_values(data, "input", inputs, input_count, error);
    if (!status) status = write_values(data, "output", outputs, output_count, error);
    free(data);
    free(folder);
    return cli_failed_write(status, error);
}
