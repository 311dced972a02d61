/* net.h - a model's main graph as a message, with its nodes and values by number: what quantize and convert read and
 * write. Bodies of control flow stay as they are; what they capture is marked. */
#ifndef TORT_QUANTIZE_NET_H
#define TORT_QUANTIZE_NET_H

#include <setjmp.h>

#include "loader/loader.h"
#include "runtime/core/base/names.h"

typedef struct tort_net_value {
    char *name;
    int32_t producer; /* node; -1: none */
    int32_t first_reader, reader_count;
    tort_type type;
    int32_t rank; /* -1: unknown */
    int64_t dims[TORT_MAX_RANK];
    const TortOnnx__TensorProto *constant; /* NULL: not an initializer */
    bool is_input, is_output;
    bool captured; /* read by the body of a node */
} tort_net_value;

typedef struct tort_net_node {
    TortOnnx__NodeProto *proto;
    const char *op;            /* of ONNX's main domain; otherwise "" */
    char *name;                /* never empty */
    int32_t *inputs, *outputs; /* values; -1: absent */
    int32_t input_count, output_count;
} tort_net_node;

typedef struct tort_net {
    const TortOnnx__ModelProto *proto; /* borrowed */
    tort_net_node *nodes;              /* in topological order */
    tort_net_value *values;
    int32_t *readers; /* nodes, those of a value in a row */
    int32_t node_count, value_count;
    tort_names numbers; /* name -> value */
} tort_net;

/* Memory for messages and tables: an arena, and the place to go on at when there is none left. */
typedef struct tort_maker {
    tort_arena arena;
    jmp_buf *out_of_memory;
} tort_maker;

void *tort_make(tort_maker *maker, size_t count, size_t size); /* zeroed; never NULL, also for a count of 0 */
void tort_make_empty(tort_maker *maker);                       /* frees what it has made */
/* A copy of a tensor; none of text. */
void tort_make_copy(tort_maker *maker, const tort_tensor *tensor, tort_tensor *copy);
char *tort_make_text(tort_maker *maker, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Fills a net, whose memory is the maker's but for `numbers`, which the caller frees with tort_names_free. */
void tort_net_open(tort_net *net, const TortOnnx__ModelProto *proto, tort_maker *maker);
int32_t tort_net_find(const tort_net *net, const char *name); /* -1: no such value */
/* The name with the suffix behind it, and more if a value of the net has that name. */
char *tort_net_fresh(const tort_net *net, const char *name, const char *suffix, tort_maker *maker);
/* Node k that reads a value. */
static inline int32_t tort_net_reader(const tort_net *net, const tort_net_value *value, int32_t k) {
    return net->readers[value->first_reader + k];
}
static inline bool tort_net_is_float(const tort_net *net, int32_t value) {
    return value >= 0 && net->values[value].type == TORT_FLOAT;
}
static inline bool tort_net_is_live(const tort_net *net, int32_t value) { /* computed in a run */
    return value >= 0 && !net->values[value].constant;
}
int64_t tort_net_count(const TortOnnx__TensorProto *tensor);  /* elements */
bool tort_net_is_finite(const TortOnnx__TensorProto *tensor); /* of float32: it has no NaN and no infinity */

/* Nodes that are to stay as they are, by name and by operator. */
typedef struct tort_net_kept {
    const char *const *nodes, *const *ops;
    int32_t node_count, op_count;
} tort_net_kept;

/* TORT_E_USAGE for a name that no node has. */
tort_status tort_net_check_kept(const tort_net *net, const tort_net_kept *kept, tort_error *error);
bool tort_net_is_kept(const tort_net_node *node, const tort_net_kept *kept);
/* An attribute of a node; NULL: it has none of this name. */
const TortOnnx__AttributeProto *tort_net_attribute(const tort_net_node *node, const char *name);
int64_t tort_net_int(const tort_net_node *node, const char *name, int64_t fallback);
float tort_net_float(const tort_net_node *node, const char *name, float fallback);

/* A message in the making: nodes and initializers behind one another. */
typedef struct tort_net_writer {
    tort_maker *maker;
    TortOnnx__ModelProto *proto;
    size_t node_capacity, initializer_capacity;
} tort_net_writer;

/* Begins a copy of the net's message without nodes, initializers and shapes of values between. */
void tort_net_begin(tort_net_writer *writer, const tort_net *net, tort_maker *maker);
void tort_net_add_node(tort_net_writer *writer, TortOnnx__NodeProto *node);
void tort_net_add_initializer(tort_net_writer *writer, TortOnnx__TensorProto *tensor);
/* A new node of one output with inputs up to a NULL; its name is its output's with the operator behind it. */
TortOnnx__NodeProto *tort_net_node_of(tort_net_writer *writer, const char *op, char *output, char *const *inputs);
/* A copy of a node, whose inputs and outputs may be replaced, and its list of inputs extended to `inputs`. */
TortOnnx__NodeProto *tort_net_copy_node(tort_net_writer *writer, const tort_net_node *node, int32_t inputs);
void tort_net_set_int(tort_net_writer *writer, TortOnnx__NodeProto *node, const char *name, int64_t value);
void tort_net_set_ints(tort_net_writer *writer, TortOnnx__NodeProto *node, const char *name, int64_t *values,
                       size_t count); /* borrows the values */
/* Adds an initializer, which borrows data and name. Returns the name. */
char *tort_net_constant(tort_net_writer *writer, char *name, tort_type type, int32_t rank, const int64_t *dims,
                        const void *data);
char *tort_net_scalar(tort_net_writer *writer, char *name, tort_type type, const void *data, size_t bytes);
/* Makes a node one of com.microsoft, which the message imports. */
void tort_net_set_microsoft(tort_net_writer *writer, TortOnnx__NodeProto *node);
/* Adds those initializers of the net that the new nodes, bodies and outputs name, and the shapes that are known. */
void tort_net_end(tort_net_writer *writer, const tort_net *net);

#endif
