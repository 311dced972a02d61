/* linear.c - LinearClassifier and LinearRegressor: products of rows of features and coefficients.
 *
 * The specification does not define a classifier with one score. As in ONNX Runtime, it is the score of the second
 * class, and the first class gets a score derived from it. */
#include "ops/ml/linear.h"
#include "ops/ml/lists.h"
#include "ops/ml/rows.h"
#include "ops/ml/two_scores.h"

/* ---- scores ------------------------------------------------------------------------------------------------------ */

static tort_status check_coefficients(const tort_infer *infer, tort_dim features, int64_t targets) {
    const int64_t count = tort_attr_count(infer->node, "coefficients");
    if (count == 0 || count % targets)
        return tort_fail(infer->error, TORT_E_MODEL,
                         "coefficients has %lld numbers; expected as many as features for each of %lld targets",
                         (long long)count, (long long)targets);
    return tort_check_features(infer->error, features, count / targets, "coefficients");
}

static tort_status resolve_scores(tort_resolve *resolve, int64_t targets) {
    tort_linear_model_params *params = resolve->params;
    params->targets = targets;
    params->coefficients = tort_resolve_list(resolve, "coefficients");
    params->features = params->coefficients.count / targets;
    params->intercepts = tort_resolve_list(resolve, "intercepts");
    return tort_post_transform_attr(resolve, &params->transform);
}

static float score_of(const tort_call *call, int64_t row, int64_t target) {
    const tort_linear_model_params *params = call->params;
    const float *coefficients = tort_list_at(params, params->coefficients);
    const float *intercepts = tort_list_at(params, params->intercepts);
    const int64_t features = params->features;
    const double sum = tort_row_dot(call, row * features, coefficients + target * features, features);
    return (float)(sum + (params->intercepts.count ? (double)intercepts[target] : 0));
}

/* ---- LinearRegressor --------------------------------------------------------------------------------------------- */

static tort_status regressor_infer(tort_infer *infer) {
    const int64_t targets = tort_attr_int(infer->node, "targets"), given = tort_attr_count(infer->node, "intercepts");
    tort_dim dims[2], features;
    if (targets < 1)
        return tort_fail(infer->error, TORT_E_MODEL, "targets is %lld, expected 1 or more", (long long)targets);
    if (given && given != targets)
        return tort_fail(infer->error, TORT_E_MODEL, "intercepts has %lld numbers for %lld targets", (long long)given,
                         (long long)targets);
    tort_status status = tort_infer_rows(infer, 0, &dims[0], &features);
    if (!status) status = check_coefficients(infer, features, targets);
    dims[1] = targets;
    if (!status) tort_infer_shape(infer, 0, TORT_FLOAT, 2, dims);
    return status;
}

static tort_status regressor_resolve(tort_resolve *resolve) {
    return resolve_scores(resolve, tort_attr_int(resolve->node, "targets"));
}

static void regress_rows(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_linear_model_params *params = call->params;
    for (int64_t row = begin; row < end; row++) {
        float *scores = (float *)call->outputs[0].data + row * params->targets;
        for (int64_t t = 0; t < params->targets; t++) scores[t] = score_of(call, row, t);
        tort_post_transform_floats(params->transform, scores, params->targets);
    }
}

static tort_status regressor_reference(const tort_call *call) {
    const tort_linear_model_params *params = call->params;
    const int64_t rows = tort_row_count(&call->inputs[0]);
    tort_parallel(call, rows, params->targets * params->features, regress_rows, (void *)call);
    return TORT_OK;
}

/* ---- LinearClassifier -------------------------------------------------------------------------------------------- */

/* Number of scores: of the intercepts or, without them (they are then 0), of the labels. */
static int64_t class_scores(const tort_node_view *node, int64_t labels) {
    const int64_t intercepts = tort_attr_count(node, "intercepts");
    if (intercepts) return intercepts;
    return labels ? labels : 1;
}

static tort_status check_labels(tort_error *error, int64_t scores, int64_t labels) {
    if (scores > 1 ? labels >= scores : labels == 0 || labels == 2) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "has %lld labels (classlabels_*) for %lld score%s; expected %s",
                     (long long)labels, (long long)scores, scores == 1 ? "" : "s",
                     scores == 1 ? "2, or none for 0 and 1" : "one for each");
}

static tort_status classifier_infer(tort_infer *infer) {
    tort_dim rows, features, dims[2];
    tort_type type;
    int64_t labels;
    tort_status status =
        tort_read_labels(infer->node, "classlabels_ints", "classlabels_strings", &type, &labels, infer->error);
    const int64_t scores = class_scores(infer->node, labels);
    if (!status) status = check_labels(infer->error, scores, labels);
    if (!status) status = tort_infer_rows(infer, 0, &rows, &features);
    if (!status) status = check_coefficients(infer, features, scores);
    if (status) return status;
    dims[0] = rows;
    dims[1] = scores == 1 && labels == 2 ? 2 : scores;
    tort_infer_shape(infer, 0, type, 1, dims);
    tort_infer_shape(infer, 1, TORT_FLOAT, 2, dims);
    return TORT_OK;
}

static tort_status classifier_resolve(tort_resolve *resolve) {
    tort_linear_model_params *params = resolve->params;
    tort_resolve_labels(resolve, "classlabels_ints", "classlabels_strings", &params->labels);
    resolve->scratch_bytes = tort_labels_bytes(&params->labels);
    return resolve_scores(resolve, class_scores(resolve->node, params->labels.list.count));
}

typedef struct classifier_job {
    const tort_call *call;
    const void *labels;
} classifier_job;

/* Classifies a row with one score: two classes, or presence of one. */
static void classify_by_one(const classifier_job *job, int64_t row, float score) {
    static const int64_t yes_and_no[] = {0, 1};
    const tort_linear_model_params *params = job->call->params;
    const tort_tensor *outputs = job->call->outputs;
    const bool two = params->labels.list.count == 2;
    if (tort_present(&outputs[0])) tort_put_label(&outputs[0], row, two ? job->labels : yes_and_no, score > 0);
    if (!tort_present(&outputs[1])) return;
    float *scores = (float *)outputs[1].data + row * (two ? 2 : 1);
    if (two)
        tort_two_scores(params->transform, false, score, scores);
    else {
        *scores = score;
        tort_post_transform_floats(params->transform, scores, 1);
    }
}

static void classify_row(const classifier_job *job, int64_t row) {
    const tort_linear_model_params *params = job->call->params;
    const tort_tensor *outputs = job->call->outputs;
    float *scores = tort_present(&outputs[1]) ? (float *)outputs[1].data + row * params->targets : NULL;
    float best = 0;
    int64_t which = 0;
    for (int64_t t = 0; t < params->targets; t++) {
        const float score = score_of(job->call, row, t);
        if (t == 0 || score > best) {
            best = score;
            which = t;
        }
        if (scores) scores[t] = score;
    }
    if (tort_present(&outputs[0])) tort_put_label(&outputs[0], row, job->labels, which);
    if (scores) tort_post_transform_floats(params->transform, scores, params->targets);
}

static void classify_rows(void *arg, int64_t begin, int64_t end) {
    const classifier_job *job = arg;
    const tort_linear_model_params *params = job->call->params;
    for (int64_t row = begin; row < end; row++) {
        if (params->targets == 1)
            classify_by_one(job, row, score_of(job->call, row, 0));
        else
            classify_row(job, row);
    }
}

static tort_status classifier_reference(const tort_call *call) {
    const tort_linear_model_params *params = call->params;
    classifier_job job = {call, tort_labels_open(call, &params->labels, call->scratch)};
    if (!job.labels) return tort_out_of_memory(call->error, tort_labels_bytes(&params->labels));
    const int64_t rows = tort_row_count(&call->inputs[0]);
    tort_parallel(call, rows, params->targets * params->features, classify_rows, &job);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define NUMBERS "float|double|int64|int32"

const tort_op tort_ops_ml_linear[] = {
    {"ai.onnx.ml", "LinearClassifier", 1, 5, "X:T1", "Y:T2 Z:float", "T1=" NUMBERS " T2=string|int64",
     "classlabels_ints:ints classlabels_strings:strings coefficients:floats! intercepts:floats multi_class:int=0 "
     "post_transform:string=NONE",
     .flags = TORT_OP_LISTS, .params_size = sizeof(tort_linear_model_params), classifier_infer, classifier_resolve,
     classifier_reference},
    {"ai.onnx.ml", "LinearRegressor", 1, 5, "X:T", "Y:float", "T=" NUMBERS,
     "coefficients:floats intercepts:floats post_transform:string=NONE targets:int=1", .flags = TORT_OP_LISTS,
     .params_size = sizeof(tort_linear_model_params), regressor_infer, regressor_resolve, regressor_reference},
    {0},
};
