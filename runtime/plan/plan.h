/* plan.h - a plan is plain data: steps over slots, indices and offsets, no pointers.
 *
 * It can be printed, compared, saved; plan_check.c guards it before it runs. Kernels are named by node: the session's
 * placement binds them. plan.c makes it, memplan.c alone gives offsets, run.c follows it. */
#ifndef TORT_RUNTIME_PLAN_PLAN_H
#define TORT_RUNTIME_PLAN_PLAN_H

#include "runtime/provider.h"
#include "runtime/tinyort_profile.h"

/* Where the bytes of a slot are. */
typedef enum tort_home {
    TORT_HOME_ARENA,    /* at `offset` of the context's arena of that memory */
    TORT_HOME_INPUT,    /* the caller's tensor number `source` */
    TORT_HOME_CONSTANT, /* the session's constant of that value */
    TORT_HOME_LITERAL,  /* at `offset` of the plan's literals: integers that the shapes determine */
    TORT_HOME_UPLOADED, /* at `offset` of that arena: the literal of slot `source`, there since the context has the plan
                         */
    TORT_HOME_ALIAS,    /* the bytes of slot `source` under another shape */
    TORT_HOME_DYNAMIC,  /* size depends on data: allocated by its step, within the session's limit */
    TORT_HOME_OBJECT    /* a value in host memory that its step makes: no tensor, or a tensor out of one */
} tort_home;

/* A value in one memory of the session (0 is host memory) and one layout (0 is plain; others are of that memory). */
typedef struct tort_slot {
    int32_t value, memory, layout;
    tort_home home;
    int32_t source;
    tort_type type;
    int32_t rank;
    int64_t dims[TORT_MAX_RANK]; /* -1: not known before the run */
    int64_t bytes;               /* -1: not known before the run */
    uint64_t offset;
    int32_t within;                /* a slot of whose bytes these are all or a part, see plan_share.c; -1 */
    uint64_t within_offset;        /* from the begin of that one */
    bool strided;                  /* only read by strides, see plan_strides.c: aligned to an element, not to vectors */
    int32_t first_step, last_step; /* life time, both included, through aliases too */
    int32_t output;                /* the output of the model whose bytes these are, and no other's; -1 */
} tort_slot;

static inline bool tort_in_arena(const tort_slot *slot) {
    return slot->home == TORT_HOME_ARENA || slot->home == TORT_HOME_UPLOADED;
}

typedef enum tort_step_kind {
    TORT_STEP_KERNEL,
    TORT_STEP_COPY,   /* between memories; one input, one output */
    TORT_STEP_ALIAS,  /* output 0 is input 0 under another shape */
    TORT_STEP_SHAPE,  /* metadata of a live value, in host memory */
    TORT_STEP_VIEW,   /* a kernel's step with nothing to do: the bytes of its outputs are those of its inputs */
    TORT_STEP_CALL,   /* runs the bodies of a node */
    TORT_STEP_CONVERT /* from plain into a layout, or back, in one memory; one input, one output */
} tort_step_kind;

typedef struct tort_step {
    tort_step_kind kind;
    int32_t node;             /* COPY, CONVERT: the node that needs it, -1: the end of the run */
    int32_t provider;         /* chain index; COPY: whose copy function moves the bytes; -1: the executor */
    int32_t memory;           /* KERNEL: the provider's, where its scratch is */
    tort_direction direction; /* COPY */
    bool late;                /* COPY to the host that no step reads: it is there when the run ends */
    int32_t operands;         /* first in plan->operands: inputs, then outputs; -1 in there: absent */
    int32_t input_count, output_count;
    /* Dynamic: the first of `shape_count` (the node's inputs; 0: none) host slots for values that determine shapes. */
    int32_t shape_operands, shape_count;
    uint64_t params;                        /* offset of the operator's params */
    uint64_t scratch_offset, scratch_bytes; /* in the arena of `memory` */
    uint32_t in_place;                      /* KERNEL: inputs, bit i, that output 0 is written over */
    bool dynamic;                           /* infers and resolves while running */
    bool values;                            /* KERNEL: an operand is no tensor; it makes values */
} tort_step;

typedef struct tort_plan {
    bool complete; /* every input shape is known: it can run */
    tort_slot *slots;
    tort_step *steps;
    int32_t *operands;
    int32_t *input_slots, *output_slots; /* where they are bound; in the order of the model's ports */
    uint8_t *literals;
    int32_t slot_count, step_count, operand_count, input_count, output_count;
    int32_t node_count, value_count;  /* of the graph that indices refer to */
    tort_recording recording;         /* of runs, by the provider `recorder` of the chain, -1: none */
    int32_t recorder, recording_node; /* the node that is in the way of it; -1: none is, or an output */
    uint64_t literal_bytes, params_bytes;
    int32_t memory_count, provider_count, layout_count; /* layouts with the plain one */
    uint64_t *arena_bytes;                              /* a memory: what memplan.c came to */
    uint64_t *naive_bytes;                              /* a memory: if nothing shared its place */
} tort_plan;

/* Offsets for blocks with life times, best fit in the better of some orders; returns the bytes needed. Pure, and tested
 * alone. Blocks whose times do not meet may share bytes; their sizes are rounded up to `align`, a power of two.
 * UINT64_MAX on overflow, or where the planner itself finds no memory. */
typedef struct tort_block {
    uint64_t bytes, offset; /* offset is the result */
    int32_t first, last;
} tort_block;

uint64_t tort_memory_plan(const tort_env *env, tort_block *blocks, int32_t count, uint64_t align);

/* Bounds, life times that overlap in one place, operands, shapes. Everything run.c trusts. */
tort_status tort_plan_check(const tort_env *env, const tort_plan *plan, tort_error *error);
/* Its parts: what does not depend on sizes; then shapes and bounds; then overlap. */
tort_status tort_plan_check_steps(const tort_plan *plan, tort_error *error);
tort_status tort_plan_check_sizes(const tort_plan *plan, tort_error *error);
tort_status tort_plan_check_overlap(const tort_env *env, const tort_plan *plan, tort_error *error);

#endif
