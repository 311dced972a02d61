/* net.c - a message's main graph by numbers, and new messages of its parts (net.h). */
#include "runtime/quantize/net.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "runtime/core/base/locale.h"

void *tort_make(tort_maker *maker, size_t count, size_t size) {
    void *made = tort_arena_array(&maker->arena, count + 1, size);
    if (!made) longjmp(*maker->out_of_memory, 1);
    return made;
}

void tort_make_empty(tort_maker *maker) {
    const tort_env *env = maker->arena.env;
    tort_arena_free(&maker->arena);
    tort_arena_init(&maker->arena, env);
}

void tort_make_copy(tort_maker *maker, const tort_tensor *tensor, tort_tensor *copy) {
    size_t bytes = 0;
    if (tensor->type == TORT_STRING || !tort_tensor_bytes(tensor, &bytes)) return;
    *copy = *tensor;
    copy->data = tort_make(maker, bytes, 1);
    if (bytes) memcpy(copy->data, tensor->data, bytes);
}

char *tort_make_text(tort_maker *maker, const char *format, ...) {
    char text[1024];
    va_list list;
    va_start(list, format);
    const int length = tort_vsnprintf(text, sizeof text, format, list);
    va_end(list);
    char *made = tort_make(maker, (size_t)length + 1, 1);
    if ((size_t)length < sizeof text) return memcpy(made, text, (size_t)length + 1);
    va_start(list, format);
    tort_vsnprintf(made, (size_t)length + 1, format, list);
    va_end(list);
    return made;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

int32_t tort_net_find(const tort_net *net, const char *name) {
    int32_t number;
    return *name && tort_names_find(&net->numbers, name, &number) ? number : -1;
}

char *tort_net_fresh(const tort_net *net, const char *name, const char *suffix, tort_maker *maker) {
    char *made = tort_make_text(maker, "%s%s", name, suffix);
    while (tort_net_find(net, made) >= 0) made = tort_make_text(maker, "%s_", made);
    return made;
}

int64_t tort_net_count(const TortOnnx__TensorProto *tensor) {
    int64_t count = 1;
    for (size_t i = 0; i < tensor->n_dims; i++) count *= tensor->dims[i];
    return count;
}

bool tort_net_is_finite(const TortOnnx__TensorProto *tensor) {
    const float *elements = (const float *)(const void *)tensor->raw_data.data;
    const int64_t count = tort_net_count(tensor);
    bool finite = true;
    for (int64_t i = 0; i < count; i++) finite = finite && fabsf(elements[i]) < INFINITY;
    return finite;
}

static bool is_listed(const char *name, const char *const *list, int32_t count) {
    bool is = false;
    for (int32_t i = 0; i < count; i++) is = is || !strcmp(name, list[i]);
    return is;
}

bool tort_net_is_kept(const tort_net_node *node, const tort_net_kept *kept) {
    return is_listed(node->name, kept->nodes, kept->node_count) || is_listed(node->op, kept->ops, kept->op_count);
}

tort_status tort_net_check_kept(const tort_net *net, const tort_net_kept *kept, tort_error *error) {
    for (int32_t k = 0; k < kept->node_count; k++) {
        bool found = false;
        for (int32_t i = 0; i < net->node_count; i++) found = found || !strcmp(kept->nodes[k], net->nodes[i].name);
        if (!found)
            return tort_fail(error, TORT_E_USAGE,
                             "no node '%s' is left in the folded model ('tinyort plan --optimized' writes it)",
                             kept->nodes[k]);
    }
    return TORT_OK;
}

const TortOnnx__AttributeProto *tort_net_attribute(const tort_net_node *node, const char *name) {
    for (size_t i = 0; i < node->proto->n_attribute; i++)
        if (!strcmp(node->proto->attribute[i]->name, name)) return node->proto->attribute[i];
    return NULL;
}

int64_t tort_net_int(const tort_net_node *node, const char *name, int64_t fallback) {
    const TortOnnx__AttributeProto *attribute = tort_net_attribute(node, name);
    return attribute ? attribute->i : fallback;
}

float tort_net_float(const tort_net_node *node, const char *name, float fallback) {
    const TortOnnx__AttributeProto *attribute = tort_net_attribute(node, name);
    return attribute ? attribute->f : fallback;
}

static int32_t add_value(tort_net *net, char *name, tort_maker *maker) {
    int32_t number = tort_net_find(net, name);
    if (number >= 0) return number;
    number = net->value_count++;
    net->values[number] = (tort_net_value){.name = name, .producer = -1, .rank = -1};
    if (!tort_names_add(&net->numbers, name, number)) longjmp(*maker->out_of_memory, 1);
    return number;
}

static void set_type(tort_net *net, const TortOnnx__ValueInfoProto *port) {
    const int32_t number = tort_net_find(net, port->name);
    if (number < 0 || !port->type || port->type->value_case != TORT_ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) return;
    const TortOnnx__TypeProto__Tensor *type = port->type->tensor_type;
    tort_net_value *value = &net->values[number];
    value->type = (tort_type)type->elem_type;
    if (!type->shape || type->shape->n_dim > TORT_MAX_RANK) return;
    value->rank = (int32_t)type->shape->n_dim;
    for (int32_t i = 0; i < value->rank; i++) {
        const TortOnnx__TensorShapeProto__Dimension *dim = type->shape->dim[i];
        value->dims[i] =
            dim->value_case == TORT_ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE ? dim->dim_value : -1;
    }
}

static void add_values(tort_net *net, tort_maker *maker) {
    const TortOnnx__GraphProto *graph = net->proto->graph;
    size_t count = graph->n_input + graph->n_output + graph->n_initializer;
    for (size_t i = 0; i < graph->n_node; i++) count += graph->node[i]->n_input + graph->node[i]->n_output;
    net->values = tort_make(maker, count, sizeof *net->values);
    for (size_t i = 0; i < graph->n_initializer; i++) {
        const TortOnnx__TensorProto *tensor = graph->initializer[i];
        tort_net_value *value = &net->values[add_value(net, tensor->name, maker)];
        value->constant = tensor;
        value->type = (tort_type)tensor->data_type;
        value->rank = (int32_t)tensor->n_dims;
        for (size_t k = 0; k < tensor->n_dims; k++) value->dims[k] = tensor->dims[k];
    }
    for (size_t i = 0; i < graph->n_input; i++)
        net->values[add_value(net, graph->input[i]->name, maker)].is_input = true;
    for (size_t i = 0; i < graph->n_output; i++)
        net->values[add_value(net, graph->output[i]->name, maker)].is_output = true;
}

static int32_t *number_names(tort_net *net, char **names, size_t count, tort_maker *maker) {
    int32_t *numbers = tort_make(maker, count, sizeof *numbers);
    for (size_t i = 0; i < count; i++) numbers[i] = *names[i] ? add_value(net, names[i], maker) : -1;
    return numbers;
}

static void add_nodes(tort_net *net, tort_maker *maker) {
    const TortOnnx__GraphProto *graph = net->proto->graph;
    net->node_count = (int32_t)graph->n_node;
    net->nodes = tort_make(maker, graph->n_node, sizeof *net->nodes);
    for (int32_t i = 0; i < net->node_count; i++) {
        TortOnnx__NodeProto *proto = graph->node[i];
        const bool main = !proto->domain || !*proto->domain || !strcmp(proto->domain, "ai.onnx");
        const bool named = proto->name && *proto->name;
        net->nodes[i] = (tort_net_node){.proto = proto,
                                        .op = main ? proto->op_type : "",
                                        .name = named ? proto->name : tort_make_text(maker, "%s_%d", proto->op_type, i),
                                        .inputs = number_names(net, proto->input, proto->n_input, maker),
                                        .outputs = number_names(net, proto->output, proto->n_output, maker),
                                        .input_count = (int32_t)proto->n_input,
                                        .output_count = (int32_t)proto->n_output};
        for (int32_t k = 0; k < net->nodes[i].output_count; k++)
            if (net->nodes[i].outputs[k] >= 0) net->values[net->nodes[i].outputs[k]].producer = i;
    }
}

static void mark_captured(tort_net *net, const TortOnnx__GraphProto *body) {
    for (size_t i = 0; i < body->n_node; i++) {
        const TortOnnx__NodeProto *node = body->node[i];
        for (size_t k = 0; k < node->n_input; k++) {
            const int32_t value = tort_net_find(net, node->input[k]);
            if (value >= 0) net->values[value].captured = true;
        }
        for (size_t k = 0; k < node->n_attribute; k++) {
            if (node->attribute[k]->g) mark_captured(net, node->attribute[k]->g);
            for (size_t j = 0; j < node->attribute[k]->n_graphs; j++) mark_captured(net, node->attribute[k]->graphs[j]);
        }
    }
    for (size_t k = 0; k < body->n_output; k++) {
        const int32_t value = tort_net_find(net, body->output[k]->name);
        if (value >= 0) net->values[value].captured = true;
    }
}

static void find_readers(tort_net *net, tort_maker *maker) {
    int32_t total = 0;
    for (int32_t i = 0; i < net->node_count; i++)
        for (int32_t k = 0; k < net->nodes[i].input_count; k++)
            if (net->nodes[i].inputs[k] >= 0) net->values[net->nodes[i].inputs[k]].reader_count++, total++;
    net->readers = tort_make(maker, (size_t)total, sizeof *net->readers);
    for (int32_t i = 0, at = 0; i < net->value_count; i++) {
        net->values[i].first_reader = at;
        at += net->values[i].reader_count;
        net->values[i].reader_count = 0;
    }
    for (int32_t i = 0; i < net->node_count; i++)
        for (int32_t k = 0; k < net->nodes[i].input_count; k++) {
            tort_net_value *value = net->nodes[i].inputs[k] < 0 ? NULL : &net->values[net->nodes[i].inputs[k]];
            if (value) net->readers[value->first_reader + value->reader_count++] = i;
        }
}

void tort_net_open(tort_net *net, const TortOnnx__ModelProto *proto, tort_maker *maker) {
    const TortOnnx__GraphProto *graph = proto->graph;
    *net = (tort_net){.proto = proto};
    tort_names_init(&net->numbers, maker->arena.env);
    add_values(net, maker);
    add_nodes(net, maker);
    find_readers(net, maker);
    for (size_t i = 0; i < graph->n_value_info; i++) set_type(net, graph->value_info[i]);
    for (size_t i = 0; i < graph->n_input; i++) set_type(net, graph->input[i]);
    for (size_t i = 0; i < graph->n_output; i++) set_type(net, graph->output[i]);
    for (int32_t i = 0; i < net->node_count; i++)
        for (size_t k = 0; k < net->nodes[i].proto->n_attribute; k++) {
            const TortOnnx__AttributeProto *attribute = net->nodes[i].proto->attribute[k];
            if (attribute->g) mark_captured(net, attribute->g);
            for (size_t j = 0; j < attribute->n_graphs; j++) mark_captured(net, attribute->graphs[j]);
        }
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* Room for one more pointer in a list of an arena, which doubles: an old list stays behind in the arena. */
static void *room(tort_maker *maker, void *list, size_t count, size_t *capacity) {
    if (count < *capacity) return list;
    void **wider = tort_make(maker, 2 * count + 64, sizeof *wider);
    if (count) memcpy(wider, list, count * sizeof *wider);
    *capacity = 2 * count + 64;
    return wider;
}

void tort_net_begin(tort_net_writer *writer, const tort_net *net, tort_maker *maker) {
    TortOnnx__GraphProto *graph = tort_make(maker, 1, sizeof *graph);
    *writer = (tort_net_writer){.maker = maker, .proto = tort_make(maker, 1, sizeof *writer->proto)};
    *writer->proto = *net->proto;
    *graph = *net->proto->graph;
    graph->n_node = graph->n_initializer = graph->n_value_info = 0;
    writer->proto->graph = graph;
}

void tort_net_add_node(tort_net_writer *writer, TortOnnx__NodeProto *node) {
    TortOnnx__GraphProto *graph = writer->proto->graph;
    graph->node = room(writer->maker, graph->node, graph->n_node, &writer->node_capacity);
    graph->node[graph->n_node++] = node;
}

void tort_net_add_initializer(tort_net_writer *writer, TortOnnx__TensorProto *tensor) {
    TortOnnx__GraphProto *graph = writer->proto->graph;
    graph->initializer = room(writer->maker, graph->initializer, graph->n_initializer, &writer->initializer_capacity);
    graph->initializer[graph->n_initializer++] = tensor;
}

TortOnnx__NodeProto *tort_net_node_of(tort_net_writer *writer, const char *op, char *output, char *const *inputs) {
    TortOnnx__NodeProto *node = tort_make(writer->maker, 1, sizeof *node);
    tort_onnx__node_proto__init(node);
    node->op_type = (char *)(uintptr_t)op;
    node->name = tort_make_text(writer->maker, "%s/%s", output, op);
    while (inputs[node->n_input]) node->n_input++;
    node->input = tort_make(writer->maker, node->n_input, sizeof *node->input);
    memcpy(node->input, inputs, node->n_input * sizeof *inputs);
    node->output = tort_make(writer->maker, 1, sizeof *node->output);
    node->output[node->n_output++] = output;
    tort_net_add_node(writer, node);
    return node;
}

TortOnnx__NodeProto *tort_net_copy_node(tort_net_writer *writer, const tort_net_node *from, int32_t inputs) {
    TortOnnx__NodeProto *node = tort_make(writer->maker, 1, sizeof *node);
    *node = *from->proto;
    node->name = from->name;
    node->n_input = (size_t)(inputs > from->input_count ? inputs : from->input_count);
    node->input = tort_make(writer->maker, node->n_input, sizeof *node->input);
    node->output = tort_make(writer->maker, node->n_output, sizeof *node->output);
    for (size_t i = 0; i < node->n_input; i++)
        node->input[i] = i < from->proto->n_input ? from->proto->input[i] : (char *)(uintptr_t) "";
    memcpy(node->output, from->proto->output, node->n_output * sizeof *node->output);
    return node;
}

static TortOnnx__AttributeProto *add_attribute(tort_net_writer *writer, TortOnnx__NodeProto *node, const char *name,
                                               int32_t kind) {
    TortOnnx__AttributeProto *attribute = tort_make(writer->maker, 1, sizeof *attribute);
    TortOnnx__AttributeProto **all = tort_make(writer->maker, node->n_attribute + 1, sizeof *all);
    tort_onnx__attribute_proto__init(attribute);
    attribute->name = (char *)(uintptr_t)name;
    attribute->has_type = true;
    attribute->type = kind;
    if (node->n_attribute) memcpy(all, node->attribute, node->n_attribute * sizeof *all);
    all[node->n_attribute++] = attribute;
    node->attribute = all;
    return attribute;
}

void tort_net_set_int(tort_net_writer *writer, TortOnnx__NodeProto *node, const char *name, int64_t value) {
    TortOnnx__AttributeProto *attribute = add_attribute(writer, node, name, TORT_ATTR_INT);
    attribute->has_i = true;
    attribute->i = value;
}

void tort_net_set_ints(tort_net_writer *writer, TortOnnx__NodeProto *node, const char *name, int64_t *values,
                       size_t count) {
    TortOnnx__AttributeProto *attribute = add_attribute(writer, node, name, TORT_ATTR_INTS);
    attribute->ints = values;
    attribute->n_ints = count;
}

char *tort_net_constant(tort_net_writer *writer, char *name, tort_type type, int32_t rank, const int64_t *dims,
                        const void *data) {
    TortOnnx__TensorProto *tensor = tort_make(writer->maker, 1, sizeof *tensor);
    tort_tensor facts = {.type = type, .rank = rank};
    size_t bytes = 0;
    if (rank) memcpy(facts.dims, dims, (size_t)rank * sizeof *dims);
    tort_tensor_bytes(&facts, &bytes);
    tort_onnx__tensor_proto__init(tensor);
    tensor->name = name;
    tensor->data_type = (int32_t)type;
    tensor->n_dims = (size_t)rank;
    tensor->dims = tort_make(writer->maker, tensor->n_dims, sizeof *tensor->dims);
    memcpy(tensor->dims, facts.dims, tensor->n_dims * sizeof *tensor->dims);
    tensor->data_case = TORT_ONNX__TENSOR_PROTO__DATA_RAW_DATA;
    tensor->raw_data = (ProtobufCBinaryData){bytes, (uint8_t *)(uintptr_t)data};
    tort_net_add_initializer(writer, tensor);
    return name;
}

char *tort_net_scalar(tort_net_writer *writer, char *name, tort_type type, const void *data, size_t bytes) {
    void *kept = tort_make(writer->maker, bytes, 1);
    memcpy(kept, data, bytes);
    return tort_net_constant(writer, name, type, 0, NULL, kept);
}

void tort_net_set_microsoft(tort_net_writer *writer, TortOnnx__NodeProto *node) {
    static char domain[] = "com.microsoft";
    TortOnnx__ModelProto *proto = writer->proto;
    node->domain = domain;
    for (size_t i = 0; i < proto->n_opset_import; i++)
        if (proto->opset_import[i]->domain && !strcmp(proto->opset_import[i]->domain, domain)) return;
    TortOnnx__OperatorSetIdProto **all = tort_make(writer->maker, proto->n_opset_import + 1, sizeof *all);
    if (proto->n_opset_import) memcpy(all, proto->opset_import, proto->n_opset_import * sizeof *all);
    TortOnnx__OperatorSetIdProto *import = all[proto->n_opset_import++] = tort_make(writer->maker, 1, sizeof *import);
    tort_onnx__operator_set_id_proto__init(import);
    import->domain = domain;
    import->has_version = true;
    import->version = 1;
    proto->opset_import = all;
}

void tort_net_end(tort_net_writer *writer, const tort_net *net) {
    TortOnnx__GraphProto *graph = writer->proto->graph;
    const TortOnnx__GraphProto *from = net->proto->graph;
    bool *named = tort_make(writer->maker, (size_t)net->value_count, sizeof *named);
    bool *made = tort_make(writer->maker, (size_t)net->value_count, sizeof *made);
    for (size_t i = 0; i < graph->n_node; i++) {
        for (size_t k = 0; k < graph->node[i]->n_input; k++) {
            const int32_t value = tort_net_find(net, graph->node[i]->input[k]);
            if (value >= 0) named[value] = true;
        }
        for (size_t k = 0; k < graph->node[i]->n_output; k++) {
            const int32_t value = tort_net_find(net, graph->node[i]->output[k]);
            if (value >= 0) made[value] = true;
        }
    }
    for (size_t i = 0; i < from->n_initializer; i++) {
        const int32_t value = tort_net_find(net, from->initializer[i]->name);
        if (named[value] || net->values[value].captured || net->values[value].is_output)
            tort_net_add_initializer(writer, from->initializer[i]);
    }
    graph->value_info = tort_make(writer->maker, from->n_value_info, sizeof *graph->value_info);
    for (size_t i = 0; i < from->n_value_info; i++) {
        const int32_t value = tort_net_find(net, from->value_info[i]->name);
        if (value >= 0 && made[value]) graph->value_info[graph->n_value_info++] = from->value_info[i];
    }
}
