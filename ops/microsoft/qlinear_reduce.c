/* qlinear_reduce.c - QLinearReduceMean: the mean of dequantized 8-bit numbers, quantized again.
 *
 * Read next: qlinear.h, reduce.h. */
#include "ops/extent.h"
#include "ops/microsoft/qlinear.h"
#include "ops/reduce.h"

/* View of the node as ReduceMean of its first input. */
static tort_node_view mean_of(const tort_node_view *node) {
    tort_node_view view = *node;
    view.input_count = 1;
    return view;
}

static tort_status infer_mean(tort_infer *infer) {
    const tort_node_view view = mean_of(infer->node);
    tort_infer inner = *infer;
    inner.node = &view;
    tort_status status = tort_infer_reduce(&inner);
    return status == TORT_OK ? tort_linear_check(infer, 0x1e) : status;
}

/* Scratch: the input and the means as floats. */
static tort_status resolve_mean(tort_resolve *resolve) {
    const tort_node_view view = mean_of(resolve->node);
    const tort_info *x = &resolve->node->inputs[0], *y = &resolve->node->outputs[0];
    size_t count;
    tort_resolve inner = *resolve;
    inner.node = &view;
    tort_status status = tort_resolve_reduce(&inner);
    if (status != TORT_OK || !tort_shape_known(x) || !tort_shape_known(y)) return status;
    if (tort_add_size((uint64_t)tort_extent(x->dims, 0, x->rank), (uint64_t)tort_extent(y->dims, 0, y->rank), &count) &&
        tort_mul_size(count, sizeof(float), &resolve->scratch_bytes))
        return TORT_OK;
    return tort_out_of_memory(resolve->error, SIZE_MAX);
}

typedef struct mean_job {
    const float *values; /* of the 256 bytes */
    const uint8_t *bytes;
    float *floats;
    const tort_tensor *y;
    tort_linear to;
} mean_job;

static void widen(void *arg, int64_t begin, int64_t end) {
    const mean_job *job = arg;
    for (int64_t i = begin; i < end; i++) job->floats[i] = job->values[job->bytes[i]];
}

static void store(void *arg, int64_t begin, int64_t end) {
    const mean_job *job = arg;
    for (int64_t i = begin; i < end; i++) job->floats[i] /= job->to.scale;
    tort_linear_store(job->y, begin, end - begin, job->floats + begin, job->to.zero);
}

static tort_status run_mean(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const int64_t count = tort_count(x), means = tort_count(y);
    float values[256], *floats = call->scratch, *sums = floats + count;
    if (means == 0) return TORT_OK;
    tort_linear_values(x->type, tort_linear_of(call, 1, 2), values);
    mean_job job = {values, x->data, floats, y, tort_linear_of(call, 3, 4)};
    tort_parallel(call, count, 1, widen, &job);
    tort_tensor in = *x, out = *y;
    in.type = out.type = TORT_FLOAT;
    in.data = floats;
    out.data = sums;
    tort_call inner = *call;
    inner.inputs = &in;
    inner.outputs = &out;
    inner.input_count = 1;
    tort_status status = tort_reduce_mean(&inner);
    job.floats = sums;
    if (status == TORT_OK) tort_parallel(call, means, 2, store, &job);
    return status;
}

const tort_op tort_ops_qlinear_reduce[] = {
    {"com.microsoft", "QLinearReduceMean", 1, 1,
     "data:T data_scale:float data_zero_point?:T reduced_scale:float reduced_zero_point?:T", "reduced:T",
     "T=uint8|int8", "axes:ints! keepdims:int!", .params_size = sizeof(tort_reduce_params), infer_mean, resolve_mean,
     run_mean},
    {0},
};
