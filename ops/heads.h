/* heads.h - params and steps of attention with heads: Attention of ONNX, FusedAttention, and com.microsoft's Attention,
 * MultiHeadAttention, DecoderMaskedMultiHeadAttention and GroupQueryAttention. They differ in the layout of their
 * operands and in what hides keys; one struct of params describes all of them, and the families' resolve functions fill
 * it.
 *
 * A run lays out queries, keys and values as rows of one type, one for each (head, position), with bias and rotation;
 * new keys and values follow those of the past. Then queries are scored, normalized and summed up. The rows are of
 * doubles for the plain loop, and of floats for a faster one. Read next: heads_rows.c, heads.c, attention.c. */
#ifndef TORT_OPS_HEADS_H
#define TORT_OPS_HEADS_H

#include "ops/rotary.h"
#include "runtime/include/op.h"

enum { TORT_HEADS_NONE = -1, TORT_HEADS_PROJECTED = -2 }; /* in place of an operand's index */

/* Row (batch, head, position) of an operand is at `offset` plus its strides, in elements. */
typedef struct tort_heads_rows {
    int64_t operand; /* index of an input or output, or one of the above */
    int64_t offset;
    tort_head_strides strides;
} tort_heads_rows;

/* Form of the mask; mask_filter is added to the scores of hidden keys. */
typedef enum tort_heads_mask {
    TORT_HEADS_NO_MASK,
    TORT_HEADS_ENDS,     /* one per batch entry: keys from this position on are hidden */
    TORT_HEADS_INTERVAL, /* ends, then starts: keys before the start are hidden too */
    TORT_HEADS_ELEMENTS  /* an element of 0 or less hides; with mask_strides */
} tort_heads_mask;

/* Stages of the scores. */
enum { TORT_HEADS_PRODUCTS, TORT_HEADS_CAPPED, TORT_HEADS_BIASED, TORT_HEADS_WEIGHTS };

typedef struct tort_heads_params {
    int64_t batch, query_heads, key_heads; /* query head h reads key head h / (query_heads / key_heads) */
    int64_t queries, new_keys, key_size, value_size;
    tort_heads_rows query, key, value, past_key, past_value, output;
    int64_t present_key, present_value, present_value_offset; /* outputs; offset of the values in the output */
    int64_t past_length;                                      /* positions that the past has room for */
    /* Projection: Q, K and V side by side = input (batch * queries, input_size) * weights (input_size, projected_size)
     * + bias. */
    int64_t input_size, projected_size;
    int64_t bias, bias_offsets[3]; /* input added to Q, K and V; offset of the part of each, -1: not added */
    /* Rotary embedding of the first `rotated` elements of Q and K. */
    int64_t rotated, cosines, sines, positions, cache_length;
    bool interleaved;
    int64_t query_norm, key_norm; /* inputs: weights of a normalization before the rotation */
    double norm_epsilon;
    /* Number of keys of a batch entry: input past_count, of the past, plus the new ones; or input `lengths` plus one,
     * where input `total` is the largest such number. */
    int64_t past_count, lengths, total;
    /* Not 0: the past is a cache of so many of the latest keys as it has room for, or somewhat fewer
     * (tort_heads_resident), of which a query sees this many, and the present is the cache for the next run. */
    int64_t cached_window;
    bool zero_rest; /* the present is 0 behind the keys; else it keeps what the past has there */
    int64_t end;    /* keys from this one on are hidden */
    int64_t valid;  /* input: number of keys of a batch entry that are not hidden; the last query is at the last one */
    bool causal;    /* a query sees the past and the new keys up to its own position */
    bool last_is_all; /* `causal` does not hold for the last query */
    /* Window around a query's position, but with `lengths`, left is the number of keys; -1: none. */
    int64_t left_window, right_window;
    bool scores_all; /* keys that causality or windows hide have scores, too, with `hidden` added; else they are left
                        out */
    double hidden;
    bool empty_is_zero; /* the result of a query that sees no key is 0, else NaN */
    bool nan_to_zero;   /* a weight that is NaN counts as 0 */
    tort_heads_mask mask_kind;
    int64_t mask, mask_strides[3], mask_offset; /* input; strides of (batch, query, key) */
    double mask_filter;
    int64_t keep, score_bias; /* inputs: of bool, where it is not keep_where `fill` replaces the score; added to it */
    tort_head_strides keep_strides, score_bias_strides; /* position: that of the query; element: the key */
    bool keep_where;
    double fill;
    int64_t beams, beam_choices, beam_stride; /* inputs: number of beams; beam of each past key */
    int64_t beam_width;                       /* number of beams without input `beams` */
    int64_t sink;                             /* input: for each head the score of a key without value */
    bool smooth;                              /* smooth_softmax: a sink of score 0 */
    double scale, softcap;                    /* 0: none */
    int64_t scores;                           /* output, or none */
    int64_t scores_stage;                     /* stage that it shows */
} tort_heads_params;

/* Marks every operand of zeroed params as absent. */
void tort_heads_clear(tort_heads_params *params);
/* Query heads per key head. */
static inline int64_t tort_heads_group(const tort_heads_params *params) {
    return params->key_heads > 0 ? params->query_heads / params->key_heads : 1;
}
/* Maximum number of keys of a batch entry. */
static inline int64_t tort_heads_capacity(const tort_heads_params *params) {
    return params->past_length + params->new_keys;
}
/* Bytes of a projection, 0 without one; false: overflow. */
bool tort_heads_projection(const tort_heads_params *params, size_t *bytes);
/* Counts the scratch of the plain loop, once all else is known. */
tort_status tort_heads_settle(tort_resolve *resolve);
/* Runs the plain loop. projected: (batch * queries, projected_size); NULL: there is no projection. */
tort_status tort_heads_attend(const tort_call *call, const float *projected, void *scratch);
/* The same, as tort_op.reference of an operator without a projection. */
tort_status tort_heads_reference(const tort_call *call);

/* ---- a run ------------------------------------------------------------------------------------------------------- */

enum { TORT_HEADS_QUERY, TORT_HEADS_KEY, TORT_HEADS_VALUE };

/* Keys of a batch entry. */
typedef struct tort_heads_span {
    int64_t past, total; /* keys taken from the past; all keys */
    int64_t before, end; /* position of the first query among the keys; keys from here on are hidden */
    int64_t start;       /* position of the first query in the whole sequence, of which a cache may have lost keys */
} tort_heads_span;

/* Rows of one type: row (batch, head, position) is at the sum of its strides, in elements. */
typedef struct tort_heads_plane {
    void *rows;
    tort_head_strides strides;
} tort_heads_plane;

typedef struct tort_heads_run {
    const tort_call *call;
    const tort_heads_params *p;
    tort_type type; /* of the rows: TORT_FLOAT or TORT_DOUBLE */
    tort_tensor projected;
    tort_heads_plane planes[3];
    bool laid_out[3];                   /* queries, keys and values are in scratch, not in an input or output */
    tort_heads_span *spans;             /* by batch entry, in scratch, where nobody changes what was checked */
    int64_t longest, past_count, beams; /* keys of the longest batch entry; past keys of every entry; beams */
    bool first;                         /* first run of a sequence: the past is ignored */
} tort_heads_run;

/* Bytes of rows of a type and of spans, a multiple of 64; false: overflow. */
bool tort_heads_rows_bytes(const tort_node_view *node, const tort_heads_params *params, tort_type type, size_t *bytes);
/* Floats that a thread needs to lay out rows; false: overflow. */
static inline int64_t tort_heads_room(const tort_heads_params *params) {
    return params->key_size + params->value_size + params->rotated;
}
/* Reads and checks the numbers that inputs hold, and finds the memory of rows; *scratch moves behind it. */
tort_status tort_heads_begin(tort_heads_run *run, const float *projected, char **scratch);
/* Lays out the rows of heads begin .. end-1 of tort_heads_laid_out; room: see above. */
int64_t tort_heads_laid_out(const tort_heads_run *run);
void tort_heads_lay_out(const tort_heads_run *run, int64_t begin, int64_t end, float *room);

/* Range *first .. *last-1 of keys that a query sees, before masks. */
static inline void tort_heads_visible(const tort_heads_run *run, int64_t batch, int64_t query, int64_t *first,
                                      int64_t *last) {
    const tort_heads_params *p = run->p;
    const tort_heads_span *span = &run->spans[batch];
    const int64_t at = span->before + query;
    const bool causal = p->causal && !(p->last_is_all && query == p->queries - 1);
    *last = span->end;
    if (causal && *last > at + 1) *last = at + 1;
    if (p->right_window >= 0 && *last > at + p->right_window + 1) *last = at + p->right_window + 1;
    if (*last < 0) *last = 0;
    *first = p->left_window < 0 ? 0 : (p->lengths >= 0 ? *last : at) - p->left_window;
    if (*first < 0) *first = 0;
    if (*first > *last) *first = *last;
}
/* Range of keys that get scores. */
static inline void tort_heads_scored(const tort_heads_run *run, int64_t batch, int64_t query, int64_t *first,
                                     int64_t *last) {
    *first = 0;
    *last = run->spans[batch].total;
    if (!run->p->scores_all) tort_heads_visible(run, batch, query, first, last);
}
/* Whether the mask, of any kind but TORT_HEADS_NO_MASK, hides a key. */
bool tort_heads_is_hidden(const tort_heads_run *run, int64_t batch, int64_t query, int64_t key);
static inline int64_t tort_heads_row_at(const tort_head_strides *strides, int64_t batch, int64_t head,
                                        int64_t position) {
    return batch * strides->batch + head * strides->head + position * strides->position;
}

#endif
