/* cumulative.c - rows and claims of CumSum and CumProd. The axis is an input, read on the host. Kernel:
 * cumulative.cu. */
#include "kernels/cuda/cumulative.h"

#include "ops/cumulative.h"

enum { SUM, PRODUCT }; /* variants */

#ifdef CUDA_DEVICE
static tort_status prepare(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_cumulative(gpu_number_of(p->node->inputs[0].type)));
}

static tort_status run(const tort_call *call) {
    const tort_cumulative_params *params = call->params;
    tort_cumulative_view view;
    tort_status status = tort_cumulative_view_of(call, &view);
    if (status) return status;
    const gpu_cumulative cumulative = {.outer = (size_t)view.outer,
                                       .length = (size_t)view.length,
                                       .inner = (size_t)view.inner,
                                       .product = call->kernel->variant == PRODUCT,
                                       .exclusive = params->exclusive,
                                       .reverse = params->reverse};
    return cuda_launched(call, gpu_run_cumulative(cuda_stream_of(call), gpu_number_of(call->inputs[0].type),
                                                  &cumulative, call->inputs[0].data, call->outputs[0].data));
}
#endif

const tort_kernel tort_cuda_cumulative_kernels[] = {
    {"", "CumSum", "cumulative", .host_inputs = 1u << 1, .claim = tort_cuda_claim_number, .prepare = CUDA_ONLY(prepare),
     .run = CUDA_ONLY(run), .variant = SUM},
    {"", "CumProd", "cumulative", .host_inputs = 1u << 1, .claim = tort_cuda_claim_number,
     .prepare = CUDA_ONLY(prepare), .run = CUDA_ONLY(run), .variant = PRODUCT},
    {.op = NULL},
};
