/* two_scores.h - the two scores of a row of a classifier that computes only one, as in ONNX Runtime. */
#ifndef TORT_OPS_ML_TWO_SCORES_H
#define TORT_OPS_ML_TWO_SCORES_H

#include "ops/ml/post_transform.h"

/* scores[1] is the score of the second class, transformed by LOGISTIC and PROBIT; SOFTMAX and SOFTMAX_ZERO have no
 * effect. scores[0] is 1 - scores[1]; or -score if `negated` and the transform is NONE. */
void tort_two_scores(tort_post_transform transform, bool negated, float score, float scores[2]);

#endif
