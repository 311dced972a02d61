/* unit_view.c - a unit as its kernel sees it: one node, or the nodes of a segment with the infos of their values; and
 * as an error names it.
 *
 * This file must not decide which nodes form a segment. Read next: segment.c, plan_sizes.c. */
#include <stdio.h>
#include <string.h>

#include "runtime/core/lowered/unit_view.h"

/* ---- params of a segment: those of its parts, concatenated ------------------------------------------------------- */

/* The offset of the next part's params; SIZE_MAX on overflow. */
static size_t behind_params(const tort_lowered *lowered, int32_t part, size_t offset) {
    size_t end;
    const bool fits =
        tort_add_size(offset, tort_params_bytes(lowered->session->model, &lowered->graph.nodes[part]), &end) &&
        tort_align_size(end, TORT_PARAMS_ALIGN, &end);
    return fits ? end : SIZE_MAX;
}

size_t tort_unit_params_bytes(const tort_lowered *lowered, int32_t unit) {
    const tort_segment *segment = lowered->units[unit].segment;
    size_t bytes = 0;
    if (!segment) return tort_params_bytes(lowered->session->model, &lowered->graph.nodes[unit]);
    for (int32_t i = 0; i < segment->part_count && bytes < SIZE_MAX; i++)
        bytes = behind_params(lowered, segment->parts[i], bytes);
    return bytes;
}

static tort_status resolve_part(tort_pass *pass, int32_t part, void *params, tort_error *error) {
    tort_node_view view = tort_pass_view(pass, part);
    size_t scratch;
    tort_status status = tort_pass_acquire(pass, part, error);
    if (!status) status = tort_resolve_node(&view, params, &scratch, error);
    tort_pass_release(pass, part);
    if (status) tort_error_at_node(error, pass->graph, part);
    return status;
}

tort_status tort_segment_resolve(const tort_lowered *lowered, tort_pass *pass, const tort_segment *segment,
                                 void *params, tort_error *error) {
    tort_status status = TORT_OK;
    size_t offset = 0;
    for (int32_t i = 0; !status && i < segment->part_count; i++) {
        if (!tort_is_once(lowered, segment->parts[i]) && !lowered->units[segment->parts[i]].folded)
            status = resolve_part(pass, segment->parts[i], (uint8_t *)params + offset, error);
        offset = behind_params(lowered, segment->parts[i], offset);
    }
    return status;
}

/* ---- views ------------------------------------------------------------------------------------------------------- */

/* The info of a value, with its contents if they stay in host memory as long as the session. */
static tort_info info_of(const tort_lowered *lowered, const tort_pass *pass, int32_t value) {
    tort_info info = pass->infos[value];
    if (info.constant && !info.data) info.data = lowered->session->constants[lowered->constant_of[value]].host;
    return info;
}

static void fill_nodes(const tort_lowered *lowered, const tort_segment *segment, const void *params,
                       tort_segment_node *nodes) {
    size_t offset = 0;
    for (int32_t i = 0; i < segment->part_count; i++) {
        const int32_t part = segment->parts[i];
        nodes[i] = segment->nodes[i];
        nodes[i].params =
            params && !tort_is_once(lowered, part) ? (const uint8_t *)params + offset : lowered->units[part].params;
        offset = behind_params(lowered, part, offset);
    }
}

/* Allocates one block: all values, the outputs once more, the nodes, then the names of the values. */
static bool allocate(tort_unit_view *view, const tort_lowered *lowered, const tort_segment *segment, tort_info **values,
                     tort_segment_node **nodes, const char ***names) {
    const size_t infos = (size_t)segment->value_count + (size_t)segment->node.output_count;
    const size_t count = (size_t)segment->part_count; /* no overflow: larger arrays of nodes were allocated before */
    view->bytes = infos * sizeof **values + count * sizeof **nodes + (size_t)segment->value_count * sizeof **names;
    view->block = tort_alloc_zero(&lowered->session->env, 1, view->bytes);
    *values = view->block;
    *nodes = view->block ? (tort_segment_node *)(void *)(*values + infos) : NULL;
    *names = view->block ? (const char **)(void *)(*nodes + count) : NULL;
    return view->block != NULL;
}

tort_status tort_segment_view_open(tort_unit_view *view, const tort_lowered *lowered, const tort_pass *pass,
                                   const tort_segment *segment, const void *params, tort_error *error) {
    const tort_node *node = &segment->node;
    tort_info *values;
    tort_segment_node *nodes;
    const char **names;
    *view = (tort_unit_view){.block = NULL};
    if (!allocate(view, lowered, segment, &values, &nodes, &names)) return tort_out_of_memory(error, view->bytes);
    tort_info *outputs = values + segment->value_count;
    for (int32_t v = 0; v < segment->value_count; v++) {
        values[v] = info_of(lowered, pass, segment->values[v]);
        names[v] = lowered->graph.values[segment->values[v]].name;
    }
    for (int32_t i = 0; i < node->output_count; i++) outputs[i] = values[segment->outputs[i]];
    fill_nodes(lowered, segment, params, nodes);
    view->segment = (tort_segment_view){.nodes = nodes,
                                        .values = values,
                                        .names = names,
                                        .outputs = segment->outputs,
                                        .node_count = segment->part_count,
                                        .value_count = segment->value_count,
                                        .input_count = node->input_count,
                                        .constant_count = segment->constant_count,
                                        .output_count = node->output_count,
                                        .dims = pass->dims};
    view->inputs = values;
    view->node = (tort_node_view){.op = node->op,
                                  .name = node->name,
                                  .opset = node->opset,
                                  .input_count = node->input_count,
                                  .output_count = node->output_count,
                                  .inputs = values,
                                  .outputs = outputs,
                                  .params = params,
                                  .model = pass->model,
                                  .segment = &view->segment};
    return TORT_OK;
}

tort_status tort_unit_view_open(tort_unit_view *view, const tort_lowered *lowered, tort_pass *pass, int32_t index,
                                const void *params, tort_error *error) {
    const tort_unit *unit = &lowered->units[index];
    if (unit->segment) return tort_segment_view_open(view, lowered, pass, unit->segment, params, error);
    *view = (tort_unit_view){.node = tort_pass_view(pass, index), .inputs = pass->in};
    view->node.params = params && !tort_is_once(lowered, index) ? params : unit->params;
    view->node.kernel = unit->kernel;
    return TORT_OK;
}

void tort_unit_view_close(tort_unit_view *view, const tort_lowered *lowered) {
    tort_free(&lowered->session->env, view->block, view->bytes);
}

/* ---- error messages ---------------------------------------------------------------------------------------------- */

void tort_error_at_unit(tort_error *error, const tort_lowered *lowered, int32_t index) {
    const tort_unit *unit = &lowered->units[index];
    const tort_node *nodes = lowered->session->model->graphs[lowered - lowered->session->graphs].nodes;
    char words[200] = "";
    size_t used = 0;
    for (int32_t i = 0; i < unit->from_count && used < sizeof words; i++)
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%s", i ? ", " : ", made of ",
                                 nodes[unit->from[i]].name);
    if (used >= sizeof words) memcpy(words + sizeof words - 4, "...", 4);
    tort_error_at_made_node(error, &lowered->graph, index, tort_unit_node(lowered, index), words);
}
