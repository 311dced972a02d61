/* context.h - structures of a context, shared by run.c, frame.c, outputs.c and dynamic.c. Private to runtime/. */
#ifndef TORT_RUNTIME_RUN_CONTEXT_H
#define TORT_RUNTIME_RUN_CONTEXT_H

#include "runtime/core/base/watch.h"
#include "runtime/core/lowered/lowered.h"
#include "runtime/core/graph/text.h"
#include "runtime/core/graph/value.h"
#include "runtime/include/tinyort_profile.h"
#include "runtime/core/plan/planned.h"
#include "runtime/core/run/held.h"

typedef struct tort_region {
    uint8_t *base;
    size_t bytes;
} tort_region;

#define TORT_MAX_SPARES 16

/* An allocated region that no value uses now, kept for reuse. */
typedef struct tort_spare {
    tort_region region;
    int32_t memory;
} tort_spare;

/* A byte range of the caller. */
typedef struct tort_buffer {
    uintptr_t begin, end;
    int32_t memory, port; /* port: an output i, or -1 - i for input i */
} tort_buffer;

struct tort_context;

/* State of the calls of a body, see call.c; arrays by input, or by output, of the body. */
typedef struct tort_trip {
    tort_tensor *inputs, *outputs;
    const tort_value **input_values;
    tort_tensor *parts;   /* by stacked output: the shape of a part, from the first trip */
    tort_value **held;    /* carried values that are not tensors, and sequences being stacked; one reference each */
    tort_region *carried; /* two by output: one for this trip's input, one for the next trip's */
    tort_region *stacked; /* stacked parts while the length is unknown */
    tort_region *scanned; /* scanned parts that are not contiguous in their tensor */
    int64_t number;       /* of the present trip, from 0 */
    bool going;
} tort_trip;

/* Sizes of the tables of a frame, or those that a plan needs. */
typedef struct tort_table_sizes {
    size_t slots, operands, infos, params; /* params: bytes */
} tort_table_sizes;

/* The state of one graph while it runs: tables for one plan, and memory for its values. */
typedef struct tort_frame {
    struct tort_context *context;
    tort_lowered *lowered;
    tort_region *arenas;                   /* by memory: values and scratch of the plan */
    tort_planned *planned;                 /* the plan of the run: held, or owned if the session has upper bounds */
    tort_table_sizes tables;               /* allocated sizes of the members below */
    tort_tensor *tensors;                  /* by slot */
    tort_value **values;                   /* by slot: the value of an OBJECT; one reference each; NULL: none */
    const tort_value *const *input_values; /* the caller's, during a run; NULL: all inputs are tensors */
    const tort_value **operand_values;     /* of the running step */
    tort_value **made_values;              /* of the running step */
    tort_tensor *operands;                 /* of the running step */
    int32_t widest;
    const tort_tensor *outputs; /* the caller's, during a run */
    bool *direct;               /* by output: written straight into the caller's buffer */
    const void **seen;          /* main graph, by input, then output: the last pointer that passed the check */
    tort_buffer *buffers;       /* capacity for all inputs and outputs, to compare them with each other */
    /* For steps whose shapes depend on data, see dynamic.c. */
    tort_region *dynamic;  /* by slot: allocated by its step */
    int32_t dynamic_count; /* number of regions and values held now */
    uint8_t *params;       /* of the running dynamic step; params_bytes are enough for any operator of the graph */
    void *fitted;          /* of the running dynamic step */
    size_t params_bytes;
    tort_info *infos; /* 2 * widest: inputs and outputs of the running step */
    tort_trip *trip;  /* bodies: state of its calls; NULL for the main graph */
    void **states;    /* by node: what an engine has of a segment for this context; NULL: none */
} tort_frame;

typedef tort_status tort_step_run(tort_frame *frame, const tort_step *step, tort_error *error);

/* A run that was offered for recording: its plan with that one's serial, the arena on the device, the pointers of bound
 * ports. */
typedef struct tort_offer {
    uint64_t serial, turn; /* turn: the count of offers at its last run; 0: none yet */
    const tort_planned *planned;
    int32_t first; /* steps from this one on are recorded; those before differ from fill to fill (plan_changes.c) */
    const void *arena;
    const void **bound; /* by input, then output, of the main graph */
} tort_offer;

/* Copies between host and device of a run, and their bytes. */
typedef struct tort_staged {
    int32_t copies;
    size_t bytes;
} tort_staged;

/* View of a value that an observer asks for: none, its elements in the order of its layout, which costs no conversion,
 * or in the tensor's own order. */
typedef enum tort_look { TORT_LOOK_AWAY, TORT_LOOK_ANY_ORDER, TORT_LOOK_PLAIN } tort_look;

struct tort_context {
    tort_session *session;
    tort_env env; /* the application's, with memory counted in `account`, separately from the session */
    tort_account account;
    tort_env value_env; /* for values and text: counted in `held`, as values may outlive context and session */
    tort_held *held;
    tort_arena arena;         /* for data that lives as long as the context */
    void **streams;           /* by memory: opened by its owner, used by all providers that share the memory */
    tort_staged *staged;      /* by memory: the most that was announced to its owner */
    tort_device_calls *calls; /* by memory: counts of the last run; during a run the counts before it */
    tort_frame *frames;       /* by graph of the session: 0 is the main graph */
    tort_offer offers[TORT_RECORDINGS];
    uint64_t turns;                /* runs offered for recording */
    int32_t entered, entered_from; /* in a run: link whose device is current, -1: none; result of its enter */
    struct tort_text *text;
    size_t *capacities; /* by output of the main graph: bytes of the caller's buffer, TORT_NO_CAPACITY; owned; NULL:
                           none is set */
    bool too_small;     /* in this run a buffer was too small */
    tort_watch watch;   /* of the run; cancelled by the application, from any thread */
    uint64_t trips;     /* of all loops of the run */
    /* Code of observers and profilers is reached through the context, so that a program without them does not link
     * it. observe: shows the outputs of a step. tell: runs a step, unless `run` is NULL, and tells the profiler how
     * long it took; step NULL: a graph begins. NULL: nobody looks. */
    tort_status (*observe)(const struct tort_frame *frame, const tort_step *step, tort_error *error);
    tort_status (*tell)(struct tort_frame *frame, const tort_step *step, tort_step_run *run, tort_error *error);
    tort_observer observer;
    tort_look (*observer_look)(void *ud, const char *value); /* NULL: it sees every value in plain */
    void *observer_ud;
    tort_region shown; /* room for a value in plain, kept from value to value; empty when nobody looks */
    int32_t shown_memory;
    tort_profiler profiler;
    void *profiler_ud;
    bool profiles_work;
    int64_t told_until; /* the clock at the end of the newest step told, or at the beginning of its graph */
    int64_t profiled;   /* nanoseconds of nested steps told since the surrounding step began */
    tort_spare spares[TORT_MAX_SPARES];
    int32_t spare_count;
    tort_region *scratch; /* by memory: scratch of steps whose shapes depend on data */
};

/* frame.c. tort_frame_ports: length of arrays by input and output, never 0. tort_frame_bytes: bytes of a frame's tables
 * for a plan. tort_arena_bytes: bytes of its arena in host memory. */
size_t tort_frame_ports(const tort_lowered *lowered);
size_t tort_frame_bytes(const tort_plan *plan, const tort_lowered *lowered);
size_t tort_arena_bytes(const tort_plan *plan);
tort_status tort_frame_open(tort_frame *frame, tort_context *context, tort_lowered *lowered, tort_error *error);
void tort_frame_close(tort_frame *frame);
tort_status tort_frame_choose_plan(tort_frame *frame, const tort_tensor *inputs, tort_error *error);
tort_status tort_frame_adopt(tort_frame *frame, tort_planned *planned, tort_error *error);
/* Gives the frame its own plan, and memory for the session's upper bounds. */
tort_status tort_frame_reserve(tort_frame *frame, tort_error *error);
/* The value of a slot that is not a tensor; NULL: it is a tensor. Borrowed. */
const tort_value *tort_frame_value(const tort_frame *frame, int32_t slot);
/* The params for a step's kernel. */
const void *tort_frame_params(const tort_frame *frame, const tort_step *step);

/* observe.c: after tort_context_observe, restricts it to what `look`, with the same `ud`, says of a value: the others
 * are neither converted nor copied. */
void tort_context_observe_some(tort_context *context, tort_look (*look)(void *ud, const char *value));

/* run.c: makes the link's device current for the thread; -1: restores the previous one. Cheap if the device does not
 * change: most steps have the same provider. */
void tort_context_enter(tort_context *context, int32_t link);
/* Calls measure of a dynamic step's kernel. */
tort_status tort_frame_measure(tort_frame *frame, const tort_step *step, tort_info *outputs, tort_error *error);
/* Runs the graph. Its results stay in the frame until the frame's next run. For the main graph buffers in host
 * memory are not filled yet. */
tort_status tort_frame_run(tort_frame *frame, const tort_tensor *inputs, const tort_value *const *input_values,
                           const tort_tensor *outputs, tort_error *error);

/* convert.c: converts between plain and a layout, on the context's stream; node: index for errors, or -1. */
tort_status tort_frame_convert(const tort_frame *frame, int32_t layout, bool to_plain, const tort_tensor *from,
                               const tort_tensor *to, int32_t node, tort_error *error);

/* state.c: begins and ends what engines have of the frame's segments; ends runs of them, from any thread. */
tort_status tort_states_open(tort_frame *frame, tort_error *error);
void tort_states_close(tort_frame *frame);
void tort_states_cancel(const tort_frame *frame);

/* profile.c: called before and after a run, to count its device calls in context->calls. */
void tort_profile_begin_calls(tort_context *context);
void tort_profile_end_calls(tort_context *context);

/* trip.c: allocates and frees frame->trip of a body. Open: false if out of memory; release drops the values held. */
bool tort_trip_open(tort_frame *frame);
void tort_trip_release(tort_frame *body);
void tort_trip_close(tort_frame *frame);

/* outputs.c. tort_outputs_bind: before the first step, lets slots use the caller's buffers where that is
 * safe. tort_outputs_place: the buffer for a slot whose size was unknown; NULL: none, use memory of the
 * context. tort_outputs_fill: at the end copies into the remaining buffers: those on devices (host false)
 * before, those in host memory after the devices were waited for. tort_outputs_lend: points outputs without
 * a buffer to the context's memory. */
tort_status tort_outputs_bind(tort_frame *frame, const tort_tensor *inputs, const tort_tensor *outputs,
                              tort_error *error);
void *tort_outputs_place(const tort_frame *frame, int32_t slot, size_t bytes);
tort_status tort_outputs_fill(tort_frame *frame, const tort_tensor *outputs, bool host, tort_error *error);
void tort_outputs_lend(const tort_frame *frame, tort_tensor *outputs);
/* Stores types and shapes, as far as known, of outputs whose buffers have a capacity. */
void tort_outputs_tell(const tort_frame *frame, tort_tensor *outputs);

/* dynamic.c: steps whose shapes depend on data. */
tort_status tort_dynamic_prepare(tort_frame *frame, const tort_step *step, tort_error *error);
void tort_dynamic_unfit(tort_frame *frame, const tort_step *step); /* to be called after the step, even if it failed */
tort_status tort_dynamic_shape(tort_frame *frame, const tort_step *step, tort_error *error);
void tort_dynamic_free_unread(tort_frame *frame, int32_t step_index);
void tort_dynamic_free_all(tort_frame *frame); /* regions become spares, values are released */
/* Gives a slot this type and shape, and memory if its plan could not; TORT_E_RUN if the plan has another shape. */
tort_status tort_dynamic_place(tort_frame *frame, int32_t slot, const tort_tensor *shape, tort_error *error);
/* Allocates memory for a value whose size depends on data, within the session's limit; pair with tort_region_free. */
tort_status tort_region_alloc(tort_context *context, int32_t memory, size_t bytes, tort_region *region,
                              tort_error *error);
void tort_region_free(tort_context *context, int32_t memory, tort_region *region);
void tort_dynamic_drain(tort_context *context); /* frees all spares */

#endif
