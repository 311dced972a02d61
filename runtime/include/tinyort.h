/* tinyort.h - the interface for applications.
 *
 * Three objects, three life times:
 *   model    a checked graph and the location of its weights; immutable, shared by sessions
 *   session  a provider chain, the placement of every node with its reason, prepared weights
 *   context  one run at a time: its arena, scratch and outputs; many contexts of one session run side by side
 *
 * Every function that can fail returns a status and fills the caller's error. NULL is allowed for error, env, options,
 * what a comment says, and lists without elements; any other NULL, and a negative number of elements, is TORT_E_USAGE,
 * and functions without a status then answer NULL, 0, -1, false or "", or do nothing.
 * The library never prints, exits, reads the environment or owns a global, and numbers and words in text are the same
 * under every locale that the application sets. Not ABI-stable until 1.0.
 * Structs grow at their end, and a program that was compiled with a shorter one goes on working:
 *   with struct_size         the caller's: it sets struct_size to sizeof and the rest to zero; the library reads and
 *                            fills no more than that
 *   reports and probes       the library's: reached through pointers alone, in lists too (report->nodes[i]->name)
 *   all others               never change: tort_tensor, tort_string, tort_value_type, tort_error ...
 * Ownership words: `borrows` (the caller keeps it and keeps it alive), `owns` (the library frees it),
 * `caller frees`. Read next: cli/run.c for a whole program, tinyort_report.h, then provider.h, tinyort_plan.h,
 * tinyort_profile.h. */
#ifndef TINYORT_H
#define TINYORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TORT_VERSION "0.1.0"
#define TORT_INTERFACE 1 /* incremented by each release that adds a function or a member to this header */
#define TORT_MAX_RANK 8

#ifndef TORT_API
#ifdef __cplusplus
#define TORT_API extern "C" __attribute__((visibility("default")))
#else
#define TORT_API __attribute__((visibility("default")))
#endif
#endif

/* ---- status and error -------------------------------------------------------------------------------------------- */

typedef enum tort_status {
    TORT_OK = 0,
    TORT_E_INTERNAL = 1,     /* a bug of tinyort or of a provider */
    TORT_E_USAGE = 2,        /* wrong argument of the caller: an unknown option, provider or name */
    TORT_E_MODEL = 3,        /* the model file is not valid, or asks for more than stated limits allow */
    TORT_E_INPUT = 4,        /* an input does not fit what the model declares, or a run's sizes a node */
    TORT_E_PLACEMENT = 5,    /* no provider of the chain takes a node, or --require/--strict was not met */
    TORT_E_RUN = 6,          /* failed while running: a value out of range, a kernel that failed */
    TORT_E_MEMORY = 7,       /* an allocation failed, or a stated limit is too small; the message says how much */
    TORT_E_IO = 8,           /* a file could not be opened or read */
    TORT_E_DEVICE_LOST = 9,  /* sticky: every later call on the session fails the same way */
    TORT_E_UNSUPPORTED = 10, /* valid ONNX that this build does not implement */
    TORT_E_CANCELLED = 11    /* tort_context_cancel or time_limit ended it */
} tort_status;

/* Owned by the caller. `node` is the index of the node in the graph, -1 if no node is at fault. */
typedef struct tort_error {
    tort_status code;
    int32_t node;
    const char *provider; /* static; NULL if no provider is at fault */
    char msg[512];
} tort_error;

TORT_API const char *tort_status_name(tort_status status); /* "TORT_E_MODEL"; never NULL */
/* Version of the linked library: TORT_VERSION and TORT_INTERFACE at the time of its build. */
TORT_API const char *tort_version(void);
TORT_API int32_t tort_interface(void);

/* ---- types and tensors ------------------------------------------------------------------------------------------- */

/* Element types, with the numbers of ONNX's TensorProto.DataType (onnx 1.23). */
typedef enum tort_type {
    TORT_UNDEFINED = 0,
    TORT_FLOAT = 1,
    TORT_UINT8 = 2,
    TORT_INT8 = 3,
    TORT_UINT16 = 4,
    TORT_INT16 = 5,
    TORT_INT32 = 6,
    TORT_INT64 = 7,
    TORT_STRING = 8,
    TORT_BOOL = 9,
    TORT_FLOAT16 = 10,
    TORT_DOUBLE = 11,
    TORT_UINT32 = 12,
    TORT_UINT64 = 13,
    TORT_COMPLEX64 = 14,
    TORT_COMPLEX128 = 15,
    TORT_BFLOAT16 = 16,
    TORT_FLOAT8E4M3FN = 17,
    TORT_FLOAT8E4M3FNUZ = 18,
    TORT_FLOAT8E5M2 = 19,
    TORT_FLOAT8E5M2FNUZ = 20,
    TORT_UINT4 = 21,
    TORT_INT4 = 22,
    TORT_FLOAT4E2M1 = 23,
    TORT_FLOAT8E8M0 = 24,
    TORT_UINT2 = 25,
    TORT_INT2 = 26,
    TORT_FLOAT6E2M3 = 27,
    TORT_FLOAT6E3M2 = 28,
    TORT_TYPE_COUNT = 29
} tort_type;

TORT_API const char *tort_type_name(tort_type type); /* as in ONNX: "float16", "float8e4m3fn", "int4"; never NULL */
TORT_API int tort_type_bits(tort_type type);         /* bits per element in memory; 0 for UNDEFINED */

/* An element of a TORT_STRING tensor. Bytes may contain NUL and need no terminator. */
typedef struct tort_string {
    const char *data;
    size_t length;
} tort_string;

/* A dense row-major tensor in host memory, or in the memory of the provider to which its input or output is bound.
 * Passed by value; it borrows `data`. Types below 8 bits are packed exactly as in ONNX's raw_data. Rank 0 is a scalar.
 */
typedef struct tort_tensor {
    tort_type type;
    int32_t rank;
    int64_t dims[TORT_MAX_RANK];
    void *data;
} tort_tensor;

/* Number of elements (product of dims) and bytes of a tensor; false if a dim is negative or the product overflows. */
TORT_API bool tort_tensor_count(const tort_tensor *tensor, int64_t *count);
TORT_API bool tort_tensor_bytes(const tort_tensor *tensor, size_t *bytes);

typedef enum tort_kind { TORT_TENSOR, TORT_SPARSE, TORT_SEQUENCE, TORT_OPTIONAL, TORT_MAP } tort_kind;

#define TORT_MAX_NESTING 3 /* nesting around a tensor: optional(seq(map(int64,tensor(float)))) */

/* The type of a value: its kinds from the outside in, and the element type of the tensors inside. Two types are equal
 * if both members are. The functions below make and read `nest`. */
typedef struct tort_value_type {
    tort_type type; /* UNDEFINED: unknown, as of an empty sequence in a file */
    uint32_t nest;
} tort_value_type;

TORT_API tort_value_type tort_tensor_type(tort_type type);
/* Types of containers. More than TORT_MAX_NESTING levels give a type that no value has: its kind is SPARSE, its
 * elements are UNDEFINED. */
TORT_API tort_value_type tort_sequence_type(tort_value_type element);
TORT_API tort_value_type tort_optional_type(tort_value_type element);
TORT_API tort_value_type tort_map_type(tort_type key, tort_value_type element);
TORT_API tort_kind tort_type_kind(tort_value_type type);
TORT_API tort_type tort_type_key(tort_value_type type);           /* of a map; otherwise UNDEFINED */
TORT_API tort_value_type tort_type_element(tort_value_type type); /* of its elements; of a tensor itself */
/* Writes a type as ONNX does, "seq(tensor(float))", truncated to `size` bytes. Returns `text`. */
TORT_API const char *tort_type_text(tort_value_type type, char *text, size_t size);

/* ---- environment ------------------------------------------------------------------------------------------------- */

/* Services of the application for the library. NULL members select the default: the C library's allocator and a pool of
 * `threads` threads that belongs to the session. */
typedef struct tort_env {
    size_t struct_size; /* sizeof(tort_env) */
    /* Lua's convention: new_size 0 frees, ptr NULL allocates; returns NULL on failure, then ptr stays valid.
     * The result is aligned like malloc's. Called from several threads when contexts run side by side. */
    void *(*alloc)(void *ud, void *ptr, size_t old_size, size_t new_size);
    void *alloc_ud;
    /* Calls body(arg, begin, end) over disjoint ranges that cover 0..count, at most `threads` at a time. */
    void (*parallel_for)(void *ud, int64_t count, int64_t grain, void (*body)(void *arg, int64_t begin, int64_t end),
                         void *arg);
    void *parallel_ud;
    uint64_t hash_key[2]; /* keys the hash tables, so that no file can make them slow; 0: random bits of the system */
} tort_env;

/* Makes env allocate from this block of `bytes` bytes, aligned to 16: a model, a session or a context then lives in
 * memory that the caller has set aside, and may reuse when everything made in it has been freed. If the block is full,
 * functions fail with TORT_E_MEMORY. The caller sets env->struct_size; several environments and threads may share it.
 */
TORT_API tort_status tort_env_in_block(tort_env *env, void *memory, size_t bytes, tort_error *error);
/* Peak use of env's block in bytes: a block of this size serves the same calls again; a smaller one is too small. 0 if
 * env is in no block. */
TORT_API size_t tort_block_max(const tort_env *env);

/* ---- values: what a run carries beside tensors ------------------------------------------------------------------- */

/* A tensor, sequence, optional or map in host memory, with a thread-safe reference count: whoever made or retained it
 * releases it; the last release frees it. It never changes while more than one reference is held. Its allocator must
 * outlive it. Functions that make one return NULL if memory runs out or their arguments do not fit together. */
typedef struct tort_value tort_value;

/* Copies elements and the text of strings. env may be NULL, here and below. */
TORT_API tort_value *tort_value_tensor(const tort_env *env, const tort_tensor *tensor);
/* Borrows the tensor's data until the value is freed, then calls release(ud, tensor), unless release is NULL. If this
 * returns NULL, release is not called. */
TORT_API tort_value *tort_value_borrow(const tort_env *env, const tort_tensor *tensor,
                                       void (*release)(void *ud, tort_tensor *tensor), void *ud);
TORT_API tort_value *tort_value_sequence(const tort_env *env, tort_value_type element); /* empty */
/* An optional that retains `element`; empty if that is NULL. */
TORT_API tort_value *tort_value_optional(const tort_env *env, tort_value_type type, const tort_value *element);
/* `keys`: rank 1, int64 or string, copied; values[i] belongs to key i and is retained. */
TORT_API tort_value *tort_value_map(const tort_env *env, const tort_tensor *keys, tort_value_type type,
                                    const tort_value *const *values);
/* Appends `element`, which is retained, to a sequence that has one reference. False if memory ran out, the types
 * differ, or the sequence has other references; it is unchanged then. A sequence of UNDEFINED element type takes the
 * type of its first element. */
TORT_API bool tort_value_append(tort_value *sequence, const tort_value *element);

TORT_API tort_value *tort_value_retain(const tort_value *value); /* the same value; NULL is allowed */
TORT_API void tort_value_release(const tort_value *value);       /* NULL is allowed */

TORT_API tort_value_type tort_value_type_of(const tort_value *value);
TORT_API tort_kind tort_value_kind(const tort_value *value);
/* Number of elements of a sequence or map; 1 or 0 of an optional; 0 of a tensor. */
TORT_API int32_t tort_value_count(const tort_value *value);
TORT_API const tort_value *tort_value_at(const tort_value *value, int32_t index); /* borrowed; NULL: no such element */
/* The tensor of a tensor value, otherwise NULL; keys of a map, rank 1. Both are borrowed and read-only. */
TORT_API const tort_tensor *tort_value_view(const tort_value *value);
TORT_API const tort_tensor *tort_value_keys(const tort_value *value);

/* ---- providers: what there is, and what opens here --------------------------------------------------------------- */

struct tort_provider; /* provider.h */

/* An option of a provider, as in "cuda:device=1". */
typedef struct tort_option_help {
    const char *key, *example, *help; /* "device", "1", one line */
} tort_option_help;

/* A provider of the library. Filled as far as struct_size says; strings belong to the library. */
typedef struct tort_provider_info {
    size_t struct_size;              /* sizeof(tort_provider_info), set by the caller */
    const char *name;                /* as in a chain */
    const char *summary;             /* one line */
    bool present;                    /* false: its shared object is missing; a probe says more */
    const char *built_for;           /* "sm_80 sm_90 PTX-75"; NULL: any device */
    const tort_option_help *options; /* ends with a key of NULL */
} tort_provider_info;

TORT_API int32_t tort_provider_count(void);
/* Describes a provider without opening a device. TORT_E_USAGE for an index out of range. */
TORT_API tort_status tort_provider_at(int32_t index, tort_provider_info *info, tort_error *error);

typedef struct tort_probe_options {
    size_t struct_size;   /* sizeof(tort_probe_options) */
    const char *chain;    /* "cuda:device=1,cpu"; NULL: every provider there is */
    const char *disabled; /* these three as in tort_session_options */
    const char *require;
    const struct tort_provider *const *providers;
    bool libraries; /* also open the libraries that its kernels may use */
} tort_probe_options;

typedef struct tort_probe_library {
    const char *name; /* "cuBLAS" */
    bool found;
    const char *message, *cure; /* found: its version; otherwise the file names tried */
} tort_probe_library;

typedef struct tort_probe_provider {
    const char *name, *summary;
    const char *built_for;           /* NULL: any device */
    const tort_option_help *options; /* ends with a key of NULL */
    bool ready;
    const char *code;           /* "READY", "NO_DRIVER", "DISABLED" ... */
    const char *description;    /* "NVIDIA H100, sm_90, driver 580"; "" where it is not ready */
    const char *message, *cure; /* cause and cure if it did not open; "" if it is ready */
    const char *note;           /* remark, also if it is ready; may be "" */
    const tort_probe_library *const *libraries;
    int32_t library_count;
} tort_probe_provider;

typedef struct tort_probe {
    const tort_probe_provider *const *providers; /* in the order of the chain */
    int32_t provider_count;
} tort_probe;

/* Opens every provider of a chain, records the result, and closes it: the state that a session would find, without a
 * model. A provider that does not open is an error only for `require`: TORT_E_PLACEMENT, with the probe all the same.
 * The caller frees it. env and options may be NULL. */
TORT_API tort_status tort_probe_providers(const tort_env *env, const tort_probe_options *options, tort_probe **probe,
                                          tort_error *error);
TORT_API void tort_probe_free(tort_probe *probe); /* NULL is allowed */

/* ---- model ------------------------------------------------------------------------------------------------------- */

typedef struct tort_model tort_model;
struct tort_op; /* op.h */

typedef struct tort_load_options {
    size_t struct_size;
    bool allow_links;  /* external data may be a symbolic link or a file with several links */
    bool map_external; /* map external data that is aligned to 64 bytes: nobody may write it until tort_model_free */
    int assume_opset;  /* treat a newer opset of the main domain as this one; 0: refuse it */
    /* For a model in a buffer or behind a reader: fills dst with `length` bytes at `offset` of external file
     * `location`; 0: success. NULL: a model with external data is an error. */
    int (*external)(void *ud, const char *location, uint64_t offset, uint64_t length, void *dst);
    void *external_ud;
    /* Operators of the application: tables of rows (op.h), each ending with a row without a name, the list with NULL.
     * They take precedence over operators of the build, but not over functions in the file, and run by kernels of the
     * application's providers, or by their plain loops. Borrowed until tort_model_free. A malformed row is
     * TORT_E_USAGE. */
    const struct tort_op *const *operators;
    uint32_t operator_abi; /* TORT_PROVIDER_ABI (op.h) of the rows' compilation */
    /* NULL-terminated names of inputs that each run gives although an initializer is their default; "*": of all.
     * Borrowed. */
    const char *const *open_inputs;
} tort_load_options;

/* Reads and checks a model. Weights stay in the file until a session needs them. The caller frees *model with
 * tort_model_free after every session that uses it. env and options may be NULL. */
TORT_API tort_status tort_model_load(const tort_env *env, const char *path, const tort_load_options *options,
                                     tort_model **model, tort_error *error);
/* tort_model_load from memory; borrows `bytes` until tort_model_free. */
TORT_API tort_status tort_model_load_buffer(const tort_env *env, const void *bytes, size_t size,
                                            const tort_load_options *options, tort_model **model, tort_error *error);

/* A model that the application reads itself: from an archive, flash memory, an encrypted file. */
typedef struct tort_reader {
    size_t struct_size;
    uint64_t size; /* bytes of the model */
    /* Fills dst with `length` bytes at `offset`, within size; 0: success. On every thread that uses a session. */
    int (*read)(void *ud, uint64_t offset, uint64_t length, void *dst);
    void *ud;
} tort_reader;

/* tort_model_load through a reader, which is copied; `ud` must stay until tort_model_free. */
TORT_API tort_status tort_model_load_reader(const tort_env *env, const tort_reader *reader,
                                            const tort_load_options *options, tort_model **model, tort_error *error);
TORT_API void tort_model_free(tort_model *model); /* NULL is allowed */

/* An input or output of the model's main graph. An input with an initializer is not counted, unless it is opened (old
 * files list every weight as an input). A symbolic dim is -1; dim_names[i] is then its name or "". */
typedef struct tort_port {
    size_t struct_size; /* sizeof(tort_port), set by the caller */
    const char *name;
    tort_type type; /* of the elements */
    int32_t rank;   /* -1: unknown */
    int64_t dims[TORT_MAX_RANK];
    const char *dim_names[TORT_MAX_RANK];
    tort_value_type value_type; /* the whole type; values other than tensors have no rank */
} tort_port;

TORT_API int32_t tort_model_input_count(const tort_model *model);
TORT_API int32_t tort_model_output_count(const tort_model *model);
/* Strings are borrowed from the model. An index out of range is TORT_E_USAGE, and gives an empty port: name "", type
 * UNDEFINED, rank -1. */
TORT_API tort_status tort_model_input(const tort_model *model, int32_t index, tort_port *port, tort_error *error);
TORT_API tort_status tort_model_output(const tort_model *model, int32_t index, tort_port *port, tort_error *error);

/* Index of an input or output by its name; -1 if there is none. */
TORT_API int32_t tort_model_input_index(const tort_model *model, const char *name);
TORT_API int32_t tort_model_output_index(const tort_model *model, const char *name);

/* Metadata of the file; strings are borrowed from the model, "" if the file has none. */
typedef struct tort_metadata {
    const char *key, *value;
} tort_metadata;

TORT_API const char *tort_model_graph_name(const tort_model *model);
TORT_API const char *tort_model_producer(const tort_model *model);
TORT_API const char *tort_model_producer_version(const tort_model *model);
TORT_API int64_t tort_model_ir_version(const tort_model *model);
/* The imported version of a domain; NULL, "" and "ai.onnx" mean the main domain. 0 if it is not imported. */
TORT_API int64_t tort_model_opset(const tort_model *model, const char *domain);
/* The imported domains, in the order of the file; "" is the main one. NULL for an index out of range. */
TORT_API int32_t tort_model_opset_count(const tort_model *model);
TORT_API const char *tort_model_opset_domain(const tort_model *model, int32_t index);
TORT_API int32_t tort_model_metadata_count(const tort_model *model);
/* Both strings are "" for an index out of range. */
TORT_API tort_metadata tort_model_metadata(const tort_model *model, int32_t index);

/* ---- session ----------------------------------------------------------------------------------------------------- */

typedef struct tort_session tort_session;

/* A shape of an input, fixed before planning. */
typedef struct tort_input_shape {
    const char *name;
    int32_t rank;
    int64_t dims[TORT_MAX_RANK];
} tort_input_shape;

/* The size of a symbolic dimension, by its name in the model: {"batch", 1}. */
typedef struct tort_symbol_size {
    const char *name;
    int64_t size;
} tort_symbol_size;

typedef struct tort_session_options {
    size_t struct_size;      /* sizeof(tort_session_options); 0 is TORT_E_USAGE, so that no option is lost silently */
    const char *chain;       /* "cuda:device=1:mem_limit=2G,cpu:threads=2"; NULL: "cpu". Nothing is ever added to it. */
    const char *target;      /* "cuda:sm_87[:multiprocessors=8]": plan for it, unopened; such a session cannot run */
    const char *disabled;    /* providers switched off, "cuda,..."; the command line passes TINYORT_DISABLE here */
    const char *require;     /* providers that must open, "cuda"; NULL: none */
    bool strict;             /* every node must be on the first provider of the chain ... */
    const char *allow;       /* ... but for these operators, "Resize,TopK" */
    const char *const *pins; /* "NODE=provider" or "#12=cpu"; pin_count of them */
    int32_t pin_count;
    const tort_input_shape *shapes;
    int32_t shape_count;
    const tort_symbol_size *symbols; /* fixed in every input that has the symbol */
    int32_t symbol_count;
    const struct tort_provider *const *providers; /* the application's, before the build's; ends with NULL; borrowed */
    bool plan_only;                               /* weights are not prepared; such a session cannot run */
    const char *fusions_off; /* disabled fusions: "*" for all, or a list, "gelu_erf,bias" (see tinyort ops --fusions) */
    bool unfolded;           /* no folding and no fusion: every node runs, though segments still form (for compare) */
    bool wait_steps;         /* wait for the device after every step: slow, but an error is sure to name its node */
    uint64_t fold_limit;     /* bytes of folded constants; 0: 64 MiB, or the size of the weights if larger */
    uint64_t dynamic_limit;  /* bytes per context for values whose shape depends on data; 0: 1 GiB */
    uint64_t trip_limit;     /* trips of all loops of one run; 0: 2^31 */
    /* Inputs and outputs that stay in a provider's memory, "NAME=cuda", or "*=cuda" for all; a later entry replaces an
     * earlier one. All others are in host memory, and the plan copies them. */
    const char *const *bindings;
    int32_t binding_count;
    /* Names of the requested outputs, in the order of a run's outputs; nodes that only other outputs need do not run,
     * and need not be placed. output_count 0: all of the model's outputs. Inputs are not affected. */
    const char *const *outputs;
    int32_t output_count;
    /* Upper bounds of dimensions and input shapes (-1: no bound here); given one, every open dimension needs one. A
     * context allocates for the largest shapes once; smaller runs allocate nothing, except for bodies of control flow,
     * shapes that depend on data, and objects made for a shape (cuDNN, segments); larger ones are TORT_E_INPUT. */
    const tort_symbol_size *max_symbols;
    const tort_input_shape *max_shapes;
    int32_t max_symbol_count, max_shape_count;
    void *stream; /* of the application, a cudaStream_t: device work of a run begins behind what it holds; NULL: none */
    /* Nanoseconds that tort_session_create, and each run, may take; then TORT_E_CANCELLED with the node, as soon as for
     * tort_context_cancel. 0: no limit. */
    uint64_t time_limit;
    bool onnx_fusions;    /* fuse only into operators of ONNX itself, in the versions that the model imports */
    bool strict_integers; /* TORT_E_PLACEMENT if a product of 8-bit numbers runs in float32 (tort_report.widened) */
    /* Called before a provider compiles so many nodes ahead of runs, with ns 0, and after it with the time it took; on
     * the calling thread. NULL: nobody looks. */
    void (*compiling)(void *ud, const char *provider, int32_t nodes, uint64_t ns);
    void *compiling_ud;
} tort_session_options;

/* Plans the model for a chain of providers: places every node, and prepares weights unless plan_only. After
 * TORT_E_PLACEMENT, and TORT_E_MEMORY of a device that is too small, the session is returned for its report, but cannot
 * run. The caller frees it before the model, which it borrows; options are copied. */
TORT_API tort_status tort_session_create(const tort_env *env, const tort_model *model,
                                         const tort_session_options *options, tort_session **session,
                                         tort_error *error);
TORT_API void tort_session_free(tort_session *session); /* NULL is allowed; a forked child may, and run on one thread */

/* Size of a block (tort_env_in_block) in which such a session and so many contexts fit exactly: makes and frees them in
 * memory of env, which takes as long, and up to three times as much memory. Weights that kernels read directly from the
 * file belong to the model and are not counted; if shapes are unknown, runs will need more. */
TORT_API tort_status tort_session_bytes(const tort_env *env, const tort_model *model,
                                        const tort_session_options *options, int32_t contexts, size_t *bytes,
                                        tort_error *error);

/* Plans for concrete shapes before the first run, in the order of the model's inputs (only shapes of tensors are read).
 * With upper bounds nothing is kept: it only tells whether such shapes can run. */
TORT_API tort_status tort_session_plan(tort_session *session, const tort_input_shape *shapes, int32_t count,
                                       tort_error *error);

/* ---- context: running -------------------------------------------------------------------------------------------- */

typedef struct tort_context tort_context;

TORT_API tort_status tort_context_create(tort_session *session, tort_context **context, tort_error *error);
TORT_API void tort_context_free(tort_context *context); /* NULL is allowed */

/* Runs the model. `inputs` are in the order of the model's inputs and borrowed for the call; a symbolic dimension must
 * have one size throughout. outputs[i].data NULL: filled with memory of the context, valid until its next run or free,
 * which may be an input of another context, but not of this one (TORT_E_INPUT); else the caller's buffer of that type
 * and shape (but see tort_context_output_capacity), written directly by a node. One that shares bytes with an input is
 * filled by a copy at the end, but a cache's past and present in one are extended in place; outputs that share bytes
 * are TORT_E_INPUT. Data is aligned to its elements, on a device to 16 bytes; of bound ports it is memory of the
 * provider (else TORT_E_INPUT, if that can tell), there before the call or in option `stream`; outputs at its end.
 * Numbers and texts of inputs that change during the call make results and errors arbitrary, no more; pointers and
 * lengths of strings must stay. */
TORT_API tort_status tort_context_run(tort_context *context, const tort_tensor *inputs, int32_t input_count,
                                      tort_tensor *outputs, int32_t output_count, tort_error *error);

/* Runs any model, also with inputs or outputs that are sequences, optionals or maps, which tort_context_run refuses.
 * `inputs` as there: a tensor value for a tensor; NULL for an absent optional. outputs[i] is a new reference, NULL
 * after a failure; the caller releases it, even after context and session are freed, but before the application's
 * allocator goes. An output may be or contain an input or its elements: data of tort_value_borrow must stay until both
 * are released. Tensor outputs are copied. With bindings, TORT_E_USAGE. */
TORT_API tort_status tort_context_run_values(tort_context *context, const tort_value *const *inputs,
                                             int32_t input_count, tort_value **outputs, int32_t output_count,
                                             tort_error *error);
/* Declares that the caller's buffer for this output has `bytes` bytes, possibly more than it needs: for outputs of
 * unknown shape. outputs[i].data is the buffer; its type and shape are ignored on entry and set on return, even with
 * the TORT_E_INPUT of a buffer that is too small, where they tell the required size. TORT_NO_CAPACITY: the buffer has
 * the exact shape again. */
#define TORT_NO_CAPACITY SIZE_MAX
TORT_API tort_status tort_context_output_capacity(tort_context *context, int32_t output, size_t bytes,
                                                  tort_error *error);

/* Ends the context's current run, or else its next run before the first step, with TORT_E_CANCELLED and the node at
 * which it ended. Steps on the host end inside, mostly within milliseconds; work that a device has begun is waited for.
 * The context can be used again at once. The only function that may be called while another thread runs the context. */
TORT_API void tort_context_cancel(tort_context *context);

/* Memory of a provider for bound inputs and outputs, for applications that do not use the device's own interface;
 * others may allocate their own (cudaMalloc on the same device). The caller frees it, before the session. */
TORT_API tort_status tort_memory_alloc(tort_session *session, const char *provider, size_t bytes, void **memory,
                                       tort_error *error);
TORT_API void tort_memory_free(tort_session *session, const char *provider, void *memory, size_t bytes);

/* The provider to whose memory an input of the model, or output of the session, is bound; NULL: host memory. */
TORT_API const char *tort_session_input_memory(const tort_session *session, int32_t index);
TORT_API const char *tort_session_output_memory(const tort_session *session, int32_t index);
/* Bytes of an output at the upper bounds, enough for all runs; 0: no bounds, or its shape depends on data. */
TORT_API size_t tort_session_output_bytes(const tort_session *session, int32_t index);

/* Copies between host memory and a provider's memory, or within the latter; returns when the copy is complete. */
typedef enum tort_direction { TORT_TO_DEVICE, TORT_TO_HOST, TORT_ON_DEVICE } tort_direction;
TORT_API tort_status tort_memory_copy(tort_context *context, const char *provider, void *to, const void *from,
                                      size_t bytes, tort_direction direction, tort_error *error);

/* Called after every step for each value written, with its name and the node that writes it, in host memory (copied if
 * need be); valid for the call. For debugging: it slows the run and allocates. NULL stops it. */
typedef void (*tort_observer)(void *ud, int32_t node, const char *value, const tort_tensor *tensor);
TORT_API void tort_context_observe(tort_context *context, tort_observer observer, void *ud);

/* The report of a session; beside this file, wherever that is. */
#include "tinyort_report.h"

#endif
