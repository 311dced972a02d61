/* attention.c - row and claim of Attention: past keys and values, grouped heads, masks, windows, soft cap, every
 * output. Shapes and masks are decoded by ops/attention.c. Kernels: attention.cu. */
#include "kernels/cuda/attention.h"

#include "runtime/base/memory.h"

enum { QUERY, KEY, VALUE, MASK, PAST_KEY, PAST_VALUE, VALID_KEYS }; /* inputs */
enum { OUTPUT, PRESENT_KEY, PRESENT_VALUE, SCORES };

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static tort_verdict claim_attention(const tort_target *target, const tort_node_view *node) {
    tort_verdict verdict = tort_cuda_claim_float(target, node);
    for (int32_t i = KEY; verdict.code == TORT_YES && i < node->input_count; i++) {
        if (!tort_has_input(node, i) || i == VALID_KEYS) continue;
        const tort_type type = node->inputs[i].type;
        if (i == MASK ? gpu_number_of(type) > GPU_NUMBER_HALF && type != TORT_BOOL : type != node->inputs[QUERY].type)
            verdict =
                i == MASK ? tort_cuda_no_type(node, i, "float, float16 or bool") : tort_cuda_not_alike(node, i, 0);
    }
    return verdict;
}

static tort_status size_attention(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                  tort_error *error) {
    const tort_attention_params *params = node->params;
    size_t row;
    (void)target;
    if (tort_mul_size((size_t)params->total_length, sizeof(float), &row) &&
        tort_mul_size(row, gpu_attention_blocks(params), scratch))
        return TORT_OK;
    return tort_fail(error, TORT_E_MEMORY, "the scores of %lld keys do not fit in memory",
                     (long long)params->total_length);
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

#ifdef CUDA_DEVICE
static tort_status prepare_attention(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_attention(gpu_type_of(p->node->inputs[0].type)));
}

static const void *input_data(const tort_call *call, int32_t i) {
    const tort_tensor *tensor = tort_call_input(call, i);
    return tensor ? tensor->data : NULL;
}

static void *output_data(const tort_call *call, int32_t o) {
    const tort_tensor *tensor = tort_call_output(call, o);
    return tensor ? tensor->data : NULL;
}

static tort_status run_attention(const tort_call *call) {
    const tort_tensor *mask = tort_call_input(call, MASK);
    const gpu_attention attention = {.params = *(const tort_attention_params *)call->params,
                                     .query = input_data(call, QUERY),
                                     .key = input_data(call, KEY),
                                     .value = input_data(call, VALUE),
                                     .past_key = input_data(call, PAST_KEY),
                                     .past_value = input_data(call, PAST_VALUE),
                                     .mask = mask ? mask->data : NULL,
                                     .mask_type = mask ? gpu_number_of(mask->type) : GPU_NUMBER_BOOL,
                                     .valid_keys = input_data(call, VALID_KEYS),
                                     .output = output_data(call, OUTPUT),
                                     .present_key = output_data(call, PRESENT_KEY),
                                     .present_value = output_data(call, PRESENT_VALUE),
                                     .shown = output_data(call, SCORES),
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
    const void *positions = input_data(call, (int32_t)params->positions);
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
    {.domain = "",
     .op = "Attention",
     .name = "attention",
     .claim = claim_attention,
     .size = size_attention,
     .prepare = CUDA_ONLY(prepare_attention),
     .run = CUDA_ONLY(run_attention)},
    {.domain = "",
     .op = "RotaryEmbedding",
     .name = "rotary",
     .claim = tort_cuda_claim_float,
     .prepare = CUDA_ONLY(prepare_rotary),
     .run = CUDA_ONLY(run_rotary)},
    {.domain = "com.microsoft",
     .op = "RotaryEmbedding",
     .name = "rotary",
     .claim = tort_cuda_claim_float,
     .prepare = CUDA_ONLY(prepare_rotary),
     .run = CUDA_ONLY(run_rotary)},
    {.op = NULL},
};
