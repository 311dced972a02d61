/* constants.c - the contents of values that never change (weights, results of folding): where units read them, and the
 * bytes that they take of each memory.
 *
 * The bytes counted here are those that prepare.c allocates. They are known as soon as nodes are placed, so a plan can
 * be reported without reading a weight. Kernels are known by their rows only. Read next: prepare.c. */
#include "runtime/core/lowered/lowered.h"
#include "runtime/core/graph/weights.h"
#include "runtime/core/lowered/bodies.h"
#include "runtime/core/lowered/constants.h"

/* Computes the contents when the first holder acquires them; the last release frees them. Its source is held only
 * meanwhile. */
static tort_status make_derived(const tort_session *session, tort_constant *constant, tort_error *error) {
    const void *source;
    constant->derived = tort_alloc_aligned(&session->env, constant->bytes);
    if (!constant->derived) return tort_out_of_memory(error, constant->bytes);
    tort_status status = tort_constant_acquire(session, constant->source, &source, error);
    if (!status) {
        constant->derive(constant->derive_arg, source, constant->derived);
        tort_constant_release(session, constant->source);
        return TORT_OK;
    }
    tort_free_aligned(&session->env, constant->derived, constant->bytes);
    constant->derived = NULL;
    return status;
}

tort_status tort_constant_acquire(const tort_session *session, int32_t index, const void **data, tort_error *error) {
    tort_constant *constant = &session->constants[index];
    if (constant->weight >= 0) return tort_weight_acquire(session->model, constant->weight, data, error);
    tort_status status = TORT_OK;
    if (constant->derive && constant->holds == 0) status = make_derived(session, constant, error);
    if (status) return status;
    constant->holds++;
    *data = constant->derive ? constant->derived : constant->folded;
    return TORT_OK;
}

void tort_constant_release(const tort_session *session, int32_t index) {
    tort_constant *constant = &session->constants[index];
    if (constant->weight >= 0) {
        tort_weight_release(session->model, constant->weight);
        return;
    }
    if (--constant->holds > 0 || !constant->derived) return;
    tort_free_aligned(&session->env, constant->derived, constant->bytes);
    constant->derived = NULL;
}

static tort_status hold_small(tort_lowered *lowered, int32_t value, size_t limit, tort_error *error) {
    tort_session *session = lowered->session;
    const int32_t index = lowered->constant_of[value];
    if (index < 0 || lowered->infos[value].data) return TORT_OK;
    tort_constant *constant = &session->constants[index];
    if (constant->weight < 0 || constant->bytes > limit) return TORT_OK;
    if (session->model->weights[constant->weight].encoding == TORT_ENCODING_LEFT_OUT) return TORT_OK;
    if (!constant->held) {
        tort_status status = tort_constant_acquire(session, index, &constant->host, error);
        if (status) return status;
        constant->held = true;
    }
    lowered->infos[value].data = constant->host;
    return TORT_OK;
}

static tort_status hold_inputs(tort_lowered *lowered, int32_t index, tort_error *error) {
    const tort_node *node = &lowered->graph.nodes[index];
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < node->input_count; i++)
        if (node->inputs[i] >= 0) status = hold_small(lowered, node->inputs[i], tort_weight_limit(node, i), error);
    return status;
}

/* True if plans look at the contents of the node's inputs. */
static bool is_looked_at(const tort_lowered *lowered, int32_t index) {
    const tort_unit *unit = &lowered->units[index];
    const bool resolved = !unit->folded && (unit->provider != TORT_AT_FUSED || unit->segment);
    if (lowered->max && lowered->rule_use[index] == TORT_RULE_AFRESH) return true; /* no run may load a weight */
    return lowered->rule_use[index] == TORT_RULE_ALWAYS || resolved;
}

/* Inference and resolve look at small weights for each plan, so these stay in memory from the first plan on. */
tort_status tort_hold_small_weights(tort_session *session, tort_error *error) {
    tort_status status = TORT_OK;
    for (int32_t g = 0; g < session->graph_count; g++) {
        tort_lowered *lowered = &session->graphs[g];
        for (int32_t n = 0; !status && lowered->lowered && n < lowered->graph.node_count; n++)
            if (is_looked_at(lowered, n)) status = hold_inputs(lowered, n, error);
    }
    return status;
}

/* ---- where units read them --------------------------------------------------------------------------------------- */

tort_reads tort_constant_reads(const tort_lowered *lowered, int32_t index, int32_t input) {
    const tort_unit *unit = &lowered->units[index];
    const tort_node *node = tort_unit_node(lowered, index);
    const uint32_t bit = input < 32 ? 1u << input : 0;
    tort_reads reads = {false, 0};
    if (unit->provider < TORT_AT_HOST || node->inputs[input] < 0) return reads;
    if (!tort_is_constant(lowered, node->inputs[input]) || (unit->consumed & bit)) return reads;
    const int32_t memory = tort_operand_memory(lowered, index, input);
    reads.host = memory == 0 || (node->op->shape_inputs & bit);
    reads.memory = memory > 0 ? memory : 0;
    return reads;
}

/* ---- bytes of each memory ---------------------------------------------------------------------------------------- */

typedef struct counter {
    tort_session *session;
    uint8_t *seen; /* by constant * memory_count + memory: already counted */
} counter;

size_t tort_constant_bytes(const tort_constant *constant) {
    return constant->folded || constant->derived ? tort_aligned_bytes(constant->bytes) : 0;
}

/* Bytes that a constant takes of a memory; 0 if it was counted already, or is read where the model holds it. */
static uint64_t bytes_in(const counter *c, int32_t index, int32_t memory) {
    const tort_constant *constant = &c->session->constants[index];
    uint8_t *seen = &c->seen[(size_t)index * (size_t)c->session->memory_count + (size_t)memory];
    size_t aligned;
    if (*seen) return 0;
    *seen = 1;
    if (memory) return tort_align_size(constant->bytes, TORT_DEVICE_ALIGN, &aligned) ? aligned : SIZE_MAX;
    if (constant->derive) return tort_aligned_bytes(constant->bytes);
    if (constant->weight < 0) return tort_constant_bytes(constant);
    return tort_weight_home_bytes(c->session->model, constant->weight);
}

static void count_inputs(const counter *c, const tort_lowered *lowered, int32_t index) {
    const tort_node *node = tort_unit_node(lowered, index);
    uint64_t *bytes = c->session->constant_bytes;
    for (int32_t i = 0; i < node->input_count; i++) {
        const tort_reads reads = tort_constant_reads(lowered, index, i);
        const int32_t constant = node->inputs[i] < 0 ? -1 : lowered->constant_of[node->inputs[i]];
        if (reads.host) bytes[0] += bytes_in(c, constant, 0);
        if (reads.memory) bytes[reads.memory] += bytes_in(c, constant, reads.memory);
    }
}

static void count_outputs(const counter *c, const tort_lowered *lowered) {
    for (int32_t i = 0; i < lowered->graph.output_count; i++) {
        const int32_t value = lowered->graph.outputs[i], memory = lowered->output_memory[i];
        if (tort_is_constant(lowered, value))
            c->session->constant_bytes[memory] += bytes_in(c, lowered->constant_of[value], memory);
    }
}

/* Small weights and small results of folding are kept even if no unit reads them. */
static void count_small(const counter *c) {
    for (int32_t i = 0; i < c->session->constant_count; i++) {
        const tort_constant *constant = &c->session->constants[i];
        if (constant->held || (constant->folded && constant->bytes <= TORT_SMALL_CONSTANT))
            c->session->constant_bytes[0] += bytes_in(c, i, 0);
    }
}

static void count_packed(tort_session *session, const tort_unit *unit) {
    const int32_t memory = unit->provider < 0 ? 0 : session->chain[unit->provider].memory;
    if (!unit->packed_bytes || unit->mapped || unit->twin) return;
    if (memory)
        session->weight_bytes[memory] += unit->packed_bytes;
    else if (!tort_add_size(session->packed_bytes, tort_packed_place(unit->packed_bytes), &session->packed_bytes))
        session->packed_bytes = SIZE_MAX;
}

static void count_all(const counter *c) {
    tort_session *session = c->session;
    for (int32_t g = 0; g < session->graph_count; g++) {
        const tort_lowered *lowered = &session->graphs[g];
        if (!lowered->lowered) continue;
        for (int32_t i = 0; i < lowered->graph.node_count; i++) count_inputs(c, lowered, i);
        count_outputs(c, lowered);
        for (int32_t i = 0; i < lowered->graph.node_count; i++) count_packed(session, &lowered->units[i]);
    }
    count_small(c);
    if (session->packed_bytes) session->weight_bytes[0] += tort_aligned_bytes(session->packed_bytes);
    for (int32_t m = 0; m < session->memory_count; m++) session->weight_bytes[m] += session->constant_bytes[m];
}

tort_status tort_count_weights(tort_session *session, tort_error *error) {
    const size_t memories = (size_t)session->memory_count, entries = (size_t)session->constant_count * memories + 1;
    session->weight_bytes = tort_arena_array(&session->arena, memories, sizeof *session->weight_bytes);
    session->constant_bytes = tort_arena_array(&session->arena, memories, sizeof *session->constant_bytes);
    counter c = {.session = session, .seen = tort_alloc_zero(&session->env, entries, 1)};
    const bool there = c.seen && session->weight_bytes && session->constant_bytes;
    if (there) count_all(&c);
    tort_free(&session->env, c.seen, entries);
    return there ? TORT_OK : tort_out_of_memory(error, entries);
}

size_t tort_packed_place(size_t bytes) {
    size_t place;
    return tort_align_size(bytes, TORT_HOST_ALIGN, &place) ? place : SIZE_MAX;
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

uint64_t tort_room_for_values(const tort_session *session, int32_t memory) {
    const tort_link *link = session->memories[memory].owner;
    if (!link || !link->target.memory) return UINT64_MAX;
    const uint64_t weights = link->target.values_only ? 0 : session->weight_bytes[memory];
    return weights < link->target.memory ? link->target.memory - weights : 0;
}

/* Tells the whole need in one error, before a memory is filled weight by weight. */
tort_status tort_check_weights(const tort_session *session, tort_error *error) {
    for (int32_t m = 0; m < session->memory_count; m++) {
        const tort_link *link = session->memories[m].owner;
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
