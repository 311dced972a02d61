/* infer.h - running the operators' infer functions over a graph. */
#ifndef TORT_RUNTIME_GRAPH_INFER_H
#define TORT_RUNTIME_GRAPH_INFER_H

#include "runtime/op.h"

/* Bytes; a weight of no more is read for inference whatever the operator wants with it. */
#define TORT_SMALL_WEIGHT 1024

/* Room at least for this many outputs: an infer function may fill those of its row that the node does not have. */
#define TORT_INFER_OUTPUTS 8
/* So many inputs can be looked at, whether the node has them or not. */
#define TORT_INFER_INPUTS 9

/* A pass over one graph. `infos` stands for what is known of each value in this pass: the model's own after load,
 * a session's with fixed shapes, a plan's with concrete ones. */
/* A graph that a node may have as a body, and what is known of its values before it is inferred; infos NULL: what the
 * graph itself says. */
typedef struct tort_body {
    const tort_graph *graph;
    const tort_info *infos;
    const int32_t *weights;    /* as in tort_pass */
    const tort_error *refused; /* it is known not to fit, as a saved plan says; NULL: it is looked at */
} tort_body;

typedef struct tort_pass {
    const tort_model *model;
    const tort_graph *graph;
    tort_info *infos;       /* graph->value_count, borrowed, updated */
    const int32_t *weights; /* the weight of each value, -1; NULL: as in the graph */
    tort_dims *dims;
    tort_arena *arena;
    tort_info *in, *out;             /* scratch for one node, owned */
    int32_t max_inputs, max_outputs; /* of a node: what in and out have room for */
    int32_t widest;                  /* the larger of the two */
    const tort_body *bodies;         /* by graph of the model; NULL: those of the model as it is */
    /* Called with what goes into a body each time it is inferred: the last time counts. NULL: nobody asks. */
    void (*entered)(void *ud, int32_t body, const tort_info *inputs);
    /* Called with what is wrong with a body that was entered and may never run. NULL: nobody asks. */
    void (*refused)(void *ud, int32_t body, const tort_error *error);
    void *entered_ud; /* of both */
    /* Types are those of an earlier pass over the same graph, which checked them: they are not checked again. */
    bool typed;
    int64_t *budget; /* nodes of bodies that may still be inferred, counted again for each time; own_budget of the
                        outermost */
    int64_t own_budget;
} tort_pass;

tort_status tort_pass_init(tort_pass *pass, const tort_model *model, const tort_graph *graph, tort_info *infos,
                           tort_dims *dims, tort_arena *arena, tort_error *error);
void tort_pass_rewind(tort_pass *pass); /* to infer the graph once more */
void tort_pass_free(tort_pass *pass);

/* The node with these inputs and outputs, as many as it has. params is NULL. */
tort_node_view tort_view_of_node(const tort_node *node, const tort_model *model, const tort_info *inputs,
                                 const tort_info *outputs);
/* The node as the pass sees it; valid until the next call. params is NULL. */
tort_node_view tort_pass_view(tort_pass *pass, int32_t node);
/* Bytes of a weight up to which inference reads what is input i of the node. */
size_t tort_weight_limit(const tort_node *node, int32_t input);
/* Brings small constants, and those whose values determine shapes, into the inputs of the view; pair with release. */
tort_status tort_pass_acquire(tort_pass *pass, int32_t node, tort_error *error);
void tort_pass_release(tort_pass *pass, int32_t node);
/* Infers the outputs of one node and stores them in infos. A node without a row, or one with an input of unknown
 * type, leaves its outputs as declared. */
tort_status tort_pass_infer(tort_pass *pass, int32_t node, tort_error *error);

/* Bytes that a node's params take in each plan, lists included; none with TORT_OP_ONCE. Where they overflow
 * PTRDIFF_MAX, which no allocator gives. */
size_t tort_params_bytes(const tort_model *model, const tort_node *node);
/* Bytes of a node's params wherever they are: also of those that plans share. */
tort_status tort_params_measure(const tort_node_view *view, const tort_node *node, size_t *bytes, tort_error *error);
/* Resolves the params of a node for the infos in view into `params`: as many bytes as were told, zeroed. */
tort_status tort_resolve_node(const tort_node_view *view, void *params, size_t *scratch, tort_error *error);
/* Stores info->elements, all known, as numbers of info->type. */
void tort_write_elements(const tort_info *info, void *data);

/* Puts `node 12 "conv1" (Conv-11): ` in front of the message, and the number of the node into the error; one of a body
 * goes by its path. */
void tort_error_at_node(tort_error *error, const tort_graph *graph, int32_t node);
/* The same of one that was made to stand in its place, with words behind the operator: ", made of Conv_0, Relu_1". */
void tort_error_at_made_node(tort_error *error, const tort_graph *graph, int32_t index, const tort_node *made,
                             const char *words);

#endif
