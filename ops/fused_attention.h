/* fused_attention.h - params of FusedAttention, for every provider. */
#ifndef TORT_OPS_FUSED_ATTENTION_H
#define TORT_OPS_FUSED_ATTENTION_H

#include "runtime/include/op.h"

/* Inputs of FusedAttention. */
enum {
    TORT_ATTENTION_Q,
    TORT_ATTENTION_K,
    TORT_ATTENTION_V,
    TORT_ATTENTION_MASK, /* added to the scores */
    TORT_ATTENTION_KEEP  /* bool: where it is not keep_where, `fill` replaces the scaled score */
};

/* Strides of matrix (outer, inner), in elements; 0 along an axis that broadcasts. */
typedef struct tort_matrix_strides {
    int64_t outer, inner, row, column;
} tort_matrix_strides;

/* outer * inner independent products: scores (queries, keys) = Q (queries, key_size) * K (key_size, keys), then Y
 * (queries, value_size) = softmax(scores) * V (keys, value_size). Sizes that are not known yet are -1. */
typedef struct tort_fused_attention_params {
    int64_t outer, inner, queries, keys, key_size, value_size;
    tort_matrix_strides q, k, v, y, mask, keep;
    double scale, fill;
    bool keep_where;
    bool nan_to_zero; /* a NaN probability counts as 0 */
} tort_fused_attention_params;

/* tort_kernel.strides.restride of FusedAttention: sets the strides of Q, K or V in the params. */
void tort_attention_restride(const tort_node_view *node, void *params, int32_t input, const int64_t *strides);

/* Element offset of row 0 of matrix number i of outer * inner. */
static inline int64_t tort_matrix_offset(const tort_fused_attention_params *p, const tort_matrix_strides *s,
                                         int64_t i) {
    return i / p->inner * s->outer + i % p->inner * s->inner;
}

#endif
