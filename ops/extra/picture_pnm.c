/* picture_pnm.c - PBM, PGM and PPM: P1 to P3 as text, P4 to P6 as bytes. */
#include "ops/extra/picture.h"

typedef struct pnm {
    const uint8_t *at, *end;
    uint32_t max; /* largest level */
    bool text, bits;
} pnm;

static bool is_space(uint8_t c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void skip_space(pnm *p) {
    while (p->at < p->end && (is_space(*p->at) || *p->at == '#')) {
        const bool comment = *p->at == '#';
        while (comment && p->at < p->end && *p->at != '\n') p->at++;
        if (p->at < p->end) p->at++;
    }
}

/* Reads a decimal number; false if there is none, or it is too large for a picture. */
static bool read_number(pnm *p, uint32_t *out) {
    uint32_t value = 0;
    skip_space(p);
    const uint8_t *first = p->at;
    for (; p->at < p->end && *p->at >= '0' && *p->at <= '9' && value < (1u << 27); p->at++)
        value = value * 10 + (uint32_t)(*p->at - '0');
    *out = value;
    return p->at > first && value < (1u << 27);
}

/* Reads the next level. Bits of a row are packed into bytes; 1 is black. */
static bool read_level(pnm *p, size_t x, uint8_t *out) {
    uint32_t value;
    if (p->text && p->bits) {
        skip_space(p);
        if (p->at == p->end || *p->at < '0' || *p->at > '1') return false;
        *out = *p->at++ == '0' ? 255 : 0;
        return true;
    }
    if (p->text) {
        if (!read_number(p, &value)) return false;
    } else {
        const size_t bytes = p->max > 255 ? 2 : 1;
        if ((size_t)(p->end - p->at) < bytes) return false;
        value = bytes == 2 ? (uint32_t)p->at[0] << 8 | p->at[1] : p->at[0];
        if (p->bits) {
            *out = value >> (7 - x % 8) & 1 ? 0 : 255;
            if (x % 8 == 7) p->at++;
            return true;
        }
        p->at += bytes;
    }
    *out = tort_picture_level(value, p->max);
    return true;
}

static bool read_row(pnm *p, size_t width, size_t levels, uint8_t *row) {
    for (size_t x = 0; x < width; x++) {
        uint8_t *pixel = row + 3 * x;
        for (size_t c = 0; c < levels; c++)
            if (!read_level(p, x, &pixel[c])) return false;
        if (levels == 1) pixel[1] = pixel[2] = pixel[0];
    }
    if (p->bits && !p->text && width % 8) p->at++;
    return true;
}

bool tort_read_pnm(const uint8_t *bytes, size_t size, tort_picture *out) {
    if (size < 3 || bytes[1] < '1' || bytes[1] > '6' || !(is_space(bytes[2]) || bytes[2] == '#')) return false;
    const int kind = (bytes[1] - '1') % 3; /* bits, grey, colours */
    pnm p = {.at = bytes + 2, .end = bytes + size, .text = bytes[1] < '4', .bits = kind == 0, .max = 1};
    uint32_t width, height;
    if (!read_number(&p, &width) || !read_number(&p, &height)) return false;
    if (!p.bits && (!read_number(&p, &p.max) || p.max < 1 || p.max > 65535)) return false;
    if (!p.text && p.at < p.end) p.at++; /* one byte of white space */
    /* A pixel takes at least one bit of the file: a short file must not allocate a large picture. */
    if ((uint64_t)width * height / 8 > size && (uint64_t)width * height <= TORT_MAX_PIXELS) return false;
    if (!tort_picture_new(out, width, height)) return false;
    for (size_t y = 0; y < height; y++)
        if (!read_row(&p, width, kind == 2 ? 3 : 1, out->pixels + y * width * 3)) return false;
    return true;
}
