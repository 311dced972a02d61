/* lowered.h - the session, and the lowered graphs that it runs: structures shared by the core. Private to runtime/.
 *
 * Each graph of the model, bodies included, is copied into one tort_lowered, which holds all that the session knows of
 * it. One writer per fact: chain.c opens providers and numbers memories, lower.c copies graphs, fold.c sets `folded`,
 * place.c alone sets where a unit runs, segment.c and fuse.c join units of one provider, layout.c sets the layouts of
 * their operands, prepare.c fills `prepared` and constants, bind.c says where inputs and outputs are, plan.c makes
 * plans, report.c only reads.
 *
 * Words of the core:
 *   value     an edge of a graph: made by one node at most, read by any number of nodes
 *   info      tort_info, what is known of a value: type, shape (maybe symbolic), small contents
 *   body      a subgraph of If, Loop or Scan; a trip is one run of a body; it captures values of the graph around it
 *   chain     the providers (CPU, CUDA, ...) of the session, in order of preference; a link is one of them
 *   memory    an address space, by index: 0 is host memory, each other one is of a device
 *   layout    an order of a tensor's elements; 0 is plain (row-major), others (NHWC) belong to a provider
 *   unit      what the session decided about one node: provider, kernel, params, packed weights
 *   constant  contents that no run changes: a weight, a result of folding, or derived from one of these
 *   pass      one walk of shape inference over a graph; also any step of session creation (folding, fusing, placing)
 *   fusion    several nodes rewritten into one node, which has a kernel of its own
 *   segment   several nodes that stay in the graph, but are compiled and run by one kernel (tort_provider.segments)
 *   pack      a kernel's weights, rearranged once, when the session is created
 *   plan      steps over slots for concrete input shapes; an outline is its part that does not depend on sizes
 *   slot      a value in one memory and one layout; its home says who owns the bytes
 *   arena     in a plan: the one block of a memory, in a context, in which slots get offsets;
 *             in tort_arena: an allocator whose blocks are freed all at once
 *   fit       what a kernel makes for the shapes of one plan: a library's descriptors, a compiled segment
 *   bound     an upper bound of a dimension; with bounds a context allocates its memory once, for the largest shapes
 *   binding   an input or output of the model kept in the memory of a provider (option bindings) */
#ifndef TORT_RUNTIME_LOWERED_LOWERED_H
#define TORT_RUNTIME_LOWERED_LOWERED_H

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "runtime/core/graph/infer.h"
#include "runtime/core/graph/graph.h"
#include "runtime/include/pattern.h"
#include "runtime/include/provider.h"
#include "runtime/core/base/threads.h"
#include "runtime/core/base/watch.h"

/* ---- chain ------------------------------------------------------------------------------------------------------- */

typedef struct tort_library_state {
    bool queried, found;
    char message[160], cure[160]; /* if found: the version of the library */
} tort_library_state;

typedef struct tort_link {
    tort_provider_config config;
    const tort_provider *provider; /* NULL: this build has no provider of that name */
    void *device;
    bool opened;
    bool described; /* describes a target (such as sm_87) without opening a device */
    tort_target target;
    tort_condition condition;
    atomic_bool *lost;                            /* points to session->lost */
    int32_t memory;                               /* index into session->memories */
    int32_t first_layout, layout_count;           /* the provider's range of session->layouts */
    tort_library_state libraries[TORT_LIBRARIES]; /* in the order of the provider's list */
    struct {
        int32_t nodes;     /* that the engine compiled */
        uint64_t ns, held; /* the time that this took, and the memory that it keeps for them, as it says */
    } compiled;
} tort_link;

/* An address space: 0 is host memory, each other one is a device's, and is shared by all providers of the chain that
 * declare the same tort_target.space. The first of them to open allocates, copies and opens streams for all. */
typedef struct tort_memory {
    tort_link *owner; /* of host memory: the provider whose mem_limit holds; NULL: no provider of the chain */
    char space[TORT_SPACE_NAME];
} tort_memory;

/* A layout of a provider of the chain. Slots and units refer to it by its index in session->layouts. */
typedef struct tort_chain_layout {
    const tort_layout *layout; /* NULL: plain, at index 0 */
    tort_link *link;           /* the provider whose kernels and memory it belongs to; NULL for plain */
} tort_chain_layout;

/* ---- units ------------------------------------------------------------------------------------------------------- */

enum { TORT_AT_HOST = -1, TORT_AT_FOLDED = -2, TORT_AT_NOWHERE = -3, TORT_AT_FUSED = -4 };

typedef struct tort_reason {
    int32_t provider; /* chain index */
    const char *kernel;
    tort_verdict_code code;
    const char *message, *cure;
    const char *fusion; /* a fusion that was refused; NULL: the unit itself was */
    bool segment;       /* the verdict is on the unit as a part of a segment */
    bool integers;      /* the fusion would have been a product of integers */
    bool precision;     /* why products of 8-bit numbers run in float32 */
    int64_t bytes;      /* of precision: what the floats take more than the 8-bit numbers; -1: not known before a run */
    int32_t root;       /* UPSTREAM: the unit that is the root cause; -1 */
} tort_reason;

/* Nodes that one kernel runs together. They stay in the graph, since shapes are inferred node by node; plans and runs
 * see `node` in the place of the last part. */
typedef struct tort_segment {
    tort_node node;                 /* its operands are the segment's inputs and outputs */
    const int32_t *parts;           /* nodes of the graph, ascending */
    const int32_t *values;          /* of each value of the segment, the value of the graph */
    const tort_segment_node *nodes; /* the parts as the kernel sees them, but without params */
    const int32_t *outputs;         /* values of the segment, by index */
    int32_t part_count, value_count;
    int32_t
        constant_count; /* values behind the inputs that an engine takes when it compiles, so that no run has them */
    bool last_pinned;   /* the last part was pinned, before its unit became the unit of the whole segment */
} tort_segment;

typedef struct tort_kept_fit tort_kept_fit; /* plan/fit.c */

enum { TORT_MAX_TRIED = 1024 }; /* of a session: each fit searches the list */

/* Choice that a kernel found the fastest by trying (tort_fit.choice), for all nodes alike. */
typedef struct tort_tried {
    struct tort_tried *next;
    uint64_t key; /* hash of all that the choice depends on */
    uint32_t choice;
    const char *words; /* shown as the kernel */
} tort_tried;

/* The session's decisions about the node of the same index. A node that a fusion made takes the index of the last of
 * its nodes, the others become TORT_AT_FUSED and do nothing. The parts of a segment likewise, but plans still infer
 * their shapes. */
typedef struct tort_unit {
    int32_t provider; /* chain index, or TORT_AT_... */
    const tort_kernel *kernel;
    const char *label; /* shown as the kernel in reports */
    const tort_reason *reasons;
    int32_t reason_count;
    bool folded;         /* set by fold.c before place.c runs */
    bool still_inferred; /* fused away or unread, but folded values depend on the shape of its output: plans still infer
                            it */
    bool pinned;         /* an option pins the node to `pin` */
    int32_t pin;         /* chain index */
    void *params;        /* resolved with what is known at placement; in the session's arena; NULL: none */
    size_t scratch_bytes;
    size_t packed_bytes;    /* as kernel->pack.size says */
    uint32_t consumed;      /* inputs, bit i, that are in `packed`; run never reads them */
    struct tort_unit *twin; /* packs the same: its packed weights serve this unit too (share.c); NULL */
    void *packed;           /* in the session's block, or owned in a device's memory; NULL before pack.c */
    bool mapped;            /* packed points into a mapped saved plan: not owned */
    void *prepared;         /* made by kernel->prepare, or by tort_engine.compile */
    tort_kept_fit *fits;    /* made by kernel->fit; owned; under session->fitting */
    const int32_t *from;    /* nodes of the model's graph that were fused into this one, ascending; NULL: only itself */
    int32_t from_count;
    int32_t products;            /* of 8-bit numbers in the model that the unit computes, see precision.c */
    const tort_segment *segment; /* the segment that the unit runs or is a part of; NULL */
    int32_t group;               /* of a saved plan: units with one number were in one segment; 0: in none */
    struct {
        int32_t id;               /* index into session->layouts, of the operands in the masks; all others are plain */
        uint32_t inputs, outputs; /* bit i: operand i, as in the kernel's row */
    } layout;
} tort_unit;

/* ---- constants --------------------------------------------------------------------------------------------------- */

/* Contents that never change: a weight, the result of folding, or what a fusion derives from another constant each time
 * that it is acquired. Values of several graphs can share one. */
typedef struct tort_constant {
    const char *name; /* of a value with these contents; borrowed */
    int32_t weight;   /* index of the model's weight; -1: folded or derived */
    void *folded;     /* owned, aligned; NULL */
    size_t bytes;
    bool uniform; /* see tort_info */
    uint8_t byte;
    const void *host; /* while held in host memory for runs; NULL */
    bool held;        /* `host` is an acquired weight, to be released */
    int32_t source;   /* derived: the constant it is derived from; else -1 */
    tort_derive *derive;
    const void *derive_arg; /* in the session's arena */
    void *derived;          /* owned, aligned; NULL while nobody holds it */
    int32_t holds;
    void **device; /* by memory, from 1 on: the uploaded copy; NULL until a device needs it */
} tort_constant;

#define TORT_PARAMS_ALIGN 16     /* of params and literals, in bytes */
#define TORT_SMALL_CONSTANT 4096 /* bytes; a folded constant up to this size is never dropped */

/* All constants that a device reads, in one allocation of its memory. */
typedef struct tort_upload {
    uint8_t *base; /* owned; NULL */
    size_t bytes, used;
} tort_upload;

/* ---- a lowered graph --------------------------------------------------------------------------------------------- */

/* Tells when a plan calls a node's shape rule, see plan_shapes.c. */
typedef enum tort_rule_use {
    TORT_RULE_ALWAYS,
    TORT_RULE_AFRESH, /* only where the session's symbolic shapes, evaluated, do not suffice */
    TORT_RULE_NEVER
} tort_rule_use;

typedef struct tort_outline tort_outline; /* plan/planned.h */
typedef struct tort_planned tort_planned;

/* All that the session knows of one graph of the model. */
typedef struct tort_lowered {
    tort_session *session;
    tort_graph graph;          /* the session's copy, which passes change; names are borrowed from the model */
    bool lowered;              /* false: the body of a node that never runs, or a body that does not fit its node */
    const tort_error *refused; /* why the body does not fit, for when it is run; NULL: it fits */
    tort_unit *units; /* node_count; in the session's arena, as is every array here unless it says that it grows */
    int32_t *order;   /* units in the order in which they run, where segments need another one; NULL: order of nodes */
    /* Arrays by value, which grow together with graph.values: value_count used of graph.value_capacity; owned. */
    tort_info *infos;                      /* types, shapes and small contents, with the shapes fixed by options */
    int32_t *constant_of;                  /* index into session->constants; -1 */
    int32_t *weights;                      /* index of the model's weight that the value is; -1 */
    int32_t *input_memory, *output_memory; /* by input, output of the graph: the memory it is bound to */
    bool *passed;                          /* by output of a body: it is the matching input, unchanged by the trip */
    int32_t *same_dim;  /* main graph only: by input dimension, where its symbol occurs first, see inputs.c */
    uint8_t *rule_use;  /* node_count: a tort_rule_use */
    bool *shape_fixed;  /* by value: shape and small contents are the same for all input shapes */
    int32_t *evaluated; /* values whose elements plans evaluate from symbolic expressions; value_count reserved */
    int32_t evaluated_count;
    size_t evaluated_elements;
    uint8_t *expr_uses;          /* by expression of session->dims: TORT_EXPR_ bits, see plan_shapes.c */
    tort_outline *outlines;      /* shared; under the session's lock */
    tort_planned *plans;         /* most recently used first */
    tort_planned *symbolic_plan; /* a plan with symbolic shapes, for reports until the first real plan; NULL */
    int64_t *max; /* main graph only: upper bound of each input dimension, -1 for none; NULL: no bounds are given */
    tort_planned *bound; /* the plan for the upper bounds; then each context has its own plan, and `plans` is empty */
} tort_lowered;

struct tort_session {
    tort_env env; /* the application's, with memory counted in `account` and parallel_for set */
    tort_account account;
    bool flushes;    /* runs take subnormal numbers as 0 (option subnormals=off), also in threads of the application */
    tort_env inner;  /* if so: its parallel_for before it was wrapped */
    tort_pool *pool; /* NULL: the application brings parallel_for, or nothing has run in parallel yet */
    const tort_model *model;
    tort_model *own_model;    /* the model inside a saved plan; owned; NULL */
    struct tort_saved *saved; /* while the session is being loaded from a saved plan, see saved_format.h; NULL */
    /* Fills a unit's packed weights from the saved plan; NULL: kernels pack. */
    tort_status (*unpack)(struct tort_session *session, const struct tort_lowered *lowered, int32_t unit,
                          tort_error *error);
    /* Reads what an engine stored in the saved plan for the segment that ends with this node, into *bytes that the
     * caller frees; *data NULL: nothing. NULL: there is no plan. */
    tort_status (*stored)(const struct tort_session *session, const struct tort_lowered *lowered, int32_t node,
                          void **data, size_t *bytes, tort_error *error);
    tort_session_options options; /* strings copied into arena */
    bool chain_from_file;         /* options.chain is that of a saved plan, whose bytes are not trusted */
    tort_watch watch;             /* of making the session */
    tort_arena arena;
    tort_dims dims;
    tort_link *chain;
    int32_t chain_count, memory_count, layout_count;
    tort_memory *memories;
    tort_chain_layout *layouts; /* plain, then the layouts of all providers of the chain */
    tort_lowered *graphs;       /* same indices as the model's graphs: 0 is the main graph */
    tort_body *bodies;          /* the same graphs, as inference sees them */
    int32_t graph_count;
    tort_constant *constants;
    int32_t constant_count, constant_capacity;
    struct tort_text *text;    /* strings made by folding */
    tort_account text_account; /* of their bytes, which fold.c limits */
    uint64_t *weight_bytes;    /* by memory: all weights, packed and unpacked */
    uint64_t *constant_bytes;  /* by memory: the unpacked part of weight_bytes */
    size_t packed_bytes;       /* of `packed`: the sum over all units that pack into host memory */
    void *packed;              /* one block for all of them; owned; NULL */
    tort_upload *uploads;      /* by memory */
    bool placed;               /* every node has a provider: plans can be made */
    tort_status refused;       /* the error that a strict session returns once its plan is complete */
    bool prepared;             /* weights are where kernels read them */
    bool runnable;
    atomic_uint_least64_t plans_made;
    atomic_bool lost;        /* a device failed for good; set and read by contexts on several threads */
    pthread_mutex_t fitting; /* serializes kernel->fit; taken before `lock` */
    uint64_t fits_made;      /* under `fitting` */
    tort_tried *tried;       /* in the arena, or that of own_model; under `fitting` */
    pthread_mutex_t lock;    /* guards the lists of plans and outlines; held only for short list operations */
};

/* lower.c: copies every graph of the model, and makes a constant of each weight. */
tort_status tort_lower(tort_session *session, tort_error *error);
/* Limits of a run where the application gives none. */
#define TORT_DYNAMIC_LIMIT ((uint64_t)1 << 30)
#define TORT_TRIP_LIMIT ((uint64_t)1 << 31)
/* TORT_E_CANCELLED if the time for making the session is over. */
tort_status tort_session_in_time(tort_session *session, tort_error *error);
void tort_lowered_free(tort_session *session);
/* Makes the value a constant: adds one to the session. Takes over `folded`, even on failure; weight -1: not a weight.
 * False: out of memory. */
bool tort_lowered_settle(tort_lowered *lowered, int32_t value, int32_t weight, void *folded, size_t bytes);
/* Tells the info of a value what is known of its constant. */
void tort_lowered_tell(tort_lowered *lowered, int32_t value);
/* Reserves `more` values; invalidates pointers into infos and the arrays beside it. False: out of memory. */
bool tort_lowered_reserve(tort_lowered *lowered, int32_t more);
/* Adds a value without producer; borrows the name; may move the same arrays. -1: out of memory. */
int32_t tort_lowered_add_value(tort_lowered *lowered, const char *name, const tort_info *info);
/* Makes an added value a constant that is computed from `source` on demand. False: out of memory. */
bool tort_lowered_derive(tort_lowered *lowered, int32_t value, int32_t source, tort_derive *derive, const void *arg,
                         size_t bytes);
/* Undoes additions: truncates the graph's values to `value_count`, the session's constants to `constant_count`. */
void tort_lowered_drop_values(tort_lowered *lowered, int32_t value_count, int32_t constant_count);
/* Starts an inference pass over the graph with these infos; pair with tort_pass_free. */
tort_status tort_lowered_pass(const tort_lowered *lowered, tort_pass *pass, tort_info *infos, tort_dims *dims,
                              tort_arena *arena, tort_error *error);
static inline tort_lowered *tort_main_graph(const tort_session *session) {
    return &session->graphs[0];
}
/* The node with a running unit's operands: its own, or the whole segment's. */
static inline const tort_node *tort_unit_node(const tort_lowered *lowered, int32_t unit) {
    const tort_segment *segment = lowered->units[unit].provider >= 0 ? lowered->units[unit].segment : NULL;
    return segment ? &segment->node : &lowered->graph.nodes[unit];
}
/* True if the params of the node are the same for all plans, and kept in its unit. */
static inline bool tort_is_once(const tort_lowered *lowered, int32_t node) {
    const tort_op *op = lowered->graph.nodes[node].op;
    return op && op->flags & TORT_OP_ONCE;
}
/* The unit that runs at position `place` of the execution order. */
static inline int32_t tort_unit_in_order(const tort_lowered *lowered, int32_t place) {
    return lowered->order ? lowered->order[place] : place;
}

/* The layout in which a unit reads an input, or writes an output; 0: plain. */
static inline int32_t tort_input_layout(const tort_unit *unit, int32_t input) {
    return input < 32 && unit->layout.inputs >> input & 1 ? unit->layout.id : 0;
}
static inline int32_t tort_output_layout(const tort_unit *unit, int32_t output) {
    return output < 32 && unit->layout.outputs >> output & 1 ? unit->layout.id : 0;
}

static inline bool tort_is_constant(const tort_lowered *lowered, int32_t value) {
    return lowered->infos[value].constant;
}
/* True if the unit was left out because no output needs it, not because it was computed while planning. */
static inline bool tort_is_unread(const tort_unit *unit) {
    return unit->label && !strcmp(unit->label, "unread");
}

#endif
