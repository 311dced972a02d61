/* attention.c - row and claim of Attention: past keys and values, grouped heads, masks, windows, soft cap, all
 * outputs. ops/attention.c decodes shapes and masks. Kernels: attend_half.cu and attend_float.cu; if scores are an
 * output, or heads are larger than those kernels take, attention.cu. */
#include "kernels/cuda/attention.h"
#include "kernels/cuda/attend.h"

#include "runtime/core/base/memory.h"

#include <math.h>

enum { QUERY, KEY, VALUE, MASK, PAST_KEY, PAST_VALUE, VALID_KEYS }; /* inputs */
enum { OUTPUT, PRESENT_KEY, PRESENT_VALUE, SCORES };

/* ---- claims ------------------------------------------------------------------------------------------------------ */

/* Checks that keys and values have the query's type; a mask may have another. */
static tort_verdict claim_types(const tort_node_view *node, bool bfloat16) {
    for (int32_t i = KEY; i < node->input_count; i++) {
        if (!tort_has_input(node, i) || i == VALID_KEYS) continue;
        const tort_type type = node->inputs[i].type;
        if (i != MASK && type != node->inputs[QUERY].type) return tort_cuda_not_alike(node, i, 0);
        if (i == MASK && type != TORT_FLOAT && type != TORT_FLOAT16 && type != TORT_BOOL &&
            !(bfloat16 && type == TORT_BFLOAT16))
            return tort_cuda_no_type(node, i, bfloat16 ? "float, float16, bfloat16 or bool" : "float, float16 or bool");
    }
    return tort_yes();
}

static tort_verdict claim_attention(const tort_target *target, const tort_node_view *node) {
    const tort_attention_params *p = node->params;
    if (tort_has_output(node, SCORES))
        return tort_no(TORT_NO_ATTR, "leave qk_matmul_output away where nobody reads it",
                       "output 3 shows the scores, which this kernel does not keep");
    tort_verdict verdict = tort_cuda_claim_attend_type(target, node);
    if (verdict.code == TORT_YES) verdict = claim_types(node, true);
    return verdict.code == TORT_YES ? tort_cuda_claim_attend(p->key_size, p->value_size) : verdict;
}

/* Claims for the plain kernel: any sizes, and scores as an output. */
static tort_verdict claim_scores(const tort_target *target, const tort_node_view *node) {
    const tort_verdict verdict = tort_cuda_claim_float(target, node);
    return verdict.code == TORT_YES ? claim_types(node, false) : verdict;
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

static gpu_attend attend_of(const tort_attention_params *p) {
    const int64_t *mask = p->mask_strides;
    return (gpu_attend){.batch = p->batch,
                        .heads = p->query_heads,
                        .group = p->query_heads / p->key_heads,
                        .queries = p->query_length,
                        .keys = p->total_length,
                        .key_size = p->key_size,
                        .value_size = p->value_size,
                        .q_strides = gpu_strides_of(p->query),
                        .k_strides = gpu_strides_of(p->key),
                        .v_strides = gpu_strides_of(p->value),
                        .y_strides = gpu_strides_of(p->output),
                        .mask_strides = {mask[0], mask[1], mask[2], mask[3]},
                        .keep_strides = {mask[0], mask[1], mask[2], mask[3]},
                        .scale = (float)p->scale,
                        .softcap = (float)p->softcap,
                        .keep_where = true,
                        .fill = -INFINITY,
                        .before = p->past_length,
                        .end = p->mask_length,
                        .causal = p->causal,
                        .left = p->left_window,
                        .right = p->right_window,
                        .empty = GPU_ATTEND_EMPTY_IS_ZERO};
}

/* Layout of scratch, as offsets: sums of parts, then past and present keys and values if they are no outputs. */
typedef struct attention_scratch {
    size_t keys, values, bytes;
} attention_scratch;

static bool lay_out_scratch(int32_t multiprocessors, tort_type type, const tort_attention_params *p, bool keys_shown,
                            bool values_shown, attention_scratch *s) {
    const gpu_attend attend = attend_of(p);
    s->bytes = tort_cuda_attend_tiling_of(multiprocessors, gpu_attend_type_of(type), &attend).scratch;
    if (!p->past_length) return true;
    return (keys_shown ||
            tort_cuda_reserve_heads(&s->bytes, &s->keys, p->batch, p->key_heads, p->total_length, p->key_size, type)) &&
           (values_shown || tort_cuda_reserve_heads(&s->bytes, &s->values, p->batch, p->key_heads, p->total_length,
                                                    p->value_size, type));
}

static tort_status no_memory(tort_error *error, const tort_attention_params *p, const char *what) {
    return tort_fail(error, TORT_E_MEMORY, "%s of %lld keys do not fit in memory", what, (long long)p->total_length);
}

static tort_status size_attention(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                  tort_error *error) {
    attention_scratch s = {0};
    if (!lay_out_scratch(target->facts[CUDA_MULTIPROCESSORS], node->inputs[QUERY].type, node->params,
                         tort_has_output(node, PRESENT_KEY), tort_has_output(node, PRESENT_VALUE), &s))
        return no_memory(error, node->params, "keys and values");
    *scratch = s.bytes;
    return TORT_OK;
}

static tort_status size_scores(const tort_target *target, const tort_node_view *node, size_t *scratch,
                               tort_error *error) {
    const tort_attention_params *params = node->params;
    size_t row;
    (void)target;
    if (tort_mul_size((size_t)params->total_length, sizeof(float), &row) &&
        tort_mul_size(row, gpu_attention_blocks(params), scratch))
        return TORT_OK;
    return no_memory(error, params, "the scores");
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

#ifdef CUDA_DEVICE
static tort_status prepare_attention(tort_prepare *p) {
    const tort_attention_params *params = p->node->params;
    const cudaError_t code = gpu_load_join_past(cuda_element_bytes(p->node->inputs[QUERY].type));
    return code == cudaSuccess ? cuda_prepare_attend(p, params->key_size, params->value_size) : cuda_loaded(p, code);
}

static tort_status prepare_scores(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_attention(gpu_type_of(p->node->inputs[0].type)));
}

/* Joins past and new keys or values in the output or in scratch, if there are past ones. */
static tort_status join_past(const tort_call *call, int32_t input, void *room, const void **data,
                             tort_matrix_strides *strides) {
    const tort_attention_params *p = call->params;
    const bool key = input == KEY;
    const gpu_join join = {.params = *p,
                           .strides = key ? p->key : p->value,
                           .size = key ? p->key_size : p->value_size,
                           .past = cuda_input(call, key ? PAST_KEY : PAST_VALUE),
                           .fresh = call->inputs[input].data,
                           .present = room};
    *data = call->inputs[input].data;
    if (room && p->past_length) {
        *data = room;
        *strides = gpu_strides_laid_out(p->key_heads, p->total_length, join.size);
    }
    return cuda_launched(call,
                         gpu_run_join_past(cuda_stream_of(call), cuda_element_bytes(call->inputs[input].type), &join));
}

static tort_status run_attention(const tort_call *call) {
    const tort_attention_params *p = call->params;
    const cuda_stream *stream = call->stream;
    const tort_tensor *mask = tort_call_input(call, MASK);
    void *keys = cuda_output(call, PRESENT_KEY), *values = cuda_output(call, PRESENT_VALUE);
    gpu_attend attend = attend_of(p);
    attention_scratch s = {0};
    if (!lay_out_scratch(stream->device->multiprocessors, call->inputs[QUERY].type, p, keys != NULL, values != NULL,
                         &s))
        return no_memory(call->error, p, "keys and values");
    if (!keys && p->past_length) keys = (char *)call->scratch + s.keys;
    if (!values && p->past_length) values = (char *)call->scratch + s.values;
    tort_status status = join_past(call, KEY, keys, &attend.k, &attend.k_strides);
    if (!status) status = join_past(call, VALUE, values, &attend.v, &attend.v_strides);
    if (status) return status;
    attend.q = call->inputs[QUERY].data;
    attend.y = call->outputs[OUTPUT].data;
    if (mask && mask->type == TORT_BOOL) attend.keep = mask->data;
    if (mask && mask->type != TORT_BOOL) attend.mask = mask->data;
    if (mask) attend.mask_type = gpu_attend_type_of(mask->type);
    attend.valid = cuda_input(call, VALID_KEYS);
    attend.from_end = attend.valid != NULL;
    attend.node = call->node;
    if (attend.valid) attend.status = cuda_status_word(call);
    return cuda_run_attend(call, &attend, call->scratch);
}

static tort_status run_scores(const tort_call *call) {
    const tort_tensor *mask = tort_call_input(call, MASK);
    const gpu_attention attention = {.params = *(const tort_attention_params *)call->params,
                                     .query = cuda_input(call, QUERY),
                                     .key = cuda_input(call, KEY),
                                     .value = cuda_input(call, VALUE),
                                     .past_key = cuda_input(call, PAST_KEY),
                                     .past_value = cuda_input(call, PAST_VALUE),
                                     .mask = mask ? mask->data : NULL,
                                     .mask_type = mask ? gpu_number_of(mask->type) : GPU_NUMBER_BOOL,
                                     .valid_keys = cuda_input(call, VALID_KEYS),
                                     .output = cuda_output(call, OUTPUT),
                                     .present_key = cuda_output(call, PRESENT_KEY),
                                     .present_value = cuda_output(call, PRESENT_VALUE),
                                     .shown = cuda_output(call, SCORES),
                                     .scores = call->scratch,
                                     .node = call->node,
                                     .status = tort_call_input(call, VALID_KEYS) ? cuda_status_word(call) : NULL};
    return cuda_launched(call,
                         gpu_run_attention(cuda_stream_of(call), gpu_type_of(call->inputs[QUERY].type), &attention));
}

static tort_status prepare_rotary(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_rotary(gpu_type_of(p->node->inputs[0].type)));
}

static tort_status run_rotary(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0];
    const tort_rotary_params *params = call->params;
    const void *positions = cuda_input(call, (int32_t)params->positions);
    const gpu_rotary rotary = {.params = *params,
                               .count = (size_t)tort_count(x),
                               .packed = x->rank == 3,
                               .x = x->data,
                               .cosines = call->inputs[params->cosines].data,
                               .sines = call->inputs[params->sines].data,
                               .positions = positions,
                               .y = call->outputs[0].data,
                               .node = call->node,
                               .status = positions ? cuda_status_word(call) : NULL};
    return cuda_launched(call, gpu_run_rotary(cuda_stream_of(call), gpu_type_of(x->type), &rotary));
}
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const tort_kernel tort_cuda_attention_kernels[] = {
    {"", "Attention", "attention", .claim = claim_attention, .size = size_attention,
     .prepare = CUDA_ONLY(prepare_attention), .run = CUDA_ONLY(run_attention)},
    {"", "Attention", "attention_scores", .claim = claim_scores, .size = size_scores,
     .prepare = CUDA_ONLY(prepare_scores), .run = CUDA_ONLY(run_scores)},
    {"", "RotaryEmbedding", "rotary", .claim = tort_cuda_claim_float, .prepare = CUDA_ONLY(prepare_rotary),
     .run = CUDA_ONLY(run_rotary)},
    {"com.microsoft", "RotaryEmbedding", "rotary", .claim = tort_cuda_claim_float, .prepare = CUDA_ONLY(prepare_rotary),
     .run = CUDA_ONLY(run_rotary)},
    {.op = NULL},
};
