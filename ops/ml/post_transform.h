/* post_transform.h - the last step of operators of ai.onnx.ml on a row of scores: attribute post_transform. */
#ifndef TORT_OPS_ML_POST_TRANSFORM_H
#define TORT_OPS_ML_POST_TRANSFORM_H

#include "runtime/include/op.h"

typedef enum tort_post_transform { /* the numbers of TreeEnsemble-5 */
                                   TORT_POST_NONE = 0,
                                   TORT_POST_SOFTMAX = 1,
                                   TORT_POST_LOGISTIC = 2,
                                   TORT_POST_SOFTMAX_ZERO = 3,
                                   TORT_POST_PROBIT = 4
} tort_post_transform;

/* Reads the attribute "post_transform". TORT_E_MODEL if it is not one of the five. */
tort_status tort_post_transform_attr(const tort_resolve *resolve, tort_post_transform *transform);

/* Transforms the `count` scores of one row in place. Single scores: LOGISTIC, 1 / (1 + exp(-x)), and PROBIT, the
 * quantile of the normal distribution (NaN outside of 0..1). Whole rows: SOFTMAX and SOFTMAX_ZERO, in which scores
 * within 1e-7 of 0 are left out of the sum and are not exponentiated, but scaled as the others are. */
void tort_post_transform_floats(tort_post_transform transform, float *scores, int64_t count);
void tort_post_transform_doubles(tort_post_transform transform, double *scores, int64_t count);

#endif
