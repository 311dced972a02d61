/* functions.c - model-local functions: a call is replaced by the function's nodes, in place.
 *
 * A call is a scope of its own over the graph of the caller: parameters stand for the caller's values and attributes,
 * everything else gets names after the call. A function that calls itself is refused, and so is a model whose calls
 * multiply beyond a limit (ten functions that each call the next ten times make ten thousand million nodes). */
#include <string.h>

#include "loader/loader.h"

#define MOST_EXPANDED ((uint64_t)512 << 20) /* bytes, counted roughly */
#define CALL_COST 256                       /* of a call, and of each of its nodes and values, beside names */
#define EXPANSION 8                         /* what a byte of the file takes in memory, roughly */

static const char *function_key(tort_loader *loader, const char *domain, const char *name, const char *overload) {
    return tort_arena_format(&loader->scratch, "%s:%s:%s", tort_domain_of(domain), tort_text_of(name),
                             tort_text_of(overload));
}

static tort_status load_function(tort_loader *loader, TortOnnx__FunctionProto *proto, int32_t number) {
    tort_function *function = &loader->functions[number];
    function->proto = proto;
    function->cost = EXPANSION * (uint64_t)tort_onnx__function_proto__get_packed_size(proto);
    for (size_t i = 0; i < proto->n_node; i++) function->name_count += 1 + proto->node[i]->n_output;
    tort_names_init(&function->opsets, loader->env);
    if (!*tort_text_of(proto->name)) return tort_fail(loader->error, TORT_E_MODEL, "it has no name");
    const char *key = function_key(loader, proto->domain, proto->name, proto->overload);
    int32_t other;
    if (!key) return tort_no_memory(loader);
    if (tort_names_find(&loader->function_numbers, key, &other))
        return tort_fail(loader->error, TORT_E_MODEL, "function %d is the same", other);
    if (!tort_names_add(&loader->function_numbers, key, number)) return tort_no_memory(loader);
    return tort_load_opsets(loader, proto->opset_import, proto->n_opset_import, &function->opsets);
}

tort_status tort_load_functions(tort_loader *loader) {
    size_t count = loader->proto->n_functions;
    loader->functions = tort_arena_array(&loader->scratch, count, sizeof *loader->functions);
    if (!loader->functions) return tort_no_memory(loader);
    for (size_t i = 0; i < count; i++) {
        loader->function_count = (int32_t)i + 1;
        tort_status status = load_function(loader, loader->proto->functions[i], (int32_t)i);
        if (status)
            tort_error_prefix(loader->error, "function %zu \"%.150s\"", i,
                              tort_text_of(loader->proto->functions[i]->name));
        if (status) return status;
    }
    return TORT_OK;
}

void tort_functions_free(tort_loader *loader) {
    for (int32_t i = 0; i < loader->function_count; i++) tort_names_free(&loader->functions[i].opsets);
}

tort_status tort_find_function(tort_loader *loader, const TortOnnx__NodeProto *node, tort_function **function) {
    *function = NULL;
    if (loader->function_count == 0) return TORT_OK;
    int32_t number;
    const char *key = function_key(loader, node->domain, node->op_type, node->overload);
    if (!key) return tort_no_memory(loader);
    if (tort_names_find(&loader->function_numbers, key, &number)) *function = &loader->functions[number];
    return TORT_OK;
}

/* ---- attributes ------------------------------------------------------------------------------------------------- */

static bool declares_attribute(const TortOnnx__FunctionProto *proto, const char *name) {
    for (size_t i = 0; i < proto->n_attribute; i++)
        if (strcmp(tort_text_of(proto->attribute[i]), name) == 0) return true;
    for (size_t i = 0; i < proto->n_attribute_proto; i++)
        if (strcmp(tort_text_of(proto->attribute_proto[i]->name), name) == 0) return true;
    return false;
}

static TortOnnx__AttributeProto *find_parameter(const tort_function_call *call, const char *name) {
    for (int32_t i = 0; i < call->parameter_count; i++)
        if (strcmp(call->parameters[i].name, name) == 0) return call->parameters[i].value;
    return NULL;
}

tort_status tort_attribute_reference(tort_loader *loader, const tort_scope *scope,
                                     const TortOnnx__AttributeProto *attribute, TortOnnx__AttributeProto **referred) {
    const char *name = attribute->ref_attr_name;
    if (!scope->call)
        return tort_fail(loader->error, TORT_E_MODEL, "it refers to \"%.100s\", a parameter, outside a function", name);
    *referred = find_parameter(scope->call, name);
    if (*referred && attribute->type && (*referred)->type && attribute->type != (*referred)->type)
        return tort_fail(loader->error, TORT_E_MODEL, "its type is %d, but the call gives \"%.100s\" of type %d",
                         attribute->type, name, (*referred)->type);
    if (*referred || declares_attribute(scope->call->function->proto, name)) return TORT_OK;
    return tort_fail(loader->error, TORT_E_MODEL, "it refers to \"%.100s\", which is no parameter of the function",
                     name);
}

/* What the caller gives. */
static tort_status bind_attribute(tort_loader *loader, const tort_scope *scope, TortOnnx__AttributeProto *proto,
                                  tort_function_call *call) {
    const char *name = tort_text_of(proto->name);
    if (!declares_attribute(call->function->proto, name))
        return tort_fail(loader->error, TORT_E_MODEL, "the function has no such parameter");
    if (find_parameter(call, name)) return tort_fail(loader->error, TORT_E_MODEL, "it is there twice");
    if (*tort_text_of(proto->ref_attr_name)) {
        tort_status status = tort_attribute_reference(loader, scope, proto, &proto);
        if (status || !proto) return status;
    }
    call->parameters[call->parameter_count++] = (tort_parameter){name, proto};
    return TORT_OK;
}

static tort_status bind_attributes(tort_loader *loader, const tort_scope *scope, const TortOnnx__NodeProto *node,
                                   tort_function_call *call) {
    const TortOnnx__FunctionProto *proto = call->function->proto;
    size_t most = node->n_attribute + proto->n_attribute_proto;
    if (most > TORT_MOST_ATTRIBUTES)
        return tort_fail(loader->error, TORT_E_MODEL, "%zu attributes; at most %d are taken", most,
                         TORT_MOST_ATTRIBUTES);
    call->parameters = tort_arena_array(&loader->scratch, most, sizeof *call->parameters);
    if (!call->parameters) return tort_no_memory(loader);
    for (size_t i = 0; i < node->n_attribute; i++) {
        tort_status status = bind_attribute(loader, scope, node->attribute[i], call);
        if (status) tort_error_prefix(loader->error, "attribute \"%.100s\"", tort_text_of(node->attribute[i]->name));
        if (status) return status;
    }
    for (size_t i = 0; i < proto->n_attribute_proto; i++) {
        const char *name = tort_text_of(proto->attribute_proto[i]->name);
        if (!find_parameter(call, name))
            call->parameters[call->parameter_count++] = (tort_parameter){name, proto->attribute_proto[i]};
    }
    return TORT_OK;
}

/* ---- inputs and outputs ----------------------------------------------------------------------------------------- */

static tort_status bind_inputs(tort_loader *loader, tort_scope *caller, const TortOnnx__NodeProto *node,
                               tort_scope *scope) {
    const TortOnnx__FunctionProto *proto = scope->call->function->proto;
    if (node->n_input > proto->n_input)
        return tort_fail(loader->error, TORT_E_MODEL, "%zu inputs; the function takes %zu", node->n_input,
                         proto->n_input);
    for (size_t i = 0; i < proto->n_input; i++) {
        const char *name = tort_text_of(proto->input[i]);
        int32_t value = -1, other;
        if (i < node->n_input) {
            tort_status status = tort_resolve_name(loader, caller, tort_text_of(node->input[i]), &value);
            if (status) tort_error_prefix(loader->error, "input %zu", i);
            if (status) return status;
        }
        if (tort_names_find(&scope->names, name, &other))
            return tort_fail(loader->error, TORT_E_MODEL, "the function has two inputs \"%.150s\"", name);
        if (!tort_names_add(&scope->names, name, value)) return tort_no_memory(loader);
    }
    return TORT_OK;
}

/* The caller's value for output i; -1 where it does not want it. */
static int32_t wanted_output(const tort_scope *caller, const TortOnnx__NodeProto *node, size_t i) {
    int32_t value = -1;
    if (i < node->n_output) tort_names_find(&caller->names, tort_text_of(node->output[i]), &value);
    return value;
}

/* A function may return its input, or one value twice: then the caller's value is a copy. */
static tort_status add_copy(tort_loader *loader, const tort_scope *scope, int32_t from, int32_t to, size_t i,
                            int32_t file_index) {
    tort_arena *arena = &loader->model->arena;
    int32_t *ends = tort_arena_array(arena, 2, sizeof *ends);
    tort_node node = {.name = tort_arena_format(arena, "%s/output_%zu", scope->call->prefix, i),
                      .domain = "",
                      .op_type = "Identity",
                      .opset = 1,
                      .inputs = ends,
                      .outputs = ends + 1,
                      .input_count = 1,
                      .output_count = 1,
                      .file_index = file_index};
    if (!ends || !node.name) return tort_no_memory(loader);
    if (from < 0)
        return tort_fail(loader->error, TORT_E_MODEL, "output %zu is an input that the call does not give", i);
    ends[0] = from;
    ends[1] = to;
    tort_names_find(&loader->opsets, "", &node.opset);
    return tort_graph_add_node(loader->model, scope->graph, &node) < 0 ? tort_no_memory(loader) : TORT_OK;
}

static tort_status bind_outputs(tort_loader *loader, const tort_scope *caller, const TortOnnx__NodeProto *node,
                                tort_scope *scope, int32_t file_index) {
    const TortOnnx__FunctionProto *proto = scope->call->function->proto;
    if (node->n_output > proto->n_output)
        return tort_fail(loader->error, TORT_E_MODEL, "%zu outputs; the function has %zu", node->n_output,
                         proto->n_output);
    for (size_t i = 0; i < proto->n_output; i++) {
        const char *name = tort_text_of(proto->output[i]);
        int32_t wanted = wanted_output(caller, node, i), known;
        if (wanted < 0) continue;
        tort_status status = TORT_OK;
        if (tort_names_find(&scope->names, name, &known))
            status = add_copy(loader, scope, known, wanted, i, file_index);
        else if (!tort_names_add(&scope->names, name, wanted))
            status = tort_no_memory(loader);
        if (status) return status;
    }
    return TORT_OK;
}

/* ---- the call --------------------------------------------------------------------------------------------------- */

static tort_status charge(tort_loader *loader, const tort_function_call *call) {
    const tort_function *function = call->function;
    uint64_t names = strlen(call->prefix) + CALL_COST;
    loader->expanded += function->cost + (function->name_count + 1) * names;
    if (loader->expanded <= MOST_EXPANDED) return TORT_OK;
    return tort_fail(loader->error, TORT_E_MODEL, "the calls of functions expand to more than %llu MiB",
                     (unsigned long long)(MOST_EXPANDED >> 20));
}

static tort_status expand(tort_loader *loader, tort_scope *caller, TortOnnx__NodeProto *node, tort_scope *scope,
                          int32_t file_index) {
    const TortOnnx__FunctionProto *proto = scope->call->function->proto;
    tort_status status = bind_inputs(loader, caller, node, scope);
    if (!status) status = bind_outputs(loader, caller, node, scope, file_index);
    if (!status) status = tort_declare_outputs(loader, scope, proto->node, proto->n_node);
    if (!status) status = tort_load_nodes(loader, scope, proto->node, proto->n_node, file_index);
    return status;
}

tort_status tort_expand_call(tort_loader *loader, tort_scope *caller, tort_function *function,
                             TortOnnx__NodeProto *node, const char *node_name, int32_t file_index) {
    if (function->active)
        return tort_fail(loader->error, TORT_E_MODEL, "function \"%.150s\" calls itself", function->proto->name);
    tort_function_call call = {.function = function, .prefix = node_name};
    tort_scope scope = {.call = &call, .graph = caller->graph};
    tort_names_init(&scope.names, loader->env);
    tort_status status = tort_enter(loader);
    if (!status) status = charge(loader, &call);
    if (!status) status = bind_attributes(loader, caller, node, &call);
    function->active = true;
    if (!status) status = expand(loader, caller, node, &scope, file_index);
    function->active = false;
    tort_leave(loader);
    tort_scope_free(loader, &scope);
    return status;
}
