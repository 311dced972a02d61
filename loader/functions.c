/* functions.c - model-local functions: a call is replaced by the function's nodes, in place.
 *
 * A call is a scope of its own over the graph of the caller: parameters stand for the caller's values and attributes,
 * all other names get the call's name as prefix. A function that calls itself is refused, and so is a model whose calls
 * multiply beyond a limit (ten functions that each call the next one ten times make ten thousand million nodes). */
#include <stdio.h>
#include <string.h>

#include "loader/loader.h"

enum {
    NAME_COST = 64,        /* bytes of a name in a call, beside the call's prefix */
    MAX_NAME_OF_CALL = 128 /* longer names, which add up in nested calls, become "Function_index" */
};

/* ---- what calls cost --------------------------------------------------------------------------------------------- */

/* Charges what a call copies: it counts as if it stood in the file in place of the call, and may take as much memory.
 */
static tort_status charge(tort_loader *loader, uint64_t cost) {
    loader->expanded += cost;
    if (loader->expanded > TORT_MAX_EXPANDED)
        return tort_fail(loader->error, TORT_E_MODEL, "the calls of functions expand to more than %zu MiB",
                         TORT_MAX_EXPANDED >> 20);
    tort_allow_more(loader, (size_t)cost);
    return TORT_OK;
}

/* ---- finding functions ------------------------------------------------------------------------------------------- */

/* Key of a function by domain, name and overload; the lengths in it keep different functions apart. Valid until the
 * next key is made; NULL: out of memory. */
static const char *function_key(tort_loader *loader, const char *domain, const char *name, const char *overload) {
    enum { NUMBERS = 48 };
    domain = tort_domain_of(domain);
    overload = tort_text_of(overload);
    size_t domain_size = strlen(domain), name_size = strlen(name);
    size_t size = NUMBERS + domain_size + name_size + strlen(overload);
    /* The texts are parts of the slim copy, of at most 1 GiB. */
    if (!tort_grow(loader->env, (void **)&loader->key, &loader->key_capacity, (int32_t)size, 1)) return NULL;
    snprintf(loader->key, size, "%zu %zu %s%s%s", domain_size, name_size, domain, name, overload);
    return loader->key;
}

static bool add_parameter(tort_function *function, const char *name, const TortOnnx__AttributeProto *value) {
    int32_t number;
    if (!tort_names_find(&function->parameters, name, &number)) {
        number = function->parameter_count++;
        if (!tort_names_add(&function->parameters, name, number)) return false;
    }
    if (value) function->defaults[number] = value;
    return true;
}

static bool load_parameters(tort_loader *loader, tort_function *function) {
    const TortOnnx__FunctionProto *proto = function->proto;
    function->defaults =
        tort_arena_array(&loader->scratch, proto->n_attribute + proto->n_attribute_proto, sizeof *function->defaults);
    bool ok = function->defaults;
    for (size_t i = 0; ok && i < proto->n_attribute; i++) ok = add_parameter(function, proto->attribute[i], NULL);
    for (size_t i = 0; ok && i < proto->n_attribute_proto; i++)
        ok = add_parameter(function, tort_text_of(proto->attribute_proto[i]->name), proto->attribute_proto[i]);
    return ok;
}

static void measure(tort_function *function) {
    const TortOnnx__FunctionProto *proto = function->proto;
    function->cost = (uint64_t)proto->size * TORT_LOAD_FACTOR;
    for (size_t i = 0; i < proto->n_node; i++) function->name_count += 1 + proto->node[i]->n_output;
}

static tort_status load_function(tort_loader *loader, const TortOnnx__FunctionProto *proto, int32_t number) {
    tort_function *function = &loader->functions[number];
    function->proto = proto;
    measure(function);
    const char *key = function_key(loader, proto->domain, proto->name, proto->overload);
    int32_t other;
    if (!key) return tort_no_memory(loader);
    if (tort_names_find(&loader->function_numbers, key, &other))
        return tort_fail(loader->error, TORT_E_MODEL, "function %d is the same", other);
    key = tort_arena_text(&loader->scratch, key, strlen(key));
    if (!key || !tort_names_add(&loader->function_numbers, key, number) || !load_parameters(loader, function))
        return tort_no_memory(loader);
    return tort_load_opsets(loader, proto->opset_import, proto->n_opset_import, &function->opsets);
}

tort_status tort_load_functions(tort_loader *loader) {
    const TortOnnx__ModelProto *proto = loader->proto;
    loader->functions = tort_arena_array(&loader->scratch, proto->n_functions, sizeof *loader->functions);
    if (!loader->functions) return tort_no_memory(loader);
    for (size_t i = 0; i < proto->n_functions; i++) {
        int32_t number = loader->function_count++;
        tort_names_init(&loader->functions[number].opsets, loader->env);
        tort_names_init(&loader->functions[number].parameters, loader->env);
        tort_status status = load_function(loader, proto->functions[i], number);
        if (status) tort_error_prefix(loader->error, "function %d \"%.150s\"", number, proto->functions[i]->name);
        if (status) return status;
    }
    return TORT_OK;
}

void tort_functions_free(tort_loader *loader) {
    for (int32_t i = 0; i < loader->function_count; i++) {
        tort_names_free(&loader->functions[i].opsets);
        tort_names_free(&loader->functions[i].parameters);
    }
    tort_free(loader->env, loader->key, (size_t)loader->key_capacity);
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

tort_status tort_attribute_reference(tort_loader *loader, const tort_scope *scope, const char *name, int32_t type,
                                     const TortOnnx__AttributeProto **referred) {
    int32_t number;
    *referred = NULL;
    if (!scope->call)
        return tort_fail(loader->error, TORT_E_MODEL, "it refers to \"%.100s\", a parameter, outside a function", name);
    if (!tort_names_find(&scope->call->function->parameters, name, &number))
        return tort_fail(loader->error, TORT_E_MODEL,
                         "it refers to \"%.100s\", which is not a parameter of the function", name);
    const TortOnnx__AttributeProto *found = scope->call->parameters[number];
    if (!found) return TORT_OK;
    tort_status status = charge(loader, (uint64_t)found->size * TORT_LOAD_FACTOR);
    if (status) return status;
    if (type && found->type && type != found->type)
        return tort_fail(loader->error, TORT_E_MODEL, "its type is %d, but the call gives \"%.100s\" of type %d", type,
                         name, found->type);
    *referred = found;
    return TORT_OK;
}

/* Binds an attribute of the call to a parameter. A reference to a parameter of the caller that has no value gives none.
 */
static tort_status bind_attribute(tort_loader *loader, const tort_scope *scope, const TortOnnx__AttributeProto *proto,
                                  const char *name, tort_function_call *call) {
    int32_t number;
    if (!tort_names_find(&call->function->parameters, name, &number)) return TORT_OK; /* no node can refer to it */
    if (call->parameters[number]) return tort_fail(loader->error, TORT_E_MODEL, "it is there twice");
    const char *reference = tort_text_of(proto->ref_attr_name);
    if (*reference) {
        tort_status status = tort_attribute_reference(loader, scope, reference, proto->type, &proto);
        if (status) return status;
    }
    call->parameters[number] = proto;
    return TORT_OK;
}

static tort_status bind_attributes(tort_loader *loader, const tort_scope *scope, const TortOnnx__NodeProto *node,
                                   tort_function_call *call) {
    for (size_t i = 0; i < node->n_attribute; i++) {
        const char *name = tort_text_of(node->attribute[i]->name);
        tort_status status = bind_attribute(loader, scope, node->attribute[i], name, call);
        if (status) tort_error_prefix(loader->error, "attribute \"%.100s\"", name);
        if (status) return status;
    }
    for (int32_t i = 0; i < call->function->parameter_count; i++)
        if (!call->parameters[i]) call->parameters[i] = call->function->defaults[i];
    return TORT_OK;
}

/* ---- inputs and outputs ----------------------------------------------------------------------------------------- */

static tort_status bind_inputs(tort_loader *loader, tort_scope *caller, const TortOnnx__NodeProto *node,
                               tort_scope *scope) {
    const TortOnnx__FunctionProto *function = scope->call->function->proto;
    if (node->n_input > function->n_input)
        return tort_fail(loader->error, TORT_E_MODEL, "%zu inputs; the function takes %zu", node->n_input,
                         function->n_input);
    for (size_t i = 0; i < function->n_input; i++) {
        const char *name = function->input[i];
        int32_t value = -1, other;
        if (i < node->n_input) {
            tort_status status = tort_resolve_name(loader, caller, node->input[i], &value);
            if (status) tort_error_prefix(loader->error, "input %zu", i);
            if (status) return status;
        }
        if (tort_names_find(&scope->names, name, &other))
            return tort_fail(loader->error, TORT_E_MODEL, "the function has two inputs \"%.150s\"", name);
        if (!tort_names_add(&scope->names, name, value)) return tort_no_memory(loader);
    }
    return TORT_OK;
}

/* Adds an Identity for an output that already has a name: a function may return an input, or one value twice. */
static tort_status add_copy(tort_loader *loader, const tort_scope *scope, int32_t from, int32_t to, size_t i,
                            int32_t file_index) {
    tort_arena *arena = &loader->model->arena;
    int32_t *ends = tort_arena_array(arena, 2, sizeof *ends);
    tort_node node = {.name = tort_arena_format(arena, "%s/output_%zu", scope->call->prefix, i),
                      .domain = "",
                      .op_type = "Identity",
                      .opset = 1,
                      .input_count = 1,
                      .output_count = 1,
                      .file_index = file_index};
    if (!ends || !node.name) return tort_no_memory(loader);
    if (from < 0)
        return tort_fail(loader->error, TORT_E_MODEL, "output %zu is an input that the call does not give", i);
    ends[0] = from;
    ends[1] = to;
    node.inputs = ends;
    node.outputs = ends + 1;
    tort_names_find(&loader->opsets, "", &node.opset);
    return tort_graph_add_node(loader->model, scope->graph, &node) < 0 ? tort_no_memory(loader) : TORT_OK;
}

static tort_status bind_outputs(tort_loader *loader, const tort_scope *caller, const TortOnnx__NodeProto *node,
                                tort_scope *scope, int32_t file_index) {
    const TortOnnx__FunctionProto *function = scope->call->function->proto;
    if (node->n_output > function->n_output)
        return tort_fail(loader->error, TORT_E_MODEL, "%zu outputs; the function has %zu", node->n_output,
                         function->n_output);
    for (size_t i = 0; i < node->n_output; i++) {
        int32_t wanted = -1, known; /* the caller's value; -1 if the caller does not use it */
        tort_names_find(&caller->names, node->output[i], &wanted);
        if (wanted < 0) continue;
        tort_status status = TORT_OK;
        if (tort_names_find(&scope->names, function->output[i], &known))
            status = add_copy(loader, scope, known, wanted, i, file_index);
        else if (!tort_names_add(&scope->names, function->output[i], wanted))
            status = tort_no_memory(loader);
        if (status) return status;
    }
    return TORT_OK;
}

/* ---- the call --------------------------------------------------------------------------------------------------- */

/* Prefix of the names in a call: the call's own name or "Linear_12", after the prefix of an enclosing call; unique
 * within a graph. NULL: out of memory. */
static const char *call_prefix(tort_loader *loader, const tort_scope *caller, const TortOnnx__NodeProto *node,
                               size_t index) {
    bool inside = caller->call && !caller->outer;
    const char *around = inside ? caller->call->prefix : "", *slash = inside ? "/" : "";
    bool named = *tort_text_of(node->name) && strlen(node->name) <= MAX_NAME_OF_CALL;
    tort_arena *arena = &loader->scratch;
    const char *name =
        named ? node->name : tort_arena_format(arena, "%.*s_%zu", MAX_NAME_OF_CALL, node->op_type, index);
    if (!name) return NULL;
    const char *key = tort_arena_format(arena, "%d:%s%s%s", caller->graph, around, slash, name);
    if (key) key = tort_names_add_unique(&loader->prefixes, arena, key);
    return key ? strchr(key, ':') + 1 : NULL;
}

static tort_status expand_call(tort_loader *loader, tort_scope *caller, tort_function_call *call,
                               const TortOnnx__NodeProto *node, int32_t file_index) {
    tort_scope scope = {.call = call, .graph = caller->graph};
    tort_names_init(&scope.names, loader->env);
    const tort_function *function = call->function;
    const TortOnnx__FunctionProto *proto = function->proto;
    tort_status status =
        charge(loader, function->cost + (function->name_count + 1) * (strlen(call->prefix) + NAME_COST));
    if (!status) status = bind_attributes(loader, caller, node, call);
    if (!status) status = bind_inputs(loader, caller, node, &scope);
    if (!status) status = bind_outputs(loader, caller, node, &scope, file_index);
    if (!status) status = tort_declare_outputs(loader, &scope, proto->node, proto->n_node);
    if (!status) status = tort_load_nodes(loader, &scope, proto->node, proto->n_node, file_index);
    tort_scope_free(loader, &scope);
    return status;
}

tort_status tort_expand_call(tort_loader *loader, tort_scope *caller, tort_function *function,
                             const TortOnnx__NodeProto *node, size_t index, int32_t file_index) {
    if (function->active)
        return tort_fail(loader->error, TORT_E_MODEL, "function \"%.150s\" calls itself", function->proto->name);
    tort_status status = tort_enter(loader);
    if (status) return status;
    size_t count = (size_t)function->parameter_count;
    tort_function_call call = {.function = function, .prefix = call_prefix(loader, caller, node, index)};
    call.parameters = tort_alloc_zero(loader->env, count, sizeof *call.parameters);
    function->active = true;
    status =
        call.prefix && call.parameters ? expand_call(loader, caller, &call, node, file_index) : tort_no_memory(loader);
    function->active = false;
    tort_free(loader->env, call.parameters, count * sizeof *call.parameters);
    tort_leave(loader);
    return status;
}
