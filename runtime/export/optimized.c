/* optimized.c - writes what a session has made of a model as a model again (optimized.h).
 *
 * The session folds as always, but fuses only into operators of ONNX itself (tort_session_options.onnx_fusions). From
 * the outputs back, what is needed is marked (dead code elimination): values that are constants become initializers,
 * all others keep the nodes that make them. Shape arithmetic that a session evaluates for each plan is written as the
 * nodes that it was. So are nodes that unpack weights (TORT_OP_LATE), as their results would be a multiple in size.
 *
 * Example: Transpose(W) -> MatMul(x, W') + Shape(x) -> Gather -> Reshape becomes an initializer W', and all other
 * nodes. Read next: runtime/core/passes/fold.c, which decides what a constant is. */
#include "runtime/export/optimized.h"

#include <errno.h>
#include <setjmp.h>
#include <string.h>

#include "runtime/core/base/hash.h"
#include "runtime/core/base/names.h"
#include "runtime/core/graph/check.h"
#include "runtime/core/lowered/constants.h"
#include "runtime/export/message.h"

#define IDENTITY_OPSET 13 /* of a model that imports no operators of ONNX itself */

/* The first value of a graph that is a constant. */
typedef struct first_value {
    int32_t graph, value; /* graph + 1; 0: none */
} first_value;

/* Decisions on a graph: what of it is written, and by which names. Arrays by value, or by node. */
typedef struct part {
    bool marked;
    bool *given;        /* value: an input of the graph */
    bool *initial;      /* value: written as an initializer */
    int32_t *same;      /* the first value that is the same constant; else the value itself */
    bool *needed;       /* value */
    bool *written;      /* node */
    const char **names; /* as written; NULL: not named yet */
} part;

/* A constant or weight that is held until all is written. */
typedef struct held {
    struct held *next;
    int32_t number;
} held;

/* tort_optimized in the header. */
typedef struct tort_optimized {
    tort_session *session; /* owned */
    const tort_model *model;
    tort_env env;
    tort_arena arena;   /* of all messages */
    tort_names taken;   /* the names that are in use, in any graph */
    part *parts;        /* by graph */
    first_value *first; /* by constant, in the graph that is looked at */
    TortOnnx__ModelProto proto;
    held *constants, *weights;
    jmp_buf out_of_memory; /* where take goes on that finds no memory: all there is to free hangs on the writer */
    tort_error *error;
} writer;

static void *check(writer *w, const void *made) {
    if (!made) longjmp(w->out_of_memory, 1);
    return (void *)(uintptr_t)made;
}

static void *take(writer *w, size_t count, size_t size) {
    return check(w, tort_arena_array(&w->arena, count + 1, size));
}

/* ---- what is needed ---------------------------------------------------------------------------------------------- */

/* True if a constant is written as the nodes that make it: it is unpacked, or follows from what is. */
static bool is_unpacked(const writer *w, const tort_lowered *lowered, const part *p, int32_t value) {
    const int32_t producer = lowered->graph.values[value].producer;
    const tort_node *node = producer < 0 ? NULL : &lowered->graph.nodes[producer];
    bool follows = node && node->op && node->op->flags & TORT_OP_LATE;
    for (int32_t i = 0; node && i < node->input_count; i++) {
        const int32_t input = node->inputs[i];
        follows = follows || (input >= 0 && tort_is_constant(lowered, input) && !p->initial[input]);
    }
    return follows || (node && w->session->constants[lowered->constant_of[value]].derive);
}

/* Finds the values that are written as initializers, whatever nodes make them. */
static void find_initial(const writer *w, const tort_lowered *lowered, part *p) {
    const tort_graph *graph = &lowered->graph;
    for (int32_t i = 0; i < graph->value_count; i++)
        p->initial[i] = graph->values[i].producer < 0 && tort_is_constant(lowered, i) && lowered->constant_of[i] >= 0;
    for (int32_t i = 0; i < graph->node_count; i++)
        for (int32_t k = 0; k < graph->nodes[i].output_count; k++) {
            const int32_t value = graph->nodes[i].outputs[k];
            if (value >= 0 && tort_is_constant(lowered, value) && lowered->constant_of[value] >= 0)
                p->initial[value] = !is_unpacked(w, lowered, p, value);
        }
}

/* Finds values that are one constant in one shape, such as weights behind an Identity, so that it is written once.
 * Inputs of a body come first: a constant of the graph around it is in that graph already. */
static void find_same(const writer *w, int32_t g, part *p) {
    const tort_lowered *lowered = &w->session->graphs[g];
    const tort_graph *graph = &lowered->graph;
    for (int32_t i = 0; i < graph->value_count; i++) p->same[i] = i;
    for (int32_t i = -graph->input_count; i < graph->value_count; i++) {
        const int32_t value = i < 0 ? graph->inputs[graph->input_count + i] : i;
        if (i < 0) p->given[value] = true;
        if (!p->initial[value]) continue;
        first_value *first = &w->first[lowered->constant_of[value]];
        if (first->graph != g + 1) *first = (first_value){g + 1, value};
        const tort_info *a = &lowered->infos[first->value], *b = &lowered->infos[value];
        const bool keeps_name = g == 0 && graph->values[value].is_output;
        if (!keeps_name && a->type == b->type && tort_same_dims(a, b)) p->same[value] = first->value;
    }
}

static void need(part *p, int32_t value) {
    if (value >= 0) p->needed[p->same[value]] = true;
}

static void mark(writer *w, int32_t g);

/* Marks the bodies of a node, and those values captured by it that one of them needs. */
static void mark_bodies(writer *w, part *p, const tort_node *node) {
    for (int32_t a = 0; a < node->attribute_count; a++) {
        const tort_attribute *attribute = &node->attributes[a];
        if (attribute->kind != TORT_ATTR_GRAPH && attribute->kind != TORT_ATTR_GRAPHS) continue;
        for (int32_t i = 0; i < attribute->count; i++) {
            const int32_t body = attribute->u.graphs[i];
            const tort_graph *graph = &w->session->graphs[body].graph;
            mark(w, body);
            for (int32_t k = 1; k <= node->captured; k++)
                if (w->parts[body].needed[graph->inputs[graph->input_count - k]])
                    need(p, node->inputs[node->input_count - k]);
        }
    }
}

static void mark(writer *w, int32_t g) {
    const tort_lowered *lowered = &w->session->graphs[g];
    const tort_graph *graph = &lowered->graph;
    const size_t values = (size_t)graph->value_count;
    part *p = &w->parts[g];
    if (p->marked) return; /* the body of two nodes */
    *p = (part){.marked = true,
                .given = take(w, values, sizeof *p->given),
                .initial = take(w, values, sizeof *p->initial),
                .same = take(w, values, sizeof *p->same),
                .needed = take(w, values, sizeof *p->needed),
                .written = take(w, (size_t)graph->node_count, sizeof *p->written),
                .names = take(w, values, sizeof *p->names)};
    find_initial(w, lowered, p);
    find_same(w, g, p);
    for (int32_t i = 0; i < graph->output_count; i++) need(p, graph->outputs[i]);
    for (int32_t i = graph->node_count - 1; i >= 0; i--) {
        const tort_node *node = &graph->nodes[i];
        for (int32_t k = 0; k < node->output_count; k++) {
            const int32_t value = node->outputs[k];
            if (value >= 0 && p->needed[value] && !p->initial[value]) p->written[i] = true;
        }
        for (int32_t k = 0; p->written[i] && k < node->input_count - node->captured; k++) need(p, node->inputs[k]);
        if (p->written[i]) mark_bodies(w, p, node);
    }
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* The value's name; one that is taken gets a number, as a scope of ONNX reaches into bodies. */
static void name_value(writer *w, int32_t g, int32_t value) {
    const char *name = w->session->graphs[g].graph.values[value].name;
    part *p = &w->parts[g];
    if (p->names[value]) return;
    name = tort_names_add_unique(&w->taken, &w->arena, *name ? name : "value");
    p->names[value] = check(w, name);
}

static void name_values(writer *w, int32_t g) {
    const tort_lowered *lowered = &w->session->graphs[g];
    const tort_graph *graph = &lowered->graph;
    const part *p = &w->parts[g];
    for (int32_t i = 0; i < graph->input_count; i++) name_value(w, g, graph->inputs[i]);
    for (int32_t i = 0; g == 0 && i < graph->output_count; i++) name_value(w, g, graph->outputs[i]);
    for (int32_t i = 0; i < graph->value_count; i++)
        if (p->needed[i]) name_value(w, g, i);
    for (int32_t i = 0; i < graph->node_count; i++)
        for (int32_t k = 0; p->written[i] && k < graph->nodes[i].output_count; k++)
            if (graph->nodes[i].outputs[k] >= 0) name_value(w, g, graph->nodes[i].outputs[k]);
}

static char *name_of(const part *p, int32_t value) {
    return (char *)(uintptr_t)(value < 0 ? "" : p->names[p->same[value]]);
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

static TortOnnx__TensorShapeProto *make_shape(writer *w, const tort_info *info) {
    TortOnnx__TensorShapeProto *shape = take(w, 1, sizeof *shape);
    tort_onnx__tensor_shape_proto__init(shape);
    shape->n_dim = (size_t)info->rank;
    shape->dim = take(w, shape->n_dim, sizeof *shape->dim);
    for (int32_t i = 0; i < info->rank; i++) {
        TortOnnx__TensorShapeProto__Dimension *dim = shape->dim[i] = take(w, 1, sizeof *dim);
        char text[200];
        tort_onnx__tensor_shape_proto__dimension__init(dim);
        if (tort_dim_known(info->dims[i])) {
            dim->value_case = TORT_ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
            dim->dim_value = info->dims[i];
        } else if (!strchr(tort_dim_text(&w->session->dims, info->dims[i], text, sizeof text), '?') &&
                   strlen(text) + 1 < sizeof text) { /* what is cut off could be another size */
            dim->value_case = TORT_ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
            dim->dim_param = check(w, tort_arena_text(&w->arena, text, strlen(text)));
        }
    }
    return shape;
}

/* info NULL: the element of another type, whose shape is not known. */
static TortOnnx__TypeProto *make_type(writer *w, tort_value_type type, const tort_info *info) {
    TortOnnx__TypeProto *proto = take(w, 1, sizeof *proto);
    TortOnnx__TypeProto__Element *element = take(w, 1, sizeof *element);
    tort_onnx__type_proto__init(proto);
    tort_onnx__type_proto__element__init(element);
    switch (tort_type_kind(type)) {
    case TORT_TENSOR:
    case TORT_SPARSE:
        proto->value_case = tort_type_kind(type) == TORT_TENSOR ? TORT_ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE
                                                                : TORT_ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE;
        proto->tensor_type = take(w, 1, sizeof *proto->tensor_type);
        tort_onnx__type_proto__tensor__init(proto->tensor_type);
        proto->tensor_type->has_elem_type = true;
        proto->tensor_type->elem_type = (int32_t)type.type;
        if (info && info->rank >= 0) proto->tensor_type->shape = make_shape(w, info);
        return proto;
    case TORT_MAP:
        proto->value_case = TORT_ONNX__TYPE_PROTO__VALUE_MAP_TYPE;
        proto->map_type = take(w, 1, sizeof *proto->map_type);
        tort_onnx__type_proto__map__init(proto->map_type);
        proto->map_type->has_key_type = true;
        proto->map_type->key_type = (int32_t)tort_type_key(type);
        proto->map_type->value_type = make_type(w, tort_type_element(type), NULL);
        return proto;
    case TORT_SEQUENCE: proto->value_case = TORT_ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE; break;
    case TORT_OPTIONAL: proto->value_case = TORT_ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE; break;
    }
    element->elem_type = make_type(w, tort_type_element(type), NULL);
    proto->sequence_type = element; /* the same place for an optional */
    return proto;
}

static TortOnnx__ValueInfoProto *make_port(writer *w, const char *name, const tort_info *info) {
    TortOnnx__ValueInfoProto *proto = take(w, 1, sizeof *proto);
    tort_onnx__value_info_proto__init(proto);
    proto->name = (char *)(uintptr_t)name;
    if (info->type != TORT_UNDEFINED) proto->type = make_type(w, tort_info_type(info), info);
    return proto;
}

/* ---- contents ---------------------------------------------------------------------------------------------------- */

static TortOnnx__TensorProto *make_tensor(writer *w, tort_tensor *tensor, const void *data, const char *name) {
    memcpy(&tensor->data, &data, sizeof data); /* drops const: it is only read */
    return check(w, tort_pb_make_tensor(&w->arena, tensor, name));
}

static tort_status make_initializer(writer *w, const tort_lowered *lowered, int32_t value, const char *name,
                                    TortOnnx__TensorProto **proto) {
    tort_tensor *tensor = take(w, 1, sizeof *tensor);
    const int32_t constant = lowered->constant_of[value];
    const void *data;
    if (!tort_info_tensor(&lowered->infos[value], tensor))
        return tort_fail(w->error, TORT_E_INTERNAL, "the constant '%s' has no shape", name);
    held *item = take(w, 1, sizeof *item); /* first, as it may not return */
    const tort_status status = tort_constant_acquire(w->session, constant, &data, w->error);
    if (status) return status;
    *item = (held){w->constants, constant};
    w->constants = item;
    *proto = make_tensor(w, tensor, data, name);
    return TORT_OK;
}

static tort_status make_weight(writer *w, int32_t index, TortOnnx__TensorProto **proto) {
    const tort_weight *weight = &w->model->weights[index];
    tort_tensor *tensor = take(w, 1, sizeof *tensor);
    const void *data;
    held *item = take(w, 1, sizeof *item);
    const tort_status status = tort_weight_acquire(w->model, index, &data, w->error);
    if (status) return status;
    *item = (held){w->weights, index};
    w->weights = item;
    *tensor = (tort_tensor){.type = weight->type, .rank = weight->rank};
    memcpy(tensor->dims, weight->dims, sizeof tensor->dims);
    *proto = make_tensor(w, tensor, data, NULL);
    return TORT_OK;
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

static tort_status make_graph(writer *w, int32_t g, TortOnnx__GraphProto **proto);

static ProtobufCBinaryData bytes_of(tort_string text) {
    return (ProtobufCBinaryData){text.length, (uint8_t *)(uintptr_t)text.data};
}

static tort_status make_tensors(writer *w, const tort_attribute *from, TortOnnx__AttributeProto *to) {
    tort_status status = TORT_OK;
    to->tensors = take(w, (size_t)from->count, sizeof *to->tensors);
    for (int32_t i = 0; !status && i < from->count; i++) status = make_weight(w, from->u.weights[i], &to->tensors[i]);
    if (from->kind == TORT_ATTR_TENSORS)
        to->n_tensors = (size_t)from->count;
    else
        to->t = to->tensors[0];
    return status;
}

static tort_status make_graphs(writer *w, const part *around, const tort_node *node, const tort_attribute *from,
                               TortOnnx__AttributeProto *to) {
    tort_status status = TORT_OK;
    to->graphs = take(w, (size_t)from->count, sizeof *to->graphs);
    for (int32_t i = 0; !status && i < from->count; i++) {
        const int32_t body = from->u.graphs[i];
        const tort_graph *graph = &w->session->graphs[body].graph;
        for (int32_t k = 1; k <= node->captured; k++)
            w->parts[body].names[graph->inputs[graph->input_count - k]] =
                name_of(around, node->inputs[node->input_count - k]);
        status = make_graph(w, body, &to->graphs[i]);
        if (!status) to->graphs[i]->n_input -= (size_t)node->captured;
    }
    if (from->kind == TORT_ATTR_GRAPHS)
        to->n_graphs = (size_t)from->count;
    else
        to->g = to->graphs[0];
    return status;
}

static tort_status make_attribute(writer *w, const part *around, const tort_node *node, const tort_attribute *from,
                                  TortOnnx__AttributeProto **proto) {
    TortOnnx__AttributeProto *to = *proto = take(w, 1, sizeof *to);
    const size_t count = (size_t)from->count;
    tort_onnx__attribute_proto__init(to);
    to->name = (char *)(uintptr_t)from->name;
    to->has_type = true;
    to->type = (int32_t)from->kind;
    switch (from->kind) {
    case TORT_ATTR_FLOAT: to->has_f = true, to->f = from->u.f; break;
    case TORT_ATTR_INT: to->has_i = true, to->i = from->u.i; break;
    case TORT_ATTR_STRING: to->has_s = true, to->s = bytes_of(from->u.s); break;
    case TORT_ATTR_FLOATS: to->n_floats = count, to->floats = (float *)(uintptr_t)from->u.floats; break;
    case TORT_ATTR_INTS: to->n_ints = count, to->ints = (int64_t *)(uintptr_t)from->u.ints; break;
    case TORT_ATTR_STRINGS:
        to->n_strings = count;
        to->strings = take(w, count, sizeof *to->strings);
        for (size_t i = 0; i < count; i++) to->strings[i] = bytes_of(from->u.strings[i]);
        break;
    case TORT_ATTR_TYPE_PROTO: to->tp = make_type(w, from->u.types[0], NULL); break;
    case TORT_ATTR_TENSOR:
    case TORT_ATTR_TENSORS: return make_tensors(w, from, to);
    case TORT_ATTR_GRAPH:
    case TORT_ATTR_GRAPHS: return make_graphs(w, around, node, from, to);
    case TORT_ATTR_SPARSE_TENSOR:
    case TORT_ATTR_SPARSE_TENSORS:
    case TORT_ATTR_TYPE_PROTOS:
        return tort_fail(w->error, TORT_E_UNSUPPORTED, "node '%s' (%s): its attribute %s cannot be written", node->name,
                         node->op_type, from->name);
    }
    return TORT_OK;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

/* The version that the new model imports of a domain, which is the node's if no earlier node is of that domain. */
static int64_t import(writer *w, const char *domain, int64_t version) {
    TortOnnx__ModelProto *model = &w->proto;
    for (size_t i = 0; i < model->n_opset_import; i++)
        if (!strcmp(model->opset_import[i]->domain, domain)) return model->opset_import[i]->version;
    TortOnnx__OperatorSetIdProto **all = take(w, model->n_opset_import + 1, sizeof *all);
    TortOnnx__OperatorSetIdProto *set = take(w, 1, sizeof *set);
    if (model->n_opset_import) memcpy(all, model->opset_import, model->n_opset_import * sizeof *all);
    tort_onnx__operator_set_id_proto__init(set);
    set->domain = (char *)(uintptr_t)domain;
    set->has_version = true;
    set->version = version;
    all[model->n_opset_import++] = set;
    model->opset_import = all;
    return version;
}

/* A node of a function can be of another version than the model's. */
static tort_status check_version(writer *w, const tort_graph *graph, int32_t index) {
    const tort_node *node = &graph->nodes[index];
    const tort_op *const *family;
    int32_t count;
    if (!strcmp(node->domain, "tinyort"))
        tort_fail(w->error, TORT_E_UNSUPPORTED,
                  "an operator that loading splits (FlexAttention with graphs) cannot be written");
    else {
        const int64_t version = import(w, node->domain, node->opset);
        if (version == node->opset) return TORT_OK;
        if (node->op &&
            tort_op_find(w->model->op_table, node->domain, node->op_type, version, &family, &count) == node->op)
            return TORT_OK;
        tort_fail(w->error, TORT_E_UNSUPPORTED, "it is of opset %d, while the model imports %lld", node->opset,
                  (long long)version);
    }
    tort_error_at_node(w->error, graph, index);
    return w->error->code;
}

static tort_status make_node(writer *w, int32_t g, int32_t index, TortOnnx__NodeProto **proto) {
    const tort_lowered *lowered = &w->session->graphs[g];
    const tort_node *node = &lowered->graph.nodes[index];
    const part *p = &w->parts[g];
    TortOnnx__NodeProto *to = *proto = take(w, 1, sizeof *to);
    tort_onnx__node_proto__init(to);
    to->name = (char *)(uintptr_t)node->name;
    to->op_type = (char *)(uintptr_t)node->op_type;
    to->domain = (char *)(uintptr_t)node->domain;
    to->n_input = (size_t)(node->input_count - node->captured);
    to->n_output = (size_t)node->output_count;
    to->input = take(w, to->n_input, sizeof *to->input);
    to->output = take(w, to->n_output, sizeof *to->output);
    to->attribute = take(w, (size_t)node->attribute_count, sizeof *to->attribute);
    for (size_t i = 0; i < to->n_input; i++) to->input[i] = name_of(p, node->inputs[i]);
    for (size_t i = 0; i < to->n_output; i++) to->output[i] = name_of(p, node->outputs[i]);
    if (lowered->units[index].provider == TORT_AT_FUSED)
        return tort_fail(w->error, TORT_E_INTERNAL, "node '%s' was fused, but another one needs it", node->name);
    tort_status status = check_version(w, &lowered->graph, index);
    for (int32_t i = 0; !status && i < node->attribute_count; i++)
        if (!node->attributes[i].is_default)
            status = make_attribute(w, p, node, &node->attributes[i], &to->attribute[to->n_attribute++]);
    return status;
}

/* Makes the output of a body that no node of the body makes: runtimes take no initializers or captured values there. */
static char *make_identity(writer *w, int32_t g, int32_t value, TortOnnx__NodeProto **proto) {
    const char *name = w->session->graphs[g].graph.values[value].name;
    TortOnnx__NodeProto *to = *proto = take(w, 1, sizeof *to);
    tort_onnx__node_proto__init(to);
    to->op_type = (char *)(uintptr_t) "Identity";
    to->n_input = to->n_output = 1;
    to->input = take(w, 1, sizeof *to->input);
    to->output = take(w, 1, sizeof *to->output);
    to->input[0] = name_of(&w->parts[g], value);
    name = tort_names_add_unique(&w->taken, &w->arena, *name ? name : "value");
    to->output[0] = check(w, name);
    import(w, "", IDENTITY_OPSET);
    return to->output[0];
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

static tort_status add_initializers(writer *w, int32_t g, TortOnnx__GraphProto *to) {
    const tort_lowered *lowered = &w->session->graphs[g];
    const part *p = &w->parts[g];
    tort_status status = TORT_OK;
    to->initializer = take(w, (size_t)lowered->graph.value_count, sizeof *to->initializer);
    for (int32_t i = 0; !status && i < lowered->graph.value_count; i++)
        if (p->needed[i] && p->initial[i] && !p->given[i])
            status = make_initializer(w, lowered, i, p->names[i], &to->initializer[to->n_initializer++]);
    return status;
}

static tort_status add_nodes(writer *w, int32_t g, TortOnnx__GraphProto *to) {
    const tort_graph *graph = &w->session->graphs[g].graph;
    tort_status status = TORT_OK;
    to->node = take(w, (size_t)graph->node_count + (size_t)graph->output_count, sizeof *to->node);
    for (int32_t i = 0; !status && i < graph->node_count; i++)
        if (w->parts[g].written[i]) status = make_node(w, g, i, &to->node[to->n_node++]);
    return status;
}

/* Adds the outputs, and the shapes of what is between them and the inputs. */
static void add_ports(writer *w, int32_t g, TortOnnx__GraphProto *to) {
    const tort_lowered *lowered = &w->session->graphs[g];
    const tort_graph *graph = &lowered->graph;
    const part *p = &w->parts[g];
    bool *seen = take(w, (size_t)graph->value_count, sizeof *seen);
    to->input = take(w, (size_t)graph->input_count, sizeof *to->input);
    to->output = take(w, (size_t)graph->output_count, sizeof *to->output);
    to->value_info = take(w, (size_t)graph->value_count, sizeof *to->value_info);
    for (int32_t i = 0; i < graph->input_count; i++)
        to->input[to->n_input++] = make_port(w, name_of(p, graph->inputs[i]), &lowered->infos[graph->inputs[i]]);
    for (int32_t i = 0; i < graph->output_count; i++) {
        const int32_t value = graph->outputs[i], producer = graph->values[value].producer;
        const bool made = g == 0 || (producer >= 0 && p->written[producer] && !seen[value]);
        const char *name = made ? name_of(p, value) : make_identity(w, g, value, &to->node[to->n_node++]);
        to->output[to->n_output++] = make_port(w, name, &lowered->infos[value]);
        seen[value] = true;
    }
    for (int32_t i = 0; i < graph->value_count; i++) {
        const int32_t producer = graph->values[i].producer;
        const tort_info *info = &lowered->infos[i];
        if (!seen[i] && p->needed[i] && producer >= 0 && p->written[producer] && info->type != TORT_UNDEFINED &&
            info->rank >= 0)
            to->value_info[to->n_value_info++] = make_port(w, p->names[i], info);
    }
}

static tort_status make_graph(writer *w, int32_t g, TortOnnx__GraphProto **proto) {
    const tort_lowered *lowered = &w->session->graphs[g];
    TortOnnx__GraphProto *to = *proto = take(w, 1, sizeof *to);
    tort_onnx__graph_proto__init(to);
    to->name = (char *)(uintptr_t)(lowered->graph.name && *lowered->graph.name ? lowered->graph.name : "graph");
    name_values(w, g);
    tort_status status = add_initializers(w, g, to);
    if (!status) status = add_nodes(w, g, to);
    if (!status) add_ports(w, g, to);
    return status;
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

static tort_status make_model(writer *w) {
    enum { FIRST_IR = 4 }; /* in which an initializer need not be an input */
    const tort_model *from = w->model;
    TortOnnx__ModelProto *to = &w->proto;
    tort_onnx__model_proto__init(to);
    to->has_ir_version = true;
    to->ir_version = from->ir_version > FIRST_IR ? from->ir_version : FIRST_IR;
    to->producer_name = (char *)(uintptr_t) "tinyort";
    to->producer_version = (char *)(uintptr_t)tort_version();
    for (int32_t i = 0; i < from->opset_count; i++) import(w, from->opsets[i].domain, from->opsets[i].version);
    to->metadata_props = take(w, (size_t)from->metadata_count, sizeof *to->metadata_props);
    for (int32_t i = 0; i < from->metadata_count; i++) {
        TortOnnx__StringStringEntryProto *entry = take(w, 1, sizeof *entry);
        tort_onnx__string_string_entry_proto__init(entry);
        entry->key = (char *)(uintptr_t)from->metadata[i].key;
        entry->value = (char *)(uintptr_t)from->metadata[i].value;
        to->metadata_props[to->n_metadata_props++] = entry;
    }
    mark(w, 0);
    return make_graph(w, 0, &to->graph);
}

static tort_status fill(writer *w) {
    const tort_session *session = w->session;
    if (setjmp(w->out_of_memory)) return tort_out_of_memory(w->error, 0);
    w->parts = take(w, (size_t)session->graph_count, sizeof *w->parts);
    w->first = take(w, (size_t)session->constant_count, sizeof *w->first);
    return make_model(w);
}

tort_status tort_optimized_make(const tort_model *model, const tort_session_options *given, tort_optimized **made,
                                tort_error *error) {
    const tort_session_options options = {.struct_size = sizeof options,
                                          .shapes = given->shapes,
                                          .shape_count = given->shape_count,
                                          .symbols = given->symbols,
                                          .symbol_count = given->symbol_count,
                                          .fusions_off = given->fusions_off,
                                          .time_limit = given->time_limit,
                                          .plan_only = true,
                                          .onnx_fusions = true};
    const tort_env env = tort_env_complete(NULL);
    writer *w = *made = tort_alloc_zero(&env, 1, sizeof *w);
    if (!w) return tort_out_of_memory(error, sizeof *w);
    w->env = env;
    w->model = model;
    w->error = error;
    tort_env_choose_key(&w->env);
    tort_arena_init(&w->arena, &w->env);
    tort_names_init(&w->taken, &w->env);
    const tort_status status = tort_session_create(NULL, model, &options, &w->session, error);
    return status ? status : fill(w);
}

TortOnnx__ModelProto *tort_optimized_message(tort_optimized *made) {
    return &made->proto;
}

void tort_optimized_free(tort_optimized *w) {
    if (!w) return;
    for (const held *item = w->constants; item; item = item->next) tort_constant_release(w->session, item->number);
    for (const held *item = w->weights; item; item = item->next) tort_weight_release(w->model, item->number);
    tort_names_free(&w->taken);
    tort_arena_free(&w->arena);
    tort_session_free(w->session); /* after a failure it may be there for its report */
    const tort_env env = tort_env_complete(NULL);
    tort_free(&env, w, sizeof *w);
}

tort_status tort_optimized_write(const tort_model *model, const tort_session_options *options, tort_new_file *file,
                                 tort_error *error) {
    tort_optimized *made;
    tort_status status = tort_optimized_make(model, options, &made, error);
    if (!status && !tort_pb_write_message(file->stream, &made->proto.base)) {
        file->cause = errno;
        if (errno == EFBIG)
            status = tort_fail(error, TORT_E_UNSUPPORTED, "the optimized model would have more than 2 GiB");
    } /* the end of the file tells any other cause */
    tort_optimized_free(made);
    return status;
}
