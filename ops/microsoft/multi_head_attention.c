/* multi_head_attention.c - MultiHeadAttention of com.microsoft, and DecoderMaskedMultiHeadAttention, which is the same
 * for a single query, with its inputs in another order. Read next: heads.h. */
#include "ops/microsoft/heads.h"
#include "ops/shapes.h"

#include <math.h>

enum { QUERY }; /* first input; the other indices differ by operator */
enum { OUTPUT, PRESENT_KEY, PRESENT_VALUE, SCORES };

typedef struct input_order {
    int32_t key, value, bias, mask, score_bias, past_key, past_value, past_count, beams, beam_choices;
} input_order;

static const input_order orders[] = {
    {.key = 1,
     .value = 2,
     .bias = 3,
     .mask = 4,
     .score_bias = 5,
     .past_key = 6,
     .past_value = 7,
     .past_count = 8,
     .beams = -1,
     .beam_choices = 9},
    {.key = 1,
     .value = 2,
     .mask = 3,
     .score_bias = 4,
     .past_key = 5,
     .past_value = 6,
     .past_count = 7,
     .beams = 8,
     .beam_choices = 9,
     .bias = 10},
};

static bool is_decoder(const tort_node_view *node) {
    return node->op->name[0] == 'D';
}

static const input_order *order_of(const tort_node_view *node) {
    return &orders[is_decoder(node)];
}

/* ---- the main inputs --------------------------------------------------------------------------------------------- */

/* Sizes from the shapes of query, key and value; those that are not known are expressions, or -1. */
typedef struct main_dims {
    tort_dim batch, queries, keys, key_size, value_size; /* keys: new ones */
} main_dims;

/* Reads the query. A packed one of rank 3 has Q, K and V side by side, of heads of one size. */
static void read_query(const tort_node_view *node, tort_dims *dims, int64_t heads, main_dims *out) {
    const tort_info *query = &node->inputs[QUERY];
    const bool packed = !tort_has_input(node, order_of(node)->key);
    out->batch = query->dims[0];
    out->queries = out->keys = query->dims[1];
    if (query->rank == 5)
        out->key_size = query->dims[4];
    else if (dims)
        out->key_size = tort_heads_divide(dims, query->dims[2], packed ? 3 * heads : heads);
    else
        out->key_size = query->dims[2] / (packed ? 3 * heads : heads);
    out->value_size = out->key_size;
}

static tort_status read_dims(const tort_node_view *node, tort_dims *dims, tort_error *error, main_dims *out) {
    const input_order *order = order_of(node);
    const tort_info *query = &node->inputs[QUERY], *key = &node->inputs[order->key],
                    *value = &node->inputs[order->value];
    const int64_t heads = tort_attr_int(node, "num_heads");
    const bool packed = !tort_has_input(node, order->key);
    if (heads < 1 || heads > INT32_MAX)
        return tort_fail(error, TORT_E_MODEL, "num_heads is %lld; expected 1 or more", (long long)heads);
    if (query->rank != 3 && !(query->rank == 5 && packed && !is_decoder(node)))
        return tort_fail(error, TORT_E_MODEL, "query has rank %d; expected 3%s", query->rank,
                         is_decoder(node) ? "" : ", or, without a key, 5");
    if (packed && query->rank == 3 && !is_decoder(node))
        return tort_fail(error, TORT_E_MODEL, "a query of rank 3 needs a key");
    read_query(node, dims, heads, out);
    if (packed) return TORT_OK;
    const int32_t value_rank = tort_has_input(node, order->value) ? value->rank : 5;
    if (key->rank < 3 || key->rank > 5 || key->rank != value_rank)
        return tort_fail(error, TORT_E_MODEL,
                         "key has rank %d, value rank %d; expected 3 or 4 for both, or 5 for a key without a value",
                         key->rank, tort_has_input(node, order->value) ? value->rank : 0);
    out->keys = key->dims[key->rank == 4 ? 2 : 1];
    if (key->rank == 4) out->value_size = value->dims[3];
    if (key->rank == 3)
        out->value_size = dims ? tort_heads_divide(dims, value->dims[2], heads) : value->dims[2] / heads;
    return TORT_OK;
}

/* ---- infer ------------------------------------------------------------------------------------------------------- */

/* *total: number of keys with those of the past; *room: length of the present, which may have more room. */
static void read_lengths(const tort_infer *infer, tort_dim keys, tort_dim *total, tort_dim *room) {
    const tort_node_view *node = infer->node;
    const input_order *order = order_of(node);
    const tort_info *past = &node->inputs[order->past_key];
    *total = *room = keys;
    if (!tort_has_input(node, order->past_key)) return;
    const tort_dim length = past->rank == 4 ? past->dims[2] : tort_dim_fresh(infer->dims, true);
    tort_scalar count = {.symbolic = true};
    const bool shares = tort_has_input(node, order->past_count);
    *room = shares ? length : tort_dim_add(infer->dims, keys, length);
    *total = *room;
    if (!shares) return;
    /* Only the output of scores needs the number of keys; it is rarely used. */
    if (tort_has_output(node, SCORES) &&
        tort_read_symbol(infer, order->past_count, "past_sequence_length", &count) == TORT_OK)
        *total = tort_dim_add(infer->dims, tort_scalar_to_dim(infer->dims, count), keys);
}

static tort_status infer_multi_head(tort_infer *infer) {
    const tort_node_view *node = infer->node;
    const input_order *order = order_of(node);
    main_dims main;
    for (int32_t o = OUTPUT; o <= SCORES; o++) infer->outputs[o].type = node->inputs[QUERY].type;
    const int32_t operands[] = {QUERY, order->key, order->value};
    for (int32_t i = 0; i < 3; i++)
        if (tort_has_input(node, operands[i]) && node->inputs[operands[i]].rank < 0) return TORT_OK;
    tort_status status = read_dims(node, infer->dims, infer->error, &main);
    if (status) return status;
    const tort_type type = node->inputs[QUERY].type;
    const tort_dim heads = tort_attr_int(node, "num_heads");
    tort_dim total, room;
    read_lengths(infer, main.keys, &total, &room);
    const tort_dim output[3] = {main.batch, main.queries, tort_dim_mul(infer->dims, heads, main.value_size)};
    const tort_dim present_key[4] = {main.batch, heads, room, main.key_size};
    const tort_dim present_value[4] = {main.batch, heads, room, main.value_size};
    const tort_dim scores[4] = {main.batch, heads, main.queries, total};
    tort_infer_shape(infer, OUTPUT, type, 3, output);
    tort_infer_shape(infer, PRESENT_KEY, type, 4, present_key);
    tort_infer_shape(infer, PRESENT_VALUE, type, 4, present_value);
    tort_infer_shape(infer, SCORES, type, 4, scores);
    return TORT_OK;
}

/* ---- resolve ----------------------------------------------------------------------------------------------------- */

/* Sets rows of (batch, position, head, which of `parts`, element). */
static void set_packed(tort_heads_rows *rows, int32_t operand, int64_t length, int64_t heads, int64_t parts,
                       int64_t which, int64_t size) {
    rows->operand = operand;
    rows->offset = which * size;
    rows->strides = (tort_head_strides){length * heads * parts * size, parts * size, heads * parts * size, 1};
}

/* Sets rows of (batch, head, position, element). */
static void set_heads(tort_heads_rows *rows, int32_t operand, int64_t length, int64_t heads, int64_t size) {
    rows->operand = operand;
    rows->strides = (tort_head_strides){heads * length * size, length * size, size, 1};
}

static void set_rows(const tort_node_view *node, tort_heads_params *p) {
    const input_order *order = order_of(node);
    const int64_t heads = p->query_heads, size = p->key_size, length = p->new_keys;
    const bool key = tort_has_input(node, order->key);
    const int32_t rank = key ? node->inputs[order->key].rank : 0;
    const int32_t packed = node->inputs[QUERY].rank == 5 ? QUERY : order->key;
    set_packed(&p->query, QUERY, p->queries, heads, !key && packed == QUERY ? 3 : 1, 0, size);
    set_packed(&p->output, OUTPUT, p->queries, heads, 1, 0, p->value_size);
    if (rank == 4) {
        set_heads(&p->key, order->key, length, heads, size);
        set_heads(&p->value, order->value, length, heads, p->value_size);
    } else if (rank == 3) {
        set_packed(&p->key, order->key, length, heads, 1, 0, size);
        set_packed(&p->value, order->value, length, heads, 1, 0, p->value_size);
    } else if (rank == 5 || packed == QUERY) {
        set_packed(&p->key, packed, length, heads, rank == 5 ? 2 : 3, rank == 5 ? 0 : 1, size);
        set_packed(&p->value, packed, length, heads, rank == 5 ? 2 : 3, rank == 5 ? 1 : 2, size);
    } else { /* Q, K and V of a position are side by side */
        const int64_t hidden = heads * size;
        p->query.operand = p->key.operand = p->value.operand = QUERY;
        p->key.offset = hidden;
        p->value.offset = 2 * hidden;
        p->query.strides = p->key.strides = p->value.strides =
            (tort_head_strides){p->queries * 3 * hidden, size, 3 * hidden, 1};
    }
}

static tort_status check_main(const tort_resolve *resolve, const tort_heads_params *p) {
    const tort_node_view *node = resolve->node;
    const input_order *order = order_of(node);
    const int64_t heads = p->query_heads, size = p->key_size, b = p->batch, l = p->new_keys;
    const int32_t rank = tort_has_input(node, order->key) ? node->inputs[order->key].rank : 0;
    const int64_t query3[3] = {b, p->queries, heads * size * (rank ? 1 : 3)};
    const int64_t query5[5] = {b, p->queries, heads, 3, size}, key5[5] = {b, l, heads, 2, size};
    const int64_t key3[3] = {b, l, heads * size}, value3[3] = {b, l, heads * p->value_size};
    const int64_t key4[4] = {b, heads, l, size}, value4[4] = {b, heads, l, p->value_size};
    const int32_t query_rank = node->inputs[QUERY].rank;
    tort_status status = tort_heads_expect(resolve, QUERY, "query", query_rank, query_rank == 5 ? query5 : query3);
    if (!status && rank)
        status = tort_heads_expect(resolve, order->key, "key", rank, rank == 3 ? key3 : rank == 4 ? key4 : key5);
    if (!status && rank) status = tort_heads_expect(resolve, order->value, "value", rank, rank == 4 ? value4 : value3);
    if (!status && !rank && tort_has_input(node, order->value))
        status = tort_fail(resolve->error, TORT_E_MODEL, "there is a value without a key");
    if (!status && is_decoder(node) && p->queries != 1)
        status = tort_fail(resolve->error, TORT_E_MODEL, "there are %lld queries; expected 1", (long long)p->queries);
    return status;
}

static tort_status read_past(const tort_resolve *resolve, tort_heads_params *p) {
    const tort_node_view *node = resolve->node;
    const input_order *order = order_of(node);
    if (tort_has_output(node, PRESENT_KEY)) p->present_key = PRESENT_KEY;
    if (tort_has_output(node, PRESENT_VALUE)) p->present_value = PRESENT_VALUE;
    if (tort_has_input(node, order->past_key) != tort_has_input(node, order->past_value))
        return tort_fail(resolve->error, TORT_E_MODEL, "past_key and past_value must be given together");
    if (!tort_has_input(node, order->past_key)) return TORT_OK;
    const tort_info *past = &node->inputs[order->past_key];
    const int64_t length = past->rank == 4 ? past->dims[2] : -1;
    const int64_t keys[4] = {p->batch, p->query_heads, length, p->key_size};
    const int64_t values[4] = {p->batch, p->query_heads, length, p->value_size};
    tort_status status = tort_heads_expect(resolve, order->past_key, "past_key", 4, keys);
    if (!status) status = tort_heads_expect(resolve, order->past_value, "past_value", 4, values);
    if (status) return status;
    p->past_length = length;
    set_heads(&p->past_key, order->past_key, length, p->query_heads, p->key_size);
    set_heads(&p->past_value, order->past_value, length, p->query_heads, p->value_size);
    if (tort_has_input(node, order->past_count)) p->past_count = order->past_count;
    return tort_check_single(node, order->past_count, "past_sequence_length", resolve->error);
}

static tort_status read_beams(const tort_resolve *resolve, tort_heads_params *p) {
    const tort_node_view *node = resolve->node;
    const input_order *order = order_of(node);
    p->beam_width = 1;
    if (p->beam_choices < 0) return TORT_OK;
    const tort_info *choices = &node->inputs[order->beam_choices];
    if (choices->rank != 3 || choices->dims[0] * choices->dims[1] != p->batch || choices->dims[2] < p->past_length)
        return tort_fail(resolve->error, TORT_E_MODEL,
                         "cache_indirection must have shape [batch, beams, keys], with %lld rows of at least %lld",
                         (long long)p->batch, (long long)p->past_length);
    p->beam_stride = choices->dims[2];
    p->beam_width = choices->dims[1];
    if (order->beams >= 0 && tort_has_input(node, order->beams)) p->beams = order->beams;
    return TORT_OK;
}

/* Reads the bias of Q, K and V. Keys and values of rank 4 come from another node, which has added it. */
static tort_status read_bias(const tort_resolve *resolve, tort_heads_params *p) {
    const input_order *order = order_of(resolve->node);
    const int64_t hidden = p->query_heads * p->key_size;
    const int64_t wanted[1] = {2 * hidden + p->query_heads * p->value_size};
    if (!tort_has_input(resolve->node, order->bias)) return TORT_OK;
    const bool all = !tort_has_input(resolve->node, order->key) || resolve->node->inputs[order->key].rank != 4;
    p->bias = order->bias;
    p->bias_offsets[0] = 0;
    for (int32_t which = 1; which < 3 && all; which++) p->bias_offsets[which] = which * hidden;
    return tort_heads_expect(resolve, order->bias, "bias", 1, wanted);
}

static void read_attributes(const tort_node_view *node, tort_heads_params *p) {
    p->scale = (double)tort_attr_float(node, "scale");
    p->mask_filter = tort_attr(node, "mask_filter_value") ? (double)tort_attr_float(node, "mask_filter_value") : -10000;
    p->query_heads = p->key_heads = tort_attr_int(node, "num_heads");
    if (tort_has_output(node, SCORES)) p->scores = SCORES;
    p->scores_stage = TORT_HEADS_BIASED;
}

/* Returns elements / parts; -1: not known yet. */
static int64_t divided(tort_dim elements, int64_t parts) {
    return tort_dim_known(elements) ? elements / parts : -1;
}

/* Reads what claims ask for before all shapes are known: the beams, and the sizes of heads, -1 if they are not known
 * yet. */
static void read_kind(const tort_node_view *node, tort_heads_params *p) {
    const input_order *order = order_of(node);
    const tort_info *query = &node->inputs[QUERY], *value = &node->inputs[order->value];
    const bool packed = !tort_has_input(node, order->key);
    p->key_size = query->rank == 5   ? divided(query->dims[4], 1)
                  : query->rank == 3 ? divided(query->dims[2], (packed ? 3 : 1) * p->query_heads)
                                     : -1;
    p->value_size = p->key_size;
    if (tort_has_input(node, order->value))
        p->value_size = value->rank == 4   ? divided(value->dims[3], 1)
                        : value->rank == 3 ? divided(value->dims[2], p->query_heads)
                                           : -1;
    if (tort_has_input(node, order->beam_choices) && tort_has_input(node, order->past_key))
        p->beam_choices = order->beam_choices;
}

static tort_status resolve_multi_head(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    const input_order *order = order_of(node);
    tort_heads_params *p = resolve->params;
    main_dims main;
    tort_heads_clear(p);
    read_attributes(node, p);
    if (p->query_heads > 0) read_kind(node, p);
    if (!tort_inputs_known(node)) return TORT_OK;
    tort_status status = read_dims(node, NULL, resolve->error, &main);
    if (status) return status;
    p->batch = main.batch;
    p->queries = main.queries;
    p->new_keys = main.keys;
    p->key_size = main.key_size;
    p->value_size = main.value_size;
    p->causal = tort_attr_int(node, "unidirectional") != 0;
    if (p->scale == 0) p->scale = 1 / sqrt((double)p->key_size);
    set_rows(node, p);
    status = check_main(resolve, p);
    if (!status) status = read_past(resolve, p);
    if (!status) status = read_beams(resolve, p);
    if (!status) status = read_bias(resolve, p);
    if (!status) status = tort_heads_read_mask(resolve, p, order->mask, "key_padding_mask");
    if (!status) status = tort_heads_read_score_bias(resolve, p, order->score_bias);
    return status ? status : tort_heads_settle_microsoft(resolve);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define OUTPUTS "output:T present_key?:T present_value?:T qk?:QK"

const tort_op tort_ops_multi_head_attention[] = {
    {"com.microsoft", "MultiHeadAttention", 1, 1,
     "query:T key?:T value?:T bias?:T key_padding_mask?:M attention_bias?:T past_key?:T past_value?:T "
     "past_sequence_length?:M cache_indirection?:M",
     OUTPUTS, "T=float|float16|bfloat16 QK=float|float16|bfloat16 M=int32",
     "mask_filter_value:float num_heads:int! scale:float unidirectional:int=0", .shape_inputs = 1u << 8,
     .params_size = sizeof(tort_heads_params), infer_multi_head, resolve_multi_head, tort_heads_reference},
    {"com.microsoft", "DecoderMaskedMultiHeadAttention", 1, 1,
     "query:T key?:T value?:T mask_index?:M attention_bias?:T past_key?:T past_value?:T "
     "past_sequence_length?:M beam_width?:M cache_indirection?:M bias?:T",
     OUTPUTS, "T=float|float16 QK=float|float16 M=int32",
     "mask_filter_value:float num_heads:int! output_qk:int past_present_share_buffer:int scale:float",
     .shape_inputs = 1u << 7, .params_size = sizeof(tort_heads_params), infer_multi_head, resolve_multi_head,
     tort_heads_reference},
    {0},
};
