/* order.c - the order in which units run, where segments need another one than that of the file: who reads a segment
 * comes after its last part. Read next: segment.c. */
#include "runtime/core/passes/order.h"

/* Nodes without a provider count as running: they are an error, but reported later. */
bool tort_unit_runs(const tort_unit *unit) {
    return unit->provider >= TORT_AT_HOST || unit->provider == TORT_AT_NOWHERE;
}

/* The running unit that makes a value; -1: it exists before the run. */
int32_t tort_unit_making(const tort_lowered *lowered, int32_t value) {
    int32_t index = value < 0 ? -1 : lowered->graph.values[value].producer;
    if (index < 0) return -1;
    const tort_segment *segment = lowered->units[index].segment;
    if (segment) index = segment->parts[segment->part_count - 1];
    return tort_unit_runs(&lowered->units[index]) ? index : -1;
}

/* Topological sort by depth-first search, with an explicit stack. */
typedef struct walk {
    int32_t *stack, *next; /* waiting units, and the next operand of each */
    bool *done;
    int32_t depth, count;
} walk;

static void enter(walk *w, int32_t unit) {
    w->stack[w->depth] = unit;
    w->next[w->depth++] = 0;
}

/* Appends the unit after all units that it reads. */
static void visit(const tort_lowered *lowered, walk *w, int32_t unit) {
    if (!tort_unit_runs(&lowered->units[unit]))
        lowered->order[w->count++] = unit; /* it does not run: any place will do */
    else if (!w->done[unit])
        enter(w, unit);
    while (w->depth) {
        const int32_t top = w->stack[w->depth - 1];
        const tort_node *node = tort_unit_node(lowered, top);
        if (w->next[w->depth - 1] < node->input_count) {
            const int32_t maker = tort_unit_making(lowered, node->inputs[w->next[w->depth - 1]++]);
            if (maker >= 0 && !w->done[maker]) enter(w, maker);
            continue;
        }
        w->depth--;
        if (w->done[top]) continue;
        w->done[top] = true;
        lowered->order[w->count++] = top;
    }
}

tort_status tort_order_units(tort_lowered *lowered, tort_arena *arena, tort_error *error) {
    const size_t nodes = (size_t)lowered->graph.node_count + 1;
    walk w = {.stack = tort_arena_array(arena, nodes, sizeof *w.stack),
              .next = tort_arena_array(arena, nodes, sizeof *w.next),
              .done = tort_arena_array(arena, nodes, sizeof *w.done)};
    if (!lowered->order) lowered->order = tort_arena_array(&lowered->session->arena, nodes, sizeof *lowered->order);
    if (!w.stack || !w.next || !w.done || !lowered->order) return tort_out_of_memory(error, 0);
    for (int32_t i = 0; i < lowered->graph.node_count; i++) visit(lowered, &w, i);
    return TORT_OK;
}
