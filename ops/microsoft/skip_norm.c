/* skip_norm.c - com.microsoft: SkipLayerNormalization, SkipSimplifiedLayerNormalization and EmbedLayerNormalization,
 * which normalise sums: of a tensor and a skip connection, or of embeddings.
 *
 * The sums are computed in double and rounded once where a node outputs them; unrounded ones are normalised. Read
 * first: norm.h. */
#include "ops/microsoft/skip_norm.h"
#include "ops/index.h"
#include "ops/shapes.h"

/* ---- infer ------------------------------------------------------------------------------------------------------- */

static bool is_simplified(const tort_op *op) {
    return strcmp(op->name, "SkipSimplifiedLayerNormalization") == 0;
}

/* Checks that input i, if present, is a list of `size` elements (negative: not known). */
static tort_status check_list(const tort_infer *infer, int32_t i, const char *name, int64_t size) {
    const tort_info *list = &infer->node->inputs[i];
    if (!tort_has_input(infer->node, i) || list->rank < 0) return TORT_OK;
    if (list->rank != 1)
        return tort_fail(infer->error, TORT_E_MODEL, "%s has rank %d, expected 1", name, (int)list->rank);
    const int64_t have = tort_known_dim(list, 0);
    if (have < 0 || size < 0 || have == size) return TORT_OK;
    return tort_fail(infer->error, TORT_E_MODEL, "%s has %lld elements, expected %lld", name, (long long)have,
                     (long long)size);
}

/* Checks that skip has the shape of the input; its first axis may have size 1, or be absent if the input has rank 3. */
static tort_status check_skip(const tort_infer *infer) {
    const tort_info *x = &infer->node->inputs[0], *skip = &infer->node->inputs[1];
    if (x->rank >= 0 && x->rank != 2 && x->rank != 3)
        return tort_fail(infer->error, TORT_E_MODEL, "input has rank %d, expected 2 or 3", (int)x->rank);
    if (x->rank < 0 || skip->rank < 0) return TORT_OK;
    const int32_t before = x->rank - skip->rank;
    if (before != 0 && !(before == 1 && x->rank == 3))
        return tort_fail(infer->error, TORT_E_MODEL, "skip has rank %d, expected %d as input has", (int)skip->rank,
                         (int)x->rank);
    for (int32_t d = 0; d < skip->rank; d++) {
        const int64_t have = tort_known_dim(skip, d), expected = tort_known_dim(x, d + before);
        if (have < 0 || expected < 0 || have == expected || (d == 0 && x->rank == 3 && before == 0 && have == 1))
            continue;
        return tort_fail(infer->error, TORT_E_MODEL, "skip has size %lld along axis %d, input has %lld",
                         (long long)have, (int)d, (long long)expected);
    }
    return TORT_OK;
}

/* Mean and inverse deviation have one element per row. */
static tort_status infer_skip(tort_infer *infer) {
    const tort_info *x = &infer->node->inputs[0];
    const int64_t size = x->rank > 0 ? tort_known_dim(x, x->rank - 1) : -1;
    tort_status status = check_skip(infer);
    if (!status) status = check_list(infer, 2, "gamma", size);
    if (!status) status = check_list(infer, 3, is_simplified(infer->node->op) ? "bias" : "beta", size);
    if (!status && !is_simplified(infer->node->op)) status = check_list(infer, 4, "bias", size);
    tort_infer_same(infer, 0, 0);
    tort_infer_same(infer, TORT_SKIP_NORM_SUM, 0);
    infer->outputs[1].type = infer->outputs[2].type = TORT_FLOAT;
    if (status || x->rank < 1) return status;
    tort_dim dims[TORT_MAX_RANK];
    for (int32_t d = 0; d < x->rank; d++) dims[d] = d < x->rank - 1 ? x->dims[d] : 1;
    tort_infer_shape(infer, 1, TORT_FLOAT, x->rank, dims);
    tort_infer_shape(infer, 2, TORT_FLOAT, x->rank, dims);
    return TORT_OK;
}

/* ---- resolve ----------------------------------------------------------------------------------------------------- */

/* Views `x` as rows along its last axis; scale and bias have one row. */
static void resolve_rows(const tort_resolve *resolve, const tort_info *x, bool centered, tort_norm_params *norm) {
    norm->epsilon = (double)tort_attr_float(resolve->node, "epsilon");
    norm->centered = centered;
    if (!tort_shape_known(x) || x->rank < 1) return;
    norm->rank = 2;
    norm->rows = norm->dims[0] = tort_extent(x->dims, 0, x->rank - 1);
    norm->size = norm->dims[1] = x->dims[x->rank - 1];
    norm->scale_strides[1] = norm->bias_strides[1] = 1;
}

static tort_status resolve_skip(tort_resolve *resolve) {
    const tort_info *skip = &resolve->node->inputs[1];
    tort_skip_norm_params *params = resolve->params;
    const bool simplified = is_simplified(resolve->node->op);
    resolve_rows(resolve, &resolve->node->inputs[0], !simplified, &params->norm);
    params->has_beta = !simplified;
    if (tort_shape_known(skip) && skip->rank > 0) params->skip_rows = tort_extent(skip->dims, 0, skip->rank - 1);
    return TORT_OK;
}

const tort_tensor *tort_skip_norm_beta(const tort_call *call) {
    const tort_skip_norm_params *params = call->params;
    return params->has_beta ? tort_call_input(call, 3) : NULL;
}

const tort_tensor *tort_skip_norm_bias(const tort_call *call) {
    const tort_skip_norm_params *params = call->params;
    return tort_call_input(call, params->has_beta ? 4 : 3);
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

static void load_skip(const tort_norm_rows *rows, int64_t row, int64_t first, int64_t count, double *values) {
    const tort_call *call = rows->arg;
    const tort_skip_norm_params *params = call->params;
    const tort_tensor *bias = tort_skip_norm_bias(call);
    const int64_t size = params->norm.size;
    tort_load_doubles(rows->x->type, rows->x->data, row * size + first, count, values);
    tort_add_elements(&call->inputs[1], row % params->skip_rows * size + first, count, values);
    if (bias) tort_add_elements(bias, first, count, values);
}

static tort_status run_skip(const tort_call *call) {
    const tort_skip_norm_params *params = call->params;
    const tort_norm_rows rows = {.call = call,
                                 .params = &params->norm,
                                 .load = load_skip,
                                 .x = &call->inputs[0],
                                 .arg = call,
                                 .scale = &call->inputs[2],
                                 .bias = tort_skip_norm_beta(call),
                                 .y = &call->outputs[0],
                                 .means = tort_call_output(call, 1),
                                 .inverses = tort_call_output(call, 2),
                                 .sums = tort_call_output(call, TORT_SKIP_NORM_SUM)};
    tort_norm_run(&rows);
    return TORT_OK;
}

/* ---- EmbedLayerNormalization ------------------------------------------------------------------------------------- */

tort_status tort_infer_embed_norm(tort_infer *infer) {
    const tort_node_view *node = infer->node;
    const tort_info *ids = &node->inputs[TORT_EMBED_IDS], *words = &node->inputs[TORT_EMBED_WORDS];
    const tort_type type = words->type;
    for (int32_t o = 0; o < 3; o++) infer->outputs[o].type = o == 1 ? TORT_INT32 : type;
    if ((ids->rank >= 0 && ids->rank != 2) || (words->rank >= 0 && words->rank != 2))
        return tort_fail(infer->error, TORT_E_MODEL, "input_ids has rank %d and word_embedding rank %d, expected 2",
                         (int)ids->rank, (int)words->rank);
    if (tort_has_input(node, TORT_EMBED_SEGMENTS) != tort_has_input(node, TORT_EMBED_SEGMENT_TABLE))
        return tort_fail(infer->error, TORT_E_MODEL, "of segment_ids and segment_embedding one is missing");
    const int64_t size = tort_known_dim(words, 1);
    static const struct {
        int32_t input;
        const char *name;
    } tables[] = {{TORT_EMBED_POSITIONS, "position_embedding"}, {TORT_EMBED_SEGMENT_TABLE, "segment_embedding"}};
    for (int32_t i = 0; i < 2; i++) {
        const tort_info *table = &node->inputs[tables[i].input];
        if (!tort_has_input(node, tables[i].input) || table->rank < 0) continue;
        const int64_t have = tort_known_dim(table, 1);
        if (table->rank != 2 || (have >= 0 && size >= 0 && have != size))
            return tort_fail(infer->error, TORT_E_MODEL, "%s must have rows of %lld elements, as word_embedding",
                             tables[i].name, (long long)size);
    }
    tort_status status = check_list(infer, TORT_EMBED_GAMMA, "gamma", size);
    if (!status) status = check_list(infer, TORT_EMBED_BETA, "beta", size);
    const tort_dim dims[3] = {ids->rank == 2 ? ids->dims[0] : tort_dim_fresh(infer->dims, true),
                              ids->rank == 2 ? ids->dims[1] : tort_dim_fresh(infer->dims, true),
                              words->rank == 2 ? words->dims[1] : tort_dim_fresh(infer->dims, true)};
    tort_infer_shape(infer, 0, type, 3, dims);
    tort_infer_shape(infer, 1, TORT_INT32, 1, dims);
    tort_infer_shape(infer, 2, type, 3, dims);
    return status;
}

/* Checks that input i has the shape of input_ids; position_ids may have one row. */
static tort_status check_ids(const tort_resolve *resolve, int32_t i, const char *name, bool may_repeat) {
    const tort_info *ids = &resolve->node->inputs[TORT_EMBED_IDS], *other = &resolve->node->inputs[i];
    if (!tort_has_input(resolve->node, i) || !tort_shape_known(other)) return TORT_OK;
    const bool rows = other->rank == 2 && (other->dims[0] == ids->dims[0] || (may_repeat && other->dims[0] == 1));
    if (rows && other->dims[1] == ids->dims[1]) return TORT_OK;
    return tort_fail(resolve->error, TORT_E_MODEL, "%s must have the shape of input_ids, [%lld,%lld]", name,
                     (long long)ids->dims[0], (long long)ids->dims[1]);
}

tort_status tort_resolve_embed_norm(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    const tort_info *ids = &node->inputs[TORT_EMBED_IDS], *positions = &node->inputs[TORT_EMBED_POSITION_IDS];
    tort_embed_norm_params *params = resolve->params;
    resolve_rows(resolve, &node->outputs[0], true, &params->norm);
    if (!tort_shape_known(ids)) return TORT_OK;
    params->batch = ids->dims[0];
    params->length = ids->dims[1];
    if (tort_has_input(node, TORT_EMBED_POSITION_IDS) && tort_shape_known(positions))
        params->position_rows = positions->dims[0];
    tort_status status = check_ids(resolve, TORT_EMBED_SEGMENTS, "segment_ids", false);
    if (!status) status = check_ids(resolve, TORT_EMBED_MASK, "mask", false);
    if (!status) status = check_ids(resolve, TORT_EMBED_POSITION_IDS, "position_ids", true);
    const int64_t places = tort_known_dim(&node->inputs[TORT_EMBED_POSITIONS], 0);
    if (status || params->position_rows > 0 || places < 0 || places >= params->length) return status;
    return tort_fail(resolve->error, TORT_E_MODEL, "position_embedding has %lld rows, the sequence %lld places",
                     (long long)places, (long long)params->length);
}

/* values += elements of row `row` of table `input`. */
static void add_embedding(const tort_call *call, int32_t input, int64_t row, int64_t first, int64_t count,
                          double *values) {
    const tort_tensor *table = &call->inputs[input];
    tort_add_elements(table, row * table->dims[1] + first, count, values);
}

int64_t tort_embed_id(const tort_call *call, int32_t input, int32_t table, int64_t i) {
    return tort_index_wrapped(&call->inputs[input], i, call->inputs[table].dims[0]);
}

static int64_t position_of(const tort_call *call, int64_t row) {
    const tort_embed_norm_params *params = call->params;
    const int64_t place = row % params->length;
    if (params->position_rows == 0) return place;
    const int64_t line = params->position_rows == 1 ? 0 : row / params->length;
    return tort_embed_id(call, TORT_EMBED_POSITION_IDS, TORT_EMBED_POSITIONS, line * params->length + place);
}

static void load_embedding(const tort_norm_rows *rows, int64_t row, int64_t first, int64_t count, double *values) {
    const tort_call *call = rows->arg;
    for (int64_t i = 0; i < count; i++) values[i] = 0;
    add_embedding(call, TORT_EMBED_WORDS, tort_embed_id(call, TORT_EMBED_IDS, TORT_EMBED_WORDS, row), first, count,
                  values);
    add_embedding(call, TORT_EMBED_POSITIONS, position_of(call, row), first, count, values);
    if (tort_call_input(call, TORT_EMBED_SEGMENTS))
        add_embedding(call, TORT_EMBED_SEGMENT_TABLE,
                      tort_embed_id(call, TORT_EMBED_SEGMENTS, TORT_EMBED_SEGMENT_TABLE, row), first, count, values);
}

tort_status tort_embed_check(const tort_call *call, int32_t input, int32_t table, const char *name) {
    const tort_tensor *ids = tort_call_input(call, input);
    const int64_t count = ids ? tort_count(ids) : 0, size = call->inputs[table].dims[0];
    for (int64_t i = 0; i < count; i++) {
        const int64_t id = tort_index_at(ids, i);
        if (!tort_row_goes_on(call->watch, i)) return tort_run_is_over(call->error);
        if (id < 0 || id >= size)
            return tort_fail(call->error, TORT_E_RUN, "%s has %lld, expected 0 to %lld", name, (long long)id,
                             (long long)size - 1);
    }
    return TORT_OK;
}

void tort_embed_count_places(const tort_call *call, const tort_embed_norm_params *params, const tort_tensor *out) {
    const tort_tensor *mask = tort_call_input(call, TORT_EMBED_MASK);
    int64_t done = 0;
    for (int64_t n = 0; n < params->batch; n++) {
        int32_t count = 0;
        for (int64_t i = 0; mask && i < params->length; i++) {
            if (!tort_work_goes_on(call->watch, &done, 1)) return;
            count += ((const int32_t *)mask->data)[n * params->length + i] == 1;
        }
        ((int32_t *)out->data)[n] = count;
    }
}

static tort_status run_embed(const tort_call *call) {
    const tort_embed_norm_params *params = call->params;
    const tort_norm_rows rows = {.call = call,
                                 .params = &params->norm,
                                 .load = load_embedding,
                                 .arg = call,
                                 .scale = &call->inputs[TORT_EMBED_GAMMA],
                                 .bias = &call->inputs[TORT_EMBED_BETA],
                                 .y = &call->outputs[0],
                                 .sums = tort_call_output(call, 2)};
    tort_status status = tort_embed_check(call, TORT_EMBED_IDS, TORT_EMBED_WORDS, "input_ids");
    if (!status) status = tort_embed_check(call, TORT_EMBED_SEGMENTS, TORT_EMBED_SEGMENT_TABLE, "segment_ids");
    if (!status) status = tort_embed_check(call, TORT_EMBED_POSITION_IDS, TORT_EMBED_POSITIONS, "position_ids");
    if (status) return status;
    if (tort_count(rows.y) > 0) tort_norm_run(&rows);
    if (tort_call_output(call, 1)) tort_embed_count_places(call, params, &call->outputs[1]);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define SKIP .params_size = sizeof(tort_skip_norm_params), infer_skip, resolve_skip, run_skip

const tort_op tort_ops_microsoft_skip_norm[] = {
    {"com.microsoft", "EmbedLayerNormalization", 1, 1,
     "input_ids:T1 segment_ids?:T1 word_embedding:T position_embedding:T segment_embedding?:T gamma:T beta:T mask?:T1 "
     "position_ids?:T1",
     "output:T mask_index?:T1 embedding_sum?:T", "T1=int32 T=float|float16", "epsilon:float=1e-12 mask_index_type:int",
     .params_size = sizeof(tort_embed_norm_params), tort_infer_embed_norm, tort_resolve_embed_norm, run_embed},
    {"com.microsoft", "SkipLayerNormalization", 1, 1, "input:T skip:T gamma:T beta?:T bias?:T",
     "output:T mean?:U inv_std_var?:U input_skip_bias_sum?:T", "T=float|float16|bfloat16 U=float",
     "epsilon:float=1e-12", SKIP},
    {"com.microsoft", "SkipSimplifiedLayerNormalization", 1, 1, "input:T skip:T gamma:T bias?:T",
     "output:T mean?:U inv_std_var?:U input_skip_bias_sum?:T", "T=float|float16|bfloat16 U=float",
     "epsilon:float=1e-12", SKIP},
    {0},
};
