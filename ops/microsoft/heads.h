/* heads.h - params and steps of com.microsoft's attention operators: Attention, MultiHeadAttention,
 * DecoderMaskedMultiHeadAttention and GroupQueryAttention. They differ in the layout of their operands and in what
 * hides keys; one struct of params describes all of them, and the families' resolve functions fill it.
 *
 * A run lays out queries, keys and values as rows of floats, one for each (head, position), with bias and rotation; new
 * keys and values follow those of the past. Then blocks of queries are scored, normalized and summed up. A provider
 * supplies only the inner loops. Read next: heads.c, group_query_attention.c. */
#ifndef TORT_OPS_MICROSOFT_HEADS_H
#define TORT_OPS_MICROSOFT_HEADS_H

#include "ops/attention.h"
#include "runtime/include/op.h"

enum { TORT_HEADS_NONE = -1, TORT_HEADS_PROJECTED = -2 }; /* in place of an operand's index */

/* Row (batch, head, position) of an operand is at `offset` plus its strides, in elements. */
typedef struct tort_heads_rows {
    int64_t operand; /* index of an input or output, or one of the above */
    int64_t offset;
    tort_head_strides strides;
} tort_heads_rows;

/* Memory of the rows of floats of a run. */
typedef enum tort_heads_home {
    TORT_HEADS_IN_PLACE, /* in the input, whose rows need no change */
    TORT_HEADS_PRESENT,  /* in the present output, which needs them anyway */
    TORT_HEADS_SCRATCH
} tort_heads_home;

/* Form of the mask; mask_filter is added to the scores of hidden keys. */
typedef enum tort_heads_mask {
    TORT_HEADS_NO_MASK,
    TORT_HEADS_ENDS,     /* one per batch entry: keys from this position on are hidden */
    TORT_HEADS_INTERVAL, /* ends, then starts: keys before the start are hidden too */
    TORT_HEADS_ELEMENTS  /* an element of 0 or less hides; with mask_strides */
} tort_heads_mask;

typedef struct tort_heads_params {
    int64_t batch, query_heads, key_heads; /* query head h reads key head h / (query_heads / key_heads) */
    int64_t queries, new_keys, key_size, value_size;
    tort_heads_rows query, key, value, past_key, past_value, output;
    int64_t present_key, present_value, present_value_offset; /* outputs; offset of the values in the output */
    int64_t past_length;                                      /* positions that the past has room for */
    tort_heads_home query_home, key_home, value_home;
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
    bool zero_rest;      /* the present is 0 behind the keys; else it keeps what the past has there */
    bool causal;         /* a query sees the past and the new keys up to its own position */
    int64_t left_window; /* a query sees only the last so many of these; -1: all */
    tort_heads_mask mask_kind;
    int64_t mask, mask_strides[3], mask_offset; /* input; strides of (batch, query, key) */
    double mask_filter;
    int64_t score_bias, score_bias_strides[3]; /* input; strides of (batch, head, query) */
    int64_t beams, beam_choices, beam_stride;  /* inputs: number of beams; beam of each past key */
    int64_t beam_width;                        /* number of beams without input `beams` */
    int64_t sink;                              /* input: for each head the score of a key without value */
    bool smooth;                               /* smooth_softmax: a sink of score 0 */
    double scale, softcap;                     /* 0: none */
    int64_t scores;                            /* output, or none */
    int64_t scores_stage;                      /* stage that it shows: 0 the products, 1 before softmax, 2 after */
} tort_heads_params;

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* Keys and values of a head, in rows of floats; rows: maximum number of queries that see them at a time. */
typedef struct tort_heads_keys {
    const float *keys, *values;
    int64_t key_stride, value_stride; /* from row to row */
    int64_t count, key_size, value_size, rows;
} tort_heads_keys;

#define TORT_HEADS_STEP 32 /* the first key of a block is a multiple of this */

/* c (rows, columns) has sums of `depth` products: a * b^T for scores, a * b for outputs. Behind a row of scores there
 * is room up to a multiple of TORT_HEADS_STEP. */
typedef struct tort_heads_product {
    const float *a, *b;
    float *c;
    int64_t a_stride, b_stride, c_stride; /* from row to row */
    int64_t rows, columns, depth;
    int64_t first; /* index of the first row of b among the keys given to `begin` */
    float scale;
} tort_heads_product;

/* Inner loops of a provider. Each part of the work has its own buffer. */
typedef struct tort_heads_loops {
    const void *own;
    /* Called before the products with these keys, with the buffer that they get; may be NULL. */
    void (*begin)(const void *own, const tort_heads_keys *keys, float *buffer);
    void (*score)(const void *own, const tort_heads_product *product, float *buffer);
    void (*sum)(const void *own, const tort_heads_product *product, float *buffer);
    void (*softmax)(const float *x, float *y, int64_t count); /* in place: y is x */
    int32_t parts;
    int64_t max_rows; /* of a block */
    /* Rows of a block that have room, and room for their scores. Never less for more keys, so that memory for the
     * longest sequence has room for all. */
    int64_t row_room, score_room;
    size_t buffer_bytes; /* a multiple of 64 */
} tort_heads_loops;

/* Marks every operand of zeroed params as absent. */
void tort_heads_clear(tort_heads_params *params);
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
/* Chooses the memory of rows, once all else is known, and counts the scratch of the plain loop. */
tort_status tort_heads_settle(tort_resolve *resolve);
/* Bytes of scratch, without those of a projection; false: overflow. */
bool tort_heads_scratch(const tort_heads_params *params, const tort_heads_loops *loops, size_t *bytes);
/* Bytes of a projection, 0 without one; false: overflow. */
bool tort_heads_projection(const tort_heads_params *params, size_t *bytes);
/* Runs the operator. projected: (batch * queries, projected_size); NULL: there is no projection. */
tort_status tort_heads_attend(const tort_call *call, const tort_heads_loops *loops, const float *projected,
                              void *scratch);
/* The plain loop, with its own projection if the params have one. */
tort_status tort_heads_reference(const tort_call *call);

/* Attention: inputs are input, weights, bias, mask_index, past, attention_bias and past_sequence_length. */
tort_status tort_infer_microsoft_attention(tort_infer *infer);
tort_status tort_resolve_microsoft_attention(tort_resolve *resolve);

#endif
