/* group_norm.c - rows of com.microsoft's GroupNorm and SkipGroupNorm. Kernel: group_norm.cu. */
#include "kernels/cuda/group_norm.h"

#ifdef CUDA_DEVICE
#include "ops/microsoft/group_norm.h"

enum { X, GAMMA, BETA, SKIP, BIAS }; /* inputs */

static tort_status prepare(tort_prepare *p) {
    const tort_info *in = p->node->inputs;
    return cuda_loaded(p, gpu_load_group_norm(gpu_type_of(in[X].type), gpu_type_of(in[GAMMA].type)));
}

static tort_status run(const tort_call *call) {
    const tort_group_norm_params *params = call->params;
    const tort_tensor *x = &call->inputs[X], *gamma = &call->inputs[GAMMA];
    const int64_t channels = params->channels / params->groups;
    const gpu_group_norm norm = {
        .batch = (size_t)params->batch,
        .groups = (size_t)params->groups,
        .channels = (size_t)params->channels,
        .pixels = (size_t)params->pixels,
        .epsilon = (float)params->epsilon,
        .silu = params->silu,
        .channels_last = params->channels_last,
        .skip_is_pixel = params->skip_is_pixel,
        .run = gpu_divisor_of(params->channels_last ? channels : params->pixels, (uint64_t)(channels * params->pixels)),
        .x = x->data,
        .skip = cuda_input(call, SKIP),
        .bias = cuda_input(call, BIAS),
        .gamma = gamma->data,
        .beta = call->inputs[BETA].data,
        .y = cuda_output(call, 0),
        .sums = cuda_output(call, 1)};
    if (tort_count(x) == 0) return TORT_OK;
    return cuda_launched(
        call, gpu_run_group_norm(cuda_stream_of(call), gpu_type_of(x->type), gpu_type_of(gamma->type), &norm));
}
#endif

const tort_kernel tort_cuda_group_norm_kernels[] = {
    {"com.microsoft", "GroupNorm", "group_norm", .prepare = CUDA_ONLY(prepare), .run = CUDA_ONLY(run), .in_place = 1},
    {"com.microsoft", "SkipGroupNorm", "group_norm", .prepare = CUDA_ONLY(prepare), .run = CUDA_ONLY(run),
     .in_place = 1},
    {.op = NULL},
};
