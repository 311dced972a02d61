/* loader.h - what the files of loader/ share while one model is loaded. Private to loader/.
 *
 * Reading order: onnx_load.c (the whole), graph.c (scopes, values, nodes, bodies), functions.c (calls expanded in
 * place), attributes.c, tensors.c and sparse.c (weights), types.c. */
#ifndef TORT_LOADER_LOADER_H
#define TORT_LOADER_LOADER_H

#include "loader/names.h"
#include "loader/onnx.pb-c.h"
#include "loader/source.h"
#include "loader/wire.h"
#include "runtime/graph.h"

/* A model-local function, see functions.c. */
typedef struct tort_function {
    const TortOnnx__FunctionProto *proto;
    tort_names opsets;
    uint64_t cost, name_count; /* of a call: bytes, and names that start with the caller's */
    bool active;               /* a call of it is being expanded: another one inside is a cycle */
} tort_function;

/* An attribute of a function; the value is not a reference itself. */
typedef struct tort_parameter {
    const char *name;
    TortOnnx__AttributeProto *value;
} tort_parameter;

/* One call of a function: what its parameters stand for. */
typedef struct tort_function_call {
    const tort_function *function;
    tort_parameter *parameters; /* given by the caller, or defaults */
    int32_t parameter_count;
    const char *prefix; /* of the names of its nodes and values */
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
    tort_arena scratch;          /* lives as long as the loading */
    int32_t depth;               /* of graphs and calls within each other */
    TortOnnx__ModelProto *proto; /* of a model; NULL where a tensor file is read */
    tort_names opsets;           /* the model's imports: domain -> version */
    tort_names function_numbers; /* "domain:name:overload" -> number */
    tort_function *functions;
    int32_t function_count;
    uint64_t expanded;   /* cost of the function calls so far, in bytes */
    size_t sparse_bytes; /* of sparse tensors that were expanded */
} tort_loader;

/* "" for NULL, which is how the parser gives an absent string. */
const char *tort_text_of(const char *text);
/* "" for "ai.onnx" and NULL. */
const char *tort_domain_of(const char *domain);
/* Fails with TORT_E_MEMORY. */
tort_status tort_no_memory(tort_loader *loader);

/* Bounds how deep graphs and calls are nested, because each level takes stack. */
tort_status tort_enter(tort_loader *loader);
void tort_leave(tort_loader *loader);

/* ---- onnx_load.c */

/* Makes the slim copy of file 0 of the source and parses it, into the scratch arena. */
tort_status tort_parse(tort_loader *loader, const tort_wire_message *table,
                       const ProtobufCMessageDescriptor *descriptor, ProtobufCMessage **message);
/* Collects imports: domain -> version. */
tort_status tort_load_opsets(tort_loader *loader, TortOnnx__OperatorSetIdProto **imports, size_t count,
                             tort_names *opsets);

/* ---- graph.c */

/* Makes a graph of the model with all that is in it; *graph is its index. `outer` NULL: the main graph. */
tort_status tort_load_graph(tort_loader *loader, TortOnnx__GraphProto *proto, const char *path, tort_scope *scope,
                            int32_t *graph);
void tort_scope_free(tort_loader *loader, tort_scope *scope);
/* Finds or captures the value of a name; *value is -1 for "" and for an absent input of a function. */
tort_status tort_resolve_name(tort_loader *loader, tort_scope *scope, const char *name, int32_t *value);
/* Gives the outputs of `nodes` their values, so that they can be used in any order. */
tort_status tort_declare_outputs(tort_loader *loader, tort_scope *scope, TortOnnx__NodeProto **nodes, size_t count);
/* Adds the nodes to the scope's graph. file_index -1: each has its own. */
tort_status tort_load_nodes(tort_loader *loader, tort_scope *scope, TortOnnx__NodeProto **nodes, size_t count,
                            int32_t file_index);
/* Adds a value to the scope's graph and makes it known as `name`. */
tort_status tort_declare_value(tort_loader *loader, tort_scope *scope, const char *name, int32_t *value);

/* ---- functions.c */

tort_status tort_load_functions(tort_loader *loader);
void tort_functions_free(tort_loader *loader);
/* The function that a node calls, NULL if it is an operator. */
tort_status tort_find_function(tort_loader *loader, const TortOnnx__NodeProto *node, tort_function **function);
/* Puts the nodes of the function in place of `node`, which stands in the scope `caller`. */
tort_status tort_expand_call(tort_loader *loader, tort_scope *caller, tort_function *function,
                             TortOnnx__NodeProto *node, const char *node_name, int32_t file_index);
/* What an attribute of a function's node refers to; NULL where the call does not give it. */
tort_status tort_attribute_reference(tort_loader *loader, const tort_scope *scope,
                                     const TortOnnx__AttributeProto *attribute, TortOnnx__AttributeProto **referred);

/* ---- attributes.c */

enum { TORT_MOST_ATTRIBUTES = 1000 }; /* of a node */

/* The bodies of a node while it is loaded. */
typedef struct tort_bodies {
    tort_scope *scopes;
    int32_t count, capacity;
} tort_bodies;

/* Fills attributes and attribute_count of the node. Bodies become graphs of the model and are collected in `bodies`. */
tort_status tort_load_attributes(tort_loader *loader, tort_scope *scope, TortOnnx__NodeProto *proto,
                                 const char *node_name, tort_node *node, tort_bodies *bodies);

/* ---- tensors.c, sparse.c */

/* Makes a tensor a weight of the model; the first time only, afterwards its index is known. */
tort_status tort_load_tensor(tort_loader *loader, TortOnnx__TensorProto *proto, int32_t *weight);
/* Type, shape and bytes of a tensor, and where its data is: all of it checked, nothing read. */
tort_status tort_tensor_facts(tort_loader *loader, const TortOnnx__TensorProto *proto, tort_weight *facts);
/* The contents of a tensor, facts->bytes of them to `data`; the bytes of strings stay the proto's. */
tort_status tort_tensor_contents(tort_loader *loader, const TortOnnx__TensorProto *proto, const tort_weight *facts,
                                 void *data);
/* Expands a sparse tensor into a dense weight; the first time only. */
tort_status tort_load_sparse(tort_loader *loader, TortOnnx__SparseTensorProto *proto, int32_t *weight);

/* ---- types.c */

/* Copies dims after checking rank and sizes. */
tort_status tort_load_dims(tort_loader *loader, const int64_t *dims, size_t count, int32_t *rank, int64_t *out);
/* Fills info as declared. `symbolic`: names of dimensions mean the same in the whole graph; otherwise each is unknown.
 */
tort_status tort_load_type(tort_loader *loader, const TortOnnx__TypeProto *proto, bool symbolic, tort_info *info);
/* The composite that a TypeProto describes, for attributes. */
tort_status tort_load_composite(tort_loader *loader, const TortOnnx__TypeProto *proto, int32_t *composite);

#endif
