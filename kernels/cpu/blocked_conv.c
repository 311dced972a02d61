/* blocked_conv.c - Conv and FusedConv in fp32 over blocks of channels (blocked.h): a direct convolution, without
 * im2col.
 *
 * Direct convolution with channels blocked by the vector width, as in Georganas et al., "Anatomy of High-Performance
 * Deep Learning Convolutions on SIMD Architectures", 2018. A tile is some pixels of a row by 16 or 32 filters, whose
 * sums stay in registers over all channels and kernel positions. Each thread makes bands of rows (blocked_band.h): a
 * band of the input stays in the L2 cache while all tiles of filters pass by.
 * Cost: pixels * filters * channels * positions multiply-adds, no memory beyond the band copied where there is
 * padding.
 * Example: 64 channels, 56 x 56 pixels, 3 x 3: 15 rows of outputs see a band of 17 padded rows of 58 x 64 floats, 246
 * KiB.
 *
 * Halves are widened as bands are copied, and rounded row by row: all arithmetic is in floats.
 *
 * The first convolution of a network has few channels: its input is plain, and a span has one channel. Groups narrower
 * than a block are joined, with weights of 0 between them.
 * Read next: simd/blocked.c, blocked_winograd.c. */
#include "kernels/cpu/blocked_band.h"
#include "kernels/cpu/conv.h"
#include "kernels/cpu/halves.h"
#include "kernels/cpu/pieces.h"

#include <math.h>
#include <string.h>

#define BAND_FLOATS 65536 /* floats of input per band: half of an L2 cache of 512 KiB */
#define BLOCK_FLOATS 4608 /* weights of 16 channels, 32 filters and 9 positions */
#define MIN_FILTERS 8     /* fewer would leave most of a vector idle */
#define SPREAD 8          /* elements that dilations leave out along an axis, from which on windows are spread wide */
#define ONE_TILE 6        /* pixels of a tile on every instruction set but v2 */
#define ALONE_CHANNELS 32 /* fewer do not pay for converting the layout before and after a single convolution */

/* ---- groups ------------------------------------------------------------------------------------------------------ */

/* Groups as they are computed: after joining, with `channels` and `filters` of each; the last one may have fewer. */
typedef struct grouping {
    int64_t groups, channels, filters;
    int64_t tile; /* filters per tile */
} grouping;

/* Sets the grouping; false if groups do not consist of whole blocks. */
static bool group_blocks(const tort_simd *simd, const tort_conv_params *p, grouping *g) {
    const int64_t channels = p->channels / p->group, filters = p->filters / p->group;
    const bool joined = p->group > 1 && channels == filters && channels < TORT_LANES && TORT_LANES % channels == 0;
    *g = (grouping){.groups = joined ? tort_blocks(p->channels) : p->group,
                    .channels = joined ? TORT_LANES : channels,
                    .filters = joined ? TORT_LANES : filters};
    g->tile = g->filters <= TORT_LANES ? TORT_LANES : TORT_LANES * simd->blocked_blocks;
    return p->group == 1 || joined || (channels % TORT_LANES == 0 && filters % TORT_LANES == 0);
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

/* Returns the filters of a group, rounded up to whole blocks. */
static int64_t whole_filters(const grouping *g) {
    return tort_blocks(g->filters) * TORT_LANES;
}

static int64_t channels_of(const tort_conv_params *p, const grouping *g, int64_t group) {
    return tort_min(g->channels, p->channels - group * g->channels);
}

/* Packs joined groups: each filter reads the channels of its own group; its weights for other groups stay 0. */
static void pack_joined(struct tort_watch *watch, const tort_conv_params *p, const float *weights, int64_t first,
                        int64_t channels, float *packed) {
    const int64_t positions = tort_sliding_positions(&p->window), size = p->channels / p->group;
    if (!tort_zero_bytes(watch, packed, (size_t)(positions * TORT_LANES * TORT_LANES) * sizeof *packed)) return;
    for (int64_t f = 0; f < channels; f++)
        for (int64_t c = 0; c < size; c++)
            for (int64_t k = 0; k < positions && tort_row_goes_on(watch, k); k++)
                packed[(k * channels + f / size * size + c) * TORT_LANES + f] =
                    weights[((first + f) * size + c) * positions + k];
}

/* Packs a block of channels: first [channel][position][filter], reading each filter sequentially, then whole lines
 * move to [position][channel][filter]. Reading every ninth weight directly takes longer. */
static void pack_block(const tort_simd *simd, const float *weights, int64_t stride, int64_t positions, int64_t together,
                       int64_t lanes, int64_t count, float *packed) {
    float rows[BLOCK_FLOATS];
    simd->pack_lanes(rows, (int32_t)lanes, weights, stride, 1, (int32_t)count, together * positions, 1);
    for (int64_t k = 0; k < positions; k++)
        for (int64_t c = 0; c < together; c++, packed += lanes)
            memcpy(packed, rows + (c * positions + k) * lanes, (size_t)lanes * sizeof *packed);
}

/* Packs a tile of `lanes` filters, of which `count` exist: [span][channel][filter]. If `plain`, a span is one
 * channel at one position. */
static void pack_tile(struct tort_watch *watch, const tort_simd *simd, const float *weights, int64_t channels,
                      int64_t positions, bool plain, int64_t lanes, int64_t count, float *packed) {
    const int64_t stride = channels * positions;
    int64_t done = 0;
    if (plain) {
        for (int64_t at = 0; at < stride && tort_row_goes_on(watch, at); at += TORT_PART)
            simd->pack_lanes(packed + at * lanes, (int32_t)lanes, weights + at, stride, 1, (int32_t)count,
                             tort_part_count(stride, at), 1);
        return;
    }
    for (int64_t block = 0; block < channels; block += TORT_LANES) {
        const int64_t together = tort_min(TORT_LANES, channels - block);
        if (positions > 1 && together * positions * lanes <= BLOCK_FLOATS) {
            if (!tort_work_goes_on(watch, &done, positions * together * lanes)) return;
            pack_block(simd, weights + block * positions, stride, positions, together, lanes, count, packed);
            packed += positions * together * lanes;
            continue;
        }
        for (int64_t k = 0; k < positions && tort_work_goes_on(watch, &done, together * lanes);
             k++, packed += together * lanes)
            simd->pack_lanes(packed, (int32_t)lanes, weights + block * positions + k, stride, positions, (int32_t)count,
                             together, 1);
    }
}

static void pack_group(struct tort_watch *watch, const tort_simd *simd, const tort_conv_params *p, const grouping *g,
                       const float *weights, bool plain, int64_t group, float *packed) {
    const int64_t positions = tort_sliding_positions(&p->window), size = g->channels * positions;
    if (g->groups != p->group) {
        pack_joined(watch, p, weights, group * TORT_LANES, channels_of(p, g, group), packed);
        return;
    }
    for (int64_t f = 0; f < g->filters && tort_goes_on(watch, 0); f += g->tile) {
        const int64_t lanes = tort_min(g->tile, whole_filters(g) - f);
        pack_tile(watch, simd, weights + (group * g->filters + f) * size, g->channels, positions, plain, lanes,
                  tort_min(lanes, g->filters - f), packed + f * size);
    }
}

static int64_t packed_floats(const tort_conv_params *p, const grouping *g) {
    int64_t size;
    if (__builtin_mul_overflow(whole_filters(g), g->channels, &size) ||
        __builtin_mul_overflow(size, tort_sliding_positions(&p->window), &size) ||
        __builtin_mul_overflow(size, g->groups, &size))
        return -1;
    return size;
}

static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    grouping g;
    group_blocks(tort_simd_choose(target->instructions), node->params, &g);
    return tort_cpu_pack_floats(packed_floats(node->params, &g), bytes, consumed, error);
}

/* Images of fewer channels than a block (the first convolution's, say) come in plain layout; claims tell the two apart
 * by nothing else. */
static bool is_plain(const tort_conv_params *p) {
    return p->channels < TORT_LANES;
}

static tort_status prepare_weights(tort_prepare *prepare) {
    const tort_cpu_device *device = prepare->device;
    const tort_conv_params *p = prepare->node->params;
    const float *weights = prepare->node->inputs[1].data;
    float *packed = prepare->packed;
    grouping g;
    int64_t done = 0;
    if (!weights) return tort_fail(prepare->error, TORT_E_INTERNAL, "the constant W has no data");
    group_blocks(device->simd, p, &g);
    const int64_t size = whole_filters(&g) * g.channels * tort_sliding_positions(&p->window);
    for (int64_t group = 0; group < g.groups && tort_work_goes_on(prepare->watch, &done, size); group++)
        pack_group(prepare->watch, device->simd, p, &g, weights, is_plain(p), group, packed + group * size);
    return TORT_OK;
}

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static tort_verdict claim_window(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *p = node->params;
    const tort_verdict verdict = tort_cpu_claim_window(target, p);
    if (verdict.code != TORT_YES) return verdict;
    if (tort_sliding_positions(&p->window) < 1) return tort_no(TORT_NO_SHAPE, "", "W has no elements");
    if (!node->inputs[1].constant)
        return tort_no(TORT_NO_DYNAMIC, "", "W is not a constant, so it cannot be packed ahead");
    if (p->filters < MIN_FILTERS)
        return tort_no(TORT_NO_SHAPE, "", "is for %d filters and more, W has %lld", MIN_FILTERS, (long long)p->filters);
    return tort_cpu_claim_float(target, node);
}

bool tort_cpu_conv_is_spread(const tort_conv_params *p) {
    const tort_sliding *w = &p->window;
    bool spread = false;
    for (int32_t i = 0; i < w->axes; i++) spread = spread || (w->kernel[i] - 1) * (w->dilations[i] - 1) >= SPREAD;
    return spread && w->axes < 3 && p->group == 1 && p->channels >= TORT_LANES && p->filters >= MIN_FILTERS;
}

static tort_verdict claim_blocked(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *p = node->params;
    const tort_verdict verdict = claim_window(target, node);
    grouping g;
    if (verdict.code != TORT_YES) return verdict;
    if (is_plain(p))
        return tort_no(TORT_NO_SHAPE, "", "is for %d channels and more, the input has %lld", TORT_LANES,
                       (long long)p->channels);
    if (tort_cpu_conv_is_spread(p))
        return tort_no(TORT_NO_SHAPE, "", "leaves windows that dilations spread wide to conv_blocked_dilated");
    if (!group_blocks(tort_simd_choose(target->instructions), p, &g))
        return tort_no(TORT_NO_SHAPE, "", "groups of %lld channels and %lld filters are not blocks of %d",
                       (long long)(p->channels / p->group), (long long)(p->filters / p->group), TORT_LANES);
    return tort_yes();
}

static tort_verdict claim_plain(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *p = node->params;
    const tort_verdict verdict = claim_window(target, node);
    if (verdict.code != TORT_YES) return verdict;
    if (!is_plain(p) || p->group != 1)
        return tort_no(TORT_NO_SHAPE, "", "is for fewer than %d channels in one group, the input has %lld in %lld",
                       TORT_LANES, (long long)p->channels, (long long)p->group);
    return tort_yes();
}

bool tort_cpu_conv_pays_alone(const tort_node_view *node) {
    const tort_conv_params *p = node->params;
    return tort_sliding_positions(&p->window) > 1 && p->channels >= ALONE_CHANNELS &&
           p->channels / p->group >= TORT_LANES;
}

/* True if a convolution of few channels has so few outputs (of a frame of sound, say) that they fill one tile: as
 * columns of a product they would leave most of each vector idle, and their conversion is nothing beside the filters.
 */
static bool is_one_tile(const tort_node_view *node) {
    const tort_conv_params *p = node->params;
    int64_t outputs = 1;
    for (int32_t i = 0; i < p->window.axes; i++)
        if (p->window.output[i] < 0 || (outputs *= p->window.output[i]) > ONE_TILE) return false;
    return p->channels * tort_sliding_positions(&p->window) >= ALONE_CHANNELS;
}

/* ---- the job ----------------------------------------------------------------------------------------------------- */

typedef struct conv_job {
    const tort_conv_params *params;
    const tort_simd *simd;
    tort_bands bands;
    grouping grouping;
    bool plain; /* the input is in the plain layout */
    const tort_span *spans;
    const float *packed, *bias;
    tort_type type; /* of x, the residual and y: float, or a half */
    const void *residual;
    void *y;
    int64_t row_floats; /* of the rows of halves that are made together, for a tile of filters; 0: none */
    float *buffers;     /* for each part a band, then rows of y and of the residual */
    tort_bounds bounds;
    bool finish;          /* the activation is more than bounds, so finish_row completes it */
    tort_cpu_split split; /* by rows, and by tiles of filters */
    int64_t group_tiles;  /* tiles of filters per group */
} conv_job;

static void widen_pixels(const tort_bands *b, const void *image, int64_t plane, int64_t pixel, int64_t count,
                         void *to) {
    const conv_job *job = b->copy_arg;
    tort_halves_widen(job->simd, job->type, (const uint16_t *)image + (plane * b->shape.pixels + pixel) * b->lanes, to,
                      count * b->lanes);
}

/* Lets bands be copied as floats, and rows be made in buffers. Returns false on overflow. */
static bool start_halves(conv_job *job) {
    tort_bands *b = &job->bands;
    b->image /= 2;
    b->copy = widen_pixels;
    b->copy_arg = job;
    return !__builtin_mul_overflow(tort_max(b->together * b->row_length, job->simd->blocked_pixels), job->grouping.tile,
                                   &job->row_floats);
}

/* Returns false on overflow. */
static bool start_job(conv_job *job, const tort_conv_params *p, const tort_simd *simd, tort_type type) {
    const bool plain = is_plain(p), halves = tort_is_half(type);
    group_blocks(simd, p, &job->grouping);
    const tort_band_source source = {.channels = p->channels,
                                     .element = sizeof(float),
                                     .lanes = plain ? 1 : TORT_LANES,
                                     .copied = halves,
                                     .cut = job->grouping.groups == 1 && !plain && !halves,
                                     .pixels = simd->blocked_pixels,
                                     .at_once = BAND_FLOATS};
    job->params = p;
    job->simd = simd;
    job->type = type;
    job->plain = plain;
    job->group_tiles = (job->grouping.filters + job->grouping.tile - 1) / job->grouping.tile;
    return tort_bands_init(&job->bands, &p->window, &source) && (!halves || start_halves(job));
}

/* Returns the floats that a part works with. */
static int64_t part_floats(const conv_job *job) {
    int64_t rows;
    return __builtin_mul_overflow(job->row_floats, 2, &rows) || __builtin_add_overflow(rows, job->bands.buffer, &rows)
               ? -1
               : tort_round_up(rows, 64);
}

static int64_t bias_floats(const conv_job *job) {
    return job->grouping.groups * whole_filters(&job->grouping);
}

static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    conv_job job = {0};
    int64_t floats;
    *scratch = 0;
    if (start_job(&job, node->params, tort_simd_choose(target->instructions), node->inputs[0].type) &&
        tort_cpu_reserve_floats(scratch, bias_floats(&job)) &&
        tort_cpu_reserve(scratch, (size_t)(job.bands.planes * job.bands.shape.positions) * sizeof(tort_span)) &&
        part_floats(&job) >= 0 && !__builtin_mul_overflow(part_floats(&job), (int64_t)target->threads, &floats) &&
        tort_cpu_reserve_floats(scratch, floats))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

/* A tile of filters, numbered over all groups: its weights, spans and first block of outputs. */
typedef struct filters {
    int64_t first_block, blocks;
    const float *weights;
    int64_t channels; /* channels of all spans: rows of weights */
    const tort_span *spans;
    int64_t span_count;
} filters;

static filters filters_of(const conv_job *job, int64_t tile) {
    const grouping *g = &job->grouping;
    const int64_t group = tile / job->group_tiles, first = tile % job->group_tiles * g->tile;
    const int64_t positions = job->bands.shape.positions, full = g->channels * positions;
    const int64_t planes = job->plain ? g->channels : tort_blocks(g->channels);
    return (filters){.first_block = (group * whole_filters(g) + first) / TORT_LANES,
                     .blocks = tort_min(g->tile, whole_filters(g) - first) / TORT_LANES,
                     .weights = job->packed + group * whole_filters(g) * full +
                                first * channels_of(job->params, g, group) * positions,
                     .channels = channels_of(job->params, g, group) * positions,
                     .spans = job->spans + group * planes * positions,
                     .span_count = tort_min(planes, job->bands.planes - group * planes) * positions};
}

/* Restricts a tile's weights and spans to the planes of a band. */
static filters beside(const conv_job *job, const tort_band *b, filters f) {
    const int64_t positions = job->bands.shape.positions, before = b->first_plane * TORT_LANES * positions;
    if (b->planes == job->bands.planes) return f;
    f.weights += before * f.blocks * TORT_LANES;
    f.channels = tort_min(b->planes * TORT_LANES * positions, f.channels - before);
    f.spans += b->first_plane * positions;
    f.span_count = b->planes * positions;
    return f;
}

/* Weights come from a far cache, and the first tile of pixels would wait for them: so the tiles before it prefetch
 * the weights of the next tile of filters, a part each, until all are requested. */
static void ask_ahead(const filters *f, tort_blocked_tile *tile) {
    const int64_t size = f->channels * f->blocks * TORT_LANES, asked = f->channels * TORT_LANES;
    if (tile->later + asked - f->weights < 2 * size) tile->later += asked;
}

/* Makes `pixels` pixels of a row, in tiles of about equal size. */
static void make_row(const conv_job *job, const filters *f, tort_blocked_tile *tile, int64_t pixels) {
    const int64_t max = job->simd->blocked_pixels, tiles = tort_quotient(pixels + max - 1, max);
    const int64_t size = tort_quotient(pixels, tiles), larger = pixels - size * tiles;
    const int64_t work = tort_work(job->simd->blocked_pixels, f->blocks * TORT_LANES, f->channels);
    for (int64_t i = 0; i < tiles; i++) {
        if (!tort_piece_goes_on(job->bands.call, i, work)) return;
        tile->pixels = (int32_t)(size + (i < larger));
        tort_blocked_pixels(job->bands.call, job->simd, tile);
        ask_ahead(f, tile);
        tile->x += tile->pixels * tile->x_step;
        tile->y += tile->pixels * TORT_LANES;
        if (tile->add) tile->add += tile->pixels * TORT_LANES;
    }
}

/* Applies the rest of the epilogue while a row is in the L1 cache. */
static void finish_row(const conv_job *job, const filters *f, float *y, int64_t step, int64_t pixels) {
    for (int64_t block = 0; job->finish && block < f->blocks; block++)
        job->simd->finish(&job->params->epilogue, NULL, y + block * step, pixels * TORT_LANES);
}

/* Makes `pixels` pixels at `at` of y, which are halves, in rows of floats. */
static void make_halves(const conv_job *job, const filters *f, tort_blocked_tile *tile, int64_t at, int64_t pixels,
                        float *rows) {
    const int64_t outputs = job->bands.shape.outputs * TORT_LANES, count = pixels * TORT_LANES;
    float *residual = rows + job->row_floats;
    for (int64_t block = 0; job->residual && block < f->blocks; block++)
        tort_halves_widen(job->simd, job->type, (const uint16_t *)job->residual + at + block * outputs,
                          residual + block * count, count);
    tile->y = rows;
    tile->y_block = count;
    tile->add = job->residual ? residual : NULL;
    make_row(job, f, tile, pixels);
    finish_row(job, f, rows, count, pixels);
    for (int64_t block = 0; block < f->blocks; block++)
        tort_halves_narrow(job->simd, job->type, rows + block * count, (uint16_t *)job->y + at + block * outputs,
                           count);
}

/* True if two rows of half a tile are made together, so that weights are read half as often. */
static bool makes_two_rows(const conv_job *job, const filters *f) {
    return !job->bands.flat && 2 * job->bands.row_length == job->simd->blocked_pixels &&
           f->blocks == job->simd->blocked_blocks;
}

static const float no_bias[4 * TORT_LANES]; /* enough for a tile of filters */
static const tort_bounds no_bounds = {.low = -INFINITY, .high = INFINITY};

/* Makes all rows of a band for a tile of filters. Where a band has only some planes, sums continue from those that
 * the previous planes left in y. */
static void make_band(const conv_job *job, const tort_band *b, const filters *f, float *rows) {
    const tort_blocked_shape *s = &job->bands.shape;
    const int64_t blocks = tort_blocks(job->params->filters), length = job->bands.row_length;
    const int64_t at = ((b->n * blocks + f->first_block) * s->outputs + b->row * length) * TORT_LANES;
    const bool two = makes_two_rows(job, f), begins = b->first_plane == 0;
    const bool ends = b->first_plane + b->planes == job->bands.planes;
    tort_blocked_tile tile = {.x_step = s->strides[2] * job->bands.lanes,
                              .spans = f->spans,
                              .span_count = f->span_count,
                              .weights = f->weights,
                              .later = f->weights + f->channels * f->blocks * TORT_LANES,
                              .bias = begins ? job->bias + f->first_block * TORT_LANES : no_bias,
                              .y_block = s->outputs * TORT_LANES,
                              .blocks = (int32_t)f->blocks,
                              .bounds = ends ? job->bounds : no_bounds};
    const int64_t together = job->bands.together;
    const int64_t work = tort_work(together * length, f->blocks * TORT_LANES, f->channels);
    int64_t count;
    for (int64_t row = 0; row < b->rows && tort_piece_goes_on(job->bands.call, tort_quotient(row, together), work);
         row += count) {
        const int64_t here = at + row * length * TORT_LANES;
        count = two && row + 1 < b->rows ? 2 : tort_bands_together(&job->bands, b, row);
        tile.x = (const float *)b->x + row * b->row_step;
        tile.row_step = two && count > 1 ? b->row_step : 0;
        if (job->row_floats) {
            make_halves(job, f, &tile, here, count * length, rows);
            continue;
        }
        float *y = (float *)job->y + here;
        tile.y = y;
        tile.add = !begins ? y : job->residual ? (const float *)job->residual + here : NULL;
        make_row(job, f, &tile, count * length);
        if (ends) finish_row(job, f, y, tile.y_block, count * length);
    }
}

static void conv_part(void *arg, int64_t begin, int64_t end) {
    const conv_job *job = arg;
    for (int64_t part = begin; part < end; part++) {
        float *buffer = job->buffers + part * part_floats(job);
        int64_t row, last, tile_first, tile_last;
        tort_band b;
        tort_cpu_share(job->params->batch * job->bands.rows, 1, part % job->split.pixel_parts, job->split.pixel_parts,
                       &row, &last);
        tort_cpu_share(job->grouping.groups * job->group_tiles, 1, part / job->split.pixel_parts,
                       job->split.filter_parts, &tile_first, &tile_last);
        for (; tile_first < tile_last && tort_bands_next(&job->bands, row, last, buffer, &b); row += b.rows) do {
                for (int64_t tile = tile_first; tile < tile_last && tort_call_goes_on(job->bands.call, 0); tile++) {
                    const filters f = beside(job, &b, filters_of(job, tile));
                    make_band(job, &b, &f, buffer + job->bands.buffer);
                }
            } while (tort_bands_next_planes(&job->bands, buffer, &b));
    }
}

/* Copies the biases of all groups, rounded up to whole blocks. */
static void copy_bias(const conv_job *job, const float *bias, float *to) {
    memset(to, 0, (size_t)bias_floats(job) * sizeof *to);
    if (bias) memcpy(to, bias, (size_t)job->params->filters * sizeof *to);
}

static tort_status run(const tort_call *call) {
    const tort_conv_params *p = call->params;
    const tort_cpu_device *device = call->device;
    const tort_tensor *bias = tort_call_input(call, 2);
    conv_job job = {.y = call->outputs[0].data, .packed = call->packed};
    char *scratch = call->scratch;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    if (!start_job(&job, p, device->simd, call->inputs[0].type)) return tort_out_of_memory(call->error, SIZE_MAX);
    job.bands.call = call;
    job.bands.x = call->inputs[0].data;
    job.residual = tort_cpu_residual(call, &p->epilogue);
    job.finish = !tort_simd_bounds(&p->epilogue, &job.bounds);
    float *biases = tort_cpu_take(&scratch, (size_t)bias_floats(&job) * sizeof(float));
    copy_bias(&job, bias ? bias->data : NULL, biases);
    job.bias = biases;
    tort_span *spans = tort_cpu_take(&scratch, (size_t)(job.bands.planes * job.bands.shape.positions) * sizeof *spans);
    tort_bands_spans(&job.bands, 1, spans);
    job.spans = spans;
    job.buffers = (float *)scratch;
    const tort_cpu_products products = {.pixels = p->batch * job.bands.rows,
                                        .filters = job.grouping.groups * job.group_tiles,
                                        .pixel_cost = job.bands.copied ? 2 : 1,
                                        .filter_cost = TORT_WEIGHTS_COST / job.bands.row_length};
    job.split = tort_cpu_split_of(&products, device->threads);
    tort_cpu_parts(call, job.split.pixel_parts * job.split.filter_parts, conv_part, &job);
    return TORT_OK;
}

#define BLOCKED(domain_, op_, z_)                                                                                      \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "conv_blocked", .claim = claim_blocked, .size = size,                    \
        .pack.size = pack_size, .pack.alike = tort_cpu_conv_alike, .pack.writes_all = true,                            \
        .prepare = prepare_weights, .run = run, .in_place = z_, .halves = 1 | (z_), .layout.id = TORT_BLOCKED,         \
        .layout.inputs = 1 | (z_), .layout.outputs = 1, .layout.alone = tort_cpu_conv_pays_alone                       \
    }
#define BLOCKED_FIRST(domain_, op_, z_)                                                                                \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "conv_blocked_first", .claim = claim_plain, .size = size,                \
        .pack.size = pack_size, .pack.alike = tort_cpu_conv_alike, .pack.writes_all = true,                            \
        .prepare = prepare_weights, .run = run, .halves = 1 | (z_), .layout.id = TORT_BLOCKED, .layout.inputs = (z_),  \
        .layout.outputs = 1, .layout.alone = is_one_tile                                                               \
    }

const tort_kernel tort_cpu_blocked_conv[] = {
    BLOCKED("", "Conv", 0),
    BLOCKED_FIRST("", "Conv", 0),
    BLOCKED("tinyort", "FusedConv", 1u << TORT_EPILOGUE_Z),
    BLOCKED_FIRST("tinyort", "FusedConv", 1u << TORT_EPILOGUE_Z),
    BLOCKED("com.microsoft", "FusedConv", 1u << TORT_EPILOGUE_Z),
    BLOCKED_FIRST("com.microsoft", "FusedConv", 1u << TORT_EPILOGUE_Z),
    {.op = NULL},
};
