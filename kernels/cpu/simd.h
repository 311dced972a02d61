/* simd.h - the inner loops that are compiled once for each instruction set, as a table of functions.
 *
 * kernels/cpu/simd/ is one source for all sets, written with the compiler's vector types; the provider chooses a table
 * at open. Everything here is fp32. Read next: simd/gemm.c, then packed_gemm.c, which calls it. */
#ifndef TORT_KERNELS_CPU_SIMD_H
#define TORT_KERNELS_CPU_SIMD_H

#include "ops/epilogue.h"
#include "runtime/tinyort.h"

#include <stdbool.h>
#include <stdint.h>

struct tort_planes;
struct tort_tree_record;
struct tort_blocked_tile;
struct tort_blocked_window;
struct tort_winograd_output;
struct tort_byte_rows;
struct tort_byte_finish;

/* The loops that make sums apply Relu and Clip to them while they are in registers. */
typedef struct tort_bounds {
    float low, high; /* -INFINITY, INFINITY: none */
} tort_bounds;

/* One tile of a matrix product: C (rows, columns) = A (rows, k) * B (k, columns) + biases + add, within bounds. A is
 * packed as k times tile_rows, B as k times tile_columns; what lies behind rows and columns is read but not used. */
typedef struct tort_tile {
    const float *a, *b;
    const float *later; /* asked for ahead, 16 floats an element of k: a part of B that comes next. By a single row as
                           many as it reads, and NULL there: nothing is asked for. */
    float *c;
    int64_t a_step; /* elements between those of a single row of A; of more rows they are tile_rows */
    int64_t a_row;  /* not 0: A is tile_rows rows that lie so far apart, as they lie in memory, and not packed; columns
                       are more than a vector */
    int64_t k, c_stride; /* elements between rows of C */
    int32_t rows, columns;
    const float *row_bias;    /* one a row, or NULL */
    const float *column_bias; /* one a column, or NULL */
    const float *add;         /* rows c_stride apart: C itself, a residual, or NULL */
    tort_bounds bounds;
} tort_tile;

/* One sum a position: bias + sum over j < count of weights[j] * source[offsets[j] + position], within bounds. */
typedef struct tort_weighted {
    const int64_t *offsets;
    const float *weights; /* NULL: all 1 */
    int64_t count;
    float bias;
    tort_bounds bounds;
} tort_weighted;

/* What becomes of sums of products: round((sum + bias) * factor) + zero_point, within bounds, as a byte. */
typedef struct tort_requantized {
    double bias;
    const float *factors; /* one an element; NULL: each is `factor` */
    float factor, zero_point;
    tort_bounds bounds; /* -128 and 127 are bytes of int8 */
} tort_requantized;

/* As many columns of MatMulNBits as a vector has floats (`width`): a word of 32 bits has the numbers of one column that
 * lie behind one another, low bits first. Columns and numbers behind the matrix have the scale 0. */
typedef struct tort_nbits_panel {
    const uint32_t *words; /* [blocks][block_words][width] */
    const float *scales;   /* [blocks][width] */
    const float *zeros;    /* likewise; NULL: each is `zero` */
    float zero;
    int32_t bits;
    int64_t block_words, blocks;
} tort_nbits_panel;

/* Rows of A beside a panel, all blocks whole. */
typedef struct tort_nbits_rows {
    int64_t count, k; /* rows, and elements of each */
    /* Floats: element k is divided by 2^(bits * (k modulo the numbers of a word)), but for the last of a word, so that
     * numbers need not be shifted. */
    const float *floats;
    /* Or bytes: of the numbers of a word first those that are the lowest of their byte, then the next ones. */
    const int8_t *bytes;
    const float *scales; /* [count][blocks], of the bytes; NULL: floats */
    const float *sums;   /* [count][blocks], of the elements of a block, of floats before they were divided */
    float *y;            /* [count][width], rows y_stride apart: is overwritten */
    int64_t y_stride;
} tort_nbits_rows;

/* Bytes of int8 or uint8 that stand for (byte - zero_point) * scale. */
typedef struct tort_linear_bytes {
    float scale, zero_point;
    bool is_signed;
} tort_linear_bytes;

/* What becomes of floats: round(x * factor) + zero_point, as int8 or uint8. */
typedef struct tort_scaled_bytes {
    float factor, zero_point;
    bool is_signed;
} tort_scaled_bytes;

/* QLinearAdd and QLinearMul of int8 or uint8: round(a * A + b * B + fixed), or round((A - a) * (B - b) * fixed) + zero,
 * within bounds. A step of 0: one element for all. */
typedef struct tort_linear_pair {
    const uint8_t *a, *b;
    int64_t a_step, b_step; /* 0 or 1 */
    uint8_t *c;
    float a_number, b_number, fixed, zero;
    bool multiplies, is_signed;
} tort_linear_pair;

/* `length` elements that lie together in the source, for positions at .. at+length of a row of a packed panel. */
typedef struct tort_run {
    int64_t offset;
    int32_t at, length;
} tort_run;

/* `count` chunks of the operands of an elementwise loop. Operand k steps as many bytes a chunk: 0 where all elements of
 * its chunk are one that is repeated, else what its elements take. y may be an operand that steps as y does. */
#define TORT_CHUNK 64
typedef struct tort_chunks {
    const void *in[3];
    int64_t steps[3];
    void *y;
    int64_t count;
} tort_chunks;
typedef void (*tort_chunk_loop)(const tort_chunks *chunks);

/* Loops of two operands, in elements of one type. */
typedef enum tort_pair_kind {
    TORT_PAIR_ADD,
    TORT_PAIR_SUB,
    TORT_PAIR_MUL,
    TORT_PAIR_DIV,
    TORT_PAIR_MAX, /* NaN is the largest, and the smallest */
    TORT_PAIR_MIN,
    TORT_PAIR_PRELU, /* b is the slope */
    TORT_PAIR_COUNT
} tort_pair_kind;

/* Conversions of whole chunks of so many elements. The loop returns false where there was an element that the
 * instructions cannot convert; what it wrote is then of no use. */
#define TORT_CAST_CHUNK 64
typedef struct tort_cast_loop {
    tort_type from, to;
    bool (*run)(const void *x, void *y, int64_t chunks);
} tort_cast_loop;

/* Reductions of floats in double, column by column, of rows that lie `stride` elements apart, into what stands in
 * `into`. A row is whole chunks of so many columns. */
#define TORT_FOLD_CHUNK 16
typedef enum tort_fold_kind {
    TORT_FOLD_SUM,
    TORT_FOLD_MAGNITUDES,
    TORT_FOLD_SQUARES,
    TORT_FOLD_LARGEST, /* NaN wins */
    TORT_FOLD_SMALLEST,
    TORT_FOLD_COUNT
} tort_fold_kind;
typedef void (*tort_fold)(double *into, const float *x, int64_t stride, int64_t rows, int64_t chunks);

/* Functions of single elements: every tort_activation under its number, and these behind them. */
typedef enum tort_map_kind {
    TORT_MAP_EXP = TORT_ACTIVATION_COUNT,
    TORT_MAP_ERF,
    TORT_MAP_SWISH, /* x * sigmoid(alpha * x) */
    TORT_MAP_ABS,
    TORT_MAP_NEG,
    TORT_MAP_FLOOR,
    TORT_MAP_CEIL,
    TORT_MAP_ROUND, /* half to even */
    TORT_MAP_SQRT,
    TORT_MAP_RECIPROCAL,
    TORT_MAP_LOG,
    TORT_MAP_MISH,
    TORT_MAP_COUNT
} tort_map_kind;

/* y[i] = f(x[i]), y may be x; alpha and beta are those of tort_epilogue. */
typedef void (*tort_map_loop)(float alpha, float beta, const float *x, float *y, int64_t count);

typedef struct tort_simd {
    const char *name;
    uint32_t instructions;           /* the TORT_CPU_ bit */
    int32_t tile_rows, tile_columns; /* of tort_tile */
    int32_t width;                   /* floats in a vector */
    void (*tile)(const tort_tile *tile);
    /* Row i of a panel (tile_columns wide) becomes the runs of source + offsets[i]. Writes up to `width` floats behind
     * the panel; reads up to width-1 floats behind a run if `may_overread`. */
    void (*pack_runs)(float *panel, const float *source, const int64_t *offsets, int64_t rows, const tort_run *runs,
                      int32_t run_count, bool may_overread);
    /* panel[j * lanes + i] = scale * source[i * lane_stride + j * k_stride] for i < count <= lanes, j < k; the lanes
     * behind count are 0. Packs A with tile_rows lanes, or a transposed B with tile_columns. With a scale of 1 bits are
     * moved, of whatever type. */
    void (*pack_lanes)(float *panel, int32_t lanes, const float *source, int64_t lane_stride, int64_t k_stride,
                       int32_t count, int64_t k, float scale);
    /* The stored form (planes.h) of one channel of the input; padding gets `fill`. */
    void (*store_planes)(const struct tort_planes *planes, const float *channel, float fill, float *stored);
    /* The sums of positions 0..width-1. Reads up to width-1 elements behind what it needs. */
    void (*weighted_sum)(float *out, int64_t width, const float *source, const tort_weighted *weighted);
    /* out[i] = the largest source[offsets[j] + i], count >= 1; NaN wins. Reads as far as weighted_sum. */
    void (*maximum)(float *out, int64_t width, const float *source, const int64_t *offsets, int64_t count);
    /* y (n) = a (k) * B (k, n) + column_bias (NULL: 0); rows of B are b_stride apart. */
    void (*row_product)(float *y, int64_t n, const float *a, int64_t k, const float *b, int64_t b_stride,
                        const float *column_bias);
    /* y[j] = scale * the product of a (k) and row j of B (n, k), rows b_stride apart. */
    void (*row_dots)(float *y, int64_t n, const float *a, int64_t k, const float *b, int64_t b_stride, float scale);
    /* The layout of blocked.h. A block has so many channels of a plain tensor; what only fills it becomes 0. */
    int32_t blocked_pixels, blocked_blocks; /* of the largest tort_blocked_tile */
    void (*to_block)(const float *plain, float *block, int64_t pixels, int32_t channels);
    void (*from_block)(const float *block, float *plain, int64_t pixels, int32_t channels);
    void (*bytes_to_block)(const uint8_t *plain, uint8_t *block, int64_t pixels, int32_t channels);
    void (*bytes_from_block)(const uint8_t *block, uint8_t *plain, int64_t pixels, int32_t channels);
    void (*blocked_tile)(const struct tort_blocked_tile *tile);
    void (*blocked_sum)(const struct tort_blocked_window *window);
    void (*blocked_maximum)(const struct tort_blocked_window *window); /* NaN wins */
    /* y = x * scale + shift over the pixels of a block; 16 numbers each. y may be x. */
    void (*blocked_scale)(const float *x, float *y, int64_t pixels, const float *scale, const float *shift);
    /* 6 x 6 pixels of a block, rows `pitch` floats apart, become 36 numbers a channel, `step` floats apart. */
    void (*winograd_input)(const float *x, int64_t pitch, float *v, int64_t step);
    void (*winograd_output)(const struct tort_winograd_output *output);
    /* [9][lanes] weights become 36 a lane; lanes are a multiple of 16. */
    void (*winograd_filter)(const float *filters, int32_t lanes, float *u, int64_t step);
    const tort_map_loop *maps;                       /* by tort_activation and tort_map_kind */
    const tort_chunk_loop (*pairs)[TORT_PAIR_COUNT]; /* by tort_type and tort_pair_kind; NULL: there is none */
    /* in[0] ? in[1] : in[2], by the logarithm of an element's bytes, which those of the condition are as many as. */
    const tort_chunk_loop *choose;
    const tort_cast_loop *casts; /* ends with a run of NULL */
    const tort_fold *folds;      /* by tort_fold_kind */
    /* values[i] = activation(values[i] + residual[i]); residual may be NULL. */
    void (*finish)(const tort_epilogue *epilogue, const float *residual, float *values, int64_t count);
    void (*nbits_rows)(const tort_nbits_panel *panel, const tort_nbits_rows *rows);
    /* `count` numbers of each column of the panel from word `first` on, as floats: number k goes to out + k * stride.
     */
    void (*nbits_unpack)(const tort_nbits_panel *panel, int64_t first, int64_t count, float *out, int64_t stride);
    void (*linear_pair)(const tort_linear_pair *pair, int64_t count);
    /* y[i] = table[x[i]], of 256; y may be x. */
    void (*byte_table)(const uint8_t *table, const uint8_t *x, uint8_t *y, int64_t count);
    void (*requantize)(const tort_requantized *requantized, const int32_t *sums, uint8_t *y, int64_t count);
    /* Of a product of bytes (bytes.h): `count` rows into a tile's place; words of four rows of bytes, `count` of them;
     * and what becomes of a tile's sums. */
    void (*byte_rows)(const struct tort_byte_rows *rows, uint8_t *to, const uint8_t *from, int32_t count);
    void (*byte_words)(uint8_t *to, const uint8_t *const *rows, int64_t count, uint8_t flip);
    /* pack_runs for words: source and offsets in words, reads up to width-1 words behind a run. */
    void (*byte_runs)(uint8_t *panel, const uint8_t *source, const int64_t *offsets, int64_t rows, const tort_run *runs,
                      int32_t run_count);
    void (*byte_finish)(const struct tort_byte_finish *finish);
    /* Saturates, rounds to even; NaN becomes the least byte. */
    void (*quantize)(const tort_linear_bytes *linear, const float *x, uint8_t *y, int64_t count);
    void (*scale_to_bytes)(const tort_scaled_bytes *scaled, const float *x, uint8_t *y, int64_t count);
    void (*dequantize)(const tort_linear_bytes *linear, const uint8_t *x, float *y, int64_t count);
    /* scale_to_bytes over the pixels of a block (blocked.h), with a factor of its own for each of the 16 channels. */
    void (*blocked_to_bytes)(const tort_scaled_bytes *scaled, const float *factors, const float *x, uint8_t *y,
                             int64_t pixels);
    /* Deals count * hands elements out to as many lists of `count`: element i goes to list i % hands. */
    void (*deal)(const float *x, int64_t count, int64_t hands, float *lists);
    /* The least and the largest of x and 0; NaN is passed over. */
    void (*range)(const float *x, int64_t count, float *low, float *high);
    /* Rows may not overlap. */
    void (*softmax_row)(const float *x, float *y, int64_t count);
    void (*log_softmax_row)(const float *x, float *y, int64_t count);
    /* (x - mean) / sqrt(variance + epsilon) * scale + bias (NULL: 0); not centered: the mean counts as 0. Scale and
     * bias are rows as well, or one number each. */
    void (*normalize_row)(const float *x, float *y, int64_t count, float epsilon, bool centered, const float *scale,
                          const float *bias, bool one_scale);
    /* The sum of x - shift, or of its squares. */
    float (*row_sum)(const float *x, int64_t count, float shift, bool squared);
    /* y = (x - mean) * factor + bias, with one of each, or one an element; y may be x. */
    void (*shift_row)(const float *x, float *y, int64_t count, float mean, float factor, float bias);
    void (*shift_columns)(const float *x, float *y, int64_t count, const float *mean, const float *factor,
                          const float *bias);
    /* The values of the leaves that TORT_TREE_LANES walks come to, `bits` as in trees_pack.h: of as many rows in one
     * tree, column c of row i is x[c * TORT_TREE_LANES + i]; of one row in as many trees. */
    void (*walk_rows)(const struct tort_tree_record *tree, const float *x, uint32_t bits, float *leaves);
    void (*walk_trees)(const struct tort_tree_record *const *trees, const float *x, uint32_t bits, float *leaves);
    /* y[i] = x[i]; to 16 bits to the nearest, of two the even one; NaN stays NaN. */
    void (*from_float16)(const uint16_t *x, float *y, int64_t count);
    void (*to_float16)(const float *x, uint16_t *y, int64_t count);
    void (*from_bfloat16)(const uint16_t *x, float *y, int64_t count);
    void (*to_bfloat16)(const float *x, uint16_t *y, int64_t count);
    /* Does rounds of multiply-adds and nothing else, with *sum, which it overwrites; returns how many. */
    double (*multiply_adds)(int64_t rounds, float *sum);
} tort_simd;

/* Is the epilogue's activation (NULL: none) no more than bounds? Else they are infinite. */
bool tort_simd_bounds(const tort_epilogue *epilogue, tort_bounds *bounds);
/* The best table for a target's instructions; NULL: none fits. */
const tort_simd *tort_simd_choose(uint32_t instructions);

#endif
