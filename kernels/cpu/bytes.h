/* bytes.h - the tile of a product of 8-bit integers, compiled for each way in which processors multiply bytes.
 *
 * Operands are stored in words of four bytes, neighbours along k: rows of A in chunks of TORT_BYTE_CHUNK bytes
 * ([chunk][tile_rows][64]), columns of B as [words][tile_columns] words. Bytes may be stored with their highest bit
 * flipped (128 less or more) to get the sign that the tile needs; their zero points are shifted alike.
 * Read next: byte_gemm.h; simd/bytes.c for the loops. */
#ifndef TORT_KERNELS_CPU_BYTES_H
#define TORT_KERNELS_CPU_BYTES_H

#include "kernels/cpu/simd.h"

struct tort_blocked_byte_tile;
struct tort_unit_tile;
struct tort_depthwise_bytes;

#define TORT_BYTE_CHUNK 64

static inline bool tort_is_byte(tort_type type) {
    return type == TORT_INT8 || type == TORT_UINT8;
}

typedef struct tort_byte_tile {
    const uint8_t *rows, *columns;
    int64_t words;                   /* of k */
    int32_t row_count, column_count; /* to be made; the sums of others may be made too */
    int32_t chunk_rows;              /* tile_rows of the table whose layout the rows have */
    bool unsigned_rows;              /* rows unsigned and columns signed, or vice versa; ignored if `all_signed` */
    /* NULL, or with unsigned rows and tort_bytes.turned: the place in a row, in bytes, of each word of the columns. The
     * first `safe` words lack nothing: their pairs of signed bytes are at most TORT_SAFE_PAIR in sum of sizes. */
    const int32_t *order;
    int64_t safe;
    int32_t *sums; /* [tile_rows][tile_columns], modulo 2^32 */
} tort_byte_tile;

typedef struct tort_bytes {
    uint32_t instructions; /* all of these TORT_CPU_ bits are required */
    int32_t tile_rows, tile_columns;
    bool all_signed; /* both operands are signed */
    bool turned;     /* sums of unsigned rows, and of blocked_tile, lack tort_turned of each byte of their column */
    /* If turned: sets order[i] to i for each safe word (tort_byte_tile) of a panel, and to ~i for others; returns the
     * number of safe ones. columns: a multiple of `width`. */
    int64_t (*find_safe)(const uint8_t *panel, int64_t columns, int64_t words, int32_t *order);
    int32_t width; /* columns per vector: a tile with no more columns costs half */
    /* Around all tiles of a part, on the thread that makes them: a matrix unit needs a configuration. NULL: nothing.
     * Tiles of up to few_rows rows need none. */
    int32_t few_rows;
    void (*begin)(void);
    void (*end)(void);
    void (*tile)(const tort_byte_tile *tile);
    /* Multiplies with one column of whole chunks whose bytes are contiguous, and sets the first column of sums. NULL:
     * a tile with a vector of columns takes no longer. */
    void (*dots)(const tort_byte_tile *tile);
    int32_t blocked_pixels, blocked_blocks; /* of the largest tort_blocked_byte_tile, see blocked.h */
    void (*blocked_tile)(const struct tort_blocked_byte_tile *tile);
    /* Makes a quad of each pixel of a row of a block, with 0 beyond its end; sums tile->pixels pixels over quads, and
     * does with the sums what blocked_tile does. NULL: the processor cannot multiply four bytes at once. */
    void (*quads)(const uint8_t *row, int64_t pixels, uint8_t *quads);
    void (*depthwise)(const struct tort_depthwise_bytes *depthwise, const struct tort_blocked_byte_tile *tile);
    /* blocked_tile on a matrix unit: sums, and what blocked_tile does with `pixels` rows of them. NULL: there is none.
     */
    void (*unit_tile)(const struct tort_unit_tile *tile);
    void (*blocked_finish)(const struct tort_blocked_byte_tile *tile, const int32_t *sums);
} tort_bytes;

/* Returns what the product of any byte of a row and this byte of a column lacks, see byte_vector.h. */
static inline int32_t tort_turned(int32_t byte) {
    return byte < 0 ? 127 * byte : 128 * byte;
}

#define TORT_SAFE_PAIR 128 /* 255 times as much fits 16 bits */

/* Returns the best table for a target's instructions, with the tile_columns of its tort_simd; NULL: none fits. */
const tort_bytes *tort_bytes_choose(uint32_t instructions);

/* Arguments of tort_simd.byte_rows, which packs rows of k bytes. */
typedef struct tort_byte_rows {
    int32_t tile_rows;
    int64_t k, row_stride, k_stride;
    uint8_t flip;   /* 128: bytes change their sign, else 0 */
    bool is_signed; /* after the flip */
    int32_t *sums;  /* sums of the rows as stored; NULL: not wanted */
} tort_byte_rows;

typedef enum tort_byte_result { TORT_BYTES_TO_INT32, TORT_BYTES_TO_FLOAT, TORT_BYTES_TO_BYTES } tort_byte_result;

/* Arguments of tort_simd.byte_finish: s = sum + row_add + column_add + row_times * column_times; the result is s, or
 * s * row_factor * column_factor + column_bias, or s * row_factor * column_factor rounded half to even plus the zero
 * point, within low..high. Lists have an element per row, or per column, of the tile. */
typedef struct tort_byte_finish {
    const int32_t *sums;    /* [][tile_columns] */
    const int32_t *row_add; /* never NULL */
    const int32_t *column_add;
    const int32_t *row_times, *column_times; /* both NULL: absent */
    const float *row_factors;                /* never NULL */
    const float *column_factors;             /* ignored if column_add is NULL, which FLOAT does not allow */
    const float *column_bias;                /* with FLOAT; NULL: none */
    int32_t rows, columns;
    tort_byte_result result;
    void *y;
    int64_t y_stride; /* elements */
    int32_t zero_point, low, high;
} tort_byte_finish;

#endif
