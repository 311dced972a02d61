/* two_scores.c - see two_scores.h. */
#include "ops/ml/two_scores.h"

void tort_two_scores(tort_post_transform transform, bool negated, float score, float scores[2]) {
    scores[0] = -score;
    scores[1] = score;
    if (transform == TORT_POST_NONE && negated) return;
    if (transform == TORT_POST_PROBIT || transform == TORT_POST_LOGISTIC)
        tort_post_transform_floats(transform, scores, 2);
    if (transform != TORT_POST_LOGISTIC) scores[0] = 1 - scores[1];
}
