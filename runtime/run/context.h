/* context.h - what run.c, frame.c, outputs.c and dynamic.c share of a context. Private to runtime/. */
#ifndef TORT_RUNTIME_RUN_CONTEXT_H
#define TORT_RUNTIME_RUN_CONTEXT_H

#include "runtime/lowered/lowered.h"
#include "runtime/graph/text.h"
#include "runtime/graph/value.h"
#include "runtime/tinyort_profile.h"
#include "runtime/plan/planned.h"

typedef struct tort_region {
    uint8_t *base;
    size_t bytes;
} tort_region;

#define TORT_MAX_SPARES 16

/* A region that no value uses now. */
typedef struct tort_spare {
    tort_region region;
    int32_t memory;
} tort_spare;

/* Bytes of the caller. */
typedef struct tort_buffer {
    uintptr_t begin, end;
    int32_t memory, port; /* an output, or -1 - an input */
} tort_buffer;

struct tort_context;

/* What the calls of a body go through, see call.c; an entry for each input, or output, of the body. */
typedef struct tort_trip {
    tort_tensor *inputs, *outputs;
    const tort_value **input_values;
    tort_tensor *parts;   /* the shape of what is stacked, from the first trip */
    tort_value **held;    /* a carried value that is no tensor, or a sequence that is stacked; a reference each */
    tort_region *carried; /* two an output: what went into this trip, and what goes into the next */
    tort_region *stacked; /* what is stacked while its length is not known */
    tort_region *scanned; /* a part that does not lie in one piece */
    int64_t number;       /* of the trip */
    bool going;
} tort_trip;

/* How large the tables of a frame are, or must be for a plan. */
typedef struct tort_table_sizes {
    size_t slots, operands, infos, params; /* params in bytes */
} tort_table_sizes;

/* One graph of the session while it runs: the tables of one plan, and the memory of its values. */
typedef struct tort_frame {
    struct tort_context *context;
    tort_lowered *lowered;
    tort_region *arenas;     /* a memory: values and scratch of the plan */
    tort_planned *planned;   /* the plan of the run; held, or owned where the session has upper bounds */
    tort_table_sizes tables; /* of the members below, which it fits into */
    tort_tensor *tensors;    /* a slot */
    tort_value **values;     /* a slot: the value that it is where its home is OBJECT; a new reference each; NULL */
    const tort_value *const *input_values; /* the caller's, while a run goes on; NULL: all inputs are tensors */
    const tort_value **operand_values;     /* of the step that runs */
    tort_value **made_values;              /* of the step that runs */
    tort_tensor *operands;                 /* of the step that runs */
    int32_t widest;
    const tort_tensor *outputs; /* the caller's, while a run goes on */
    bool *direct;               /* an output: written straight into the caller's buffer */
    const void **seen;          /* an input, then an output, of the main graph: the pointer that was good there last */
    tort_buffer *buffers;       /* room for every input and output, to hold them against each other */
    /* For steps whose shapes depend on data; see dynamic.c. */
    tort_region *dynamic;  /* a slot: what its step allocated */
    int32_t dynamic_count; /* regions and values now held */
    uint8_t *params;       /* of the dynamic step that runs, params_bytes of the largest operator */
    void *fitted;          /* of the dynamic step that runs */
    size_t params_bytes;
    tort_info *infos; /* 2 * widest: inputs and outputs of the step that runs */
    tort_trip *trip;  /* of a body: what its calls go through; NULL for the main graph */
} tort_frame;

struct tort_context {
    tort_session *session;
    tort_env env; /* the application's, counted in the account: apart from that of the session */
    tort_account account;
    tort_env value_env; /* of values: the application's and in no account, for they may outlive context and session */
    tort_arena arena;   /* what lives as long as the context */
    void **streams;     /* a memory: of its owner, for all providers that share it */
    tort_device_calls *calls; /* a memory: of the last run; while one goes on, those of the stream before it */
    tort_frame *frames;       /* a graph of the session: 0 is the main one */
    bool moved;               /* a bound input or output, since runs were offered for recording */
    /* What was offered last: a plan, and the arena of its device. */
    uint64_t offered;
    const void *offered_arena;
    int32_t entered, entered_from; /* while a run goes on: the link whose device is current, -1: none; its enter's */
    struct tort_text *text;
    size_t *capacities;    /* a main output: bytes of the caller's buffer, TORT_NO_CAPACITY; owned; NULL: of none */
    bool too_small;        /* a buffer was, in the run that goes on */
    atomic_bool cancelled; /* by the application, from any thread; a run takes it back when it ends */
    tort_observer observer;
    void *observer_ud;
    tort_profiler profiler;
    void *profiler_ud;
    bool profiles_work;
    int64_t profiled;       /* nanoseconds of the steps that were told since the one around them began */
    uint64_t dynamic_bytes; /* of all regions for values whose shape depends on data, spare ones included */
    tort_spare spares[TORT_MAX_SPARES];
    int32_t spare_count;
    tort_region *scratch; /* a memory: of steps whose shapes depend on data */
};

/* frame.c: the length of a table with an entry for every input and output, never 0; sizing for a plan; what its tables
 * take of the allocator, and the arena in host memory. */
size_t tort_frame_ports(const tort_lowered *lowered);
size_t tort_frame_bytes(const tort_plan *plan, const tort_lowered *lowered);
size_t tort_arena_bytes(const tort_plan *plan);
tort_status tort_frame_open(tort_frame *frame, tort_context *context, tort_lowered *lowered, tort_error *error);
void tort_frame_close(tort_frame *frame);
tort_status tort_frame_choose_plan(tort_frame *frame, const tort_tensor *inputs, tort_error *error);
tort_status tort_frame_adopt(tort_frame *frame, tort_planned *planned, tort_error *error);
/* Gives the frame a plan of its own, and the memory for the upper bounds of the session. */
tort_status tort_frame_reserve(tort_frame *frame, tort_error *error);
/* What a slot holds that is no tensor; NULL: it is one. Borrowed. */
const tort_value *tort_frame_value(const tort_frame *frame, int32_t slot);

/* run.c: makes the device of this link the thread's current one, -1: gives back what was there; it changes with the
 * provider of a step, not with every step. */
void tort_context_enter(tort_context *context, int32_t link);

/* run.c: the params with which a step's kernel runs. */
const void *tort_frame_params(const tort_frame *frame, const tort_step *step);
/* Runs the graph; what it leaves in the frame is there until the next run of the frame. Of the main graph the buffers
 * in host memory are not filled yet. */
tort_status tort_frame_run(tort_frame *frame, const tort_tensor *inputs, const tort_value *const *input_values,
                           const tort_tensor *outputs, tort_error *error);
typedef tort_status tort_frame_runner(tort_frame *frame, const tort_tensor *inputs,
                                      const tort_value *const *input_values, const tort_tensor *outputs,
                                      tort_error *error);

/* call.c: runs the bodies of a step by `run`, and makes its outputs. */
tort_status tort_call_bodies(tort_frame *frame, const tort_step *step, tort_frame_runner *run, tort_error *error);

/* convert.c: from plain into a layout of the session, or back, on the context's stream; for the node of that index, -1.
 */
tort_status tort_frame_convert(const tort_frame *frame, int32_t layout, bool to_plain, const tort_tensor *from,
                               const tort_tensor *to, int32_t node, tort_error *error);

/* observe.c: shows the context's observer what a step made. */
tort_status tort_frame_observe(const tort_frame *frame, const tort_step *step, tort_error *error);

/* profile.c: the time; tells the context's profiler of a step that began then. */
int64_t tort_profile_now(void);
void tort_profile_tell(tort_frame *frame, const tort_step *step, int64_t begin);

/* profile.c: before a run and after it, so that context->calls has what it asked for. */
void tort_profile_begin_calls(tort_context *context);
void tort_profile_end_calls(tort_context *context);

/* trip.c: what the frame of a body has more. Open is false where memory is out; release lets go of the values that are
 * held. */
bool tort_trip_open(tort_frame *frame);
void tort_trip_release(tort_frame *body);
void tort_trip_close(tort_frame *frame);

/* outputs.c: takes the caller's buffers for the slots that they stand for, before the first step; gives such a slot its
 * place (NULL: memory of the context) when its size comes out only while running; fills the other buffers at the end,
 * those on devices while these are at work, those in host memory when they were waited for; tells where the outputs are
 * that had none. */
tort_status tort_outputs_bind(tort_frame *frame, const tort_tensor *inputs, const tort_tensor *outputs,
                              tort_error *error);
void *tort_outputs_place(const tort_frame *frame, int32_t slot, size_t bytes);
tort_status tort_outputs_fill(tort_frame *frame, const tort_tensor *outputs, bool host, tort_error *error);
void tort_outputs_lend(const tort_frame *frame, tort_tensor *outputs);
/* Types and shapes of the outputs whose buffers have a capacity, as far as they are known. */
void tort_outputs_tell(const tort_frame *frame, tort_tensor *outputs);

/* dynamic.c: steps whose shapes depend on data. */
tort_status tort_dynamic_prepare(tort_frame *frame, const tort_step *step, tort_error *error);
void tort_dynamic_unfit(tort_frame *frame, const tort_step *step); /* after the step, also if it failed */
tort_status tort_dynamic_shape(tort_frame *frame, const tort_step *step, tort_error *error);
void tort_dynamic_free_unread(tort_frame *frame, int32_t step_index);
void tort_dynamic_free_all(tort_frame *frame); /* regions become spare, values are released */
/* Gives a slot this type and shape, and memory where its plan could not; TORT_E_RUN where the plan says another shape.
 */
tort_status tort_dynamic_place(tort_frame *frame, int32_t slot, const tort_tensor *shape, tort_error *error);
/* Memory for a value whose size depends on data, within the session's limit; pair with free. */
tort_status tort_region_alloc(tort_context *context, int32_t memory, size_t bytes, tort_region *region,
                              tort_error *error);
void tort_region_free(tort_context *context, int32_t memory, tort_region *region);
void tort_dynamic_drain(tort_context *context); /* spare regions are given back */

#endif
