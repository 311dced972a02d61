/* two_scores.h - both scores of a row of a classifier that computes one, as ONNX Runtime gives them. */
#ifndef TORT_OPS_ML_TWO_SCORES_H
#define TORT_OPS_ML_TWO_SCORES_H

#include "ops/ml/post_transform.h"

/* scores[1] is the score of the second class: of LOGISTIC and PROBIT the transformed one. scores[0] is 1 - scores[1];
 * its negative if `negated` and nothing is transformed. SOFTMAX and SOFTMAX_ZERO change nothing here. */
void tort_two_scores(tort_post_transform transform, bool negated, float score, float scores[2]);

#endif
