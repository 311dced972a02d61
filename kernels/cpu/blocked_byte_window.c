/* blocked_byte_window.c - depthwise QLinearConv and MaxPool of bytes, over blocks of channels (blocked.h).
 *
 * The depthwise convolution widens a band of a block to floats, in which all sums are exact, runs the loop of
 * blocked_window.c, and requantizes each row of sums while it is in the L1 cache. Read next: blocked_band.h,
 * byte_depthwise.c. */
#include "kernels/cpu/blocked_band.h"
#include "kernels/cpu/byte_conv.h"
#include "kernels/cpu/pieces.h"
#include "ops/numeric.h"
#include "ops/pool.h"

#include <math.h>
#include <string.h>

#define BAND_FLOATS 8192 /* of a block's band: fits the L1 cache */

/* ---- depthwise convolution --------------------------------------------------------------------------------------- */

static tort_verdict claim_depthwise(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *p = node->params;
    const int32_t w = tort_qlinear_conv_inputs.w;
    const tort_verdict verdict = tort_cpu_claim_window(target, p);
    if (verdict.code != TORT_YES) return verdict;
    if (p->channels != p->group || p->filters != p->group || p->channels < TORT_LANES)
        return tort_no(TORT_NO_SHAPE, "", "is for one channel and one filter a group, and %d groups or more",
                       TORT_LANES);
    if (p->window.axes > 2)
        return tort_no(TORT_NO_SHAPE, "", "is for 1 or 2 spatial axes, the input has %d", (int)p->window.axes);
    const int64_t positions = tort_sliding_positions(&p->window);
    if (positions < 1 || positions > TORT_DEPTHWISE_POSITIONS)
        return tort_no(TORT_NO_SHAPE, "", "is for kernels of at most %d positions", TORT_DEPTHWISE_POSITIONS);
    if (!node->inputs[w].constant)
        return tort_no(TORT_NO_DYNAMIC, "", "W is not a constant, so it cannot be packed ahead");
    return tort_byte_claim(target, node, 0, w);
}

/* Returns the size of the packed weights, [block][position][16] floats with zero points not yet subtracted. */
static int64_t weight_floats(const tort_conv_params *p) {
    return tort_blocks(p->channels) * TORT_LANES * tort_sliding_positions(&p->window);
}

static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    const tort_conv_params *p = node->params;
    (void)target;
    if (p->channels > INT64_MAX / 1024 / TORT_DEPTHWISE_POSITIONS) return tort_out_of_memory(error, SIZE_MAX);
    *bytes = (size_t)weight_floats(p) * sizeof(float);
    *consumed = 1u << tort_qlinear_conv_inputs.w;
    return TORT_OK;
}

static tort_status prepare_depthwise(tort_prepare *prepare) {
    const tort_conv_params *p = prepare->node->params;
    const tort_info *w = &prepare->node->inputs[tort_qlinear_conv_inputs.w];
    const int64_t positions = tort_sliding_positions(&p->window);
    float *packed = prepare->packed;
    int64_t done = 0;
    if (!w->data) return tort_fail(prepare->error, TORT_E_INTERNAL, "the constant W has no data");
    for (int64_t c = 0; c < p->channels && tort_work_goes_on(prepare->watch, &done, positions); c++) {
        float *to = packed + (c / TORT_LANES * positions) * TORT_LANES + c % TORT_LANES;
        for (int64_t k = 0; k < positions; k++)
            tort_load_floats(w->type, w->data, c * positions + k, 1, to + k * TORT_LANES);
    }
    return TORT_OK;
}

typedef struct depthwise_job {
    const tort_call *call;
    const tort_conv_params *params;
    const tort_simd *simd;
    tort_bands bands;            /* of one block: each block counts as an image of the batch */
    const float *weights, *bias; /* in whole blocks; the bias stays 0 if `slow` */
    const float *factors;        /* in whole blocks */
    float *sums, *buffers;       /* one row, and one band, per part */
    int64_t row_floats;
    tort_linear_bytes x; /* its scale is 1 */
    tort_scaled_bytes y; /* zero point and sign; factors are per filter */
    uint8_t *made;
    bool slow;            /* some result needs double precision */
    tort_cpu_split split; /* by rows, and by blocks */
} depthwise_job;

static void widen(const tort_bands *bands, const void *image, int64_t plane, int64_t pixel, int64_t count, void *to) {
    const depthwise_job *job = bands->copy_arg;
    (void)plane;
    job->simd->dequantize(&job->x, (const uint8_t *)image + pixel * TORT_LANES, to, count * TORT_LANES);
}

/* Returns false on overflow. */
static bool start_job(depthwise_job *job, const tort_conv_params *p, const tort_simd *simd) {
    const tort_band_source source = {.channels = TORT_LANES,
                                     .element = sizeof(float),
                                     .lanes = TORT_LANES,
                                     .copied = true,
                                     .pixels = simd->blocked_pixels,
                                     .at_once = BAND_FLOATS};
    job->params = p;
    job->simd = simd;
    if (!tort_bands_init(&job->bands, &p->window, &source)) return false;
    job->bands.image = (size_t)(job->bands.shape.pixels * TORT_LANES);
    job->bands.copy = widen;
    job->bands.copy_arg = job;
    job->row_floats = job->bands.together * job->bands.row_length * TORT_LANES;
    return true;
}

/* Reserves the parts of scratch in their order: weights less their zero points, biases, factors, rows, bands. */
static tort_status size_depthwise(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                  tort_error *error) {
    const tort_conv_params *p = node->params;
    const int64_t lanes = tort_blocks(p->channels) * TORT_LANES;
    depthwise_job job;
    int64_t rows, bands;
    *scratch = 0;
    if (start_job(&job, p, tort_simd_choose(target->instructions)) &&
        tort_cpu_reserve_floats(scratch, weight_floats(p)) && tort_cpu_reserve_floats(scratch, lanes) &&
        tort_cpu_reserve_floats(scratch, lanes) &&
        !__builtin_mul_overflow(job.row_floats, (int64_t)target->threads, &rows) &&
        !__builtin_mul_overflow(job.bands.buffer, (int64_t)target->threads, &bands) &&
        tort_cpu_reserve_floats(scratch, rows) && tort_cpu_reserve_floats(scratch, bands))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

/* Requantizes sums without their bias: with some factors a float cannot hold sum + bias exactly enough. */
static void finish_slowly(const depthwise_job *job, const float *sums, int64_t block, int64_t pixels, uint8_t *y) {
    const tort_tensor *bias = tort_call_input(job->call, 8);
    for (int64_t i = 0; i < pixels * TORT_LANES; i++) {
        const int64_t f = block * TORT_LANES + i % TORT_LANES;
        const int32_t sum = (int32_t)sums[i];
        const tort_requantized r = {.bias = bias && f < job->params->filters ? ((const int32_t *)bias->data)[f] : 0,
                                    .factor = job->factors[f],
                                    .zero_point = job->y.zero_point,
                                    .bounds = {job->y.is_signed ? -128 : 0, job->y.is_signed ? 127 : 255}};
        job->simd->requantize(&r, &sum, y + i, 1);
    }
}

/* Makes a band of a block; b->n counts the blocks of the whole batch. */
static void make_band(const void *arg, const tort_band *b, void *room) {
    const depthwise_job *job = arg;
    float *sums = room;
    const tort_blocked_shape *s = &job->bands.shape;
    const int64_t blocks = tort_blocks(job->params->channels), block = b->n % blocks, length = job->bands.row_length;
    tort_blocked_window w = {.x_step = s->strides[2] * TORT_LANES,
                             .row_step = s->dilations[1] * job->bands.pitch,
                             .column_step = s->dilations[2] * TORT_LANES,
                             .rows = s->kernel[1],
                             .columns = s->kernel[2],
                             .weights = job->weights + block * s->positions * TORT_LANES,
                             .weight_row = s->kernel[2] * TORT_LANES,
                             .bias = job->bias + block * TORT_LANES,
                             .y = sums,
                             .scale = 1};
    tort_simd_bounds(NULL, &w.bounds);
    const int64_t together = job->bands.together, work = tort_work(together * length, TORT_LANES, s->positions + 4);
    int64_t count;
    for (int64_t row = 0; row < b->rows && tort_piece_goes_on(job->call, tort_quotient(row, together), work);
         row += count) {
        uint8_t *y = job->made + (b->n * s->outputs + (b->row + row) * length) * TORT_LANES;
        count = tort_bands_together(&job->bands, b, row);
        w.x = (const float *)b->x + row * b->row_step;
        w.pixels = count * length;
        tort_blocked_windows(job->call, job->simd, job->simd->blocked_sum, &w);
        if (job->slow)
            finish_slowly(job, sums, block, w.pixels, y);
        else
            job->simd->blocked_to_bytes(&job->y, job->factors + block * TORT_LANES, sums, y, w.pixels);
    }
}

static int32_t parts_of(const depthwise_job *job) {
    return job->split.pixel_parts * job->split.filter_parts;
}

static void depthwise_part(void *arg, int64_t begin, int64_t end) {
    const depthwise_job *job = arg;
    const int64_t blocks = job->params->batch * tort_blocks(job->params->channels);
    for (int64_t part = begin; part < end; part++)
        tort_bands_each(&job->bands, blocks, &job->split, part, job->buffers + part * job->bands.buffer, make_band, job,
                        job->sums + part * job->row_floats);
}

/* ---- its operands ------------------------------------------------------------------------------------------------ */

/* Returns the weights less their zero points: the packed ones if all are 0, else a copy in `room`. */
static const float *take_weights(const depthwise_job *job, float *room) {
    const tort_tensor *zero = &job->call->inputs[tort_qlinear_conv_inputs.w_zero];
    const int64_t positions = job->bands.shape.positions, channels = job->params->channels;
    if (tort_byte_zeros_are_none(zero)) return job->call->packed;
    memcpy(room, job->call->packed, (size_t)weight_floats(job->params) * sizeof *room);
    for (int64_t c = 0; c < channels; c++) {
        float *weights = room + c / TORT_LANES * positions * TORT_LANES + c % TORT_LANES, number;
        tort_load_floats(zero->type, zero->data, tort_count(zero) > 1 ? c : 0, 1, &number);
        for (int64_t k = 0; k < positions; k++) weights[k * TORT_LANES] -= number;
    }
    return room;
}

static void take_operands(const tort_call *call, depthwise_job *job, char *scratch) {
    const tort_tensor *in = call->inputs, *y = &call->outputs[0], *bias = tort_call_input(call, 8);
    const int64_t channels = job->params->channels, lanes = tort_blocks(channels) * TORT_LANES;
    job->weights = take_weights(job, tort_cpu_take(&scratch, (size_t)weight_floats(job->params) * sizeof(float)));
    float *biases = tort_cpu_take(&scratch, (size_t)lanes * sizeof *biases);
    float *factors = tort_cpu_take(&scratch, (size_t)lanes * sizeof *factors);
    memset(factors, 0, (size_t)lanes * sizeof *factors);
    memset(biases, 0, (size_t)lanes * sizeof *biases);
    tort_byte_conv_factors(call, &tort_qlinear_conv_inputs, channels, factors);
    job->slow = !tort_byte_factors_exact(factors, channels);
    for (int64_t c = 0; bias && !job->slow && c < channels; c++)
        biases[c] = fminf(fmaxf((float)((const int32_t *)bias->data)[c], -TORT_DEPTHWISE_BIAS), TORT_DEPTHWISE_BIAS);
    job->bias = biases;
    job->factors = factors;
    job->x = (tort_linear_bytes){.scale = 1, .is_signed = in[0].type == TORT_INT8};
    tort_load_floats(in[2].type, in[2].data, 0, 1, &job->x.zero_point);
    job->y.is_signed = y->type == TORT_INT8;
    tort_load_floats(in[7].type, in[7].data, 0, 1, &job->y.zero_point);
    job->sums = tort_cpu_take(&scratch, (size_t)(job->row_floats * parts_of(job)) * sizeof(float));
    job->buffers = (float *)scratch;
}

static tort_status run_depthwise(const tort_call *call) {
    const tort_conv_params *p = call->params;
    const tort_cpu_device *device = call->device;
    depthwise_job job = {.call = call, .made = call->outputs[0].data};
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    if (!start_job(&job, p, device->simd)) return tort_out_of_memory(call->error, SIZE_MAX);
    job.split = tort_bands_split(&job.bands, p->batch * tort_blocks(p->channels), device->threads);
    take_operands(call, &job, call->scratch);
    job.bands.call = call;
    job.bands.x = call->inputs[0].data;
    tort_cpu_parts(call, parts_of(&job), depthwise_part, &job);
    return TORT_OK;
}

/* ---- MaxPool ----------------------------------------------------------------------------------------------------- */

static tort_verdict claim_pool(const tort_target *target, const tort_node_view *node) {
    const tort_pool_params *p = node->params;
    if (!tort_is_byte(node->inputs[0].type))
        return tort_no(TORT_NO_TYPE, "", "is for int8 and uint8, the input is %s",
                       tort_type_name(node->inputs[0].type));
    if (p->window.axes < 1 || p->window.axes > 2)
        return tort_no(TORT_NO_SHAPE, "", "is for 1 or 2 spatial axes, the input has %d", (int)p->window.axes);
    if (p->channels < TORT_LANES)
        return tort_no(TORT_NO_SHAPE, "", "is for %d channels and more that are known", TORT_LANES);
    if (tort_has_output(node, 1)) return tort_no(TORT_NO_ATTR, "", "does not make Indices");
    return tort_cpu_claim_processor(target);
}

typedef struct pool_job {
    const tort_call *call;
    tort_blocked_shape shape;
    const uint8_t *x;
    int64_t blocks;
    tort_reach inner; /* outputs of a row whose windows reach beyond no end of it */
    uint8_t *y, flip; /* flip: XORed to compare int8 as uint8; 0 for uint8 */
} pool_job;

typedef uint8_t pixel __attribute__((vector_size(TORT_LANES)));
typedef pixel loose_pixel __attribute__((aligned(1), may_alias));

/* Returns output `at` of a row of a block, whose window sees `rows` rows from `row` on, and of them what `see` says. */
static inline pixel largest(const pool_job *job, const uint8_t *row, int64_t rows, int64_t at, tort_reach see) {
    const tort_blocked_shape *s = &job->shape;
    const int64_t step = s->dilations[2] * TORT_LANES, pitch = s->dilations[1] * s->input[2] * TORT_LANES;
    const int64_t columns = see.to - see.from;
    const uint8_t flip = job->flip;
    pixel best = {0};
    row += (at * s->strides[2] - s->begin[2] + see.from * s->dilations[2]) * TORT_LANES;
    for (; rows > 0; rows--, row += pitch) {
        const uint8_t *place = row;
        for (int64_t k = columns; k > 0; k--, place += step) {
            const pixel seen = *(const loose_pixel *)place ^ flip;
            for (int l = 0; l < TORT_LANES; l++) best[l] = best[l] > seen[l] ? best[l] : seen[l];
        }
    }
    return best ^ flip;
}

/* Makes rows begin..end of the pictures of all blocks of the whole batch. */
static void pool_rows(void *arg, int64_t begin, int64_t end) {
    const pool_job *job = arg;
    const tort_blocked_shape *s = &job->shape;
    const int64_t pixel_work = tort_work(s->positions, TORT_LANES, 4);
    const int64_t row_work = tort_work(s->output[2], pixel_work, 16);
    for (int64_t block = 0; block < job->blocks; block++)
        for (int64_t h = begin; h < end; h++) {
            if (!tort_piece_goes_on(job->call, block * (end - begin) + h - begin, row_work)) return;
            const tort_reach see = tort_reach_of(s, 1, h);
            const int64_t top = h * s->strides[1] - s->begin[1] + see.from * s->dilations[1];
            const uint8_t *from = job->x + (block * s->pixels + top * s->input[2]) * TORT_LANES;
            uint8_t *to = job->y + (block * s->output[1] + h) * s->output[2] * TORT_LANES;
            for (int64_t at = 0; at < s->output[2] && tort_piece_goes_on(job->call, at, pixel_work); at++) {
                const bool inner = at >= job->inner.from && at < job->inner.to;
                const tort_reach across = inner ? (tort_reach){0, s->kernel[2]} : tort_reach_of(s, 2, at);
                *(loose_pixel *)(to + at * TORT_LANES) = largest(job, from, see.to - see.from, at, across);
            }
        }
}

static tort_status run_pool(const tort_call *call) {
    const tort_pool_params *p = call->params;
    pool_job job = {.call = call,
                    .x = call->inputs[0].data,
                    .y = call->outputs[0].data,
                    .flip = call->inputs[0].type == TORT_INT8 ? 128 : 0};
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    tort_blocked_shape_init(&job.shape, &p->window);
    job.blocks = p->batch * tort_blocks(p->channels);
    const tort_blocked_shape *s = &job.shape;
    const int64_t room = s->input[2] + s->begin[2] - (s->kernel[2] - 1) * s->dilations[2] - 1; /* for a first element */
    job.inner.from = (s->begin[2] + s->strides[2] - 1) / s->strides[2];
    job.inner.to = room < 0 ? 0 : room / s->strides[2] + 1;
    tort_parallel(call, job.shape.output[1], job.blocks * job.shape.output[2] * job.shape.positions * 4, pool_rows,
                  &job);
    return TORT_OK;
}

const tort_kernel tort_cpu_blocked_byte_window[] = {
    {"", "QLinearConv", "qlinear_conv_blocked_depthwise", .claim = claim_depthwise, .size = size_depthwise,
     .pack.size = pack_size, .prepare = prepare_depthwise, .run = run_depthwise,
     .layout = {TORT_BLOCKED, .inputs = 1, .outputs = 1}},
    {"", "MaxPool", "max_pool_blocked_bytes", .claim = claim_pool, .run = run_pool,
     .layout = {TORT_BLOCKED, .inputs = 1, .outputs = 1}},
    {.op = NULL},
};
