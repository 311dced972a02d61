/* contexts.c - random calls with a context (world.h). */
#include <string.h>

#include "tests/random_calls/world.h"

enum { BUFFER = 4096, LARGEST = 12 };

#define SET(status) (1u << (status))

static const unsigned of_runs =
    SET(TORT_E_USAGE) | SET(TORT_E_INPUT) | SET(TORT_E_RUN) | SET(TORT_E_MEMORY) | SET(TORT_E_CANCELLED);

static tort_error *any_error(caller *c, tort_error *error) {
    memset(error, 0, sizeof *error);
    return one_in(c, 3) ? NULL : error;
}

/* Reads every byte, so that a sanitizer sees whether it is there. */
static void read_tensor(caller *c, const tort_tensor *tensor) {
    size_t bytes;
    unsigned sum = 0;
    if (!tort_tensor_bytes(tensor, &bytes)) {
        expect(c, false, "an output has no valid shape");
        return;
    }
    expect(c, tensor->data || !bytes, "an output has no data");
    for (size_t i = 0; i < bytes; i++) sum += ((const unsigned char *)tensor->data)[i];
    if (tensor->type == TORT_STRING)
        for (size_t i = 0; i < bytes / sizeof(tort_string); i++) {
            const tort_string *string = (const tort_string *)tensor->data + i;
            for (size_t k = 0; k < string->length; k++) sum += (unsigned char)string->data[k];
        }
    c->state ^= sum & 1;
}

static void read_value(caller *c, const tort_value *value) {
    const tort_tensor *view = tort_value_view(value);
    if (view) read_tensor(c, view);
    for (int32_t i = 0; i < tort_value_count(value); i++) read_value(c, tort_value_at(value, i));
}

/* A number of elements, seldom a wrong one. The list is no longer, but must not be read then. */
static int32_t any_count(caller *c, int32_t right) {
    return one_in(c, 20) ? (int32_t)roll(c, 6) - 2 : right;
}

/* Makes a tensor wrong in a way that is refused before its data is read. */
static void spoil(caller *c, tort_tensor *tensor) {
    switch (roll(c, 6)) {
    case 0: tensor->rank = (int32_t)roll(c, 20) - 5; break;
    case 1: tensor->dims[0] = -(int64_t)roll(c, 9) - 1; break;
    case 2: tensor->data = NULL; break;
    case 3: tensor->type = (tort_type)(roll(c, 40)); break;
    case 4: tensor->dims[1] = INT64_MAX; break;
    default: break;
    }
}

static void give_buffers(caller *c, tort_context *context, tort_tensor *outputs, int32_t count, void *buffers) {
    for (int32_t i = 0; i < count; i++) {
        tort_error error;
        tort_error *place = any_error(c, &error);
        outputs[i] = (tort_tensor){.type = TORT_FLOAT, .rank = 2, .dims = {(int64_t)roll(c, LARGEST), 4}};
        if (one_in(c, 2)) continue;
        const size_t bytes = one_in(c, 3) ? TORT_NO_CAPACITY : roll(c, BUFFER + 1);
        const tort_status status = tort_context_output_capacity(or_null(c, context), i, bytes, place);
        answered(c, "tort_context_output_capacity", status, place, SET(TORT_E_MEMORY));
        if (!status) outputs[i].data = (char *)buffers + (size_t)i * BUFFER;
    }
}

static void run(caller *c, const tort_env *env, tort_context *context, side which) {
    _Alignas(16) char buffers[SIDE_PORTS * BUFFER];
    const tort_value *values[SIDE_PORTS] = {NULL};
    tort_tensor inputs[SIDE_PORTS] = {{.rank = 0}}, outputs[SIDE_PORTS];
    const int32_t given = side_input_count(which), wanted = side_output_count(which);
    tort_error error;
    side_inputs(env, which, roll(c, LARGEST), values);
    for (int32_t i = 0; i < given; i++)
        if (tort_value_view(values[i])) inputs[i] = *tort_value_view(values[i]);
    if (one_in(c, 8)) spoil(c, &inputs[roll(c, (uint32_t)given)]);
    give_buffers(c, context, outputs, wanted, buffers);
    tort_error *place = any_error(c, &error);
    const int32_t in = any_count(c, given), out = any_count(c, wanted);
    const tort_tensor *in_list = in ? or_null(c, inputs) : inputs;
    tort_tensor *out_list = out ? or_null(c, outputs) : outputs;
    const tort_status status = tort_context_run(or_null(c, context), in_list, in, out_list, out, place);
    answered(c, "tort_context_run", status, place, of_runs);
    for (int32_t i = 0; !status && i < wanted; i++) read_tensor(c, &outputs[i]);
    for (int32_t i = 0; i < given; i++) tort_value_release(values[i]);
}

static void run_values(caller *c, const tort_env *env, tort_context *context, side which) {
    const tort_value *inputs[SIDE_PORTS] = {NULL};
    tort_value *outputs[6] = {NULL};
    tort_error error, *place = any_error(c, &error);
    const int32_t given = side_input_count(which), wanted = side_output_count(which);
    const int32_t in = any_count(c, given), out = any_count(c, wanted);
    side_inputs(env, which, roll(c, LARGEST), inputs);
    const tort_value *const *in_list = in ? or_null(c, inputs) : inputs;
    tort_value **out_list = out ? or_null(c, outputs) : outputs;
    const tort_status status = tort_context_run_values(or_null(c, context), in_list, in, out_list, out, place);
    answered(c, "tort_context_run_values", status, place, of_runs);
    for (int32_t i = 0; i < wanted; i++) {
        expect(c, status || outputs[i], "an output is NULL after a run");
        expect(c, !status || !outputs[i], "an output is left after a failure");
        read_value(c, outputs[i]);
        tort_value_release(outputs[i]);
    }
    for (int32_t i = 0; i < given; i++) tort_value_release(inputs[i]);
}

static void observe(void *ud, int32_t node, const char *value, const tort_tensor *tensor) {
    (void)node;
    expect(ud, value && tensor, "an observer is shown NULL");
    read_tensor(ud, tensor);
}

static void profile(void *ud, const tort_profile_step *step) {
    expect(ud, step->end >= step->begin && step->provider, "a step is not told whole");
}

/* The observer and the profiler have the caller: no other thread runs this context before they are taken back. */
static void run_watched(caller *c, const tort_env *env, tort_context *context, side which) {
    tort_context_observe(context, one_in(c, 2) ? observe : NULL, c);
    tort_context_profile(context, one_in(c, 2), one_in(c, 2) ? profile : NULL, c);
    run_values(c, env, context, which);
    tort_context_observe(context, NULL, NULL);
    tort_context_profile(context, false, NULL, NULL);
}

static void copy(caller *c, tort_context *context) {
    char from[64] = "", to[64];
    tort_error error, *place = any_error(c, &error);
    const tort_direction direction = (tort_direction)roll(c, 4); /* one too many */
    answered(c, "tort_memory_copy",
             tort_memory_copy(or_null(c, context), or_null(c, one_in(c, 3) ? "nope" : "cpu"), or_null(c, to),
                              or_null(c, from), 1 + roll(c, sizeof from), direction, place),
             place, SET(TORT_E_USAGE));
}

static void count_calls(caller *c, const tort_context *context) {
    tort_device_calls calls;
    tort_error error, *place = any_error(c, &error);
    const char *provider = one_in(c, 2) ? NULL : one_in(c, 2) ? "cpu" : "nope";
    answered(c, "tort_context_calls", tort_context_calls(or_null(c, context), provider, or_null(c, &calls), place),
             place, SET(TORT_E_USAGE));
}

void call_context(caller *c, const tort_env *env, tort_context *context, side which) {
    switch (roll(c, 12)) {
    case 0: copy(c, context); return;
    case 1: count_calls(c, context); return;
    case 2: tort_context_cancel(one_in(c, 9) ? NULL : context); return;
    case 3: run_watched(c, env, context, which); return;
    case 4:
    case 5:
    case 6:
    case 7: run(c, env, context, which); return;
    default: run_values(c, env, context, which); return;
    }
}
