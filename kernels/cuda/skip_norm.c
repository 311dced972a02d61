/* skip_norm.c - rows of com.microsoft's SkipLayerNormalization, SkipSimplifiedLayerNormalization and
 * EmbedLayerNormalization, which normalize sums. An id that is no row of its table is detected on the device and
 * reported at the end of the run (status.h). Kernels: norm.cu. Read first: norm.c. */
#include "kernels/cuda/norm.h"

#include "ops/microsoft/skip_norm.h"

#ifdef CUDA_DEVICE
static tort_status prepare_skip(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_norm_of_sums(gpu_type_of(p->node->inputs[0].type)));
}

static tort_status prepare_embed(tort_prepare *p) {
    const cudaError_t code = tort_has_output(p->node, 1) ? gpu_load_count_ones() : cudaSuccess;
    const gpu_type type = gpu_type_of(p->node->inputs[TORT_EMBED_WORDS].type);
    return cuda_loaded(p, code == cudaSuccess ? gpu_load_norm_of_sums(type) : code);
}

/* Arguments but the terms: scale and bias are one row each. */
static gpu_norm norm_of(const tort_call *call, const tort_norm_params *params) {
    tort_loop affine;
    tort_loop_begin(&affine, params->rank, params->dims);
    tort_loop_operand(&affine, params->scale_strides);
    tort_loop_operand(&affine, params->bias_strides);
    tort_loop_ready(&affine);
    return (gpu_norm){.rows = (size_t)params->rows,
                      .size = (size_t)params->size,
                      .epsilon = (float)params->epsilon,
                      .centered = params->centered,
                      .affine = gpu_loop_of(&affine),
                      .y = call->outputs[0].data,
                      .node = call->node};
}

static const void *data_of(const tort_tensor *tensor) {
    return tensor ? tensor->data : NULL;
}

static tort_status run_skip(const tort_call *call) {
    const tort_skip_norm_params *params = call->params;
    gpu_norm norm = norm_of(call, &params->norm);
    norm.scale = call->inputs[2].data;
    norm.bias = data_of(tort_skip_norm_beta(call));
    norm.mean = cuda_output(call, 1);
    norm.inverse = cuda_output(call, 2);
    norm.sums = cuda_output(call, TORT_SKIP_NORM_SUM);
    norm.terms[0] = (gpu_norm_term){.data = call->inputs[0].data, .period = norm.rows};
    norm.terms[1] = (gpu_norm_term){.data = call->inputs[1].data, .period = (size_t)params->skip_rows};
    norm.terms[2] = (gpu_norm_term){.data = data_of(tort_skip_norm_bias(call)), .period = 1};
    return cuda_launched(call, gpu_run_norm_of_sums(cuda_stream_of(call), gpu_type_of(call->inputs[0].type), &norm));
}

/* Rows of a table by ids, of which `period` rows of the norm have their own. */
static gpu_norm_term looked_up(const tort_call *call, int32_t table, int32_t ids, size_t period) {
    const tort_tensor *rows = tort_call_input(call, table);
    return (gpu_norm_term){
        .data = data_of(rows), .ids = cuda_input(call, ids), .period = period, .table_rows = rows ? rows->dims[0] : 0};
}

static tort_status run_embed(const tort_call *call) {
    const tort_embed_norm_params *params = call->params;
    const gpu_type type = gpu_type_of(call->inputs[TORT_EMBED_WORDS].type);
    const size_t batch = (size_t)params->batch, length = (size_t)params->length;
    gpu_norm norm = norm_of(call, &params->norm);
    norm.scale = call->inputs[TORT_EMBED_GAMMA].data;
    norm.bias = call->inputs[TORT_EMBED_BETA].data;
    norm.sums = cuda_output(call, 2);
    norm.status = cuda_status_word(call);
    norm.terms[0] = looked_up(call, TORT_EMBED_WORDS, TORT_EMBED_IDS, norm.rows);
    norm.terms[1] =
        looked_up(call, TORT_EMBED_POSITIONS, TORT_EMBED_POSITION_IDS, params->position_rows > 1 ? norm.rows : length);
    norm.terms[2] = looked_up(call, TORT_EMBED_SEGMENT_TABLE, TORT_EMBED_SEGMENTS, norm.rows);
    cudaError_t code = gpu_run_norm_of_sums(cuda_stream_of(call), type, &norm);
    int32_t *counts = cuda_output(call, 1);
    if (code == cudaSuccess && counts)
        code = gpu_run_count_ones(cuda_stream_of(call), cuda_input(call, TORT_EMBED_MASK), counts, batch, length);
    return cuda_launched(call, code);
}
#endif

/* Accepts every node: the kernel takes all types and forms of the operator. */
static tort_verdict claim_embed(const tort_target *target, const tort_node_view *node) {
    (void)target, (void)node;
    return tort_yes();
}

#define SKIP                                                                                                           \
    "skip_norm", .claim = tort_cuda_claim_real, .prepare = CUDA_ONLY(prepare_skip), .run = CUDA_ONLY(run_skip),        \
                 .in_place = 1u << 0 | 1u << 1

const tort_kernel tort_cuda_skip_norm_kernels[] = {
    {"com.microsoft", "SkipLayerNormalization", SKIP},
    {"com.microsoft", "SkipSimplifiedLayerNormalization", SKIP},
    {"com.microsoft", "EmbedLayerNormalization", "embed_norm", .claim = claim_embed,
     .prepare = CUDA_ONLY(prepare_embed), .run = CUDA_ONLY(run_embed)},
    {.op = NULL},
};
