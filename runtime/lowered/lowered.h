/* lowered.h - the session, and the lowered graphs that it runs: what the parts of the core share. Private to runtime/.
 *
 * A session runs a graph of its own: each graph of the model, bodies included, is lowered into one tort_lowered, which
 * holds all that the session knows of it. One writer per fact: chain.c opens providers and tells memories apart,
 * lower.c copies graphs, fold.c sets `folded`, place.c alone sets where a unit runs, segment.c and fuse.c join units of
 * one provider, layout.c sets the layouts of their operands, prepare.c fills prepared and constants, bind.c says where
 * inputs and outputs are, plan.c makes plans, report.c only reads. */
#ifndef TORT_RUNTIME_LOWERED_LOWERED_H
#define TORT_RUNTIME_LOWERED_LOWERED_H

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "runtime/graph/infer.h"
#include "runtime/pattern.h"
#include "runtime/provider.h"
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

#define TORT_PARAMS_ALIGN 16     /* of params and literals, in bytes */
#define TORT_SMALL_CONSTANT 4096 /* bytes; a folded constant of no more is never dropped */

/* All constants that a device reads, one behind another: one allocation of it. */
typedef struct tort_upload {
    uint8_t *base; /* owned; NULL */
    size_t bytes, used;
} tort_upload;

/* ---- a lowered graph --------------------------------------------------------------------------------------------- */

/* When a plan asks a node for its shapes, see plan_shapes.c. */
typedef enum tort_asked {
    TORT_ASKED_ALWAYS,
    TORT_ASKED_AFRESH, /* only where what the session knows, or can evaluate, is not enough */
    TORT_ASKED_NEVER
} tort_asked;

typedef struct tort_outline tort_outline; /* plan/planned.h */
typedef struct tort_planned tort_planned;

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
    int64_t *max;           /* the main graph's: a dimension of an input: its upper bound, -1; NULL: none is given */
    tort_planned *bound; /* for the upper bounds; then every context has a plan of its own, and there are no others */
} tort_lowered;

struct tort_session {
    tort_env env; /* the application's, counted in the account; parallel_for is set */
    tort_account account;
    tort_pool *pool; /* NULL: the application runs in parallel, or nothing does yet */
    const tort_model *model;
    tort_model *own_model;    /* of a saved plan: owned; NULL */
    struct tort_saved *saved; /* while it is made out of a saved plan, see saved_format.h; NULL */
    /* Gives a unit the packed weights that the saved plan has of it; NULL: kernels pack. */
    tort_status (*unpack)(struct tort_session *session, const struct tort_lowered *lowered, int32_t unit,
                          tort_error *error);
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

/* The layout in which a unit reads an input, or writes an output; 0: plain. */
static inline int32_t tort_input_layout(const tort_unit *unit, int32_t input) {
    return input < 32 && unit->layout_inputs >> input & 1 ? unit->layout : 0;
}
static inline int32_t tort_output_layout(const tort_unit *unit, int32_t output) {
    return output < 32 && unit->layout_outputs >> output & 1 ? unit->layout : 0;
}

static inline bool tort_is_constant(const tort_lowered *lowered, int32_t value) {
    return lowered->infos[value].constant;
}
/* Was the unit left out since no output needs it? Others that are folded were computed while planning. */
static inline bool tort_is_unread(const tort_unit *unit) {
    return unit->label && !strcmp(unit->label, "unread");
}

#endif
