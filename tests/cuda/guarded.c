/* guarded.c - see guarded.h. */
#include "tests/cuda/guarded.h"

#include <stdlib.h>
#include <string.h>

#include "tests/cuda/wrapped.h"

enum { MAX_TENSORS = 32, GUARD = 256, SENTINEL = 0xa5 };

static struct {
    const tort_provider *inner;
    const tort_kernel *selected;
    guarded_shift shift;
} guarded;

/* A tensor's own device buffer: GUARD sentinels, one element if shifted, the data, GUARD sentinels (none behind an
 * input, where the end of the buffer itself is the guard). */
typedef struct buffer {
    unsigned char *device, *host;
    size_t before, bytes, total;
} buffer;

static tort_status copy(const tort_call *call, void *dst, const void *src, size_t bytes, tort_direction direction) {
    return bytes ? guarded.inner->memory.copy(call->device, call->stream, dst, src, bytes, direction, call->error)
                 : TORT_OK;
}

static tort_status open_buffer(const tort_call *call, const tort_tensor *tensor, bool shifted, size_t behind,
                               buffer *b) {
    if (!tort_tensor_bytes(tensor, &b->bytes)) return tort_fail(call->error, TORT_E_INTERNAL, "a tensor has no size");
    b->before = GUARD + (shifted ? (size_t)tort_type_bits(tensor->type) / 8 : 0);
    b->total = b->before + b->bytes + behind;
    b->device = guarded.inner->memory.alloc(call->device, b->total);
    b->host = malloc(b->total);
    if (!b->device || !b->host) return tort_fail(call->error, TORT_E_MEMORY, "no memory for a test buffer");
    memset(b->host, SENTINEL, b->total);
    return copy(call, b->device, b->host, b->total, TORT_TO_DEVICE);
}

static void close_buffer(const tort_call *call, buffer *b) {
    if (b->device) guarded.inner->memory.free(call->device, b->device, b->total);
    free(b->host);
}

static tort_status give_input(const tort_call *call, int32_t i, tort_tensor *tensor, buffer *b) {
    const bool last = i == call->input_count - 1;
    tort_status status =
        open_buffer(call, tensor, guarded.shift == SHIFT_ALL || (guarded.shift == SHIFT_LAST_INPUT && last), 0, b);
    if (!status) status = copy(call, b->host + b->before, tensor->data, b->bytes, TORT_TO_HOST);
    if (!status) status = copy(call, b->device, b->host, b->total, TORT_TO_DEVICE);
    tensor->data = b->device + b->before;
    return status;
}

static tort_status check_input(const tort_call *call, int32_t i, const buffer *b) {
    unsigned char *now = malloc(b->total);
    if (!now) return tort_fail(call->error, TORT_E_MEMORY, "no memory for a test buffer");
    tort_status status = copy(call, now, b->device, b->total, TORT_TO_HOST);
    if (!status && memcmp(now, b->host, b->total))
        status = tort_fail(call->error, TORT_E_INTERNAL, "the kernel wrote to input %d or before it", i);
    free(now);
    return status;
}

/* Fetches an output, looks at its sentinels, and hands it on to where the plan wants it. */
static tort_status take_output(const tort_call *call, int32_t i, const buffer *b) {
    tort_status status = copy(call, b->host, b->device, b->total, TORT_TO_HOST);
    if (status) return status;
    for (size_t k = 0; k < b->total; k++) {
        if (k == b->before) k += b->bytes;
        if (k < b->total && b->host[k] != SENTINEL)
            return tort_fail(call->error, TORT_E_INTERNAL, "the kernel wrote %lld bytes %s output %d",
                             (long long)(k < b->before ? b->before - k : k - b->before - b->bytes + 1),
                             k < b->before ? "before" : "behind the end of", i);
    }
    return copy(call, call->outputs[i].data, b->host + b->before, b->bytes, TORT_TO_DEVICE);
}

static bool same_form(const tort_tensor *a, const tort_tensor *b) {
    return tort_type_bits(a->type) == tort_type_bits(b->type) && a->rank == b->rank &&
           !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims);
}

/* Once more, with output 0 in the place of input i: the same bits as in `first`. */
static tort_status run_over(tort_call call, int32_t i, const buffer *input, const buffer *first) {
    tort_tensor inputs[MAX_TENSORS], outputs[MAX_TENSORS];
    buffer over = {0};
    memcpy(inputs, call.inputs, (size_t)call.input_count * sizeof *inputs);
    memcpy(outputs, call.outputs, (size_t)call.output_count * sizeof *outputs);
    tort_status status = open_buffer(&call, &inputs[i], guarded.shift == SHIFT_ALL, GUARD, &over);
    inputs[i].data = outputs[0].data = over.device + over.before;
    call.inputs = inputs;
    call.outputs = outputs;
    if (!status) status = copy(&call, inputs[i].data, input->host + input->before, over.bytes, TORT_TO_DEVICE);
    if (!status) status = guarded.selected->run(&call);
    if (!status) status = copy(&call, over.host, over.device, over.total, TORT_TO_HOST);
    if (!status && memcmp(over.host + over.before, first->host + first->before, over.bytes))
        status = tort_fail(call.error, TORT_E_INTERNAL, "the kernel makes other bits where it writes over input %d", i);
    close_buffer(&call, &over);
    return status;
}

/* For each input that the row says it may write over. */
static tort_status run_in_place(const tort_call *call, const buffer *in, const buffer *out) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < call->input_count && i < 32; i++)
        if (guarded.selected->in_place >> i & 1 && in[i].device && out[0].device &&
            same_form(&call->inputs[i], &call->outputs[0]))
            status = run_over(*call, i, &in[i], &out[0]);
    return status;
}

static tort_status run_guarded(const tort_call *call) {
    tort_tensor inputs[MAX_TENSORS], outputs[MAX_TENSORS];
    buffer in[MAX_TENSORS] = {{0}}, out[MAX_TENSORS] = {{0}};
    tort_call inner = *call;
    tort_status status = TORT_OK;
    inner.inputs = inputs;
    inner.outputs = outputs;
    for (int32_t i = 0; i < call->input_count; i++) {
        inputs[i] = call->inputs[i];
        bool on_device = tort_present(&inputs[i]) && !(i < 32 && guarded.selected->host_inputs >> i & 1);
        if (!status && on_device && inputs[i].data) status = give_input(call, i, &inputs[i], &in[i]);
    }
    for (int32_t i = 0; i < call->output_count; i++) {
        outputs[i] = call->outputs[i];
        if (status || !tort_present(&outputs[i])) continue;
        status = open_buffer(call, &outputs[i], guarded.shift == SHIFT_ALL, GUARD, &out[i]);
        outputs[i].data = out[i].device + out[i].before;
    }
    if (!status) status = guarded.selected->run(&inner);
    for (int32_t i = 0; i < call->output_count; i++)
        if (!status && out[i].device) status = take_output(call, i, &out[i]);
    for (int32_t i = 0; i < call->input_count; i++)
        if (!status && in[i].device) status = check_input(call, i, &in[i]);
    if (!status) status = run_in_place(&inner, in, out);
    for (int32_t i = 0; i < call->input_count; i++) close_buffer(call, &in[i]);
    for (int32_t i = 0; i < call->output_count; i++) close_buffer(call, &out[i]);
    return status;
}

const tort_provider *guarded_provider(const tort_provider *provider, bool libraries) {
    guarded.inner = provider;
    return wrapped_provider(provider, libraries, run_guarded);
}

void guarded_select(const tort_kernel *row, guarded_shift shift) {
    guarded.selected = row;
    /* cuDNN wants more, and what is in a layout lies in memory of the context. */
    const bool aligned = row && ((row->needs && !strcmp(row->needs, "cuDNN")) || row->layout.id > 0);
    guarded.shift = aligned ? SHIFT_NONE : shift;
}
