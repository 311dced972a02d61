/* saved_graphs.c - writes the lowered graphs of a session as bytes (saved_format.h, GRPH), for saved_read_graphs.c.
 *
 * Attributes are written instead of params, which loading resolves again. This file decides nothing. */
#include <string.h>

#include "runtime/core/saved/saved_format.h"

/* True if its outputs are integers that are expressions over input sizes: plans evaluate it, though it never runs. */
static bool is_shape_arithmetic(const tort_lowered *lowered, const tort_node *node) {
    bool open = false;
    for (int32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] < 0 || tort_is_constant(lowered, node->outputs[i])) continue;
        if (!lowered->infos[node->outputs[i]].elements) return false;
        open = true;
    }
    return open;
}

bool tort_saved_is_ghost(const tort_lowered *lowered, int32_t index) {
    const tort_unit *unit = &lowered->units[index];
    if (!lowered->lowered) return true;
    if (unit->provider == TORT_AT_FOLDED)
        return !unit->still_inferred &&
               (tort_is_unread(unit) || !is_shape_arithmetic(lowered, &lowered->graph.nodes[index]));
    return unit->provider == TORT_AT_FUSED && !unit->still_inferred;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static void put_dim(tort_saved_out *out, const tort_dims *dims, tort_dim dim) {
    if (tort_dim_known(dim)) {
        tort_put_u8(out, TORT_SAVED_KNOWN);
        tort_put_i64(out, dim);
        return;
    }
    const tort_dim_expr *expr = tort_dim_expression(dims, dim);
    const bool symbol = expr->op == TORT_DIM_SYMBOL && expr->name;
    tort_put_u8(out, symbol ? TORT_SAVED_SYMBOL : expr->dynamic ? TORT_SAVED_DYNAMIC : TORT_SAVED_FRESH);
    if (symbol) tort_put_text(out, expr->name);
}

static void put_info(tort_saved_out *out, const tort_dims *dims, const tort_info *info) {
    tort_put_i32(out, (int32_t)info->type);
    tort_put_u32(out, info->kind == TORT_TENSOR ? 0 : (uint32_t)info->nest);
    tort_put_i32(out, info->kind == TORT_TENSOR ? info->rank : -1);
    for (int32_t d = 0; info->kind == TORT_TENSOR && d < info->rank; d++) put_dim(out, dims, info->dims[d]);
}

/* Writes values as the model declares them; those that fusions added, as the session knows them. */
static void put_values(tort_saved_out *out, const tort_lowered *lowered, const int32_t *entry_of) {
    const tort_session *session = lowered->session;
    const tort_graph *model = &session->model->graphs[lowered - session->graphs];
    tort_put_i32(out, lowered->graph.value_count);
    for (int32_t v = 0; v < lowered->graph.value_count; v++) {
        const tort_graph_value *value = &lowered->graph.values[v];
        tort_put_text(out, value->name);
        tort_put_u8(out, tort_value_is_read(value) ? TORT_SAVED_READ : 0);
        tort_put_i32(out, entry_of[v]);
        put_info(out, &session->dims, v < model->value_count ? &model->values[v].info : &lowered->infos[v]);
    }
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

static void put_type(tort_saved_out *out, const tort_value_type *type) {
    tort_put_i32(out, (int32_t)type->type);
    tort_put_u32(out, type->nest);
}

/* Writes the contents of the attribute kinds that operator rows can declare (check.c). */
static void put_contents(tort_saved_out *out, const tort_attribute *attribute, const int32_t *entries) {
    const size_t count = (size_t)attribute->count;
    switch (attribute->kind) {
    case TORT_ATTR_FLOAT: tort_put(out, &attribute->u.f, sizeof attribute->u.f); break;
    case TORT_ATTR_INT: tort_put_i64(out, attribute->u.i); break;
    case TORT_ATTR_STRING: tort_put_string(out, attribute->u.s); break;
    case TORT_ATTR_FLOATS: tort_put(out, attribute->u.floats, count * sizeof *attribute->u.floats); break;
    case TORT_ATTR_INTS: tort_put(out, attribute->u.ints, count * sizeof *attribute->u.ints); break;
    case TORT_ATTR_STRINGS:
        for (size_t i = 0; i < count; i++) tort_put_string(out, attribute->u.strings[i]);
        break;
    case TORT_ATTR_GRAPH:
    case TORT_ATTR_GRAPHS:
        for (size_t i = 0; i < count; i++) tort_put_i32(out, attribute->u.graphs[i]);
        break;
    case TORT_ATTR_TYPE_PROTO: put_type(out, attribute->u.types); break;
    default:
        for (size_t i = 0; i < count; i++) tort_put_i32(out, entries[attribute->u.weights[i]]);
    }
}

/* Defaults are not written: loading takes them from the row. */
static void put_attributes(tort_saved_out *out, const tort_node *node, const int32_t *entries) {
    int32_t count = 0;
    for (int32_t i = 0; i < node->attribute_count; i++) count += !node->attributes[i].is_default;
    tort_put_i32(out, count);
    for (int32_t i = 0; i < node->attribute_count; i++) {
        const tort_attribute *attribute = &node->attributes[i];
        if (attribute->is_default) continue;
        tort_put_text(out, attribute->name);
        tort_put_i32(out, (int32_t)attribute->kind);
        tort_put_i32(out, attribute->count);
        put_contents(out, attribute, entries);
    }
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

/* An output that shape arithmetic made constant is a constant in the file, so no node may make it. */
static void put_operands(tort_saved_out *out, const tort_lowered *lowered, int32_t index) {
    const tort_node *node = &lowered->graph.nodes[index];
    const bool folded = lowered->units[index].provider == TORT_AT_FOLDED;
    tort_put_i32(out, node->captured);
    tort_put_indices(out, node->inputs, node->input_count);
    tort_put_i32(out, node->output_count);
    for (int32_t i = 0; i < node->output_count; i++) {
        const int32_t value = node->outputs[i];
        tort_put_i32(out, folded && value >= 0 && tort_is_constant(lowered, value) ? -1 : value);
    }
}

static void put_said(tort_saved_out *out, const tort_unit *unit) {
    tort_put_i32(out, unit->reason_count);
    for (int32_t i = 0; i < unit->reason_count; i++) {
        const tort_reason *reason = &unit->reasons[i];
        tort_put_i32(out, reason->provider);
        tort_put_text(out, reason->kernel);
        tort_put_i32(out, (int32_t)reason->code);
        tort_put_text(out, reason->message);
        tort_put_text(out, reason->cure);
        tort_put_text(out, reason->fusion);
        tort_put_i32(out, reason->segment);
        tort_put_i32(out, reason->precision);
        tort_put_i64(out, reason->bytes);
        tort_put_i32(out, reason->root);
    }
}

/* Writes name and operator of the model's node that a fused node replaced, as reports list it among the parts. */
static void put_parts(tort_saved_out *out, const tort_lowered *lowered, int32_t index) {
    const tort_unit *unit = &lowered->units[index];
    const tort_session *session = lowered->session;
    const tort_node *before = &session->model->graphs[lowered - session->graphs].nodes[index];
    tort_put_indices(out, unit->from, unit->from_count);
    if (!unit->from_count) return;
    tort_put_text(out, before->name);
    tort_put_text(out, before->op_type);
}

/* A node of a segment: as it was before, with the number of the segment's last node in the place of a kernel. */
static void put_part(tort_saved_out *out, const tort_lowered *lowered, int32_t index,
                     const tort_saved_offsets *places) {
    const tort_unit *unit = &lowered->units[index];
    const int32_t last = unit->segment->parts[unit->segment->part_count - 1];
    tort_put_i32(out, lowered->units[last].provider);
    tort_put_text(out, "");
    tort_put_text(out, "");
    tort_put_i32(out, unit->pin);
    tort_put_i32(out, unit->products);
    put_said(out, unit);
    tort_put_i32(out, 0); /* made of no others */
    tort_put_u64(out, places->packed_at[index]);
    tort_put_u64(out, places->stored[index]);
    tort_put_i32(out, last);
}

static void put_unit(tort_saved_out *out, const tort_lowered *lowered, int32_t index,
                     const tort_saved_offsets *places) {
    const tort_unit *unit = &lowered->units[index];
    if (unit->segment) {
        put_part(out, lowered, index, places);
        return;
    }
    tort_put_i32(out, lowered->lowered ? unit->provider : TORT_AT_FOLDED);
    tort_put_text(out, unit->kernel ? unit->kernel->name : "");
    tort_put_text(out, unit->label);
    tort_put_i32(out, unit->pin);
    tort_put_i32(out, unit->products);
    put_said(out, unit);
    put_parts(out, lowered, index);
    tort_put_u64(out, places->packed_at[index]);
    tort_put_u64(out, unit->packed ? unit->packed_bytes : 0);
}

static void put_node(tort_saved_out *out, const tort_lowered *lowered, int32_t index, const tort_saved_offsets *places,
                     const int32_t *attribute_entries) {
    const tort_node *node = &lowered->graph.nodes[index];
    const tort_unit *unit = &lowered->units[index];
    const bool ghost = tort_saved_is_ghost(lowered, index);
    const int32_t since = node->op ? node->op->since : node->opset;
    const bool last = unit->segment && unit->provider >= 0;
    const bool pinned = last ? unit->segment->last_pinned : unit->pinned;
    tort_put_u8(out, (pinned ? TORT_SAVED_PINNED : 0) | (ghost ? TORT_SAVED_GHOST : 0) |
                         (unit->segment          ? TORT_SAVED_PART
                          : unit->still_inferred ? TORT_SAVED_STILL_INFERRED
                                                 : 0));
    tort_put_text(out, node->name);
    tort_put_text(out, node->domain);
    tort_put_text(out, node->op_type);
    tort_put_i32(out, ghost ? since : node->opset);
    tort_put_i32(out, since);
    tort_put_i32(out, node->file_index);
    if (!ghost) put_operands(out, lowered, index);
    if (!ghost) put_attributes(out, node, attribute_entries);
    put_unit(out, lowered, index, places);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

void tort_saved_put_graphs(tort_saved_out *out, const tort_session *session, const tort_saved_offsets *places,
                           const int32_t *attribute_entries) {
    tort_put_i32(out, session->graph_count);
    for (int32_t g = 0; g < session->graph_count; g++) {
        const tort_lowered *lowered = &session->graphs[g];
        const tort_graph *graph = &lowered->graph;
        tort_put_text(out, graph->name);
        tort_put_text(out, graph->path);
        tort_put_u8(out, lowered->lowered);
        tort_put_text(out, lowered->refused ? lowered->refused->msg : "");
        tort_put_i32(out, lowered->refused ? lowered->refused->node : -1);
        put_values(out, lowered, places[g].entry_of);
        tort_put_indices(out, graph->inputs, graph->input_count);
        tort_put_indices(out, graph->outputs, graph->output_count);
        tort_put_i32(out, graph->node_count);
        for (int32_t n = 0; n < graph->node_count; n++) put_node(out, lowered, n, &places[g], attribute_entries);
    }
}
