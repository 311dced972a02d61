/* session_state.h - what the parts of the core share of a session. Private to runtime/.
 *
 * One writer per fact: chain.c opens providers, fold.c sets `folded`, place.c alone sets where a node runs, prepare.c
 * fills prepared and constants, bind.c says where inputs and outputs are, plan.c makes plans, report.c only reads. */
#ifndef TORT_RUNTIME_SESSION_STATE_H
#define TORT_RUNTIME_SESSION_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/infer.h"
#include "runtime/plan.h"
#include "runtime/threads.h"

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
    atomic_bool *lost; /* the session's */
    int32_t memory;    /* 0: host memory */
    tort_library_state libraries[TORT_LIBRARY_COUNT];
} tort_link;

/* ---- placement --------------------------------------------------------------------------------------------------- */

enum { TORT_AT_HOST = -1, TORT_AT_FOLDED = -2, TORT_AT_NOWHERE = -3 };

typedef struct tort_said {
    int32_t provider; /* chain index */
    const char *kernel;
    tort_verdict_code code;
    const char *message, *cure;
    int32_t root; /* UPSTREAM: the node at fault; -1 */
} tort_said;

typedef struct tort_placement {
    int32_t provider; /* chain index, or TORT_AT_... */
    const tort_kernel *kernel;
    const char *label; /* what reports show as the kernel */
    const tort_said *said;
    int32_t said_count;
    bool folded;  /* by fold.c, before place.c looks */
    bool pinned;  /* by an option, to `pin` */
    int32_t pin;  /* chain index */
    void *params; /* resolved with what is known while placing; in the session's arena; NULL: none */
    size_t scratch_bytes;
    size_t packed_bytes; /* of kernel->pack_size */
    uint32_t consumed;   /* inputs that are in there */
    void *packed;        /* owned, in the provider's memory; NULL before prepare.c */
    void *prepared;      /* of kernel->prepare */
} tort_placement;

/* ---- constants --------------------------------------------------------------------------------------------------- */

/* Contents of a value that never change: a weight, or what folding made of it. A value has at most one. */
typedef struct tort_constant {
    int32_t weight; /* the model's; -1: folded */
    void *folded;   /* owned, aligned; NULL */
    size_t bytes;
    const void *host; /* while held in host memory for running; NULL */
    bool held;        /* host is an acquired weight */
    void **device;    /* per memory (index 1..): where it was uploaded to; NULL array until needed */
} tort_constant;

#define TORT_SMALL_CONSTANT 4096 /* bytes; a folded constant of no more is never dropped */

/* All constants that a device reads, one behind another: one allocation of it. */
typedef struct tort_upload {
    uint8_t *base; /* owned; NULL */
    size_t bytes, used;
} tort_upload;

/* ---- plans ------------------------------------------------------------------------------------------------------- */

typedef struct tort_planned {
    struct tort_planned *next;
    int32_t users;  /* contexts that hold it; under the session's lock */
    tort_plan plan; /* owns its arrays */
    int32_t slot_capacity, step_capacity, operand_capacity;
    uint64_t literal_capacity, params_capacity;
    tort_info *infos;    /* concrete, value_count; owned */
    uint8_t *params;     /* resolved params of static steps, plan.params_bytes; owned */
    int64_t *input_dims; /* TORT_MAX_RANK a model input: what it was made for; owned */
    void **fitted;       /* a step: of kernel->fit; NULL array: not fitted; owned */
    tort_dims dims;
    tort_arena arena;
} tort_planned;

struct tort_session {
    tort_env env; /* the application's, counted in the account; parallel_for is set */
    tort_account account;
    tort_pool *pool; /* NULL: the application runs in parallel, or nothing does yet */
    const tort_model *model;
    const tort_graph *graph;
    tort_session_options options; /* strings copied into arena */
    tort_arena arena;
    tort_dims dims;
    tort_link *chain;
    int32_t chain_count, memory_count;
    int32_t *input_memory, *output_memory; /* a model input, output: the memory that it is bound to; 0: host */
    tort_info *infos;                      /* with fixed shapes, value_count */
    tort_constant *constants;              /* value_count */
    int32_t *weights;                      /* value_count: the model's weight that the value is, -1 */
    struct tort_text *text;                /* strings made while folding */
    tort_placement *placements;            /* node_count */
    uint64_t *weight_bytes;                /* a memory: what weights take of it, packed and as they are */
    uint64_t *constant_bytes;              /* of these, what is not packed */
    tort_upload *uploads;                  /* a memory */
    int32_t *same_dim;                     /* an input's dimension: where its symbol stands first, see inputs.c */
    bool placed;                           /* every node has a place: there can be plans */
    bool prepared;                         /* weights are where nodes read them */
    bool runnable;
    atomic_bool lost;         /* the device: sticky; contexts on several threads set and read it */
    pthread_mutex_t planning; /* held while a plan is made; taken before `lock` */
    pthread_mutex_t lock;     /* of the list of plans; never held for long */
    tort_planned *plans;      /* the one used last first */
    tort_planned *draft;      /* before there is any of them: with shapes that are not known yet; for the report */
};

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
/* Bytes of a memory: 0 is the host's, by `env`, 1 + i that of chain provider i. purpose goes into the error, "values".
 */
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
tort_status tort_link_sync(const tort_link *link, void *stream, tort_error *error);
tort_status tort_link_stream_open(const tort_link *link, void **stream, tort_error *error);
void tort_link_stream_close(const tort_link *link, void *stream);
uint32_t tort_link_reach(const tort_link *link, const void *pointer);
void *tort_link_alloc(const tort_link *link, size_t bytes); /* NULL: none; tort_link_alloc_failed says why */
void tort_link_free(const tort_link *link, void *memory, size_t bytes);
/* A call of the provider failed outside of any node: the error names the provider. Returns the status. */
tort_status tort_link_failed(const tort_link *link, tort_status status, tort_error *error);
/* Why the device gave no memory: it is lost, or has too little of it; the message says how much. */
tort_status tort_link_alloc_failed(const tort_link *link, uint64_t bytes, const char *purpose, tort_error *error);

/* Evaluates what does not depend on inputs, and marks what shapes determine. */
tort_status tort_fold(tort_session *session, tort_error *error);
static inline bool tort_is_constant(const tort_session *session, int32_t value) {
    return session->infos[value].constant;
}
/* Contents of a constant in host memory; pair with release. */
tort_status tort_constant_acquire(const tort_session *session, int32_t value, const void **data, tort_error *error);
void tort_constant_release(const tort_session *session, int32_t value);
/* Where a placed node reads a constant input as it is: in host memory, and in that of its provider (0: no other). */
typedef struct tort_reads {
    bool host;
    int32_t memory;
} tort_reads;

tort_reads tort_constant_reads(const tort_session *session, int32_t node, int32_t input);
/* Keeps the weights in host memory that inference looks at for each plan. */
tort_status tort_hold_small_weights(tort_session *session, tort_error *error);
size_t tort_folded_bytes(const tort_constant *constant); /* that its folded contents take of the allocator */
/* Fills weight_bytes and constant_bytes for the nodes as they are placed. */
tort_status tort_count_weights(tort_session *session, tort_error *error);
/* Weights alone against what each memory may give. */
tort_status tort_check_weights(const tort_session *session, tort_error *error);
/* The provider whose limit holds for a memory; NULL: none does. */
const tort_link *tort_memory_owner(const tort_session *session, int32_t memory);
/* What one context may take of a memory; UINT64_MAX: there is no limit. */
uint64_t tort_room_for_values(const tort_session *session, int32_t memory);

/* pins.c: what the user wants where; then, whether each of these nodes runs on a provider at all. */
tort_status tort_read_pins(tort_session *session, tort_error *error);
tort_status tort_check_pins(const tort_session *session, tort_error *error);
/* The one function that decides where nodes run. TORT_E_PLACEMENT names every node without a provider. */
tort_status tort_place(tort_session *session, tort_error *error);
/* --strict, --allow. */
tort_status tort_place_strict(const tort_session *session, tort_error *error);

/* bind.c: which memory each input and output is in; later, whether their pointers are. */
tort_status tort_bind_ports(tort_session *session, tort_error *error);
tort_status tort_check_pointers(const tort_session *session, const tort_tensor *inputs, const tort_tensor *outputs,
                                tort_error *error);

/* Packs weights, uploads constants. */
tort_status tort_prepare_all(tort_session *session, tort_error *error);
void tort_release_all(tort_session *session);
/* Lets the kernels of static steps make what the plan's shapes ask for. */
tort_status tort_fit_plan(tort_session *session, tort_planned *planned, tort_error *error);
size_t tort_fitted_bytes(const tort_plan *plan); /* of the list of what kernels made, not of what they made */
void tort_unfit_plan(const tort_session *session, tort_planned *planned);

/* Makes a plan for these input shapes (NULL: as far as the session knows them). */
tort_status tort_plan_make(tort_session *session, const tort_tensor *inputs, tort_planned **planned, tort_error *error);
void tort_planned_free(const tort_session *session, tort_planned *planned);
/* The plan for exactly these input shapes; makes it where there is none. It stays until left. Takes the locks. */
tort_status tort_session_find_plan(tort_session *session, const tort_tensor *inputs, tort_planned **planned,
                                   tort_error *error);
/* The plan used last, held until it is left; NULL: there is none. Takes the lock. */
tort_planned *tort_session_last_plan(tort_session *session);
/* Was the plan made for exactly these input shapes? */
bool tort_plan_fits(const tort_session *session, const tort_planned *planned, const tort_tensor *inputs);
void tort_session_leave_plan(tort_session *session, tort_planned *planned);
/* inputs.c: shapes and sizes of symbols that the options fix; then types, ranks, known dims and symbols of a run's
 * inputs against what the session planned for. */
tort_status tort_fix_inputs(tort_session *session, tort_error *error);
tort_status tort_check_inputs(const tort_session *session, const tort_tensor *inputs, int32_t count, tort_error *error);

#endif
