/* svm.c - see svm.h. */
#include "ops/ml/svm.h"

#include "ops/ml/lists.h"
#include "ops/ml/rows.h"
#include "runtime/core/base/memory.h"

#include <math.h>
#include <string.h>

static const char *const kernel_names[] = {
    [TORT_SVM_LINEAR] = "LINEAR", [TORT_SVM_POLY] = "POLY", [TORT_SVM_RBF] = "RBF", [TORT_SVM_SIGMOID] = "SIGMOID"};

static bool read_kernel(const tort_node_view *node, tort_svm_kernel *kernel) {
    const char *given = tort_attr_string(node, "kernel_type");
    for (int k = TORT_SVM_LINEAR; k <= TORT_SVM_SIGMOID; k++)
        if (!strcmp(given, kernel_names[k])) {
            *kernel = (tort_svm_kernel)k;
            return true;
        }
    return false;
}

tort_status tort_check_svm(const tort_infer *infer, int64_t vectors, int64_t weights, tort_dim features) {
    tort_svm_kernel kernel;
    const int64_t given = tort_attr_count(infer->node, "support_vectors"),
                  parameters = tort_attr_count(infer->node, "kernel_params");
    if (!read_kernel(infer->node, &kernel))
        return tort_fail(infer->error, TORT_E_MODEL, "kernel_type is \"%.40s\"; expected LINEAR, POLY, RBF or SIGMOID",
                         tort_attr_string(infer->node, "kernel_type"));
    if (parameters != 0 && parameters != 3)
        return tort_fail(infer->error, TORT_E_MODEL, "kernel_params has %lld numbers; expected gamma, coef0 and degree",
                         (long long)parameters);
    if (vectors == 0) return tort_check_features(infer->error, features, weights, "coefficients");
    if (given == 0 || given % vectors)
        return tort_fail(infer->error, TORT_E_MODEL,
                         "support_vectors has %lld numbers; expected as many as features for each of %lld vectors",
                         (long long)given, (long long)vectors);
    return tort_check_features(infer->error, features, given / vectors, "support_vectors");
}

void tort_resolve_svm(const tort_resolve *resolve, int64_t vectors, int64_t weights, tort_svm *svm) {
    int32_t count = 0;
    const float *parameters = tort_attr_floats(resolve->node, "kernel_params", &count);
    read_kernel(resolve->node, &svm->kernel);
    svm->vectors = vectors;
    svm->support_vectors = tort_resolve_list(resolve, "support_vectors");
    svm->features = vectors ? svm->support_vectors.count / vectors : weights;
    svm->gamma = count ? (double)parameters[0] : 0;
    svm->coef0 = count ? (double)parameters[1] : 0;
    svm->degree = count ? (double)parameters[2] : 0;
}

tort_status tort_svm_scratch(const tort_svm *svm, tort_error *error, size_t *bytes) {
    if (tort_mul_size((uint64_t)svm->vectors, TORT_SVM_ROWS * sizeof(double), bytes)) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "the size of %lld support vectors overflows", (long long)svm->vectors);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

typedef struct kernel_job {
    const tort_call *call;
    const tort_svm *svm;
    int64_t first; /* index of the first row */
    double *values;
} kernel_job;

static double kernel_value(const tort_call *call, const tort_svm *svm, int64_t row, const float *vector) {
    const int64_t first = row * svm->features;
    if (svm->kernel == TORT_SVM_RBF) return exp(-svm->gamma * tort_row_distance(call, first, vector, svm->features));
    const double product = tort_row_dot(call, first, vector, svm->features);
    switch (svm->kernel) {
    case TORT_SVM_POLY: return pow(svm->gamma * product + svm->coef0, svm->degree);
    case TORT_SVM_SIGMOID: return tanh(svm->gamma * product + svm->coef0);
    default: return product;
    }
}

/* Computes kernel values; item i is vector i % vectors of row i / vectors. */
static void fill_kernels(void *arg, int64_t begin, int64_t end) {
    const kernel_job *job = arg;
    const tort_svm *svm = job->svm;
    const float *vectors = tort_list_at(job->call->params, svm->support_vectors);
    for (int64_t i = begin; i < end; i++)
        job->values[i] =
            kernel_value(job->call, svm, job->first + i / svm->vectors, vectors + i % svm->vectors * svm->features);
}

void tort_svm_kernels(const tort_call *call, const tort_svm *svm, int64_t first, int64_t count, double *values) {
    kernel_job job = {call, svm, first, values};
    tort_parallel(call, count * svm->vectors, svm->features + 20, fill_kernels, &job);
}
