/* attention.c - rows and claims of Attention and FlexAttention, as in heads.c, and, if scores are an output, or heads
 * are larger than those kernels take, plainly; and of RotaryEmbedding. ops/attention.c decodes shapes and masks.
 * Kernels: attention.cu, rotary.cu. */
#include "kernels/cuda/attention.h"
#include "kernels/cuda/heads.h"

#include "runtime/core/base/memory.h"

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
    const tort_heads_params *p = node->params;
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

static tort_status size_scores(const tort_target *target, const tort_node_view *node, size_t *scratch,
                               tort_error *error) {
    const tort_heads_params *params = node->params;
    size_t row;
    (void)target;
    if (tort_mul_size((uint64_t)tort_heads_capacity(params), sizeof(float), &row) &&
        tort_mul_size(row, gpu_attention_blocks(params), scratch))
        return TORT_OK;
    return tort_fail(error, TORT_E_MEMORY, "the scores of %lld keys do not fit in memory",
                     (long long)tort_heads_capacity(params));
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

#ifdef CUDA_DEVICE
static tort_status prepare_scores(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_attention(gpu_type_of(p->node->inputs[0].type)));
}

static tort_status run_scores(const tort_call *call) {
    const tort_tensor *mask = tort_call_input(call, MASK);
    const gpu_attention attention = {.params = *(const tort_heads_params *)call->params,
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

#define ROWS(domain_, op_)                                                                                             \
    {domain_,                                                                                                          \
     op_,                                                                                                              \
     "attention",                                                                                                      \
     .claim = claim_attention,                                                                                         \
     .size = tort_cuda_size_heads,                                                                                     \
     .prepare = CUDA_ONLY(cuda_prepare_heads),                                                                         \
     .run = CUDA_ONLY(cuda_run_heads)},                                                                                \
    {                                                                                                                  \
        domain_, op_, "attention_scores", .claim = claim_scores, .size = size_scores,                                  \
                                          .prepare = CUDA_ONLY(prepare_scores), .run = CUDA_ONLY(run_scores)           \
    }

const tort_kernel tort_cuda_attention_kernels[] = {
    ROWS("", "Attention"),
    ROWS("ai.onnx.preview", "FlexAttention"),
    {"", "RotaryEmbedding", "rotary", .claim = tort_cuda_claim_float, .prepare = CUDA_ONLY(prepare_rotary),
     .run = CUDA_ONLY(run_rotary)},
    {"com.microsoft", "RotaryEmbedding", "rotary", .claim = tort_cuda_claim_float, .prepare = CUDA_ONLY(prepare_rotary),
     .run = CUDA_ONLY(run_rotary)},
    {.op = NULL},
};
