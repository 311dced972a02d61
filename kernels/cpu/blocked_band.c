/* blocked_band.c - chooses the size of bands (blocked_band.h), and copies them. */
#include "kernels/cpu/blocked_band.h"
#include "kernels/cpu/pieces.h"

#include <string.h>

#define FLAT_TILES 4     /* tiles of pixels per long row of a flat source */
#define WORTH_A_CUT 2048 /* channels * kernel positions: fewer weights stay in the cache from row to row */
#define CUT 144          /* of these in a band: 18 KiB of weights for 32 filters */

static bool is_flat(const tort_blocked_shape *s) {
    bool flat = !s->padded;
    for (int i = 0; i < 3; i++) flat = flat && s->kernel[i] == 1 && s->strides[i] == 1;
    return flat;
}

/* Returns the rows of the input that `rows` rows of outputs see. */
static int64_t rows_under(const tort_blocked_shape *s, int64_t rows) {
    return (rows - 1) * s->strides[1] + (s->kernel[1] - 1) * s->dilations[1] + 1;
}

/* Sets the rows of outputs. An empty picture is laid out as if it had one output; nothing runs then. */
static void set_rows(tort_bands *b, int64_t pixels) {
    const tort_blocked_shape *s = &b->shape;
    const int64_t columns = tort_max(1, s->output[2]);
    if (b->flat) {
        b->row_length = 1;
        b->together = FLAT_TILES * pixels;
        b->rows = s->outputs;
        b->band_columns = 1;
    } else {
        b->together = 1;
        b->row_length = s->output[2];
        b->rows = s->output[0] * s->output[1];
        b->band_columns = (columns - 1) * s->strides[2] + (s->kernel[2] - 1) * s->dilations[2] + 1;
    }
}

/* Returns the planes whose weights, for a tile of filters, stay in the L1 cache while all rows of the band pass by. */
static int64_t planes_at_once(const tort_bands *b) {
    const int64_t weights = b->lanes * b->shape.positions;
    if (b->planes * weights < WORTH_A_CUT) return b->planes;
    return tort_min(b->planes, tort_max(1, CUT / weights));
}

static bool set_band(tort_bands *b, const tort_band_source *source) {
    const tort_blocked_shape *s = &b->shape;
    const int64_t at_once = source->at_once, depth = b->copied ? s->kernel[0] : 1;
    const int64_t whole = tort_max(1, b->flat ? b->rows : s->output[1]);
    int64_t row;
    if (__builtin_mul_overflow(b->band_columns, b->planes * b->lanes * depth, &row) ||
        row > INT64_MAX / 64 / (rows_under(s, whole) + 1))
        return false;
    if (source->cut) b->planes_at_once = planes_at_once(b);
    row = row / tort_max(1, b->planes) * b->planes_at_once;
    const int64_t extra = rows_under(s, 1) - s->strides[1];
    b->band = (at_once / tort_max(1, row) - extra) / s->strides[1];
    b->band = tort_max(b->together, b->band / b->together * b->together);
    b->band = tort_min(b->band, whole);
    b->band_rows = rows_under(s, b->band);
    return true;
}

bool tort_bands_init(tort_bands *b, const tort_sliding *window, const tort_band_source *source) {
    *b = (tort_bands){.channels = source->channels,
                      .element = source->element,
                      .lanes = source->lanes,
                      .planes = (source->channels + source->lanes - 1) / source->lanes};
    b->planes_at_once = b->planes;
    tort_blocked_shape_init(&b->shape, window);
    b->flat = is_flat(&b->shape);
    b->copied = source->copied || b->shape.padded;
    set_rows(b, source->pixels);
    if (!set_band(b, source)) return false;
    const tort_blocked_shape *s = &b->shape;
    b->pitch = (b->copied ? b->band_columns : s->input[2]) * b->lanes;
    b->slice = (b->copied ? b->band_rows : s->input[1]) * b->pitch;
    b->plane = (b->copied ? s->kernel[0] : s->input[0]) * b->slice;
    b->buffer = b->copied ? tort_round_up(b->planes_at_once * b->plane, 64) : 0;
    b->image = (size_t)(b->planes * b->lanes * s->pixels) * b->element;
    return true;
}

void tort_bands_spans(const tort_bands *b, int64_t unit, tort_span *span) {
    const tort_blocked_shape *s = &b->shape;
    const int64_t slices = b->copied ? 1 : s->dilations[0];
    for (int64_t plane = 0; plane < b->planes; plane++)
        for (int64_t d = 0; d < s->kernel[0]; d++)
            for (int64_t h = 0; h < s->kernel[1]; h++)
                for (int64_t w = 0; w < s->kernel[2]; w++) {
                    const int64_t left = tort_min(b->lanes, b->channels - plane * b->lanes);
                    const int64_t place = b->copied ? plane % b->planes_at_once : plane;
                    *span++ = (tort_span){.offset = place * b->plane + d * slices * b->slice +
                                                    h * s->dilations[1] * b->pitch + w * s->dilations[2] * b->lanes,
                                          .count = (left + unit - 1) / unit};
                }
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static void copy_pixels(const tort_bands *b, const void *image, int64_t plane, int64_t pixel, int64_t count,
                        uint8_t *to) {
    if (b->copy) {
        b->copy(b, image, plane, pixel, count, to);
        return;
    }
    const size_t step = (size_t)b->lanes * b->element, bytes = (size_t)count * step;
    const uint8_t *from = (const uint8_t *)image + (size_t)(plane * b->shape.pixels + pixel) * step;
    if (b->flip)
        for (size_t i = 0; i < bytes; i++) to[i] = from[i] ^ b->flip;
    else
        memcpy(to, from, bytes);
}

/* Copies a row of the input from pixel number `pixel` on, with padding around it. */
static void copy_row(const tort_bands *b, const void *image, int64_t plane, int64_t pixel, uint8_t *to) {
    const int64_t width = b->band_columns, begin = tort_min(b->shape.begin[2], width);
    const int64_t inside = tort_max(0, tort_min(b->shape.input[2], width - begin));
    const size_t step = (size_t)b->lanes * b->element;
    memset(to, b->fill, (size_t)begin * step);
    copy_pixels(b, image, plane, pixel, inside, to + (size_t)begin * step);
    memset(to + (size_t)(begin + inside) * step, b->fill, (size_t)(width - begin - inside) * step);
}

/* Copies the rows seen by outputs of slice d from row h on. */
static void copy_rows(const tort_bands *b, const tort_band *band, const void *image, int64_t d, int64_t h,
                      uint8_t *buffer) {
    const tort_blocked_shape *s = &b->shape;
    const int64_t top = h * s->strides[1] - s->begin[1], count = rows_under(s, band->rows);
    const size_t pitch = (size_t)b->pitch * b->element;
    const int64_t work = tort_work(b->pitch, 4, 1);
    int64_t copied = 0;
    for (int64_t plane = 0; plane < band->planes; plane++)
        for (int64_t k = 0; k < s->kernel[0]; k++) {
            const int64_t depth = d * s->strides[0] - s->begin[0] + k * s->dilations[0];
            uint8_t *to = buffer + (size_t)(plane * b->plane + k * b->slice) * b->element;
            for (int64_t i = 0; i < count; i++, to += pitch) {
                const int64_t row = top + i;
                if (!tort_piece_goes_on(b->call, copied++, work)) return;
                if (depth >= 0 && depth < s->input[0] && row >= 0 && row < s->input[1])
                    copy_row(b, image, band->first_plane + plane, (depth * s->input[1] + row) * s->input[2], to);
                else
                    memset(to, b->fill, pitch);
            }
        }
}

/* Fills the copy of a band's planes. */
static void copy_band(const tort_bands *b, const tort_band *band, void *buffer) {
    const int64_t d = b->flat ? 0 : band->row / b->shape.output[1], h = b->flat ? 0 : band->row % b->shape.output[1];
    const uint8_t *image = (const uint8_t *)b->x + (size_t)band->n * b->image;
    if (!b->flat) {
        copy_rows(b, band, image, d, h, buffer);
        return;
    }
    for (int64_t plane = 0; plane < band->planes; plane++) /* pixels are in their order already */
        copy_pixels(b, image, band->first_plane + plane, band->row, band->rows,
                    (uint8_t *)buffer + (size_t)(plane * b->plane) * b->element);
}

/* Returns the elements from the start of an image to the first window of row `row` of outputs. */
static int64_t first_window(const tort_bands *b, int64_t row) {
    const tort_blocked_shape *s = &b->shape;
    if (b->flat) return row * b->lanes;
    return row / s->output[1] * s->strides[0] * b->slice + row % s->output[1] * s->strides[1] * b->pitch;
}

bool tort_bands_next(const tort_bands *b, int64_t at, int64_t last, void *buffer, tort_band *band) {
    if (at >= last || !tort_call_goes_on(b->call, 0)) return false;
    *band = (tort_band){.n = at / b->rows, .row = at % b->rows, .planes = b->planes_at_once};
    const int64_t of_slice = b->flat ? b->rows : b->shape.output[1];
    band->rows = tort_min(tort_min(b->band, of_slice - band->row % of_slice), last - at);
    band->row_step = b->flat ? b->lanes : b->shape.strides[1] * b->pitch;
    band->x = buffer;
    if (b->copied)
        copy_band(b, band, buffer);
    else
        band->x = (const uint8_t *)b->x + (size_t)band->n * b->image + (size_t)first_window(b, band->row) * b->element;
    return true;
}

bool tort_bands_next_planes(const tort_bands *b, void *buffer, tort_band *band) {
    band->first_plane += band->planes;
    band->planes = tort_min(b->planes_at_once, b->planes - band->first_plane);
    if (band->planes <= 0 || !tort_call_goes_on(b->call, 0)) return false;
    if (b->copied) copy_band(b, band, buffer);
    return true;
}

int64_t tort_bands_together(const tort_bands *bands, const tort_band *band, int64_t row) {
    return tort_min(bands->together, band->rows - row);
}

tort_cpu_split tort_bands_split(const tort_bands *bands, int64_t blocks, int32_t threads) {
    const tort_blocked_shape *s = &bands->shape;
    const tort_cpu_products products = {
        .pixels = bands->rows, .filters = blocks, .pixel_cost = 1, .filter_cost = (s->kernel[1] - 1) * s->dilations[1]};
    return tort_cpu_split_of(&products, threads);
}

void tort_bands_each(const tort_bands *bands, int64_t blocks, const tort_cpu_split *split, int64_t part, void *buffer,
                     void (*make)(const void *job, const tort_band *band, void *room), const void *job, void *room) {
    int64_t first, last, block, end_block;
    tort_band b;
    tort_cpu_share(bands->rows, 1, part % split->pixel_parts, split->pixel_parts, &first, &last);
    tort_cpu_share(blocks, 1, part / split->pixel_parts, split->filter_parts, &block, &end_block);
    for (; block < end_block && tort_call_goes_on(bands->call, 0); block++) {
        const int64_t at = block * bands->rows;
        for (int64_t row = first; tort_bands_next(bands, at + row, at + last, buffer, &b); row += b.rows)
            make(job, &b, room);
    }
}
