/* outputs.c - brings outputs to the caller: written straight into the caller's buffer if that is safe, else into memory
 * of the context, and copied or lent from there.
 *
 * Every output owns its bytes in the plan (tort_slot.output), so a buffer replaces exactly one slot. A buffer that
 * overlaps an input must not be written before all have read the input: it is filled at the end, unless the last step
 * that reads the input is the one that writes the output, and may do both in one buffer (a cache). This file must not
 * know kernels. Read next: run.c. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/run/context.h"
#include "runtime/core/providers/link.h"

static const char *output_name(const tort_frame *frame, int32_t port) {
    return frame->lowered->graph.values[frame->lowered->graph.outputs[port]].name;
}

/* Writes "float 2x3" into the buffer, and returns it. */
static const char *form_text(const tort_tensor *tensor, char *buffer, size_t size) {
    size_t used = (size_t)snprintf(buffer, size, "%s ", tort_type_name(tensor->type));
    if (tensor->rank == 0) snprintf(buffer + used, size - used, "scalar");
    for (int32_t d = 0; d < tensor->rank && d < TORT_MAX_RANK && used < size; d++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%lld", d ? "x" : "", (long long)tensor->dims[d]);
    return buffer;
}

/* Bytes of the caller's buffer for an output; TORT_NO_CAPACITY: exactly those of its shape. */
static size_t capacity_of(const tort_frame *frame, int32_t port) {
    const tort_context *context = frame->context;
    return frame == context->frames && context->capacities ? context->capacities[port] : TORT_NO_CAPACITY;
}

/* Computes the bytes of the caller's buffer. False: its shape is invalid. */
static bool buffer_bytes(const tort_frame *frame, int32_t port, const tort_tensor *given, size_t *bytes) {
    *bytes = capacity_of(frame, port);
    return *bytes != TORT_NO_CAPACITY || tort_tensor_bytes(given, bytes);
}

static tort_status wrong_buffer(const tort_frame *frame, int32_t port, const tort_tensor *given,
                                const tort_tensor *wanted, tort_error *error) {
    char have[200], want[200];
    return tort_fail(error, TORT_E_INPUT, "the buffer for output %d \"%s\" is %s, the output is %s", port,
                     output_name(frame, port), form_text(given, have, sizeof have),
                     form_text(wanted, want, sizeof want));
}

/* Checks that the caller's buffer fits the actual output. */
static tort_status check_buffer(const tort_frame *frame, int32_t port, const tort_tensor *given,
                                const tort_tensor *wanted, tort_error *error) {
    const size_t capacity = capacity_of(frame, port);
    size_t bytes = 0;
    char want[200];
    if (capacity == TORT_NO_CAPACITY && (wanted->type != given->type || !tort_same_shape(wanted, given)))
        return wrong_buffer(frame, port, given, wanted, error);
    if (capacity == TORT_NO_CAPACITY || (tort_tensor_bytes(wanted, &bytes) && bytes <= capacity)) return TORT_OK;
    frame->context->too_small = true;
    return tort_fail(error, TORT_E_INPUT, "the buffer for output %d \"%s\" has %zu bytes, the output, %s, takes %zu",
                     port, output_name(frame, port), capacity, form_text(wanted, want, sizeof want), bytes);
}

/* ---- before the run ---------------------------------------------------------------------------------------------- */

static int compare_buffers(const void *a, const void *b) {
    const tort_buffer *x = a, *y = b;
    if (x->memory != y->memory) return x->memory < y->memory ? -1 : 1;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (x->port > y->port) - (x->port < y->port);
}

/* Adds the byte range of a caller's tensor; port as in tort_buffer. */
static void add_buffer(tort_frame *frame, int32_t *count, const tort_tensor *tensor, int32_t memory, int32_t port) {
    size_t bytes;
    if (!tensor->data) return;
    if (port < 0 ? !tort_tensor_bytes(tensor, &bytes) : !buffer_bytes(frame, port, tensor, &bytes)) return;
    if (!bytes) return;
    const uintptr_t begin = (uintptr_t)tensor->data;
    frame->buffers[(*count)++] = (tort_buffer){begin, begin + bytes, memory, port};
}

static tort_status shared_bytes(const tort_frame *frame, int32_t a, int32_t b, tort_error *error) {
    return tort_fail(error, TORT_E_INPUT, "the buffers for outputs %d \"%s\" and %d \"%s\" share bytes", a,
                     output_name(frame, a), b, output_name(frame, b));
}

/* True if the input's buffer is that of an output whose step may write it: the range of the output stands for both. */
static bool is_extended(const tort_frame *frame, const tort_tensor *inputs, int32_t input, const tort_tensor *outputs) {
    for (int32_t i = 0; i < frame->lowered->graph.output_count; i++)
        if (inputs[input].data && inputs[input].data == outputs[i].data)
            return frame->lowered->input_memory[input] == frame->lowered->output_memory[i] &&
                   tort_plan_extends(frame->planned, input, i);
    return false;
}

/* Outputs must not overlap each other; an output that overlaps an input is not written directly. Sweeps over the ranges
 * by begin: a range overlaps an earlier one that ends behind its begin. */
static tort_status check_buffers(tort_frame *frame, const tort_tensor *inputs, const tort_tensor *outputs,
                                 tort_error *error) {
    const tort_lowered *lowered = frame->lowered;
    int32_t count = 0;
    for (int32_t i = 0; i < lowered->graph.output_count; i++)
        add_buffer(frame, &count, &outputs[i], lowered->output_memory[i], i);
    if (!count) return TORT_OK;
    for (int32_t i = 0; i < lowered->graph.input_count; i++)
        if (!is_extended(frame, inputs, i, outputs))
            add_buffer(frame, &count, &inputs[i], lowered->input_memory[i], -1 - i);
    qsort(frame->buffers, (size_t)count, sizeof *frame->buffers, compare_buffers);
    const tort_buffer *output = NULL; /* the last output; earlier ones end before it begins */
    uintptr_t input_end = 0;          /* maximum end of the inputs so far */
    for (int32_t i = 0; i < count; i++) {
        const tort_buffer *buffer = &frame->buffers[i];
        if (i && buffer->memory != frame->buffers[i - 1].memory) output = NULL, input_end = 0;
        const bool meets_output = output && output->end > buffer->begin;
        if (buffer->port < 0) {
            if (meets_output) frame->direct[output->port] = false;
            if (buffer->end > input_end) input_end = buffer->end;
            continue;
        }
        if (meets_output) return shared_bytes(frame, output->port, buffer->port, error);
        if (input_end > buffer->begin) frame->direct[buffer->port] = false;
        output = buffer;
    }
    return TORT_OK;
}

tort_status tort_outputs_bind(tort_frame *frame, const tort_tensor *inputs, const tort_tensor *outputs,
                              tort_error *error) {
    const tort_plan *plan = &frame->planned->plan;
    frame->outputs = outputs;
    for (int32_t i = 0; i < plan->output_count; i++) {
        const tort_tensor *planned = &frame->tensors[plan->output_slots[i]];
        const bool known = plan->slots[plan->output_slots[i]].bytes >= 0;
        frame->direct[i] = outputs[i].data != NULL;
        if (!outputs[i].data || !known) continue;
        tort_status status = check_buffer(frame, i, &outputs[i], planned, error);
        if (status) return status;
    }
    tort_status status = check_buffers(frame, inputs, outputs, error);
    for (int32_t i = 0; !status && i < plan->output_count; i++) {
        const tort_slot *root = &plan->slots[tort_plan_owner(plan, plan->output_slots[i])];
        if (frame->direct[i] && root->home == TORT_HOME_ARENA)
            frame->tensors[root - plan->slots].data = outputs[i].data;
    }
    return status;
}

void *tort_outputs_place(const tort_frame *frame, int32_t slot, size_t bytes) {
    const int32_t port = frame->planned->plan.slots[slot].output;
    size_t given;
    if (port < 0 || !frame->direct[port] || !buffer_bytes(frame, port, &frame->outputs[port], &given)) return NULL;
    const bool fits = capacity_of(frame, port) == TORT_NO_CAPACITY ? given == bytes : given >= bytes;
    return fits ? frame->outputs[port].data : NULL;
}

/* ---- after the run ----------------------------------------------------------------------------------------------- */

/* Copies on a device are only started here; they complete with the run. */
tort_status tort_outputs_fill(tort_frame *frame, const tort_tensor *outputs, bool host, tort_error *error) {
    const tort_plan *plan = &frame->planned->plan;
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < plan->output_count; i++) {
        const tort_tensor *tensor = &frame->tensors[plan->output_slots[i]];
        const int32_t memory = plan->slots[plan->output_slots[i]].memory;
        size_t bytes;
        if (!outputs[i].data || host == (memory != 0)) continue;
        status = check_buffer(frame, i, &outputs[i], tensor, error);
        if (status || outputs[i].data == tensor->data || !tort_tensor_bytes(tensor, &bytes) || !bytes) continue;
        if (!memory) {
            memcpy(outputs[i].data, tensor->data, bytes);
            continue;
        }
        const tort_link *link = frame->context->session->memories[memory].owner;
        status = tort_link_copy(link, frame->context->streams[memory], outputs[i].data, tensor->data, bytes,
                                TORT_ON_DEVICE, error);
        if (status) tort_link_failed(link, status, error);
    }
    return status;
}

void tort_outputs_lend(const tort_frame *frame, tort_tensor *outputs) {
    const tort_plan *plan = &frame->planned->plan;
    for (int32_t i = 0; i < plan->output_count; i++)
        if (!outputs[i].data) outputs[i] = frame->tensors[plan->output_slots[i]];
}

void tort_outputs_tell(const tort_frame *frame, tort_tensor *outputs) {
    const tort_plan *plan = &frame->planned->plan;
    for (int32_t i = 0; i < plan->output_count; i++) {
        const tort_tensor *tensor = &frame->tensors[plan->output_slots[i]];
        size_t bytes;
        if (capacity_of(frame, i) == TORT_NO_CAPACITY || !outputs[i].data || !tort_tensor_bytes(tensor, &bytes))
            continue;
        void *data = outputs[i].data;
        outputs[i] = *tensor;
        outputs[i].data = data;
    }
}
