/* byte_pack.h - what byte_gemm.c and byte_pack.c share: operands that are packed during a run. */
#ifndef TORT_KERNELS_CPU_BYTE_PACK_H
#define TORT_KERNELS_CPU_BYTE_PACK_H

#include "kernels/cpu/byte_gemm.h"

#define TORT_BYTE_K (256 * 1024) /* bytes of k that are packed or multiplied between two questions: whole chunks */
#define TORT_BYTE_SLACK 256      /* bytes behind a panel that packing may overwrite */
#define TORT_BYTE_ROWS 32        /* of a tile, upper bound over all instruction sets */
#define TORT_BYTE_TILE (TORT_BYTE_ROWS * TORT_MAX_COLUMNS)

/* Returns the bytes of a packed row. */
static inline int64_t tort_byte_row(int64_t k) {
    return tort_round_up(k, TORT_BYTE_CHUNK);
}

/* Returns the numbers in the order of a panel's words, which the number of safe ones precedes. */
static inline int64_t tort_byte_order(int64_t k) {
    return (k + 3) / 4 + 1;
}

/* Returns the sum modulo 2^32. */
static inline int32_t tort_sum32(int32_t a, int32_t b) {
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

/* Packs rows first..last, in whole tiles. sums: of row `first` on, or NULL. */
void tort_byte_rows_into(struct tort_watch *watch, const tort_simd *simd, const tort_bytes *bytes, uint8_t *packed,
                         const tort_byte_matrix *a, int64_t first, int64_t last, int64_t k, int32_t *sums);
/* Packs a panel of `columns` columns from `first` on in pieces of k; *done: see tort_work_goes_on. */
void tort_byte_panel_into(struct tort_watch *watch, int64_t *done, const tort_simd *simd, const tort_bytes *bytes,
                          uint8_t *panel, const tort_byte_matrix *b, int64_t first, int32_t columns, int64_t k);
/* Puts the safe words of a panel of signed columns first (tort_byte_tile); returns their number, or 0 and leaves the
 * panel as it is, if so few are safe that reading words out of order would cost more. order[i]: where word i was. */
int32_t tort_order_words(const tort_bytes *bytes, uint8_t *panel, int64_t columns, int64_t words, int32_t *order);
/* Sums the columns of a panel by multiplying it with a row of ones, and what tiles lack of them (`turned`, NULL if the
 * table has no such thing) with a row of zeros: that makes its negative. Lists have an element per column of a panel.
 */
void tort_sum_byte_panel(const tort_bytes *bytes, const uint8_t *panel, int64_t k, bool unsigned_rows, int32_t *sums,
                         int32_t *turned);

#endif
