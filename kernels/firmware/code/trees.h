/* trees.h - ensembles of decision trees: rows of `columns` features walk `trees` trees, whose leaves vote for targets.
 *
 * A node sends a row to its first child if the feature is at most the bound, and else to its second. Children from
 * `nodes` on are leaves: `nodes` and the place of the first of their votes, of which the last has the bit `last` in its
 * target. The roots stand behind all children. Bounds have the type `bound_type` (load.h): whole numbers if features
 * are. A NaN takes the first child if the feature has the bit `missing`. Votes for target `targets` count for nothing.
 *
 * choice: 0 no label, 1 the class of the largest score, of those with votes (or of all, with `bases`), 2 one score for
 * both classes, 3 the score of the second class, 4 of the only class. half: such a score is compared with 0.5, not with
 * 0. opposite: the first class has 1 less the score, else the score with the other sign. */
#ifndef TORT_FIRMWARE_CODE_TREES_H
#define TORT_FIRMWARE_CODE_TREES_H

#include "kernels/firmware/code/load.h"

#include <stddef.h>

typedef struct tinyort_trees_shape {
    int32_t rows, columns, trees, nodes, targets, type, bound_type;
    int32_t child_bytes, feature_bytes, target_bytes; /* of an element: 1, 2 or 4 */
    int32_t missing, last;
    int32_t aggregate; /* of votes for a target: 0 their sum, 1 the minimum, 2 the maximum */
    int32_t mean;      /* 1: sums are divided by the number of trees */
    int32_t bases;     /* numbers behind the weights, which are added to the first targets */
    int32_t choice, half, opposite;
} tinyort_trees_shape;

static inline int32_t tinyort_tree_word(int32_t bytes, const void *from, int32_t i) {
    if (bytes == 1) {
        return ((const uint8_t *)from)[i];
    }
    if (bytes == 2) {
        return ((const uint16_t *)from)[i];
    }
    return ((const int32_t *)from)[i];
}

/* The place of the first vote of the leaf that the row from element `row` on reaches. */
static inline int32_t tinyort_tree_leaf(const tinyort_trees_shape *s, const void *x, int32_t row, int32_t tree,
                                        const void *bounds, const void *children, const void *features) {
    int32_t node = tinyort_tree_word(s->child_bytes, children, 2 * s->nodes + tree);
    while (node < s->nodes) {
        const int32_t word = tinyort_tree_word(s->feature_bytes, features, node);
        const int32_t at = row + (word & ~s->missing);
        int32_t second;
        if (s->type == 7) {
            const float value = ((const float *)x)[at];
            second = !(value <= ((const float *)bounds)[node]);
            if ((word & s->missing) != 0 && value != value) {
                second = 0;
            }
        } else {
            second = tinyort_load(s->type, x, at) > tinyort_load(s->bound_type, bounds, node);
        }
        node = tinyort_tree_word(s->child_bytes, children, 2 * node + second);
    }
    return node - s->nodes;
}

/* Adds the votes of a leaf. */
static inline void tinyort_tree_vote(const tinyort_trees_shape *s, const void *targets, const float *weights,
                                     int32_t at, float *scores, uint8_t *voted) {
    int32_t word;
    do {
        word = tinyort_tree_word(s->target_bytes, targets, at);
        const int32_t target = word & ~s->last;
        const float score = scores[target], weight = weights[at];
        if (s->aggregate == 0) {
            scores[target] = score + weight;
        } else if (!voted[target] || (s->aggregate == 1 ? weight < score : weight > score)) {
            scores[target] = weight;
        } else {
            scores[target] = score;
        }
        voted[target] = 1;
        at++;
    } while ((word & s->last) == 0);
}

/* The index of the label. */
static inline int32_t tinyort_trees_class(const tinyort_trees_shape *s, const float *scores, const uint8_t *voted) {
    if (s->choice != 1) {
        return scores[s->choice == 3 ? 1 : 0] > (s->half ? 0.5f : 0.0f);
    }
    int32_t best = -1;
    for (int32_t c = 0; c < s->targets; c++) {
        if ((voted[c] || s->bases) && (best < 0 || scores[c] > scores[best])) {
            best = c;
        }
    }
    return best < 0 ? 0 : best;
}

/* Completes the sums: the mean, and base values. */
static inline void tinyort_trees_settle(const tinyort_trees_shape *s, const float *bases, float *scores) {
    for (int32_t t = 0; t < s->targets; t++) {
        if (s->mean) {
            scores[t] /= (float)s->trees;
        }
        if (t < s->bases) {
            scores[t] += bases[t];
        }
    }
}

/* transform: of a row of scores; NULL: none. scratch: a float and a byte for each target, and one more. bases: behind
 * the weights. labels, y: of a classifier whose labels are asked for, else NULL. z: scores; NULL: not asked for. */
static void tinyort_trees(const tinyort_trees_shape *s, const void *x, const void *bounds, const void *children,
                          const void *features, const void *targets, const float *weights, const float *bases,
                          const int64_t *labels, void (*transform)(float *, int32_t), void *scratch, int64_t *y,
                          float *z) {
    float *scores = (float *)scratch;
    uint8_t *voted = (uint8_t *)(scores + s->targets + 1);
    for (int32_t row = 0; row < s->rows; row++) {
        for (int32_t t = 0; t <= s->targets; t++) {
            scores[t] = 0.0f;
            voted[t] = 0;
        }
        for (int32_t tree = 0; tree < s->trees; tree++) {
            const int32_t leaf = tinyort_tree_leaf(s, x, row * s->columns, tree, bounds, children, features);
            tinyort_tree_vote(s, targets, weights, leaf, scores, voted);
        }
        tinyort_trees_settle(s, bases, scores);
        if (y != NULL) {
            y[row] = labels[tinyort_trees_class(s, scores, voted)];
        }
        if (s->choice == 2) {
            scores[1] = scores[0];
            scores[0] = s->opposite ? 1.0f - scores[0] : -scores[0];
        }
        if (transform != NULL) {
            transform(scores, s->targets);
        }
        for (int32_t t = 0; t < s->targets && z != NULL; t++) {
            z[row * s->targets + t] = scores[t];
        }
    }
}

#endif
