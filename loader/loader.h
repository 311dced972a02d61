/* loader.h - shared by the files of loader/ while one model is loaded. Private to loader/.
 *
 * Reading order: onnx.proto (the format), onnx_load.c (the whole), wire.c and parse.c (bytes to structs), limits.h
 * (memory), graph.c (scopes, values, nodes), bodies.c (captures of bodies), functions.c (calls expanded in place),
 * flex_attention.c, attributes.c, tensors.c and sparse.c (weights), types.c, opsets.c. */
#ifndef TORT_LOADER_LOADER_H
#define TORT_LOADER_LOADER_H

#include "loader/limits.h"
#include "loader/parse.h"
#include "runtime/core/graph/graph.h"
#include "runtime/core/base/names.h"

/* A model-local function, see functions.c. */
typedef struct tort_function {
    const TortOnnx__FunctionProto *proto;
    tort_names opsets;
    tort_names parameters;                     /* name -> number */
    const TortOnnx__AttributeProto **defaults; /* per parameter, NULL: no default; in the scratch arena */
    int32_t parameter_count;
    uint64_t cost, name_count; /* of a call: bytes, and number of names with the call's prefix */
    bool active;               /* a call is being expanded: another call inside of it is a cycle */
} tort_function;

/* A call of a function, with the values of its parameters. */
typedef struct tort_function_call {
    const tort_function *function;
    const TortOnnx__AttributeProto **parameters; /* by number: given by the caller, or defaults; never references */
    const char *prefix;                          /* prefix of the names of its nodes and values */
} tort_function_call;

/* Scope of names: those that nodes of one graph, or of one function call, can see. */
typedef struct tort_scope {
    struct tort_scope *outer;       /* scope around a body; NULL for the main graph and for functions */
    const tort_function_call *call; /* the call that the nodes belong to, also those of bodies in a function */
    int32_t graph;
    tort_names names; /* -> value of `graph`, -1: an absent input of a function */
    /* Captures of a body: pairs of a value of `outer` and a value of this graph. */
    int32_t *captured_outer, *captured_inner;
    int32_t captured_count, outer_capacity, inner_capacity;
} tort_scope;

typedef struct tort_loader {
    const tort_env *env; /* the model's */
    tort_model *model;
    tort_source *source;
    tort_error *error;
    tort_arena scratch; /* freed at the end of loading */
    int32_t depth;      /* of nested graphs and calls */
    const TortOnnx__ModelProto *proto;
    tort_names kept;             /* texts that the model keeps once, however often the file repeats them */
    tort_names opsets;           /* the model's imports: domain -> version */
    tort_names function_numbers; /* key of domain, name and overload -> number */
    tort_function *functions;
    int32_t function_count;
    tort_names prefixes; /* prefixes of calls, kept unique: -> number of requests */
    char *key;           /* buffer for a key of function_numbers */
    int32_t key_capacity;
    uint64_t expanded;   /* cost of the function calls so far, in bytes */
    size_t sparse_bytes; /* used for expanding sparse tensors so far */
} tort_loader;

/* ---- loader.c */

/* The domain as the model spells it: "" for "ai.onnx", and for NULL. */
const char *tort_domain_of(const char *domain);
/* Copies a text into the model, "" for NULL; tort_keep_once copies equal texts, such as names of operators, only once.
 * NULL: out of memory. */
const char *tort_keep_text(tort_loader *loader, const char *text);
const char *tort_keep_once(tort_loader *loader, const char *text);
/* Fails with TORT_E_MEMORY. */
tort_status tort_no_memory(tort_loader *loader);
/* Fails with TORT_E_MODEL: loading would take more than the limit (limits.h). */
tort_status tort_over_limit(const tort_source *source, size_t limit, tort_error *error);
/* Raises the memory limit by so many bytes, for data that the file describes without holding it. */
void tort_allow_more(tort_loader *loader, size_t bytes);

/* Limits the nesting of graphs and calls, since each level takes stack. */
tort_status tort_enter(tort_loader *loader);
void tort_leave(tort_loader *loader);

/* ---- opsets.c */

/* Collects imports: domain -> version. Those of the model are also listed in it, every domain once, in the order of the
 * file. */
tort_status tort_load_opsets(tort_loader *loader, TortOnnx__OperatorSetIdProto *const *imports, size_t count,
                             tort_names *opsets);

/* ---- graph.c */

/* Adds a graph to the model with everything in it; *graph is its index. scope->outer is NULL for the main graph. */
tort_status tort_load_graph(tort_loader *loader, const TortOnnx__GraphProto *proto, tort_scope *scope, int32_t *graph);
void tort_scope_free(tort_loader *loader, tort_scope *scope);
/* Finds the value of a name, capturing it from outer scopes; *value is -1 for "" and for an absent input of a function.
 */
tort_status tort_resolve_name(tort_loader *loader, tort_scope *scope, const char *name, int32_t *value);
/* Load nodes into the scope's graph: first their outputs are declared, so that nodes can use them in any order, then
 * the nodes are loaded. file_index -1: each node has its own. */
tort_status tort_declare_outputs(tort_loader *loader, tort_scope *scope, TortOnnx__NodeProto *const *nodes,
                                 size_t count);
tort_status tort_load_nodes(tort_loader *loader, tort_scope *scope, TortOnnx__NodeProto *const *nodes, size_t count,
                            int32_t file_index);

/* ---- bodies.c */

enum { TORT_MAX_BODIES = 4 }; /* per node, whose captures each of them lists; ONNX's operators have at most two */

/* The bodies of a node while it is loaded. */
typedef struct tort_bodies {
    tort_scope scopes[TORT_MAX_BODIES];
    int32_t count;
} tort_bodies;

/* Loads a body as a graph of the model. */
tort_status tort_load_body(tort_loader *loader, tort_scope *scope, const TortOnnx__GraphProto *proto,
                           tort_bodies *bodies, int32_t *graph);
/* Sets the node's inputs: its own, then the captures of its bodies; every body's inputs end with the same values. */
tort_status tort_connect_bodies(tort_loader *loader, tort_scope *scope, const TortOnnx__NodeProto *proto,
                                const tort_bodies *bodies, tort_node *node);

/* ---- file_kind.c */

/* Replaces the error of a file that could not be read as a model, if its first bytes show what it is instead. */
void tort_explain_file(tort_source *source, tort_error *error);

/* ---- functions.c */

tort_status tort_load_functions(tort_loader *loader);
void tort_functions_free(tort_loader *loader);
/* Finds the function that a node calls; NULL if it is an operator. */
tort_status tort_find_function(tort_loader *loader, const TortOnnx__NodeProto *node, tort_function **function);
/* Adds the nodes of the function in place of `node`, which is number `index` in the scope `caller`. */
tort_status tort_expand_call(tort_loader *loader, tort_scope *caller, tort_function *function,
                             const TortOnnx__NodeProto *node, size_t index, int32_t file_index);
/* Finds the attribute that stands for a parameter, to which an attribute in a function refers by name. Its type must be
 * `type` if both are stated. NULL if the call does not give it. */
tort_status tort_attribute_reference(tort_loader *loader, const tort_scope *scope, const char *name, int32_t type,
                                     const TortOnnx__AttributeProto **referred);

/* ---- flex_attention.c */

/* True for a FlexAttention with graphs. */
bool tort_is_modified_attention(const tort_loader *loader, const tort_node *node);
/* Adds its parts to the graph, in place of the node. */
tort_status tort_split_attention(tort_loader *loader, const tort_scope *scope, const tort_node *node);

/* ---- attributes.c */

/* Fills attributes and attribute_count of the node. Bodies become graphs of the model and are collected in `bodies`. */
tort_status tort_load_attributes(tort_loader *loader, tort_scope *scope, const TortOnnx__NodeProto *proto,
                                 tort_node *node, tort_bodies *bodies);

/* ---- tensors.c, sparse.c */

/* Adds a tensor as a weight of the model, or returns the index that it already has: a function's constants are loaded
 * once, however many calls are expanded. */
tort_status tort_load_tensor(tort_loader *loader, TortOnnx__TensorProto *proto, int32_t *weight);
/* Finds and checks type, shape, size and location of a tensor's data, without reading it. */
tort_status tort_tensor_facts(tort_loader *loader, const TortOnnx__TensorProto *proto, tort_weight *facts);
/* Reads a tensor's contents, facts->bytes of them, to `data`; bytes of strings still belong to the proto. */
tort_status tort_tensor_contents(tort_loader *loader, const TortOnnx__TensorProto *proto, const tort_weight *facts,
                                 void *data);
/* Expands a sparse tensor into a dense weight, or returns the index that it already has. */
tort_status tort_load_sparse(tort_loader *loader, const TortOnnx__SparseTensorProto *proto, int32_t *weight);

/* ---- types.c */

/* Copies dims after checking rank and sizes. */
tort_status tort_load_dims(tort_loader *loader, const int64_t *dims, size_t count, int32_t *rank, int64_t *out);
/* Fills info as declared; NULL, or a type without content, leaves it as it is. `symbolic`: equal names of dimensions
 * mean equal sizes in the whole graph; otherwise every dimension name is an unknown of its own. */
tort_status tort_load_type(tort_loader *loader, const TortOnnx__TypeProto *proto, bool symbolic, tort_info *info);
/* Loads the type that a TypeProto describes, without shapes. */
tort_status tort_load_value_type(tort_loader *loader, const TortOnnx__TypeProto *proto, tort_value_type *type);

#endif
