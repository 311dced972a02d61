/* cpu_packing.c - operands as kernels pack them (kernels/cpu/packed_gemm.h, byte_gemm.h), in each instruction set that
 * the machine has, against what their headers say that they become. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/byte_gemm.h"
#include "kernels/cpu/packed_gemm.h"
#include "tests/unit/cpu_tables.h"

/* Any bits, infinities and signaling NaN among them. */
static void fill(void *to, size_t bytes, uint32_t seed) {
    uint8_t *at = to;
    for (size_t i = 0; i < bytes; i++) {
        seed = seed * 1664525u + 1013904223u;
        at[i] = seed >> 28 == 0 ? 0xff : (uint8_t)(seed >> 16);
    }
}

/* ---- lanes ------------------------------------------------------------------------------------------------------- */

enum { MAX_LANES = 33, MAX_K = 130, BEHIND = 16 };

static uint32_t source[MAX_LANES * (2 * MAX_K + 3)], panel[MAX_LANES * MAX_K + BEHIND], wanted[MAX_LANES * MAX_K];

static void check_lanes(const tort_simd *simd, int32_t lanes, int32_t count, int64_t k, int64_t lane_stride,
                        int64_t k_stride) {
    memset(wanted, 0, sizeof wanted);
    memset(panel, 0xa5, sizeof panel);
    for (int64_t j = 0; j < k; j++)
        for (int32_t i = 0; i < count; i++) wanted[j * lanes + i] = source[i * lane_stride + j * k_stride];
    simd->pack_lanes((float *)(void *)panel, lanes, (const float *)(const void *)source, lane_stride, k_stride, count,
                     k, 1);
    const size_t size = (size_t)(k * lanes);
    cr_assert_arr_eq(panel, wanted, size * sizeof *panel, "%s: %d of %d lanes, k %lld, strides %lld and %lld",
                     simd->name, count, lanes, (long long)k, (long long)lane_stride, (long long)k_stride);
    for (size_t i = size; i < size + BEHIND; i++)
        cr_assert_eq(panel[i], 0xa5a5a5a5u, "%s: %d of %d lanes, k %lld: written %zu behind the panel", simd->name,
                     count, lanes, (long long)k, i - size);
}

Test(cpu_packing, lanes_are_moved_bit_by_bit) {
    static const int64_t depths[] = {0, 1, 3, 4, 5, 9, 16, 63, 64, 66, MAX_K};
    static const int32_t widths[] = {4, 6, 8, 14, 16, 32, MAX_LANES};
    fill(source, sizeof source, 1);
    for (int t = 0; t < CPU_TABLES; t++)
        for (size_t w = 0; cpu_table(t) && w < sizeof widths / sizeof *widths; w++)
            for (size_t d = 0; d < sizeof depths / sizeof *depths; d++)
                for (int32_t count = 1; count <= widths[w]; count++) {
                    check_lanes(cpu_table(t), widths[w], count, depths[d], depths[d] + 3, 1);
                    check_lanes(cpu_table(t), widths[w], count, depths[d], 1, count + 2);
                    check_lanes(cpu_table(t), widths[w], count, depths[d], 2 * depths[d] + 3, 2);
                }
}

/* What lies behind the lanes stays 0, whatever the scale. */
Test(cpu_packing, lanes_are_scaled) {
    for (int t = 0; t < CPU_TABLES; t++) {
        const tort_simd *simd = cpu_table(t);
        float from[5 * 6], to[8 * 6];
        for (int i = 0; i < 5 * 6; i++) from[i] = (float)(i + 1);
        if (!simd) continue;
        simd->pack_lanes(to, 8, from, 6, 1, 5, 6, INFINITY);
        for (int i = 0; i < 8 * 6; i++) cr_assert_eq(to[i], i % 8 < 5 ? INFINITY : 0, "%s: %d", simd->name, i);
        simd->pack_lanes(to, 8, from, 6, 1, 5, 6, -0.5f);
        for (int i = 0; i < 8 * 6; i++)
            cr_assert_eq(to[i], i % 8 < 5 ? -0.5f * from[i % 8 * 6 + i / 8] : 0, "%s: %d", simd->name, i);
    }
}

/* ---- B in parts -------------------------------------------------------------------------------------------------- */

static void check_parts(const tort_simd *simd, int64_t n, int64_t k, bool by_columns, int64_t step) {
    const int64_t k_stride = by_columns ? 1 : n, column_stride = by_columns ? k : 1;
    const size_t bytes = (size_t)tort_packed_b_size(simd, n, k) * sizeof(float);
    float *b = malloc((size_t)(n * k) * sizeof *b), *whole = malloc(bytes), *parts = malloc(bytes);
    fill(b, (size_t)(n * k) * sizeof *b, 2);
    memset(whole, 0, bytes); /* it has room behind its panels */
    memset(parts, 0xa5, bytes);
    tort_pack_b(NULL, simd, whole, b, k_stride, column_stride, n, k, 1);
    const int64_t extent = by_columns ? n : k;
    for (int64_t first = 0; first < extent; first += step) {
        const int64_t last = first + step < extent ? first + step : extent;
        const tort_b_part part = by_columns ? (tort_b_part){0, k, first, last} : (tort_b_part){first, last, 0, n};
        tort_pack_b_part(simd, parts, b + first * (by_columns ? column_stride : k_stride), k_stride, column_stride, n,
                         k, 1, &part);
    }
    cr_assert_arr_eq(parts, whole, bytes, "%s: %lld x %lld, %lld %s at a time", simd->name, (long long)k, (long long)n,
                     (long long)step, by_columns ? "columns" : "rows");
    free(b);
    free(whole);
    free(parts);
}

Test(cpu_packing, parts_of_b_are_the_whole) {
    for (int t = 0; t < CPU_TABLES; t++) {
        const tort_simd *simd = cpu_table(t);
        if (!simd) continue;
        for (int64_t step = 1; step < 1000; step = step * 3 + 1) check_parts(simd, 70, 900, false, step);
        for (int64_t step = 1; step < 5; step++) check_parts(simd, 150, 400, true, step * simd->tile_columns);
    }
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

typedef struct columns {
    const tort_simd *simd;
    const tort_bytes *bytes;
    tort_type type;
    int64_t lines, k;
} columns;

static int32_t stored_number(const tort_byte_sign *sign, uint8_t byte) {
    return sign->is_signed ? (int8_t)(byte ^ sign->flip) : byte ^ sign->flip;
}

/* Returns the place of a word in its panel, which may have put those first that lack nothing (*safe of them). */
static int64_t place_of(const columns *c, const tort_packed_bytes *found, int64_t line, int64_t word, int64_t *safe) {
    const int64_t words = (c->k + 3) / 4, in_row = word / 16 * c->bytes->tile_rows * TORT_BYTE_CHUNK + word % 16 * 4;
    const int32_t *order = found->order ? found->order + line / c->bytes->tile_columns * (words + 1) : NULL;
    *safe = order ? order[0] : 0;
    for (int64_t i = 0; *safe && i < words; i++)
        if (order[1 + i] == in_row) return i;
    cr_assert(!*safe, "%s: word %lld is in no place", c->simd->name, (long long)word);
    return word;
}

/* offset: of the matrix in memory, which words of four bytes may not like. */
static void check_columns(const columns *c, int64_t line_stride, int64_t k_stride, int64_t offset) {
    const int64_t tile = c->bytes->tile_columns, words = (c->k + 3) / 4;
    const int64_t size = tort_packed_byte_columns_size(c->bytes, c->lines, c->k);
    uint8_t *data = aligned_alloc(64, 65536), *packed = aligned_alloc(64, ((size_t)size + 63) / 64 * 64);
    fill(data, 65536, 3);
    for (int64_t line = 0; line < c->lines; line++) /* two of three words lack nothing */
        for (int64_t j = 0; j < c->k; j++) {
            uint8_t *byte = data + offset + line * line_stride + j * k_stride;
            if (j % 12 < 8) *byte = (uint8_t)(*byte % 64 - 32 + (c->type == TORT_UINT8 ? 128 : 0));
        }
    memset(packed, 0xa5, (size_t)size);
    const tort_byte_matrix b = {.data = data + offset,
                                .line_stride = line_stride,
                                .k_stride = k_stride,
                                .sign = tort_byte_sign_of(c->bytes, c->type, true)};
    tort_pack_byte_columns(NULL, c->simd, c->bytes, packed, &b, c->lines, c->k);
    const tort_packed_bytes found = tort_packed_byte_columns(c->bytes, packed, c->lines, c->k);
    for (int64_t line = 0; line < c->lines; line++) {
        int32_t sum = 0, turned = 0;
        for (int64_t j = 0; j < c->k; j++) {
            const uint8_t byte = b.data[line * line_stride + j * k_stride];
            int64_t safe;
            const int64_t word = place_of(c, &found, line, j / 4, &safe);
            const int64_t at = line / tile * tile * words * 4 + (word * tile + line % tile) * 4 + j % 4;
            sum += stored_number(&b.sign, byte);
            if (word >= safe) turned += tort_turned(stored_number(&b.sign, byte));
            cr_assert_eq(found.panels[at], byte ^ b.sign.flip, "%s: column %lld of %lld, k %lld of %lld", c->simd->name,
                         (long long)line, (long long)c->lines, (long long)j, (long long)c->k);
        }
        cr_assert_eq(found.sums[line], sum, "%s: the sum of column %lld is %d, expected %d", c->simd->name,
                     (long long)line, found.sums[line], sum);
        const int32_t padded = (int32_t)((4 - c->k % 4) % 4) * (b.sign.flip ? tort_turned(-128) : 0);
        cr_assert(!found.turned || found.turned[line] == turned || found.turned[line] == turned + padded,
                  "%s: tiles are said to lack %d of column %lld, and lack %d", c->simd->name,
                  found.turned ? found.turned[line] : 0, (long long)line, turned);
    }
    free(data);
    free(packed);
}

Test(cpu_packing, columns_of_bytes_become_words_and_sums) {
    static const int64_t depths[] = {1, 4, 6, 64, 100, 127}, counts[] = {1, 3, 8, 31, 32, 65};
    const uint32_t all = cpu_instructions();
    for (int t = 0; t < CPU_TABLES; t++)
        for (int i = 0; cpu_table(t) && i < 2 * 36; i++) {
            const columns c = {.simd = cpu_table(t),
                               .bytes = tort_bytes_choose(cpu_table(t)->instructions | (all & ~15u)),
                               .type = i % 2 ? TORT_INT8 : TORT_UINT8,
                               .lines = counts[i / 2 % 6],
                               .k = depths[i / 12]};
            if (!c.bytes || c.bytes->tile_columns != c.simd->tile_columns) continue;
            check_columns(&c, 1, c.lines + 3, 0);
            check_columns(&c, c.k, 1, 0);
            check_columns(&c, c.k, 1, 3);
            check_columns(&c, 2 * c.k + 1, 2, 0);
        }
}
