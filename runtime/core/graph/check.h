/* check.h - operator rows as data: finds the row of a node, and checks the node against it. */
#ifndef TORT_RUNTIME_GRAPH_CHECK_H
#define TORT_RUNTIME_GRAPH_CHECK_H

#include "runtime/core/graph/graph.h"
#include "runtime/include/op.h"

/* All rows: the application's, then the build's, each part sorted by domain, name and version. */
typedef struct tort_op_table {
    const tort_op **rows; /* owns the array; borrows the rows */
    int32_t count;
    int32_t own; /* the first `own` rows are the application's */
} tort_op_table;

/* Checks the rows of an application: TORT_E_USAGE for a malformed one. operators NULL: none. */
tort_status tort_check_rows(const tort_op *const *operators, tort_error *error);
/* Builds a table; operators: the application's, NULL for none. False: out of memory. */
bool tort_op_table_build(tort_op_table *table, const tort_op *const *operators, const tort_env *env);
void tort_op_table_free(tort_op_table *table, const tort_env *env);
/* Builds the model's table, in its arena. */
tort_status tort_model_look_up(tort_model *model, tort_error *error);
/* True if the row is one of `operators`. Kernels and patterns of the build are then not for it, even if names agree. */
bool tort_op_is_own(const tort_op *const *operators, const tort_op *row);
/* Floating-point operations of a node with these params, see tort_flops; negative: not counted for this operator. */
double tort_op_flops(const tort_op *row, const void *params);
bool tort_op_is_counted(const tort_op *row);
const tort_flops *tort_op_products(const tort_op *row); /* NULL: not counted */
bool tort_op_multiplies_integers(const tort_op *row);   /* NULL is allowed */
/* The number of versions of an operator, among the application's rows or the build's; *family: the first. */
int32_t tort_op_versions(const tort_op_table *table, bool own, const char *domain, const char *name,
                         const tort_op *const **family);
/* The row for this version, which may be a later one (TORT_OP_EARLY); NULL if none. Rows of the application are
 * preferred. *family gets the first row of that name, *family_count their number (0: no such operator); if both parts
 * have the name, those of the part of the row found, else of the build. */
const tort_op *tort_op_find(const tort_op_table *table, const char *domain, const char *name, int64_t opset,
                            const tort_op *const **family, int32_t *family_count);

/* A formal "B?:T" of a row's inputs or outputs. */
typedef struct tort_formal {
    const char *name, *type; /* not NUL-terminated */
    size_t name_length, type_length;
    char mode; /* ' ' single, '?' optional, '*' variadic of one type, '+' variadic of mixed types */
} tort_formal;

/* Reads the next formal; false at the end. */
bool tort_formal_next(const char **cursor, tort_formal *formal);

enum { TORT_MAX_NESTS = 8 };

/* The types that a formal allows, bit tort_type: of tensors, and for each `nest` of a
 * container type, of its elements. */
typedef struct tort_type_set {
    uint64_t tensor;
    int32_t count;
    uint32_t nests[TORT_MAX_NESTS];
    uint64_t elements[TORT_MAX_NESTS];
} tort_type_set;

/* The set that `formal` allows under the constraints `types` of its row. False: the row is malformed. */
bool tort_formal_types(const tort_formal *formal, const char *types, tort_type_set *set);
/* Parses "float16|all13|-string|seq(map(int64,float))" into a set. False: a token is unknown. */
bool tort_type_set_parse(const char *text, size_t length, tort_type_set *set);

/* A formal "axis:int=1" of a row's attributes. */
typedef struct tort_attribute_formal {
    const char *name, *fallback; /* not NUL-terminated; fallback NULL: none */
    size_t name_length, fallback_length;
    const char *types; /* "T2" in "to:int(T2)!", an attribute whose value names a type; not NUL-terminated; NULL: an
                          ordinary one */
    size_t types_length;
    tort_attribute_kind kind;
    bool required;
} tort_attribute_formal;

const char *tort_attribute_kind_name(tort_attribute_kind kind); /* "ints", as written in rows */
bool tort_attribute_formal_next(const char **cursor, tort_attribute_formal *formal);

/* Sets graph->first of all graphs: nodes are numbered through all of them. */
void tort_model_number_nodes(tort_model *model);
/* Sorts the nodes of a graph topologically, and checks that every value that is read has exactly one
 * source. Nodes must have names. */
tort_status tort_model_link_graph(tort_model *model, int32_t graph, tort_error *error);
/* Finds the row of a node's operator, and checks the node against it. A node without a row is no error. */
tort_status tort_model_bind_node(tort_model *model, tort_graph *graph, int32_t node, int assume_opset,
                                 tort_error *error);

/* Checks arity and attributes of a node against its row; adds the row's defaults to its attributes, in the arena. */
tort_status tort_check_node(tort_arena *arena, tort_node *node, tort_error *error);
/* Checks the known types of a node's inputs against the row's constraints. */
tort_status tort_check_types(const tort_node_view *node, tort_error *error);
/* Checks the types that infer gave to outputs; each output that exists (values[i] >= 0) must have one. */
tort_status tort_check_outputs(const tort_node_view *node, const int32_t *values, tort_error *error);
/* Fails if the bytes of an output with known dimensions overflow. */
tort_status tort_check_sizes(const tort_node_view *node, const int32_t *values, tort_error *error);

#endif
