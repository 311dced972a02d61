/* picture_bmp.c - BMP of Windows and OS/2: 1, 4, 8, 16, 24 and 32 bits per pixel, palettes, masks, and run lengths. */
#include "ops/extra/picture.h"

enum { PLAIN, RUNS_OF_8, RUNS_OF_4, MASKS, ALPHA_MASKS = 6 }; /* compression */
enum { FILE_HEADER = 14, CORE_HEADER = 12, INFO_HEADER = 40 };

typedef struct bmp {
    const uint8_t *bytes;
    size_t size, pixels_at, colors_at, colors, color_bytes;
    size_t width, height;
    bool from_top;
    uint32_t bits, compression, masks[3];
    tort_picture *out;
} bmp;

static uint32_t u16(const bmp *b, size_t at) {
    return at + 2 <= b->size ? (uint32_t)b->bytes[at] | (uint32_t)b->bytes[at + 1] << 8 : 0;
}

static uint32_t u32(const bmp *b, size_t at) {
    return u16(b, at) | u16(b, at + 2) << 16;
}

/* ---- header ------------------------------------------------------------------------------------------------------ */

static bool read_size(bmp *b, uint32_t header) {
    if (header == CORE_HEADER) {
        b->width = u16(b, FILE_HEADER + 4);
        b->height = u16(b, FILE_HEADER + 6);
        return b->width > 0;
    }
    const int64_t width = (int32_t)u32(b, FILE_HEADER + 4), height = (int32_t)u32(b, FILE_HEADER + 8);
    b->from_top = height < 0;
    b->width = width > 0 ? (size_t)width : 0;
    b->height = (size_t)(height < 0 ? -height : height);
    return width > 0;
}

static void read_masks(bmp *b, uint32_t header) {
    static const uint32_t of_16[] = {0x7C00, 0x3E0, 0x1F}, of_32[] = {0xFF0000, 0xFF00, 0xFF};
    const bool given = b->compression == MASKS || b->compression == ALPHA_MASKS;
    for (size_t c = 0; c < 3; c++)
        b->masks[c] = given ? u32(b, FILE_HEADER + INFO_HEADER + 4 * c) : b->bits == 16 ? of_16[c] : of_32[c];
    if (given && header == INFO_HEADER) b->colors_at += b->compression == MASKS ? 12 : 16;
}

static bool read_header(bmp *b) {
    const uint32_t header = u32(b, FILE_HEADER);
    if (header != CORE_HEADER && (header < INFO_HEADER || header > 1024)) return false;
    if (!read_size(b, header)) return false;
    b->pixels_at = u32(b, 10);
    b->bits = u16(b, FILE_HEADER + (header == CORE_HEADER ? 10 : 14));
    b->compression = header == CORE_HEADER ? PLAIN : u32(b, FILE_HEADER + 16);
    b->color_bytes = header == CORE_HEADER ? 3 : 4;
    b->colors_at = FILE_HEADER + (size_t)header;
    b->colors = header == CORE_HEADER ? 0 : u32(b, FILE_HEADER + 32);
    if (b->colors == 0 || b->colors > 256) b->colors = b->bits <= 8 ? (size_t)1 << b->bits : 0;
    read_masks(b, header);
    switch (b->compression) {
    case PLAIN: return b->bits == 1 || b->bits == 4 || b->bits == 8 || b->bits == 16 || b->bits == 24 || b->bits == 32;
    case RUNS_OF_8: return b->bits == 8 && !b->from_top;
    case RUNS_OF_4: return b->bits == 4 && !b->from_top;
    case MASKS:
    case ALPHA_MASKS: return b->bits == 16 || b->bits == 32;
    default: return false;
    }
}

/* ---- pixels ------------------------------------------------------------------------------------------------------ */

static uint8_t *pixel_at(const bmp *b, size_t x, size_t y) {
    const size_t row = b->from_top ? y : b->height - 1 - y;
    return b->out->pixels + (row * b->width + x) * 3;
}

static void put_color(const bmp *b, size_t x, size_t y, size_t color) {
    const size_t at = b->colors_at + color * b->color_bytes;
    if (color >= b->colors || at + 3 > b->size) return; /* black */
    for (size_t c = 0; c < 3; c++) pixel_at(b, x, y)[c] = b->bytes[at + 2 - c];
}

static uint8_t masked(uint32_t value, uint32_t mask) {
    if (!mask) return 0;
    while (!(mask & 1)) {
        mask >>= 1;
        value >>= 1;
    }
    return tort_picture_level(value & mask, mask);
}

static void put_pixel(const bmp *b, size_t x, size_t y, const uint8_t *row) {
    if (b->bits <= 8) {
        const size_t bit = x * b->bits, shift = 8 - b->bits - bit % 8;
        put_color(b, x, y, (size_t)(row[bit / 8] >> shift) & (((size_t)1 << b->bits) - 1));
        return;
    }
    const uint8_t *at = row + x * (b->bits / 8);
    uint8_t *pixel = pixel_at(b, x, y);
    if (b->bits == 24) {
        for (size_t c = 0; c < 3; c++) pixel[c] = at[2 - c];
        return;
    }
    uint32_t value = (uint32_t)at[0] | (uint32_t)at[1] << 8;
    if (b->bits == 32) value |= (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    for (size_t c = 0; c < 3; c++) pixel[c] = masked(value, b->masks[c]);
}

static bool read_rows(const bmp *b) {
    const size_t stride = (b->width * b->bits + 31) / 32 * 4; /* width < 2^31 */
    if (b->pixels_at > b->size || (b->size - b->pixels_at) / stride < b->height) return false;
    if (!tort_picture_new(b->out, b->width, b->height)) return false;
    for (size_t y = 0; y < b->height; y++)
        for (size_t x = 0; x < b->width; x++) put_pixel(b, x, y, b->bytes + b->pixels_at + y * stride);
    return true;
}

/* ---- run lengths ------------------------------------------------------------------------------------------------- */

/* Writes `count` pixels from the colours at `at`: one byte for all of a run (with 4 bits: two alternating colours),
 * otherwise one colour per pixel. */
static void put_run(const bmp *b, size_t *x, size_t y, size_t count, const uint8_t *at, bool run) {
    for (size_t i = 0; i < count && *x < b->width; i++, ++*x) {
        const size_t byte = run ? 0 : b->bits == 8 ? i : i / 2;
        const size_t color = b->bits == 8 ? at[byte] : i % 2 ? at[byte] & 15u : (size_t)at[byte] >> 4;
        put_color(b, *x, y, color);
    }
}

static bool read_runs(const bmp *b) {
    size_t x = 0, y = 0, at = b->pixels_at;
    /* A byte of the file gives at most 256 pixels, or ends a row: a short file must not allocate a large picture. */
    if (b->height > b->size || b->width > 256 * b->size) return false;
    if (!tort_picture_new(b->out, b->width, b->height)) return false;
    while (y < b->height && at <= b->size && b->size - at >= 2) {
        const size_t count = b->bytes[at], value = b->bytes[at + 1];
        at += 2;
        if (count) {
            put_run(b, &x, y, count, &b->bytes[at - 1], true);
        } else if (value == 0) {
            x = 0;
            y++;
        } else if (value == 1) {
            return true;
        } else if (value == 2) {
            if (b->size - at < 2) return false;
            x += b->bytes[at];
            y += b->bytes[at + 1];
            at += 2;
        } else {
            const size_t length = (b->bits == 8 ? value : (value + 1) / 2), padded = length + length % 2;
            if (b->size - at < length) return false;
            put_run(b, &x, y, value, &b->bytes[at], false);
            at += padded;
        }
    }
    return y >= b->height;
}

bool tort_read_bmp(const uint8_t *bytes, size_t size, tort_picture *out) {
    bmp b = {.bytes = bytes, .size = size, .out = out};
    if (size < FILE_HEADER + CORE_HEADER || !read_header(&b)) return false;
    if (b.height > TORT_MAX_PIXELS / b.width) return tort_picture_new(out, b.width, b.height); /* sets too_large */
    return b.compression == RUNS_OF_8 || b.compression == RUNS_OF_4 ? read_runs(&b) : read_rows(&b);
}
