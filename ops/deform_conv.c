/* deform_conv.c - DeformConv, every version: a convolution that moves each sample by an offset, over 1 to 6 axes.
 *
 * Samples lie between elements and are interpolated linearly; positions outside the input count as 0. The loop makes
 * one output pixel at a time: a sample is read once and added to all filters of its group, in double. Read next:
 * conv.c, sliding.h. */
#include "ops/deform_conv.h"
#include "ops/numeric.h"
#include "ops/widen.h"

#include <inttypes.h>
#include <math.h>

/* ---- infer ------------------------------------------------------------------------------------------------------- */

static tort_status check_dim(const tort_infer *infer, const char *name, const tort_info *info, int32_t axis,
                             int64_t expected) {
    const int64_t have = tort_known_dim(info, axis);
    if (have < 0 || expected < 0 || have == expected) return TORT_OK;
    return tort_fail(infer->error, TORT_E_MODEL, "%s has size %" PRId64 " along axis %d, expected %" PRId64, name, have,
                     (int)axis, expected);
}

/* Checks the shape of offset (per_position: a coordinate per axis) or mask (one factor), which has such numbers for
 * each offset group, kernel position and output. */
static tort_status check_moves(const tort_infer *infer, int32_t input, const char *name, int64_t per_position,
                               const tort_sliding *window, const tort_dim *out) {
    const tort_info *info = &infer->node->inputs[input];
    int64_t positions = tort_attr_int(infer->node, "offset_group") * per_position;
    if (!tort_has_input(infer->node, input) || info->rank < 0) return TORT_OK;
    if (info->rank != window->axes + 2)
        return tort_fail(infer->error, TORT_E_MODEL, "%s has rank %d, expected %d", name, (int)info->rank,
                         (int)window->axes + 2);
    for (int32_t i = 0; i < window->axes; i++) {
        if (window->kernel[i] < 0)
            positions = -1;
        else if (positions >= 0 && __builtin_mul_overflow(positions, window->kernel[i], &positions))
            positions = -1;
    }
    tort_status status = check_dim(infer, name, info, 1, positions);
    if (!status) status = check_dim(infer, name, info, 0, tort_known_dim(&infer->node->inputs[TORT_DEFORM_X], 0));
    for (int32_t i = 0; i < window->axes && !status; i++)
        if (tort_dim_known(out[i + 2])) status = check_dim(infer, name, info, i + 2, out[i + 2]);
    return status;
}

static tort_status check_groups(const tort_infer *infer) {
    const int64_t group = tort_attr_int(infer->node, "group"), moves = tort_attr_int(infer->node, "offset_group");
    const int64_t channels = tort_known_dim(&infer->node->inputs[TORT_DEFORM_X], 1);
    const int64_t filters = tort_known_dim(&infer->node->inputs[TORT_DEFORM_W], 0);
    if (group < 1 || moves < 1 || group > INT32_MAX || moves > INT32_MAX)
        return tort_fail(infer->error, TORT_E_MODEL,
                         "attributes group and offset_group are %" PRId64 " and %" PRId64 ", expected at least 1",
                         group, moves);
    if (channels >= 0 && (channels % group != 0 || channels % moves != 0))
        return tort_fail(infer->error, TORT_E_MODEL,
                         "X has %" PRId64 " channels, not divisible into %" PRId64 " groups and %" PRId64
                         " offset groups",
                         channels, group, moves);
    if (filters >= 0 && filters % group != 0)
        return tort_fail(infer->error, TORT_E_MODEL, "W has %" PRId64 " filters, not divisible into %" PRId64 " groups",
                         filters, group);
    return check_dim(infer, "W", &infer->node->inputs[TORT_DEFORM_W], 1, channels >= 0 ? channels / group : -1);
}

static tort_status infer_deform_conv(tort_infer *infer) {
    const tort_info *x = &infer->node->inputs[TORT_DEFORM_X], *w = &infer->node->inputs[TORT_DEFORM_W];
    const int32_t rank = x->rank >= 0 ? x->rank : w->rank;
    infer->outputs[0].type = x->type;
    if (rank < 0) return TORT_OK;
    if (w->rank >= 0 && w->rank != rank)
        return tort_fail(infer->error, TORT_E_MODEL, "X has rank %d and W rank %d, expected the same", (int)rank,
                         (int)w->rank);
    tort_sliding window;
    tort_dim dims[TORT_MAX_RANK] = {0};
    tort_status status = tort_sliding_read(infer->node, rank - 2, &window, infer->error);
    if (!status && w->rank >= 0) status = tort_sliding_kernel(&window, w->dims + 2, infer->error);
    if (!status) status = check_groups(infer);
    dims[0] = x->rank >= 0 ? x->dims[0] : tort_dim_fresh(infer->dims, true);
    dims[1] = w->rank >= 0 ? w->dims[0] : tort_dim_fresh(infer->dims, true);
    for (int32_t i = 0; i < rank - 2 && !status; i++) {
        const tort_dim input = x->rank >= 0 ? x->dims[i + 2] : tort_dim_fresh(infer->dims, true);
        status = tort_sliding_output(infer, &window, i, input, &dims[i + 2]);
    }
    if (!status) status = check_moves(infer, TORT_DEFORM_OFFSET, "offset", window.axes, &window, dims);
    if (!status) status = check_moves(infer, TORT_DEFORM_MASK, "mask", 1, &window, dims);
    const tort_info *b = &infer->node->inputs[TORT_DEFORM_B];
    if (!status && tort_has_input(infer->node, TORT_DEFORM_B) && b->rank >= 0 && b->rank != 1)
        status = tort_fail(infer->error, TORT_E_MODEL, "B has rank %d, expected 1", (int)b->rank);
    if (!status && tort_has_input(infer->node, TORT_DEFORM_B))
        status = check_dim(infer, "B", b, 0, tort_known_dim(w, 0));
    if (!status) tort_infer_shape(infer, 0, x->type, rank, dims);
    return status;
}

/* ---- resolve ----------------------------------------------------------------------------------------------------- */

static tort_status resolve_deform_conv(tort_resolve *resolve) {
    tort_deform_conv_params *p = resolve->params;
    const tort_info *x = &resolve->node->inputs[TORT_DEFORM_X], *w = &resolve->node->inputs[TORT_DEFORM_W];
    const int32_t rank = x->rank >= 0 ? x->rank : w->rank;
    p->group = tort_attr_int(resolve->node, "group");
    p->offset_group = tort_attr_int(resolve->node, "offset_group");
    p->batch = tort_known_dim(x, 0);
    p->channels = tort_known_dim(x, 1);
    p->filters = tort_known_dim(w, 0);
    if (rank < 0) return TORT_OK;
    tort_status status = tort_sliding_read(resolve->node, rank - 2, &p->window, resolve->error);
    if (!status && w->rank >= 0) status = tort_sliding_kernel(&p->window, w->dims + 2, resolve->error);
    if (status) return status;
    tort_sliding_place(resolve->node, &p->window);
    if (!tort_widen_scratch(resolve->node, TORT_DEFORM_INPUTS, &resolve->scratch_bytes))
        return tort_out_of_memory(resolve->error, SIZE_MAX);
    return TORT_OK;
}

/* ---- the plain loop ---------------------------------------------------------------------------------------------- */

typedef struct deform_job {
    const tort_call *call;
    const tort_deform_conv_params *params;
    const tort_tensor *y;
    tort_type type;
    const void *data[TORT_DEFORM_INPUTS];
    int64_t inputs, outputs, positions; /* elements of a channel of X and of Y, and of the kernel */
} deform_job;

static double element(const deform_job *job, int32_t input, int64_t i) {
    return tort_wide_element(job->type, job->data[input], i);
}

/* Value at real coordinates `at` of the channel that begins at `first`: a weighted mean of 2^axes corners. */
static double interpolate(const deform_job *job, int64_t first, const double *at) {
    const tort_sliding *window = &job->params->window;
    int64_t low[TORT_MAX_SPATIAL];
    double above[TORT_MAX_SPATIAL], sum = 0;
    for (int32_t i = 0; i < window->axes; i++) {
        if (!(at[i] > -1 && at[i] < (double)window->input[i])) return 0;
        low[i] = (int64_t)floor(at[i]);
        above[i] = at[i] - (double)low[i];
    }
    for (int32_t corner = 0; corner < 1 << window->axes; corner++) {
        double weight = 1;
        int64_t index = 0;
        bool inside = true;
        for (int32_t i = 0; i < window->axes; i++) {
            const int32_t upper = corner >> i & 1;
            const int64_t position = low[i] + upper;
            inside = inside && position >= 0 && position < window->input[i];
            weight *= upper ? above[i] : 1 - above[i];
            index = index * window->input[i] + position;
        }
        if (inside && weight != 0) sum += weight * element(job, TORT_DEFORM_X, first + index);
    }
    return sum;
}

/* Sample of channel c at kernel position k for the output at `out`, pixel number `pixel` of image n; masked. */
static double sample(const deform_job *job, int64_t n, int64_t c, int64_t k, const int64_t *out, int64_t pixel) {
    const tort_deform_conv_params *p = job->params;
    const tort_sliding *window = &p->window;
    const int64_t moved = (n * p->offset_group + c / (p->channels / p->offset_group)) * job->positions + k;
    double at[TORT_MAX_SPATIAL];
    int64_t rest = k;
    for (int32_t i = window->axes - 1; i >= 0; i--) {
        const int64_t tap = rest % window->kernel[i];
        rest /= window->kernel[i];
        at[i] = (double)(out[i] * window->strides[i] - window->begin[i] + tap * window->dilations[i]) +
                element(job, TORT_DEFORM_OFFSET, (moved * window->axes + i) * job->outputs + pixel);
    }
    const double value = interpolate(job, (n * p->channels + c) * job->inputs, at);
    return job->data[TORT_DEFORM_MASK] ? value * element(job, TORT_DEFORM_MASK, moved * job->outputs + pixel) : value;
}

/* Computes filters first .. last-1, all of one group, of one output pixel. */
static void deform_pixel(const deform_job *job, int64_t n, int64_t pixel, const int64_t *out, int64_t first,
                         int64_t last) {
    const tort_deform_conv_params *p = job->params;
    const int64_t per_group = p->channels / p->group, group = first / (p->filters / p->group);
    int64_t done = 0;
    double acc[TORT_BLOCK];
    for (int64_t m = first; m < last; m++)
        acc[m - first] = job->data[TORT_DEFORM_B] ? element(job, TORT_DEFORM_B, m) : 0;
    for (int64_t c = 0; c < per_group; c++)
        for (int64_t k = 0; k < job->positions; k++) {
            if (!tort_work_goes_on(job->call->watch, &done, 64 + last - first)) return;
            const double value = sample(job, n, group * per_group + c, k, out, pixel);
            for (int64_t m = first; m < last; m++)
                acc[m - first] += value * element(job, TORT_DEFORM_W, (m * per_group + c) * job->positions + k);
        }
    for (int64_t m = first; m < last; m++)
        tort_store_doubles(job->y->type, job->y->data, (n * p->filters + m) * job->outputs + pixel, 1, &acc[m - first]);
}

static void deform_pixels(void *arg, int64_t begin, int64_t end) {
    const deform_job *job = arg;
    const tort_deform_conv_params *p = job->params;
    const int64_t per_group = p->filters / p->group, width = p->window.output[p->window.axes - 1];
    for (int64_t item = begin; item < end; item++) {
        const int64_t pixel = item % job->outputs;
        int64_t out[TORT_MAX_SPATIAL];
        tort_sliding_coordinates(&p->window, p->window.output, pixel / width, out);
        out[p->window.axes - 1] = pixel % width;
        for (int64_t group = 0; group < p->group; group++)
            for (int64_t m = group * per_group; m < (group + 1) * per_group; m += TORT_BLOCK) {
                const int64_t stop = (group + 1) * per_group;
                deform_pixel(job, item / job->outputs, pixel, out, m, m + tort_block_count(stop, m));
            }
    }
}

static tort_status run_deform_conv(const tort_call *call) {
    const tort_deform_conv_params *p = call->params;
    const int32_t axes = p->window.axes;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    deform_job job = {.call = call, .params = p, .y = &call->outputs[0], .inputs = 1, .outputs = 1, .positions = 1};
    for (int32_t i = 0; i < axes; i++) {
        job.inputs *= p->window.input[i];
        job.outputs *= p->window.output[i];
        job.positions *= p->window.kernel[i];
    }
    tort_widen_inputs(call, TORT_DEFORM_INPUTS, &job.type, job.data);
    tort_parallel(call, p->batch * job.outputs, p->channels * job.positions * (p->filters / p->group + 16) + 1,
                  deform_pixels, &job);
    return TORT_OK;
}

#define DEFORM_CONV(since_, until_, types_)                                                                            \
    {                                                                                                                  \
        "", "DeformConv", since_, until_, "X:T W:T offset:T B?:T mask?:T", "Y:T", types_,                              \
            "dilations:ints group:int=1 kernel_shape:ints offset_group:int=1 pads:ints strides:ints",                  \
            .params_size = sizeof(tort_deform_conv_params), infer_deform_conv, resolve_deform_conv, run_deform_conv    \
    }

const tort_op tort_ops_deform_conv[] = {
    DEFORM_CONV(19, 21, "T=floats"),
    DEFORM_CONV(22, TORT_NEWEST_OPSET, "T=floats13"),
    {0},
};
