/* tensor_scatter.c - TensorScatter: writes new keys or values into a cache of fixed length, at one position per batch
 * entry. */
#include "ops/tensor_scatter.h"

#include "ops/index.h"
#include "ops/shapes.h"
#include "ops/strided.h"

#include <string.h>

static tort_status cache_read(const tort_node_view *node, tort_error *error, tort_tensor_scatter_params *params) {
    const char *mode = tort_attr_string(node, "mode");
    params->circular = !strcmp(mode, "circular");
    if (!params->circular && strcmp(mode, "linear")) {
        return tort_fail(error, TORT_E_MODEL, "mode \"%s\" is neither linear nor circular", mode);
    }
    if (node->inputs[0].rank < 0) return TORT_OK;
    tort_status status = tort_normalize_axis(error, tort_attr_int(node, "axis"), node->inputs[0].rank, &params->axis);
    if (!status && params->axis == 0) status = tort_fail(error, TORT_E_MODEL, "axis is 0, which is the batch's");
    return status;
}

static tort_status cache_infer(tort_infer *infer) {
    const tort_info *past = &infer->node->inputs[0], *update = &infer->node->inputs[1];
    tort_tensor_scatter_params params = {0};
    tort_status status = cache_read(infer->node, infer->error, &params);
    if (status) return status;
    tort_infer_same(infer, 0, 0);
    if (past->rank < 0 || update->rank < 0) return TORT_OK;
    if (past->rank != update->rank) {
        return tort_fail(infer->error, TORT_E_MODEL, "the cache has rank %d, the update rank %d", (int)past->rank,
                         (int)update->rank);
    }
    const tort_info *indices = &infer->node->inputs[2];
    if (tort_has_input(infer->node, 2) && indices->rank >= 0) {
        tort_dim unified;
        if (indices->rank != 1)
            return tort_fail(infer->error, TORT_E_MODEL,
                             "write_indices has rank %d, expected a list with one for each "
                             "of the batch",
                             (int)indices->rank);
        status = tort_dim_unify(infer->error, 0, past->dims[0], indices->dims[0], &unified);
    }
    for (int32_t k = 0; k < past->rank && !status; k++) {
        tort_dim unified;
        if (k != params.axis) {
            status = tort_dim_unify(infer->error, k, past->dims[k], update->dims[k], &unified);
        } else if (tort_dim_known(past->dims[k]) && tort_dim_known(update->dims[k]) &&
                   update->dims[k] > past->dims[k]) {
            status = tort_fail(infer->error, TORT_E_MODEL, "an update of %lld positions for a cache of %lld",
                               (long long)update->dims[k], (long long)past->dims[k]);
        }
    }
    return status;
}

static tort_status cache_resolve(tort_resolve *resolve) {
    return cache_read(resolve->node, resolve->error, resolve->params);
}

static tort_status cache_reference(const tort_call *call) {
    const tort_tensor_scatter_params *params = call->params;
    const tort_tensor *past = &call->inputs[0], *update = &call->inputs[1];
    const int64_t outer = tort_extent(past->dims, 0, params->axis), length = past->dims[params->axis];
    const int64_t inner = tort_extent(past->dims, params->axis + 1, past->rank), count = update->dims[params->axis];
    const tort_tensor *indices = tort_call_input(call, 2);
    void *out = call->outputs[0].data;
    int64_t done = 0;
    tort_fill_tensor(call, &call->outputs[0], past->data, 1);
    for (int64_t o = 0; o < outer; o++) {
        int64_t batch = o / (outer / past->dims[0]);
        int64_t first = indices ? tort_index_at(indices, batch) : 0;
        if (first < 0 || (!params->circular && first > length - count)) {
            return tort_fail(call->error, TORT_E_RUN, "write_indices[%lld] is %lld; %lld positions do not fit %lld",
                             (long long)batch, (long long)first, (long long)count, (long long)length);
        }
        for (int64_t k = 0; k < count; k++) {
            int64_t to = params->circular ? (first % length + k) % length : first + k;
            if (!tort_copy_run(call->watch, &done, past->type, out, (o * length + to) * inner, update->data,
                               (o * count + k) * inner, inner))
                return TORT_OK;
        }
    }
    return TORT_OK;
}

const tort_op tort_ops_tensor_scatter[] = {
    {"", "TensorScatter", 24, TORT_NEWEST_OPSET, "past_cache:T update:T write_indices?:int64", "present_cache:T",
     "T=all24", "axis:int=-2 mode:string=linear", .params_size = sizeof(tort_tensor_scatter_params), cache_infer,
     cache_resolve, cache_reference},
    {0},
};
