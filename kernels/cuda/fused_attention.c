/* fused_attention.c - row and claim of FusedAttention, which is one launch. ops/fused_attention.c decodes shapes and
 * strides. Kernels: attend_half.cu, attend_float.cu. */
#include "kernels/cuda/attend.h"

/* Exchanges row and column: the family's keys are (key, element), those of the params (element, key). */
static tort_matrix_strides turned(tort_matrix_strides s) {
    return (tort_matrix_strides){s.outer, s.inner, s.column, s.row};
}

static gpu_attend attend_of(const tort_fused_attention_params *p) {
    return (gpu_attend){.batch = p->outer,
                        .heads = p->inner,
                        .group = 1,
                        .queries = p->queries,
                        .keys = p->keys,
                        .end = p->keys,
                        .key_size = p->key_size,
                        .value_size = p->value_size,
                        .q_strides = p->q,
                        .k_strides = turned(p->k),
                        .v_strides = p->v,
                        .y_strides = p->y,
                        .mask_strides = p->mask,
                        .keep_strides = p->keep,
                        .scale = (float)p->scale,
                        .keep_where = p->keep_where,
                        .fill = (float)p->fill,
                        .left = -1,
                        .right = -1,
                        .empty = p->nan_to_zero ? GPU_ATTEND_NAN_IS_ZERO : GPU_ATTEND_EMPTY_IS_NAN};
}

static tort_verdict claim_attention(const tort_target *target, const tort_node_view *node) {
    const tort_fused_attention_params *p = node->params;
    const tort_verdict verdict = tort_cuda_claim_attend(p->key_size, p->value_size);
    return verdict.code == TORT_YES ? tort_cuda_claim_attend_type(target, node) : verdict;
}

static tort_status size_attention(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                  tort_error *error) {
    const gpu_attend attend = attend_of(node->params);
    (void)error;
    *scratch = tort_cuda_attend_tiling_of(target->facts[CUDA_MULTIPROCESSORS], gpu_attend_type_of(node->inputs[0].type),
                                          &attend)
                   .scratch;
    return TORT_OK;
}

#ifdef CUDA_DEVICE
static tort_status prepare_attention(tort_prepare *p) {
    const tort_fused_attention_params *params = p->node->params;
    return cuda_prepare_attend(p, params->key_size, params->value_size);
}

static tort_status run_attention(const tort_call *call) {
    gpu_attend attend = attend_of(call->params);
    attend.q = cuda_input(call, TORT_ATTENTION_Q);
    attend.k = cuda_input(call, TORT_ATTENTION_K);
    attend.v = cuda_input(call, TORT_ATTENTION_V);
    attend.mask = cuda_input(call, TORT_ATTENTION_MASK);
    attend.mask_type = gpu_attend_type_of(call->inputs[0].type);
    attend.keep = cuda_input(call, TORT_ATTENTION_KEEP);
    attend.y = call->outputs[0].data;
    return cuda_run_attend(call, &attend, call->scratch);
}
#endif

const tort_kernel tort_cuda_fused_attention_kernels[] = {
    {"tinyort", "FusedAttention", "fused_attention", .claim = claim_attention, .size = size_attention,
     .strides.inputs = 1u << TORT_ATTENTION_Q | 1u << TORT_ATTENTION_K | 1u << TORT_ATTENTION_V,
     .strides.restride = tort_attention_restride, .prepare = CUDA_ONLY(prepare_attention),
     .run = CUDA_ONLY(run_attention)},
    {.op = NULL},
};
