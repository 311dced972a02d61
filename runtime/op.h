/* op.h - what an operator is: a row of data and four functions, written by ops/, read by the core.
 *
 * A row holds for the CLOSED range of versions since..until. infer tells types and symbolic shapes; resolve decodes
 * attributes, shapes and old forms of the operator into the family's params struct, once, for every provider;
 * reference is the plain loop: the meaning of the operator, and the oracle of every fast kernel.
 * An application brings its own in tort_load_options.operators: `make install` brings this header.
 * Read next: ops/softmax.c as a small family, then check.c, which reads the rows' data. */
#ifndef TORT_RUNTIME_OP_H
#define TORT_RUNTIME_OP_H

#include "runtime/graph/graph.h"

/* Of this header and provider.h: an application that brings operators or providers was compiled with this number. */
#define TORT_PROVIDER_ABI 13u

#ifdef __cplusplus
extern "C" {
#endif

/* What infer, resolve and a provider's claim see of a node. An absent input or output has type TORT_UNDEFINED.
 * The contents of an input are known when inputs[i].data (constant, or live) or inputs[i].elements is set. */
typedef struct tort_node_view {
    const struct tort_op *op;
    const char *name;
    int32_t opset;
    const tort_attribute *attributes;
    int32_t attribute_count, input_count, output_count;
    int32_t captured; /* the last so many inputs are what bodies take from outside */
    const tort_info *inputs;
    const tort_info *outputs;
    const void *params; /* what resolve made of the node; NULL before */
    const struct tort_model *model;
    const struct tort_segment_view *segment; /* the nodes that it is made of, see provider.h; NULL: it is a node */
    const struct tort_kernel *kernel;        /* the row that is asked, or that has it; NULL: none yet */
} tort_node_view;

/* Attributes by name. check.c has made sure of kinds and filled in the defaults of the row, so these cannot fail:
 * an attribute that is absent and has no default reads as 0, TORT_UNDEFINED, 0.0f, "" or an empty list. */
TORT_API const tort_attribute *tort_attr(const tort_node_view *node, const char *name); /* NULL if absent */
TORT_API int64_t tort_attr_int(const tort_node_view *node, const char *name);
TORT_API tort_type tort_attr_type(const tort_node_view *node, const char *name); /* of an "int(T2)" or "string(T2)" */
TORT_API float tort_attr_float(const tort_node_view *node, const char *name);
TORT_API const char *tort_attr_string(const tort_node_view *node, const char *name);
TORT_API const int64_t *tort_attr_ints(const tort_node_view *node, const char *name, int32_t *count);
TORT_API const float *tort_attr_floats(const tort_node_view *node, const char *name, int32_t *count);

static inline bool tort_has_input(const tort_node_view *node, int32_t i) {
    return i < node->input_count && node->inputs[i].type != TORT_UNDEFINED;
}
static inline bool tort_has_output(const tort_node_view *node, int32_t i) {
    return i < node->output_count && node->outputs[i].type != TORT_UNDEFINED;
}

TORT_API tort_type tort_type_named(const char *name,
                                   size_t length); /* "float16" or "FLOAT16"; TORT_UNDEFINED: no type */

/* ---- infer ------------------------------------------------------------------------------------------------------- */

/* Called with symbolic shapes after load, with concrete ones for a plan, and with live data for a step whose shape
 * depends on it (then view->inputs[i].data is set for the row's shape_inputs). Fills outputs, which come with
 * kind TENSOR, type UNDEFINED, rank -1; outputs the node does not have may be filled too and are ignored.
 * What cannot be known yet: rank -1, or dims from tort_dim_fresh(dims, true). An error means the model is wrong. */
typedef struct tort_infer {
    const tort_node_view *node;
    tort_info *outputs;
    tort_dims *dims;
    tort_arena *arena;      /* for `elements` */
    struct tort_pass *pass; /* NULL where a node cannot have bodies: in a step whose shapes depend on data */
    tort_error *error;
} tort_infer;

TORT_API void tort_infer_same(const tort_infer *infer, int32_t o, int32_t i); /* output o: type and shape of input i */
TORT_API void tort_infer_shape(const tort_infer *infer, int32_t o, tort_type type, int32_t rank, const tort_dim *dims);
/* Output o is of this type; of a tensor no shape is known. */
TORT_API void tort_infer_value(const tort_infer *infer, int32_t o, tort_value_type type);
/* Multidirectional broadcasting of two shapes (either rank may be -1). TORT_E_MODEL when known dims clash. */
TORT_API tort_status tort_infer_broadcast(const tort_infer *infer, const tort_info *a, const tort_info *b,
                                          tort_info *out);
/* axis in [-rank, rank) -> [0, rank); TORT_E_MODEL with a sentence otherwise. */
TORT_API tort_status tort_normalize_axis(tort_error *error, int64_t axis, int32_t rank, int32_t *out);

/* Ready-made infer functions. */
TORT_API tort_status tort_infer_elementwise(tort_infer *infer); /* output 0 is like input 0 */
TORT_API tort_status tort_infer_binary(tort_infer *infer);      /* broadcast of all inputs, type of input 0 */
TORT_API tort_status tort_infer_compare(tort_infer *infer);     /* broadcast of all inputs, bool */

/* Infers a body, a graph of the model, for these inputs; what it captures comes from the node. Fills what is known of
 * its outputs, as many as it has. An input that is constant has these contents in every trip, and is the input of the
 * same number of the node. TORT_E_MODEL where the body takes another number of inputs. In bodies.c. */
TORT_API tort_status tort_infer_body(const tort_infer *infer, int32_t body, const tort_info *inputs, int32_t count,
                                     tort_info *outputs);
/* Does the body hand on this input unchanged as this output? */
TORT_API bool tort_body_passes(const tort_infer *infer, int32_t body, int32_t input, int32_t output);
/* A body that may never run does not fit: it is refused with this error when it runs, and what infers goes on. */
TORT_API void tort_infer_refuses(const tort_infer *infer, int32_t body, const tort_error *error);
/* Inputs of a body without those that it captures; outputs. */
TORT_API int32_t tort_body_inputs(const tort_node_view *node, int32_t body);
TORT_API int32_t tort_body_outputs(const tort_node_view *node, int32_t body);

/* ---- resolve ----------------------------------------------------------------------------------------------------- */

/* Called twice: for claims, when dims may be unknown (< 0; then fill what the attributes determine and do not fail),
 * and for each plan (or dynamic step) with all of them known.
 * Params hold numbers, never pointers: equal nodes have equal bytes, which mean the same at another address, in another
 * process and without the model. Write their members one by one: a struct that is copied whole brings the bytes between
 * its members along. */
typedef struct tort_resolve {
    const tort_node_view *node; /* inputs and outputs */
    void *params;               /* zeroed; op->params_size bytes, and room for lists; aligned to 16 */
    size_t scratch_bytes;       /* to fill: what `reference` needs beside its tensors */
    size_t params_bytes;        /* to fill where params is NULL, see TORT_OP_ONCE */
    tort_error *error;
} tort_resolve;

/* A list or string of a node as its params have it: `count` elements (of a string: bytes, with no end mark), `offset`
 * bytes behind the start of the params. */
typedef struct tort_list {
    uint64_t offset;
    int64_t count;
} tort_list;

/* Copies an attribute (ints, floats, string, strings) behind the params, and says where it is: for rows with
 * TORT_OP_LISTS. An absent one is empty. */
TORT_API tort_list tort_resolve_list(const tort_resolve *resolve, const char *name);
/* The same of a tensor, whose elements may be strings. */
TORT_API tort_status tort_resolve_tensor(const tort_resolve *resolve, const char *name, tort_list *list);
/* Its elements, of a list of numbers or a string. */
static inline const void *tort_list_at(const void *params, tort_list list) {
    return (const char *)params + list.offset;
}
/* String i of an attribute of kind strings, or of a tensor of them; its bytes are in the params. */
TORT_API tort_string tort_list_string(const void *params, tort_list strings, int64_t i);

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* What a kernel gets: tensors of known shape, and the params that resolve made. It checks values (an index out of
 * range), never shapes or types. Tensors that are absent have type TORT_UNDEFINED. Empty tensors have data that must
 * not be read. Outputs never overlap inputs, but where the row says that they may: tort_kernel.in_place. */
typedef struct tort_call {
    const struct tort_op *op; /* the node's row */
    const void *params;
    const tort_tensor *inputs;
    const tort_tensor *outputs; /* the kernel writes to outputs[i].data */
    int32_t input_count, output_count;
    void *scratch;      /* of the kernel's size, or scratch_bytes of resolve for `reference`; aligned to 64 */
    const void *packed; /* weights that the kernel's prepare packed; NULL: none */
    void *prepared;     /* of the kernel's prepare */
    void *fitted;       /* of the kernel's fit */
    const struct tort_kernel *kernel; /* the row whose run this is */
    void *device;                     /* of the provider's open */
    void *stream;                     /* of the provider's stream_open */
    const tort_env *env;              /* env->parallel_for is set */
    int32_t node;                     /* index in the graph; for a device that reports a bad value later */
    struct tort_text *text;           /* for new strings, see tort_call_text */
    /* Set for a node of which an input or output is no tensor. Operands that are none, NULL where one is a tensor,
     * which is in `inputs` as ever; NULL: none at all. Borrowed. */
    const tort_value *const *input_values;
    /* output_count of them, all NULL, in place of `outputs`: the kernel makes every output a value, tensors too, and
     * leaves its reference here, after an error as well. NULL where input_values is. */
    tort_value **output_values;
    /* Bit i: nobody reads input i after this call, so that a value with a single reference may be changed. */
    uint32_t last_reads;
    tort_error *error;
} tort_call;

static inline bool tort_present(const tort_tensor *tensor) {
    return tensor->type != TORT_UNDEFINED;
}
/* Input or output i of a call; NULL where the node does not have it. */
static inline const tort_tensor *tort_call_input(const tort_call *call, int32_t i) {
    return i < call->input_count && tort_present(&call->inputs[i]) ? &call->inputs[i] : NULL;
}
static inline const tort_tensor *tort_call_output(const tort_call *call, int32_t i) {
    return i < call->output_count && tort_present(&call->outputs[i]) ? &call->outputs[i] : NULL;
}
/* Operand i of a call that is no tensor; NULL where it is one, or absent. */
static inline const tort_value *tort_call_value(const tort_call *call, int32_t i) {
    return call->input_values && i < call->input_count ? call->input_values[i] : NULL;
}
/* Operand i, which is there, as a value of the caller's: a new reference, or a copy of a tensor. NULL: out of memory.
 */
TORT_API tort_value *tort_call_element(const tort_call *call, int32_t i);
TORT_API int64_t tort_count(const tort_tensor *tensor); /* elements; the shape is known to be valid */
TORT_API bool tort_same_shape(const tort_tensor *a, const tort_tensor *b);
/* Zero in the bits behind the last element of a packed type (of 6 bits and fewer), which kernels leave as they were: an
 * output is the same to the byte in each run. */
void tort_clear_tail(const tort_tensor *tensor);
/* Nanoseconds of work: some times what it costs to hand it to a thread that looks for some. */
#define TORT_WORTH_A_THREAD 5000
/* Calls body(arg, begin, end) over 0..count on several threads where that pays (work: rough cost of one item in
 * nanoseconds). */
TORT_API void tort_parallel(const tort_call *call, int64_t count, int64_t work, void (*body)(void *, int64_t, int64_t),
                            void *arg);
/* Memory for the bytes of a new string, valid until the context's next run; NULL: out of memory. */
TORT_API char *tort_call_text(const tort_call *call, size_t length);

/* ---- bodies ------------------------------------------------------------------------------------------------------ */

enum { TORT_BODIES = 2 }; /* of a node */

/* How a node runs its bodies: all that the executor knows of control flow. The inputs of a body are: the number of the
 * trip and the condition (counted), what is carried, a part of each scanned input, what it captures. Its outputs are:
 * the condition of the next trip (asks), the results, the parts of what is stacked. An input of the node that is not
 * there is -1. Axes and directions (1: from the last to the first) are int64 lists; an empty one is all 0. */
typedef struct tort_trips {
    int32_t
        body[TORT_BODIES]; /* graphs of the model: where the choice is true or there is none, and where it is false */
    int32_t choice;        /* input, bool: which body */
    int32_t limit;         /* input, int64: no more trips than this */
    int32_t condition;     /* input, bool: whether there is a first trip */
    bool counted, asks;
    bool carries; /* results go into the next trip, at first from inputs carried_first.. */
    int32_t carried_first;
    int32_t results; /* outputs 0..: those of the last trip */
    int32_t scanned_first, scanned;
    int32_t stacked; /* the outputs behind the results: of all trips, one behind another along an axis */
    bool sequences;  /* scanned sequences give an element a trip, scanned tensors are whole in each; what is
                      * stacked becomes a sequence */
    tort_list input_axes, input_directions, output_axes, output_directions;
    /* All trips are made again for each entry of axis 0 of the node's own inputs, and give an entry of its outputs.
     * `lengths`: input, int64: how many trips each entry makes; -1: as many as there are parts. What is stacked is as
     * long as the parts, and ends in zeros. Axes are those of an entry. */
    bool batched;
    int32_t lengths;
} tort_trips;

/* ---- parts ------------------------------------------------------------------------------------------------------- */

/* Where parts lie in the whole: one behind another along an axis of it, whole along all others. Where nothing of the
 * whole is between them in memory, a plan need not move their bytes. */
typedef struct tort_parts {
    int64_t start; /* of the first, along the axis */
    int32_t axis;  /* -1: they do not lie so, or where is not known */
} tort_parts;

/* What the params of a row with TORT_OP_PERMUTES begin with: axis k of the output is axis perm[k] of input 0. */
typedef struct tort_permutation {
    tort_parts parts; /* the whole, where no axis moves but those of length 1: the bytes stay */
    int32_t rank;
    int32_t perm[TORT_MAX_RANK];
} tort_permutation;

/* ---- the row ----------------------------------------------------------------------------------------------------- */

enum {
    /* Done by the executor, not by a kernel. */
    TORT_OP_ALIAS = 1u << 0,    /* output 0 is input 0's bytes under another shape */
    TORT_OP_SAME = 1u << 1,     /* of an alias: under the same shape, too */
    TORT_OP_METADATA = 1u << 2, /* reads only the shape of its inputs (Shape, Size) */
    TORT_OP_CONTROL = 1u << 3,  /* has bodies: its params begin with a tort_trips */
    /* Folding. */
    TORT_OP_CONSTANT = 1u << 4, /* its output is its TENSOR attribute, where it has one: never copied */
    TORT_OP_RANDOM = 1u << 5,   /* never folded */
    TORT_OP_BULKY = 1u << 6,    /* makes large values of small ones: folded only below a small size */
    TORT_OP_LATE = 1u << 7,     /* unpacks a large input 0, and cannot fail: folded, but evaluated for whoever asks */
    TORT_OP_LIKE = 1u << 8,     /* reads of input 1 only its type (CastLike): folded though that is made in the run */
    /* Memory: what a plan need not copy. */
    TORT_OP_IN_PLACE = 1u << 9,  /* `reference` may write output 0 over any input, as tort_kernel.in_place tells */
    TORT_OP_PARTS = 1u << 10,    /* its outputs are parts of input 0: its params begin with a tort_parts */
    TORT_OP_JOINS = 1u << 11,    /* its inputs are the parts of output 0: likewise */
    TORT_OP_PERMUTES = 1u << 12, /* only moves axes: its params begin with a tort_permutation */
    TORT_OP_PICKS = 1u << 13,    /* of input 0 it reads no more than its outputs take */
    /* Params. */
    TORT_OP_LISTS = 1u << 14, /* are followed by room for the lists and strings of the node */
    TORT_OP_ONCE = 1u << 15,  /* depend on attributes alone, and may be large: all plans of a session share them.
                               * resolve is first called with params NULL, to tell how many bytes they are */
    /* The rest. */
    TORT_OP_COMMUTES = 1u << 16, /* of two inputs, whose order means nothing */
    TORT_OP_EARLY = 1u << 17,    /* of an operator's first row: files of opsets before `since` have it, and mean this */
    TORT_OP_VALUES = 1u << 18    /* takes or makes sequences, optionals or maps: `reference` does so too, by
                                  * tort_call.output_values; a node whose operands are all tensors runs as any other */
};

/* The data members are little languages, parsed by check.c and held against ONNX's schemas by a test:
 *   inputs, outputs  "X:T W:T B?:T"      name:type, '?' optional, '*' variadic (one type), '+' variadic (mixed types);
 *                                        a constraint's name, or a type such as int64, seq(T), seq(map(string,float))
 *   types            "T=float16|float|double Tind=int32|int64"; names of sets: see check.c ("floats13", "all21")
 *   attributes       "axis:int=1 to:int(T2)! mode:string=nearest pads:ints alpha:float=0.01 body:graph!": '!' is
 *                    required; int(T2) is the number of a type of constraint T2 (or of types: int(int32|int64)) or
 *                    the row's default, string(T2) its name
 */
typedef struct tort_op {
    const char *domain, *name;
    int16_t since, until; /* versions of the domain, both included */
    const char *inputs, *outputs, *types, *attributes;
    uint32_t shape_inputs; /* bit i: the VALUES of input i determine output shapes (Reshape's shape, TopK's k) */
    uint32_t flags;
    int32_t variant; /* of rows that share functions: which of them this is, node->op->variant and call->op->variant */
    uint32_t params_size; /* of the struct; 0 if resolve is NULL */
    tort_status (*infer)(tort_infer *infer);
    tort_status (*resolve)(tort_resolve *resolve);   /* NULL: nothing to decode */
    tort_status (*reference)(const tort_call *call); /* NULL for aliases, metadata and control flow */
} tort_op;

/* The floating-point operations of a node of such an operator, in all its versions, whose params were made for known
 * shapes: 2 a multiply-add, of products and convolutions alone. Negative: not to be told. */
typedef struct tort_flops {
    const char *domain, *name;
    double (*count)(const void *params);
} tort_flops;

/* Ends with a row whose name is NULL. In ops/flops.c. */
extern const tort_flops tort_flops_table[];

/* An operator that this build knows by name alone: the report says why it does not run, and what to do. */
typedef struct tort_refusal {
    const char *domain, *name; /* name NULL: all of the domain */
    const char *why, *cure;    /* "needs ...", as a sentence goes on behind the operator's name; "export ..." */
} tort_refusal;

/* Ends with a row whose domain is NULL. In ops/refused.c. */
extern const tort_refusal tort_refusals[];

/* The families of this build, each a table that ends with a row whose name is NULL; ends with NULL. In ops/ops.c. */
extern const tort_op *const tort_op_families[];

#define TORT_NEWEST_OPSET 28 /* of the main domain, onnx 1.23 */

#ifdef __cplusplus
}
#endif
#endif
