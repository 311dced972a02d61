/* epilogue.c - the launch behind a library's product, see epilogue.h. */
#include "kernels/cuda/epilogue.h"

/* Products per sum up to which the own kernel is preferred. A second launch takes some microseconds and a pass over
 * Y. A tile of an own product fetches 16 products of each sum at a time (32 for half), at some half a microsecond of
 * memory latency: up to this length it loses less than that launch. An estimate, not a measurement. */
enum { SHORT_SUM = 128 };

tort_verdict tort_cuda_claim_second_launch(int64_t length, const char *library) {
    if (length < 0 || length > SHORT_SUM) return tort_yes();
    return tort_no(TORT_NO_SHAPE, "",
                   "sums of %lld products (up to %d): the own kernel does bias, residual and activation in the same "
                   "launch, %s may need another",
                   (long long)length, SHORT_SUM, library);
}

#ifdef CUDA_DEVICE
tort_status tort_cuda_prepare_epilogue(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_epilogue(gpu_type_of(p->node->inputs[0].type)));
}

tort_status tort_cuda_run_epilogue(const tort_call *call, const tort_epilogue *epilogue, const void *bias, float scale,
                                   int32_t rank, const int64_t *dims, const int64_t *bias_strides) {
    tort_loop loop;
    tort_loop_begin(&loop, rank, dims);
    tort_loop_operand(&loop, bias_strides);
    tort_loop_ready(&loop);
    const gpu_epilogue e = {.epilogue = *epilogue,
                            .loop = gpu_loop_of(&loop),
                            .bias = bias,
                            .residual = cuda_input(call, TORT_EPILOGUE_Z),
                            .y = call->outputs[0].data,
                            .scale = scale};
    return cuda_launched(call, gpu_run_epilogue(cuda_stream_of(call), gpu_type_of(call->outputs[0].type), &e));
}
#endif
