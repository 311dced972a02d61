/* byte_depthwise.c - QLinearConv where each filter reads one channel, by the loops of Conv: floats hold its sums
 * exactly.
 *
 * A channel becomes floats less the zero point, is stored with its padding (planes.h), and its sums become bytes while
 * they are near. Read next: byte_conv.c, planes.h. */
#include "kernels/cpu/byte_conv.h"
#include "kernels/cpu/planes.h"
#include "ops/integer_conv.h"
#include "ops/microsoft/channels_last.h"
#include "ops/numeric.h"

#include <math.h>
#include <string.h>

#define MOST_POSITIONS 128 /* of a kernel: 128 * 255 * 255 is below 2^23 */
#define MOST_BIAS 0x1p24f
#define LEAST_FACTOR 0x1p-15f
#define MOST_FACTOR 0x1p60f

static int64_t positions_of(const tort_conv_params *p) {
    int64_t positions = 1;
    for (int32_t i = 0; i < p->window.axes && positions <= MOST_POSITIONS; i++) positions *= p->window.kernel[i];
    return positions;
}

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *p = node->params;
    const tort_verdict verdict = tort_cpu_claim_window(target, p);
    if (verdict.code != TORT_YES) return verdict;
    if (p->channels != p->group)
        return tort_no(TORT_NO_SHAPE, "", "is for one channel a group, W has %lld",
                       (long long)(p->group ? p->channels / p->group : 0));
    if (positions_of(p) > MOST_POSITIONS)
        return tort_no(TORT_NO_SHAPE, "", "is for kernels of at most %d positions", MOST_POSITIONS);
    return tort_byte_claim(target, node, 0, tort_qlinear_conv_inputs.w);
}

typedef struct depthwise_job {
    const tort_call *call;
    const tort_conv_params *params;
    const tort_simd *simd;
    tort_planes planes;
    int64_t *offsets;
    float *factors;
    char *buffers; /* one a part */
    size_t buffer_bytes;
    int64_t input;       /* elements of a channel */
    tort_linear_bytes x; /* with a scale of 1 */
    tort_scaled_bytes y; /* of any filter */
    int32_t parts;
} depthwise_job;

/* The widened channel, what is stored of it, and its outputs. */
static bool buffer_size(const tort_planes *planes, size_t *bytes) {
    const int64_t input = planes->input[0] * planes->input[1] * planes->input[2];
    *bytes = 0;
    return tort_cpu_reserve_floats(bytes, input + TORT_PLANE_TAIL) &&
           tort_cpu_reserve_floats(bytes, tort_planes_buffer(planes)) &&
           tort_cpu_reserve_floats(bytes, planes->outputs + TORT_PLANE_TAIL);
}

static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_conv_params *p = node->params;
    tort_planes planes;
    size_t buffer, all;
    tort_planes_init(&planes, &p->window);
    *scratch = 0;
    if (planes.plane < INT64_MAX / 64 && buffer_size(&planes, &buffer) &&
        tort_mul_size(buffer, (size_t)target->threads, &all) && tort_cpu_reserve(scratch, all) &&
        tort_cpu_reserve(scratch, (size_t)planes.kernel_size * sizeof(int64_t)) &&
        tort_cpu_reserve_floats(scratch, p->filters))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

/* The weights of one filter, and what is added to its sums. */
typedef struct filter {
    const depthwise_job *job;
    float weights[MOST_POSITIONS];
    int32_t bias;
    bool slow; /* floats do not hold the sums with their bias */
} filter;

static void read_filter(const depthwise_job *job, int64_t m, filter *f) {
    const tort_byte_conv_inputs *in = &tort_qlinear_conv_inputs;
    const tort_tensor *w = &job->call->inputs[in->w], *w_zero = &job->call->inputs[in->w_zero];
    const tort_tensor *bias = tort_call_input(job->call, 8);
    const int64_t count = job->planes.kernel_size;
    float zero;
    tort_load_floats(w_zero->type, w_zero->data, tort_count(w_zero) > 1 ? m : 0, 1, &zero);
    tort_load_floats(w->type, w->data, m * count, count, f->weights);
    for (int64_t i = 0; i < count; i++) f->weights[i] -= zero;
    f->job = job;
    f->bias = bias ? ((const int32_t *)bias->data)[m] : 0;
    /* A larger bias saturates the result, whatever the sum is: with usual factors it may count as less. */
    f->slow = !(fabsf(job->factors[m]) >= LEAST_FACTOR && fabsf(job->factors[m]) <= MOST_FACTOR);
}

static void make_sums(const void *arg, int64_t channel, float *out, int64_t width, const float *source) {
    const filter *f = arg;
    const float bias = fminf(fmaxf((float)f->bias, -MOST_BIAS), MOST_BIAS);
    (void)channel;
    const tort_weighted sum = {.offsets = f->job->offsets,
                               .weights = f->weights,
                               .count = f->job->planes.kernel_size,
                               .bias = f->slow ? 0 : bias,
                               .bounds = {-INFINITY, INFINITY}};
    f->job->simd->weighted_sum(out, width, source, &sum);
}

static void store_bytes(const filter *f, int64_t m, float *sums, uint8_t *y) {
    const depthwise_job *job = f->job;
    const int64_t count = job->planes.outputs;
    tort_scaled_bytes scaled = job->y;
    scaled.factor = job->factors[m];
    if (!f->slow) {
        job->simd->scale_to_bytes(&scaled, sums, y, count);
        return;
    }
    int32_t *whole = (int32_t *)(void *)sums;
    const tort_requantized r = {.bias = f->bias,
                                .factor = scaled.factor,
                                .zero_point = scaled.zero_point,
                                .bounds = {scaled.is_signed ? -128 : 0, scaled.is_signed ? 127 : 255}};
    for (int64_t i = 0; i < count; i++) {
        const int32_t sum = (int32_t)sums[i];
        memcpy(&whole[i], &sum, sizeof sum);
    }
    job->simd->requantize(&r, whole, y, count);
}

static void run_channel(const depthwise_job *job, int64_t channel, char *buffer) {
    const tort_conv_params *p = job->params;
    const int64_t per_channel = p->filters / p->group;
    float *wide = tort_cpu_take(&buffer, (size_t)(job->input + TORT_PLANE_TAIL) * sizeof *wide);
    float *stored = tort_cpu_take(&buffer, (size_t)tort_planes_buffer(&job->planes) * sizeof *stored);
    float *sums = (float *)(void *)buffer;
    filter f;
    job->simd->dequantize(&job->x, (const uint8_t *)job->call->inputs[0].data + channel * job->input, wide, job->input);
    job->simd->store_planes(&job->planes, wide, 0, stored);
    for (int64_t i = channel * per_channel; i < (channel + 1) * per_channel; i++) {
        const int64_t m = i % p->filters;
        read_filter(job, m, &f);
        tort_planes_each(&job->planes, make_sums, NULL, &f, channel, stored, sums);
        store_bytes(&f, m, sums, (uint8_t *)job->call->outputs[0].data + i * job->planes.outputs);
    }
}

static void depthwise_part(void *arg, int64_t begin, int64_t end) {
    const depthwise_job *job = arg;
    for (int64_t part = begin; part < end; part++) {
        int64_t first, last;
        tort_cpu_share(job->params->batch * job->params->channels, 1, part, job->parts, &first, &last);
        for (int64_t c = first; c < last; c++) run_channel(job, c, job->buffers + (size_t)part * job->buffer_bytes);
    }
}

static tort_status run(const tort_call *call) {
    const tort_conv_params *p = call->params;
    const tort_cpu_device *device = call->device;
    const tort_tensor *in = call->inputs, *y = &call->outputs[0];
    if (tort_count(y) == 0) return TORT_OK;
    depthwise_job job = {.call = call, .params = p, .simd = device->simd, .parts = device->threads};
    char *scratch = call->scratch;
    tort_planes_init(&job.planes, &p->window);
    job.input = job.planes.input[0] * job.planes.input[1] * job.planes.input[2];
    if (!buffer_size(&job.planes, &job.buffer_bytes)) return tort_out_of_memory(call->error, SIZE_MAX);
    job.buffers = tort_cpu_take(&scratch, job.buffer_bytes * (size_t)job.parts);
    job.offsets = tort_cpu_take(&scratch, (size_t)job.planes.kernel_size * sizeof(int64_t));
    job.factors = tort_cpu_take(&scratch, (size_t)p->filters * sizeof(float));
    tort_planes_offsets(&job.planes, job.offsets);
    tort_byte_conv_factors(call, &tort_qlinear_conv_inputs, p->filters, job.factors);
    job.x = (tort_linear_bytes){.scale = 1, .is_signed = in[0].type == TORT_INT8};
    tort_load_floats(in[2].type, in[2].data, 0, 1, &job.x.zero_point);
    job.y.is_signed = y->type == TORT_INT8;
    tort_load_floats(in[7].type, in[7].data, 0, 1, &job.y.zero_point);
    tort_cpu_parts(call, job.parts, depthwise_part, &job);
    return TORT_OK;
}

/* ---- of com.microsoft, channels first or last -------------------------------------------------------------------- */

static tort_status size_either(const tort_target *target, const tort_node_view *node, size_t *scratch,
                               tort_error *error) {
    const tort_either_conv *params = node->params;
    tort_status status = size(target, node, scratch, error);
    if (status || !params->channels_last || tort_planar_scratch(node, TORT_PLANAR_X, scratch)) return status;
    return tort_out_of_memory(error, SIZE_MAX);
}

static tort_status run_either(const tort_call *call) {
    const tort_either_conv *params = call->params;
    return params->channels_last ? tort_planar_run(call, TORT_PLANAR_X, run) : run(call);
}

const tort_kernel tort_cpu_byte_depthwise[] = {
    {.domain = "", .op = "QLinearConv", .name = "qlinear_conv_depthwise", .claim = claim, .size = size, .run = run},
    {.domain = "com.microsoft",
     .op = "QLinearConv",
     .name = "qlinear_conv_depthwise",
     .claim = claim,
     .size = size_either,
     .run = run_either},
    {.op = NULL},
};
