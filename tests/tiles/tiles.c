/* tiles.c - products of bytes on tiles of 32 rows by 32 columns, on the model of the tile instructions, against plain
 * sums: every count of rows, columns and words of k that a tile can have, and pixels of spans. What is around tiles is
 * tested in a whole program with the set v3_tiles, whose panels have 16 columns. */
#define TILE_MODEL
#define TORT_SIMD wide
#define UNIT_COLUMNS 32
#include "kernels/cpu/simd/amx.c"

#include <stdio.h>

enum { MAX_WORDS = 40, MAX_SPANS = 5, X_STEP = 80 };

static int passed, failed;
static uint32_t state = 1;

/* Stand for the tables that make what is left to vectors, which is nothing here. */
const tort_bytes BESIDE(tort_bytes) = {0};
void BESIDE(tort_bytes_blocked_tile)(const struct tort_blocked_byte_tile *tile) {
    (void)tile;
}
void BESIDE(tort_bytes_blocked_finish)(const struct tort_blocked_byte_tile *tile, const int32_t *made) {
    (void)tile;
    (void)made;
}

static void fill(uint8_t *bytes, size_t count) {
    static const uint8_t ends[] = {0, 1, 127, 128, 254, 255};
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        bytes[i] = state >> 30 ? (uint8_t)(state >> 22) : ends[(state >> 8) % sizeof ends];
    }
}

static int32_t number(uint8_t byte, bool is_signed) {
    return is_signed ? (int8_t)byte : byte;
}

static void expect(bool right, const char *what, int rows, int columns, int words) {
    passed += right;
    failed += !right;
    if (!right) printf("FAILED %s of %d rows, %d columns, %d words\n", what, rows, columns, words);
}

static void check_product(int rows, int columns, int words, bool unsigned_rows) {
    static uint8_t a[MAX_WORDS / WORDS + 1][ROWS][TORT_BYTE_CHUNK], b[MAX_WORDS][COLUMNS][4];
    _Alignas(64) int32_t made[ROWS][COLUMNS];
    const tort_byte_tile t = {.rows = a[0][0],
                              .columns = b[0][0],
                              .words = words,
                              .row_count = rows,
                              .column_count = columns,
                              .chunk_rows = ROWS,
                              .unsigned_rows = unsigned_rows,
                              .sums = made[0]};
    bool right = true;
    fill(a[0][0], sizeof a);
    fill(b[0][0], sizeof b);
    SIMD(tort_bytes).begin();
    SIMD(tort_bytes).tile(&t);
    SIMD(tort_bytes).end();
    for (int m = 0; m < rows; m++)
        for (int n = 0; n < columns; n++) {
            int32_t sum = 0;
            for (int k = 0; k < 4 * words; k++)
                sum += number(a[k / TORT_BYTE_CHUNK][m][k % TORT_BYTE_CHUNK], !unsigned_rows) *
                       number(b[k / 4][n][k % 4], unsigned_rows);
            right = right && made[m][n] == sum;
        }
    expect(right, "product", rows, columns, words);
}

static void check_pixels(int groups, int blocks, int spans) {
    static uint8_t x[(2 * SIDE + MAX_SPANS) * X_STEP], w[MAX_SPANS * WORDS * COLUMNS * 4];
    _Alignas(64) int32_t made[2 * SIDE][COLUMNS];
    tort_span list[MAX_SPANS];
    bool right = true;
    fill(x, sizeof x);
    fill(w, sizeof w);
    for (int s = 0; s < spans; s++) list[s] = (tort_span){.offset = (spans - 1 - s) * X_STEP, .count = WORDS};
    const tort_unit_tile t = {.x = {x, groups > 1 ? x + SIDE * X_STEP : NULL},
                              .x_step = X_STEP,
                              .spans = list,
                              .span_count = spans,
                              .weights = w,
                              .blocks = blocks,
                              .sums = made[0]};
    SIMD(tort_bytes).begin();
    SIMD(tort_bytes).unit_tile(&t);
    SIMD(tort_bytes).end();
    for (int p = 0; p < groups * SIDE; p++)
        for (int f = 0; f < blocks * SIDE; f++) {
            int32_t sum = 0;
            for (int s = 0; s < spans; s++)
                for (int k = 0; k < 4 * WORDS; k++)
                    sum += x[list[s].offset + p * X_STEP + k] *
                           (int8_t)w[((s * WORDS + k / 4) * blocks * SIDE + f) * 4 + k % 4];
            right = right && made[p][f] == sum;
        }
    expect(right, "pixels", groups * SIDE, blocks * SIDE, spans * WORDS);
}

int main(void) {
    for (int rows = FEW_ROWS + 1; rows <= ROWS; rows++)
        for (int columns = 1; columns <= COLUMNS; columns += 3)
            for (int words = 1; words <= MAX_WORDS; words = words * 2 + 1)
                for (int sign = 0; sign < 2; sign++) check_product(rows, columns, words, sign);
    for (int groups = 1; groups <= 2; groups++)
        for (int blocks = 1; blocks <= 2; blocks++)
            for (int spans = 1; spans <= MAX_SPANS; spans++) check_pixels(groups, blocks, spans);
    printf("tiles: %d passed, %d failed\n", passed, failed);
    return failed > 0;
}
