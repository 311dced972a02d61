/* bytes.c - the inner loop of products of 8-bit integers: a tile of sums in registers.
 *
 * A step multiplies four bytes of a row with four of each column. Processors have an instruction for that (VNNI of
 * x86, DOT of Arm), and this source is also compiled for those; otherwise it has a form in 16 bits (byte_vector.h). No
 * variant saturates. Read next: ../bytes.h for the layout of operands. */
#include "kernels/cpu/bytes.h"
#include "kernels/cpu/simd/byte_vector.h"

#include <string.h>

#if defined(__AVX512VNNI__)
#define BYTE_ROWS 14
#define BYTE_INSTRUCTIONS (TORT_CPU_V4 | TORT_CPU_AVX512_VNNI)
#elif defined(__AVXVNNI__)
#define BYTE_ROWS 6
#define BYTE_INSTRUCTIONS (TORT_CPU_V3 | TORT_CPU_AVX_VNNI)
#elif defined(__ARM_FEATURE_DOTPROD)
#define BYTE_ROWS 8
#define BYTE_INSTRUCTIONS (TORT_CPU_NEON | TORT_CPU_NEON_DOT)
#elif X86 == 512
#define BYTE_ROWS 8
#define BYTE_INSTRUCTIONS INSTRUCTIONS
#elif X86 == 256
#define BYTE_ROWS 5
#define BYTE_INSTRUCTIONS INSTRUCTIONS
#elif NEON == 32 || RVV
#define BYTE_ROWS 2
#define BYTE_INSTRUCTIONS INSTRUCTIONS
#else
#define BYTE_ROWS 4
#define BYTE_INSTRUCTIONS INSTRUCTIONS
#endif

/* Panels are contiguous, but hardware prefetchers stop at the end of a page: so prefetch this many bytes ahead,
 * except with few rows, which are done with a panel too soon. */
#define AHEAD 4096
#define FEW_ROWS 4

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

/* Adds the products of one word of k. */
INLINE void step(int rows, int vectors, bool unsigned_rows, sums (*acc)[TILE_VECTORS], const uint8_t *a,
                 const uint8_t *b) {
    column columns[TILE_VECTORS];
    for (int v = 0; v < vectors; v++) columns[v] = column_of(*(const loose_mask *)(const void *)(b + v * WIDTH * 4));
    for (int v = 0; rows > FEW_ROWS && v < vectors; v += 64 / (WIDTH * 4))
        __builtin_prefetch(b + AHEAD + v * WIDTH * 4, 0, 2);
    EACH_PART UNROLL for (int i = 0; i < rows; i++) {
        const mask row = broadcast_part(a + i * TORT_BYTE_CHUNK, ALL_SIGNED || !unsigned_rows, part);
        for (int v = 0; v < vectors; v++)
            acc[i][v] = unsigned_rows ? add_column(acc[i][v], row, columns[v], part)
                                      : add_part(acc[i][v], part_of(columns[v].word, ALL_SIGNED, part), row);
    }
}

#define MAX_LANES (BYTE_ROWS < 4 ? BYTE_ROWS : 4) /* with few rows each has several sums, so that additions overlap */

#if TURNED
/* Adds the products of a word of k of which no pair can saturate. */
INLINE void safe_step(int rows, int vectors, sums (*acc)[TILE_VECTORS], const uint8_t *a, const uint8_t *b) {
    mask columns[TILE_VECTORS];
    for (int v = 0; v < vectors; v++) columns[v] = *(const loose_mask *)(const void *)(b + v * WIDTH * 4);
    for (int v = 0; rows > FEW_ROWS && v < vectors; v += 64 / (WIDTH * 4))
        __builtin_prefetch(b + AHEAD + v * WIDTH * 4, 0, 2);
    UNROLL
    for (int i = 0; i < rows; i++) {
        const mask row = broadcast_word(a + i * TORT_BYTE_CHUNK);
        for (int v = 0; v < vectors; v++) acc[i][v] = add_two_and_two(acc[i][v], row, columns[v]);
    }
}

/* Adds the products of all words, which have an order. */
INLINE void add_ordered(const tort_byte_tile *t, int rows, int vectors, int lanes,
                        sums (*acc)[BYTE_ROWS][TILE_VECTORS]) {
    const int row_bytes = 4 * TILE_COLUMNS;
    const int32_t *place = t->order, *safe = place + t->safe, *end = place + t->words;
    const uint8_t *b = t->columns;
    for (; place + lanes <= safe; place += lanes, b += lanes * row_bytes)
        for (int l = 0; l < lanes; l++) safe_step(rows, vectors, acc[l], t->rows + place[l], b + l * row_bytes);
    for (; lanes > 1 && place < safe; place++, b += row_bytes) safe_step(rows, vectors, acc[0], t->rows + *place, b);
    for (; place + lanes <= end; place += lanes, b += lanes * row_bytes)
        for (int l = 0; l < lanes; l++) step(rows, vectors, true, acc[l], t->rows + place[l], b + l * row_bytes);
    for (; lanes > 1 && place < end; place++, b += row_bytes) step(rows, vectors, true, acc[0], t->rows + *place, b);
}
#endif

/* Adds the products of all words, one after another. */
INLINE void add_words(const tort_byte_tile *t, int rows, int vectors, int lanes, bool unsigned_rows,
                      sums (*acc)[BYTE_ROWS][TILE_VECTORS]) {
    const int chunk = TORT_BYTE_CHUNK / 4, row_bytes = 4 * TILE_COLUMNS;
    const uint8_t *b = t->columns, *chunk_start = t->rows;
    for (int64_t left = t->words; left > 0; left -= chunk, chunk_start += t->chunk_rows * TORT_BYTE_CHUNK) {
        const uint8_t *a = chunk_start, *end = a + 4 * (left < chunk ? left : chunk);
        for (; a + 4 * lanes <= end; a += 4 * lanes, b += lanes * row_bytes)
            for (int l = 0; l < lanes; l++) step(rows, vectors, unsigned_rows, acc[l], a + 4 * l, b + l * row_bytes);
        for (; lanes > 1 && a < end; a += 4, b += row_bytes) step(rows, vectors, unsigned_rows, acc[0], a, b);
    }
}

/* All parameters but t are constants after inlining, so acc lives in registers. */
INLINE void make_tile(const tort_byte_tile *t, int rows, int vectors, int lanes, bool unsigned_rows) {
    sums acc[MAX_LANES][BYTE_ROWS][TILE_VECTORS];
    UNROLL
    for (int i = 0; i < rows; i++)
        for (int l = 0; l < lanes; l++)
            for (int v = 0; v < vectors; v++) acc[l][i][v] = (sums){0};
#if TURNED
    if (unsigned_rows && vectors == TILE_VECTORS && t->order)
        add_ordered(t, rows, vectors, lanes, acc);
    else
#endif
        add_words(t, rows, vectors, lanes, unsigned_rows, acc);
    UNROLL
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++) {
            sums all = acc[0][i][v];
            for (int l = 1; l < lanes; l++) all = add_sums(all, acc[l][i][v]);
            *(loose_mask *)(void *)(t->sums + i * TILE_COLUMNS + v * WIDTH) = total(all);
        }
}

INLINE void choose_rows(const tort_byte_tile *t, int vectors, bool unsigned_rows) {
    if (t->row_count == 1)
        make_tile(t, 1, vectors, MAX_LANES, unsigned_rows);
    else if (t->row_count == 2)
        make_tile(t, 2, vectors, MAX_LANES / 2, unsigned_rows);
    else if (BYTE_ROWS >= 4 && t->row_count <= 4)
        make_tile(t, 4, vectors, 1, unsigned_rows);
    else if (BYTE_ROWS > 8 && t->row_count <= 8)
        make_tile(t, 8, vectors, 1, unsigned_rows);
    else
        make_tile(t, BYTE_ROWS, vectors, 1, unsigned_rows);
}

INLINE void choose_columns(const tort_byte_tile *t, bool unsigned_rows) {
    if (t->column_count > WIDTH || t->order) /* words in an order: for whole panels alone, as code is not free */
        choose_rows(t, TILE_VECTORS, unsigned_rows);
    else
        choose_rows(t, 1, unsigned_rows);
}

static void tile(const tort_byte_tile *t) {
    if (!ALL_SIGNED && t->unsigned_rows)
        choose_columns(t, true);
    else
        choose_columns(t, false);
}

/* ---- single columns ---------------------------------------------------------------------------------------------- */

INLINE int32_t add_up(mask sum) {
#if X86 == 512
    return _mm512_reduce_add_epi32((__m512i)sum);
#elif X86 == 256
    const __m128i half = _mm_add_epi32(_mm256_castsi256_si128((__m256i)sum), _mm256_extracti128_si256((__m256i)sum, 1));
    const __m128i pair = _mm_hadd_epi32(half, half);
    return _mm_cvtsi128_si32(_mm_hadd_epi32(pair, pair));
#elif NEON
    return vaddvq_s32((int32x4_t)sum);
#elif X86
    const __m128i pair = _mm_hadd_epi32((__m128i)sum, (__m128i)sum);
    return _mm_cvtsi128_si32(_mm_hadd_epi32(pair, pair));
#else
    uint32_t all = 0;
    for (int i = 0; i < WIDTH; i++) all += (uint32_t)sum[i];
    return (int32_t)all;
#endif
}

/* Multiplies all rows with one column, whose bytes are contiguous: vectors go along k, so that no lane idles. */
INLINE void make_dots(const tort_byte_tile *t, bool unsigned_rows) {
    const int64_t chunks = (4 * t->words + TORT_BYTE_CHUNK - 1) / TORT_BYTE_CHUNK;
    for (int32_t i = 0; i < t->row_count; i++) {
        sums acc[TORT_BYTE_CHUNK / 4 / WIDTH];
        for (int v = 0; v < TORT_BYTE_CHUNK / 4 / WIDTH; v++) acc[v] = (sums){0};
        for (int64_t c = 0; c < chunks; c++)
            for (int v = 0; v < TORT_BYTE_CHUNK / 4 / WIDTH; v++) {
                const uint8_t *a = t->rows + (c * t->chunk_rows + i) * TORT_BYTE_CHUNK + v * WIDTH * 4;
                const mask row = *(const loose_mask *)(const void *)a;
                const mask other =
                    *(const loose_mask *)(const void *)(t->columns + c * TORT_BYTE_CHUNK + v * WIDTH * 4);
                acc[v] = unsigned_rows ? add_products(acc[v], row, other) : add_products(acc[v], other, row);
            }
        for (int v = 1; v < TORT_BYTE_CHUNK / 4 / WIDTH; v++) acc[0] = add_sums(acc[0], acc[v]);
        t->sums[i * TILE_COLUMNS] = add_up(total(acc[0]));
    }
}

static void dots(const tort_byte_tile *t) {
    if (!ALL_SIGNED && t->unsigned_rows)
        make_dots(t, true);
    else
        make_dots(t, false);
}

#if TURNED
#define FIND_SAFE find_safe
static int64_t find_safe(const uint8_t *panel, int64_t columns, int64_t words, int32_t *order) {
    int64_t safe = 0;
    for (int64_t i = 0; i < words; i++, panel += 4 * columns) {
        bool large = false;
        for (int64_t c = 0; c < columns; c += WIDTH)
            large |= has_large_pair(*(const loose_mask *)(const void *)(panel + 4 * c));
        order[i] = (int32_t)(large ? ~i : i);
        safe += !large;
    }
    return safe;
}
#else
#define FIND_SAFE NULL
#endif

extern const tort_bytes SIMD(tort_bytes);
/* Defined in blocked_bytes.c. */
void SIMD(tort_bytes_blocked_tile)(const struct tort_blocked_byte_tile *tile);
void SIMD(tort_bytes_quads)(const uint8_t *row, int64_t pixels, uint8_t *quads);
void SIMD(tort_bytes_depthwise)(const struct tort_depthwise_bytes *d, const struct tort_blocked_byte_tile *t);
#if defined(__AVX512VNNI__) || defined(__AVXVNNI__) || defined(__ARM_FEATURE_DOTPROD)
#define QUADS SIMD(tort_bytes_quads)
#define DEPTHWISE SIMD(tort_bytes_depthwise)
#else
#define QUADS NULL
#define DEPTHWISE NULL
#endif

const tort_bytes SIMD(tort_bytes) = {.instructions = BYTE_INSTRUCTIONS,
                                     .tile_rows = BYTE_ROWS,
                                     .tile_columns = TILE_COLUMNS,
                                     .all_signed = ALL_SIGNED,
                                     .turned = TURNED,
                                     .find_safe = FIND_SAFE,
                                     .width = WIDTH,
                                     .tile = tile,
                                     .dots = dots,
                                     .blocked_pixels = BLOCKED_BYTE_PIXELS,
                                     .blocked_blocks = BLOCKED_BYTE_VECTORS * WIDTH / 16,
                                     .blocked_tile = SIMD(tort_bytes_blocked_tile),
                                     .quads = QUADS,
                                     .depthwise = DEPTHWISE};
