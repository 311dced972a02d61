/* flex_attention.c - AttentionScores and AttentionOutput: the two ends of a FlexAttention that has graphs between them.
 *
 * FlexAttention-1 without score_mod and prob_mod is a row of attention.c. With them, loader/flex_attention.c splits it
 * into AttentionScores, a Call of score_mod, Softmax, a Call of prob_mod and AttentionOutput: the graphs run once, on
 * whole tensors, so each part can be placed on the provider that suits it. */
#include "ops/flex_attention.h"

#include "ops/extent.h"
#include "ops/shapes.h"

#include <math.h>

enum { FLEX_SCORES, FLEX_OUTPUT }; /* values of tort_op.variant */

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

static bool differ(tort_dim a, tort_dim b) {
    return tort_dim_known(a) && tort_dim_known(b) && a != b;
}

/* Checks the shapes: axis `inner` of input 0 must be as long as axis `other` of input 1, and the heads of input 0 a
 * multiple of those of input 1. */
static tort_status check_heads(const tort_node_view *node, int32_t inner, int32_t other, tort_error *error) {
    const tort_info *first = &node->inputs[0], *second = &node->inputs[1];
    for (int32_t i = 0; i < 2; i++)
        if (node->inputs[i].rank >= 0 && node->inputs[i].rank != 4)
            return tort_fail(error, TORT_E_MODEL, "input %d has rank %d; expected 4", i, node->inputs[i].rank);
    if (first->rank < 0 || second->rank < 0) return TORT_OK;
    const int64_t heads = tort_known_dim(first, 1), groups = tort_known_dim(second, 1);
    if (differ(first->dims[0], second->dims[0]) || differ(first->dims[inner], second->dims[other]))
        return tort_fail(error, TORT_E_MODEL, "the shapes of inputs 0 and 1 do not fit each other");
    if (groups == 0 || (heads >= 0 && groups > 0 && heads % groups))
        return tort_fail(error, TORT_E_MODEL, "%lld heads of queries are not a multiple of %lld", (long long)heads,
                         (long long)groups);
    return TORT_OK;
}

/* Output 0 has the shape of input 0, but its last axis is as long as axis `last` of input 1. */
static void infer_output(tort_infer *infer, tort_type type, int32_t last) {
    const tort_info *first = &infer->node->inputs[0], *second = &infer->node->inputs[1];
    tort_dim dims[4];
    tort_infer_unknown(infer, 0, type);
    if (first->rank < 0 || second->rank < 0) return;
    for (int32_t d = 0; d < 3; d++) dims[d] = first->dims[d];
    dims[3] = second->dims[last];
    tort_infer_shape(infer, 0, type, 4, dims);
}

static tort_status scores_infer(tort_infer *infer) {
    const tort_node_view *node = infer->node;
    const tort_type type = node->inputs[0].type == TORT_DOUBLE ? TORT_DOUBLE : TORT_FLOAT;
    tort_status status = check_heads(node, 3, 3, infer->error);
    if (!status)
        infer_output(infer, tort_attr(node, "softmax_precision") ? tort_attr_type(node, "softmax_precision") : type, 2);
    return status;
}

static tort_status output_infer(tort_infer *infer) {
    tort_status status = check_heads(infer->node, 3, 2, infer->error);
    if (!status) infer_output(infer, infer->node->inputs[1].type, 3);
    return status;
}

/* ---- resolve ----------------------------------------------------------------------------------------------------- */

static tort_status flex_resolve(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    const tort_info *first = &node->inputs[0], *second = &node->inputs[1];
    tort_flex_params *params = resolve->params;
    if (!tort_shape_known(first) || !tort_shape_known(second)) return TORT_OK;
    params->batch = first->dims[0];
    params->heads = first->dims[1];
    params->length = first->dims[2];
    params->group = first->dims[1] / second->dims[1];
    params->keys = second->dims[2];
    params->size = second->dims[3];
    params->scale = tort_attr(node, "scale") ? (double)tort_attr_float(node, "scale")
                    : params->size > 0       ? 1 / sqrt((double)params->size)
                                             : 1;
    return TORT_OK;
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

/* Offset of the keys or values of row `row` of input 0, a (batch, head, position). */
static int64_t keys_of(const tort_flex_params *params, int64_t row) {
    const int64_t head = row / params->length;
    const int64_t batch = head / params->heads, groups = params->heads / params->group;
    return (batch * groups + head % params->heads / params->group) * params->keys * params->size;
}

/* Scores of one query and keys first .. first+count-1. `done`: see tort_work_goes_on. False: the run is over. */
static bool score_block(const tort_call *call, int64_t row, int64_t first, int64_t count, int64_t *done) {
    const tort_flex_params *params = call->params;
    const tort_tensor *queries = &call->inputs[0], *keys = &call->inputs[1], *out = &call->outputs[0];
    const int64_t begin = keys_of(params, row) + first * params->size;
    double query[TORT_BLOCK], key[TORT_BLOCK], sums[TORT_BLOCK] = {0};
    for (int64_t e = 0; e < params->size; e += TORT_BLOCK) {
        const int64_t part = tort_block_count(params->size, e);
        if (!tort_work_goes_on(call->watch, done, count * part)) return false;
        tort_load_doubles(queries->type, queries->data, row * params->size + e, part, query);
        for (int64_t k = 0; k < count; k++) {
            tort_load_doubles(keys->type, keys->data, begin + k * params->size + e, part, key);
            sums[k] += tort_dot(query, key, part);
        }
    }
    for (int64_t k = 0; k < count; k++) sums[k] *= params->scale;
    tort_store_doubles(out->type, out->data, row * params->keys + first, count, sums);
    return true;
}

static void score_rows(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_flex_params *params = call->params;
    int64_t done = 0;
    for (int64_t row = begin; row < end; row++)
        for (int64_t k = 0; k < params->keys; k += TORT_BLOCK)
            if (!score_block(call, row, k, tort_block_count(params->keys, k), &done)) return;
}

/* Elements first .. first+count-1 of an output row: a row of probabilities times columns of the values. `done` and the
 * result: as of score_block. */
static bool sum_block(const tort_call *call, int64_t row, int64_t first, int64_t count, int64_t *done) {
    const tort_flex_params *params = call->params;
    const tort_tensor *probabilities = &call->inputs[0], *values = &call->inputs[1], *out = &call->outputs[0];
    const int64_t begin = keys_of(params, row) + first;
    double weights[TORT_BLOCK], value[TORT_BLOCK], sums[TORT_BLOCK] = {0};
    for (int64_t k = 0; k < params->keys; k += TORT_BLOCK) {
        const int64_t part = tort_block_count(params->keys, k);
        if (!tort_work_goes_on(call->watch, done, count * part)) return false;
        tort_load_doubles(probabilities->type, probabilities->data, row * params->keys + k, part, weights);
        for (int64_t i = 0; i < part; i++) {
            tort_load_doubles(values->type, values->data, begin + (k + i) * params->size, count, value);
            for (int64_t e = 0; e < count; e++) sums[e] += weights[i] * value[e];
        }
    }
    tort_store_doubles(out->type, out->data, row * params->size + first, count, sums);
    return true;
}

static void sum_rows(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_flex_params *params = call->params;
    int64_t done = 0;
    for (int64_t row = begin; row < end; row++)
        for (int64_t e = 0; e < params->size; e += TORT_BLOCK)
            if (!sum_block(call, row, e, tort_block_count(params->size, e), &done)) return;
}

static tort_status run(const tort_call *call) {
    const tort_flex_params *params = call->params;
    const double work = (double)params->keys * (double)params->size;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    tort_parallel(call, tort_extent(call->inputs[0].dims, 0, 3), work < 1e15 ? (int64_t)work : (int64_t)1e15,
                  call->op->variant == FLEX_SCORES ? score_rows : sum_rows, (void *)call);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const tort_op tort_ops_flex_attention[] = {
    {"tinyort", "AttentionScores", 1, 1, "Q:T K:T", "scores:P", "T=floats13 P=floats13",
     "scale:float softmax_precision:int(floats13)", .variant = FLEX_SCORES, .params_size = sizeof(tort_flex_params),
     .infer = scores_infer, .resolve = flex_resolve, .reference = run},
    {"tinyort", "AttentionOutput", 1, 1, "probabilities:P V:T", "Y:T", "T=floats13 P=floats13", "",
     .variant = FLEX_OUTPUT, .params_size = sizeof(tort_flex_params), .infer = output_infer, .resolve = flex_resolve,
     .reference = run},
    {0},
};
