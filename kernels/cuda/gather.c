/* gather.c - rows and claims of Gather, GatherElements and GatherND. Elements are moved by size: float, half and
 * every integer type alike. An index out of range is detected on the device and reported at the end of the run
 * (status.h). Kernels: gather.cu. Read next: scatter.c, the inverse. */
#include "kernels/cuda/gather.h"

#include "ops/numeric.h"

/* ---- claims ------------------------------------------------------------------------------------------------------ */

/* Claims com.microsoft's GatherND: its indices may be int32, but the kernel reads int64 as in ONNX. */
static tort_verdict claim_nd(const tort_target *target, const tort_node_view *node) {
    if (node->inputs[1].type != TORT_INT64) return tort_cuda_no_type(node, 1, "int64");
    return tort_cuda_claim_movable(target, node);
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

#ifdef CUDA_DEVICE
/* Loads the kernel of a row, whose variant is a gpu_gather_kind. */
static tort_status prepare(tort_prepare *p) {
    const gpu_gather_kind kind = (gpu_gather_kind)p->node->kernel->variant;
    const tort_info *in = p->node->inputs;
    return cuda_loaded(p, gpu_load_gather(kind, cuda_element_bytes(in[0].type), cuda_element_bytes(in[1].type)));
}

gpu_indexing gpu_indexing_of(const tort_call *call) {
    return (gpu_indexing){.element_bytes = cuda_element_bytes(call->inputs[0].type),
                          .index_bytes = cuda_element_bytes(call->inputs[1].type),
                          .node = call->node,
                          .data = call->inputs[0].data,
                          .indices = call->inputs[1].data,
                          .output = call->outputs[0].data,
                          .status = cuda_status_word(call)};
}

gpu_elements gpu_elements_of(const tort_tensor *data, const tort_tensor *indices, int32_t axis) {
    gpu_elements elements = {.loop = {.count = (size_t)tort_count(indices), .rank = indices->rank}};
    tort_strides(data->rank, data->dims, elements.loop.strides[0]);
    for (int32_t d = 0; d < indices->rank; d++) elements.loop.dims[d] = indices->dims[d];
    elements.size = data->dims[axis];
    elements.step = elements.loop.strides[0][axis];
    elements.loop.strides[0][axis] = 0;
    gpu_loop_ready(&elements.loop);
    return elements;
}

static tort_status run_gather(const tort_call *call) {
    const gpu_indexing indexing = gpu_indexing_of(call);
    return cuda_launched(call, gpu_run_gather(cuda_stream_of(call), &indexing, call->params));
}

static tort_status run_gather_elements(const tort_call *call) {
    const tort_gather_elements_params *params = call->params;
    const gpu_indexing indexing = gpu_indexing_of(call);
    const gpu_elements elements = gpu_elements_of(&call->inputs[0], &call->inputs[1], params->axis);
    return cuda_launched(call, gpu_run_gather_elements(cuda_stream_of(call), &indexing, &elements));
}

static tort_status run_gather_nd(const tort_call *call) {
    const gpu_indexing indexing = gpu_indexing_of(call);
    return cuda_launched(call, gpu_run_gather_nd(cuda_stream_of(call), &indexing, call->params));
}
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const tort_kernel tort_cuda_gather_kernels[] = {
    {"", "Gather", "gather", .claim = tort_cuda_claim_movable, .prepare = CUDA_ONLY(prepare),
     .run = CUDA_ONLY(run_gather), .variant = GPU_GATHER},
    {"com.microsoft", "TorchEmbedding", "gather", .claim = tort_cuda_claim_movable, .prepare = CUDA_ONLY(prepare),
     .run = CUDA_ONLY(run_gather), .variant = GPU_GATHER},
    {"", "GatherElements", "gather_elements", .claim = tort_cuda_claim_movable, .prepare = CUDA_ONLY(prepare),
     .run = CUDA_ONLY(run_gather_elements), .variant = GPU_GATHER_ELEMENTS},
    {"", "GatherND", "gather_nd", .claim = tort_cuda_claim_movable, .prepare = CUDA_ONLY(prepare),
     .run = CUDA_ONLY(run_gather_nd), .variant = GPU_GATHER_ND},
    {"com.microsoft", "GatherND", "gather_nd", .claim = claim_nd, .prepare = CUDA_ONLY(prepare),
     .run = CUDA_ONLY(run_gather_nd), .variant = GPU_GATHER_ND},
    {.op = NULL},
};
