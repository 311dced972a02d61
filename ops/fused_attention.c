/* fused_attention.c - FusedAttention (domain `tinyort`), which exporters write as MatMul, scale, mask, Softmax, MatMul.
 *
 *   Y = Transpose(softmax(Where(keep == keep_where, scale * Q' * K', fill) + mask) * V', y_perm)
 *
 * Q' is Transpose(Q, q_perm), and so on; an absent perm is the identity. Q', K' and V' have one rank, 2 to 4, and equal
 * dimensions before the last two; mask and keep broadcast to the scores. Unlike in Attention, K' is (size, keys), and a
 * query whose keys are all hidden by -inf yields NaN, or zeros with nan_to_zero. heads.c has the loops. Read next:
 * fuse_attention.c, attention.c. */
#include "ops/fused_attention.h"
#include "ops/heads.h"
#include "ops/numeric.h"
#include "ops/shapes.h"

enum { Q, K, V, MASK, KEEP }; /* inputs */
enum { RANK = 4 };

/* ---- infer ------------------------------------------------------------------------------------------------------- */

/* Reads a perm attribute, or the identity: axis i of the transposed tensor is axis perm[i] of the tensor. */
static tort_status read_perm(const tort_node_view *node, tort_error *error, const char *name, int32_t rank,
                             int32_t *perm) {
    int32_t count = 0;
    const int64_t *given = tort_attr_ints(node, name, &count);
    uint32_t seen = 0;
    for (int32_t i = 0; i < rank; i++) perm[i] = i;
    if (!count) return TORT_OK;
    for (int32_t i = 0; i < count && count == rank; i++) {
        if (given[i] < 0 || given[i] >= rank) break;
        perm[i] = (int32_t)given[i];
        seen |= 1u << given[i];
    }
    if (count == rank && seen == (1u << rank) - 1) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "%s is not an order of %d axes", name, (int)rank);
}

static const char *const perm_names[] = {"q_perm", "k_perm", "v_perm"};

/* Reads the dimensions of Q', K' and V'; *known is false if a rank is not known. */
static tort_status read_dims(const tort_infer *infer, tort_dim dims[3][RANK], bool *known) {
    const tort_node_view *node = infer->node;
    const int32_t rank = node->inputs[Q].rank;
    *known = true;
    for (int32_t v = Q; v <= V; v++) {
        const tort_info *info = &node->inputs[v];
        int32_t perm[RANK];
        *known &= info->rank >= 0;
        if (info->rank < 0) continue;
        if (info->rank < 2 || info->rank > RANK || (rank >= 0 && info->rank != rank))
            return tort_fail(infer->error, TORT_E_MODEL, "input %d has rank %d; expected one rank for all, 2 to 4", v,
                             (int)info->rank);
        tort_status status = read_perm(node, infer->error, perm_names[v], info->rank, perm);
        if (status) return status;
        for (int32_t i = 0; i < info->rank; i++) dims[v][i] = info->dims[perm[i]];
    }
    return TORT_OK;
}

static tort_status infer_attention(tort_infer *infer) {
    const int32_t rank = infer->node->inputs[Q].rank;
    tort_dim dims[3][RANK], out[RANK], made[RANK], same;
    int32_t perm[RANK];
    bool known;
    tort_infer_unknown(infer, 0, infer->node->inputs[Q].type);
    tort_status status = read_dims(infer, dims, &known);
    if (status || !known) return status;
    for (int32_t i = 0; i < rank - 2 && !status; i++) {
        status = tort_dim_unify(infer->error, i, dims[Q][i], dims[K][i], &same);
        if (!status) status = tort_dim_unify(infer->error, i, same, dims[V][i], &out[i]);
    }
    if (!status) status = tort_dim_unify(infer->error, rank - 1, dims[Q][rank - 1], dims[K][rank - 2], &same);
    if (!status) status = tort_dim_unify(infer->error, rank - 2, dims[K][rank - 1], dims[V][rank - 2], &same);
    if (!status) status = read_perm(infer->node, infer->error, "y_perm", rank, perm);
    if (status) return status;
    out[rank - 2] = dims[Q][rank - 2];
    out[rank - 1] = dims[V][rank - 1];
    for (int32_t i = 0; i < rank; i++) made[i] = out[perm[i]];
    tort_infer_shape(infer, 0, infer->node->inputs[Q].type, rank, made);
    return TORT_OK;
}

/* ---- resolve ----------------------------------------------------------------------------------------------------- */

/* Rows of the transposed Q, K or V, given its own strides; a tensor of lower rank has the last ones. Rows of K' are its
 * columns. */
static tort_heads_rows rows_of(const tort_node_view *node, int32_t v, const int64_t *own) {
    const int32_t rank = node->inputs[v].rank, row = v == K ? 3 : 2;
    int64_t s[RANK] = {0};
    int32_t perm[RANK];
    read_perm(node, NULL, perm_names[v], rank, perm);
    for (int32_t i = 0; i < rank; i++) s[RANK - rank + i] = own[perm[i]];
    return (tort_heads_rows){.operand = v, .strides = {s[0], s[1], s[row], s[5 - row]}};
}

static tort_heads_rows read_rows(const tort_node_view *node, int32_t v) {
    int64_t own[RANK];
    tort_strides(node->inputs[v].rank, node->inputs[v].dims, own);
    return rows_of(node, v, own);
}

void tort_attention_restride(const tort_node_view *node, void *params, int32_t input, const int64_t *strides) {
    tort_heads_params *p = params;
    *(input == Q ? &p->query : input == K ? &p->key : &p->value) = rows_of(node, input, strides);
}

/* Rows of Y before its transposition. */
static tort_heads_rows write_rows(const tort_node_view *node) {
    const tort_info *info = &node->outputs[0];
    int64_t own[RANK], s[RANK] = {0};
    int32_t perm[RANK];
    read_perm(node, NULL, "y_perm", info->rank, perm);
    tort_strides(info->rank, info->dims, own);
    for (int32_t i = 0; i < info->rank; i++) s[RANK - info->rank + perm[i]] = own[i];
    return (tort_heads_rows){.operand = 0, .strides = {s[0], s[1], s[2], s[3]}};
}

/* Strides of mask or keep, broadcast to the scores. */
static tort_status spread(const tort_resolve *resolve, int32_t input, const tort_heads_params *p, int64_t *operand,
                          tort_head_strides *out) {
    const tort_info *info = &resolve->node->inputs[input];
    const int64_t dims[RANK] = {p->batch, p->query_heads, p->queries, p->new_keys};
    int64_t s[RANK];
    if (!tort_has_input(resolve->node, input)) return TORT_OK;
    bool fits = info->rank <= resolve->node->inputs[Q].rank;
    for (int32_t i = 0; fits && i < info->rank; i++)
        fits = info->dims[i] == 1 || info->dims[i] == dims[RANK - info->rank + i];
    if (!fits)
        return tort_fail(resolve->error, TORT_E_MODEL,
                         "input %d does not spread over scores of shape [%lld,%lld,%lld,%lld]", (int)input,
                         (long long)dims[0], (long long)dims[1], (long long)dims[2], (long long)dims[3]);
    tort_broadcast_strides(info->rank, info->dims, RANK, dims, s);
    *operand = input;
    *out = (tort_head_strides){s[0], s[1], s[2], s[3]};
    return TORT_OK;
}

static int64_t transposed_dim(const tort_node_view *node, int32_t v, int32_t from_end) {
    const tort_info *info = &node->inputs[v];
    int32_t perm[RANK];
    if (info->rank < from_end || info->rank > RANK || read_perm(node, NULL, perm_names[v], info->rank, perm)) return -1;
    return tort_known_dim(info, perm[info->rank - from_end]);
}

static void read_sizes(const tort_node_view *node, tort_heads_params *p) {
    p->batch = node->inputs[Q].rank == 4 ? transposed_dim(node, Q, 4) : 1;
    p->query_heads = p->key_heads = node->inputs[Q].rank >= 3 ? transposed_dim(node, Q, 3) : 1;
    p->queries = transposed_dim(node, Q, 2);
    p->key_size = transposed_dim(node, Q, 1);
    p->new_keys = transposed_dim(node, V, 2);
    p->value_size = transposed_dim(node, V, 1);
}

static tort_status resolve_attention(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    tort_heads_params *p = resolve->params;
    tort_heads_clear(p);
    p->scale = (double)tort_attr_float(node, "scale");
    p->fill = (double)tort_attr_float(node, "fill");
    p->keep_where = tort_attr_int(node, "keep_where") != 0;
    p->nan_to_zero = tort_attr_int(node, "nan_to_zero") != 0;
    read_sizes(node, p);
    if (!tort_inputs_known(node)) return TORT_OK;
    p->query = read_rows(node, Q);
    p->key = read_rows(node, K);
    p->value = read_rows(node, V);
    p->output = write_rows(node);
    tort_status status = spread(resolve, MASK, p, &p->score_bias, &p->score_bias_strides);
    if (!status) status = spread(resolve, KEEP, p, &p->keep, &p->keep_strides);
    return status ? status : tort_heads_settle(resolve);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const tort_op tort_ops_fused_attention[] = {
    {"tinyort", "FusedAttention", 1, 1, "Q:T K:T V:T mask?:T keep?:bool", "Y:T", "T=floats13",
     "scale:float=1 fill:float=0 keep_where:int=1 nan_to_zero:int=0 q_perm:ints k_perm:ints v_perm:ints "
     "y_perm:ints",
     .params_size = sizeof(tort_heads_params), infer_attention, resolve_attention, tort_heads_reference},
    {0},
};
