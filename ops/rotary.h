/* rotary.h - params of RotaryEmbedding, for every provider. */
#ifndef TORT_OPS_ROTARY_H
#define TORT_OPS_ROTARY_H

#include "runtime/include/op.h"

/* Strides of element (batch, head, position, i), in elements: inputs of rank 4 are [batch, head, position, i], of rank
 * 3 [batch, position, head * size + i]. */
typedef struct tort_head_strides {
    int64_t batch, head, position, element;
} tort_head_strides;

/* RotaryEmbedding views X as [batch, heads, length, size]; the first `rotated` elements of each head are rotated, in
 * pairs (i, i + half), or (2i, 2i + 1) if interleaved. */
typedef struct tort_rotary_params {
    int64_t batch, heads, length, size, rotated;
    tort_head_strides strides;
    bool interleaved;
    bool first_only;                   /* position_ids has one entry, the first position of every sequence */
    int64_t cache_length;              /* rows of the caches, with position_ids */
    int64_t cosines, sines, positions; /* input indices, which differ by domain */
} tort_rotary_params;

/* TORT_E_RUN unless position_ids are all rows of the caches. */
tort_status tort_rotary_check(const tort_call *call);
/* Row of the caches for item (batch, position), after that check. */
int64_t tort_rotary_row(const tort_call *call, int64_t item);

#endif
