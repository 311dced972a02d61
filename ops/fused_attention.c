/* fused_attention.c - FusedAttention (domain `tinyort`), which exporters write as MatMul, scale, mask, Softmax, MatMul.
 *
 *   Y = Transpose(softmax(Where(keep == keep_where, scale * Q' * K', fill) + mask) * V', y_perm)
 *
 * Q' is Transpose(Q, q_perm), and so on; an absent perm is the identity. Q', K' and V' have one rank, 2 to 4, and equal
 * dimensions before the last two; mask and keep broadcast to the scores. Unlike in Attention, K' is (size, keys), and a
 * query whose keys are all hidden by -inf yields NaN, or zeros with nan_to_zero. The loop computes in double and rounds
 * once. Read next: fuse_attention.c, attention.c. */
#include "ops/fused_attention.h"
#include "ops/extent.h"
#include "ops/shapes.h"

#include <math.h>

enum { Q = TORT_ATTENTION_Q, K, V, MASK, KEEP, RANK = 4 };

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

/* Gives four strides their names; a tensor of lower rank has the last ones. */
static tort_matrix_strides named(const int64_t *strides) {
    return (tort_matrix_strides){strides[0], strides[1], strides[2], strides[3]};
}

/* Strides of the transposed Q, K or V, given its own. */
static tort_matrix_strides transposed_strides(const tort_node_view *node, int32_t v, const int64_t *own) {
    const int32_t rank = node->inputs[v].rank;
    int64_t strides[RANK] = {0};
    int32_t perm[RANK];
    read_perm(node, NULL, perm_names[v], rank, perm);
    for (int32_t i = 0; i < rank; i++) strides[RANK - rank + i] = own[perm[i]];
    return named(strides);
}

static tort_matrix_strides read_strides(const tort_node_view *node, int32_t v) {
    int64_t own[RANK];
    tort_strides(node->inputs[v].rank, node->inputs[v].dims, own);
    return transposed_strides(node, v, own);
}

void tort_attention_restride(const tort_node_view *node, void *params, int32_t input, const int64_t *strides) {
    tort_fused_attention_params *p = params;
    tort_matrix_strides *const of[] = {&p->q, &p->k, &p->v};
    *of[input] = transposed_strides(node, input, strides);
}

/* Strides of Y before its transposition. */
static tort_matrix_strides write_strides(const tort_node_view *node) {
    const tort_info *info = &node->outputs[0];
    int64_t own[RANK], strides[RANK] = {0};
    int32_t perm[RANK];
    read_perm(node, NULL, "y_perm", info->rank, perm);
    tort_strides(info->rank, info->dims, own);
    for (int32_t i = 0; i < info->rank; i++) strides[RANK - info->rank + perm[i]] = own[i];
    return named(strides);
}

/* Strides of mask or keep, broadcast to the scores. */
static tort_status spread(const tort_resolve *resolve, int32_t input, const tort_fused_attention_params *p,
                          tort_matrix_strides *out) {
    const tort_info *info = &resolve->node->inputs[input];
    const int64_t dims[RANK] = {p->outer, p->inner, p->queries, p->keys};
    int64_t strides[RANK];
    if (!tort_has_input(resolve->node, input)) return TORT_OK;
    bool fits = info->rank <= resolve->node->inputs[Q].rank;
    for (int32_t i = 0; fits && i < info->rank; i++)
        fits = info->dims[i] == 1 || info->dims[i] == dims[RANK - info->rank + i];
    if (!fits)
        return tort_fail(resolve->error, TORT_E_MODEL,
                         "input %d does not spread over scores of shape [%lld,%lld,%lld,%lld]", (int)input,
                         (long long)dims[0], (long long)dims[1], (long long)dims[2], (long long)dims[3]);
    tort_broadcast_strides(info->rank, info->dims, RANK, dims, strides);
    *out = named(strides);
    return TORT_OK;
}

static int64_t transposed_dim(const tort_node_view *node, int32_t v, int32_t from_end) {
    const tort_info *info = &node->inputs[v];
    int32_t perm[RANK];
    if (info->rank < from_end || info->rank > RANK || read_perm(node, NULL, perm_names[v], info->rank, perm)) return -1;
    return tort_known_dim(info, perm[info->rank - from_end]);
}

static void read_sizes(const tort_node_view *node, tort_fused_attention_params *p) {
    p->outer = node->inputs[Q].rank == 4 ? transposed_dim(node, Q, 4) : 1;
    p->inner = node->inputs[Q].rank >= 3 ? transposed_dim(node, Q, 3) : 1;
    p->queries = transposed_dim(node, Q, 2);
    p->key_size = transposed_dim(node, Q, 1);
    p->keys = transposed_dim(node, V, 2);
    p->value_size = transposed_dim(node, V, 1);
}

/* Number of workers: one per matrix, but at most 32, since each has its own scratch. */
static int64_t worker_count(const tort_fused_attention_params *p) {
    const int64_t matrices = p->outer * p->inner;
    return matrices < 32 ? matrices : 32;
}

/* Scratch of a worker, in doubles: all keys and values of a matrix, a query, its sums and scores. */
static tort_status count_scratch(tort_resolve *resolve, const tort_fused_attention_params *p) {
    size_t row, doubles;
    if (tort_add_size((size_t)p->key_size, (size_t)p->value_size, &row) &&
        tort_add_size((size_t)p->keys, 1, &doubles) && tort_mul_size(doubles, row, &doubles) &&
        tort_add_size(doubles, (size_t)p->keys, &doubles) &&
        tort_mul_size(doubles, (size_t)worker_count(p) * sizeof(double), &resolve->scratch_bytes))
        return TORT_OK;
    return tort_fail(resolve->error, TORT_E_MEMORY, "%lld keys do not fit in memory", (long long)p->keys);
}

static tort_status resolve_attention(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    tort_fused_attention_params *p = resolve->params;
    p->scale = (double)tort_attr_float(node, "scale");
    p->fill = (double)tort_attr_float(node, "fill");
    p->keep_where = tort_attr_int(node, "keep_where") != 0;
    p->nan_to_zero = tort_attr_int(node, "nan_to_zero") != 0;
    read_sizes(node, p);
    if (!tort_inputs_known(node)) return TORT_OK;
    p->q = read_strides(node, Q);
    p->k = read_strides(node, K);
    p->v = read_strides(node, V);
    p->y = write_strides(node);
    tort_status status = spread(resolve, MASK, p, &p->mask);
    if (!status) status = spread(resolve, KEEP, p, &p->keep);
    return status ? status : count_scratch(resolve, p);
}

/* ---- the plain loop ---------------------------------------------------------------------------------------------- */

/* Loads `count` elements that are `step` apart. */
static void load(const tort_tensor *tensor, int64_t first, int64_t step, int64_t count, double *out) {
    if (step == 1) {
        tort_load_doubles(tensor->type, tensor->data, first, count, out);
        return;
    }
    for (int64_t i = 0; i < count; i++) out[i] = tort_element_at(tensor, first + i * step);
}

/* State of one matrix; its keys and values are copied as rows, one for each key. */
typedef struct attention_matrix {
    const tort_call *call;
    int64_t index;
    double *keys, *values, *query, *scores, *sums;
} attention_matrix;

/* Computes one row of scores, the argument of the softmax. */
static void score(const attention_matrix *m, int64_t row) {
    const tort_fused_attention_params *p = m->call->params;
    const tort_tensor *mask = tort_call_input(m->call, MASK), *keep = tort_call_input(m->call, KEEP);
    const int64_t added = tort_matrix_offset(p, &p->mask, m->index) + row * p->mask.row;
    const int64_t kept = tort_matrix_offset(p, &p->keep, m->index) + row * p->keep.row;
    for (int64_t j = 0; j < p->keys; j++) {
        m->scores[j] = p->scale * tort_dot(m->query, m->keys + j * p->key_size, p->key_size);
        if (keep && (((const uint8_t *)keep->data)[kept + j * p->keep.column] != 0) != p->keep_where)
            m->scores[j] = p->fill;
        if (mask) m->scores[j] += tort_element_at(mask, added + j * p->mask.column);
    }
}

/* Softmax of a row: NaN, or 0 with nan_to_zero, if all scores are -inf. */
static void normalize(const tort_fused_attention_params *p, double *scores) {
    double max = -INFINITY, sum = 0;
    for (int64_t j = 0; j < p->keys; j++)
        if (scores[j] > max) max = scores[j];
    for (int64_t j = 0; j < p->keys; j++) sum += scores[j] = exp(scores[j] - max);
    for (int64_t j = 0; j < p->keys; j++) {
        scores[j] /= sum;
        if (p->nan_to_zero && isnan(scores[j])) scores[j] = 0;
    }
}

static void attend(const attention_matrix *m, int64_t row) {
    const tort_fused_attention_params *p = m->call->params;
    const tort_tensor *y = &m->call->outputs[0];
    const int64_t from = tort_matrix_offset(p, &p->q, m->index) + row * p->q.row;
    const int64_t to = tort_matrix_offset(p, &p->y, m->index) + row * p->y.row;
    load(&m->call->inputs[Q], from, p->q.column, p->key_size, m->query);
    score(m, row);
    normalize(p, m->scores);
    for (int64_t i = 0; i < p->value_size; i++) m->sums[i] = 0;
    for (int64_t j = 0; j < p->keys; j++)
        for (int64_t i = 0; i < p->value_size; i++) m->sums[i] += m->scores[j] * m->values[j * p->value_size + i];
    for (int64_t i = 0; i < p->value_size; i++)
        tort_store_doubles(y->type, y->data, to + i * p->y.column, 1, &m->sums[i]);
}

/* Runs workers begin .. end-1; each takes every worker_count-th matrix. */
static void attend_matrices(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_fused_attention_params *p = call->params;
    const int64_t workers = worker_count(p), row_size = p->key_size + p->value_size;
    for (int64_t worker = begin; worker < end; worker++) {
        attention_matrix m = {.call = call,
                              .keys = (double *)call->scratch + worker * ((p->keys + 1) * row_size + p->keys)};
        m.values = m.keys + p->keys * p->key_size;
        m.query = m.values + p->keys * p->value_size;
        m.sums = m.query + p->key_size;
        m.scores = m.sums + p->value_size;
        for (m.index = worker; m.index < p->outer * p->inner; m.index += workers) {
            const int64_t k = tort_matrix_offset(p, &p->k, m.index), v = tort_matrix_offset(p, &p->v, m.index);
            for (int64_t j = 0; j < p->keys; j++) {
                load(&call->inputs[K], k + j * p->k.column, p->k.row, p->key_size, m.keys + j * p->key_size);
                load(&call->inputs[V], v + j * p->v.row, p->v.column, p->value_size, m.values + j * p->value_size);
            }
            for (int64_t row = 0; row < p->queries && tort_call_goes_on(call, 0); row++) attend(&m, row);
        }
    }
}

static tort_status run_attention(const tort_call *call) {
    const tort_fused_attention_params *p = call->params;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    const double work = (double)p->queries * (double)p->keys * (double)(p->key_size + p->value_size) *
                        (double)(p->outer * p->inner / worker_count(p));
    tort_parallel(call, worker_count(p), work < 1e15 ? (int64_t)work + 1 : (int64_t)1e15, attend_matrices,
                  (void *)call);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const tort_op tort_ops_fused_attention[] = {
    {"tinyort", "FusedAttention", 1, 1, "Q:T K:T V:T mask?:T keep?:bool", "Y:T", "T=floats13",
     "scale:float=1 fill:float=0 keep_where:int=1 nan_to_zero:int=0 q_perm:ints k_perm:ints v_perm:ints "
     "y_perm:ints",
     .params_size = sizeof(tort_fused_attention_params), infer_attention, resolve_attention, run_attention},
    {0},
};
