/* prepare.c - the part of opening a session that needs the devices: packs weights, and puts constants
 * where they are read.
 *
 * Constants that some kernel reads unpacked stay in host memory, or are uploaded once to a device. This file must not
 * decide where a node runs. Read next: pack.c, run.c. */
#include "runtime/core/lowered/lowered.h"
#include "runtime/core/lowered/constants.h"
#include "runtime/core/passes/passes.h"
#include "runtime/core/providers/chain.h"
#include "runtime/core/providers/link.h"

/* ---- constants --------------------------------------------------------------------------------------------------- */

static tort_status keep_on_host(tort_session *session, int32_t index, tort_error *error) {
    tort_constant *constant = &session->constants[index];
    if (constant->host) return TORT_OK;
    tort_status status = tort_constant_acquire(session, index, &constant->host, error);
    constant->held = !status;
    return status;
}

static tort_status copy_weight(const tort_constant *constant, const tort_link *link, void *place, const void *data,
                               tort_error *error) {
    if (!constant->bytes) return TORT_OK;
    tort_status status = tort_link_copy(link, NULL, place, data, constant->bytes, TORT_TO_DEVICE, error);
    if (!status) return TORT_OK;
    tort_error_prefix(error, "weight \"%s\"", constant->name);
    return tort_link_failed(link, status, error);
}

/* Takes the next place in the block of all constants that a device reads. */
static tort_status take_place(tort_session *session, int32_t memory, size_t bytes, void **place, tort_error *error) {
    tort_upload *block = &session->uploads[memory];
    size_t aligned, end;
    if (!block->base) {
        void *base;
        tort_status status = tort_chain_alloc(session, &session->env, memory, (size_t)session->constant_bytes[memory],
                                              "weights", &base, error);
        if (status) return status;
        *block = (tort_upload){.base = base, .bytes = (size_t)session->constant_bytes[memory]};
    }
    if (!tort_align_size(bytes, TORT_DEVICE_ALIGN, &aligned) || !tort_add_size(block->used, aligned, &end) ||
        end > block->bytes)
        return tort_fail(error, TORT_E_INTERNAL, "more constants to upload than were counted");
    *place = block->base + block->used;
    block->used = end;
    return TORT_OK;
}

static tort_status upload(tort_session *session, int32_t index, int32_t memory, tort_error *error) {
    tort_constant *constant = &session->constants[index];
    const void *data = NULL;
    if (!constant->device)
        constant->device = tort_arena_array(&session->arena, (size_t)session->memory_count, sizeof(void *));
    if (!constant->device) return tort_out_of_memory(error, 0);
    if (constant->device[memory]) return TORT_OK;
    void *place = NULL;
    tort_status status = take_place(session, memory, constant->bytes, &place, error);
    if (!status) status = tort_constant_acquire(session, index, &data, error);
    if (status) return status;
    status = copy_weight(constant, session->memories[memory].owner, place, data, error);
    constant->device[memory] = place;
    tort_constant_release(session, index);
    return status;
}

static tort_status keep_inputs(tort_lowered *lowered, int32_t index, tort_error *error) {
    tort_session *session = lowered->session;
    const tort_node *node = tort_unit_node(lowered, index);
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < node->input_count; i++) {
        const tort_reads reads = tort_constant_reads(lowered, index, i);
        const int32_t constant = node->inputs[i] < 0 ? -1 : lowered->constant_of[node->inputs[i]];
        if (reads.host) status = keep_on_host(session, constant, error);
        if (!status && reads.memory) status = upload(session, constant, reads.memory, error);
    }
    return status;
}

static tort_status keep_outputs(tort_lowered *lowered, tort_error *error) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < lowered->graph.output_count; i++) {
        const int32_t value = lowered->graph.outputs[i], memory = lowered->output_memory[i];
        if (!tort_is_constant(lowered, value)) continue;
        const int32_t constant = lowered->constant_of[value];
        status = memory ? upload(lowered->session, constant, memory, error)
                        : keep_on_host(lowered->session, constant, error);
    }
    return status;
}

/* Frees folded contents that no kernel reads in host memory any more. */
static void drop_unread(tort_session *session) {
    for (int32_t i = 0; i < session->constant_count; i++) {
        tort_constant *constant = &session->constants[i];
        if (!constant->folded || constant->held || constant->bytes <= TORT_SMALL_CONSTANT) continue;
        tort_free_aligned(&session->env, constant->folded, constant->bytes);
        constant->folded = NULL;
    }
    for (int32_t g = 0; g < session->graph_count; g++) {
        tort_lowered *lowered = &session->graphs[g];
        for (int32_t v = 0; v < lowered->graph.value_count; v++) {
            const int32_t constant = lowered->constant_of[v];
            if (constant >= 0 && lowered->weights[v] < 0) lowered->infos[v].data = session->constants[constant].folded;
        }
    }
}

static tort_status prepare_graph(tort_lowered *lowered, tort_error *error) {
    tort_status status = tort_pack_units(lowered, error);
    for (int32_t i = 0; !status && i < lowered->graph.node_count; i++) status = keep_inputs(lowered, i, error);
    return status ? status : keep_outputs(lowered, error);
}

static bool has_packed(const tort_session *session, int32_t memory) {
    for (int32_t g = 0; g < session->graph_count; g++)
        for (int32_t i = 0; session->graphs[g].lowered && i < session->graphs[g].graph.node_count; i++) {
            const tort_unit *unit = &session->graphs[g].units[i];
            if (unit->packed && session->chain[unit->provider].memory == memory) return true;
        }
    return false;
}

/* Waits for weights on their way to a device, once for all of them. */
static tort_status wait_for_uploads(tort_session *session, tort_error *error) {
    tort_status status = TORT_OK;
    for (int32_t m = 1; !status && m < session->memory_count; m++) {
        const tort_link *link = session->memories[m].owner;
        if (!session->uploads[m].base && !has_packed(session, m)) continue;
        status = tort_link_sync(link, NULL, error);
        if (status) tort_link_failed(link, status, error);
    }
    return status;
}

tort_status tort_prepare_all(tort_session *session, tort_error *error) {
    session->uploads = tort_arena_array(&session->arena, (size_t)session->memory_count, sizeof *session->uploads);
    tort_status status = session->uploads ? tort_pack_open(session, error) : tort_out_of_memory(error, 0);
    for (int32_t g = 0; !status && g < session->graph_count; g++)
        if (session->graphs[g].lowered) status = prepare_graph(&session->graphs[g], error);
    if (!status) status = wait_for_uploads(session, error);
    if (!status) tort_share_places(session);
    if (!status) drop_unread(session);
    session->prepared = !status;
    return status;
}

/* ---- closing a session ------------------------------------------------------------------------------------------- */

void tort_release_prepared(const tort_session *session, tort_unit *unit) {
    if (!unit->prepared) return;
    const tort_link *link = &session->chain[unit->provider];
    const int32_t before = tort_link_enter(link);
    if (unit->kernel->release) unit->kernel->release(link->device, &session->env, unit->prepared);
    tort_link_leave(link, before);
    unit->prepared = NULL;
}

static void release_unit(tort_session *session, tort_unit *unit) {
    if (!unit->prepared && !unit->packed) return;
    const tort_link *link = &session->chain[unit->provider];
    tort_release_prepared(session, unit);
    if (unit->packed && link->memory && !unit->twin)
        tort_chain_free(session, &session->env, link->memory, unit->packed, unit->packed_bytes);
    unit->packed = NULL;
}

void tort_release_all(tort_session *session) {
    for (int32_t g = 0; g < session->graph_count; g++) {
        tort_lowered *lowered = &session->graphs[g];
        for (int32_t i = 0; lowered->units && i < lowered->graph.node_count; i++)
            release_unit(session, &lowered->units[i]);
    }
    tort_free_aligned(&session->env, session->packed, session->packed_bytes);
    for (int32_t i = 0; i < session->constant_count; i++) {
        tort_constant *constant = &session->constants[i];
        if (constant->held) tort_constant_release(session, i);
        if (constant->folded) tort_free_aligned(&session->env, constant->folded, constant->bytes);
    }
    for (int32_t m = 1; session->uploads && m < session->memory_count; m++)
        if (session->uploads[m].base)
            tort_chain_free(session, &session->env, m, session->uploads[m].base, session->uploads[m].bytes);
}
