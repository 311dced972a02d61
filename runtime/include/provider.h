/* provider.h - the interface of an execution provider: one vtable and a table of kernels.
 *
 * A kernel row holds claim and run side by side, so that the nodes that a provider claims and the nodes that it can run
 * cannot diverge. A refusal is a value: a code out of a closed list, a sentence, and what the user can do. A provider
 * must not decide where a node runs (place.c does), nor know other providers. It can live outside this tree: `make
 * install` installs this header and those it includes, and the library exports everything marked TORT_API. Read next:
 * tests/fake_provider.c, a whole provider in 60 lines; tests/segments/engine_provider.c, one that compiles several
 * nodes into one; tests/layouts/channels_provider.c, one with a layout of its own; then place.c. */
#ifndef TORT_RUNTIME_PROVIDER_H
#define TORT_RUNTIME_PROVIDER_H

#include "runtime/include/op.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tort_peak; /* both in tinyort_profile.h */
struct tort_device_calls;

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

typedef struct tort_verdict {
    tort_verdict_code code;
    char message[360]; /* found and expected; "" for YES; large enough for a condition's message */
    char cure[160];    /* advice to the user; may be "" */
} tort_verdict;

TORT_API tort_verdict tort_yes(void);
TORT_API tort_verdict tort_no(tort_verdict_code code, const char *cure, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#ifdef TORT_NO_MESSAGES /* see error.h */
tort_verdict tort_no_without_words(tort_verdict_code code);
#define tort_no(code, cure, ...)                                                                                       \
    ((void)(0 && tort_words("%s", cure)), (void)(0 && tort_words(__VA_ARGS__)), tort_no_without_words(code))
#endif

/* ---- the target: what claim and size may look at ----------------------------------------------------------------- */

typedef enum tort_library {
    TORT_LIBRARY_NONE,
    TORT_LIBRARY_CUBLAS,
    TORT_LIBRARY_CUDNN,
    TORT_LIBRARY_COUNT
} tort_library;

TORT_API const char *tort_library_name(tort_library library); /* "cuBLAS"; "" for NONE */

enum {                        /* tort_target.instructions, for cpu */
       TORT_CPU_V2 = 1u << 0, /* x86-64-v2: SSE4.2 */
       TORT_CPU_V3 = 1u << 1, /* AVX2, FMA, F16C */
       TORT_CPU_V4 = 1u << 2, /* AVX-512 F, BW, CD, DQ, VL */
       TORT_CPU_NEON = 1u << 3,
       /* Dot products of four bytes, with the vectors of v3, v4 and NEON. */
       TORT_CPU_AVX_VNNI = 1u << 4,
       TORT_CPU_AVX512_VNNI = 1u << 5,
       TORT_CPU_NEON_DOT = 1u << 6
};

#define TORT_SPACE_NAME 64

/* A device as data, so that a plan for a board can be made on a laptop. */
typedef struct tort_target {
    char description[128]; /* "NVIDIA H100, sm_90, driver 580"; for the host without threads */
    /* Name of the address space of its kernels, equal for all providers that share it: "CUDA device 0". Two providers
     * of one space share values without a copy, and the streams that the first of them opens. "": its own. */
    char space[TORT_SPACE_NAME];
    int32_t compute_capability; /* 87 for sm_87; 0 if not applicable */
    int32_t multiprocessors;    /* of a GPU; 0 if not applicable */
    int32_t driver;             /* CUDA driver version of cudaDriverGetVersion; 0: unknown */
    uint32_t instructions;
    int32_t threads;                    /* requested; a session may get fewer, and reports how many */
    uint64_t memory;                    /* usable bytes: the device's, or mem_limit; 0: unknown */
    bool values_only;                   /* `memory` limits values alone, whatever the weights take */
    bool tf32;                          /* option tf32 */
    bool libraries;                     /* false: libraries=off */
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

/* Arguments and results of fit, which makes data that depends on the node's shapes, params and scratch, such as a
 * library's descriptors and its choice of an algorithm. Plans that agree on these share it. A step whose shapes depend
 * on data is fitted immediately before it runs. */
typedef struct tort_fit {
    const tort_node_view *node; /* shapes and params as for size: concrete */
    const tort_target *target;
    size_t scratch; /* bytes of scratch that run will have */
    void *device;
    /* Stream of the context that is about to run the step; NULL while planning, when no other fit is in progress. */
    void *stream;
    const tort_env *env;
    /* To fill: passed to unfit and to run, which must not change it, as contexts share it; NULL: nothing. */
    void *fitted;
    /* To fill: a literal that reports show as the kernel, if another one than the row's does the work; NULL. */
    const char *label;
    tort_error *error;
} tort_fit;

/* An array of C within the packed weights of a node. */
typedef struct tort_packed_array {
    tort_type type;
    size_t offset, count; /* offset: bytes from the begin of the packed weights; count: elements */
} tort_packed_array;

/* Arguments and results of emit, which prints the C statement that does the work of run for one step, with its shapes
 * as constants: `tinyort compile` makes firmware of these statements. */
typedef struct tort_emit {
    const tort_node_view *node; /* shapes and params as for size: concrete */
    /* C expressions, by operand of the node: pointers to elements of its type, such as "in0", "digits_w3" or
     * "(float *)(values + 1152)"; "NULL": absent. */
    const char *const *inputs, *const *outputs;
    const char *scratch; /* C expression of the bytes by size, an unsigned char *; "NULL": none */
    const char *packed;  /* "digits_p3": packed weights are the arrays digits_p3_0, digits_p3_1 ...; "NULL": none */
    const void *weights; /* the packed weights themselves; NULL: none */
    const tort_target *target; /* of the provider */
    bool downwards;            /* output 0 lies above input 0, see tort_overlap */
    bool banded; /* a band of rows, whose sizes are in the variable `band`, a tinyort_band. If any number of rows will
                  * do (tort_rows), the node's operands are one row, and the statement works on band.out_rows of it. */
    char call[32768];            /* to fill: the statement, with its ';'; "" at first */
    tort_packed_array arrays[4]; /* to fill: how the packed weights divide into arrays; count 0: no more */
    /* To fill: C sources of the functions that the statement calls, what others need first; static; NULL: no more. */
    const char *code[16];
    const char *defines[4]; /* to fill: lines of the preprocessor ahead of all code; static; NULL: no more */
    tort_error *error;
} tort_emit;

/* Use of a kernel row in segments: nodes that tort_provider.segments compiles together. An alias (Identity, Reshape),
 * which the executor would do otherwise, is only claimed for segments. */
typedef enum tort_in_segment {
    TORT_SEGMENT_NEVER,
    TORT_SEGMENT_MAY, /* also alone, as any node */
    TORT_SEGMENT_ONLY /* not alone: the row has a claim and nothing else */
} tort_in_segment;

/* tort_kernel.layout.id of an elementwise row, which runs in any layout of its provider. */
enum { TORT_ANY_LAYOUT = -1 };

/* Where output 0 may lie although it overlaps input 0: it begins at least `below` bytes before the input, and the
 * kernel works upwards, or at least `rise` bytes behind the input's begin, and the kernel works downwards. So a kernel
 * reads an element before it writes over it. */
typedef struct tort_overlap {
    bool may;            /* false: never */
    int64_t below, rise; /* below >= 0, rise > 0 */
} tort_overlap;

/* Rows that a kernel can work on by themselves, in bands (runtime/include/bands.h). The elements of a row are
 * neighbours, and rows follow each other, in output 0 and in the inputs of the mask; other inputs are whole. */
typedef struct tort_rows {
    uint32_t inputs; /* bit i: input i has rows; two bits at most; 0: the kernel works on all rows at once */
    /* out_rows 0: each element of the output comes from those at its place in these inputs, so that any number of rows
     * will do. The kernel then gets, and prints, operands of rank 1 that end with the band. */
    int32_t in_rows, out_rows;
    int32_t stride, above, reach; /* output row r reads `reach` input rows from r * stride - above on */
    /* The output, which is no rows, is complete with the last band. out_rows: those that are taken in; scratch keeps
     * its bytes from band to band. */
    bool reduces;
} tort_rows;

/* A kernel. An operator can have several rows: the first one of the table that claims a node serves it. A small
 * provider writes domain, op, name, claim and run; everything else is 0 or NULL where it is not wanted. */
typedef struct tort_kernel {
    const char *domain, *op; /* op "*": any operator */
    const char *name;        /* shown in reports: "conv_implicit_gemm_tf32", "reference" */
    tort_verdict (*claim)(const tort_target *target, const tort_node_view *node); /* pure; NULL: yes */
    tort_status (*run)(const tort_call *call);                                    /* NULL: the operator's reference */
    int32_t variant;      /* for functions shared by rows, which read call->kernel->variant or node->kernel->variant */
    uint32_t host_inputs; /* inputs whose VALUES run reads in host memory */
    /* Pure: true if run asks the device for the same work whatever those values are, as it only checks them: then a
     * recorded run stays valid where they change. NULL: no. */
    bool (*steady)(const void *params);
    tort_library needs;
    /* Bit i: run may write output 0 in place over input i if both have one shape and one element size: it reads an
     * element before it writes the one at its place, and never after. A plan decides whether it does. */
    uint32_t in_place;
    /* Caches that a run extends: `count` pairs, of inputs from `input` on and outputs from `output` on. If an
     * application gives both of a pair one buffer, and they have one shape, run finds one pointer in both, and
     * leaves there what it does not replace. */
    struct {
        int8_t input, output, count;
    } caches;
    /* Pure: for these concrete shapes. A run, and emit, work downwards where output 0 lies above input 0. NULL: never.
     */
    tort_overlap (*overlap)(const tort_target *target, const tort_node_view *node);
    /* Pure: for these concrete shapes. A kernel with rows takes call->band, and tort_emit.banded. NULL: none. */
    tort_rows (*rows)(const tort_target *target, const tort_node_view *node);
    /* Output 0 is input 0 in another number format, with scale input 1 and zero point input 2: callers of a compiled
     * model may have the other format. */
    bool border;
    tort_in_segment segment;
    /* Pure: bytes of scratch for these concrete shapes; NULL: none, or those of the operator's reference. */
    tort_status (*size)(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error);

    /* Once a session: prepare, which release undoes. Once for some shapes of the node: fit, which unfit undoes. NULL:
     * nothing to do. */
    tort_status (*prepare)(tort_prepare *prepare);
    void (*release)(void *device, const tort_env *env, void *prepared);
    tort_status (*fit)(tort_fit *fit);
    void (*unfit)(void *device, const tort_env *env, void *fitted);

    /* Weights in the order in which run reads them, written by prepare. */
    struct {
        /* Pure: bytes of packed weights that prepare will write, so that a plan knows them before a weight is read;
         * bit i of *consumed: input i is packed, and run never reads it. NULL: nothing is packed. Packed bytes hold no
         * addresses: a saved plan contains them, and a session loaded from it gets them without calling prepare, which
         * must make nothing else for a node that it packs. */
        tort_status (*size)(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                            tort_error *error);
        uint32_t in_parts; /* bit i: prepare accepts constant input i without data, and reads it in parts */
        bool writes_all;   /* prepare writes every byte of packed: no need to zero it */
    } pack;

    /* Inputs that run addresses by strides in params. Then a plan need not run the Transpose, Split, Slice or Gather
     * that would only make them contiguous. size must not depend on strides. */
    struct {
        uint32_t inputs; /* bit i: input i */
        /* Changes params, which resolve made for these shapes in row-major order, so that neighbours along axis k of
         * the input are strides[k] elements apart. */
        void (*restride)(const tort_node_view *node, void *params, int32_t input, const int64_t *strides);
    } strides;

    /* The layout of the operands in the two masks; everything else is plain. Tensors have the shapes of the node: only
     * the order of their bytes differs. A layout pays if values stay in it between such kernels: a node without such a
     * neighbour goes to the provider's next row with a run that claims it, if there is one, unless `alone` says
     * otherwise. */
    struct {
        /* Number from 1 on of a row of tort_provider.layouts; 0: all is plain. TORT_ANY_LAYOUT: plain, or the layout of
         * a neighbour. The inputs and outputs of the masks must then be of one shape; an input of one element stays
         * plain. In a layout, such a kernel sees lists (rank 1) of all elements of the layout, padding included. It has
         * a run, and neither size, pack.size nor fit. */
        int32_t id;
        uint32_t inputs, outputs; /* bit i: the kernel reads input i, or writes output i, in the layout */
        bool follows;             /* pays only beside a kernel of this layout that does not follow */
        /* Pure: true if the node is faster in this layout than by the next row even if all its operands are converted:
         * then it needs no neighbour. NULL: no. */
        bool (*alone)(const tort_node_view *node);
    } layout;

    /* Prints the C statement of a step; pure. NULL: the kernel cannot be compiled into firmware. */
    tort_status (*emit)(tort_emit *emit);

    /* Set by the core, see tort_provider.widening: the row that this one runs for other types; NULL: none. */
    const struct tort_kernel *of;
} tort_kernel;

/* ---- layouts ----------------------------------------------------------------------------------------------------- */

/* An order of a tensor's elements other than row-major, possibly with padding, whose bits are undefined: channels last,
 * or channels in blocks. The place of an element, in elements, depends only on the dimensions. Only kernels of the
 * provider exchange values in a layout; for other readers the core converts them. */
typedef struct tort_layout {
    const char *name; /* shown in reports: "nhwc" */
    /* Pure: true if the layout can hold tensors of this type and shape, whose rank is known. A dimension may be a
     * symbol: then the answer is for all of its sizes. Only asked for types of whole bytes, and not for strings. */
    bool (*fits)(const tort_info *info);
    /* Pure: bytes of such a tensor, ignoring its data; no fewer than in plain form. False: overflow. */
    bool (*bytes)(const tort_tensor *tensor, size_t *bytes);
    /* Conversions: kernels of one input and one output of the same type and shape, not empty; params, scratch and
     * prepared data are NULL. */
    tort_status (*from_plain)(const tort_call *call);
    tort_status (*to_plain)(const tort_call *call);
    /* Prints the C statement of a conversion, as tort_kernel.emit; NULL: it cannot be compiled into firmware. */
    tort_status (*emit)(tort_emit *emit, bool to_plain);
} tort_layout;

/* ---- segments ---------------------------------------------------------------------------------------------------- */

/* A node of a segment. Its operands are values of the segment; -1: absent. */
typedef struct tort_segment_node {
    const tort_op *op;
    const char *name;
    const tort_attribute *attributes;
    const void *params; /* for the shapes in `values` */
    const int32_t *inputs, *outputs;
    int32_t attribute_count, input_count, output_count;
} tort_segment_node;

/* Nodes that are compiled into one: connected, and without a path between two of them through a node outside. All of
 * their operands are tensors, with shapes that the shapes of the model's inputs determine.
 *
 * The values: first those from outside, which are call->inputs of a run, weights too; then the nodes' outputs. Those
 * that are read outside are call->outputs, in the order of `outputs`; the others exist only if the kernel keeps them,
 * in memory that it requests by `size`. */
typedef struct tort_segment_view {
    const tort_segment_node *nodes; /* in topological order */
    /* In claim, a dimension may be a symbol; in size and fit all are numbers. Data of a constant is available to fit if
     * the provider's memory is the host's, otherwise only if it is small. */
    const tort_info *values;
    const int32_t *outputs; /* value numbers, ascending */
    int32_t node_count, value_count, input_count, output_count;
} tort_segment_view;

/* ---- the provider ------------------------------------------------------------------------------------------------ */

enum { TORT_RECORDINGS = 4 }; /* of a stream */

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
    const char *const *option_keys; /* known option keys; ends with NULL */
    bool host_memory;               /* kernels access host memory: `memory` may be empty */
    bool prepares_in_parallel;      /* kernels of different nodes may prepare at once, with a thread-safe allocator */
    /* Opens a provider in a shared object, for which this row is a placeholder, when it is first named: returns its
     * vtable, or NULL with the condition filled. The rest of the row is then unused. NULL: the row is the provider. */
    const struct tort_provider *(*load)(tort_condition *condition);

    /* Describes the target named by text ("sm_87") without accessing a device. NULL: not possible. */
    tort_status (*describe)(const tort_provider_config *config, const char *text, tort_target *target,
                            tort_error *error);
    /* Opens the device, or fills the condition with the reason why not. *device may be NULL if it needs none. */
    void (*open)(const tort_provider_config *config, void **device, tort_target *target, tort_condition *condition);
    void (*close)(void *device);
    /* True if a library is available. Asked once per library, when the first node would use it. NULL: none ever is. If
     * true, fills message with its version ("13.1"), otherwise with the file names tried, and cure. */
    bool (*library)(void *device, tort_library library, char *message, size_t message_size, char *cure,
                    size_t cure_size);
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

    /* The runs of some plans consist only of work on the stream, the same each time but for the contents of host
     * memory: such work is recorded once, and launched as a whole. A stream has TORT_RECORDINGS of them, for an
     * application that runs some shapes, or some buffers, in turns. */
    struct {
        bool can; /* set also by a provider that can only describe a device */
        /* begin and end bracket the steps of such a run. `which`: the recording that is its own; `same`: the last run
         * with that number was the same, at the same device addresses. begin returns true if the work is recorded
         * already: then only steps that copy between host and device are executed, and end launches the recording.
         * Otherwise all steps are executed, and begin may start recording them. end returns true if nothing of the work
         * was executed, so that all must be requested again. */
        bool (*begin)(void *device, void *stream, int32_t which, bool same);
        bool (*end)(void *device, void *stream, tort_status status);
        void (*note)(void *device, char *text, size_t size); /* why it does not record, or "" */
    } recording;

    /* Compiles nodes whose rows allow it (tort_in_segment) together; NULL: none. A kernel as any other, except for its
     * view: node->segment is set, params are those of its nodes. `claim` may refuse; `fit` compiles for the shapes of
     * a plan; `run` runs the result (call->fitted); `unfit` frees it. domain and op
     * are ignored; host_inputs is 0: all inputs are in the provider's memory, and plain. */
    const tort_kernel *segments;
    /* Runs nodes by rows that refuse them for their types (NO_TYPE), as float16 by rows for float; NULL: none.
     * Such a row is asked again as a copy with the functions of this one, which find the original in node->kernel->of
     * and call->kernel->of. In reports `name` is appended to the name of the row. Not for rows that keep more between
     * calls than packed weights. */
    const tort_kernel *widening;
    /* Layouts of its kernels beside plain; ends with a row whose name is NULL. NULL: none. */
    const tort_layout *layouts;
} tort_provider;

/* True if the row runs the operator's plain loop. False for the memory of a device, even if the row of a described
 * device has no code in this build. */
static inline bool tort_runs_reference(const tort_provider *provider, const tort_kernel *kernel) {
    return provider->host_memory && !kernel->run && kernel->segment != TORT_SEGMENT_ONLY;
}

/* Providers of other runtimes, so that a user who asks for one gets a better message than "unknown". In foreign.c. */
typedef struct tort_foreign_provider {
    const char *name, *hint;
} tort_foreign_provider;

extern const tort_foreign_provider tort_foreign_providers[]; /* ends with name NULL */

/* Provider options of other runtimes: their name here, or why there is none. */
typedef struct tort_foreign_option {
    const char *key, *own, *hint; /* own or hint is NULL */
} tort_foreign_option;

extern const tort_foreign_option tort_foreign_options[]; /* ends with key NULL */

#ifdef __cplusplus
}
#endif
#endif
