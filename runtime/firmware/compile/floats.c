/* floats.c - the steps of a quantized model that compute with floats: those that read or write any, but for
 * QuantizeLinear of an input and DequantizeLinear to an output, where callers have floats. */
#include <stdlib.h>
#include <string.h>

#include "runtime/core/graph/check.h"
#include "runtime/core/lowered/unit_view.h"
#include "runtime/firmware/compile/compilation.h"

static const tort_slot *slot_of(const tort_compilation *c, const tort_step *step, int32_t operand) {
    const int32_t slot = c->plan->operands[step->operands + operand];
    return slot < 0 ? NULL : &c->plan->slots[slot];
}

static bool is_float(const tort_slot *slot) {
    return slot->type == TORT_FLOAT || slot->type == TORT_DOUBLE || slot->type == TORT_FLOAT16 ||
           slot->type == TORT_BFLOAT16;
}

/* True for QuantizeLinear of an input of the model, and DequantizeLinear that makes an output. */
static bool is_border(const tort_compilation *c, const tort_step *step) {
    const tort_op *op = tort_unit_node(c->lowered, step->node)->op;
    const tort_slot *x = slot_of(c, step, 0), *y = slot_of(c, step, step->input_count);
    if (!op || !x || !y) return false;
    return (op->flags & TORT_OP_NARROWS && x->home == TORT_HOME_INPUT) ||
           (op->flags & TORT_OP_WIDENS && y->home == TORT_HOME_OUTPUT);
}

static bool computes_floats(const tort_compilation *c, int32_t index) {
    const tort_step *step = &c->plan->steps[index];
    bool found = false;
    if (step->kind != TORT_STEP_KERNEL || step->node < 0 || c->skipped[index] || is_border(c, step)) return false;
    for (int32_t i = 0; i < step->input_count + step->output_count; i++) {
        const tort_slot *slot = slot_of(c, step, i);
        found = found || (slot && slot->home != TORT_HOME_CONSTANT && is_float(slot));
    }
    return found;
}

/* True if the model has 8-bit numbers that are no constants. */
static bool is_quantized(const tort_compilation *c) {
    bool found = false;
    for (int32_t i = 0; i < c->plan->slot_count; i++) {
        const tort_slot *slot = &c->plan->slots[i];
        found = found || (slot->home != TORT_HOME_CONSTANT && (slot->type == TORT_INT8 || slot->type == TORT_UINT8));
    }
    return found;
}

static tort_status refuse(const tort_compilation *c, const tort_compiled *out) {
    char text[300] = "";
    int32_t named = 0;
    for (size_t used = 0; named < out->float_count; named++) {
        const tort_node *node = tort_unit_node(c->lowered, out->float_nodes[named]);
        const size_t more = strlen(node->name) + strlen(node->op_type) + 6;
        if (used + more >= sizeof text) break;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s (%s)", named ? ", " : "", node->name,
                                 node->op_type);
    }
    return tort_fail(c->error, TORT_E_PLACEMENT, "strict integers: %d of %d steps compute with floats: %s%s",
                     (int)out->float_count, (int)c->calls, text, named < out->float_count ? " and others" : "");
}

/* The report leaves out nodes that were fused into others. */
static int32_t index_in_report(const tort_compilation *c, int32_t unit) {
    int32_t index = 0;
    for (int32_t i = 0; i < unit; i++) index += c->lowered->units[i].provider != TORT_AT_FUSED;
    return index;
}

tort_status tort_compile_floats(tort_compilation *c, tort_compiled *out, bool strict) {
    if (!strict && !is_quantized(c)) return TORT_OK;
    out->float_nodes = calloc((size_t)c->plan->step_count + 1, sizeof *out->float_nodes);
    if (!out->float_nodes) return tort_out_of_memory(c->error, 0);
    for (int32_t i = 0; i < c->plan->step_count; i++)
        if (computes_floats(c, i)) out->float_nodes[out->float_count++] = c->plan->steps[i].node;
    if (strict && out->float_count) return refuse(c, out);
    for (int32_t i = 0; i < out->float_count; i++) out->float_nodes[i] = index_in_report(c, out->float_nodes[i]);
    return TORT_OK;
}
