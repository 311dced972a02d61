/* inspect.c - `tinyort inspect`: what a model is, before anything is planned.
 *
 * FLOPs are those of the nodes that multiply matrices (convolutions and matrix products), two a multiply-add; shapes
 * that depend on a symbol need --shape. Bodies are not counted: how often they run is not known. */
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/table.h"
#include "runtime/op.h"

/* ---- shapes ---------------------------------------------------------------------------------------------------- */

/* The symbols that --shape gives a size. */
typedef struct known_sizes {
    tort_dim_binding *bindings;
    int32_t count;
} known_sizes;

static known_sizes read_sizes(const cli_options *options, const tort_model *model) {
    known_sizes sizes = {cli_alloc((size_t)options->shape_count * TORT_MAX_RANK, sizeof *sizes.bindings), 0};
    const tort_graph *graph = &model->graphs[0];
    for (int32_t s = 0; s < options->shape_count; s++)
        for (int32_t i = 0; i < graph->input_count; i++) {
            const tort_value *value = &graph->values[graph->inputs[i]];
            const tort_input_shape *shape = &options->shapes[s];
            if (strcmp(value->name, shape->name) != 0 || value->info.rank != shape->rank) continue;
            for (int32_t d = 0; d < shape->rank; d++)
                if (!tort_dim_known(value->info.dims[d]))
                    sizes.bindings[sizes.count++] = (tort_dim_binding){value->info.dims[d], shape->dims[d]};
        }
    return sizes;
}

/* Concrete dims of a value; false where they are not known. */
static bool concrete(const tort_model *model, const known_sizes *sizes, int32_t value, tort_tensor *out) {
    if (value < 0) return false;
    const tort_info *info = &model->graphs[0].values[value].info;
    *out = (tort_tensor){.type = info->type, .rank = info->rank};
    for (int32_t d = 0; d < info->rank; d++)
        if (!tort_dim_evaluate(&model->dims, info->dims[d], sizes->bindings, sizes->count, &out->dims[d])) return false;
    int64_t count;
    return info->rank >= 0 && tort_tensor_count(out, &count);
}

static const char *value_shape(const tort_model *model, const tort_info *info, char *buffer, size_t size) {
    if (info->rank <= 0) return info->rank < 0 ? "of any rank" : "scalar";
    buffer[0] = 0;
    for (int32_t d = 0; d < info->rank; d++) {
        char dim[100];
        size_t used = strlen(buffer);
        snprintf(buffer + used, size - used, "%s%s", d ? "x" : "",
                 tort_dim_text(&model->dims, info->dims[d], dim, sizeof dim));
    }
    return buffer;
}

/* ---- counts ---------------------------------------------------------------------------------------------------- */

typedef struct op_count {
    const tort_node *node; /* the first of its kind */
    int32_t nodes;
    double flops;
} op_count;

typedef struct summary {
    op_count *ops;
    int32_t op_kinds, nodes, unknown_flops, without_row;
    double flops, parameters, parameter_bytes;
} summary;

/* Elements of one filter: what each output element of a convolution sums over. */
static double filter_elements(const tort_tensor *weight) {
    return weight->rank && weight->dims[0] ? (double)tort_count(weight) / (double)weight->dims[0] : 0;
}

static int64_t attribute_int(const tort_node *node, const char *name) {
    for (int32_t i = 0; i < node->attribute_count; i++)
        if (!strcmp(node->attributes[i].name, name) && node->attributes[i].kind == TORT_ATTR_INT)
            return node->attributes[i].u.i;
    return 0;
}

/* How the multiply-adds of an operator follow from its shapes. */
typedef enum formula {
    CONVOLUTION, /* each output element sums over a filter */
    TRANSPOSED,  /* each input element is spread by a filter */
    PRODUCT      /* each output element sums over the inner dimension */
} formula;

static const struct {
    const char *op;
    formula formula;
    int32_t left, right; /* inputs */
} counted[] = {
    {"Conv", CONVOLUTION, 0, 1},
    {"ConvInteger", CONVOLUTION, 0, 1},
    {"QLinearConv", CONVOLUTION, 0, 3},
    {"ConvTranspose", TRANSPOSED, 0, 1},
    {"Gemm", PRODUCT, 0, 1},
    {"MatMul", PRODUCT, 0, 1},
    {"MatMulInteger", PRODUCT, 0, 1},
    {"QLinearMatMul", PRODUCT, 0, 3},
};

/* FLOPs of a node; 0 for one that is not counted, negative where its shapes are not known. */
static double node_flops(const tort_model *model, const known_sizes *sizes, const tort_node *node) {
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
        if (*node->domain || strcmp(node->op_type, counted[i].op) != 0) continue;
        tort_tensor left, right, out;
        if (node->input_count <= counted[i].right || node->output_count < 1 ||
            !concrete(model, sizes, node->inputs[counted[i].left], &left) ||
            !concrete(model, sizes, node->inputs[counted[i].right], &right) ||
            !concrete(model, sizes, node->outputs[0], &out))
            return -1;
        switch (counted[i].formula) {
        case CONVOLUTION: return 2.0 * (double)tort_count(&out) * filter_elements(&right);
        case TRANSPOSED: return 2.0 * (double)tort_count(&left) * filter_elements(&right);
        case PRODUCT: break;
        }
        int32_t inner = attribute_int(node, "transA") ? 0 : left.rank - 1;
        return inner < 0 ? 0 : 2.0 * (double)tort_count(&out) * (double)left.dims[inner];
    }
    return 0;
}

static op_count *count_of(summary *s, const tort_node *node) {
    for (int32_t i = 0; i < s->op_kinds; i++)
        if (!strcmp(s->ops[i].node->op_type, node->op_type) && !strcmp(s->ops[i].node->domain, node->domain))
            return &s->ops[i];
    s->ops[s->op_kinds] = (op_count){.node = node};
    return &s->ops[s->op_kinds++];
}

static int most_nodes_first(const void *a, const void *b) {
    const op_count *x = a, *y = b;
    if (x->nodes != y->nodes) return x->nodes < y->nodes ? 1 : -1;
    return strcmp(x->node->op_type, y->node->op_type);
}

static summary summarize(const tort_model *model, const known_sizes *sizes) {
    summary s = {0};
    for (int32_t g = 0; g < model->graph_count; g++) s.nodes += model->graphs[g].node_count;
    s.ops = cli_alloc((size_t)s.nodes, sizeof *s.ops);
    for (int32_t g = 0; g < model->graph_count; g++)
        for (int32_t n = 0; n < model->graphs[g].node_count; n++) {
            const tort_node *node = &model->graphs[g].nodes[n];
            op_count *count = count_of(&s, node);
            count->nodes++;
            s.without_row += !node->op;
            double flops = g == 0 ? node_flops(model, sizes, node) : 0;
            if (flops < 0)
                s.unknown_flops++;
            else
                count->flops += flops;
        }
    qsort(s.ops, (size_t)s.op_kinds, sizeof *s.ops, most_nodes_first);
    for (int32_t i = 0; i < s.op_kinds; i++) s.flops += s.ops[i].flops;
    for (int32_t g = 0; g < model->graph_count; g++)
        for (int32_t v = 0; v < model->graphs[g].value_count; v++) {
            int32_t at = model->graphs[g].values[v].weight;
            if (at < 0) continue;
            const tort_weight *weight = &model->weights[at];
            tort_tensor tensor = {.type = weight->type, .rank = weight->rank};
            memcpy(tensor.dims, weight->dims, sizeof tensor.dims);
            s.parameters += (double)tort_count(&tensor);
            s.parameter_bytes += (double)weight->bytes;
        }
    return s;
}

/* ---- text ------------------------------------------------------------------------------------------------------ */

static const char *kind_name(const tort_info *info, char *buffer, size_t size) {
    static const char *const before[] = {"", "sparse ", "sequence of ", "optional ", "map to "};
    snprintf(buffer, size, "%s%s", before[info->kind], tort_type_name(info->type));
    return buffer;
}

static void print_ports(const tort_model *model, const char *title, const int32_t *values, int32_t count) {
    cli_table *table = cli_table_new("||", 2);
    for (int32_t i = 0; i < count; i++) {
        const tort_value *value = &model->graphs[0].values[values[i]];
        char type[80], shape[500];
        cli_cell(table, CLI_BOLD, "%s", value->name);
        cli_cell(table, CLI_PLAIN, "%s", kind_name(&value->info, type, sizeof type));
        cli_cell(table, CLI_PLAIN, "%s", value_shape(model, &value->info, shape, sizeof shape));
    }
    printf("%s\n", title);
    cli_table_print(table, stdout);
}

static const char *count_text(double count, char *buffer, size_t size) {
    static const char *const units[] = {"", " k", " M", " G", " T"};
    size_t unit = 0;
    while (count >= (unit ? 999.95 : 9999.5) && unit + 1 < sizeof units / sizeof *units) {
        count /= 1000;
        unit++;
    }
    snprintf(buffer, size, unit ? "%.1f%s" : "%.0f%s", count, units[unit]);
    return buffer;
}

static void print_flops(const summary *s) {
    char text[32];
    printf("FLOPs       %s", count_text(s->flops, text, sizeof text));
    if (s->unknown_flops) printf(" and those of %d nodes whose shapes need --shape", s->unknown_flops);
    printf(" (convolutions and matrix products, 2 a multiply-add)\n");
}

static void print_text(const tort_model *model, const summary *s) {
    char parameters[32], bytes[32];
    printf("model       %s", *model->graph_name ? model->graph_name : "(unnamed)");
    if (*model->producer)
        printf(", made by %s%s%s", model->producer, *model->producer_version ? " " : "", model->producer_version);
    printf("\nIR version  %lld, opsets:", (long long)model->ir_version);
    for (int32_t i = 0; i < model->opset_count; i++)
        printf("%s %s %lld", i ? "," : "", *model->opsets[i].domain ? model->opsets[i].domain : "ai.onnx",
               (long long)model->opsets[i].version);
    printf("\nparameters  %s in %s\n", count_text(s->parameters, parameters, sizeof parameters),
           cli_bytes_text(s->parameter_bytes, bytes, sizeof bytes));
    print_flops(s);
    const tort_graph *graph = &model->graphs[0];
    print_ports(model, "inputs", graph->inputs, graph->input_count);
    print_ports(model, "outputs", graph->outputs, graph->output_count);
    printf("operators   %d nodes%s\n", s->nodes, model->graph_count > 1 ? ", those of bodies included" : "");
    cli_table *table = cli_table_new("|>||", 2);
    for (int32_t i = 0; i < s->op_kinds; i++) {
        const op_count *op = &s->ops[i];
        char flops[32];
        cli_cell(table, op->node->op ? CLI_PLAIN : CLI_RED, "%s%s%s", op->node->domain, *op->node->domain ? "." : "",
                 op->node->op_type);
        cli_cell(table, CLI_PLAIN, "%d", op->nodes);
        if (op->flops > 0)
            cli_cell(table, CLI_DIM, "%s FLOPs", count_text(op->flops, flops, sizeof flops));
        else
            cli_cell(table, CLI_PLAIN, "%s", "");
        cli_cell(table, CLI_RED, "%s", op->node->op ? "" : "not in this build");
    }
    cli_table_print(table, stdout);
    for (int32_t i = 0; i < model->metadata_count; i++)
        printf("%s%s: %s\n", i ? "  " : "metadata\n  ", model->metadata[i].key, model->metadata[i].value);
}

/* ---- JSON ------------------------------------------------------------------------------------------------------ */

static cJSON *ports_json(const tort_model *model, const int32_t *values, int32_t count) {
    cJSON *list = cJSON_CreateArray();
    for (int32_t i = 0; i < count; i++) {
        const tort_value *value = &model->graphs[0].values[values[i]];
        char type[80], dim[100];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "name", value->name);
        cJSON_AddStringToObject(item, "type", kind_name(&value->info, type, sizeof type));
        cJSON *shape =
            value->info.rank < 0 ? cJSON_AddNullToObject(item, "shape") : cJSON_AddArrayToObject(item, "shape");
        for (int32_t d = 0; d < value->info.rank; d++) {
            tort_dim size = value->info.dims[d];
            cJSON_AddItemToArray(shape, tort_dim_known(size)
                                            ? cJSON_CreateNumber((double)size)
                                            : cJSON_CreateString(tort_dim_text(&model->dims, size, dim, sizeof dim)));
        }
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

static void print_json(const tort_model *model, const summary *s) {
    cJSON *root = cJSON_CreateObject();
    const tort_graph *graph = &model->graphs[0];
    cJSON_AddStringToObject(root, "name", model->graph_name);
    cJSON_AddStringToObject(root, "producer", model->producer);
    cJSON_AddStringToObject(root, "producer_version", model->producer_version);
    cJSON_AddNumberToObject(root, "ir_version", (double)model->ir_version);
    cJSON *opsets = cJSON_AddObjectToObject(root, "opsets");
    for (int32_t i = 0; i < model->opset_count; i++)
        cJSON_AddNumberToObject(opsets, model->opsets[i].domain, (double)model->opsets[i].version);
    cJSON_AddItemToObject(root, "inputs", ports_json(model, graph->inputs, graph->input_count));
    cJSON_AddItemToObject(root, "outputs", ports_json(model, graph->outputs, graph->output_count));
    cJSON_AddNumberToObject(root, "parameters", s->parameters);
    cJSON_AddNumberToObject(root, "parameter_bytes", s->parameter_bytes);
    if (s->unknown_flops)
        cJSON_AddNullToObject(root, "flops");
    else
        cJSON_AddNumberToObject(root, "flops", s->flops);
    cJSON *operators = cJSON_AddArrayToObject(root, "operators");
    for (int32_t i = 0; i < s->op_kinds; i++) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "domain", s->ops[i].node->domain);
        cJSON_AddStringToObject(item, "op", s->ops[i].node->op_type);
        cJSON_AddNumberToObject(item, "nodes", s->ops[i].nodes);
        cJSON_AddNumberToObject(item, "flops", s->ops[i].flops);
        cJSON_AddBoolToObject(item, "known", s->ops[i].node->op != NULL);
        cJSON_AddItemToArray(operators, item);
    }
    cJSON *metadata = cJSON_AddObjectToObject(root, "metadata");
    for (int32_t i = 0; i < model->metadata_count; i++)
        cJSON_AddStringToObject(metadata, model->metadata[i].key, model->metadata[i].value);
    cli_print_json(root);
}

int cli_inspect(const cli_options *options) {
    tort_model *model = NULL;
    tort_error error = {0};
    tort_status status = cli_open_model(options, options->operands[0], &model, &error);
    if (!status) status = cli_check_shapes(options, model, &error);
    int result = status ? cli_fail(options->command, &error) : CLI_OK;
    if (!status) {
        known_sizes sizes = read_sizes(options, model);
        summary s = summarize(model, &sizes);
        if (options->json)
            print_json(model, &s);
        else
            print_text(model, &s);
        free(sizes.bindings);
        free(s.ops);
    }
    tort_model_free(model);
    return result;
}
