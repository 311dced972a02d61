/* attention.c - Attention: softmax(query * keys, masked) * values, with several query heads per key head (GQA), a cache
 * of past keys and values, causal and window masks, and a soft cap.
 *
 * A query whose keys are all hidden yields zeros. The loops compute in double and round once, which is more precise
 * than any softmax_precision. RotaryEmbedding is in rotary.c, the recurrent forms in linear_attention.c. */
#include "ops/attention.h"
#include "ops/index.h"

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

static tort_head_strides head_strides(bool packed, int64_t heads, int64_t length, int64_t size) {
    if (packed) return (tort_head_strides){length * heads * size, size, heads * size};
    return (tort_head_strides){heads * length * size, length * size, size};
}

static tort_status resolve_mask(tort_resolve *resolve, tort_attention_params *params) {
    const tort_info *mask = &resolve->node->inputs[MASK];
    const int64_t wanted[4] = {params->batch, params->query_heads, params->query_length, params->total_length};
    params->mask_length = params->total_length;
    if (!tort_has_input(resolve->node, MASK)) return TORT_OK;
    if (mask->rank < 1 || mask->rank > 4)
        return tort_fail(resolve->error, TORT_E_MODEL, "attn_mask has rank %d; expected 1 to 4", mask->rank);
    int64_t stride = 1;
    for (int32_t d = mask->rank - 1; d >= 0; d--) {
        int32_t to = 4 - mask->rank + d;
        int64_t size = mask->dims[d];
        /* The last dimension may be shorter than the keys: the keys behind it are hidden. */
        if (to == 3) params->mask_length = size;
        if (to == 3 ? size > wanted[to] : size != 1 && size != wanted[to])
            return tort_fail(resolve->error, TORT_E_MODEL, "dimension %d of attn_mask is %lld; it does not fit %lld", d,
                             (long long)size, (long long)wanted[to]);
        params->mask_strides[to] = size == 1 ? 0 : stride;
        stride *= size;
    }
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

/* Number of workers: one per (batch, key head), but at most 32, since each has its own scratch. */
static int64_t worker_count(const tort_attention_params *params) {
    int64_t items = params->batch * params->key_heads;
    return items < 32 ? items : 32;
}

/* Scratch of a worker, in doubles: all keys and values of a head, a query, an output row, scores and biases. */
static tort_status count_scratch(tort_resolve *resolve, const tort_attention_params *params) {
    size_t total, row = (size_t)(params->key_size + params->value_size);
    if (!tort_add_size((size_t)params->total_length, 1, &total) || !tort_mul_size(total, row, &total) ||
        !tort_add_size(total, 2 * (size_t)params->total_length, &total) ||
        !tort_mul_size(total, (size_t)worker_count(params) * sizeof(double), &resolve->scratch_bytes))
        return tort_fail(resolve->error, TORT_E_MEMORY, "%lld keys do not fit in memory",
                         (long long)params->total_length);
    return TORT_OK;
}

/* Window size, -1 for none; limited so that adding a position cannot overflow. */
static int64_t window_size(const tort_node_view *node, const char *name) {
    int64_t size = tort_attr_int(node, name);
    return size < INT64_MAX / 2 ? size : INT64_MAX / 2;
}

static void resolve_attributes(const tort_node_view *node, tort_attention_params *params) {
    params->softcap = (double)tort_attr_float(node, "softcap");
    params->causal = tort_attr_int(node, "is_causal") != 0;
    params->score_output = (int32_t)tort_attr_int(node, "qk_matmul_output_mode");
    params->left_window = params->right_window = -1;
    if (node->op->since < 25) return;
    params->left_window = window_size(node, "left_window_size");
    params->right_window = window_size(node, "right_window_size");
}

static void resolve_sizes(const tort_node_view *node, const head_dims *query, const head_dims *key,
                          const head_dims *value, tort_attention_params *params) {
    const bool packed = node->inputs[QUERY].rank == 3;
    params->batch = query->batch;
    params->query_heads = query->heads;
    params->key_heads = key->heads;
    params->query_length = query->length;
    params->new_length = key->length;
    params->past_length = tort_has_input(node, PAST_KEY) ? node->inputs[PAST_KEY].dims[2] : 0;
    params->total_length = params->past_length + params->new_length;
    params->key_size = key->size;
    params->value_size = value->size;
    params->query = head_strides(packed, query->heads, query->length, query->size);
    params->key = head_strides(packed, key->heads, key->length, key->size);
    params->value = head_strides(packed, value->heads, value->length, value->size);
    params->output = head_strides(packed, query->heads, query->length, value->size);
    params->scale = tort_attr(node, "scale") ? (double)tort_attr_float(node, "scale")
                    : query->size > 0        ? 1 / sqrt((double)query->size)
                                             : 1;
}

static tort_status resolve_attention(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    tort_attention_params *params = resolve->params;
    head_dims query, key, value;
    resolve_attributes(node, params);
    if (!tort_inputs_known(node)) return TORT_OK;
    tort_status status = read_dims(node, NULL, resolve->error, QUERY, &query);
    if (status == TORT_OK) status = read_dims(node, NULL, resolve->error, KEY, &key);
    if (status == TORT_OK) status = read_dims(node, NULL, resolve->error, VALUE, &value);
    if (status == TORT_OK) status = check_shapes(resolve, &query, &key, &value);
    if (status != TORT_OK) return status;
    resolve_sizes(node, &query, &key, &value, params);
    status = resolve_mask(resolve, params);
    return status == TORT_OK ? count_scratch(resolve, params) : status;
}

/* ---- keys and values --------------------------------------------------------------------------------------------- */

/* Loads positions 0 .. total-1 of a head, the past ones first, as rows of doubles, and stores them in the present
 * output if there is one. */
static void gather_head(const tort_call *call, int32_t input, int64_t batch, int64_t head, double *rows) {
    const tort_attention_params *params = call->params;
    const tort_tensor *fresh = &call->inputs[input];
    const tort_head_strides *strides = input == KEY ? &params->key : &params->value;
    const int64_t size = input == KEY ? params->key_size : params->value_size, past = params->past_length;
    const int64_t index = batch * params->key_heads + head;
    if (past > 0) {
        const tort_tensor *cache = &call->inputs[input == KEY ? PAST_KEY : PAST_VALUE];
        tort_load_doubles(cache->type, cache->data, index * past * size, past * size, rows);
    }
    for (int64_t p = 0; p < params->new_length; p++) {
        int64_t from = batch * strides->batch + head * strides->head + p * strides->position;
        tort_load_doubles(fresh->type, fresh->data, from, size, rows + (past + p) * size);
    }
    const tort_tensor *present = tort_call_output(call, input == KEY ? PRESENT_KEY : PRESENT_VALUE);
    if (present)
        tort_store_doubles(present->type, present->data, index * params->total_length * size,
                           params->total_length * size, rows);
}

/* ---- one query --------------------------------------------------------------------------------------------------- */

typedef struct attention_query {
    const tort_call *call;
    const double *keys, *values; /* rows of all positions */
    double *query, *scores, *biases, *sum;
    int64_t batch, head, position;
} attention_query;

/* Fills the bias of each score: 0, an entry of a float mask, or -inf for a hidden key. */
static void fill_biases(const attention_query *query) {
    const tort_call *call = query->call;
    const tort_attention_params *params = call->params;
    const tort_tensor *mask = tort_call_input(call, MASK), *valid_keys = tort_call_input(call, VALID_KEYS);
    const int64_t total = params->total_length;
    int64_t valid = total, offset = params->past_length;
    if (valid_keys) {
        valid = tort_index_at(valid_keys, query->batch);
        offset = valid - params->query_length;
    }
    const int64_t *strides = params->mask_strides, at = query->position + offset;
    const int64_t row = query->batch * strides[0] + query->head * strides[1] + query->position * strides[2];
    for (int64_t j = 0; j < total; j++) {
        double bias = 0;
        if (mask && j < params->mask_length) {
            tort_load_doubles(mask->type, mask->data, row + j * strides[3], 1, &bias);
            if (mask->type == TORT_BOOL) bias = bias != 0 ? 0 : -INFINITY;
        }
        bool hidden = j >= params->mask_length || j >= valid || (params->causal && j > at) ||
                      (params->left_window >= 0 && j < at - params->left_window) ||
                      (params->right_window >= 0 && j > at + params->right_window);
        query->biases[j] = hidden ? -INFINITY : bias;
    }
}

/* Stores the scores of this query in output 3, if qk_matmul_output_mode asks for this stage. */
static void show_scores(const attention_query *query, int32_t stage) {
    const tort_call *call = query->call;
    const tort_attention_params *params = call->params;
    const tort_tensor *output = tort_call_output(call, SCORES);
    if (params->score_output != stage || !output) return;
    int64_t row = (query->batch * params->query_heads + query->head) * params->query_length + query->position;
    tort_store_doubles(output->type, output->data, row * params->total_length, params->total_length, query->scores);
}

/* Turns scores into probabilities; zeros if all keys are hidden. */
static void softmax_scores(const attention_query *query) {
    const int64_t total = ((const tort_attention_params *)query->call->params)->total_length;
    double max = -INFINITY, max_bias = -INFINITY, sum = 0;
    for (int64_t j = 0; j < total; j++) {
        if (query->scores[j] > max) max = query->scores[j];
        if (!(query->biases[j] <= max_bias)) max_bias = query->biases[j];
    }
    bool hidden = max_bias == -INFINITY;
    for (int64_t j = 0; j < total; j++) {
        query->scores[j] = hidden || query->scores[j] == -INFINITY ? 0 : exp(query->scores[j] - max);
        sum += query->scores[j];
    }
    for (int64_t j = 0; j < total && !hidden && sum != 0; j++) query->scores[j] /= sum;
}

static void attend(const attention_query *query) {
    const tort_call *call = query->call;
    const tort_attention_params *params = call->params;
    const tort_tensor *q = &call->inputs[QUERY], *y = &call->outputs[OUTPUT];
    const int64_t total = params->total_length, key_size = params->key_size, value_size = params->value_size;
    int64_t from = query->batch * params->query.batch + query->head * params->query.head +
                   query->position * params->query.position;
    tort_load_doubles(q->type, q->data, from, key_size, query->query);
    for (int64_t j = 0; j < total; j++)
        query->scores[j] = params->scale * tort_dot(query->query, query->keys + j * key_size, key_size);
    show_scores(query, 0);
    if (params->softcap > 0)
        for (int64_t j = 0; j < total; j++)
            query->scores[j] = params->softcap * tanh(query->scores[j] / params->softcap);
    show_scores(query, 1);
    fill_biases(query);
    for (int64_t j = 0; j < total; j++) query->scores[j] += query->biases[j];
    show_scores(query, 2);
    softmax_scores(query);
    show_scores(query, 3);
    for (int64_t i = 0; i < value_size; i++) query->sum[i] = 0;
    for (int64_t j = 0; j < total; j++) {
        const double weight = query->scores[j], *value = query->values + j * value_size;
        if (weight == 0) continue;
        for (int64_t i = 0; i < value_size; i++) query->sum[i] += weight * value[i];
    }
    int64_t to = query->batch * params->output.batch + query->head * params->output.head +
                 query->position * params->output.position;
    tort_store_doubles(y->type, y->data, to, value_size, query->sum);
}

/* Runs workers begin .. end-1; each takes every worker_count-th (batch, key head). */
static void attend_heads(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_attention_params *params = call->params;
    const int64_t workers = worker_count(params), group = params->query_heads / params->key_heads;
    const int64_t total = params->total_length, row = params->key_size + params->value_size;
    for (int64_t worker = begin; worker < end; worker++) {
        double *keys = (double *)call->scratch + worker * ((total + 1) * row + 2 * total);
        double *values = keys + total * params->key_size, *query = values + total * params->value_size;
        double *sum = query + params->key_size, *scores = sum + params->value_size;
        for (int64_t item = worker; item < params->batch * params->key_heads; item += workers) {
            attention_query state = {.call = call,
                                     .keys = keys,
                                     .values = values,
                                     .query = query,
                                     .scores = scores,
                                     .biases = scores + total,
                                     .sum = sum,
                                     .batch = item / params->key_heads};
            gather_head(call, KEY, state.batch, item % params->key_heads, keys);
            gather_head(call, VALUE, state.batch, item % params->key_heads, values);
            for (int64_t h = 0; h < group; h++) {
                state.head = item % params->key_heads * group + h;
                for (state.position = 0; state.position < params->query_length; state.position++) {
                    if (!tort_call_goes_on(call, 0)) return;
                    attend(&state);
                }
            }
        }
    }
}

static tort_status attention(const tort_call *call) {
    const tort_attention_params *params = call->params;
    const int64_t workers = worker_count(params);
    const tort_tensor *valid_keys = tort_call_input(call, VALID_KEYS);
    for (int64_t b = 0; valid_keys && b < params->batch; b++) {
        const int64_t valid = tort_index_at(valid_keys, b);
        if (valid < 0 || valid > params->total_length)
            return tort_fail(call->error, TORT_E_RUN, "nonpad_kv_seqlen[%lld] is %lld; expected 0 to %lld",
                             (long long)b, (long long)valid, (long long)params->total_length);
    }
    double work = (double)params->query_length * (double)params->query_heads * (double)params->total_length *
                  (double)(params->key_size + params->value_size);
    tort_parallel(call, workers, work < 1e15 ? (int64_t)work : (int64_t)1e15, attend_heads, (void *)call);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define INPUTS "Q:T1 K:T1 V:T2 attn_mask?:U past_key?:T1 past_value?:T2"
#define OUTPUTS "Y:T1 present_key?:T1 present_value?:T2 qk_matmul_output?:T1"
#define TYPES "T1=floats13 T2=floats13 U=numeric13|bool"
#define ATTRIBUTES                                                                                                     \
    "is_causal:int=0 kv_num_heads:int q_num_heads:int qk_matmul_output_mode:int=0 scale:float softcap:float=0 "        \
    "softmax_precision:int(floats13)"
#define BY .params_size = sizeof(tort_attention_params), infer_attention, resolve_attention, attention

const tort_op tort_ops_attention[] = {
    {"", "Attention", 23, 23, INPUTS, OUTPUTS, TYPES, ATTRIBUTES, BY},
    {"", "Attention", 24, 24, INPUTS " nonpad_kv_seqlen?:int64", OUTPUTS, TYPES, ATTRIBUTES, BY},
    {"", "Attention", 25, TORT_NEWEST_OPSET, INPUTS " nonpad_kv_seqlen?:int64", OUTPUTS, TYPES,
     ATTRIBUTES " left_window_size:int=-1 right_window_size:int=-1", BY},
    {"ai.onnx.preview", "FlexAttention", 1, 1, "Q:T1 K:T1 V:T1", "Y:T1", "T1=floats13",
     "prob_mod:graph scale:float score_mod:graph softmax_precision:int(floats13)", BY}, /* see flex_attention.c */
    {0},
};
