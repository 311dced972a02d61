/* bands.c - the order of bands (runtime/firmware/bands/order.h), for random layers: every row is made once, from rows
 * that are in the buffers, and buffers that are one line smaller do not do. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "runtime/firmware/bands/order.h"

enum { ROWS = 64, ROUNDS = 3000 };

typedef struct network {
    tinyort_layer layers[TINYORT_LAYERS];
    int32_t count, max[TINYORT_LAYERS]; /* max: rows that are needed at a time */
} network;

static int32_t below(int32_t limit) {
    return rand() % limit;
}

/* Layers that each read one or two earlier ones of the same rows, or whole inputs; all lines are there. */
static void make(network *n) {
    n->count = 2 + below(TINYORT_LAYERS - 1);
    for (int32_t i = 0; i < n->count; i++) {
        const int32_t from = i ? i - 1 - below(i < 3 ? i : 3) : -1;
        tinyort_layer *l = &n->layers[i];
        *l = (tinyort_layer){.in_rows = from < 0 ? 1 + below(ROWS) : n->layers[from].out_rows,
                             .stride = 1 + below(2),
                             .above = below(3),
                             .reach = 1 + below(5),
                             .from = {from, -1}};
        l->out_rows = (l->in_rows + l->above + below(3) - l->reach) / l->stride + 1;
        if (l->out_rows < 1) l->out_rows = 1;
        for (int32_t k = 0; k < from; k++)
            if (n->layers[k].out_rows == l->in_rows) l->from[1] = k;
        l->lines = INT32_MAX;
    }
}

/* Follows the order with rows in `memory`, by layer and line: -1: nothing. False: a row that is read is not there. */
static bool follow(network *n, int32_t *made) {
    static int32_t memory[TINYORT_LAYERS][4 * ROWS];
    tinyort_band_state s = {{0}, {0}, {0}};
    tinyort_band band;
    bool sound = true;
    for (int32_t i = 0; i < n->count; i++) made[i] = n->max[i] = 0;
    for (int32_t i; sound && (i = tinyort_next_band(n->layers, n->count, &s, &band)) >= 0;) {
        const tinyort_layer *l = &n->layers[i];
        for (int32_t k = 0; k < band.keep; k++) memory[i][k] = memory[i][k + band.drop];
        for (int32_t r = band.out_first; r < band.out_first + band.out_rows; r++) {
            const int32_t first = r * l->stride - l->above;
            for (int32_t row = first; row < first + l->reach; row++)
                for (int32_t k = 0; k < 2; k++)
                    if (row >= 0 && row < l->in_rows && l->from[k] >= 0)
                        sound = sound && memory[l->from[k]][band.in_at[k] + row - (first < 0 ? 0 : first)] == row;
            sound = sound && r == made[i]++ && band.out_at + r - band.out_first < l->lines;
            memory[i][band.out_at + r - band.out_first] = r;
        }
        const int32_t unread = tinyort_first_unread(n->layers, n->count, &s, i);
        const int32_t held = s.made[i] - (unread < s.made[i] - 1 ? unread : s.made[i] - 1);
        if (held > n->max[i]) n->max[i] = held;
    }
    return sound;
}

Test(bands, every_row_is_made_once_from_rows_that_are_there) {
    srand(1);
    for (int32_t round = 0; round < ROUNDS; round++) {
        network n;
        int32_t made[TINYORT_LAYERS], whole[TINYORT_LAYERS];
        make(&n);
        cr_assert(follow(&n, whole), "round %d: all lines", round);
        cr_assert_eq(whole[n.count - 1], n.layers[n.count - 1].out_rows, "round %d: the last layer", round);
        for (int32_t i = 0; i < n.count - 1; i++) n.layers[i].lines = n.max[i] ? n.max[i] : 1;
        cr_assert(follow(&n, made), "round %d: as many lines as are needed", round);
        for (int32_t i = 0; i < n.count; i++) cr_assert_eq(made[i], whole[i], "round %d: layer %d", round, i);
    }
}

Test(bands, a_line_less_does_not_do) {
    int32_t refused = 0, made[TINYORT_LAYERS];
    srand(2);
    for (int32_t round = 0; round < ROUNDS; round++) {
        network n;
        make(&n);
        follow(&n, made);
        for (int32_t i = 0; i < n.count - 1; i++) n.layers[i].lines = n.max[i] ? n.max[i] : 1;
        const int32_t less = below(n.count - 1);
        if (n.max[less] < 2) continue;
        n.layers[less].lines--;
        refused += !follow(&n, made);
        cr_assert(!follow(&n, made), "round %d: layer %d", round, less);
    }
    cr_expect_gt(refused, ROUNDS / 4);
}
