/* blocked_transpose.c - ConvTranspose in fp32 over blocks of channels (blocked.h), as several convolutions of
 * stride 1.
 *
 * A phase is the set of outputs whose positions are equal modulo the strides: all of them see the input through the
 * same kernel positions, the taps of the phase. Within a phase, place p sees input element p + constant through a tap,
 * as in a convolution of stride 1. So the tiles of convolutions make the places of a phase, each output is written
 * once, and no scatter-add is needed.
 * Cost: that of a convolution; no product with an inserted zero is made.
 * Example: stride 2, kernel 4, one axis: even outputs see two taps and odd outputs the other two.
 *
 * A band of rows is copied first where taps reach beyond the input: rows of zeros are then above and below it, and
 * zeros between its rows. All rows of a band are one row to the tiles; results that fall on the zeros between rows are
 * dropped.
 * Read next: simd/blocked.c, blocked_conv.c. */
#include "kernels/cpu/blocked.h"
#include "kernels/cpu/conv.h"
#include "kernels/cpu/pieces.h"

#include <math.h>
#include <string.h>

#define BAND_FLOATS 65536 /* floats of input per band: half of an L2 cache of 512 KiB */
#define MIN_FILTERS 8     /* fewer would leave most of a vector idle */
#define MAX_STRIDE 16     /* along an axis: more would make phases with hardly any work */
#define MAX_WASTE 2       /* places per input element: with windows larger than the input, most see only zeros */
#define MAX_TILE 448      /* floats of a tile of outputs, upper bound over all instruction sets */

/* ---- phases ------------------------------------------------------------------------------------------------------ */

/* A phase along each axis: its first output and number of places; its first tap, the step from a tap to the next,
 * and the number of taps. */
typedef struct phase {
    int64_t first[3], places[3];
    int64_t first_tap[3], tap_step[3], tap_count[3];
    int64_t taps; /* product over all axes */
} phase;

static int64_t phases_of(const tort_blocked_shape *s) {
    return s->strides[0] * s->strides[1] * s->strides[2];
}

/* Returns the first output that taps of a residue add to: input element i adds to output i * stride + position *
 * dilation - begin. */
static int64_t first_output(const tort_blocked_shape *s, int axis, int64_t residue) {
    const int64_t stride = s->strides[axis], shift = (residue - s->begin[axis]) % stride;
    return shift < 0 ? shift + stride : shift;
}

static int64_t places_along(const tort_blocked_shape *s, int axis, int64_t first) {
    return first < s->output[axis] ? (s->output[axis] - first + s->strides[axis] - 1) / s->strides[axis] : 0;
}

/* Returns phase `number`. Phases are numbered by position * dilation modulo the strides, which does not depend on
 * the input's size, so weights can be packed before it is known. */
static phase phase_at(const tort_blocked_shape *s, int64_t number) {
    phase made = {.taps = 1};
    for (int i = 2; i >= 0; i--) {
        const int64_t stride = s->strides[i], residue = number % stride;
        int64_t k = 0, step = 1;
        while (k < s->kernel[i] && k * s->dilations[i] % stride != residue) k++;
        while (step * s->dilations[i] % stride != 0) step++;
        made.first[i] = first_output(s, i, residue);
        made.places[i] = places_along(s, i, made.first[i]);
        made.first_tap[i] = k;
        made.tap_step[i] = step;
        made.tap_count[i] = (s->kernel[i] - k + step - 1) / step;
        made.taps *= made.tap_count[i];
        number /= stride;
    }
    return made;
}

/* Returns the kernel position of a tap along each axis. */
static void tap_at(const phase *of, int64_t number, int64_t *position) {
    for (int i = 2; i >= 0; i--) {
        position[i] = of->first_tap[i] + number % of->tap_count[i] * of->tap_step[i];
        number /= of->tap_count[i];
    }
}

/* Returns the input element that place 0 sees through kernel position k; negative: before the input. */
static int64_t seen_through(const tort_blocked_shape *s, int axis, int64_t k) {
    const int64_t shift = k * s->dilations[axis];
    return (first_output(s, axis, shift % s->strides[axis]) + s->begin[axis] - shift) / s->strides[axis];
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

static int64_t channels_of(const tort_conv_params *p) {
    return p->channels / p->group;
}

/* Returns the filters of a group, rounded up to whole blocks. */
static int64_t whole_filters(const tort_conv_params *p) {
    return tort_blocks(p->filters / p->group) * TORT_LANES;
}

static int64_t tile_filters(const tort_simd *simd, const tort_conv_params *p) {
    return tort_min(whole_filters(p), TORT_LANES * simd->blocked_blocks);
}

/* Packs a phase's taps of one channel, `step` floats apart. */
static void pack_taps(const tort_blocked_shape *s, const phase *of, const float *weights, int64_t count, int64_t step,
                      float *packed) {
    for (int64_t i = 0; i < of->tap_count[0]; i++)
        for (int64_t j = 0; j < of->tap_count[1]; j++)
            for (int64_t k = 0; k < of->tap_count[2]; k++, packed += step) {
                const int64_t row =
                    (of->first_tap[0] + i * of->tap_step[0]) * s->kernel[1] + of->first_tap[1] + j * of->tap_step[1];
                const float *from = weights + row * s->kernel[2] + of->first_tap[2] + k * of->tap_step[2];
                for (int64_t f = 0; f < count; f++) packed[f] = from[f * s->positions];
            }
}

/* Packs one phase of a tile of `lanes` filters, of which `count` exist: [block of channels][tap][channel][filter].
 * The outer loop is over channels, which are far apart in W, while the filters of a channel are close together. */
static void pack_phase(struct tort_watch *watch, const tort_blocked_shape *s, const phase *of, const float *weights,
                       int64_t channel_stride, int64_t channels, int64_t lanes, int64_t count, float *packed) {
    int64_t done = 0;
    for (int64_t c = 0; c < channels && tort_work_goes_on(watch, &done, of->taps * lanes);
         c++, weights += channel_stride) {
        const int64_t block = c / TORT_LANES * TORT_LANES, together = tort_min(TORT_LANES, channels - block);
        pack_taps(s, of, weights, count, together * lanes, packed + (block * of->taps + c - block) * lanes);
    }
}

/* Packs [group][tile of filters][phase]; filters beyond the group's last stay 0. */
static void pack_weights(struct tort_watch *watch, const tort_simd *simd, const tort_conv_params *p,
                         const float *weights, float *packed) {
    const int64_t filters = p->filters / p->group, channels = channels_of(p), step = tile_filters(simd, p);
    tort_blocked_shape s;
    tort_blocked_shape_init(&s, &p->window);
    const int64_t channel_stride = filters * s.positions;
    for (int64_t g = 0; g < p->group; g++, weights += channels * channel_stride)
        for (int64_t f = 0; f < filters && tort_goes_on(watch, 0); f += step) {
            const int64_t lanes = tort_min(step, whole_filters(p) - f), count = tort_min(lanes, filters - f);
            for (int64_t number = 0; number < phases_of(&s); number++) {
                const phase of = phase_at(&s, number);
                pack_phase(watch, &s, &of, weights + f * s.positions, channel_stride, channels, lanes, count, packed);
                packed += channels * of.taps * lanes;
            }
        }
}

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

static tort_status prepare(tort_prepare *prepare) {
    const tort_cpu_device *device = prepare->device;
    const tort_info *weights = &prepare->node->inputs[1];
    if (!weights->data) return tort_fail(prepare->error, TORT_E_INTERNAL, "the constant W has no data");
    pack_weights(prepare->watch, device->simd, prepare->node->params, weights->data, prepare->packed);
    return TORT_OK;
}

/* ---- claim ------------------------------------------------------------------------------------------------------- */

/* True if most places see the input, as far as sizes are known. */
static bool is_dense(const tort_sliding *window) {
    double inputs = 1, places = 1;
    for (int32_t i = 0; i < window->axes; i++) {
        if (window->input[i] < 0 || window->output[i] < 0) return true;
        inputs *= (double)window->input[i];
        places *= (double)((window->output[i] + window->strides[i] - 1) / window->strides[i]);
    }
    return places <= MAX_WASTE * inputs;
}

static tort_verdict claim_sizes(const tort_conv_params *p) {
    const int64_t channels = p->channels / tort_max(1, p->group), filters = p->filters / tort_max(1, p->group);
    if (tort_sliding_positions(&p->window) < 1) return tort_no(TORT_NO_SHAPE, "", "W has no elements");
    if (p->channels < TORT_LANES || p->filters < MIN_FILTERS)
        return tort_no(TORT_NO_SHAPE, "", "is for %d channels and %d filters and more, W has %lld and %lld", TORT_LANES,
                       MIN_FILTERS, (long long)p->channels, (long long)p->filters);
    if (p->group != 1 && (channels % TORT_LANES != 0 || filters % TORT_LANES != 0))
        return tort_no(TORT_NO_SHAPE, "", "groups of %lld channels and %lld filters are not blocks of %d",
                       (long long)channels, (long long)filters, TORT_LANES);
    for (int32_t i = 0; i < p->window.axes; i++)
        if (p->window.strides[i] > MAX_STRIDE || tort_sliding_extent(&p->window, i) > MAX_STRIDE * MAX_STRIDE)
            return tort_no(TORT_NO_SHAPE, "", "is for strides of at most %d and windows of at most %d", MAX_STRIDE,
                           MAX_STRIDE * MAX_STRIDE);
    if (!is_dense(&p->window)) return tort_no(TORT_NO_SHAPE, "", "most outputs see no input, but through some taps");
    return tort_yes();
}

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *p = node->params;
    tort_verdict verdict = tort_cpu_claim_window(target, p);
    if (verdict.code == TORT_YES) verdict = claim_sizes(p);
    if (verdict.code == TORT_YES && !node->inputs[1].constant)
        verdict = tort_no(TORT_NO_DYNAMIC, "", "W is not a constant, so it cannot be packed ahead");
    return verdict.code == TORT_YES ? tort_cpu_claim_float(target, node) : verdict;
}

/* ---- the job ----------------------------------------------------------------------------------------------------- */

typedef struct transpose_job {
    const tort_call *call;
    const tort_conv_params *params;
    const tort_simd *simd;
    tort_blocked_shape shape;
    int64_t grid[3];    /* places of the largest phase, along each axis */
    int64_t low[3];     /* first input element that place 0 of any phase sees */
    int64_t reach[3];   /* how far behind `low` another tap of place 0 sees, at most */
    bool padded;        /* some place sees beyond the input */
    int64_t lead;       /* zero pixels before the first row of a copied band */
    int64_t row_pixels; /* pixels from a row of the source (copied band or input) to the next, with the zeros between */
    int64_t slice, plane; /* floats from a slice to the next, from a block to the next */
    int64_t planes;       /* blocks of the input */
    int64_t band;         /* rows of places made together */
    const tort_span *spans;
    const float *x, *packed, *bias;
    float *y, *buffers;
    size_t buffer_floats;
    tort_cpu_split split; /* by rows, and by tiles of filters */
    int64_t group_tiles;  /* tiles of filters per group */
} transpose_job;

/* Sets grid, low, reach, lead and padded; returns the zero pixels needed between two rows. */
static int64_t see_input(transpose_job *job) {
    const tort_blocked_shape *s = &job->shape;
    int64_t before = 0, behind = 0;
    for (int i = 0; i < 3; i++) {
        int64_t high = job->low[i] = seen_through(s, i, 0), last = INT64_MIN;
        for (int64_t k = 0; k < s->kernel[i]; k++) {
            const int64_t seen = seen_through(s, i, k);
            const int64_t first = first_output(s, i, k * s->dilations[i] % s->strides[i]);
            job->low[i] = tort_min(job->low[i], seen);
            high = tort_max(high, seen);
            last = tort_max(last, seen + places_along(s, i, first) - 1);
        }
        job->grid[i] = places_along(s, i, 0);
        job->reach[i] = high - job->low[i];
        before = tort_max(0, -job->low[i]);
        behind = tort_max(0, last - s->input[i] + 1);
        job->padded = job->padded || before > 0 || behind > 0;
    }
    job->lead = before;
    return tort_max(before, behind);
}

/* Returns the floats of a band of `rows` rows of places; -1: overflow. */
static int64_t band_floats(const transpose_job *job, int64_t rows) {
    const int64_t slices = job->padded ? job->reach[0] + 1 : 1;
    int64_t size;
    if (__builtin_mul_overflow(rows + job->reach[1], job->row_pixels, &size) ||
        __builtin_mul_overflow(size, slices, &size) || __builtin_add_overflow(size, job->lead, &size) ||
        __builtin_mul_overflow(size, job->planes * TORT_LANES, &size))
        return -1;
    return size;
}

/* Returns false on overflow. */
static bool start_job(transpose_job *job, const tort_conv_params *p, const tort_simd *simd) {
    const tort_blocked_shape *s = &job->shape;
    job->params = p;
    job->simd = simd;
    tort_blocked_shape_init(&job->shape, &p->window);
    const int64_t zeros = see_input(job);
    job->planes = tort_blocks(p->channels);
    job->group_tiles = (whole_filters(p) + tile_filters(simd, p) - 1) / tile_filters(simd, p);
    job->row_pixels = s->input[2] + (job->padded ? zeros : 0);
    if (!job->padded) job->lead = 0;
    job->band = tort_max(1, job->grid[1]);
    while (job->band > 1 && (band_floats(job, job->band) < 0 || band_floats(job, job->band) > BAND_FLOATS))
        job->band = (job->band + 1) / 2;
    const int64_t size = band_floats(job, job->band);
    if (size < 0) return false;
    job->slice = (job->padded ? job->band + job->reach[1] : s->input[1]) * job->row_pixels * TORT_LANES;
    job->plane = job->padded ? size / job->planes : s->input[0] * job->slice;
    job->buffer_floats = job->padded ? (size_t)size : 0;
    return true;
}

static int64_t bias_floats(const tort_conv_params *p) {
    return p->group * whole_filters(p);
}

static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    transpose_job job = {0};
    int64_t floats;
    *scratch = 0;
    if (start_job(&job, node->params, tort_simd_choose(target->instructions)) &&
        tort_cpu_reserve_floats(scratch, bias_floats(node->params)) &&
        tort_cpu_reserve(scratch, (size_t)(job.planes * job.shape.positions) * sizeof(tort_span)) &&
        !__builtin_mul_overflow((int64_t)job.buffer_floats, (int64_t)target->threads, &floats) &&
        tort_cpu_reserve_floats(scratch, floats))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

/* Fills the spans of all taps of a phase: [plane][tap]. */
static tort_span *fill_spans(const transpose_job *job, const phase *of, tort_span *span) {
    const tort_blocked_shape *s = &job->shape;
    const int64_t first_slice = job->padded ? job->low[0] : 0, first_row = job->padded ? job->low[1] : 0;
    for (int64_t i = 0; i < job->planes * of->taps; i++) {
        const int64_t plane = i / of->taps;
        int64_t k[3];
        tap_at(of, i % of->taps, k);
        const int64_t slice = seen_through(s, 0, k[0]) - first_slice, row = seen_through(s, 1, k[1]) - first_row;
        const int64_t pixel = row * job->row_pixels + seen_through(s, 2, k[2]) + job->lead;
        *span++ = (tort_span){.offset = plane * job->plane + slice * job->slice + pixel * TORT_LANES,
                              .count = tort_min(TORT_LANES, job->params->channels - plane * TORT_LANES)};
    }
    return span;
}

/* ---- bands ------------------------------------------------------------------------------------------------------- */

/* A band: rows of places, all of one slice of places of an image. */
typedef struct band {
    int64_t n, depth, row, rows;
    const float *x; /* origin of the spans for the first place */
} band;

/* Copies the input under a band, with zeros where there is none. */
static void copy_band(const transpose_job *job, const band *b, float *buffer) {
    const tort_blocked_shape *s = &job->shape;
    const size_t pixel = TORT_LANES * sizeof *buffer, inside = (size_t)s->input[2] * pixel;
    const size_t row_bytes = (size_t)job->row_pixels * pixel;
    const int64_t work = tort_work(job->plane, 4, 1);
    for (int64_t plane = 0; plane < job->planes && tort_piece_goes_on(job->call, plane, work); plane++) {
        float *to = buffer + plane * job->plane;
        memset(to, 0, (size_t)job->lead * pixel);
        to += job->lead * TORT_LANES;
        for (int64_t d = b->depth + job->low[0]; d <= b->depth + job->low[0] + job->reach[0]; d++)
            for (int64_t i = 0; i < job->band + job->reach[1]; i++, to += job->row_pixels * TORT_LANES) {
                const int64_t h = b->row + job->low[1] + i, image = b->n * job->planes + plane;
                const bool there = d >= 0 && d < s->input[0] && h >= 0 && h < s->input[1];
                const float *from = job->x + ((image * s->input[0] + d) * s->input[1] + h) * s->input[2] * TORT_LANES;
                if (there) memcpy(to, from, inside);
                memset((char *)to + (there ? inside : 0), 0, row_bytes - (there ? inside : 0));
            }
    }
}

/* Finds the next band from row `at` of all images on, not beyond `last`; false if there is none, or the run
 * has ended. */
static bool next_band(const transpose_job *job, int64_t at, int64_t last, float *buffer, band *b) {
    const int64_t rows = job->grid[1], slices = job->grid[0];
    if (at >= last || !tort_call_goes_on(job->call, 0)) return false;
    *b = (band){.n = at / rows / slices, .depth = at / rows % slices, .row = at % rows};
    b->rows = tort_min(tort_min(job->band, rows - b->row), last - at);
    if (job->padded) {
        copy_band(job, b, buffer);
        b->x = buffer;
    } else {
        b->x = job->x + b->n * job->planes * job->plane + b->depth * job->slice + b->row * job->row_pixels * TORT_LANES;
    }
    return true;
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

/* Scatters a tile, places of a phase from the band's place `at` on, to its outputs. y: of the first block of
 * filters. */
static void place_outputs(const transpose_job *job, const band *b, const phase *of, const tort_blocked_tile *tile,
                          int64_t at, float *y) {
    const tort_blocked_shape *s = &job->shape;
    const int64_t d = of->first[0] + b->depth * s->strides[0];
    int64_t row = at / job->row_pixels, column = at % job->row_pixels;
    for (int32_t i = 0; i < tile->pixels; i++, column++) {
        if (column == job->row_pixels) row++, column = 0;
        if (column >= of->places[2]) continue;
        const int64_t h = of->first[1] + (b->row + row) * s->strides[1], w = of->first[2] + column * s->strides[2];
        float *to = y + ((d * s->output[1] + h) * s->output[2] + w) * TORT_LANES;
        for (int32_t block = 0; block < tile->blocks; block++)
            memcpy(to + block * s->outputs * TORT_LANES, tile->y + block * tile->y_block + i * TORT_LANES,
                   TORT_LANES * sizeof *to);
    }
}

/* Makes all places of a band in one phase, in tiles of about equal size. */
static void make_phase(const transpose_job *job, const band *b, const phase *of, tort_blocked_tile *tile, float *y) {
    const int64_t rows = tort_min(b->rows, of->places[1] - b->row);
    if (b->depth >= of->places[0] || rows <= 0 || of->places[2] == 0) return;
    const int64_t pixels = (rows - 1) * job->row_pixels + of->places[2];
    const int64_t tiles = (pixels + job->simd->blocked_pixels - 1) / job->simd->blocked_pixels;
    const float *next = tile->later;
    const int64_t asked = (next - tile->weights) / tile->blocks;
    const int64_t work =
        tort_work(job->simd->blocked_pixels, tile->blocks * TORT_LANES, channels_of(job->params) * of->taps);
    for (int64_t i = 0, at = 0; i < tiles && tort_piece_goes_on(job->call, i, work); i++, at += tile->pixels) {
        tile->pixels = (int32_t)(pixels / tiles + (i < pixels % tiles));
        tile->later = next + tort_min(i, tile->blocks - 1) * asked;
        tile->x = b->x + at * TORT_LANES;
        tort_blocked_pixels(job->call, job->simd, tile);
        place_outputs(job, b, of, tile, at, y);
    }
}

/* Makes all phases of a band for one tile of filters. */
static void make_band(const transpose_job *job, const band *b, int64_t number) {
    const tort_conv_params *p = job->params;
    const int64_t group = number / job->group_tiles, channels = channels_of(p), planes = tort_blocks(channels);
    const int64_t first = number % job->group_tiles * tile_filters(job->simd, p), phases = phases_of(&job->shape);
    const int64_t filter = group * whole_filters(p) + first;
    const int64_t lanes = tort_min(tile_filters(job->simd, p), whole_filters(p) - first);
    const tort_span *spans = job->spans;
    float outputs[MAX_TILE];
    float *y = job->y + (b->n * tort_blocks(p->filters) * TORT_LANES + filter) * job->shape.outputs;
    tort_blocked_tile tile = {.x_step = TORT_LANES,
                              .weights = job->packed + filter * channels * job->shape.positions,
                              .bias = job->bias + filter,
                              .y = outputs,
                              .y_block = job->simd->blocked_pixels * TORT_LANES,
                              .blocks = (int32_t)(lanes / TORT_LANES),
                              .bounds = {-INFINITY, INFINITY}};
    for (int64_t i = 0; i < phases && tort_call_goes_on(job->call, 0); i++) {
        const phase of = phase_at(&job->shape, i);
        tile.spans = spans + group * planes * of.taps;
        tile.span_count = planes * of.taps;
        const float *next = tile.weights + channels * of.taps * lanes;
        tile.later = next;
        make_phase(job, b, &of, &tile, y);
        tile.weights = next;
        spans += job->planes * of.taps;
    }
}

static void transpose_part(void *arg, int64_t begin, int64_t end) {
    const transpose_job *job = arg;
    const tort_conv_params *p = job->params;
    for (int64_t part = begin; part < end; part++) {
        float *buffer = job->buffers + (size_t)part * job->buffer_floats;
        int64_t row, last, tile_first, tile_last;
        band b;
        tort_cpu_share(p->batch * job->grid[0] * job->grid[1], 1, part % job->split.pixel_parts, job->split.pixel_parts,
                       &row, &last);
        tort_cpu_share(p->group * job->group_tiles, 1, part / job->split.pixel_parts, job->split.filter_parts,
                       &tile_first, &tile_last);
        for (; tile_first < tile_last && next_band(job, row, last, buffer, &b); row += b.rows)
            for (int64_t tile = tile_first; tile < tile_last && tort_call_goes_on(job->call, 0); tile++)
                make_band(job, &b, tile);
    }
}

static tort_status run(const tort_call *call) {
    const tort_conv_params *p = call->params;
    const tort_cpu_device *device = call->device;
    const tort_tensor *bias = tort_call_input(call, 2);
    transpose_job job = {.call = call, .x = call->inputs[0].data, .y = call->outputs[0].data, .packed = call->packed};
    char *scratch = call->scratch;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    if (!start_job(&job, p, device->simd)) return tort_out_of_memory(call->error, SIZE_MAX);
    float *biases = tort_cpu_take(&scratch, (size_t)bias_floats(p) * sizeof(float));
    memset(biases, 0, (size_t)bias_floats(p) * sizeof *biases);
    if (bias) memcpy(biases, bias->data, (size_t)p->filters * sizeof *biases);
    job.bias = biases;
    tort_span *spans = tort_cpu_take(&scratch, (size_t)(job.planes * job.shape.positions) * sizeof *spans);
    job.spans = spans;
    for (int64_t i = 0; i < phases_of(&job.shape); i++) {
        const phase of = phase_at(&job.shape, i);
        spans = fill_spans(&job, &of, spans);
    }
    job.buffers = (float *)scratch;
    const tort_cpu_products products = {.pixels = p->batch * job.grid[0] * job.grid[1],
                                        .filters = p->group * job.group_tiles};
    job.split = tort_cpu_split_of(&products, device->threads);
    tort_cpu_parts(call, job.split.pixel_parts * job.split.filter_parts, transpose_part, &job);
    return TORT_OK;
}

const tort_kernel tort_cpu_blocked_transpose[] = {
    {"", "ConvTranspose", "conv_transpose_blocked", .claim = claim, .size = size, .pack.size = pack_size,
     .prepare = prepare, .run = run, .layout = {TORT_BLOCKED, .inputs = 1, .outputs = 1}},
    {.op = NULL},
};
