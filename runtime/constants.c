/* constants.c - the contents of values that never change: a weight of the model, or what folding made of it; where
 * nodes read them, and what all of them take of each memory.
 *
 * What is counted here is what prepare.c allocates, and it is known as soon as nodes are placed: so a plan tells it
 * without a weight being read. It must not know kernels but by what their rows say. Read next: prepare.c. */
#include "runtime/session_state.h"
#include "runtime/weights.h"

tort_status tort_constant_acquire(const tort_session *session, int32_t value, const void **data, tort_error *error) {
    if (session->weights[value] >= 0) return tort_weight_acquire(session->model, session->weights[value], data, error);
    *data = session->constants[value].folded;
    return TORT_OK;
}

void tort_constant_release(const tort_session *session, int32_t value) {
    if (session->weights[value] >= 0) tort_weight_release(session->model, session->weights[value]);
}

/* Inference looks at small weights for each plan, so they stay in memory from the first one on. */
tort_status tort_hold_small_weights(tort_session *session, tort_error *error) {
    const tort_graph *graph = session->graph;
    tort_status status = TORT_OK;
    for (int32_t n = 0; !status && n < graph->node_count; n++) {
        if (session->placements[n].folded) continue;
        for (int32_t i = 0; !status && i < graph->nodes[n].input_count; i++) {
            const int32_t value = graph->nodes[n].inputs[i];
            tort_constant *constant = value >= 0 ? &session->constants[value] : NULL;
            if (!constant || session->weights[value] < 0 || constant->held || constant->bytes > TORT_SMALL_WEIGHT)
                continue;
            status = tort_constant_acquire(session, value, &constant->host, error);
            constant->held = !status;
            session->infos[value].data = constant->host;
        }
    }
    return status;
}

/* ---- where nodes read them --------------------------------------------------------------------------------------- */

tort_reads tort_constant_reads(const tort_session *session, int32_t index, int32_t input) {
    const tort_placement *placement = &session->placements[index];
    const tort_node *node = &session->graph->nodes[index];
    const uint32_t bit = input < 32 ? 1u << input : 0;
    tort_reads reads = {false, 0};
    if (placement->provider < TORT_AT_HOST || node->inputs[input] < 0) return reads;
    if (!tort_is_constant(session, node->inputs[input]) || (placement->consumed & bit)) return reads;
    const int32_t memory = placement->provider < 0 ? 0 : session->chain[placement->provider].memory;
    const bool on_host = !memory || (placement->kernel->host_inputs & bit);
    reads.host = on_host || (node->op->shape_inputs & bit);
    reads.memory = on_host ? 0 : memory;
    return reads;
}

/* ---- what they take ---------------------------------------------------------------------------------------------- */

typedef struct counter {
    const tort_session *session;
    uint8_t *values;  /* value * memory_count + memory: counted */
    uint8_t *weights; /* of the model, in host memory: counted; several values can be one weight */
} counter;

size_t tort_folded_bytes(const tort_constant *constant) {
    return constant->folded ? tort_aligned_bytes(constant->bytes) : 0;
}

/* Bytes that a constant takes of a memory: 0 where it was counted already, or is where the model has it. */
static uint64_t count_constant(const counter *c, int32_t value, int32_t memory) {
    const tort_session *session = c->session;
    uint8_t *seen = &c->values[(size_t)value * (size_t)session->memory_count + (size_t)memory];
    const int32_t weight = session->weights[value];
    if (*seen) return 0;
    *seen = 1;
    const size_t bytes = session->constants[value].bytes;
    size_t aligned;
    if (memory) return tort_align_size(bytes, TORT_DEVICE_ALIGN, &aligned) ? aligned : SIZE_MAX;
    if (weight < 0) return tort_folded_bytes(&session->constants[value]);
    if (c->weights[weight]) return 0;
    c->weights[weight] = 1;
    return tort_weight_home_bytes(session->model, weight);
}

static void count_inputs(const counter *c, int32_t index, uint64_t *constants) {
    const tort_node *node = &c->session->graph->nodes[index];
    for (int32_t i = 0; i < node->input_count; i++) {
        const tort_reads reads = tort_constant_reads(c->session, index, i);
        if (reads.host) constants[0] += count_constant(c, node->inputs[i], 0);
        if (reads.memory) constants[reads.memory] += count_constant(c, node->inputs[i], reads.memory);
    }
}

/* What is kept whoever reads it: small weights, and small results of folding. */
static void count_small(const counter *c, uint64_t *constants) {
    for (int32_t v = 0; v < c->session->graph->value_count; v++) {
        const tort_constant *constant = &c->session->constants[v];
        if (constant->held || (constant->folded && constant->bytes <= TORT_SMALL_CONSTANT))
            constants[0] += count_constant(c, v, 0);
    }
}

static void count_all(const counter *c) {
    const tort_session *session = c->session;
    const tort_graph *graph = session->graph;
    for (int32_t i = 0; i < graph->node_count; i++) count_inputs(c, i, session->constant_bytes);
    for (int32_t i = 0; i < graph->output_count; i++) {
        if (!tort_is_constant(session, graph->outputs[i])) continue;
        const int32_t memory = session->output_memory[i];
        session->constant_bytes[memory] += count_constant(c, graph->outputs[i], memory);
    }
    count_small(c, session->constant_bytes);
    for (int32_t m = 0; m < session->memory_count; m++) session->weight_bytes[m] = session->constant_bytes[m];
    for (int32_t i = 0; i < graph->node_count; i++) {
        const tort_placement *placement = &session->placements[i];
        const int32_t memory = placement->provider < 0 ? 0 : session->chain[placement->provider].memory;
        if (placement->packed_bytes)
            session->weight_bytes[memory] +=
                memory ? placement->packed_bytes : tort_aligned_bytes(placement->packed_bytes);
    }
}

tort_status tort_count_weights(tort_session *session, tort_error *error) {
    const size_t memories = (size_t)session->memory_count;
    const size_t values = (size_t)session->graph->value_count * memories + 1;
    const size_t weights = (size_t)session->model->weight_count + 1;
    session->weight_bytes = tort_arena_array(&session->arena, memories, sizeof *session->weight_bytes);
    session->constant_bytes = tort_arena_array(&session->arena, memories, sizeof *session->constant_bytes);
    counter c = {.session = session,
                 .values = tort_alloc_zero(&session->env, values, 1),
                 .weights = tort_alloc_zero(&session->env, weights, 1)};
    const bool there = c.values && c.weights && session->weight_bytes && session->constant_bytes;
    if (there) count_all(&c);
    tort_free(&session->env, c.values, values);
    tort_free(&session->env, c.weights, weights);
    return there ? TORT_OK : tort_out_of_memory(error, values);
}

/* ---- against what there is --------------------------------------------------------------------------------------- */

const tort_link *tort_memory_owner(const tort_session *session, int32_t memory) {
    if (memory) return &session->chain[memory - 1];
    for (int32_t i = 0; i < session->chain_count; i++)
        if (!session->chain[i].memory && session->chain[i].condition.ready) return &session->chain[i];
    return NULL;
}

uint64_t tort_room_for_values(const tort_session *session, int32_t memory) {
    const tort_link *link = tort_memory_owner(session, memory);
    if (!link || !link->target.memory) return UINT64_MAX;
    const uint64_t weights = link->target.values_only ? 0 : session->weight_bytes[memory];
    return weights < link->target.memory ? link->target.memory - weights : 0;
}

/* One error with all that is needed, before a memory is filled weight by weight. */
tort_status tort_check_weights(const tort_session *session, tort_error *error) {
    for (int32_t m = 0; m < session->memory_count; m++) {
        const tort_link *link = tort_memory_owner(session, m);
        if (!link || !link->target.memory || link->target.values_only) continue;
        if (session->weight_bytes[m] <= link->target.memory) continue;
        tort_fail(error, TORT_E_MEMORY,
                  "%s needs %llu bytes for weights alone, but may use %llu: raise mem_limit, or pin nodes to another "
                  "provider",
                  link->provider->name, (unsigned long long)session->weight_bytes[m],
                  (unsigned long long)link->target.memory);
        if (error) error->provider = link->provider->name;
        return TORT_E_MEMORY;
    }
    return TORT_OK;
}
