/* outputs.c - where a run's outputs go: straight into the caller's buffers wherever that is safe, else into memory of
 * the context, and what of that the caller gets.
 *
 * Every output has bytes of its own in the plan (tort_slot.output), so a buffer of the caller takes the place of just
 * one slot. A buffer that is also an input must not be written before all have read it: it is filled at the end. It
 * must not know kernels. Read next: run.c. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "runtime/context.h"

static const char *output_name(const tort_context *context, int32_t port) {
    return context->session->graph->values[context->session->graph->outputs[port]].name;
}

static bool same_shape(const tort_tensor *a, const tort_tensor *b) {
    return a->type == b->type && a->rank == b->rank &&
           !memcmp(a->dims, b->dims, (size_t)(a->rank > 0 ? a->rank : 0) * sizeof *a->dims);
}

/* "float 2x3"; into buffer, which is returned. */
static const char *form_text(const tort_tensor *tensor, char *buffer, size_t size) {
    size_t used = (size_t)snprintf(buffer, size, "%s ", tort_type_name(tensor->type));
    if (tensor->rank == 0) snprintf(buffer + used, size - used, "scalar");
    for (int32_t d = 0; d < tensor->rank && d < TORT_MAX_RANK && used < size; d++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%lld", d ? "x" : "", (long long)tensor->dims[d]);
    return buffer;
}

static tort_status wrong_buffer(const tort_context *context, int32_t port, const tort_tensor *given,
                                const tort_tensor *wanted, tort_error *error) {
    char have[200], want[200];
    return tort_fail(error, TORT_E_INPUT, "the buffer for output %d \"%s\" is %s, the output is %s", port,
                     output_name(context, port), form_text(given, have, sizeof have),
                     form_text(wanted, want, sizeof want));
}

/* ---- before the run ---------------------------------------------------------------------------------------------- */

static bool overlap(const tort_tensor *a, const tort_tensor *b) {
    size_t a_bytes, b_bytes;
    if (!a->data || !b->data || !tort_tensor_bytes(a, &a_bytes) || !tort_tensor_bytes(b, &b_bytes)) return false;
    const uintptr_t x = (uintptr_t)a->data, y = (uintptr_t)b->data;
    return a_bytes && b_bytes && x < y + b_bytes && y < x + a_bytes;
}

static bool is_an_input(const tort_context *context, const tort_tensor *inputs, const tort_tensor *output,
                        int32_t port) {
    const tort_session *session = context->session;
    for (int32_t i = 0; i < session->graph->input_count; i++)
        if (session->input_memory[i] == session->output_memory[port] && overlap(output, &inputs[i])) return true;
    return false;
}

static tort_status check_apart(const tort_context *context, const tort_tensor *outputs, int32_t port,
                               tort_error *error) {
    const tort_session *session = context->session;
    for (int32_t i = 0; i < port; i++)
        if (session->output_memory[i] == session->output_memory[port] && overlap(&outputs[i], &outputs[port]))
            return tort_fail(error, TORT_E_INPUT, "the buffers for outputs %d \"%s\" and %d \"%s\" share bytes", i,
                             output_name(context, i), port, output_name(context, port));
    return TORT_OK;
}

static const tort_slot *root_of(const tort_plan *plan, int32_t slot) {
    while (plan->slots[slot].home == TORT_HOME_ALIAS) slot = plan->slots[slot].source;
    return &plan->slots[slot];
}

tort_status tort_outputs_bind(tort_context *context, const tort_tensor *inputs, const tort_tensor *outputs,
                              tort_error *error) {
    const tort_plan *plan = &context->planned->plan;
    context->outputs = outputs;
    for (int32_t i = 0; i < plan->output_count; i++) {
        const tort_slot *slot = &plan->slots[plan->output_slots[i]], *root = root_of(plan, plan->output_slots[i]);
        context->direct[i] = false;
        if (!outputs[i].data) continue;
        const tort_tensor *planned = &context->tensors[plan->output_slots[i]];
        if (slot->bytes >= 0 && !same_shape(planned, &outputs[i]))
            return wrong_buffer(context, i, &outputs[i], planned, error);
        tort_status status = check_apart(context, outputs, i, error);
        if (status) return status;
        context->direct[i] = root->output == i && !is_an_input(context, inputs, &outputs[i], i);
        if (context->direct[i] && root->home == TORT_HOME_ARENA)
            context->tensors[root - plan->slots].data = outputs[i].data;
    }
    return TORT_OK;
}

void *tort_outputs_place(const tort_context *context, int32_t slot, size_t bytes) {
    const int32_t port = context->planned->plan.slots[slot].output;
    size_t given;
    if (port < 0 || !context->direct[port] || !tort_tensor_bytes(&context->outputs[port], &given) || given != bytes)
        return NULL;
    return context->outputs[port].data;
}

/* ---- after the run ----------------------------------------------------------------------------------------------- */

/* Copies on a device end with the run. */
tort_status tort_outputs_fill(tort_context *context, const tort_tensor *outputs, tort_error *error) {
    const tort_plan *plan = &context->planned->plan;
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < plan->output_count; i++) {
        const tort_tensor *tensor = &context->tensors[plan->output_slots[i]];
        const int32_t memory = plan->slots[plan->output_slots[i]].memory;
        size_t bytes;
        if (!outputs[i].data) continue;
        if (!same_shape(tensor, &outputs[i]) || !tort_tensor_bytes(tensor, &bytes))
            return wrong_buffer(context, i, &outputs[i], tensor, error);
        if (outputs[i].data == tensor->data || !bytes) continue;
        if (!memory) {
            memcpy(outputs[i].data, tensor->data, bytes);
            continue;
        }
        const tort_link *link = &context->session->chain[memory - 1];
        status = tort_link_copy(link, context->streams[memory - 1], outputs[i].data, tensor->data, bytes,
                                TORT_ON_DEVICE, error);
        if (status) tort_link_failed(link, status, error);
    }
    return status;
}

void tort_outputs_lend(const tort_context *context, tort_tensor *outputs) {
    const tort_plan *plan = &context->planned->plan;
    for (int32_t i = 0; i < plan->output_count; i++)
        if (!outputs[i].data) outputs[i] = context->tensors[plan->output_slots[i]];
}
