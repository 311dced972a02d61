/* provider.h - what an execution provider implements: one vtable and a table of kernels.
 *
 * A kernel row holds claim and run side by side, so that what a provider says it can do and what it does cannot
 * drift apart. A refusal is a value: a code out of a closed list, a sentence, and what the user can do.
 * A provider must not decide where a node runs (place.c does), nor know other providers. It can live outside this tree:
 * `make install` brings this header and those it includes, and the library exports what is marked TORT_API.
 * Read next: tests/fake_provider.c, a whole provider in 60 lines; tests/segments/engine_provider.c, one that compiles
 * several nodes into one; tests/layouts/channels_provider.c, one with a layout of its own; then place.c. */
#ifndef TORT_RUNTIME_PROVIDER_H
#define TORT_RUNTIME_PROVIDER_H

#include "runtime/op.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tort_peak; /* tinyort_profile.h, as is the next */
struct tort_device_calls;

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

typedef struct tort_verdict {
    tort_verdict_code code;
    char message[360]; /* what was found and what was expected; "" for YES; a condition's message fits */
    char cure[160];    /* what the user can do; may be "" */
} tort_verdict;

TORT_API tort_verdict tort_yes(void);
TORT_API tort_verdict tort_no(tort_verdict_code code, const char *cure, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

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
       /* Sums of four products of bytes, with the vectors of v3, v4 and NEON. */
       TORT_CPU_AVX_VNNI = 1u << 4,
       TORT_CPU_AVX512_VNNI = 1u << 5,
       TORT_CPU_NEON_DOT = 1u << 6
};

#define TORT_SPACE_NAME 64

/* A device as data, so that a plan for a board can be made on a laptop. */
typedef struct tort_target {
    char description[128]; /* "NVIDIA H100, sm_90, driver 580"; of the host without its threads */
    /* Whose bytes its kernels address, the same text as any other provider that addresses them: "CUDA device 0". Two
     * providers of one space share values without a copy, and the streams that the first of them opens. "": its own. */
    char space[TORT_SPACE_NAME];
    int32_t compute_capability; /* 87 for sm_87; 0 where it has no meaning */
    int32_t driver;             /* CUDA driver version as cudaDriverGetVersion tells it; 0 unknown */
    uint32_t instructions;
    int32_t threads;  /* asked for; a session may get fewer, and says so in its report */
    uint64_t memory;  /* bytes that may be used: the device's, or mem_limit; 0 unknown */
    bool values_only; /* memory is a limit for values alone, whatever the weights take */
    bool tf32;        /* the option of that name */
    bool libraries;   /* false: libraries=off */
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
} tort_provider_config;

TORT_API const char *tort_provider_option_get(const tort_provider_config *config, const char *key); /* NULL if absent */

/* Reads bytes as users type them: "1000", "64k", "512M", "2G", "1T"; whole numbers, units of 1024 in either case.
 * False: it is none of these, or too large; *bytes is then left alone. In sizes.c. */
TORT_API bool tort_read_size(const char *text, uint64_t *bytes);

/* How opening ended. code is one word for machines: "READY", "NO_DRIVER", "OLD_DRIVER", "NO_DEVICE", "HIDDEN",
 * "NO_IMAGE", "NO_MEMORY", "NOT_BUILT", "DISABLED", "UNKNOWN", "BAD_OPTION", "FAILED". */
typedef struct tort_condition {
    bool ready;
    char code[24];
    char message[320]; /* the cause, with what was found */
    char cure[320];    /* what the user can do */
    char note[320];    /* said also when ready, such as PTX that would be compiled at start; may be "" */
} tort_condition;

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/* What prepare may use and must give back. */
typedef struct tort_prepare {
    /* inputs[i].data is set for constants, but for large ones of tort_kernel.read_in_parts; params as for claims */
    const tort_node_view *node;
    const tort_target *target;
    void *device;
    const tort_env *env;
    void *packed;   /* to write to: as many bytes as pack_size said, in the provider's memory (zeroed if that is the
                     * host's, unless the row writes_all_packed); NULL: none */
    void *prepared; /* to fill: whatever else run needs; goes to run and release */
    const struct tort_in_file *in_file; /* of tort_prepare_read */
    tort_error *error;
} tort_prepare;

/* Reads bytes of a constant input whose data is NULL, from several threads at once if need be. In pack.c. */
TORT_API tort_status tort_prepare_read(const tort_prepare *prepare, int32_t input, size_t offset, size_t bytes,
                                       void *to, tort_error *error);

/* What fit may use and must give back: what depends on the shapes of one plan, such as a library's descriptors and
 * its choice of an algorithm. A step whose shapes depend on data is fitted right before it runs. */
typedef struct tort_fit {
    const tort_node_view *node; /* shapes and params as for size: concrete */
    const tort_target *target;
    size_t scratch; /* bytes of scratch that run will have */
    void *device;
    /* Of the context that is about to run the step; NULL while planning, when no other fit is under way. */
    void *stream;
    const tort_env *env;
    /* To fill: goes to unfit and to run, which leaves it as it is, as contexts share it; NULL: nothing. */
    void *fitted;
    tort_error *error;
} tort_fit;

/* Can a node be compiled together with others, by tort_provider.segments? An alias (Identity, Reshape), which is else
 * done by the executor, is only claimed for that. */
typedef enum tort_in_segment {
    TORT_SEGMENT_NEVER,
    TORT_SEGMENT_MAY, /* also by itself, as any node */
    TORT_SEGMENT_ONLY /* not by itself: the row has a claim and nothing else */
} tort_in_segment;

/* tort_kernel.layout of a row that runs element by element, and so in any layout of its provider. */
enum { TORT_ANY_LAYOUT = -1 };

/* Several rows an operator; in the order of the table the first that claims, serves. */
typedef struct tort_kernel {
    const char *domain, *op; /* op "*": any operator */
    const char *name;        /* shown in reports: "conv_implicit_gemm_tf32", "reference" */
    uint32_t host_inputs;    /* inputs whose VALUES it needs in host memory */
    tort_library needs;
    tort_verdict (*claim)(const tort_target *target, const tort_node_view *node); /* pure; NULL: yes */
    /* Pure: bytes of scratch for these concrete shapes; NULL: none, or what the operator's reference needs. */
    tort_status (*size)(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error);
    /* Pure: bytes of packed weights that prepare will write, so that a plan tells what they take before one is read;
     * bit i of *consumed: input i is in there, and run never reads it again. NULL: nothing is packed. Packed bytes hold
     * no addresses: a saved plan has them, and a session out of it gets them without a call of prepare, which makes
     * nothing else of a node that it packs. */
    tort_status (*pack_size)(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error);
    /* Bit i: prepare takes constant input i without data as well, and reads it in parts. */
    uint32_t read_in_parts;
    bool writes_all_packed;                        /* prepare writes every byte of packed, which is not zeroed before */
    tort_status (*prepare)(tort_prepare *prepare); /* NULL: nothing to prepare */
    tort_status (*run)(const tort_call *call);     /* NULL: the operator's reference */
    int32_t variant;                               /* of rows that share a run; it reads call->kernel->variant */
    void (*release)(void *device, const tort_env *env, void *prepared); /* NULL where prepare is */
    tort_status (*fit)(tort_fit *fit);                                  /* NULL: nothing depends on the plan */
    void (*unfit)(void *device, const tort_env *env, void *fitted);     /* NULL where fit is */
    tort_in_segment segment;
    /* Bit i: run may write output 0 over input i, where both have one shape and elements of one size: it has read an
     * element when it writes the one at its place, and reads it no more. A plan decides whether it does. */
    uint32_t in_place;
    /* Bit i: run finds the elements of input i, however far apart, by strides in params. Then a plan need not run the
     * Transpose, Split, Slice or Gather that would only bring them together: restride writes into params, which resolve
     * made for these shapes in row-major order, that neighbours along axis k of the input are strides[k] elements
     * apart. size does not look at them. */
    uint32_t strided;
    void (*restride)(const tort_node_view *node, void *params, int32_t input, const int64_t *strides);
    /* The layout, the number from 1 on of a row of tort_provider.layouts, in which the kernel reads input i where bit i
     * of layout_inputs is set, and writes output i where bit i of layout_outputs is; all else is plain, and with 0
     * everything. Its tensors have the shapes of the node: only their bytes are in another order. It serves where a
     * value stays in the layout from one such kernel to another; a node that would be alone goes to the provider's next
     * row that claims it, if there is one with a run, unless layout_alone says that it pays.
     * TORT_ANY_LAYOUT: plain, or a layout that a neighbour has, as it comes. Only where these inputs and outputs are
     * of one shape; an input of one element stays plain. In a layout such a kernel sees them as lists of all the
     * elements that the layout has (rank 1), those that only fill it too. It has a run, and neither size, pack_size nor
     * fit. */
    int32_t layout;
    uint32_t layout_inputs, layout_outputs;
    bool layout_follows; /* gains nothing by its layout but that neighbours stay in it: it needs one that does not
                            follow */
    /* Pure: is the node faster so than by the next row even where all that it reads and writes is converted? Then it
     * may be alone. NULL: no. */
    bool (*layout_alone)(const tort_node_view *node);
    /* Filled in by the core, see tort_provider.widening: the row that this one runs for other types; NULL: none. */
    const struct tort_kernel *of;
} tort_kernel;

/* ---- layouts ----------------------------------------------------------------------------------------------------- */

/* Another order of a tensor's elements than row-major, maybe with others between them, whose bits mean nothing:
 * channels last, or channels in blocks. The place of an element, counted in elements, depends on nothing but the
 * dimensions. Values are in a layout between kernels of the provider alone; the core converts where others read them.
 */
typedef struct tort_layout {
    const char *name; /* shown in reports: "nhwc" */
    /* Pure: does it hold tensors of this type and shape, whose rank is known? A dimension may be a symbol: then the
     * answer is for all of its sizes. Only types whose elements are whole bytes, and no strings, are asked for. */
    bool (*fits)(const tort_info *info);
    /* Pure: of such a tensor, data aside, no fewer than it has in plain form. False: more than can be counted. */
    bool (*bytes)(const tort_tensor *tensor, size_t *bytes);
    /* Kernels of one input and one output, both of the same type and shape, not empty; params, scratch and what a
     * kernel prepares are NULL. */
    tort_status (*from_plain)(const tort_call *call);
    tort_status (*to_plain)(const tort_call *call);
} tort_layout;

/* ---- segments ---------------------------------------------------------------------------------------------------- */

/* One of the nodes that are compiled together. Its operands are values of the segment; -1: absent. */
typedef struct tort_segment_node {
    const tort_op *op;
    const char *name;
    const tort_attribute *attributes;
    const void *params; /* for the shapes in `values` */
    const int32_t *inputs, *outputs;
    int32_t attribute_count, input_count, output_count;
} tort_segment_node;

/* Nodes that become one: connected, and no path from one to another leads through a node that is none of them. All of
 * their operands are tensors whose shapes the shapes of the model's inputs determine.
 *
 * The values: first those from outside, call->inputs of a run, weights too; then what the nodes make. Those that
 * somebody outside reads are call->outputs, in the order of `outputs`; the others exist only if the kernel keeps them,
 * in memory that it asks for with `size`. */
typedef struct tort_segment_view {
    const tort_segment_node *nodes; /* in an order in which they can run */
    /* While claimed, a dimension may be a symbol; for size and fit all are numbers. The data of a constant is at hand
     * for fit where the provider's memory is the host's, else only that of a small one. */
    const tort_info *values;
    const int32_t *outputs; /* values, ascending */
    int32_t node_count, value_count, input_count, output_count;
} tort_segment_view;

/* ---- the provider ------------------------------------------------------------------------------------------------ */

/* Who may read and write at a pointer. */
enum { TORT_REACH_HOST = 1u << 0, TORT_REACH_DEVICE = 1u << 1 };

typedef struct tort_provider {
    uint32_t abi;          /* TORT_PROVIDER_ABI */
    const char *name;      /* as in a chain */
    const char *summary;   /* one line for `tinyort providers` */
    const char *built_for; /* what this build has code for: "sm_80 sm_90 PTX-75", "x86-64-v2 v3 v4"; NULL: anything */
    /* Not NULL: this row only stands for a provider in a shared object of its own. Returns that one's vtable, opened
     * when it is first named, or NULL with the condition filled; the rest of the row is then not used. */
    const struct tort_provider *(*load)(tort_condition *condition);
    bool host_memory; /* its kernels read and write host memory: alloc .. copy may be NULL */
    /* Its kernels: tables that end with a row whose op is NULL; the list ends with NULL. */
    const tort_kernel *const *kernels;
    /* Option keys it knows, ends with NULL. */
    const char *const *option_keys;
    /* Describes the target named by text ("sm_87") without touching a device. NULL: cannot. */
    tort_status (*describe)(const tort_provider_config *config, const char *text, tort_target *target,
                            tort_error *error);
    /* Opens the device, or says in the condition why not. *device may be NULL where none is needed. */
    void (*open)(const tort_provider_config *config, void **device, tort_target *target, tort_condition *condition);
    void (*close)(void *device);
    /* Is a library there? Asked once a library, when the first node would use it. NULL: none is ever. On true fills
     * message with its version ("13.1"), on false with the file names tried, and cure. */
    bool (*library)(void *device, tort_library library, char *message, size_t message_size, char *cure,
                    size_t cure_size);
    void *(*alloc)(void *device, size_t bytes);          /* aligned to TORT_DEVICE_ALIGN; NULL: out of memory */
    void (*free)(void *device, void *ptr, size_t bytes); /* of the size that alloc was asked for */
    /* A thread is about to use the device, or done with it: every call of tinyort.h that reaches a device is between
     * the two. What enter returns, leave gets: the thread's own current device, say, to be restored. NULL: nothing to
     * do. */
    int32_t (*enter)(void *device);
    void (*leave)(void *device, int32_t before);
    /* Ordered after what was put on the stream; TO_HOST returns when the bytes have arrived. */
    tort_status (*copy)(void *device, void *stream, void *dst, const void *src, size_t bytes, tort_direction direction,
                        tort_error *error);
    /* As copy to the host, but the bytes are there only when sync has returned well. NULL: copy is asked. */
    tort_status (*copy_late)(void *device, void *stream, void *dst, const void *src, size_t bytes, tort_error *error);
    /* From one sync of the stream to the next come so many copies between host and device, of so many bytes together:
     * time to take memory in which the host need not wait for them. Asked again where a plan needs more; what cannot
     * be had only costs time. NULL: nothing to take. */
    void (*stage)(void *device, void *stream, int32_t copies, size_t bytes);
    /* Where `records` is set, which it is also where the provider can only describe a device: the runs of some plans
     * are all work of the stream, the same each time but for what host memory holds. Around the steps of one, begin
     * and end are called; `same`: so was the last run, in the same places of the device. begin returns true where it
     * has the work already: of the steps, those that copy between host and device are made, and end has it done.
     * Otherwise all are made, and begin may have them recorded. end returns true where nothing was done of what was
     * asked, which is to be asked again. The note says why it does not record, or "". */
    bool records;
    bool (*begin)(void *device, void *stream, bool same);
    bool (*end)(void *device, void *stream, tort_status status);
    void (*recording_note)(void *device, char *text, size_t size);
    tort_status (*stream_open)(void *device, void **stream, tort_error *error); /* a context's; NULL: none */
    void (*stream_close)(void *device, void *stream);
    /* Waits for the stream; reports what went wrong on the device since the last call. NULL: nothing to wait for. */
    tort_status (*sync)(void *device, void *stream, tort_error *error);
    /* What was asked of the device for this stream since it was opened; what belongs to no stream, such as memory,
     * counts for all of them. NULL: it does not count. */
    void (*calls)(void *device, void *stream, struct tort_device_calls *calls);
    /* Bytes free now on the device, for the report; 0 unknown. NULL: not known. */
    uint64_t (*memory_free)(void *device);
    /* Whose memory is this? TORT_REACH bits, so that a pointer of the application in the wrong memory is an error and
     * not a crash. NULL: it cannot tell. */
    uint32_t (*reach)(void *device, const void *pointer);
    /* Not NULL: takes nodes of which the rows say so together. A kernel as any other, but for what it sees:
     * node->segment is set, params are those of its nodes. `claim` may refuse; `fit` compiles, for the shapes of one
     * plan, with which it is kept; `run` runs what was compiled (call->fitted); `unfit` frees it. domain and op are not
     * read; host_inputs is 0: all inputs are in the provider's memory, and plain. */
    const tort_kernel *segments;
    /* Not NULL: runs nodes by rows that refuse them for their types (NO_TYPE), as those of float16 by rows for float.
     * Such a row is asked again by a copy of it that has the functions of this one, which find the row itself in
     * node->kernel->of and call->kernel->of. In reports `name` is appended to the name of the row. Not for rows that
     * keep more from one call to the next than packed weights. */
    const tort_kernel *widening;
    /* What its kernels read and write beside plain tensors; ends with a row whose name is NULL. NULL: nothing. */
    const tort_layout *layouts;
    /* Measures what its kernels could do at most, in some tenths of a second, on the threads of env; *peak comes as 0,
     * and what cannot be told stays so. NULL: nothing can. */
    void (*peak)(void *device, const tort_env *env, struct tort_peak *peak);
    /* Its kernels may prepare on several threads at once, each for another node. What they allocate there is of an
     * allocator that allows it. */
    bool prepares_in_parallel;
} tort_provider;

/* Does the row run the operator's plain loop? Not in the memory of a device, even where the row of a described one has
 * no code in this build. */
static inline bool tort_runs_reference(const tort_provider *provider, const tort_kernel *kernel) {
    return provider->host_memory && !kernel->run && kernel->segment != TORT_SEGMENT_ONLY;
}

/* The providers of this build, ends with NULL. In providers.c. */
extern const tort_provider *const tort_providers[];

/* Providers that other runtimes have, so that a user who asks for one learns more than "unknown". In foreign.c. */
typedef struct tort_foreign_provider {
    const char *name, *hint;
} tort_foreign_provider;

extern const tort_foreign_provider tort_foreign_providers[]; /* ends with name NULL */

/* The same of options: what they are called here, or why there is none. */
typedef struct tort_foreign_option {
    const char *key, *own, *hint; /* one of the two is NULL */
} tort_foreign_option;

extern const tort_foreign_option tort_foreign_options[]; /* ends with key NULL */

#ifdef __cplusplus
}
#endif
#endif
