/* planes.c - stores a channel in the form of ../planes.h: padded, and split by the strides. */
#include "kernels/cpu/simd/vector.h"

#include "kernels/cpu/planes.h"

#include <string.h>

#define SHORT_ROW 128 /* floats, whose copying takes less time than a call of memcpy */

static inline void fill_floats(float *to, int64_t count, float value) {
    for (int64_t i = 0; i < count; i++) to[i] = value;
}

static inline void copy_step(float *restrict to, const float *restrict from, int64_t count, int64_t step) {
    if (step == 1 && count <= SHORT_ROW)
        copy_exactly(to, from, count);
    else if (step == 1)
        memcpy(to, from, (size_t)count * sizeof(float));
    else if (step == 2)
        for (int64_t i = 0; i < count; i++) to[i] = from[2 * i];
    else
        for (int64_t i = 0; i < count; i++) to[i] = from[i * step];
}

static void store_row(const float *row, const tort_plane_columns *columns, int64_t width, float fill, float *stored) {
    fill_floats(stored, columns->from, fill);
    copy_step(stored + columns->from, row + columns->from * columns->step + columns->start, columns->to - columns->from,
              columns->step);
    fill_floats(stored + columns->to, width - columns->to, fill);
}

#define MAX_PHASES 8     /* along the width, at a time */
#define LARGE_SLICE 8192 /* floats: larger slices hardly fit the L1 cache */
#define ROWS_AHEAD 8
#define LINE 16 /* floats of a cache line */

/* Stores rows begin .. end-1 of each phase of a slice (NULL: all padding), whose rows are read once, in the order of
 * the input. In a large slice rows ahead are prefetched: hardware prefetchers stop at the end of a page. */
static void store_rows(const tort_planes *p, const float *slice, float fill, float *stored, int64_t begin,
                       int64_t end) {
    const int64_t width = p->length[2], plane = p->length[1] * width;
    const int64_t ahead = p->input[1] * p->input[2] > LARGE_SLICE ? p->input[2] : 0;
    tort_plane_columns columns[MAX_PHASES];
    for (int64_t first = 0; first < p->phases[2]; first += MAX_PHASES) {
        const int64_t left = p->phases[2] - first, count = left < MAX_PHASES ? left : MAX_PHASES;
        for (int64_t j = 0; j < count; j++) columns[j] = tort_plane_columns_of(p, first + j);
        for (int64_t h = begin; h < end; h++)
            for (int64_t i = 0; i < p->phases[1]; i++) {
                const int64_t row = slice ? tort_plane_source(p, 1, h * p->phases[1] + i) : -1;
                for (int64_t x = 0; row >= 0 && x < ahead; x += LINE)
                    __builtin_prefetch(slice + (row + ROWS_AHEAD) * ahead + x);
                float *to = stored + (i * p->phases[2] + first) * plane + h * width;
                for (int64_t j = 0; j < count; j++, to += plane)
                    if (row < 0)
                        fill_floats(to, width, fill);
                    else
                        store_row(slice + row * p->input[2], &columns[j], width, fill, to);
            }
    }
}

void SIMD(tort_simd_store_planes)(const tort_planes *p, const float *channel, float fill, float *stored, int64_t begin,
                                  int64_t end) {
    for (int64_t at = begin, next; at < end; at = next) {
        const int64_t d = at / p->length[1], slice = tort_plane_source(p, 0, d), first = d * p->length[1];
        next = end < first + p->length[1] ? end : first + p->length[1];
        store_rows(p, slice < 0 ? NULL : channel + slice * p->input[1] * p->input[2], fill, stored + d * p->slice,
                   at - first, next - first);
    }
}
