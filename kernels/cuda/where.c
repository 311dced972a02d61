/* where.c - kernel table and claim of Where. Kernel: where.cu. */
#include "kernels/cuda/where.h"

static tort_verdict claim_where(const tort_target *target, const tort_node_view *node) {
    (void)target;
    return tort_cuda_claim_moved(node, 1);
}

#ifdef CUDA_DEVICE
static tort_status prepare_where(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_where(cuda_element_bytes(p->node->inputs[1].type)));
}

static tort_status run_where(const tort_call *call) {
    const tort_tensor *in = call->inputs, *out = &call->outputs[0];
    const gpu_loop loop = gpu_loop_broadcast(out, in, 3);
    return cuda_launched(call, gpu_run_where(cuda_stream_of(call), cuda_element_bytes(out->type), &loop, in[0].data,
                                             in[1].data, in[2].data, out->data));
}
#endif

const tort_kernel tort_cuda_where_kernels[] = {
    {"", "Where", "where", .claim = claim_where, .prepare = CUDA_ONLY(prepare_where), .run = CUDA_ONLY(run_where),
     .in_place = 7},
    {.op = NULL},
};
