/* blocked_byte_conv.c - QLinearConv over blocks of channels (blocked.h), reading the bytes of the input where they
 * are.
 *
 * The scheme is that of blocked_conv.c, with words of four channels in place of floats. Bands are copied where there
 * is padding (with the zero point), or where bytes need another sign; the first convolution of a network has few
 * channels, and its plain planes are interleaved to words of four. The zero point of the input is folded into the
 * bias with the sums of the weights. Weights with a zero point, and factors for which float arithmetic is not exact,
 * are rare: make_slowly handles them. A matrix unit (tort_bytes.unit_tile) reads pixels of 64 channels, so there each
 * band is copied, four blocks side by side. Read next: simd/blocked_bytes.c, byte_conv.c. */
#include "kernels/cpu/blocked_band.h"
#include "kernels/cpu/byte_conv.h"
#include "kernels/cpu/byte_pack.h"
#include "kernels/cpu/pieces.h"

#include <string.h>

#define BAND_BYTES 262144 /* bytes of input per band: half of an L2 cache of 512 KiB */
#define MIN_FILTERS 8     /* fewer would leave most of a vector idle */
#define MAX_PIXELS 16     /* of a tile, upper bound over all instruction sets */
#define MAX_SUMS (MAX_PIXELS * 32)
#define MAX_BYTES (4 * TORT_MAX_COLUMNS) /* of a word of a tile */
#define UNIT_CHANNELS 64                 /* of a pixel, as a matrix unit reads it */
#define UNIT_GROUP 16                    /* pixels that a matrix unit reads at a time */
#define MIN_UNIT 32                      /* channels from which on a matrix unit is faster */
#define MAX_UNIT_STRIDE 4                /* a group of pixels may end so far behind the band */

/* ---- weights ----------------------------------------------------------------------------------------------------- */

/* Packed weights: [tile of filters][word][filter][4], then the sum of each filter, and those of tort_turned, and if
 * `ordered`, of each tile, the number of safe words and their order (tort_byte_tile). A tile has `tile` filters, the
 * last one as many blocks as remain. */
typedef struct shape {
    bool on_unit, ordered;
    int64_t filters, tile; /* in whole blocks */
    int64_t together;      /* channels of a pixel of a band */
    int64_t channels, positions, words;
} shape;

/* Images of fewer channels than a block (the first convolution's, say) come in plain layout; claims tell the two apart
 * by nothing else. */
static bool is_plain(const tort_conv_params *p) {
    return p->channels < TORT_LANES;
}

static shape shape_of(const tort_conv_params *p, const tort_bytes *bytes) {
    shape s = {.filters = tort_blocks(p->filters) * TORT_LANES,
               .channels = p->channels,
               .positions = tort_sliding_positions(&p->window)};
    s.on_unit = bytes->unit_tile && p->channels >= MIN_UNIT && p->window.strides[p->window.axes - 1] <= MAX_UNIT_STRIDE;
    s.together = s.on_unit ? UNIT_CHANNELS : is_plain(p) ? 4 : TORT_LANES;
    s.tile = p->filters <= TORT_LANES ? TORT_LANES : TORT_LANES * bytes->blocked_blocks;
    s.words = tort_round_up(p->channels, s.on_unit ? UNIT_CHANNELS : 4) / 4 * s.positions;
    s.ordered = bytes->turned && s.words < INT32_MAX;
    return s;
}

/* Returns the number of safe words of a tile, with the order behind it; NULL: words of tiles have none. */
static int32_t *order_of(const shape *s, const uint8_t *packed, int64_t filter) {
    int32_t *lists = (int32_t *)(uintptr_t)(packed + (s->words + 2) * s->filters * 4);
    return s->ordered ? lists + filter / s->tile * (s->words + 1) : NULL;
}

static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    const shape s = shape_of(node->params, tort_bytes_choose(target->instructions));
    const int64_t lists = s.ordered ? (s.filters + s.tile - 1) / s.tile : 0;
    int64_t size;
    if (__builtin_mul_overflow(s.words + 2, (s.filters + lists) * 4, &size)) return tort_out_of_memory(error, SIZE_MAX);
    *bytes = (size_t)(size - lists * 4); /* words + 1 of each list */
    *consumed = 1u << tort_qlinear_conv_inputs.w;
    return TORT_OK;
}

/* Packs the words of four channels at all positions, `step` bytes apart. */
static void pack_four(const int8_t *weights, int64_t positions, int64_t step, uint8_t *packed) {
    for (int64_t k = 0; k < positions; k++, weights++, packed += step) {
        const int8_t word[4] = {weights[0], weights[positions], weights[2 * positions], weights[3 * positions]};
        memcpy(packed, word, sizeof word);
    }
}

/* Packs the words of one filter as [block][position][word], a block having `together` channels. Missing channels of
 * a word, and missing words for a matrix unit, are 0. */
static void order_words(struct tort_watch *watch, const shape *s, const int8_t *weights, uint8_t *words) {
    const int64_t together = s->together;
    int64_t done = 0;
    for (int64_t block = 0; block < s->channels && tort_work_goes_on(watch, &done, together * s->positions);
         block += together) {
        const int64_t last = tort_min(block + together, s->channels);
        const int64_t step = s->on_unit ? together : (last - block + 3) / 4 * 4;
        for (int64_t c = block; c < block + step; c += 4, words += 4) {
            if (c + 4 <= last) {
                pack_four(weights + c * s->positions, s->positions, step, words);
                continue;
            }
            for (int64_t k = 0; k < s->positions; k++) {
                memset(words + k * step, 0, 4);
                for (int64_t i = c; i < last; i++) words[k * step + i - c] = (uint8_t)weights[i * s->positions + k];
            }
        }
        words += (s->positions - 1) * step;
    }
}

/* Adds the bytes of words, and those below 0, to sums of each byte of a word. */
static void add_bytes(const uint8_t *words, int64_t count, int64_t bytes, int32_t *sums, int32_t *below) {
    enum { FIT = 255 /* bytes whose sum fits 16 bits */ };
    for (int64_t w = 0; w < count; w += FIT) {
        int16_t sum[MAX_BYTES] = {0}, less[MAX_BYTES] = {0};
        for (int64_t i = w; i < tort_min(w + FIT, count); i++)
            for (int64_t j = 0; j < bytes; j++) {
                const int16_t byte = (int8_t)words[i * bytes + j];
                sum[j] = (int16_t)(sum[j] + byte);
                less[j] = (int16_t)(less[j] + (byte < 0 ? byte : 0));
            }
        for (int64_t j = 0; j < bytes; j++) {
            sums[j] += sum[j];
            below[j] += less[j];
        }
    }
}

/* Sums the bytes of each filter of a packed tile, and tort_turned of those of words from `safe` on. */
static void sum_tile(const uint8_t *tile, int64_t lanes, int64_t words, int64_t safe, int32_t *sums, int32_t *turned) {
    int32_t before[MAX_BYTES] = {0}, behind[MAX_BYTES] = {0}, unused[MAX_BYTES] = {0}, below[MAX_BYTES] = {0};
    add_bytes(tile, safe, 4 * lanes, before, unused);
    add_bytes(tile + safe * 4 * lanes, words - safe, 4 * lanes, behind, below);
    for (int64_t i = 0; i < lanes; i++) {
        sums[i] = turned[i] = 0;
        for (int64_t j = 4 * i; j < 4 * i + 4; j++) {
            sums[i] += before[j] + behind[j];
            turned[i] += 128 * behind[j] - below[j];
        }
    }
}

/* Packs `count` filters into a tile of `lanes`: each is ordered by itself (1 x 1 filters already are), then their
 * words are interleaved. */
static void pack_tile(struct tort_watch *watch, const tort_simd *simd, const shape *s, const int8_t *weights,
                      int64_t lanes, int64_t count, uint8_t *ordered, uint8_t *packed) {
    const int64_t size = s->channels * s->positions;
    const bool as_they_lie = s->words * 4 == s->channels && (uintptr_t)weights % sizeof(float) == 0;
    for (int64_t f = 0; !as_they_lie && f < count; f++)
        order_words(watch, s, weights + f * size, ordered + f * s->words * 4);
    const void *words = as_they_lie ? (const void *)weights : ordered;
    for (int64_t at = 0; at < s->words && tort_row_goes_on(watch, at); at += TORT_PART)
        simd->pack_lanes((float *)(void *)(packed + at * 4 * lanes), (int32_t)lanes, (const float *)words + at,
                         s->words, 1, (int32_t)count, tort_part_count(s->words, at), 1);
}

static tort_status prepare_weights(tort_prepare *prepare) {
    const tort_cpu_device *device = prepare->device;
    const tort_conv_params *p = prepare->node->params;
    const shape s = shape_of(p, device->bytes);
    const int64_t size = s.channels * s.positions;
    const int8_t *weights = prepare->node->inputs[tort_qlinear_conv_inputs.w].data;
    uint8_t *packed = prepare->packed;
    int32_t *sums = (int32_t *)(void *)(packed + s.words * s.filters * 4), *turned = sums + s.filters;
    if (!weights) return tort_fail(prepare->error, TORT_E_INTERNAL, "the constant W has no data");
    const size_t bytes = (size_t)(s.words * s.tile * 4); /* cannot overflow: pack_size has checked a larger number */
    uint8_t *ordered = tort_alloc(prepare->env, bytes);
    if (!ordered) return tort_out_of_memory(prepare->error, bytes);
    for (int64_t first = 0; first < p->filters && tort_goes_on(prepare->watch, 0); first += s.tile) {
        const int64_t lanes = tort_min(s.tile, s.filters - first), count = tort_min(lanes, p->filters - first);
        uint8_t *tile = packed + first * s.words * 4;
        int32_t *order = order_of(&s, packed, first), safe = 0;
        pack_tile(prepare->watch, device->simd, &s, weights + first * size, lanes, count, ordered, tile);
        if (order) safe = order[0] = tort_order_words(device->bytes, tile, lanes, s.words, order + 1);
        sum_tile(tile, lanes, s.words, safe, sums + first, turned + first);
    }
    tort_free(prepare->env, ordered, bytes);
    return TORT_OK;
}

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *p = node->params;
    const int32_t w = tort_qlinear_conv_inputs.w;
    const tort_verdict verdict = tort_cpu_claim_window(target, p);
    if (verdict.code != TORT_YES) return verdict;
    if (p->group != 1) return tort_no(TORT_NO_SHAPE, "", "is for one group, here are %lld", (long long)p->group);
    if (!node->inputs[w].constant || node->inputs[w].type != TORT_INT8)
        return tort_no(TORT_NO_TYPE, "", "W must be constant, and int8");
    const int64_t positions = tort_sliding_positions(&p->window);
    if (positions < 1 || p->channels < 1) return tort_no(TORT_NO_SHAPE, "", "W has no elements");
    if (p->filters < MIN_FILTERS)
        return tort_no(TORT_NO_SHAPE, "", "is for %d filters and more, W has %lld", MIN_FILTERS, (long long)p->filters);
    if (p->channels > TORT_EXACT_PRODUCTS / positions)
        return tort_no(TORT_NO_SHAPE, "", "is for sums of at most %d products", TORT_EXACT_PRODUCTS);
    return tort_byte_claim(target, node, 0, w);
}

static tort_verdict claim_blocked(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *p = node->params;
    if (is_plain(p))
        return tort_no(TORT_NO_SHAPE, "", "is for %d channels and more, the input has %lld", TORT_LANES,
                       (long long)p->channels);
    return claim(target, node);
}

static tort_verdict claim_plain(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *p = node->params;
    if (!is_plain(p))
        return tort_no(TORT_NO_SHAPE, "", "is for fewer than %d channels, the input has %lld", TORT_LANES,
                       (long long)p->channels);
    return claim(target, node);
}

/* ---- the job ----------------------------------------------------------------------------------------------------- */

typedef struct conv_job {
    const tort_conv_params *params;
    const tort_cpu_device *device;
    shape shape;
    tort_bands bands;
    const tort_span *spans;
    int64_t *places; /* of each word of the spans; NULL: words of tiles have no order */
    const uint8_t *packed;
    const int32_t *bias;
    const float *factors;
    uint8_t *y, *buffers;
    tort_cpu_split split;          /* by rows, and by tiles of filters */
    int32_t zero_point, low, high; /* of y */
    int32_t x_zero;                /* as stored after any change of sign */
    /* Used by the slow path. */
    bool slow, has_zero_points; /* of W */
    const tort_tensor *w_zero;
    const int32_t *given_bias; /* NULL: none */
} conv_job;

/* Returns false on overflow. */
static bool start_job(conv_job *job, const tort_conv_params *p, const tort_bytes *bytes, tort_type x) {
    const shape s = shape_of(p, bytes);
    const tort_byte_sign sign = tort_byte_sign_of(bytes, x, false);
    const tort_band_source source = {.channels = p->channels,
                                     .element = 1,
                                     .lanes = s.together,
                                     .copied = s.together != TORT_LANES || sign.flip,
                                     .pixels = s.on_unit ? 2 * UNIT_GROUP : bytes->blocked_pixels,
                                     .at_once = BAND_BYTES};
    job->params = p;
    job->shape = s;
    if (!tort_bands_init(&job->bands, &p->window, &source)) return false;
    if (is_plain(p)) job->bands.image = (size_t)(p->channels * job->bands.shape.pixels);
    if (s.on_unit) {
        job->bands.image = (size_t)(tort_blocks(p->channels) * TORT_LANES * job->bands.shape.pixels);
        job->bands.buffer += UNIT_GROUP * MAX_UNIT_STRIDE * UNIT_CHANNELS; /* what the last group reads too much */
    }
    job->bands.flip = sign.flip;
    return true;
}

/* Reserves the parts of scratch in their order: spans, places, biases, factors, the threads' bands. */
static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_bytes *bytes = tort_bytes_choose(target->instructions);
    conv_job job = {0};
    size_t bands;
    *scratch = 0;
    if (start_job(&job, node->params, bytes, node->inputs[0].type) &&
        tort_cpu_reserve(scratch, (size_t)(job.bands.planes * job.shape.positions) * sizeof(tort_span)) &&
        tort_cpu_reserve(scratch, job.shape.ordered ? (size_t)job.shape.words * sizeof(int64_t) : 0) &&
        tort_cpu_reserve_floats(scratch, job.shape.filters) && tort_cpu_reserve_floats(scratch, job.shape.filters) &&
        tort_mul_size((uint64_t)job.bands.buffer, (uint64_t)target->threads, &bands) &&
        tort_cpu_reserve(scratch, bands))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

/* Copies words of four channels. Missing channels repeat the last one: their weights are 0. */
static void copy_words(const tort_bands *bands, const void *image, int64_t plane, int64_t pixel, int64_t count,
                       void *to) {
    const conv_job *job = bands->copy_arg;
    const uint8_t *rows[4];
    for (int64_t r = 0; r < 4; r++) {
        const int64_t channel = tort_min(4 * plane + r, bands->channels - 1);
        rows[r] = (const uint8_t *)image + channel * bands->shape.pixels + pixel;
    }
    job->device->simd->byte_words(to, rows, count, bands->flip);
}

/* Copies pixels of four blocks side by side; channels of missing blocks, whose weights are 0, keep what was there. */
static void copy_blocks(const tort_bands *bands, const void *image, int64_t plane, int64_t pixel, int64_t count,
                        void *to) {
    enum { BLOCKS = UNIT_CHANNELS / TORT_LANES };
    typedef uint64_t block __attribute__((vector_size(TORT_LANES), aligned(1), may_alias));
    const int64_t blocks = tort_min(BLOCKS, tort_blocks(bands->channels) - plane * BLOCKS);
    const uint64_t flip = bands->flip ? UINT64_C(0x8080808080808080) : 0;
    const block *from = (const block *)image + plane * BLOCKS * bands->shape.pixels + pixel;
    block *made = to;
    for (int64_t i = 0; i < count; i++, made += BLOCKS)
        for (int64_t b = 0; b < blocks; b++) made[b] = from[b * bands->shape.pixels + i] ^ flip;
}

/* ---- the slow way ------------------------------------------------------------------------------------------------ */

/* Returns the sum of all inputs that a pixel sees, less the zero point. */
static int64_t sum_pixels(const conv_job *job, const uint8_t *x) {
    const int64_t positions = job->shape.positions;
    const bool is_signed = job->device->bytes->all_signed;
    int64_t sum = 0;
    for (int64_t s = 0; s < job->bands.planes * positions; s++) {
        const int64_t left = job->shape.channels - s / positions * job->bands.lanes;
        const uint8_t *from = x + job->spans[s].offset;
        for (int64_t c = 0; c < tort_min(job->bands.lanes, left); c++)
            sum += (is_signed ? (int8_t)from[c] : from[c]) - job->x_zero;
    }
    return sum;
}

/* A bias that changes no result: beyond 2^30 it saturates anyway. f: a filter, or the number of a lane beyond. */
static int64_t usual_bias(const conv_job *job, int64_t f) {
    const int64_t given = job->given_bias && f < job->params->filters ? job->given_bias[f] : 0;
    return tort_min(tort_max(given, -(1 << 30)), 1 << 30);
}

/* True if float arithmetic does not requantize some of these filters exactly. */
static bool is_slow(const conv_job *job, int64_t first, int64_t count) {
    const int64_t there = tort_min(count, job->params->filters - first);
    return job->slow && (job->has_zero_points || !tort_byte_factors_exact(job->factors + first, there));
}

/* Requantizes the pixels of a tile for lane i of its filters, the first of which is `first`, from their sums. seen: of
 * each pixel, sum_pixels if W has zero points. */
static void finish_slowly(const conv_job *job, const tort_blocked_byte_tile *t, int64_t first, int64_t i,
                          const int64_t *seen) {
    const int64_t block = i / TORT_LANES, lane = i % TORT_LANES, f = first + i;
    const bool many = tort_count(job->w_zero) > 1;
    const int64_t zero = job->has_zero_points ? (int64_t)tort_cpu_number(job->w_zero, many ? f : 0) : 0;
    const tort_requantized r = {.bias = job->given_bias ? job->given_bias[f] : 0,
                                .factor = job->factors[f],
                                .zero_point = (float)t->zero_point,
                                .bounds = {(float)t->low, (float)t->high}};
    int32_t whole[MAX_PIXELS];
    uint8_t made[MAX_PIXELS];
    for (int32_t p = 0; p < t->pixels; p++) {
        const int64_t sum = t->sums[(block * t->pixels + p) * TORT_LANES + lane];
        whole[p] = (int32_t)(sum - usual_bias(job, f) - (zero ? zero * seen[p] : 0));
    }
    job->device->simd->requantize(&r, whole, made, t->pixels);
    for (int32_t p = 0; p < t->pixels; p++) t->y[block * t->y_block + p * TORT_LANES + lane] = made[p];
}

/* Makes a tile, then once more the filters that the usual way does not make exactly. */
static void make_slowly(const conv_job *job, const tort_blocked_byte_tile *tile, int64_t first) {
    int32_t sums[MAX_SUMS];
    int64_t seen[MAX_PIXELS];
    tort_blocked_byte_tile t = *tile;
    if (!job->has_zero_points) job->device->bytes->blocked_tile(tile);
    t.sums = sums;
    job->device->bytes->blocked_tile(&t);
    for (int32_t p = 0; p < t.pixels && job->has_zero_points; p++) seen[p] = sum_pixels(job, t.x + p * t.x_step);
    for (int64_t i = 0; i < tort_min(t.blocks * TORT_LANES, job->params->filters - first); i++)
        if (is_slow(job, first + i, 1)) finish_slowly(job, &t, first, i, seen);
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

/* Prefetches the weights of the next tile of filters, see ask_ahead of blocked_conv.c. */
static void ask_ahead(const conv_job *job, tort_blocked_byte_tile *t) {
    const int64_t asked = job->shape.words * TORT_LANES * 4, size = asked * t->blocks;
    if (t->later + asked - t->weights < 2 * size) t->later += asked;
}

/* Makes `pixels` pixels of a row, in tiles of about equal size. */
static void make_row(const conv_job *job, tort_blocked_byte_tile *t, int64_t pixels, int64_t first_filter) {
    const tort_bytes *bytes = job->device->bytes;
    const int64_t max = bytes->blocked_pixels, tiles = tort_quotient(pixels + max - 1, max);
    const int64_t size = tort_quotient(pixels, tiles), larger = pixels - size * tiles;
    const int64_t work = tort_work(bytes->blocked_pixels, t->blocks * TORT_LANES, job->shape.words * 4);
    const bool slow = is_slow(job, first_filter, t->blocks * TORT_LANES);
    for (int64_t i = 0; i < tiles; i++) {
        if (!tort_piece_goes_on(job->bands.call, i, work)) return;
        t->pixels = (int32_t)(size + (i < larger));
        if (slow)
            make_slowly(job, t, first_filter);
        else
            bytes->blocked_tile(t);
        ask_ahead(job, t);
        t->x += t->pixels * t->x_step;
        t->y += t->pixels * TORT_LANES;
    }
}

/* Makes all rows of a band for the tile of filters that begins at filter `filter`. */
static void make_band(const conv_job *job, const tort_band *b, int64_t filter) {
    const int64_t outputs = job->bands.shape.outputs, filters = job->shape.filters;
    const int64_t length = job->bands.row_length, words = job->shape.words * 4;
    const int64_t blocks = tort_min(job->shape.tile, filters - filter) / TORT_LANES;
    const uint8_t *weights = job->packed + filter * words;
    tort_blocked_byte_tile t = {.x_step = job->bands.shape.strides[2] * job->bands.lanes,
                                .spans = job->spans,
                                .span_count = job->bands.planes * job->shape.positions,
                                .weights = weights,
                                .later = weights + words * blocks * TORT_LANES,
                                .bias = job->bias + filter,
                                .factors = job->factors + filter,
                                .y_block = outputs * TORT_LANES,
                                .blocks = (int32_t)blocks,
                                .zero_point = job->zero_point,
                                .low = job->low,
                                .high = job->high};
    const int32_t *order = order_of(&job->shape, job->packed, filter);
    if (order && order[0]) {
        t.order = order + 1;
        t.places = job->places;
        t.words = job->shape.words;
        t.safe = order[0];
    }
    const int64_t together = job->bands.together, work = tort_work(together * length, blocks * TORT_LANES, words);
    int64_t count;
    for (int64_t row = 0; row < b->rows && tort_piece_goes_on(job->bands.call, tort_quotient(row, together), work);
         row += count) {
        count = tort_bands_together(&job->bands, b, row);
        t.x = (const uint8_t *)b->x + row * b->row_step;
        t.y = job->y + (b->n * filters + filter) * outputs + (b->row + row) * length * TORT_LANES;
        make_row(job, &t, count * length, filter);
    }
}

/* Makes all rows of a band for a tile of filters on a matrix unit. Its groups of pixels are taken from rows of `pitch`
 * places: those of the copied band, border and all, where rows of stride 1 follow one another without a gap; sums of
 * places that are no output are dropped. Otherwise each row begins a group. Example: of 7 x 7 outputs with a border of
 * 1, 7 rows of 9 places are 4 groups rather than 7. */
static void make_band_on_unit(const conv_job *job, const tort_band *b, int64_t filter) {
    const tort_bands *bands = &job->bands;
    const tort_bytes *bytes = job->device->bytes;
    const int64_t *strides = bands->shape.strides, columns = bands->band_columns, x_step = strides[2] * bands->lanes;
    const int64_t length = bands->flat ? b->rows : bands->row_length, rows = bands->flat ? 1 : b->rows;
    const int64_t whole = tort_round_up(length, UNIT_GROUP);
    const bool follow = strides[1] == 1 && strides[2] == 1 && columns < whole;
    const int64_t pitch = bands->flat ? length : follow ? columns : whole, places = (rows - 1) * pitch + length;
    const int64_t words = job->shape.words * 4, outputs = bands->shape.outputs;
    const int64_t work = tort_work(2 * UNIT_GROUP, job->shape.tile, words);
    const int32_t blocks = (int32_t)(tort_min(job->shape.tile, job->shape.filters - filter) / TORT_LANES);
    const int64_t first = bands->flat ? b->row : b->row * length;
    uint8_t *y = job->y + (b->n * job->shape.filters + filter) * outputs + first * TORT_LANES;
    _Alignas(64) int32_t sums[2 * UNIT_GROUP * TORT_MAX_COLUMNS];
    tort_unit_tile tile = {.x_step = x_step,
                           .spans = job->spans,
                           .span_count = bands->planes * job->shape.positions,
                           .weights = job->packed + filter * words,
                           .blocks = blocks,
                           .sums = sums};
    tort_blocked_byte_tile t = {.bias = job->bias + filter,
                                .factors = job->factors + filter,
                                .y_block = outputs * TORT_LANES,
                                .blocks = blocks,
                                .zero_point = job->zero_point,
                                .low = job->low,
                                .high = job->high};
    for (int64_t p = 0; p < places && tort_piece_goes_on(bands->call, p / (2 * UNIT_GROUP), work);
         p += 2 * UNIT_GROUP) {
        for (int64_t g = 0; g < 2; g++) {
            const int64_t at = p + g * UNIT_GROUP;
            tile.x[g] = (const uint8_t *)b->x + at / pitch * b->row_step + at % pitch * x_step;
        }
        if (p + UNIT_GROUP >= places) tile.x[1] = NULL;
        bytes->unit_tile(&tile);
        const int64_t end = tort_min(p + 2 * UNIT_GROUP, places);
        for (int64_t at = p; at < end;) {
            const int64_t row = at / pitch, column = at % pitch, count = tort_min(length - column, end - at);
            t.pixels = (int32_t)count;
            t.y = y + (row * length + column) * TORT_LANES;
            if (count > 0) bytes->blocked_finish(&t, sums + (at - p) * bytes->blocked_blocks * TORT_LANES);
            at = count > 0 && column + count < length ? at + count : (row + 1) * pitch;
        }
    }
}

static void conv_part(void *arg, int64_t begin, int64_t end) {
    const conv_job *job = arg;
    for (int64_t part = begin; part < end; part++) {
        uint8_t *buffer = job->buffers + part * job->bands.buffer;
        const bool on_unit = job->shape.on_unit && !job->slow;
        int64_t row, last, first, end_filter;
        tort_band b;
        if (on_unit) job->device->bytes->begin();
        tort_cpu_share(job->params->batch * job->bands.rows, 1, part % job->split.pixel_parts, job->split.pixel_parts,
                       &row, &last);
        tort_cpu_share(job->shape.filters, job->shape.tile, part / job->split.pixel_parts, job->split.filter_parts,
                       &first, &end_filter);
        for (; first < end_filter && tort_bands_next(&job->bands, row, last, buffer, &b); row += b.rows)
            for (int64_t filter = first; filter < end_filter && tort_call_goes_on(job->bands.call, 0);
                 filter += job->shape.tile)
                (on_unit ? make_band_on_unit : make_band)(job, &b, filter);
        if (on_unit) job->device->bytes->end();
    }
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* Folds the zero point into the bias, and what tiles lack, modulo 2^32 as the sums are. */
static void fill_bias(const conv_job *job, int32_t *to) {
    const int32_t *sums = (const int32_t *)(const void *)(job->packed + job->shape.words * job->shape.filters * 4);
    const int32_t *turned = sums + job->shape.filters;
    for (int64_t f = 0; f < job->shape.filters; f++) {
        const int64_t lacking = job->device->bytes->turned ? turned[f] : 0;
        to[f] = (int32_t)(uint32_t)(uint64_t)(usual_bias(job, f) + lacking - (int64_t)job->x_zero * sums[f]);
    }
}

static void take_operands(const tort_call *call, conv_job *job, float *factors, int32_t *biases) {
    const tort_tensor *bias = tort_call_input(call, 8);
    const bool is_signed = call->outputs[0].type == TORT_INT8;
    const tort_byte_sign sign = tort_byte_sign_of(job->device->bytes, call->inputs[0].type, false);
    job->packed = call->packed;
    job->x_zero = tort_byte_zero(tort_call_input(call, tort_qlinear_conv_inputs.x_zero), &sign);
    job->zero_point = (int32_t)tort_cpu_number(&call->inputs[7], 0);
    job->low = is_signed ? -128 : 0;
    job->high = is_signed ? 127 : 255;
    job->w_zero = &call->inputs[tort_qlinear_conv_inputs.w_zero];
    memset(factors, 0, (size_t)job->shape.filters * sizeof *factors);
    tort_byte_conv_factors(call, &tort_qlinear_conv_inputs, job->params->filters, factors);
    job->has_zero_points = !tort_byte_zeros_are_none(job->w_zero);
    job->slow = job->has_zero_points || !tort_byte_factors_exact(factors, job->params->filters);
    job->factors = factors;
    job->given_bias = bias ? bias->data : NULL;
    fill_bias(job, biases);
    job->bias = biases;
}

static void fill_places(const conv_job *job) {
    int64_t *place = job->places;
    for (int64_t s = 0; s < job->bands.planes * job->shape.positions; s++)
        for (int64_t i = 0; i < job->spans[s].count; i++) *place++ = job->spans[s].offset + 4 * i;
}

static tort_status run(const tort_call *call) {
    const tort_conv_params *p = call->params;
    conv_job job = {.device = call->device, .y = call->outputs[0].data};
    char *scratch = call->scratch;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    if (!start_job(&job, p, job.device->bytes, call->inputs[0].type)) return tort_out_of_memory(call->error, SIZE_MAX);
    tort_span *spans = tort_cpu_take(&scratch, (size_t)(job.bands.planes * job.shape.positions) * sizeof *spans);
    job.places = tort_cpu_take(&scratch, job.shape.ordered ? (size_t)job.shape.words * sizeof *job.places : 0);
    int32_t *biases = tort_cpu_take(&scratch, (size_t)job.shape.filters * sizeof *biases);
    float *factors = tort_cpu_take(&scratch, (size_t)job.shape.filters * sizeof *factors);
    tort_bands_spans(&job.bands, 4, spans);
    for (int64_t s = 0; job.shape.on_unit && s < job.bands.planes * job.shape.positions; s++)
        spans[s].count = UNIT_CHANNELS / 4;
    job.spans = spans;
    if (job.shape.ordered) fill_places(&job);
    take_operands(call, &job, factors, biases);
    job.buffers = (uint8_t *)scratch;
    job.bands.call = call;
    job.bands.x = call->inputs[0].data;
    job.bands.fill = (uint8_t)job.x_zero;
    if (job.shape.together != TORT_LANES) job.bands.copy = job.shape.on_unit ? copy_blocks : copy_words;
    job.bands.copy_arg = &job;
    const tort_cpu_products products = {.pixels = p->batch * job.bands.rows,
                                        .filters = (job.shape.filters + job.shape.tile - 1) / job.shape.tile,
                                        .pixel_cost = job.bands.copied ? 2 : 1,
                                        .filter_cost = TORT_WEIGHTS_COST / job.bands.row_length};
    job.split = tort_cpu_split_of(&products, job.device->threads);
    tort_cpu_parts(call, job.split.pixel_parts * job.split.filter_parts, conv_part, &job);
    return TORT_OK;
}

const tort_kernel tort_cpu_blocked_byte_conv[] = {
    {"", "QLinearConv", "qlinear_conv_blocked", .claim = claim_blocked, .size = size, .pack.size = pack_size,
     .pack.writes_all = true, .prepare = prepare_weights, .run = run,
     .layout = {TORT_BLOCKED, .inputs = 1, .outputs = 1}},
    {"", "QLinearConv", "qlinear_conv_blocked_first", .claim = claim_plain, .size = size, .pack.size = pack_size,
     .pack.writes_all = true, .prepare = prepare_weights, .run = run, .layout = {TORT_BLOCKED, .outputs = 1}},
    {.op = NULL},
};
