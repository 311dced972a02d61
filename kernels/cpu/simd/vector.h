/* vector.h - the vector type of the instruction set that a source is compiled for, and the names of its symbols.
 *
 * The build defines TORT_SIMD (v2, v3, v4, neon, rvv). Only files of this folder include this one. Read next:
 * intrinsics.h for operations that the compiler's vector types cannot express. */
#ifndef TORT_KERNELS_CPU_SIMD_VECTOR_H
#define TORT_KERNELS_CPU_SIMD_VECTOR_H

#include "kernels/cpu/simd.h"

#define INLINE static inline __attribute__((always_inline))
#define JOIN_EXPANDED(a, b) a##_##b
#define JOIN(a, b) JOIN_EXPANDED(a, b)
#define SIMD(name) JOIN(name, TORT_SIMD) /* SIMD(tort_simd_tile) is tort_simd_tile_v3 */
#define TEXT_EXPANDED(a) #a
#define TEXT(a) TEXT_EXPANDED(a)
/* Before a loop of a constant count whose results are to stay in registers: GCC unrolls outermost loops too late for
 * that, unless asked to; clang does if asked to. */
#ifdef __clang__
#define UNROLL
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Vectors have WIDTH floats. A tile of the matrix product is TILE_ROWS rows by TILE_VECTORS vectors: its sums, a row
 * of B and a broadcast element of A fill the registers. Likewise BLOCKED_PIXELS by BLOCKED_VECTORS of filters, which
 * are one or two blocks of 16. */
#if defined(__AVX512F__)
#define X86 512 /* of x86 with vectors of so many bits; other processors do not define it */
#define WIDTH 16
#define TILE_ROWS 14
#define TILE_VECTORS 2
#define BLOCKED_PIXELS 14
#define BLOCKED_VECTORS 2
#define INSTRUCTIONS TORT_CPU_V4
#elif defined(__AVX2__)
#define X86 256
#define WIDTH 8
#define TILE_ROWS 6
#define TILE_VECTORS 2
#define BLOCKED_PIXELS 6
#define BLOCKED_VECTORS 2
#define INSTRUCTIONS TORT_CPU_V3
#elif defined(__aarch64__)
#define NEON 64 /* of Arm of so many bits; other processors do not define it */
#define WIDTH 4
#define TILE_ROWS 8
#define TILE_VECTORS 2
#define BLOCKED_PIXELS 6
#define BLOCKED_VECTORS 4
#define INSTRUCTIONS TORT_CPU_NEON
#elif defined(__ARM_NEON)
#define NEON 32 /* half the registers, and subnormal numbers are 0 */
#define WIDTH 4
#define TILE_ROWS 6
#define TILE_VECTORS 2
#define BLOCKED_PIXELS 3
#define BLOCKED_VECTORS 4
#define INSTRUCTIONS TORT_CPU_NEON
#elif defined(__riscv_vector)
#define RVV 1    /* of RISC-V */
#define WIDTH 16 /* eight groups of four registers: of one or of two each, products take more instructions */
#define TILE_ROWS 3
#define TILE_VECTORS 2
#define BLOCKED_PIXELS 6
#define BLOCKED_VECTORS 1
#define INSTRUCTIONS TORT_CPU_RVV
#else
#define X86 128
#define WIDTH 4
#define TILE_ROWS 4
#define TILE_VECTORS 2
#define BLOCKED_PIXELS 3
#define BLOCKED_VECTORS 4
#define INSTRUCTIONS TORT_CPU_V2
#endif
#define TILE_COLUMNS (TILE_VECTORS * WIDTH)
_Static_assert(TILE_COLUMNS <= TORT_MAX_COLUMNS, "lists of a panel's columns have this room");

typedef float vector __attribute__((vector_size(WIDTH * 4)));
typedef float loose_vector __attribute__((vector_size(WIDTH * 4), aligned(4), may_alias)); /* at any address */
#define DOUBLES (WIDTH / 2)                                                                /* in a vector of doubles */
typedef double doubles __attribute__((vector_size(DOUBLES * 8)));
typedef double loose_doubles __attribute__((vector_size(DOUBLES * 8), aligned(8), may_alias));
typedef int32_t mask __attribute__((vector_size(WIDTH * 4)));

static inline vector load(const float *from) {
    return *(const loose_vector *)from;
}

static inline void store(float *to, vector value) {
    *(loose_vector *)to = value;
}

/* Copies exactly `length` elements; the last vector overlaps the one before it. */
static inline void copy_exactly(float *to, const float *from, int64_t length) {
    if (length < WIDTH) {
        for (int64_t i = 0; i < length; i++) to[i] = from[i];
        return;
    }
    for (int64_t i = 0; i + WIDTH <= length; i += WIDTH) store(to + i, load(from + i));
    store(to + length - WIDTH, load(from + length - WIDTH));
}

static inline vector broadcast(float value) {
    return value - (vector){0}; /* -0 + 0 is 0, so `+ 0` could not be optimized away; `- 0` can */
}

/* Integer sums and products are modulo 2^32, as the operators require; overflow of int32_t would be undefined. */
typedef uint32_t modulo __attribute__((vector_size(WIDTH * 4)));

static inline mask add_modulo(mask a, mask b) {
    return (mask)((modulo)a + (modulo)b);
}

static inline mask multiply_modulo(mask a, int32_t b) {
    return (mask)((modulo)a * (uint32_t)b);
}

void SIMD(tort_simd_tile)(const tort_tile *tile);
void SIMD(tort_simd_pack_runs)(float *panel, const float *source, const int64_t *offsets, int64_t rows,
                               const tort_run *runs, int32_t run_count, bool may_overread);
void SIMD(tort_simd_pack_lanes)(float *panel, int32_t lanes, const float *source, int64_t lane_stride, int64_t k_stride,
                                int32_t count, int64_t k, float scale);
void SIMD(tort_simd_store_planes)(const struct tort_planes *planes, const float *channel, float fill, float *stored,
                                  int64_t begin, int64_t end);
tort_window_loop SIMD(tort_simd_weighted_sum), SIMD(tort_simd_maximum);
void SIMD(tort_simd_row_product)(float *y, int64_t n, const float *a, int64_t k, const float *b, int64_t b_stride,
                                 const float *column_bias);
void SIMD(tort_simd_row_dots)(float *y, int64_t n, const float *a, int64_t k, const float *b, int64_t b_stride,
                              float scale);
void SIMD(tort_simd_nbits_rows)(const tort_nbits_panel *panel, const tort_nbits_rows *rows);
void SIMD(tort_simd_nbits_unpack)(const tort_nbits_panel *panel, int64_t first, int64_t count, float *out,
                                  int64_t stride);
void SIMD(tort_simd_linear_pair)(const tort_linear_pair *pair, int64_t count);
void SIMD(tort_simd_byte_table)(const uint8_t *table, const uint8_t *x, uint8_t *y, int64_t count);
void SIMD(tort_simd_softmax_bytes)(const struct tort_softmax_bytes *softmax, const uint8_t *x, uint8_t *y,
                                   int64_t count);
uint32_t SIMD(tort_simd_byte_sum)(const uint8_t *x, int64_t count, uint8_t flip);
void SIMD(tort_simd_requantize)(const tort_requantized *requantized, const int32_t *sums, uint8_t *y, int64_t count);
void SIMD(tort_simd_byte_rows)(const struct tort_byte_rows *rows, uint8_t *to, const uint8_t *from, int32_t count);
void SIMD(tort_simd_byte_words)(uint8_t *to, const uint8_t *const *rows, int64_t count, uint8_t flip);
void SIMD(tort_simd_byte_runs)(uint8_t *panel, const uint8_t *source, const int64_t *offsets, int64_t rows,
                               const tort_run *runs, int32_t run_count);
void SIMD(tort_simd_byte_finish)(const struct tort_byte_finish *finish);
void SIMD(tort_simd_quantize)(const tort_linear_bytes *linear, const float *x, uint8_t *y, int64_t count);
void SIMD(tort_simd_scale_to_bytes)(const tort_scaled_bytes *scaled, const float *x, uint8_t *y, int64_t count);
void SIMD(tort_simd_dequantize)(const tort_linear_bytes *linear, const uint8_t *x, float *y, int64_t count);
void SIMD(tort_simd_blocked_to_bytes)(const tort_scaled_bytes *scaled, const float *factors, const float *x, uint8_t *y,
                                      int64_t pixels);
void SIMD(tort_simd_deal)(const float *x, int64_t count, int64_t hands, float *lists, int64_t stride);
void SIMD(tort_simd_deal_bytes)(const uint8_t *x, int64_t count, int64_t hands, uint8_t *lists, int64_t stride);
void SIMD(tort_simd_range)(const float *x, int64_t count, float *low, float *high);
float SIMD(tort_simd_row_max)(const float *x, int64_t count);
float SIMD(tort_simd_exp_row)(const float *x, float *y, int64_t count, float max);
void SIMD(tort_simd_softmax_row)(const float *x, float *y, int64_t count);
void SIMD(tort_simd_log_softmax_row)(const float *x, float *y, int64_t count);
void SIMD(tort_simd_normalize_row)(const float *x, float *y, int64_t count, float epsilon, bool centered,
                                   const float *scale, const float *bias, bool one_scale);
float SIMD(tort_simd_row_sum)(const float *x, int64_t count, float shift, bool squared);
void SIMD(tort_simd_shift_row)(const float *x, float *y, int64_t count, float mean, float factor, float bias);
void SIMD(tort_simd_shift_columns)(const float *x, float *y, int64_t count, const float *mean, const float *factor,
                                   const float *bias);
struct tort_tree_record;
void SIMD(tort_simd_walk_rows)(const struct tort_tree_record *tree, const float *x, uint32_t bits, float *leaves);
void SIMD(tort_simd_walk_trees)(const struct tort_tree_record *const *trees, const float *x, uint32_t bits,
                                float *leaves);
struct tort_blocked_tile;
struct tort_blocked_window;
struct tort_winograd_output;
void SIMD(tort_simd_blocked_tile)(const struct tort_blocked_tile *tile);
void SIMD(tort_simd_blocked_sum)(const struct tort_blocked_window *window);
void SIMD(tort_simd_blocked_maximum)(const struct tort_blocked_window *window);
void SIMD(tort_simd_winograd_input)(const float *x, int64_t pitch, float *v, int64_t step);
void SIMD(tort_simd_winograd_output)(const struct tort_winograd_output *output);
void SIMD(tort_simd_winograd_filter)(const float *filters, int32_t lanes, float *u, int64_t step);
void SIMD(tort_simd_blocked_scale)(const float *x, float *y, int64_t pixels, const float *scale, const float *shift);
void SIMD(tort_simd_to_block)(const float *plain, float *block, int64_t pixels, int32_t channels);
void SIMD(tort_simd_from_block)(const float *block, float *plain, int64_t pixels, int32_t channels);
void SIMD(tort_simd_bytes_to_block)(const uint8_t *plain, uint8_t *block, int64_t pixels, int32_t channels);
void SIMD(tort_simd_bytes_from_block)(const uint8_t *block, uint8_t *plain, int64_t pixels, int32_t channels);
void SIMD(tort_simd_finish)(const tort_epilogue *epilogue, const float *residual, float *values, int64_t count);
void SIMD(tort_simd_from_float16)(const uint16_t *x, float *y, int64_t count);
void SIMD(tort_simd_to_float16)(const float *x, uint16_t *y, int64_t count);
void SIMD(tort_simd_from_bfloat16)(const uint16_t *x, float *y, int64_t count);
void SIMD(tort_simd_to_bfloat16)(const float *x, uint16_t *y, int64_t count);
double SIMD(tort_simd_multiply_adds)(int64_t rounds, float *sum);
void SIMD(tort_simd_double_rows)(const tort_double_rows *rows);
void SIMD(tort_simd_double_dots)(double *y, int64_t rows, const double *a, int64_t a_row, const double *b, int64_t k,
                                 bool adds);
void SIMD(tort_simd_columns_max)(float *max, const float *x, int64_t stride, int64_t rows, int64_t count);
void SIMD(tort_simd_columns_exp)(const float *max, float *sum, const float *x, float *y, int64_t stride, int64_t rows,
                                 int64_t count);
void SIMD(tort_simd_columns_arg)(float *best, int32_t *index, const float *x, int64_t stride, int64_t rows,
                                 int64_t count, float sign);
void SIMD(tort_simd_columns_sum)(double *sums, const float *x, float *y, int64_t stride, int64_t rows, int64_t count);
int64_t SIMD(tort_simd_row_arg)(const float *x, int64_t count, float sign);
void SIMD(tort_simd_flip)(const uint8_t *x, uint8_t *y, int64_t count, uint8_t bits);
void SIMD(tort_simd_is_nan)(const float *x, uint8_t *y, int64_t count);
void SIMD(tort_simd_map)(int32_t kind, float alpha, float beta, const float *x, float *y, int64_t count);
extern const tort_chunk_loop SIMD(tort_simd_pairs)[TORT_TYPE_COUNT][TORT_PAIR_COUNT];
extern const tort_chunk_loop SIMD(tort_simd_wheres)[4];
extern const tort_cast_loop SIMD(tort_simd_casts)[];
void SIMD(tort_simd_fold_columns)(tort_fold_kind kind, double *into, const float *x, int64_t stride, int64_t rows,
                                  int64_t chunks);
void SIMD(tort_simd_fold_rows)(tort_fold_kind kind, double *into, const float *x, int64_t count, int64_t rows);

#endif
