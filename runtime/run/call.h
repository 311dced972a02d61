/* call.h - what call.c and stack.c share of one call of a node's bodies. Private to runtime/run. */
#ifndef TORT_RUNTIME_RUN_CALL_H
#define TORT_RUNTIME_RUN_CALL_H

#include "runtime/run/context.h"

typedef struct tort_caller {
    tort_frame *outer, *body;
    const tort_step *step;
    const tort_trips *trips;
    tort_trip *trip;
    const tort_node *node;
    int64_t count;                         /* of trips, at most */
    int64_t length;                        /* of what is stacked, where it is known before */
    int64_t batch, batches;                /* which entry of axis 0 the trips are for, and how many there are */
    int32_t counted, asks, carried, owned; /* of the body's ports: counters, condition, carried, inputs but captured */
    tort_frame_runner *run;
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

/* An entry of axis 0, which is rank 1 or more, in host memory. */
tort_tensor tort_call_entry(const tort_tensor *whole, int64_t number);
/* Input i, which is there, as the trips see it: of a batch, one entry. */
tort_tensor tort_call_operand(const tort_caller *c, int32_t i);

static inline int64_t listed(const tort_trips *t, tort_list list, int32_t i) {
    return i < list.count ? ((const int64_t *)tort_list_at(t, list))[i] : 0;
}

static inline int32_t axis_of(int64_t axis, int32_t rank) {
    return (int32_t)(axis < 0 ? axis + rank : axis);
}

/* Blocks of one part of a tensor along an axis: `rows` of `bytes`, `stride` apart. */
typedef struct blocks {
    size_t rows, bytes, stride;
} blocks;

tort_status tort_call_blocks(const tort_caller *c, const tort_tensor *whole, int32_t axis, blocks *b);

/* ---- what the body leaves ---------------------------------------------------------------------------------------- */

static inline bool is_tensor(const tort_caller *c, int32_t port) {
    return c->body->lowered->infos[c->body->lowered->graph.outputs[port]].kind == TORT_TENSOR;
}

/* Where the body leaves an output. */
static inline const tort_tensor *left_by_body(const tort_caller *c, int32_t port) {
    if (c->trip->outputs[port].data) return &c->trip->outputs[port];
    return &c->body->tensors[c->body->planned->plan.output_slots[port]];
}

tort_status tort_call_copy(const tort_caller *c, int32_t memory, void *to, const void *from, size_t bytes);

/* stack.c: what a trip made, into what is stacked; when all are made, what was not known before becomes an output. */
tort_status tort_stack_parts(const tort_caller *c);
tort_status tort_stack_finish(const tort_caller *c);
/* What the last trip made, or would have gone into the first, becomes the results. */
tort_status tort_call_results(const tort_caller *c);
tort_status tort_call_results_of_none(const tort_caller *c);

#endif
