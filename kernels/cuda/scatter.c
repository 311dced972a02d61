/* scatter.c - kernel table and claims of ScatterElements, ScatterND and the deprecated Scatter: a copy of data in
 * which updates replace elements or slices, or are combined with them. For repeated indices, updates apply in their
 * order, as on the CPU. Kernels: scatter.cu. Read first: gather.c. */
#include "kernels/cuda/scatter.h"

#include "ops/extent.h"
#include "runtime/core/base/memory.h"

enum { ELEMENTS, TUPLES }; /* variants: how indices name their targets */

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static tort_verdict claim_scatter(const tort_target *target, const tort_node_view *node) {
    const tort_scatter_params *params = node->params;
    if (!gpu_has_scatter(params->reduction, gpu_number_of(node->inputs[0].type)))
        return tort_cuda_no_type(node, 0, "floats of 16 to 64 bits and integers of 8 to 64 where updates are combined");
    return tort_cuda_claim_movable(target, node);
}

/* Scratch memory of replacing updates: the number of the last update of each slice. */
static tort_status size_scatter(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                tort_error *error) {
    const tort_scatter_params *params = node->params;
    const int64_t count = tort_extent(node->outputs[0].dims, 0, node->outputs[0].rank);
    const int64_t inner = node->kernel->variant == TUPLES ? params->nd.inner : 1;
    (void)target;
    *scratch = 0;
    if (params->reduction != TORT_SCATTER_REPLACE || !inner) return TORT_OK;
    if (tort_mul_size((uint64_t)(count / inner), sizeof(unsigned long long), scratch)) return TORT_OK;
    return tort_fail(error, TORT_E_MEMORY, "the size of the scratch memory overflows");
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

#ifdef CUDA_DEVICE
static tort_status prepare(tort_prepare *p) {
    const tort_scatter_params *params = p->node->params;
    const tort_info *in = p->node->inputs;
    const gpu_scatter scatter = {.reduction = params->reduction,
                                 .type = gpu_number_of(in[0].type),
                                 .tuples = p->node->kernel->variant == TUPLES};
    const gpu_indexing indexing = {.element_bytes = cuda_element_bytes(in[0].type),
                                   .index_bytes = cuda_element_bytes(in[1].type)};
    return cuda_loaded(p, gpu_load_scatter(&indexing, &scatter));
}

static tort_status run(const tort_call *call, gpu_scatter *scatter) {
    const tort_scatter_params *params = call->params;
    const tort_tensor *data = &call->inputs[0];
    const gpu_indexing indexing = gpu_indexing_of(call);
    const gpu_stream stream = cuda_stream_of(call);
    size_t bytes = 0;
    (void)tort_tensor_bytes(data, &bytes);
    if (!bytes) return TORT_OK;
    scatter->reduction = params->reduction;
    scatter->type = gpu_number_of(data->type);
    scatter->slices = (size_t)tort_count(data) / scatter->inner;
    scatter->updates = call->inputs[2].data;
    scatter->last = call->scratch;
    tort_status status =
        call->outputs[0].data == data->data ? TORT_OK : cuda_copied(call, call->outputs[0].data, data->data, bytes);
    if (status || !scatter->count) return status;
    if (scatter->reduction == TORT_SCATTER_REPLACE) cuda_count_copy(call); /* the launcher clears `last` by a memset */
    return cuda_launched(call, gpu_run_scatter(stream, &indexing, scatter));
}

static tort_status run_scatter_elements(const tort_call *call) {
    const tort_scatter_params *params = call->params;
    const tort_tensor *indices = &call->inputs[1];
    gpu_scatter scatter = {.count = (size_t)tort_count(indices),
                           .inner = 1,
                           .length = (size_t)indices->dims[params->axis],
                           .tail = (size_t)tort_extent(indices->dims, params->axis + 1, indices->rank),
                           .elements = gpu_elements_of(&call->inputs[0], indices, params->axis)};
    return run(call, &scatter);
}

static tort_status run_scatter_nd(const tort_call *call) {
    const tort_scatter_params *params = call->params;
    const tort_gather_nd_params *nd = &params->nd;
    gpu_scatter scatter = {.tuples = true,
                           .count = (size_t)nd->tuples,
                           .inner = (size_t)nd->inner,
                           .length = (size_t)nd->tuples,
                           .tail = (size_t)nd->inner,
                           .nd = *nd};
    return run(call, &scatter);
}
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const tort_kernel tort_cuda_scatter_kernels[] = {
    {"", "Scatter", "scatter_elements", .claim = claim_scatter, .size = size_scatter, .prepare = CUDA_ONLY(prepare),
     .run = CUDA_ONLY(run_scatter_elements), .variant = ELEMENTS, .in_place = 1},
    {"", "ScatterElements", "scatter_elements", .claim = claim_scatter, .size = size_scatter,
     .prepare = CUDA_ONLY(prepare), .run = CUDA_ONLY(run_scatter_elements), .variant = ELEMENTS, .in_place = 1},
    {"", "ScatterND", "scatter_nd", .claim = claim_scatter, .size = size_scatter, .prepare = CUDA_ONLY(prepare),
     .run = CUDA_ONLY(run_scatter_nd), .variant = TUPLES, .in_place = 1},
    {.op = NULL},
};
