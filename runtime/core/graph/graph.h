/* graph.h - the checked graph in memory: values, nodes and attributes as arrays that refer to each other by index.
 *
 * loader/ fills it through the functions below, finish.c checks it, infer.c completes types and shapes; then it is
 * immutable, and sessions share it. This file must not know file formats, providers or operators. A body (If, Loop,
 * Scan) is a separate graph, referred to by its index in the model; values that it captures from the graph around it
 * are explicit inputs, appended to its node's inputs (tort_node.captured). */
#ifndef TORT_RUNTIME_GRAPH_GRAPH_H
#define TORT_RUNTIME_GRAPH_GRAPH_H

#include "runtime/core/base/account.h"
#include "runtime/include/node.h"

#define TORT_NEWEST_IR 14 /* version of the file format: onnx 1.23 */

/* ---- values ------------------------------------------------------------------------------------------------------ */

typedef struct tort_graph_value {
    const char *name; /* "" if the loader made the value */
    tort_info info;   /* first as declared, then as inferred */
    int32_t producer; /* index of the node that makes it; -1: graph input or constant */
    int32_t weight;   /* index into the model's weights, -1 */
    bool is_input, is_output;
    bool has_default;  /* an input of the main graph with an initializer, which makes it a constant */
    int32_t consumers; /* number of nodes that read it, counted by tort_model_finish */
} tort_graph_value;

static inline bool tort_value_is_read(const tort_graph_value *value) {
    return value->consumers > 0 || value->is_output;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

typedef struct tort_node {
    const char *name;   /* unique in its graph: "Conv_12" for an unnamed node, "name#2" for a duplicate */
    const char *domain; /* "" for ai.onnx */
    const char *op_type;
    int32_t opset;            /* version of the domain, as imported by the model or the function */
    const struct tort_op *op; /* NULL: this build has no row for it; reports tell why */
    const int32_t *inputs;    /* value indices, -1 where absent */
    const int32_t *outputs;
    const tort_attribute *attributes;
    int32_t input_count, output_count, attribute_count;
    int32_t captured;   /* the last `captured` inputs are values of the graph around its bodies: each body's inputs end
                           with all of them in this order, even those that only another body of the node reads */
    int32_t file_index; /* index in the file's graph; the nodes of an expanded function share one */
} tort_node;

typedef struct tort_graph {
    const char *name;
    const char *path; /* "" for the main graph, "Loop_3/body" for a body */
    tort_graph_value *values;
    tort_node *nodes;          /* in topological order */
    int32_t *inputs, *outputs; /* value indices; a body's inputs end with its captured values */
    int32_t first;             /* the number of its first node, counted through all graphs of the model */
    int32_t value_count, node_count, input_count, output_count;
    int32_t value_capacity, node_capacity;
} tort_graph;

typedef struct tort_opset {
    const char *domain;
    int64_t version;
} tort_opset;

struct tort_model {
    tort_env env; /* the application's, with memory counted in `account` */
    tort_account account;
    tort_arena arena;
    tort_dims dims;
    int64_t ir_version;
    const char *path, *producer, *producer_version, *graph_name; /* "" where the file has none */
    const struct tort_op *const *operators;                      /* the application's; borrowed; NULL: none */
    const char *const *open_inputs;       /* tort_load_options.open_inputs; borrowed until tort_model_finish */
    const struct tort_op_table *op_table; /* the application's rows and the build's; set by tort_model_look_up */
    tort_opset *opsets;
    int32_t opset_count;
    tort_metadata *metadata;
    int32_t metadata_count;
    tort_graph *graphs; /* graphs[0] is the main graph */
    int32_t graph_count, graph_capacity;
    const tort_info *declared_outputs; /* of the main graph, as the file has them; inference uses only their ranks */
    tort_weight *weights;
    int32_t weight_count, weight_capacity;
    struct tort_weight_store *store; /* weights.c: resident weights, hold counts, locks */
    /* Reads `length` bytes at `offset` of a file into dst. Set by the loader; source_close frees source_ud. */
    tort_status (*source_read)(void *ud, int32_t file, uint64_t offset, uint64_t length, void *dst, tort_error *error);
    /* A pointer to the bytes if the source has them in memory or mapped, aligned for the type; else NULL. */
    const void *(*source_view)(void *ud, int32_t file, uint64_t offset, uint64_t length);
    /* True if it reads the file of this identity (st_dev and st_ino of stat), which must not be written then. */
    bool (*source_reads)(const void *ud, uint64_t device, uint64_t inode);
    void (*source_close)(void *ud);
    void *source_ud;
    bool source_is_ours; /* reads call no function of the application, so they are thread-safe */
};

/* Refuses a path that is the model's file, its saved plan or its external data: TORT_E_USAGE. */
tort_status tort_model_check_target(const tort_model *model, const char *path, tort_error *error);

/* ---- building, for loader/ and tests ----------------------------------------------------------------------------- */

tort_model *tort_model_new(const tort_env *env); /* without a graph; NULL: out of memory */
int32_t tort_model_add_graph(tort_model *model, const char *name, const char *path); /* -1: out of memory */
int32_t tort_model_add_weight(tort_model *model, const tort_weight *weight);         /* -1: out of memory */
/* Adds a weight, and copies its bytes into the model. -1: out of memory */
int32_t tort_model_add_weight_data(tort_model *model, const tort_tensor *tensor);
/* Adds a weight with zeroed bytes, which the caller fills through tensor->data. -1: out of memory */
int32_t tort_model_add_weight_space(tort_model *model, tort_tensor *tensor);
int32_t tort_graph_add_value(tort_model *model, int32_t graph, const char *name); /* -1: out of memory */
/* Copies the node, but borrows its arrays, which must be in the model's arena. -1: out of memory */
int32_t tort_graph_add_node(tort_model *model, int32_t graph, const tort_node *node);

/* Writes the names of values, for a message, into the buffer, and returns it: "x, mask". */
const char *tort_list_values(const tort_graph *graph, const int32_t *values, int32_t count, char *buffer, size_t size);

/* Reserve capacity for so many more, where the number is known, to waste none; trim frees unused
 * capacity. False: out of memory. */
bool tort_model_reserve_weights(tort_model *model, int32_t more);
bool tort_graph_reserve(tort_model *model, int32_t graph, int32_t values, int32_t nodes);
bool tort_graph_trim(tort_model *model, int32_t graph);

/* Checks and completes a model; called last by the loader. Names nodes and bodies, sorts nodes, binds them to their
 * rows, checks arity, attributes and types, infers types and shapes. A model with operators that this build lacks is
 * valid: place.c reports them. */
tort_status tort_model_finish(tort_model *model, int assume_opset, tort_error *error);

/* ---- weights ----------------------------------------------------------------------------------------------------- */

/* True if the weight is stored raw in a file, held by nobody, and read without functions of the application: then
 * tort_weight_read may read any part of it from any thread. */
bool tort_weight_is_in_file(const tort_model *model, int32_t weight);
tort_status tort_weight_read(const tort_model *model, int32_t weight, size_t offset, size_t bytes, void *to,
                             tort_error *error);

#endif
