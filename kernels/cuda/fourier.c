/* fourier.c - rows of DFT and STFT; ops/fourier.h decodes the lanes. Kernels: fourier.cu. */
#include "kernels/cuda/fourier.h"

enum { WINDOW = 2 }; /* input of STFT */
enum { WHOLE_SIGNAL, SHORT_TIME };

/* Scratch memory: the roots of unity. */
static tort_status size_fourier(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                tort_error *error) {
    const tort_fourier_params *params = node->params;
    (void)target;
    if (tort_mul_size((uint64_t)params->length, 2 * gpu_type_bytes(gpu_type_of(node->inputs[0].type)), scratch))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

#ifdef CUDA_DEVICE
static tort_status prepare(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_fourier(gpu_type_of(p->node->inputs[0].type)));
}

static tort_status run(const tort_call *call) {
    const tort_fourier_params *params = call->params;
    const gpu_fourier fourier = {.lanes = *params,
                                 .x = call->inputs[0].data,
                                 .window = call->kernel->variant == SHORT_TIME ? cuda_input(call, WINDOW) : NULL,
                                 .roots = call->scratch,
                                 .y = call->outputs[0].data,
                                 .scale = params->inverse ? 1.0 / (double)params->length : 1.0};
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    return cuda_launched(call, gpu_run_fourier(cuda_stream_of(call), gpu_type_of(call->inputs[0].type), &fourier));
}
#endif

#define ROW(op_, variant_)                                                                                             \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = "fourier", .claim = tort_cuda_claim_real, .size = size_fourier,               \
        .prepare = CUDA_ONLY(prepare), .run = CUDA_ONLY(run), .variant = variant_                                      \
    }

const tort_kernel tort_cuda_fourier_kernels[] = {
    ROW("DFT", WHOLE_SIGNAL),
    ROW("STFT", SHORT_TIME),
    {.op = NULL},
};
