/* masked_max_pool.c - MaxpoolWithMask: MaxPool whose windows end, row by row, before the first position where a mask is
 * 0.
 *
 * The schema does not define this, so onnxruntime's kernel is followed: a window that sees no element yields the lowest
 * float, and with two or more spatial axes the first element of an image is never masked. Read next: pool.h,
 * sliding.h. */
#include "ops/pool.h"

#include <float.h>

typedef struct masked_pool {
    tort_pool_params pool;
    int64_t mask_batch, mask_channels; /* 1: one for all */
} masked_pool;

/* ---- infer and resolve ------------------------------------------------------------------------------------------- */

/* Checks that batch and channels of the mask are those of X or 1. */
static tort_status check_mask(const tort_node_view *node, tort_error *error) {
    const tort_info *x = &node->inputs[0], *mask = &node->inputs[1];
    if (x->rank < 0 || mask->rank < 0) return TORT_OK;
    if (mask->rank != x->rank)
        return tort_fail(error, TORT_E_MODEL, "M has rank %d and X rank %d, expected the same", (int)mask->rank,
                         (int)x->rank);
    for (int32_t i = 0; i < x->rank; i++) {
        const int64_t wanted = tort_known_dim(x, i), found = tort_known_dim(mask, i);
        if (wanted < 0 || found < 0 || found == wanted || (i < 2 && found == 1)) continue;
        return tort_fail(error, TORT_E_MODEL, "dimension %d of M is %lld, expected %lld as X has%s", (int)i,
                         (long long)found, (long long)wanted, i < 2 ? ", or 1" : "");
    }
    return TORT_OK;
}

static tort_status infer(tort_infer *infer) {
    tort_status status = check_mask(infer->node, infer->error);
    return status ? status : tort_infer_pool(infer);
}

static tort_status resolve(tort_resolve *resolve) {
    const tort_info *mask = &resolve->node->inputs[1];
    masked_pool *params = resolve->params;
    params->mask_batch = tort_known_dim(mask, 0);
    params->mask_channels = tort_known_dim(mask, 1);
    tort_status status = check_mask(resolve->node, resolve->error);
    return status ? status : tort_resolve_max_pool(resolve); /* whose params are the first member */
}

/* ---- the plain loop ---------------------------------------------------------------------------------------------- */

typedef struct masked_job {
    const tort_call *call;
    const masked_pool *params;
    const float *x;
    const int32_t *mask;
    float *y;
    int64_t output_rows, plane; /* of an image: rows of Y, elements of X */
} masked_job;

/* Finds the largest element of the window at `out`, in an image and its mask. `done`: see tort_work_goes_on. False: the
 * run is over. */
static bool find_max(const masked_job *job, const float *x, const int32_t *mask, const int64_t *out, int64_t *done,
                     float *max) {
    const tort_sliding *window = &job->params->pool.window;
    const int32_t last = window->axes - 1;
    int64_t from, to;
    tort_sliding_walk walk;
    *max = -FLT_MAX;
    tort_sliding_reach(window, last, out[last], out[last] + 1, &from, &to);
    if (from >= to || !tort_sliding_walk_begin(window, out, &walk)) return true;
    do {
        const int64_t row = tort_sliding_input_row(window, out, &walk) * window->input[last] +
                            out[last] * window->strides[last] - window->begin[last];
        for (int64_t at = row + from; at < row + to; at++) {
            if (!tort_work_goes_on(job->call->watch, done, 1)) return false;
            if (mask[at] == 0 && (at > 0 || window->axes == 1)) break;
            if (tort_pool_exceeds((double)x[at], (double)*max)) *max = x[at];
        }
    } while (tort_sliding_walk_next(window, &walk));
    return true;
}

static void masked_rows(void *arg, int64_t begin, int64_t end) {
    const masked_job *job = arg;
    const tort_pool_params *pool = &job->params->pool;
    const int32_t last = pool->window.axes - 1;
    const int64_t width = pool->window.output[last];
    int64_t done = 0;
    for (int64_t row = begin; row < end; row++) {
        int64_t out[TORT_MAX_SPATIAL];
        const int64_t plane = row / job->output_rows;
        const int64_t n = plane / pool->channels % job->params->mask_batch;
        const int64_t c = plane % pool->channels % job->params->mask_channels;
        const int32_t *mask = job->mask + (n * job->params->mask_channels + c) * job->plane;
        tort_sliding_coordinates(&pool->window, pool->window.output, row % job->output_rows, out);
        for (out[last] = 0; out[last] < width; out[last]++)
            if (!find_max(job, job->x + plane * job->plane, mask, out, &done, &job->y[row * width + out[last]])) return;
    }
}

static tort_status masked_max_pool(const tort_call *call) {
    const masked_pool *params = call->params;
    const tort_sliding *window = &params->pool.window;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    masked_job job = {.call = call,
                      .params = params,
                      .x = call->inputs[0].data,
                      .mask = call->inputs[1].data,
                      .y = call->outputs[0].data,
                      .output_rows = tort_sliding_rows(window, window->output),
                      .plane = tort_sliding_rows(window, window->input) * window->input[window->axes - 1]};
    tort_parallel(call, params->pool.batch * params->pool.channels * job.output_rows, tort_sliding_row_cost(window, 1),
                  masked_rows, &job);
    return TORT_OK;
}

const tort_op tort_ops_masked_max_pool[] = {
    {"com.microsoft", "MaxpoolWithMask", 1, 1, "X:T M:int32", "Y:T", "T=float",
     "auto_pad:string=NOTSET kernel_shape:ints pads:ints storage_order:int=0 strides:ints",
     .params_size = sizeof(masked_pool), infer, resolve, masked_max_pool},
    {0},
};
