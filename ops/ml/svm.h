/* svm.h - kernels of support vector machines: kernel functions of rows and support vectors, for SVMClassifier and
 * SVMRegressor. */
#ifndef TORT_OPS_ML_SVM_H
#define TORT_OPS_ML_SVM_H

#include "ops/ml/labels.h"
#include "ops/ml/post_transform.h"

typedef enum tort_svm_kernel { TORT_SVM_LINEAR, TORT_SVM_POLY, TORT_SVM_RBF, TORT_SVM_SIGMOID } tort_svm_kernel;

/* First member of the params of both operators. Without vectors, the coefficients are weights of features: a linear
 * model. */
typedef struct tort_svm {
    int64_t vectors, features;
    tort_list support_vectors; /* [vectors, features] */
    tort_svm_kernel kernel;
    double gamma, coef0, degree;
} tort_svm;

typedef struct tort_svm_classifier_params {
    tort_svm svm;
    int64_t classes;
    tort_list coefficients; /* [classes - 1, vectors]; of linear models [classes, features] */
    tort_list per_class;    /* number of support vectors per class, which are stored class by class */
    tort_list rho;          /* one per pair; of linear models one for all */
    tort_list prob_a, prob_b;
    tort_labels labels;
    tort_post_transform transform;
    size_t kernels_bytes, labels_bytes; /* of scratch */
} tort_svm_classifier_params;

typedef struct tort_svm_regressor_params {
    tort_svm svm;
    tort_list coefficients; /* of the support vectors or, without any, of the features */
    double rho;
    bool one_class;
    tort_post_transform transform;
} tort_svm_regressor_params;

enum { TORT_SVM_ROWS = 64 }; /* rows per batch: their kernel values are in scratch at once */

/* Checks a node's kernel attributes for so many support vectors; `weights` is the number of features of a linear model.
 */
tort_status tort_check_svm(const tort_infer *infer, int64_t vectors, int64_t weights, tort_dim features);
/* Fills *svm from a node that has been checked. */
void tort_resolve_svm(const tort_resolve *resolve, int64_t vectors, int64_t weights, tort_svm *svm);
/* Bytes of scratch for tort_svm_kernels (doubles). TORT_E_MODEL if they overflow. */
tort_status tort_svm_scratch(const tort_svm *svm, tort_error *error, size_t *bytes);
/* Computes values[r][v] for `count` rows of X, at most TORT_SVM_ROWS, from `first` on. */
void tort_svm_kernels(const tort_call *call, const tort_svm *svm, int64_t first, int64_t count, double *values);

#endif
