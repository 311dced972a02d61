/* extract.c - `tinyort extract`: the nodes between some values and others as a model of their own, with the values that
 * they had in a run as a test directory, which `tinyort test` and other runtimes take. */
#include <stdlib.h>
#include <string.h>

#include "runtime/core/base/suggest.h"
#include "runtime/cli/captured.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/opening.h"

typedef struct extraction {
    cli_options *options;
    tort_model *model;
    cli_whole whole;
    cli_captured captured;
    bool *keep;
    cli_piece_port *inputs, *outputs;
    int32_t input_count, output_count, nodes;
} extraction;

/* TORT_E_USAGE for a value that no node makes. */
static tort_status unknown_value(const extraction *x, const char *option, const char *name, tort_error *error) {
    const char **names = NULL;
    size_t count = 0;
    char hint[300];
    for (int32_t i = 0; i < x->whole.count; i++)
        for (int32_t k = 0; k < x->whole.nodes[i].output_count; k++) {
            names = cli_room(names, count, sizeof *names);
            names[count++] = x->whole.nodes[i].outputs[k];
        }
    tort_did_you_mean(name, names, count, hint, sizeof hint);
    free(names);
    return tort_fail(error, TORT_E_USAGE, "--%s: no node of the main graph makes a value '%s'%s", option, name, hint);
}

static bool is_from(const extraction *x, const char *name) {
    bool is = false;
    for (int32_t i = 0; i < x->options->from.count; i++) is = is || !strcmp(x->options->from.items[i], name);
    return is;
}

static void add_input(extraction *x, const char *name) {
    for (int32_t i = 0; i < x->input_count; i++)
        if (!strcmp(x->inputs[i].name, name)) return;
    x->inputs = cli_room(x->inputs, (size_t)x->input_count, sizeof *x->inputs);
    x->inputs[x->input_count++] = (cli_piece_port){name, NULL};
}

/* Keeps what the kept nodes need, up to the values of --from: nodes are in topological order. */
static void keep_needed(extraction *x) {
    for (int32_t i = x->whole.count - 1; i >= 0; i--) {
        const cli_whole_node *node = &x->whole.nodes[i];
        x->nodes += x->keep[i];
        for (int32_t k = 0; x->keep[i] && k < node->input_count; k++) {
            const char *name = node->inputs[k];
            const int32_t maker = cli_whole_maker(&x->whole, name);
            if (is_from(x, name) || (maker < 0 && tort_model_input_index(x->model, name) >= 0))
                add_input(x, name);
            else if (maker >= 0)
                x->keep[maker] = true;
        }
    }
}

static tort_status choose(extraction *x, tort_error *error) {
    const cli_options *options = x->options;
    x->keep = cli_alloc((size_t)x->whole.count, sizeof *x->keep);
    x->output_count = options->to.count;
    x->outputs = cli_alloc((size_t)options->to.count, sizeof *x->outputs);
    for (int32_t i = 0; i < options->to.count; i++) {
        const int32_t maker = cli_whole_maker(&x->whole, options->to.items[i]);
        if (maker < 0) return unknown_value(x, "to", options->to.items[i], error);
        x->keep[maker] = true;
        x->outputs[i].name = options->to.items[i];
    }
    for (int32_t i = 0; i < options->from.count; i++) {
        const char *name = options->from.items[i];
        if (cli_whole_maker(&x->whole, name) < 0 && tort_model_input_index(x->model, name) < 0 &&
            !cli_whole_holds(&x->whole, name))
            return unknown_value(x, "from", name, error);
    }
    keep_needed(x);
    for (int32_t i = 0; i < options->from.count; i++) {
        bool used = false;
        for (int32_t k = 0; k < x->input_count; k++) used = used || !strcmp(x->inputs[k].name, options->from.items[i]);
        if (!used)
            return tort_fail(error, TORT_E_USAGE, "--from: nothing on the way to --to reads '%s'",
                             options->from.items[i]);
    }
    return TORT_OK;
}

/* Gives the ports the tensors that they were in the run. */
static tort_status bind(const extraction *x, cli_piece_port *ports, int32_t count, tort_error *error) {
    for (int32_t i = 0; i < count; i++) {
        ports[i].tensor = cli_captured_at(&x->captured, ports[i].name);
        if (!ports[i].tensor)
            return tort_fail(error, TORT_E_UNSUPPORTED, "'%s' is no tensor of numbers, or was not made in the run",
                             ports[i].name);
    }
    return TORT_OK;
}

static tort_status work(extraction *x, tort_error *error) {
    cli_options *options = x->options;
    tort_status status = cli_check_environment(error);
    if (!status) status = cli_open_model(options, options->operands[0], &x->model, error);
    if (!status) status = cli_check_names(options, x->model, error);
    if (!status) status = cli_whole_open(options->operands[0], &x->whole, error);
    if (!status) status = cli_piece_check(options->output, x->model, error);
    if (!status) status = choose(x, error);
    if (!status) status = cli_capture(options, x->model, options->chains.items[0], &x->captured, error);
    if (!status) status = bind(x, x->inputs, x->input_count, error);
    if (!status) status = bind(x, x->outputs, x->output_count, error);
    if (status) return status;
    cli_message piece = {0};
    status = cli_piece_make(&x->whole, x->model, x->keep, x->inputs, x->input_count, x->outputs, x->output_count,
                            &piece, error);
    if (!status)
        status =
            cli_piece_write(options->output, &piece, x->inputs, x->input_count, x->outputs, x->output_count, error);
    free(piece.bytes);
    return status;
}

static void fill_json(const extraction *x, cJSON *json) {
    cJSON *inputs = cJSON_AddArrayToObject(json, "inputs"), *outputs = cJSON_AddArrayToObject(json, "outputs");
    cli_json_text(json, "piece", x->options->output);
    cli_json_number(json, "nodes", x->nodes);
    for (int32_t i = 0; i < x->input_count; i++) cJSON_AddItemToArray(inputs, cJSON_CreateString(x->inputs[i].name));
    for (int32_t i = 0; i < x->output_count; i++) cJSON_AddItemToArray(outputs, cJSON_CreateString(x->outputs[i].name));
}

int cli_extract(cli_options *options) {
    extraction x = {.options = options};
    tort_error error = {0};
    const tort_status status = work(&x, &error);
    cJSON *json = cli_json_of(options);
    if (!status && json) fill_json(&x, json);
    if (!status && !json)
        cli_print_line(stdout,
                       "%s: %d of %d nodes, %d input%s, %d output%s; their values are in test_data_set_0 beside it\n",
                       options->output, x.nodes, x.whole.count, x.input_count, x.input_count == 1 ? "" : "s",
                       x.output_count, x.output_count == 1 ? "" : "s");
    const int result = cli_end(
        options, &(cli_ending){.error = &error, .sessions = &x.captured.session, .session_count = 1, .json = json});
    free(x.keep);
    free(x.inputs);
    free(x.outputs);
    cli_captured_free(&x.captured);
    cli_whole_free(&x.whole);
    tort_model_free(x.model);
    return result;
}
