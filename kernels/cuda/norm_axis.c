/* norm_axis.c - kernel table of LpNormalization, LRN, MeanVarianceNormalization and Hardmax. Kernels: norm_axis.cu. */
#include "kernels/cuda/norm_axis.h"

#include "ops/softmax.h"

#ifdef CUDA_DEVICE
static gpu_type type_of(const tort_call *call) {
    return gpu_type_of(call->inputs[0].type);
}

static tort_status prepare_lines(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_lines(gpu_type_of(p->node->inputs[0].type)));
}

static tort_status run_lines(const tort_call *call, gpu_line_function function, int64_t outer, int64_t length,
                             int64_t inner) {
    const gpu_lines lines = {.function = function,
                             .outer = (size_t)outer,
                             .length = (size_t)length,
                             .inner = (size_t)inner,
                             .x = call->inputs[0].data,
                             .y = call->outputs[0].data};
    return cuda_launched(call, gpu_run_lines(cuda_stream_of(call), type_of(call), &lines));
}

static tort_status run_lp(const tort_call *call) {
    const tort_lp_norm_params *params = call->params;
    return run_lines(call, params->p == 1 ? GPU_LINE_L1 : GPU_LINE_L2, params->outer, params->length, params->inner);
}

static tort_status run_hardmax(const tort_call *call) {
    const tort_softmax_params *params = call->params;
    return run_lines(call, GPU_LINE_HARDMAX, params->outer, params->length, params->inner);
}

static tort_status prepare_lrn(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_lrn(gpu_type_of(p->node->inputs[0].type)));
}

static tort_status run_lrn(const tort_call *call) {
    return cuda_launched(call, gpu_run_lrn(cuda_stream_of(call), type_of(call), call->params, call->inputs[0].data,
                                           call->outputs[0].data));
}

static tort_status prepare_mean_variance(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_mean_variance(gpu_type_of(p->node->inputs[0].type)));
}

static tort_status run_mean_variance(const tort_call *call) {
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    return cuda_launched(call, gpu_run_mean_variance(cuda_stream_of(call), type_of(call), call->params,
                                                     call->inputs[0].data, call->outputs[0].data));
}
#endif

const tort_kernel tort_cuda_norm_axis_kernels[] = {
    {"", "LpNormalization", "lines", .claim = tort_cuda_claim_real, .prepare = CUDA_ONLY(prepare_lines),
     .run = CUDA_ONLY(run_lp), .in_place = 1},
    {"", "Hardmax", "lines", .claim = tort_cuda_claim_real, .prepare = CUDA_ONLY(prepare_lines),
     .run = CUDA_ONLY(run_hardmax), .in_place = 1},
    {"", "LRN", "lrn", .claim = tort_cuda_claim_real, .prepare = CUDA_ONLY(prepare_lrn), .run = CUDA_ONLY(run_lrn)},
    {"", "MeanVarianceNormalization", "mean_variance", .claim = tort_cuda_claim_real,
     .prepare = CUDA_ONLY(prepare_mean_variance), .run = CUDA_ONLY(run_mean_variance), .in_place = 1},
    {.op = NULL},
};
