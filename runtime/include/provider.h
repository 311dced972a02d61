/* provider.h - the interface of an execution provider: one vtable and a table of kernels.
 *
 * A kernel row holds claim and run side by side, so that the nodes that a provider claims and the nodes that it can run
 * cannot diverge. A refusal is a value: a code out of a closed list, a sentence, and what the user can do. A provider
 * must not decide where a node runs (place.c does), nor know other providers. It can live outside this tree: `make
 * install` installs this header and those it includes, and the library exports everything marked TORT_API. Read next:
 * tests/fake_provider.c, a whole provider in 60 lines; then place.c. */
#ifndef TORT_RUNTIME_PROVIDER_H
#define TORT_RUNTIME_PROVIDER_H

#include "runtime/include/op.h"
#include "runtime/include/provider_more.h" /* what some need; not read first */

struct tort_peak; /* both in tinyort_profile.h */
struct tort_device_calls;

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

struct tort_verdict {
    tort_verdict_code code;
    char message[360]; /* found and expected; "" for YES; large enough for a condition's message */
    char cure[160];    /* advice to the user; may be "" */
};

TORT_API tort_verdict tort_yes(void);
TORT_API tort_verdict tort_no(tort_verdict_code code, const char *cure, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#ifdef TORT_NO_MESSAGES /* see error.h */
tort_verdict tort_no_without_words(tort_verdict_code code);
#define tort_no(code, cure, ...)                                                                                       \
    ((void)(0 && tort_words("%s", cure)), (void)(0 && tort_words(__VA_ARGS__)), tort_no_without_words(code))
#endif

/* ---- the target: what claim and size may look at ----------------------------------------------------------------- */

#define TORT_SPACE_NAME 64

enum { TORT_FACTS = 4, TORT_LIBRARIES = 3 };

/* A device as data, so that a plan for a board can be made on a laptop. */
typedef struct tort_target {
    char description[128]; /* "NVIDIA H100, sm_90, driver 580"; for the host without threads */
    /* Name of the address space of its kernels, equal for all providers that share it: "CUDA device 0". Two providers
     * of one space share values without a copy, and the streams that the first of them opens. "": its own. */
    char space[TORT_SPACE_NAME];
    uint32_t instructions; /* what its code is made for, in the provider's own bits; a saved plan is for one value */
    int32_t facts[TORT_FACTS]; /* what else its claims and sizes depend on, numbered by the provider; 0: unknown */
    int32_t threads;           /* requested; a session may get fewer, and reports how many */
    uint64_t memory;           /* usable bytes: the device's, or mem_limit; 0: unknown */
    bool values_only;          /* `memory` limits values alone, whatever the weights take */
    bool libraries;            /* of a device that is described and not opened: its libraries count as there */
    const struct tort_banding *banding; /* how steps run in bands of rows, to save memory; NULL: they do not */
} tort_target;

/* One "name:key=value:key=value" of the chain. */
typedef struct tort_provider_option {
    const char *key, *value;
} tort_provider_option;

typedef struct tort_provider_config {
    const char *provider;
    const tort_provider_option *options;
    int32_t option_count;
    const tort_env *env;
    bool from_file; /* the options come from a saved plan: they may lower limits, not lift them */
} tort_provider_config;

TORT_API const char *tort_provider_option_get(const tort_provider_config *config, const char *key); /* NULL if absent */

/* Parses bytes as users type them: "1000", "64k", "512M", "2G", "1T"; whole numbers, units of 1024 in either case.
 * False, with *bytes unchanged, for any other text and for overflow. In sizes.c. */
TORT_API bool tort_read_size(const char *text, uint64_t *bytes);

/* Result of opening. code is one word for programs: "READY", "NO_DRIVER", "OLD_DRIVER", "NO_DEVICE", "HIDDEN",
 * "NO_IMAGE", "NO_MEMORY", "NOT_BUILT", "DISABLED", "UNKNOWN", "BAD_OPTION", "FAILED". */
typedef struct tort_condition {
    bool ready;
    char code[24];
    char message[320]; /* the cause, with the findings */
    char cure[320];    /* advice to the user */
    char note[320];    /* remark, also if ready, such as PTX that would be compiled at start; may be "" */
} tort_condition;

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/* Arguments and results of prepare. */
typedef struct tort_prepare {
    /* inputs[i].data is set for constants, except large ones of tort_kernel.pack.in_parts; params as for claims */
    const tort_node_view *node;
    const tort_target *target;
    void *device;
    const tort_env *env;
    void *packed;   /* to fill: pack_size bytes in the provider's memory (zeroed if that is host memory, unless the row
                       pack.writes_all); NULL: none */
    void *prepared; /* to fill: other data for run and release */
    const struct tort_in_file *in_file; /* for tort_prepare_read */
    struct tort_watch *watch;           /* see tort_goes_on: once the session is over, nothing need be filled */
    tort_error *error;
} tort_prepare;

/* Reads bytes of a constant input whose data is NULL; thread-safe. In pack.c. */
TORT_API tort_status tort_prepare_read(const tort_prepare *prepare, int32_t input, size_t offset, size_t bytes,
                                       void *to, tort_error *error);

/* A kernel. An operator can have several rows: the first one of the table that claims a node serves it. A small
 * provider writes domain, op, name, claim and run; everything else is 0 or NULL where it is not wanted. */
typedef struct tort_kernel {
    const char *domain, *op; /* op "*": any operator */
    const char *name;        /* shown in reports: "conv_implicit_gemm_tf32", "reference" */
    tort_verdict (*claim)(const tort_target *target, const tort_node_view *node); /* pure; NULL: yes */
    tort_status (*run)(const tort_call *call);                                    /* NULL: the operator's reference */
    int32_t variant;      /* for functions shared by rows, which read call->kernel->variant or node->kernel->variant */
    uint32_t host_inputs; /* inputs whose VALUES run reads in host memory */
    const char *needs;    /* a name out of tort_provider.libraries: "cuDNN"; NULL: none */
    /* Bits of tort_target.instructions without all of which nobody asked for the row: it is not offered the node, and
     * no report says that it refused. */
    uint32_t asked;
    /* Bit i: run may write output 0 in place over input i if both have one shape and one element size: it reads an
     * element before it writes the one at its place, and never after. A plan decides whether it does. */
    uint32_t in_place;
    /* Pure: bytes of scratch for these concrete shapes; NULL: none, or those of the operator's reference. */
    tort_status (*size)(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error);

    /* Of an operator whose output shapes depend on the values of inputs: computes the dims that infer leaves open
     * without them, in outputs[i].dims, from inputs in the provider's memory. Called before run, with the same scratch,
     * where a plan could not know them (then call->measured). NULL: infer gets the values in host memory. */
    tort_status (*measure)(const tort_call *call, tort_info *outputs);

    /* Once a session: prepare, which release undoes. Once for some shapes of the node: fit, which unfit undoes. NULL:
     * nothing to do. */
    tort_status (*prepare)(tort_prepare *prepare);
    void (*release)(void *device, const tort_env *env, void *prepared);
    tort_status (*fit)(tort_fit *fit);
    void (*unfit)(void *device, const tort_env *env, void *fitted);

    tort_pack pack; /* weights in the order in which run reads them, written by prepare */

    /* What some kernels need (provider_more.h). */
    bool (*steady)(const void *params); /* pure: a recorded run stays valid where values of host inputs change */
    tort_caches caches;
    tort_strided strides;
    tort_in_segment segment;
    tort_in_layout layout;
    /* For firmware; all pure, for concrete shapes. Where output 0 may lie over input 0; which rows it can work on
     * alone; the C statement of a step. NULL: never, none, it cannot be compiled. */
    tort_overlap (*overlap)(const tort_target *target, const tort_node_view *node);
    tort_rows (*rows)(const tort_target *target, const tort_node_view *node);
    tort_status (*emit)(tort_emit *emit);
    /* Output 0 is input 0 in another number format, with scale input 1 and zero point input 2: callers of a compiled
     * model may have the other format. */
    bool border;
    /* Inputs that the row reads as float16 or bfloat16 itself, in the place of floats; then it writes output 0 so, too.
     * Its provider's widening leaves them as they are. */
    uint32_t halves;
    /* Set by the core, see tort_provider.widening: the row that this one runs for other types; NULL: none. */
    const struct tort_kernel *of;
} tort_kernel;

/* ---- the provider ------------------------------------------------------------------------------------------------ */

/* Processors that can access a pointer. */
enum { TORT_REACH_HOST = 1u << 0, TORT_REACH_DEVICE = 1u << 1 };

/* A provider whose kernels read and write host memory needs abi, name, summary, kernels, host_memory and open; the rest
 * is for devices with memory of their own, and for what a provider offers beyond kernels. */
typedef struct tort_provider {
    uint32_t abi;          /* TORT_PROVIDER_ABI */
    const char *name;      /* as in a chain */
    const char *summary;   /* one line for `tinyort providers` */
    const char *built_for; /* targets of this build's code: "sm_80 sm_90 PTX-75", "x86-64-v2 v3 v4"; NULL: any */
    /* The kernels: tables that end with a row whose op is NULL; the list ends with NULL. */
    const tort_kernel *const *kernels;
    const tort_option_help *options; /* those that it knows; ends with a key of NULL. NULL: none */
    bool host_memory;                /* kernels access host memory: `memory` may be empty */
    bool prepares_in_parallel;       /* kernels of different nodes may prepare at once, with a thread-safe allocator */
    /* Opens a provider in a shared object, for which this row is a placeholder, when it is first named: returns its
     * vtable, or NULL with the condition filled. The rest of the row but its options is then unused. NULL: the row is
     * the provider. */
    const struct tort_provider *(*load)(tort_condition *condition);

    /* Describes the target named by text ("sm_87") without accessing a device. NULL: not possible. */
    tort_status (*describe)(const tort_provider_config *config, const char *text, tort_target *target,
                            tort_error *error);
    /* Opens the device, or fills the condition with the reason why not. *device may be NULL if it needs none. */
    void (*open)(const tort_provider_config *config, void **device, tort_target *target, tort_condition *condition);
    void (*close)(void *device);
    /* Names of the libraries that rows can need, as reports show them, at most TORT_LIBRARIES; ends with NULL. */
    const char *const *libraries;
    /* True if one of them is available. Asked once a library, when the first node would use it. If true, fills message
     * with its version ("13.1"), otherwise with the file names tried, and cure. */
    bool (*library)(void *device, const char *name, char *message, size_t message_size, char *cure, size_t cure_size);
    /* Bracket every call of tinyort.h that reaches the device, on the calling thread. The result of enter is passed to
     * leave: the thread's own current device, say, which is then restored. NULL: nothing to do. */
    int32_t (*enter)(void *device);
    void (*leave)(void *device, int32_t before);
    /* Measures the peak rates of its kernels, in some tenths of a second, on the threads of env; *peak is 0 on entry,
     * and unknown rates stay 0. NULL: not measured. */
    void (*peak)(void *device, const tort_env *env, struct tort_peak *peak);

    struct {
        void *(*alloc)(void *device, size_t bytes);          /* aligned to TORT_DEVICE_ALIGN; NULL: out of memory */
        void (*free)(void *device, void *ptr, size_t bytes); /* bytes: as given to alloc */
        /* Copies in the order of the stream; TO_HOST returns when the bytes have arrived, TO_DEVICE when src may be
         * written again. Without a stream (NULL), TO_DEVICE is complete when sync without a stream has succeeded. */
        tort_status (*copy)(void *device, void *stream, void *dst, const void *src, size_t bytes,
                            tort_direction direction, tort_error *error);
        /* A copy to the host that is complete only when sync has succeeded. NULL: copy is used. */
        tort_status (*copy_late)(void *device, void *stream, void *dst, const void *src, size_t bytes,
                                 tort_error *error);
        /* Announces that between two syncs of the stream there are so many copies between host and device, of so many
         * bytes in total: a chance to allocate memory from which they run asynchronously. Called again if a plan needs
         * more; a failure only costs time. NULL: nothing to allocate. */
        void (*stage)(void *device, void *stream, int32_t copies, size_t bytes);
        /* Bytes free on the device now, for the report; 0: unknown. NULL: not known. */
        uint64_t (*bytes_free)(void *device);
        /* TORT_REACH bits of a pointer, so that an application's pointer into the wrong memory is an error and not a
         * crash. NULL: not known. */
        uint32_t (*reach)(void *device, const void *pointer);
    } memory;

    struct {
        tort_status (*open)(void *device, void **stream, tort_error *error); /* stream of a context; NULL: none */
        void (*close)(void *device, void *stream);
        /* What is submitted from now on begins when all that a stream of the application holds now has ended. NULL: the
         * provider knows no such streams. */
        tort_status (*follow)(void *device, void *stream, void *application, tort_error *error);
        /* Waits for the stream; reports device errors since the last call. NULL: nothing to wait for. */
        tort_status (*sync)(void *device, void *stream, tort_error *error);
        /* Counts the requests to the device for this stream since it was opened; requests without a stream, such as
         * allocations, count for all streams. NULL: not counted. */
        void (*calls)(void *device, void *stream, struct tort_device_calls *calls);
    } stream;

    /* What some providers need (provider_more.h). */
    tort_recorder recording;
    /* Compiles nodes whose rows allow it (tort_in_segment) together; NULL: none. A kernel as any other, except for its
     * view: node->segment is set, params are those of its nodes. `claim` may refuse; `fit` compiles for the shapes of
     * a plan; `run` runs the result (call->fitted); `unfit` frees it. domain and op
     * are ignored; host_inputs is 0: all inputs are in the provider's memory, and plain. */
    const tort_kernel *segments;
    const tort_engine *engine; /* beside `segments`: nodes are chosen by the device, and compiled ahead; NULL */
    /* Runs nodes by rows that refuse them for their types (NO_TYPE), as float16 by rows for float; NULL: none.
     * Such a row is asked again as a copy with the functions of this one, which find the original in node->kernel->of
     * and call->kernel->of. In reports `name` is appended to the name of the row. Not for rows that keep more between
     * calls than packed weights. */
    const tort_kernel *widening;
    /* Layouts of its kernels beside plain; ends with a row whose name is NULL. NULL: none. */
    const tort_layout *layouts;
    /* Operators that it has no kernel for and that have a cure; ends with a row whose domain is NULL. NULL: none. */
    const struct tort_refusal *refusals;
    /* Writes one sentence for the report if a node that this row runs, with a first input of this type, gives reason
     * to, such as an option that would make it faster; the first sentence is told. NULL: none. */
    void (*remark)(const tort_target *target, const tort_kernel *kernel, tort_type type, char *text, size_t size);
} tort_provider;

#endif
