/* conv.c - Conv and FusedConv in fp32 with 1 to 3 spatial axes: as a matrix product (implicit im2col), or channel by
 * channel where each filter reads one channel (depthwise).
 *
 * The product: weights (filters, k) are A, packed ahead; B (k, outputs), the im2col matrix (Chellapilla, Puri and
 * Simard, "High Performance Convolutional Neural Networks for Document Processing", 2006), is never stored: its
 * panels are assembled from the padded channels (planes.h) just before they are used; k = channels / group * kernel
 * positions.
 * Cost: filters * k * outputs multiply-adds; memory for the padded channels, not for B.
 * Example: 64 channels of 56 x 56, 3 x 3: B would be 576 x 3136 floats, 6.9 MiB; the padded channels are 0.8 MiB.
 * Read next: planes.h, packed_gemm.h. */
#include "kernels/cpu/conv.h"
#include "kernels/cpu/packed_gemm.h"
#include "kernels/cpu/planes.h"
#include "ops/microsoft/channels_last.h"

/* ---- claims and weights ------------------------------------------------------------------------------------------ */

tort_verdict tort_cpu_claim_window(const tort_target *target, const tort_conv_params *p) {
    if (p->window.axes < 1 || p->window.axes > 3)
        return tort_no(TORT_NO_SHAPE, "", "is for 1 to 3 spatial axes, the input has %d", (int)p->window.axes);
    for (int32_t i = 0; i < p->window.axes; i++)
        if (p->window.kernel[i] < 0 || p->filters < 0 || p->channels < 0)
            return tort_no(TORT_NO_DYNAMIC, "", "the shape of W or the number of channels is not known");
    return tort_cpu_claim_processor(target);
}

static tort_verdict claim_conv(const tort_target *target, const tort_node_view *node) {
    const tort_verdict verdict = tort_cpu_claim_window(target, node->params);
    return verdict.code != TORT_YES ? verdict : tort_cpu_claim_float(target, node);
}

enum {
    MANY_FILTERS = 8, /* per channel, from which on a matrix product is faster: it loads their input once for all */
    MAX_POSITIONS = 1 << 20, /* of a kernel: a run cannot end inside of a sum */
};

static tort_verdict claim_depthwise(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *p = node->params;
    tort_verdict verdict = claim_conv(target, node);
    if (verdict.code != TORT_YES) return verdict;
    if (p->channels != p->group)
        return tort_no(TORT_NO_SHAPE, "", "is for one channel a group, W has %lld",
                       (long long)(p->group ? p->channels / p->group : 0));
    if (p->group && p->filters / p->group >= MANY_FILTERS)
        return tort_no(TORT_NO_SHAPE, "", "is for fewer than %d filters a channel, W has %lld", MANY_FILTERS,
                       (long long)(p->filters / p->group));
    if (tort_sliding_positions(&p->window) > MAX_POSITIONS)
        return tort_no(TORT_NO_SHAPE, "", "is for kernels of at most %d positions", MAX_POSITIONS);
    return tort_yes();
}

/* Returns the rows of k: products per output. */
static int64_t products(const tort_conv_params *p) {
    return p->channels / p->group * tort_sliding_positions(&p->window);
}

/* Returns the floats of a group's weights, packed by tort_pack_a; -1: overflow. */
static int64_t packed_group_size(const tort_simd *simd, const tort_conv_params *p) {
    return tort_packed_a_size(simd, p->filters / p->group, products(p));
}

bool tort_cpu_conv_alike(const void *params, const void *others) {
    const tort_conv_params *a = params, *b = others;
    bool same = a->group == b->group && a->channels == b->channels && a->filters == b->filters &&
                a->window.axes == b->window.axes;
    for (int32_t i = 0; same && i < a->window.axes; i++) same = a->window.kernel[i] == b->window.kernel[i];
    return same;
}

int64_t tort_cpu_conv_packed_size(const tort_simd *simd, const tort_conv_params *p) {
    int64_t size;
    return __builtin_mul_overflow(packed_group_size(simd, p), p->group, &size) ? -1 : size;
}

void tort_cpu_conv_pack(struct tort_watch *watch, const tort_simd *simd, const tort_conv_params *p,
                        const float *weights, float *packed) {
    const int64_t k = products(p), filters = p->filters / p->group, size = packed_group_size(simd, p);
    int64_t done = 0;
    for (int64_t g = 0; g < p->group && tort_work_goes_on(watch, &done, size); g++)
        tort_pack_a(watch, simd, packed + g * size, weights + g * filters * k, k, 1, filters, k);
}

/* Reserves room for constant weights only: other weights are packed in each run. */
static tort_status pack_size_conv(const tort_target *target, const tort_node_view *node, size_t *bytes,
                                  uint32_t *consumed, tort_error *error) {
    if (!node->inputs[1].constant) return TORT_OK;
    const tort_simd *simd = tort_simd_choose(target->instructions);
    return tort_cpu_pack_floats(tort_cpu_conv_packed_size(simd, node->params), bytes, consumed, error);
}

static tort_status prepare_conv(tort_prepare *prepare) {
    const tort_cpu_device *device = prepare->device;
    const tort_info *weights = &prepare->node->inputs[1];
    if (!prepare->packed) return TORT_OK;
    if (!weights->data) return tort_fail(prepare->error, TORT_E_INTERNAL, "the constant W has no data");
    tort_cpu_conv_pack(prepare->watch, device->simd, prepare->node->params, weights->data, prepare->packed);
    return TORT_OK;
}

/* ---- as a matrix product ----------------------------------------------------------------------------------------- */

/* A run's state; scratch has parts in the order of these pointers. */
typedef struct conv_job {
    const tort_conv_params *params;
    const tort_simd *simd;
    tort_planes planes;
    tort_packed_gemm gemm;
    int64_t *offsets; /* of each row of k, relative to the first channel of the group */
    float *stored;    /* channels of one image; unused if planes.direct */
    float *buffers;   /* one per part */
    const float *image, *channels;
    size_t buffer_bytes;
    int32_t parts;
    tort_cpu_split split; /* of the columns (pixels) and rows (filters) */
} conv_job;

static bool stored_size(const tort_planes *planes, int64_t channels, size_t *total) {
    int64_t count;
    if (planes->direct) return true;
    return !__builtin_mul_overflow(planes->plane, channels, &count) &&
           tort_cpu_reserve_floats(total, count + TORT_PLANE_TAIL);
}

bool tort_cpu_conv_reserve(const tort_target *target, const tort_conv_params *p, size_t *scratch) {
    const size_t buffer = tort_packed_gemm_buffer(tort_simd_choose(target->instructions), true, false);
    tort_planes planes;
    tort_planes_init(&planes, &p->window);
    return tort_cpu_reserve(scratch, (size_t)products(p) * sizeof(int64_t)) &&
           stored_size(&planes, p->channels, scratch) && tort_cpu_reserve(scratch, buffer * (size_t)target->threads);
}

static tort_status size_conv(const tort_target *target, const tort_node_view *node, size_t *scratch,
                             tort_error *error) {
    const tort_conv_params *p = node->params;
    const int64_t weights =
        node->inputs[1].constant ? 0 : tort_cpu_conv_packed_size(tort_simd_choose(target->instructions), p);
    *scratch = 0;
    if (weights >= 0 && tort_cpu_reserve_floats(scratch, weights) && tort_cpu_conv_reserve(target, p, scratch))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

/* Packs outputs column_first .. +columns of an image, as runs along the stored rows. */
static void pack_pixels(const tort_packed_gemm *gemm, int64_t k_first, int64_t k_count, int64_t column_first,
                        int32_t columns, float *panel) {
    const conv_job *job = gemm->b_arg;
    tort_run runs[TORT_MAX_COLUMNS];
    const int32_t count = tort_planes_runs(&job->planes, column_first, columns, runs);
    job->simd->pack_runs(panel, job->channels, job->offsets + k_first, k_count, runs, count, !job->planes.direct);
}

static void store_channels(void *arg, int64_t begin, int64_t end) {
    const conv_job *job = arg;
    const int64_t plane = job->planes.input[0] * job->planes.input[1] * job->planes.input[2];
    const int64_t work = tort_work(job->planes.plane, 4, 1);
    for (int64_t part = begin; part < end; part++) {
        int64_t first, last;
        tort_cpu_share(job->params->channels, 1, part, job->parts, &first, &last);
        for (int64_t c = first; c < last && tort_piece_goes_on(job->gemm.call, c - first, work); c++)
            tort_planes_store(job->gemm.call, &job->planes, job->image + c * plane, 0,
                              job->stored + c * job->planes.plane);
    }
}

#define PANELS 8 /* of columns: multiplied for all of k before the next ones, so that their outputs stay cached */

/* Multiplies a part's share of the rows by its share of the columns. */
static void multiply_share(void *arg, int64_t begin, int64_t end) {
    const conv_job *job = arg;
    const int64_t lanes = job->simd->tile_columns;
    const tort_cpu_split split = job->split;
    for (int64_t part = begin; part < end; part++) {
        float *buffer = job->buffers + (size_t)part * job->buffer_bytes / sizeof(float);
        int64_t m_first, m_last, n_first, n_last;
        tort_cpu_share(job->gemm.m, job->simd->tile_rows, part % split.filter_parts, split.filter_parts, &m_first,
                       &m_last);
        tort_cpu_share(job->gemm.n, lanes, part / split.filter_parts, split.pixel_parts, &n_first, &n_last);
        const int64_t work = tort_work(m_last - m_first, PANELS * lanes, job->gemm.k);
        for (int64_t n = n_first, i = 0; n < n_last && m_first < m_last && tort_piece_goes_on(job->gemm.call, i, work);
             n += PANELS * lanes, i++)
            tort_packed_gemm_block(&job->gemm, m_first, m_last, n,
                                   n + PANELS * lanes < n_last ? n + PANELS * lanes : n_last, buffer);
    }
}

void tort_cpu_conv_run(const tort_call *call, const float *x, const float *packed, const float *bias, float *y,
                       char *scratch) {
    const tort_conv_params *p = call->params;
    const tort_cpu_device *device = call->device;
    conv_job job = {.params = p, .simd = device->simd, .parts = device->threads};
    const int64_t filters = p->filters / p->group, per_group = p->channels / p->group, k = products(p);
    size_t stored = 0;
    tort_planes_init(&job.planes, &p->window);
    stored_size(&job.planes, p->channels, &stored);
    job.offsets = tort_cpu_take(&scratch, (size_t)k * sizeof(int64_t));
    job.stored = tort_cpu_take(&scratch, stored);
    job.buffer_bytes = tort_packed_gemm_buffer(device->simd, true, false);
    job.buffers = tort_cpu_take(&scratch, job.buffer_bytes * (size_t)job.parts);
    tort_planes_offsets(&job.planes, per_group, job.offsets);
    job.gemm = (tort_packed_gemm){.call = call,
                                  .simd = device->simd,
                                  .m = filters,
                                  .n = job.planes.outputs,
                                  .k = k,
                                  .pack_b = pack_pixels,
                                  .b_arg = &job,
                                  .c_stride = job.planes.outputs,
                                  .epilogue = tort_cpu_epilogue(&p->epilogue)};
    const float *residual = tort_cpu_residual(call, &p->epilogue);
    job.split = tort_cpu_split_tiles(filters, device->simd->tile_rows, job.planes.outputs, device->simd->tile_columns,
                                     2, job.parts);
    const int64_t input = job.planes.input[0] * job.planes.input[1] * job.planes.input[2];
    for (int64_t n = 0; n < p->batch && tort_call_goes_on(call, 0); n++) {
        job.image = x + n * p->channels * input;
        if (!job.planes.direct) tort_cpu_parts(call, job.parts, store_channels, &job);
        for (int64_t g = 0; g < p->group && tort_call_goes_on(call, 0); g++) {
            const int64_t first = (n * p->filters + g * filters) * job.planes.outputs;
            job.channels = (job.planes.direct ? job.image : job.stored) + g * per_group * job.planes.plane;
            job.gemm.packed_a = packed + g * packed_group_size(device->simd, p);
            job.gemm.row_bias = bias ? bias + g * filters : NULL;
            job.gemm.c = y + first;
            job.gemm.residual = residual ? residual + first : NULL;
            tort_cpu_parts(call, job.split.filter_parts * job.split.pixel_parts, multiply_share, &job);
        }
    }
}

static tort_status run_conv(const tort_call *call) {
    const tort_conv_params *p = call->params;
    const tort_cpu_device *device = call->device;
    const float *packed = call->packed;
    const float *bias = call->input_count > 2 && tort_present(&call->inputs[2]) ? call->inputs[2].data : NULL;
    char *scratch = call->scratch;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    if (!packed) {
        float *made = tort_cpu_take(&scratch, (size_t)tort_cpu_conv_packed_size(device->simd, p) * sizeof(float));
        tort_cpu_conv_pack(call->watch, device->simd, p, call->inputs[1].data, made);
        packed = made;
    }
    tort_cpu_conv_run(call, call->inputs[0].data, packed, bias, call->outputs[0].data, scratch);
    return TORT_OK;
}

/* ---- depthwise --------------------------------------------------------------------------------------------------- */

typedef struct depthwise_job {
    const tort_call *call;
    const tort_conv_params *params;
    const tort_simd *simd;
    tort_planes planes;
    const int64_t *offsets;
    float *buffers;                             /* one per part */
    const float *x, *weights, *bias, *residual; /* bias and residual may be NULL */
    float *y;
    int32_t parts;
    bool finish; /* the activation is more than bounds, or a residual precedes it */
    tort_bounds bounds;
} depthwise_job;

static tort_status size_depthwise(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                  tort_error *error) {
    const tort_conv_params *p = node->params;
    return tort_planes_size(target, &p->window, scratch, error);
}

static void filter_outputs(const void *arg, int64_t filter, const tort_window_rows *rows) {
    const depthwise_job *job = arg;
    const tort_weighted sum = {.offsets = job->offsets,
                               .weights = job->weights + filter * job->planes.kernel_size,
                               .count = job->planes.kernel_size,
                               .shared = tort_planes_shared(&job->planes),
                               .bias = job->bias ? job->bias[filter] : 0,
                               .bounds = job->bounds};
    tort_window(job->call, job->simd, job->simd->weighted_sum, rows, &sum);
}

static void finish_outputs(const void *arg, float *out, int64_t count) {
    const depthwise_job *job = arg;
    job->simd->finish(&job->params->epilogue, job->residual ? job->residual + (out - job->y) : NULL, out, count);
}

static void depthwise_part(void *arg, int64_t begin, int64_t end) {
    const depthwise_job *job = arg;
    const tort_planes *planes = &job->planes;
    const tort_conv_params *p = job->params;
    const int64_t input = planes->input[0] * planes->input[1] * planes->input[2];
    const int64_t per_channel = p->filters / p->group;
    const tort_planes_finish finish = job->finish ? finish_outputs : NULL;
    const int64_t work = tort_work(per_channel, planes->outputs + 64, planes->kernel_size + 4);
    for (int64_t part = begin; part < end; part++) {
        float *buffer = job->buffers + part * tort_planes_buffer(planes);
        int64_t first, last;
        tort_cpu_share(p->batch * p->channels, 1, part, job->parts, &first, &last);
        for (int64_t channel = first; channel < last && tort_piece_goes_on(job->call, channel - first, work);
             channel++) {
            tort_planes_store(job->call, planes, job->x + channel * input, 0, buffer);
            for (int64_t f = channel * per_channel; f < (channel + 1) * per_channel; f++)
                tort_planes_each(job->call, planes, filter_outputs, finish, job, f % p->filters, buffer,
                                 job->y + f * planes->outputs);
        }
    }
}

static tort_status run_depthwise(const tort_call *call) {
    const tort_conv_params *p = call->params;
    const tort_cpu_device *device = call->device;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    depthwise_job job = {.call = call,
                         .params = p,
                         .simd = device->simd,
                         .parts = device->threads,
                         .x = call->inputs[0].data,
                         .weights = call->inputs[1].data,
                         .residual = tort_cpu_residual(call, &p->epilogue),
                         .y = call->outputs[0].data};
    if (call->input_count > 2 && tort_present(&call->inputs[2])) job.bias = call->inputs[2].data;
    /* Bounds apply after the residual, which is added once a sum has left the registers. */
    job.finish = !tort_simd_bounds(job.residual ? NULL : &p->epilogue, &job.bounds) || job.residual;
    char *scratch = call->scratch;
    tort_planes_init(&job.planes, &p->window);
    int64_t *offsets = tort_cpu_take(&scratch, (size_t)job.planes.kernel_size * sizeof(int64_t));
    tort_planes_offsets(&job.planes, 1, offsets);
    job.offsets = offsets;
    job.buffers = (float *)scratch;
    tort_cpu_parts(call, job.parts, depthwise_part, &job);
    return TORT_OK;
}

/* ---- channels last: moved, and moved back ------------------------------------------------------------------------ */

enum { PRODUCT, BY_CHANNEL }; /* variants: the kernels above */

static tort_status size_nhwc(const tort_target *target, const tort_node_view *node, size_t *scratch,
                             tort_error *error) {
    const tort_status status = node->kernel->variant == BY_CHANNEL ? size_depthwise(target, node, scratch, error)
                                                                   : size_conv(target, node, scratch, error);
    if (status || tort_planar_scratch(node, TORT_CONV_PLANAR, scratch)) return status;
    return tort_out_of_memory(error, SIZE_MAX);
}

static tort_status run_nhwc(const tort_call *call) {
    return tort_planar_run(call, TORT_CONV_PLANAR, call->kernel->variant == BY_CHANNEL ? run_depthwise : run_conv);
}

#define DEPTHWISE(domain_, op_, size_, run_)                                                                           \
    { domain_, op_, "conv_depthwise", .claim = claim_depthwise, .size = size_, .run = run_, .variant = BY_CHANNEL }
#define PACKED_GEMM(domain_, op_, size_, run_, in_place_)                                                              \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "conv_packed_gemm", .claim = claim_conv, .size = size_,                  \
        .pack.size = pack_size_conv, .pack.alike = tort_cpu_conv_alike, .prepare = prepare_conv, .run = run_,          \
        .in_place = in_place_                                                                                          \
    }

const tort_kernel tort_cpu_conv[] = {
    DEPTHWISE("", "Conv", size_depthwise, run_depthwise),
    PACKED_GEMM("", "Conv", size_conv, run_conv, 0),
    DEPTHWISE("tinyort", "FusedConv", size_depthwise, run_depthwise),
    PACKED_GEMM("tinyort", "FusedConv", size_conv, run_conv, 1u << TORT_EPILOGUE_Z),
    DEPTHWISE("com.microsoft", "FusedConv", size_depthwise, run_depthwise),
    PACKED_GEMM("com.microsoft", "FusedConv", size_conv, run_conv, 1u << TORT_EPILOGUE_Z),
    DEPTHWISE("com.microsoft", "NhwcConv", size_nhwc, run_nhwc),
    PACKED_GEMM("com.microsoft", "NhwcConv", size_nhwc, run_nhwc, 0),
    DEPTHWISE("com.microsoft", "NhwcFusedConv", size_nhwc, run_nhwc),
    PACKED_GEMM("com.microsoft", "NhwcFusedConv", size_nhwc, run_nhwc, 1u << TORT_EPILOGUE_Z),
    {.op = NULL},
};
