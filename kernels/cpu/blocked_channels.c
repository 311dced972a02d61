/* blocked_channels.c - operators that treat all pixels of a channel alike, in fp32 over blocks of channels
 * (blocked.h): BatchNormalization, a product or sum with one number per channel, averages of whole pictures, and
 * Concat of channels.
 *
 * All of them run in other layouts too; here they save the layout conversions between convolutions. Read next:
 * simd/blocked_window.c. */
#include "kernels/cpu/blocked.h"
#include "ops/concat.h"
#include "ops/contents.h"
#include "ops/norm.h"

#include <math.h>
#include <string.h>

/* Accepts float with spatial axes and at least one block of channels. */
static tort_verdict claim_picture(const tort_target *target, const tort_node_view *node, const tort_info *x) {
    if (x->rank < 3 || x->rank > 5)
        return tort_no(TORT_NO_SHAPE, "", "is for 1 to 3 spatial axes, the input has rank %d", (int)x->rank);
    if (x->dims[1] < TORT_LANES)
        return tort_no(TORT_NO_SHAPE, "", "is for %d channels and more that are known", TORT_LANES);
    return tort_cpu_claim_float(target, node);
}

/* ---- scale and shift --------------------------------------------------------------------------------------------- */

typedef struct scale_job {
    const tort_simd *simd;
    const float *x, *scale, *shift; /* scale and shift: in whole blocks */
    float *y;
    int64_t blocks, pixels;
    bool one_batch; /* the same scale and shift for all of the batch */
} scale_job;

/* Scales pixels of all pictures of the batch, each in all blocks. Convolutions share pixels the same way, so a
 * thread finds its earlier results in its own cache. */
static void scale_pixels(void *arg, int64_t begin, int64_t end) {
    const scale_job *job = arg;
    for (int64_t last; begin < end; begin = last) {
        const int64_t n = begin / job->pixels, first = begin % job->pixels;
        last = tort_min(end, begin - first + job->pixels);
        for (int64_t block = 0; block < job->blocks; block++) {
            const int64_t at = ((n * job->blocks + block) * job->pixels + first) * TORT_LANES;
            const int64_t of = (job->one_batch ? block : n * job->blocks + block) * TORT_LANES;
            job->simd->blocked_scale(job->x + at, job->y + at, last - begin, job->scale + of, job->shift + of);
        }
    }
}

static void run_scale(const tort_call *call, scale_job *job, const tort_tensor *x) {
    const tort_cpu_device *device = call->device;
    job->simd = device->simd;
    job->x = x->data;
    job->y = call->outputs[0].data;
    job->blocks = tort_blocks(x->dims[1]);
    job->pixels = tort_pixels(x);
    tort_parallel(call, x->dims[0] * job->pixels, 2 * job->blocks, scale_pixels, job);
}

/* Reserves two lists of one number per channel, in whole blocks. */
static bool reserve_lists(int64_t channels, size_t *scratch) {
    *scratch = 0;
    return channels >= 0 && channels < INT64_MAX / 64 &&
           tort_cpu_reserve_floats(scratch, 2 * tort_blocks(channels) * TORT_LANES);
}

/* ---- BatchNormalization ------------------------------------------------------------------------------------------ */

static tort_verdict claim_batch_norm(const tort_target *target, const tort_node_view *node) {
    const tort_batch_norm_params *p = node->params;
    if (p->training) return tort_no(TORT_NO_ATTR, "", "does not train");
    for (int32_t i = 1; i <= 4; i++)
        if (node->inputs[i].type != TORT_FLOAT || node->inputs[i].rank != 1)
            return tort_no(TORT_NO_TYPE, "", "is for one float a channel in each list");
    return claim_picture(target, node, &node->inputs[0]);
}

static tort_status size_batch_norm(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                   tort_error *error) {
    (void)target;
    return reserve_lists(node->inputs[0].dims[1], scratch) ? TORT_OK : tort_out_of_memory(error, SIZE_MAX);
}

static tort_status run_batch_norm(const tort_call *call) {
    const tort_batch_norm_params *p = call->params;
    const tort_tensor *x = &call->inputs[0];
    const float *gamma = call->inputs[1].data, *beta = call->inputs[2].data, *mean = call->inputs[3].data,
                *variance = call->inputs[4].data;
    const int64_t channels = x->dims[1], whole = tort_blocks(channels) * TORT_LANES;
    float *scale = call->scratch, *shift = scale + whole;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    memset(scale, 0, (size_t)(2 * whole) * sizeof *scale);
    for (int64_t c = 0; c < channels; c++) {
        const double factor = (double)gamma[c] / sqrt((double)variance[c] + p->epsilon);
        scale[c] = (float)factor;
        shift[c] = (float)((double)beta[c] - (double)mean[c] * factor);
    }
    scale_job job = {.scale = scale, .shift = shift, .one_batch = true};
    run_scale(call, &job, x);
    return TORT_OK;
}

/* ---- a number a channel ------------------------------------------------------------------------------------------ */

static bool is_list_of_channels(const tort_info *s, const tort_info *x) {
    bool is = s->rank == x->rank && s->dims[1] == x->dims[1] && (s->dims[0] == 1 || s->dims[0] == x->dims[0]);
    for (int32_t d = 2; is && d < s->rank; d++) is = s->dims[d] == 1;
    return is;
}

/* Returns the operand that is the list of channels, the other one having the output's shape; -1: neither is. */
static int32_t find_list(const tort_info *inputs, const tort_info *output) {
    for (int32_t i = 0; i < 2; i++)
        if (tort_same_dims(&inputs[1 - i], output) && is_list_of_channels(&inputs[i], output)) return i;
    return -1;
}

static tort_verdict claim_channels(const tort_target *target, const tort_node_view *node) {
    const int32_t list = find_list(node->inputs, &node->outputs[0]);
    if (list < 0) return tort_no(TORT_NO_SHAPE, "", "is for a picture and one number for each of its channels");
    return claim_picture(target, node, &node->outputs[0]);
}

static tort_status size_channels(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                 tort_error *error) {
    const tort_info *y = &node->outputs[0];
    int64_t channels;
    (void)target;
    if (!__builtin_mul_overflow(y->dims[0], tort_blocks(y->dims[1]) * TORT_LANES, &channels) &&
        reserve_lists(channels, scratch))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

typedef enum channel_op { CHANNEL_MUL, CHANNEL_ADD, CHANNEL_SUB } channel_op;

/* Returns the operand that is the list, from the shapes of a run; the first if both are lists. */
static int32_t list_of(const tort_call *call) {
    return tort_pixels(&call->inputs[1]) < tort_pixels(&call->inputs[0]) ||
                   call->inputs[1].dims[0] < call->inputs[0].dims[0]
               ? 1
               : 0;
}

static void set_lists(channel_op op, int32_t list, const float *numbers, int64_t count, float *scale, float *shift) {
    for (int64_t c = 0; c < count; c++) {
        scale[c] = op == CHANNEL_MUL ? numbers[c] : op == CHANNEL_SUB && list == 0 ? -1.0f : 1.0f;
        shift[c] = op == CHANNEL_MUL ? -0.0f : op == CHANNEL_SUB && list == 1 ? -numbers[c] : numbers[c];
    }
}

/* Runs Mul, Add or Sub: the row's variant is a channel_op. */
static tort_status run_channels(const tort_call *call) {
    const channel_op op = (channel_op)call->kernel->variant;
    const int32_t list = list_of(call);
    const tort_tensor *numbers = &call->inputs[list], *x = &call->inputs[1 - list];
    const int64_t count = numbers->dims[0] * tort_blocks(numbers->dims[1]) * TORT_LANES;
    float *scale = call->scratch, *shift = scale + count;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    set_lists(op, list, numbers->data, count, scale, shift);
    scale_job job = {.scale = scale, .shift = shift, .one_batch = numbers->dims[0] == 1};
    run_scale(call, &job, x);
    return TORT_OK;
}

/* ---- averages of pictures ---------------------------------------------------------------------------------------- */

enum { KEPT, DROPPED }; /* variants: the spatial axes of Y */

static tort_verdict claim_average(const tort_target *target, const tort_node_view *node) {
    return claim_picture(target, node, &node->inputs[0]);
}

/* True if the node reduces all spatial axes and no others. */
static bool reduces_pictures(const tort_node_view *node) {
    const int32_t rank = node->inputs[0].rank;
    tort_numbers axes;
    tort_error error;
    uint32_t mask = 0;
    if (tort_read_numbers(node, 1, "axes", &axes, &error) || axes.known == TORT_UNKNOWN || rank < 3) return false;
    for (int32_t i = 0; i < axes.count; i++) {
        const int64_t axis = axes.values[i] < 0 ? axes.values[i] + rank : axes.values[i];
        if (axis < 0 || axis >= rank) return false;
        mask |= 1u << axis;
    }
    return mask == ((1u << rank) - 1) - 3;
}

static tort_verdict claim_mean(const tort_target *target, const tort_node_view *node) {
    const bool keeps = node->kernel->variant == KEPT;
    if (!reduces_pictures(node)) return tort_no(TORT_NO_ATTR, "", "is for a mean over all spatial axes");
    if ((tort_attr_int(node, "keepdims") != 0) != keeps)
        return tort_no(TORT_NO_ATTR, "", "is for keepdims=%d", (int)keeps);
    return claim_picture(target, node, &node->inputs[0]);
}

/* A picture is summed in so many stretches of pixels, and then over the stretches and the remaining pixels. So
 * threads share it as convolutions do, and sums do not depend on the number of threads. */
#define STRETCHES 8

typedef struct average_job {
    const tort_simd *simd;
    const float *x;
    float *sums; /* [batch][blocks][STRETCHES + 1][16] */
    float *y;
    int64_t channels, blocks, pixels;
    bool plain; /* y is a plain list of channels */
} average_job;

static tort_status size_average(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                tort_error *error) {
    const tort_info *x = &node->inputs[0];
    int64_t floats;
    (void)target;
    *scratch = 0;
    if (__builtin_mul_overflow(x->dims[0], tort_blocks(x->dims[1]), &floats) ||
        __builtin_mul_overflow(floats, TORT_LANES * (STRETCHES + 1), &floats) ||
        !tort_cpu_reserve_floats(scratch, floats))
        return tort_out_of_memory(error, SIZE_MAX);
    return TORT_OK;
}

/* Makes `count` sums, each of `length` consecutive pixels of a block. */
static void sum_pixels(const average_job *job, const float *x, int64_t count, int64_t length, float scale, float *y) {
    tort_blocked_window w = {.x = x,
                             .x_step = length * TORT_LANES,
                             .column_step = TORT_LANES,
                             .rows = 1,
                             .columns = length,
                             .y = y,
                             .pixels = count,
                             .scale = scale};
    tort_simd_bounds(NULL, &w.bounds);
    job->simd->blocked_sum(&w);
}

static float *sums_of(const average_job *job, int64_t block) {
    return job->sums + block * (STRETCHES + 1) * TORT_LANES;
}

/* Sums stretches of all pictures of the batch, each in all blocks. */
static void sum_stretches(void *arg, int64_t begin, int64_t end) {
    const average_job *job = arg;
    const int64_t length = job->pixels / STRETCHES;
    for (int64_t last; begin < end; begin = last) {
        const int64_t n = begin / STRETCHES, first = begin % STRETCHES;
        last = tort_min(end, (n + 1) * STRETCHES);
        for (int64_t block = n * job->blocks; block < (n + 1) * job->blocks; block++)
            sum_pixels(job, job->x + (block * job->pixels + first * length) * TORT_LANES, last - begin, length, 1,
                       sums_of(job, block) + first * TORT_LANES);
    }
}

/* Finishes the average of a block, counted over the whole batch. */
static void finish_average(const average_job *job, int64_t block) {
    const int64_t summed = job->pixels / STRETCHES * STRETCHES, first = block % job->blocks * TORT_LANES;
    float *sums = sums_of(job, block), averages[TORT_LANES];
    sum_pixels(job, job->x + (block * job->pixels + summed) * TORT_LANES, 1, job->pixels - summed, 1,
               sums + STRETCHES * TORT_LANES);
    sum_pixels(job, sums, 1, STRETCHES + 1, 1 / (float)job->pixels,
               job->plain ? averages : job->y + block * TORT_LANES);
    if (job->plain)
        memcpy(job->y + block / job->blocks * job->channels + first, averages,
               (size_t)tort_min(TORT_LANES, job->channels - first) * sizeof *averages);
}

static tort_status run_average(const tort_call *call) {
    const tort_cpu_device *device = call->device;
    const tort_tensor *x = &call->inputs[0];
    const average_job job = {.simd = device->simd,
                             .x = x->data,
                             .sums = call->scratch,
                             .y = call->outputs[0].data,
                             .channels = x->dims[1],
                             .blocks = tort_blocks(x->dims[1]),
                             .pixels = tort_pixels(x),
                             .plain = call->kernel->variant == DROPPED};
    tort_parallel(call, x->dims[0] * STRETCHES, job.blocks * job.pixels / STRETCHES, sum_stretches, (void *)&job);
    for (int64_t block = 0; block < x->dims[0] * job.blocks; block++) finish_average(&job, block);
    return TORT_OK;
}

/* ---- Concat ------------------------------------------------------------------------------------------------------ */

/* Accepts parts that are whole blocks, except the last. */
static tort_verdict claim_concat(const tort_target *target, const tort_node_view *node) {
    const int32_t rank = node->inputs[0].rank, count = node->input_count;
    const int64_t axis = tort_attr_int(node, "axis");
    if (count > 32) return tort_no(TORT_NO_SHAPE, "", "is for at most 32 inputs");
    if (axis != 1 && axis + rank != 1) return tort_no(TORT_NO_ATTR, "", "joins channels, which are axis 1");
    for (int32_t i = 0; i + 1 < count; i++)
        if (node->inputs[i].rank != rank || node->inputs[i].dims[1] < 0 || node->inputs[i].dims[1] % TORT_LANES)
            return tort_no(TORT_NO_SHAPE, "", "the channels of input %d are not whole blocks of %d", (int)i,
                           TORT_LANES);
    return claim_picture(target, node, &node->inputs[0]);
}

typedef struct concat_job {
    const tort_call *call;
    int64_t blocks, pixels;
} concat_job;

/* Copies pixels first..first+count of image n from all parts. */
static void join_pixels(const concat_job *job, int64_t n, int64_t first, int64_t count) {
    const size_t pixel = TORT_LANES * (size_t)tort_type_bits(job->call->outputs[0].type) / 8;
    char *to = (char *)job->call->outputs[0].data + (size_t)(n * job->blocks * job->pixels + first) * pixel;
    for (int32_t i = 0; i < job->call->input_count; i++) {
        const tort_tensor *part = &job->call->inputs[i];
        const int64_t blocks = tort_blocks(part->dims[1]);
        const char *from = (const char *)part->data + (size_t)(n * blocks * job->pixels + first) * pixel;
        for (int64_t block = 0; block < blocks; block++) {
            memcpy(to, from, (size_t)count * pixel);
            to += (size_t)job->pixels * pixel;
            from += (size_t)job->pixels * pixel;
        }
    }
}

/* Joins pixels of all pictures, shared as scale_pixels shares them. */
static void concat_pixels(void *arg, int64_t begin, int64_t end) {
    const concat_job *job = arg;
    for (int64_t last; begin < end; begin = last) {
        const int64_t n = begin / job->pixels, first = begin % job->pixels;
        last = tort_min(end, begin - first + job->pixels);
        join_pixels(job, n, first, last - begin);
    }
}

static tort_status run_concat(const tort_call *call) {
    const tort_tensor *y = &call->outputs[0];
    concat_job job = {.call = call, .blocks = tort_blocks(y->dims[1]), .pixels = tort_pixels(y)};
    if (tort_count(y) > 0) tort_parallel(call, y->dims[0] * job.pixels, 2 * job.blocks, concat_pixels, &job);
    return TORT_OK;
}

#define CHANNELS(op_, variant_)                                                                                        \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = "channels_blocked", .claim = claim_channels, .size = size_channels,           \
        .run = run_channels, .variant = variant_, .in_place = 3, .layout.id = TORT_BLOCKED, .layout.inputs = 3,        \
        .layout.outputs = 1, .layout.follows = true                                                                    \
    }
#define AVERAGE(op_, name_, claim_, variant_, outputs_)                                                                \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = name_, .claim = claim_, .size = size_average, .run = run_average,             \
        .variant = variant_, .layout.id = TORT_BLOCKED, .layout.inputs = 1, .layout.outputs = outputs_,                \
        .layout.follows = true                                                                                         \
    }

const tort_kernel tort_cpu_blocked_channels[] = {
    {"", "BatchNormalization", "batch_norm_blocked", .claim = claim_batch_norm, .size = size_batch_norm,
     .run = run_batch_norm, .in_place = 1, .layout = {TORT_BLOCKED, .inputs = 1, .outputs = 1, .follows = true}},
    CHANNELS("Mul", CHANNEL_MUL),
    CHANNELS("Add", CHANNEL_ADD),
    CHANNELS("Sub", CHANNEL_SUB),
    AVERAGE("GlobalAveragePool", "global_average_pool_blocked", claim_average, KEPT, 1),
    AVERAGE("ReduceMean", "mean_blocked", claim_mean, KEPT, 1),
    AVERAGE("ReduceMean", "mean_blocked_to_list", claim_mean, DROPPED, 0),
    {"", "Concat", "concat_blocked", .claim = claim_concat, .run = run_concat, .halves = UINT32_MAX,
     .layout = {TORT_BLOCKED, .inputs = UINT32_MAX, .outputs = 1, .follows = true}},
    {.op = NULL},
};
