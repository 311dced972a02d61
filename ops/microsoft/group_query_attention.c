/* group_query_attention.c - GroupQueryAttention of com.microsoft: several query heads per key head, keys and values of
 * earlier runs in caches, rotary embedding, a window, a soft cap and sinks. Read next: heads.h. */
#include "ops/microsoft/heads.h"
#include "ops/shapes.h"

#include <math.h>
#include <string.h>

enum {
    QUERY,
    KEY,
    VALUE,
    PAST_KEY,
    PAST_VALUE,
    LENGTHS,
    TOTAL,
    COSINES,
    SINES,
    POSITIONS,
    SCORE_BIAS,
    SINK,
    KEY_SCALE,
    VALUE_SCALE,
    QUERY_NORM,
    KEY_NORM
}; /* inputs */
enum { OUTPUT, PRESENT_KEY, PRESENT_VALUE, SCORES };

/* ---- infer ------------------------------------------------------------------------------------------------------- */

static tort_status read_heads(const tort_node_view *node, tort_error *error, int64_t *heads, int64_t *key_heads) {
    *heads = tort_attr_int(node, "num_heads");
    *key_heads = tort_attr_int(node, "kv_num_heads");
    if (*heads >= 1 && *key_heads >= 1 && *heads <= INT32_MAX && *heads % *key_heads == 0) return TORT_OK;
    return tort_fail(
        error, TORT_E_MODEL,
        "num_heads is %lld, kv_num_heads %lld; expected 1 or more, and a multiple of the second as the first",
        (long long)*heads, (long long)*key_heads);
}

static tort_status infer_group_query(tort_infer *infer) {
    const tort_node_view *node = infer->node;
    const tort_info *query = &node->inputs[QUERY], *past = &node->inputs[PAST_KEY];
    int64_t heads, key_heads;
    tort_scalar longest;
    const tort_type cache = tort_has_input(node, PAST_KEY) ? past->type : query->type;
    for (int32_t o = OUTPUT; o <= SCORES; o++)
        infer->outputs[o].type = o == PRESENT_KEY || o == PRESENT_VALUE ? cache : query->type;
    tort_status status = read_heads(node, infer->error, &heads, &key_heads);
    if (!status) status = tort_read_symbol(infer, TOTAL, "total_sequence_length", &longest);
    if (status || query->rank < 0) return status;
    if (query->rank != 3) return tort_fail(infer->error, TORT_E_MODEL, "query has rank %d; expected 3", query->rank);
    const bool packed = !tort_has_input(node, KEY);
    const tort_dim size = tort_heads_divide(infer->dims, query->dims[2], packed ? heads + 2 * key_heads : heads);
    const tort_dim hidden = packed ? tort_dim_mul(infer->dims, size, heads) : query->dims[2];
    const tort_dim output[3] = {query->dims[0], query->dims[1], hidden};
    const tort_dim total = tort_scalar_to_dim(infer->dims, longest);
    tort_dim length = total;
    if (tort_has_input(node, PAST_KEY) && tort_attr_int(node, "sliding_window_cache") != 0)
        length = past->rank == 4 ? past->dims[2] : tort_dim_fresh(infer->dims, true);
    else if (tort_has_input(node, PAST_KEY))
        length = past->rank == 4 ? tort_dim_max(infer->dims, total, past->dims[2]) : tort_dim_fresh(infer->dims, true);
    const tort_dim present[4] = {query->dims[0], key_heads, length, size};
    const tort_dim scores[4] = {query->dims[0], heads, query->dims[1], total};
    tort_infer_shape(infer, OUTPUT, query->type, 3, output);
    tort_infer_shape(infer, PRESENT_KEY, cache, 4, present);
    tort_infer_shape(infer, PRESENT_VALUE, cache, 4, present);
    tort_infer_shape(infer, SCORES, query->type, 4, scores);
    return TORT_OK;
}

/* ---- resolve ----------------------------------------------------------------------------------------------------- */

/* Refuses quantized caches, and what does not go with a cache that evicts. */
static tort_status refuse(const tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    const tort_type cache = node->inputs[tort_has_input(node, PAST_KEY) ? PAST_KEY : QUERY].type;
    const bool quantized = strcmp(tort_attr_string(node, "k_quant_type"), "NONE") != 0 ||
                           strcmp(tort_attr_string(node, "v_quant_type"), "NONE") != 0;
    if (cache != node->inputs[QUERY].type || quantized || tort_has_input(node, KEY_SCALE) ||
        tort_has_input(node, VALUE_SCALE))
        return tort_fail(resolve->error, TORT_E_UNSUPPORTED,
                         "the cache of keys is quantized; export the model with a cache of the type of the query");
    if (tort_attr_int(node, "sliding_window_cache") == 0) return TORT_OK;
    if (tort_attr_int(node, "local_window_size") < 1 || tort_attr_int(node, "causal") == 0 ||
        !tort_has_input(node, PAST_KEY))
        return tort_fail(resolve->error, TORT_E_MODEL,
                         "sliding_window_cache needs local_window_size of 1 or more, causal 1 and past_key");
    if (tort_has_input(node, SCORE_BIAS) || tort_has_output(node, SCORES))
        return tort_fail(resolve->error, TORT_E_UNSUPPORTED,
                         "sliding_window_cache with attention_bias or output_qk, which are for keys that the cache has "
                         "lost; export the model with a cache of the whole sequence");
    return TORT_OK;
}

/* Reads Q, K and V, side by side in one input or each in its own. */
static tort_status read_rows(const tort_resolve *resolve, tort_heads_params *p) {
    const tort_node_view *node = resolve->node;
    const int64_t *dims = node->inputs[QUERY].dims, length = dims[1];
    const bool packed = !tort_has_input(node, KEY);
    const int64_t heads = p->query_heads + (packed ? 2 * p->key_heads : 0), size = dims[2] / heads;
    if (packed != !tort_has_input(node, VALUE))
        return tort_fail(resolve->error, TORT_E_MODEL, "key and value must be given together");
    if (size * heads != dims[2] || size < 1)
        return tort_fail(resolve->error, TORT_E_MODEL,
                         "a position of the query has %lld elements; expected a multiple "
                         "of the %lld heads",
                         (long long)dims[2], (long long)heads);
    p->batch = dims[0];
    p->queries = p->new_keys = length;
    p->key_size = p->value_size = size;
    p->query.operand = QUERY;
    p->query.strides = (tort_head_strides){length * dims[2], size, dims[2], 1};
    p->key.strides = p->value.strides = p->query.strides;
    p->key.operand = p->value.operand = QUERY;
    p->key.offset = p->query_heads * size;
    p->value.offset = p->key.offset + p->key_heads * size;
    p->output.operand = OUTPUT;
    p->output.strides = (tort_head_strides){length * p->query_heads * size, size, p->query_heads * size, 1};
    if (packed) return TORT_OK;
    const int64_t *keys = node->inputs[KEY].dims, hidden = p->key_heads * size;
    if (node->inputs[KEY].rank == 3 && keys[1] == 0) p->new_keys = 0; /* all keys are in the past */
    const int64_t wanted[3] = {p->batch, p->new_keys, hidden};
    p->key.operand = KEY;
    p->value.operand = VALUE;
    p->key.offset = p->value.offset = 0;
    p->key.strides = p->value.strides = (tort_head_strides){p->new_keys * hidden, size, hidden, 1};
    tort_status status = tort_heads_expect(resolve, KEY, "key", 3, wanted);
    return status ? status : tort_heads_expect(resolve, VALUE, "value", 3, wanted);
}

static tort_status read_past(const tort_resolve *resolve, tort_heads_params *p) {
    const tort_node_view *node = resolve->node;
    if (tort_has_output(node, PRESENT_KEY)) p->present_key = PRESENT_KEY;
    if (tort_has_output(node, PRESENT_VALUE)) p->present_value = PRESENT_VALUE;
    if (tort_has_input(node, PAST_KEY) != tort_has_input(node, PAST_VALUE))
        return tort_fail(resolve->error, TORT_E_MODEL, "past_key and past_value must be given together");
    if (!tort_has_input(node, PAST_KEY)) return TORT_OK;
    const int64_t length = node->inputs[PAST_KEY].rank == 4 ? node->inputs[PAST_KEY].dims[2] : -1;
    const int64_t wanted[4] = {p->batch, p->key_heads, length, p->key_size};
    p->past_length = length;
    p->past_key.operand = PAST_KEY;
    p->past_value.operand = PAST_VALUE;
    const int64_t head = length * p->key_size;
    p->past_key.strides = p->past_value.strides = (tort_head_strides){p->key_heads * head, head, p->key_size, 1};
    tort_status status = tort_heads_expect(resolve, PAST_KEY, "past_key", 4, wanted);
    if (!status && p->cached_window > length)
        status = tort_fail(resolve->error, TORT_E_MODEL,
                           "the cache has room for %lld keys, fewer than the %lld of local_window_size",
                           (long long)length, (long long)p->cached_window);
    if (!status && p->cached_window && p->new_keys != p->queries)
        status = tort_fail(resolve->error, TORT_E_MODEL, "sliding_window_cache needs a key for each query");
    return status ? status : tort_heads_expect(resolve, PAST_VALUE, "past_value", 4, wanted);
}

static tort_status read_rotary(const tort_resolve *resolve, tort_heads_params *p) {
    const tort_node_view *node = resolve->node;
    if (tort_attr_int(node, "do_rotary") == 0) return TORT_OK;
    if (!tort_has_input(node, COSINES) || !tort_has_input(node, SINES))
        return tort_fail(resolve->error, TORT_E_MODEL, "do_rotary needs cos_cache and sin_cache");
    const tort_info *cosines = &node->inputs[COSINES];
    const int64_t caches[2] = {-1, -1}, ids[2] = {p->batch, p->queries};
    tort_status status = tort_heads_expect(resolve, COSINES, "cos_cache", 2, caches);
    if (!status) status = tort_heads_expect(resolve, SINES, "sin_cache", 2, cosines->dims);
    if (!status) status = tort_heads_expect(resolve, POSITIONS, "position_ids", 2, ids);
    if (status) return status;
    p->rotated = 2 * cosines->dims[1];
    p->cache_length = cosines->dims[0];
    p->cosines = COSINES;
    p->sines = SINES;
    if (tort_has_input(node, POSITIONS)) p->positions = POSITIONS;
    p->interleaved = tort_attr_int(node, "rotary_interleaved") != 0;
    if (p->rotated <= p->key_size) return TORT_OK;
    return tort_fail(resolve->error, TORT_E_MODEL, "cos_cache turns %lld elements of a head, which has %lld",
                     (long long)p->rotated, (long long)p->key_size);
}

static tort_status read_norms(const tort_resolve *resolve, tort_heads_params *p) {
    const tort_node_view *node = resolve->node;
    const int64_t wanted[1] = {p->key_size};
    if (tort_has_input(node, QUERY_NORM) != tort_has_input(node, KEY_NORM))
        return tort_fail(resolve->error, TORT_E_MODEL, "q_norm_weight and k_norm_weight must be given together");
    if (!tort_has_input(node, QUERY_NORM)) return TORT_OK;
    p->key_norm = KEY_NORM;
    p->norm_epsilon = (double)tort_attr_float(node, "qk_norm_epsilon");
    tort_status status = tort_heads_expect(resolve, QUERY_NORM, "q_norm_weight", 1, wanted);
    return status ? status : tort_heads_expect(resolve, KEY_NORM, "k_norm_weight", 1, wanted);
}

/* Reads the bias of the scores, the sinks, and the numbers of keys. */
static tort_status read_scores(const tort_resolve *resolve, tort_heads_params *p) {
    const int64_t sinks[1] = {p->query_heads}, lengths[1] = {p->batch};
    p->lengths = LENGTHS;
    p->total = TOTAL;
    p->zero_rest = true;
    tort_status status = tort_heads_read_score_bias(resolve, p, SCORE_BIAS);
    if (!status) status = tort_heads_expect(resolve, SINK, "head_sink", 1, sinks);
    if (!status) status = tort_heads_expect(resolve, LENGTHS, "seqlens_k", 1, lengths);
    return status;
}

static tort_status read_attributes(const tort_resolve *resolve, tort_heads_params *p) {
    const tort_node_view *node = resolve->node;
    const int64_t window = tort_attr_int(node, "local_window_size");
    const int64_t shown = tort_attr_int(node, "qk_output");
    p->causal = tort_attr_int(node, "causal") != 0;
    p->left_window = window > 0 && p->causal ? window : -1;
    p->cached_window = tort_attr_int(node, "sliding_window_cache") ? window : 0;
    p->smooth = tort_attr_int(node, "smooth_softmax") == 1;
    p->softcap = (double)tort_attr_float(node, "softcap");
    p->scale = (double)tort_attr_float(node, "scale");
    if (shown < 0 || shown > 2)
        return tort_fail(resolve->error, TORT_E_MODEL, "qk_output is %lld; expected 0, 1 or 2", (long long)shown);
    if (shown && tort_has_output(node, SCORES)) p->scores = SCORES;
    p->scores_stage = shown == 1 ? TORT_HEADS_BIASED : TORT_HEADS_WEIGHTS;
    return TORT_OK;
}

/* Reads what claims ask for before all shapes are known: operands, and the size of a head, -1 if it is not known yet.
 */
static void read_kind(const tort_node_view *node, tort_heads_params *p) {
    const tort_info *query = &node->inputs[QUERY], *past = &node->inputs[PAST_KEY];
    const int64_t heads = p->query_heads + (tort_has_input(node, KEY) ? 0 : 2 * p->key_heads);
    int64_t size = query->rank == 3 && tort_dim_known(query->dims[2]) ? query->dims[2] / heads : -1;
    if (size < 0 && tort_has_input(node, PAST_KEY) && past->rank == 4 && tort_dim_known(past->dims[3]))
        size = past->dims[3];
    p->key_size = p->value_size = size;
    if (tort_has_input(node, SINK)) p->sink = SINK;
    if (tort_has_input(node, QUERY_NORM)) p->query_norm = QUERY_NORM;
}

static tort_status resolve_group_query(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    tort_heads_params *p = resolve->params;
    tort_heads_clear(p);
    tort_status status = read_heads(node, resolve->error, &p->query_heads, &p->key_heads);
    if (!status) status = refuse(resolve);
    if (!status) status = read_attributes(resolve, p);
    if (status) return status;
    read_kind(node, p);
    if (!tort_inputs_known(node)) return TORT_OK;
    status = read_rows(resolve, p);
    if (!status) status = read_past(resolve, p);
    if (!status) status = read_rotary(resolve, p);
    if (!status) status = read_norms(resolve, p);
    if (!status) status = read_scores(resolve, p);
    if (status) return status;
    if (p->scale == 0) p->scale = 1 / sqrt((double)p->key_size);
    return tort_heads_settle_microsoft(resolve);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const tort_op tort_ops_group_query_attention[] = {
    {"com.microsoft", "GroupQueryAttention", 1, 1,
     "query:T key?:T value?:T past_key?:T_CACHE past_value?:T_CACHE seqlens_k:M total_sequence_length:M "
     "cos_cache?:T sin_cache?:T position_ids?:int64 attention_bias?:T head_sink?:T k_scale?:T_KV_SCALE "
     "v_scale?:T_KV_SCALE q_norm_weight?:T k_norm_weight?:T",
     "output:T present_key?:T_CACHE present_value?:T_CACHE output_qk?:T",
     "T=float16|bfloat16|float T_CACHE=float|float16|bfloat16|uint8|int8|float8e4m3fn T_KV_SCALE=float "
     "M=int32",
     "causal:int=1 do_rotary:int k_quant_type:string=NONE kv_cache_bit_width:int kv_num_heads:int! "
     "local_window_size:int=-1 num_heads:int! qk_norm_epsilon:float=1e-06 qk_output:int=0 "
     "rotary_interleaved:int scale:float sliding_window_cache:int=0 smooth_softmax:int=-1 softcap:float "
     "v_quant_type:string=NONE",
     .shape_inputs = 1u << TOTAL, .params_size = sizeof(tort_heads_params), infer_group_query, resolve_group_query,
     tort_heads_reference},
    {0},
};
