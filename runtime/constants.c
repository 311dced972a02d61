/* constants.c - the contents of values that never change: a weight of the model, or what folding made of it. */
#include "runtime/session_state.h"

tort_status tort_constant_acquire(const tort_session *session, int32_t value, const void **data, tort_error *error) {
    if (session->weights[value] >= 0) return tort_weight_acquire(session->model, session->weights[value], data, error);
    *data = session->constants[value].folded;
    return TORT_OK;
}

void tort_constant_release(const tort_session *session, int32_t value) {
    if (session->weights[value] >= 0) tort_weight_release(session->model, session->weights[value]);
}

static uint64_t add_read(const tort_session *session, int32_t index, uint8_t *seen) {
    const tort_node *node = &session->graph->nodes[index];
    const tort_placement *placement = &session->placements[index];
    const bool device = session->chain[placement->provider].memory != 0;
    uint64_t bytes = 0;
    for (int32_t i = 0; i < node->input_count; i++) {
        const int32_t value = node->inputs[i];
        const bool on_host = device && i < 32 && placement->kernel->host_inputs >> i & 1;
        if (value < 0 || seen[value] || on_host || !tort_is_constant(session, value)) continue;
        seen[value] = 1;
        bytes += session->constants[value].bytes;
    }
    return bytes;
}

tort_status tort_constants_read(const tort_session *session, int32_t link, uint64_t *bytes, tort_error *error) {
    const size_t values = (size_t)session->graph->value_count + 1;
    uint8_t *seen = tort_alloc_zero(&session->env, values, 1);
    *bytes = 0;
    if (!seen) return tort_out_of_memory(error, values);
    for (int32_t n = 0; n < session->graph->node_count; n++)
        if (session->placements[n].provider == link) *bytes += add_read(session, n, seen);
    tort_free(&session->env, seen, values);
    return TORT_OK;
}
