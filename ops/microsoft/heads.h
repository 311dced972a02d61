/* heads.h - params and steps of com.microsoft's attention operators: Attention, MultiHeadAttention,
 * DecoderMaskedMultiHeadAttention and GroupQueryAttention differ in where their operands lie and in what hides keys,
 * and all of that is said in one struct of params, which the families' resolve functions fill.
 *
 * A run lays out queries, keys and values as rows of floats, one for each (head, position): rotated, with their biases,
 * the keys and values behind those of the past. Then blocks of queries are scored, normalized and summed up. A provider
 * brings the inner loops alone. Read next: heads.c, group_query_attention.c. */
#ifndef TORT_OPS_MICROSOFT_HEADS_H
#define TORT_OPS_MICROSOFT_HEADS_H

#include "ops/attention.h"
#include "runtime/op.h"

enum { TORT_HEADS_NONE = -1, TORT_HEADS_PROJECTED = -2 }; /* in place of the number of an operand */

/* Row (batch, head, position) of an operand: `offset` elements and strides from its first element. */
typedef struct tort_heads_rows {
    int64_t operand; /* input, or output; or one of the above */
    int64_t offset;
    tort_head_strides strides;
} tort_heads_rows;

/* Where the rows of floats of a run lie. */
typedef enum tort_heads_home {
    TORT_HEADS_IN_PLACE, /* in the input: nothing is to be done to them */
    TORT_HEADS_PRESENT,  /* in the output that holds them anyway */
    TORT_HEADS_SCRATCH
} tort_heads_home;

/* What of the keys a mask leaves; hidden ones get mask_filter on top of their scores. */
typedef enum tort_heads_mask {
    TORT_HEADS_NO_MASK,
    TORT_HEADS_ENDS,     /* one a batch: keys from there on are hidden */
    TORT_HEADS_INTERVAL, /* ends, then starts: keys before are hidden too */
    TORT_HEADS_ELEMENTS  /* 0 hides; with mask_strides */
} tort_heads_mask;

typedef struct tort_heads_params {
    int64_t batch, query_heads, key_heads; /* query head h reads key head h / (query_heads / key_heads) */
    int64_t queries, new_keys, key_size, value_size;
    tort_heads_rows query, key, value, past_key, past_value, output;
    int64_t present_key, present_value, present_value_offset; /* outputs; elements before the values */
    int64_t past_length;                                      /* positions that the past has room for */
    tort_heads_home query_home, key_home, value_home;
    /* Q, K and V side by side = input (batch * queries, input_size) * weights (input_size, projected_size) + bias. */
    int64_t input_size, projected_size;
    int64_t bias, bias_offsets[3]; /* input that is added to Q, K and V; elements before the part of each, -1: not */
    /* Rotary embedding of the first `rotated` elements of Q and K. */
    int64_t rotated, cosines, sines, positions, cache_length;
    bool interleaved;
    int64_t query_norm, key_norm; /* inputs: weights of a normalization before it */
    double norm_epsilon;
    /* Keys of a batch: past_count, an input, of the past and then the new ones; or as many as `lengths` says, an input,
     * plus one, of `total` in the longest. */
    int64_t past_count, lengths, total;
    bool zero_rest;      /* what is in the present behind them: 0, or what the past has there */
    bool causal;         /* a query sees the past and the new keys up to its own place */
    int64_t left_window; /* of these the last so many, -1: all */
    tort_heads_mask mask_kind;
    int64_t mask, mask_strides[3], mask_offset; /* input; of (batch, query, key) */
    double mask_filter;
    int64_t score_bias, score_bias_strides[3]; /* input; of (batch, head, query) */
    int64_t beams, beam_choices, beam_stride; /* inputs: how many beams a batch has; which of them, a key of the past */
    int64_t beam_width;                       /* how many, where no input tells */
    int64_t sink;                             /* input: one a head, a score of a key without value */
    bool smooth;                              /* a sink of 0 */
    double scale, softcap;                    /* 0: none */
    int64_t scores;                           /* output, or none */
    int64_t scores_stage;                     /* which it shows: 0 the products, 1 before softmax, 2 after */
} tort_heads_params;

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* Keys and values of a head, in rows of floats, and how many queries at most see them at a time. */
typedef struct tort_heads_keys {
    const float *keys, *values;
    int64_t key_stride, value_stride; /* from row to row */
    int64_t count, key_size, value_size, rows;
} tort_heads_keys;

#define TORT_HEADS_STEP 32 /* the first key of a block is a multiple of it */

/* c (rows, columns) of `depth` products each. The scores are a * b^T, the sums a * b. Behind a row of scores there is
 * room up to a multiple of TORT_HEADS_STEP. */
typedef struct tort_heads_product {
    const float *a, *b;
    float *c;
    int64_t a_stride, b_stride, c_stride; /* from row to row */
    int64_t rows, columns, depth;
    int64_t first; /* row of b among those that began */
    float scale;
} tort_heads_product;

/* What a provider brings. Each part of the work has a buffer of its own. */
typedef struct tort_heads_loops {
    const void *own;
    /* Before the products with these keys, with the buffer that they get; may be NULL. */
    void (*begin)(const void *own, const tort_heads_keys *keys, float *buffer);
    void (*score)(const void *own, const tort_heads_product *product, float *buffer);
    void (*sum)(const void *own, const tort_heads_product *product, float *buffer);
    void (*softmax)(const float *x, float *y, int64_t count); /* y is x */
    int32_t parts;
    int64_t max_rows; /* of a block */
    /* Room for the rows of a block, and for their scores. Never less for more keys, so that memory for the longest
     * sequence has room for all. */
    int64_t row_room, score_room;
    size_t buffer_bytes; /* a multiple of 64 */
} tort_heads_loops;

/* Fills what is not 0 in params that say nothing yet. */
void tort_heads_clear(tort_heads_params *params);
/* A dimension shared by so many heads. */
tort_dim tort_heads_divide(tort_dims *dims, tort_dim dim, int64_t heads);
/* TORT_E_MODEL unless an input is absent or has these dims; -1: any. */
tort_status tort_heads_expect(const tort_resolve *resolve, int32_t input, const char *name, int32_t rank,
                              const int64_t *dims);
/* An input of shape (batch or 1, heads or 1, queries, keys) is added to the scores. */
tort_status tort_heads_read_score_bias(const tort_resolve *resolve, tort_heads_params *params, int32_t input);
/* An input says in one of many forms which keys are hidden. */
tort_status tort_heads_read_mask(const tort_resolve *resolve, tort_heads_params *params, int32_t input,
                                 const char *name);
/* Decides where rows will be, once all else is known, and counts the scratch of the plain loop. */
tort_status tort_heads_settle(tort_resolve *resolve);
/* Bytes of scratch, without those of a projection; false: more than a size_t. */
bool tort_heads_scratch(const tort_heads_params *params, const tort_heads_loops *loops, size_t *bytes);
/* Bytes of a projection, 0 where there is none; false: more than a size_t. */
bool tort_heads_projection(const tort_heads_params *params, size_t *bytes);
/* projected: (batch * queries, projected_size); NULL: there is none. */
tort_status tort_heads_attend(const tort_call *call, const tort_heads_loops *loops, const float *projected,
                              void *scratch);
/* The plain loop: projects where the params say so. */
tort_status tort_heads_reference(const tort_call *call);

/* Of Attention: inputs are input, weights, bias, mask_index, past, attention_bias and past_sequence_length. */
tort_status tort_infer_microsoft_attention(tort_infer *infer);
tort_status tort_resolve_microsoft_attention(tort_resolve *resolve);

#endif
