/* blocked.c - the inner loop of convolutions in the layout of ../blocked.h, and the conversion of blocks from and to
 * plain.
 *
 * A tile is some pixels by some vectors of filters, whose sums stay in registers: for each channel, each pixel takes
 * one broadcast and one multiply-add per vector. Read next: ../blocked_conv.c. */
#include "kernels/cpu/blocked.h"
#include "kernels/cpu/simd/intrinsics.h"

#define BLOCK_VECTORS (TORT_LANES / WIDTH)

static const float zeros[BLOCKED_VECTORS * WIDTH];

/* Pixels of a pointer: x86 addresses scale an index by 1, 2 or 4, and 3 needs one more register. Those of 32-bit NEON
 * have no index. */
#if NEON == 32
#define GROUP 1
#else
#define GROUP 4
#endif
#define GROUPS(pixels) (((pixels) + GROUP - 1) / GROUP)

/* Returns pixel i of rows of `row` pixels. */
INLINE const float *pixel_at(const float *const *groups, int64_t step, int row, int i) {
    return groups[i / row * GROUPS(row) + i % row / GROUP] + i % row % GROUP * step;
}

INLINE void store_sums(const tort_blocked_tile *t, int pixels, int vectors, const vector (*sums)[BLOCKED_VECTORS]) {
    const vector low = broadcast(t->bounds.low), high = broadcast(t->bounds.high);
    const int64_t add_pixel = t->add ? TORT_LANES : 0, add_block = t->add ? t->y_block : 0;
    const int add_vector = t->add ? WIDTH : 0;
    const float *add = t->add ? t->add : zeros;
    UNROLL
    for (int i = 0; i < pixels; i++)
        for (int v = 0; v < vectors; v++) {
            const int block = v / BLOCK_VECTORS, within = v % BLOCK_VECTORS;
            const vector more = load(add + block * add_block + i * add_pixel + within * add_vector);
            store(t->y + block * t->y_block + i * TORT_LANES + within * WIDTH, clamp(sums[i][v] + more, low, high));
        }
}

/* Stores incomplete tiles. Not inlined, so their sums pass through memory, to keep the code small. */
__attribute__((noinline)) static void store_rest(const tort_blocked_tile *t, int pixels, int vectors,
                                                 const vector (*sums)[BLOCKED_VECTORS]) {
    if (vectors == BLOCK_VECTORS)
        store_sums(t, pixels, BLOCK_VECTORS, sums);
    else
        store_sums(t, pixels, BLOCKED_VECTORS, sums);
}

/* pixels and vectors are constants after inlining, so acc lives in registers. */
INLINE void multiply_pixels(const tort_blocked_tile *t, int pixels, int row_pixels, int vectors) {
    const int groups_of_row = GROUPS(row_pixels), group_count = pixels / row_pixels * groups_of_row;
    vector acc[BLOCKED_PIXELS][BLOCKED_VECTORS], made[BLOCKED_PIXELS][BLOCKED_VECTORS];
    const int64_t step = t->x_step;
    const float *w = t->weights, *later = t->later;
    UNROLL
    for (int i = 0; i < pixels; i++)
        for (int v = 0; v < vectors; v++) acc[i][v] = load(t->bias + v * WIDTH);
    for (int64_t s = 0; s < t->span_count; s++) {
        const float *groups[GROUPS(BLOCKED_PIXELS) + 1], *x = t->x + t->spans[s].offset;
        for (int g = 0; g < group_count; g++)
            groups[g] = x + g / groups_of_row * t->row_step + g % groups_of_row * GROUP * step;
        for (ptrdiff_t c = (ptrdiff_t)t->spans[s].count; c > 0; c--) {
#if NEON == 32
            vector factor[BLOCKED_PIXELS];
            for (int i = 0; i < pixels; i++) factor[i] = broadcast(*pixel_at(groups, step, row_pixels, i));
            for (int v = 0; v < vectors; v++) {
                const vector row = load(w + v * WIDTH);
                for (int i = 0; i < pixels; i++) acc[i][v] += factor[i] * row;
            }
            __builtin_prefetch(later, 0, 2);
#else
            vector row[BLOCKED_VECTORS];
            for (int v = 0; v < vectors; v++) row[v] = load(w + v * WIDTH);
            __builtin_prefetch(later, 0, 2);
            UNROLL
            for (int i = 0; i < pixels; i++) {
                const vector factor = broadcast(*pixel_at(groups, step, row_pixels, i));
                for (int v = 0; v < vectors; v++) acc[i][v] += factor * row[v];
            }
#endif
            for (int g = 0; g < group_count; g++) groups[g]++;
            w += vectors * WIDTH;
            later += TORT_LANES;
        }
    }
    if (pixels == BLOCKED_PIXELS && vectors == BLOCKED_VECTORS) {
        store_sums(t, pixels, vectors, acc);
        return;
    }
    UNROLL
    for (int i = 0; i < pixels; i++)
        for (int v = 0; v < vectors; v++) made[i][v] = acc[i][v];
    store_rest(t, pixels, vectors, made);
}

#define CASE(n)                                                                                                        \
    case n:                                                                                                            \
        if (BLOCKED_VECTORS > BLOCK_VECTORS && t->blocks > 1)                                                          \
            multiply_pixels(t, n, n, BLOCKED_VECTORS);                                                                 \
        else                                                                                                           \
            multiply_pixels(t, n, n, BLOCK_VECTORS);                                                                   \
        return;

static void one_row(const tort_blocked_tile *t) {
    switch (t->pixels) {
        CASE(1)
        CASE(2)
        CASE(3)
#if BLOCKED_PIXELS > 3
        CASE(4)
        CASE(5)
        CASE(6)
#endif
#if BLOCKED_PIXELS > 6
        CASE(7)
        CASE(8)
        CASE(9)
        CASE(10)
        CASE(11)
        CASE(12)
        CASE(13)
        CASE(14)
#endif
    default: return;
    }
}

static void two_rows(const tort_blocked_tile *t) {
    multiply_pixels(t, BLOCKED_PIXELS / 2 * 2, BLOCKED_PIXELS / 2, BLOCKED_VECTORS);
}

void SIMD(tort_simd_blocked_tile)(const tort_blocked_tile *t) {
    if (t->row_step)
        two_rows(t);
    else
        one_row(t);
}

/* ---- the layout -------------------------------------------------------------------------------------------------- */

void SIMD(tort_simd_to_block)(const float *plain, float *block, int64_t pixels, int32_t channels) {
    SIMD(tort_simd_pack_lanes)(block, TORT_LANES, plain, pixels, 1, channels, pixels, 1);
}

typedef float quad __attribute__((vector_size(16)));
typedef float loose_quad __attribute__((vector_size(16), aligned(4), may_alias));

/* Transposes four channels of four pixels, as pack_lanes does. */
INLINE void square_out(const float *block, float *plain, int64_t pixels) {
    quad row[4];
    for (int i = 0; i < 4; i++) row[i] = *(const loose_quad *)(block + i * TORT_LANES);
    const quad ab_low = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5),
               ab_high = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7),
               cd_low = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5),
               cd_high = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
    *(loose_quad *)plain = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
    *(loose_quad *)(plain + pixels) = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
    *(loose_quad *)(plain + 2 * pixels) = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
    *(loose_quad *)(plain + 3 * pixels) = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}

void SIMD(tort_simd_from_block)(const float *block, float *plain, int64_t pixels, int32_t channels) {
    const int32_t quads = channels / 4 * 4;
    const int64_t whole = pixels / 4 * 4;
    for (int64_t p = 0; p < whole; p += 4)
        for (int32_t c = 0; c < quads; c += 4) square_out(block + p * TORT_LANES + c, plain + c * pixels + p, pixels);
    for (int32_t c = 0; c < channels; c++)
        for (int64_t p = c < quads ? whole : 0; p < pixels; p++) plain[c * pixels + p] = block[p * TORT_LANES + c];
}
