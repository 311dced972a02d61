/* session_state.h - what the parts of the core share of a session. Private to runtime/.
 *
 * A session runs a graph of its own: each graph of the model, bodies included, is lowered into one tort_lowered, which
 * holds all that the session knows of it. One writer per fact: chain.c opens providers and tells memories apart,
 * lower.c copies graphs, fold.c sets `folded`, place.c alone sets where a unit runs, segment.c and fuse.c join units of
 * one provider, layout.c sets the layouts of their operands, prepare.c fills prepared and constants, bind.c says where
 * inputs and outputs are, plan.c makes plans, report.c only reads. */
#ifndef TORT_RUNTIME_PLAN_SESSION_STATE_H
#define TORT_RUNTIME_PLAN_SESSION_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/graph/infer.h"
#include "runtime/pattern.h"
#include "runtime/plan/plan.h"
#include "runtime/base/threads.h"

/* ---- chain ------------------------------------------------------------------------------------------------------- */

typedef struct tort_library_state {
    bool asked, found;
    char message[160], cure[160]; /* found: the message is its version */
} tort_library_state;

typedef struct tort_link {
    tort_provider_config config;
    const tort_provider *provider; /* NULL: no provider of that name in this build */
    void *device;
    bool opened;
    bool described; /* a target without a device */
    tort_target target;
    tort_condition condition;
    atomic_bool *lost;                  /* the session's */
    int32_t memory;                     /* index into the session's memories */
    int32_t first_layout, layout_count; /* of the session's layouts those of the provider */
    tort_library_state libraries[TORT_LIBRARY_COUNT];
} tort_link;

/* Bytes that somebody can address: 0 is host memory, each other one of a device, and that of all providers of the chain
 * that say they can address it. The first of them to open it allocates, copies and opens streams for all. */
typedef struct tort_memory {
    tort_link *owner; /* of the host's, whose limit holds; NULL: no provider of the chain */
    char space[TORT_SPACE_NAME];
} tort_memory;

/* A layout of a provider of the chain. Its place among the session's is its number in slots and units. */
typedef struct tort_chain_layout {
    const tort_layout *layout; /* NULL: plain, the first */
    tort_link *link;           /* whose kernels read it, in whose memory it is; of plain NULL */
} tort_chain_layout;

/* ---- units ------------------------------------------------------------------------------------------------------- */

enum { TORT_AT_HOST = -1, TORT_AT_FOLDED = -2, TORT_AT_NOWHERE = -3, TORT_AT_FUSED = -4 };

typedef struct tort_said {
    int32_t provider; /* chain index */
    const char *kernel;
    tort_verdict_code code;
    const char *message, *cure;
    const char *fusion; /* that was refused; NULL: the unit itself was */
    bool segment;       /* of the unit as a part of a segment */
    int32_t root;       /* UPSTREAM: the unit at fault; -1 */
} tort_said;

/* Nodes that one kernel runs together. Shapes are inferred node by node as ever, so they stay in the graph; what plan
 * and run see in the place of the last is `node`. */
typedef struct tort_segment {
    tort_node node;                 /* reads and makes what its parts read from outside and make for outside */
    const int32_t *parts;           /* nodes of the graph, in its order */
    const int32_t *values;          /* values of the graph, in the order of those of the segment */
    const tort_segment_node *nodes; /* as its kernel sees the parts, but for params */
    const int32_t *outputs;         /* values of the segment */
    int32_t part_count, value_count;
    bool last_pinned; /* the last part, whose unit became that of all */
} tort_segment;

/* What becomes of a node of the lowered graph, the node of the same index. A unit that a fusion made stands where the
 * last of its nodes stood; the others are TORT_AT_FUSED and do nothing. The parts of a segment likewise, but that plans
 * infer the shapes of all of them. */
typedef struct tort_unit {
    int32_t provider; /* chain index, or TORT_AT_... */
    const tort_kernel *kernel;
    const char *label; /* what reports show as the kernel */
    const tort_said *said;
    int32_t said_count;
    bool folded;  /* by fold.c, before place.c looks */
    bool asked;   /* fused away, or unread, but what folding knows depends on the shape of its output */
    bool pinned;  /* by an option, to `pin` */
    int32_t pin;  /* chain index */
    void *params; /* resolved with what is known while placing; in the session's arena; NULL: none */
    size_t scratch_bytes;
    size_t packed_bytes; /* of kernel->pack_size */
    uint32_t consumed;   /* inputs that are in there */
    void *packed;        /* in the session's block, or owned, in a device's memory; NULL before pack.c */
    bool mapped;         /* packed is where a saved plan is mapped: not owned */
    void *prepared;      /* of kernel->prepare */
    const int32_t *from; /* nodes of the model's graph that this one is made of, in order; NULL: itself alone */
    int32_t from_count;
    const tort_segment *segment;            /* it is, or is part of; NULL */
    int32_t layout;                         /* of the session's: of these operands; all others are plain */
    uint32_t layout_inputs, layout_outputs; /* bits, as in its kernel's row */
} tort_unit;

/* ---- constants --------------------------------------------------------------------------------------------------- */

/* Contents that never change: a weight, what folding made of it, or what a fusion derives of another constant whenever
 * somebody acquires it. Values of several graphs can have the same. */
typedef struct tort_constant {
    const char *name; /* of a value that has it; borrowed */
    int32_t weight;   /* the model's; -1: folded or derived */
    void *folded;     /* owned, aligned; NULL */
    size_t bytes;
    const void *host; /* while held in host memory for running; NULL */
    bool held;        /* host is an acquired weight */
    int32_t source;   /* derived: the constant that it is made of; else -1 */
    tort_derive *derive;
    const void *derive_arg; /* in the session's arena */
    void *derived;          /* owned, aligned; while somebody holds it, NULL */
    int32_t holds;
    void **device; /* per memory (index 1..): where it was uploaded to; NULL array until needed */
} tort_constant;

#define TORT_SMALL_CONSTANT 4096 /* bytes; a folded constant of no more is never dropped */

/* All constants that a device reads, one behind another: one allocation of it. */
typedef struct tort_upload {
    uint8_t *base; /* owned; NULL */
    size_t bytes, used;
} tort_upload;

/* ---- plans ------------------------------------------------------------------------------------------------------- */

/* The part of a plan that does not depend on sizes, see plan_steps.c: shared by plans that know the same of every
 * value, and never changed then. */
typedef struct tort_outline {
    struct tort_outline *next;
    bool shared;    /* in the list of its graph, which owns it; else its only plan does, and has its slots and steps */
    bool fits;      /* a static step's kernel has a fit */
    tort_plan plan; /* without shapes, sizes and places */
    const uint8_t *known; /* a value of the graph: what is known of it, see plan_parts.h */
    int32_t slot_capacity, step_capacity, operand_capacity;
    tort_arena arena;
} tort_outline;

/* A plan and the memory that it is made in. It can be made again for other input shapes: then it keeps that memory, and
 * takes more only where it is too small. */
typedef struct tort_planned {
    struct tort_lowered *lowered; /* the graph it is of */
    const tort_env *env;          /* the session's, or of the context whose own it is */
    struct tort_planned *next;
    int32_t users;   /* contexts that hold it; under the session's lock */
    bool ready;      /* it is whole, and fitted; else it is for no input shapes */
    uint64_t serial; /* another one each time that it is made, of all plans of the session */
    bool usual; /* the input shapes are as the session knows them, and rules were asked only where they had to be */
    bool kept;  /* what stands of the plan before: whatever does not depend on open dimensions */
    tort_outline *outline;
    const tort_outline *sized;        /* for which the tables stand; NULL: for none */
    const struct tort_planned *bound; /* whose places it takes where nothing is larger than there; NULL */
    tort_plan plan;                   /* operands and ports are the outline's; literals are owned */
    tort_pass pass;
    tort_info *infos;      /* concrete, value_count */
    uint8_t *known;        /* a value: see plan_parts.h */
    tort_scalar *scalars;  /* evaluated elements of infos */
    int64_t *sizes;        /* of all expressions of the session, while they are evaluated */
    uint8_t *params;       /* resolved params of static steps, plan.params_bytes */
    int64_t *input_dims;   /* TORT_MAX_RANK a model input: what it was made for */
    void **fitted;         /* a step: of kernel->fit; NULL: nothing */
    void *shapes, *tables; /* what the arrays above are in; owned */
    size_t shapes_bytes, tables_bytes, literals_bytes;
    tort_dims dims;
    tort_arena arena;
} tort_planned;

/* ---- a lowered graph --------------------------------------------------------------------------------------------- */

/* When a plan asks a node for its shapes, see plan_shapes.c. */
typedef enum tort_asked {
    TORT_ASKED_ALWAYS,
    TORT_ASKED_AFRESH, /* only where what the session knows, or can evaluate, is not enough */
    TORT_ASKED_NEVER
} tort_asked;

/* All that a session knows of one graph of the model. */
typedef struct tort_lowered {
    tort_session *session;
    tort_graph graph; /* the session's own copy: passes may change its nodes and add values; names are the model's */
    bool lowered;     /* false: a body of a node that never runs, or one that does not fit */
    const tort_error *refused; /* why it does not fit, for when it runs; NULL: it does. In the session's arena */
    tort_unit *units;          /* node_count; in the session's arena, as all that is not said to grow */
    int32_t *order; /* nodes in the order in which units run, where a segment asks for another; NULL: as they stand */
    /* These three and the graph's values grow: value_count, room for graph.value_capacity; owned. */
    tort_info *infos;                      /* types, shapes and small contents, with fixed shapes */
    int32_t *constant_of;                  /* index into the session's constants, -1 */
    int32_t *weights;                      /* the model's weight that the value is, -1 */
    int32_t *input_memory, *output_memory; /* an input, output of the graph: the memory that it is bound to */
    bool *passed;       /* an output of a body: the input of the next trip, which this trip had already */
    int32_t *same_dim;  /* the main graph's: where the symbol of an input's dimension stands first, see inputs.c */
    uint8_t *asked;     /* node_count: a tort_asked */
    bool *final;        /* a value: whatever inputs come, its shape and small contents are what is known here */
    int32_t *evaluated; /* values of which plans evaluate the elements: so many of value_count */
    int32_t evaluated_count;
    size_t evaluated_elements;
    uint8_t *expr_uses;     /* an expression of session->dims: what it is here */
    tort_outline *outlines; /* shared; under the session's lock */
    tort_planned *plans;    /* the one used last first */
    tort_planned *draft;    /* before there is any of them: with shapes that are not known yet; for the report */
    int64_t *most;          /* the main graph's: a dimension of an input: its upper bound, -1; NULL: none is given */
    tort_planned *bound; /* for the upper bounds; then every context has a plan of its own, and there are no others */
} tort_lowered;

struct tort_session {
    tort_env env; /* the application's, counted in the account; parallel_for is set */
    tort_account account;
    tort_pool *pool; /* NULL: the application runs in parallel, or nothing does yet */
    const tort_model *model;
    tort_model *own_model;        /* of a saved plan: owned; NULL */
    struct tort_saved *saved;     /* while it is made out of a saved plan, see saved_format.h; NULL */
    tort_session_options options; /* strings copied into arena */
    tort_arena arena;
    tort_dims dims;
    tort_link *chain;
    int32_t chain_count, memory_count, layout_count;
    tort_memory *memories;
    tort_chain_layout *layouts; /* plain, then those of the chain's providers */
    tort_lowered *graphs;       /* as the model's: 0 is the main graph */
    tort_body *bodies;          /* the same graphs, as passes see them */
    int32_t graph_count;
    tort_constant *constants;
    int32_t constant_count, constant_capacity;
    struct tort_text *text;   /* strings made while folding */
    uint64_t *weight_bytes;   /* a memory: what weights take of it, packed and as they are */
    uint64_t *constant_bytes; /* of these, what is not packed */
    size_t packed_bytes;      /* of the block in host memory, a place for each unit that packs there */
    void *packed;             /* that block; owned; NULL */
    tort_upload *uploads;     /* a memory */
    bool placed;              /* every node has a place: there can be plans */
    tort_status refused;      /* what a strict session ends with, once its plan is complete */
    bool prepared;            /* weights are where nodes read them */
    bool runnable;
    atomic_uint_least64_t plans_made;
    atomic_bool lost;        /* the device: sticky; contexts on several threads set and read it */
    pthread_mutex_t fitting; /* held while kernels are fitted to a plan; taken before `lock` */
    pthread_mutex_t lock;    /* of the lists of plans and outlines; never held for long */
};

/* bodies.c: how a unit of control flow that runs calls its bodies, NULL: it is none; one of them, NULL where it never
 * runs; the memory in which a unit wants an input (-1: it reads it in none), and where a body leaves a result; then all
 * ports of bodies. */
const tort_trips *tort_unit_trips(const tort_lowered *lowered, int32_t unit);
tort_lowered *tort_trips_body(const tort_lowered *lowered, const tort_trips *trips, int32_t which);
int32_t tort_operand_memory(const tort_lowered *lowered, int32_t unit, int32_t input);
int32_t tort_result_memory(const tort_lowered *lowered, int32_t unit, int32_t output);
tort_status tort_bind_bodies(tort_session *session, tort_error *error);

/* lower.c: copies every graph of the model, and gives a value what it holds. */
tort_status tort_lower(tort_session *session, tort_error *error);
void tort_lowered_free(tort_session *session);
/* A value of the graph with these contents from now on: a new constant of the session. `folded` is taken over, also
 * when this fails; weight -1: there is none. False: out of memory. */
bool tort_lowered_settle(tort_lowered *lowered, int32_t value, int32_t weight, void *folded, size_t bytes);
/* Room for so many more values. Moves infos and the arrays beside them. False: out of memory. */
bool tort_lowered_reserve(tort_lowered *lowered, int32_t more);
/* Adds a value that no node makes; the name is borrowed. Moves arrays as well, where no room is left. -1: out of
 * memory. */
int32_t tort_lowered_add_value(tort_lowered *lowered, const char *name, const tort_info *info);
/* A value that was added is derived from the contents of another one. False: out of memory. */
bool tort_lowered_derive(tort_lowered *lowered, int32_t value, int32_t source, tort_derive *derive, const void *arg,
                         size_t bytes);
/* Takes the values from `value_count` on away again, and the constants from `constant_count` on. */
void tort_lowered_drop_values(tort_lowered *lowered, int32_t value_count, int32_t constant_count);
/* Starts a pass over the graph with these infos; pair with tort_pass_free. */
tort_status tort_lowered_pass(const tort_lowered *lowered, tort_pass *pass, tort_info *infos, tort_dims *dims,
                              tort_arena *arena, tort_error *error);
static inline tort_lowered *tort_main_graph(const tort_session *session) {
    return &session->graphs[0];
}
/* What a unit that runs reads and makes: its node, or all of its segment. */
static inline const tort_node *tort_unit_node(const tort_lowered *lowered, int32_t unit) {
    const tort_segment *segment = lowered->units[unit].provider >= 0 ? lowered->units[unit].segment : NULL;
    return segment ? &segment->node : &lowered->graph.nodes[unit];
}
/* Are the params of the node in its unit, for all plans? */
static inline bool tort_is_once(const tort_lowered *lowered, int32_t node) {
    const tort_op *op = lowered->graph.nodes[node].op;
    return op && op->flags & TORT_OP_ONCE;
}
/* The unit that runs at this place of the order, from 0 on. */
static inline int32_t tort_unit_in_order(const tort_lowered *lowered, int32_t place) {
    return lowered->order ? lowered->order[place] : place;
}

/* session.c: the whole planning phase; of `saved`, whose model is then owned, what is left of it. *reportable: the
 * session is there for its report, though this failed. */
tort_status tort_session_open(const tort_env *env, const tort_model *model, const tort_session_options *options,
                              struct tort_saved *saved, tort_session **out, bool *reportable, tort_error *error);

/* choose.c: the outputs that the options name, in place of the model's. */
tort_status tort_choose_outputs(tort_session *session, tort_error *error);

/* What every later call on a session whose device was lost answers. */
tort_status tort_session_lost(tort_error *error);

tort_status tort_chain_open(tort_session *session, tort_error *error);
void tort_chain_close(tort_session *session);
bool tort_listed(const char *list, const char *name);                           /* in "a,b,c"; list may be NULL */
tort_status tort_chain_require(const tort_session *session, tort_error *error); /* --require */
/* Why the provider did not open, as TORT_E_PLACEMENT. */
tort_status tort_link_down(const tort_link *link, tort_error *error);
/* Is the library there? The provider is asked once. */
const tort_library_state *tort_link_library(tort_link *link, tort_library library);
/* The first provider of the chain of that name; NULL: there is none. */
tort_link *tort_link_named(const tort_session *session, const char *name);
/* Bytes of a memory, the host's by `env`. purpose goes into the error, "values". */
tort_status tort_chain_alloc(const tort_session *session, const tort_env *env, int32_t memory, size_t bytes,
                             const char *purpose, void **out, tort_error *error);
void tort_chain_free(const tort_session *session, const tort_env *env, int32_t memory, void *ptr, size_t bytes);

/* link.c: the provider's vtable, with the device made current for the call and given back. Around a kernel's own
 * functions (run, prepare, fit ...) the caller enters and leaves; what enter returns, leave gets. */
int32_t tort_link_enter(const tort_link *link);
void tort_link_leave(const tort_link *link, int32_t before);
tort_status tort_link_noted(const tort_link *link, tort_status status); /* itself; a lost device is noted */
tort_status tort_link_copy(const tort_link *link, void *stream, void *dst, const void *src, size_t bytes,
                           tort_direction direction, tort_error *error);
/* The same where its device is the current one. Then to the host, there when the stream was waited for. */
tort_status tort_link_copy_current(const tort_link *link, void *stream, void *dst, const void *src, size_t bytes,
                                   tort_direction direction, tort_error *error);
tort_status tort_link_copy_late(const tort_link *link, void *stream, void *dst, const void *src, size_t bytes,
                                tort_error *error);
void tort_link_stage(const tort_link *link, void *stream, int32_t copies, size_t bytes);
tort_status tort_link_sync(const tort_link *link, void *stream, tort_error *error);
/* The same where its device is the current one. */
tort_status tort_link_sync_current(const tort_link *link, void *stream, tort_error *error);
tort_status tort_link_stream_open(const tort_link *link, void **stream, tort_error *error);
void tort_link_stream_close(const tort_link *link, void *stream);
void tort_link_calls(const tort_link *link, void *stream, struct tort_device_calls *calls); /* zeros: not counted */
uint32_t tort_link_reach(const tort_link *link, const void *pointer);
void *tort_link_alloc(const tort_link *link, size_t bytes); /* NULL: none; tort_link_alloc_failed says why */
void tort_link_free(const tort_link *link, void *memory, size_t bytes);
/* A call of the provider failed outside of any node: the error names the provider. Returns the status. */
tort_status tort_link_failed(const tort_link *link, tort_status status, tort_error *error);
/* After a step failed and its node was named. A device that runs behind the host may have been lost in any step up to
 * this one, unless each was waited for: then no node is at fault for certain. */
void tort_link_lost_before(const tort_link *link, bool waited, tort_error *error);
/* Why the device gave no memory: it is lost, or has too little of it; the message says how much. */
tort_status tort_link_alloc_failed(const tort_link *link, uint64_t bytes, const char *purpose, tort_error *error);

/* layouts.c: checks the rows of providers that opened, and lists their layouts: after chain.c. Then: can what a row
 * reads and writes in its layout be there; can a value be in this one, which is not plain; bytes of a tensor in one
 * (false: more than can be counted, or it does not fit); from plain into one, or back, where `call` has device, stream,
 * env, node, text and error. */
tort_status tort_layouts_open(tort_session *session, tort_error *error);
tort_verdict tort_layout_claim(const tort_session *session, const tort_link *link, const tort_kernel *row,
                               const tort_node_view *view);
bool tort_layout_fits(const tort_session *session, int32_t layout, const tort_info *info);
bool tort_layout_bytes(const tort_session *session, int32_t layout, const tort_tensor *tensor, size_t *bytes);
tort_status tort_layout_convert(const tort_session *session, int32_t layout, bool to_plain, const tort_tensor *from,
                                const tort_tensor *to, tort_call *call);
/* The layout in which a unit reads an input, or writes an output; 0: plain. */
static inline int32_t tort_input_layout(const tort_unit *unit, int32_t input) {
    return input < 32 && unit->layout_inputs >> input & 1 ? unit->layout : 0;
}
static inline int32_t tort_output_layout(const tort_unit *unit, int32_t output) {
    return output < 32 && unit->layout_outputs >> output & 1 ? unit->layout : 0;
}

/* Evaluates what does not depend on inputs, and marks what shapes determine; bodies too. */
tort_status tort_fold(tort_session *session, tort_error *error);
static inline bool tort_is_constant(const tort_lowered *lowered, int32_t value) {
    return lowered->infos[value].constant;
}
/* Contents of a constant of the session in host memory; pair with release. */
tort_status tort_constant_acquire(const tort_session *session, int32_t constant, const void **data, tort_error *error);
void tort_constant_release(const tort_session *session, int32_t constant);
/* Where a placed unit reads a constant input as it is: in host memory, and in that of its provider (0: no other). */
typedef struct tort_reads {
    bool host;
    int32_t memory;
} tort_reads;

tort_reads tort_constant_reads(const tort_lowered *lowered, int32_t unit, int32_t input);
/* Keeps the weights in host memory that inference looks at for each plan. */
tort_status tort_hold_small_weights(tort_session *session, tort_error *error);
/* What its folded contents, or those derived for somebody, take of the session's allocator now. */
size_t tort_constant_bytes(const tort_constant *constant);
/* Fills weight_bytes and constant_bytes for the units as they are placed. */
tort_status tort_count_weights(tort_session *session, tort_error *error);
/* Weights alone against what each memory may give. */
tort_status tort_check_weights(const tort_session *session, tort_error *error);
/* What one context may take of a memory; UINT64_MAX: there is no limit. */
uint64_t tort_room_for_values(const tort_session *session, int32_t memory);

/* pins.c: what the user wants where; then, whether each of these nodes runs on a provider at all. */
tort_status tort_read_pins(tort_session *session, tort_error *error);
tort_status tort_check_pins(const tort_session *session, tort_error *error);
/* The one function that decides where units run. */
tort_status tort_place(tort_session *session, tort_error *error);
/* A unit cannot stay where it was placed, as the verdict on its segment says: it is offered to the providers behind.
 * `pass` is over its graph. */
tort_status tort_place_onward(tort_lowered *lowered, tort_pass *pass, int32_t unit, const tort_verdict *verdict,
                              tort_error *error);
/* Did a node of the unit come to where it is because a provider before refused it? One that is pinned there did not;
 * one of these operators is excused ("A,B"; NULL: none). */
bool tort_unit_fell_back(const tort_lowered *lowered, int32_t unit, const char *allow);
/* TORT_E_PLACEMENT names every node without a provider. */
tort_status tort_check_placed(const tort_session *session, tort_error *error);
/* segment.c: lets providers that compile several nodes into one have theirs. */
tort_status tort_segment_units(tort_session *session, tort_error *error);
/* unit_view.c: a unit as its kernel sees it, with what is known in the pass, until it is closed or the pass looks at
 * another one. params: of the unit, of a segment those of its parts one behind another; NULL: as they were while
 * placing. Pair with close, also when open fails. */
typedef struct tort_unit_view {
    tort_node_view node;
    tort_info *inputs; /* node.inputs, to write to */
    tort_segment_view segment;
    void *block; /* owned; NULL */
    size_t bytes;
} tort_unit_view;

tort_status tort_unit_view_open(tort_unit_view *view, const tort_lowered *lowered, tort_pass *pass, int32_t unit,
                                const void *params, tort_error *error);
/* The same of a segment, which need not be that of a unit yet. */
tort_status tort_segment_view_open(tort_unit_view *view, const tort_lowered *lowered, const tort_pass *pass,
                                   const tort_segment *segment, const void *params, tort_error *error);
void tort_unit_view_close(tort_unit_view *view, const tort_lowered *lowered);
/* Bytes of the params of a unit in a plan. Where they overflow SIZE_MAX. */
size_t tort_unit_params_bytes(const tort_lowered *lowered, int32_t unit);
/* Resolves the parts of a segment for what is known in the pass into so many bytes, zeroed. */
tort_status tort_segment_resolve(const tort_lowered *lowered, tort_pass *pass, const tort_segment *segment,
                                 void *params, tort_error *error);
/* fuse.c: joins units that are on one provider where it has a kernel for all of them at once. */
tort_status tort_fuse(tort_session *session, tort_error *error);
/* layout.c: gives units the layouts of their operands, and those that would be alone in one another row. */
tort_status tort_layout_units(tort_session *session, tort_error *error);
/* As tort_error_at_node; of a unit that a fusion made it says what it is made of. */
void tort_error_at_unit(tort_error *error, const tort_lowered *lowered, int32_t unit);
/* --strict, --allow. */
tort_status tort_place_strict(const tort_session *session, tort_error *error);

/* bind.c: which memory each input and output is in; later, whether their pointers are: but for those that were `seen`
 * there before, an entry for each input, then for each output. *moved is set where one on a device was not. */
tort_status tort_bind_ports(tort_session *session, tort_error *error);
tort_status tort_check_pointers(const tort_session *session, const tort_tensor *inputs, const tort_tensor *outputs,
                                const void **seen, bool *moved, tort_error *error);
/* Are all inputs and outputs in host memory? */
tort_status tort_check_unbound(const tort_session *session, tort_error *error);

/* pack.c: what packed weights of this size take of the session's block; SIZE_MAX: more than there can be. Then the
 * weights of all units of a graph, packed by their kernels. */
size_t tort_packed_place(size_t bytes);
tort_status tort_pack_open(tort_session *session, tort_error *error);
tort_status tort_pack_units(tort_lowered *lowered, tort_error *error);

/* Packs weights, uploads constants. */
tort_status tort_prepare_all(tort_session *session, tort_error *error);
void tort_release_all(tort_session *session);
/* Lets the kernels of static steps make what the plan's shapes ask for; one plan at a time. */
tort_status tort_fit_plan(tort_planned *planned, tort_error *error);
void tort_unfit_plan(tort_planned *planned);

/* plan_shapes.c: finds out, for every graph, which shape rules a plan has to ask. */
tort_status tort_mark_asked(tort_session *session, tort_error *error);
/* Makes a plan for these input shapes (NULL: as far as the session knows them). Takes no lock for long, and may be
 * called by several threads. */
tort_status tort_plan_make(tort_lowered *lowered, const tort_tensor *inputs, tort_planned **planned, tort_error *error);
/* The same plan, but every shape rule is asked and nothing is shared with another plan: slower, and what tests hold
 * the first against. */
tort_status tort_plan_make_afresh(tort_lowered *lowered, const tort_tensor *inputs, tort_planned **planned,
                                  tort_error *error);
void tort_planned_free(tort_planned *planned); /* NULL is allowed */
/* A plan that is not ready yet, in memory of `env`. */
tort_status tort_planned_open(tort_lowered *lowered, const tort_env *env, tort_planned **planned, tort_error *error);
/* Makes it for these input shapes, whatever it was for; it is not fitted. After a failure it can be made again. */
tort_status tort_planned_fill(tort_planned *planned, const tort_tensor *inputs, tort_error *error);
/* The same for the largest shapes: made again for smaller ones, it takes no more memory. */
tort_status tort_planned_reserve(tort_planned *planned, const tort_tensor *inputs, tort_error *error);
size_t tort_planned_bytes(const tort_planned *planned); /* that it holds of its env */
/* The plan for exactly these input shapes; makes it where there is none. It stays until left. Takes the locks. */
tort_status tort_lowered_find_plan(tort_lowered *lowered, const tort_tensor *inputs, tort_planned **planned,
                                   tort_error *error);
/* The same for a plan of a context's own, which is made again. */
tort_status tort_planned_renew(tort_planned *planned, const tort_tensor *inputs, tort_error *error);
/* The plan used last, held until it is left; NULL: there is none. Takes the lock. */
tort_planned *tort_lowered_last_plan(tort_lowered *lowered);
/* Was the plan made for exactly these input shapes? */
bool tort_plan_fits(const tort_planned *planned, const tort_tensor *inputs);
void tort_leave_plan(tort_planned *planned);
void tort_lowered_drop_plans(tort_lowered *lowered);
/* inputs.c: shapes and sizes of symbols that the options fix; then types, ranks, known dims and symbols of a run's
 * inputs against what the session planned for, but for those that are no tensors. */
tort_status tort_fix_inputs(tort_session *session, tort_error *error);
/* bounds.c: the upper bounds that the options give, in lowered->most; a plan for them; whether the shapes of a run's
 * inputs, which are known to be of the right rank, keep to them. */
tort_status tort_read_bounds(tort_session *session, tort_error *error);
tort_status tort_plan_bounds(tort_lowered *lowered, const tort_env *env, tort_planned **planned, tort_error *error);
tort_status tort_check_bounds(const tort_session *session, const tort_tensor *inputs, tort_error *error);
/* A value of the graph, and its dimension, that may be larger below the bounds; -1: there is none. */
int32_t tort_find_shrinking(const tort_lowered *lowered, int32_t *dimension);
tort_status tort_check_inputs(const tort_session *session, const tort_tensor *inputs, int32_t count, tort_error *error);
/* Are all inputs and outputs tensors? Then, the types of values that a run brings. */
tort_status tort_check_tensors_alone(const tort_session *session, tort_error *error);
tort_status tort_check_values(const tort_session *session, const tort_value *const *inputs, int32_t count,
                              tort_error *error);

#endif
