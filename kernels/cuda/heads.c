/* heads.c - rows and claims of com.microsoft's Attention, MultiHeadAttention, DecoderMaskedMultiHeadAttention and
 * GroupQueryAttention. A first launch lays out what the tiles cannot read in place (biases, rotary embedding, past
 * keys joined with new ones, in the outputs that hold them anyway); the second is the attention of attend.h. Before
 * them, Attention multiplies its input by the packed weights, into scratch.
 * ops/microsoft/ decodes params, and ops/attention.c those of Attention of ONNX, whose row is in attention.c. Kernels:
 * heads.cu, matmul.cu, attend_mma.cu, attend_float.cu. */
#include "kernels/cuda/heads.h"

#include "kernels/cuda/matmul.h"

/* ---- claims ------------------------------------------------------------------------------------------------------ */

#define CURE "pin the node to cpu if it may be there"

tort_verdict tort_cuda_claim_heads(const tort_target *target, const tort_node_view *node) {
    const tort_heads_params *p = node->params;
    if (p->scores >= 0)
        return tort_no(TORT_NO_ATTR, CURE, "an output shows the scores, which the kernel does not keep");
    if (p->beam_choices >= 0) return tort_no(TORT_NO_ATTR, CURE, "the kernel knows no beams (cache_indirection)");
    if (p->sink >= 0 || p->smooth) return tort_no(TORT_NO_ATTR, CURE, "the kernel knows no sinks of the softmax");
    if (p->query_norm >= 0) return tort_no(TORT_NO_ATTR, CURE, "the kernel does not normalize queries and keys");
    if (p->cached_window)
        return tort_no(TORT_NO_ATTR, "export the model with a cache of the whole sequence",
                       "keeps all keys, sliding_window_cache is 1");
    const tort_verdict verdict = tort_cuda_claim_attend_type(target, node);
    return verdict.code == TORT_YES ? tort_cuda_claim_attend(p->key_size, p->value_size) : verdict;
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

/* Operands to be laid out, and their offsets in scratch, behind the sums of parts, which product and attention use one
 * after the other. */
typedef struct heads_rooms {
    bool query, key, value; /* laid out */
    size_t projected_at, query_at, key_at, value_at, bytes;
} heads_rooms;

/* Returns the maximum number of keys of a batch. */
static int64_t capacity(const tort_heads_params *p) {
    const int64_t sum = p->past_length + p->new_keys;
    return p->past_count >= 0 ? p->past_length : sum;
}

/* True if the device knows the number of keys (input lengths), and the host's only bounds it: one query a batch, whose
 * place among the keys follows from the length. Then the work is that of as many keys as there is room for. */
static bool is_steady(const void *params) {
    const tort_heads_params *p = params;
    return p->lengths >= 0 && p->queries == 1 && p->positions < 0 && p->score_bias < 0;
}

static gpu_attend attend_of(const tort_heads_params *p, int64_t keys) {
    const int64_t *marks = p->mask_strides;
    return (gpu_attend){.batch = p->batch,
                        .heads = p->query_heads,
                        .group = tort_heads_group(p),
                        .queries = p->queries,
                        .keys = keys,
                        .end = p->end < keys ? p->end : keys,
                        .key_size = p->key_size,
                        .value_size = p->value_size,
                        .q_strides = p->query.strides,
                        .k_strides = p->key.strides,
                        .v_strides = p->value.strides,
                        .y_strides = p->output.strides,
                        .mask_strides = p->score_bias_strides,
                        .keep_strides = p->keep_strides,
                        .keep_where = p->keep_where,
                        .fill = (float)p->fill,
                        .mark_strides = {marks[0], 0, marks[1], marks[2]},
                        .mark_kind = (int32_t)p->mask_kind,
                        .mark_offset = p->mask_offset,
                        .marked = (float)p->mask_filter,
                        .scale = (float)p->scale,
                        .softcap = (float)p->softcap,
                        .causal = p->causal,
                        .last_sees_all = p->last_is_all,
                        .causal_adds = p->scores_all,
                        .left = p->left_window,
                        .right = p->right_window,
                        .empty = p->nan_to_zero     ? GPU_ATTEND_NAN_IS_ZERO
                                 : p->empty_is_zero ? GPU_ATTEND_EMPTY_IS_ZERO
                                                    : GPU_ATTEND_EMPTY_IS_NAN};
}

static bool has_bias(const tort_heads_params *p, int which) {
    return p->bias >= 0 && p->bias_offsets[which] >= 0;
}

static bool is_projected(const tort_heads_params *p) {
    return p->query.operand == TORT_HEADS_PROJECTED;
}

static gpu_matmul projection_of(const tort_heads_params *p) {
    return (gpu_matmul){.m = p->batch * p->queries,
                        .n = p->projected_size,
                        .k = p->input_size,
                        .batches = 1,
                        .a_row = p->input_size,
                        .a_column = 1,
                        .b_row = p->projected_size,
                        .b_column = 1,
                        .c_column = 1, /* the bias */
                        .alpha = 1.0f,
                        .beta = 1.0f};
}

static gpu_tiling tiling_of(const gpu_matmul *product, gpu_board board, tort_type type) {
    return tort_cuda_tiling_of(board, gpu_unit_of(gpu_product_type_of(board, type)), product->m, product->n, product->k,
                               1);
}

static bool reserve_projected(gpu_board board, tort_type type, const tort_heads_params *p, heads_rooms *r) {
    const gpu_matmul product = projection_of(p);
    const size_t sums = tiling_of(&product, board, type).scratch;
    if (r->bytes < sums) r->bytes = sums;
    return tort_cuda_reserve_heads(&r->bytes, &r->projected_at, p->batch, 1, p->queries, p->projected_size, type);
}

/* Reserves for as many keys as there may be, so that a plan for the longest sequence serves all. Where no input tells
 * how many there are, it is as many, and scratch is what their tiling takes. */
static bool lay_out_rooms(gpu_board board, tort_type type, const tort_heads_params *p, heads_rooms *r) {
    const gpu_attend attend = attend_of(p, capacity(p));
    const bool told = p->past_count >= 0 || p->lengths >= 0 || p->total >= 0;
    const bool past = p->past_key.operand >= 0;
    r->query = has_bias(p, 0) || p->rotated > 0;
    r->key = p->present_key >= 0 || past || has_bias(p, 1) || p->rotated > 0;
    r->value = p->present_value >= 0 || past || has_bias(p, 2);
    r->bytes = told ? tort_cuda_attend_max_scratch(board, type, &attend)
                    : tort_cuda_attend_tiling_of(board, type, &attend).scratch;
    return (!is_projected(p) || reserve_projected(board, type, p, r)) &&
           (!r->query || tort_cuda_reserve_heads(&r->bytes, &r->query_at, p->batch, p->query_heads, p->queries,
                                                 p->key_size, type)) &&
           (!r->key || p->present_key >= 0 ||
            tort_cuda_reserve_heads(&r->bytes, &r->key_at, p->batch, p->key_heads, capacity(p), p->key_size, type)) &&
           (!r->value || p->present_value >= 0 ||
            tort_cuda_reserve_heads(&r->bytes, &r->value_at, p->batch, p->key_heads, capacity(p), p->value_size, type));
}

tort_status tort_cuda_size_heads(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                 tort_error *error) {
    heads_rooms rooms = {0};
    if (!lay_out_rooms(tort_cuda_board_of(target), node->inputs[0].type, node->params, &rooms))
        return tort_out_of_memory(error, SIZE_MAX);
    *scratch = rooms.bytes;
    return TORT_OK;
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

#ifdef CUDA_DEVICE
tort_status cuda_prepare_heads(tort_prepare *p) {
    const tort_heads_params *params = p->node->params;
    const tort_type type = p->node->inputs[0].type;
    cudaError_t code = gpu_load_heads(gpu_attend_type_of(type));
    if (code == cudaSuccess && is_projected(params)) code = gpu_load_matmul(cuda_prepared_type(p));
    return code == cudaSuccess ? cuda_prepare_attend(p, params->key_size, params->value_size) : cuda_loaded(p, code);
}

static const void *data_of(const tort_call *call, int64_t input) {
    return input >= 0 ? call->inputs[input].data : NULL;
}

static const void *rows_of(const tort_call *call, const heads_rooms *rooms, const tort_heads_rows *rows) {
    const bool projected = rows->operand == TORT_HEADS_PROJECTED;
    return projected ? (const char *)call->scratch + rooms->projected_at : data_of(call, rows->operand);
}

/* Returns the number in a host input; `otherwise` if there is none. */
static int64_t number_of(const tort_call *call, int64_t input, int64_t otherwise) {
    return input >= 0 ? *(const int32_t *)call->inputs[input].data : otherwise;
}

static tort_status check_longest(const tort_call *call, int64_t past_count, int64_t longest) {
    const tort_heads_params *p = call->params;
    const tort_tensor *mask = p->mask_kind == TORT_HEADS_ELEMENTS ? &call->inputs[p->mask] : NULL;
    const tort_tensor *bias = p->score_bias >= 0 ? &call->inputs[p->score_bias] : NULL;
    if (past_count < 0 || longest > capacity(p) || (p->lengths >= 0 && p->queries > longest) ||
        (p->lengths >= 0 && longest != capacity(p) && longest > p->past_length))
        return tort_fail(call->error, TORT_E_RUN, "there are %lld keys; past and new keys have room for %lld",
                         (long long)longest, (long long)capacity(p));
    if (bias && p->score_bias_strides.element && bias->dims[bias->rank - 1] < (longest < p->end ? longest : p->end))
        return tort_fail(call->error, TORT_E_RUN, "attention_bias is for %lld keys; there are %lld",
                         (long long)bias->dims[bias->rank - 1], (long long)longest);
    if (mask && mask->dims[mask->rank - 1] < longest)
        return tort_fail(call->error, TORT_E_RUN, "the mask is for %lld keys; there are %lld",
                         (long long)mask->dims[mask->rank - 1], (long long)longest);
    return TORT_OK;
}

/* Returns the values in the present output, which may be behind the keys. */
static void *present_values(const tort_call *call) {
    const tort_heads_params *p = call->params;
    const tort_tensor *present = &call->outputs[p->present_value];
    return (char *)present->data + (size_t)p->present_value_offset * (size_t)cuda_element_bytes(present->type);
}

static gpu_heads heads_of(const tort_call *call, const heads_rooms *rooms, int64_t past_count, int64_t longest) {
    const tort_heads_params *p = call->params;
    const tort_tensor *present = p->present_key >= 0 ? &call->outputs[p->present_key] : NULL;
    char *scratch = call->scratch;
    gpu_heads h = {.params = *p,
                   .query = rows_of(call, rooms, &p->query),
                   .key = rows_of(call, rooms, &p->key),
                   .value = rows_of(call, rooms, &p->value),
                   .past_key = data_of(call, p->past_key.operand),
                   .past_value = data_of(call, p->past_value.operand),
                   .bias = data_of(call, p->bias),
                   .cosines = data_of(call, p->cosines),
                   .sines = data_of(call, p->sines),
                   .positions = data_of(call, p->positions),
                   .lengths = data_of(call, p->lengths),
                   .past_count = past_count,
                   .longest = longest,
                   .first = p->queries == longest && !is_steady(p),
                   .room_length = capacity(p),
                   .node = call->node,
                   .status = p->lengths >= 0 || p->valid >= 0 ? cuda_status_word(call) : NULL};
    if (rooms->query) h.query_room = scratch + rooms->query_at;
    if (rooms->key) h.key_room = present ? present->data : scratch + rooms->key_at;
    if (rooms->value) h.value_room = p->present_value >= 0 ? present_values(call) : scratch + rooms->value_at;
    if (present) h.room_length = present->dims[present->rank - 2];
    const bool fits = p->past_length == h.room_length;
    h.key_stays = fits && h.past_key && h.past_key == h.key_room;
    h.value_stays =
        fits && h.past_value && p->present_value >= 0 && h.past_value == call->outputs[p->present_value].data;
    return h;
}

static gpu_attend attend_laid_out(const tort_call *call, const gpu_heads *h, tort_type type) {
    const tort_heads_params *p = call->params;
    const size_t element = (size_t)cuda_element_bytes(type);
    gpu_attend a = attend_of(p, h->longest);
    a.q = (const char *)h->query + (size_t)p->query.offset * element;
    a.k = (const char *)h->key + (size_t)p->key.offset * element;
    a.v = (const char *)h->value + (size_t)p->value.offset * element;
    if (h->query_room) a.q = h->query_room, a.q_strides = gpu_strides_laid_out(p->query_heads, p->queries, p->key_size);
    if (h->key_room) a.k = h->key_room, a.k_strides = gpu_strides_laid_out(p->key_heads, h->room_length, p->key_size);
    if (h->value_room)
        a.v = h->value_room, a.v_strides = gpu_strides_laid_out(p->key_heads, h->room_length, p->value_size);
    a.y = call->outputs[0].data;
    a.keep = data_of(call, p->keep);
    a.mask = data_of(call, p->score_bias);
    a.mask_type = gpu_attend_type_of(a.mask ? call->inputs[p->score_bias].type : type);
    a.marks = data_of(call, p->mask);
    a.before = h->past_count;
    a.lengths = h->lengths;
    a.valid = data_of(call, p->valid);
    a.from_end = a.valid || (a.lengths && h->past_key && !h->first);
    a.node = h->node;
    a.status = h->status;
    return a;
}

static tort_status project(const tort_call *call, void *to, void *behind) {
    const cuda_stream *stream = call->stream;
    const tort_type type = call->inputs[0].type;
    const gpu_matmul product = projection_of(call->params);
    const gpu_tiling tiling = tiling_of(&product, stream->device->board, type);
    const gpu_parts parts = {call->scratch, stream->arrivals};
    const gpu_matmul_operands operands = {
        .a = call->inputs[0].data, .b = call->inputs[1].data, .c = cuda_input(call, 2), .y = to};
    (void)behind;
    return cuda_launched(
        call, gpu_run_matmul(cuda_stream_of(call), cuda_product_type(call), &product, &operands, &tiling, &parts));
}

tort_status cuda_run_heads(const tort_call *call) {
    return cuda_run_heads_of(call, call, project);
}

tort_status cuda_run_heads_of(const tort_call *call, const tort_call *whole,
                              tort_status (*projects)(const tort_call *whole, void *to, void *behind)) {
    const tort_heads_params *p = call->params;
    const cuda_stream *stream = call->stream;
    const tort_type type = call->inputs[0].type;
    const int64_t past_count = p->lengths >= 0 ? 0 : number_of(call, p->past_count, p->past_length);
    int64_t longest = number_of(call, p->total, past_count + p->new_keys);
    heads_rooms rooms = {0};
    if (!lay_out_rooms(stream->device->board, type, p, &rooms)) return tort_out_of_memory(call->error, SIZE_MAX);
    tort_status status = check_longest(call, past_count, longest);
    if (is_steady(p)) longest = capacity(p);
    char *scratch = call->scratch,
         *behind = scratch + (rooms.bytes + TORT_DEVICE_ALIGN - 1) / TORT_DEVICE_ALIGN * TORT_DEVICE_ALIGN;
    if (!status && is_projected(p)) status = projects(whole, scratch + rooms.projected_at, behind);
    if (status) return status;
    const gpu_heads heads = heads_of(call, &rooms, past_count, longest);
    const gpu_attend attend = attend_laid_out(call, &heads, type);
    status = cuda_launched(call, gpu_lay_out_heads(cuda_stream_of(call), gpu_attend_type_of(type), &heads));
    return status ? status : cuda_run_attend(call, &attend, call->scratch);
}
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* host: past_sequence_length or total_sequence_length; past: the first cache, and the number of caches. */
#define ROW(op_, host, past, tensors)                                                                                  \
    {                                                                                                                  \
        .domain = "com.microsoft", .op = op_, .name = "heads", .host_inputs = host, .steady = is_steady,               \
        .claim = tort_cuda_claim_heads, .size = tort_cuda_size_heads, .prepare = CUDA_ONLY(cuda_prepare_heads),        \
        .run = CUDA_ONLY(cuda_run_heads), .caches = {                                                                  \
            past,                                                                                                      \
            1,                                                                                                         \
            tensors                                                                                                    \
        }                                                                                                              \
    }

const tort_kernel tort_cuda_heads_kernels[] = {
    ROW("Attention", 1u << 6, 4, 1),
    ROW("MultiHeadAttention", 1u << 8, 6, 2),
    ROW("DecoderMaskedMultiHeadAttention", 1u << 7, 5, 2),
    ROW("GroupQueryAttention", 1u << 6, 3, 2),
    {.op = NULL},
};
