/* post_transform.c - NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO and PROBIT of one row of scores, see post_transform.h.
 *
 * The specification of ai.onnx.ml only names them; they compute what ONNX Runtime computes, including PROBIT's
 * approximation (three digits) and the scores that SOFTMAX_ZERO leaves out of its sum. Computed in double; each score
 * is rounded once. */
#include "ops/ml/post_transform.h"

#include <math.h>
#include <string.h>

static const char *const names[] = {
    [TORT_POST_NONE] = "NONE",         [TORT_POST_SOFTMAX] = "SOFTMAX",
    [TORT_POST_LOGISTIC] = "LOGISTIC", [TORT_POST_SOFTMAX_ZERO] = "SOFTMAX_ZERO",
    [TORT_POST_PROBIT] = "PROBIT",
};

tort_status tort_post_transform_attr(const tort_resolve *resolve, tort_post_transform *transform) {
    const char *given = tort_attr_string(resolve->node, "post_transform");
    for (int i = 0; i <= TORT_POST_PROBIT; i++)
        if (!strcmp(given, names[i])) {
            *transform = (tort_post_transform)i;
            return TORT_OK;
        }
    return tort_fail(resolve->error, TORT_E_MODEL,
                     "post_transform is \"%.40s\"; expected NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT", given);
}

static double logistic(double x) {
    const double v = 1 / (1 + exp(-fabs(x)));
    return x < 0 ? 1 - v : v;
}

/* Winitzki's approximation of the inverse error function, at 2 x - 1, times sqrt(2). */
static double probit(double x) {
    const double y = 2 * x - 1, factor = 0.147, pi = 3.14159265358979323846;
    const double logarithm = log((1 - y) * (1 + y));
    const double half = 2 / (pi * factor) + logarithm / 2;
    return copysign(sqrt(2.0), y) * sqrt(sqrt(half * half - logarithm / factor) - half);
}

static bool counts(double score) {
    return score > 1e-7 || score < -1e-7;
}

static double transformed(tort_post_transform transform, double score, double max) {
    switch (transform) {
    case TORT_POST_NONE: break;
    case TORT_POST_LOGISTIC: return logistic(score);
    case TORT_POST_PROBIT: return probit(score);
    case TORT_POST_SOFTMAX: return exp(score - max);
    case TORT_POST_SOFTMAX_ZERO: return counts(score) ? exp(score - max) : score * exp(-max);
    }
    return score;
}

/* Maximum and sum are over the whole row, and only needed by transforms that relate scores. */
#define TRANSFORM(NUMBER, NAME)                                                                                        \
    void tort_post_transform_##NAME(tort_post_transform transform, NUMBER *scores, int64_t count) {                    \
        const bool shared = transform == TORT_POST_SOFTMAX || transform == TORT_POST_SOFTMAX_ZERO;                     \
        const bool all = transform == TORT_POST_SOFTMAX;                                                               \
        double max = count > 0 ? (double)scores[0] : 0, sum = 0;                                                       \
        if (transform == TORT_POST_NONE) return;                                                                       \
        for (int64_t i = 1; i < count && shared; i++)                                                                  \
            if ((double)scores[i] > max) max = (double)scores[i];                                                      \
        for (int64_t i = 0; i < count && shared; i++)                                                                  \
            if (all || counts((double)scores[i])) sum += exp((double)scores[i] - max);                                 \
        for (int64_t i = 0; i < count; i++)                                                                            \
            scores[i] = (NUMBER)(transformed(transform, (double)scores[i], max) / (shared ? sum : 1));                 \
    }
TRANSFORM(float, floats)
TRANSFORM(double, doubles)
