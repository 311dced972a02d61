/* qlinear_reduce.c - QLinearReduceMean: a sum of whole numbers, times a factor, as QLinearGlobalAveragePool has it.
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

/* Scratch: the sums, as doubles, and the input as floats. */
static tort_status resolve_mean(tort_resolve *resolve) {
    const tort_node_view view = mean_of(resolve->node);
    const tort_info *x = &resolve->node->inputs[0], *y = &resolve->node->outputs[0];
    size_t bytes;
    tort_resolve inner = *resolve;
    inner.node = &view;
    tort_status status = tort_resolve_reduce(&inner);
    if (status != TORT_OK || !tort_shape_known(x) || !tort_shape_known(y)) return status;
    if (tort_mul_size((uint64_t)tort_extent(y->dims, 0, y->rank), sizeof(double), &resolve->scratch_bytes) &&
        tort_mul_size((uint64_t)tort_extent(x->dims, 0, x->rank), sizeof(float), &bytes) &&
        tort_add_size(resolve->scratch_bytes, bytes, &resolve->scratch_bytes))
        return TORT_OK;
    return tort_out_of_memory(resolve->error, SIZE_MAX);
}

typedef struct mean_job {
    const float *values; /* of the 256 bytes, less the zero point */
    const uint8_t *bytes;
    float *floats, factor, zero;
    const double *sums;
    const tort_tensor *y;
} mean_job;

static void widen(void *arg, int64_t begin, int64_t end) {
    const mean_job *job = arg;
    for (int64_t i = begin; i < end; i++) job->floats[i] = job->values[job->bytes[i]];
}

static void store(void *arg, int64_t begin, int64_t end) {
    const mean_job *job = arg;
    float scaled[TORT_BLOCK];
    for (int64_t at = begin; at < end; at += TORT_BLOCK) {
        const int64_t count = tort_block_count(end, at);
        for (int64_t i = 0; i < count; i++) scaled[i] = (float)(job->sums[at + i] * (double)job->factor);
        tort_linear_store(job->y, at, count, scaled, job->zero);
    }
}

static tort_status run_mean(const tort_call *call) {
    const tort_reduce_params *p = call->params;
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const tort_linear from = tort_linear_of(call, 1, 2), to = tort_linear_of(call, 3, 4);
    const int64_t means = tort_count(y);
    double *sums = call->scratch;
    float values[256];
    if (means == 0) return TORT_OK;
    tort_linear_values(x->type, (tort_linear){1, from.zero}, values);
    const float factor = tort_linear_mean(from.scale, to.scale, p->reduced_count);
    mean_job job = {values, x->data, (float *)(sums + means), factor, to.zero, sums, y};
    tort_parallel(call, tort_count(x), 1, widen, &job);
    tort_tensor in = *x, out = *y;
    in.type = TORT_FLOAT;
    in.data = job.floats;
    out.type = TORT_DOUBLE;
    out.data = sums;
    tort_call inner = *call;
    inner.inputs = &in;
    inner.outputs = &out;
    inner.input_count = 1;
    const tort_status status = tort_reduce_sum(&inner);
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
