/* bands.h - layers that work on bands of rows, as a plan has them and as kernels and compiled models see them; plain
 * C99 with the prefix of printed code. */
#ifndef TORT_RUNTIME_BANDS_H
#define TORT_RUNTIME_BANDS_H

#include <stdint.h>

enum { TINYORT_LAYERS = 16 }; /* of one group, at most */

typedef struct tinyort_layer {
    int32_t in_rows, out_rows;    /* of the whole tensors */
    int32_t stride, above, reach; /* output row r reads `reach` input rows from r * stride - above on */
    int32_t lines;                /* output rows that its buffer holds */
    int32_t whole;                /* 1: it has room for all, and others read them when the group is done */
    int32_t from[2];              /* layers that make its inputs; -1: the input is whole, or there is none */
} tinyort_layer;

/* A layer's next work. */
typedef struct tinyort_band {
    int32_t in_at[2];            /* first row that it reads, in the buffer of each input */
    int32_t in_rows, above;      /* above: rows of padding that its window sees before in_at */
    int32_t out_first, out_rows; /* rows of the whole output */
    int32_t out_at;              /* where in the layer's own buffer */
    int32_t drop, keep; /* first of all, `keep` lines of that buffer move from line `drop` to line 0; 0, 0: none */
} tinyort_band;

#endif
