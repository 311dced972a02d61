/* functions.c - model-local functions: a call is replaced by the function's nodes, in place.
 *
 * A call is a scope of its own over the graph of the caller: parameters stand for the caller's values and attributes,
 * everything else gets names after the call. A function that calls itself is refused, and so is a model whose calls
 * multiply beyond a limit (ten functions that each call the next ten times make ten thousand million nodes). */
#include <stdio.h>
#include <string.h>

#include "loader/loader.h"

enum {
    NAME_COST = 64,            /* of a name in a call, beside the name of the call */
    LONGEST_NAME_OF_CALL = 128 /* a call with a longer name goes by its function and index: names in it add up */
};

/* ---- what calls cost --------------------------------------------------------------------------------------------- */

/* What a call copies counts as if it stood in the file in place of the call, and may take as much memory. */
static tort_status charge(tort_loader *loader, uint64_t cost) {
    loader->expanded += cost;
    if (loader->expanded > TORT_MOST_EXPANDED)
        return tort_fail(loader->error, TORT_E_MODEL, "the calls of functions expand to more than %zu MiB",
                         TORT_MOST_EXPANDED >> 20);
    tort_allow_more(loader, (size_t)cost);
    return TORT_OK;
}

static uint64_t cost_of(tort_message message) {
    return (uint64_t)(message.end - message.at) * TORT_LOAD_FACTOR;
}

/* ---- finding functions ------------------------------------------------------------------------------------------- */

/* Domain, name and overload in one, so that no two that differ give the same; valid until the next key is made. NULL:
 * out of memory. */
static const char *function_key(tort_loader *loader, const char *domain, const char *name, const char *overload) {
    enum { NUMBERS = 48 };
    size_t domain_size = strlen(domain), name_size = strlen(name);
    size_t size = NUMBERS + domain_size + name_size + strlen(overload);
    if (size > INT32_MAX || !tort_grow(loader->env, (void **)&loader->key, &loader->key_capacity, (int32_t)size, 1))
        return NULL;
    snprintf(loader->key, size, "%zu %zu %s%s%s", domain_size, name_size, domain, name, overload);
    return loader->key;
}

static bool add_parameter(tort_function *function, const char *name, tort_message value) {
    int32_t number;
    if (!tort_names_find(&function->parameters, name, &number)) {
        number = function->parameter_count++;
        if (!tort_names_add(&function->parameters, name, number)) return false;
    }
    if (value.at) function->defaults[number] = value;
    return true;
}

static bool load_parameters(tort_loader *loader, tort_function *function) {
    tort_message rest = function->message;
    int32_t most = tort_count_of(rest, FUNCTION_ATTRIBUTE) + tort_count_of(rest, FUNCTION_ATTRIBUTE_PROTO);
    function->defaults = tort_arena_array(&loader->scratch, (size_t)most, sizeof *function->defaults);
    bool ok = function->defaults;
    for (tort_field field; ok && tort_next_field(&rest, &field);) {
        if (field.number == FUNCTION_ATTRIBUTE)
            ok = add_parameter(function, field.text, (tort_message){NULL, NULL});
        else if (field.number == FUNCTION_ATTRIBUTE_PROTO)
            ok = add_parameter(function, tort_text_in(field.message, ATTRIBUTE_NAME), field.message);
    }
    return ok;
}

static void measure(tort_function *function) {
    tort_message rest = function->message;
    function->cost = cost_of(rest);
    for (tort_field field; tort_next_field(&rest, &field);) {
        if (field.number == FUNCTION_INPUT) function->input_count++;
        if (field.number == FUNCTION_OUTPUT) function->output_count++;
        if (field.number == FUNCTION_NODE)
            function->name_count += 1 + (uint64_t)tort_count_of(field.message, NODE_OUTPUT);
    }
}

static tort_status load_function(tort_loader *loader, tort_message message, int32_t number) {
    tort_function *function = &loader->functions[number];
    function->message = message;
    function->name = tort_text_in(message, FUNCTION_NAME);
    measure(function);
    if (!*function->name) return tort_fail(loader->error, TORT_E_MODEL, "it has no name");
    const char *key = function_key(loader, tort_domain_of(tort_text_in(message, FUNCTION_DOMAIN)), function->name,
                                   tort_text_in(message, FUNCTION_OVERLOAD));
    int32_t other;
    if (!key) return tort_no_memory(loader);
    if (tort_names_find(&loader->function_numbers, key, &other))
        return tort_fail(loader->error, TORT_E_MODEL, "function %d is the same", other);
    key = tort_arena_text(&loader->scratch, key, strlen(key));
    if (!key || !tort_names_add(&loader->function_numbers, key, number) || !load_parameters(loader, function))
        return tort_no_memory(loader);
    return tort_load_opsets(loader, message, FUNCTION_OPSET_IMPORT, &function->opsets);
}

tort_status tort_load_functions(tort_loader *loader) {
    tort_message rest = loader->message;
    size_t count = (size_t)tort_count_of(rest, MODEL_FUNCTIONS);
    loader->functions = tort_arena_array(&loader->scratch, count, sizeof *loader->functions);
    if (!loader->functions) return tort_no_memory(loader);
    for (tort_field field; tort_next_of(&rest, MODEL_FUNCTIONS, &field);) {
        int32_t number = loader->function_count++;
        tort_names_init(&loader->functions[number].opsets, loader->env);
        tort_names_init(&loader->functions[number].parameters, loader->env);
        tort_status status = load_function(loader, field.message, number);
        if (status) tort_error_prefix(loader->error, "function %d \"%.150s\"", number, loader->functions[number].name);
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

tort_status tort_find_function(tort_loader *loader, const tort_node_proto *node, tort_function **function) {
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
                                     tort_message *referred) {
    int32_t number;
    *referred = (tort_message){NULL, NULL};
    if (!scope->call)
        return tort_fail(loader->error, TORT_E_MODEL, "it refers to \"%.100s\", a parameter, outside a function", name);
    if (!tort_names_find(&scope->call->function->parameters, name, &number))
        return tort_fail(loader->error, TORT_E_MODEL, "it refers to \"%.100s\", which is no parameter of the function",
                         name);
    *referred = scope->call->parameters[number];
    if (!referred->at) return TORT_OK;
    tort_status status = charge(loader, cost_of(*referred));
    if (status) return status;
    int32_t given = tort_attribute_type(*referred);
    if (type && given && type != given)
        return tort_fail(loader->error, TORT_E_MODEL, "its type is %d, but the call gives \"%.100s\" of type %d", type,
                         name, given);
    return TORT_OK;
}

/* What the caller gives; an attribute that refers to a parameter of the caller which has no value gives nothing. */
static tort_status bind_attribute(tort_loader *loader, const tort_scope *scope, tort_message proto, const char *name,
                                  tort_function_call *call) {
    int32_t number;
    if (!tort_names_find(&call->function->parameters, name, &number)) return TORT_OK; /* nothing can refer to it */
    if (call->parameters[number].at) return tort_fail(loader->error, TORT_E_MODEL, "it is there twice");
    const char *reference = tort_text_in(proto, ATTRIBUTE_REF_ATTR_NAME);
    if (*reference) {
        tort_status status = tort_attribute_reference(loader, scope, reference, tort_attribute_type(proto), &proto);
        if (status) return status;
    }
    call->parameters[number] = proto;
    return TORT_OK;
}

static tort_status bind_attributes(tort_loader *loader, const tort_scope *scope, const tort_node_proto *node,
                                   tort_function_call *call) {
    tort_message rest = node->message;
    for (tort_field field; tort_next_of(&rest, NODE_ATTRIBUTE, &field);) {
        const char *name = tort_text_in(field.message, ATTRIBUTE_NAME);
        tort_status status = bind_attribute(loader, scope, field.message, name, call);
        if (status) tort_error_prefix(loader->error, "attribute \"%.100s\"", name);
        if (status) return status;
    }
    for (int32_t i = 0; i < call->function->parameter_count; i++)
        if (!call->parameters[i].at) call->parameters[i] = call->function->defaults[i];
    return TORT_OK;
}

/* ---- inputs and outputs ----------------------------------------------------------------------------------------- */

static tort_status bind_inputs(tort_loader *loader, tort_scope *caller, const tort_node_proto *node,
                               tort_scope *scope) {
    const tort_function *function = scope->call->function;
    if (node->input_count > function->input_count)
        return tort_fail(loader->error, TORT_E_MODEL, "%d inputs; the function takes %d", node->input_count,
                         function->input_count);
    tort_message given = node->message, rest = function->message;
    tort_field field, input;
    for (size_t i = 0; tort_next_of(&rest, FUNCTION_INPUT, &field); i++) {
        int32_t value = -1, other;
        if (tort_next_of(&given, NODE_INPUT, &input)) {
            tort_status status = tort_resolve_name(loader, caller, input.text, &value);
            if (status) tort_error_prefix(loader->error, "input %zu", i);
            if (status) return status;
        }
        if (tort_names_find(&scope->names, field.text, &other))
            return tort_fail(loader->error, TORT_E_MODEL, "the function has two inputs \"%.150s\"", field.text);
        if (!tort_names_add(&scope->names, field.text, value)) return tort_no_memory(loader);
    }
    return TORT_OK;
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

static tort_status bind_outputs(tort_loader *loader, const tort_scope *caller, const tort_node_proto *node,
                                tort_scope *scope, int32_t file_index) {
    const tort_function *function = scope->call->function;
    if (node->output_count > function->output_count)
        return tort_fail(loader->error, TORT_E_MODEL, "%d outputs; the function has %d", node->output_count,
                         function->output_count);
    tort_message given = node->message, rest = function->message;
    tort_field field, output;
    for (size_t i = 0; tort_next_of(&rest, FUNCTION_OUTPUT, &field); i++) {
        int32_t wanted = -1, known; /* the caller's value; -1 where it does not want it */
        if (tort_next_of(&given, NODE_OUTPUT, &output)) tort_names_find(&caller->names, output.text, &wanted);
        if (wanted < 0) continue;
        tort_status status = TORT_OK;
        if (tort_names_find(&scope->names, field.text, &known))
            status = add_copy(loader, scope, known, wanted, i, file_index);
        else if (!tort_names_add(&scope->names, field.text, wanted))
            status = tort_no_memory(loader);
        if (status) return status;
    }
    return TORT_OK;
}

/* ---- the call --------------------------------------------------------------------------------------------------- */

/* What the names in a call begin with: its own name, or "Linear_12", within another call after that; in one graph no
 * two are the same. NULL: out of memory. */
static const char *call_prefix(tort_loader *loader, const tort_scope *caller, const tort_node_proto *node,
                               size_t index) {
    bool inside = caller->call && !caller->outer;
    const char *around = inside ? caller->call->prefix : "", *slash = inside ? "/" : "";
    bool named = *node->name && strlen(node->name) <= LONGEST_NAME_OF_CALL;
    tort_arena *arena = &loader->scratch;
    const char *name =
        named ? node->name : tort_arena_format(arena, "%.*s_%zu", LONGEST_NAME_OF_CALL, node->op_type, index);
    if (!name) return NULL;
    const char *key = tort_arena_format(arena, "%d:%s%s%s", caller->graph, around, slash, name);
    if (key) key = tort_names_add_unique(&loader->prefixes, arena, key);
    return key ? strchr(key, ':') + 1 : NULL;
}

static tort_status expand(tort_loader *loader, tort_scope *caller, const tort_node_proto *node, tort_scope *scope,
                          int32_t file_index) {
    tort_message message = scope->call->function->message;
    tort_status status = bind_inputs(loader, caller, node, scope);
    if (!status) status = bind_outputs(loader, caller, node, scope, file_index);
    if (!status) status = tort_declare_outputs(loader, scope, message, FUNCTION_NODE);
    if (!status) status = tort_load_nodes(loader, scope, message, FUNCTION_NODE, file_index);
    return status;
}

static tort_status expand_call(tort_loader *loader, tort_scope *caller, tort_function_call *call,
                               const tort_node_proto *node, int32_t file_index) {
    tort_scope scope = {.call = call, .graph = caller->graph};
    tort_names_init(&scope.names, loader->env);
    const tort_function *function = call->function;
    tort_status status =
        charge(loader, function->cost + (function->name_count + 1) * (strlen(call->prefix) + NAME_COST));
    if (!status) status = bind_attributes(loader, caller, node, call);
    if (!status) status = expand(loader, caller, node, &scope, file_index);
    tort_scope_free(loader, &scope);
    return status;
}

tort_status tort_expand_call(tort_loader *loader, tort_scope *caller, tort_function *function,
                             const tort_node_proto *node, size_t index, int32_t file_index) {
    if (function->active)
        return tort_fail(loader->error, TORT_E_MODEL, "function \"%.150s\" calls itself", function->name);
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
