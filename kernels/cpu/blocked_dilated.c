/* blocked_dilated.c - Conv and FusedConv in fp32 whose windows are spread wide by dilations, over blocks of channels
 * (blocked.h).
 *
 * Position by position: for one position of the window, the outputs whose element there lies within the picture are
 * contiguous in each row, and so are their inputs. So nothing is copied and nothing is multiplied by padding, and the
 * weights of one position stay in the L1 cache while a band of rows passes by. Sums are kept in the output between
 * positions. Cost: of 65 x 65 pixels and 3 x 3 positions 36 apart, 40 % of the products that a padded picture takes.
 * Read first: blocked_conv.c, which has windows that are close together. */
#include "kernels/cpu/conv.h"
#include "kernels/cpu/pieces.h"

#include <math.h>
#include <string.h>

#define BAND_PIXELS 512 /* outputs of a band: 64 KiB of 32 filters */

typedef struct dilated_job {
    const tort_call *call;
    const tort_conv_params *params;
    const tort_simd *simd;
    tort_blocked_shape shape;
    const tort_span *spans; /* of the planes of a pixel */
    const tort_epilogue *epilogue;
    const float *x, *packed, *bias, *residual;
    float *y;
    int64_t planes, tile, tiles; /* blocks of channels; filters of a tile; tiles */
    tort_cpu_split split;
} dilated_job;

static int64_t tile_of(const tort_simd *simd, const tort_conv_params *p) {
    return p->filters <= TORT_LANES ? TORT_LANES : TORT_LANES * simd->blocked_blocks;
}

static int64_t whole_filters(const tort_conv_params *p) {
    return tort_blocks(p->filters) * TORT_LANES;
}

/* ---- weights: [tile][position][channel][filter] ------------------------------------------------------------------ */

static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    const tort_conv_params *p = node->params;
    int64_t size;
    (void)target;
    if (__builtin_mul_overflow(whole_filters(p), p->channels, &size) ||
        __builtin_mul_overflow(size, tort_sliding_positions(&p->window), &size))
        size = -1;
    return tort_cpu_pack_floats(size, bytes, consumed, error);
}

static tort_status prepare_weights(tort_prepare *prepare) {
    const tort_simd *simd = ((const tort_cpu_device *)prepare->device)->simd;
    const tort_conv_params *p = prepare->node->params;
    const float *weights = prepare->node->inputs[1].data;
    const int64_t positions = tort_sliding_positions(&p->window), channels = p->channels, tile = tile_of(simd, p);
    float *packed = prepare->packed;
    int64_t done = 0;
    if (!weights) return tort_fail(prepare->error, TORT_E_INTERNAL, "the constant W has no data");
    for (int64_t f = 0; f < p->filters; f += tile) {
        const int64_t lanes = tort_min(tile, whole_filters(p) - f);
        for (int64_t k = 0; k < positions; k++)
            for (int64_t c = 0; c < channels; c += TORT_PART / TORT_LANES) {
                const int64_t count = tort_min(TORT_PART / TORT_LANES, channels - c);
                if (!tort_work_goes_on(prepare->watch, &done, count * lanes)) return TORT_OK;
                simd->pack_lanes(packed, (int32_t)lanes, weights + (f * channels + c) * positions + k,
                                 channels * positions, positions, (int32_t)tort_min(lanes, p->filters - f), count, 1);
                packed += count * lanes;
            }
    }
    return TORT_OK;
}

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *p = node->params;
    const tort_verdict verdict = tort_cpu_claim_window(target, p);
    if (verdict.code != TORT_YES) return verdict;
    if (!tort_cpu_conv_is_spread(p))
        return tort_no(TORT_NO_SHAPE, "",
                       "is for windows that dilations spread wide, of 16 channels and more in one group");
    if (!node->inputs[1].constant)
        return tort_no(TORT_NO_DYNAMIC, "", "W is not a constant, so it cannot be packed ahead");
    return tort_cpu_claim_float(target, node);
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

/* Outputs first .. end along an axis whose window has its element `k` within the input. */
typedef struct inside {
    int64_t first, end;
} inside;

static inside inside_of(const tort_blocked_shape *s, int axis, int64_t k) {
    const int64_t stride = s->strides[axis], start = k * s->dilations[axis] - s->begin[axis]; /* output 0 sees it */
    const int64_t room = s->input[axis] - 1 - start;
    inside in = {start < 0 ? (stride - 1 - start) / stride : 0, room < 0 ? 0 : room / stride + 1};
    in.end = tort_min(in.end, s->output[axis]);
    in.first = tort_min(in.first, in.end);
    return in;
}

/* y becomes the bias plus the residual (which y may be). */
static void begin_row(const dilated_job *job, int64_t filter, int64_t blocks, int64_t at, int64_t pixels) {
    for (int64_t block = 0; block < blocks; block++) {
        const float *restrict bias = job->bias + filter + block * TORT_LANES;
        const int64_t first = at + block * job->shape.outputs * TORT_LANES;
        float *restrict y = job->y + first;
        if (job->residual && job->residual != job->y)
            memcpy(y, job->residual + first, (size_t)(pixels * TORT_LANES) * sizeof *y);
        if (!job->residual) memset(y, 0, (size_t)(pixels * TORT_LANES) * sizeof *y);
        for (int64_t i = 0; i < pixels; i++, y += TORT_LANES)
            for (int32_t lane = 0; lane < TORT_LANES; lane++) y[lane] += bias[lane];
    }
}

static void finish_row(const dilated_job *job, int64_t blocks, int64_t at, int64_t pixels) {
    for (int64_t block = 0; job->epilogue && block < blocks; block++)
        job->simd->finish(job->epilogue, NULL, job->y + at + block * job->shape.outputs * TORT_LANES,
                          pixels * TORT_LANES);
}

/* Adds the products of one position for `pixels` pixels from tile->x on, in tiles of about equal size. */
static void add_pixels(const dilated_job *job, tort_blocked_tile *tile, int64_t pixels) {
    const int64_t tiles = (pixels + job->simd->blocked_pixels - 1) / job->simd->blocked_pixels;
    for (int64_t i = 0; i < tiles; i++) {
        tile->pixels = (int32_t)(pixels / tiles + (i < pixels % tiles));
        tile->add = tile->y;
        tort_blocked_pixels(job->call, job->simd, tile);
        tile->x += tile->pixels * tile->x_step;
        tile->y += tile->pixels * TORT_LANES;
    }
}

/* Adds the products of position (h, w) to rows row .. row+rows of an image. `image` and `outputs` are its first
 * elements. */
static void add_position(const dilated_job *job, tort_blocked_tile *tile, const int64_t *position, int64_t row,
                         int64_t rows, const float *image, float *outputs) {
    const tort_blocked_shape *s = &job->shape;
    const inside down = inside_of(s, 1, position[0]), across = inside_of(s, 2, position[1]);
    const int64_t work = tort_work(s->output[2], tile->blocks * TORT_LANES, job->params->channels);
    for (int64_t r = tort_max(row, down.first); r < tort_min(row + rows, down.end); r++) {
        const int64_t y = r * s->strides[1] + position[0] * s->dilations[1] - s->begin[1];
        const int64_t x = across.first * s->strides[2] + position[1] * s->dilations[2] - s->begin[2];
        if (across.first == across.end || !tort_piece_goes_on(job->call, r, work)) return;
        tile->x = image + (y * s->input[2] + x) * TORT_LANES;
        tile->y = outputs + (r * s->output[2] + across.first) * TORT_LANES;
        add_pixels(job, tile, across.end - across.first);
    }
}

/* Makes some rows of an image for tile number `number` of filters. */
static void make_rows(const dilated_job *job, int64_t number, int64_t image, int64_t row, int64_t rows) {
    static const float no_bias[4 * TORT_LANES]; /* enough for a tile of filters */
    const tort_blocked_shape *s = &job->shape;
    const int64_t filter = number * job->tile, channels = job->params->channels, pixels = rows * s->output[2];
    const int64_t blocks = tort_min(job->tile, whole_filters(job->params) - filter) / TORT_LANES;
    const int64_t outputs = (image * tort_blocks(job->params->filters) * TORT_LANES + filter) * s->outputs;
    const int64_t at = outputs + row * s->output[2] * TORT_LANES, size = channels * blocks * TORT_LANES;
    tort_blocked_tile tile = {.x_step = s->strides[2] * TORT_LANES,
                              .spans = job->spans,
                              .span_count = job->planes,
                              .weights = job->packed + filter * channels * s->positions,
                              .bias = no_bias,
                              .y_block = s->outputs * TORT_LANES,
                              .blocks = (int32_t)blocks,
                              .bounds = {.low = -INFINITY, .high = INFINITY}};
    begin_row(job, filter, blocks, at, pixels);
    for (int64_t k = 0; k < s->positions && tort_call_goes_on(job->call, 0); k++, tile.weights += size) {
        const int64_t position[2] = {k / s->kernel[2], k % s->kernel[2]};
        tile.later = tile.weights + (k + 1 < s->positions ? size : 0);
        add_position(job, &tile, position, row, rows, job->x + image * job->planes * TORT_LANES * s->pixels,
                     job->y + outputs);
    }
    finish_row(job, blocks, at, pixels);
}

static void conv_part(void *arg, int64_t begin, int64_t end) {
    const dilated_job *job = arg;
    const int64_t height = job->shape.output[1], band = tort_max(1, BAND_PIXELS / tort_max(1, job->shape.output[2]));
    for (int64_t part = begin; part < end; part++) {
        int64_t row, last, first_tile, last_tile;
        tort_cpu_share(job->params->batch * height, 1, part % job->split.pixel_parts, job->split.pixel_parts, &row,
                       &last);
        tort_cpu_share(job->tiles, 1, part / job->split.pixel_parts, job->split.filter_parts, &first_tile, &last_tile);
        for (int64_t rows; row < last; row += rows) {
            rows = tort_min(tort_min(band, height - row % height), last - row);
            for (int64_t tile = first_tile; tile < last_tile && tort_call_goes_on(job->call, 0); tile++)
                make_rows(job, tile, row / height, row % height, rows);
        }
    }
}

static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_conv_params *p = node->params;
    (void)target;
    *scratch = 0;
    if (tort_cpu_reserve_floats(scratch, whole_filters(p)) &&
        tort_cpu_reserve(scratch, (size_t)tort_blocks(p->channels) * sizeof(tort_span)))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

static tort_status run(const tort_call *call) {
    const tort_conv_params *p = call->params;
    const tort_cpu_device *device = call->device;
    const tort_tensor *bias = tort_call_input(call, 2);
    dilated_job job = {.call = call, .params = p, .simd = device->simd, .packed = call->packed};
    char *scratch = call->scratch;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    tort_blocked_shape_init(&job.shape, &p->window);
    job.x = call->inputs[0].data;
    job.y = call->outputs[0].data;
    job.residual = tort_cpu_residual(call, &p->epilogue);
    job.epilogue = p->epilogue.activation == TORT_ACTIVATION_NONE ? NULL : &p->epilogue;
    job.planes = tort_blocks(p->channels);
    job.tile = tile_of(device->simd, p);
    job.tiles = (p->filters + job.tile - 1) / job.tile;
    float *biases = tort_cpu_take(&scratch, (size_t)whole_filters(p) * sizeof(float));
    memset(biases, 0, (size_t)whole_filters(p) * sizeof(float));
    if (bias) memcpy(biases, bias->data, (size_t)p->filters * sizeof(float));
    job.bias = biases;
    tort_span *spans = tort_cpu_take(&scratch, (size_t)job.planes * sizeof *spans);
    for (int64_t i = 0; i < job.planes; i++)
        spans[i] = (tort_span){i * job.shape.pixels * TORT_LANES, tort_min(TORT_LANES, p->channels - i * TORT_LANES)};
    job.spans = spans;
    const tort_cpu_products products = {.pixels = p->batch * job.shape.output[1],
                                        .filters = job.tiles,
                                        .pixel_cost = 1,
                                        .filter_cost = TORT_WEIGHTS_COST / tort_max(1, job.shape.output[2])};
    job.split = tort_cpu_split_of(&products, device->threads);
    tort_cpu_parts(call, job.split.pixel_parts * job.split.filter_parts, conv_part, &job);
    return TORT_OK;
}

#define DILATED(domain_, op_, z_)                                                                                      \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "conv_blocked_dilated", .claim = claim, .size = size,                    \
        .pack.size = pack_size, .pack.alike = tort_cpu_conv_alike, .pack.writes_all = true,                            \
        .prepare = prepare_weights, .run = run, .in_place = z_, .layout.id = TORT_BLOCKED, .layout.inputs = 1 | (z_),  \
        .layout.outputs = 1, .layout.alone = tort_cpu_conv_pays_alone                                                  \
    }

const tort_kernel tort_cpu_blocked_dilated[] = {
    DILATED("", "Conv", 0),
    DILATED("tinyort", "FusedConv", 1u << TORT_EPILOGUE_Z),
    DILATED("com.microsoft", "FusedConv", 1u << TORT_EPILOGUE_Z),
    {.op = NULL},
};
