/* control_flow.c - If, Loop, Scan and SequenceMap: operators with bodies.
 *
 * Each only describes how its bodies are called (tort_trips); the executor calls them. A body is inferred for the
 * shapes that go in; carried dimensions that differ between trips become unknown. Sources: ONNX operators If-25,
 * Loop-25, Scan-25, SequenceMap-17 and their earlier versions. */
#include <string.h>

#include "ops/contents.h"
#include "runtime/include/op.h"

/* ---- shared by all ----------------------------------------------------------------------------------------------- */

/* Sets every index to -1, none. Functions that fill a tort_trips assign the members of a zeroed one: it becomes params,
 * which are compared byte by byte, padding included. */
static void no_trips(tort_trips *t) {
    for (int32_t i = 0; i < TORT_BODIES; i++) t->body[i] = -1;
    t->choice = t->limit = t->condition = t->carried_first = t->scanned_first = t->lengths = -1;
}

static int32_t body_of(const tort_node_view *node, const char *name) {
    return tort_attr(node, name)->u.graphs[0];
}

static int32_t own_inputs(const tort_node_view *node) {
    return node->input_count - node->captured;
}

/* Number of inputs that the node gives to a body, without captured ones. */
static int32_t given_to_body(const tort_trips *t) {
    return (t->counted ? 2 : 0) + (t->carries ? t->results : 0) + t->scanned;
}

static tort_status check_body(const tort_node_view *node, const tort_trips *t, int32_t body, tort_error *error) {
    const int32_t inputs = tort_body_inputs(node, body), outputs = tort_body_outputs(node, body);
    const int32_t wanted = (t->asks ? 1 : 0) + t->results + t->stacked;
    if (inputs != given_to_body(t))
        return tort_fail(error, TORT_E_MODEL, "its body has %d inputs, the node gives %d", (int)inputs,
                         (int)given_to_body(t));
    if (outputs != wanted)
        return tort_fail(error, TORT_E_MODEL, "its body has %d outputs, the node needs %d", (int)outputs, (int)wanted);
    if (node->output_count > t->results + t->stacked)
        return tort_fail(error, TORT_E_MODEL, "the node has %d outputs, its body makes %d", (int)node->output_count,
                         (int)(t->results + t->stacked));
    return TORT_OK;
}

/* Unites `b` into `a`: types must be equal, sizes that differ become unknown. */
static tort_status unite(tort_infer *infer, const char *what, int32_t index, tort_info *a, const tort_info *b) {
    const tort_value_type x = tort_info_type(a), y = tort_info_type(b);
    if (a->type == TORT_UNDEFINED) {
        *a = *b;
        return TORT_OK;
    }
    if (b->type == TORT_UNDEFINED) return TORT_OK;
    if (a->kind == TORT_OPTIONAL && tort_type_element(x).type == y.type && tort_type_element(x).nest == y.nest)
        return TORT_OK; /* an optional may go in and its element come out */
    if (x.type != y.type || x.nest != y.nest) {
        char first[80], second[80];
        return tort_fail(infer->error, TORT_E_MODEL, "%s %d is %s here and %s there", what, (int)index,
                         tort_type_text(x, first, sizeof first), tort_type_text(y, second, sizeof second));
    }
    if (a->rank != b->rank) a->rank = -1;
    for (int32_t d = 0; d < a->rank; d++)
        if (a->dims[d] != b->dims[d]) a->dims[d] = tort_dim_fresh(infer->dims, true);
    return TORT_OK;
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

/* State while inferring the shapes of one node. */
typedef struct walk {
    tort_infer *infer;
    const tort_trips *trips;
    tort_info *in, *out; /* inputs and outputs of the body */
    tort_dim length;     /* of scanned inputs along their axes */
    tort_dim batch;      /* entries of axis 0, the batch of Scan-8 */
} walk;

/* Entry i of a list attribute; 0 where it is absent or shorter. */
static int64_t listed(const walk *w, const char *name, int32_t i) {
    int32_t count;
    const int64_t *list = tort_attr_ints(w->infer->node, name, &count);
    return i < count ? list[i] : 0;
}

/* Drops known contents, which hold for one trip only. */
static void forget_contents(tort_info *info) {
    info->elements = NULL;
    info->element_count = 0;
    info->data = NULL;
    info->constant = false;
}

static void give_counter(walk *w) {
    w->in[0] = (tort_info){.type = TORT_INT64, .nest = -1};
    w->in[1] = (tort_info){.type = TORT_BOOL, .nest = -1};
}

/* Removes an axis from a shape of known rank; its size is stored in *length unless that is known already. */
static void drop_axis(tort_info *info, int32_t axis, tort_dim *length) {
    if (!tort_dim_known(*length)) *length = info->dims[axis];
    info->rank--;
    for (int32_t d = axis; d < info->rank; d++) info->dims[d] = info->dims[d + 1];
}

static tort_status add_axis(const walk *w, tort_info *info, int64_t at, tort_dim length) {
    int32_t axis;
    if (info->rank == TORT_MAX_RANK)
        return tort_fail(w->infer->error, TORT_E_MODEL, "the stacked output would have more than %d dimensions",
                         TORT_MAX_RANK);
    tort_status status = tort_normalize_axis(w->infer->error, at, ++info->rank, &axis);
    if (status) return status;
    for (int32_t d = info->rank - 1; d > axis; d--) info->dims[d] = info->dims[d - 1];
    info->dims[axis] = length;
    return TORT_OK;
}

/* Describes an input as the trips see it: with a batch, one entry of axis 0. */
static tort_status give_entry(walk *w, int32_t input, tort_info *entry) {
    *entry = w->infer->node->inputs[input];
    if (!w->trips->batched) return TORT_OK;
    forget_contents(entry);
    if (entry->rank == 0)
        return tort_fail(w->infer->error, TORT_E_MODEL, "input %d is a scalar; expected a batch in axis 0", (int)input);
    if (entry->rank > 0) drop_axis(entry, 0, &w->batch);
    return TORT_OK;
}

/* Describes the part of scanned input `i` that one trip gets: the input without its axis, or an element of a
 * sequence. */
static tort_status give_part(walk *w, int32_t i, tort_info *part) {
    const tort_trips *t = w->trips;
    const tort_info *input = &w->infer->node->inputs[t->scanned_first + i];
    tort_status status = give_entry(w, t->scanned_first + i, part);
    if (status) return status;
    if (t->sequences) {
        if (input->kind != TORT_SEQUENCE) return TORT_OK;
        *part = (tort_info){.type = input->type, .nest = -1, .rank = -1};
        return TORT_OK;
    }
    if (part->rank < 0) return TORT_OK;
    int32_t axis;
    status = tort_normalize_axis(w->infer->error, listed(w, "scan_input_axes", i), part->rank, &axis);
    if (!status) drop_axis(part, axis, &w->length);
    return status;
}

/* Describes a carried value. Its contents stay known if the body returns it unchanged, at the same input number. */
static tort_status give_carried(walk *w, int32_t i, int32_t port) {
    const tort_trips *t = w->trips;
    tort_status status = give_entry(w, t->carried_first + i, &w->in[port]);
    const bool same_number = t->carried_first + i == port && !t->batched;
    if (status || !same_number || !tort_body_passes(w->infer, t->body[0], port, (t->asks ? 1 : 0) + i))
        forget_contents(&w->in[port]);
    return status;
}

static tort_status give_inputs(walk *w) {
    const tort_trips *t = w->trips;
    int32_t at = 0;
    if (t->counted) give_counter(w), at = 2;
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && t->carries && i < t->results; i++) status = give_carried(w, i, at++);
    for (int32_t i = 0; !status && i < t->scanned; i++) {
        status = give_part(w, i, &w->in[at]);
        forget_contents(&w->in[at++]);
    }
    return status;
}

static tort_status call_body(walk *w, int32_t body) {
    return tort_infer_body(w->infer, w->trips->body[body], w->in, given_to_body(w->trips), w->out);
}

/* Finds shapes of carried values that hold in every trip: the outputs of a trip are the inputs of the next one.
 * Dimensions that differ become unknown, in the second round the whole shape, so that the third is the last. */
static tort_status infer_carried(walk *w) {
    const tort_trips *t = w->trips;
    tort_info *carried = w->in + (t->counted ? 2 : 0), *results = w->out + (t->asks ? 1 : 0);
    for (int32_t round = 0; round < 3; round++) {
        bool settled = true;
        tort_status status = call_body(w, 0);
        for (int32_t i = 0; !status && i < t->results; i++) {
            const tort_info before = carried[i];
            status = unite(w->infer, "carried value", i, &carried[i], &results[i]);
            if (round == 1 && !tort_same_dims(&before, &carried[i])) carried[i].rank = -1;
            settled &= tort_same_dims(&before, &carried[i]) || before.rank < 0;
        }
        if (status || settled) return status;
    }
    return TORT_OK;
}

/* Infers a branch that may never run. If it does not fit the shapes, it is refused only when it runs, since exporters
 * leave branches for other shapes; then it tells nothing of the outputs. */
static tort_status call_either(walk *w, int32_t body, bool *fits) {
    tort_error *outer = w->infer->error;
    tort_error own = {.node = -1};
    w->infer->error = &own;
    tort_status status = call_body(w, body);
    w->infer->error = outer;
    *fits = status != TORT_E_MODEL;
    if (!*fits) tort_infer_refuses(w->infer, w->trips->body[body], &own);
    if (!*fits) return TORT_OK;
    if (status && outer) *outer = own;
    return status;
}

/* If: infers one branch where the condition is known, else both and unites their outputs. */
static tort_status infer_choice(walk *w) {
    const tort_trips *t = w->trips;
    const tort_info *choice = &w->infer->node->inputs[t->choice];
    if (choice->data) return call_body(w, *(const uint8_t *)choice->data ? 0 : 1);
    if (choice->element_count && tort_elements_known(choice)) return call_body(w, choice->elements[0].value ? 0 : 1);
    bool fits;
    tort_status status = call_either(w, 0, &fits);
    if (status || !fits) return status ? status : call_body(w, 1);
    tort_info *first = tort_arena_array(w->infer->arena, (size_t)t->results + 1, sizeof *first);
    if (!first) return tort_out_of_memory(w->infer->error, 0);
    memcpy(first, w->out, (size_t)t->results * sizeof *first);
    status = call_either(w, 1, &fits);
    for (int32_t i = 0; !status && i < t->results; i++) {
        if (fits) status = unite(w->infer, "output", i, &first[i], &w->out[i]);
        w->out[i] = first[i];
    }
    return status;
}

static tort_status stack(walk *w, int32_t i, const tort_info *part) {
    const tort_trips *t = w->trips;
    tort_info stacked = *part;
    if (t->sequences) {
        tort_infer_value(w->infer, t->results + i, tort_sequence_type(tort_tensor_type(part->type)));
        return TORT_OK;
    }
    forget_contents(&stacked);
    tort_status status = TORT_OK;
    if (part->rank >= 0) status = add_axis(w, &stacked, listed(w, "scan_output_axes", i), w->length);
    if (!status && part->rank >= 0 && t->batched) status = add_axis(w, &stacked, 0, w->batch);
    if (status) return status;
    if (t->results + i < w->infer->node->output_count) w->infer->outputs[t->results + i] = stacked;
    return TORT_OK;
}

static tort_status give_outputs(walk *w) {
    const tort_trips *t = w->trips;
    const int32_t first = t->asks ? 1 : 0, carried = t->counted ? 2 : 0;
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < t->results && i < w->infer->node->output_count; i++) {
        tort_info *output = &w->infer->outputs[i];
        *output = t->carries ? w->in[carried + i] : w->out[first + i];
        if (output->kind == TORT_OPTIONAL) *output = w->out[first + i]; /* see unite */
        forget_contents(output);
        if (t->batched && output->rank >= 0) status = add_axis(w, output, 0, w->batch);
    }
    for (int32_t i = 0; !status && i < t->stacked; i++) status = stack(w, i, &w->out[first + t->results + i]);
    return status;
}

static tort_status infer_trips(tort_infer *infer, const tort_trips *trips) {
    const size_t in = (size_t)given_to_body(trips) + 1;
    const size_t out = (size_t)(trips->asks ? 1 : 0) + (size_t)trips->results + (size_t)trips->stacked + 1;
    walk w = {.infer = infer, .trips = trips};
    w.length = tort_dim_fresh(infer->dims, true);
    w.batch = tort_dim_fresh(infer->dims, true);
    w.in = tort_arena_array(infer->arena, in, sizeof *w.in);
    w.out = tort_arena_array(infer->arena, out, sizeof *w.out);
    if (!w.in || !w.out) return tort_out_of_memory(infer->error, (in + out) * sizeof *w.in);
    tort_status status = give_inputs(&w);
    if (!status) status = trips->choice >= 0 ? infer_choice(&w) : trips->carries ? infer_carried(&w) : call_body(&w, 0);
    return status ? status : give_outputs(&w);
}

/* ---- If ---------------------------------------------------------------------------------------------------------- */

static void if_trips(const tort_node_view *node, tort_trips *t) {
    no_trips(t);
    t->body[0] = body_of(node, "then_branch");
    t->body[1] = body_of(node, "else_branch");
    t->choice = 0;
    t->results = node->output_count;
}

static tort_status if_infer(tort_infer *infer) {
    tort_trips t = {0};
    if_trips(infer->node, &t);
    tort_status status = tort_check_single(infer->node, 0, "cond", infer->error);
    if (!status) status = check_body(infer->node, &t, t.body[0], infer->error);
    if (!status) status = check_body(infer->node, &t, t.body[1], infer->error);
    return status ? status : infer_trips(infer, &t);
}

static tort_status if_resolve(tort_resolve *resolve) {
    if_trips(resolve->node, resolve->params);
    return TORT_OK;
}

/* ---- Call, of the domain tinyort: an If without a condition ------------------------------------------------------ */

static void call_trips(const tort_node_view *node, tort_trips *t) {
    no_trips(t);
    t->body[0] = body_of(node, "body");
    t->results = node->output_count;
}

static tort_status call_infer(tort_infer *infer) {
    tort_trips t = {0};
    call_trips(infer->node, &t);
    tort_status status = check_body(infer->node, &t, t.body[0], infer->error);
    return status ? status : infer_trips(infer, &t);
}

static tort_status call_resolve(tort_resolve *resolve) {
    call_trips(resolve->node, resolve->params);
    return TORT_OK;
}

/* ---- Loop -------------------------------------------------------------------------------------------------------- */

static void loop_trips(const tort_node_view *node, tort_trips *t) {
    no_trips(t);
    t->body[0] = body_of(node, "body");
    t->limit = tort_has_input(node, 0) ? 0 : -1;
    t->condition = tort_has_input(node, 1) ? 1 : -1;
    t->counted = t->asks = t->carries = true;
    t->carried_first = 2;
    t->results = own_inputs(node) > 2 ? own_inputs(node) - 2 : 0;
    t->stacked = tort_body_outputs(node, t->body[0]) - 1 - t->results;
}

static tort_status loop_infer(tort_infer *infer) {
    tort_trips t = {0};
    loop_trips(infer->node, &t);
    if (t.stacked < 0)
        return tort_fail(infer->error, TORT_E_MODEL, "its body returns fewer values than the loop carries, %d",
                         (int)t.results);
    tort_status status = tort_check_single(infer->node, 0, "M", infer->error);
    if (!status) status = tort_check_single(infer->node, 1, "cond", infer->error);
    if (!status) status = check_body(infer->node, &t, t.body[0], infer->error);
    return status ? status : infer_trips(infer, &t);
}

static tort_status loop_resolve(tort_resolve *resolve) {
    loop_trips(resolve->node, resolve->params);
    return TORT_OK;
}

/* ---- Scan -------------------------------------------------------------------------------------------------------- */

static void scan_trips(const tort_node_view *node, tort_trips *t) {
    no_trips(t);
    const int64_t scanned = tort_attr_int(node, "num_scan_inputs");
    const int32_t inputs = own_inputs(node);
    t->body[0] = body_of(node, "body");
    t->scanned = scanned >= 0 && scanned <= inputs ? (int32_t)scanned : inputs;
    t->carries = true;
    t->carried_first = 0;
    t->results = t->scanned_first = inputs - t->scanned;
    t->stacked = tort_body_outputs(node, t->body[0]) - t->results;
}

/* Checks a list attribute with an entry for each of `count` values; empty or absent, all are 0. Directions are 0 or
 * 1. */
static tort_status check_list(const tort_node_view *node, const char *name, bool directions, int32_t count,
                              const char *values, tort_error *error) {
    int32_t given;
    const int64_t *list = tort_attr_ints(node, name, &given);
    if (given && given != count)
        return tort_fail(error, TORT_E_MODEL, "%s has %d entries, expected one for each of the %d %s", name, (int)given,
                         (int)count, values);
    for (int32_t i = 0; directions && i < given; i++)
        if (list[i] != 0 && list[i] != 1)
            return tort_fail(error, TORT_E_MODEL, "%s has %lld; expected 0 (forward) or 1 (backward)", name,
                             (long long)list[i]);
    return TORT_OK;
}

static tort_status check_lists(const tort_node_view *node, const tort_trips *t, tort_error *error) {
    const char *in = "values that are scanned", *out = "values that are stacked";
    tort_status status = check_list(node, "scan_input_axes", false, t->scanned, in, error);
    if (!status) status = check_list(node, "scan_input_directions", true, t->scanned, in, error);
    if (!status) status = check_list(node, "scan_output_axes", false, t->stacked, out, error);
    if (!status) status = check_list(node, "scan_output_directions", true, t->stacked, out, error);
    return status;
}

/* Checks num_scan_inputs and the body, and that states and scanned inputs, from input `first` on, are present. */
static tort_status check_scan(const tort_node_view *node, const tort_trips *t, int32_t first, tort_error *error) {
    const int64_t scanned = tort_attr_int(node, "num_scan_inputs");
    if (scanned < 1 || scanned > own_inputs(node) - first)
        return tort_fail(error, TORT_E_MODEL, "num_scan_inputs is %lld, the node has %d inputs", (long long)scanned,
                         (int)own_inputs(node));
    if (t->stacked < 0)
        return tort_fail(error, TORT_E_MODEL, "its body returns fewer values than the scan carries, %d",
                         (int)t->results);
    for (int32_t i = first; i < own_inputs(node); i++)
        if (!tort_has_input(node, i))
            return tort_fail(error, TORT_E_MODEL, "input %d is missing; only Scan-8 has one that may be", (int)i);
    return check_body(node, t, t->body[0], error);
}

static tort_status scan_infer(tort_infer *infer) {
    tort_trips t = {0};
    scan_trips(infer->node, &t);
    tort_status status = check_scan(infer->node, &t, 0, infer->error);
    if (!status) status = check_lists(infer->node, &t, infer->error);
    return status ? status : infer_trips(infer, &t);
}

static tort_status scan_resolve(tort_resolve *resolve) {
    tort_trips *t = resolve->params;
    scan_trips(resolve->node, t);
    t->input_axes = tort_resolve_list(resolve, "scan_input_axes");
    t->input_directions = tort_resolve_list(resolve, "scan_input_directions");
    t->output_axes = tort_resolve_list(resolve, "scan_output_axes");
    t->output_directions = tort_resolve_list(resolve, "scan_output_directions");
    return TORT_OK;
}

/* Scan-8: axis 0 is the batch, axis 1 the sequence, whose length in each entry is given by sequence_lens. */
static void batched_scan_trips(const tort_node_view *node, tort_trips *t) {
    scan_trips(node, t);
    t->batched = true;
    t->lengths = tort_has_input(node, 0) ? 0 : -1;
    t->carried_first = 1;
    t->results = t->results > 0 ? t->results - 1 : 0;
    t->stacked = tort_body_outputs(node, t->body[0]) - t->results;
}

static tort_status batched_scan_infer(tort_infer *infer) {
    const tort_node_view *node = infer->node;
    tort_trips t = {0};
    batched_scan_trips(node, &t);
    tort_status status = check_scan(node, &t, 1, infer->error);
    const char *in = "values that are scanned";
    if (!status) status = check_list(node, "directions", true, t.scanned, in, infer->error);
    if (!status && t.lengths == 0 && node->inputs[0].rank >= 0 && node->inputs[0].rank != 1)
        status = tort_fail(infer->error, TORT_E_MODEL, "sequence_lens has rank %d, expected 1", node->inputs[0].rank);
    return status ? status : infer_trips(infer, &t);
}

static tort_status batched_scan_resolve(tort_resolve *resolve) {
    tort_trips *t = resolve->params;
    batched_scan_trips(resolve->node, t);
    t->input_directions = tort_resolve_list(resolve, "directions");
    return TORT_OK;
}

/* ---- SequenceMap ------------------------------------------------------------------------------------------------- */

static void map_trips(const tort_node_view *node, tort_trips *t) {
    no_trips(t);
    t->body[0] = body_of(node, "body");
    t->scanned_first = 0;
    t->scanned = own_inputs(node);
    t->stacked = tort_body_outputs(node, t->body[0]);
    t->sequences = true;
}

static tort_status map_infer(tort_infer *infer) {
    tort_trips t = {0};
    map_trips(infer->node, &t);
    tort_status status = check_body(infer->node, &t, t.body[0], infer->error);
    return status ? status : infer_trips(infer, &t);
}

static tort_status map_resolve(tort_resolve *resolve) {
    map_trips(resolve->node, resolve->params);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define IF_ROW(SINCE, UNTIL, V)                                                                                        \
    {                                                                                                                  \
        "", "If", SINCE, UNTIL, "cond:bool", "outputs+:V", "V=" V, "then_branch:graph! else_branch:graph!",            \
            .flags = TORT_OP_CONTROL, .params_size = sizeof(tort_trips), .infer = if_infer, .resolve = if_resolve      \
    }
#define LOOP_ROW(SINCE, UNTIL, V)                                                                                      \
    {                                                                                                                  \
        "", "Loop", SINCE, UNTIL, "M?:int64 cond?:bool v_initial+:V", "v_final_and_scan_outputs+:V", "V=" V,           \
            "body:graph!", .flags = TORT_OP_CONTROL, .params_size = sizeof(tort_trips), .infer = loop_infer,           \
                           .resolve = loop_resolve                                                                     \
    }
#define SCAN_ROW(SINCE, UNTIL, V)                                                                                      \
    {                                                                                                                  \
        "", "Scan", SINCE, UNTIL, "initial_state_and_scan_inputs+:V", "final_state_and_scan_outputs+:V", "V=" V,       \
            "body:graph! num_scan_inputs:int! scan_input_axes:ints scan_input_directions:ints scan_output_axes:ints "  \
            "scan_output_directions:ints",                                                                             \
            .flags = TORT_OP_CONTROL | TORT_OP_LISTS, .params_size = sizeof(tort_trips), .infer = scan_infer,          \
            .resolve = scan_resolve                                                                                    \
    }

#define VALUES13 "all|seq(all)"
#define VALUES16 "all13|seq(all13)|optional(all13)|optional(seq(all13))"
#define VALUES19(ALL) ALL "|seq(" ALL ")|optional(" ALL ")|optional(seq(all13))"

const tort_op tort_ops_control_flow[] = {
    IF_ROW(1, 10, "all"),
    IF_ROW(11, 12, "all"),
    IF_ROW(13, 15, VALUES13),
    IF_ROW(16, 18, VALUES16),
    IF_ROW(19, 20, VALUES19("all19")),
    IF_ROW(21, 22, VALUES19("all21")),
    IF_ROW(23, 23, VALUES19("all23")),
    IF_ROW(24, 24, VALUES19("all24")),
    IF_ROW(25, TORT_NEWEST_OPSET, VALUES19("all25")),
    {"tinyort", "Call", 1, 1, "", "outputs+:V", "V=" VALUES19("all28"), "body:graph!", .flags = TORT_OP_CONTROL,
     .params_size = sizeof(tort_trips), call_infer, call_resolve},
    LOOP_ROW(1, 10, "all"),
    LOOP_ROW(11, 12, "all"),
    LOOP_ROW(13, 15, VALUES13),
    LOOP_ROW(16, 18, VALUES16),
    LOOP_ROW(19, 20, VALUES19("all19")),
    LOOP_ROW(21, 22, VALUES19("all21")),
    LOOP_ROW(23, 23, VALUES19("all23")),
    LOOP_ROW(24, 24, VALUES19("all24")),
    LOOP_ROW(25, TORT_NEWEST_OPSET, VALUES19("all25")),
    {"", "Scan", 8, 8, "sequence_lens?:int64 initial_state_and_scan_inputs+:V", "final_state_and_scan_outputs+:V",
     "V=all", "body:graph! num_scan_inputs:int! directions:ints", .flags = TORT_OP_CONTROL | TORT_OP_LISTS,
     .params_size = sizeof(tort_trips), batched_scan_infer, batched_scan_resolve},
    SCAN_ROW(9, 10, "all"),
    SCAN_ROW(11, 15, "all"),
    SCAN_ROW(16, 18, "all13"),
    SCAN_ROW(19, 20, "all19"),
    SCAN_ROW(21, 22, "all21"),
    SCAN_ROW(23, 23, "all23"),
    SCAN_ROW(24, 24, "all24"),
    SCAN_ROW(25, TORT_NEWEST_OPSET, "all25"),
    {"", "SequenceMap", 17, TORT_NEWEST_OPSET, "input_sequence:S additional_inputs+:V", "out_sequence+:S",
     "S=seq(all) V=all|seq(all)", "body:graph!", .flags = TORT_OP_CONTROL, .params_size = sizeof(tort_trips), map_infer,
     map_resolve},
    {0},
};
