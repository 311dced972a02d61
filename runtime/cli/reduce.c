/* reduce.c - `tinyort reduce`: the smallest piece of a model that still differs between two chains.
 *
 * One run on the first chain gives the values that pieces start from, so that a piece has no errors of what is before
 * it. Pieces run as models do, folded and fused. By halving: the shortest beginning of the nodes that differs, then the
 * shortest end of that; then single nodes are left out while it still differs (Zeller and Hildebrandt 2002,
 * "Simplifying and isolating failure-inducing input"). */
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/captured.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/equality.h"
#include "runtime/cli/opening.h"

typedef struct reduction {
    cli_options *options;
    tort_model *model;
    cli_whole whole;
    cli_captured captured;
    bool *keep;          /* the nodes of the smallest piece so far */
    bool *wanted, *read; /* of the piece that is tried: its nodes; by node: a node outside reads it */
    cli_piece_port *inputs, *outputs;
    int32_t input_count, output_count;
    int32_t tried, nodes;
    char *difference; /* of the smallest piece so far */
    char *output;     /* the output that differs */
} reduction;

/* ---- a piece ----------------------------------------------------------------------------------------------------- */

static void add_port(cli_piece_port **ports, int32_t *count, const char *name, const tort_tensor *tensor) {
    for (int32_t i = 0; i < *count; i++)
        if (!strcmp((*ports)[i].name, name)) return;
    *ports = cli_room(*ports, (size_t)*count, sizeof **ports);
    (*ports)[(*count)++] = (cli_piece_port){name, tensor};
}

/* Finds the inputs of a piece. A value that was not seen, such as a constant or a sequence, brings its node with it. */
static void find_inputs(reduction *r) {
    r->input_count = 0;
    for (int32_t i = r->whole.count - 1; i >= 0; i--) {
        const cli_whole_node *node = &r->whole.nodes[i];
        for (int32_t k = 0; r->wanted[i] && k < node->input_count; k++) {
            const int32_t maker = cli_whole_maker(&r->whole, node->inputs[k]);
            const tort_tensor *value = cli_captured_at(&r->captured, node->inputs[k]);
            if ((maker >= 0 && r->wanted[maker]) || cli_whole_holds(&r->whole, node->inputs[k])) continue;
            if (value)
                add_port(&r->inputs, &r->input_count, node->inputs[k], value);
            else if (maker >= 0)
                r->wanted[maker] = true;
        }
    }
}

/* Finds its outputs: what the rest reads, or nobody in the piece. */
static void find_outputs(reduction *r) {
    const cli_whole *whole = &r->whole;
    r->output_count = 0;
    memset(r->read, 0, (size_t)whole->count * sizeof *r->read);
    for (int32_t i = 0; i < whole->count; i++)
        for (int32_t k = 0; k < whole->nodes[i].input_count; k++) {
            const int32_t maker = cli_whole_maker(whole, whole->nodes[i].inputs[k]);
            if (maker < 0 || !r->wanted[maker]) continue;
            r->read[maker] = r->read[maker] || r->wanted[i];
            const tort_tensor *value = cli_captured_at(&r->captured, whole->nodes[i].inputs[k]);
            if (!r->wanted[i] && value) add_port(&r->outputs, &r->output_count, whole->nodes[i].inputs[k], value);
        }
    for (int32_t i = 0; i < whole->count; i++)
        for (int32_t k = 0; r->wanted[i] && !r->read[i] && k < whole->nodes[i].output_count; k++) {
            const tort_tensor *value = cli_captured_at(&r->captured, whole->nodes[i].outputs[k]);
            if (value) add_port(&r->outputs, &r->output_count, whole->nodes[i].outputs[k], value);
        }
}

/* Runs a piece on a chain, and copies its outputs to `made`, whose data the caller frees. */
static tort_status run_piece(const reduction *r, const tort_model *piece, const char *chain, tort_tensor *made,
                             tort_error *error) {
    tort_tensor *inputs = cli_alloc((size_t)r->input_count, sizeof *inputs),
                *outputs = cli_alloc((size_t)r->output_count, sizeof *outputs);
    tort_session_options session_options = cli_session_options(r->options, chain);
    tort_session *session = NULL;
    tort_context *context = NULL;
    session_options.shape_count = session_options.symbol_count = 0; /* its shapes are those of its inputs */
    for (int32_t i = 0; i < r->input_count; i++) inputs[i] = *r->inputs[i].tensor;
    tort_status status = cli_open_session(piece, &session_options, &session, error);
    if (!status) status = tort_context_create(session, &context, error);
    if (!status) status = tort_context_run(context, inputs, r->input_count, outputs, r->output_count, error);
    for (int32_t i = 0; !status && i < r->output_count; i++) {
        size_t bytes = 0;
        tort_tensor_bytes(&outputs[i], &bytes);
        made[i] = outputs[i];
        made[i].data = cli_alloc(bytes + 1, 1);
        if (bytes) memcpy(made[i].data, outputs[i].data, bytes);
    }
    tort_context_free(context);
    tort_session_free(session);
    free(outputs);
    free(inputs);
    return status;
}

/* Compares the outputs; keeps the first difference in words. */
static bool outputs_differ(reduction *r, const tort_tensor *a, const tort_tensor *b) {
    for (int32_t i = 0; i < r->output_count; i++) {
        double worst;
        char *text = cli_difference(&b[i], &a[i], cli_tolerance_of(r->options, b[i].type, CLI_WHOLE_MODEL), &worst);
        if (!text) continue;
        free(r->difference);
        free(r->output);
        r->difference = text;
        r->output = cli_copy_text(r->outputs[i].name, strlen(r->outputs[i].name));
        return true;
    }
    return false;
}

static tort_status make_piece(reduction *r, const bool *keep, cli_message *piece, tort_error *error) {
    memcpy(r->wanted, keep, (size_t)r->whole.count * sizeof *keep);
    find_inputs(r);
    find_outputs(r);
    return cli_piece_make(&r->whole, r->model, r->wanted, r->inputs, r->input_count, r->outputs, r->output_count, piece,
                          error);
}

/* True if the piece of these nodes differs between the chains. One that does not run on either does not. */
static bool differs(reduction *r, const bool *keep) {
    cli_message bytes = {0};
    tort_model *piece = NULL;
    tort_error error;
    tort_status status = make_piece(r, keep, &bytes, &error);
    tort_tensor *made = cli_alloc(2 * (size_t)r->output_count, sizeof *made);
    cli_progress("%d pieces tried", ++r->tried);
    if (!status && !r->output_count) status = TORT_E_USAGE;
    if (!status) status = tort_model_load_buffer(NULL, bytes.bytes, bytes.size, &r->options->load, &piece, &error);
    for (int32_t i = 0; !status && i < 2; i++)
        status = run_piece(r, piece, r->options->chains.items[i], made + i * r->output_count, &error);
    const bool differ = !status && outputs_differ(r, made, made + r->output_count);
    for (int32_t i = 0; i < 2 * r->output_count; i++) free(made[i].data);
    free(made);
    tort_model_free(piece);
    free(bytes.bytes);
    return differ;
}

/* ---- halving ----------------------------------------------------------------------------------------------------- */

static bool range_differs(reduction *r, bool *keep, int32_t first, int32_t end) {
    for (int32_t i = 0; i < r->whole.count; i++) keep[i] = i >= first && i < end;
    return differs(r, keep);
}

/* Leaves out single nodes, from the last on, as long as something is left that differs. */
static void leave_out(reduction *r, int32_t first, int32_t end) {
    for (int32_t i = end - 1; i >= first; i--) {
        r->keep[i] = false;
        if (!differs(r, r->keep)) r->keep[i] = true;
    }
}

/* Finds nodes in a row that differ: all of them, or else a half, a quarter ..., as an error may vanish on the way to
 * the outputs. False: not even a single node differs. */
static bool find_range(reduction *r, int32_t *first, int32_t *end) {
    const int32_t count = r->whole.count;
    for (int32_t size = count; size > 0; size = size > 1 ? (size + 1) / 2 : 0)
        for (*first = 0; *first < count; *first = *end) {
            *end = count - *first < size ? count : *first + size;
            if (range_differs(r, r->keep, *first, *end)) return true;
        }
    return false;
}

static tort_status reduce(reduction *r, tort_error *error) {
    int32_t first, end;
    if (!find_range(r, &first, &end))
        return tort_fail(error, TORT_E_RUN, "nothing differs between --ep %s and --ep %s: there is nothing to reduce",
                         r->options->chains.items[0], r->options->chains.items[1]);
    for (int32_t same = first; end - same > 1;) { /* up to `same` they do not differ, up to `end` they do */
        const int32_t middle = same + (end - same) / 2;
        *(range_differs(r, r->keep, first, middle) ? &end : &same) = middle;
    }
    for (int32_t past = end; past - first > 1;) { /* from `first` on they differ, from `past` on they do not */
        const int32_t middle = first + (past - first) / 2;
        *(range_differs(r, r->keep, middle, end) ? &first : &past) = middle;
    }
    range_differs(r, r->keep, first, end);
    leave_out(r, first, end);
    if (differs(r, r->keep)) return TORT_OK;
    return tort_fail(error, TORT_E_RUN, "the difference comes and goes: it is not the same in two runs");
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static tort_status write_piece(reduction *r, tort_error *error) {
    cli_message piece = {0};
    tort_status status = make_piece(r, r->keep, &piece, error);
    for (int32_t i = 0; i < r->whole.count; i++) r->nodes += r->wanted[i];
    if (!status)
        status =
            cli_piece_write(r->options->output, &piece, r->inputs, r->input_count, r->outputs, r->output_count, error);
    free(piece.bytes);
    return status;
}

static tort_status work(reduction *r, tort_error *error) {
    cli_options *options = r->options;
    tort_status status = cli_check_environment(error);
    if (!status) status = cli_open_model(options, options->operands[0], &r->model, error);
    if (!status) status = cli_check_names(options, r->model, error);
    if (!status) status = cli_whole_open(options->operands[0], &r->whole, error);
    if (!status) status = cli_piece_check(options->output, r->model, error);
    if (!status) status = cli_capture(options, r->model, options->chains.items[0], &r->captured, error);
    if (status) return status;
    r->keep = cli_alloc((size_t)r->whole.count, sizeof *r->keep);
    r->wanted = cli_alloc((size_t)r->whole.count, sizeof *r->wanted);
    r->read = cli_alloc((size_t)r->whole.count, sizeof *r->read);
    status = reduce(r, error);
    cli_progress_end();
    return status ? status : write_piece(r, error);
}

/* "Conv 'conv1'"; the caller frees. */
static char *name_of(const cli_whole_node *node) {
    char *name = cli_field_text(&node->field, CLI_NODE_NAME), *op = cli_field_text(&node->field, CLI_NODE_OPERATOR);
    char *text = cli_format("%s '%s'", op, *name ? name : node->output_count ? node->outputs[0] : "");
    free(name);
    free(op);
    return text;
}

static void tell(const reduction *r, cJSON *json) {
    cJSON *nodes = json ? cJSON_AddArrayToObject(json, "nodes") : NULL;
    if (!json)
        cli_print_line(stdout, "%s: %d of %d nodes, after %d pieces; their values are in test_data_set_0 beside it\n",
                       r->options->output, r->nodes, r->whole.count, r->tried);
    for (int32_t i = 0; i < r->whole.count; i++) {
        if (!r->wanted[i]) continue;
        char *name = name_of(&r->whole.nodes[i]);
        if (json)
            cJSON_AddItemToArray(nodes, cJSON_CreateString(name));
        else
            cli_print(stdout, "  %s\n", name);
        free(name);
    }
    if (json) {
        cli_json_text(json, "piece", r->options->output);
        cli_json_number(json, "of", r->whole.count);
        cli_json_number(json, "tried", r->tried);
        cli_json_text(json, "output", r->output);
        cli_json_text(json, "difference", r->difference);
    } else {
        cli_print(stdout, "'%s' on %s against %s: %s\n", r->output, r->options->chains.items[1],
                  r->options->chains.items[0], r->difference);
    }
}

int cli_reduce(cli_options *options) {
    reduction r = {.options = options};
    tort_error error = {0};
    cJSON *json = cli_json_of(options);
    if (!work(&r, &error)) tell(&r, json);
    const int result = cli_end(
        options, &(cli_ending){.error = &error, .sessions = &r.captured.session, .session_count = 1, .json = json});
    free(r.difference);
    free(r.output);
    free(r.inputs);
    free(r.outputs);
    free(r.keep);
    free(r.wanted);
    free(r.read);
    cli_captured_free(&r.captured);
    cli_whole_free(&r.whole);
    tort_model_free(r.model);
    return result;
}
