/* plan.h - a plan is plain data: steps over slots, with indices and offsets instead of pointers.
 *
 * So it can be printed, compared and saved; plan_check.c checks it before it runs. A step names its node, and the
 * session's placement gives the kernel. plan.c makes plans, memplan.c alone chooses offsets, run.c executes them. */
#ifndef TORT_RUNTIME_PLAN_PLAN_H
#define TORT_RUNTIME_PLAN_PLAN_H

#include "runtime/include/bands.h"
#include "runtime/include/provider.h"
#include "runtime/include/tinyort_profile.h"

/* Owner of the bytes of a slot. */
typedef enum tort_home {
    TORT_HOME_ARENA,    /* the context's arena of that memory, at `offset` */
    TORT_HOME_INPUT,    /* the caller's tensor number `source` */
    TORT_HOME_OUTPUT,   /* the caller's buffer of output `output`; in a compiled model only */
    TORT_HOME_CONSTANT, /* the session's constant of that value */
    TORT_HOME_LITERAL,  /* the plan's literals, at `offset`: integers that the input shapes determine */
    TORT_HOME_UPLOADED, /* as ARENA, a copy of the literal of slot `source`, made when the context takes the plan */
    TORT_HOME_ALIAS,    /* slot `source`, under another shape */
    TORT_HOME_DYNAMIC,  /* allocated by its step, as the size depends on data; limited by dynamic_limit */
    TORT_HOME_OBJECT    /* a tort_value in host memory that its step makes: no tensor, or a tensor taken out of one */
} tort_home;

/* A value in one memory of the session (0 is host memory) and one layout (0 is plain; others belong to that memory). */
typedef struct tort_slot {
    int32_t value, memory, layout;
    tort_home home;
    int32_t source;
    tort_type type;
    int32_t rank;
    int64_t dims[TORT_MAX_RANK]; /* -1: not known before the run */
    int64_t bytes;               /* -1: not known before the run */
    int64_t line_bytes; /* of the line buffer that holds some rows at a time, see runtime/firmware/bands; 0: none */
    uint64_t offset;
    int32_t within;         /* the slot that contains these bytes, all or a part of its own, see plan_share.c; -1 */
    uint64_t within_offset; /* from the begin of `within` */
    bool strided;           /* read only by strides, see plan_strides.c: aligned to its element, not to a vector */
    int32_t first_step, last_step; /* lifetime, inclusive; covers the aliases of the slot */
    int32_t output;                /* the model output that owns these bytes exclusively; -1 */
} tort_slot;

static inline bool tort_in_arena(const tort_slot *slot) {
    return slot->home == TORT_HOME_ARENA || slot->home == TORT_HOME_UPLOADED;
}

/* Bytes that the slot takes in its arena. */
static inline int64_t tort_placed_bytes(const tort_slot *slot) {
    return slot->line_bytes ? slot->line_bytes : slot->bytes;
}

typedef enum tort_step_kind {
    TORT_STEP_KERNEL,
    TORT_STEP_COPY,   /* from one memory to another; one input, one output */
    TORT_STEP_ALIAS,  /* gives input 0 another shape; moves no bytes */
    TORT_STEP_SHAPE,  /* writes metadata (Shape, Size) of a live value into host memory */
    TORT_STEP_VIEW,   /* a kernel's step that need not run: its outputs share the bytes of its inputs */
    TORT_STEP_CALL,   /* runs the bodies of a node */
    TORT_STEP_CONVERT /* between plain and a layout, within one memory; one input, one output */
} tort_step_kind;

typedef struct tort_step {
    tort_step_kind kind;
    int32_t node;             /* COPY, CONVERT: the node that needs the result; -1: the end of the run */
    int32_t provider;         /* chain index; COPY: whose copy function is called; -1: the executor */
    int32_t memory;           /* KERNEL: the provider's memory, which holds the scratch */
    tort_direction direction; /* COPY */
    bool late;                /* COPY to the host that no step reads: need not be complete before the run ends */
    int32_t operands;         /* index of the first of plan->operands: inputs, then outputs; -1 there: absent */
    int32_t input_count, output_count;
    /* Dynamic steps: index of the first of `shape_count` operands, one per input of the node: host slots of the inputs
     * whose values determine shapes; -1 for others. */
    int32_t shape_operands, shape_count;
    uint64_t params;                        /* offset in planned->params */
    uint64_t scratch_offset, scratch_bytes; /* in the arena of `memory` */
    uint32_t in_place;                      /* KERNEL: inputs, bit i, whose bytes output 0 overwrites */
    tort_overlap overlap;                   /* KERNEL: as its row says */
    bool overlaps;                          /* KERNEL: output 0 may lie over input 0, at these distances */
    tort_rows rows;                         /* KERNEL of a target with bands: as its row says */
    int32_t bands;                          /* KERNEL: 1 + index of the group that it is part of; 0: none */
    bool dynamic;                           /* inferred and resolved during the run, since sizes depend on data */
    bool values;                            /* KERNEL: some operand is not a tensor, so all outputs are tort_values */
} tort_step;

/* Consecutive steps that work in bands of rows, layer by layer (bands.h). They have one time: what lives in one of them
 * lives in all. */
typedef struct tort_band_steps {
    int32_t first, count; /* steps */
    int32_t input;        /* the slot that the last step's output may lie over, at these distances; -1: none */
    tort_overlap overlap;
    bool overlaps; /* it does */
    tinyort_layer layers[TINYORT_LAYERS];
} tort_band_steps;

struct tort_frame;
struct tort_plan;
struct tort_planned;

/* runtime/firmware/bands: the code of steps in bands of rows, which only providers with targets of little memory name,
 * so that others do not link it. */
typedef struct tort_banding {
    /* Chooses steps for bands in a plan that is laid out without, to lower the peak of its memory. Afterwards the plan
     * shares nothing. */
    tort_status (*choose)(struct tort_planned *planned, tort_error *error);
    bool (*is_sound)(const struct tort_plan *plan, int32_t bands);
    /* Changes the frame's operands of a step to those of a band, which begin at its first row. */
    void (*place)(const struct tort_frame *frame, const tort_step *step, const tinyort_band *band);
    /* Runs the steps of a group by `run`, one band at a time. *step: its first one; after an error the one that
     * failed. */
    tort_status (*run)(struct tort_frame *frame, const tort_step **step,
                       tort_status (*run)(struct tort_frame *frame, const tort_step *step, const tinyort_band *band,
                                          tort_error *error),
                       tort_error *error);
} tort_banding;

typedef struct tort_plan {
    bool complete; /* all input shapes are known: the plan can run */
    tort_slot *slots;
    tort_step *steps;
    int32_t *operands;
    int32_t *input_slots, *output_slots; /* by port of the model */
    uint8_t *literals;
    tort_band_steps *bands;
    const tort_banding *banding; /* NULL: no step may work in bands */
    int32_t slot_count, step_count, operand_count, input_count, output_count, band_count;
    int32_t node_count, value_count;  /* of the graph, to check indices against */
    tort_recording recording;         /* whether `recorder` may record a run of the plan as one piece of device work */
    int32_t recorder, recording_node; /* recorder: chain index; -1: none records. recording_node: the node that prevents
                                         it; -1: none, or an output */
    int32_t recorded_steps;           /* the first steps, which it may record; all of a whole run */
    uint64_t literal_bytes, params_bytes;
    int32_t memory_count, provider_count, layout_count; /* layout_count includes plain */
    uint64_t *arena_bytes;                              /* by memory: bytes needed, from memplan.c */
    uint64_t *naive_bytes;                              /* by memory: bytes needed if no two blocks shared any */
} tort_plan;

/* True for steps that are work of a device only. */
static inline bool tort_step_is_work(const tort_step *step) {
    return step->kind == TORT_STEP_KERNEL || step->kind == TORT_STEP_CONVERT ||
           (step->kind == TORT_STEP_COPY && step->direction == TORT_ON_DEVICE);
}

/* The slot that owns the bytes of a slot: itself, or through aliases the one that they are another shape of. -1: of -1.
 */
static inline int32_t tort_plan_owner(const tort_plan *plan, int32_t slot) {
    while (slot >= 0 && plan->slots[slot].home == TORT_HOME_ALIAS) slot = plan->slots[slot].source;
    return slot;
}

/* Bytes that an output over an input saves, at the distances that the kernel allows. */
static inline int64_t tort_overlap_saves(const tort_overlap *overlap, const tort_slot *input, const tort_slot *output) {
    const int64_t in = input->bytes, out = output->bytes;
    const int64_t up = overlap->below + in > out ? overlap->below + in : out;
    const int64_t down = overlap->rise + out > in ? overlap->rise + out : in, both = up < down ? up : down;
    return both < in + out ? in + out - both : 0;
}

/* The time of a step: its number, or that of the first step of its group. */
static inline int32_t tort_step_time(const tort_plan *plan, int32_t step) {
    const int32_t bands = step >= 0 && step < plan->step_count ? plan->steps[step].bands : 0;
    return bands ? plan->bands[bands - 1].first : step;
}

/* The last step of that time. */
static inline int32_t tort_step_end(const tort_plan *plan, int32_t step) {
    const int32_t bands = step >= 0 && step < plan->step_count ? plan->steps[step].bands : 0;
    return bands ? plan->bands[bands - 1].first + plan->bands[bands - 1].count - 1 : step;
}

/* Assigns offsets to blocks, see memplan.c, and returns the bytes needed. Blocks may share bytes if their lifetimes are
 * disjoint; sizes are rounded up to `align`, a power of two. UINT64_MAX: overflow, or out of memory. hint: what the
 * search among like blocks has found before, 0: nothing; then less is searched, for a little more memory. */
typedef struct tort_block {
    uint64_t bytes, offset; /* offset: the result */
    int32_t first, last;
    int32_t over; /* 1 + the index of a block that this one may overlap, as tort_overlap says; 0: none */
    int64_t below, rise;
} tort_block;

uint64_t tort_memory_plan(const tort_env *env, tort_block *blocks, int32_t count, uint64_t align, uint32_t *hint);
/* Assigns offsets below fast_bytes, a multiple of `align`, to the blocks of a fast memory of that size, and offsets
 * from there on to all others, see memsplit.c. Returns the end of all. UINT64_MAX: overflow, or out of memory. */
uint64_t tort_memory_split(const tort_env *env, tort_block *blocks, int32_t count, uint64_t align, uint64_t fast_bytes);

/* Checks all that run.c trusts: operands, shapes, bounds, and that no two live blocks overlap. */
tort_status tort_plan_check(const tort_env *env, const tort_plan *plan, tort_error *error);
/* Parts of tort_plan_check: all that does not depend on sizes; shapes and bounds; overlap. */
tort_status tort_plan_check_steps(const tort_plan *plan, tort_error *error);
tort_status tort_plan_check_sizes(const tort_plan *plan, tort_error *error);
tort_status tort_plan_check_overlap(const tort_env *env, const tort_plan *plan, tort_error *error);

#endif
