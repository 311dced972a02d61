/* softmax.c - rows and claims of Softmax and LogSoftmax; the lanes, of old versions too, are decoded by ops/softmax.h.
 * Kernels: softmax.cu. */
#include "kernels/cuda/softmax.h"

#ifdef CUDA_DEVICE
#include "ops/softmax.h"

static tort_status prepare(tort_prepare *p, bool logarithm) {
    return cuda_loaded(p, gpu_load_softmax(gpu_type_of(p->node->inputs[0].type), logarithm));
}

static tort_status run(const tort_call *call, bool logarithm) {
    const tort_softmax_params *params = call->params;
    const tort_tensor *x = &call->inputs[0];
    return cuda_launched(call, gpu_run_softmax(cuda_stream_of(call), gpu_type_of(x->type), logarithm, x->data,
                                               call->outputs[0].data, (size_t)params->outer, (size_t)params->length,
                                               (size_t)params->inner));
}

static tort_status prepare_softmax(tort_prepare *p) {
    return prepare(p, false);
}

static tort_status run_softmax(const tort_call *call) {
    return run(call, false);
}

static tort_status prepare_log_softmax(tort_prepare *p) {
    return prepare(p, true);
}

static tort_status run_log_softmax(const tort_call *call) {
    return run(call, true);
}
#endif

#define ROW(op_name, function)                                                                                         \
    {                                                                                                                  \
        .domain = "", .op = op_name, .name = "softmax", .claim = tort_cuda_claim_real,                                 \
        .prepare = CUDA_ONLY(prepare_##function), .run = CUDA_ONLY(run_##function), .in_place = 1                      \
    }

const tort_kernel tort_cuda_softmax_kernels[] = {
    ROW("Softmax", softmax),
    ROW("LogSoftmax", log_softmax),
    {.op = NULL},
};
