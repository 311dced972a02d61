/* cast.c - rows and claims of Cast, CastLike and Clip. Kernels: cast.cu, clip.cu. */
#include "kernels/cuda/cast.h"

#include <float.h>

#include "ops/activation.h"

/* ---- claims ------------------------------------------------------------------------------------------------------ */

#define CASTS "floats of 16 to 64 bits, integers of 8 to 64 and bool"

static tort_verdict claim_cast(const tort_target *target, const tort_node_view *node) {
    static const char cure[] = "";
    (void)target;
    if (gpu_number_of(node->inputs[0].type) == GPU_NUMBER_COUNT) return tort_cuda_no_type(node, 0, CASTS);
    if (gpu_number_of(node->outputs[0].type) == GPU_NUMBER_COUNT)
        return tort_no(TORT_NO_TYPE, cure, "the target is %s, the kernel makes " CASTS,
                       tort_type_name(node->outputs[0].type));
    return tort_yes();
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

#ifdef CUDA_DEVICE
static tort_status prepare_cast(tort_prepare *p) {
    const gpu_number from = gpu_number_of(p->node->inputs[0].type), to = gpu_number_of(p->node->outputs[0].type);
    return cuda_loaded(p, gpu_load_cast(from, to));
}

static tort_status run_cast(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    return cuda_launched(call, gpu_run_cast(cuda_stream_of(call), gpu_number_of(x->type), gpu_number_of(y->type),
                                            x->data, y->data, (size_t)tort_count(y)));
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
