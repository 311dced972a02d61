/* svm.h - kernels of support vector machines: kernel functions of rows and support vectors, for SVMClassifier and
 * SVMRegressor. */
#ifndef TORT_OPS_ML_SVM_H
#define TORT_OPS_ML_SVM_H

#include "runtime/include/op.h"

typedef enum tort_svm_kernel { TORT_SVM_LINEAR, TORT_SVM_POLY, TORT_SVM_RBF, TORT_SVM_SIGMOID } tort_svm_kernel;

/* First member of the params of both operators. Without vectors, the coefficients are weights of features: a linear
 * model. */
typedef struct tort_svm {
    int64_t vectors, features;
    tort_list support_vectors; /* [vectors, features] */
    tort_svm_kernel kernel;
    double gamma, coef0, degree;
} tort_svm;

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
