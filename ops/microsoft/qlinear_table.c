/* qlinear_table.c - QLinearSigmoid, QLinearLeakyRelu and QLinearConcat: every byte is mapped through a table.
 *
 * Read next: qlinear.h. */
#include "ops/microsoft/qlinear.h"

#include <math.h>

#include "ops/concat.h"
#include "ops/extent.h"
#include "ops/shapes.h"

/* ---- functions --------------------------------------------------------------------------------------------------- */

static tort_status infer_function(tort_infer *infer) {
    tort_infer_same(infer, 0, 0);
    return tort_linear_check(infer, 0x1e);
}

static tort_status resolve_leaky(tort_resolve *resolve) {
    tort_qlinear_leaky *params = resolve->params;
    params->alpha = tort_attr_float(resolve->node, "alpha");
    return TORT_OK;
}

static float sigmoid(const void *params, float x) {
    (void)params;
    return 1 / (1 + expf(-x));
}

static float leaky_relu(const void *params, float x) {
    const tort_qlinear_leaky *leaky = params;
    return x >= 0 ? x : leaky->alpha * x;
}

static void fill_table(const tort_call *call, float (*function)(const void *params, float x), uint8_t *table) {
    float values[256];
    tort_linear_values(call->inputs[0].type, tort_linear_of(call, 1, 2), values);
    for (int32_t i = 0; i < 256; i++) values[i] = function(call->params, values[i]);
    tort_linear_table(call->outputs[0].type, values, tort_linear_of(call, 3, 4), table);
}

void tort_qlinear_sigmoid_table(const tort_call *call, uint8_t *table) {
    fill_table(call, sigmoid, table);
}

void tort_qlinear_leaky_relu_table(const tort_call *call, uint8_t *table) {
    fill_table(call, leaky_relu, table);
}

static tort_status run_sigmoid(const tort_call *call) {
    uint8_t table[256];
    tort_qlinear_sigmoid_table(call, table);
    tort_linear_map(call, table, call->inputs[0].data, call->outputs[0].data, tort_count(&call->inputs[0]));
    return TORT_OK;
}

static tort_status run_leaky(const tort_call *call) {
    uint8_t table[256];
    tort_qlinear_leaky_relu_table(call, table);
    tort_linear_map(call, table, call->inputs[0].data, call->outputs[0].data, tort_count(&call->inputs[0]));
    return TORT_OK;
}

/* ---- QLinearConcat ----------------------------------------------------------------------------------------------- */

enum { FIRST = TORT_QLINEAR_PART, GROUP = TORT_QLINEAR_PARTS };

/* Checks the inputs: groups of a tensor, a float scale, and a zero point of the tensor's type. */
static tort_status check_groups(const tort_infer *infer) {
    const tort_node_view *node = infer->node;
    if (node->input_count < FIRST + GROUP || (node->input_count - FIRST) % GROUP)
        return tort_fail(infer->error, TORT_E_MODEL,
                         "the node has %d inputs, expected 2 and a tensor, a scale and a zero point for each part",
                         (int)node->input_count);
    for (int32_t i = FIRST; i < node->input_count; i++) {
        const bool scale = (i - FIRST) % GROUP == 1;
        const tort_type wanted = scale ? TORT_FLOAT : node->inputs[1].type;
        if (node->inputs[i].type != wanted)
            return tort_fail(infer->error, TORT_E_MODEL, "input %d is of type %s, expected %s", (int)i,
                             tort_type_name(node->inputs[i].type), tort_type_name(wanted));
        if ((i - FIRST) % GROUP == 0) continue;
        tort_status status = tort_check_single(node, i, "a scale or zero point", infer->error);
        if (status != TORT_OK) return status;
    }
    return tort_linear_check(infer, 3);
}

static tort_status infer_concat(tort_infer *infer) {
    const tort_node_view *node = infer->node;
    tort_dim dims[TORT_MAX_RANK];
    int32_t axis;
    tort_status status = check_groups(infer);
    infer->outputs[0].type = node->inputs[1].type;
    if (status != TORT_OK) return status;
    const int32_t rank = node->inputs[FIRST].rank;
    for (int32_t i = FIRST; i < node->input_count; i += GROUP) {
        if (node->inputs[i].rank < 0) return TORT_OK;
        if (node->inputs[i].rank != rank)
            return tort_fail(infer->error, TORT_E_MODEL, "input %d has rank %d and input %d rank %d", FIRST, (int)rank,
                             (int)i, (int)node->inputs[i].rank);
    }
    status = tort_normalize_axis(infer->error, tort_attr_int(node, "axis"), rank, &axis);
    if (status == TORT_OK) dims[axis] = 0;
    for (int32_t i = FIRST; i < node->input_count && status == TORT_OK; i += GROUP)
        status = tort_concat_join(infer, &node->inputs[i], axis, i == FIRST, dims);
    if (status == TORT_OK) tort_infer_shape(infer, 0, infer->outputs[0].type, rank, dims);
    return status;
}

static tort_status resolve_concat(tort_resolve *resolve) {
    tort_qlinear_concat *params = resolve->params;
    const tort_info *first = &resolve->node->inputs[FIRST];
    if (first->rank < 0) return TORT_OK;
    return tort_normalize_axis(resolve->error, tort_attr_int(resolve->node, "axis"), first->rank, &params->axis);
}

static tort_status run_concat(const tort_call *call) {
    const tort_qlinear_concat *params = call->params;
    const tort_tensor *y = &call->outputs[0];
    const tort_linear to = tort_linear_of(call, 0, 1);
    const int64_t outer = tort_extent(y->dims, 0, params->axis), row = tort_extent(y->dims, params->axis, y->rank);
    uint8_t *out = y->data, table[256];
    if (tort_count(y) == 0) return TORT_OK;
    for (int32_t i = FIRST; i < call->input_count; i += GROUP) {
        const tort_tensor *x = &call->inputs[i];
        const int64_t run = tort_extent(x->dims, params->axis, x->rank);
        tort_linear_convert(y->type, tort_linear_of(call, i + 1, i + 2), to, table);
        for (int64_t o = 0; o < outer && tort_call_goes_on(call, 0); o++)
            tort_linear_map(call, table, (const uint8_t *)x->data + o * run, out + o * row, run);
        out += run;
    }
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define FUNCTION "X:T X_scale:float X_zero_point?:T Y_scale:float Y_zero_point?:T"

const tort_op tort_ops_qlinear_table[] = {
    {"com.microsoft", "QLinearSigmoid", 1, 1, FUNCTION, "Y:T", "T=uint8|int8", "", .flags = TORT_OP_IN_PLACE,
     .infer = infer_function, .reference = run_sigmoid},
    {"com.microsoft", "QLinearLeakyRelu", 1, 1, FUNCTION, "Y:T", "T=uint8|int8", "alpha:float=0.01",
     .flags = TORT_OP_IN_PLACE, .params_size = sizeof(tort_qlinear_leaky), infer_function, resolve_leaky, run_leaky},
    {"com.microsoft", "QLinearConcat", 1, 1, "Y_scale:TF Y_zero_point:T8 inputs+:TV", "Y:T8",
     "T8=uint8|int8 TF=float TV=uint8|int8|float", "axis:int!", .params_size = sizeof(tort_qlinear_concat),
     infer_concat, resolve_concat, run_concat},
    {0},
};
