/* simd.h - the inner loops that are compiled once per instruction set, as a table of functions.
 *
 * kernels/cpu/simd/ is one source for all instruction sets, written with the compiler's vector types; the provider
 * chooses a table at open. Numbers are fp32 unless a type says otherwise. Read next: simd/gemm.c, then
 * packed_gemm.c, which calls it. */
#ifndef TORT_KERNELS_CPU_SIMD_H
#define TORT_KERNELS_CPU_SIMD_H

#include "ops/epilogue.h"
#include "runtime/include/tinyort.h"

#include <stdbool.h>
#include <stdint.h>

struct tort_planes;
struct tort_tree_record;
struct tort_blocked_tile;
struct tort_blocked_window;
struct tort_winograd_output;
struct tort_byte_rows;
struct tort_byte_finish;
struct tort_softmax_bytes;

/* tort_target.instructions of this provider. */
enum {
    TORT_CPU_V2 = 1u << 0, /* x86-64-v2: SSE4.2 */
    TORT_CPU_V3 = 1u << 1, /* AVX2, FMA, F16C */
    TORT_CPU_V4 = 1u << 2, /* AVX-512 F, BW, CD, DQ, VL */
    TORT_CPU_NEON = 1u << 3,
    /* Dot products of four bytes, with the vectors of v3, v4 and NEON. */
    TORT_CPU_AVX_VNNI = 1u << 4,
    TORT_CPU_AVX512_VNNI = 1u << 5,
    TORT_CPU_NEON_DOT = 1u << 6,
    TORT_CPU_AMX = 1u << 7,        /* tiles and their products of bytes */
    TORT_CPU_AMX_BF16 = 1u << 10,  /* tiles and their products of bfloat16 */
    TORT_CPU_BF16 = 1u << 11,      /* option precision=bf16 was given, and there is a unit for it */
    TORT_CPU_TILE_MODEL = 1u << 9, /* the same by simd/tiles.h in C: only where isa names it */
    TORT_CPU_RVV = 1u << 8         /* V of RISC-V: registers of 128 bits or more */
};

/* Bounds of Relu and Clip: loops that make sums apply them while the sums are still in registers. */
typedef struct tort_bounds {
    float low, high; /* -INFINITY, INFINITY: none */
} tort_bounds;

/* One tile of a matrix product: C (rows, columns) = A (rows, k) * B (k, columns) + biases + add, within bounds. A is
 * packed as [k][tile_rows], B as [k][tile_columns]; elements beyond `rows` and `columns` are read, and their
 * products dropped. */
typedef struct tort_tile {
    const float *a, *b;
    const float *later; /* prefetched, 16 floats per element of k: a later part of B. With one row, as many floats as it
                           reads; NULL then: no prefetch. */
    float *c;
    int64_t a_step; /* elements between those of a single row of A; with more rows they are tile_rows apart */
    int64_t a_row;  /* not 0: A is not packed, its tile_rows rows lie so many elements apart; columns must exceed one
                       vector */
    int64_t k, c_stride; /* elements between rows of C */
    int32_t rows, columns;
    const float *row_bias;    /* one per row, or NULL */
    const float *column_bias; /* one per column, or NULL */
    const float *add;         /* rows c_stride apart: C itself, a residual, or NULL */
    tort_bounds bounds;
} tort_tile;

/* Rows of outputs, and where they read: output i of row h sees source + h * pitch + i + offset. */
typedef struct tort_window_rows {
    float *out;
    const float *source;
    int64_t rows, width, out_pitch, pitch;
} tort_window_rows;

/* Result of a window: bias + sum over j < count of weights[j] * the element that position j sees, within bounds,
 * divided by row_divisors[h] * column_divisors[i] (NULL: by 1; columns are read as far as the source). */
typedef struct tort_weighted {
    const int64_t *offsets;
    const float *weights, *row_divisors, *column_divisors;
    int64_t count;
    int64_t shared; /* rows of weights, if each sees what the next sees one row of outputs before; else 0 */
    float bias;
    tort_bounds bounds;
} tort_weighted;
typedef void tort_window_loop(const tort_window_rows *rows, const tort_weighted *weighted);

/* Requantization of int32 sums of products: round((sum + bias) * factor) + zero_point, within bounds, as a byte. */
typedef struct tort_requantized {
    double bias;
    const float *factors; /* one per element; NULL: each is `factor` */
    float factor, zero_point;
    tort_bounds bounds; /* for int8, -128 to 127 */
} tort_requantized;

/* Columns of MatMulNBits, as many as a vector has floats (`width`). A 32-bit word holds consecutive numbers of one
 * column, low bits first. Columns and numbers beyond the matrix have the scale 0. */
typedef struct tort_nbits_panel {
    const uint32_t *words; /* [blocks][block_words][width] */
    const float *scales;   /* [blocks][width] */
    const float *zeros;    /* likewise; NULL: each is `zero` */
    float zero;
    int32_t bits;
    int64_t block_words, blocks;
} tort_nbits_panel;

/* Rows of A for a panel; each has all blocks, also the last, in full. */
typedef struct tort_nbits_rows {
    int64_t count, k; /* rows, and elements of each */
    /* Float form: element k is divided by 2^(bits * (k modulo the numbers per word)), except the last of a word, so
     * that the numbers of a word are masked but not shifted. */
    const float *floats;
    /* Byte form: within a word, first the elements whose numbers are the lowest in their byte, then the next ones. */
    const int8_t *bytes;
    const float *scales; /* [count][blocks], for the bytes; NULL: the rows are floats */
    const float *sums;   /* [count][blocks]: the sum of a block's elements; of floats, before they were divided */
    float *y;            /* [count][width], rows y_stride apart; overwritten */
    int64_t y_stride;
} tort_nbits_rows;

/* Bytes of int8 or uint8 that stand for (byte - zero_point) * scale. */
typedef struct tort_linear_bytes {
    float scale, zero_point;
    bool is_signed;
} tort_linear_bytes;

/* Quantization of floats to int8 or uint8: round(x * factor) + zero_point. */
typedef struct tort_scaled_bytes {
    float factor, zero_point;
    bool is_signed;
} tort_scaled_bytes;

/* QLinearAdd and QLinearMul of int8 or uint8: round(a * A + b * B + fixed), or round((A - a) * (B - b) * fixed) +
 * zero, within bounds. A step of 0 repeats one element. */
typedef struct tort_linear_pair {
    const uint8_t *a, *b;
    int64_t a_step, b_step; /* 0 or 1 */
    uint8_t *c;
    float a_number, b_number, fixed, zero;
    bool multiplies, is_signed;
} tort_linear_pair;

/* Rows of a product of doubles: y (rows, columns) = A (rows, k) times a panel of B, or that added to y. */
typedef struct tort_double_rows {
    const double *a;
    int64_t a_row, a_k;  /* elements between rows of A, and between those of a row */
    const double *panel; /* [k][double_columns], 0 beyond `columns` */
    int64_t k;
    double *y;
    int64_t y_row, rows, columns;
    bool adds;
} tort_double_rows;

#define TORT_COLUMNS 64     /* that columns_max and its kin take at a time */
#define TORT_MAX_COLUMNS 32 /* of a panel, upper bound over all instruction sets */

/* Elements that are contiguous in the source: `length` of them go to positions at .. at+length of a row of a packed
 * panel. */
typedef struct tort_run {
    int64_t offset;
    int32_t at, length;
} tort_run;

/* Operands of an elementwise loop, `count` chunks of TORT_CHUNK elements. Operand k advances by steps[k] bytes per
 * chunk: the bytes of a chunk, or 0 where one chunk, of a single repeated element, serves all. y may be an operand
 * that advances as y does. */
#define TORT_CHUNK 64
typedef struct tort_chunks {
    const void *in[3];
    int64_t steps[3];
    void *y;
    int64_t count;
} tort_chunks;
typedef void (*tort_chunk_loop)(const tort_chunks *chunks);

/* Loops of two operands of one element type. */
typedef enum tort_pair_kind {
    TORT_PAIR_ADD,
    TORT_PAIR_SUB,
    TORT_PAIR_MUL,
    TORT_PAIR_DIV,
    TORT_PAIR_MAX, /* NaN wins in Max and in Min */
    TORT_PAIR_MIN,
    TORT_PAIR_PRELU, /* b is the slope */
    TORT_PAIR_COUNT
} tort_pair_kind;

/* Conversions of whole chunks of TORT_CAST_CHUNK elements. The loop returns false if the instructions cannot convert
 * some element; its output is then unusable. */
#define TORT_CAST_CHUNK 64
typedef struct tort_cast_loop {
    tort_type from, to;
    bool (*run)(const void *x, void *y, int64_t chunks);
} tort_cast_loop;

/* Reductions of floats, in double. */
#define TORT_FOLD_CHUNK 16 /* columns */
typedef enum tort_fold_kind {
    TORT_FOLD_SUM,
    TORT_FOLD_MAGNITUDES,
    TORT_FOLD_SQUARES,
    TORT_FOLD_LARGEST, /* NaN wins */
    TORT_FOLD_SMALLEST,
} tort_fold_kind;

/* Elementwise functions: every tort_activation under its own number, followed by these. */
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
    TORT_MAP_SIN,
    TORT_MAP_COS,
    TORT_MAP_TAN,
    TORT_MAP_ATAN,
    TORT_MAP_SIGN, /* NaN stays NaN, -0 stays -0 */
    TORT_MAP_COUNT
} tort_map_kind;

typedef struct tort_simd {
    const char *name;
    uint32_t instructions;           /* its TORT_CPU_ bit */
    int32_t tile_rows, tile_columns; /* of tort_tile */
    int32_t width;                   /* floats in a vector */
    void (*tile)(const tort_tile *tile);
    /* Fills row i of a panel (tile_columns wide) with the runs of source + offsets[i]. Writes up to `width` floats
     * beyond the panel; reads up to width-1 floats beyond a run if `may_overread`. */
    void (*pack_runs)(float *panel, const float *source, const int64_t *offsets, int64_t rows, const tort_run *runs,
                      int32_t run_count, bool may_overread);
    /* panel[j * lanes + i] = scale * source[i * lane_stride + j * k_stride] for i < count <= lanes, j < k; lanes
     * from count on become 0. Packs A with tile_rows lanes, or a transposed B with tile_columns. A scale of 1 moves
     * bits unchanged, so elements may be of any 4-byte type. */
    void (*pack_lanes)(float *panel, int32_t lanes, const float *source, int64_t lane_stride, int64_t k_stride,
                       int32_t count, int64_t k, float scale);
    /* Brings rows begin .. end-1 of all length[0] * length[1] of each phase of an input channel into the stored form of
     * planes.h; padding gets `fill`. */
    void (*store_planes)(const struct tort_planes *planes, const float *channel, float fill, float *stored,
                         int64_t begin, int64_t end);
    /* Both read up to a vector less one element beyond what they need; two vectors less one if rows are shared. */
    tort_window_loop *weighted_sum;
    /* The maximum of the elements that a window sees; NaN wins. Of `weighted` it has offsets and count. A single row
     * may replace what it reads if no offset is negative. */
    tort_window_loop *maximum;
    /* y (n) = a (k) * B (k, n) + column_bias (NULL: 0; may be y); rows of B are b_stride apart. */
    void (*row_product)(float *y, int64_t n, const float *a, int64_t k, const float *b, int64_t b_stride,
                        const float *column_bias);
    /* y[j] = scale * the dot product of a (k) and row j of B (n, k); rows of B are b_stride apart. */
    void (*row_dots)(float *y, int64_t n, const float *a, int64_t k, const float *b, int64_t b_stride, float scale);
    /* Layout of blocked.h. A block has `channels` channels of the plain tensor; the remaining lanes become 0. */
    int32_t blocked_pixels, blocked_blocks; /* of the largest tort_blocked_tile */
    void (*to_block)(const float *plain, float *block, int64_t pixels, int32_t channels);
    void (*from_block)(const float *block, float *plain, int64_t pixels, int32_t channels);
    void (*bytes_to_block)(const uint8_t *plain, uint8_t *block, int64_t pixels, int32_t channels);
    void (*bytes_from_block)(const uint8_t *block, uint8_t *plain, int64_t pixels, int32_t channels);
    void (*blocked_tile)(const struct tort_blocked_tile *tile);
    void (*blocked_sum)(const struct tort_blocked_window *window);
    void (*blocked_maximum)(const struct tort_blocked_window *window); /* NaN wins */
    /* y = x * scale + shift over the pixels of a block; scale and shift have 16 numbers. y may be x. */
    void (*blocked_scale)(const float *x, float *y, int64_t pixels, const float *scale, const float *shift);
    /* Transforms 6 x 6 pixels of a block, rows `pitch` floats apart, into 36 numbers per channel, `step` floats
     * apart. */
    void (*winograd_input)(const float *x, int64_t pitch, float *v, int64_t step);
    void (*winograd_output)(const struct tort_winograd_output *output);
    /* Transforms [9][lanes] weights into 36 per lane; lanes are a multiple of 16. */
    void (*winograd_filter)(const float *filters, int32_t lanes, float *u, int64_t step);
    /* y[i] = f(x[i]) for a tort_activation or tort_map_kind; y may be x. alpha and beta are as in tort_epilogue. */
    void (*map)(int32_t kind, float alpha, float beta, const float *x, float *y, int64_t count);
    const tort_chunk_loop (*pairs)[TORT_PAIR_COUNT]; /* by tort_type and tort_pair_kind; NULL: no such loop */
    /* y[i] = x[i] ^ bits; y may be x. is_nan: y[i] is 1 if x[i] is NaN, else 0. */
    void (*flip)(const uint8_t *x, uint8_t *y, int64_t count, uint8_t bits);
    void (*is_nan)(const float *x, uint8_t *y, int64_t count);
    /* in[0] ? in[1] : in[2], indexed by log2 of the element's bytes; the condition's elements have the same size. */
    const tort_chunk_loop *choose;
    const tort_cast_loop *casts; /* ends with a row whose run is NULL */
    /* Column by column, accumulated into `into`; rows lie `stride` elements apart and are whole chunks. */
    void (*fold_columns)(tort_fold_kind kind, double *into, const float *x, int64_t stride, int64_t rows,
                         int64_t chunks);
    /* Rows of `count` elements, one behind the other: each as a chunk of columns that are then joined by halves, in the
     * same order with all instructions. count >= 1. */
    void (*fold_rows)(tort_fold_kind kind, double *into, const float *x, int64_t count, int64_t rows);
    /* values[i] = activation(values[i] + residual[i]); residual may be NULL. */
    void (*finish)(const tort_epilogue *epilogue, const float *residual, float *values, int64_t count);
    void (*nbits_rows)(const tort_nbits_panel *panel, const tort_nbits_rows *rows);
    /* Unpacks `count` numbers of each column, from word `first` of the panel on, as floats: number k goes to out + k
     * * stride. */
    void (*nbits_unpack)(const tort_nbits_panel *panel, int64_t first, int64_t count, float *out, int64_t stride);
    void (*linear_pair)(const tort_linear_pair *pair, int64_t count);
    /* y[i] = table[x[i]], a table of 256; y may be x. */
    void (*byte_table)(const uint8_t *table, const uint8_t *x, uint8_t *y, int64_t count);
    /* QLinearSoftmax of a lane, and the sum of bytes XORed with `flip`; both of up to TORT_PART bytes. */
    void (*softmax_bytes)(const struct tort_softmax_bytes *softmax, const uint8_t *x, uint8_t *y, int64_t count);
    uint32_t (*byte_sum)(const uint8_t *x, int64_t count, uint8_t flip);
    void (*requantize)(const tort_requantized *requantized, const int32_t *sums, uint8_t *y, int64_t count);
    /* Byte products (bytes.h). byte_rows packs `count` rows into a tile's place; byte_words interleaves four rows of
     * bytes into `count` words; byte_finish makes results of a tile's sums. */
    void (*byte_rows)(const struct tort_byte_rows *rows, uint8_t *to, const uint8_t *from, int32_t count);
    void (*byte_words)(uint8_t *to, const uint8_t *const *rows, int64_t count, uint8_t flip);
    /* pack_runs for words: source and offsets count words; reads up to width-1 words beyond a run. */
    void (*byte_runs)(uint8_t *panel, const uint8_t *source, const int64_t *offsets, int64_t rows, const tort_run *runs,
                      int32_t run_count);
    void (*byte_finish)(const struct tort_byte_finish *finish);
    /* Saturates and rounds half to even; NaN becomes the smallest byte. */
    void (*quantize)(const tort_linear_bytes *linear, const float *x, uint8_t *y, int64_t count);
    void (*scale_to_bytes)(const tort_scaled_bytes *scaled, const float *x, uint8_t *y, int64_t count);
    void (*dequantize)(const tort_linear_bytes *linear, const uint8_t *x, float *y, int64_t count);
    /* scale_to_bytes over the pixels of a block (blocked.h), with its own factor for each of the 16 channels. */
    void (*blocked_to_bytes)(const tort_scaled_bytes *scaled, const float *factors, const float *x, uint8_t *y,
                             int64_t pixels);
    /* Deals count * hands elements out to `hands` lists of `count`, `stride` elements apart: element i goes to list
     * i % hands. Elements of `deal` may be of any 4-byte type. */
    void (*deal)(const float *x, int64_t count, int64_t hands, float *lists, int64_t stride);
    void (*deal_bytes)(const uint8_t *x, int64_t count, int64_t hands, uint8_t *lists, int64_t stride);
    /* Finds the minimum and maximum of x and 0; NaN is skipped. */
    void (*range)(const float *x, int64_t count, float *low, float *high);
    /* The maximum of a row; if an element is NaN, any. */
    float (*row_max)(const float *x, int64_t count);
    /* y = e^(x - max), where max is that of a row around x; returns the sum. y may be x. */
    float (*exp_row)(const float *x, float *y, int64_t count, float max);
    /* Softmax of a row; y may be x. The rows of log_softmax_row must not overlap. */
    void (*softmax_row)(const float *x, float *y, int64_t count);
    void (*log_softmax_row)(const float *x, float *y, int64_t count);
    /* (x - mean) / sqrt(variance + epsilon) * scale + bias (NULL: 0); if not centered, the mean counts as 0. Scale
     * and bias are rows too, or one number each. */
    void (*normalize_row)(const float *x, float *y, int64_t count, float epsilon, bool centered, const float *scale,
                          const float *bias, bool one_scale);
    int32_t double_columns; /* of a panel of double_rows, 16 at most */
    void (*double_rows)(const tort_double_rows *rows);
    /* y[i] = the dot product of row i of A (rows, k) and b, or that added to y[i]; rows lie a_row elements apart. */
    void (*double_dots)(double *y, int64_t rows, const double *a, int64_t a_row, const double *b, int64_t k, bool adds);
    /* Of `count` columns, TORT_COLUMNS at most, of rows that lie `stride` elements apart; max, sum, best and index have
     * TORT_COLUMNS elements. columns_max: max becomes the larger of itself and the column's largest (with a NaN in the
     * column, any). columns_exp: y = e^(x - max), which is added to sum; y may be x. columns_arg: where sign * x is
     * larger than best, or the first NaN, it becomes best, and its row index. */
    void (*columns_max)(float *max, const float *x, int64_t stride, int64_t rows, int64_t count);
    void (*columns_exp)(const float *max, float *sum, const float *x, float *y, int64_t stride, int64_t rows,
                        int64_t count);
    void (*columns_arg)(float *best, int32_t *index, const float *x, int64_t stride, int64_t rows, int64_t count,
                        float sign);
    /* y = sums += x, row after row; the sums are exact to a double. */
    void (*columns_sum)(double *sums, const float *x, float *y, int64_t stride, int64_t rows, int64_t count);
    /* The index of the first NaN, or of the first of the largest sign * x; count >= 1. */
    int64_t (*row_arg)(const float *x, int64_t count, float sign);
    /* Returns the sum of x - shift, or of its squares. */
    float (*row_sum)(const float *x, int64_t count, float shift, bool squared);
    /* y = (x - mean) * factor + bias, with one mean, factor and bias for the row, or one per element; y may be x. */
    void (*shift_row)(const float *x, float *y, int64_t count, float mean, float factor, float bias);
    void (*shift_columns)(const float *x, float *y, int64_t count, const float *mean, const float *factor,
                          const float *bias);
    /* Leaf values of TORT_TREE_LANES simultaneous walks, `bits` as in trees_pack.h. walk_rows: many rows in one
     * tree, column c of row i being x[c * TORT_TREE_LANES + i]; walk_trees: one row in many trees. */
    void (*walk_rows)(const struct tort_tree_record *tree, const float *x, uint32_t bits, float *leaves);
    void (*walk_trees)(const struct tort_tree_record *const *trees, const float *x, uint32_t bits, float *leaves);
    /* y[i] = x[i]; narrowing rounds to nearest, ties to even; NaN stays NaN. */
    void (*from_float16)(const uint16_t *x, float *y, int64_t count);
    void (*to_float16)(const float *x, uint16_t *y, int64_t count);
    void (*from_bfloat16)(const uint16_t *x, float *y, int64_t count);
    void (*to_bfloat16)(const float *x, uint16_t *y, int64_t count);
    /* Does nothing but `rounds` rounds of multiply-adds on *sum, which it overwrites; returns their number. Measures
     * peak throughput. */
    double (*multiply_adds)(int64_t rounds, float *sum);
} tort_simd;

/* True if the epilogue's activation (NULL: none) is nothing but bounds, which are then set; otherwise the bounds are
 * infinite. */
bool tort_simd_bounds(const tort_epilogue *epilogue, tort_bounds *bounds);
/* Returns the best table for a target's instructions; NULL if none fits. */
const tort_simd *tort_simd_choose(uint32_t instructions);

#endif
