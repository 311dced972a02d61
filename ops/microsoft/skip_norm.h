/* skip_norm.h - params of com.microsoft's normalisations of sums, for every provider. */
#ifndef TORT_OPS_MICROSOFT_SKIP_NORM_H
#define TORT_OPS_MICROSOFT_SKIP_NORM_H

#include "ops/norm.h"

/* SkipLayerNormalization and SkipSimplifiedLayerNormalization normalise input + skip + bias. The skip may repeat along
 * the first axis, the bias is one row. */
typedef struct tort_skip_norm_params {
    tort_norm_params norm;
    int64_t skip_rows;
    bool has_beta; /* input 3 is beta, and 4 the bias of the sum; else 3 is that bias */
} tort_skip_norm_params;

enum { TORT_SKIP_NORM_SUM = 3 }; /* output that receives the sums */

/* Operands of a call; NULL if absent. */
const tort_tensor *tort_skip_norm_beta(const tort_call *call);
const tort_tensor *tort_skip_norm_bias(const tort_call *call);

/* ---- EmbedLayerNormalization and QEmbedLayerNormalization, which share the first inputs -------------------------- */

enum {
    TORT_EMBED_IDS,
    TORT_EMBED_SEGMENTS,
    TORT_EMBED_WORDS,
    TORT_EMBED_POSITIONS,
    TORT_EMBED_SEGMENT_TABLE,
    TORT_EMBED_GAMMA,
    TORT_EMBED_BETA,
    TORT_EMBED_MASK,
    TORT_EMBED_POSITION_IDS
};

typedef struct tort_embed_norm_params {
    tort_norm_params norm;
    int64_t batch, length, position_rows; /* rows of position_ids: 1 or batch; 0: absent */
} tort_embed_norm_params;

tort_status tort_infer_embed_norm(tort_infer *infer);
tort_status tort_resolve_embed_norm(tort_resolve *resolve);
/* TORT_E_RUN if an id in `input` is not a row of the table. */
tort_status tort_embed_check(const tort_call *call, int32_t input, int32_t table, const char *name);
/* Id i of an input after that check: a row of the table. */
int64_t tort_embed_id(const tort_call *call, int32_t input, int32_t table, int64_t i);
/* Counts the positions of each sequence that the mask keeps; 0 without a mask. */
void tort_embed_count_places(const tort_call *call, const tort_embed_norm_params *params, const tort_tensor *out);

#endif
