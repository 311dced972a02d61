/* qlinear_pool.c - QLinearAveragePool and QLinearGlobalAveragePool: sums of integers, scaled. Read next: pool.h,
 * channels_last.h. */
#include "ops/extent.h"
#include "ops/microsoft/channels_last.h"
#include "ops/microsoft/qlinear.h"
#include "ops/quantized.h"

enum { POOL_WINDOW, POOL_GLOBAL }; /* values of tort_op.variant */

static tort_status infer(tort_infer *i) {
    const bool global = i->node->op->variant == POOL_GLOBAL;
    tort_status status =
        tort_planar_infer(i, tort_channels_last(i->node), global ? tort_infer_global_pool : tort_infer_pool);
    return status != TORT_OK ? status : tort_linear_check(i, 0x1e);
}

static tort_status resolve_pool(tort_resolve *resolve) {
    const bool global = resolve->node->op->variant == POOL_GLOBAL;
    tort_qlinear_pool *params = resolve->params;
    params->channels_last = tort_channels_last(resolve->node);
    const tort_status status =
        tort_planar_resolve(resolve, params->channels_last, &params->pool,
                            global ? tort_resolve_global_average_pool : tort_resolve_average_pool);
    resolve->scratch_bytes = 0; /* the pool's scratch is for other types */
    return status;
}

static int64_t plane_of(const tort_sliding *window, const int64_t *sizes) {
    return tort_extent(sizes, 0, window->axes);
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

typedef struct pool_job {
    const tort_call *call;
    const tort_tensor *x, *y;
    const tort_pool_params *p;
    int64_t channels, step; /* step: between elements of a plane */
    int64_t x_zero;
    tort_linear from, to;
} pool_job;

typedef struct pool_walk {
    int64_t done; /* see tort_work_goes_on */
    bool over;    /* the run is: sums are any numbers */
} pool_walk;

/* The sum of a window's elements less the zero point, from `axis` on; out: the place in the plane of Y. Padding is the
 * zero point, and adds nothing. */
static int64_t sum_window(const pool_job *job, const uint8_t *x, int32_t axis, const int64_t *out, pool_walk *walk) {
    const tort_sliding *w = &job->p->window;
    if (axis == w->axes) walk->over = walk->over || !tort_work_goes_on(job->call->watch, &walk->done, 8);
    if (axis == w->axes) return (job->x->type == TORT_INT8 ? (int8_t)*x : *x) - job->x_zero;
    const int64_t stride = tort_extent(w->input, axis + 1, w->axes) * job->step;
    int64_t sum = 0;
    for (int64_t k = 0; k < w->kernel[axis] && !walk->over; k++) {
        const int64_t at = out[axis] * w->strides[axis] - w->begin[axis] + k * w->dilations[axis];
        if (at >= 0 && at < w->input[axis]) sum += sum_window(job, x + at * stride, axis + 1, out, walk);
    }
    return sum;
}

static void pool_planes(void *arg, int64_t begin, int64_t end) {
    const pool_job *job = arg;
    const tort_sliding *w = &job->p->window;
    const int64_t x_plane = plane_of(w, w->input), y_plane = plane_of(w, w->output);
    pool_walk walk = {0};
    for (int64_t plane = begin; plane < end; plane++) {
        const int64_t n = plane / job->channels, c = plane % job->channels;
        const int64_t first = job->step > 1 ? n * job->channels : plane, more = job->step > 1 ? c : 0;
        const uint8_t *x = (const uint8_t *)job->x->data + first * x_plane + more;
        for (int64_t i = 0; i < y_plane; i++) {
            int64_t out[TORT_MAX_SPATIAL] = {0}, count = 1, left = i;
            for (int32_t a = w->axes - 1; a >= 0; left /= w->output[a--]) {
                out[a] = left % w->output[a];
                count *= tort_pool_divisor(job->p, a, out[a]);
            }
            const double sum = (double)sum_window(job, x, 0, out, &walk);
            if (walk.over) return;
            const float factor = tort_linear_mean(job->from.scale, job->to.scale, count);
            tort_requantize(job->y, first * y_plane + more + i * job->step, 1, &sum, &factor, &job->to.zero);
        }
    }
}

/* The sum is one of integers, and rounds once, as QLinearConv does: every kernel gives the same byte. */
static tort_status run(const tort_call *call) {
    const tort_qlinear_pool *params = call->params;
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const tort_pool_params *p = &params->pool;
    if (tort_count(y) == 0) return TORT_OK;
    pool_job job = {.call = call,
                    .x = x,
                    .y = y,
                    .p = p,
                    .channels = p->channels,
                    .step = params->channels_last && x->rank > 2 ? p->channels : 1,
                    .from = tort_linear_of(call, 1, 2),
                    .to = tort_linear_of(call, 3, 4)};
    job.x_zero = (int64_t)job.from.zero;
    tort_parallel(call, p->batch * p->channels,
                  plane_of(&p->window, p->window.output) * tort_sliding_positions(&p->window), pool_planes, &job);
    return TORT_OK;
}

/* ---- the global pool --------------------------------------------------------------------------------------------- */

typedef struct global_job {
    const tort_call *call;
    const tort_tensor *x, *y;
    int64_t channels, size, step; /* step: between elements of a plane */
    float x_zero, factor, y_zero;
    uint32_t (*sum)(const uint8_t *x, int64_t count, uint8_t flip); /* of contiguous bytes, or NULL */
} global_job;

static void mean_planes(void *arg, int64_t begin, int64_t end) {
    const global_job *job = arg;
    const bool is_signed = job->x->type == TORT_INT8;
    int64_t done = 0;
    for (int64_t plane = begin; plane < end; plane++) {
        const int64_t n = plane / job->channels, c = plane % job->channels;
        const uint8_t *x =
            (const uint8_t *)job->x->data + (job->step > 1 ? n * job->channels * job->size + c : plane * job->size);
        int64_t sum = 0;
        for (int64_t at = 0; at < job->size; at += TORT_PART) {
            if (!tort_work_goes_on(job->call->watch, &done, TORT_PART)) return;
            const int64_t last = at + tort_part_count(job->size, at);
            if (job->sum && job->step == 1)
                sum += (int64_t)job->sum(x + at, last - at, is_signed ? 128 : 0) - (is_signed ? 128 * (last - at) : 0);
            else
                for (int64_t i = at; i < last; i++) sum += is_signed ? (int8_t)x[i * job->step] : x[i * job->step];
        }
        const double less = (double)sum - (double)job->size * (double)job->x_zero;
        tort_requantize(job->y, plane, 1, &less, &job->factor, &job->y_zero);
    }
}

/* The sum is one of integers, and rounds once, as QLinearConv does: every kernel gives the same byte. */
tort_status tort_run_linear_mean(const tort_call *call,
                                 uint32_t (*sum)(const uint8_t *x, int64_t count, uint8_t flip)) {
    const tort_qlinear_pool *params = call->params;
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const tort_linear from = tort_linear_of(call, 1, 2), to = tort_linear_of(call, 3, 4);
    if (tort_count(y) == 0) return TORT_OK;
    global_job job = {.call = call, .x = x, .y = y, .sum = sum, .channels = params->pool.channels};
    job.x_zero = from.zero;
    job.y_zero = to.zero;
    job.size = plane_of(&params->pool.window, params->pool.window.input);
    job.step = params->channels_last && x->rank > 2 ? job.channels : 1;
    job.factor = tort_linear_mean(from.scale, to.scale, job.size);
    tort_parallel(call, tort_count(y), job.size, mean_planes, &job);
    return TORT_OK;
}

static tort_status run_mean_plainly(const tort_call *call) {
    return tort_run_linear_mean(call, NULL);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const tort_op tort_ops_qlinear_pool[] = {
    {"com.microsoft", "QLinearAveragePool", 1, 1, "X:T x_scale:float x_zero_point?:T y_scale:float y_zero_point?:T",
     "Y:T", "T=uint8|int8",
     "auto_pad:string=NOTSET ceil_mode:int=0 channels_last:int=0 count_include_pad:int=0 kernel_shape:ints! pads:ints "
     "strides:ints",
     .variant = POOL_WINDOW, .params_size = sizeof(tort_qlinear_pool), .infer = infer, .resolve = resolve_pool,
     .reference = run},
    {"com.microsoft", "QLinearGlobalAveragePool", 1, 1, "X:T x_scale:float x_zero_point:T y_scale:float y_zero_point:T",
     "Y:T", "T=uint8|int8", "channels_last:int=0", .variant = POOL_GLOBAL, .params_size = sizeof(tort_qlinear_pool),
     .infer = infer, .resolve = resolve_pool, .reference = run_mean_plainly},
    {0},
};
