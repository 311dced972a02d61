/* cast.c - rows and claims of Cast, CastLike and Clip. Kernels: cast.cu, cast_any.cu, clip.cu. */
#include "kernels/cuda/cast.h"

#include <float.h>

#include "ops/activation.h"
#include "ops/cast.h"

/* ---- claims ------------------------------------------------------------------------------------------------------ */

/* True for what gpu_number_of knows, and for numbers of less than 16 bits. */
static bool is_number(tort_type type) {
    return gpu_number_of(type) != GPU_NUMBER_COUNT || (tort_type_bits(type) > 0 && tort_type_bits(type) <= 8);
}

static tort_verdict claim_cast(const tort_target *target, const tort_node_view *node) {
    (void)target;
    if (!is_number(node->inputs[0].type)) return tort_cuda_no_type(node, 0, "numbers and bool");
    if (is_number(node->outputs[0].type)) return tort_yes();
    return tort_no(TORT_NO_TYPE, "", "the target is %s, the kernel makes numbers and bool",
                   tort_type_name(node->outputs[0].type));
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

#ifdef CUDA_DEVICE
static gpu_cast_type type_of(tort_type type) {
    return (gpu_cast_type){gpu_number_of(type), tort_cuda_code_of(type)};
}

static tort_status prepare_cast(tort_prepare *p) {
    const gpu_number from = gpu_number_of(p->node->inputs[0].type), to = gpu_number_of(p->node->outputs[0].type);
    const bool numbers = from != GPU_NUMBER_COUNT && to != GPU_NUMBER_COUNT;
    return cuda_loaded(p, numbers ? gpu_load_cast(from, to) : gpu_load_cast_any(to));
}

static tort_status run_cast(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const tort_cast *params = call->params;
    const gpu_cast_any any = {.from = type_of(x->type),
                              .to = type_of(y->type),
                              .count = (size_t)tort_count(y),
                              .x = x->data,
                              .y = y->data,
                              .saturate = params->saturate,
                              .up = tort_rounds_up_from(params->rounding)};
    if (any.from.number == GPU_NUMBER_COUNT || any.to.number == GPU_NUMBER_COUNT)
        return cuda_launched(call, gpu_run_cast_any(cuda_stream_of(call), &any));
    return cuda_launched(
        call, gpu_run_cast(cuda_stream_of(call), any.from.number, any.to.number, x->data, y->data, any.count));
}

static tort_status prepare_clip(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_clip(gpu_number_of(p->node->inputs[0].type)));
}

static tort_status run_clip(const tort_call *call) {
    const tort_clip *params = call->params;
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const bool wide = params->limits && x->type == TORT_DOUBLE; /* params have floats */
    const double low = wide ? -DBL_MAX : (double)params->low, high = wide ? DBL_MAX : (double)params->high;
    return cuda_launched(call,
                         gpu_run_clip(cuda_stream_of(call), gpu_number_of(x->type), x->data, y->data,
                                      (size_t)tort_count(y), cuda_input(call, 1), cuda_input(call, 2), low, high));
}
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const tort_kernel tort_cuda_cast_kernels[] = {
    {"", "Cast", "cast", .claim = claim_cast, .prepare = CUDA_ONLY(prepare_cast), .run = CUDA_ONLY(run_cast),
     .in_place = 1},
    {"", "CastLike", "cast", .claim = claim_cast, .prepare = CUDA_ONLY(prepare_cast), .run = CUDA_ONLY(run_cast),
     .in_place = 1},
    {"", "Clip", "clip", .claim = tort_cuda_claim_number, .prepare = CUDA_ONLY(prepare_clip),
     .run = CUDA_ONLY(run_clip), .in_place = 1},
    {.op = NULL},
};
