/* inspect.c - `tinyort inspect`: describes a model, whatever providers there are.
 *
 * Shapes come from planning a session on the cpu provider, which knows more than the file: values computed from
 * constants, and sizes of --shape. If no session opens, shapes are those of the file. FLOPs are counted by ops/flops.c,
 * two per multiply-add; nodes in bodies are left out, as their number of trips is unknown. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/described.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/opening.h"
#include "runtime/cli/report_json.h"
#include "runtime/cli/table.h"
#include "runtime/core/graph/check.h"
#include "runtime/core/lowered/lowered.h"

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

/* Types and shapes of the values of the main graph, as far as they are known. */
typedef struct facts {
    const tort_model *model;
    const tort_dims *dims;
    const tort_info *infos; /* per value of the main graph */
    tort_session *session;  /* owner of infos, owned; NULL if they are the file's, in `copy` */
    tort_info *copy;
} facts;

/* A model that cannot be planned is shown as its file has it, unless there was no time left. */
static tort_status find_facts(const cli_options *options, const tort_model *model, facts *k, tort_error *error) {
    *k = (facts){.model = model, .dims = &model->dims};
    tort_session_options session_options = cli_session_options(options, "cpu");
    session_options.fusions_off = "*";
    session_options.plan_only = true;
    tort_error refused = {0};
    const tort_status status = cli_open_session(model, &session_options, &k->session, &refused);
    if (status == TORT_E_CANCELLED) {
        *error = refused;
        return status;
    }
    if (k->session && (!status || status == TORT_E_PLACEMENT)) {
        k->dims = &k->session->dims;
        k->infos = k->session->graphs[0].infos;
        return TORT_OK;
    }
    const tort_graph *graph = &model->graphs[0];
    k->infos = k->copy = cli_alloc((size_t)graph->value_count, sizeof *k->copy);
    for (int32_t v = 0; v < graph->value_count; v++) k->copy[v] = graph->values[v].info;
    return TORT_OK;
}

static void forget(facts *k) {
    tort_session_free(k->session);
    free(k->copy);
}

/* A shape as text: sizes, symbols and formulas, but "?" for an unknown that shape inference introduced. The caller
 * frees. */
static char *value_shape(const facts *k, const tort_info *info) {
    if (info->kind != TORT_TENSOR) return cli_format("%s", "");
    if (info->rank <= 0) return cli_format(info->rank < 0 ? "of any rank" : "scalar");
    char *text = cli_copy_text("", 0);
    bool named = false;
    for (int pass = 0; pass < 2; pass++)
        for (int32_t d = 0; d < info->rank; d++) {
            char dim[100];
            tort_dim_text(k->dims, info->dims[d], dim, sizeof dim);
            const bool known = tort_dim_known(info->dims[d]), unknown = !known && *dim == '?';
            if (pass == 0)
                named = named || (!known && !unknown);
            else
                cli_append(&text, "%s%s", d == 0 ? "" : named ? " x " : "x", unknown ? "?" : dim);
        }
    return text;
}

/* ---- counts ------------------------------------------------------------------------------------------------------ */

typedef struct op_count {
    const tort_node *node;        /* first node of this operator */
    int32_t nodes, unknown_flops; /* both include nodes in bodies */
    double flops;
} op_count;

typedef struct summary {
    op_count *ops;
    int32_t op_kinds, nodes, unknown_flops, in_bodies; /* in_bodies: part of unknown_flops */
    double flops, parameters, parameter_bytes;
    int64_t subnormals; /* of the parameters */
} summary;

static double resolved_flops(const tort_node_view *view, const tort_node *node) {
    size_t bytes, scratch;
    double flops = -1;
    if (tort_params_measure(view, node, &bytes, NULL)) return flops;
    void *params = cli_alloc(1, bytes);
    if (!tort_resolve_node(view, params, &scratch, NULL)) flops = tort_op_flops(node->op, params);
    free(params);
    return flops;
}

static bool all_known(const facts *k, const int32_t *values, int32_t count, tort_info *infos) {
    bool all = true;
    for (int32_t i = 0; i < count; i++) {
        infos[i] = values[i] < 0 ? (tort_info){.nest = -1, .rank = -1} : k->infos[values[i]];
        all = all && (values[i] < 0 || tort_shape_known(&infos[i]));
    }
    return all;
}

/* FLOPs of a node of the main graph; 0 if its operator is not counted, negative if its shapes are unknown. */
static double node_flops(const facts *k, const tort_node *node) {
    tort_info *infos = cli_alloc((size_t)node->input_count + (size_t)node->output_count, sizeof *infos);
    tort_info *outputs = infos + node->input_count;
    const bool in = all_known(k, node->inputs, node->input_count, infos);
    const bool out = all_known(k, node->outputs, node->output_count, outputs);
    const tort_node_view view = tort_view_of_node(node, k->model, infos, outputs);
    const double flops = in && out ? resolved_flops(&view, node) : -1;
    free(infos);
    return flops;
}

static int by_operator(const void *a, const void *b) {
    const tort_node *x = *(const tort_node *const *)a, *y = *(const tort_node *const *)b;
    int order = strcmp(x->op_type, y->op_type);
    if (order == 0) order = strcmp(x->domain, y->domain);
    return order ? order : (x > y) - (x < y);
}

static int max_nodes_first(const void *a, const void *b) {
    const op_count *x = a, *y = b;
    if (x->nodes != y->nodes) return x->nodes < y->nodes ? 1 : -1;
    return by_operator(&x->node, &y->node);
}

static bool in_main_graph(const tort_model *model, const tort_node *node) {
    const tort_graph *graph = &model->graphs[0];
    return node >= graph->nodes && node < graph->nodes + graph->node_count;
}

static void add_node(summary *s, op_count *count, const facts *k, const tort_node *node) {
    const bool in_body = !in_main_graph(k->model, node);
    double flops = 0;
    if (node->op && tort_op_is_counted(node->op)) flops = in_body ? -1 : node_flops(k, node);
    count->nodes++;
    count->unknown_flops += flops < 0;
    s->unknown_flops += flops < 0;
    s->in_bodies += flops < 0 && in_body;
    count->flops += flops > 0 ? flops : 0;
}

static void count_operators(summary *s, const facts *k) {
    const tort_model *model = k->model;
    for (int32_t g = 0; g < model->graph_count; g++) s->nodes += model->graphs[g].node_count;
    const tort_node **sorted = cli_alloc((size_t)s->nodes, sizeof *sorted);
    int32_t filled = 0;
    for (int32_t g = 0; g < model->graph_count; g++)
        for (int32_t n = 0; n < model->graphs[g].node_count; n++) sorted[filled++] = &model->graphs[g].nodes[n];
    qsort(sorted, (size_t)filled, sizeof *sorted, by_operator);
    s->ops = cli_alloc((size_t)s->nodes, sizeof *s->ops);
    for (int32_t i = 0; i < filled; i++) {
        const tort_node *node = sorted[i], *before = i ? sorted[i - 1] : NULL;
        if (!before || strcmp(before->op_type, node->op_type) != 0 || strcmp(before->domain, node->domain) != 0)
            s->ops[s->op_kinds++] = (op_count){.node = node};
        add_node(s, &s->ops[s->op_kinds - 1], k, node);
    }
    free(sorted);
    qsort(s->ops, (size_t)s->op_kinds, sizeof *s->ops, max_nodes_first);
    for (int32_t i = 0; i < s->op_kinds; i++) s->flops += s->ops[i].flops;
}

/* Counts initializers and tensors in attributes: some exporters put all weights into Constant nodes. */
static void count_parameters(summary *s, const tort_model *model) {
    for (int32_t i = 0; i < model->weight_count; i++) {
        const tort_weight *weight = &model->weights[i];
        tort_tensor tensor = {.type = weight->type, .rank = weight->rank};
        memcpy(tensor.dims, weight->dims, sizeof tensor.dims);
        s->parameters += (double)tort_count(&tensor);
        s->parameter_bytes += (double)weight->bytes;
    }
    s->subnormals = cli_count_subnormals(model);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* The type of a value as text: the element type of a tensor, "seq(tensor(float))" of other values. */
static const char *type_text(const tort_info *info, char *buffer, size_t size) {
    if (info->kind != TORT_TENSOR) return tort_type_text(tort_info_type(info), buffer, size);
    snprintf(buffer, size, "%s", tort_type_name(info->type));
    return buffer;
}

static void print_ports(const facts *k, const char *title, const int32_t *values, int32_t count, int width) {
    cli_table *table = cli_table_new("~||", 2);
    for (int32_t i = 0; i < count; i++) {
        const tort_info *info = &k->infos[values[i]];
        char type[80], *shape = value_shape(k, info);
        cli_cell(table, CLI_BOLD, "%s", k->model->graphs[0].values[values[i]].name);
        cli_cell(table, CLI_PLAIN, "%s", type_text(info, type, sizeof type));
        cli_cell(table, CLI_PLAIN, "%s", shape);
        free(shape);
    }
    cli_print(stdout, "%s\n", title);
    cli_table_print(table, stdout, width);
}

static void add_line(cli_table *table, const char *title, char *text) {
    cli_cell(table, CLI_DIM, "%s", title);
    cli_cell(table, CLI_PLAIN, "%s", text);
    free(text);
}

static void print_head(const tort_model *model, const summary *s, int width) {
    char parameters[32], bytes[32], flops[32];
    cli_table *table = cli_table_new("|", 0);
    char *made = cli_format("%s", *model->graph_name ? model->graph_name : "(unnamed)");
    if (*model->producer)
        cli_append(&made, ", made by %s%s%s", model->producer, *model->producer_version ? " " : "",
                   model->producer_version);
    add_line(table, "model", made);
    char *versions = cli_format("%lld, opsets:", (long long)model->ir_version);
    for (int32_t i = 0; i < model->opset_count; i++)
        cli_append(&versions, "%s %s %lld", i ? "," : "",
                   *model->opsets[i].domain ? model->opsets[i].domain : "ai.onnx", (long long)model->opsets[i].version);
    add_line(table, "IR version", versions);
    char *amount = cli_format("%s in %s", cli_count_text(s->parameters, parameters, sizeof parameters),
                              cli_bytes_text(s->parameter_bytes, bytes, sizeof bytes));
    if (s->subnormals)
        cli_append(&amount,
                   ", %lld of them subnormal, which makes arithmetic slow (cpu:subnormals=off takes them as 0)",
                   (long long)s->subnormals);
    add_line(table, "parameters", amount);
    const int32_t open = s->unknown_flops - s->in_bodies;
    char *work = cli_format("%s of convolutions and matrix products, 2 a multiply-add",
                            s->flops > 0 || !open ? cli_count_text(s->flops, flops, sizeof flops) : "?");
    if (open) cli_append(&work, "; without %d nodes of unknown shape (give --shape)", open);
    if (s->in_bodies) cli_append(&work, "; without %d nodes in bodies, which run as often as data says", s->in_bodies);
    add_line(table, "FLOPs", work);
    cli_table_print(table, stdout, width);
}

static void print_operators(const tort_model *model, const summary *s, int width) {
    cli_print(stdout, "operators: %d nodes%s\n", s->nodes, model->graph_count > 1 ? ", those of bodies included" : "");
    cli_table *table = cli_table_new("~|>||", 2);
    for (int32_t i = 0; i < s->op_kinds; i++) {
        const op_count *op = &s->ops[i];
        char flops[32];
        cli_cell(table, op->node->op ? CLI_PLAIN : CLI_RED, "%s%s%s", op->node->domain, *op->node->domain ? "." : "",
                 op->node->op_type);
        cli_cell(table, CLI_PLAIN, "%d", op->nodes);
        if (op->unknown_flops)
            cli_cell(table, CLI_DIM, "? FLOPs");
        else
            cli_cell_if(table, op->flops > 0, CLI_DIM, "%s FLOPs", cli_count_text(op->flops, flops, sizeof flops));
        cli_cell(table, CLI_RED, "%s", op->node->op ? "" : "not in this build");
    }
    cli_table_print(table, stdout, width);
}

/* The file of make OPS=FILE. */
static void print_names(const summary *s) {
    for (int32_t i = 0; i < s->op_kinds; i++) {
        const tort_node *node = s->ops[i].node;
        cli_print(stdout, "%s%s%s\n", node->domain, *node->domain ? "." : "", node->op_type);
    }
}

/* True if the input may be omitted. Files of IR 3 and older list every weight as an input with a default. */
static bool is_optional_input(const tort_model *model, const tort_graph_value *value) {
    return value->has_default && model->ir_version >= 4;
}

/* Value indices of inputs with a default; the caller frees. */
static int32_t *optional_inputs(const tort_model *model, int32_t *count) {
    const tort_graph *graph = &model->graphs[0];
    int32_t *values = cli_alloc((size_t)graph->value_count, sizeof *values);
    *count = 0;
    for (int32_t i = 0; i < graph->value_count; i++)
        if (is_optional_input(model, &graph->values[i])) values[(*count)++] = i;
    return values;
}

/* The nodes that planning leaves, in the order of the file, each with what it is. */
static void print_nodes(const facts *k, int width) {
    if (!k->session) return;
    tort_report *report = cli_report(k->session);
    cli_table *table = cli_table_new("#>|op|node", 2);
    for (int32_t i = 0; i < report->node_count; i++) {
        const tort_report_node *node = report->nodes[i];
        cli_cell(table, CLI_DIM, "%d", node->index);
        cli_cell(table, CLI_PLAIN, "%s%s%s-%d", node->domain, *node->domain ? "." : "", node->op, node->since);
        cli_cell(table, CLI_BOLD, "%s", node->path);
        cli_describe(k->session, node->index, table);
    }
    cli_print(stdout, "nodes\n");
    cli_table_print(table, stdout, width);
    tort_report_free(report);
}

static void add_nodes(const facts *k, cJSON *root) {
    cJSON *list = cJSON_AddArrayToObject(root, "nodes");
    tort_report *report = k->session ? cli_report(k->session) : NULL;
    for (int32_t i = 0; report && i < report->node_count; i++) {
        cJSON *item = cJSON_CreateObject();
        cli_json_number(item, "index", report->nodes[i]->index);
        cli_json_text(item, "path", report->nodes[i]->path);
        cli_json_text(item, "op", report->nodes[i]->op);
        cli_json_text(item, "domain", report->nodes[i]->domain);
        cli_describe_json(k->session, report->nodes[i]->index, item);
        cJSON_AddItemToArray(list, item);
    }
    tort_report_free(report);
}

static void print_text(const facts *k, const summary *s, int width) {
    const tort_model *model = k->model;
    const tort_graph *graph = &model->graphs[0];
    print_head(model, s, width);
    print_ports(k, "inputs", graph->inputs, graph->input_count, width);
    int32_t count, *optional = optional_inputs(model, &count);
    if (count) print_ports(k, "inputs with a default (--input NAME=FILE gives another)", optional, count, width);
    free(optional);
    print_ports(k, "outputs", graph->outputs, graph->output_count, width);
    print_operators(model, s, width);
    if (!model->metadata_count) return;
    cli_print(stdout, "metadata\n");
    cli_table *table = cli_table_new("~|", 2);
    for (int32_t i = 0; i < model->metadata_count; i++) {
        cli_cell(table, CLI_PLAIN, "%s:", model->metadata[i].key);
        cli_cell(table, CLI_PLAIN, "%s", model->metadata[i].value);
    }
    cli_table_print(table, stdout, width);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static cJSON *ports_json(const facts *k, const int32_t *values, int32_t count) {
    cJSON *list = cJSON_CreateArray();
    for (int32_t i = 0; i < count; i++) {
        const tort_info *info = &k->infos[values[i]];
        char type[80], dim[100];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "name", k->model->graphs[0].values[values[i]].name);
        cJSON_AddStringToObject(item, "type", type_text(info, type, sizeof type));
        cJSON *shape = info->rank < 0 ? cJSON_AddNullToObject(item, "shape") : cJSON_AddArrayToObject(item, "shape");
        for (int32_t d = 0; d < info->rank; d++) {
            tort_dim size = info->dims[d];
            cJSON_AddItemToArray(shape, tort_dim_known(size)
                                            ? cJSON_CreateNumber((double)size)
                                            : cJSON_CreateString(tort_dim_text(k->dims, size, dim, sizeof dim)));
        }
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

/* FLOPs of the nodes whose shapes are known (null where none are), and the number of the others. */
static void add_flops(cJSON *item, double flops, int32_t unknown) {
    if (flops > 0 || !unknown)
        cJSON_AddNumberToObject(item, "flops", flops);
    else
        cJSON_AddNullToObject(item, "flops");
    cli_json_number(item, "nodes_of_unknown_flops", unknown);
}

static cJSON *operators_json(const summary *s) {
    cJSON *operators = cJSON_CreateArray();
    for (int32_t i = 0; i < s->op_kinds; i++) {
        const op_count *op = &s->ops[i];
        cJSON *item = cJSON_CreateObject();
        cli_json_text(item, "domain", op->node->domain);
        cli_json_text(item, "op", op->node->op_type);
        cli_json_number(item, "nodes", op->nodes);
        add_flops(item, op->flops, op->unknown_flops);
        cJSON_AddBoolToObject(item, "known", op->node->op != NULL);
        cJSON_AddItemToArray(operators, item);
    }
    return operators;
}

static void fill_json(const facts *k, const char *path, const summary *s, cJSON *root) {
    const tort_model *model = k->model;
    const tort_graph *graph = &model->graphs[0];
    cli_json_model(root, model, path);
    cli_json_text(root, "name", model->graph_name);
    cli_json_text(root, "producer", model->producer);
    cli_json_text(root, "producer_version", model->producer_version);
    cJSON_AddItemToObject(root, "inputs", ports_json(k, graph->inputs, graph->input_count));
    int32_t count, *optional = optional_inputs(model, &count);
    cJSON_AddItemToObject(root, "optional_inputs", ports_json(k, optional, count));
    free(optional);
    cJSON_AddItemToObject(root, "outputs", ports_json(k, graph->outputs, graph->output_count));
    cJSON_AddNumberToObject(root, "parameters", s->parameters);
    cJSON_AddNumberToObject(root, "parameter_bytes", s->parameter_bytes);
    cJSON_AddNumberToObject(root, "subnormal_parameters", (double)s->subnormals);
    add_flops(root, s->flops, s->unknown_flops);
    cJSON_AddItemToObject(root, "operators", operators_json(s));
    cJSON *metadata = cJSON_AddObjectToObject(root, "metadata");
    for (int32_t i = 0; i < model->metadata_count; i++)
        cli_json_text(metadata, model->metadata[i].key, model->metadata[i].value);
}

int cli_inspect(cli_options *options) {
    tort_model *model = NULL;
    tort_error error = {0};
    cJSON *json = cli_json_of(options);
    tort_status status = cli_open_model(options, options->operands[0], &model, &error);
    if (!status) status = cli_check_names(options, model, &error);
    facts k = {0};
    if (!status) status = find_facts(options, model, &k, &error);
    if (!status) {
        summary s = {0};
        count_operators(&s, &k);
        count_parameters(&s, model);
        const int width = cli_width(stdout, options->width);
        if (json)
            fill_json(&k, options->operands[0], &s, json);
        else if (options->ops)
            print_names(&s);
        else
            print_text(&k, &s, width);
        if (options->nodes && json) add_nodes(&k, json);
        if (options->nodes && !json) print_nodes(&k, width);
        free(s.ops);
    }
    forget(&k);
    tort_model_free(model);
    return cli_end_plain(options, &error, json);
}
