/* post_transform.h - what operators of ai.onnx.ml do to the scores of a row at last: attribute post_transform. */
#ifndef TORT_OPS_ML_POST_TRANSFORM_H
#define TORT_OPS_ML_POST_TRANSFORM_H

#include "runtime/op.h"

typedef enum tort_post_transform { /* the numbers of TreeEnsemble-5 */
                                   TORT_POST_NONE = 0,
                                   TORT_POST_SOFTMAX = 1,
                                   TORT_POST_LOGISTIC = 2,
                                   TORT_POST_SOFTMAX_ZERO = 3,
                                   TORT_POST_PROBIT = 4
} tort_post_transform;

/* The attribute "post_transform", a string. TORT_E_MODEL: it is none of the five. */
tort_status tort_post_transform_attr(const tort_resolve *resolve, tort_post_transform *transform);

/* Transforms the `count` scores of one row in place. Of each score are LOGISTIC, 1 / (1 + exp(-x)), and PROBIT, the
 * quantile of the normal distribution (NaN outside of 0..1); of all of them SOFTMAX and SOFTMAX_ZERO, in which scores
 * within 1e-7 of 0 do not count for the sum and stay where they were, scaled as the others are. */
void tort_post_transform_floats(tort_post_transform transform, float *scores, int64_t count);
void tort_post_transform_doubles(tort_post_transform transform, double *scores, int64_t count);

#endif
