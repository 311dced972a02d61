/* qembed_norm.c - QEmbedLayerNormalization: EmbedLayerNormalization of tables of 8-bit numbers, each with one scale and
 * zero point. Read next: skip_norm.h, qlinear.h. */
#include "ops/microsoft/qlinear.h"
#include "ops/microsoft/skip_norm.h"

enum { SCALES = 8, ZEROS = 13, OPERANDS = 8 }; /* first scale, first zero point; inputs of the view */

/* View of the node's first inputs, with tables of floats. */
typedef struct embed_view {
    tort_node_view node;
    tort_info inputs[OPERANDS];
} embed_view;

static void view_of(const tort_node_view *node, embed_view *view) {
    view->node = *node;
    view->node.inputs = view->inputs;
    view->node.input_count = OPERANDS;
    for (int32_t i = 0; i < OPERANDS; i++) {
        view->inputs[i] = node->inputs[i];
        const bool table = i >= TORT_EMBED_WORDS && i <= TORT_EMBED_BETA;
        if (table && tort_has_input(node, i)) view->inputs[i].type = TORT_FLOAT;
    }
}

static tort_status infer_embed(tort_infer *infer) {
    embed_view view;
    tort_info outputs[3];
    view_of(infer->node, &view);
    for (int32_t i = 0; i < 3; i++) outputs[i] = (tort_info){.type = TORT_UNDEFINED, .rank = -1};
    tort_infer inner = *infer;
    inner.node = &view.node;
    inner.outputs = outputs;
    tort_status status = tort_infer_embed_norm(&inner);
    infer->outputs[0] = outputs[0];
    infer->outputs[1] = outputs[1];
    const bool scaled = tort_has_input(infer->node, SCALES + 2) && tort_has_input(infer->node, ZEROS + 2);
    if (status == TORT_OK && tort_has_input(infer->node, TORT_EMBED_SEGMENT_TABLE) && !scaled)
        return tort_fail(infer->error, TORT_E_MODEL, "segment_embedding is given without its scale and zero point");
    return status == TORT_OK ? tort_linear_check(infer, 0x3ff00) : status;
}

/* Scratch: gamma and beta as floats. */
static tort_status resolve_embed(tort_resolve *resolve) {
    embed_view view;
    const tort_info *gamma = &resolve->node->inputs[TORT_EMBED_GAMMA];
    view_of(resolve->node, &view);
    tort_resolve inner = *resolve;
    inner.node = &view.node;
    tort_status status = tort_resolve_embed_norm(&inner);
    if (tort_shape_known(gamma) && gamma->rank == 1)
        resolve->scratch_bytes = 2 * (size_t)gamma->dims[0] * sizeof(float);
    return status;
}

/* values += dequantized elements of row `row` of table number `table`, counted from the words. */
static void add_row(const tort_call *call, int32_t table, int64_t row, int64_t first, int64_t count, double *values) {
    const tort_tensor *from = &call->inputs[TORT_EMBED_WORDS + table];
    const tort_linear linear = tort_linear_of(call, SCALES + table, ZEROS + table);
    float elements[TORT_BLOCK];
    tort_load_floats(from->type, from->data, row * from->dims[1] + first, count, elements);
    for (int64_t i = 0; i < count; i++) values[i] += (double)((elements[i] - linear.zero) * linear.scale);
}

static void load_embedding(const tort_norm_rows *rows, int64_t row, int64_t first, int64_t count, double *values) {
    const tort_call *call = rows->arg;
    const tort_embed_norm_params *params = call->params;
    for (int64_t i = 0; i < count; i++) values[i] = 0;
    add_row(call, 0, tort_embed_id(call, TORT_EMBED_IDS, TORT_EMBED_WORDS, row), first, count, values);
    add_row(call, 1, row % params->length, first, count, values);
    if (tort_call_input(call, TORT_EMBED_SEGMENTS))
        add_row(call, 2, tort_embed_id(call, TORT_EMBED_SEGMENTS, TORT_EMBED_SEGMENT_TABLE, row), first, count, values);
}

/* Dequantizes input gamma or beta, table number 3 or 4. */
static tort_tensor widen(const tort_call *call, int32_t table, float *out) {
    tort_tensor tensor = call->inputs[TORT_EMBED_WORDS + table];
    const tort_linear linear = tort_linear_of(call, SCALES + table, ZEROS + table);
    const int64_t count = tort_count(&tensor);
    for (int64_t at = 0; at < count && tort_row_goes_on(call->watch, at); at += TORT_BLOCK) {
        const int64_t end = at + tort_block_count(count, at);
        tort_load_floats(tensor.type, tensor.data, at, end - at, out + at);
        for (int64_t i = at; i < end; i++) out[i] = (out[i] - linear.zero) * linear.scale;
    }
    tensor.type = TORT_FLOAT;
    tensor.data = out;
    return tensor;
}

static tort_status run_embed(const tort_call *call) {
    const tort_embed_norm_params *params = call->params;
    float *floats = call->scratch;
    tort_status status = tort_embed_check(call, TORT_EMBED_IDS, TORT_EMBED_WORDS, "input_ids");
    if (!status) status = tort_embed_check(call, TORT_EMBED_SEGMENTS, TORT_EMBED_SEGMENT_TABLE, "segment_ids");
    if (status) return status;
    const tort_tensor gamma = widen(call, 3, floats), beta = widen(call, 4, floats + tort_count(&gamma));
    const tort_norm_rows rows = {.call = call,
                                 .params = &params->norm,
                                 .load = load_embedding,
                                 .arg = call,
                                 .scale = &gamma,
                                 .bias = &beta,
                                 .y = &call->outputs[0]};
    if (tort_count(rows.y) > 0) tort_norm_run(&rows);
    if (tort_call_output(call, 1)) tort_embed_count_places(call, params, &call->outputs[1]);
    return TORT_OK;
}

const tort_op tort_ops_qembed_norm[] = {
    {"com.microsoft", "QEmbedLayerNormalization", 1, 1,
     "input_ids:T1 segment_ids?:T1 word_embedding_quant:T2 position_embedding_quant:T2 segment_embedding?:T2 "
     "gamma_quant:T2 beta_quant:T2 mask?:T1 word_embedding_scale:T position_embedding_scale:T "
     "segment_embedding_scale?:T gamma_scale:T beta_scale:T word_embedding_zero_point:T2 "
     "position_embedding_zero_point:T2 segment_embedding_zero_point?:T2 gamma_zero_point:T2 beta_zero_point:T2",
     "layernorm_out:T mask_index_out:T1", "T1=int32 T2=int8|uint8 T=float", "epsilon:float=1e-12",
     .params_size = sizeof(tort_embed_norm_params), infer_embed, resolve_embed, run_embed},
    {0},
};
