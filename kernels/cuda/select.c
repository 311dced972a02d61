/* select.c - kernel table and claims of NonZero and Compress, whose output shape depends on values: the core has the
 * operator's infer count the selected elements on the host right before the run, and allocates the output; the
 * kernels find their places on the device. Compress makes a list of the selected indices and gathers by it. Kernels:
 * select.cu, gather.cu. */
#include "kernels/cuda/select.h"

#include <string.h>

#include "kernels/cuda/gather.h"
#include "ops/extent.h"
#include "ops/select.h"

/* Mask of the bits that make an element nonzero: all but the sign of a float, since -0 is zero. 0: no such mask. */
static uint64_t mask_of(tort_type type) {
    switch (type) {
    case TORT_FLOAT16:
    case TORT_BFLOAT16: return 0x7fff;
    case TORT_FLOAT: return 0x7fffffff;
    case TORT_DOUBLE: return INT64_MAX;
    case TORT_COMPLEX64: return 0x7fffffff7fffffff;
    default: return tort_type_is_float(type) || !tort_cuda_is_movable(type) ? 0 : UINT64_MAX;
    }
}

static tort_verdict claim_nonzero(const tort_target *target, const tort_node_view *node) {
    (void)target;
    if (mask_of(node->inputs[0].type)) return tort_yes();
    return tort_cuda_no_type(node, 0, "integers, bool, complex64, and floats of 16 bits and more");
}

static tort_status size_nonzero(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                tort_error *error) {
    (void)target, (void)node, (void)error;
    *scratch = GPU_SELECT_PARTS * sizeof(uint64_t);
    return TORT_OK;
}

/* Scratch memory: the counts of the parts, then the list of indices. */
static tort_status size_compress(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                 tort_error *error) {
    const tort_info *condition = &node->inputs[1];
    size_t list = sizeof(int64_t);
    bool fits = true;
    (void)target;
    for (int32_t d = 0; d < condition->rank; d++)
        fits = fits && tort_mul_size(list, (uint64_t)condition->dims[d], &list);
    if (fits && tort_add_size(list, GPU_SELECT_PARTS * sizeof(uint64_t), scratch)) return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

#ifdef CUDA_DEVICE
static tort_status prepare_nonzero(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_selection(cuda_element_bytes(p->node->inputs[0].type)));
}

static tort_status run_nonzero(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    gpu_selection selection = {.count = (size_t)tort_count(x),
                               .columns = (size_t)y->dims[1],
                               .mask = mask_of(x->type),
                               .rank = x->rank,
                               .x = x->data,
                               .output = y->data,
                               .counts = call->scratch};
    memcpy(selection.dims, x->dims, sizeof selection.dims);
    if (x->rank == 0) return TORT_OK; /* a scalar has no coordinates, zero or not */
    return cuda_launched(call, gpu_run_selection(cuda_stream_of(call), cuda_element_bytes(x->type), &selection));
}

static tort_status prepare_compress(tort_prepare *p) {
    const int bytes = cuda_element_bytes(p->node->inputs[0].type);
    const tort_status status = cuda_loaded(p, gpu_load_selection(1));
    return status ? status : cuda_loaded(p, gpu_load_gather(GPU_GATHER, bytes, 8));
}

static tort_status run_compress(const tort_call *call) {
    const tort_compress_params *params = call->params;
    const tort_tensor *x = &call->inputs[0], *condition = &call->inputs[1], *y = &call->outputs[0];
    const int32_t axis = params->flat ? 0 : params->axis;
    const int64_t length = params->flat ? tort_count(x) : x->dims[axis];
    const int64_t given = tort_count(condition), count = given < length ? given : length;
    int64_t *list = (int64_t *)call->scratch + GPU_SELECT_PARTS;
    const gpu_selection selection = {.count = (size_t)count,
                                     .columns = (size_t)y->dims[axis],
                                     .mask = 0xff,
                                     .rank = 1,
                                     .dims = {count},
                                     .x = condition->data,
                                     .output = list,
                                     .counts = call->scratch};
    const tort_gather_params gather = {.outer = params->flat ? 1 : tort_extent(x->dims, 0, axis),
                                       .size = length,
                                       .inner = params->flat ? 1 : tort_extent(x->dims, axis + 1, x->rank),
                                       .index_count = y->dims[axis]};
    const gpu_indexing indexing = {.element_bytes = cuda_element_bytes(x->type),
                                   .index_bytes = 8,
                                   .node = call->node,
                                   .data = x->data,
                                   .indices = list,
                                   .output = y->data,
                                   .status = cuda_status_word(call)};
    if (tort_count(y) == 0) return TORT_OK;
    const tort_status status = cuda_launched(call, gpu_run_selection(cuda_stream_of(call), 1, &selection));
    return status ? status : cuda_launched(call, gpu_run_gather(cuda_stream_of(call), &indexing, &gather));
}
#endif

const tort_kernel tort_cuda_select_kernels[] = {
    {"", "NonZero", "nonzero", .claim = claim_nonzero, .size = size_nonzero, .prepare = CUDA_ONLY(prepare_nonzero),
     .run = CUDA_ONLY(run_nonzero)},
    {"", "Compress", "compress", .claim = tort_cuda_claim_movable, .size = size_compress,
     .prepare = CUDA_ONLY(prepare_compress), .run = CUDA_ONLY(run_compress)},
    {.op = NULL},
};
