/* byte_planes.c - stores words of four channels of bytes in planes, row by row (byte_planes.h). */
#include "kernels/cpu/byte_planes.h"

static void fill_words(uint32_t *to, int64_t count, uint32_t value) {
    for (int64_t i = 0; i < count; i++) to[i] = value;
}

static void copy_step(uint32_t *restrict to, const uint32_t *restrict from, int64_t count, int64_t step) {
    if (step == 2)
        for (int64_t i = 0; i < count; i++) to[i] = from[2 * i];
    else
        for (int64_t i = 0; i < count; i++) to[i] = from[i * step];
}

/* Stores one row of the input in all phases that it belongs to; at: its offset in the channels, negative for
 * padding. */
static void store_row(const tort_simd *simd, const tort_planes *p, const uint8_t *const *channels, int64_t at,
                      uint8_t flip, uint32_t fill, uint32_t *row, uint32_t *stored) {
    const uint8_t *rows[4] = {0};
    for (int r = 0; at >= 0 && r < 4; r++) rows[r] = channels[r] + at;
    const bool cut = p->phases[2] * p->source_step[2] != 1;
    if (at >= 0 && cut) simd->byte_words((uint8_t *)row, rows, p->input[2], flip);
    for (int64_t phase = 0; phase < p->phases[2]; phase++, stored += p->length[1] * p->length[2]) {
        const tort_plane_columns in = tort_plane_columns_of(p, phase);
        if (at < 0) {
            fill_words(stored, p->length[2], fill);
            continue;
        }
        fill_words(stored, in.from, fill);
        const int64_t first = in.from * in.step + in.start, count = in.to - in.from;
        for (int r = 0; r < 4; r++) rows[r] = channels[r] + at + (cut ? 0 : first);
        if (cut)
            copy_step(stored + in.from, row + first, count, in.step);
        else
            simd->byte_words((uint8_t *)(stored + in.from), rows, count, flip);
        fill_words(stored + in.to, p->length[2] - in.to, fill);
    }
}

void tort_byte_planes_store(const tort_simd *simd, const tort_planes *p, const uint8_t *const *channels, uint8_t flip,
                            uint32_t fill, uint32_t *row, uint32_t *stored) {
    if (p->direct) {
        simd->byte_words((uint8_t *)stored, channels, p->input[0] * p->input[1] * p->input[2], flip);
        return;
    }
    for (int64_t z = 0; z < p->length[0]; z++) {
        const int64_t depth = tort_plane_source(p, 0, z);
        for (int64_t i = 0; i < p->length[1] * p->phases[1]; i++) {
            const int64_t height = tort_plane_source(p, 1, i), part = i % p->phases[1] * p->phases[2] * p->length[1];
            const int64_t at = depth < 0 || height < 0 ? -1 : (depth * p->input[1] + height) * p->input[2];
            store_row(simd, p, channels, at, flip, fill, row,
                      stored + z * p->slice + (part + i / p->phases[1]) * p->length[2]);
        }
    }
}
