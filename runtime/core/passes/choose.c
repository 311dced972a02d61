/* choose.c - the outputs that the application wants replace the model's.
 *
 * Nodes that only other outputs need become unread, so fold.c leaves them out. Read next: fold.c. */
#include <stdio.h>
#include <string.h>

#include "runtime/core/lowered/lowered.h"
#include "runtime/core/passes/passes.h"

static tort_status unknown_output(const tort_session *session, const char *name, tort_error *error) {
    char known[300];
    const tort_graph *graph = &session->model->graphs[0];
    return tort_fail(error, TORT_E_USAGE, "option outputs: the model has no output \"%.100s\" (it has: %s)", name,
                     tort_list_values(graph, graph->outputs, graph->output_count, known, sizeof known));
}

tort_status tort_choose_outputs(tort_session *session, tort_error *error) {
    const int32_t count = session->options.output_count;
    tort_graph *graph = &tort_main_graph(session)->graph;
    if (count == 0) return TORT_OK;
    if (count < 0 || !session->options.outputs)
        return tort_fail(error, TORT_E_USAGE, "option outputs: %d names, but no list of them", count);
    int32_t *chosen = tort_arena_array(&session->arena, (size_t)count, sizeof *chosen);
    int32_t *memories = tort_arena_array(&session->arena, (size_t)count, sizeof *memories);
    if (!chosen || !memories) return tort_out_of_memory(error, (size_t)count * sizeof *chosen);
    for (int32_t i = 0; i < count; i++) {
        const char *name = session->options.outputs[i];
        const int32_t index = name ? tort_model_output_index(session->model, name) : -1;
        if (index < 0) return unknown_output(session, name ? name : "NULL", error);
        for (int32_t k = 0; k < i; k++)
            if (chosen[k] == graph->outputs[index])
                return tort_fail(error, TORT_E_USAGE, "option outputs: \"%.100s\" is there twice", name);
        chosen[i] = graph->outputs[index];
    }
    graph->outputs = chosen;
    graph->output_count = count;
    tort_main_graph(session)->output_memory = memories;
    return TORT_OK;
}
