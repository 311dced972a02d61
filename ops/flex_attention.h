/* flex_attention.h - params of AttentionScores and AttentionOutput, for every provider. */
#ifndef TORT_OPS_FLEX_ATTENTION_H
#define TORT_OPS_FLEX_ATTENTION_H

#include "runtime/include/tinyort.h"

/* Queries are [batch, heads, length, size]; keys or values are [batch, heads / group, keys, size]. */
typedef struct tort_flex_params {
    int64_t batch, heads, length, group, keys, size;
    double scale;
} tort_flex_params;

#endif
