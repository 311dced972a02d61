/* blocked_byte_depthwise.c - depthwise QLinearConv over blocks of channels, by instructions that add four products of
 * bytes.
 *
 * Each pixel of a band becomes a quad: for each of its sixteen channels, its byte and those of the three pixels to its
 * right. A row of a 3 x 3 window is then one product of four bytes, whose last weight is 0, and one of a 5 x 5 window
 * two. The zero point of the input is folded into the bias with the sums of the weights. Read next:
 * blocked_byte_window.c, which makes all other depthwise convolutions; simd/blocked_bytes.c. */
#include "kernels/cpu/blocked_band.h"
#include "kernels/cpu/byte_conv.h"
#include "kernels/cpu/pieces.h"

#include <string.h>

#define BAND_PIXELS 512 /* of a block: their quads fit the L1 cache */
#define QUAD 4          /* positions of a row that are multiplied together */
#define QUAD_BYTES (QUAD * TORT_LANES)

/* Packed weights of a block: [row][quad][16][4], 0 where a row has no more; then the sum of each filter. */
typedef struct shape {
    int64_t rows, columns, quads; /* quads: of a row */
    int64_t bytes;                /* of a block, with its sums */
} shape;

static shape shape_of(const tort_conv_params *p) {
    const tort_sliding *window = &p->window;
    shape s = {.rows = window->axes > 1 ? window->kernel[0] : 1, .columns = window->kernel[window->axes - 1]};
    s.quads = (s.columns + QUAD - 1) / QUAD;
    s.bytes = s.rows * s.quads * QUAD_BYTES + TORT_LANES * (int64_t)sizeof(int32_t);
    return s;
}

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *p = node->params;
    const tort_info *w = &node->inputs[tort_qlinear_conv_inputs.w];
    const tort_info *zero = &node->inputs[tort_qlinear_conv_inputs.w_zero];
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
    if (p->window.dilations[p->window.axes - 1] != 1)
        return tort_no(TORT_NO_SHAPE, "", "is for columns of a window that are neighbours");
    if (!w->constant || w->type != TORT_INT8) return tort_no(TORT_NO_TYPE, "", "W must be constant, and int8");
    if (!zero->uniform || zero->byte)
        return tort_no(TORT_NO_DYNAMIC, "", "is for zero points of W that are constants of 0");
    const tort_bytes *bytes = tort_bytes_choose(target->instructions);
    if (!bytes || !bytes->depthwise)
        return tort_no(TORT_NO_CAPABILITY, "", "this processor has no instruction for four products of bytes");
    return tort_byte_claim(target, node, 0, tort_qlinear_conv_inputs.w);
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    const tort_conv_params *p = node->params;
    int64_t size;
    (void)target;
    if (__builtin_mul_overflow(tort_blocks(p->channels), shape_of(p).bytes, &size))
        return tort_out_of_memory(error, SIZE_MAX);
    *bytes = (size_t)size;
    *consumed = 1u << tort_qlinear_conv_inputs.w;
    return TORT_OK;
}

static tort_status prepare(tort_prepare *prepare) {
    const tort_conv_params *p = prepare->node->params;
    const int8_t *weights = prepare->node->inputs[tort_qlinear_conv_inputs.w].data;
    const shape s = shape_of(p);
    int64_t done = 0;
    if (!weights) return tort_fail(prepare->error, TORT_E_INTERNAL, "the constant W has no data");
    for (int64_t c = 0; c < p->channels && tort_work_goes_on(prepare->watch, &done, s.rows * s.columns); c++) {
        uint8_t *packed = (uint8_t *)prepare->packed + c / TORT_LANES * s.bytes;
        int32_t *sums = (int32_t *)(void *)(packed + s.bytes) - TORT_LANES;
        for (int64_t r = 0; r < s.rows; r++)
            for (int64_t i = 0; i < s.columns; i++) {
                const int8_t weight = weights[(c * s.rows + r) * s.columns + i];
                packed[(r * s.quads + i / QUAD) * QUAD_BYTES + c % TORT_LANES * QUAD + i % QUAD] = (uint8_t)weight;
                sums[c % TORT_LANES] += weight;
            }
    }
    return TORT_OK;
}

/* ---- the job ----------------------------------------------------------------------------------------------------- */

typedef struct depthwise_job {
    const tort_call *call;
    const tort_conv_params *params;
    const tort_cpu_device *device;
    shape shape;
    tort_bands bands;     /* of one block: each block counts as an image of the batch */
    const int32_t *bias;  /* in whole blocks */
    const float *factors; /* in whole blocks */
    uint8_t *buffers;     /* for each part a band, then its quads */
    int64_t quad_bytes, part_bytes;
    int32_t zero_point, low, high; /* of y */
    uint8_t *y;
    bool slow;            /* some result needs double precision */
    tort_cpu_split split; /* by rows, and by blocks */
} depthwise_job;

/* Returns false on overflow. */
static bool start_job(depthwise_job *job, const tort_conv_params *p, const tort_bytes *bytes, tort_type x) {
    const tort_byte_sign sign = tort_byte_sign_of(bytes, x, false);
    const tort_band_source source = {.channels = TORT_LANES,
                                     .element = 1,
                                     .lanes = TORT_LANES,
                                     .copied = true,
                                     .pixels = bytes->blocked_pixels,
                                     .at_once = BAND_PIXELS * TORT_LANES};
    job->params = p;
    job->shape = shape_of(p);
    if (!tort_bands_init(&job->bands, &p->window, &source)) return false;
    job->bands.image = (size_t)(job->bands.shape.pixels * TORT_LANES);
    job->bands.flip = sign.flip;
    return !__builtin_mul_overflow(job->bands.buffer, QUAD, &job->quad_bytes) &&
           !__builtin_add_overflow(job->quad_bytes, job->bands.buffer, &job->part_bytes);
}

/* Reserves the parts of scratch in their order: biases, factors, the threads' bands. */
static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_conv_params *p = node->params;
    const int64_t lanes = tort_blocks(p->channels) * TORT_LANES;
    depthwise_job job;
    size_t bands;
    *scratch = 0;
    if (start_job(&job, p, tort_bytes_choose(target->instructions), node->inputs[0].type) &&
        tort_cpu_reserve_floats(scratch, lanes) && tort_cpu_reserve_floats(scratch, lanes) &&
        tort_mul_size((uint64_t)job.part_bytes, (uint64_t)target->threads, &bands) && tort_cpu_reserve(scratch, bands))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Requantizes sums in double: with some factors a float cannot hold sum + bias exactly enough. */
static void finish_slowly(const depthwise_job *job, const int32_t *sums, int64_t block, int64_t pixels, uint8_t *y) {
    const tort_tensor *bias = tort_call_input(job->call, 8);
    for (int64_t i = 0; i < pixels * TORT_LANES; i++) {
        const int64_t f = block * TORT_LANES + i % TORT_LANES;
        const tort_requantized r = {.bias = bias && f < job->params->filters ? ((const int32_t *)bias->data)[f] : 0,
                                    .factor = job->factors[f],
                                    .zero_point = (float)job->zero_point,
                                    .bounds = {(float)job->low, (float)job->high}};
        job->device->simd->requantize(&r, sums + i, y + i, 1);
    }
}

/* Makes `pixels` pixels of a row of outputs, in tiles of about equal size. */
static void make_row(const depthwise_job *job, const tort_depthwise_bytes *first, int64_t block, int64_t pixels,
                     uint8_t *y) {
    int32_t sums[TORT_DEPTHWISE_PIXELS * TORT_LANES];
    const int64_t tiles = (pixels + TORT_DEPTHWISE_PIXELS - 1) / TORT_DEPTHWISE_PIXELS;
    const int64_t work = tort_work(TORT_DEPTHWISE_PIXELS, QUAD_BYTES, first->rows * first->quads + 4);
    tort_depthwise_bytes d = *first;
    tort_blocked_byte_tile t = {.bias = job->bias + block * TORT_LANES,
                                .factors = job->factors + block * TORT_LANES,
                                .y = y,
                                .blocks = 1,
                                .zero_point = job->zero_point,
                                .low = job->low,
                                .high = job->high,
                                .sums = job->slow ? sums : NULL};
    for (int64_t i = 0; i < tiles && tort_piece_goes_on(job->call, i, work); i++) {
        t.pixels = (int32_t)(pixels / tiles + (i < pixels % tiles));
        job->device->bytes->depthwise(&d, &t);
        if (job->slow) finish_slowly(job, sums, block, t.pixels, t.y);
        d.x += t.pixels * d.x_step;
        t.y += t.pixels * TORT_LANES;
    }
}

/* Makes a band of a block; b->n counts the blocks of the whole batch. */
static void make_band(const void *arg, const tort_band *b, void *room) {
    const depthwise_job *job = arg;
    uint8_t *quads = room;
    const tort_bands *bands = &job->bands;
    const tort_blocked_shape *s = &bands->shape;
    const int64_t blocks = tort_blocks(job->params->channels), block = b->n % blocks, length = bands->row_length;
    const int64_t rows = (b->rows - 1) * s->strides[1] + (s->kernel[1] - 1) * s->dilations[1] + 1;
    const int64_t together = bands->together, work = tort_work(bands->pitch, QUAD, 1);
    for (int64_t r = 0; r < rows && tort_piece_goes_on(job->call, r, work); r++)
        job->device->bytes->quads((const uint8_t *)b->x + r * bands->pitch, bands->band_columns,
                                  quads + r * bands->pitch * QUAD);
    tort_depthwise_bytes d = {.x_step = s->strides[2] * QUAD_BYTES,
                              .row_step = s->dilations[1] * bands->pitch * QUAD,
                              .rows = job->shape.rows,
                              .quads = job->shape.quads,
                              .weights = (const uint8_t *)job->call->packed + block * job->shape.bytes};
    const int64_t row_work = tort_work(together * length, QUAD_BYTES, d.rows * d.quads + 4);
    int64_t count;
    for (int64_t row = 0; row < b->rows && tort_piece_goes_on(job->call, row / together, row_work); row += count) {
        count = tort_bands_together(bands, b, row);
        d.x = quads + row * b->row_step * QUAD;
        make_row(job, &d, block, count * length, job->y + (b->n * s->outputs + (b->row + row) * length) * TORT_LANES);
    }
}

static void depthwise_part(void *arg, int64_t begin, int64_t end) {
    const depthwise_job *job = arg;
    const int64_t blocks = job->params->batch * tort_blocks(job->params->channels);
    for (int64_t part = begin; part < end; part++) {
        uint8_t *quads = job->buffers + part * job->part_bytes;
        tort_bands_each(&job->bands, blocks, &job->split, part, quads + job->quad_bytes, make_band, job, quads);
    }
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* Folds the zero point into the bias. Clamping a bias to 2^24 changes no result: it saturates anyway. */
static void fill_bias(const depthwise_job *job, const int32_t *bias, int32_t x_zero, int32_t *to) {
    const int64_t max = (int64_t)TORT_DEPTHWISE_BIAS;
    for (int64_t c = 0; c < tort_blocks(job->params->channels) * TORT_LANES; c++) {
        const uint8_t *after = (const uint8_t *)job->call->packed + (c / TORT_LANES + 1) * job->shape.bytes;
        const int32_t sum = ((const int32_t *)(const void *)after)[c % TORT_LANES - TORT_LANES];
        const int64_t given = bias && c < job->params->filters ? bias[c] : 0;
        to[c] = (int32_t)(tort_min(tort_max(given, -max), max) - (int64_t)x_zero * sum);
    }
}

static tort_status run(const tort_call *call) {
    const tort_conv_params *p = call->params;
    const tort_cpu_device *device = call->device;
    const tort_tensor *bias = tort_call_input(call, 8), *y = &call->outputs[0];
    const tort_byte_sign sign = tort_byte_sign_of(device->bytes, call->inputs[0].type, false);
    const int64_t lanes = tort_blocks(p->channels) * TORT_LANES;
    depthwise_job job = {.call = call, .device = device, .y = y->data};
    char *scratch = call->scratch;
    if (tort_count(y) == 0) return TORT_OK;
    if (!start_job(&job, p, device->bytes, call->inputs[0].type)) return tort_out_of_memory(call->error, SIZE_MAX);
    job.split = tort_bands_split(&job.bands, p->batch * tort_blocks(p->channels), device->threads);
    int32_t *biases = tort_cpu_take(&scratch, (size_t)lanes * sizeof *biases);
    float *factors = tort_cpu_take(&scratch, (size_t)lanes * sizeof *factors);
    memset(factors, 0, (size_t)lanes * sizeof *factors);
    tort_byte_conv_factors(call, &tort_qlinear_conv_inputs, p->channels, factors);
    const int32_t x_zero = tort_byte_zero(tort_call_input(call, tort_qlinear_conv_inputs.x_zero), &sign);
    job.slow = !tort_byte_factors_exact(factors, p->channels);
    fill_bias(&job, bias && !job.slow ? bias->data : NULL, x_zero, biases);
    job.bias = biases;
    job.factors = factors;
    job.zero_point = (int32_t)tort_cpu_number(&call->inputs[7], 0);
    job.low = y->type == TORT_INT8 ? -128 : 0;
    job.high = y->type == TORT_INT8 ? 127 : 255;
    job.buffers = (uint8_t *)scratch;
    job.bands.call = call;
    job.bands.x = call->inputs[0].data;
    job.bands.fill = (uint8_t)x_zero;
    tort_cpu_parts(call, job.split.pixel_parts * job.split.filter_parts, depthwise_part, &job);
    return TORT_OK;
}

const tort_kernel tort_cpu_blocked_byte_depthwise[] = {
    {"", "QLinearConv", "qlinear_conv_blocked_quads", .claim = claim, .size = size, .pack.size = pack_size,
     .prepare = prepare, .run = run, .layout = {TORT_BLOCKED, .inputs = 1, .outputs = 1}},
    {.op = NULL},
};
