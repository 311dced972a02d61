/* input_ranges.c - traces an input of integers to the nodes that use it as an index, a length or a size, so that a
 * first run with random values does not fail on the first embedding.
 *
 * Operators are matched by name: this is a convenience of the command line, and no plan depends on it. */
#include <stdlib.h>
#include <string.h>

#include "ops/numeric.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/random.h"
#include "runtime/core/graph/graph.h"

/* Use of an input's values by a node. */
typedef enum use {
    AXIS_INDEX,     /* indices along axis `axis` of input 0 */
    POSITION_INDEX, /* index tuples into the leading axes of input 0 */
    CLASS_INDEX,    /* indices along axis 1 of input 0 */
    DEPTH_INDEX,    /* indices below the value of input 1 */
    TIME_LENGTH,    /* lengths of at least 1 along `time_axis` (default 0) of input 0 */
    ROW_INDEX,      /* indices along axis 0 of input 1 */
    RESHAPE_TARGET,
    SIZE,    /* an extent of the output: 1 always fits */
    ORIGIN,  /* a start, an axis, a padding: 0 always fits */
    DIVISOR, /* anything but 0 */
    CHOICE,  /* compared with a constant: the constant's value */
} use;

static const struct {
    const char *op;
    int32_t input;
    use use;
} uses[] = {
    {"Gather", 1, AXIS_INDEX},
    {"GatherElements", 1, AXIS_INDEX},
    {"ScatterElements", 1, AXIS_INDEX},
    {"Scatter", 1, AXIS_INDEX},
    {"GatherND", 1, POSITION_INDEX},
    {"ScatterND", 1, POSITION_INDEX},
    {"OneHot", 0, DEPTH_INDEX},
    {"NegativeLogLikelihoodLoss", 1, CLASS_INDEX},
    {"SoftmaxCrossEntropyLoss", 1, CLASS_INDEX},
    {"RotaryEmbedding", 3, ROW_INDEX},
    {"LSTM", 4, TIME_LENGTH},
    {"GRU", 4, TIME_LENGTH},
    {"RNN", 4, TIME_LENGTH},
    {"ReverseSequence", 1, TIME_LENGTH},
    {"Reshape", 1, RESHAPE_TARGET},
    {"Expand", 1, SIZE},
    {"Tile", 1, SIZE},
    {"ConstantOfShape", 0, SIZE},
    {"TopK", 1, SIZE},
    {"Resize", 3, SIZE},
    {"Range", 1, SIZE},
    {"Range", 2, SIZE},
    {"Loop", 0, SIZE},
    {"OneHot", 1, SIZE},
    {"Slice", 2, SIZE},
    {"Slice", 4, SIZE},
    {"CenterCropPad", 1, SIZE},
    {"Range", 0, ORIGIN},
    {"Pad", 1, ORIGIN},
    {"Slice", 1, ORIGIN},
    {"Slice", 3, ORIGIN},
    {"Squeeze", 1, ORIGIN},
    {"Unsqueeze", 1, ORIGIN},
    {"CumSum", 1, ORIGIN},
    {"Trilu", 1, ORIGIN},
    {"Div", 1, DIVISOR},
    {"Mod", 1, DIVISOR},
    {"Equal", 0, CHOICE},
    {"Equal", 1, CHOICE},
};

/* Operators whose outputs hold only elements of this input (-1: of any input). */
static const struct {
    const char *op;
    int32_t input;
} movers[] = {
    {"Cast", 0},      {"CastLike", 0},       {"Identity", 0}, {"Reshape", 0},  {"Flatten", 0},
    {"Squeeze", 0},   {"Expand", 0},         {"Tile", 0},     {"Slice", 0},    {"Split", 0},
    {"Unsqueeze", 0}, {"Transpose", 0},      {"Gather", 0},   {"GatherND", 0}, {"Concat", -1},
    {"Where", 1},     {"GatherElements", 0}, {"Where", 2},    {"Dropout", 0},
};

/* ---- constants --------------------------------------------------------------------------------------------------- */

/* Weight index of an initializer or a Constant node's output; -1 for other values. */
static int32_t weight_of(const tort_graph *graph, int32_t value) {
    if (graph->values[value].weight >= 0) return graph->values[value].weight;
    const int32_t producer = graph->values[value].producer;
    if (producer < 0 || strcmp(graph->nodes[producer].op_type, "Constant") != 0) return -1;
    const tort_node *node = &graph->nodes[producer];
    for (int32_t i = 0; i < node->attribute_count; i++)
        if (node->attributes[i].kind == TORT_ATTR_TENSOR) return node->attributes[i].u.weights[0];
    return -1;
}

/* Finds the largest element of an input; false unless it is an integer constant of at most 64 elements. */
static bool largest_of(const tort_model *model, const tort_node *node, int32_t input, int64_t *largest) {
    const int32_t at =
        input < node->input_count && node->inputs[input] >= 0 ? weight_of(&model->graphs[0], node->inputs[input]) : -1;
    if (at < 0 || !tort_type_is_integer(model->weights[at].type)) return false;
    tort_tensor tensor = {.type = model->weights[at].type, .rank = model->weights[at].rank};
    memcpy(tensor.dims, model->weights[at].dims, sizeof tensor.dims);
    const int64_t count = tort_count(&tensor);
    const void *data;
    if (count < 1 || count > 64 || tort_weight_acquire(model, at, &data, NULL)) return false;
    int64_t elements[64];
    tort_load_integers(tensor.type, data, 0, count, elements);
    tort_weight_release(model, at);
    *largest = elements[0];
    for (int64_t i = 1; i < count; i++)
        if (elements[i] > *largest) *largest = elements[i];
    return true;
}

/* ---- what a use asks for ----------------------------------------------------------------------------------------- */

static int64_t attribute(const tort_node *node, const char *name) {
    for (int32_t i = 0; i < node->attribute_count; i++)
        if (!strcmp(node->attributes[i].name, name) && node->attributes[i].kind == TORT_ATTR_INT)
            return node->attributes[i].u.i;
    return 0;
}

static const tort_info *info_of(const tort_graph *graph, const tort_node *node, int32_t input) {
    return input < node->input_count && node->inputs[input] >= 0 ? &graph->values[node->inputs[input]].info : NULL;
}

/* Length of an axis; 1 if it is unknown, so that index 0 is the only one. */
static int64_t entries(const tort_info *info, int64_t axis) {
    if (!info || info->rank < 0) return 1;
    if (axis < 0) axis += info->rank;
    if (axis < 0 || axis >= info->rank || !tort_dim_known(info->dims[axis]) || info->dims[axis] < 1) return 1;
    return info->dims[axis];
}

/* Smallest length of the axes that an index tuple of GatherND or ScatterND addresses: the last axis of the indices
 * holds the tuples. */
static int64_t position_entries(const tort_graph *graph, const tort_node *node) {
    const tort_info *data = info_of(graph, node, 0), *indices = info_of(graph, node, 1);
    const int64_t batches = attribute(node, "batch_dims");
    int64_t axes = indices && indices->rank > 0 ? indices->dims[indices->rank - 1] : 1, fewest = INT32_MAX;
    if (axes < 1 || axes > TORT_MAX_RANK) return 1;
    for (int64_t axis = 0; axis < axes; axis++) {
        const int64_t found = entries(data, batches + axis);
        if (found < fewest) fewest = found;
    }
    return fewest;
}

static cli_range indices_up_to(int64_t count) {
    return (cli_range){0, count > 0 ? (double)(count - 1) : 0};
}

static cli_range range_of_use(const tort_model *model, const tort_node *node, int32_t input, use what) {
    const tort_graph *graph = &model->graphs[0];
    int64_t depth, other = 0;
    switch (what) {
    case AXIS_INDEX: return indices_up_to(entries(info_of(graph, node, 0), attribute(node, "axis")));
    case POSITION_INDEX: return indices_up_to(position_entries(graph, node));
    case CLASS_INDEX: return indices_up_to(entries(info_of(graph, node, 0), 1));
    case ROW_INDEX: return indices_up_to(entries(info_of(graph, node, 1), 0));
    case TIME_LENGTH: return (cli_range){1, (double)entries(info_of(graph, node, 0), attribute(node, "time_axis"))};
    case DEPTH_INDEX: return largest_of(model, node, 1, &depth) ? indices_up_to(depth) : (cli_range){0, 9};
    case ORIGIN: return (cli_range){0, 0};
    case DIVISOR: return (cli_range){1, 9};
    case CHOICE: largest_of(model, node, 1 - input, &other); return (cli_range){(double)other, (double)other};
    case RESHAPE_TARGET:
    case SIZE: break;
    }
    return (cli_range){1, 1};
}

/* ---- following a value ------------------------------------------------------------------------------------------- */

/* Requirements of all uses of an input. */
typedef struct wanted {
    bool found, reshape_target;
    cli_range range;
} wanted;

/* State of following an input through the values of the graph. */
typedef struct trace {
    const tort_model *model;
    bool *carries;   /* per value: holds elements of the input ... */
    double *shifted; /* ... plus this at most, where a constant is added to positions */
    wanted wanted;
} trace;

static void ask_for(wanted *t, cli_range range, double shift) {
    range.low -= shift < 0 ? shift : 0;
    range.high -= shift;
    if (!t->found || range.low > t->range.low) t->range.low = range.low;
    if (!t->found || range.high < t->range.high) t->range.high = range.high;
    t->found = true;
}

static void visit_uses(trace *t, const tort_node *node, int32_t input) {
    const double shift = t->shifted[node->inputs[input]];
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        int64_t other;
        if (uses[i].input != input || strcmp(uses[i].op, node->op_type) != 0) continue;
        if (uses[i].use == CHOICE && !largest_of(t->model, node, 1 - input, &other)) continue;
        t->wanted.reshape_target |= uses[i].use == RESHAPE_TARGET;
        ask_for(&t->wanted, range_of_use(t->model, node, input, uses[i].use), shift);
    }
}

static void carry_on(trace *t, const tort_node *node, double shift) {
    for (int32_t o = 0; o < node->output_count; o++) {
        if (node->outputs[o] < 0) continue;
        t->carries[node->outputs[o]] = true;
        t->shifted[node->outputs[o]] = shift;
    }
}

/* True for the sum of an input and a constant: some models offset positions before the embedding looks them up. */
static bool adds_constant(const trace *t, const tort_node *node, int32_t input, int64_t *max) {
    return !strcmp(node->op_type, "Add") && node->input_count == 2 && largest_of(t->model, node, 1 - input, max);
}

static void visit(trace *t, const tort_node *node) {
    for (int32_t k = 0; k < node->input_count; k++) {
        if (node->inputs[k] < 0 || !t->carries[node->inputs[k]]) continue;
        const double shift = t->shifted[node->inputs[k]];
        int64_t more;
        visit_uses(t, node, k);
        for (size_t i = 0; i < sizeof movers / sizeof *movers; i++)
            if ((movers[i].input == k || movers[i].input < 0) && !strcmp(movers[i].op, node->op_type))
                carry_on(t, node, shift);
        if (adds_constant(t, node, k, &more)) carry_on(t, node, shift + (double)more);
    }
}

/* upto: the first node that is not visited. */
static trace follow(const tort_model *model, int32_t index, int32_t upto) {
    const tort_graph *graph = &model->graphs[0];
    trace t = {.model = model,
               .carries = cli_alloc((size_t)graph->value_count, sizeof *t.carries),
               .shifted = cli_alloc((size_t)graph->value_count, sizeof *t.shifted)};
    t.carries[graph->inputs[index]] = true;
    for (int32_t n = 0; n < upto; n++)
        if (!*graph->nodes[n].domain) visit(&t, &graph->nodes[n]);
    return t;
}

static void trace_free(trace *t) {
    free(t->carries);
    free(t->shifted);
}

bool cli_range_of_input(const tort_model *model, int32_t index, cli_range *range) {
    trace t = follow(model, index, model->graphs[0].node_count);
    *range = t.wanted.range;
    if (t.wanted.found && range->high < range->low) range->high = range->low;
    trace_free(&t);
    return t.wanted.found;
}

bool cli_is_reshape_target(const tort_model *model, int32_t index) {
    trace t = follow(model, index, model->graphs[0].node_count);
    trace_free(&t);
    return t.wanted.reshape_target;
}
