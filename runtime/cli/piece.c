/* piece.c - takes a model's file apart, and makes models of parts of it (piece.h). */
#include "runtime/cli/piece.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/core/base/hash.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/files/whole_file.h"
#include "runtime/core/graph/graph.h"

enum { MAX_DEPTH = 100 }; /* of bodies, as in loader/wire.c */

/* A growing list of names. */
typedef struct name_list {
    char **names;
    int32_t count;
} name_list;

static void add_name(name_list *list, char *name) {
    list->names = cli_room(list->names, (size_t)list->count, sizeof *list->names);
    list->names[list->count++] = name;
}

static void add_text(name_list *list, const cli_field *f) {
    add_name(list, cli_copy_text((const char *)f->contents, f->size));
}

static void free_names(char **names, int32_t count) {
    for (int32_t i = 0; i < count; i++) free(names[i]);
    free(names);
}

/* ---- taking apart ------------------------------------------------------------------------------------------------ */

static bool read_names(const cli_field *node, name_list *inputs, name_list *outputs, int depth);

/* Adds what the nodes of a body read to what its own node reads. Names that the body makes are among them; they do no
 * harm, as nothing outside makes a value of such a name. */
static bool read_body(const cli_field *attribute, name_list *inputs, int depth) {
    name_list made = {0};
    bool good = depth < MAX_DEPTH;
    const uint8_t *at = attribute->contents, *end = at + attribute->size;
    for (cli_field graph; good && at < end && (good = cli_take_field(&at, end, &graph));) {
        if (graph.kind != CLI_WIRE_BYTES ||
            (graph.number != CLI_ATTRIBUTE_GRAPH && graph.number != CLI_ATTRIBUTE_GRAPHS))
            continue;
        const uint8_t *in = graph.contents, *stop = in + graph.size;
        for (cli_field f; good && in < stop && (good = cli_take_field(&in, stop, &f));)
            if (f.number == CLI_GRAPH_NODE && f.kind == CLI_WIRE_BYTES)
                good = read_names(&f, inputs, &made, depth + 1);
            else if (f.number == CLI_GRAPH_OUTPUT && f.kind == CLI_WIRE_BYTES)
                add_name(inputs, cli_field_text(&f, CLI_VALUE_NAME)); /* a body may return a value from around it */
    }
    free_names(made.names, made.count);
    return good;
}

static bool read_names(const cli_field *node, name_list *inputs, name_list *outputs, int depth) {
    const uint8_t *at = node->contents, *end = at + node->size;
    bool good = true;
    for (cli_field f; good && at < end && (good = cli_take_field(&at, end, &f));) {
        if (f.kind != CLI_WIRE_BYTES) continue;
        if (f.number == CLI_NODE_INPUT) add_text(inputs, &f);
        if (f.number == CLI_NODE_OUTPUT) add_text(outputs, &f);
        if (f.number == CLI_NODE_ATTRIBUTE) good = read_body(&f, inputs, depth);
    }
    return good;
}

static bool add_node(cli_whole *whole, const cli_field *f) {
    name_list inputs = {0}, outputs = {0};
    const bool good = read_names(f, &inputs, &outputs, 0);
    whole->nodes = cli_room(whole->nodes, (size_t)whole->count, sizeof *whole->nodes);
    whole->nodes[whole->count++] = (cli_whole_node){*f, inputs.names, outputs.names, inputs.count, outputs.count};
    return good;
}

static void add_initializer(cli_whole *whole, const cli_field *f, name_list *names) {
    const uint8_t *at = f->contents, *end = at + f->size;
    cli_field values = *f;
    for (cli_field in; f->number == CLI_GRAPH_SPARSE && at < end && cli_take_field(&at, end, &in);)
        if (in.number == CLI_SPARSE_VALUES) values = in;
    at = values.contents, end = at + values.size;
    whole->initializers = cli_room(whole->initializers, (size_t)names->count, sizeof *whole->initializers);
    whole->external = cli_room(whole->external, (size_t)names->count, sizeof *whole->external);
    whole->initializers[names->count] = *f;
    whole->external[names->count] = false;
    for (cli_field in; at < end && cli_take_field(&at, end, &in);)
        if (in.number == CLI_TENSOR_EXTERNAL) whole->external[names->count] = true;
    add_name(names, cli_field_text(&values, CLI_TENSOR_NAME));
}

static bool read_graph(cli_whole *whole, const cli_field *graph) {
    name_list initializers = {0}, outputs = {0};
    const uint8_t *at = graph->contents, *end = at + graph->size;
    bool good = true;
    for (cli_field f; good && at < end && (good = cli_take_field(&at, end, &f));) {
        if (f.kind != CLI_WIRE_BYTES) continue;
        if (f.number == CLI_GRAPH_NODE) good = add_node(whole, &f);
        if (f.number == CLI_GRAPH_INITIALIZER || f.number == CLI_GRAPH_SPARSE)
            add_initializer(whole, &f, &initializers);
        if (f.number == CLI_GRAPH_OUTPUT) add_name(&outputs, cli_field_text(&f, CLI_VALUE_NAME));
    }
    whole->initializer_names = initializers.names;
    whole->initializer_count = initializers.count;
    whole->outputs = outputs.names;
    whole->output_count = outputs.count;
    return good;
}

/* Enters names into the tables. False: two nodes make one value, which the loader refuses. */
static bool enter_names(cli_whole *whole) {
    bool once = true;
    int32_t known;
    for (int32_t i = 0; i < whole->initializer_count; i++)
        if (!tort_names_find(&whole->held, whole->initializer_names[i], &known))
            cli_check_memory(tort_names_add(&whole->held, whole->initializer_names[i], i) ? whole : NULL);
    for (int32_t i = 0; i < whole->count; i++)
        for (int32_t k = 0; k < whole->nodes[i].output_count; k++) {
            const char *name = whole->nodes[i].outputs[k];
            if (!*name) continue;
            once = once && !tort_names_find(&whole->made, name, &known);
            if (once) cli_check_memory(tort_names_add(&whole->made, name, i) ? whole : NULL);
        }
    return once;
}

/* True if no node reads what a later one makes. */
static bool is_sorted(const cli_whole *whole) {
    bool sorted = true;
    for (int32_t i = 0; i < whole->count; i++)
        for (int32_t k = 0; k < whole->nodes[i].input_count; k++)
            sorted = sorted && cli_whole_maker(whole, whole->nodes[i].inputs[k]) <= i;
    return sorted;
}

tort_status cli_whole_open(const char *path, cli_whole *whole, tort_error *error) {
    *whole = (cli_whole){.size = 0};
    tort_env_choose_key(&whole->env);
    whole->env = tort_env_complete(&whole->env);
    tort_names_init(&whole->made, &whole->env);
    tort_names_init(&whole->held, &whole->env);
    tort_status status = cli_read_file(path, CLI_MAX_MESSAGE, &whole->bytes, &whole->size, error);
    if (status) return status;
    const uint8_t *at = whole->bytes, *end = at + whole->size;
    bool good = true, read = false; /* the loader has refused a second graph */
    for (cli_field f; good && at < end && (good = cli_take_field(&at, end, &f));) {
        if (f.number != CLI_MODEL_GRAPH || f.kind != CLI_WIRE_BYTES) continue;
        good = !read && read_graph(whole, &f);
        read = true;
    }
    if (!good || !enter_names(whole))
        return tort_fail(error, TORT_E_INPUT, "'%s' is not the file any more that was loaded", path);
    if (is_sorted(whole)) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "'%s': a node stands before one whose output it reads; sort them first",
                     path);
}

void cli_whole_free(cli_whole *whole) {
    if (!whole->made.env) return; /* not opened */
    for (int32_t i = 0; i < whole->count; i++) {
        free_names(whole->nodes[i].inputs, whole->nodes[i].input_count);
        free_names(whole->nodes[i].outputs, whole->nodes[i].output_count);
    }
    tort_names_free(&whole->made);
    tort_names_free(&whole->held);
    free_names(whole->initializer_names, whole->initializer_count);
    free_names(whole->outputs, whole->output_count);
    free(whole->initializers);
    free(whole->external);
    free(whole->nodes);
    free(whole->bytes);
}

int32_t cli_whole_maker(const cli_whole *whole, const char *value) {
    int32_t node;
    return *value && tort_names_find(&whole->made, value, &node) ? node : -1;
}

bool cli_whole_holds(const cli_whole *whole, const char *value) {
    int32_t number;
    return tort_names_find(&whole->held, value, &number);
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* ValueInfoProto, TypeProto, TypeProto.Tensor, TensorShapeProto and its Dimension. */
enum { VALUE_TYPE = 2, TYPE_TENSOR = 1, TENSOR_ELEMENT = 1, TENSOR_SHAPE = 2, SHAPE_DIM = 1, DIM_VALUE = 1 };

static void put_port(cli_message *out, uint32_t number, const cli_piece_port *port) {
    cli_message value = {0}, type = {0}, tensor = {0}, shape = {0};
    cli_put_text(&value, CLI_VALUE_NAME, port->name);
    if (port->tensor) {
        for (int32_t i = 0; i < port->tensor->rank; i++) {
            cli_message dim = {0};
            cli_put_number(&dim, DIM_VALUE, (uint64_t)port->tensor->dims[i]);
            cli_put_message(&shape, SHAPE_DIM, &dim);
        }
        cli_put_number(&tensor, TENSOR_ELEMENT, (uint64_t)port->tensor->type);
        cli_put_message(&tensor, TENSOR_SHAPE, &shape);
        cli_put_message(&type, TYPE_TENSOR, &tensor);
        cli_put_message(&value, VALUE_TYPE, &type);
    }
    cli_put_message(out, number, &value);
}

/* Marks the initializers that kept nodes read, or that are outputs. */
static bool *read_initializers(const cli_whole *whole, const bool *keep) {
    bool *read = cli_alloc((size_t)whole->initializer_count, sizeof *read);
    int32_t number;
    for (int32_t i = 0; i < whole->count; i++)
        for (int32_t k = 0; keep[i] && k < whole->nodes[i].input_count; k++)
            if (tort_names_find(&whole->held, whole->nodes[i].inputs[k], &number)) read[number] = true;
    return read;
}

static bool is_port(const cli_piece_port *ports, int32_t count, const char *name) {
    bool is = false;
    for (int32_t i = 0; i < count; i++) is = is || !strcmp(ports[i].name, name);
    return is;
}

/* Puts in a weight of another file as a tensor with its bytes. */
static tort_status put_weight(const tort_model *model, int32_t index, const char *name, cli_message *graph,
                              tort_error *error) {
    const tort_weight *weight = &model->weights[index];
    cli_message tensor = {0};
    const void *data;
    const tort_status status = tort_weight_acquire(model, index, &data, error);
    if (status) return status;
    for (int32_t i = 0; i < weight->rank; i++) cli_put_number(&tensor, CLI_TENSOR_DIMS, (uint64_t)weight->dims[i]);
    cli_put_number(&tensor, CLI_TENSOR_TYPE, (uint64_t)weight->type);
    cli_put_text(&tensor, CLI_TENSOR_NAME, name);
    cli_put_field(&tensor, CLI_TENSOR_RAW, data, weight->bytes);
    cli_put_message(graph, CLI_GRAPH_INITIALIZER, &tensor);
    tort_weight_release(model, index);
    return TORT_OK;
}

/* Enters the weights of the model by the names of their values. */
static void enter_weights(const tort_model *model, tort_names *weights) {
    int32_t known;
    for (int32_t i = 0; model && i < model->graphs[0].value_count; i++) {
        const tort_graph_value *value = &model->graphs[0].values[i];
        if (value->weight >= 0 && !tort_names_find(weights, value->name, &known))
            cli_check_memory(tort_names_add(weights, value->name, value->weight) ? weights : NULL);
    }
}

static tort_status put_initializers(const cli_whole *whole, const tort_model *model, const bool *wanted,
                                    cli_message *graph, tort_error *error) {
    tort_names weights;
    tort_status status = TORT_OK;
    tort_names_init(&weights, &whole->env);
    enter_weights(model, &weights);
    for (int32_t i = 0, index; !status && i < whole->initializer_count; i++) {
        const char *name = whole->initializer_names[i];
        if (!wanted[i]) continue;
        if (!whole->external[i] || !model)
            cli_put_bytes(graph, whole->initializers[i].whole, whole->initializers[i].whole_size);
        else if (whole->initializers[i].number == CLI_GRAPH_INITIALIZER && tort_names_find(&weights, name, &index))
            status = put_weight(model, index, name, graph, error);
        else
            status = tort_fail(error, TORT_E_UNSUPPORTED, "the weight '%s' of another file cannot be copied", name);
    }
    tort_names_free(&weights);
    return status;
}

tort_status cli_piece_make(const cli_whole *whole, const tort_model *model, const bool *keep,
                           const cli_piece_port *inputs, int32_t input_count, const cli_piece_port *outputs,
                           int32_t output_count, cli_message *out, tort_error *error) {
    cli_message graph = {0};
    bool *wanted = read_initializers(whole, keep);
    for (int32_t i = 0; i < whole->count; i++)
        if (keep[i]) cli_put_bytes(&graph, whole->nodes[i].field.whole, whole->nodes[i].field.whole_size);
    cli_put_text(&graph, CLI_GRAPH_NAME, "piece");
    for (int32_t i = 0; i < whole->initializer_count; i++)
        if (is_port(inputs, input_count, whole->initializer_names[i])) wanted[i] = false;
    const tort_status status = put_initializers(whole, model, wanted, &graph, error);
    for (int32_t i = 0; i < input_count; i++) put_port(&graph, CLI_GRAPH_INPUT, &inputs[i]);
    for (int32_t i = 0; i < output_count; i++) put_port(&graph, CLI_GRAPH_OUTPUT, &outputs[i]);
    const uint8_t *at = whole->bytes, *end = at + whole->size;
    for (cli_field f; at < end && cli_take_field(&at, end, &f);)
        if (f.number != CLI_MODEL_GRAPH) cli_put_bytes(out, f.whole, f.whole_size);
    cli_put_message(out, CLI_MODEL_GRAPH, &graph);
    free(wanted);
    return status;
}
