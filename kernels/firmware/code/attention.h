/* attention.h - softmax(scale * query * key, masked) * value for each query head; `group` of them share a key head. A
 * row of the operands is at the sum of its steps for (batch, head, position). Query i is at position `before` + i of
 * the keys; it sees those from `left` before it (-1: from the first) to `right` after it (-1: to the last), and none
 * from `end` on, nor from valid[batch] on, where there is such: the last query is then at the last of these. `cap`
 * is tanh or NULL. `keep` hides where it is 0, `bias` is added. `scores` shows all scores: of stage 0 as products, 1
 * after the cap, 2 after what hides them, 3 as weights. `scratch` has room for those of a query. A query that sees no
 * key gives 0. */
#ifndef TORT_FIRMWARE_CODE_ATTENTION_H
#define TORT_FIRMWARE_CODE_ATTENTION_H

#include "kernels/firmware/code/exp_below.h"

#include <math.h>

typedef struct tinyort_attention_shape {
    int32_t batch, heads, group, queries, keys, key_size, value_size, before, end, left, right, stage;
    int32_t query[3], key[3], value[3], output[3], mask[4];
} tinyort_attention_shape;

static int32_t tinyort_attention_at(const int32_t *steps, int32_t batch, int32_t head, int32_t position) {
    return (batch * steps[0]) + (head * steps[1]) + (position * steps[2]);
}

/* Turns scores first .. last-1 into weights; all are 0 where nothing is seen. */
static void tinyort_attention_weights(float *row, int32_t first, int32_t last) {
    float max = -INFINITY, sum = 0.0f;
    for (int32_t j = first; j < last; j++) {
        if ((row[j] > max) || (row[j] != row[j])) {
            max = row[j];
        }
    }
    for (int32_t j = first; j < last; j++) {
        row[j] = (max == -INFINITY) ? 0.0f : tinyort_exp_below(row[j] - max);
        sum += row[j];
    }
    for (int32_t j = first; (j < last) && (max != -INFINITY); j++) {
        row[j] /= sum;
    }
}

/* The scores of a key as products, and after the cap. */
static void tinyort_attention_score(const float *q, const float *k, int32_t count, float (*cap)(float), float scale,
                                    float softcap, float *stages) {
    float sum = 0.0f;
    for (int32_t c = 0; c < count; c++) {
        const float product = q[c] * k[c];
        sum += product;
    }
    stages[0] = sum * scale;
    stages[1] = stages[0];
    if (cap != NULL) {
        stages[1] = softcap * cap(stages[0] / softcap);
    }
}

static void tinyort_attention(const tinyort_attention_shape *s, const float *query, const float *key,
                              const float *value, const uint8_t *keep, const float *bias, const int64_t *valid,
                              float *y, float *scores, void *scratch, float (*cap)(float), float scale, float softcap) {
    float *row = scratch;
    for (int32_t at = 0; at < (s->batch * s->heads * s->queries); at++) {
        const int32_t i = at % s->queries, head = at / s->queries % s->heads, batch = at / s->queries / s->heads;
        const int32_t masked = tinyort_attention_at(s->mask, batch, head, i), own = head / s->group;
        const int32_t all = (!valid || (valid[batch] > s->keys)) ? s->keys
                            : (valid[batch] < 0)                 ? 0
                                                                 : (int32_t)valid[batch];
        const int32_t now = (valid ? (all - s->queries) : s->before) + i, end = (all < s->end) ? all : s->end;
        const int32_t last = ((s->right >= 0) && ((now + s->right) < end)) ? (now + s->right + 1) : end;
        const int32_t first = ((s->left >= 0) && (now > s->left)) ? (now - s->left) : 0;
        const int32_t from = scores ? 0 : first, to = scores ? s->keys : last;
        float *sums = y + tinyort_attention_at(s->output, batch, head, i), stages[3];
        for (int32_t j = from; j < to; j++) {
            tinyort_attention_score(query + tinyort_attention_at(s->query, batch, head, i),
                                    key + tinyort_attention_at(s->key, batch, own, j), s->key_size, cap, scale, softcap,
                                    stages);
            stages[2] = (keep && (j < s->end) && !keep[masked + (j * s->mask[3])]) ? -INFINITY : stages[1];
            if (bias && (j < s->end)) {
                stages[2] += bias[masked + (j * s->mask[3])];
            }
            if ((j < first) || (j >= last)) {
                stages[2] -= INFINITY;
            }
            row[j] = stages[2];
            if (scores && (s->stage < 3)) {
                scores[j] = stages[s->stage];
            }
        }
        tinyort_attention_weights(row, from, to);
        for (int32_t c = 0; c < s->value_size; c++) {
            sums[c] = 0.0f;
        }
        for (int32_t j = from; j < to; j++) {
            const float *v = value + tinyort_attention_at(s->value, batch, own, j);
            for (int32_t c = 0; (row[j] != 0.0f) && (c < s->value_size); c++) {
                const float part = row[j] * v[c];
                sums[c] += part;
            }
        }
        for (int32_t j = 0; scores && (s->stage == 3) && (j < s->keys); j++) {
            scores[j] = row[j];
        }
        if (scores != NULL) {
            scores += s->keys;
        }
    }
}

#endif
