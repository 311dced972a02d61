/* attend.h - the two products of attention, between queries and the keys and values of one head.
 *
 * Keys and values are packed once for all queries that see them; blocks of queries then keep their scores in the cache
 * from the first product to the second. What happens to scores between is the operators' own. It must not know
 * operators, masks or threads. Read next: attend.c, then attention.c, heads.c and attention_onnx.c, which use it. */
#ifndef TORT_KERNELS_CPU_ATTEND_H
#define TORT_KERNELS_CPU_ATTEND_H

#include "kernels/cpu/simd.h"

#include <stddef.h>

#define TORT_ATTEND_MAX_ROWS 168 /* queries of a block */
#define TORT_ATTEND_STEP 32      /* a range of keys begins at a multiple of it, rows of scores are one apart */

/* A matrix, elements `row` and `column` apart. */
typedef struct tort_attend_matrix {
    const float *data;
    int64_t row, column;
} tort_attend_matrix;

typedef struct tort_attend {
    const tort_simd *simd;
    int64_t count, key_size, value_size; /* of keys */
    tort_attend_matrix keys, values;     /* (count, key_size), (count, value_size) */
    float *packed_keys, *packed_values;  /* NULL: few queries, for which packing does not pay */
    float *left;                         /* what a product packs of its left side */
} tort_attend;

/* Queries of a block that sees so many keys: a whole number of tiles. */
int64_t tort_attend_block_rows(const tort_simd *simd, int64_t keys);
/* Floats of the scores of a block, rows tort_attend_stride apart; never fewer for more keys, so that memory for the
 * longest sequence has room for all. INT64_MAX: too many. */
int64_t tort_attend_score_floats(const tort_simd *simd, int64_t keys);
int64_t tort_attend_stride(int64_t keys);
/* Bytes of the buffer that keys and values are packed into, a multiple of 64; SIZE_MAX / 64 * 64: too many. */
size_t tort_attend_buffer(const tort_simd *simd, int64_t keys, int64_t key_size, int64_t value_size);
/* Packs keys and values into the buffer, if there are queries enough that see them. The fields before packed_keys say
 * which. */
void tort_attend_begin(tort_attend *attend, int64_t queries, float *buffer);
/* Scores of the queries (rows, key_size) with keys first..last, times scale. first is a multiple of TORT_ATTEND_STEP.
 * Behind `last` garbage may be written, within the row's stride. */
void tort_attend_scores(const tort_attend *attend, const tort_attend_matrix *queries, int64_t rows, int64_t first,
                        int64_t last, float scale, float *scores, int64_t stride);
/* Y (rows, value_size), y_stride apart, = weights (rows, last - first) * values first..last. */
void tort_attend_sum(const tort_attend *attend, const float *weights, int64_t stride, int64_t rows, int64_t first,
                     int64_t last, float *y, int64_t y_stride);

#endif
