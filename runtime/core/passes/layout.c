/* layout.c - chooses the layout in which each unit reads and writes, to minimize conversions.
 *
 * Algorithm: a labeling of the graph by coordinate descent, as iterated conditional modes (Besag, "On the Statistical
 * Analysis of Dirty Pictures", 1986): a unit that can take any layout takes the one with the fewest conversions around
 * it, given its neighbours; on a tie a layout rather than plain, so that layouts spread. Sweeps alternate forwards and
 * backwards until nothing changes. That is a local optimum; the global one is a PBQP problem (Anderson and Gregg,
 * "Optimal DNN Primitive Selection with Partitioned Boolean Quadratic Programming", CGO 2018). Cost for L layouts and E
 * operands: O(L^2 * E) a sweep, at most 8 sweeps, again each time that a unit changes its row.
 *
 * Example: Conv(nhwc) -> Relu -> Conv(nhwc): a plain Relu costs 2 conversions, one in nhwc none, so the three form a
 * set. A set with a single layout row, or with rows that only follow, does not pay: its unit takes the provider's next
 * row, unless layout.alone says that it pays. Saved plans contain the rows; the rest is decided as before. Values that
 * cross the border of a provider, of the graph or of the executor are plain. This file must not know operators,
 * providers or layouts by name. Read next: layouts.c, plan_steps.c. */
#include <string.h>

#include "runtime/core/providers/claim.h"
#include "runtime/core/lowered/unit_view.h"
#include "runtime/core/passes/passes.h"
#include "runtime/core/providers/layouts.h"

#define MAX_SWEEPS 8 /* bounds adversarial graphs; others need two or three */

typedef struct decider {
    tort_session *session;
    tort_lowered *lowered;
    tort_pass pass;
    tort_arena arena; /* of tables that live for one graph */
    int32_t *made;    /* by value: the layout in which it is made; 0: plain, or not made in a run */
    int32_t *maker;   /* by value: the unit that makes it; -1 */
    int32_t *wanted;  /* by value and layout: how many operands read it in that layout */
    int32_t *set;     /* union-find of units: the next unit towards the representative of its set */
    int32_t *asking;  /* by representative: units of the set whose row has a layout */
    int32_t *leading; /* by representative: those of them that do not only follow */
    bool *stays;      /* by unit: no other row claims the node */
    tort_error *error;
} decider;

static tort_unit *unit_at(const decider *d, int32_t index) {
    return &d->lowered->units[index];
}

static bool runs(const tort_unit *unit) {
    return unit->provider >= TORT_AT_HOST;
}

/* ---- layouts of a kernel row ------------------------------------------------------------------------------------- */

static bool is_one_element(const tort_info *info) {
    bool one = info->kind == TORT_TENSOR && info->rank >= 0;
    for (int32_t d = 0; one && d < info->rank; d++) one = info->dims[d] == 1;
    return one;
}

/* Masks of a row for any layout: the operands of the output's shape. Single elements stay plain; operands of yet
 * another shape leave the unit no layout. */
static void follow_shape(const decider *d, int32_t index) {
    tort_unit *unit = unit_at(d, index);
    const tort_node *node = tort_unit_node(d->lowered, index);
    const tort_info *infos = d->lowered->infos;
    const tort_info *output = node->output_count && node->outputs[0] >= 0 ? &infos[node->outputs[0]] : NULL;
    bool same = output != NULL;
    unit->layout.inputs = unit->layout.outputs = 0;
    for (int32_t i = 0; same && i < node->input_count && i < 32; i++) {
        if (node->inputs[i] < 0 || !(unit->kernel->layout.inputs >> i & 1)) continue;
        same = tort_same_dims(&infos[node->inputs[i]], output);
        if (same) unit->layout.inputs |= 1u << i;
        same = same || is_one_element(&infos[node->inputs[i]]);
    }
    for (int32_t i = 0; same && i < node->output_count && i < 32; i++) {
        if (node->outputs[i] < 0 || !(unit->kernel->layout.outputs >> i & 1)) continue;
        same = tort_same_dims(&infos[node->outputs[i]], output);
        unit->layout.outputs |= 1u << i;
    }
    if (!same) unit->layout.inputs = unit->layout.outputs = 0;
}

/* Takes over what the row itself says, independent of neighbours. */
static void take_row(const decider *d, int32_t index) {
    tort_unit *unit = unit_at(d, index);
    const tort_kernel *kernel = unit->provider >= 0 && !unit->segment ? unit->kernel : NULL;
    unit->layout.id = 0;
    if (!kernel || !kernel->layout.id) return;
    if (kernel->layout.id == TORT_ANY_LAYOUT) {
        follow_shape(d, index);
        return;
    }
    unit->layout.id = d->session->chain[unit->provider].first_layout + kernel->layout.id - 1;
    unit->layout.inputs = kernel->layout.inputs;
    unit->layout.outputs = kernel->layout.outputs;
}

/* ---- conversions ------------------------------------------------------------------------------------------------- */

static int32_t *wanted_of(const decider *d, int32_t value) {
    return &d->wanted[(size_t)value * (size_t)d->session->layout_count];
}

/* The steps that convert a value from the layout in which it is made to those in which it is read; from one layout
 * to another through plain. */
static int32_t conversions_of(const decider *d, int32_t value) {
    const int32_t *wanted = wanted_of(d, value), made = d->made[value];
    int32_t count = 0;
    for (int32_t l = 1; l < d->session->layout_count; l++) count += wanted[l] > 0 && l != made;
    return count + (made && (count || wanted[0]));
}

/* Conversions of all values that the unit reads and makes. */
static int32_t conversions_around(const decider *d, int32_t index) {
    const tort_node *node = tort_unit_node(d->lowered, index);
    int32_t count = 0;
    for (int32_t i = 0; i < node->input_count && i < 32; i++) {
        bool again = node->inputs[i] < 0;
        for (int32_t k = 0; k < i; k++) again = again || node->inputs[k] == node->inputs[i];
        if (!again) count += conversions_of(d, node->inputs[i]);
    }
    for (int32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] >= 0) count += conversions_of(d, node->outputs[i]);
    return count;
}

/* False for metadata, which reads a shape, whatever the layout. */
static bool reads_contents(const decider *d, int32_t index) {
    const bool executor = unit_at(d, index)->provider == TORT_AT_HOST;
    return !executor || !(d->lowered->graph.nodes[index].op->flags & TORT_OP_METADATA);
}

static void count_reads(const decider *d, int32_t index, int32_t by) {
    const tort_node *node = tort_unit_node(d->lowered, index);
    for (int32_t i = 0; i < node->input_count && reads_contents(d, index); i++)
        if (node->inputs[i] >= 0) wanted_of(d, node->inputs[i])[tort_input_layout(unit_at(d, index), i)] += by;
}

static void note_made(const decider *d, int32_t index) {
    const tort_node *node = tort_unit_node(d->lowered, index);
    for (int32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] < 0) continue;
        d->made[node->outputs[i]] = tort_output_layout(unit_at(d, index), i);
        d->maker[node->outputs[i]] = index;
    }
}

static void move_to(const decider *d, int32_t index, int32_t layout) {
    count_reads(d, index, -1);
    unit_at(d, index)->layout.id = layout;
    count_reads(d, index, 1);
    note_made(d, index);
}

/* ---- units that take any layout ---------------------------------------------------------------------------------- */

static bool can_be_in(const decider *d, int32_t index, int32_t layout) {
    const tort_unit *unit = unit_at(d, index);
    const tort_node *node = tort_unit_node(d->lowered, index);
    bool fits = true;
    for (int32_t i = 0; fits && i < node->input_count && i < 32; i++)
        if (node->inputs[i] >= 0 && unit->layout.inputs >> i & 1)
            fits = tort_layout_fits(d->session, layout, &d->lowered->infos[node->inputs[i]]);
    for (int32_t i = 0; fits && i < node->output_count && i < 32; i++)
        if (node->outputs[i] >= 0 && unit->layout.outputs >> i & 1)
            fits = tort_layout_fits(d->session, layout, &d->lowered->infos[node->outputs[i]]);
    return fits;
}

/* Moves the unit to its best layout; true if that is another one than before. */
static bool choose(const decider *d, int32_t index) {
    tort_unit *unit = unit_at(d, index);
    const tort_link *link = &d->session->chain[unit->provider];
    const int32_t before = unit->layout.id;
    int32_t best = 0;
    move_to(d, index, 0);
    int32_t min = conversions_around(d, index);
    for (int32_t l = link->first_layout; l < link->first_layout + link->layout_count; l++) {
        if (!can_be_in(d, index, l)) continue;
        move_to(d, index, l);
        const int32_t count = conversions_around(d, index);
        if (count > min) continue;
        best = l;
        min = count;
    }
    move_to(d, index, best);
    return best != before;
}

static bool has_choice(const tort_unit *unit) {
    return unit->provider >= 0 && !unit->segment && unit->kernel->layout.id == TORT_ANY_LAYOUT && unit->layout.inputs;
}

static bool sweep(const decider *d, bool forwards) {
    const int32_t count = d->lowered->graph.node_count;
    bool changed = false;
    for (int32_t place = 0; place < count; place++) {
        const int32_t index = tort_unit_in_order(d->lowered, forwards ? place : count - 1 - place);
        if (has_choice(unit_at(d, index)) && choose(d, index)) changed = true;
    }
    return changed;
}

static void decide(const decider *d) {
    const tort_graph *graph = &d->lowered->graph;
    const size_t values = (size_t)graph->value_count;
    memset(d->wanted, 0, values * (size_t)d->session->layout_count * sizeof *d->wanted);
    memset(d->made, 0, values * sizeof *d->made);
    memset(d->maker, 0xff, values * sizeof *d->maker);
    for (int32_t i = 0; i < graph->node_count; i++) {
        if (!runs(unit_at(d, i))) continue;
        take_row(d, i);
        count_reads(d, i, 1);
        note_made(d, i);
    }
    for (int32_t i = 0; i < graph->output_count; i++) wanted_of(d, graph->outputs[i])[0]++;
    bool changed = true;
    for (int32_t i = 0; changed && i < MAX_SWEEPS; i++) changed = sweep(d, i % 2 == 0);
}

/* ---- units alone in their layout --------------------------------------------------------------------------------- */

static bool asks(const tort_unit *unit) {
    return unit->provider >= 0 && !unit->segment && unit->kernel->layout.id > 0;
}

static int32_t set_of(const decider *d, int32_t index) {
    while (d->set[index] != index) index = d->set[index] = d->set[d->set[index]];
    return index;
}

/* Unites the maker of a value with each unit that reads the value in the layout in which it is made. */
static void find_sets(const decider *d) {
    const tort_lowered *lowered = d->lowered;
    for (int32_t i = 0; i < lowered->graph.node_count; i++) d->set[i] = i, d->asking[i] = d->leading[i] = 0;
    for (int32_t i = 0; i < lowered->graph.node_count; i++) {
        const tort_node *node = tort_unit_node(lowered, i);
        for (int32_t k = 0; runs(unit_at(d, i)) && k < node->input_count; k++) {
            const int32_t value = node->inputs[k], layout = tort_input_layout(unit_at(d, i), k);
            if (value >= 0 && layout && d->made[value] == layout) d->set[set_of(d, d->maker[value])] = set_of(d, i);
        }
    }
    for (int32_t i = 0; i < lowered->graph.node_count; i++) {
        const bool asking = asks(unit_at(d, i));
        d->asking[set_of(d, i)] += asking;
        d->leading[set_of(d, i)] += asking && !unit_at(d, i)->kernel->layout.follows;
    }
}

/* True if neighbours make it worth that the unit stays in its layout. */
static bool has_company(const decider *d, int32_t index) {
    const tort_unit *unit = unit_at(d, index);
    const int32_t set = set_of(d, index), value = tort_unit_node(d->lowered, index)->outputs[0];
    if (unit->kernel->layout.enlarges && !wanted_of(d, value)[unit->layout.id]) return false;
    return d->asking[set] > 1 && d->leading[set] > 0;
}

static tort_status move_on(decider *d, int32_t index, bool *moved) {
    tort_unit *unit = unit_at(d, index);
    const tort_verdict verdict =
        tort_no(TORT_NO_SHAPE, "", "beside its neighbours, layout %s would convert more than it saves",
                d->session->layouts[unit->layout.id].layout->name);
    tort_node_view view = tort_pass_view(&d->pass, index);
    tort_candidate c = {.session = d->session,
                        .lowered = d->lowered,
                        .index = index,
                        .node = &d->lowered->graph.nodes[index],
                        .view = &view,
                        .unit = unit};
    view.params = unit->params;
    tort_status status = tort_pass_acquire(&d->pass, index, d->error);
    const bool pays = !status && unit->kernel->layout.alone && unit->kernel->layout.alone(&view);
    if (!status && !pays) status = tort_candidate_move_on(&c, &verdict, moved, d->error);
    if (status) tort_error_at_unit(d->error, d->lowered, index);
    tort_pass_release(&d->pass, index);
    return status;
}

/* Moves units that are alone to their next row; *moved: any has changed. */
static tort_status move_lone(decider *d, bool *moved) {
    tort_status status = TORT_OK;
    *moved = false;
    find_sets(d);
    for (int32_t i = 0; !status && i < d->lowered->graph.node_count; i++) {
        bool found = false;
        if (!asks(unit_at(d, i)) || d->stays[i] || has_company(d, i)) continue;
        status = move_on(d, i, &found);
        d->stays[i] = !found;
        *moved = *moved || found;
    }
    return status;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static bool allocate(decider *d) {
    const size_t values = (size_t)d->lowered->graph.value_count + 1, nodes = (size_t)d->lowered->graph.node_count + 1;
    d->made = tort_arena_array(&d->arena, values, sizeof *d->made);
    d->maker = tort_arena_array(&d->arena, values, sizeof *d->maker);
    d->wanted = tort_arena_array(&d->arena, values, (size_t)d->session->layout_count * sizeof *d->wanted);
    d->set = tort_arena_array(&d->arena, nodes, sizeof *d->set);
    d->asking = tort_arena_array(&d->arena, nodes, sizeof *d->asking);
    d->leading = tort_arena_array(&d->arena, nodes, sizeof *d->leading);
    d->stays = tort_arena_array(&d->arena, nodes, sizeof *d->stays);
    return d->made && d->maker && d->wanted && d->set && d->asking && d->leading && d->stays;
}

static tort_status layout_graph(decider *d) {
    tort_session *session = d->session;
    tort_status status =
        tort_lowered_pass(d->lowered, &d->pass, d->lowered->infos, &session->dims, &session->arena, d->error);
    if (status) return status;
    tort_arena_init(&d->arena, &session->env);
    bool again = allocate(d);
    if (!again) status = tort_out_of_memory(d->error, 0);
    while (!status && again) {
        decide(d);
        again = false;
        if (!session->saved) status = move_lone(d, &again);
    }
    tort_arena_free(&d->arena);
    tort_pass_free(&d->pass);
    return status;
}

tort_status tort_layout_units(tort_session *session, tort_error *error) {
    tort_status status = TORT_OK;
    for (int32_t g = 0; !status && session->layout_count > 1 && g < session->graph_count; g++) {
        decider d = {.session = session, .lowered = &session->graphs[g], .error = error};
        if (d.lowered->lowered) status = layout_graph(&d);
    }
    return status;
}
