/* attention.c - Attention of com.microsoft: one product computes queries, keys and values from the input; keys and
 * values of earlier runs are in one tensor, the keys first. Read next: heads.h. */
#include "ops/extent.h"
#include "ops/microsoft/heads.h"
#include "ops/shapes.h"

#include <math.h>

enum { INPUT, WEIGHTS, BIAS, MASK, PAST, SCORE_BIAS, PAST_COUNT }; /* inputs */
enum { OUTPUT, PRESENT };

/* Reads the number of elements of a position of Q and K, and of V; -1: not known yet. */
static tort_status read_widths(const tort_node_view *node, tort_error *error, int64_t *width, int64_t *value_width) {
    int32_t count = 0;
    const int64_t *sizes = tort_attr_ints(node, "qkv_hidden_sizes", &count);
    const tort_info *weights = &node->inputs[WEIGHTS];
    const int64_t heads = tort_attr_int(node, "num_heads");
    const int64_t all = weights->rank == 2 && tort_dim_known(weights->dims[1]) ? weights->dims[1] : -1;
    *width = *value_width = count == 3 || all < 0 ? -1 : all / 3;
    if (heads < 1 || heads > INT32_MAX)
        return tort_fail(error, TORT_E_MODEL, "num_heads is %lld; expected 1 or more", (long long)heads);
    if (weights->rank >= 0 && weights->rank != 2)
        return tort_fail(error, TORT_E_MODEL, "weights have rank %d; expected 2", weights->rank);
    if (count != 0 && count != 3)
        return tort_fail(error, TORT_E_MODEL, "qkv_hidden_sizes has %d entries; expected 3", count);
    if (count == 3) {
        *width = sizes[0];
        *value_width = sizes[2];
    }
    if (count == 3 && (sizes[0] < 1 || sizes[1] != sizes[0] || sizes[2] < 1 || sizes[0] > INT32_MAX ||
                       sizes[2] > INT32_MAX || (all >= 0 && sizes[0] * 2 + sizes[2] != all)))
        return tort_fail(error, TORT_E_MODEL, "qkv_hidden_sizes does not fit weights of %lld columns", (long long)all);
    if (count == 0 && all >= 0 && all % 3 != 0)
        return tort_fail(error, TORT_E_MODEL, "weights have %lld columns; expected a multiple of 3", (long long)all);
    if (*width >= 0 && (*width % heads != 0 || *value_width % heads != 0))
        return tort_fail(error, TORT_E_MODEL, "Q and V of %lld and %lld elements are not %lld heads", (long long)*width,
                         (long long)*value_width, (long long)heads);
    return TORT_OK;
}

tort_status tort_infer_microsoft_attention(tort_infer *infer) {
    const tort_node_view *node = infer->node;
    const tort_info *input = &node->inputs[INPUT], *past = &node->inputs[PAST];
    const int64_t heads = tort_attr_int(node, "num_heads");
    int64_t width, value_width;
    infer->outputs[OUTPUT].type = infer->outputs[PRESENT].type = input->type;
    tort_status status = read_widths(node, infer->error, &width, &value_width);
    if (status || input->rank < 0) return status;
    if (input->rank != 3) return tort_fail(infer->error, TORT_E_MODEL, "input has rank %d; expected 3", input->rank);
    tort_dim length = input->dims[1];
    if (tort_has_input(node, PAST)) {
        const tort_dim before = past->rank == 5 ? past->dims[3] : tort_dim_fresh(infer->dims, true);
        length = tort_attr_int(node, "past_present_share_buffer") ? before : tort_dim_add(infer->dims, before, length);
    }
    const tort_dim size = width < 0 ? tort_dim_fresh(infer->dims, false) : width / heads;
    const tort_dim hidden = value_width < 0 ? tort_dim_fresh(infer->dims, false) : value_width;
    const tort_dim output[3] = {input->dims[0], input->dims[1], hidden};
    const tort_dim present[5] = {2, input->dims[0], heads, length, size};
    tort_infer_shape(infer, OUTPUT, input->type, 3, output);
    tort_infer_shape(infer, PRESENT, input->type, 5, present);
    return TORT_OK;
}

/* Reads what claims ask for before all shapes are known: the sizes of keys and values, -1 if they are not known yet. */
static tort_status read_sizes(const tort_resolve *resolve, tort_heads_params *p) {
    int64_t width, value_width;
    tort_status status = read_widths(resolve->node, resolve->error, &width, &value_width);
    if (status) return status;
    p->query.operand = p->key.operand = p->value.operand = TORT_HEADS_PROJECTED;
    p->key_size = width < 0 ? -1 : width / p->query_heads;
    p->value_size = value_width < 0 ? -1 : value_width / p->query_heads;
    return TORT_OK;
}

/* Reads the projection, which has Q, K and V of all heads side by side in each position. */
static tort_status read_projection(const tort_resolve *resolve, tort_heads_params *p) {
    const tort_node_view *node = resolve->node;
    const int64_t *dims = node->inputs[INPUT].dims;
    const int64_t width = p->key_size * p->query_heads, value_width = p->value_size * p->query_heads;
    const int64_t all = 2 * width + value_width;
    const int64_t weights[2] = {dims[2], all}, bias[1] = {all};
    p->batch = dims[0];
    p->queries = p->new_keys = dims[1];
    p->input_size = dims[2];
    p->projected_size = all;
    p->query.strides = p->key.strides = p->value.strides = (tort_head_strides){p->queries * all, p->key_size, all, 1};
    p->value.strides.head = p->value_size;
    p->key.offset = width;
    p->value.offset = 2 * width;
    p->output.operand = OUTPUT;
    p->output.strides = (tort_head_strides){p->queries * value_width, p->value_size, value_width, 1};
    tort_status status = tort_heads_expect(resolve, WEIGHTS, "weights", 2, weights);
    return status ? status : tort_heads_expect(resolve, BIAS, "bias", 1, bias);
}

static tort_status read_past(const tort_resolve *resolve, tort_heads_params *p) {
    const tort_node_view *node = resolve->node;
    const tort_info *past = &node->inputs[PAST];
    const bool shares = tort_attr_int(node, "past_present_share_buffer") != 0;
    if (tort_has_output(node, PRESENT)) p->present_key = p->present_value = PRESENT;
    if ((tort_has_output(node, PRESENT) || tort_has_input(node, PAST)) && p->key_size != p->value_size)
        return tort_fail(resolve->error, TORT_E_MODEL, "with past or present, heads of K and V must be of one size");
    if (tort_has_input(node, PAST)) {
        const int64_t length = past->rank == 5 ? past->dims[3] : -1;
        const int64_t wanted[5] = {2, p->batch, p->query_heads, length, p->key_size};
        tort_status status = tort_heads_expect(resolve, PAST, "past", 5, wanted);
        if (status) return status;
        const int64_t head = length * p->key_size;
        p->past_length = length;
        p->past_key.operand = p->past_value.operand = PAST;
        p->past_key.strides = p->past_value.strides = (tort_head_strides){p->query_heads * head, head, p->key_size, 1};
        p->past_value.offset = p->batch * p->query_heads * head;
    }
    if (shares && (!tort_has_input(node, PAST) || !tort_has_input(node, PAST_COUNT)))
        return tort_fail(resolve->error, TORT_E_MODEL, "past_present_share_buffer needs past and past_sequence_length");
    if (shares) p->past_count = PAST_COUNT;
    const int64_t room = shares ? p->past_length : p->past_length + p->new_keys;
    p->present_value_offset = p->batch * p->query_heads * room * p->key_size;
    return tort_check_single(node, PAST_COUNT, "past_sequence_length", resolve->error);
}

tort_status tort_resolve_microsoft_attention(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    tort_heads_params *p = resolve->params;
    tort_heads_clear(p);
    p->query_heads = p->key_heads = tort_attr_int(node, "num_heads");
    p->causal = tort_attr_int(node, "unidirectional") != 0;
    p->scale = (double)tort_attr_float(node, "scale");
    p->mask_filter = tort_attr(node, "mask_filter_value") ? (double)tort_attr_float(node, "mask_filter_value") : -10000;
    if (tort_attr_int(node, "do_rotary") != 0)
        return tort_fail(
            resolve->error, TORT_E_UNSUPPORTED,
            "do_rotary 1 is not supported, as it has no caches of cosines and sines; export the model with "
            "GroupQueryAttention, or with RotaryEmbedding before MultiHeadAttention");
    tort_status status = read_sizes(resolve, p);
    if (status || !tort_inputs_known(node)) return status;
    status = read_projection(resolve, p);
    if (!status) status = read_past(resolve, p);
    if (!status) status = tort_heads_read_mask(resolve, p, MASK, "mask_index");
    if (!status) status = tort_heads_read_score_bias(resolve, p, SCORE_BIAS);
    if (status) return status;
    if (p->scale == 0) p->scale = 1 / sqrt((double)p->key_size);
    return tort_heads_settle_microsoft(resolve);
}

/* Computes rows begin .. end-1 of the projection, one per row of the input. */
static void project_rows(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_heads_params *p = call->params;
    const tort_tensor *x = &call->inputs[INPUT], *w = &call->inputs[WEIGHTS], *bias = tort_call_input(call, BIAS);
    for (int64_t row = begin; row < end; row++)
        for (int64_t first = 0; first < p->projected_size; first += TORT_BLOCK) {
            const int64_t count = tort_block_count(p->projected_size, first);
            double sums[TORT_BLOCK] = {0}, weights[TORT_BLOCK];
            if (bias) tort_load_doubles(bias->type, bias->data, first, count, sums);
            for (int64_t k = 0; k < p->input_size; k++) {
                const double element = tort_element_at(x, row * p->input_size + k);
                tort_load_doubles(w->type, w->data, k * p->projected_size + first, count, weights);
                for (int64_t j = 0; j < count; j++) sums[j] += element * weights[j];
            }
            tort_store_doubles(TORT_FLOAT, call->scratch, row * p->projected_size + first, count, sums);
        }
}

static tort_status run_attention(const tort_call *call) {
    const tort_heads_params *p = call->params;
    size_t projection;
    if (!tort_heads_projection(p, &projection)) return tort_out_of_memory(call->error, SIZE_MAX);
    tort_parallel(call, p->batch * p->queries, p->input_size * p->projected_size, project_rows, (void *)call);
    return tort_heads_attend(call, call->scratch, (char *)call->scratch + projection);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const tort_op tort_ops_microsoft_attention[] = {
    {"com.microsoft", "Attention", 1, 1,
     "input:T weights:T bias?:T mask_index?:M past?:T attention_bias?:T past_sequence_length?:M", "output:T present?:T",
     "T=float|float16|bfloat16 M=int32",
     "do_rotary:int mask_filter_value:float num_heads:int! past_present_share_buffer:int "
     "qkv_hidden_sizes:ints rotary_embedding_dim:int scale:float unidirectional:int=0",
     .params_size = sizeof(tort_heads_params), tort_infer_microsoft_attention, tort_resolve_microsoft_attention,
     run_attention},
    {0},
};
