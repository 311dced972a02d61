/* vectorize.c - ArrayFeatureExtractor selects columns; FeatureVectorizer concatenates the features of several inputs.
 */
#include "ops/index.h"
#include "ops/shapes.h"

#define NUMBERS "float|double|int64|int32"

/* ---- ArrayFeatureExtractor --------------------------------------------------------------------------------------- */

/* Checks the indices; status is TORT_E_MODEL for constants, TORT_E_RUN for indices known only in a run. */
static tort_status check_indices(struct tort_watch *watch, tort_error *error, tort_status status,
                                 const int64_t *indices, int64_t count, int64_t features) {
    for (int64_t i = 0; i < count; i++) {
        if (!tort_row_goes_on(watch, i)) return tort_run_is_over(error);
        if (indices[i] < 0 || indices[i] >= features)
            return tort_fail(error, status, "Y[%lld] is %lld, X has features 0 to %lld", (long long)i,
                             (long long)indices[i], (long long)features - 1);
    }
    return TORT_OK;
}

/* Infers the shape; for a single row [C] it is [1, indices], as in ONNX's own shape inference. */
static tort_status extractor_infer(tort_infer *infer) {
    const tort_info *x = &infer->node->inputs[0], *y = &infer->node->inputs[1];
    tort_dim dims[TORT_MAX_RANK];
    if (x->rank == 0) return tort_fail(infer->error, TORT_E_MODEL, "X is a scalar, expected features along an axis");
    if (x->rank < 0) {
        tort_infer_unknown(infer, 0, x->type);
        return TORT_OK;
    }
    const int32_t rank = x->rank == 1 ? 2 : x->rank;
    dims[0] = 1;
    for (int32_t k = 0; k < x->rank - 1; k++) dims[k] = x->dims[k];
    dims[rank - 1] = y->rank < 0 ? tort_dim_fresh(infer->dims, true) : tort_dim_product(infer->dims, y->rank, y->dims);
    tort_infer_shape(infer, 0, x->type, rank, dims);
    if (!y->data || !tort_dim_known(x->dims[x->rank - 1])) return TORT_OK;
    return check_indices(infer->watch, infer->error, TORT_E_MODEL, y->data, dims[rank - 1], x->dims[x->rank - 1]);
}

static tort_status extractor_reference(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0], *y = &call->inputs[1], *z = &call->outputs[0];
    const int64_t features = x->dims[x->rank - 1], wanted = tort_count(y);
    const int64_t rows = tort_extent(x->dims, 0, x->rank - 1);
    const size_t size = (size_t)tort_type_bits(x->type) / 8;
    tort_status status = check_indices(call->watch, call->error, TORT_E_RUN, y->data, wanted, features);
    if (status) return status;
    if (tort_count(z) == 0) return TORT_OK;
    int64_t done = 0;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < wanted && tort_row_goes_on(call->watch, done++); i++)
            tort_copy_element(
                (char *)z->data + (size_t)(row * wanted + i) * size,
                (const char *)x->data + (size_t)(row * features + tort_index_wrapped(y, i, features)) * size, size);
    return TORT_OK;
}

/* ---- FeatureVectorizer ------------------------------------------------------------------------------------------- */

typedef struct vectorizer_params {
    tort_list widths; /* columns of each input in the output */
} vectorizer_params;

/* Number of rows of an input: its first axis; [C] is one row. */
static tort_dim input_rows(const tort_info *x) {
    return x->rank == 1 ? 1 : x->dims[0];
}

static tort_status check_widths(const tort_infer *infer, const int64_t *widths, int32_t count, int64_t *width) {
    if (count != infer->node->input_count)
        return tort_fail(infer->error, TORT_E_MODEL, "inputdimensions has %d numbers for %d inputs", count,
                         infer->node->input_count);
    *width = 0;
    for (int32_t i = 0; i < count; i++) {
        if (widths[i] < 0)
            return tort_fail(infer->error, TORT_E_MODEL, "inputdimensions[%d] is %lld, expected 0 or more", i,
                             (long long)widths[i]);
        tort_status status = tort_size_add(infer->error, *width, widths[i], width);
        if (status) return status;
    }
    return TORT_OK;
}

static tort_status vectorizer_infer(tort_infer *infer) {
    const tort_node_view *node = infer->node;
    int32_t count = 0;
    tort_dim dims[2] = {0, 0};
    bool ranked = false; /* true once an input of known rank has given the number of rows */
    const int64_t *widths = tort_attr_ints(node, "inputdimensions", &count);
    tort_status status = check_widths(infer, widths, count, &dims[1]);
    for (int32_t i = 0; i < node->input_count && !status; i++) {
        const tort_info *x = &node->inputs[i];
        if (x->rank == 0)
            return tort_fail(infer->error, TORT_E_MODEL, "input %d is a scalar, expected [N, C] or [C]", i);
        if (x->rank < 0) continue;
        if (!ranked)
            dims[0] = input_rows(x);
        else
            status = tort_dim_unify(infer->error, 0, dims[0], input_rows(x), &dims[0]);
        ranked = true;
    }
    if (!ranked) dims[0] = tort_dim_fresh(infer->dims, true);
    if (!status) tort_infer_shape(infer, 0, TORT_FLOAT, 2, dims);
    return status;
}

static tort_status vectorizer_resolve(tort_resolve *resolve) {
    ((vectorizer_params *)resolve->params)->widths = tort_resolve_list(resolve, "inputdimensions");
    return TORT_OK;
}

/* Pads a row that has too few features with 0, and truncates one that has too many. */
static tort_status vectorizer_reference(const tort_call *call) {
    const vectorizer_params *params = call->params;
    const tort_tensor *y = &call->outputs[0];
    const int64_t *widths = tort_list_at(params, params->widths), rows = y->dims[0], width = y->dims[1];
    enum { PART = 4096 }; /* features of a row at a time */
    int64_t done = 0;
    float *out = y->data;
    for (int32_t i = 0; i < call->input_count; out += widths[i++]) {
        const tort_tensor *x = &call->inputs[i];
        const int64_t features = x->rank == 1 ? x->dims[0] : tort_extent(x->dims, 1, x->rank);
        const int64_t taken = features < widths[i] ? features : widths[i];
        for (int64_t row = 0; row < rows; row++) {
            float *to = out + row * width;
            for (int64_t k = 0; k < taken && tort_work_goes_on(call->watch, &done, PART); k += PART)
                tort_load_floats(x->type, x->data, row * features + k, taken - k < PART ? taken - k : PART, to + k);
            for (int64_t k = taken; k < widths[i] && tort_work_goes_on(call->watch, &done, 1); k++) to[k] = 0;
        }
    }
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const tort_op tort_ops_ml_vectorize[] = {
    {"ai.onnx.ml", "ArrayFeatureExtractor", 1, 5, "X:T Y:int64", "Z:T", "T=" NUMBERS "|string", "",
     .infer = extractor_infer, .reference = extractor_reference},
    {"ai.onnx.ml", "FeatureVectorizer", 1, 5, "X*:T1", "Y:float", "T1=" NUMBERS, "inputdimensions:ints",
     .flags = TORT_OP_LISTS, .params_size = sizeof(vectorizer_params), vectorizer_infer, vectorizer_resolve,
     vectorizer_reference},
    {0},
};
