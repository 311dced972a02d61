/* group_norm.c - com.microsoft: GroupNorm and SkipGroupNorm, which normalise groups of channels of X, or of X + skip +
 * bias, with the channels last or first; then SiLU, if requested.
 *
 * A group of one image is `runs` contiguous runs of `length` elements each: its channels in every pixel, or its pixels
 * in every channel. Sums are computed in double and rounded once where a node outputs them. */
#include "ops/microsoft/group_norm.h"

#include "ops/extent.h"
#include "ops/shapes.h"

#include <math.h>

enum { X, GAMMA, BETA, SKIP, BIAS }; /* inputs */

/* ---- infer and resolve ------------------------------------------------------------------------------------------- */

static tort_status check_list(const tort_infer *infer, int32_t i, const char *name, int64_t channels) {
    const tort_info *list = &infer->node->inputs[i];
    if (!tort_has_input(infer->node, i) || list->rank < 0) return TORT_OK;
    const int64_t size = tort_known_dim(list, 0);
    if (list->rank == 1 && (size < 0 || channels < 0 || size == channels)) return TORT_OK;
    return tort_fail(infer->error, TORT_E_MODEL, "%s must be a list of %lld, one for each channel", name,
                     (long long)channels);
}

static tort_status infer_group_norm(tort_infer *infer) {
    const tort_info *x = &infer->node->inputs[X];
    tort_infer_same(infer, 0, X);
    tort_infer_same(infer, 1, X);
    if (x->rank < 0) return TORT_OK;
    if (x->rank < 3) return tort_fail(infer->error, TORT_E_MODEL, "X has rank %d, expected 3 or more", (int)x->rank);
    const int64_t channels = tort_known_dim(x, tort_attr_int(infer->node, "channels_last") ? x->rank - 1 : 1);
    tort_status status = check_list(infer, GAMMA, "gamma", channels);
    if (!status) status = check_list(infer, BETA, "beta", channels);
    return status ? status : check_list(infer, BIAS, "bias", channels);
}

/* Checks that skip has X's shape, or is one pixel: (N, C), or with spatial axes of size 1. */
static tort_status check_skip(const tort_resolve *resolve, tort_group_norm_params *params) {
    const tort_info *x = &resolve->node->inputs[X], *skip = &resolve->node->inputs[SKIP];
    if (!tort_has_input(resolve->node, SKIP) || !tort_shape_known(skip)) return TORT_OK;
    bool same = skip->rank == x->rank;
    for (int32_t d = 0; same && d < x->rank; d++) same = skip->dims[d] == x->dims[d];
    if (same) return TORT_OK;
    const int32_t channel = skip->rank == 2 || params->channels_last ? skip->rank - 1 : 1;
    bool pixel = skip->rank == 2 || skip->rank == x->rank;
    for (int32_t d = 0; pixel && d < skip->rank; d++)
        pixel = skip->dims[d] == (d == 0 ? params->batch : d == channel ? params->channels : 1);
    params->skip_is_pixel = pixel;
    if (pixel) return TORT_OK;
    return tort_fail(resolve->error, TORT_E_MODEL, "skip must have the shape of X, or [%lld,%lld]",
                     (long long)params->batch, (long long)params->channels);
}

static tort_status resolve_group_norm(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    const tort_info *x = &node->inputs[X];
    tort_group_norm_params *params = resolve->params;
    const int64_t activation = tort_attr_int(node, "activation");
    if (activation != 0 && activation != 1)
        return tort_fail(resolve->error, TORT_E_MODEL, "activation is %lld, expected 0 (none) or 1 (SiLU)",
                         (long long)activation);
    params->silu = activation == 1;
    params->channels_last = tort_attr_int(node, "channels_last") != 0;
    params->epsilon = (double)tort_attr_float(node, "epsilon");
    params->groups = tort_attr_int(node, "groups");
    if (!tort_shape_known(x)) return TORT_OK;
    params->batch = x->dims[0];
    params->channels = x->dims[params->channels_last ? x->rank - 1 : 1];
    params->pixels = params->channels_last ? tort_extent(x->dims, 1, x->rank - 1) : tort_extent(x->dims, 2, x->rank);
    if (params->groups < 1 || params->channels % params->groups != 0)
        return tort_fail(resolve->error, TORT_E_MODEL, "%lld channels cannot be divided into %lld groups",
                         (long long)params->channels, (long long)params->groups);
    return check_skip(resolve, params);
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

/* A group of an image, and the runs of memory that it has. */
typedef struct group_walk {
    const tort_call *call;
    const tort_group_norm_params *params;
    int64_t image, group;
    int64_t channels;     /* of the group */
    int64_t runs, length; /* of memory */
} group_walk;

static group_walk walk_of(const tort_call *call, int64_t item) {
    const tort_group_norm_params *p = call->params;
    group_walk walk = {call, p, item / p->groups, item % p->groups, p->channels / p->groups, 0, 0};
    walk.runs = p->channels_last ? p->pixels : walk.channels;
    walk.length = p->channels_last ? walk.channels : p->pixels;
    return walk;
}

/* Offset of a run in X. */
static int64_t run_start(const group_walk *walk, int64_t run) {
    const tort_group_norm_params *p = walk->params;
    const int64_t first = walk->group * walk->channels;
    return p->channels_last ? (walk->image * p->pixels + run) * p->channels + first
                            : (walk->image * p->channels + first + run) * p->pixels;
}

/* Loads `count` numbers for the elements of a run from `at` on, from a list with one number per channel that begins at
 * `first`. */
static void load_channels(const group_walk *walk, const tort_tensor *list, int64_t first, int64_t run, int64_t at,
                          int64_t count, double *out) {
    const int64_t channel = first + walk->group * walk->channels;
    if (walk->params->channels_last) {
        tort_load_doubles(list->type, list->data, channel + at, count, out);
        return;
    }
    tort_load_doubles(list->type, list->data, channel + run, 1, out);
    for (int64_t i = 1; i < count; i++) out[i] = out[0];
}

static void add(const double *more, int64_t count, double *values) {
    for (int64_t i = 0; i < count; i++) values[i] += more[i];
}

static void load_run(const group_walk *walk, int64_t run, int64_t at, int64_t count, double *values) {
    const tort_tensor *x = &walk->call->inputs[X], *skip = tort_call_input(walk->call, SKIP),
                      *bias = tort_call_input(walk->call, BIAS);
    const int64_t first = run_start(walk, run) + at;
    double more[TORT_BLOCK];
    tort_load_doubles(x->type, x->data, first, count, values);
    if (skip) {
        if (walk->params->skip_is_pixel)
            load_channels(walk, skip, walk->image * walk->params->channels, run, at, count, more);
        else
            tort_load_doubles(skip->type, skip->data, first, count, more);
        add(more, count, values);
    }
    if (!bias) return;
    load_channels(walk, bias, 0, run, at, count, more);
    add(more, count, values);
}

/* Mean of (x - center)^power; power 1 or 2. Any number if the run is over. */
static double mean_of(const group_walk *walk, double center, int power) {
    double sum = 0, values[TORT_BLOCK];
    int64_t done = 0;
    for (int64_t run = 0; run < walk->runs; run++)
        for (int64_t at = 0; at < walk->length; at += TORT_BLOCK) {
            const int64_t count = tort_block_count(walk->length, at);
            if (!tort_work_goes_on(walk->call->watch, &done, 16 + count)) return 0;
            load_run(walk, run, at, count, values);
            for (int64_t i = 0; i < count; i++) values[i] -= center;
            for (int64_t i = 0; i < count; i++) sum += power == 2 ? values[i] * values[i] : values[i];
        }
    return sum / (double)(walk->runs * walk->length);
}

/* `done`: see tort_work_goes_on. False: the run is over. */
static bool normalize_run(const group_walk *walk, int64_t run, double mean, double inverse, int64_t *done) {
    const tort_call *call = walk->call;
    const tort_tensor *y = tort_call_output(call, 0), *sums = tort_call_output(call, 1);
    double values[TORT_BLOCK], gamma[TORT_BLOCK], beta[TORT_BLOCK];
    for (int64_t at = 0; at < walk->length; at += TORT_BLOCK) {
        const int64_t count = tort_block_count(walk->length, at), first = run_start(walk, run) + at;
        if (!tort_work_goes_on(call->watch, done, 16 + count)) return false;
        load_run(walk, run, at, count, values);
        if (sums) tort_store_doubles(sums->type, sums->data, first, count, values);
        load_channels(walk, &call->inputs[GAMMA], 0, run, at, count, gamma);
        load_channels(walk, &call->inputs[BETA], 0, run, at, count, beta);
        for (int64_t i = 0; i < count; i++) values[i] = (values[i] - mean) * inverse * gamma[i] + beta[i];
        for (int64_t i = 0; walk->params->silu && i < count; i++) values[i] /= 1 + exp(-values[i]);
        if (y) tort_store_doubles(y->type, y->data, first, count, values);
    }
    return true;
}

static void normalize_groups(void *arg, int64_t begin, int64_t end) {
    int64_t done = 0;
    for (int64_t item = begin; item < end; item++) {
        const group_walk walk = walk_of(arg, item);
        const double mean = mean_of(&walk, 0, 1), variance = mean_of(&walk, mean, 2);
        for (int64_t run = 0; run < walk.runs; run++)
            if (!normalize_run(&walk, run, mean, 1 / sqrt(variance + walk.params->epsilon), &done)) return;
    }
}

static tort_status run_group_norm(const tort_call *call) {
    const tort_group_norm_params *p = call->params;
    if (tort_count(&call->inputs[X]) > 0)
        tort_parallel(call, p->batch * p->groups, p->channels / p->groups * p->pixels * 4, normalize_groups,
                      (void *)call);
    return TORT_OK;
}

#define BY .params_size = sizeof(tort_group_norm_params), infer_group_norm, resolve_group_norm, run_group_norm
#define ATTRIBUTES "activation:int! channels_last:int=1 epsilon:float=1e-05 groups:int!"

const tort_op tort_ops_microsoft_group_norm[] = {
    {"com.microsoft", "GroupNorm", 1, 1, "X:T gamma:M beta:M", "Y:T", "T=float16|float M=float16|float", ATTRIBUTES,
     BY},
    {"com.microsoft", "SkipGroupNorm", 1, 1, "X:T gamma:M beta:M skip:T bias?:T", "Y:T S?:T",
     "T=float16|float M=float16|float", ATTRIBUTES, BY},
    {0},
};
