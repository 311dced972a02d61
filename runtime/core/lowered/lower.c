/* lower.c - the session's own graphs: a copy of each graph of the model, which passes change without touching the
 * model.
 *
 * Names, attributes and operand lists, which never change, are shared with the model. This file must not know what
 * passes do. Read next: fold.c. */
#include <string.h>

#include "runtime/core/lowered/lowered.h"

static bool allocate_tables(tort_lowered *lowered) {
    tort_arena *arena = &lowered->session->arena;
    const tort_graph *graph = &lowered->graph;
    lowered->units = tort_arena_array(arena, (size_t)graph->node_count + 1, sizeof *lowered->units);
    lowered->input_memory = tort_arena_array(arena, (size_t)graph->input_count + 1, sizeof(int32_t));
    lowered->output_memory = tort_arena_array(arena, (size_t)graph->output_count + 1, sizeof(int32_t));
    lowered->passed = tort_arena_array(arena, (size_t)graph->output_count + 1, sizeof *lowered->passed);
    return lowered->units && lowered->input_memory && lowered->output_memory && lowered->passed;
}

/* Grows all arrays that are indexed by value to `count` entries; graph.value_capacity is the capacity of each. */
static bool reserve_values(tort_lowered *lowered, int32_t count) {
    const tort_env *env = &lowered->session->env;
    tort_graph *graph = &lowered->graph;
    const struct {
        void **array;
        size_t size;
    } arrays[] = {{(void **)&graph->values, sizeof *graph->values},
                  {(void **)&lowered->infos, sizeof *lowered->infos},
                  {(void **)&lowered->constant_of, sizeof *lowered->constant_of},
                  {(void **)&lowered->weights, sizeof *lowered->weights}};
    enum { ARRAYS = sizeof arrays / sizeof *arrays };
    void *grown[ARRAYS];
    const int32_t old = graph->value_capacity;
    if (count <= old) return true;
    for (int32_t i = 0; i < ARRAYS; i++) {
        grown[i] = tort_alloc_zero(env, (size_t)count, arrays[i].size);
        if (grown[i]) continue;
        while (i-- > 0) tort_free(env, grown[i], (size_t)count * arrays[i].size);
        return false;
    }
    for (int32_t i = 0; i < ARRAYS; i++) {
        if (old) memcpy(grown[i], *arrays[i].array, (size_t)graph->value_count * arrays[i].size);
        if (old) tort_free(env, *arrays[i].array, (size_t)old * arrays[i].size);
        *arrays[i].array = grown[i];
    }
    graph->value_capacity = count;
    tort_body *body = &lowered->session->bodies[lowered - lowered->session->graphs];
    *body = (tort_body){graph, lowered->infos, lowered->weights, body->refused}; /* the arrays have moved */
    return true;
}

static void free_values(tort_lowered *lowered) {
    const size_t room = (size_t)lowered->graph.value_capacity;
    if (!room) return; /* also true for a graph whose session is not set yet */
    const tort_env *env = &lowered->session->env;
    tort_free(env, lowered->graph.values, room * sizeof *lowered->graph.values);
    tort_free(env, lowered->infos, room * sizeof *lowered->infos);
    tort_free(env, lowered->constant_of, room * sizeof *lowered->constant_of);
    tort_free(env, lowered->weights, room * sizeof *lowered->weights);
}

/* Nodes and values are copied, so that a pass may change them. */
static bool copy_graph(tort_lowered *lowered, const tort_graph *model) {
    tort_arena *arena = &lowered->session->arena;
    tort_graph *graph = &lowered->graph;
    *graph = *model;
    graph->node_capacity = graph->value_capacity = 0;
    graph->nodes = tort_arena_array(arena, (size_t)model->node_count + 1, sizeof *graph->nodes);
    graph->outputs = tort_arena_array(arena, (size_t)model->output_count + 1, sizeof *graph->outputs);
    if (!graph->nodes || !graph->outputs || !reserve_values(lowered, model->value_count + 1)) return false;
    if (model->node_count) memcpy(graph->nodes, model->nodes, (size_t)model->node_count * sizeof *graph->nodes);
    if (model->value_count) memcpy(graph->values, model->values, (size_t)model->value_count * sizeof *graph->values);
    if (model->output_count) memcpy(graph->outputs, model->outputs, (size_t)model->output_count * sizeof(int32_t));
    return allocate_tables(lowered);
}

/* The input of which the value is an alias of the same shape (Identity); -1: it is no such alias. */
static int32_t alias_of(const tort_graph *graph, int32_t value) {
    const int32_t producer = graph->values[value].producer;
    if (producer < 0) return -1;
    const tort_node *node = &graph->nodes[producer];
    return node->op && node->op->flags & TORT_OP_SAME ? node->inputs[0] : -1;
}

/* Exporters put an Identity between an input of a loop's body and the output that hands it to the next trip. Skipping
 * it makes the output the input itself, so that it is seen to be unchanged. */
static void skip_aliases(tort_graph *body) {
    for (int32_t i = 0; i < body->output_count; i++) {
        int32_t value = body->outputs[i];
        for (int32_t next = value; next >= 0; next = alias_of(body, value)) value = next;
        if (!body->values[value].is_input) continue;
        body->outputs[i] = value;
        body->values[value].is_output = true;
    }
}

/* Makes one constant for each weight of the model that some value is. of[weight]: its constant, -1 for none yet. */
static bool take_weights(tort_lowered *lowered, int32_t *of) {
    tort_session *session = lowered->session;
    for (int32_t v = 0; v < lowered->graph.value_count; v++) {
        const tort_graph_value *value = &lowered->graph.values[v];
        lowered->infos[v] = value->info;
        lowered->weights[v] = lowered->constant_of[v] = -1;
        if (value->weight < 0) continue;
        if (of[value->weight] >= 0) { /* another value of the same weight */
            lowered->weights[v] = value->weight;
            lowered->constant_of[v] = of[value->weight];
            tort_lowered_tell(lowered, v);
            continue;
        }
        if (!tort_lowered_settle(lowered, v, value->weight, NULL, session->model->weights[value->weight].bytes))
            return false;
        of[value->weight] = lowered->constant_of[v];
    }
    return true;
}

/* Looks for the one byte of a list of 8-bit numbers, whatever its length: a zero point for each of thousands of filters
 * says as little as one. What cannot be read is an error where it is used. False: out of memory. */
static bool find_byte(const tort_session *session, const tort_info *info, tort_constant *constant) {
    const void *data = constant->folded;
    const int32_t weight = data ? -1 : constant->weight;
    tort_status status = TORT_OK;
    if ((info->type != TORT_INT8 && info->type != TORT_UINT8) || info->rank > 1 || !constant->bytes) return true;
    if (weight >= 0 && session->model->weights[weight].encoding == TORT_ENCODING_LEFT_OUT) return true;
    if (weight >= 0) status = tort_weight_acquire(session->model, weight, &data, NULL);
    if (status || !data) return status != TORT_E_MEMORY;
    const uint8_t *bytes = data;
    constant->uniform = !memcmp(bytes, bytes + 1, constant->bytes - 1);
    constant->byte = *bytes;
    if (weight >= 0) tort_weight_release(session->model, weight);
    return true;
}

void tort_lowered_tell(tort_lowered *lowered, int32_t value) {
    const tort_constant *constant = &lowered->session->constants[lowered->constant_of[value]];
    tort_info *info = &lowered->infos[value];
    info->constant = true;
    info->data = constant->folded;
    info->uniform = constant->uniform;
    info->byte = constant->byte;
}

bool tort_lowered_settle(tort_lowered *lowered, int32_t value, int32_t weight, void *folded, size_t bytes) {
    tort_session *session = lowered->session;
    tort_constant made = {
        .name = lowered->graph.values[value].name, .weight = weight, .folded = folded, .bytes = bytes, .source = -1};
    if (!find_byte(session, &lowered->infos[value], &made) ||
        !tort_grow(&session->env, (void **)&session->constants, &session->constant_capacity,
                   session->constant_count + 1, sizeof *session->constants)) {
        if (folded) tort_free_aligned(&session->env, folded, bytes);
        return false;
    }
    session->constants[session->constant_count] = made;
    lowered->constant_of[value] = session->constant_count++;
    lowered->weights[value] = weight;
    tort_lowered_tell(lowered, value);
    return true;
}

bool tort_lowered_reserve(tort_lowered *lowered, int32_t more) {
    const int32_t room = lowered->graph.value_capacity, wanted = lowered->graph.value_count + more;
    const int32_t grown = room + room / 4 + 16;
    return wanted <= room || reserve_values(lowered, wanted > grown ? wanted : grown);
}

int32_t tort_lowered_add_value(tort_lowered *lowered, const char *name, const tort_info *info) {
    tort_graph *graph = &lowered->graph;
    const int32_t index = graph->value_count;
    if (index == INT32_MAX / 2 || !tort_lowered_reserve(lowered, 1)) return -1;
    graph->values[index] = (tort_graph_value){.name = name, .info = *info, .producer = -1, .weight = -1};
    lowered->infos[index] = *info;
    lowered->constant_of[index] = lowered->weights[index] = -1;
    return graph->value_count++;
}

bool tort_lowered_derive(tort_lowered *lowered, int32_t value, int32_t source, tort_derive *derive, const void *arg,
                         size_t bytes) {
    if (!tort_lowered_settle(lowered, value, -1, NULL, bytes)) return false;
    tort_constant *constant = &lowered->session->constants[lowered->constant_of[value]];
    constant->source = lowered->constant_of[source];
    constant->derive = derive;
    constant->derive_arg = arg;
    return true;
}

void tort_lowered_drop_values(tort_lowered *lowered, int32_t value_count, int32_t constant_count) {
    tort_session *session = lowered->session;
    while (session->constant_count > constant_count) {
        tort_constant *constant = &session->constants[--session->constant_count];
        if (constant->folded) tort_free_aligned(&session->env, constant->folded, constant->bytes);
    }
    lowered->graph.value_count = value_count;
}

static bool lower_all(tort_session *session, int32_t *of) {
    for (int32_t i = 0; i < session->model->weight_count; i++) of[i] = -1;
    for (int32_t g = 0; g < session->graph_count; g++) session->graphs[g].session = session;
    for (int32_t g = 0; g < session->graph_count; g++) {
        tort_lowered *lowered = &session->graphs[g];
        if (!copy_graph(lowered, &session->model->graphs[g]) || !take_weights(lowered, of)) return false;
        if (g > 0) skip_aliases(&lowered->graph);
    }
    session->graphs[0].lowered = true;
    return true;
}

tort_status tort_lower(tort_session *session, tort_error *error) {
    const size_t weights = (size_t)session->model->weight_count + 1;
    const size_t graphs = (size_t)session->model->graph_count;
    int32_t *of = tort_alloc_zero(&session->env, weights, sizeof *of);
    session->graphs = tort_arena_array(&session->arena, graphs, sizeof *session->graphs);
    session->bodies = tort_arena_array(&session->arena, graphs, sizeof *session->bodies);
    session->graph_count = session->graphs && session->bodies ? session->model->graph_count : 0;
    const bool done = of && session->graph_count && lower_all(session, of);
    tort_free(&session->env, of, weights * sizeof *of);
    return done ? TORT_OK : tort_out_of_memory(error, weights * sizeof *of);
}

void tort_lowered_free(tort_session *session) {
    for (int32_t g = 0; g < session->graph_count; g++) free_values(&session->graphs[g]);
    tort_free(&session->env, session->constants, (size_t)session->constant_capacity * sizeof *session->constants);
}

tort_status tort_lowered_pass(const tort_lowered *lowered, tort_pass *pass, tort_info *infos, tort_dims *dims,
                              tort_arena *arena, tort_error *error) {
    tort_status status = tort_pass_init(pass, lowered->session->model, &lowered->graph, infos, dims, arena, error);
    pass->weights = lowered->weights;
    pass->bodies = lowered->session->bodies;
    return status;
}

tort_status tort_session_in_time(tort_session *session, tort_error *error) {
    if (tort_watch_goes_on(&session->watch, 0)) return TORT_OK;
    return tort_watch_fail(&session->watch, "making the session", session->options.time_limit, error);
}
