/* bind.c - inputs and outputs that stay in the memory of a provider (option bindings): names, checks of pointers, and
 * memory for applications.
 *
 * Plans are made for these memories, so a bound value costs no copy, and a run decides nothing. This file must not know
 * what a device is: it asks the provider. Read next: plan.c, run.c. */
#include <stdint.h>
#include <string.h>

#include "runtime/core/run/context.h"
#include "runtime/core/providers/chain.h"
#include "runtime/core/providers/link.h"
#include "runtime/core/run/bind.h"

/* ---- names ------------------------------------------------------------------------------------------------------- */

static tort_status usable_link(const tort_session *session, const char *name, tort_link **link, tort_error *error) {
    *link = tort_link_named(session, name);
    if (!*link)
        return tort_fail(error, TORT_E_USAGE, "provider %s is not in the chain %s", name, session->options.chain);
    if ((*link)->opened || (*link)->described) return TORT_OK;
    return tort_link_down(*link, error);
}

/* ---- bindings ---------------------------------------------------------------------------------------------------- */

static bool can_leave_host(const tort_info *info) {
    return info->kind == TORT_TENSOR && info->type != TORT_STRING;
}

/* Binds the ports of that name, or all ports for "*"; *met counts them. */
static tort_status bind_named(const tort_session *session, const char *name, size_t length, int32_t memory,
                              const int32_t *values, int32_t count, int32_t *memories, int32_t *met,
                              tort_error *error) {
    const bool all = length == 1 && *name == '*';
    for (int32_t i = 0; i < count; i++) {
        const tort_graph_value *value = &tort_main_graph(session)->graph.values[values[i]];
        if (!all && (strlen(value->name) != length || memcmp(value->name, name, length))) continue;
        ++*met;
        if (memory && !can_leave_host(&tort_main_graph(session)->infos[values[i]])) {
            if (all) continue;
            return tort_fail(error, TORT_E_USAGE, "binding \"%s\": strings, sequences and maps stay in host memory",
                             value->name);
        }
        memories[i] = memory;
    }
    return TORT_OK;
}

static tort_status bind_one(tort_session *session, const char *binding, tort_error *error) {
    tort_lowered *lowered = tort_main_graph(session);
    const tort_graph *graph = &lowered->graph;
    const char *equals = strrchr(binding, '=');
    if (!equals) return tort_fail(error, TORT_E_USAGE, "binding \"%s\" is not of the form NAME=PROVIDER", binding);
    tort_link *link;
    int32_t met = 0;
    size_t length = (size_t)(equals - binding);
    tort_status status = usable_link(session, equals + 1, &link, error);
    if (status) {
        tort_error_prefix(error, "binding \"%s\"", binding);
        return status;
    }
    status = bind_named(session, binding, length, link->memory, graph->inputs, graph->input_count,
                        lowered->input_memory, &met, error);
    if (!status)
        status = bind_named(session, binding, length, link->memory, graph->outputs, graph->output_count,
                            lowered->output_memory, &met, error);
    if (!status && !met)
        status = tort_fail(error, TORT_E_USAGE,
                           "binding \"%s\": the model has no input or output \"%.*s\" (tinyort inspect lists them)",
                           binding, (int)length, binding);
    return status;
}

tort_status tort_bind_ports(tort_session *session, tort_error *error) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < session->options.binding_count; i++)
        status = bind_one(session, session->options.bindings[i], error);
    return status;
}

static const char *memory_name(const tort_session *session, int32_t memory) {
    return memory ? session->memories[memory].owner->config.provider : NULL;
}

const char *tort_session_input_memory(const tort_session *session, int32_t index) {
    if (!session || index < 0 || index >= tort_main_graph(session)->graph.input_count) return NULL;
    return memory_name(session, tort_main_graph(session)->input_memory[index]);
}

const char *tort_session_output_memory(const tort_session *session, int32_t index) {
    if (!session || index < 0 || index >= tort_main_graph(session)->graph.output_count) return NULL;
    return memory_name(session, tort_main_graph(session)->output_memory[index]);
}

/* ---- pointers ---------------------------------------------------------------------------------------------------- */

/* Kernels need alignment: 16 bytes on a device, as its libraries do; on the host the size of an element, up to 8. */
static tort_status check_alignment(const char *role, const char *name, int32_t memory, tort_type type, const void *data,
                                   tort_error *error) {
    const unsigned element = (unsigned)tort_type_bits(type) / 8;
    const unsigned align = memory ? TORT_DEVICE_PART_ALIGN : element > 8 ? 8 : element > 1 ? element : 1;
    if ((uintptr_t)data % align == 0) return TORT_OK;
    return tort_fail(error, TORT_E_INPUT, "the data of %s \"%s\" is at an address that is not a multiple of %u%s", role,
                     name, align,
                     memory ? ": give the start of an allocation, or a part at a multiple of 16 bytes" : "");
}

/* A pointer for bound memory must be reachable by that device, one for host memory by the host,
 * where providers can tell. */
static tort_status check_pointer(const tort_session *session, const char *role, int32_t value, int32_t memory,
                                 const void *data, tort_error *error) {
    const tort_lowered *lowered = tort_main_graph(session);
    const char *name = lowered->graph.values[value].name;
    if (!data) return TORT_OK;
    tort_status status = check_alignment(role, name, memory, lowered->infos[value].type, data, error);
    if (status) return status;
    for (int32_t i = 0; i < session->chain_count; i++) {
        const tort_link *link = &session->chain[i];
        if (memory && link->memory != memory) continue;
        const uint32_t reach = tort_link_reach(link, data);
        if (reach & (memory ? TORT_REACH_DEVICE : TORT_REACH_HOST)) continue;
        if (memory)
            return tort_fail(error, TORT_E_INPUT,
                             "%s \"%s\" is bound to %s, but its data is not in memory that this device reaches", role,
                             name, link->provider->name);
        return tort_fail(error, TORT_E_INPUT,
                         "the data of %s \"%s\" is device memory: bind it, \"%s=%s\", or give host memory", role, name,
                         name, link->provider->name);
    }
    return TORT_OK;
}

/* A pointer that passed in the last run is not checked again. */
static tort_status check_port(const tort_session *session, bool output, int32_t port, const void *data,
                              const void **seen, tort_error *error) {
    const tort_lowered *lowered = tort_main_graph(session);
    const int32_t value = output ? lowered->graph.outputs[port] : lowered->graph.inputs[port],
                  memory = output ? lowered->output_memory[port] : lowered->input_memory[port];
    if (data == *seen) return TORT_OK;
    *seen = NULL;
    const tort_status status = check_pointer(session, output ? "output" : "input", value, memory, data, error);
    if (status) return status;
    *seen = data;
    return TORT_OK;
}

tort_status tort_check_pointers(const tort_session *session, const tort_tensor *inputs, const tort_tensor *outputs,
                                const void **seen, tort_error *error) {
    const tort_graph *graph = &tort_main_graph(session)->graph;
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < graph->input_count; i++)
        status = check_port(session, false, i, inputs[i].data, &seen[i], error);
    for (int32_t i = 0; !status && i < graph->output_count; i++)
        status = check_port(session, true, i, outputs[i].data, &seen[graph->input_count + i], error);
    return status;
}

static tort_status check_unbound(const tort_session *session, const char *role, const int32_t *values,
                                 const int32_t *memories, int32_t count, tort_error *error) {
    for (int32_t i = 0; i < count; i++)
        if (memories[i])
            return tort_fail(error, TORT_E_USAGE,
                             "%s \"%s\" is bound to %s, and values are in host memory: make a session without the "
                             "binding",
                             role, tort_main_graph(session)->graph.values[values[i]].name,
                             memory_name(session, memories[i]));
    return TORT_OK;
}

tort_status tort_check_unbound(const tort_session *session, tort_error *error) {
    const tort_lowered *lowered = tort_main_graph(session);
    const tort_graph *graph = &lowered->graph;
    tort_status status =
        check_unbound(session, "input", graph->inputs, lowered->input_memory, graph->input_count, error);
    if (status) return status;
    return check_unbound(session, "output", graph->outputs, lowered->output_memory, graph->output_count, error);
}

/* ---- memory for applications ------------------------------------------------------------------------------------- */

tort_status tort_memory_alloc(tort_session *session, const char *provider, size_t bytes, void **memory,
                              tort_error *error) {
    tort_link *link;
    if (memory) *memory = NULL;
    if (!session || !provider || !memory)
        return tort_fail(error, TORT_E_USAGE,
                         "tort_memory_alloc needs a session, a provider and a place for the memory");
    if (error) *error = (tort_error){.node = -1};
    if (session->lost) return tort_session_lost(error);
    tort_status status = usable_link(session, provider, &link, error);
    if (status) return status;
    if (!link->opened) return tort_fail(error, TORT_E_USAGE, "%s is only planned for, it was not opened", provider);
    return tort_chain_alloc(session, &session->env, link->memory, bytes, "a buffer of the application", memory, error);
}

void tort_memory_free(tort_session *session, const char *provider, void *memory, size_t bytes) {
    const tort_link *link = session && provider ? tort_link_named(session, provider) : NULL;
    if (link && memory) tort_chain_free(session, &session->env, link->memory, memory, bytes);
}

tort_status tort_memory_copy(tort_context *context, const char *provider, void *to, const void *from, size_t bytes,
                             tort_direction direction, tort_error *error) {
    if (!context || !provider || (bytes && (!to || !from)))
        return tort_fail(error, TORT_E_USAGE, "tort_memory_copy needs a context, a provider, and memory on both sides");
    if ((unsigned)direction > TORT_ON_DEVICE)
        return tort_fail(error, TORT_E_USAGE, "%d is no tort_direction", (int)direction);
    tort_session *session = context->session;
    tort_link *link;
    if (error) *error = (tort_error){.node = -1};
    if (session->lost) return tort_session_lost(error);
    tort_status status = usable_link(session, provider, &link, error);
    if (status || !bytes) return status;
    if (!link->memory) {
        memcpy(to, from, bytes);
        return TORT_OK;
    }
    void *stream = context->streams[link->memory];
    status = tort_link_copy(link, stream, to, from, bytes, direction, error);
    if (!status) status = tort_link_sync(link, stream, error);
    return status ? tort_link_failed(link, status, error) : TORT_OK;
}
