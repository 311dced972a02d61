/* precision.c - finds the products of 8-bit numbers that are computed in float32, and notes why.
 *
 * A model quantizes a convolution or product by DequantizeLinear before both operands. What multiplies the integers
 * themselves is a fusion of these nodes; where there is none, the unit multiplies floats: it is right, but takes four
 * times the memory and several times the time that the model was quantized for, and that must not be silent. Weights
 * alone in 8 bits, which are multiplied with floats, ask for no more. Operators are known by their flags and by the
 * table of products. Read next: fuse.c, which keeps why a fusion was refused. */
#include "runtime/core/graph/check.h"
#include "runtime/core/passes/passes.h"
#include "runtime/core/providers/claim.h"

typedef struct finder {
    tort_session *session;
    tort_lowered *lowered;
    const tort_graph *model; /* the model's graph of the same index: what the file asks for */
    bool *narrowed;          /* by value: a unit that runs quantizes it */
} finder;

enum { FARTHEST = 16 }; /* nodes that move a tensor between DequantizeLinear and a product, at most */

static bool has_flags(const tort_node *node, uint32_t flags) {
    return node->op && node->op->flags & flags;
}

/* True if the value stands for 8-bit or 16-bit integers, which nodes may have moved. */
static bool is_widened(const finder *f, int32_t value) {
    for (int32_t i = 0; value >= 0 && i < FARTHEST; i++) {
        const int32_t producer = f->model->values[value].producer;
        if (producer < 0) return false;
        const tort_node *node = &f->model->nodes[producer];
        if (node->input_count < 1 || node->inputs[0] < 0) return false;
        const tort_type type = f->lowered->infos[node->inputs[0]].type;
        if (has_flags(node, TORT_OP_WIDENS))
            return type == TORT_INT8 || type == TORT_UINT8 || type == TORT_INT16 || type == TORT_UINT16;
        if (!has_flags(node, TORT_OP_ALIAS | TORT_OP_PERMUTES)) return false;
        value = node->inputs[0];
    }
    return false;
}

/* True if the node of the model multiplies numbers of 8 bits, as integers or as the floats that they stand for. */
static bool is_product(const finder *f, const tort_node *node) {
    const tort_flops *products = node->op ? tort_op_products(node->op) : NULL;
    if (!products || products->operands == TORT_OF_INTEGERS) return products != NULL;
    bool all = products->operands != 0;
    for (int32_t i = 0; all && i < 32; i++)
        if (products->operands >> i & 1) all = i < node->input_count && is_widened(f, node->inputs[i]);
    return all;
}

/* Three bytes for each element that would take one; -1 if a shape is not known. */
static int64_t extra_bytes(const finder *f, const tort_node *node) {
    const tort_flops *products = tort_op_products(node->op);
    int64_t sum = 0;
    for (int32_t i = 0; i <= node->input_count; i++) {
        const bool output = i == node->input_count;
        const int32_t value = output ? node->outputs[0] : node->inputs[i];
        int64_t count;
        tort_tensor tensor;
        if (value < 0 || (!output && (i >= 32 || !(products->operands >> i & 1)))) continue;
        if (!tort_info_tensor(&f->lowered->infos[value], &tensor) || !tort_tensor_count(&tensor, &count) ||
            count > (INT64_MAX - sum) / 3)
            return -1;
        sum += 3 * count;
    }
    return sum;
}

static void find_narrowed(const finder *f) {
    for (int32_t n = 0; n < f->lowered->graph.node_count; n++) {
        const tort_node *node = tort_unit_node(f->lowered, n);
        if (f->lowered->units[n].provider >= TORT_AT_HOST && has_flags(node, TORT_OP_NARROWS) && node->inputs[0] >= 0)
            f->narrowed[node->inputs[0]] = true;
    }
}

static tort_status note(const finder *f, int32_t index, const tort_node *product) {
    tort_unit *unit = &f->lowered->units[index];
    const char *off = f->session->options.fusions_off;
    const bool narrowed = f->narrowed[tort_unit_node(f->lowered, index)->outputs[0]];
    tort_reason reason = {.provider = unit->provider, .kernel = "", .root = -1};
    reason.code = off && *off ? TORT_DISABLED : narrowed ? TORT_NO_OP : TORT_NO_TYPE;
    reason.message = off && *off ? "fusions are switched off"
                     : narrowed  ? "no kernel multiplies the integers of these nodes"
                                 : "its result is not quantized";
    reason.cure = off && *off ? "leave out --no-fusion" : narrowed ? "" : "quantize its output too";
    for (int32_t i = 0; i < unit->reason_count; i++)
        if (unit->reasons[i].integers) reason = unit->reasons[i];
    reason.fusion = NULL;
    reason.integers = false;
    reason.precision = true;
    reason.bytes = extra_bytes(f, product);
    return tort_unit_add_reason(f->session, unit, &reason) ? TORT_OK : TORT_E_MEMORY;
}

static tort_status look_at(const finder *f, int32_t index) {
    tort_unit *unit = &f->lowered->units[index];
    const tort_node *widened = NULL;
    if (unit->provider < TORT_AT_HOST || unit->segment) return TORT_OK;
    for (int32_t i = 0; i < (unit->from ? unit->from_count : 1); i++) {
        const tort_node *node = &f->model->nodes[unit->from ? unit->from[i] : index];
        if (!is_product(f, node)) continue;
        unit->products++;
        if (!tort_op_multiplies_integers(node->op)) widened = node;
    }
    if (!widened || tort_op_multiplies_integers(f->lowered->graph.nodes[index].op)) return TORT_OK;
    return note(f, index, widened);
}

static tort_status look_at_all(finder *f) {
    const tort_env *env = &f->session->env;
    const size_t values = (size_t)f->lowered->graph.value_count + 1;
    tort_status status = TORT_OK;
    f->narrowed = tort_alloc_zero(env, values, sizeof *f->narrowed);
    if (!f->narrowed) return TORT_E_MEMORY;
    find_narrowed(f);
    for (int32_t i = 0; !status && i < f->lowered->graph.node_count; i++) status = look_at(f, i);
    tort_free(env, f->narrowed, values * sizeof *f->narrowed);
    return status;
}

tort_status tort_note_precision(tort_session *session, tort_error *error) {
    for (int32_t g = 0; g < session->graph_count; g++) {
        finder f = {session, &session->graphs[g], &session->model->graphs[g], NULL};
        if (f.lowered->lowered && look_at_all(&f)) return tort_out_of_memory(error, 0);
    }
    return TORT_OK;
}
