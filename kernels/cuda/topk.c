/* topk.c - kernel table of TopK, ArgMax and ArgMin: the first elements in an order along an axis. Kernels: topk.cu. */
#include "kernels/cuda/topk.h"

#include "ops/reduce.h"
#include "ops/topk.h"

enum { SMALLEST, LARGEST }; /* variants of ArgMin and ArgMax */

/* No scratch memory: only the CPU kernel of TopK keeps heaps there. */
static tort_status size_topk(const tort_target *target, const tort_node_view *node, size_t *scratch,
                             tort_error *error) {
    (void)target, (void)node, (void)error;
    *scratch = 0;
    return TORT_OK;
}

#ifdef CUDA_DEVICE
static tort_status prepare(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_topk(gpu_number_of(p->node->inputs[0].type)));
}

static tort_status run(const tort_call *call, const gpu_topk *topk) {
    return cuda_launched(call, gpu_run_topk(cuda_stream_of(call), gpu_number_of(call->inputs[0].type), topk));
}

/* NaN counts as larger than every number. */
static tort_status run_topk(const tort_call *call) {
    const tort_topk_params *params = call->params;
    const gpu_topk topk = {.outer = (size_t)params->outer,
                           .length = (size_t)params->length,
                           .inner = (size_t)params->inner,
                           .k = (size_t)params->k,
                           .largest = params->largest,
                           .nan_first = params->largest,
                           .x = call->inputs[0].data,
                           .values = cuda_output(call, 0),
                           .indices = cuda_output(call, 1)};
    return run(call, &topk);
}

/* NaN counts as the largest number for ArgMax and as the smallest for ArgMin. */
static tort_status run_arg(const tort_call *call) {
    const tort_arg_reduce_params *params = call->params;
    const gpu_topk topk = {.outer = (size_t)params->outer,
                           .length = (size_t)params->length,
                           .inner = (size_t)params->inner,
                           .k = 1,
                           .largest = call->kernel->variant == LARGEST,
                           .nan_first = true,
                           .last = params->select_last,
                           .x = call->inputs[0].data,
                           .indices = call->outputs[0].data};
    return run(call, &topk);
}
#endif

const tort_kernel tort_cuda_topk_kernels[] = {
    {"", "TopK", "topk", .host_inputs = 1u << 1, .claim = tort_cuda_claim_number, .size = size_topk,
     .prepare = CUDA_ONLY(prepare), .run = CUDA_ONLY(run_topk)},
    {"", "ArgMax", "arg_reduce", .claim = tort_cuda_claim_number, .size = size_topk, .prepare = CUDA_ONLY(prepare),
     .run = CUDA_ONLY(run_arg), .variant = LARGEST},
    {"", "ArgMin", "arg_reduce", .claim = tort_cuda_claim_number, .size = size_topk, .prepare = CUDA_ONLY(prepare),
     .run = CUDA_ONLY(run_arg), .variant = SMALLEST},
    {.op = NULL},
};
