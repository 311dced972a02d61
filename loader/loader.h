/* loader.h - what the files of loader/ share while one model is loaded. Private to loader/.
 *
 * Reading order: onnx.proto (the format), onnx_load.c (the whole), wire.c and parse.c (bytes to structs), limits.h
 * (what it may cost), graph.c (scopes, values, nodes), bodies.c (what bodies capture), functions.c (calls expanded in
 * place), flex_attention.c, attributes.c, tensors.c and sparse.c (weights), types.c, opsets.c. */
#ifndef TORT_LOADER_LOADER_H
#define TORT_LOADER_LOADER_H

#include "loader/limits.h"
#include "loader/parse.h"
#include "runtime/graph/graph.h"
#include "runtime/base/names.h"

/* A model-local function, see functions.c. */
typedef struct tort_function {
    const TortOnnx__FunctionProto *proto;
    tort_names opsets;
    tort_names parameters;                     /* name -> number */
    const TortOnnx__AttributeProto **defaults; /* of every parameter; NULL where it has none. In the scratch arena */
    int32_t parameter_count;
    uint64_t cost, name_count; /* of a call: bytes, and names that start with the caller's */
    bool active;               /* a call of it is being expanded: another one inside is a cycle */
} tort_function;

/* One call of a function: what its parameters stand for. */
typedef struct tort_function_call {
    const tort_function *function;
    const TortOnnx__AttributeProto **parameters; /* by number: given by the caller, or defaults; none is a reference */
    const char *prefix;                          /* of the names of its nodes and values */
} tort_function_call;

/* The names that nodes of one graph, or of one function call, can see. */
typedef struct tort_scope {
    struct tort_scope *outer; /* around a body; NULL for the main graph and for a function, which see nothing outside */
    const tort_function_call *call; /* the call whose nodes these are; a body of a function has its function's */
    int32_t graph;
    tort_names names; /* -> value of `graph`, -1: an absent input of a function */
    /* What a body takes from `outer`: pairs of values. */
    int32_t *captured_outer, *captured_inner;
    int32_t captured_count, outer_capacity, inner_capacity;
} tort_scope;

typedef struct tort_loader {
    const tort_env *env; /* the model's */
    tort_model *model;
    tort_source *source;
    tort_error *error;
    tort_arena scratch; /* lives as long as the loading */
    int32_t depth;      /* of graphs and calls within each other */
    const TortOnnx__ModelProto *proto;
    tort_names kept;             /* texts that are in the model once, however many say them */
    tort_names opsets;           /* the model's imports: domain -> version */
    tort_names function_numbers; /* of keys made of domain, name and overload */
    tort_function *functions;
    int32_t function_count;
    tort_names prefixes; /* of calls, so that no two are the same: -> how often it was asked for */
    char *key;           /* room for a key of function_numbers */
    int32_t key_capacity;
    uint64_t expanded;   /* cost of the function calls so far, in bytes */
    size_t sparse_bytes; /* that expanding sparse tensors took */
} tort_loader;

/* ---- loader.c */

/* "" for "ai.onnx", and where there is none. */
const char *tort_domain_of(const char *domain);
/* The model's copy of a text, "" of NULL; of texts that many say, such as names of operators, there is one. NULL: out
 * of memory. */
const char *tort_keep_text(tort_loader *loader, const char *text);
const char *tort_keep_once(tort_loader *loader, const char *text);
/* Fails with TORT_E_MEMORY. */
tort_status tort_no_memory(tort_loader *loader);
/* Fails with TORT_E_MODEL: loading would take more than the limit (limits.h). */
tort_status tort_over_limit(const tort_source *source, size_t limit, tort_error *error);
/* Lets the loading take so many bytes more, for what the file describes and does not hold. */
void tort_allow_more(tort_loader *loader, size_t bytes);

/* Bounds how deep graphs and calls are nested, because each level takes stack. */
tort_status tort_enter(tort_loader *loader);
void tort_leave(tort_loader *loader);

/* ---- opsets.c */

/* Collects imports: domain -> version. */
tort_status tort_load_opsets(tort_loader *loader, TortOnnx__OperatorSetIdProto *const *imports, size_t count,
                             tort_names *opsets);
/* Lists the model's, which are collected: every domain once, in the order of the file. */
tort_status tort_list_opsets(tort_loader *loader);

/* ---- graph.c */

/* Makes a graph of the model with all that is in it; *graph is its index. `outer` NULL: the main graph. */
tort_status tort_load_graph(tort_loader *loader, const TortOnnx__GraphProto *proto, tort_scope *scope, int32_t *graph);
void tort_scope_free(tort_loader *loader, tort_scope *scope);
/* Finds or captures the value of a name; *value is -1 for "" and for an absent input of a function. */
tort_status tort_resolve_name(tort_loader *loader, tort_scope *scope, const char *name, int32_t *value);
/* Loads nodes into the scope's graph: first their outputs, so that these can be used in any order, then they
 * themselves. file_index -1: each has its own. */
tort_status tort_declare_outputs(tort_loader *loader, tort_scope *scope, TortOnnx__NodeProto *const *nodes,
                                 size_t count);
tort_status tort_load_nodes(tort_loader *loader, tort_scope *scope, TortOnnx__NodeProto *const *nodes, size_t count,
                            int32_t file_index);

/* ---- bodies.c */

enum { TORT_MAX_BODIES = 4 }; /* of a node, each of which lists what any of them captures; ONNX's have two at most */

/* The bodies of a node while it is loaded. */
typedef struct tort_bodies {
    tort_scope scopes[TORT_MAX_BODIES];
    int32_t count;
} tort_bodies;

/* Loads a body as a graph of the model. */
tort_status tort_load_body(tort_loader *loader, tort_scope *scope, const TortOnnx__GraphProto *proto,
                           tort_bodies *bodies, int32_t *graph);
/* Gives the node its inputs: its own, then what its bodies capture; every body's inputs end with the same values. */
tort_status tort_connect_bodies(tort_loader *loader, tort_scope *scope, const TortOnnx__NodeProto *proto,
                                const tort_bodies *bodies, tort_node *node);

/* ---- functions.c */

tort_status tort_load_functions(tort_loader *loader);
void tort_functions_free(tort_loader *loader);
/* The function that a node calls, NULL if it is an operator. */
tort_status tort_find_function(tort_loader *loader, const TortOnnx__NodeProto *node, tort_function **function);
/* Puts the nodes of the function in place of `node`, number `index` of what stands in the scope `caller`. */
tort_status tort_expand_call(tort_loader *loader, tort_scope *caller, tort_function *function,
                             const TortOnnx__NodeProto *node, size_t index, int32_t file_index);
/* What an attribute of a function's node refers to by the name of a parameter, whose type must be `type` if both have
 * one; NULL where the call does not give it. */
tort_status tort_attribute_reference(tort_loader *loader, const tort_scope *scope, const char *name, int32_t type,
                                     const TortOnnx__AttributeProto **referred);

/* ---- flex_attention.c */

/* Is it a FlexAttention with graphs? */
bool tort_is_modified_attention(const tort_loader *loader, const tort_node *node);
/* Adds what it is made of to the graph, in place of the node. */
tort_status tort_split_attention(tort_loader *loader, const tort_scope *scope, const tort_node *node);

/* ---- attributes.c */

/* Fills attributes and attribute_count of the node. Bodies become graphs of the model and are collected in `bodies`. */
tort_status tort_load_attributes(tort_loader *loader, tort_scope *scope, const TortOnnx__NodeProto *proto,
                                 tort_node *node, tort_bodies *bodies);

/* ---- tensors.c, sparse.c */

/* Makes a tensor a weight of the model; the first time only, afterwards its index is known. A function's constants are
 * made once, however many calls are expanded. */
tort_status tort_load_tensor(tort_loader *loader, TortOnnx__TensorProto *proto, int32_t *weight);
/* Type, shape and bytes of a tensor, and where its data is: all of it checked, nothing read. */
tort_status tort_tensor_facts(tort_loader *loader, const TortOnnx__TensorProto *proto, tort_weight *facts);
/* The contents of a tensor, facts->bytes of them to `data`; the bytes of strings stay the proto's. */
tort_status tort_tensor_contents(tort_loader *loader, const TortOnnx__TensorProto *proto, const tort_weight *facts,
                                 void *data);
/* Expands a sparse tensor into a dense weight; the first time only. */
tort_status tort_load_sparse(tort_loader *loader, const TortOnnx__SparseTensorProto *proto, int32_t *weight);

/* ---- types.c */

/* Copies dims after checking rank and sizes. */
tort_status tort_load_dims(tort_loader *loader, const int64_t *dims, size_t count, int32_t *rank, int64_t *out);
/* Fills info as declared; a type that says nothing, or NULL, leaves it as it is. `symbolic`: names of dimensions mean
 * the same in the whole graph; otherwise each is unknown. */
tort_status tort_load_type(tort_loader *loader, const TortOnnx__TypeProto *proto, bool symbolic, tort_info *info);
/* What a TypeProto describes, but for shapes. */
tort_status tort_load_value_type(tort_loader *loader, const TortOnnx__TypeProto *proto, tort_value_type *type);

#endif
