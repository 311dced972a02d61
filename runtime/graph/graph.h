/* graph.h - the checked graph in memory: values, nodes and attributes as arrays, referring to each other by index.
 *
 * loader/ fills it through the functions below, finish.c checks it, infer.c completes types and shapes; after that
 * nothing changes it, and sessions share it. It must not know files, providers or operators.
 * A body (If, Loop, Scan) is a graph of its own, named by index in the model; what it takes from outside is an
 * explicit input of its node (appended to the node's inputs, see tort_node.captured). */
#ifndef TORT_RUNTIME_GRAPH_GRAPH_H
#define TORT_RUNTIME_GRAPH_GRAPH_H

#include "runtime/base/account.h"
#include "runtime/base/error.h"
#include "runtime/graph/shape.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tort_op;

#define TORT_NEWEST_IR 14 /* version of the file format, onnx 1.23 */

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* What is known of a value while planning: its type, its shape and, sometimes, its contents.
 * type UNDEFINED: nothing is known (or the input is absent). rank -1: the rank is unknown. */
typedef struct tort_info {
    tort_kind kind;
    tort_type type; /* of the elements; of a sequence or optional of tensors too */
    int32_t nest;   /* `nest` of the type of what is no tensor; -1 for a tensor */
    int32_t rank;
    tort_dim dims[TORT_MAX_RANK];
    const tort_scalar *elements; /* contents of a small integer or bool tensor, as far as shapes determine it; NULL */
    int32_t element_count;
    const void *data; /* all contents, host memory, when they are at hand; NULL */
    bool constant;    /* a weight or folded: its contents never change, though `data` may still be in the file */
} tort_info;

/* Is it a tensor of which every dimension is a number? */
static inline bool tort_shape_known(const tort_info *info) {
    if (info->kind != TORT_TENSOR || info->rank < 0) return false;
    for (int32_t i = 0; i < info->rank; i++)
        if (!tort_dim_known(info->dims[i])) return false;
    return true;
}
/* Is every element of its small contents a number? */
static inline bool tort_elements_known(const tort_info *info) {
    for (int32_t i = 0; i < info->element_count; i++)
        if (info->elements[i].symbolic) return false;
    return info->elements != NULL;
}
/* Its type, in one. */
static inline tort_value_type tort_info_type(const tort_info *info) {
    if (info->kind == TORT_TENSOR) return tort_tensor_type(info->type);
    return (tort_value_type){.type = info->type, .nest = (uint32_t)info->nest};
}
/* The tensor that it is, without data; false while its type or a dimension is not known. */
bool tort_info_tensor(const tort_info *info, tort_tensor *out);

/* The first element of a float, double, float16, bfloat16, int32 or int64 tensor; false: it is of another type. */
bool tort_first_number(tort_type type, const void *data, double *number);

/* Where the bytes of a weight are. The loader fills it; tort_weight_acquire reads it. */
typedef enum tort_encoding {
    TORT_ENCODING_RAW,     /* little-endian, as in memory */
    TORT_ENCODING_VARINTS, /* packed protobuf varints, one an element (int32_data, int64_data, uint64_data) */
    TORT_ENCODING_MEMORY,  /* already in memory: `data` is set and never dropped */
    TORT_ENCODING_LEFT_OUT /* not there: a saved plan has what was packed of it */
} tort_encoding;

typedef struct tort_weight {
    tort_type type;
    int32_t rank;
    int64_t dims[TORT_MAX_RANK];
    size_t bytes; /* in memory */
    tort_encoding encoding;
    int32_t file;            /* 0: the model itself; 1..: the loader's external files */
    uint64_t offset, length; /* of the encoded bytes in the file; checked against its size */
} tort_weight;

typedef struct tort_graph_value {
    const char *name; /* "" for one that the loader made */
    tort_info info;   /* as declared, then as inferred */
    int32_t producer; /* node index, -1: graph input or constant */
    int32_t weight;   /* index into the model's weights, -1 */
    bool is_input, is_output;
    bool has_default;  /* an input of the main graph whose initializer made it a constant */
    int32_t consumers; /* nodes that read it, counted by tort_model_finish */
} tort_graph_value;

static inline bool tort_value_is_read(const tort_graph_value *value) {
    return value->consumers > 0 || value->is_output;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

typedef enum tort_attribute_kind { /* the numbers of AttributeProto.AttributeType */
                                   TORT_ATTR_FLOAT = 1,
                                   TORT_ATTR_INT = 2,
                                   TORT_ATTR_STRING = 3,
                                   TORT_ATTR_TENSOR = 4,
                                   TORT_ATTR_GRAPH = 5,
                                   TORT_ATTR_FLOATS = 6,
                                   TORT_ATTR_INTS = 7,
                                   TORT_ATTR_STRINGS = 8,
                                   TORT_ATTR_TENSORS = 9,
                                   TORT_ATTR_GRAPHS = 10,
                                   TORT_ATTR_SPARSE_TENSOR = 11,
                                   TORT_ATTR_SPARSE_TENSORS = 12,
                                   TORT_ATTR_TYPE_PROTO = 13,
                                   TORT_ATTR_TYPE_PROTOS = 14
} tort_attribute_kind;

typedef struct tort_attribute {
    const char *name;
    tort_attribute_kind kind;
    bool is_default; /* filled in from the operator's row */
    int32_t count;   /* of a list; 1 otherwise */
    union {
        int64_t i;
        float f;
        tort_string s; /* terminated as well */
        const int64_t *ints;
        const float *floats;
        const tort_string *strings;
        /* TENSOR, TENSORS: indices into the model's weights; SPARSE_TENSOR: one, which the loader made dense. */
        const int32_t *weights;
        const int32_t *graphs;        /* GRAPH, GRAPHS: indices into the model's graphs */
        const tort_value_type *types; /* TYPE_PROTO: one */
    } u;
} tort_attribute;

typedef struct tort_node {
    const char *name;   /* of this node alone in its graph: an unnamed one is "Conv_12", a second one gets "#2" */
    const char *domain; /* "" for ai.onnx */
    const char *op_type;
    int32_t opset;            /* version of the domain that the model (or function) imports */
    const struct tort_op *op; /* NULL: no row for it; the report says why */
    const int32_t *inputs;    /* value indices, -1 where absent */
    const int32_t *outputs;
    const tort_attribute *attributes;
    int32_t input_count, output_count, attribute_count;
    int32_t captured; /* the last `captured` inputs are what its bodies take from outside: every body's inputs end with
                       * all of them, in this order, also those that only another body of the node uses */
    int32_t file_index; /* index in the file's graph; nodes of one expanded function share it */
} tort_node;

typedef struct tort_graph {
    const char *name;
    const char *path; /* "" for the main graph, "Loop_3/body" for a body */
    tort_graph_value *values;
    tort_node *nodes;          /* in an order in which they can run */
    int32_t *inputs, *outputs; /* value indices; a body's inputs end with what it captures */
    int32_t first;             /* number of its first node among those of all graphs, which are in the model's order */
    int32_t value_count, node_count, input_count, output_count;
    int32_t value_capacity, node_capacity;
} tort_graph;

typedef struct tort_opset {
    const char *domain;
    int64_t version;
} tort_opset;

struct tort_model {
    tort_env env; /* the application's, counted in the account */
    tort_account account;
    tort_arena arena;
    tort_dims dims;
    int64_t ir_version;
    const char *path, *producer, *producer_version, *graph_name; /* "" where the file has none */
    const struct tort_op *const *operators;                      /* the application's; borrowed; NULL: none */
    const char *const *open_inputs;       /* tort_load_options; borrowed until tort_model_finish */
    const struct tort_op_table *op_table; /* these and those of the build, from tort_model_look_up on */
    tort_opset *opsets;
    int32_t opset_count;
    tort_metadata *metadata;
    int32_t metadata_count;
    tort_graph *graphs; /* graphs[0] is the main graph */
    int32_t graph_count, graph_capacity;
    tort_weight *weights;
    int32_t weight_count, weight_capacity;
    struct tort_weight_store *store; /* weights.c: what is resident, how often it is held, a lock */
    /* Reads `length` bytes at `offset` of a file into dst; set by the loader, which also frees source_ud. */
    tort_status (*source_read)(void *ud, int32_t file, uint64_t offset, uint64_t length, void *dst, tort_error *error);
    /* The bytes themselves if the source has them in memory or mapped, aligned for `type`; else NULL. */
    const void *(*source_view)(void *ud, int32_t file, uint64_t offset, uint64_t length);
    void (*source_close)(void *ud);
    void *source_ud;
    bool source_is_ours; /* no function of the application reads: the source serves several threads at any time */
};

/* ---- building, for loader/ and tests ----------------------------------------------------------------------------- */

tort_model *tort_model_new(const tort_env *env); /* NULL: out of memory. Has no graph yet */
int32_t tort_model_add_graph(tort_model *model, const char *name, const char *path); /* -1: out of memory */
int32_t tort_model_add_weight(tort_model *model, const tort_weight *weight);         /* -1: out of memory */
/* A weight whose bytes are in memory: copies them into the model. -1: out of memory */
int32_t tort_model_add_weight_data(tort_model *model, const tort_tensor *tensor);
/* The same where the bytes come later: sets tensor->data to where they belong, which is zeroed. */
int32_t tort_model_add_weight_space(tort_model *model, tort_tensor *tensor);
int32_t tort_graph_add_value(tort_model *model, int32_t graph, const char *name); /* rank -1, no type; -1 */
/* Copies the node (its arrays must already be in the model's arena). -1: out of memory */
int32_t tort_graph_add_node(tort_model *model, int32_t graph, const tort_node *node);

/* Room for so many more, so that none is wasted where the number is known; trim gives back what is not used. False: out
 * of memory. */
bool tort_model_reserve_weights(tort_model *model, int32_t more);
bool tort_graph_reserve(tort_model *model, int32_t graph, int32_t values, int32_t nodes);
bool tort_graph_trim(tort_model *model, int32_t graph);

/* Gives names to nodes and paths to bodies, sorts nodes, binds each to its operator row, checks arity, attributes and
 * types, infers types and shapes. The loader calls it last; a valid model with operators that this build lacks is
 * TORT_OK (place reports them). */
tort_status tort_model_finish(tort_model *model, int assume_opset, tort_error *error);

/* ---- weights ----------------------------------------------------------------------------------------------------- */

/* Makes a weight resident and holds it: reads it at the first hold. The result is aligned to TORT_HOST_ALIGN, or is
 * the mapped file or the caller's buffer. Thread-safe. Release what was acquired; at the last release it is dropped. */
TORT_API tort_status tort_weight_acquire(const tort_model *model, int32_t weight, const void **data, tort_error *error);
TORT_API void tort_weight_release(const tort_model *model, int32_t weight);
/* Is the weight in a file as it is, held by nobody, and read by no function of the application? Then parts of it can be
 * read, at any offset, from any thread. */
bool tort_weight_is_in_file(const tort_model *model, int32_t weight);
tort_status tort_weight_read(const tort_model *model, int32_t weight, size_t offset, size_t bytes, void *to,
                             tort_error *error);

#ifdef __cplusplus
}
#endif
#endif
