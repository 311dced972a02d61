/* svm_classifier.h - support vectors decide between the classes of each pair; the class with most votes is the label.
 *
 * Vectors stand class by class, per_class[i] of class i, whose coefficients against class j are in line j, or j - 1
 * where j > i. probable: scores are probabilities of classes, else those of pairs; of two classes, the first has the
 * score with the other sign, or 1 less the second with `one`. */
#ifndef TORT_FIRMWARE_CODE_SVM_CLASSIFIER_H
#define TORT_FIRMWARE_CODE_SVM_CLASSIFIER_H

#include "kernels/firmware/code/couple.h"
#include "kernels/firmware/code/exp_below.h"
#include "kernels/firmware/code/svm_value.h"

typedef struct tinyort_svm_classifier_shape {
    tinyort_svm_shape svm;
    int32_t classes, probable, one;
} tinyort_svm_classifier_shape;

/* A sum with its rounding error beside it: classes are chosen by its sign. */
static float tinyort_svm_part(const float *coefficients, const float *values, int32_t first, int32_t count) {
    float sum = 0.0f, error = 0.0f;
    for (int32_t v = first; v < first + count; v++) {
        const float product = coefficients[v] * values[v], part = product - error, next = sum + part;
        error = (next - sum) - part;
        sum = next;
    }
    return sum;
}

/* Scores of all pairs, and votes of classes. */
static void tinyort_svm_vote(const tinyort_svm_classifier_shape *s, const float *coefficients, const float *rho,
                             const int64_t *per_class, const float *values, float *votes, float *scores) {
    int32_t pair = 0, first = 0;
    for (int32_t i = 0; i < s->classes; i++) {
        votes[i] = 0.0f;
    }
    for (int32_t i = 0; i < s->classes; i++) {
        const int32_t own = (int32_t)per_class[i];
        int32_t other = first + own;
        for (int32_t j = i + 1; j < s->classes; j++) {
            const int32_t count = (int32_t)per_class[j];
            const float *line = coefficients + (j - 1) * s->svm.vectors, *with = coefficients + i * s->svm.vectors;
            scores[pair] = tinyort_svm_part(line, values, first, own) + tinyort_svm_part(with, values, other, count);
            scores[pair] += rho[pair];
            votes[scores[pair] > 0.0f ? i : j] += 1.0f;
            other += count;
            pair++;
        }
        first += own;
    }
}

/* r: of each pair, the probability of a class where it is one of the two. */
static void tinyort_svm_pairs(int32_t n, const float *a, const float *b, const float *scores, float *r) {
    int32_t pair = 0;
    for (int32_t i = 0; i < n; i++) {
        for (int32_t j = i + 1; j < n; j++) {
            const float scaled = scores[pair] * a[pair];
            const float x = scaled + b[pair], value = 1.0f / (1.0f + tinyort_exp_below(-fabsf(x)));
            const float p = x < 0.0f ? value : 1.0f - value, low = 1e-7f;
            r[i * n + j] = p < low ? low : p > 1.0f - low ? 1.0f - low : p;
            r[j * n + i] = 1.0f - r[i * n + j];
            pair++;
        }
    }
}

/* scratch: floats for the values of all vectors, votes, scores of pairs (2 at least), and if `probable` two squares and
 * two lines of classes. */
static void tinyort_svm_classifier(const tinyort_svm_classifier_shape *s, const void *x, const float *vectors,
                                   const float *coefficients, const float *rho, const float *a, const float *b,
                                   const int64_t *per_class, const int64_t *labels, float (*f)(float),
                                   void (*transform)(float *, int32_t), void *scratch, int64_t *y, float *z,
                                   float gamma, float coef0) {
    const int32_t n = s->classes, pairs = n * (n - 1) / 2, width = s->probable ? n : pairs == 1 ? 2 : pairs;
    float *values = (float *)scratch, *votes = values + s->svm.vectors, *scores = votes + n;
    for (int32_t row = 0; row < s->svm.rows; row++) {
        int32_t best = 0;
        for (int32_t v = 0; v < s->svm.vectors; v++) {
            values[v] = tinyort_svm_value(&s->svm, x, row, vectors + v * s->svm.columns, f, gamma, coef0);
        }
        tinyort_svm_vote(s, coefficients, rho, per_class, values, votes, scores);
        for (int32_t i = 1; i < n; i++) {
            best = votes[i] > votes[best] ? i : best;
        }
        if (y != NULL) {
            y[row] = labels[best];
        }
        float *from = scores;
        if (s->probable) {
            float *r = scores + (pairs < 2 ? 2 : pairs), *q = r + n * n, *qp = q + n * n;
            from = qp + n;
            tinyort_svm_pairs(n, a, b, scores, r);
            tinyort_couple(n, r, q, qp, from);
        } else if (pairs == 1) {
            scores[1] = scores[0];
            scores[0] = s->one ? 1.0f - scores[1] : -scores[1];
        }
        if (transform != NULL) {
            transform(from, width);
        }
        for (int32_t i = 0; i < width && z != NULL; i++) {
            z[row * width + i] = from[i];
        }
    }
}

#endif
