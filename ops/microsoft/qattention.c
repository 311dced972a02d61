/* qattention.c - QAttention: Attention of com.microsoft, whose queries, keys and values are computed from an 8-bit
 * input and 8-bit weights, as by MatMulIntegerToFloat. Read next: heads.h, attention.c, integer_matmul.h. */
#include "ops/microsoft/qattention.h"

#include "ops/microsoft/heads.h"
#include "ops/shapes.h"

enum { INPUT, WEIGHTS, BIAS, INPUT_SCALE, WEIGHT_SCALE, MASK, INPUT_ZERO, WEIGHT_ZERO, PAST }; /* inputs */
enum { OPERANDS = TORT_QATTENTION_OPERANDS };

static const int32_t attention_operands[OPERANDS] = {INPUT, WEIGHTS, BIAS, MASK, PAST};
/* Inputs in the order of MatMulIntegerToFloat. */
static const int32_t product_operands[] = {INPUT, WEIGHTS, INPUT_SCALE, WEIGHT_SCALE, INPUT_ZERO, WEIGHT_ZERO, BIAS};

const tort_integer_inputs tort_qattention_product = {INPUT,       INPUT_SCALE, INPUT_ZERO, WEIGHTS, WEIGHT_SCALE,
                                                     WEIGHT_ZERO, -1,          -1,         BIAS,    false};

void tort_qattention_view(const tort_node_view *node, tort_operands *view) {
    tort_operands_of(node, OPERANDS, attention_operands, view);
    view->inputs[0].type = view->inputs[1].type = node->inputs[BIAS].type;
}

/* Checks that a scale or zero point of the weights has one element, or one per column. */
static tort_status check_columns(const tort_infer *infer, int32_t i) {
    const tort_info *numbers = &infer->node->inputs[i], *weights = &infer->node->inputs[WEIGHTS];
    if (!tort_has_input(infer->node, i) || numbers->rank < 0 || weights->rank != 2) return TORT_OK;
    const tort_dim count = numbers->rank == 1 ? numbers->dims[0] : 1;
    if (numbers->rank <= 1 &&
        (count == 1 || !tort_dim_known(count) || !tort_dim_known(weights->dims[1]) || count == weights->dims[1]))
        return TORT_OK;
    return tort_fail(infer->error, TORT_E_MODEL, "input %d has not one element, and not one for each column of weight",
                     (int)i);
}

static tort_status infer_qattention(tort_infer *infer) {
    tort_operands view;
    tort_qattention_view(infer->node, &view);
    tort_infer inner = *infer;
    inner.node = &view.view;
    tort_status status = tort_infer_microsoft_attention(&inner);
    if (status == TORT_OK) status = tort_check_single(infer->node, INPUT_SCALE, "input_scale", infer->error);
    if (status == TORT_OK) status = tort_check_single(infer->node, INPUT_ZERO, "input_zero_point", infer->error);
    if (status == TORT_OK) status = check_columns(infer, WEIGHT_SCALE);
    return status == TORT_OK ? check_columns(infer, WEIGHT_ZERO) : status;
}

static tort_status resolve_qattention(tort_resolve *resolve) {
    tort_qattention *params = resolve->params;
    tort_operands view;
    size_t heads, product;
    tort_qattention_view(resolve->node, &view);
    tort_resolve inner = *resolve;
    inner.node = &view.view;
    inner.params = &params->heads;
    tort_status status = tort_resolve_microsoft_attention(&inner);
    if (status != TORT_OK) return status;
    if (tort_align_size(inner.scratch_bytes, TORT_HOST_ALIGN, &heads) &&
        tort_operands_scratch(&view.inputs[0], &view.inputs[1], &product) &&
        tort_add_size(heads, product, &resolve->scratch_bytes)) {
        params->heads_scratch = heads;
        return TORT_OK;
    }
    return tort_out_of_memory(resolve->error, SIZE_MAX);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static tort_tensor operand(const tort_call *call, int32_t i) {
    return i < call->input_count ? call->inputs[i] : (tort_tensor){.type = TORT_UNDEFINED};
}

void tort_qattention_operands(const tort_call *call, tort_tensor *operands) {
    for (int32_t i = 0; i < OPERANDS; i++) operands[i] = operand(call, attention_operands[i]);
}

/* Computes the projection, (rows, projected_size) floats. */
static tort_status project(const tort_call *call, float *projected) {
    const tort_qattention *params = call->params;
    const tort_heads_params *p = &params->heads;
    const tort_matmul_params product = {
        .m = p->batch * p->queries, .n = p->projected_size, .k = p->input_size, .batches = 1};
    tort_tensor inputs[7];
    for (int32_t i = 0; i < 7; i++) inputs[i] = operand(call, product_operands[i]);
    inputs[0].rank = 2;
    inputs[0].dims[0] = product.m;
    inputs[0].dims[1] = product.k;
    const tort_tensor y = {.type = TORT_FLOAT, .rank = 2, .dims = {product.m, product.n}, .data = projected};
    tort_call inner = *call;
    inner.params = &product;
    inner.inputs = inputs;
    inner.input_count = 7;
    inner.outputs = &y;
    inner.output_count = 1;
    inner.scratch = (char *)call->scratch + params->heads_scratch;
    return tort_run_matmul_to_float(&inner);
}

static tort_status run_qattention(const tort_call *call) {
    const tort_qattention *params = call->params;
    size_t projection = 0;
    tort_tensor inputs[OPERANDS];
    if (!tort_heads_projection(&params->heads, &projection)) return tort_out_of_memory(call->error, SIZE_MAX);
    tort_status status = project(call, call->scratch);
    if (status != TORT_OK) return status;
    tort_qattention_operands(call, inputs);
    tort_call inner = *call;
    inner.params = &params->heads;
    inner.inputs = inputs;
    inner.input_count = OPERANDS;
    return tort_heads_attend(&inner, call->scratch, (char *)call->scratch + projection);
}

const tort_op tort_ops_qattention[] = {
    {"com.microsoft", "QAttention", 1, 1,
     "input:T1 weight:T2 bias:T3 input_scale:T3 weight_scale:T3 mask_index?:T4 input_zero_point?:T1 "
     "weight_zero_point?:T2 past?:T3",
     "output:T3 present?:T3", "T1=int8|uint8 T2=int8|uint8 T3=float|float16 T4=int32",
     "do_rotary:int mask_filter_value:float num_heads:int! past_present_share_buffer:int scale:float "
     "unidirectional:int=0",
     .params_size = sizeof(tort_qattention), infer_qattention, resolve_qattention, run_qattention},
    {0},
};
