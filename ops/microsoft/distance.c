/* distance.c - com.microsoft: CDist, the distance of every row of A to every row of B. In double, rounded once. */
#include "ops/microsoft/distance.h"

#include "ops/extent.h"
#include "ops/shapes.h"

#include <math.h>

static tort_status infer_distance(tort_infer *infer) {
    const tort_info *a = &infer->node->inputs[0], *b = &infer->node->inputs[1];
    infer->outputs[0].type = a->type;
    if ((a->rank >= 0 && a->rank != 2) || (b->rank >= 0 && b->rank != 2))
        return tort_fail(infer->error, TORT_E_MODEL, "A has rank %d and B rank %d, expected 2", (int)a->rank,
                         (int)b->rank);
    if (a->rank < 0 || b->rank < 0) return TORT_OK;
    tort_dim columns;
    tort_status status = tort_dim_unify(infer->error, 1, a->dims[1], b->dims[1], &columns);
    if (status) return status;
    tort_infer_shape(infer, 0, a->type, 2, (const tort_dim[]){a->dims[0], b->dims[0]});
    return TORT_OK;
}

static tort_status resolve_distance(tort_resolve *resolve) {
    const tort_info *a = &resolve->node->inputs[0], *b = &resolve->node->inputs[1];
    const char *metric = tort_attr_string(resolve->node, "metric");
    tort_distance_params *params = resolve->params;
    params->root = strcmp(metric, "euclidean") == 0;
    if (!params->root && strcmp(metric, "sqeuclidean") != 0)
        return tort_fail(resolve->error, TORT_E_UNSUPPORTED,
                         "metric is \"%.32s\"; tinyort and onnxruntime know euclidean and sqeuclidean", metric);
    params->a_rows = tort_known_dim(a, 0);
    params->b_rows = tort_known_dim(b, 0);
    params->columns = tort_known_dim(a, 1);
    return TORT_OK;
}

/* `done`: see tort_work_goes_on. False: the run is over. */
static bool find_square(const tort_call *call, int64_t i, int64_t j, int64_t *done, double *square) {
    const tort_distance_params *p = call->params;
    const tort_tensor *a = &call->inputs[0], *b = &call->inputs[1];
    double left[TORT_BLOCK], right[TORT_BLOCK];
    *square = 0;
    for (int64_t at = 0; at < p->columns; at += TORT_BLOCK) {
        const int64_t count = tort_block_count(p->columns, at);
        if (!tort_work_goes_on(call->watch, done, 16 + count)) return false;
        tort_load_doubles(a->type, a->data, i * p->columns + at, count, left);
        tort_load_doubles(b->type, b->data, j * p->columns + at, count, right);
        for (int64_t k = 0; k < count; k++) left[k] -= right[k];
        *square += tort_dot(left, left, count);
    }
    return true;
}

static void distance_rows(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_distance_params *p = call->params;
    const tort_tensor *c = &call->outputs[0];
    int64_t done = 0;
    for (int64_t i = begin; i < end; i++)
        for (int64_t j = 0; j < p->b_rows; j++) {
            double distance;
            if (!find_square(call, i, j, &done, &distance)) return;
            if (p->root) distance = sqrt(distance);
            tort_store_doubles(c->type, c->data, i * p->b_rows + j, 1, &distance);
        }
}

static tort_status run_distance(const tort_call *call) {
    const tort_distance_params *p = call->params;
    if (tort_count(&call->outputs[0]) > 0)
        tort_parallel(call, p->a_rows, p->b_rows * (p->columns + 10), distance_rows, (void *)call);
    return TORT_OK;
}

const tort_op tort_ops_microsoft_distance[] = {
    {"com.microsoft", "CDist", 1, 1, "A:T B:T", "C:T", "T=float|double", "metric:string=sqeuclidean",
     .params_size = sizeof(tort_distance_params), infer_distance, resolve_distance, run_distance},
    {0},
};
