/* deform_conv.c - DeformConv of float pictures: a matrix product whose columns are the samples of a block of pixels.
 *
 * Sampling positions (Dai et al., "Deformable Convolutional Networks", 2017) are computed once for all channels of
 * an offset group. Read next: packed_gemm.h, ops/deform_conv.c (the meaning). */
#include "ops/deform_conv.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/packed_gemm.h"
#include "runtime/core/base/memory.h"

#include <math.h>
#include <string.h>

#define BLOCK 64 /* pixels at a time */

static tort_verdict claim_deform_conv(const tort_target *target, const tort_node_view *node) {
    const tort_deform_conv_params *p = node->params;
    if (node->inputs[0].rank != 4) return tort_no(TORT_NO_SHAPE, "", "is for pictures, X has another rank than 4");
    if (p->channels < 0 || p->filters < 0 || p->window.kernel[0] < 0 || p->window.kernel[1] < 0)
        return tort_no(TORT_NO_DYNAMIC, "", "the shape of W or the number of channels is not known");
    return tort_cpu_claim_float(target, node);
}

/* Returns the rows of the right operand: one per channel of a group and kernel position. */
static int64_t depth_of(const tort_deform_conv_params *p) {
    return p->channels / p->group * p->window.kernel[0] * p->window.kernel[1];
}

static bool part_bytes(const tort_simd *simd, const tort_deform_conv_params *p, size_t *bytes) {
    const int64_t depth = depth_of(p);
    *bytes = tort_packed_gemm_buffer(simd, false, false);
    return depth <= INT64_MAX / BLOCK && tort_cpu_reserve_floats(bytes, depth * BLOCK);
}

static tort_status size_deform_conv(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                    tort_error *error) {
    size_t bytes;
    if (part_bytes(tort_simd_choose(target->instructions), node->params, &bytes) &&
        tort_mul_size(bytes, (uint64_t)target->threads, scratch))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

typedef struct deform_job {
    const tort_call *call;
    const tort_deform_conv_params *p;
    const tort_simd *simd;
    const float *x, *w, *offset, *bias, *mask;
    float *y;
    int64_t inputs, outputs, positions; /* elements of a channel of X, of a channel of Y, of the kernel */
    char *scratch;
    size_t part_bytes;
    int32_t parts;
} deform_job;

/* Bilinear samples of a block of pixels: four elements each; one outside of the picture has the weight 0. */
typedef struct deform_places {
    int32_t offsets[4][BLOCK];
    float weights[4][BLOCK], factors[BLOCK];
} deform_places;

static void find_place(const deform_job *job, const double at[2], int64_t i, deform_places *places) {
    const int64_t height = job->p->window.input[0], width = job->p->window.input[1];
    const bool seen = at[0] > -1 && at[0] < (double)height && at[1] > -1 && at[1] < (double)width;
    const double low[2] = {seen ? floor(at[0]) : 0, seen ? floor(at[1]) : 0};
    for (int32_t corner = 0; corner < 4; corner++) {
        const int64_t row = (int64_t)low[0] + corner / 2, column = (int64_t)low[1] + corner % 2;
        const double down = corner / 2 ? at[0] - low[0] : 1 - (at[0] - low[0]);
        const double across = corner % 2 ? at[1] - low[1] : 1 - (at[1] - low[1]);
        const bool inside = seen && row >= 0 && row < height && column >= 0 && column < width;
        places->offsets[corner][i] = inside ? (int32_t)(row * width + column) : 0;
        places->weights[corner][i] = inside ? (float)(down * across) : 0;
    }
}

/* Finds the samples of pixels first..first+count of image n, for the channels of offset group g, at kernel position
 * k. */
static void find_places(const deform_job *job, int64_t n, int64_t g, int64_t k, int64_t first, int64_t count,
                        deform_places *places) {
    const tort_sliding *window = &job->p->window;
    const int64_t moved = (n * job->p->offset_group + g) * job->positions + k;
    const int64_t taps[2] = {k / window->kernel[1], k % window->kernel[1]};
    for (int64_t i = 0; i < count; i++) {
        const int64_t out[2] = {(first + i) / window->output[1], (first + i) % window->output[1]};
        double at[2];
        for (int32_t d = 0; d < 2; d++)
            at[d] = (double)(out[d] * window->strides[d] - window->begin[d] + taps[d] * window->dilations[d]) +
                    (double)job->offset[(moved * 2 + d) * job->outputs + first + i];
        find_place(job, at, i, places);
        places->factors[i] = job->mask ? job->mask[moved * job->outputs + first + i] : 1;
    }
}

/* Returns a weighted element. One with the weight 0 may be NaN or infinite, so it is dropped, by selection: a branch
 * would be unpredictable. */
static inline float weighted(const deform_places *places, int32_t corner, int64_t i, const float *x) {
    const float weight = places->weights[corner][i], product = weight * x[places->offsets[corner][i]];
    return weight != 0 ? product : 0;
}

static void sample(const deform_places *places, const float *restrict x, float *restrict to, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        to[i] = ((weighted(places, 0, i, x) + weighted(places, 1, i, x)) +
                 (weighted(places, 2, i, x) + weighted(places, 3, i, x))) *
                places->factors[i];
}

/* Fills the columns with the samples of the channels of one group. */
static void fill_columns(const deform_job *job, int64_t n, int64_t group, int64_t first, int64_t count,
                         float *columns) {
    const tort_deform_conv_params *p = job->p;
    const int64_t channels = p->channels / p->group, moving = p->channels / p->offset_group;
    const int64_t work = tort_work(BLOCK, 64, 1);
    deform_places places;
    if (job->inputs == 0) { /* no element to read, not even one with the weight 0 */
        memset(columns, 0, (size_t)(depth_of(p) * BLOCK) * sizeof *columns);
        return;
    }
    for (int64_t k = 0; k < job->positions; k++)
        for (int64_t c = 0; c < channels; c++) {
            const int64_t channel = group * channels + c;
            if (!tort_piece_goes_on(job->call, k * channels + c, work)) return;
            if (c == 0 || channel % moving == 0) find_places(job, n, channel / moving, k, first, count, &places);
            sample(&places, job->x + (n * p->channels + channel) * job->inputs,
                   columns + (c * job->positions + k) * BLOCK, count);
        }
}

/* Makes the filters of one group, for pixels first..first+count of image n. */
static void convolve(const deform_job *job, int64_t n, int64_t group, int64_t first, int64_t count, float *buffer) {
    const tort_deform_conv_params *p = job->p;
    const int64_t filters = p->filters / p->group, depth = depth_of(p);
    float *columns = buffer + tort_packed_gemm_buffer(job->simd, false, false) / sizeof(float);
    const tort_packed_gemm gemm = {.call = job->call,
                                   .simd = job->simd,
                                   .m = filters,
                                   .n = count,
                                   .k = depth,
                                   .a = job->w + group * filters * depth,
                                   .a_row_stride = depth,
                                   .a_k_stride = 1,
                                   .scale = 1,
                                   .pack_b = tort_pack_b_matrix,
                                   .b = columns,
                                   .b_k_stride = BLOCK,
                                   .b_column_stride = 1,
                                   .c = job->y + (n * p->filters + group * filters) * job->outputs + first,
                                   .c_stride = job->outputs,
                                   .row_bias = job->bias ? job->bias + group * filters : NULL};
    fill_columns(job, n, group, first, count, columns);
    tort_packed_gemm_block(&gemm, 0, filters, 0, count, buffer);
}

static void deform_parts(void *arg, int64_t begin, int64_t end) {
    const deform_job *job = arg;
    const int64_t blocks = (job->outputs + BLOCK - 1) / BLOCK;
    for (int64_t part = begin; part < end; part++) {
        float *buffer = (float *)(void *)(job->scratch + (size_t)part * job->part_bytes);
        int64_t first, last;
        tort_cpu_share(job->p->batch * blocks, 1, part, job->parts, &first, &last);
        for (int64_t i = first; i < last && tort_call_goes_on(job->call, 0); i++) {
            const int64_t pixel = i % blocks * BLOCK;
            const int64_t count = job->outputs - pixel < BLOCK ? job->outputs - pixel : BLOCK;
            for (int64_t group = 0; group < job->p->group && tort_call_goes_on(job->call, 0); group++)
                convolve(job, i / blocks, group, pixel, count, buffer);
        }
    }
}

static const float *data_of(const tort_call *call, int32_t input) {
    const tort_tensor *tensor = tort_call_input(call, input);
    return tensor ? tensor->data : NULL;
}

static tort_status run_deform_conv(const tort_call *call) {
    const tort_deform_conv_params *p = call->params;
    const tort_cpu_device *device = call->device;
    const tort_sliding *window = &p->window;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    deform_job job = {.call = call,
                      .p = p,
                      .simd = device->simd,
                      .x = data_of(call, TORT_DEFORM_X),
                      .w = data_of(call, TORT_DEFORM_W),
                      .offset = data_of(call, TORT_DEFORM_OFFSET),
                      .bias = data_of(call, TORT_DEFORM_B),
                      .mask = data_of(call, TORT_DEFORM_MASK),
                      .y = call->outputs[0].data,
                      .inputs = window->input[0] * window->input[1],
                      .outputs = window->output[0] * window->output[1],
                      .positions = window->kernel[0] * window->kernel[1],
                      .scratch = call->scratch};
    if (job.inputs > INT32_MAX)
        return tort_fail(call->error, TORT_E_UNSUPPORTED, "pictures of %lld elements; at most 2^31 are supported",
                         (long long)job.inputs);
    if (!part_bytes(job.simd, p, &job.part_bytes)) return tort_out_of_memory(call->error, SIZE_MAX);
    job.parts = device->threads;
    tort_cpu_parts(call, job.parts, deform_parts, &job);
    return TORT_OK;
}

const tort_kernel tort_cpu_deform_conv[] = {
    {"", "DeformConv", "deform_conv_packed_gemm", .claim = claim_deform_conv, .size = size_deform_conv,
     .run = run_deform_conv},
    {.op = NULL},
};
