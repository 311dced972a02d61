/* softmax.c - kernel table of Softmax and LogSoftmax; ops/softmax.h decodes the lanes, also for old versions.
 * Kernels: softmax.cu. */
#include "kernels/cuda/softmax.h"

enum { PROBABILITY, LOGARITHM }; /* variants */

#ifdef CUDA_DEVICE
#include "ops/softmax.h"

static tort_status prepare(tort_prepare *p) {
    return cuda_loaded(p,
                       gpu_load_softmax(gpu_type_of(p->node->inputs[0].type), p->node->kernel->variant == LOGARITHM));
}

static tort_status run(const tort_call *call) {
    const tort_softmax_params *params = call->params;
    const tort_tensor *x = &call->inputs[0];
    return cuda_launched(call, gpu_run_softmax(cuda_stream_of(call), gpu_type_of(x->type),
                                               call->kernel->variant == LOGARITHM, x->data, call->outputs[0].data,
                                               (size_t)params->outer, (size_t)params->length, (size_t)params->inner));
}

#endif

const tort_kernel tort_cuda_softmax_kernels[] = {
    {"", "Softmax", "softmax", .claim = tort_cuda_claim_real, .prepare = CUDA_ONLY(prepare), .run = CUDA_ONLY(run),
     .variant = PROBABILITY, .in_place = 1},
    {"", "LogSoftmax", "softmax", .claim = tort_cuda_claim_real, .prepare = CUDA_ONLY(prepare), .run = CUDA_ONLY(run),
     .variant = LOGARITHM, .in_place = 1},
    {.op = NULL},
};
