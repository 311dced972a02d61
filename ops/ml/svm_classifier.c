/* svm_classifier.c - SVMClassifier: support vectors decide between each pair of classes, and the classes that win get
 * votes; or, without support vectors, one linear model per class.
 *
 * The specification only names the attributes. The computation, and the label of a tie or of a single score, follow
 * libsvm and ONNX Runtime. */
#include "ops/ml/lists.h"
#include "ops/ml/rows.h"
#include "ops/ml/svm.h"
#include "ops/ml/two_scores.h"
#include "runtime/core/base/memory.h"

#include <math.h>

enum { MAX_CLASSES = 65535 };

static int64_t pairs_of(int64_t classes) {
    return classes * (classes - 1) / 2;
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static tort_status count_vectors(const tort_node_view *node, int64_t classes, int64_t *vectors, tort_error *error) {
    int32_t count = 0;
    const int64_t *per_class = tort_attr_ints(node, "vectors_per_class", &count);
    *vectors = 0;
    for (int32_t i = 0; i < count; i++)
        if (per_class[i] < 0 || __builtin_add_overflow(*vectors, per_class[i], vectors))
            return tort_fail(error, TORT_E_MODEL, "vectors_per_class[%d] is %lld, no number of vectors", i,
                             (long long)per_class[i]);
    if (*vectors == 0 || count == classes) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "vectors_per_class has %d numbers for %lld classes", count,
                     (long long)classes);
}

static tort_status check_count(const tort_infer *infer, const char *name, int64_t wanted) {
    const int64_t given = tort_attr_count(infer->node, name);
    if (given >= wanted) return TORT_OK;
    return tort_fail(infer->error, TORT_E_MODEL, "%s has %lld numbers, expected %lld", name, (long long)given,
                     (long long)wanted);
}

/* Checks the lists of a model of pairs of classes. */
static tort_status check_pairs(const tort_infer *infer, int64_t classes, int64_t vectors) {
    int64_t coefficients;
    if (__builtin_mul_overflow(classes - 1, vectors, &coefficients)) coefficients = INT64_MAX;
    tort_status status = check_count(infer, "coefficients", coefficients);
    if (!status) status = check_count(infer, "rho", pairs_of(classes));
    if (!status && tort_attr_count(infer->node, "prob_a")) status = check_count(infer, "prob_a", pairs_of(classes));
    return status;
}

static tort_status check_probabilities(const tort_infer *infer) {
    const int64_t a = tort_attr_count(infer->node, "prob_a"), b = tort_attr_count(infer->node, "prob_b");
    if (a == b) return TORT_OK;
    return tort_fail(infer->error, TORT_E_MODEL, "prob_a has %lld numbers, prob_b %lld; expected as many", (long long)a,
                     (long long)b);
}

static tort_status check_linear(const tort_infer *infer, int64_t classes) {
    const int64_t count = tort_attr_count(infer->node, "coefficients");
    if (count == 0 || count % classes)
        return tort_fail(infer->error, TORT_E_MODEL,
                         "coefficients has %lld numbers; expected as many as features for each of %lld classes",
                         (long long)count, (long long)classes);
    return check_count(infer, "rho", 1);
}

/* Number of scores of a row: one per class or, without probabilities, one per pair, but two for two classes. */
static int64_t score_count(const tort_node_view *node, int64_t classes, int64_t vectors) {
    if (vectors == 0 || tort_attr_count(node, "prob_a")) return classes;
    return classes > 2 ? pairs_of(classes) : 2;
}

static tort_status classifier_infer(tort_infer *infer) {
    const tort_node_view *node = infer->node;
    tort_dim dims[2], features;
    tort_type type;
    int64_t classes, vectors = 0;
    tort_status status =
        tort_read_labels(node, "classlabels_ints", "classlabels_strings", &type, &classes, infer->error);
    if (!status && (classes < 1 || classes > MAX_CLASSES))
        return tort_fail(infer->error, TORT_E_MODEL, "has %lld labels (classlabels_*), expected 1 to %d",
                         (long long)classes, MAX_CLASSES);
    if (!status) status = count_vectors(node, classes, &vectors, infer->error);
    if (!status) status = vectors ? check_pairs(infer, classes, vectors) : check_linear(infer, classes);
    if (!status) status = check_probabilities(infer);
    if (!status) status = tort_infer_rows(infer, 0, &dims[0], &features);
    if (!status) status = tort_check_svm(infer, vectors, tort_attr_count(node, "coefficients") / classes, features);
    if (status) return status;
    dims[1] = score_count(node, classes, vectors);
    tort_infer_shape(infer, 0, type, 1, dims);
    tort_infer_shape(infer, 1, TORT_FLOAT, 2, dims);
    return TORT_OK;
}

/* ---- resolve ----------------------------------------------------------------------------------------------------- */

/* Number of scores of pairs in scratch: 0 without support vectors. */
static int64_t pair_scores(const tort_svm_classifier_params *params) {
    return params->svm.vectors ? pairs_of(params->classes) : 0;
}

static bool has_probabilities(const tort_svm_classifier_params *params) {
    return params->svm.vectors && params->prob_a.count;
}

/* Scratch of a row: scores of pairs, a vote or sum per class, and for probabilities two matrices and two vectors.
 * Cannot overflow, as there are at most MAX_CLASSES. */
static size_t row_scratch(const tort_svm_classifier_params *params) {
    const size_t classes = (size_t)params->classes;
    size_t numbers = (size_t)pair_scores(params) + classes;
    if (has_probabilities(params)) numbers += 2 * classes * classes + 2 * classes;
    return numbers * sizeof(double);
}

static tort_status classifier_resolve(tort_resolve *resolve) {
    tort_svm_classifier_params *params = resolve->params;
    tort_resolve_labels(resolve, "classlabels_ints", "classlabels_strings", &params->labels);
    params->classes = params->labels.list.count;
    params->coefficients = tort_resolve_list(resolve, "coefficients");
    params->per_class = tort_resolve_list(resolve, "vectors_per_class");
    params->rho = tort_resolve_list(resolve, "rho");
    params->prob_a = tort_resolve_list(resolve, "prob_a");
    params->prob_b = tort_resolve_list(resolve, "prob_b");
    params->labels_bytes = tort_labels_bytes(&params->labels);
    int64_t vectors = 0;
    size_t *bytes = &resolve->scratch_bytes;
    tort_status status = count_vectors(resolve->node, params->classes, &vectors, resolve->error);
    tort_resolve_svm(resolve, vectors, params->coefficients.count / params->classes, &params->svm);
    if (vectors == 0) params->svm.kernel = TORT_SVM_LINEAR;
    if (!status) status = tort_post_transform_attr(resolve, &params->transform);
    if (!status) status = tort_svm_scratch(&params->svm, resolve->error, &params->kernels_bytes);
    if (status) return status;
    if (tort_add_size(params->kernels_bytes, row_scratch(params), bytes) &&
        tort_add_size(*bytes, params->labels_bytes, bytes))
        return TORT_OK;
    return tort_fail(resolve->error, TORT_E_MODEL, "the size of %lld classes overflows", (long long)params->classes);
}

/* ---- probabilities ----------------------------------------------------------------------------------------------- */

/* Scratch of a row. */
typedef struct row_room {
    double *scores; /* of pairs */
    double *votes;
    double *r, *q; /* [classes, classes] */
    double *qp, *p;
} row_room;

static double sigmoid_probability(double score, double a, double b) {
    const double x = score * a + b, v = 1 / (1 + exp(-fabs(x)));
    return x < 0 ? v : 1 - v;
}

/* r[i][j]: probability of class i, given that it is i or j. */
static void fill_pairwise(const tort_svm_classifier_params *params, const row_room *room) {
    const float *a = tort_list_at(params, params->prob_a), *b = tort_list_at(params, params->prob_b);
    const int64_t n = params->classes;
    const double min = 1e-7;
    int64_t pair = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++, pair++) {
            const double p = sigmoid_probability(room->scores[pair], (double)a[pair], (double)b[pair]);
            room->r[i * n + j] = p < min ? min : p > 1 - min ? 1 - min : p;
            room->r[j * n + i] = 1 - room->r[i * n + j];
        }
}

/* Matrix Q of Wu, Lin and Weng, "Probability estimates for multi-class classification by pairwise coupling", algorithm
 * 2. */
static void fill_quadratic(int64_t n, const row_room *room) {
    const double *r = room->r;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++) {
            if (j == i) continue;
            sum += r[j * n + i] * r[j * n + i];
            room->q[i * n + j] = -r[j * n + i] * r[i * n + j];
        }
        room->q[i * n + i] = sum;
        room->p[i] = 1 / (double)n;
    }
}

/* Returns p Q p, and leaves Q p in room->qp. */
static double quadratic_form(int64_t n, const row_room *room) {
    double form = 0;
    for (int64_t i = 0; i < n; i++) {
        room->qp[i] = 0;
        for (int64_t j = 0; j < n; j++) room->qp[i] += room->q[i * n + j] * room->p[j];
        form += room->p[i] * room->qp[i];
    }
    return form;
}

/* True if the iteration has converged. NaN counts as converged, since fmax ignores it: no class is then more probable
 * than another. */
static bool near_enough(int64_t n, const row_room *room, double form) {
    double max = 0;
    for (int64_t i = 0; i < n; i++) max = fmax(max, fabs(room->qp[i] - form));
    return max < 0.005 / (double)n;
}

static void couple(int64_t n, const row_room *room) {
    fill_quadratic(n, room);
    for (int trip = 0; trip < 100; trip++) {
        double form = quadratic_form(n, room);
        if (near_enough(n, room, form)) return;
        for (int64_t i = 0; i < n; i++) {
            const double *q = room->q + i * n, step = (form - room->qp[i]) / q[i];
            room->p[i] += step;
            form = (form + step * (step * q[i] + 2 * room->qp[i])) / (1 + step) / (1 + step);
            for (int64_t j = 0; j < n; j++) {
                room->qp[j] = (room->qp[j] + step * q[j]) / (1 + step);
                room->p[j] /= 1 + step;
            }
        }
    }
}

/* ---- a row ------------------------------------------------------------------------------------------------------- */

/* Contribution of the vectors of class i to a pair's sum, with the coefficients of row `other`. */
static double part_of(const tort_svm_classifier_params *params, const double *kernels, int64_t start, int64_t i,
                      int64_t other) {
    const int64_t *per_class = tort_list_at(params, params->per_class);
    const float *coefficients = (const float *)tort_list_at(params, params->coefficients) + other * params->svm.vectors;
    double sum = 0;
    for (int64_t v = start; v < start + per_class[i]; v++) sum += (double)coefficients[v] * kernels[v];
    return sum;
}

/* Computes scores and votes of all pairs. A class has no row of coefficients against itself, so row j - 1 is against j
 * > i. */
static void vote(const tort_svm_classifier_params *params, const double *kernels, const row_room *room) {
    const int64_t *per_class = tort_list_at(params, params->per_class);
    const float *rho = tort_list_at(params, params->rho);
    int64_t pair = 0, start_i = 0;
    for (int64_t i = 0; i < params->classes; i++) room->votes[i] = 0;
    for (int64_t i = 0; i < params->classes; start_i += per_class[i++]) {
        int64_t start_j = start_i + per_class[i];
        for (int64_t j = i + 1; j < params->classes; start_j += per_class[j++], pair++) {
            const double sum = part_of(params, kernels, start_i, i, j - 1) + part_of(params, kernels, start_j, j, i) +
                               (double)rho[pair];
            room->scores[pair] = (double)(float)sum;
            room->votes[sum > 0 ? i : j]++;
        }
    }
}

static int64_t largest(const double *numbers, int64_t count) {
    int64_t at = 0;
    for (int64_t i = 1; i < count; i++)
        if (numbers[i] > numbers[at]) at = i;
    return at;
}

static void put_scores(const tort_svm_classifier_params *params, const row_room *room, float *scores) {
    const bool probable = has_probabilities(params);
    const int64_t count = probable ? params->classes : pairs_of(params->classes);
    if (probable) {
        fill_pairwise(params, room);
        couple(params->classes, room);
    }
    if (!probable && count == 0) scores[0] = scores[1] = 0; /* a single class */
    if (!probable && count == 1) tort_two_scores(params->transform, true, (float)room->scores[0], scores);
    if (!probable && count < 2) return;
    for (int64_t i = 0; i < count; i++) scores[i] = (float)(probable ? room->p[i] : room->scores[i]);
    tort_post_transform_floats(params->transform, scores, count);
}

typedef struct classifier_job {
    const tort_call *call;
    const void *labels;
    row_room room;
} classifier_job;

static void put_row(const classifier_job *job, int64_t row, const double *kernels) {
    const tort_svm_classifier_params *params = job->call->params;
    const tort_tensor *label = &job->call->outputs[0], *scores = &job->call->outputs[1];
    vote(params, kernels, &job->room);
    if (tort_present(label)) tort_put_label(label, row, job->labels, largest(job->room.votes, params->classes));
    if (tort_present(scores)) put_scores(params, &job->room, (float *)scores->data + row * scores->dims[1]);
}

/* ---- linear models ----------------------------------------------------------------------------------------------- */

/* Label of a linear model: the class of the largest score; of two classes without probabilities, the second also if the
 * largest score is above a threshold. */
static int64_t linear_choice(const tort_svm_classifier_params *params, const double *scores) {
    const float *coefficients = tort_list_at(params, params->coefficients);
    const int64_t which = largest(scores, params->classes);
    bool positive = true;
    if (params->classes != 2 || params->prob_a.count) return which;
    for (int64_t i = 0; i < params->coefficients.count; i++) positive = positive && coefficients[i] >= 0;
    return (positive ? scores[which] >= 0.5 : scores[which] > 0) ? 1 : which;
}

static void put_linear_row(const classifier_job *job, int64_t row) {
    const tort_svm_classifier_params *params = job->call->params;
    const tort_tensor *label = &job->call->outputs[0], *scores = &job->call->outputs[1];
    const float *coefficients = tort_list_at(params, params->coefficients), *rho = tort_list_at(params, params->rho);
    const int64_t features = params->svm.features, n = params->classes;
    double *sums = job->room.votes;
    for (int64_t c = 0; c < n; c++)
        sums[c] = (double)(float)(tort_row_dot(job->call, row * features, coefficients + c * features, features) +
                                  (double)rho[0]);
    if (tort_present(label)) tort_put_label(label, row, job->labels, linear_choice(params, sums));
    if (!tort_present(scores)) return;
    float *out = (float *)scores->data + row * n;
    for (int64_t c = 0; c < n; c++) out[c] = (float)sums[c];
    tort_post_transform_floats(params->transform, out, n);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static row_room row_room_at(const tort_svm_classifier_params *params, double *at) {
    const int64_t n = params->classes;
    row_room room = {.scores = at, .votes = at + pair_scores(params)};
    if (!has_probabilities(params)) return room;
    room.r = room.votes + n;
    room.q = room.r + n * n;
    room.qp = room.q + n * n;
    room.p = room.qp + n;
    return room;
}

static tort_status classifier_reference(const tort_call *call) {
    const tort_svm_classifier_params *params = call->params;
    const int64_t rows = tort_row_count(&call->inputs[0]), vectors = params->svm.vectors;
    char *scratch = call->scratch;
    double *kernels = call->scratch;
    classifier_job job = {.call = call,
                          .labels = tort_labels_open(call, &params->labels, scratch + params->kernels_bytes)};
    if (!job.labels) return tort_out_of_memory(call->error, params->labels_bytes);
    job.room = row_room_at(params, (double *)(void *)(scratch + params->kernels_bytes + params->labels_bytes));
    for (int64_t row = 0, done = 0; row < rows && vectors == 0; row++) {
        if (!tort_work_goes_on(call->watch, &done, params->classes * params->svm.features)) return TORT_OK;
        put_linear_row(&job, row);
    }
    for (int64_t first = 0; first < rows && vectors > 0 && tort_call_goes_on(call, 0); first += TORT_SVM_ROWS) {
        const int64_t count = rows - first < TORT_SVM_ROWS ? rows - first : TORT_SVM_ROWS;
        tort_svm_kernels(call, &params->svm, first, count, kernels);
        for (int64_t r = 0; r < count; r++) put_row(&job, first + r, kernels + r * vectors);
    }
    return TORT_OK;
}

const tort_op tort_ops_ml_svm_classifier[] = {
    {"ai.onnx.ml", "SVMClassifier", 1, 5, "X:T1", "Y:T2 Z:float", "T1=float|double|int64|int32 T2=string|int64",
     "classlabels_ints:ints classlabels_strings:strings coefficients:floats kernel_params:floats "
     "kernel_type:string=LINEAR post_transform:string=NONE prob_a:floats prob_b:floats rho:floats "
     "support_vectors:floats vectors_per_class:ints",
     .flags = TORT_OP_LISTS, .params_size = sizeof(tort_svm_classifier_params), classifier_infer, classifier_resolve,
     classifier_reference},
    {0},
};
