/* couple.h - probabilities of classes from those of pairs: Wu, Lin and Weng, "Probability estimates for multi-class
 * classification by pairwise coupling", algorithm 2, as libsvm has it. */
#ifndef TORT_FIRMWARE_CODE_COUPLE_H
#define TORT_FIRMWARE_CODE_COUPLE_H

#include <math.h>
#include <stdint.h>

/* q: from r[i][j], the probability of class i where it is i or j. */
static void tinyort_couple_open(int32_t n, const float *r, float *q, float *p) {
    for (int32_t i = 0; i < n; i++) {
        float sum = 0.0f;
        for (int32_t j = 0; j < n; j++) {
            if (j != i) {
                const float square = r[j * n + i] * r[j * n + i];
                sum += square;
                q[i * n + j] = -r[j * n + i] * r[i * n + j];
            }
        }
        q[i * n + i] = sum;
        p[i] = 1.0f / (float)n;
    }
}

/* qp: q times p. Returns p times that; *away: how far it is from having converged. */
static float tinyort_couple_form(int32_t n, const float *q, const float *p, float *qp, float *away) {
    float form = 0.0f;
    for (int32_t i = 0; i < n; i++) {
        qp[i] = 0.0f;
        for (int32_t j = 0; j < n; j++) {
            const float product = q[i * n + j] * p[j];
            qp[i] += product;
        }
        const float part = p[i] * qp[i];
        form += part;
    }
    *away = 0.0f;
    for (int32_t i = 0; i < n; i++) {
        const float error = fabsf(qp[i] - form);
        *away = error > *away ? error : *away;
    }
    return form;
}

static void tinyort_couple(int32_t n, const float *r, float *q, float *qp, float *p) {
    float away = 0.0f;
    tinyort_couple_open(n, r, q, p);
    for (int32_t trip = 0; trip < 100; trip++) {
        float form = tinyort_couple_form(n, q, p, qp, &away);
        if (!(away >= 0.005f / (float)n)) {
            return;
        }
        for (int32_t i = 0; i < n; i++) {
            const float *line = q + i * n;
            const float step = (form - qp[i]) / line[i], whole = 1.0f + step;
            const float along = step * line[i], added = step * (along + 2.0f * qp[i]);
            p[i] += step;
            form = (form + added) / whole / whole;
            for (int32_t j = 0; j < n; j++) {
                const float moved = step * line[j];
                qp[j] = (qp[j] + moved) / whole;
                p[j] /= whole;
            }
        }
    }
}

#endif
