/* gemm.c - the inner loops of the matrix product: a tile of C in registers, and the packing of its operands.
 *
 * The micro-kernel and the packing of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008.
 * A step over k loads one row of the packed B (TILE_VECTORS vectors) and, for each of TILE_ROWS rows, broadcasts an
 * element of A and multiplies and adds. Cost of a step: TILE_VECTORS + TILE_ROWS loads for TILE_ROWS * TILE_VECTORS
 * multiply-adds.
 * Example: AVX-512 has tiles of 14 x 32, so 28 multiply-adds for 16 loads; 28 registers hold sums, 2 a row of B, 1 an
 * element.
 * Read next: vector.h for the size of a tile, ../packed_gemm.c for the loops around this one. */
#include "kernels/cpu/simd/intrinsics.h"

#include <string.h>

#define LINE 16 /* floats of a cache line */

static const float zeros[TILE_COLUMNS > TILE_ROWS ? TILE_COLUMNS : TILE_ROWS];

INLINE void store_sums(const tort_tile *t, int rows, int vectors, const vector (*sums)[TILE_VECTORS]) {
    const float *row_bias = t->row_bias ? t->row_bias : zeros, *column_bias = t->column_bias ? t->column_bias : zeros;
    const int64_t stride = t->c_stride, add_stride = t->add ? stride : 0;
    const float *add = t->add ? t->add : zeros;
    float *c = t->c;
    const vector low = broadcast(t->bounds.low), high = broadcast(t->bounds.high);
    vector bias[TILE_VECTORS];
    for (int v = 0; v < vectors; v++) bias[v] = load(column_bias + v * WIDTH);
    UNROLL
    for (int i = 0; i < rows; i++, c += stride, add += add_stride)
        for (int v = 0; v < vectors; v++) {
            const vector more = broadcast(row_bias[i]) + bias[v] + load(add + v * WIDTH);
            store(c + v * WIDTH, clamp(sums[i][v] + more, low, high));
        }
}

/* Stores incomplete tiles. Not inlined, so their sums pass through memory, to keep the code small. */
__attribute__((noinline)) static void store_rest(const tort_tile *t, int rows, int vectors,
                                                 const vector (*sums)[TILE_VECTORS]) {
    if (vectors == 1)
        store_sums(t, rows, 1, sums);
    else
        store_sums(t, rows, TILE_VECTORS, sums);
}

#define GROUPS ((TILE_ROWS + 3) / 4)

/* Returns element k of row i. Unpacked rows are reached through pointers 4 rows apart: x86 addresses scale an index
 * by 1, 2 or 4, and 3 needs one more register. */
INLINE float element_of(const float *a, const float *const *groups, int64_t step, bool packed, int i) {
    return packed ? a[i] : groups[i / 4][i % 4 * step];
}

/* rows, vectors and packed are constants after inlining, so acc lives in registers. */
INLINE void whole_tile(const tort_tile *t, int rows, int vectors, bool packed) {
    vector acc[TILE_ROWS][TILE_VECTORS], made[TILE_ROWS][TILE_VECTORS];
    for (int i = 0; t->add && i < rows; i++) /* needed once the sums are complete */
        for (int v = 0; v < vectors; v++) __builtin_prefetch(t->add + i * t->c_stride + v * WIDTH);
    UNROLL
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++) acc[i][v] = broadcast(0);
    const float *a = t->a, *b = t->b, *later = t->later, *groups[GROUPS];
    for (int g = 0; g < GROUPS; g++) groups[g] = packed ? a : a + 4 * g * t->a_row;
    for (int64_t k = 0; k < t->k; k++) {
        vector row[TILE_VECTORS];
        for (int v = 0; v < vectors; v++) row[v] = load(b + v * WIDTH);
        __builtin_prefetch(later, 0, 2);
        later += LINE;
        UNROLL
        for (int i = 0; i < rows; i++) {
            const vector factor = broadcast(element_of(a, groups, t->a_row, packed, i));
            for (int v = 0; v < vectors; v++) acc[i][v] += factor * row[v];
        }
        a += TILE_ROWS;
        b += TILE_COLUMNS;
        for (int g = 0; g < GROUPS; g++) groups[g]++;
    }
    if (packed && rows == TILE_ROWS && vectors == TILE_VECTORS) {
        store_sums(t, rows, vectors, acc);
        return;
    }
    UNROLL
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++) made[i][v] = acc[i][v];
    store_rest(t, rows, vectors, made);
}

#ifdef RVV
#define CHAINS 2
#else
#define CHAINS 4
#endif

/* A single chain of additions would wait for each sum, so CHAINS steps of k have sums of their own. The order of
 * additions does not depend on the width of the tile, so equal columns have equal results. */
INLINE void one_row(const tort_tile *t, int vectors, bool asks) {
    vector acc[CHAINS][TILE_VECTORS], made[1][TILE_VECTORS];
    for (int s = 0; s < CHAINS; s++)
        for (int v = 0; v < vectors; v++) acc[s][v] = broadcast(0);
    const float *a = t->a, *b = t->b, *later = t->later;
    int64_t k = 0;
    for (; k + CHAINS <= t->k; k += CHAINS)
        for (int s = 0; s < CHAINS; s++, a += t->a_step, b += TILE_COLUMNS)
            for (int v = 0; v < vectors; v++) {
                if (asks) { /* otherwise it is NULL, to which nothing is added */
                    __builtin_prefetch(later);
                    later += WIDTH;
                }
                acc[s][v] += broadcast(a[0]) * load(b + v * WIDTH);
            }
    for (; k < t->k; k++, a += t->a_step, b += TILE_COLUMNS)
        for (int v = 0; v < vectors; v++) acc[0][v] += broadcast(a[0]) * load(b + v * WIDTH);
    for (int v = 0; v < vectors; v++) {
        made[0][v] = acc[0][v] + acc[1][v];
        if (CHAINS == 4) made[0][v] += acc[CHAINS - 2][v] + acc[CHAINS - 1][v];
    }
    store_rest(t, 1, vectors, made);
}

INLINE void single_row(const tort_tile *t, int vectors) {
    if (t->later)
        one_row(t, vectors, true);
    else
        one_row(t, vectors, false);
}

#define CASE(n)                                                                                                        \
    case n:                                                                                                            \
        if (t->columns > (TILE_VECTORS - 1) * WIDTH)                                                                   \
            whole_tile(t, n, TILE_VECTORS, true);                                                                      \
        else                                                                                                           \
            whole_tile(t, n, 1, true);                                                                                 \
        return;

enum { NOT_PACKED = 0 }; /* takes the place of a number of rows */

/* The switch handles unpacked A too: with a branch before it, GCC 12 does not align the loops to cache lines, since
 * it aligns only what it considers likely. */
static void dispatch(const tort_tile *t) {
    switch (t->a_row ? NOT_PACKED : t->rows) {
    case NOT_PACKED: whole_tile(t, TILE_ROWS, TILE_VECTORS, false); return;
    case 1:
        if (t->columns > (TILE_VECTORS - 1) * WIDTH)
            single_row(t, TILE_VECTORS);
        else
            single_row(t, 1);
        return;
        CASE(2)
        CASE(3)
#if TILE_ROWS > 3
        CASE(4)
#endif
#if TILE_ROWS > 4
        CASE(5)
        CASE(6)
#endif
#if TILE_ROWS > 6
        CASE(7)
        CASE(8)
#endif
#if TILE_ROWS > 8
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

/* Makes a tile whose width is not a whole number of vectors in a buffer. Columns beyond the tile's are computed and
 * dropped. */
static void narrow_tile(const tort_tile *t) {
    float c[TILE_ROWS * TILE_COLUMNS], add[TILE_ROWS * TILE_COLUMNS], bias[TILE_COLUMNS] = {0};
    const int32_t stride = t->columns > (TILE_VECTORS - 1) * WIDTH ? TILE_COLUMNS : WIDTH;
    tort_tile copy = *t;
    copy.c = c;
    copy.c_stride = stride;
    if (t->add) {
        for (int32_t i = 0; i < t->rows; i++) copy_exactly(add + i * stride, t->add + i * t->c_stride, t->columns);
        copy.add = add;
    }
    if (t->column_bias) {
        copy_exactly(bias, t->column_bias, t->columns);
        copy.column_bias = bias;
    }
    dispatch(&copy);
    for (int32_t i = 0; i < t->rows; i++) copy_exactly(t->c + i * t->c_stride, c + i * stride, t->columns);
}

void SIMD(tort_simd_tile)(const tort_tile *t) {
    if (t->columns == TILE_COLUMNS || t->columns == WIDTH)
        dispatch(t);
    else
        narrow_tile(t);
}

/* ---- packing ----------------------------------------------------------------------------------------------------- */

/* Sets lanes from..WIDTH-1 of a vector to 0. */
INLINE void clear_lanes(float *to, int32_t from) {
#if X86 == 512
    _mm512_mask_storeu_ps(to, (__mmask16)(0xffffu << from), _mm512_setzero_ps());
#elif X86 == 256
    static const int32_t cleared[2 * WIDTH] = {0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1};
    _mm256_maskstore_ps(to, _mm256_loadu_si256((const __m256i_u *)(cleared + WIDTH - from)), _mm256_setzero_ps());
#else
    for (; from < WIDTH; from++) to[from] = 0;
#endif
}

void SIMD(tort_simd_pack_runs)(float *panel, const float *source, const int64_t *offsets, int64_t rows,
                               const tort_run *runs, int32_t run_count, bool may_overread) {
    if (run_count == 1 && runs[0].at == 0 && runs[0].length == TILE_COLUMNS) {
        /* Rows are a plane apart, which hardware prefetchers do not follow: prefetch for the next panel. */
        for (int64_t k = 0; k < rows; k++) {
            const float *from = source + offsets[k] + runs[0].offset;
            for (int v = 0; v < TILE_VECTORS; v++) {
                __builtin_prefetch(from + TILE_COLUMNS + v * WIDTH);
                store(panel + k * TILE_COLUMNS + v * WIDTH, load(from + v * WIDTH));
            }
        }
        return;
    }
    const int32_t end = run_count ? runs[run_count - 1].at + runs[run_count - 1].length : 0, rest = end % WIDTH;
    for (int64_t k = 0; k < rows; k++) {
        const float *from = source + offsets[k];
        float *to = panel + k * TILE_COLUMNS;
        /* Excess elements of a run are overwritten by the next run or the next row. */
        for (int32_t r = 0; r < run_count; r++) {
            if (!may_overread)
                copy_exactly(to + runs[r].at, from + runs[r].offset, runs[r].length);
            else
                for (int32_t i = 0; i < runs[r].length; i += WIDTH)
                    store(to + runs[r].at + i, load(from + runs[r].offset + i));
        }
        /* The products of these lanes are dropped. But what lay there may be subnormal (an index, an address), and
         * takes a hundred times as long to multiply. */
        if (rest) clear_lanes(to + end - rest, rest);
    }
}

typedef float quad __attribute__((vector_size(16)));
typedef float loose_quad __attribute__((vector_size(16), aligned(4), may_alias));

static inline quad load_quad(const float *from) {
    return *(const loose_quad *)from;
}

static inline void store_quad(float *to, quad value) {
    *(loose_quad *)to = value;
}

/* Shuffles that interleave the lower or upper halves of two vectors within each quad: single floats, and pairs. */
#if WIDTH == 16
#define LOWER 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29
#define UPPER 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31
#define LOWER_PAIRS 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define UPPER_PAIRS 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#elif WIDTH == 8
#define LOWER 0, 8, 1, 9, 4, 12, 5, 13
#define UPPER 2, 10, 3, 11, 6, 14, 7, 15
#define LOWER_PAIRS 0, 1, 8, 9, 4, 5, 12, 13
#define UPPER_PAIRS 2, 3, 10, 11, 6, 7, 14, 15
#else
#define LOWER 0, 4, 1, 5
#define UPPER 2, 6, 3, 7
#define LOWER_PAIRS 0, 1, 4, 5
#define UPPER_PAIRS 2, 3, 6, 7
#endif

/* Loads four elements of every fourth of WIDTH lanes; `last` is the offset of the last of these lanes. */
INLINE vector load_fourths(const float *from, int64_t lane_stride, int64_t last) {
#if WIDTH == 4
    (void)lane_stride;
    return load(from + last);
#else
    const quad end = load_quad(from + last), a = load_quad(from);
#if WIDTH == 8
    (void)lane_stride;
    return __builtin_shufflevector(a, end, 0, 1, 2, 3, 4, 5, 6, 7);
#else
    typedef float octet __attribute__((vector_size(32)));
    const quad b = load_quad(from + 4 * lane_stride), c = load_quad(from + 8 * lane_stride);
    const octet ab = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
    const octet cd = __builtin_shufflevector(c, end, 0, 1, 2, 3, 4, 5, 6, 7);
    return __builtin_shufflevector(ab, cd, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#endif
#endif
}

/* Packs WIDTH lanes with contiguous elements, four elements at a time: 4 x 4 squares are transposed side by side in
 * the quads of vectors, and whole vectors are stored. If some of the last four lanes are missing, the last existing
 * lane is loaded in their place; the excess stored behind the lanes is overwritten by the next element. */
INLINE void pack_vectors(float *panel, int32_t lanes, const float *source, int64_t lane_stride, int32_t count,
                         int64_t k) {
    int64_t last[4];
    for (int i = 0; i < 4; i++) last[i] = (i + WIDTH - 4 < count ? WIDTH - 4 : count - 1 - i) * lane_stride;
    for (int64_t j = 0; j < k; j += 4) {
        vector four[4];
        for (int i = 0; i < 4; i++) four[i] = load_fourths(source + j + i * lane_stride, lane_stride, last[i]);
        const vector ab_low = __builtin_shufflevector(four[0], four[1], LOWER),
                     ab_high = __builtin_shufflevector(four[0], four[1], UPPER),
                     cd_low = __builtin_shufflevector(four[2], four[3], LOWER),
                     cd_high = __builtin_shufflevector(four[2], four[3], UPPER);
        store(panel + j * lanes, __builtin_shufflevector(ab_low, cd_low, LOWER_PAIRS));
        store(panel + (j + 1) * lanes, __builtin_shufflevector(ab_low, cd_low, UPPER_PAIRS));
        store(panel + (j + 2) * lanes, __builtin_shufflevector(ab_high, cd_high, LOWER_PAIRS));
        store(panel + (j + 3) * lanes, __builtin_shufflevector(ab_high, cd_high, UPPER_PAIRS));
    }
}

/* Packs four lanes with contiguous elements, four elements at a time: transposing 4 x 4 squares needs a quarter of
 * the stores. */
static void pack_quads(float *panel, int32_t lanes, const float *source, int64_t lane_stride, int64_t k) {
    for (int64_t j = 0; j < k; j += 4) {
        const quad a = load_quad(source + j), b = load_quad(source + lane_stride + j);
        const quad c = load_quad(source + 2 * lane_stride + j), d = load_quad(source + 3 * lane_stride + j);
        const quad ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5),
                   ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
        const quad cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5),
                   cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
        store_quad(panel + j * lanes, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
        store_quad(panel + (j + 1) * lanes, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
        store_quad(panel + (j + 2) * lanes, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
        store_quad(panel + (j + 3) * lanes, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
    }
}

#define TOGETHER 64 /* elements of a lane before the next lane's: the written part stays in the L1 cache */

/* Packs `count` lanes, at least four; the last quad of lanes may overlap the one before it. */
static void pack_some(float *panel, int32_t lanes, const float *source, int64_t lane_stride, int32_t count, int64_t k) {
    int32_t i = 0;
    for (; i + WIDTH <= count; i += WIDTH)
        pack_vectors(panel + i, lanes, source + i * lane_stride, lane_stride, WIDTH, k);
    for (; i < count; i += 4) {
        const int32_t lane = i + 4 <= count ? i : count - 4;
        pack_quads(panel + lane, lanes, source + lane * lane_stride, lane_stride, k);
    }
}

/* Returns how many of the k elements are packed. Tiles whose rows are not quite a vector (14 of 16, 6 of 8) take
 * pack_vectors. */
static int64_t pack_in_quads(float *panel, int32_t lanes, const float *source, int64_t lane_stride, int32_t count,
                             int64_t k) {
    const int64_t whole = k / 4 * 4;
    int64_t j = 0;
    if (count == lanes && count < WIDTH && count > WIDTH - 4 && whole > 4) {
        j = whole - 4;
        pack_vectors(panel, lanes, source, lane_stride, count, j);
    }
    for (; j < whole; j += TOGETHER)
        pack_some(panel + j * lanes, lanes, source + j, lane_stride, count,
                  whole - j < TOGETHER ? whole - j : TOGETHER);
    return whole;
}

static void scale_lanes(float *panel, int32_t lanes, int32_t count, int64_t k, float scale) {
    for (int64_t j = 0; j < k; j++)
        for (int32_t i = 0; i < count; i++) panel[j * lanes + i] *= scale;
}

void SIMD(tort_simd_pack_lanes)(float *panel, int32_t lanes, const float *source, int64_t lane_stride, int64_t k_stride,
                                int32_t count, int64_t k, float scale) {
    int64_t done = 0;
    if (count < lanes) memset(panel, 0, (size_t)(k * lanes) * sizeof(float));
    if (lane_stride == 1) {
        for (; done < k; done++)
            for (int32_t i = 0; i < count; i++) panel[done * lanes + i] = source[done * k_stride + i];
    } else if (k_stride == 1 && count >= 4) {
        done = pack_in_quads(panel, lanes, source, lane_stride, count, k);
    }
    for (int32_t i = 0; i < count; i++) {
        const float *from = source + i * lane_stride;
        for (int64_t j = done; j < k; j++) panel[j * lanes + i] = from[j * k_stride];
    }
    if (scale != 1) scale_lanes(panel, lanes, count, k, scale);
}
