/* max_unpool.c - MaxUnpool, every version: writes maxima to the positions that the indices of MaxPool give.
 *
 * Indices count in the shape that follows from the pooling attributes. output_shape may be larger than that along any
 * axis: the rest is zero. Read next: pool.c. */
#include "ops/max_unpool.h"

#include "ops/index.h"
#include "ops/sliding.h"
#include "ops/strided.h"

#include <inttypes.h>
#include <string.h>

/* Size of the unpooled shape along a spatial axis. */
static tort_status unpooled_size(const tort_sliding *window, int32_t axis, int64_t input, int64_t *out,
                                 tort_error *error) {
    if (input > (int64_t)1 << 31)
        return tort_fail(error, TORT_E_MODEL, "the input has %" PRId64 " elements along spatial axis %d", input,
                         (int)axis);
    *out = input == 0
               ? 0
               : (input - 1) * window->strides[axis] + window->kernel[axis] - window->begin[axis] - window->end[axis];
    if (*out >= 0) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL,
                     "the output would have %" PRId64 " elements along spatial axis %d: pads are "
                     "too large",
                     *out, (int)axis);
}

static tort_status read_window(const tort_node_view *node, int32_t axes, tort_sliding *window, tort_error *error) {
    tort_status status = tort_sliding_read(node, axes, window, error);
    if (!status && window->kernel[0] < 0) return tort_fail(error, TORT_E_MODEL, "attribute kernel_shape is missing");
    return status;
}

static tort_status infer_given_shape(tort_infer *infer) {
    const tort_info *x = &infer->node->inputs[0];
    tort_symbols shape;
    tort_status status = tort_read_shape(infer, 2, "output_shape", 0, &shape);
    if (!status && x->rank >= 0) status = tort_check_entries(infer->error, "output_shape", shape.count, x->rank);
    if (status) return status;
    int32_t rank = shape.count < 0 ? x->rank : shape.count;
    tort_dim dims[TORT_MAX_RANK];
    for (int32_t i = 0; i < rank; i++)
        dims[i] = shape.known == TORT_KNOWN ? tort_scalar_to_dim(infer->dims, shape.values[i])
                                            : tort_dim_fresh(infer->dims, true);
    tort_infer_shape(infer, 0, x->type, rank, dims);
    return TORT_OK;
}

static tort_status infer_max_unpool(tort_infer *infer) {
    const tort_info *x = &infer->node->inputs[0], *indices = &infer->node->inputs[1];
    if (x->rank >= 0 && indices->rank >= 0) {
        bool same = x->rank == indices->rank;
        for (int32_t i = 0; same && i < x->rank; i++)
            same = !tort_dim_known(x->dims[i]) || !tort_dim_known(indices->dims[i]) || x->dims[i] == indices->dims[i];
        if (!same) return tort_fail(infer->error, TORT_E_MODEL, "I has not the shape of X");
    }
    if (tort_has_input(infer->node, 2)) return infer_given_shape(infer);
    infer->outputs[0].type = x->type;
    if (x->rank < 0) return TORT_OK;
    tort_sliding window;
    tort_status status = read_window(infer->node, x->rank - 2, &window, infer->error);
    if (status) return status;
    tort_dim dims[TORT_MAX_RANK] = {x->dims[0], x->dims[1]};
    for (int32_t i = 0; i < window.axes; i++) {
        const tort_dim input = x->dims[i + 2];
        if (tort_dim_known(input)) {
            status = unpooled_size(&window, i, input, &dims[i + 2], infer->error);
            if (status) return status;
        } else {
            dims[i + 2] = tort_dim_add_const(infer->dims, tort_dim_mul(infer->dims, input, window.strides[i]),
                                             window.kernel[i] - window.begin[i] - window.end[i] - window.strides[i]);
        }
    }
    tort_infer_shape(infer, 0, x->type, x->rank, dims);
    return TORT_OK;
}

static tort_status resolve_max_unpool(tort_resolve *resolve) {
    tort_max_unpool_params *params = resolve->params;
    const tort_info *x = &resolve->node->inputs[0], *y = &resolve->node->outputs[0];
    tort_sliding window;
    for (int32_t i = 0; i < x->rank; i++)
        if (!tort_dim_known(x->dims[i]) || tort_known_dim(y, i) < 0) return TORT_OK;
    if (x->rank < 0) return TORT_OK;
    tort_status status = read_window(resolve->node, x->rank - 2, &window, resolve->error);
    for (int32_t i = 0; i < x->rank && !status; i++) {
        params->unpooled[i] = x->dims[i];
        if (i >= 2) status = unpooled_size(&window, i - 2, x->dims[i], &params->unpooled[i], resolve->error);
        if (!status && y->dims[i] < params->unpooled[i])
            status = tort_fail(resolve->error, TORT_E_RUN,
                               "output_shape[%d] is %" PRId64 ", the unpooled input needs %" PRId64, (int)i, y->dims[i],
                               params->unpooled[i]);
    }
    return status;
}

static tort_status run_max_unpool(const tort_call *call) {
    const tort_max_unpool_params *params = call->params;
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const int64_t count = tort_count(x);
    int64_t total = 1;
    for (int32_t i = 0; i < y->rank; i++) total *= params->unpooled[i];
    if (tort_count(y) == 0) return TORT_OK;
    tort_fill_tensor(call, y, (const uint64_t[2]){0}, 0);
    for (int64_t i = 0; i < count && tort_row_goes_on(call->watch, i); i++) {
        int64_t rest = tort_index_at(&call->inputs[1], i), at = 0, stride = 1;
        if (rest < 0 || rest >= total)
            return tort_fail(call->error, TORT_E_RUN,
                             "I[%" PRId64 "] (flattened) is %" PRId64 ", expected 0 to %" PRId64, i, rest, total - 1);
        for (int32_t axis = y->rank - 1; axis >= 0; axis--) {
            at += rest % params->unpooled[axis] * stride;
            rest /= params->unpooled[axis];
            stride *= y->dims[axis];
        }
        tort_copy_elements(y->type, y->data, at, x->data, i, 1);
    }
    return TORT_OK;
}

#define MAX_UNPOOL(since_, until_, types_)                                                                             \
    {                                                                                                                  \
        "", "MaxUnpool", since_, until_, "X:T1 I:T2 output_shape?:T2", "output:T1", types_,                            \
            "kernel_shape:ints! pads:ints strides:ints",                                                               \
            .shape_inputs = 1u << 2, .params_size = sizeof(tort_max_unpool_params), infer_max_unpool,                  \
            resolve_max_unpool, run_max_unpool                                                                         \
    }

const tort_op tort_ops_max_unpool[] = {
    MAX_UNPOOL(9, 10, "T1=floats T2=int64"),
    MAX_UNPOOL(11, 21, "T1=floats T2=int64"),
    MAX_UNPOOL(22, TORT_NEWEST_OPSET, "T1=floats13 T2=int64"),
    {0},
};
