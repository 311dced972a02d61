/* attend.h - the two matrix products of attention: queries by keys, and weights by values, for one head.
 *
 * Keys and values are packed once for all queries that see them; a block of queries then keeps its scores in the
 * cache from the first product to the second. Between them the operators do what is theirs (mask, softmax). This
 * file knows neither operators nor masks nor threads. Read next: attend.c, then heads.c, which uses it. */
#ifndef TORT_KERNELS_CPU_ATTEND_H
#define TORT_KERNELS_CPU_ATTEND_H

#include "kernels/cpu/pieces.h"

#include <stddef.h>

#define TORT_ATTEND_MAX_ROWS 168 /* upper limit for the queries of a block */
#define TORT_ATTEND_MANY_KEYS 4096
#define TORT_ATTEND_STEP 32 /* ranges of keys begin at multiples of it; score strides are multiples of it */

/* True while the run goes on. Call it before each row of masking and softmax; it does not look if there are few keys,
 * since such a block takes microseconds. */
static inline bool tort_attend_row_goes_on(const tort_call *call, int64_t keys) {
    return keys < TORT_ATTEND_MANY_KEYS || tort_call_goes_on(call, 0);
}

/* A matrix whose rows lie `row` elements apart, and whose columns lie `column` elements apart. */
typedef struct tort_attend_matrix {
    const float *data;
    int64_t row, column;
} tort_attend_matrix;

typedef struct tort_attend {
    const tort_call *call; /* products end with its run, incomplete */
    const tort_simd *simd;
    int64_t count, key_size, value_size; /* count: number of keys */
    tort_attend_matrix keys, values;     /* (count, key_size), (count, value_size) */
    float *packed_keys, *packed_values;  /* NULL: so few queries that packing does not pay */
    float *left;                         /* buffer for the packed left operand of a product */
} tort_attend;

/* Returns the queries of a block that sees `keys` keys: a whole number of tiles. */
int64_t tort_attend_block_rows(const tort_simd *simd, int64_t keys);
/* Returns the floats of a block's scores, rows tort_attend_stride apart. It never decreases as keys grow, so memory
 * for the longest sequence serves all. INT64_MAX: overflow. */
int64_t tort_attend_score_floats(const tort_simd *simd, int64_t keys);
int64_t tort_attend_stride(int64_t keys);
/* Returns the bytes of the buffer for packed keys and values, a multiple of 64; SIZE_MAX / 64 * 64: overflow. */
size_t tort_attend_buffer(const tort_simd *simd, int64_t keys, int64_t key_size, int64_t value_size);
/* Packs keys and values, described by the fields before packed_keys, into the buffer if enough queries see them. */
void tort_attend_begin(tort_attend *attend, int64_t queries, float *buffer);
/* Computes scale * queries (rows, key_size) * keys first..last. `first` is a multiple of TORT_ATTEND_STEP. Garbage
 * may be written behind `last`, within the row's stride. */
void tort_attend_scores(const tort_attend *attend, const tort_attend_matrix *queries, int64_t rows, int64_t first,
                        int64_t last, float scale, float *scores, int64_t stride);
/* Computes Y (rows, value_size), rows y_stride apart, = weights (rows, last - first) * values first..last. */
void tort_attend_sum(const tort_attend *attend, const float *weights, int64_t stride, int64_t rows, int64_t first,
                     int64_t last, float *y, int64_t y_stride);

#endif
