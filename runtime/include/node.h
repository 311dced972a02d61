/* node.h - what is known of a value, and the attributes of a node: what operators and providers see of a model.
 *
 * The graph itself is the core's (runtime/core/graph/graph.h). Read next: op.h. */
#ifndef TORT_RUNTIME_NODE_H
#define TORT_RUNTIME_NODE_H

#include "runtime/core/base/error.h"
#include "runtime/core/graph/shape.h"

struct tort_op;

/* The static knowledge of a value: its type, its shape and sometimes its contents. type UNDEFINED: nothing is known, or
 * the input is absent. rank -1: unknown rank. */
typedef struct tort_info {
    tort_kind kind;
    tort_type type; /* of the elements; also inside a sequence or optional of tensors */
    int32_t nest;   /* tort_value_type.nest of a value that is not a tensor; -1 for a tensor */
    int32_t rank;
    tort_dim dims[TORT_MAX_RANK];
    const tort_scalar *elements; /* contents of a small integer or bool tensor, as expressions over symbols; NULL */
    int32_t element_count;
    const void *data; /* all contents in host memory, if loaded; NULL */
    bool constant;    /* a weight or folded: contents never change, though `data` may not be loaded */
    bool uniform;     /* a list of 8-bit numbers, such as zero points, that is constant and has `byte` throughout */
    uint8_t byte;
} tort_info;

/* True if the value is a tensor, and every dimension is a number. */
static inline bool tort_shape_known(const tort_info *info) {
    if (info->kind != TORT_TENSOR || info->rank < 0) return false;
    for (int32_t i = 0; i < info->rank; i++)
        if (!tort_dim_known(info->dims[i])) return false;
    return true;
}
/* True if both are tensors of one rank whose dimensions are equal: the same numbers, or the same expressions. */
static inline bool tort_same_dims(const tort_info *a, const tort_info *b) {
    bool same = a->kind == TORT_TENSOR && b->kind == TORT_TENSOR && a->rank >= 0 && a->rank == b->rank;
    for (int32_t i = 0; same && i < a->rank; i++) same = a->dims[i] == b->dims[i];
    return same;
}
/* True if small contents are tracked, and every element is a number. */
static inline bool tort_elements_known(const tort_info *info) {
    for (int32_t i = 0; i < info->element_count; i++)
        if (info->elements[i].symbolic) return false;
    return info->elements != NULL;
}
/* Element type and nesting as one tort_value_type. */
static inline tort_value_type tort_info_type(const tort_info *info) {
    if (info->kind == TORT_TENSOR) return tort_tensor_type(info->type);
    return (tort_value_type){.type = info->type, .nest = (uint32_t)info->nest};
}
/* Fills a tort_tensor with type and shape, but without data; false while the type or a dimension is unknown. */
bool tort_info_tensor(const tort_info *info, tort_tensor *out);

/* The first element of a float, double, float16, bfloat16, int32 or int64 tensor as a double; false for other types. */
bool tort_first_number(tort_type type, const void *data, double *number);

/* Storage of the bytes of a weight. The loader sets it; tort_weight_acquire decodes. */
typedef enum tort_encoding {
    TORT_ENCODING_RAW,     /* little-endian, the same bytes as in memory */
    TORT_ENCODING_VARINTS, /* packed protobuf varints, one per element (int32_data, int64_data, uint64_data) */
    TORT_ENCODING_MEMORY,  /* in memory already: `data` is set and never dropped */
    TORT_ENCODING_LEFT_OUT /* absent from a saved plan, which has only the packed form */
} tort_encoding;

typedef struct tort_weight {
    tort_type type;
    int32_t rank;
    int64_t dims[TORT_MAX_RANK];
    size_t bytes; /* decoded */
    tort_encoding encoding;
    int32_t file;            /* 0: the model file; 1..: external files of the loader */
    uint64_t offset, length; /* of the encoded bytes in the file; checked against the file's size */
} tort_weight;

typedef enum tort_attribute_kind { /* numbered as AttributeProto.AttributeType */
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
    bool is_default; /* added from the operator's row */
    int32_t count;   /* length of a list; else 1 */
    union {
        int64_t i;
        float f;
        tort_string s; /* also NUL-terminated */
        const int64_t *ints;
        const float *floats;
        const tort_string *strings;
        /* TENSOR, TENSORS: indices into the model's weights; SPARSE_TENSOR: one index, made dense by the loader. */
        const int32_t *weights;
        const int32_t *graphs;        /* GRAPH, GRAPHS: indices into the model's graphs */
        const tort_value_type *types; /* TYPE_PROTO: one */
    } u;
} tort_attribute;

/* Type and shape of a weight, by an index that an attribute names. */
TORT_API const tort_weight *tort_weight_of(const tort_model *model, int32_t weight);
/* The application's environment, with memory counted in the model's account. */
TORT_API const tort_env *tort_model_env(const tort_model *model);
/* Loads a weight at the first hold, and holds it. The result is aligned to TORT_HOST_ALIGN, and may be the mapped file
 * or the caller's buffer. Thread-safe. Pair with release; the last release drops it. */
TORT_API tort_status tort_weight_acquire(const tort_model *model, int32_t weight, const void **data, tort_error *error);
TORT_API void tort_weight_release(const tort_model *model, int32_t weight);
#endif
