/* linear_attention.h - params of LinearAttention and CausalConvWithState, for every provider. */
#ifndef TORT_OPS_LINEAR_ATTENTION_H
#define TORT_OPS_LINEAR_ATTENTION_H

#include "runtime/include/op.h"

typedef struct tort_linear_params {
    int64_t batch, length, query_heads, key_heads, key_size, value_size;
    bool decays, corrects;
    double scale;
    int64_t decay_columns; /* per head: 1, or one per element of the key */
    int64_t beta_columns;  /* 1 for all heads, or one per head */
} tort_linear_params;

typedef struct tort_causal_params {
    int64_t batch, channels, length, kernel;
    bool silu; /* x * sigmoid(x) of the sums */
} tort_causal_params;

#endif
