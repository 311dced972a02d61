/* unfold.c - com.microsoft: UnfoldTensor, windows of `size` elements along an axis, `step` apart, each laid along a new
 * last axis. Like PyTorch's Tensor.unfold. */
#include "ops/extent.h"
#include "ops/shapes.h"

typedef struct unfold_params {
    int64_t outer, length, inner; /* the input as [outer, length, inner] */
    int64_t windows, size, step;
} unfold_params;

static tort_status read_unfold(const tort_node_view *node, tort_error *error, int32_t *axis, unfold_params *params) {
    const tort_info *x = &node->inputs[0];
    params->size = tort_attr_int(node, "size");
    params->step = tort_attr_int(node, "step");
    if (params->size < 1 || params->step < 1)
        return tort_fail(error, TORT_E_MODEL, "size is %lld and step %lld, expected 1 or more", (long long)params->size,
                         (long long)params->step);
    tort_status status = tort_normalize_axis(error, tort_attr_int(node, "dim"), x->rank, axis);
    if (status) return status;
    const int64_t length = tort_known_dim(x, *axis);
    if (length >= 0 && params->size > length)
        return tort_fail(error, TORT_E_MODEL, "size is %lld, the axis has %lld elements", (long long)params->size,
                         (long long)length);
    params->windows = length < 0 ? -1 : (length - params->size) / params->step + 1;
    return TORT_OK;
}

static tort_status infer_unfold(tort_infer *infer) {
    const tort_info *x = &infer->node->inputs[0];
    unfold_params params;
    int32_t axis;
    infer->outputs[0].type = x->type;
    if (x->rank < 0) return TORT_OK;
    tort_status status = read_unfold(infer->node, infer->error, &axis, &params);
    if (!status) status = tort_check_rank(infer->error, x->rank + 1);
    if (status) return status;
    tort_dim dims[TORT_MAX_RANK];
    for (int32_t d = 0; d < x->rank; d++) dims[d] = x->dims[d];
    dims[axis] = params.windows >= 0 ? params.windows : tort_dim_fresh(infer->dims, true);
    dims[x->rank] = params.size;
    tort_infer_shape(infer, 0, x->type, x->rank + 1, dims);
    return TORT_OK;
}

static tort_status resolve_unfold(tort_resolve *resolve) {
    const tort_info *x = &resolve->node->inputs[0];
    unfold_params *params = resolve->params;
    int32_t axis;
    if (!tort_shape_known(x)) return TORT_OK;
    tort_status status = read_unfold(resolve->node, resolve->error, &axis, params);
    if (status) return status;
    params->outer = tort_extent(x->dims, 0, axis);
    params->length = x->dims[axis];
    params->inner = tort_extent(x->dims, axis + 1, x->rank);
    return TORT_OK;
}

/* Copies items (outer, window) begin .. end-1. */
static void unfold_windows(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const unfold_params *p = call->params;
    const size_t size = (size_t)tort_type_bits(call->inputs[0].type) / 8;
    int64_t done = 0;
    for (int64_t item = begin; item < end; item++) {
        const int64_t first = (item / p->windows * p->length + item % p->windows * p->step) * p->inner;
        const char *from = (const char *)call->inputs[0].data + (size_t)first * size;
        char *to = (char *)call->outputs[0].data + (size_t)(item * p->inner * p->size) * size;
        for (int64_t i = 0; i < p->inner; i++)
            for (int64_t k = 0; k < p->size; k++, to += size) {
                if (!tort_work_goes_on(call->watch, &done, 4)) return;
                tort_copy_element(to, from + (size_t)(k * p->inner + i) * size, size);
            }
    }
}

static tort_status run_unfold(const tort_call *call) {
    const unfold_params *p = call->params;
    if (tort_count(&call->outputs[0]) > 0)
        tort_parallel(call, p->outer * p->windows, p->inner * p->size + 1, unfold_windows, (void *)call);
    return TORT_OK;
}

const tort_op tort_ops_microsoft_unfold[] = {
    {"com.microsoft", "UnfoldTensor", 1, 1, "input:T", "output:T", "T=all13", "dim:int=-1 size:int! step:int=1",
     .params_size = sizeof(unfold_params), infer_unfold, resolve_unfold, run_unfold},
    {0},
};
