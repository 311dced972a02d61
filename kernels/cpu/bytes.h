/* bytes.h - the tile of a product of 8-bit integers, compiled for each way in which processors multiply bytes.
 *
 * Operands are stored in words of four bytes, neighbours along k: rows as C has them in chunks of TORT_BYTE_CHUNK bytes
 * (chunk by chunk, those of tile_rows rows behind one another), columns as [words][tile_columns] words. Bytes may be
 * stored less or more 128 (their highest bit turned over), so that they have the sign that the tile wants; so are their
 * zero points then. Read next: byte_gemm.h; simd/bytes.c for the loops. */
#ifndef TORT_KERNELS_CPU_BYTES_H
#define TORT_KERNELS_CPU_BYTES_H

#include "kernels/cpu/simd.h"

struct tort_blocked_byte_tile;

#define TORT_BYTE_CHUNK 64

static inline bool tort_is_byte(tort_type type) {
    return type == TORT_INT8 || type == TORT_UINT8;
}

typedef struct tort_byte_tile {
    const uint8_t *rows, *columns;
    int64_t words;                   /* of k */
    int32_t row_count, column_count; /* of the tile's; the sums of others may be made too */
    bool unsigned_rows; /* and signed columns; else the other way round. Without a meaning if `all_signed` */
    int32_t *sums;      /* [tile_rows][tile_columns], modulo 2^32 */
} tort_byte_tile;

typedef struct tort_bytes {
    uint32_t instructions; /* all of these TORT_CPU_ bits */
    int32_t tile_rows, tile_columns;
    bool all_signed; /* both operands are */
    int32_t width;   /* columns of a vector: a tile of no more costs half */
    void (*tile)(const tort_byte_tile *tile);
    /* One column, of whole chunks, whose bytes lie together in place of words: the first column of the sums. */
    void (*dots)(const tort_byte_tile *tile);
    int32_t blocked_pixels, blocked_blocks; /* of the largest tort_blocked_byte_tile, see blocked.h */
    void (*blocked_tile)(const struct tort_blocked_byte_tile *tile);
} tort_bytes;

/* The best one for a target's instructions, with the tile_columns of its tort_simd; NULL: none fits. */
const tort_bytes *tort_bytes_choose(uint32_t instructions);

/* What tort_simd.byte_rows stores of rows of k bytes each. */
typedef struct tort_byte_rows {
    int32_t tile_rows;
    int64_t k, row_stride, k_stride;
    uint8_t flip;   /* 128: bytes change their sign, else 0 */
    bool is_signed; /* they are then */
    int32_t *sums;  /* of each row, as it is stored; NULL: not asked for */
} tort_byte_rows;

typedef enum tort_byte_result { TORT_BYTES_TO_INT32, TORT_BYTES_TO_FLOAT, TORT_BYTES_TO_BYTES } tort_byte_result;

/* What becomes of the sums of a tile: s = sum + row_add + column_add + row_times * column_times, then
 * s * row_factor * column_factor + column_bias, or that rounded to even, plus the zero point, within low..high. Lists
 * have an element for each row, or each column, of the tile. */
typedef struct tort_byte_finish {
    const int32_t *sums;    /* [][tile_columns] */
    const int32_t *row_add; /* never NULL */
    const int32_t *column_add;
    const int32_t *row_times, *column_times; /* both NULL: without */
    const float *row_factors;                /* never NULL */
    const float *column_factors;             /* NULL with column_add: neither; never with FLOAT */
    const float *column_bias;                /* of FLOAT; NULL: none */
    int32_t rows, columns;
    tort_byte_result result;
    void *y;
    int64_t y_stride; /* elements */
    int32_t zero_point, low, high;
} tort_byte_finish;

#endif
