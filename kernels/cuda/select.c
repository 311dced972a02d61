/* select.c - kernel table and claims of NonZero and Compress, whose output shape depends on values: the rows measure,
 * which counts the selected elements on the device, and the host reads their number alone. Compress makes a list of the
 * selected indices and gathers by it. Kernels: select.cu, gather.cu. */
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
    *scratch = GPU_SELECT_COUNTS * sizeof(uint64_t);
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
    if (fits && tort_add_size(list, GPU_SELECT_COUNTS * sizeof(uint64_t), scratch)) return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

#ifdef CUDA_DEVICE
static tort_status prepare_nonzero(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_selection(cuda_element_bytes(p->node->inputs[0].type)));
}

static tort_status count_selected(const tort_call *call, int bytes, const gpu_selection *s) {
    return cuda_launched(call, gpu_run_selection_count(cuda_stream_of(call), bytes, s));
}

/* Counts, and reads the number of selected elements. */
static tort_status measure_selection(const tort_call *call, int bytes, const gpu_selection *s, tort_dim *dim) {
    uint64_t found = 0;
    tort_status status = count_selected(call, bytes, s);
    if (!status && s->count)
        status = cuda_copy(call->device, call->stream, &found, s->counts + GPU_SELECT_PARTS, sizeof found, TORT_TO_HOST,
                           call->error);
    *dim = (tort_dim)found;
    return status;
}

/* Writes the indices, behind the counting if that was not done before. */
static tort_status write_selection(const tort_call *call, int bytes, const gpu_selection *s) {
    const tort_status status = call->measured ? TORT_OK : count_selected(call, bytes, s);
    return status ? status : cuda_launched(call, gpu_run_selection(cuda_stream_of(call), bytes, s));
}

static gpu_selection selection_of(const tort_call *call, const tort_tensor *x, uint64_t mask) {
    const cuda_stream *stream = call->stream;
    gpu_selection selection = {.count = (size_t)tort_count(x),
                               .mask = mask,
                               .rank = x->rank,
                               .x = x->data,
                               .counts = call->scratch,
                               .arrivals = stream->arrivals};
    memcpy(selection.dims, x->dims, sizeof selection.dims);
    return selection;
}

static tort_status measure_nonzero(const tort_call *call, tort_info *outputs) {
    const tort_tensor *x = &call->inputs[0];
    const gpu_selection selection = selection_of(call, x, mask_of(x->type));
    return measure_selection(call, cuda_element_bytes(x->type), &selection, &outputs[0].dims[1]);
}

static tort_status run_nonzero(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    gpu_selection selection = selection_of(call, x, mask_of(x->type));
    selection.columns = (size_t)y->dims[1];
    selection.output = y->data;
    if (x->rank == 0) return TORT_OK; /* a scalar has no coordinates, zero or not */
    return write_selection(call, cuda_element_bytes(x->type), &selection);
}

static tort_status prepare_compress(tort_prepare *p) {
    const int bytes = cuda_element_bytes(p->node->inputs[0].type);
    const tort_status status = cuda_loaded(p, gpu_load_selection(1));
    return status ? status : cuda_loaded(p, gpu_load_gather(GPU_GATHER, bytes, 8));
}

/* Compress: the elements of the condition that count, at most `length`, as a list. */
static gpu_selection conditions_of(const tort_call *call, int64_t length) {
    gpu_selection selection = selection_of(call, &call->inputs[1], 0xff);
    if (selection.count > (size_t)length) selection.count = (size_t)length;
    selection.rank = 1;
    selection.dims[0] = (int64_t)selection.count;
    return selection;
}

static int64_t length_of(const tort_call *call) {
    const tort_compress_params *params = call->params;
    return params->flat ? tort_count(&call->inputs[0]) : call->inputs[0].dims[params->axis];
}

static tort_status measure_compress(const tort_call *call, tort_info *outputs) {
    const tort_compress_params *params = call->params;
    const gpu_selection selection = conditions_of(call, length_of(call));
    return measure_selection(call, 1, &selection, &outputs[0].dims[params->axis]);
}

static tort_status run_compress(const tort_call *call) {
    const tort_compress_params *params = call->params;
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const int32_t axis = params->axis;
    const int64_t length = length_of(call);
    int64_t *list = (int64_t *)call->scratch + GPU_SELECT_COUNTS;
    gpu_selection selection = conditions_of(call, length);
    selection.columns = (size_t)y->dims[axis];
    selection.output = list;
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
    const tort_status status = write_selection(call, 1, &selection);
    return status ? status : cuda_launched(call, gpu_run_gather(cuda_stream_of(call), &indexing, &gather));
}
#endif

const tort_kernel tort_cuda_select_kernels[] = {
    {"", "NonZero", "nonzero", .claim = claim_nonzero, .size = size_nonzero, .measure = CUDA_MEASURE(measure_nonzero),
     .prepare = CUDA_ONLY(prepare_nonzero), .run = CUDA_ONLY(run_nonzero)},
    {"", "Compress", "compress", .claim = tort_cuda_claim_movable, .size = size_compress,
     .measure = CUDA_MEASURE(measure_compress), .prepare = CUDA_ONLY(prepare_compress), .run = CUDA_ONLY(run_compress)},
    {.op = NULL},
};
