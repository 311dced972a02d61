/* reduce.c - reductions of floats over any axes: sums, means, norms and extremes; GlobalAveragePool and
 * GlobalMaxPool.
 *
 * The view of ops/reduce.h alternates kept and reduced dimensions. If the last one is kept, its elements are the
 * columns of a fold (simd.h) over the dimension before it; if it is reduced, a run is folded as 16 columns, which
 * are then joined. The order of additions depends only on the shape, not on threads. Read next: simd/folds.c. */
#include "kernels/cpu/cpu.h"
#include "ops/numeric.h"
#include "ops/pool.h"
#include "ops/reduce.h"

#include <math.h>
#include <string.h>

typedef enum finishing { FINISH_NOT, FINISH_MEAN, FINISH_ROOT, FINISH_LOG } finishing;

#define SHORT_ROW 1024 /* elements of a row that is not worth a call of its own */

typedef struct reduce_job {
    const tort_call *call;
    const tort_reduce_params *view;
    const tort_simd *simd;
    tort_fold_kind kind;
    finishing finish;
    const float *x;
    float *y;
    int64_t columns; /* maximum per item; 1: the last dimension is reduced */
} reduce_job;

static inline double first_of(tort_fold_kind kind) {
    return kind == TORT_FOLD_LARGEST ? -INFINITY : kind == TORT_FOLD_SMALLEST ? INFINITY : 0;
}

/* Joins two results; NaN wins. */
static inline __attribute__((always_inline)) double merged(tort_fold_kind kind, double a, double b) {
    switch (kind) {
    case TORT_FOLD_LARGEST: return a >= b || a != a ? a : b;
    case TORT_FOLD_SMALLEST: return a <= b || a != a ? a : b;
    default: return a + b;
    }
}

static void finish_results(const reduce_job *job, const double *restrict values, float *restrict y, int64_t count) {
    const double elements = (double)job->view->reduced_count;
    switch (job->finish) {
    case FINISH_MEAN:
        for (int64_t i = 0; i < count; i++) y[i] = (float)(values[i] / elements);
        break;
    case FINISH_ROOT:
        for (int64_t i = 0; i < count; i++) y[i] = (float)sqrt(values[i]);
        break;
    case FINISH_LOG:
        for (int64_t i = 0; i < count; i++) y[i] = (float)log(values[i]);
        break;
    default:
        for (int64_t i = 0; i < count; i++) y[i] = (float)values[i];
    }
}

/* ---- folding ----------------------------------------------------------------------------------------------------- */

/* Folds rows; the run may end between many of them. */
static void fold_rows(const reduce_job *job, double *into, const float *x, int64_t stride, int64_t rows,
                      int64_t chunks) {
    enum { ROWS = 8192 };
    for (int64_t at = 0; at < rows && (at == 0 || tort_call_goes_on(job->call, 0)); at += ROWS)
        job->simd->fold_columns(job->kind, into, x + at * stride, stride, tort_min(ROWS, rows - at), chunks);
}

/* Folds fewer columns than a chunk: some rows at a time are copied to a buffer, whose other columns are ignored. */
static void fold_narrow(const reduce_job *job, double *into, const float *x, int64_t stride, int64_t rows,
                        int64_t count) {
    enum { ROWS = 8 };
    float buffer[ROWS][TORT_FOLD_CHUNK] = {{0}};
    double results[TORT_FOLD_CHUNK] = {0};
    memcpy(results, into, (size_t)count * sizeof(double));
    for (int64_t row = 0; row < rows && tort_row_goes_on(job->call->watch, row); row += ROWS) {
        const int64_t some = rows - row < ROWS ? rows - row : ROWS;
        for (int64_t k = 0; k < some; k++) memcpy(buffer[k], x + (row + k) * stride, (size_t)count * sizeof(float));
        job->simd->fold_columns(job->kind, results, buffer[0], TORT_FOLD_CHUNK, some, 1);
    }
    memcpy(into, results, (size_t)count * sizeof(double));
}

/* Folds columns; the last chunk overlaps the one before it. */
static void fold_columns(const reduce_job *job, double *into, const float *x, int64_t stride, int64_t rows,
                         int64_t count) {
    const int64_t rest = count % TORT_FOLD_CHUNK, back = count - TORT_FOLD_CHUNK;
    double results[TORT_FOLD_CHUNK];
    if (back < 0) {
        fold_narrow(job, into, x, stride, rows, count);
        return;
    }
    if (rest) memcpy(results, into + back, sizeof results);
    fold_rows(job, into, x, stride, rows, count / TORT_FOLD_CHUNK);
    if (!rest) return;
    fold_rows(job, results, x + back, stride, rows, 1);
    memcpy(into + count - rest, results + TORT_FOLD_CHUNK - rest, (size_t)rest * sizeof(double));
}

/* Folds a run; the run of the model may end between its parts. */
static double fold_run(const reduce_job *job, double so_far, const float *x, int64_t count) {
    enum { PART = 1 << 18 };
    for (int64_t at = 0; at < count && (at == 0 || tort_call_goes_on(job->call, 0)); at += PART) {
        double part;
        job->simd->fold_rows(job->kind, &part, x + at, tort_min(PART, count - at), 1);
        so_far = merged(job->kind, so_far, part);
    }
    return so_far;
}

/* ---- the view ---------------------------------------------------------------------------------------------------- */

/* Moves to the next position along the reduced dimensions before `end`; false if there is none. */
static bool next_position(const tort_reduce_params *view, int32_t end, int64_t *index, const float **x) {
    for (int32_t d = end - 1; d >= 0; d--) {
        if (!view->reduced[d]) continue;
        *x += view->strides[d];
        if (++index[d] < view->dims[d]) return true;
        *x -= view->dims[d] * view->strides[d];
        index[d] = 0;
    }
    return false;
}

/* Returns the first element of kept position `position`, counted over the kept dimensions before `end`. */
static const float *start_of(const reduce_job *job, int32_t end, int64_t position) {
    const tort_reduce_params *view = job->view;
    const float *x = job->x;
    for (int32_t d = end - 1; d >= 0; d--) {
        if (view->reduced[d]) continue;
        if (position < view->dims[d]) return x + position * view->strides[d]; /* saves a division */
        x += position % view->dims[d] * view->strides[d];
        position /= view->dims[d];
    }
    return x;
}

/* Reduces short rows that lie one behind the other. */
static void reduce_rows(void *arg, int64_t begin, int64_t end) {
    const reduce_job *job = arg;
    const int64_t length = job->view->reduced_count;
    double into[TORT_BLOCK];
    for (int64_t row = begin; row < end && tort_row_goes_on(job->call->watch, row * length); row += TORT_BLOCK) {
        const int64_t rows = tort_min(TORT_BLOCK, end - row);
        job->simd->fold_rows(job->kind, into, job->x + row * length, length, rows);
        finish_results(job, into, job->y + row, rows);
    }
}

static void reduce_runs(void *arg, int64_t begin, int64_t end) {
    const reduce_job *job = arg;
    const tort_reduce_params *view = job->view;
    const int32_t last = view->rank - 1;
    for (int64_t item = begin; item < end; item++) {
        int64_t index[TORT_MAX_RANK] = {0}, done = 0;
        const float *x = start_of(job, view->rank, item);
        double result = first_of(job->kind);
        if (view->reduced_count > 0) do {
                result = fold_run(job, result, x, last < 0 ? 1 : view->dims[last]);
                done += TORT_BLOCK;
            } while (tort_row_goes_on(job->call->watch, done) && next_position(view, last, index, &x));
        finish_results(job, &result, job->y + item, 1);
    }
}

/* Reduces to columns: the last dimension is kept, so the one before it, if any, is reduced. */
static void reduce_columns(void *arg, int64_t begin, int64_t end) {
    const reduce_job *job = arg;
    const tort_reduce_params *view = job->view;
    const int32_t last = view->rank - 1;
    const int64_t length = view->dims[last], blocks = (length + job->columns - 1) / job->columns;
    const int64_t rows = last > 0 ? view->dims[last - 1] : 1, stride = last > 0 ? view->strides[last - 1] : 0;
    const double identity = first_of(job->kind);
    double into[TORT_BLOCK];
    for (int64_t item = begin; item < end; item++) {
        const int64_t first = item % blocks * job->columns, rest = length - first;
        const int64_t count = rest < job->columns ? rest : job->columns;
        int64_t index[TORT_MAX_RANK] = {0}, done = 0;
        const float *x = start_of(job, last, item / blocks) + first;
        float *y = job->y + item / blocks * length + first;
        for (int64_t i = 0; i < count; i++) into[i] = identity;
        if (view->reduced_count > 0) do {
                fold_columns(job, into, x, stride, rows, count);
                done += TORT_BLOCK;
            } while (tort_row_goes_on(job->call->watch, done) && next_position(view, last - 1, index, &x));
        finish_results(job, into, y, count);
    }
}

static tort_status reduce_view(const tort_call *call, const tort_reduce_params *view, tort_fold_kind kind,
                               finishing finish) {
    const tort_cpu_device *device = call->device;
    const int32_t last = view->rank - 1;
    reduce_job job = {.call = call,
                      .view = view,
                      .simd = device->simd,
                      .kind = kind,
                      .finish = finish,
                      .x = call->inputs[0].data,
                      .y = call->outputs[0].data,
                      .columns = 1};
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    if (view->kept_count == 0) return tort_fail(call->error, TORT_E_INTERNAL, "the axes were not known in time");
    const int64_t depth = view->reduced_count < INT32_MAX ? view->reduced_count : INT32_MAX;
    if (last == 1 && view->reduced[1] && !view->reduced[0] && depth > 0 && depth <= SHORT_ROW) {
        tort_parallel(call, view->kept_count, 5 + depth / 8, reduce_rows, &job);
        return TORT_OK;
    }
    if (last < 0 || view->reduced[last]) {
        tort_parallel(call, view->kept_count, 20 + depth / 8, reduce_runs, &job);
        return TORT_OK;
    }
    const int64_t length = view->dims[last];
    job.columns = length < TORT_BLOCK ? length : TORT_BLOCK;
    tort_parallel(call, view->kept_count / length * ((length + job.columns - 1) / job.columns),
                  20 + depth * (1 + job.columns / 8), reduce_columns, &job);
    return TORT_OK;
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* Variants of the rows. */
enum { SUM, MEAN, MAX, MIN, L1, L2, LOG_SUM, SUM_SQUARE, GLOBAL };

static const struct {
    tort_fold_kind fold;
    finishing finish;
} reductions[] = {
    [SUM] = {TORT_FOLD_SUM, FINISH_NOT},       [MEAN] = {TORT_FOLD_SUM, FINISH_MEAN},
    [MAX] = {TORT_FOLD_LARGEST, FINISH_NOT},   [MIN] = {TORT_FOLD_SMALLEST, FINISH_NOT},
    [L1] = {TORT_FOLD_MAGNITUDES, FINISH_NOT}, [L2] = {TORT_FOLD_SQUARES, FINISH_ROOT},
    [LOG_SUM] = {TORT_FOLD_SUM, FINISH_LOG},   [SUM_SQUARE] = {TORT_FOLD_SQUARES, FINISH_NOT},
};

static tort_status run(const tort_call *call) {
    const int32_t variant = call->kernel->variant;
    return reduce_view(call, call->params, reductions[variant].fold, reductions[variant].finish);
}

/* Reduces all but N and C of [N, C, spatial...]. */
static tort_status run_global(const tort_call *call) {
    const tort_pool_params *params = call->params;
    tort_reduce_params view = {0};
    tort_info x = {.rank = call->inputs[0].rank};
    for (int32_t d = 0; d < x.rank; d++) x.dims[d] = call->inputs[0].dims[d];
    tort_reduce_view(&x, ((1u << x.rank) - 1) & ~3u, &view);
    const bool average = params->kind == TORT_POOL_AVERAGE;
    return reduce_view(call, &view, average ? TORT_FOLD_SUM : TORT_FOLD_LARGEST, average ? FINISH_MEAN : FINISH_NOT);
}

#define ROW(op_, run_, variant_)                                                                                       \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = "reduce_vectors", .claim = tort_cpu_claim_float, .run = run_,                 \
        .variant = variant_                                                                                            \
    }

const tort_kernel tort_cpu_reduce[] = {
    ROW("ReduceSum", run, SUM),
    ROW("ReduceMean", run, MEAN),
    ROW("ReduceMax", run, MAX),
    ROW("ReduceMin", run, MIN),
    ROW("ReduceL1", run, L1),
    ROW("ReduceL2", run, L2),
    ROW("ReduceLogSum", run, LOG_SUM),
    ROW("ReduceSumSquare", run, SUM_SQUARE),
    ROW("GlobalAveragePool", run_global, GLOBAL),
    ROW("GlobalMaxPool", run_global, GLOBAL),
    {.op = NULL},
};
