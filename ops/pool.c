/* pool.c - MaxPool, AveragePool, LpPool and their global forms, every version.
 *
 * One row of outputs at a time, in double. A dilated window may see nothing but padding: its maximum is then the
 * type's lowest value with index -1, its average and norm are 0.
 * Read next: pool.h, sliding.h; max_unpool.c. */
#include "ops/pool.h"
#include "ops/numeric.h"
#include "ops/widen.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- infer ------------------------------------------------------------------------------------------------------- */

/* Checks that padding is smaller than the window: otherwise windows could see nothing but padding. */
static tort_status check_padding(const tort_sliding *window, tort_error *error) {
    for (int32_t i = 0; i < window->axes; i++)
        if (window->begin[i] >= tort_sliding_extent(window, i) || window->end[i] >= tort_sliding_extent(window, i))
            return tort_fail(error, TORT_E_MODEL,
                             "attribute pads has %" PRId64 " and %" PRId64 " for spatial axis %d, expected less than "
                             "the window's %" PRId64,
                             window->begin[i], window->end[i], (int)i, tort_sliding_extent(window, i));
    return TORT_OK;
}

static tort_status read_window(const tort_node_view *node, int32_t axes, tort_sliding *window, tort_error *error) {
    tort_status status = tort_sliding_read(node, axes, window, error);
    if (status) return status;
    if (window->kernel[0] < 0) return tort_fail(error, TORT_E_MODEL, "attribute kernel_shape is missing");
    return check_padding(window, error);
}

tort_status tort_infer_pool(tort_infer *infer) {
    const tort_info *x = &infer->node->inputs[0];
    infer->outputs[0].type = x->type;
    if (infer->node->output_count > 1) infer->outputs[1].type = TORT_INT64;
    if (x->rank < 0) return TORT_OK;
    tort_sliding window;
    tort_status status = read_window(infer->node, x->rank - 2, &window, infer->error);
    if (status) return status;
    tort_dim dims[TORT_MAX_RANK];
    memcpy(dims, x->dims, sizeof dims);
    for (int32_t i = 0; i < window.axes; i++) {
        status = tort_sliding_output(infer, &window, i, x->dims[i + 2], &dims[i + 2]);
        if (status) return status;
    }
    tort_infer_shape(infer, 0, x->type, x->rank, dims);
    if (infer->node->output_count > 1) tort_infer_shape(infer, 1, TORT_INT64, x->rank, dims);
    return TORT_OK;
}

tort_status tort_infer_global_pool(tort_infer *infer) {
    const tort_info *x = &infer->node->inputs[0];
    infer->outputs[0].type = x->type;
    if (x->rank < 0) return TORT_OK;
    if (x->rank < 2) return tort_fail(infer->error, TORT_E_MODEL, "X has rank %d, expected at least 2", (int)x->rank);
    tort_dim dims[TORT_MAX_RANK] = {x->dims[0], x->dims[1], 1, 1, 1, 1, 1, 1};
    tort_infer_shape(infer, 0, x->type, x->rank, dims);
    return TORT_OK;
}

/* ---- resolve ----------------------------------------------------------------------------------------------------- */

static tort_status resolve_common(tort_resolve *resolve, tort_pool_kind kind) {
    tort_pool_params *params = resolve->params;
    const tort_info *x = &resolve->node->inputs[0];
    params->kind = kind;
    params->batch = tort_known_dim(x, 0);
    params->channels = tort_known_dim(x, 1);
    if (!tort_widen_scratch(resolve->node, 1, &resolve->scratch_bytes))
        return tort_out_of_memory(resolve->error, SIZE_MAX);
    if (x->rank < 0 || params->global) {
        params->window.axes = x->rank < 0 ? 0 : x->rank - 2;
        for (int32_t i = 0; i < params->window.axes; i++) {
            params->window.input[i] = tort_known_dim(x, i + 2);
            params->window.output[i] = 1;
        }
        return TORT_OK;
    }
    tort_status status = read_window(resolve->node, x->rank - 2, &params->window, resolve->error);
    if (!status) tort_sliding_place(resolve->node, &params->window);
    return status;
}

tort_status tort_resolve_max_pool(tort_resolve *resolve) {
    tort_pool_params *params = resolve->params;
    params->column_major = tort_attr_int(resolve->node, "storage_order") != 0;
    return resolve_common(resolve, TORT_POOL_MAX);
}

tort_status tort_resolve_average_pool(tort_resolve *resolve) {
    tort_pool_params *params = resolve->params;
    params->count_include_pad = tort_attr_int(resolve->node, "count_include_pad") != 0;
    return resolve_common(resolve, TORT_POOL_AVERAGE);
}

/* LpPool-1 has a float p. */
static tort_status resolve_lp(tort_resolve *resolve) {
    tort_pool_params *params = resolve->params;
    const tort_attribute *p = tort_attr(resolve->node, "p");
    params->p = p && p->kind == TORT_ATTR_FLOAT ? (double)p->u.f : (double)tort_attr_int(resolve->node, "p");
    if (!(params->p > 0))
        return tort_fail(resolve->error, TORT_E_MODEL, "attribute p is %g, expected more than 0", params->p);
    return resolve_common(resolve, TORT_POOL_LP);
}

static tort_status resolve_global_max(tort_resolve *resolve) {
    ((tort_pool_params *)resolve->params)->global = true;
    return resolve_common(resolve, TORT_POOL_MAX);
}

tort_status tort_resolve_global_average_pool(tort_resolve *resolve) {
    ((tort_pool_params *)resolve->params)->global = true;
    return resolve_common(resolve, TORT_POOL_AVERAGE);
}

static tort_status resolve_global_lp(tort_resolve *resolve) {
    ((tort_pool_params *)resolve->params)->global = true;
    return resolve_lp(resolve);
}

/* ---- the plain loops --------------------------------------------------------------------------------------------- */

typedef struct pool_job {
    const tort_call *call;
    const tort_pool_params *params;
    const tort_tensor *y;
    int64_t *indices; /* NULL: output 1 is absent */
    tort_type type;   /* of x: float or double */
    const void *x;
    double lowest; /* initial value of a maximum */
    int64_t output_rows, plane;
} pool_job;

int64_t tort_pool_divisor(const tort_pool_params *params, int32_t axis, int64_t out) {
    const tort_sliding *window = &params->window;
    const int64_t low = params->count_include_pad ? -window->begin[axis] : 0;
    const int64_t high = window->input[axis] + (params->count_include_pad ? window->end[axis] : 0);
    const int64_t start = out * window->strides[axis] - window->begin[axis], step = window->dilations[axis];
    /* Kernel positions k with low <= start + k * step < high. */
    int64_t from = start < low ? (low - start + step - 1) / step : 0;
    int64_t to = start < high ? (high - start + step - 1) / step : 0;
    if (to > window->kernel[axis]) to = window->kernel[axis];
    return to > from ? to - from : 0;
}

/* |x|^p, without the slow pow for the usual exponents. */
static inline double power(double x, double p) {
    x = fabs(x);
    return p == 1 ? x : p == 2 ? x * x : pow(x, p);
}

static double root(double sum, double p) {
    return p == 1 ? sum : p == 2 ? sqrt(sum) : pow(sum, 1 / p);
}

static double load(const pool_job *job, int64_t i) {
    return tort_wide_element(job->type, job->x, i);
}

/* Updates maxima with `count` inputs from `first` on, `stride` apart. `best` holds positions in the plane, which begins
 * at `plane`. */
static void take_max(const pool_job *job, double *acc, int64_t *best, int64_t plane, int64_t first, int64_t stride,
                     int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        const double value = load(job, first + i * stride);
        if (best[i] >= 0 && !tort_pool_exceeds(value, acc[i])) continue;
        acc[i] = value;
        best[i] = first + i * stride - plane;
    }
}

static void take_powers(const pool_job *job, double *acc, int64_t first, int64_t stride, int64_t count) {
    for (int64_t i = 0; i < count; i++) acc[i] += power(load(job, first + i * stride), job->params->p);
}

/* Index that MaxPool returns for position `at` of plane number `plane`. */
static int64_t max_index(const pool_job *job, int64_t plane, int64_t at) {
    const tort_sliding *window = &job->params->window;
    if (at < 0) return -1;
    if (!job->params->column_major) return plane * job->plane + at;
    int64_t coordinates[TORT_MAX_SPATIAL] = {0}, index = 0;
    for (int32_t i = window->axes - 1; i >= 0; i--) {
        coordinates[i] = at % window->input[i];
        at /= window->input[i];
    }
    for (int32_t i = window->axes - 1; i >= 0; i--) index = index * window->input[i] + coordinates[i];
    return plane * job->plane + index;
}

/* Computes outputs first .. last-1 of the row at `out`, of one plane, before the final division or root. False: the run
 * is over. */
static bool pool_row(const pool_job *job, int64_t plane, const int64_t *out, int64_t first, int64_t last, double *acc,
                     int64_t *best, int64_t *done) {
    const tort_pool_params *p = job->params;
    const tort_sliding *window = &p->window;
    const int32_t x = window->axes - 1;
    const int64_t stride = window->strides[x];
    tort_sliding_walk walk;
    int64_t k_from, k_to;
    for (int64_t i = 0; i < last - first; i++) {
        acc[i] = p->kind == TORT_POOL_MAX ? job->lowest : 0;
        best[i] = -1;
    }
    tort_sliding_reach(window, x, first, last, &k_from, &k_to);
    if (k_from >= k_to || !tort_sliding_walk_begin(window, out, &walk)) return true;
    do {
        const int64_t row = plane * job->plane + tort_sliding_input_row(window, out, &walk) * window->input[x];
        for (int64_t k = k_from; k < k_to; k++) {
            int64_t from, to;
            tort_sliding_span(window, k, first, last, &from, &to);
            if (!tort_work_goes_on(job->call->watch, done, 8 + to - from)) return false;
            const int64_t at = row + from * stride + k * window->dilations[x] - window->begin[x];
            double *sums = acc + (from - first);
            if (p->kind == TORT_POOL_AVERAGE)
                tort_sliding_add(job->type, sums, 1, job->x, at, stride, 1, to - from);
            else if (p->kind == TORT_POOL_LP)
                take_powers(job, sums, at, stride, to - from);
            else
                take_max(job, sums, best + (from - first), plane * job->plane, at, stride, to - from);
        }
    } while (tort_sliding_walk_next(window, &walk));
    return true;
}

static void finish_row(const pool_job *job, const int64_t *out, int64_t first, int64_t last, double *acc) {
    const tort_pool_params *p = job->params;
    const int32_t x = p->window.axes - 1;
    if (p->kind == TORT_POOL_LP)
        for (int64_t i = 0; i < last - first; i++) acc[i] = root(acc[i], p->p);
    if (p->kind != TORT_POOL_AVERAGE) return;
    double rows = 1; /* may exceed int64, since padding counts */
    for (int32_t i = 0; i < x; i++) rows *= (double)tort_pool_divisor(p, i, out[i]);
    for (int64_t i = first; i < last; i++) {
        const double count = rows * (double)tort_pool_divisor(p, x, i);
        acc[i - first] = count > 0 ? acc[i - first] / count : 0;
    }
}

static void pool_rows(void *arg, int64_t begin, int64_t end) {
    const pool_job *job = arg;
    const tort_sliding *window = &job->params->window;
    const int32_t x = window->axes - 1;
    const int64_t width = window->output[x];
    /* If the window is larger than the image, each output sees few positions, other ones than its neighbours. */
    const int64_t block = tort_sliding_extent(window, x) > window->input[x] ? 1 : TORT_BLOCK;
    int64_t done = 0;
    double acc[TORT_BLOCK];
    int64_t best[TORT_BLOCK];
    for (int64_t row = begin; row < end; row++) {
        int64_t out[TORT_MAX_SPATIAL];
        const int64_t plane = row / job->output_rows;
        tort_sliding_coordinates(window, window->output, row % job->output_rows, out);
        for (int64_t first = 0; first < width; first += block) {
            const int64_t last = width - first < block ? width : first + block;
            if (!pool_row(job, plane, out, first, last, acc, best, &done)) return;
            finish_row(job, out, first, last, acc);
            tort_store_doubles(job->y->type, job->y->data, row * width + first, last - first, acc);
            for (int64_t i = first; job->indices && i < last; i++)
                job->indices[row * width + i] = max_index(job, plane, best[i - first]);
        }
    }
}

/* Reduces planes as one window each, in four sums, so that additions do not wait for each other. */
static void pool_planes(void *arg, int64_t begin, int64_t end) {
    const pool_job *job = arg;
    const tort_pool_params *p = job->params;
    double block[TORT_BLOCK];
    for (int64_t plane = begin; plane < end; plane++) {
        double sums[4] = {0, 0, 0, 0}, result = job->lowest;
        for (int64_t at = 0; at < job->plane && tort_row_goes_on(job->call->watch, at); at += TORT_BLOCK) {
            const int64_t count = tort_block_count(job->plane, at);
            tort_load_doubles(job->type, job->x, plane * job->plane + at, count, block);
            if (p->kind == TORT_POOL_MAX) {
                for (int64_t i = 0; i < count; i++)
                    if (tort_pool_exceeds(block[i], result)) result = block[i];
                continue;
            }
            for (int64_t i = 0; i < count && p->kind == TORT_POOL_LP; i++) block[i] = power(block[i], p->p);
            for (int64_t i = count; i % 4; i++) block[i] = 0;
            for (int64_t i = 0; i < count; i += 4)
                for (int64_t c = 0; c < 4; c++) sums[c] += block[i + c];
        }
        const double sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        if (p->kind == TORT_POOL_LP) result = root(sum, p->p);
        if (p->kind == TORT_POOL_AVERAGE) result = sum / (double)job->plane;
        tort_store_doubles(job->y->type, job->y->data, plane, 1, &result);
    }
}

static double lowest_value(tort_type type) {
    return type == TORT_INT8 ? INT8_MIN : type == TORT_UINT8 ? 0 : -INFINITY;
}

tort_status tort_run_pool(const tort_call *call) {
    const tort_pool_params *params = call->params;
    const tort_sliding *window = &params->window;
    const int64_t planes = params->batch * params->channels;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    pool_job job = {
        .call = call, .params = params, .y = &call->outputs[0], .lowest = lowest_value(call->outputs[0].type)};
    if (tort_call_output(call, 1)) job.indices = call->outputs[1].data;
    tort_widen_inputs(call, 1, &job.type, &job.x);
    job.plane = 1;
    for (int32_t i = 0; i < window->axes; i++) job.plane *= window->input[i];
    if (params->global) {
        tort_parallel(call, planes, job.plane + 1, pool_planes, &job);
        return TORT_OK;
    }
    job.output_rows = tort_sliding_rows(window, window->output);
    tort_parallel(call, planes * job.output_rows, tort_sliding_row_cost(window, 1), pool_rows, &job);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define WINDOW "auto_pad:string=NOTSET kernel_shape:ints! pads:ints strides:ints"
#define POOL(name_, since_, until_, outputs_, types_, attributes_, infer_, resolve_)                                   \
    {                                                                                                                  \
        "", name_, since_, until_, "X:T", outputs_, types_, attributes_, .params_size = sizeof(tort_pool_params),      \
                                                                         infer_, resolve_, tort_run_pool               \
    }
#define MAX(since_, until_, outputs_, types_, attributes_)                                                             \
    {                                                                                                                  \
        "", "MaxPool", since_, until_, "X:T", outputs_, types_, attributes_,                                           \
            .flags = TORT_OP_CHOOSES, .params_size = sizeof(tort_pool_params), tort_infer_pool, tort_resolve_max_pool, \
            tort_run_pool                                                                                              \
    }
#define AVERAGE(since_, until_, types_, attributes_)                                                                   \
    POOL("AveragePool", since_, until_, "Y:T", types_, attributes_, tort_infer_pool, tort_resolve_average_pool)
#define LP(since_, until_, types_, attributes_)                                                                        \
    POOL("LpPool", since_, until_, "Y:T", types_, attributes_, tort_infer_pool, resolve_lp)
#define GLOBAL(name_, since_, until_, types_, attributes_, resolve_)                                                   \
    POOL(name_, since_, until_, "Y:T", types_, attributes_, tort_infer_global_pool, resolve_)

const tort_op tort_ops_pool[] = {
    MAX(1, 7, "Y:T", "T=floats", WINDOW),
    MAX(8, 9, "Y:T Indices?:I", "T=floats I=int64", WINDOW " storage_order:int=0"),
    MAX(10, 10, "Y:T Indices?:I", "T=floats I=int64", WINDOW " storage_order:int=0 ceil_mode:int=0 dilations:ints"),
    MAX(11, 11, "Y:T Indices?:I", "T=floats I=int64", WINDOW " storage_order:int=0 ceil_mode:int=0 dilations:ints"),
    MAX(12, 21, "Y:T Indices?:I", "T=floats|int8|uint8 I=int64",
        WINDOW " storage_order:int=0 ceil_mode:int=0 dilations:ints"),
    MAX(22, TORT_NEWEST_OPSET, "Y:T Indices?:I", "T=floats13|int8|uint8 I=int64",
        WINDOW " storage_order:int=0 ceil_mode:int=0 dilations:ints"),
    AVERAGE(1, 6, "T=floats", WINDOW),
    AVERAGE(7, 9, "T=floats", WINDOW " count_include_pad:int=0"),
    AVERAGE(10, 10, "T=floats", WINDOW " count_include_pad:int=0 ceil_mode:int=0"),
    AVERAGE(11, 18, "T=floats", WINDOW " count_include_pad:int=0 ceil_mode:int=0"),
    AVERAGE(19, 21, "T=floats", WINDOW " count_include_pad:int=0 ceil_mode:int=0 dilations:ints"),
    AVERAGE(22, TORT_NEWEST_OPSET, "T=floats13", WINDOW " count_include_pad:int=0 ceil_mode:int=0 dilations:ints"),
    LP(1, 1, "T=floats", "auto_pad:string=NOTSET kernel_shape:ints pads:ints strides:ints p:float=2.0"),
    LP(2, 10, "T=floats", WINDOW " p:int=2"),
    LP(11, 17, "T=floats", WINDOW " p:int=2"),
    LP(18, 21, "T=floats", WINDOW " p:int=2 ceil_mode:int=0 dilations:ints"),
    LP(22, TORT_NEWEST_OPSET, "T=floats13", WINDOW " p:int=2 ceil_mode:int=0 dilations:ints"),
    GLOBAL("GlobalMaxPool", 1, 21, "T=floats", "", resolve_global_max),
    GLOBAL("GlobalMaxPool", 22, TORT_NEWEST_OPSET, "T=floats13", "", resolve_global_max),
    GLOBAL("GlobalAveragePool", 1, 21, "T=floats", "", tort_resolve_global_average_pool),
    GLOBAL("GlobalAveragePool", 22, TORT_NEWEST_OPSET, "T=floats13", "", tort_resolve_global_average_pool),
    GLOBAL("GlobalLpPool", 1, 1, "T=floats", "p:float=2.0", resolve_global_lp),
    GLOBAL("GlobalLpPool", 2, 21, "T=floats", "p:int=2", resolve_global_lp),
    GLOBAL("GlobalLpPool", 22, TORT_NEWEST_OPSET, "T=floats13", "p:int=2", resolve_global_lp),
    {0},
};
