/* op.h - the definition of an operator: a row of data and four functions, written by ops/, read by the core.
 *
 * A row holds for the CLOSED range of versions since..until. infer computes types and symbolic shapes; resolve decodes
 * attributes, shapes and old forms of the operator into the family's params struct, once, for every provider; reference
 * is the plain loop: the meaning of the operator, and the oracle of every fast kernel. An application passes its own
 * operators in tort_load_options.operators: `make install` installs this header. Read next: ops/softmax.c as a small
 * family, then check.c, which reads the rows' data. */
#ifndef TORT_RUNTIME_OP_H
#define TORT_RUNTIME_OP_H

#include "runtime/core/base/watch.h"
#include "runtime/include/node.h"

/* Version of this header and provider.h, with which an application that brings operators or providers was compiled. */
#define TORT_PROVIDER_ABI 25u

/* A node as infer, resolve and a provider's claim see it. An absent input or output has type TORT_UNDEFINED. The
 * contents of an input are known if inputs[i].data (constant, or live) or inputs[i].elements is set. */
typedef struct tort_node_view {
    const struct tort_op *op;
    const char *name;
    int32_t opset;
    const tort_attribute *attributes;
    int32_t attribute_count, input_count, output_count;
    int32_t captured; /* number of inputs, the last ones, that bodies capture */
    const tort_info *inputs;
    const tort_info *outputs;
    const void *params; /* params by resolve; NULL before */
    const struct tort_model *model;
    const struct tort_segment_view *segment; /* the joined nodes of a segment (provider.h); NULL: a single node */
    const struct tort_kernel *kernel;        /* the kernel row that is asked to claim, or that serves; NULL: none yet */
} tort_node_view;

/* Attributes by name. check.c has checked kinds and filled in the row's defaults, so these cannot fail: an attribute
 * that is absent and has no default reads as 0, TORT_UNDEFINED, 0.0f, "" or an empty list. */
TORT_API const tort_attribute *tort_attr(const tort_node_view *node, const char *name); /* NULL if absent */
TORT_API int64_t tort_attr_int(const tort_node_view *node, const char *name);
TORT_API tort_type tort_attr_type(const tort_node_view *node, const char *name); /* of an "int(T2)" or "string(T2)" */
TORT_API float tort_attr_float(const tort_node_view *node, const char *name);
TORT_API const char *tort_attr_string(const tort_node_view *node, const char *name);
TORT_API const int64_t *tort_attr_ints(const tort_node_view *node, const char *name, int32_t *count);
TORT_API const float *tort_attr_floats(const tort_node_view *node, const char *name, int32_t *count);

static inline bool tort_has_input(const tort_node_view *node, int32_t i) {
    return i >= 0 && i < node->input_count && node->inputs[i].type != TORT_UNDEFINED;
}
static inline bool tort_has_output(const tort_node_view *node, int32_t i) {
    return i < node->output_count && node->outputs[i].type != TORT_UNDEFINED;
}
/* True if the shapes of all present inputs are known. */
static inline bool tort_inputs_known(const tort_node_view *node) {
    for (int32_t i = 0; i < node->input_count; i++)
        if (tort_has_input(node, i) && !tort_shape_known(&node->inputs[i])) return false;
    return true;
}

TORT_API tort_type tort_type_named(const char *name,
                                   size_t length); /* "float16" or "FLOAT16"; otherwise TORT_UNDEFINED */

/* ---- infer ------------------------------------------------------------------------------------------------------- */

/* Arguments of infer. It is called with symbolic shapes after loading, with concrete ones for a plan, and with live
 * data for a step whose shape depends on it (then view->inputs[i].data is set for the row's shape_inputs). It fills
 * outputs, which start with kind TENSOR, type UNDEFINED, rank -1; outputs that the node does not have may be filled too
 * and are ignored. Unknown shapes: rank -1, or dims from tort_dim_fresh(dims, true). An error means that the model is
 * wrong. */
typedef struct tort_infer {
    const tort_node_view *node;
    tort_info *outputs;
    tort_dims *dims;
    tort_arena *arena;        /* for `elements` */
    struct tort_pass *pass;   /* NULL in a step whose shapes depend on data, which cannot have bodies */
    struct tort_watch *watch; /* of that step, see tort_goes_on; NULL: nothing ends the call */
    tort_error *error;
} tort_infer;

TORT_API void tort_infer_same(const tort_infer *infer, int32_t o, int32_t i); /* output o: type and shape of input i */
TORT_API void tort_infer_shape(const tort_infer *infer, int32_t o, tort_type type, int32_t rank, const tort_dim *dims);
/* Sets the type of output o; the shape of a tensor stays unknown. */
TORT_API void tort_infer_value(const tort_infer *infer, int32_t o, tort_value_type type);
/* Multidirectional broadcasting of two shapes (either rank may be -1). TORT_E_MODEL if known dims do not match. */
TORT_API tort_status tort_infer_broadcast(const tort_infer *infer, const tort_info *a, const tort_info *b,
                                          tort_info *out);
/* Maps axis from [-rank, rank) to [0, rank); otherwise TORT_E_MODEL with a message. */
TORT_API tort_status tort_normalize_axis(tort_error *error, int64_t axis, int32_t rank, int32_t *out);

/* Ready-made infer functions. */
TORT_API tort_status tort_infer_elementwise(tort_infer *infer); /* type and shape of input 0 */
TORT_API tort_status tort_infer_binary(tort_infer *infer);      /* broadcast of all inputs, type of input 0 */
TORT_API tort_status tort_infer_compare(tort_infer *infer);     /* broadcast of all inputs, bool */

/* Infers a body, a graph of the model, for these inputs; captured inputs come from the node. Fills all outputs of the
 * body as far as they are known. A constant input must have these contents in every trip, and be the input of the same
 * number of the node. TORT_E_MODEL if the body takes another number of inputs. In bodies.c. */
TORT_API tort_status tort_infer_body(const tort_infer *infer, int32_t body, const tort_info *inputs, int32_t count,
                                     tort_info *outputs);
/* True if the body passes this input unchanged to this output. */
TORT_API bool tort_body_passes(const tort_infer *infer, int32_t body, int32_t input, int32_t output);
/* Records an error of a body that may never run: inference goes on, and the body fails with this error if it runs. */
TORT_API void tort_infer_refuses(const tort_infer *infer, int32_t body, const tort_error *error);
/* Number of inputs of a body without its captures, and of its outputs. */
TORT_API int32_t tort_body_inputs(const tort_node_view *node, int32_t body);
TORT_API int32_t tort_body_outputs(const tort_node_view *node, int32_t body);

/* ---- resolve ----------------------------------------------------------------------------------------------------- */

/* Arguments of resolve. It is called twice: for claims, when dims may be unknown (< 0; then it fills what the
 * attributes determine and does not fail), and for each plan (or dynamic step) with all dims known. Params hold
 * numbers, never pointers: equal nodes have equal bytes, with the same meaning at another address, in another process
 * and without the model. Assign members one by one: assigning a whole struct copies indeterminate padding bytes. */
typedef struct tort_resolve {
    const tort_node_view *node; /* the node with its inputs and outputs */
    void *params;               /* zeroed; op->params_size bytes, and room for lists; aligned to 16 */
    size_t scratch_bytes;       /* to fill: scratch of `reference` */
    size_t params_bytes;        /* to fill if params is NULL, see TORT_OP_ONCE */
    tort_error *error;
} tort_resolve;

/* A list or string in a node's params: `count` elements (of a string: bytes, without terminator), `offset` bytes after
 * the start of the params. */
typedef struct tort_list {
    uint64_t offset;
    int64_t count;
} tort_list;

/* Copies an attribute (ints, floats, string, strings) behind the params, and returns its place there; for rows with
 * TORT_OP_LISTS. An absent one is empty. */
TORT_API tort_list tort_resolve_list(const tort_resolve *resolve, const char *name);
/* tort_resolve_list for a tensor, whose elements may be strings. */
TORT_API tort_status tort_resolve_tensor(const tort_resolve *resolve, const char *name, tort_list *list);
/* The elements of a list of numbers, or the bytes of a string. */
static inline const void *tort_list_at(const void *params, tort_list list) {
    return (const char *)params + list.offset;
}
/* String i of an attribute of kind strings, or of a tensor of them; its bytes are in the params. */
TORT_API tort_string tort_list_string(const void *params, tort_list strings, int64_t i);

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* Arguments of a kernel: tensors of known shape, and the params by resolve. The kernel checks values (an index out of
 * range), never shapes or types. Absent tensors have type TORT_UNDEFINED. Empty tensors have data that must not be
 * read. Outputs never overlap inputs unless the row allows it: tort_kernel.in_place. */
typedef struct tort_call {
    const struct tort_op *op; /* the node's row */
    const void *params;
    const tort_tensor *inputs;
    const tort_tensor *outputs; /* the kernel writes to outputs[i].data */
    int32_t input_count, output_count;
    void *scratch;                    /* bytes by the kernel's size, or by resolve for `reference`; aligned to 64 */
    const void *packed;               /* weights packed by the kernel's prepare; NULL: none */
    void *prepared;                   /* result of the kernel's prepare */
    void *fitted;                     /* result of the kernel's fit */
    void *state;                      /* result of tort_engine.begin */
    const struct tort_kernel *kernel; /* the kernel's row */
    void *device;                     /* result of the provider's open */
    void *stream;                     /* result of the provider's stream.open */
    const tort_env *env;              /* env->parallel_for is set */
    int32_t node;                     /* index in the graph; for a device that reports a bad value later */
    struct tort_text *text;           /* for new strings, see tort_call_text */
    struct tort_watch *watch;         /* see tort_call_goes_on; NULL: nothing ends the call */
    /* Set if an input or output of the node is not a tensor: inputs that are not tensors, NULL for tensors, which are
     * in `inputs` as usual. NULL for all other nodes. Borrowed. */
    const tort_value *const *input_values;
    /* Replaces `outputs` if input_values is set: output_count entries, NULL at first. The kernel creates every output
     * as a value, tensors too, and leaves its reference here, also after an error. */
    tort_value **output_values;
    /* Bit i: nothing reads input i after this call, so that a value with a single reference may be modified. */
    uint32_t last_reads;
    bool measured; /* the kernel's measure was called for this run, and left in scratch what it found */
    /* A kernel with rows: work on these alone, where data of inputs and of output 0 begins at the band's first row.
     * NULL: on all. */
    const struct tinyort_band *band;
    tort_error *error;
} tort_call;

static inline bool tort_present(const tort_tensor *tensor) {
    return tensor->type != TORT_UNDEFINED;
}
/* Input or output i of a call; NULL if the node does not have it. */
static inline const tort_tensor *tort_call_input(const tort_call *call, int32_t i) {
    return i < call->input_count && tort_present(&call->inputs[i]) ? &call->inputs[i] : NULL;
}
static inline const tort_tensor *tort_call_output(const tort_call *call, int32_t i) {
    return i < call->output_count && tort_present(&call->outputs[i]) ? &call->outputs[i] : NULL;
}
/* Input i of a call if it is not a tensor; NULL if it is one, or absent. */
static inline const tort_value *tort_call_value(const tort_call *call, int32_t i) {
    return call->input_values && i < call->input_count ? call->input_values[i] : NULL;
}
/* Input i, which must be present, as a value that the caller releases: a new reference, or a copy of a tensor. NULL:
 * out of memory. */
TORT_API tort_value *tort_call_element(const tort_call *call, int32_t i);
TORT_API int64_t tort_count(const tort_tensor *tensor); /* elements; the shape is known to be valid */
TORT_API bool tort_same_shape(const tort_tensor *a, const tort_tensor *b); /* rank and dims alone */
/* Zeroes the bits after the last element of a packed type (6 bits and fewer), which kernels do not write, so that
 * outputs are equal to the byte in every run. */
void tort_clear_tail(const tort_tensor *tensor);
/* Nanoseconds of work that are worth a thread: several times the cost of handing it to a thread that spins. */
#define TORT_WORTH_A_THREAD 5000
/* Calls body(arg, begin, end) over 0..count, on several threads if that pays (work: rough cost of one item in
 * nanoseconds). */
TORT_API void tort_parallel(const tort_call *call, int64_t count, int64_t work, void (*body)(void *, int64_t, int64_t),
                            void *arg);
/* Asked by kernels before about `work` nanoseconds of work, on any of their threads: at most some 1 ms, or 0 for a
 * part of work that was told before. False: the run was cancelled or its time is over, and the kernel returns at once,
 * with any status and any contents of its outputs. tort_parallel asks before each such part, and then leaves the rest
 * out: what it should have filled must not be used as an index. */
#define TORT_WORK_AT_ONCE 1000000
TORT_API bool tort_goes_on(struct tort_watch *watch, int64_t work);
static inline bool tort_call_goes_on(const tort_call *call, int64_t work) {
    return tort_goes_on(call->watch, work);
}
/* memcpy in parts, between which a run may end. False: as above. */
TORT_API bool tort_copy_bytes(struct tort_watch *watch, void *to, const void *from, size_t bytes);
TORT_API bool tort_zero_bytes(struct tort_watch *watch, void *to, size_t bytes); /* memset, likewise */
/* Elements of a long row between which a run may end; a row is done in parts of as many where its loop is vectorized.
 */
#define TORT_PART 65536
/* Elements of the part that begins at `at`. */
static inline int64_t tort_part_count(int64_t count, int64_t at) {
    return count - at < TORT_PART ? count - at : TORT_PART;
}
/* True once one of these functions has said no. A loop around loops that ask must look here if it asks nothing itself:
 * each of its steps is short then, but there may be many. */
static inline bool tort_is_over(const struct tort_watch *watch) {
    return watch && tort_watch_is_over(watch);
}
/* Asked before element `at` of a row, of a loop from 0 on whose steps divide TORT_PART. False: as above. */
static inline bool tort_row_goes_on(struct tort_watch *watch, int64_t at) {
    return at % TORT_PART != 0 || at == 0 ? !tort_is_over(watch) : tort_goes_on(watch, 0);
}
/* TORT_E_RUN of a function that has ended with its run, before it made what indices or sizes depend on. */
TORT_API tort_status tort_run_is_over(tort_error *error);
/* Counts `work`, elements or products, in *done, from 0 on, and asks after every 2^20 or so. False: as above. */
TORT_API bool tort_work_goes_on(struct tort_watch *watch, int64_t *done, int64_t work);
/* Allocates the bytes of a new string, valid until the context's next run; NULL: out of memory. */
TORT_API char *tort_call_text(const tort_call *call, size_t length);
/* Sets *out to a copy of `text` in such bytes; TORT_E_MEMORY if there are none. */
TORT_API tort_status tort_call_copy_text(const tort_call *call, tort_string text, tort_string *out);

/* ---- bodies ------------------------------------------------------------------------------------------------------ */

enum { TORT_BODIES = 2 }; /* per node */

/* The trips of a node's bodies: everything that the executor knows of control flow. Inputs of a body: number of the
 * trip and condition (if `counted`), carried values, a part of each scanned input, captures. Outputs: the next trip's
 * condition (if `asks`), results, parts of stacked outputs. An absent input of the node is -1. Axes and directions (1:
 * from the last to the first) are int64 lists; an empty one is all 0. */
typedef struct tort_trips {
    int32_t body[TORT_BODIES]; /* graphs of the model: for a true choice or none, and for a false choice */
    int32_t choice;            /* input, bool: selects the body */
    int32_t limit;             /* input, int64: upper bound of trips */
    int32_t condition;         /* input, bool: true if there is a first trip */
    bool counted, asks;
    bool carries; /* results are inputs of the next trip; of the first, inputs carried_first.. */
    int32_t carried_first;
    int32_t results; /* outputs 0..: values of the last trip */
    int32_t scanned_first, scanned;
    int32_t stacked; /* number of outputs after the results that concatenate all trips along an axis */
    bool sequences;  /* scanned sequences give one element per trip, scanned tensors are passed whole; stacked outputs
                        are sequences */
    tort_list input_axes, input_directions, output_axes, output_directions;
    /* Repeats all trips for each entry of axis 0 of the node's own inputs, for one entry of its outputs. `lengths`:
     * input, int64: number of trips per entry; -1: number of parts. Stacked outputs have the length of the parts,
     * padded with zeros. Axes are those of an entry. */
    bool batched;
    int32_t lengths;
} tort_trips;

/* ---- parts ------------------------------------------------------------------------------------------------------- */

/* Location of parts in a whole: consecutive along one axis, complete along all others. If the parts are contiguous in
 * memory, a plan need not move their bytes. */
typedef struct tort_parts {
    int64_t start; /* index of the first part along the axis */
    int32_t axis;  /* -1: not laid out so, or unknown */
} tort_parts;

/* First member of the params of a row with TORT_OP_PERMUTES: axis k of the output is axis perm[k] of input 0. */
typedef struct tort_permutation {
    tort_parts parts; /* the whole, if no axis moves but those of length 1, so that no byte moves */
    int32_t rank;
    int32_t perm[TORT_MAX_RANK];
} tort_permutation;

/* ---- the row ----------------------------------------------------------------------------------------------------- */

enum {
    /* Done by the executor, not by a kernel. */
    TORT_OP_ALIAS = 1u << 0,    /* output 0 is the bytes of input 0 with another shape */
    TORT_OP_SAME = 1u << 1,     /* of an alias: with the same shape, too */
    TORT_OP_METADATA = 1u << 2, /* reads only the shape of its inputs (Shape, Size) */
    TORT_OP_CONTROL = 1u << 3,  /* has bodies: the params begin with a tort_trips */
    /* Folding. */
    TORT_OP_CONSTANT = 1u << 4, /* output is the TENSOR attribute, if there is one: never copied */
    TORT_OP_RANDOM = 1u << 5,   /* never folded */
    TORT_OP_BULKY = 1u << 6,    /* makes large values from small ones: folded only below a small size */
    TORT_OP_LATE = 1u << 7,     /* unpacks a large input 0, and cannot fail: folded, but evaluated at each use */
    TORT_OP_LIKE = 1u << 8,     /* reads only the type of input 1 (CastLike): folded even if that is computed */
    /* Memory: copies that a plan can avoid. */
    TORT_OP_IN_PLACE = 1u << 9,  /* element by element; `reference` may write output 0 over any input, as
                                    tort_kernel.in_place tells */
    TORT_OP_PARTS = 1u << 10,    /* outputs are parts of input 0: the params begin with a tort_parts */
    TORT_OP_JOINS = 1u << 11,    /* inputs are parts of output 0: likewise */
    TORT_OP_PERMUTES = 1u << 12, /* only moves axes: the params begin with a tort_permutation */
    TORT_OP_PICKS = 1u << 13,    /* reads no more of input 0 than its outputs take */
    /* The params. */
    TORT_OP_LISTS = 1u << 14, /* are followed by space for the lists and strings of the node */
    TORT_OP_ONCE = 1u << 15, /* depend on attributes alone, and may be large: all plans of a session share them. resolve
                                is first called with params NULL, to get params_bytes */
    /* All else. */
    TORT_OP_COMMUTES = 1u << 16, /* has two inputs, whose order has no effect */
    TORT_OP_EARLY = 1u << 17,    /* of an operator's first row: also valid in files of opsets before `since` */
    TORT_OP_WIDENS = 1u << 19,   /* output 0 is the numbers that the elements of input 0 stand for (DequantizeLinear) */
    TORT_OP_NARROWS = 1u << 20,  /* output 0 stands for the numbers of input 0 (QuantizeLinear) */
    TORT_OP_CHOOSES = 1u << 21,  /* the elements of its outputs are such of input 0, by index or as the largest: so a
                                    node on 8-bit numbers chooses those that stand for what it chooses */
    TORT_OP_FILLS = 1u << 23,    /* chooses too, and fills what is left with input 2, by default with 0 (Pad) */
    TORT_OP_CLAMPS = 1u << 22,   /* gives a number itself, or the nearest that is between two bounds */
    TORT_OP_VALUES = 1u << 18 /* takes or makes sequences, optionals or maps; `reference` fills tort_call.output_values.
                                 A node whose operands are all tensors runs as usual */
};

/* The data members are little languages, parsed by check.c and held against ONNX's schemas by a test:
 *   inputs, outputs  "X:T W:T B?:T"      name:type, '?' optional, '*' variadic (one type), '+' variadic (mixed types);
 *                                        a constraint's name, or a type such as int64, seq(T), seq(map(string,float))
 *   types            "T=float16|float|double Tind=int32|int64"; also names of sets, whose number is the version of
 *                    ONNX's operators that has them:
 *                      floats      float16, float, double; floats13: and bfloat16
 *                      integers    of 8 to 64 bits, signed and unsigned
 *                      numeric     integers and floats; numeric13: and bfloat16
 *                      high        numeric without integers of 8 and 16 bits; high13: and bfloat16
 *                      all         numeric, bool, string and complex; all13: and bfloat16; all19: and float8; all21:
 *                                  and int4, uint4; all23: and float4e2m1; all24: and float8e8m0; all25: and int2,
 *                                  uint2; all28: and float6e2m3, float6e3m2
 *                      complex     complex64, complex128
 *                      float8      float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz
 *                      quantized19 int8, uint8 and float8; quantized21: and int4, uint4, int16, uint16;
 *                                  quantized23: and float4e2m1; quantized25: and int2, uint2; quantized28: and
 *                                  float6e2m3, float6e3m2
 *   attributes       "axis:int=1 to:int(T2)! mode:string=nearest pads:ints alpha:float=0.01 body:graph!": '!' is
 *                    required; int(T2) is the number of a type of constraint T2 (or of types: int(int32|int64)) or
 *                    the row's default, string(T2) its name
 */
typedef struct tort_op {
    const char *domain, *name;
    int16_t since, until; /* versions of the domain, both included */
    const char *inputs, *outputs, *types, *attributes;
    uint32_t shape_inputs; /* bit i: the VALUES of input i determine output shapes (shape of Reshape, k of TopK) */
    uint32_t flags;
    int32_t variant;      /* for functions shared by rows, which read node->op->variant and call->op->variant */
    uint32_t params_size; /* size of the params struct; 0 if resolve is NULL */
    tort_status (*infer)(tort_infer *infer);
    tort_status (*resolve)(tort_resolve *resolve);   /* NULL: nothing to decode */
    tort_status (*reference)(const tort_call *call); /* NULL for aliases, metadata and control flow */
} tort_op;

#define TORT_OF_INTEGERS (1u << 31) /* the products are those of 8-bit or 16-bit integers */

/* FLOPs of an operator's nodes, in all its versions, from params for known shapes: 2 per multiply-add, of products and
 * convolutions alone. Negative: unknown. */
typedef struct tort_flops {
    const char *domain, *name;
    double (*count)(const void *params);
    uint32_t operands; /* bit i: input i is multiplied, as floats; 0: others than inputs are, or TORT_OF_INTEGERS */
} tort_flops;

/* An operator that this build knows only by name: the report says why it does not run, and what to do. */
typedef struct tort_refusal {
    const char *domain, *name; /* name NULL: the whole domain */
    const char *why, *cure;    /* "needs ...", which continues a sentence after the operator's name; "export ..." */
} tort_refusal;

#define TORT_NEWEST_OPSET 28 /* of the main domain, onnx 1.23 */

#endif
