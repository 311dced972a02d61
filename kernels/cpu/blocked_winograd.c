/* blocked_winograd.c - Conv and FusedConv of 3 x 3 filters with strides 1, in fp32, over blocks of channels.
 *
 * Winograd's minimal filtering F(4x4, 3x3) (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015).
 * A tile of 6 x 6 inputs and a filter are each transformed to 36 numbers, multiplied one by one, summed over channels,
 * and transformed back to 4 x 4 outputs: 36 multiplications per channel and filter in place of 4 * 4 * 9 = 144. A chunk
 * of tiles is transformed together; then, per tile of filters, come 36 products of (tiles, channels) by (channels,
 * filters), which are the inner loop of a 1 x 1 convolution, and the way back.
 *
 * Example: 56 x 56 outputs, 64 channels, 64 filters: 14 * 14 tiles, 29 million multiplications instead of 116 million.
 * Weights take four times their bytes (36 for 9), so layers with more weights than pixels do not use it. The rounding
 * error is two or three times that of a direct convolution (root mean square against the plain loop, measured with 128
 * channels).
 * Halves are widened and rounded a row of tiles at a time, next to the transforms.
 * Read first: blocked_conv.c.
 * Read next: simd/winograd.c. */
#include "kernels/cpu/blocked_winograd.h"
#include "kernels/cpu/conv.h"
#include "kernels/cpu/halves.h"
#include "kernels/cpu/pieces.h"

#include <string.h>

#define PRODUCTS TORT_WINOGRAD_PRODUCTS
#define INPUT TORT_WINOGRAD_INPUT
#define OUTPUT TORT_WINOGRAD_OUTPUT
#define CHUNK_FLOATS 131072     /* transformed inputs of a chunk: 512 KiB, half of a large L2 cache */
#define MIN_CHANNELS 16         /* input channels, and filters: one block, whose transforms pay already */
#define MIN_TILES 12            /* tiles per picture, up to MAX_WEIGHTS; with more weights MANY_TILES, ... */
#define MANY_TILES 40           /* ... as the larger weights cost more to read than they save */
#define MAX_WEIGHTS (192 * 192) /* channels times filters; also the limit for pictures of unknown size */

static int64_t tiles_along(int64_t outputs) {
    return (outputs + OUTPUT - 1) / OUTPUT;
}

/* ---- claims and weights ------------------------------------------------------------------------------------------ */

static tort_verdict claim_filters(const tort_conv_params *p) {
    const tort_sliding *w = &p->window;
    bool fits = w->axes == 2 && p->group == 1;
    for (int32_t i = 0; fits && i < 2; i++)
        fits = w->kernel[i] == 3 && w->strides[i] == 1 && w->dilations[i] == 1 && w->begin[i] <= 2;
    if (!fits) return tort_no(TORT_NO_SHAPE, "", "is for filters of 3x3 in one group, with strides and dilations of 1");
    if (p->channels < MIN_CHANNELS || p->filters < MIN_CHANNELS)
        return tort_no(TORT_NO_SHAPE, "", "%lld channels and %lld filters do not pay for its transforms",
                       (long long)p->channels, (long long)p->filters);
    return tort_yes();
}

/* Accepts pictures with enough tiles to pay for four times the weights. */
static tort_verdict claim_picture(const tort_conv_params *p) {
    const int64_t height = p->window.output[0], width = p->window.output[1];
    const bool few_weights = p->channels <= MAX_WEIGHTS / p->filters;
    if (height < 0 || width < 0) {
        if (few_weights) return tort_yes();
        return tort_no(TORT_NO_DYNAMIC, "", "the size of the picture is not known, and it would have many weights");
    }
    if (tiles_along(height) * tiles_along(width) >= (few_weights ? MIN_TILES : MANY_TILES)) return tort_yes();
    return tort_no(TORT_NO_SHAPE, "", "a picture of %lldx%lld does not pay for four times the weights",
                   (long long)height, (long long)width);
}

static tort_verdict claim_winograd(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *p = node->params;
    tort_verdict verdict = tort_cpu_claim_window(target, p);
    if (verdict.code == TORT_YES) verdict = claim_filters(p);
    if (verdict.code == TORT_YES) verdict = claim_picture(p);
    if (verdict.code != TORT_YES) return verdict;
    if (!node->inputs[1].constant)
        return tort_no(TORT_NO_DYNAMIC, "", "W is not a constant, so it cannot be packed ahead");
    return tort_cpu_claim_float(target, node);
}

static int64_t whole_filters(const tort_conv_params *p) {
    return tort_blocks(p->filters) * TORT_LANES;
}

static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    const tort_conv_params *p = node->params;
    int64_t floats;
    (void)target;
    if (__builtin_mul_overflow(whole_filters(p), p->channels, &floats) ||
        __builtin_mul_overflow(floats, PRODUCTS, &floats))
        floats = -1;
    return tort_cpu_pack_floats(floats, bytes, consumed, error);
}

/* Packs each tile of filters as [product][channel][filter]. */
static tort_status prepare_winograd(tort_prepare *prepare) {
    const tort_cpu_device *device = prepare->device;
    const tort_simd *simd = device->simd;
    const tort_conv_params *p = prepare->node->params;
    const float *weights = prepare->node->inputs[1].data;
    const int64_t tile = simd->blocked_blocks * TORT_LANES, whole = whole_filters(p);
    float *packed = prepare->packed, filters[9 * 2 * TORT_LANES];
    int64_t done = 0;
    if (!weights) return tort_fail(prepare->error, TORT_E_INTERNAL, "the constant W has no data");
    for (int64_t f = 0; f < whole; f += tile) {
        const int32_t lanes = (int32_t)tort_min(tile, whole - f), count = (int32_t)tort_min(lanes, p->filters - f);
        for (int64_t c = 0; c < p->channels && tort_work_goes_on(prepare->watch, &done, PRODUCTS * lanes); c++) {
            simd->pack_lanes(filters, lanes, weights + (f * p->channels + c) * 9, p->channels * 9, 1, count, 9, 1);
            simd->winograd_filter(filters, lanes, packed + c * lanes, p->channels * lanes);
        }
        packed += PRODUCTS * p->channels * lanes;
    }
    return TORT_OK;
}

/* ---- the job ----------------------------------------------------------------------------------------------------- */

typedef struct winograd_job {
    const tort_call *call;
    const tort_conv_params *params;
    const tort_simd *simd;
    int64_t height, width; /* of outputs */
    int64_t across, tiles; /* tiles of a row of tiles, and of all pictures */
    int64_t chunk;         /* tiles that are transformed together */
    int64_t tile;          /* filters per tile of filters */
    int64_t filter_tiles, channel_blocks, filter_blocks;
    const tort_span *spans; /* one per block of channels, over a whole chunk */
    const float *packed, *bias;
    tort_type type; /* of x, the residual and y: float, or a half */
    const void *x, *residual;
    void *y;
    float *buffers;
    size_t buffer_floats; /* transformed inputs, then products, then rows of halves */
    int64_t row_floats;   /* of the outputs of a row of tiles, in a block; 0: y has floats */
    tort_bounds bounds;
    bool finish;          /* the activation is more than bounds, so `finish` of tort_simd follows */
    tort_cpu_split split; /* by tiles of pictures, and by tiles of filters */
} winograd_job;

static bool start_job(winograd_job *job, const tort_conv_params *p, const tort_simd *simd, tort_type type) {
    int64_t floats;
    job->params = p;
    job->type = type;
    job->simd = simd;
    job->height = p->window.output[0];
    job->width = p->window.output[1];
    job->across = tiles_along(job->width);
    job->tiles = p->batch * tiles_along(job->height) * job->across;
    job->tile = simd->blocked_blocks * TORT_LANES;
    job->filter_tiles = (p->filters + job->tile - 1) / job->tile;
    job->channel_blocks = tort_blocks(p->channels);
    job->filter_blocks = tort_blocks(p->filters);
    if (__builtin_mul_overflow(job->channel_blocks * TORT_LANES, PRODUCTS, &floats)) return false;
    /* Chunks of about equal size; whole tiles of the product if there are several. */
    const int64_t max = floats < CHUNK_FLOATS ? CHUNK_FLOATS / floats : 1, pixels = simd->blocked_pixels;
    const int64_t fitting = max > pixels ? max / pixels * pixels : max > pixels / 2 ? max : (pixels + 1) / 2;
    job->chunk = job->tiles < fitting ? job->tiles : fitting;
    if (job->chunk < 1) job->chunk = 1;
    const int64_t chunks = (job->tiles + job->chunk - 1) / job->chunk;
    if (chunks > 1 && chunks < 4) job->chunk = (job->tiles + chunks - 1) / chunks;
    if (__builtin_mul_overflow(floats + PRODUCTS * job->tile, job->chunk, &floats)) return false;
    if (tort_is_half(type)) job->row_floats = OUTPUT * OUTPUT * tort_min(job->across, job->chunk) * TORT_LANES;
    floats += tort_max(2 * job->row_floats, /* outputs and residuals, or inputs */
                       tort_is_half(type) ? INPUT * (OUTPUT * job->chunk + INPUT) * TORT_LANES : 0);
    job->buffer_floats = (size_t)floats;
    return true;
}

static tort_status size_winograd(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                 tort_error *error) {
    winograd_job job = {0};
    int64_t floats;
    *scratch = 0;
    if (start_job(&job, node->params, tort_simd_choose(target->instructions), node->inputs[0].type) &&
        tort_cpu_reserve_floats(scratch, whole_filters(node->params)) &&
        tort_cpu_reserve(scratch, (size_t)job.channel_blocks * sizeof(tort_span)) &&
        !__builtin_mul_overflow((int64_t)job.buffer_floats, (int64_t)target->threads, &floats) &&
        tort_cpu_reserve_floats(scratch, floats))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

/* Position of a tile: its picture, and the row and column of its first output. */
typedef struct place {
    int64_t n, row, column;
} place;

static place place_of(const winograd_job *job, int64_t tile) {
    const int64_t down = tiles_along(job->height), of_picture = tile % (down * job->across);
    return (place){.n = tile / (down * job->across),
                   .row = of_picture / job->across * OUTPUT,
                   .column = of_picture % job->across * OUTPUT};
}

/* Copies 6 rows of `columns` inputs of a plane as floats, with zeros for those beyond the picture. */
static void copy_inputs(const winograd_job *job, int64_t plane, int64_t top, int64_t left, int64_t columns, float *to) {
    const int64_t height = job->params->window.input[0], width = job->params->window.input[1];
    const int64_t first = tort_min(columns, tort_max(0, -left)),
                  last = tort_max(first, tort_min(columns, width - left));
    for (int64_t i = 0; i < INPUT; i++, to += columns * TORT_LANES) {
        const bool inside = top + i >= 0 && top + i < height && first < last;
        const int64_t begin = inside ? first : 0, count = inside ? (last - first) * TORT_LANES : 0;
        float *row = to + begin * TORT_LANES, *end = row + count;
        memset(to, 0, (size_t)(row - to) * sizeof *to);
        memset(end, 0, (size_t)(to + columns * TORT_LANES - end) * sizeof *to);
        if (!inside) continue;
        const int64_t from = ((plane * height + top + i) * width + left + first) * TORT_LANES;
        if (job->row_floats)
            tort_halves_widen(job->simd, job->type, (const uint16_t *)job->x + from, row, count);
        else
            memcpy(row, (const float *)job->x + from, (size_t)count * sizeof *row);
    }
}

/* Transforms a block of `count` tiles of a row of tiles. */
static void transform_block(const winograd_job *job, const place *at, int64_t count, int64_t block, float *to,
                            float *rows) {
    const tort_sliding *w = &job->params->window;
    const int64_t height = w->input[0], width = w->input[1], step = job->channel_blocks * job->chunk * TORT_LANES;
    const int64_t top = at->row - w->begin[0], first = at->column - w->begin[1];
    const int64_t plane = at->n * job->channel_blocks + block, columns = count * OUTPUT + INPUT - OUTPUT;
    if (job->row_floats) copy_inputs(job, plane, top, first, columns, rows);
    for (int64_t t = 0; t < count; t++, to += TORT_LANES) {
        const int64_t left = first + t * OUTPUT;
        const bool inside = top >= 0 && left >= 0 && top + INPUT <= height && left + INPUT <= width;
        float copy[INPUT * INPUT * TORT_LANES];
        if (job->row_floats) {
            job->simd->winograd_input(rows + t * OUTPUT * TORT_LANES, columns * TORT_LANES, to, step);
        } else if (inside) {
            const float *x = (const float *)job->x + ((plane * height + top) * width + left) * TORT_LANES;
            job->simd->winograd_input(x, width * TORT_LANES, to, step);
        } else {
            copy_inputs(job, plane, top, left, INPUT, copy);
            job->simd->winograd_input(copy, INPUT * TORT_LANES, to, step);
        }
    }
}

/* Transforms all channels of `count` tiles to [product][block][tile][16]. */
static void transform_inputs(const winograd_job *job, int64_t first, int64_t count, float *v, float *rows) {
    int64_t row, done = 0; /* row: tiles that lie in one row */
    for (int64_t t = 0; t < count; t += row) {
        const place at = place_of(job, first + t);
        row = tort_min(count - t, job->across - at.column / OUTPUT);
        const int64_t work = tort_work(PRODUCTS * row, TORT_LANES, 8);
        for (int64_t block = 0; block < job->channel_blocks; block++) {
            if (!tort_piece_goes_on(job->call, done++, work)) return;
            transform_block(job, &at, row, block, v + (block * job->chunk + t) * TORT_LANES, rows);
        }
    }
}

/* Makes the 36 products of a chunk and a tile of filters: [product][block][tile][16]. */
static void multiply(const winograd_job *job, int64_t count, const float *v, const float *weights, int32_t blocks,
                     float *m) {
    const int64_t tiles = (count + job->simd->blocked_pixels - 1) / job->simd->blocked_pixels;
    const int64_t asked =
        job->params->channels * TORT_LANES; /* floats of the next product's weights that each call prefetches */
    const float zeros[2 * TORT_LANES] = {0};
    tort_blocked_tile tile = {.x_step = TORT_LANES,
                              .spans = job->spans,
                              .span_count = job->channel_blocks,
                              .bias = zeros,
                              .y_block = job->chunk * TORT_LANES,
                              .blocks = blocks};
    const int64_t work = tort_work(job->simd->blocked_pixels, blocks * TORT_LANES, job->params->channels);
    tort_simd_bounds(NULL, &tile.bounds);
    for (int64_t k = 0; k < PRODUCTS; k++) {
        tile.weights = weights + k * asked * blocks;
        tile.later = tile.weights + asked * blocks;
        for (int64_t i = 0, first = 0; i < tiles; i++, first += tile.pixels) {
            if (!tort_piece_goes_on(job->call, k * tiles + i, work)) return;
            tile.pixels = (int32_t)(count / tiles + (i < count % tiles));
            tile.x = v + (k * job->channel_blocks * job->chunk + first) * TORT_LANES;
            tile.y = m + (k * blocks * job->chunk + first) * TORT_LANES;
            tort_blocked_pixels(job->call, job->simd, &tile);
            if (i + 1 < blocks) tile.later += asked;
        }
    }
}

/* Transforms back `count` tiles of a row of tiles, from `at` on, for one block of filters. m: the first tile's
 * products. */
static void put_outputs(const winograd_job *job, const place *at, int64_t count, int64_t block, int64_t step,
                        const float *m, float *rows) {
    const int64_t pitch = job->width * TORT_LANES, columns = tort_min(count * OUTPUT, job->width - at->column);
    const int64_t at_y =
        (((at->n * job->filter_blocks + block) * job->height + at->row) * job->width + at->column) * TORT_LANES;
    const bool halves = job->row_floats > 0;
    float *residual = rows + job->row_floats, *y = halves ? rows : (float *)job->y + at_y;
    const float *add = halves ? residual : (const float *)job->residual + at_y;
    tort_winograd_output o = {.m = m,
                              .step = step,
                              .bias = job->bias + block * TORT_LANES,
                              .pitch = halves ? columns * TORT_LANES : pitch,
                              .rows = tort_min(OUTPUT, job->height - at->row),
                              .bounds = job->bounds};
    for (int64_t i = 0; halves && job->residual && i < o.rows; i++)
        tort_halves_widen(job->simd, job->type, (const uint16_t *)job->residual + at_y + i * pitch,
                          residual + i * o.pitch, columns * TORT_LANES);
    for (int64_t t = 0; t < count; t++, o.m += TORT_LANES) {
        o.columns = tort_min(OUTPUT, columns - t * OUTPUT);
        o.y = y + t * OUTPUT * TORT_LANES;
        o.add = job->residual ? add + t * OUTPUT * TORT_LANES : NULL;
        job->simd->winograd_output(&o);
    }
    for (int64_t i = 0; job->finish && i < o.rows; i++)
        job->simd->finish(&job->params->epilogue, NULL, y + i * o.pitch, columns * TORT_LANES);
    for (int64_t i = 0; halves && i < o.rows; i++)
        tort_halves_narrow(job->simd, job->type, rows + i * o.pitch, (uint16_t *)job->y + at_y + i * pitch,
                           columns * TORT_LANES);
}

static void transform_outputs(const winograd_job *job, int64_t first, int64_t count, int64_t block, int32_t blocks,
                              const float *m, float *rows) {
    int64_t row; /* tiles that lie in one row */
    for (int64_t t = 0; t < count; t += row) {
        const place at = place_of(job, first + t);
        row = tort_min(count - t, job->across - at.column / OUTPUT);
        for (int64_t b = 0; b < blocks; b++)
            put_outputs(job, &at, row, block + b, blocks * job->chunk * TORT_LANES,
                        m + (b * job->chunk + t) * TORT_LANES, rows);
    }
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

static void winograd_part(void *arg, int64_t begin, int64_t end) {
    const winograd_job *job = arg;
    const int64_t blocks = job->simd->blocked_blocks;
    for (int64_t part = begin; part < end; part++) {
        float *v = job->buffers + (size_t)part * job->buffer_floats;
        float *m = v + PRODUCTS * job->channel_blocks * TORT_LANES * job->chunk;
        float *rows = m + PRODUCTS * job->tile * job->chunk;
        int64_t first, last, tile_first, tile_last;
        tort_cpu_share(job->tiles, 1, part % job->split.pixel_parts, job->split.pixel_parts, &first, &last);
        tort_cpu_share(job->filter_tiles, 1, part / job->split.pixel_parts, job->split.filter_parts, &tile_first,
                       &tile_last);
        for (; first < last && tile_first < tile_last && tort_call_goes_on(job->call, 0); first += job->chunk) {
            const int64_t count = tort_min(job->chunk, last - first);
            transform_inputs(job, first, count, v, rows);
            for (int64_t tile = tile_first; tile < tile_last && tort_call_goes_on(job->call, 0); tile++) {
                const int32_t of_tile = (int32_t)tort_min(blocks, job->filter_blocks - tile * blocks);
                multiply(job, count, v, job->packed + tile * PRODUCTS * job->params->channels * job->tile, of_tile, m);
                transform_outputs(job, first, count, tile * blocks, of_tile, m, rows);
            }
        }
    }
}

static tort_status run_winograd(const tort_call *call) {
    const tort_conv_params *p = call->params;
    const tort_cpu_device *device = call->device;
    const tort_tensor *bias = tort_call_input(call, 2);
    winograd_job job = {.call = call, .x = call->inputs[0].data, .y = call->outputs[0].data, .packed = call->packed};
    char *scratch = call->scratch;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    if (!start_job(&job, p, device->simd, call->inputs[0].type)) return tort_out_of_memory(call->error, SIZE_MAX);
    job.residual = tort_cpu_residual(call, &p->epilogue);
    job.finish = !tort_simd_bounds(&p->epilogue, &job.bounds);
    float *biases = tort_cpu_take(&scratch, (size_t)whole_filters(p) * sizeof(float));
    memset(biases, 0, (size_t)whole_filters(p) * sizeof *biases);
    if (bias) memcpy(biases, bias->data, (size_t)p->filters * sizeof *biases);
    job.bias = biases;
    tort_span *spans = tort_cpu_take(&scratch, (size_t)job.channel_blocks * sizeof *spans);
    for (int64_t b = 0; b < job.channel_blocks; b++)
        spans[b] = (tort_span){.offset = b * job.chunk * TORT_LANES,
                               .count = tort_min(TORT_LANES, p->channels - b * TORT_LANES)};
    job.spans = spans;
    job.buffers = (float *)scratch;
    const tort_cpu_products products = {
        .pixels = job.tiles, .filters = job.filter_tiles, .pixel_cost = 1, .filter_cost = TORT_WEIGHTS_COST};
    job.split = tort_cpu_split_of(&products, device->threads);
    tort_cpu_parts(call, job.split.pixel_parts * job.split.filter_parts, winograd_part, &job);
    return TORT_OK;
}

#define WINOGRAD(domain_, op_, z_)                                                                                     \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "conv_blocked_winograd", .claim = claim_winograd, .size = size_winograd, \
        .pack.size = pack_size, .pack.alike = tort_cpu_conv_alike, .pack.writes_all = true,                            \
        .prepare = prepare_winograd, .run = run_winograd, .in_place = z_, .halves = 1 | (z_),                          \
        .layout.id = TORT_BLOCKED, .layout.inputs = 1 | (z_), .layout.outputs = 1,                                     \
        .layout.alone = tort_cpu_conv_pays_alone                                                                       \
    }

const tort_kernel tort_cpu_blocked_winograd[] = {
    WINOGRAD("", "Conv", 0),
    WINOGRAD("tinyort", "FusedConv", 1u << TORT_EPILOGUE_Z),
    WINOGRAD("com.microsoft", "FusedConv", 1u << TORT_EPILOGUE_Z),
    {.op = NULL},
};
