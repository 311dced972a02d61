/* norm_axis.c - LpNormalization (along an axis), LRN (over neighbouring channels), MeanVarianceNormalization (over
 * any axes). They compute in double and round once. Read first: norm.c. */
#include "ops/extent.h"
#include "ops/norm.h"
#include "ops/reduce.h"

#include <math.h>

/* ---- LpNormalization --------------------------------------------------------------------------------------------- */

static tort_status resolve_lp(tort_resolve *resolve) {
    const tort_info *input = &resolve->node->inputs[0];
    tort_lp_norm_params *params = resolve->params;
    int64_t p = tort_attr_int(resolve->node, "p");
    if (p != 1 && p != 2) return tort_fail(resolve->error, TORT_E_MODEL, "p is %lld; expected 1 or 2", (long long)p);
    params->p = (int32_t)p;
    if (input->rank < 0) return TORT_OK;
    int32_t axis;
    tort_status status = tort_normalize_axis(resolve->error, tort_attr_int(resolve->node, "axis"), input->rank, &axis);
    if (status != TORT_OK || !tort_shape_known(input)) return status;
    params->outer = tort_extent(input->dims, 0, axis);
    params->length = input->dims[axis];
    params->inner = tort_extent(input->dims, axis + 1, input->rank);
    return TORT_OK;
}

/* Normalizes blocks of neighbouring lanes. A lane of zeros stays zeros. */
static void normalize_lanes(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_lp_norm_params *params = call->params;
    const tort_tensor *input = &call->inputs[0], *output = &call->outputs[0];
    const int64_t groups = (params->inner + TORT_BLOCK - 1) / TORT_BLOCK;
    double block[TORT_BLOCK], norms[TORT_BLOCK];
    for (int64_t item = begin; item < end; item++) {
        int64_t first = item % groups * TORT_BLOCK, count = tort_block_count(params->inner, first);
        int64_t base = item / groups * params->length * params->inner + first;
        for (int64_t i = 0; i < count; i++) norms[i] = 0;
        for (int64_t k = 0; k < params->length && tort_row_goes_on(call->watch, k * TORT_BLOCK); k++) {
            tort_load_doubles(input->type, input->data, base + k * params->inner, count, block);
            for (int64_t i = 0; i < count; i++) norms[i] += params->p == 1 ? fabs(block[i]) : block[i] * block[i];
        }
        for (int64_t i = 0; i < count; i++) {
            if (params->p == 2) norms[i] = sqrt(norms[i]);
            if (norms[i] == 0) norms[i] = 1;
        }
        for (int64_t k = 0; k < params->length && tort_row_goes_on(call->watch, k * TORT_BLOCK); k++) {
            tort_load_doubles(input->type, input->data, base + k * params->inner, count, block);
            for (int64_t i = 0; i < count; i++) block[i] /= norms[i];
            tort_store_doubles(output->type, output->data, base + k * params->inner, count, block);
        }
    }
}

static tort_status lp_norm(const tort_call *call) {
    const tort_lp_norm_params *params = call->params;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    int64_t groups = (params->inner + TORT_BLOCK - 1) / TORT_BLOCK;
    int64_t work = params->length * tort_block_count(params->inner, 0) * 4;
    tort_parallel(call, params->outer * groups, work, normalize_lanes, (void *)call);
    return TORT_OK;
}

/* ---- LRN --------------------------------------------------------------------------------------------------------- */

static tort_status resolve_lrn(tort_resolve *resolve) {
    const tort_info *x = &resolve->node->inputs[0];
    tort_lrn_params *params = resolve->params;
    params->size = tort_attr_int(resolve->node, "size");
    params->alpha = (double)tort_attr_float(resolve->node, "alpha");
    params->beta = (double)tort_attr_float(resolve->node, "beta");
    params->bias = (double)tort_attr_float(resolve->node, "bias");
    if (params->size < 1)
        return tort_fail(resolve->error, TORT_E_MODEL, "size is %lld; expected 1 or more", (long long)params->size);
    params->before = (params->size - 1) / 2;
    params->after = params->size - 1 - params->before;
    if (x->rank >= 0 && x->rank < 2)
        return tort_fail(resolve->error, TORT_E_MODEL, "X has rank %d; expected (batch, channels, ...)", x->rank);
    if (!tort_shape_known(x)) return TORT_OK;
    params->batch = x->dims[0];
    params->channels = x->dims[1];
    params->inner = tort_extent(x->dims, 2, x->rank);
    return TORT_OK;
}

/* Normalizes items (batch, block of positions). */
static void normalize_positions(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_lrn_params *params = call->params;
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const int64_t groups = (params->inner + TORT_BLOCK - 1) / TORT_BLOCK;
    double block[TORT_BLOCK], sums[TORT_BLOCK];
    for (int64_t item = begin; item < end; item++) {
        int64_t first = item % groups * TORT_BLOCK, count = tort_block_count(params->inner, first);
        int64_t base = item / groups * params->channels * params->inner + first;
        for (int64_t c = 0; c < params->channels; c++) {
            int64_t low = c > params->before ? c - params->before : 0;
            int64_t high = params->channels - 1 - c > params->after ? c + params->after : params->channels - 1;
            for (int64_t i = 0; i < count; i++) sums[i] = 0;
            for (int64_t k = low; k <= high; k++) {
                if (k % 64 == 63 && !tort_call_goes_on(call, 0)) return;
                tort_load_doubles(x->type, x->data, base + k * params->inner, count, block);
                for (int64_t i = 0; i < count; i++) sums[i] += block[i] * block[i];
            }
            tort_load_doubles(x->type, x->data, base + c * params->inner, count, block);
            for (int64_t i = 0; i < count; i++)
                block[i] /= pow(params->bias + params->alpha / (double)params->size * sums[i], params->beta);
            tort_store_doubles(y->type, y->data, base + c * params->inner, count, block);
        }
    }
}

static tort_status lrn(const tort_call *call) {
    const tort_lrn_params *params = call->params;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    int64_t groups = (params->inner + TORT_BLOCK - 1) / TORT_BLOCK;
    const int64_t size = params->size < params->channels ? params->size : params->channels;
    int64_t work = params->channels * tort_block_count(params->inner, 0) * (40 + size);
    tort_parallel(call, params->batch * groups, work, normalize_positions, (void *)call);
    return TORT_OK;
}

/* ---- MeanVarianceNormalization ----------------------------------------------------------------------------------- */

static tort_status resolve_mean_variance(tort_resolve *resolve) {
    const tort_info *x = &resolve->node->inputs[0];
    int32_t count = 0, axis;
    const int64_t *axes = tort_attr_ints(resolve->node, "axes", &count);
    uint32_t mask = 0;
    if (x->rank < 0) return TORT_OK;
    for (int32_t i = 0; i < count; i++) {
        tort_status status = tort_normalize_axis(resolve->error, axes[i], x->rank, &axis);
        if (status != TORT_OK) return status;
        mask |= 1u << axis;
    }
    if (tort_shape_known(x)) tort_reduce_view(x, mask, resolve->params);
    return TORT_OK;
}

/* Walk over the elements that share statistics, in runs along the last view dimension. */
typedef struct group_walk {
    const tort_reduce_params *params;
    int64_t coordinates[TORT_MAX_RANK], at, run;
    int32_t outer_rank;
} group_walk;

static group_walk walk_group(const tort_reduce_params *params, int64_t group) {
    group_walk walk = {.params = params, .run = 1};
    const int32_t last = params->rank - 1;
    bool runs = last >= 0 && params->reduced[last];
    walk.run = runs ? params->dims[last] : 1;
    walk.outer_rank = runs ? last : params->rank;
    for (int32_t d = last; d >= 0; d--) {
        if (params->reduced[d]) continue;
        walk.at += group % params->dims[d] * params->strides[d];
        group /= params->dims[d];
    }
    return walk;
}

static bool next_run(group_walk *walk) {
    for (int32_t d = walk->outer_rank - 1; d >= 0; d--) {
        if (!walk->params->reduced[d]) continue;
        walk->at += walk->params->strides[d];
        if (++walk->coordinates[d] < walk->params->dims[d]) return true;
        walk->at -= walk->params->dims[d] * walk->params->strides[d];
        walk->coordinates[d] = 0;
    }
    return false;
}

static double group_sum(const tort_call *call, int64_t group, double center, int power) {
    const tort_tensor *x = &call->inputs[0];
    group_walk walk = walk_group(call->params, group);
    int64_t done = 0;
    double block[TORT_BLOCK], sum = 0;
    do {
        for (int64_t first = 0; first < walk.run; first += TORT_BLOCK) {
            if (!tort_row_goes_on(call->watch, done += TORT_BLOCK)) return sum;
            int64_t count = tort_block_count(walk.run, first);
            tort_load_doubles(x->type, x->data, walk.at + first, count, block);
            for (int64_t i = 0; i < count; i++)
                sum += power == 1 ? block[i] : (block[i] - center) * (block[i] - center);
        }
    } while (next_run(&walk));
    return sum;
}

/* (x - mean) / (standard deviation + 1e-9), as ONNX's function body has it. */
static void normalize_groups(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_reduce_params *params = call->params;
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const double size = (double)params->reduced_count, epsilon = 1e-9;
    double block[TORT_BLOCK];
    for (int64_t group = begin; group < end; group++) {
        double mean = group_sum(call, group, 0, 1) / size;
        double deviation = sqrt(group_sum(call, group, mean, 2) / size) + epsilon;
        group_walk walk = walk_group(params, group);
        int64_t done = 0;
        do {
            for (int64_t first = 0; first < walk.run; first += TORT_BLOCK) {
                if (!tort_row_goes_on(call->watch, done += TORT_BLOCK)) return;
                int64_t count = tort_block_count(walk.run, first);
                tort_load_doubles(x->type, x->data, walk.at + first, count, block);
                for (int64_t i = 0; i < count; i++) block[i] = (block[i] - mean) / deviation;
                tort_store_doubles(y->type, y->data, walk.at + first, count, block);
            }
        } while (next_run(&walk));
    }
}

static tort_status mean_variance_norm(const tort_call *call) {
    const tort_reduce_params *params = call->params;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    tort_parallel(call, params->kept_count, params->reduced_count * 5, normalize_groups, (void *)call);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define LP .params_size = sizeof(tort_lp_norm_params), tort_infer_elementwise, resolve_lp, lp_norm
#define LRN .params_size = sizeof(tort_lrn_params), tort_infer_elementwise, resolve_lrn, lrn
#define MEAN_VARIANCE                                                                                                  \
    .params_size = sizeof(tort_reduce_params), tort_infer_elementwise, resolve_mean_variance, mean_variance_norm

const tort_op tort_ops_norm_axis[] = {
    {"", "LpNormalization", 1, 21, "input:T", "output:T", "T=floats", "axis:int=-1 p:int=2", LP},
    {"", "LpNormalization", 22, TORT_NEWEST_OPSET, "input:T", "output:T", "T=floats13", "axis:int=-1 p:int=2", LP},
    {"", "LRN", 1, 12, "X:T", "Y:T", "T=floats", "alpha:float=0.0001 beta:float=0.75 bias:float=1 size:int!", LRN},
    {"", "LRN", 13, TORT_NEWEST_OPSET, "X:T", "Y:T", "T=floats13",
     "alpha:float=0.0001 beta:float=0.75 bias:float=1 size:int!", LRN},
    {"", "MeanVarianceNormalization", 9, 12, "X:T", "Y:T", "T=floats", "axes:ints=0,2,3", MEAN_VARIANCE},
    {"", "MeanVarianceNormalization", 13, TORT_NEWEST_OPSET, "X:T", "Y:T", "T=floats13", "axes:ints=0,2,3",
     MEAN_VARIANCE},
    {0},
};
