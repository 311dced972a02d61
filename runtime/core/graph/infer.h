/* infer.h - shape inference: calls the operators' infer functions over a graph. */
#ifndef TORT_RUNTIME_GRAPH_INFER_H
#define TORT_RUNTIME_GRAPH_INFER_H

#include "runtime/core/graph/graph.h"
#include "runtime/include/op.h"

/* bytes; inference reads the contents of weights up to this size for any operator */
#define TORT_SMALL_WEIGHT 1024

/* The minimum capacity of outputs: an infer function may fill all outputs of its row, even
 * those that the node omits. */
#define TORT_INFER_OUTPUTS 8
/* The minimum number of inputs that may be looked at, whether the node has them or not. */
#define TORT_INFER_INPUTS 14

/* A graph that a node may have as a body, and the infos of its values before inference; infos NULL: as in the graph. */
typedef struct tort_body {
    const tort_graph *graph;
    const tort_info *infos;
    const int32_t *weights;    /* as in tort_pass */
    const tort_error *refused; /* a saved plan says that it does not fit; NULL: not known yet */
} tort_body;

/* An inference pass over one graph. `infos` is the knowledge that it updates: the model's after load, a session's with
 * fixed shapes, or a plan's with concrete ones. */
typedef struct tort_pass {
    const tort_model *model;
    const tort_graph *graph;
    tort_info *infos;       /* by value; borrowed, updated */
    const int32_t *weights; /* by value: index of the model's weight, -1; NULL: as in the graph */
    tort_dims *dims;
    tort_arena *arena;
    tort_info *in, *out;             /* infos of one node's operands; owned */
    int32_t max_inputs, max_outputs; /* capacities of in and out */
    int32_t widest;                  /* the larger of the two */
    const tort_body *bodies;         /* by graph of the model; NULL: the model's graphs */
    /* Called with the infos of a body's inputs each time that it is inferred; the last call counts. NULL: none. */
    void (*entered)(void *ud, int32_t body, const tort_info *inputs);
    /* Called with the error of a body that was entered but may never run. NULL: none. */
    void (*refused)(void *ud, int32_t body, const tort_error *error);
    void *entered_ud; /* user data of both */
    /* An earlier pass over the same graph checked all types, so they are not checked again. */
    bool typed;
    int64_t *budget; /* nodes of bodies that may still be inferred, repetitions included; points to own_budget of the
                        outermost pass */
    int64_t own_budget;
} tort_pass;

tort_status tort_pass_init(tort_pass *pass, const tort_model *model, const tort_graph *graph, tort_info *infos,
                           tort_dims *dims, tort_arena *arena, tort_error *error);
void tort_pass_rewind(tort_pass *pass); /* prepares another inference of the graph */
void tort_pass_free(tort_pass *pass);

/* A view of the node with these infos of its inputs and outputs. params is NULL. */
tort_node_view tort_view_of_node(const tort_node *node, const tort_model *model, const tort_info *inputs,
                                 const tort_info *outputs);
/* A view of the node with the infos of the pass; valid until the next call. params is NULL. */
tort_node_view tort_pass_view(tort_pass *pass, int32_t node);
/* The size up to which inference reads a weight that is input i of the node. */
size_t tort_weight_limit(const tort_node *node, int32_t input);
/* Loads small weights, and weights whose values determine shapes, into the inputs of the view; pair with release. */
tort_status tort_pass_acquire(tort_pass *pass, int32_t node, tort_error *error);
void tort_pass_release(tort_pass *pass, int32_t node);
/* Infers the outputs of one node into infos. A node without a row, or with an input of unknown type, keeps
 * the infos of its outputs. */
tort_status tort_pass_infer(tort_pass *pass, int32_t node, tort_error *error);

/* Bytes of a node's params in each plan, lists included; 0 with TORT_OP_ONCE. PTRDIFF_MAX on overflow,
 * which no allocator grants. */
size_t tort_params_bytes(const tort_model *model, const tort_node *node);
/* Bytes of a node's params, also of those that plans share (TORT_OP_ONCE). */
tort_status tort_params_measure(const tort_node_view *view, const tort_node *node, size_t *bytes, tort_error *error);
/* Fills `params`, zeroed and of the size measured, for the infos in the view. */
tort_status tort_resolve_node(const tort_node_view *view, void *params, size_t *scratch, tort_error *error);
/* Stores info->elements, all of them known, as numbers of info->type. */
void tort_write_elements(const tort_info *info, void *data);

/* The input of a main graph, by its place, whose integers reach the node by the fewest nodes, such as the ids of a
 * Gather; -1: none. */
TORT_API int32_t tort_deciding_input(const tort_graph *graph, const tort_node *node);
/* Prefixes the message with `node 12 "conv1" (Conv-11): `, and sets the error's node number; a node of a body is named
 * by its path. A run's error also names the deciding input. */
void tort_error_at_node(tort_error *error, const tort_graph *graph, int32_t node);
/* The same for a node that was made in its place, with words behind the operator: ", made of Conv_0, Relu_1". */
void tort_error_at_made_node(tort_error *error, const tort_graph *graph, int32_t index, const tort_node *made,
                             const char *words);

#endif
