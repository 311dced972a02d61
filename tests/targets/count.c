/* count.c - runs a model twice, the second time between two functions that insn.c of tests/embed waits for: what a run
 * takes in instructions, without loading, planning, or caches of the first run. Inputs are pseudo-random.
 * Usage: count MODEL CHAIN. */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/include/tinyort.h"

void count_begin(void), count_end(void);
__attribute__((noinline)) void count_begin(void) {
    __asm__ volatile("");
}
__attribute__((noinline)) void count_end(void) {
    __asm__ volatile("");
}

enum { MAX_PORTS = 16 };

/* Fills an input of floats with -0.5..0.5, another with bytes; an open dimension is 1. False: out of memory. */
static bool fill(const tort_port *port, tort_tensor *tensor) {
    size_t count = 1;
    uint32_t seed = 1;
    *tensor = (tort_tensor){.type = port->type, .rank = port->rank};
    for (int32_t d = 0; d < port->rank; d++) {
        tensor->dims[d] = port->dims[d] < 0 ? 1 : port->dims[d];
        count *= (size_t)tensor->dims[d];
    }
    tensor->data = calloc(count, 8);
    for (size_t i = 0; tensor->data && i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        if (port->type == TORT_FLOAT)
            ((float *)tensor->data)[i] = (float)seed / 4294967296.0f - 0.5f;
        else
            ((uint8_t *)tensor->data)[i] = (uint8_t)(seed >> 24);
    }
    return tensor->data != NULL;
}

int main(int argument_count, char **arguments) {
    tort_error error = {.code = TORT_OK};
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_tensor inputs[MAX_PORTS], outputs[MAX_PORTS] = {{.data = NULL}};
    if (argument_count != 3) return 2;
    tort_status status = tort_model_load(NULL, arguments[1], NULL, &model, &error);
    const tort_session_options options = {.struct_size = sizeof options, .chain = arguments[2]};
    if (!status) status = tort_session_create(NULL, model, &options, &session, &error);
    if (!status) status = tort_context_create(session, &context, &error);
    const int32_t ins = status ? 0 : tort_model_input_count(model), outs = status ? 0 : tort_model_output_count(model);
    for (int32_t i = 0; !status && i < ins && i < MAX_PORTS; i++) {
        tort_port port = {.struct_size = sizeof port};
        status = tort_model_input(model, i, &port, &error);
        if (!status && !fill(&port, &inputs[i])) return 2;
    }
    for (int run = 0; !status && run < 2; run++) {
        for (int32_t i = 0; i < outs && i < MAX_PORTS; i++) outputs[i] = (tort_tensor){.data = NULL};
        if (run) count_begin();
        status = tort_context_run(context, inputs, ins, outputs, outs, &error);
        if (run) count_end();
    }
    if (status) fprintf(stderr, "count: %s\n", error.msg);
    return status != TORT_OK;
}
