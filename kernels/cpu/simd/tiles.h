/* tiles.h - the tile instructions of x86-64 (AMX): registers of 16 rows of 64 bytes, and products of two of them.
 *
 * Instructions are written out, because the intrinsics of gcc 12 do not say what memory they read, and stores before
 * them vanish. TILE_MODEL makes them plain C, after the operations in Intel's manual: what is written with tiles then
 * runs on any machine (`make TILES=model`). All eight tiles have one shape, 16 x 64 bytes; what a product has less of
 * is 0 in one of its operands. */
#ifndef TORT_KERNELS_CPU_SIMD_TILES_H
#define TORT_KERNELS_CPU_SIMD_TILES_H

#include <stdint.h>

/* Kinds of products. U8S8: operand a, the rows, is unsigned and b, the columns, signed; S8U8: vice versa. BF16: floats
 * of 16 bits, with sums in float32. */
enum { TILE_U8S8, TILE_S8U8, TILE_BF16 };

#ifdef TILE_MODEL
#include <stdlib.h>
#include <string.h>

/* The registers of a thread; without a configuration an instruction is illegal, and ends the process here too. */
static _Thread_local struct tile_model {
    _Bool configured;
    uint8_t tile[8][16][64];
} tile_model;

static inline uint8_t (*model_tile(int t))[64] {
    if (!tile_model.configured) abort();
    return tile_model.tile[t];
}

static inline void tiles_begin(void) {
    tile_model.configured = 1;
    memset(tile_model.tile, 0, sizeof tile_model.tile);
}

static inline void tiles_end(void) {
    tile_model.configured = 0;
}

static inline void model_load(int t, const void *from, int64_t stride) {
    for (int i = 0; i < 16; i++) memcpy(model_tile(t)[i], (const uint8_t *)from + i * stride, 64);
}

static inline void model_store(int t, void *to, int64_t stride) {
    for (int i = 0; i < 16; i++) memcpy((uint8_t *)to + i * stride, model_tile(t)[i], 64);
}

static inline int32_t model_byte(uint8_t byte, _Bool is_signed) {
    return is_signed ? (int8_t)byte : byte;
}

static inline float model_bf16(const uint8_t *half) {
    const uint8_t bytes[4] = {0, 0, half[0], half[1]};
    float number;
    memcpy(&number, bytes, sizeof number);
    return number;
}

/* Sums of the even and of the odd elements of k, which are then added. */
static inline void model_multiply_bf16(int c, int a, int b) {
    for (int m = 0; m < 16; m++)
        for (int n = 0; n < 16; n++) {
            float parts[2] = {0, 0}, sum;
            for (int k = 0; k < 32; k++)
                parts[k % 2] +=
                    model_bf16(model_tile(a)[m] + 2 * k) * model_bf16(model_tile(b)[k / 2] + 4 * n + k % 2 * 2);
            memcpy(&sum, model_tile(c)[m] + 4 * n, sizeof sum);
            sum += parts[0] + parts[1];
            memcpy(model_tile(c)[m] + 4 * n, &sum, sizeof sum);
        }
}

static inline void model_multiply(int c, int a, int b, int kind) {
    if (kind == TILE_BF16) {
        model_multiply_bf16(c, a, b);
        return;
    }
    for (int m = 0; m < 16; m++)
        for (int n = 0; n < 16; n++) {
            uint32_t sum;
            memcpy(&sum, model_tile(c)[m] + 4 * n, sizeof sum);
            for (int k = 0; k < 64; k++)
                sum += (uint32_t)(model_byte(model_tile(a)[m][k], kind == TILE_S8U8) *
                                  model_byte(model_tile(b)[k / 4][4 * n + k % 4], kind == TILE_U8S8));
            memcpy(model_tile(c)[m] + 4 * n, &sum, sizeof sum);
        }
}

#define TILE_ZERO(t) memset(model_tile(t), 0, 16 * 64)
#define TILE_LOAD(t, from, stride) model_load(t, from, stride)
#define TILE_STORE(t, to, stride) model_store(t, to, stride)
#define TILE_MULTIPLY(c, a, b, kind) model_multiply(c, a, b, kind)
#else
typedef struct tile_shapes {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_shapes;
_Static_assert(sizeof(tile_shapes) == 64, "as the processor reads it");

static inline void tiles_begin(void) {
    static const tile_shapes shapes = {
        .palette = 1, .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 16, 16}};
    __asm__ volatile("ldtilecfg %0" ::"m"(shapes));
}

static inline void tiles_end(void) {
    __asm__ volatile("tilerelease" ::);
}

#define TILE_ZERO(t) __asm__ volatile("tilezero %%tmm" #t ::)
#define TILE_LOAD(t, from, stride)                                                                                     \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t ::"r"(from), "r"((int64_t)(stride)) : "memory")
#define TILE_STORE(t, to, stride)                                                                                      \
    __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" ::"r"(to), "r"((int64_t)(stride)) : "memory")
/* Tile c gains the products of the rows of a and the columns of b; `kind` is a constant. */
#define TILE_MULTIPLY(c, a, b, kind)                                                                                   \
    do {                                                                                                               \
        if ((kind) == TILE_U8S8)                                                                                       \
            __asm__ volatile("tdpbusd %%tmm" #b ", %%tmm" #a ", %%tmm" #c ::);                                         \
        else if ((kind) == TILE_BF16)                                                                                  \
            __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c ::);                                       \
        else                                                                                                           \
            __asm__ volatile("tdpbsud %%tmm" #b ", %%tmm" #a ", %%tmm" #c ::);                                         \
    } while (0)
#endif

/* ---- a tile of four registers of sums: 0 to 3, two rows by two columns of them; 4 and 5 are loaded with rows, 6 and 7
 * with columns. Constants after inlining: two_rows, two_columns, kind. ---- */

#define TILES_INLINE static inline __attribute__((always_inline))

TILES_INLINE void tiles_clear(void) {
    TILE_ZERO(0);
    TILE_ZERO(1);
    TILE_ZERO(2);
    TILE_ZERO(3);
}

/* Adds the products of a register of rows, and the one below it, and a register of columns, and the one beside it. */
TILES_INLINE void tiles_step(const void *a, const void *below, int64_t a_stride, const void *b, const void *beside,
                             int64_t b_stride, _Bool two_rows, _Bool two_columns, int kind) {
    TILE_LOAD(6, b, b_stride);
    TILE_LOAD(4, a, a_stride);
    TILE_MULTIPLY(0, 4, 6, kind);
    if (two_columns) {
        TILE_LOAD(7, beside, b_stride);
        TILE_MULTIPLY(1, 4, 7, kind);
    }
    if (!two_rows) return;
    TILE_LOAD(5, below, a_stride);
    TILE_MULTIPLY(2, 5, 6, kind);
    if (two_columns) TILE_MULTIPLY(3, 5, 7, kind);
}

/* Stores sums, of 4 bytes each, in rows that are `stride` bytes apart. */
TILES_INLINE void tiles_store(void *to, int64_t stride, _Bool two_rows, _Bool two_columns) {
    char *first = to, *below = first + 16 * stride;
    TILE_STORE(0, first, stride);
    if (two_columns) TILE_STORE(1, first + 64, stride);
    if (two_rows) TILE_STORE(2, below, stride);
    if (two_rows && two_columns) TILE_STORE(3, below + 64, stride);
}

#endif
