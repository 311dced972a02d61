/* linear_attention.h - queries that read a state, a matrix (rows, columns) of each of `heads` heads: token by token it
 * decays, where there is a decay, by `decay_columns` numbers a head, and the token's value is added under its key. With
 * beta, of `beta_columns` numbers a token, what the state holds under the key is taken off the value first. A head has
 * `group` queries. The state begins as `past`, or as 0, and stays. */
#ifndef TORT_FIRMWARE_CODE_LINEAR_ATTENTION_H
#define TORT_FIRMWARE_CODE_LINEAR_ATTENTION_H

#include "kernels/firmware/code/exp.h"

typedef struct tinyort_linear_attention_shape {
    int32_t items, length, heads, group, rows, columns, decay_columns, beta_columns;
} tinyort_linear_attention_shape;

/* The sum of products of a column of the state. */
static float tinyort_column_sum(const tinyort_linear_attention_shape *s, const float *state, const float *x) {
    float sum = 0.0f;
    for (int32_t i = 0; i < s->rows; i++) {
        const float product = state[i * s->columns] * x[i];
        sum += product;
    }
    return sum;
}

static void tinyort_linear_attention(const tinyort_linear_attention_shape *s, const float *query, const float *key,
                                     const float *value, const float *past, const float *decay, const float *beta,
                                     float *y, float *state, float scale) {
    const int32_t area = s->rows * s->columns;
    for (int32_t item = 0; item < s->items; item++) {
        for (int32_t i = 0; i < area; i++) {
            state[i] = past ? past[(item * area) + i] : 0.0f;
        }
        for (int32_t t = 0; t < s->length; t++) {
            const int32_t head = item % s->heads, token = (item / s->heads * s->length) + t,
                          at = (token * s->heads) + head;
            const float *k = key + (at * s->rows);
            for (int32_t i = 0; decay && (i < s->rows); i++) {
                const float factor = tinyort_exp(decay[(at * s->decay_columns) + ((s->decay_columns > 1) ? i : 0)]);
                for (int32_t j = 0; j < s->columns; j++) {
                    state[(i * s->columns) + j] *= factor;
                }
            }
            for (int32_t j = 0; j < s->columns; j++) {
                float written = value[(at * s->columns) + j];
                if (beta != NULL) {
                    written -= tinyort_column_sum(s, state + j, k);
                    written *= beta[(token * s->beta_columns) + ((s->beta_columns > 1) ? head : 0)];
                }
                for (int32_t i = 0; i < s->rows; i++) {
                    const float product = k[i] * written;
                    state[(i * s->columns) + j] += product;
                }
                for (int32_t g = at * s->group; g < ((at + 1) * s->group); g++) {
                    y[(g * s->columns) + j] = scale * tinyort_column_sum(s, state + j, query + (g * s->rows));
                }
            }
        }
        state += area;
    }
}

#endif
