/* bodies.c - bodies of control flow while planning: shape inference through them, and the memories of their ports.
 *
 * A body is inferred from the infos of its node's inputs, in infos that live for that call only. This file must not
 * know what an operator does: tort_trips says all. Read next: ops/control_flow.c, call.c. */
#include <string.h>

#include "runtime/core/base/build.h"
#include "runtime/core/lowered/lowered.h"
#include "runtime/core/lowered/bodies.h"

/* ---- counts ------------------------------------------------------------------------------------------------------ */

int32_t tort_body_inputs(const tort_node_view *node, int32_t body) {
    return node->model->graphs[body].input_count - node->captured;
}

int32_t tort_body_outputs(const tort_node_view *node, int32_t body) {
    return node->model->graphs[body].output_count;
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

/* The info of an input inside the body; of a declared rank, 0 is not taken (store_output). Contents only if it is
 * constant: others differ from trip to trip. */
static tort_info entering(const tort_info *given, const tort_info *declared, tort_dims *dims) {
    tort_info info = *given;
    if (!info.constant) {
        info.elements = NULL;
        info.element_count = 0;
        info.data = NULL;
    }
    if (info.rank >= 0 || declared->rank <= 0 || info.kind != TORT_TENSOR || declared->kind != TORT_TENSOR) return info;
    info.rank = declared->rank;
    for (int32_t d = 0; d < info.rank; d++) info.dims[d] = tort_dim_fresh(dims, true);
    return info;
}

static void enter_body(const tort_infer *infer, const tort_graph *graph, tort_info *infos, const tort_info *inputs,
                       int32_t count) {
    const tort_node_view *node = infer->node;
    const tort_info *captured = node->inputs + (node->input_count - node->captured);
    for (int32_t i = 0; i < graph->input_count; i++) {
        tort_info *info = &infos[graph->inputs[i]];
        *info = entering(i < count ? &inputs[i] : &captured[i - count], info, infer->dims);
    }
}

static tort_status infer_nodes(tort_pass *pass, tort_error *error) {
    tort_status status = TORT_OK;
    int64_t *budget = pass->budget;
    for (int32_t i = 0; !status && i<pass->graph->node_count && * budget> 0; i++, --*budget)
        status = tort_pass_infer(pass, i, error);
    return status;
}

static tort_status infer_in(const tort_infer *infer, const tort_body *body, tort_info *infos, tort_info *outputs) {
    const tort_pass *outer = infer->pass;
    const tort_graph *graph = body->graph;
    tort_pass pass;
    tort_status status = tort_pass_init(&pass, outer->model, graph, infos, infer->dims, infer->arena, infer->error);
    if (status) return status;
    pass.weights = body->weights;
    pass.bodies = outer->bodies;
    pass.budget = outer->budget;
    pass.typed = outer->typed && outer->bodies;
    status = infer_nodes(&pass, infer->error);
    tort_pass_free(&pass);
    for (int32_t i = 0; !status && i < graph->output_count; i++) {
        outputs[i] = infos[graph->outputs[i]];
        outputs[i].elements = NULL;
        outputs[i].element_count = 0;
        outputs[i].data = NULL;
        outputs[i].constant = false;
    }
    return status;
}

/* Reports the infos with which a body is entered to the pass's callback. */
static tort_status tell_entered(const tort_infer *infer, int32_t body, const tort_graph *graph,
                                const tort_info *infos) {
    const tort_pass *pass = infer->pass;
    const size_t bytes = ((size_t)graph->input_count + 1) * sizeof(tort_info);
    tort_info *inputs = tort_alloc(&pass->model->env, bytes);
    if (!inputs) return tort_out_of_memory(infer->error, bytes);
    for (int32_t i = 0; i < graph->input_count; i++) inputs[i] = infos[graph->inputs[i]];
    pass->entered(pass->entered_ud, body, inputs);
    tort_free(&pass->model->env, inputs, bytes);
    return TORT_OK;
}

tort_status tort_infer_body(const tort_infer *infer, int32_t index, const tort_info *inputs, int32_t count,
                            tort_info *outputs) {
    const tort_pass *pass = infer->pass;
    if (!pass) return tort_fail(infer->error, TORT_E_INTERNAL, "a body cannot be inferred while running");
    const tort_body as_loaded = {.graph = &pass->model->graphs[index]};
    const tort_body *body = pass->bodies ? &pass->bodies[index] : &as_loaded;
    const tort_graph *graph = body->graph;
    if (body->refused && infer->error) *infer->error = *body->refused;
    if (body->refused) return body->refused->code;
    if (count + infer->node->captured != graph->input_count)
        return tort_fail(infer->error, TORT_E_MODEL, "body \"%s\" has %d inputs, the node gives %d", graph->path,
                         (int)(graph->input_count - infer->node->captured), (int)count);
    const size_t values = (size_t)graph->value_count + 1;
    tort_info *infos = tort_alloc(&pass->model->env, values * sizeof *infos);
    if (!infos) return tort_out_of_memory(infer->error, values * sizeof *infos);
    for (int32_t v = 0; v < graph->value_count; v++) infos[v] = body->infos ? body->infos[v] : graph->values[v].info;
    enter_body(infer, graph, infos, inputs, count);
    tort_status status = pass->entered ? tell_entered(infer, index, graph, infos) : TORT_OK;
    if (!status) status = infer_in(infer, body, infos, outputs);
    tort_free(&pass->model->env, infos, values * sizeof *infos);
    return status;
}

bool tort_body_passes(const tort_infer *infer, int32_t body, int32_t input, int32_t output) {
    const tort_pass *pass = infer->pass;
    const tort_graph *graph = pass->bodies ? pass->bodies[body].graph : &pass->model->graphs[body];
    return graph->inputs[input] == graph->outputs[output];
}

void tort_infer_refuses(const tort_infer *infer, int32_t body, const tort_error *error) {
    if (infer->pass->refused) infer->pass->refused(infer->pass->entered_ud, body, error);
}

/* ---- memories ---------------------------------------------------------------------------------------------------- */

const tort_trips *tort_unit_trips(const tort_lowered *lowered, int32_t index) {
    const tort_op *op = lowered->graph.nodes[index].op;
    const bool runs = lowered->units[index].provider == TORT_AT_HOST;
    return runs && op && op->flags & TORT_OP_CONTROL ? lowered->units[index].params : NULL;
}

/* One of the bodies of the trips; NULL: there is none, or it never runs. */
static tort_lowered *body_of(const tort_lowered *lowered, const tort_trips *trips, int32_t which) {
    const int32_t body = trips->body[which];
    tort_lowered *found = body >= 0 ? &lowered->session->graphs[body] : NULL;
    return found && found->lowered ? found : NULL;
}

/* The input of the bodies that input i of the node becomes; -1: none, as it only controls the trips (limit, condition).
 */
static int32_t port_of_input(const tort_node *node, const tort_trips *t, int32_t i) {
    const int32_t counted = t->counted ? 2 : 0, carried = t->carries ? t->results : 0;
    const int32_t own = node->input_count - node->captured;
    if (i >= own) return counted + carried + t->scanned + i - own;
    if (t->carries && i >= t->carried_first && i < t->carried_first + carried) return counted + i - t->carried_first;
    if (t->scanned && i >= t->scanned_first && i < t->scanned_first + t->scanned)
        return counted + carried + i - t->scanned_first;
    return -1;
}

/* True if the body reads the input at all. */
static bool port_is_read(const tort_lowered *body, int32_t port) {
    return tort_value_is_read(&body->graph.values[body->graph.inputs[port]]);
}

int32_t tort_operand_memory(const tort_lowered *lowered, int32_t index, int32_t input) {
    const tort_unit *unit = &lowered->units[index];
    const tort_node *node = &lowered->graph.nodes[index];
    const tort_trips *trips = tort_unit_trips(lowered, index);
    if (!trips) {
        if (unit->provider < 0) return 0;
        const bool on_host = input < 32 && (unit->kernel->host_inputs >> input & 1);
        return on_host ? 0 : lowered->session->chain[unit->provider].memory;
    }
    const int32_t port = port_of_input(node, trips, input);
    if (port < 0) return 0;
    const bool captured = input >= node->input_count - node->captured;
    for (int32_t b = 0; b < TORT_BODIES; b++) {
        const tort_lowered *body = body_of(lowered, trips, b);
        if (!body) continue;
        const bool settled = tort_is_constant(body, body->graph.inputs[port]);
        if (!captured || (port_is_read(body, port) && !settled)) return body->input_memory[port];
    }
    return -1;
}

int32_t tort_result_memory(const tort_lowered *lowered, int32_t index, int32_t output) {
    const tort_trips *trips = tort_unit_trips(lowered, index);
    for (int32_t b = 0; trips && b < TORT_BODIES; b++) {
        const tort_lowered *body = body_of(lowered, trips, b);
        if (body) return body->output_memory[output + (trips->asks ? 1 : 0)];
    }
    return 0;
}

static bool may_leave_host(const tort_info *info) {
    return info->kind == TORT_TENSOR && info->type != TORT_STRING;
}

/* at[value]: the memory in which the value is made or first read; -1: not seen yet. */
static void follow_unit(const tort_lowered *lowered, int32_t index, int32_t *at) {
    const tort_node *node = tort_unit_node(lowered, index);
    const tort_unit *unit = &lowered->units[index];
    if (unit->provider < TORT_AT_HOST) return;
    const tort_trips *trips = tort_unit_trips(lowered, index);
    const bool alias = unit->provider == TORT_AT_HOST && !trips && (node->op->flags & TORT_OP_ALIAS);
    for (int32_t i = 0; i < node->input_count && !alias; i++) {
        const int32_t value = node->inputs[i], memory = value < 0 ? -1 : tort_operand_memory(lowered, index, i);
        if (memory >= 0 && at[value] < 0) at[value] = memory;
    }
    for (int32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] < 0) continue;
        at[node->outputs[i]] = alias                ? at[node->inputs[0]]
                               : trips              ? tort_result_memory(lowered, index, i)
                               : unit->provider < 0 ? 0
                                                    : lowered->session->chain[unit->provider].memory;
    }
}

static int32_t memory_at(const tort_lowered *lowered, const int32_t *at, int32_t value) {
    return at[value] > 0 && may_leave_host(&lowered->infos[value]) ? at[value] : 0;
}

/* Binds each port to the memory where the body's own units make or read it, to save copies. */
static void prefer(tort_lowered *body, int32_t *at) {
    const tort_graph *graph = &body->graph;
    for (int32_t v = 0; v < graph->value_count; v++) at[v] = -1;
    for (int32_t i = 0; i < graph->node_count; i++) follow_unit(body, tort_unit_in_order(body, i), at);
    for (int32_t i = 0; i < graph->input_count; i++) body->input_memory[i] = memory_at(body, at, graph->inputs[i]);
    for (int32_t i = 0; i < graph->output_count; i++) body->output_memory[i] = memory_at(body, at, graph->outputs[i]);
}

static int64_t listed(const tort_trips *t, tort_list list, int32_t i) {
    return i < list.count ? ((const int64_t *)tort_list_at(t, list))[i] : 0;
}

/* Ports that the executor itself fills or slices (counters, conditions, batches, sequences, slices along an axis other
 * than 0) must be in host memory. A carried output must be where the next trip's input is. */
static void adjust(const tort_trips *t, tort_lowered *body) {
    const int32_t counted = t->counted ? 2 : 0, asks = t->asks ? 1 : 0, carried = t->carries ? t->results : 0;
    for (int32_t i = 0; i < counted; i++) body->input_memory[i] = 0;
    if (asks) body->output_memory[0] = 0;
    for (int32_t i = 0; t->batched && i < carried; i++) body->input_memory[counted + i] = 0;
    for (int32_t i = 0; i < t->scanned; i++)
        if (t->batched || t->sequences || listed(t, t->input_axes, i)) body->input_memory[counted + carried + i] = 0;
    for (int32_t i = 0; i < t->stacked; i++)
        if (t->batched || t->sequences || listed(t, t->output_axes, i)) body->output_memory[asks + t->results + i] = 0;
    for (int32_t i = 0; i < carried; i++) {
        body->output_memory[asks + i] = body->input_memory[counted + i];
        body->passed[asks + i] = body->graph.outputs[asks + i] == body->graph.inputs[counted + i];
    }
}

static tort_status bind_graph(const tort_lowered *lowered, tort_error *error);

static tort_status bind_body(tort_lowered *body, const tort_trips *trips, tort_error *error) {
    const tort_env *env = &body->session->env;
    tort_status status = bind_graph(body, error);
    if (status) return status;
    const size_t values = (size_t)body->graph.value_count + 1;
    int32_t *at = tort_alloc(env, values * sizeof *at);
    if (!at) return tort_out_of_memory(error, values * sizeof *at);
    prefer(body, at);
    adjust(trips, body);
    tort_free(env, at, values * sizeof *at);
    return TORT_OK;
}

/* Both branches of an If must agree on the memories of their ports: the node has one set of operands. */
static void agree(const tort_lowered *first, tort_lowered *second) {
    for (int32_t i = 0; i < second->graph.input_count; i++) second->input_memory[i] = first->input_memory[i];
    for (int32_t i = 0; i < second->graph.output_count; i++) second->output_memory[i] = first->output_memory[i];
}

tort_status tort_bind_trips(const tort_lowered *lowered, const tort_trips *trips, tort_error *error) {
    tort_lowered *first = body_of(lowered, trips, 0), *second = body_of(lowered, trips, 1);
    tort_status status = first ? bind_body(first, trips, error) : TORT_OK;
    if (!status && second) status = bind_body(second, trips, error);
    if (!status && first && second) agree(first, second);
    return status;
}

/* Innermost bodies first: the memories of their ports decide where the graph around them has its values. */
static tort_status bind_graph(const tort_lowered *lowered, tort_error *error) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < lowered->graph.node_count; i++) {
        const tort_trips *trips = tort_unit_trips(lowered, i);
        if (trips && !tort_build.calls)
            status = tort_fail(error, TORT_E_PLACEMENT, "this build has no operators with bodies");
        else if (trips)
            status = tort_build.calls->bind(lowered, trips, error);
    }
    return status;
}

tort_status tort_bind_bodies(tort_session *session, tort_error *error) {
    return bind_graph(tort_main_graph(session), error);
}
