/* opset.c - nodes of opsets 7 to 12 as opset 13 writes them (opset.h).
 *
 * What changed between these versions: attributes that became inputs, Upsample and the first Resize, Softmax, which was
 * of a matrix, and Scan. All else only takes more types. */
#include "runtime/quantize/opset.h"

#include <string.h>

enum { OLDEST = 7 };

/* An attribute that became an input. */
typedef struct moved_attribute {
    const char *op, *attribute;
    int32_t since; /* the version that has it as an input */
    int32_t input; /* its number; -1: the attribute is gone */
} moved_attribute;

static const moved_attribute moved[] = {
    {"Squeeze", "axes", 13, 1},   {"Unsqueeze", "axes", 13, 1},
    {"ReduceSum", "axes", 13, 1}, {"Split", "split", 13, 1},
    {"Slice", "starts", 10, 1},   {"Slice", "ends", 10, 2},
    {"Slice", "axes", 10, 3},     {"TopK", "k", 10, 1},
    {"Clip", "min", 11, 1},       {"Clip", "max", 11, 2},
    {"Pad", "pads", 11, 1},       {"Pad", "value", 11, 2},
    {"Dropout", "ratio", 12, -1}, {"BatchNormalization", "spatial", 9, -1},
    {"Upsample", "scales", 9, 1},
};

typedef struct raiser {
    tort_maker *maker;
    TortOnnx__GraphProto *graph; /* the main graph: a constant of any body is an initializer of it */
    int64_t from;
    int32_t made; /* names so far */
    tort_error *error;
} raiser;

static char *new_name(raiser *r, const char *what) {
    return tort_make_text(r->maker, "tinyort/opset13/%s_%d", what, r->made++);
}

static TortOnnx__TensorProto *tensor_of(raiser *r, tort_type type, const void *data, size_t bytes, int64_t count) {
    TortOnnx__TensorProto *tensor = tort_make(r->maker, 1, sizeof *tensor);
    void *kept = tort_make(r->maker, bytes, 1);
    if (bytes) memcpy(kept, data, bytes);
    tort_onnx__tensor_proto__init(tensor);
    tensor->data_type = (int32_t)type;
    tensor->name = new_name(r, "constant");
    if (count >= 0) {
        tensor->dims = tort_make(r->maker, 1, sizeof *tensor->dims);
        tensor->dims[tensor->n_dims++] = count;
    }
    tensor->data_case = TORT_ONNX__TENSOR_PROTO__DATA_RAW_DATA;
    tensor->raw_data = (ProtobufCBinaryData){bytes, kept};
    return tensor;
}

/* An initializer with what an attribute says. */
static char *as_initializer(raiser *r, const TortOnnx__AttributeProto *from) {
    TortOnnx__TensorProto *tensor;
    if (from->type == TORT_ATTR_FLOAT)
        tensor = tensor_of(r, TORT_FLOAT, &from->f, sizeof from->f, -1);
    else if (from->type == TORT_ATTR_FLOATS)
        tensor = tensor_of(r, TORT_FLOAT, from->floats, from->n_floats * sizeof *from->floats, (int64_t)from->n_floats);
    else if (from->type == TORT_ATTR_INT)
        tensor = tensor_of(r, TORT_INT64, &from->i, sizeof from->i, 1);
    else
        tensor = tensor_of(r, TORT_INT64, from->ints, from->n_ints * sizeof *from->ints, (int64_t)from->n_ints);
    TortOnnx__TensorProto **all = tort_make(r->maker, r->graph->n_initializer + 1, sizeof *all);
    if (r->graph->n_initializer) memcpy(all, r->graph->initializer, r->graph->n_initializer * sizeof *all);
    all[r->graph->n_initializer++] = tensor;
    r->graph->initializer = all;
    return tensor->name;
}

static void set_input(raiser *r, TortOnnx__NodeProto *node, size_t index, char *name) {
    if (index >= node->n_input) {
        char **inputs = tort_make(r->maker, index + 1, sizeof *inputs);
        for (size_t i = 0; i <= index; i++) inputs[i] = i < node->n_input ? node->input[i] : (char *)(uintptr_t) "";
        node->input = inputs;
        node->n_input = index + 1;
    }
    node->input[index] = name;
}

/* Moves the attributes of a node to its inputs. */
static void move_attributes(raiser *r, TortOnnx__NodeProto *node) {
    size_t kept = 0;
    for (size_t i = 0; i < node->n_attribute; i++) {
        const moved_attribute *row = NULL;
        for (size_t k = 0; k < sizeof moved / sizeof *moved; k++)
            if (r->from < moved[k].since && !strcmp(moved[k].op, node->op_type) &&
                !strcmp(moved[k].attribute, node->attribute[i]->name))
                row = &moved[k];
        if (!row)
            node->attribute[kept++] = node->attribute[i];
        else if (row->input >= 0)
            set_input(r, node, (size_t)row->input, as_initializer(r, node->attribute[i]));
    }
    node->n_attribute = kept;
}

static void set_text(raiser *r, TortOnnx__NodeProto *node, const char *name, const char *value) {
    TortOnnx__AttributeProto **all = tort_make(r->maker, node->n_attribute + 1, sizeof *all);
    TortOnnx__AttributeProto *attribute = tort_make(r->maker, 1, sizeof *attribute);
    tort_onnx__attribute_proto__init(attribute);
    attribute->name = (char *)(uintptr_t)name;
    attribute->has_type = attribute->has_s = true;
    attribute->type = TORT_ATTR_STRING;
    attribute->s = (ProtobufCBinaryData){strlen(value), (uint8_t *)(uintptr_t)value};
    if (node->n_attribute) memcpy(all, node->attribute, node->n_attribute * sizeof *all);
    all[node->n_attribute++] = attribute;
    node->attribute = all;
}

/* Upsample, and Resize of opset 10: inputs X and scales, pixels where asymmetric has them. */
static void raise_resize(raiser *r, TortOnnx__NodeProto *node) {
    char *scales = node->n_input > 1 ? node->input[1] : (char *)(uintptr_t) "";
    node->op_type = (char *)(uintptr_t) "Resize";
    set_input(r, node, 1, (char *)(uintptr_t) "");
    set_input(r, node, 2, scales);
    set_text(r, node, "coordinate_transformation_mode", "asymmetric");
    set_text(r, node, "nearest_mode", "floor");
}

/* Softmax and its like were of a matrix, whose columns are the axes from `axis` on: Flatten, the operator along the
 * last axis, and a Reshape to what it was. The nodes are added to `nodes`, whose number is returned. */
static size_t raise_softmax(raiser *r, TortOnnx__NodeProto *node, TortOnnx__NodeProto **nodes) {
    tort_net_writer writer = {.maker = r->maker, .proto = tort_make(r->maker, 1, sizeof *writer.proto)};
    writer.proto->graph = tort_make(r->maker, 1, sizeof *writer.proto->graph);
    char *flat = new_name(r, "flat"), *soft = new_name(r, "soft"), *shape = new_name(r, "shape");
    TortOnnx__NodeProto *flatten = tort_net_node_of(&writer, "Flatten", flat, (char *[]){node->input[0], NULL});
    flatten->attribute = node->attribute; /* axis, by default 1 for both */
    flatten->n_attribute = node->n_attribute;
    nodes[0] = flatten;
    nodes[1] = node;
    nodes[2] = tort_net_node_of(&writer, "Shape", shape, (char *[]){node->input[0], NULL});
    nodes[3] = tort_net_node_of(&writer, "Reshape", node->output[0], (char *[]){soft, shape, NULL});
    node->n_attribute = 0;
    tort_net_set_int(&writer, node, "axis", -1);
    node->input[0] = flat;
    node->output[0] = soft;
    return 4;
}

static bool is_op(const TortOnnx__NodeProto *node, const char *op) {
    return !strcmp(node->op_type, op) && (!node->domain || !*node->domain);
}

static tort_status raise_graph(raiser *r, TortOnnx__GraphProto *graph) {
    TortOnnx__NodeProto **nodes = tort_make(r->maker, 4 * graph->n_node, sizeof *nodes);
    size_t count = 0;
    for (size_t i = 0; i < graph->n_node; i++) {
        TortOnnx__NodeProto *node = graph->node[i];
        for (size_t k = 0; k < node->n_attribute; k++)
            if (node->attribute[k]->g) {
                const tort_status status = raise_graph(r, node->attribute[k]->g);
                if (status) return status;
            }
        if (is_op(node, "Scan") && r->from < 9)
            return tort_fail(r->error, TORT_E_UNSUPPORTED,
                             "node '%s' is a Scan of opset 8: export the model anew, with "
                             "opset 13 or newer",
                             node->name);
        move_attributes(r, node);
        if (is_op(node, "Upsample") || (is_op(node, "Resize") && r->from < 11)) raise_resize(r, node);
        if (is_op(node, "Scatter")) node->op_type = (char *)(uintptr_t) "ScatterElements";
        if (is_op(node, "Softmax") || is_op(node, "LogSoftmax") || is_op(node, "Hardmax"))
            count += raise_softmax(r, node, nodes + count);
        else
            nodes[count++] = node;
    }
    graph->node = nodes;
    graph->n_node = count;
    graph->n_value_info = 0;
    return TORT_OK;
}

int64_t tort_opset_of(const TortOnnx__ModelProto *proto) {
    for (size_t i = 0; i < proto->n_opset_import; i++)
        if (!*proto->opset_import[i]->domain) return proto->opset_import[i]->version;
    return 0;
}

tort_status tort_opset_raise(TortOnnx__ModelProto *proto, tort_maker *maker, tort_error *error) {
    raiser r = {.maker = maker, .graph = proto->graph, .error = error};
    enum { IR = 7 }; /* of opset 13 */
    for (size_t i = 0; i < proto->n_opset_import; i++) {
        TortOnnx__OperatorSetIdProto *import = proto->opset_import[i];
        if (*import->domain) continue;
        if (import->version < OLDEST)
            return tort_fail(error, TORT_E_UNSUPPORTED,
                             "the model is of opset %lld, and operators of opsets before 7 "
                             "mean other things: export it with opset 13 or newer",
                             (long long)import->version);
        r.from = import->version;
        import->version = TORT_QUANTIZE_OPSET;
    }
    if (proto->ir_version < IR) proto->ir_version = IR;
    return raise_graph(&r, proto->graph);
}
