/* call.h - shared by call.c and stack.c: one call of a node's bodies. Private to runtime/run. */
#ifndef TORT_RUNTIME_RUN_CALL_H
#define TORT_RUNTIME_RUN_CALL_H

#include "runtime/core/run/context.h"

typedef struct tort_caller {
    tort_frame *outer, *body;
    const tort_step *step;
    const tort_trips *trips;
    tort_trip *trip;
    const tort_node *node;
    int64_t count;                         /* maximum number of trips */
    int64_t length;                        /* of stacked outputs along their axis, if known before the trips */
    int64_t batch, batches;                /* present entry of axis 0, and number of entries */
    int32_t counted, asks, carried, owned; /* of the body's ports; owned: inputs but captured */
    tort_error *error;
} tort_caller;

/* ---- operands of the node ---------------------------------------------------------------------------------------- */

static inline int32_t operand_slot(const tort_caller *c, int32_t i) {
    return c->outer->planned->plan.operands[c->step->operands + i];
}

static inline int32_t result_slot(const tort_caller *c, int32_t i) {
    return i < c->step->output_count ? operand_slot(c, c->step->input_count + i) : -1;
}

static inline const tort_value *operand_value(const tort_caller *c, int32_t i) {
    const int32_t slot = operand_slot(c, i);
    return slot < 0 ? NULL : tort_frame_value(c->outer, slot);
}

static inline int32_t own_inputs(const tort_caller *c) {
    return c->node->input_count - c->node->captured;
}

/* Entry `number` of axis 0 of a tensor in host memory; its rank must be at least 1. */
tort_tensor tort_call_entry(const tort_tensor *whole, int64_t number);
/* Input i, which must exist, as the trips see it: of a batch only the present entry. */
tort_tensor tort_call_operand(const tort_caller *c, int32_t i);

static inline int64_t listed(const tort_trips *t, tort_list list, int32_t i) {
    return i < list.count ? ((const int64_t *)tort_list_at(t, list))[i] : 0;
}

static inline int32_t axis_of(int64_t axis, int32_t rank) {
    return (int32_t)(axis < 0 ? axis + rank : axis);
}

/* The bytes of one part of a tensor along an axis: `rows` blocks of `bytes` each, `stride` apart. */
typedef struct blocks {
    size_t rows, bytes, stride;
} blocks;

tort_status tort_call_blocks(const tort_caller *c, const tort_tensor *whole, int32_t axis, blocks *b);

/* ---- outputs of the body ----------------------------------------------------------------------------------------- */

static inline bool is_tensor(const tort_caller *c, int32_t port) {
    return c->body->lowered->infos[c->body->lowered->graph.outputs[port]].kind == TORT_TENSOR;
}

/* The tensor that the body made for an output. */
static inline const tort_tensor *left_by_body(const tort_caller *c, int32_t port) {
    if (c->trip->outputs[port].data) return &c->trip->outputs[port];
    return &c->body->tensors[c->body->planned->plan.output_slots[port]];
}

tort_status tort_call_copy(const tort_caller *c, int32_t memory, void *to, const void *from, size_t bytes);

/* stack.c: adds the parts that a trip made to the stacked outputs; at the end makes outputs of those
 * whose length was unknown. */
tort_status tort_stack_parts(const tort_caller *c);
tort_status tort_stack_finish(const tort_caller *c);
/* Makes the results: from the last trip; without any trip, from what the first one would have got. */
tort_status tort_call_results(const tort_caller *c);
tort_status tort_call_results_of_none(const tort_caller *c);

#endif
