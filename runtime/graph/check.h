/* check.h - operator rows as data: looking them up, and holding a node against its row. */
#ifndef TORT_RUNTIME_GRAPH_CHECK_H
#define TORT_RUNTIME_GRAPH_CHECK_H

#include "runtime/op.h"

/* All rows: those of the application, then those of this build, both sorted by domain, name and version. */
typedef struct tort_op_table {
    const tort_op **rows; /* owns the array; borrows the rows */
    int32_t count;
    int32_t own; /* so many are the application's */
} tort_op_table;

/* Rows of an application, which nobody has looked at yet: TORT_E_USAGE for one that is malformed. NULL: there are none.
 */
tort_status tort_check_rows(const tort_op *const *operators, tort_error *error);
/* operators: the application's, NULL: there are none. False: out of memory. */
bool tort_op_table_build(tort_op_table *table, const tort_op *const *operators, const tort_env *env);
void tort_op_table_free(tort_op_table *table, const tort_env *env);
/* Builds the model's table, in its arena. */
tort_status tort_model_look_up(tort_model *model, tort_error *error);
/* Is the row one of these? Then what the build has for an operator of its name, kernels and patterns, is for another.
 */
bool tort_op_is_own(const tort_op *const *operators, const tort_op *row);
/* FLOPs of a node by its params, see tort_flops; negative: the build does not count this operator. */
double tort_op_flops(const tort_op *row, const void *params);
bool tort_op_is_counted(const tort_op *row);
/* How many versions of the operator there are, among the application's own or among those of the build. */
int32_t tort_op_versions(const tort_op_table *table, bool own, const char *domain, const char *name,
                         const tort_op *const **family);
/* The row for this version, which may be a later one (TORT_OP_EARLY); NULL if none. A row of the application goes
 * before one of the build. *family gets the first row of that name, *family_count how many there are (0: there is no
 * such operator); where both have the name, of the one whose row was found, or of the build. */
const tort_op *tort_op_find(const tort_op_table *table, const char *domain, const char *name, int64_t opset,
                            const tort_op *const **family, int32_t *family_count);

/* One "B?:T" of a row's inputs or outputs. */
typedef struct tort_formal {
    const char *name, *type; /* not terminated */
    size_t name_length, type_length;
    char mode; /* ' ' single, '?' optional, '*' variadic of one type, '+' variadic of mixed types */
} tort_formal;

/* Reads the next formal; false at the end. */
bool tort_formal_next(const char **cursor, tort_formal *formal);

enum { TORT_MAX_NESTS = 8 };

/* What types a formal allows, a bit a tort_type: of tensors, and of what holds tensors, by the `nest` of its type. */
typedef struct tort_type_set {
    uint64_t tensor;
    int32_t count;
    uint32_t nests[TORT_MAX_NESTS];
    uint64_t elements[TORT_MAX_NESTS];
} tort_type_set;

/* The set that `formal` allows under the constraints `types` of its row. False: the row is malformed. */
bool tort_formal_types(const tort_formal *formal, const char *types, tort_type_set *set);
/* "float16|all13|-string|seq(map(int64,float))" -> set. False: a token is unknown. */
bool tort_type_set_parse(const char *text, size_t length, tort_type_set *set);

/* One "axis:int=1" of a row's attributes. */
typedef struct tort_attribute_formal {
    const char *name, *fallback; /* not terminated; fallback NULL: none */
    size_t name_length, fallback_length;
    const char *types; /* "T2" of "to:int(T2)!", whose value is a type; not terminated; NULL: it is none */
    size_t types_length;
    tort_attribute_kind kind;
    bool required;
} tort_attribute_formal;

const char *tort_attribute_kind_name(tort_attribute_kind kind); /* "ints", as rows have it */
bool tort_attribute_formal_next(const char **cursor, tort_attribute_formal *formal);

/* Gives graphs the number of their first node. */
void tort_model_number_nodes(tort_model *model);
/* Puts the nodes of a graph, which have names, into an order in which they can run; every value that is read comes from
 * somewhere, and from one source alone. */
tort_status tort_model_link_graph(tort_model *model, int32_t graph, tort_error *error);
/* Binds a node to the row of its operator, and holds it against that. That there is no row is no error. */
tort_status tort_model_bind_node(tort_model *model, tort_graph *graph, int32_t node, int assume_opset,
                                 tort_error *error);

/* Arity and attributes of a node against its row; adds the row's defaults to its attributes, in the arena. */
tort_status tort_check_node(tort_arena *arena, tort_node *node, tort_error *error);
/* Types of the inputs, as far as they are known, against the row's constraints. */
tort_status tort_check_types(const tort_node_view *node, tort_error *error);
/* The same of the outputs that infer told; one that the node has (values[i] >= 0) must have got a type. */
tort_status tort_check_outputs(const tort_node_view *node, const int32_t *values, tort_error *error);
/* Can the bytes of these outputs, where all dimensions are known, be counted? */
tort_status tort_check_sizes(const tort_node_view *node, const int32_t *values, tort_error *error);

#endif
