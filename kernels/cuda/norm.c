/* norm.c - kernel table and claims of the normalizations. ops/norm.h decodes the rows and the strides of scale and
 * bias. Kernels: norm.cu. */
#include "kernels/cuda/norm.h"

#include "ops/norm.h"

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static tort_verdict claim_norm(const tort_target *target, const tort_node_view *node) {
    tort_verdict verdict = tort_cuda_claim_real(target, node);
    for (int32_t i = 1; verdict.code == TORT_YES && i < node->input_count; i++)
        if (tort_has_input(node, i) && node->inputs[i].type != node->inputs[0].type)
            verdict = tort_cuda_not_alike(node, i, 0);
    for (int32_t i = 1; verdict.code == TORT_YES && i < node->output_count; i++)
        if (tort_has_output(node, i) && node->outputs[i].type != TORT_FLOAT)
            verdict = tort_no(TORT_NO_TYPE, "export with stash_type=1", "output %d is %s, the kernel makes float", i,
                              tort_type_name(node->outputs[i].type));
    return verdict;
}

static tort_verdict claim_batch_norm(const tort_target *target, const tort_node_view *node) {
    const tort_batch_norm_params *params = node->params;
    tort_verdict verdict = tort_cuda_claim_real(target, node);
    if (verdict.code != TORT_YES) return verdict;
    if (params->training)
        return tort_no(TORT_NO_ATTR, "export the model for inference (training_mode=0)",
                       "training: the statistics of the batch are asked for, the kernel takes given ones");
    const tort_type type = node->inputs[0].type, statistics = node->inputs[1].type;
    if (statistics != TORT_FLOAT && statistics != type)
        return tort_cuda_no_type(node, 1, "float or the type of input 0");
    for (int32_t i = 2; i < node->input_count; i++)
        if (node->inputs[i].type != statistics) return tort_cuda_not_alike(node, i, 1);
    return tort_yes();
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

#ifdef CUDA_DEVICE
static tort_status prepare_norm(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_norm(gpu_type_of(p->node->inputs[0].type)));
}

static tort_status run_norm(const tort_call *call) {
    const tort_norm_params *params = call->params;
    const tort_tensor *x = &call->inputs[0];
    const void *bias = cuda_input(call, 2);
    tort_loop affine;
    tort_loop_begin(&affine, params->rank, params->dims);
    tort_loop_operand(&affine, params->scale_strides);
    tort_loop_operand(&affine, bias ? params->bias_strides : params->scale_strides);
    tort_loop_ready(&affine);
    const gpu_norm norm = {.rows = (size_t)params->rows,
                           .size = (size_t)params->size,
                           .epsilon = (float)params->epsilon,
                           .centered = params->centered,
                           .affine = gpu_loop_of(&affine),
                           .x = x->data,
                           .scale = call->inputs[1].data,
                           .bias = bias,
                           .y = call->outputs[0].data,
                           .mean = params->centered ? cuda_output(call, 1) : NULL,
                           .inverse = cuda_output(call, params->centered ? 2 : 1)};
    return cuda_launched(call, gpu_run_norm(cuda_stream_of(call), gpu_type_of(x->type), &norm));
}

static tort_status prepare_batch_norm(tort_prepare *p) {
    const gpu_type type = gpu_type_of(p->node->inputs[0].type), statistics = gpu_type_of(p->node->inputs[1].type);
    return cuda_loaded(p, gpu_load_batch_norm(type, statistics));
}

static tort_status run_batch_norm(const tort_call *call) {
    const tort_batch_norm_params *params = call->params;
    const tort_tensor *in = call->inputs;
    const gpu_batch_norm norm = {.count = (size_t)tort_count(&in[0]),
                                 .channels = (size_t)params->channels,
                                 .inner = (size_t)params->inner,
                                 .epsilon = (float)params->epsilon,
                                 .x = in[0].data,
                                 .scale = in[1].data,
                                 .bias = in[2].data,
                                 .mean = in[3].data,
                                 .variance = in[4].data,
                                 .y = call->outputs[0].data};
    return cuda_launched(
        call, gpu_run_batch_norm(cuda_stream_of(call), gpu_type_of(in[0].type), gpu_type_of(in[1].type), &norm));
}
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define ROW(op_name, function)                                                                                         \
    {                                                                                                                  \
        .domain = "", .op = op_name, .name = #function, .claim = claim_##function,                                     \
        .prepare = CUDA_ONLY(prepare_##function), .run = CUDA_ONLY(run_##function), .in_place = 1                      \
    }

const tort_kernel tort_cuda_norm_kernels[] = {
    ROW("LayerNormalization", norm),
    ROW("RMSNormalization", norm),
    ROW("SimplifiedLayerNormalization", norm),
    ROW("InstanceNormalization", norm),
    ROW("GroupNormalization", norm),
    ROW("BatchNormalization", batch_norm),
    {.op = NULL},
};
