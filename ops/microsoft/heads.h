/* heads.h - shared by the resolve functions of com.microsoft's attention operators, which fill tort_heads_params. Read
 * next: group_query_attention.c. */
#ifndef TORT_OPS_MICROSOFT_HEADS_H
#define TORT_OPS_MICROSOFT_HEADS_H

#include "ops/heads.h"

/* Size of a head: a dimension divided by the number of heads. */
tort_dim tort_heads_divide(tort_dims *dims, tort_dim dim, int64_t heads);
/* TORT_E_MODEL unless an input is absent or has these dims; -1: any. */
tort_status tort_heads_expect(const tort_resolve *resolve, int32_t input, const char *name, int32_t rank,
                              const int64_t *dims);
/* Reads an input of shape (batch or 1, heads or 1, queries, keys) that is added to the scores. */
tort_status tort_heads_read_score_bias(const tort_resolve *resolve, tort_heads_params *params, int32_t input);
/* Reads an input that says, in one of many forms, which keys are hidden. */
tort_status tort_heads_read_mask(const tort_resolve *resolve, tort_heads_params *params, int32_t input,
                                 const char *name);
/* tort_heads_settle, with what these operators have in common. */
tort_status tort_heads_settle_microsoft(tort_resolve *resolve);

/* Attention: inputs are input, weights, bias, mask_index, past, attention_bias and past_sequence_length. */
tort_status tort_infer_microsoft_attention(tort_infer *infer);
tort_status tort_resolve_microsoft_attention(tort_resolve *resolve);

#endif
