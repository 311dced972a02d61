/* attention.c - Attention: softmax(query * keys, masked) * values, with several query heads per key head (GQA), a cache
 * of past keys and values, causal and window masks, and a soft cap.
 *
 * A query whose keys are all hidden yields zeros. heads.c has the loops. RotaryEmbedding is in rotary.c, the recurrent
 * forms in linear_attention.c. */
#include "ops/heads.h"

#include <math.h>

enum { QUERY, KEY, VALUE, MASK, PAST_KEY, PAST_VALUE, VALID_KEYS }; /* inputs */
enum { OUTPUT, PRESENT_KEY, PRESENT_VALUE, SCORES };

/* ---- infer ------------------------------------------------------------------------------------------------------- */

/* Dimensions of Q, K or V, of rank 3 or 4. */
typedef struct head_dims {
    tort_dim batch, heads, length, size;
} head_dims;

static tort_status read_dims(const tort_node_view *node, tort_dims *dims, tort_error *error, int32_t input,
                             head_dims *out) {
    const tort_info *info = &node->inputs[input];
    const char *attribute = input == QUERY ? "q_num_heads" : "kv_num_heads";
    if (info->rank == 4) {
        *out = (head_dims){info->dims[0], info->dims[1], info->dims[2], info->dims[3]};
        return TORT_OK;
    }
    int64_t heads = tort_attr_int(node, attribute);
    if (info->rank != 3)
        return tort_fail(error, TORT_E_MODEL, "input %d has rank %d; expected 3 or 4", input, info->rank);
    if (heads < 1) return tort_fail(error, TORT_E_MODEL, "inputs of rank 3 need %s of 1 or more", attribute);
    tort_dim hidden = info->dims[2];
    if (tort_dim_known(hidden) && hidden % heads != 0)
        return tort_fail(error, TORT_E_MODEL, "input %d has %lld elements a position, no multiple of %s %lld", input,
                         (long long)hidden, attribute, (long long)heads);
    tort_dim size = tort_dim_known(hidden) ? hidden / heads : dims ? tort_dim_floordiv(dims, hidden, heads) : -1;
    *out = (head_dims){info->dims[0], heads, info->dims[1], size};
    return TORT_OK;
}

static tort_status check_inputs(const tort_infer *infer) {
    const tort_node_view *node = infer->node;
    const tort_info *past = &node->inputs[PAST_KEY];
    const bool continues = tort_has_input(node, PAST_KEY);
    for (int32_t i = KEY; i <= VALUE; i++)
        if (node->inputs[i].rank != node->inputs[QUERY].rank)
            return tort_fail(infer->error, TORT_E_MODEL, "input %d has rank %d; expected that of input 0, %d", i,
                             node->inputs[i].rank, node->inputs[QUERY].rank);
    if (continues != tort_has_input(node, PAST_VALUE))
        return tort_fail(infer->error, TORT_E_MODEL, "past_key and past_value must be given together");
    if (continues && tort_has_input(node, VALID_KEYS))
        return tort_fail(infer->error, TORT_E_MODEL, "nonpad_kv_seqlen cannot be combined with past_key");
    if (continues && past->rank >= 0 && past->rank != 4)
        return tort_fail(infer->error, TORT_E_MODEL, "past_key has rank %d; expected 4", past->rank);
    return TORT_OK;
}

/* Number of keys, the past ones included. */
static tort_dim total_length(const tort_infer *infer, tort_dim length) {
    const tort_info *past = &infer->node->inputs[PAST_KEY];
    if (!tort_has_input(infer->node, PAST_KEY)) return length;
    return tort_dim_add(infer->dims, length, past->rank == 4 ? past->dims[2] : tort_dim_fresh(infer->dims, true));
}

static tort_status infer_attention(tort_infer *infer) {
    const tort_node_view *node = infer->node;
    head_dims query, key, value;
    for (int32_t o = 0; o < 4; o++) infer->outputs[o].type = node->inputs[o == PRESENT_VALUE ? VALUE : QUERY].type;
    if (node->inputs[QUERY].rank < 0 || node->inputs[KEY].rank < 0 || node->inputs[VALUE].rank < 0) return TORT_OK;
    tort_status status = read_dims(node, infer->dims, infer->error, QUERY, &query);
    if (status == TORT_OK) status = read_dims(node, infer->dims, infer->error, KEY, &key);
    if (status == TORT_OK) status = read_dims(node, infer->dims, infer->error, VALUE, &value);
    if (status == TORT_OK) status = check_inputs(infer);
    if (status != TORT_OK) return status;
    const tort_dim total = total_length(infer, key.length);
    const tort_dim output[4] = {query.batch, query.heads, query.length, value.size};
    const tort_dim packed[3] = {query.batch, query.length, tort_dim_mul(infer->dims, query.heads, value.size)};
    const tort_dim present_key[4] = {key.batch, key.heads, total, key.size};
    const tort_dim present_value[4] = {value.batch, value.heads, total, value.size};
    const tort_dim scores[4] = {query.batch, query.heads, query.length, total};
    bool is_packed = node->inputs[QUERY].rank == 3;
    tort_infer_shape(infer, OUTPUT, node->inputs[QUERY].type, is_packed ? 3 : 4, is_packed ? packed : output);
    tort_infer_shape(infer, PRESENT_KEY, node->inputs[KEY].type, 4, present_key);
    tort_infer_shape(infer, PRESENT_VALUE, node->inputs[VALUE].type, 4, present_value);
    tort_infer_shape(infer, SCORES, node->inputs[QUERY].type, 4, scores);
    return TORT_OK;
}

/* ---- resolve ----------------------------------------------------------------------------------------------------- */

/* Rows of an operand of rank 3, whose heads are side by side in a position, or of rank 4. */
static tort_heads_rows rows_of(int32_t operand, bool packed, const head_dims *dims) {
    const int64_t heads = dims->heads, length = dims->length, size = dims->size;
    const tort_head_strides packed_strides = {length * heads * size, size, heads * size, 1};
    const tort_head_strides strides = {heads * length * size, length * size, size, 1};
    return (tort_heads_rows){.operand = operand, .strides = packed ? packed_strides : strides};
}

static tort_status resolve_mask(tort_resolve *resolve, tort_heads_params *params) {
    const tort_info *mask = &resolve->node->inputs[MASK];
    const int64_t wanted[4] = {params->batch, params->query_heads, params->queries, tort_heads_capacity(params)};
    if (!tort_has_input(resolve->node, MASK)) return TORT_OK;
    if (mask->rank < 1 || mask->rank > 4)
        return tort_fail(resolve->error, TORT_E_MODEL, "attn_mask has rank %d; expected 1 to 4", mask->rank);
    int64_t stride = 1, strides[4] = {0};
    for (int32_t d = mask->rank - 1; d >= 0; d--) {
        int32_t to = 4 - mask->rank + d;
        int64_t size = mask->dims[d];
        /* The last dimension may be shorter than the keys: the keys behind it are hidden. */
        if (to == 3) params->end = size;
        if (to == 3 ? size > wanted[to] : size != 1 && size != wanted[to])
            return tort_fail(resolve->error, TORT_E_MODEL, "dimension %d of attn_mask is %lld; it does not fit %lld", d,
                             (long long)size, (long long)wanted[to]);
        strides[to] = size == 1 ? 0 : stride;
        stride *= size;
    }
    params->score_bias_strides = params->keep_strides =
        (tort_head_strides){strides[0], strides[1], strides[2], strides[3]};
    return TORT_OK;
}

static tort_status check_shapes(tort_resolve *resolve, const head_dims *query, const head_dims *key,
                                const head_dims *value) {
    const tort_node_view *node = resolve->node;
    if (key->heads < 1 || query->heads % key->heads != 0 || key->heads != value->heads)
        return tort_fail(resolve->error, TORT_E_MODEL,
                         "%lld query heads, %lld key heads and %lld value heads: expected as many key as value heads, "
                         "and a multiple of them for queries",
                         (long long)query->heads, (long long)key->heads, (long long)value->heads);
    if (query->size != key->size || key->length != value->length || query->batch != key->batch ||
        query->batch != value->batch)
        return tort_fail(resolve->error, TORT_E_MODEL, "the shapes of Q, K and V do not fit each other");
    for (int32_t i = PAST_KEY; i <= PAST_VALUE; i++) {
        const head_dims *with = i == PAST_KEY ? key : value;
        const int64_t *past = node->inputs[i].dims;
        if (!tort_has_input(node, i)) continue;
        if (node->inputs[i].rank != 4 || past[0] != with->batch || past[1] != with->heads || past[3] != with->size ||
            past[2] != node->inputs[PAST_KEY].dims[2])
            return tort_fail(resolve->error, TORT_E_MODEL, "the shape of past_%s does not fit that of %s",
                             i == PAST_KEY ? "key" : "value", i == PAST_KEY ? "K" : "V");
    }
    if (tort_has_input(node, VALID_KEYS) &&
        (node->inputs[VALID_KEYS].rank != 1 || node->inputs[VALID_KEYS].dims[0] != query->batch))
        return tort_fail(resolve->error, TORT_E_MODEL, "nonpad_kv_seqlen must have shape [%lld], one a batch",
                         (long long)query->batch);
    return TORT_OK;
}

/* Window size, -1 for none; limited so that adding a position cannot overflow. */
static int64_t window_size(const tort_node_view *node, const char *name) {
    int64_t size = tort_attr_int(node, name);
    return size < INT64_MAX / 2 ? size : INT64_MAX / 2;
}

static void resolve_attributes(const tort_node_view *node, tort_heads_params *params) {
    params->softcap = (double)tort_attr_float(node, "softcap");
    params->causal = tort_attr_int(node, "is_causal") != 0;
    if (tort_has_output(node, SCORES)) params->scores = SCORES;
    params->scores_stage = tort_attr_int(node, "qk_matmul_output_mode");
    params->scores_all = params->scores >= 0;
    params->hidden = -INFINITY;
    params->empty_is_zero = true;
    if (tort_has_output(node, PRESENT_KEY)) params->present_key = PRESENT_KEY;
    if (tort_has_output(node, PRESENT_VALUE)) params->present_value = PRESENT_VALUE;
    if (tort_has_input(node, MASK))
        *(node->inputs[MASK].type == TORT_BOOL ? &params->keep : &params->score_bias) = MASK;
    params->keep_where = true;
    params->fill = -INFINITY;
    if (tort_has_input(node, VALID_KEYS)) params->valid = VALID_KEYS;
    if (node->op->since < 25) return;
    params->left_window = window_size(node, "left_window_size");
    params->right_window = window_size(node, "right_window_size");
}

static void resolve_sizes(const tort_node_view *node, const head_dims *query, const head_dims *key,
                          const head_dims *value, tort_heads_params *params) {
    const bool packed = node->inputs[QUERY].rank == 3, continues = tort_has_input(node, PAST_KEY);
    head_dims output = *query, past_key = *key, past_value = *value;
    output.size = value->size;
    params->batch = query->batch;
    params->query_heads = query->heads;
    params->key_heads = key->heads;
    params->queries = query->length;
    params->new_keys = key->length;
    params->past_length = past_key.length = past_value.length = continues ? node->inputs[PAST_KEY].dims[2] : 0;
    params->key_size = key->size;
    params->value_size = value->size;
    params->query = rows_of(QUERY, packed, query);
    params->key = rows_of(KEY, packed, key);
    params->value = rows_of(VALUE, packed, value);
    params->output = rows_of(OUTPUT, packed, &output);
    params->past_key = rows_of(continues ? PAST_KEY : TORT_HEADS_NONE, false, &past_key);
    params->past_value = rows_of(continues ? PAST_VALUE : TORT_HEADS_NONE, false, &past_value);
    params->scale = tort_attr(node, "scale") ? (double)tort_attr_float(node, "scale")
                    : query->size > 0        ? 1 / sqrt((double)query->size)
                                             : 1;
}

static tort_status resolve_attention(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    tort_heads_params *params = resolve->params;
    head_dims query, key, value;
    tort_heads_clear(params);
    resolve_attributes(node, params);
    if (!tort_inputs_known(node)) return TORT_OK;
    tort_status status = read_dims(node, NULL, resolve->error, QUERY, &query);
    if (status == TORT_OK) status = read_dims(node, NULL, resolve->error, KEY, &key);
    if (status == TORT_OK) status = read_dims(node, NULL, resolve->error, VALUE, &value);
    if (status == TORT_OK) status = check_shapes(resolve, &query, &key, &value);
    if (status != TORT_OK) return status;
    resolve_sizes(node, &query, &key, &value, params);
    status = resolve_mask(resolve, params);
    return status == TORT_OK ? tort_heads_settle(resolve) : status;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define INPUTS "Q:T1 K:T1 V:T2 attn_mask?:U past_key?:T1 past_value?:T2"
#define OUTPUTS "Y:T1 present_key?:T1 present_value?:T2 qk_matmul_output?:T1"
#define TYPES "T1=floats13 T2=floats13 U=numeric13|bool"
#define ATTRIBUTES                                                                                                     \
    "is_causal:int=0 kv_num_heads:int q_num_heads:int qk_matmul_output_mode:int=0 scale:float softcap:float=0 "        \
    "softmax_precision:int(floats13)"
#define BY .params_size = sizeof(tort_heads_params), infer_attention, resolve_attention, tort_heads_reference

const tort_op tort_ops_attention[] = {
    {"", "Attention", 23, 23, INPUTS, OUTPUTS, TYPES, ATTRIBUTES, BY},
    {"", "Attention", 24, 24, INPUTS " nonpad_kv_seqlen?:int64", OUTPUTS, TYPES, ATTRIBUTES, BY},
    {"", "Attention", 25, TORT_NEWEST_OPSET, INPUTS " nonpad_kv_seqlen?:int64", OUTPUTS, TYPES,
     ATTRIBUTES " left_window_size:int=-1 right_window_size:int=-1", BY},
    {"ai.onnx.preview", "FlexAttention", 1, 1, "Q:T1 K:T1 V:T1", "Y:T1", "T1=floats13",
     "prob_mod:graph scale:float score_mod:graph softmax_precision:int(floats13)", BY}, /* see flex_attention.c */
    {0},
};
