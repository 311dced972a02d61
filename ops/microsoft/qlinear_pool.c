/* qlinear_pool.c - QLinearAveragePool: X is dequantized to floats with the channels first, ONNX's pool runs on them,
 * and the averages are quantized. QLinearGlobalAveragePool: a sum of integers, scaled. Read next: pool.h,
 * channels_last.h. */
#include "ops/extent.h"
#include "ops/microsoft/channels_last.h"
#include "ops/microsoft/qlinear.h"
#include "ops/pool.h"
#include "ops/quantized.h"

enum { POOL_WINDOW, POOL_GLOBAL }; /* values of tort_op.variant */

typedef struct qlinear_pool {
    tort_pool_params pool;
    bool channels_last;
} qlinear_pool;

static tort_status infer(tort_infer *i) {
    const bool global = i->node->op->variant == POOL_GLOBAL;
    tort_status status =
        tort_planar_infer(i, tort_channels_last(i->node), global ? tort_infer_global_pool : tort_infer_pool);
    return status != TORT_OK ? status : tort_linear_check(i, 0x1e);
}

/* Scratch: X and Y as floats. */
static tort_status resolve_pool(tort_resolve *resolve) {
    const bool global = resolve->node->op->variant == POOL_GLOBAL;
    qlinear_pool *params = resolve->params;
    params->channels_last = tort_channels_last(resolve->node);
    tort_status status = tort_planar_resolve(resolve, params->channels_last, &params->pool,
                                             global ? tort_resolve_global_average_pool : tort_resolve_average_pool);
    resolve->scratch_bytes = 0; /* the pool's scratch is for other types */
    if (status != TORT_OK || global) return status;
    const tort_info *x = &resolve->node->inputs[0], *y = &resolve->node->outputs[0];
    size_t count;
    if (!tort_shape_known(x) || !tort_shape_known(y)) return TORT_OK;
    if (tort_add_size((size_t)tort_extent(x->dims, 0, x->rank), (size_t)tort_extent(y->dims, 0, y->rank), &count) &&
        tort_mul_size(count, sizeof(float), &resolve->scratch_bytes))
        return TORT_OK;
    return tort_out_of_memory(resolve->error, SIZE_MAX);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

typedef struct pool_job {
    const tort_tensor *x, *y;
    float *x_floats, *y_floats;
    int64_t channels, x_plane, y_plane;
    bool channels_last;
    float values[256];
    tort_linear to;
} pool_job;

/* Dequantizes planes of X. */
static void widen_planes(void *arg, int64_t begin, int64_t end) {
    const pool_job *job = arg;
    for (int64_t plane = begin; plane < end; plane++) {
        const int64_t n = plane / job->channels, c = plane % job->channels, size = job->x_plane;
        const int64_t first = job->channels_last ? n * job->channels * size + c : plane * size;
        const int64_t step = job->channels_last ? job->channels : 1;
        const uint8_t *x = (const uint8_t *)job->x->data + first;
        for (int64_t i = 0; i < size; i++) job->x_floats[plane * size + i] = job->values[x[i * step]];
    }
}

static void store_planes(void *arg, int64_t begin, int64_t end) {
    const pool_job *job = arg;
    const tort_tensor *y = job->y;
    for (int64_t plane = begin; plane < end; plane++) {
        const int64_t n = plane / job->channels, c = plane % job->channels, size = job->y_plane;
        const int64_t first = job->channels_last ? n * job->channels * size + c : plane * size;
        const int64_t step = job->channels_last ? job->channels : 1;
        const float *from = job->y_floats + plane * size;
        for (int64_t at = 0; at < size; at += TORT_BLOCK) {
            const int64_t count = tort_block_count(size, at);
            float scaled[TORT_BLOCK];
            uint8_t bytes[TORT_BLOCK];
            const tort_tensor block = {.type = y->type, .data = bytes};
            /* ONNX Runtime adds the zero point before rounding: it decides where a sum is halfway. */
            for (int64_t i = 0; i < count; i++) scaled[i] = from[at + i] / job->to.scale + job->to.zero;
            tort_linear_store(&block, 0, count, scaled, 0);
            for (int64_t i = 0; i < count; i++) ((uint8_t *)y->data)[first + (at + i) * step] = bytes[i];
        }
    }
}

static int64_t plane_of(const tort_sliding *window, const int64_t *sizes) {
    return tort_extent(sizes, 0, window->axes);
}

static tort_status run(const tort_call *call) {
    const qlinear_pool *params = call->params;
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const tort_pool_params *p = &params->pool;
    if (tort_count(y) == 0) return TORT_OK;
    pool_job job = {.x = x, .y = y, .channels = p->channels, .channels_last = params->channels_last && x->rank > 2};
    job.x_plane = plane_of(&p->window, p->window.input);
    job.y_plane = plane_of(&p->window, p->window.output);
    job.x_floats = call->scratch;
    job.y_floats = job.x_floats + tort_count(x);
    job.to = tort_linear_of(call, 3, 4);
    tort_linear_values(x->type, tort_linear_of(call, 1, 2), job.values);
    tort_parallel(call, p->batch * p->channels, job.x_plane, widen_planes, &job);
    const tort_tensor in = {.type = TORT_FLOAT, .rank = 1, .dims = {tort_count(x)}, .data = job.x_floats};
    const tort_tensor out = {.type = TORT_FLOAT, .rank = 1, .dims = {tort_count(y)}, .data = job.y_floats};
    tort_call inner = *call;
    inner.params = p;
    inner.inputs = &in;
    inner.outputs = &out;
    inner.input_count = 1;
    tort_status status = tort_run_pool(&inner);
    if (status == TORT_OK) tort_parallel(call, p->batch * p->channels, 2 * job.y_plane, store_planes, &job);
    return status;
}

/* ---- the global pool --------------------------------------------------------------------------------------------- */

typedef struct global_job {
    const tort_tensor *x, *y;
    int64_t channels, size, step; /* step: between elements of a plane */
    float x_zero, factor, y_zero;
} global_job;

static void mean_planes(void *arg, int64_t begin, int64_t end) {
    const global_job *job = arg;
    const bool is_signed = job->x->type == TORT_INT8;
    for (int64_t plane = begin; plane < end; plane++) {
        const int64_t n = plane / job->channels, c = plane % job->channels;
        const uint8_t *x =
            (const uint8_t *)job->x->data + (job->step > 1 ? n * job->channels * job->size + c : plane * job->size);
        int64_t sum = 0;
        for (int64_t i = 0; i < job->size; i++) sum += is_signed ? (int8_t)x[i * job->step] : x[i * job->step];
        const double less = (double)sum - (double)job->size * (double)job->x_zero;
        tort_requantize(job->y, plane, 1, &less, &job->factor, &job->y_zero);
    }
}

/* The sum is one of integers, and rounds once, as QLinearConv does: every kernel gives the same byte. */
tort_status tort_run_linear_mean(const tort_call *call) {
    const qlinear_pool *params = call->params;
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const tort_linear from = tort_linear_of(call, 1, 2), to = tort_linear_of(call, 3, 4);
    if (tort_count(y) == 0) return TORT_OK;
    global_job job = {.x = x, .y = y, .channels = params->pool.channels, .x_zero = from.zero, .y_zero = to.zero};
    job.size = plane_of(&params->pool.window, params->pool.window.input);
    job.step = params->channels_last && x->rank > 2 ? job.channels : 1;
    job.factor = tort_linear_mean(from.scale, to.scale, job.size);
    tort_parallel(call, tort_count(y), job.size, mean_planes, &job);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const tort_op tort_ops_qlinear_pool[] = {
    {"com.microsoft", "QLinearAveragePool", 1, 1, "X:T x_scale:float x_zero_point?:T y_scale:float y_zero_point?:T",
     "Y:T", "T=uint8|int8",
     "auto_pad:string=NOTSET ceil_mode:int=0 channels_last:int=0 count_include_pad:int=0 kernel_shape:ints! pads:ints "
     "strides:ints",
     .variant = POOL_WINDOW, sizeof(qlinear_pool), infer, resolve_pool, run},
    {"com.microsoft", "QLinearGlobalAveragePool", 1, 1, "X:T x_scale:float x_zero_point:T y_scale:float y_zero_point:T",
     "Y:T", "T=uint8|int8", "channels_last:int=0", .variant = POOL_GLOBAL, sizeof(qlinear_pool), infer, resolve_pool,
     tort_run_linear_mean},
    {0},
};
