/* conv_transpose.c - ConvTranspose in fp32 with 1 to 3 spatial axes: a matrix product, then a scatter-add (col2im).
 *
 * Each input element adds to kernel_size outputs of every filter. The product of the weights of a chunk of filters
 * (filters * kernel positions, channels) with a stripe of the input makes all these addends; then they are added to
 * their outputs. Read next: packed_gemm.h, ops/conv_transpose.c. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/packed_gemm.h"
#include "ops/conv.h"

#define STRIPE 512    /* input elements at a time */
#define CHUNK_ROWS 96 /* rows of a chunk's product, but at least one filter */

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

/* Returns the filters of a chunk. */
static int64_t chunk_filters(const tort_conv_params *p) {
    const int64_t fit = CHUNK_ROWS / tort_sliding_positions(&p->window), filters = p->filters / p->group;
    return fit < 1 ? 1 : tort_min(fit, filters < 1 ? 1 : filters);
}

static int64_t chunks(const tort_conv_params *p) {
    const int64_t at_once = chunk_filters(p);
    return (p->filters / p->group + at_once - 1) / at_once;
}

static int64_t chunk_size(const tort_simd *simd, const tort_conv_params *p) {
    return tort_packed_a_size(simd, chunk_filters(p) * tort_sliding_positions(&p->window), p->channels / p->group);
}

/* Returns the floats of the packed weights; -1: overflow. */
static int64_t packed_size(const tort_simd *simd, const tort_conv_params *p) {
    int64_t size;
    return __builtin_mul_overflow(chunk_size(simd, p), p->group * chunks(p), &size) ? -1 : size;
}

/* Returns the floats of a thread's addends. */
static int64_t addend_floats(const tort_conv_params *p) {
    return chunk_filters(p) * tort_sliding_positions(&p->window) * STRIPE;
}

/* Returns the floats of a thread's packed stripe of all channels, a multiple of 16. */
static int64_t stripe_floats(const tort_simd *simd, const tort_conv_params *p) {
    return tort_packed_b_size(simd, STRIPE, p->channels / p->group);
}

/* ---- claim, weights ---------------------------------------------------------------------------------------------- */

static tort_verdict claim_conv_transpose(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *p = node->params;
    if (p->window.axes < 1 || p->window.axes > 3)
        return tort_no(TORT_NO_SHAPE, "", "is for 1 to 3 spatial axes, the input has %d", (int)p->window.axes);
    for (int32_t i = 0; i < p->window.axes; i++)
        if (p->window.kernel[i] < 0 || p->filters < 0 || p->channels < 0)
            return tort_no(TORT_NO_DYNAMIC, "", "the shape of W or the number of channels is not known");
    return tort_cpu_claim_float(target, node);
}

static void pack_weights(struct tort_watch *watch, const tort_simd *simd, const tort_conv_params *p,
                         const float *weights, float *packed) {
    const int64_t size = tort_sliding_positions(&p->window), filters = p->filters / p->group,
                  channels = p->channels / p->group;
    const int64_t at_once = chunk_filters(p);
    for (int64_t g = 0; g < p->group; g++)
        for (int64_t f = 0; f < filters && tort_goes_on(watch, 0); f += at_once) {
            const float *from = weights + g * channels * filters * size + f * size;
            tort_pack_a(watch, simd, packed, from, 1, filters * size, tort_min(at_once, filters - f) * size, channels);
            packed += chunk_size(simd, p);
        }
}

static tort_status pack_size_conv_transpose(const tort_target *target, const tort_node_view *node, size_t *bytes,
                                            uint32_t *consumed, tort_error *error) {
    if (!node->inputs[1].constant) return TORT_OK;
    const tort_simd *simd = tort_simd_choose(target->instructions);
    return tort_cpu_pack_floats(packed_size(simd, node->params), bytes, consumed, error);
}

static tort_status prepare_conv_transpose(tort_prepare *prepare) {
    const tort_cpu_device *device = prepare->device;
    const tort_info *weights = &prepare->node->inputs[1];
    if (!prepare->packed) return TORT_OK;
    if (!weights->data) return tort_fail(prepare->error, TORT_E_INTERNAL, "the constant W has no data");
    pack_weights(prepare->watch, device->simd, prepare->node->params, weights->data, prepare->packed);
    return TORT_OK;
}

static tort_status size_conv_transpose(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                       tort_error *error) {
    const tort_conv_params *p = node->params;
    const tort_simd *simd = tort_simd_choose(target->instructions);
    int64_t addends, stripes;
    *scratch = 0;
    bool fits = !__builtin_mul_overflow(stripe_floats(simd, p), (int64_t)target->threads, &stripes) &&
                !__builtin_mul_overflow(addend_floats(p), (int64_t)target->threads, &addends) &&
                tort_cpu_reserve_floats(scratch, stripes) && tort_cpu_reserve_floats(scratch, addends);
    if (fits && !node->inputs[1].constant)
        fits = packed_size(simd, p) >= 0 && tort_cpu_reserve_floats(scratch, packed_size(simd, p));
    return fits ? TORT_OK : tort_out_of_memory(error, SIZE_MAX);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* Axes are depth, height, width; missing leading axes have the size 1. */
typedef struct transpose_job {
    const tort_call *call;
    const tort_conv_params *params;
    const tort_simd *simd;
    int64_t input[3], output[3], kernel[3], strides[3], dilations[3], begin[3];
    int64_t inputs, outputs, kernel_size; /* per channel */
    const float *x, *packed, *bias;
    float *y, *stripes, *addends;
    int32_t parts;
} transpose_job;

static void fill_axes(transpose_job *job, const tort_sliding *window) {
    job->inputs = job->outputs = 1;
    for (int i = 0; i < 3; i++) {
        const int32_t axis = i - (3 - window->axes);
        const bool given = axis >= 0;
        job->input[i] = given ? window->input[axis] : 1;
        job->output[i] = given ? window->output[axis] : 1;
        job->kernel[i] = given ? window->kernel[axis] : 1;
        job->strides[i] = given ? window->strides[axis] : 1;
        job->dilations[i] = given ? window->dilations[axis] : 1;
        job->begin[i] = given ? window->begin[axis] : 0;
        job->inputs *= job->input[i];
        job->outputs *= job->output[i];
    }
    job->kernel_size = tort_sliding_positions(window);
}

/* Adds the addends of input elements x .. x+count of one row to an output row, at kernel position kw. */
static void add_row(const transpose_job *job, int64_t kw, int64_t x, int64_t count, const float *restrict addends,
                    float *restrict row) {
    const int64_t stride = job->strides[2], shift = kw * job->dilations[2] - job->begin[2];
    int64_t first = shift < 0 ? (-shift + stride - 1) / stride : 0;
    int64_t last = job->output[2] > shift ? (job->output[2] - shift + stride - 1) / stride : 0;
    if (first < x) first = x;
    if (last > x + count) last = x + count;
    if (stride == 1)
        for (int64_t i = first; i < last; i++) row[i + shift] += addends[i - x];
    else
        for (int64_t i = first; i < last; i++) row[i * stride + shift] += addends[i - x];
}

/* Adds two rows of addends at once, at stride 2: kernel positions kw and kw + 1 (`next`) are neighbours in the
 * output, so stores are contiguous. */
static void add_two_rows(const transpose_job *job, int64_t kw, int64_t x, int64_t count, const float *restrict addends,
                         const float *restrict next, float *restrict row) {
    const int64_t shift = kw - job->begin[2];
    int64_t first = shift < 0 ? (-shift + 1) / 2 : 0;
    int64_t last = job->output[2] > shift + 1 ? (job->output[2] - shift) / 2 : 0;
    if (first < x) first = x;
    if (last > x + count) last = x + count;
    if (first >= last) first = last = x;
    float *restrict to = row + 2 * first + shift;
    for (int64_t i = 0; i < last - first; i++) {
        to[2 * i] += addends[first - x + i];
        to[2 * i + 1] += next[first - x + i];
    }
    /* Ends, where only one of the two outputs exists. */
    for (int64_t i = x; i < x + count; i++) {
        if (i == first) i = last;
        if (i == x + count) break;
        if (2 * i + shift >= 0 && 2 * i + shift < job->output[2]) row[2 * i + shift] += addends[i - x];
        if (2 * i + shift + 1 >= 0 && 2 * i + shift + 1 < job->output[2]) row[2 * i + shift + 1] += next[i - x];
    }
}

/* Adds the addends of one filter for input elements begin .. begin+count, kernel position by kernel position. */
static void add_stripe(const transpose_job *job, int64_t begin, int64_t count, const float *addends, float *plane) {
    const int64_t width = job->input[2], work = tort_work(count, 16, 1);
    const bool in_twos = job->strides[2] == 2 && job->dilations[2] == 1;
    int64_t done;
    for (int64_t k = 0; k < job->kernel_size; k += done, addends += done * count) {
        const int64_t kw = k % job->kernel[2], kh = k / job->kernel[2] % job->kernel[1];
        const int64_t kd = k / job->kernel[2] / job->kernel[1];
        if (!tort_piece_goes_on(job->call, k, work)) return;
        done = in_twos && kw + 1 < job->kernel[2] ? 2 : 1;
        for (int64_t at = 0; at < count;) {
            const int64_t x = (begin + at) % width, row = (begin + at) / width;
            const int64_t length = tort_min(width - x, count - at);
            const int64_t h = row % job->input[1] * job->strides[1] + kh * job->dilations[1] - job->begin[1];
            const int64_t d = row / job->input[1] * job->strides[0] + kd * job->dilations[0] - job->begin[0];
            const bool inside = d >= 0 && d < job->output[0] && h >= 0 && h < job->output[1];
            float *to = inside ? plane + (d * job->output[1] + h) * job->output[2] : NULL;
            if (to && done == 2)
                add_two_rows(job, kw, x, length, addends + at, addends + count + at, to);
            else if (to)
                add_row(job, kw, x, length, addends + at, to);
            at += length;
        }
    }
}

static void begin_outputs(const transpose_job *job, int64_t n, int64_t filter, int64_t count) {
    float *y = job->y + (n * job->params->filters + filter) * job->outputs;
    const int64_t work = tort_work(job->outputs, 4, 1);
    for (int64_t f = 0; f < count && tort_piece_goes_on(job->call, f, work); f++) {
        const float bias = job->bias ? job->bias[filter + f] : 0;
        for (int64_t i = 0; i < job->outputs; i++) y[f * job->outputs + i] = bias;
    }
}

/* Packs input elements begin .. begin+count of all channels of group g as the right operand. */
static void pack_stripe(const transpose_job *job, int64_t n, int64_t g, int64_t begin, int64_t count, float *packed) {
    const tort_conv_params *p = job->params;
    const int64_t channels = p->channels / p->group, lanes = job->simd->tile_columns;
    const int64_t work = tort_work(TORT_PACKED_DEPTH, count, 16);
    const tort_packed_gemm gemm = {.simd = job->simd,
                                   .b = job->x + (n * p->channels + g * channels) * job->inputs + begin,
                                   .b_k_stride = job->inputs,
                                   .b_column_stride = 1};
    for (int64_t k = 0; k < channels && tort_piece_goes_on(job->call, k / TORT_PACKED_DEPTH, work);
         k += TORT_PACKED_DEPTH) {
        const int64_t depth = tort_min(TORT_PACKED_DEPTH, channels - k);
        for (int64_t i = 0; i < count; i += lanes, packed += depth * lanes)
            tort_pack_b_matrix(&gemm, k, depth, i, (int32_t)tort_min(lanes, count - i), packed);
    }
}

/* Makes chunks first .. last of a group of an image. */
static void transpose_chunks(const transpose_job *job, int64_t n, int64_t g, int64_t first, int64_t last, float *packed,
                             float *addends) {
    const tort_conv_params *p = job->params;
    const int64_t channels = p->channels / p->group, filters = p->filters / p->group, at_once = chunk_filters(p);
    const float *weights = job->packed + g * chunks(p) * chunk_size(job->simd, p);
    begin_outputs(job, n, g * filters + first * at_once, tort_min(last * at_once, filters) - first * at_once);
    for (int64_t begin = 0; begin < job->inputs && tort_call_goes_on(job->call, 0); begin += STRIPE) {
        const int64_t length = tort_min(STRIPE, job->inputs - begin);
        const int64_t work = tort_work(at_once * job->kernel_size, length, channels + 16);
        pack_stripe(job, n, g, begin, length, packed);
        for (int64_t chunk = first; chunk < last && tort_piece_goes_on(job->call, chunk - first, work); chunk++) {
            const int64_t filter = chunk * at_once, count = tort_min(at_once, filters - filter);
            const tort_packed_gemm gemm = {.call = job->call,
                                           .simd = job->simd,
                                           .m = count * job->kernel_size,
                                           .n = length,
                                           .k = channels,
                                           .packed_a = weights + chunk * chunk_size(job->simd, p),
                                           .packed_b = packed,
                                           .c = addends,
                                           .c_stride = length};
            float *y = job->y + (n * p->filters + g * filters + filter) * job->outputs;
            const int64_t add_work = tort_work(job->kernel_size, length, 16);
            tort_packed_gemm_block(&gemm, 0, gemm.m, 0, gemm.n, NULL);
            for (int64_t f = 0; f < count && tort_piece_goes_on(job->call, f, add_work); f++)
                add_stripe(job, begin, length, addends + f * job->kernel_size * length, y + f * job->outputs);
        }
    }
}

static void transpose_part(void *arg, int64_t begin, int64_t end) {
    const transpose_job *job = arg;
    const tort_conv_params *p = job->params;
    const int64_t per_group = chunks(p);
    for (int64_t part = begin; part < end; part++) {
        float *stripe = job->stripes + part * stripe_floats(job->simd, p);
        int64_t first, last, next;
        tort_cpu_share(p->batch * p->group * per_group, 1, part, job->parts, &first, &last);
        for (int64_t task = first; task < last && tort_call_goes_on(job->call, 0); task = next) {
            const int64_t group = task / per_group;
            next = tort_min(last, (group + 1) * per_group);
            transpose_chunks(job, group / p->group, group % p->group, task - group * per_group,
                             next - group * per_group, stripe, job->addends + part * addend_floats(p));
        }
    }
}

static tort_status run_conv_transpose(const tort_call *call) {
    const tort_conv_params *p = call->params;
    const tort_cpu_device *device = call->device;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    transpose_job job = {.call = call,
                         .params = p,
                         .simd = device->simd,
                         .parts = device->threads,
                         .x = call->inputs[0].data,
                         .y = call->outputs[0].data,
                         .packed = call->packed};
    if (call->input_count > 2 && tort_present(&call->inputs[2])) job.bias = call->inputs[2].data;
    fill_axes(&job, &p->window);
    char *scratch = call->scratch;
    job.stripes = tort_cpu_take(&scratch, (size_t)(stripe_floats(device->simd, p) * job.parts) * sizeof(float));
    job.addends = tort_cpu_take(&scratch, (size_t)(addend_floats(p) * job.parts) * sizeof(float));
    if (!job.packed) {
        pack_weights(call->watch, device->simd, p, call->inputs[1].data, (float *)scratch);
        job.packed = (const float *)scratch;
    }
    tort_cpu_parts(call, job.parts, transpose_part, &job);
    return TORT_OK;
}

static tort_status run_dynamic_pads(const tort_call *call) {
    tort_tensor inputs[3];
    const tort_call plain = tort_conv_without_pads(call, inputs);
    return run_conv_transpose(&plain);
}

const tort_kernel tort_cpu_conv_transpose[] = {
    {"", "ConvTranspose", "conv_transpose_packed_gemm", .claim = claim_conv_transpose, .size = size_conv_transpose,
     .pack.size = pack_size_conv_transpose, .prepare = prepare_conv_transpose, .run = run_conv_transpose},
    {"com.microsoft", "ConvTransposeWithDynamicPads", "conv_transpose_packed_gemm", .claim = claim_conv_transpose,
     .size = size_conv_transpose, .pack.size = pack_size_conv_transpose, .prepare = prepare_conv_transpose,
     .run = run_dynamic_pads},
    {.op = NULL},
};
