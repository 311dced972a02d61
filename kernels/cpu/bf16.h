/* bf16.h - the tile of a product of floats rounded to bfloat16, with float32 sums, on a matrix unit.
 *
 * Operands are stored in steps of 32 elements of k, with 0 beyond k: rows as [step][half][16 rows][32], columns as
 * [step][half][16 pairs of k][16 columns][2]. Each half of a step is a register of the unit as it lies.
 * Read next: bf16_product.c; simd/bf16.c for the loop. */
#ifndef TORT_KERNELS_CPU_BF16_H
#define TORT_KERNELS_CPU_BF16_H

#include "kernels/cpu/simd.h"

enum {
    TORT_BF16_SIDE = 32,                             /* rows, and columns, of a tile */
    TORT_BF16_STEP = 32,                             /* elements of k of a step */
    TORT_BF16_UNIT = TORT_BF16_SIDE * TORT_BF16_STEP /* elements of an operand's step */
};

typedef struct tort_bf16_tile {
    const uint16_t *rows, *columns;
    int64_t steps;
    float *sums;       /* of whole registers: row_count and column_count are rounded up to 16 */
    int64_t stride;    /* floats from a row of sums to the next */
    bool adds;         /* to what sums are */
    const float *bias; /* [32], which sums begin with; NULL: 0 */
    int32_t row_count, column_count;
} tort_bf16_tile;

typedef struct tort_bf16 {
    uint32_t instructions; /* all of these TORT_CPU_ bits are required */
    void (*begin)(void);   /* around all tiles of a part, on the thread that makes them */
    void (*end)(void);
    void (*tile)(const tort_bf16_tile *tile);
} tort_bf16;

/* Returns the table for a target that was asked for precision=bf16 and has a matrix unit; else NULL. */
const tort_bf16 *tort_bf16_choose(uint32_t instructions);

#endif
