/* rows.c - operators of ai.onnx.ml on rows of features, but trees: linear models, support vector machines, and what
 * prepares features and labels.
 *
 * Their lists are attributes, which prepare copies into packed weights, an array each. Sums are of floats. */
#include "kernels/firmware/code/binarizer.h"
#include "kernels/firmware/code/encoder.h"
#include "kernels/firmware/code/gather.h"
#include "kernels/firmware/code/imputer.h"
#include "kernels/firmware/code/linear.h"
#include "kernels/firmware/code/normalizer.h"
#include "kernels/firmware/code/scaler.h"
#include "kernels/firmware/code/svm_classifier.h"
#include "kernels/firmware/code/svm_regressor.h"
#include "kernels/firmware/firmware.h"
#include "ops/extent.h"
#include "ops/index.h"
#include "ops/ml/features.h"
#include "ops/ml/linear.h"
#include "ops/ml/mapping.h"
#include "ops/ml/rows.h"
#include "ops/ml/svm.h"
#include "ops/numeric.h"

#include <math.h>
#include <string.h>

typedef void transforms(float *, int32_t);
typedef float one(float);

/* Values of tort_kernel.variant. */
enum { NO_LISTS, SCALER, IMPUTER, REGRESSOR, CLASSIFIER, SVM_REGRESSOR, SVM_CLASSIFIER, ENCODER };

/* ---- lists ------------------------------------------------------------------------------------------------------- */

/* Lists of a node's params that are packed; all are read by run under the same number. */
enum { LISTS = 8 };
enum { OFFSET, SCALE };
enum { IMPUTED };
enum { COEFFICIENTS, INTERCEPTS, LABELS };
enum { VECTORS, WEIGHTS, RHO, PROB_A, PROB_B, PER_CLASS, SVM_LABELS };
enum { KEYS, VALUES, DEFAULT };

typedef struct packed_list {
    tort_type type;
    int64_t count;
    const void *from;
} packed_list;

static packed_list list_of(const void *params, tort_type type, tort_list list) {
    return (packed_list){type, list.count, tort_list_at(params, list)};
}

/* The labels that a classifier chooses from; without any, 0 and 1. */
static packed_list labels_of(const void *params, const tort_labels *labels) {
    static const int64_t no_and_yes[] = {0, 1};
    if (labels->type == TORT_INT64 && labels->list.count) return list_of(params, TORT_INT64, labels->list);
    return (packed_list){TORT_INT64, 2, no_and_yes};
}

static void list_svm(const void *params, const tort_svm *svm, tort_list weights, packed_list *lists) {
    lists[VECTORS] = list_of(params, TORT_FLOAT, svm->vectors ? svm->support_vectors : weights);
    if (svm->vectors) lists[WEIGHTS] = list_of(params, TORT_FLOAT, weights);
}

static void lists_of(int32_t variant, const void *params, packed_list *lists) {
    const tort_scaler_params *scaler = params;
    const tort_linear_model_params *linear = params;
    const tort_svm_regressor_params *regressor = params;
    const tort_svm_classifier_params *svm = params;
    const tort_mapping_params *mapping = params;
    memset(lists, 0, LISTS * sizeof *lists);
    switch (variant) {
    case SCALER:
        lists[OFFSET] = list_of(params, TORT_FLOAT, scaler->offset);
        lists[SCALE] = list_of(params, TORT_FLOAT, scaler->scale);
        break;
    case IMPUTER: lists[IMPUTED] = list_of(params, TORT_FLOAT, ((const tort_imputer_params *)params)->imputed); break;
    case CLASSIFIER: lists[LABELS] = labels_of(params, &linear->labels); /* fall through */
    case REGRESSOR:
        lists[COEFFICIENTS] = list_of(params, TORT_FLOAT, linear->coefficients);
        lists[INTERCEPTS] = list_of(params, TORT_FLOAT, linear->intercepts);
        break;
    case SVM_REGRESSOR: list_svm(params, &regressor->svm, regressor->coefficients, lists); break;
    case SVM_CLASSIFIER:
        list_svm(params, &svm->svm, svm->coefficients, lists);
        lists[RHO] = list_of(params, TORT_FLOAT, svm->rho);
        lists[PROB_A] = list_of(params, TORT_FLOAT, svm->prob_a);
        lists[PROB_B] = list_of(params, TORT_FLOAT, svm->prob_b);
        lists[PER_CLASS] = list_of(params, TORT_INT64, svm->per_class);
        lists[SVM_LABELS] = labels_of(params, &svm->labels);
        break;
    case ENCODER:
        lists[KEYS] = list_of(params, mapping->key_type, mapping->keys);
        lists[VALUES] = list_of(params, mapping->value_type, mapping->values);
        lists[DEFAULT] = (packed_list){mapping->value_type, 1, mapping->number};
        break;
    default: break;
    }
}

static size_t bytes_of(const packed_list *list) {
    return list->count ? (size_t)list->count * (size_t)tort_type_bits(list->type) / 8 : 0;
}

/* Bytes ahead of list i; of an encoder the default stands right behind the values, as one more of them. */
static size_t place_of(int32_t variant, const packed_list *lists, int32_t i) {
    size_t at = 0;
    for (int32_t k = 0; k < i; k++) {
        const bool joined = variant == ENCODER && k == VALUES;
        at += joined ? bytes_of(&lists[k]) : (bytes_of(&lists[k]) + 15) / 16 * 16;
    }
    return at;
}

static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    packed_list lists[LISTS];
    (void)target, (void)error;
    lists_of(node->kernel->variant, node->params, lists);
    *consumed = 0;
    *bytes = place_of(node->kernel->variant, lists, LISTS);
    return TORT_OK;
}

static tort_status prepare(tort_prepare *prepare) {
    const int32_t variant = prepare->node->kernel->variant;
    packed_list lists[LISTS];
    lists_of(variant, prepare->node->params, lists);
    for (int32_t i = 0; i < LISTS; i++)
        if (lists[i].count)
            memcpy((char *)prepare->packed + place_of(variant, lists, i), lists[i].from, bytes_of(&lists[i]));
    return TORT_OK;
}

/* Places of the packed lists; NULL: an empty one. Those in `asked`, bit by bit, are printed. */
static void open_lists(const tort_call *call, uint32_t asked, const void **at) {
    const int32_t variant = call->kernel->variant;
    packed_list lists[LISTS];
    int32_t arrays = 0;
    lists_of(variant, call->params, lists);
    for (int32_t i = 0; i < LISTS; i++) {
        const size_t place = place_of(variant, lists, i);
        at[i] = lists[i].count ? (const char *)call->packed + place : NULL;
        if (lists[i].count && asked >> i & 1)
            tort_firmware_array(call, arrays++, lists[i].type, place,
                                (size_t)lists[i].count + (variant == ENCODER && i == VALUES));
    }
}

/* ---- claims ------------------------------------------------------------------------------------------------------ */

tort_verdict tort_firmware_claim_features(const tort_target *target, const tort_node_view *node) {
    const tort_type type = node->inputs[0].type;
    (void)target;
    if (type == TORT_FLOAT || type == TORT_INT32 || type == TORT_INT64) return tort_yes();
    return tort_no(TORT_NO_TYPE, "export the model in float32", "X is %s, firmware computes in float",
                   tort_type_name(type));
}

tort_verdict tort_firmware_claim_scores(const tort_node_view *node, bool words, tort_post_transform transform) {
    if (words && tort_has_output(node, 0))
        return tort_no(TORT_NO_TYPE,
                       "train with whole numbers as classes, or drop the labels, and name the node's output 0 \"\"",
                       "labels are strings");
    if (transform != TORT_POST_PROBIT) return tort_yes();
    return tort_no(TORT_NO_ATTR, "export it with post_transform NONE", "post_transform is PROBIT");
}

static tort_verdict claim_model(const tort_target *target, const tort_node_view *node, tort_post_transform transform,
                                const tort_labels *labels) {
    const tort_verdict verdict = tort_firmware_claim_scores(node, labels && labels->type == TORT_STRING, transform);
    return verdict.code == TORT_YES ? tort_firmware_claim_features(target, node) : verdict;
}

static tort_verdict claim_linear(const tort_target *target, const tort_node_view *node) {
    const tort_linear_model_params *p = node->params;
    return claim_model(target, node, p->transform, node->kernel->variant == CLASSIFIER ? &p->labels : NULL);
}

enum { MAX_DEGREE = 32, MAX_VECTORS = 1 << 20, MAX_CLASSES = 1 << 10 };

static tort_verdict claim_kernel(const tort_svm *svm) {
    const bool whole = svm->degree >= 0 && svm->degree <= MAX_DEGREE && svm->degree == floor(svm->degree);
    if (svm->vectors > MAX_VECTORS) return tort_no(TORT_NO_SHAPE, "", "has more than %d vectors", MAX_VECTORS);
    if (svm->kernel != TORT_SVM_POLY || whole) return tort_yes();
    return tort_no(TORT_NO_ATTR, "train with a whole degree", "the degree is %g, firmware takes 0, 1 ... %d",
                   svm->degree, MAX_DEGREE);
}

static tort_verdict claim_svm_regressor(const tort_target *target, const tort_node_view *node) {
    const tort_svm_regressor_params *p = node->params;
    const tort_verdict verdict = claim_kernel(&p->svm);
    return verdict.code == TORT_YES ? claim_model(target, node, p->transform, NULL) : verdict;
}

static tort_verdict claim_svm_classifier(const tort_target *target, const tort_node_view *node) {
    const tort_svm_classifier_params *p = node->params;
    const tort_verdict verdict = claim_kernel(&p->svm);
    if (verdict.code != TORT_YES) return verdict;
    if (!p->svm.vectors) return tort_no(TORT_NO_ATTR, "export it as LinearClassifier", "has no support vectors");
    if (p->classes < 2 || p->classes > MAX_CLASSES)
        return tort_no(TORT_NO_SHAPE, "", "is for 2 to %d classes", MAX_CLASSES);
    return claim_model(target, node, p->transform, &p->labels);
}

static tort_verdict claim_encoder(const tort_target *target, const tort_node_view *node) {
    const tort_mapping_params *p = node->params;
    (void)target;
    if (p->key_type == TORT_STRING || p->value_type == TORT_STRING)
        return tort_no(TORT_NO_TYPE, "use whole numbers in place of the words", "%s are strings",
                       p->key_type == TORT_STRING ? "keys" : "values");
    if (p->key_type != TORT_DOUBLE) return tort_yes();
    return tort_no(TORT_NO_TYPE, "export the model in float32", "keys are double");
}

static tort_verdict claim_extractor(const tort_target *target, const tort_node_view *node) {
    if (node->inputs[0].type == TORT_STRING) return tort_no(TORT_NO_TYPE, "", "X has strings");
    return tort_firmware_claim_bytes(target, node);
}

/* ---- features ---------------------------------------------------------------------------------------------------- */

static tort_status run_scaler(const tort_call *call) {
    const tort_scaler_params *p = call->params;
    const tort_tensor *x = &call->inputs[0];
    const void *lists[LISTS];
    const tinyort_scaler_shape shape = {(int32_t)tort_count(x), tort_firmware_number_type(x->type),
                                        (int32_t)p->offset.count, (int32_t)p->scale.count};
    open_lists(call, 1u << OFFSET | 1u << SCALE, lists);
    return TORT_FIRMWARE_CALL(call, tinyort_scaler, &shape, x->data, lists[OFFSET], lists[SCALE],
                              call->outputs[0].data);
}

static tort_status run_imputer(const tort_call *call) {
    const tort_imputer_params *p = call->params;
    const void *lists[LISTS];
    const tinyort_imputer_shape shape = {(int32_t)tort_count(&call->inputs[0]), (int32_t)p->imputed.count};
    open_lists(call, 1u << IMPUTED, lists);
    return TORT_FIRMWARE_CALL_WITH(call, tinyort_imputer, &shape,
                                   (call->inputs[0].data, lists[IMPUTED], call->outputs[0].data),
                                   (float)p->replaced_float);
}

static tort_status run_binarizer(const tort_call *call) {
    const tort_binarizer_params *p = call->params;
    const tinyort_binarizer_shape shape = {(int32_t)tort_count(&call->inputs[0])};
    return TORT_FIRMWARE_CALL_WITH(call, tinyort_binarizer, &shape, (call->inputs[0].data, call->outputs[0].data),
                                   (float)p->threshold);
}

static tort_status run_normalizer(const tort_call *call) {
    const tort_normalizer_params *p = call->params;
    const tort_tensor *x = &call->inputs[0];
    const tinyort_normalizer_shape shape = {(int32_t)tort_row_count(x), (int32_t)tort_row_features(x),
                                            tort_firmware_number_type(x->type), (int32_t)p->norm};
    return TORT_FIRMWARE_CALL(call, tinyort_normalizer, &shape, x->data, call->outputs[0].data);
}

static tort_status run_extractor(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0], *indices = &call->inputs[1];
    const tinyort_gather_shape shape = {.outer = (int32_t)tort_extent(x->dims, 0, x->rank - 1),
                                        .size = (int32_t)tort_row_features(x),
                                        .slice = tort_type_bits(x->type) / 8,
                                        .count = (int32_t)tort_count(indices)};
    const tort_status status =
        tort_firmware_emit_of(call) ? TORT_OK : tort_check_indices(call, indices, 0, 1, shape.size);
    if (status) return status;
    return TORT_FIRMWARE_CALL(call, tinyort_gather, &shape, x->data, indices->data, call->outputs[0].data);
}

static tort_status run_encoder(const tort_call *call) {
    const tort_mapping_params *p = call->params;
    const void *lists[LISTS];
    const tinyort_encoder_shape shape = {(int32_t)tort_count(&call->inputs[0]),
                                         tort_firmware_number_type(call->inputs[0].type), (int32_t)p->keys.count,
                                         tort_type_bits(p->value_type) / 8, !p->first};
    open_lists(call, 1u << KEYS | 1u << VALUES, lists);
    return TORT_FIRMWARE_CALL(call, tinyort_encoder, &shape, call->inputs[0].data, lists[KEYS], lists[VALUES],
                              call->outputs[0].data);
}

/* ---- linear models ----------------------------------------------------------------------------------------------- */

static tort_status size_linear(const tort_target *target, const tort_node_view *node, size_t *scratch,
                               tort_error *error) {
    const tort_linear_model_params *p = node->params;
    (void)target, (void)error;
    *scratch = ((size_t)p->targets + 1) * sizeof(float);
    return TORT_OK;
}

static transforms *transform_of(tort_post_transform transform) {
    const char *name = tort_firmware_post_transform(transform);
    return name ? (transforms *)tort_firmware_function_of(name) : NULL;
}

static tort_status run_linear(const tort_call *call) {
    const tort_linear_model_params *p = call->params;
    const tort_tensor *x = &call->inputs[0];
    const bool classifies = call->kernel->variant == CLASSIFIER;
    const void *lists[LISTS];
    const bool two = p->targets == 1 && p->labels.list.count == 2;
    const tinyort_linear_shape shape = {(int32_t)tort_row_count(x), (int32_t)p->features,
                                        tort_firmware_number_type(x->type), (int32_t)p->targets,
                                        !classifies      ? 0
                                        : p->targets > 1 ? 1
                                        : two            ? 2
                                                         : 3};
    const bool none = shape.choice == 2 && p->transform != TORT_POST_LOGISTIC;
    int64_t *y = classifies ? tort_firmware_output(call, 0) : NULL;
    open_lists(call, 1u << COEFFICIENTS | 1u << INTERCEPTS | (y ? 1u << LABELS : 0), lists);
    return TORT_FIRMWARE_CALL(call, tinyort_linear, &shape, x->data, lists[COEFFICIENTS], lists[INTERCEPTS],
                              y ? lists[LABELS] : NULL, none ? NULL : transform_of(p->transform), call->scratch, y,
                              tort_firmware_output(call, classifies));
}

/* ---- support vector machines ------------------------------------------------------------------------------------- */

static tinyort_svm_shape svm_of(const tort_call *call, const tort_svm *svm) {
    const tort_tensor *x = &call->inputs[0];
    const bool poly = svm->vectors && svm->kernel == TORT_SVM_POLY;
    return (tinyort_svm_shape){.rows = (int32_t)tort_row_count(x),
                               .columns = (int32_t)svm->features,
                               .type = tort_firmware_number_type(x->type),
                               .vectors = svm->vectors ? (int32_t)svm->vectors : 1,
                               .distance = svm->vectors && svm->kernel == TORT_SVM_RBF,
                               .degree = poly ? (int32_t)svm->degree : 1};
}

/* The function of the product or the distance, and its numbers. */
static one *kernel_of(const tort_svm *svm, float *gamma, float *coef0) {
    const bool linear = !svm->vectors || svm->kernel == TORT_SVM_LINEAR;
    *gamma = linear ? 1.0f : (float)svm->gamma;
    *coef0 = linear || svm->kernel == TORT_SVM_RBF ? 0.0f : (float)svm->coef0;
    if (linear || svm->kernel == TORT_SVM_POLY) return NULL;
    return (one *)tort_firmware_function_of(svm->kernel == TORT_SVM_RBF ? "tinyort_exp" : "tinyort_tanh");
}

static tort_status run_svm_regressor(const tort_call *call) {
    const tort_svm_regressor_params *p = call->params;
    const void *lists[LISTS];
    float gamma, coef0;
    one *f = kernel_of(&p->svm, &gamma, &coef0);
    const tinyort_svm_regressor_shape shape = {svm_of(call, &p->svm), p->one_class};
    open_lists(call, 1u << VECTORS | 1u << WEIGHTS, lists);
    return TORT_FIRMWARE_CALL_WITH(
        call, tinyort_svm_regressor, &shape,
        (call->inputs[0].data, lists[VECTORS], lists[WEIGHTS], f, transform_of(p->transform), call->outputs[0].data),
        gamma, coef0, (float)p->rho);
}

static tort_status size_svm(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_svm_classifier_params *p = node->params;
    const size_t n = (size_t)p->classes, pairs = n * (n - 1) / 2;
    (void)target, (void)error;
    *scratch = ((size_t)p->svm.vectors + n + pairs + 2) * sizeof(float);
    if (p->prob_a.count) *scratch += (2 * n * n + 2 * n) * sizeof(float);
    return TORT_OK;
}

static tort_status run_svm_classifier(const tort_call *call) {
    const tort_svm_classifier_params *p = call->params;
    const void *lists[LISTS];
    float gamma, coef0;
    one *f = kernel_of(&p->svm, &gamma, &coef0);
    const bool probable = p->prob_a.count, two = !probable && p->classes == 2;
    const bool none = two && p->transform != TORT_POST_LOGISTIC;
    const tinyort_svm_classifier_shape shape = {svm_of(call, &p->svm), (int32_t)p->classes, probable,
                                                none && p->transform != TORT_POST_NONE};
    int64_t *y = tort_firmware_output(call, 0);
    open_lists(call, (1u << SVM_LABELS) - 1 + (y ? 1u << SVM_LABELS : 0), lists);
    return TORT_FIRMWARE_CALL_WITH(call, tinyort_svm_classifier, &shape,
                                   (call->inputs[0].data, lists[VECTORS], lists[WEIGHTS], lists[RHO], lists[PROB_A],
                                    lists[PROB_B], lists[PER_CLASS], y ? lists[SVM_LABELS] : NULL, f,
                                    none ? NULL : transform_of(p->transform), call->scratch, y,
                                    tort_firmware_output(call, 1)),
                                   gamma, coef0);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define ROW(op_, name_, claim_, size_, run_, lists_)                                                                   \
    {                                                                                                                  \
        "ai.onnx.ml", op_, name_, .claim = claim_, .size = size_, .prepare = prepare, .pack = {.size = pack_size},     \
                                  .run = run_, .emit = tort_firmware_emit, .variant = lists_                           \
    }

const tort_kernel tort_firmware_feature_rows[] = {
    ROW("Scaler", "scaler", tort_firmware_claim_features, NULL, run_scaler, SCALER),
    ROW("Imputer", "imputer", tort_firmware_claim_float, NULL, run_imputer, IMPUTER),
    ROW("LinearRegressor", "linear", claim_linear, size_linear, run_linear, REGRESSOR),
    ROW("LinearClassifier", "linear", claim_linear, size_linear, run_linear, CLASSIFIER),
    ROW("SVMRegressor", "svm_regressor", claim_svm_regressor, NULL, run_svm_regressor, SVM_REGRESSOR),
    ROW("SVMClassifier", "svm_classifier", claim_svm_classifier, size_svm, run_svm_classifier, SVM_CLASSIFIER),
    ROW("LabelEncoder", "encoder", claim_encoder, NULL, run_encoder, ENCODER),
    {"ai.onnx.ml", "Normalizer", "normalizer", .claim = tort_firmware_claim_features, .run = run_normalizer,
     .emit = tort_firmware_emit},
    {"ai.onnx.ml", "Binarizer", "binarizer", .claim = tort_firmware_claim_float, .run = run_binarizer,
     .emit = tort_firmware_emit},
    {"ai.onnx.ml", "ArrayFeatureExtractor", "gather", .claim = claim_extractor, .run = run_extractor,
     .emit = tort_firmware_emit},
    {.op = NULL},
};
