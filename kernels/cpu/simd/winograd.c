/* winograd.c - the transforms of Winograd's convolution F(4x4, 3x3) over vectors of channels.
 *
 * The outputs of a tile are A' [(G g G') * (B' d B)] A for 6 x 6 inputs d and a filter g, * being element by
 * element: 36 products instead of 144 (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015).
 * The interpolation points are 0, 3/4, -3/4, 3/2, -3/2 and infinity: rounding errors are half of those with the
 * usual 1 and 2, and about twice those of a direct sum. Each transform applies a matrix to the columns, then to the
 * rows. Read next: ../blocked_winograd.c. */
#include "kernels/cpu/blocked_winograd.h"
#include "kernels/cpu/simd/intrinsics.h"

#define BLOCK_VECTORS (TORT_LANES / WIDTH)

/* Powers of the points a = 3/4 and b = 3/2. */
#define A1 (3.0f / 4)
#define A2 (A1 * A1)
#define A3 (A2 * A1)
#define B1 (3.0f / 2)
#define B2 (B1 * B1)
#define B3 (B2 * B1)

/* Multiplies a column by B'. */
INLINE void transform_input(const vector *d, vector *out) {
    const vector even_a = d[4] - B2 * d[2], odd_a = A1 * (d[3] - B2 * d[1]);
    const vector even_b = d[4] - A2 * d[2], odd_b = B1 * (d[3] - A2 * d[1]);
    out[0] = A2 * B2 * d[0] - (A2 + B2) * d[2] + d[4];
    out[1] = even_a + odd_a;
    out[2] = even_a - odd_a;
    out[3] = even_b + odd_b;
    out[4] = even_b - odd_b;
    out[5] = A2 * B2 * d[1] - (A2 + B2) * d[3] + d[5];
}

/* Multiplies a column by A'. */
INLINE void transform_output(const vector *m, vector *out) {
    const vector sum_a = m[1] + m[2], difference_a = m[1] - m[2];
    const vector sum_b = m[3] + m[4], difference_b = m[3] - m[4];
    out[0] = m[0] + sum_a + sum_b;
    out[1] = A1 * difference_a + B1 * difference_b;
    out[2] = A2 * sum_a + B2 * sum_b;
    out[3] = A3 * difference_a + B3 * difference_b + m[5];
}

/* Multiplies a column by G. */
INLINE void transform_filter(const vector *g, vector *out) {
    const float of_a = 1 / (2 * A2 * (A2 - B2)), of_b = 1 / (2 * B2 * (B2 - A2));
    const vector even_a = g[0] + A2 * g[2], even_b = g[0] + B2 * g[2];
    out[0] = g[0] * (1 / (A2 * B2));
    out[1] = (even_a + A1 * g[1]) * of_a;
    out[2] = (even_a - A1 * g[1]) * of_a;
    out[3] = (even_b + B1 * g[1]) * of_b;
    out[4] = (even_b - B1 * g[1]) * of_b;
    out[5] = g[2];
}

void SIMD(tort_simd_winograd_input)(const float *x, int64_t pitch, float *v, int64_t step) {
    for (int part = 0; part < BLOCK_VECTORS; part++, x += WIDTH, v += WIDTH) {
        vector rows[6][6];
        for (int j = 0; j < 6; j++) {
            vector column[6], out[6];
            for (int i = 0; i < 6; i++) column[i] = load(x + i * pitch + j * TORT_LANES);
            transform_input(column, out);
            for (int i = 0; i < 6; i++) rows[i][j] = out[i];
        }
        for (int i = 0; i < 6; i++) {
            vector out[6];
            transform_input(rows[i], out);
            for (int j = 0; j < 6; j++) store(v + (i * 6 + j) * step, out[j]);
        }
    }
}

void SIMD(tort_simd_winograd_output)(const tort_winograd_output *o) {
    const vector low = broadcast(o->bounds.low), high = broadcast(o->bounds.high);
    for (int at = 0; at < TORT_LANES; at += WIDTH) {
        const vector bias = load(o->bias + at);
        vector columns[6][4];
        for (int j = 0; j < 6; j++) {
            vector column[6];
            for (int i = 0; i < 6; i++) column[i] = load(o->m + (i * 6 + j) * o->step + at);
            transform_output(column, columns[j]);
        }
        for (int64_t i = 0; i < o->rows; i++) {
            vector row[6], out[4];
            for (int j = 0; j < 6; j++) row[j] = columns[j][i];
            transform_output(row, out);
            for (int64_t j = 0; j < o->columns; j++) {
                const int64_t place = i * o->pitch + j * TORT_LANES + at;
                const vector sum = out[j] + bias;
                store(o->y + place, clamp(o->add ? sum + load(o->add + place) : sum, low, high));
            }
        }
    }
}

void SIMD(tort_simd_winograd_filter)(const float *filters, int32_t lanes, float *u, int64_t step) {
    for (int at = 0; at < lanes; at += WIDTH) {
        vector rows[6][3];
        for (int j = 0; j < 3; j++) {
            vector column[3], out[6];
            for (int i = 0; i < 3; i++) column[i] = load(filters + (i * 3 + j) * lanes + at);
            transform_filter(column, out);
            for (int i = 0; i < 6; i++) rows[i][j] = out[i];
        }
        for (int i = 0; i < 6; i++) {
            vector out[6];
            transform_filter(rows[i], out);
            for (int j = 0; j < 6; j++) store(u + (i * 6 + j) * step + at, out[j]);
        }
    }
}
