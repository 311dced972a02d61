/* order.h - the order in which layers that follow each other work on bands of rows, so that rows are read soon after
 * they are made, and only some of them need memory at a time: line buffers in place of whole tensors.
 *
 * Also called streaming, or depth-first execution. For the next row of the last layer, each layer is asked, from the
 * last to the first, which rows it has to have made; then the last layer that has a row to make, and whose inputs for
 * it are made, makes it. So rows wait for no others, and none is made twice. A planner simulates this order to size the
 * buffers, runs follow it, and `tinyort compile` prints it: so it is plain C99, with the prefix of printed code.
 *
 * Example: two 3x3 convolutions with padding. Row 0 of the second needs rows 0 and 1 of the first, row 1 needs row 2,
 * which takes the third line; for row 2, rows 1 and 2 move to the first two lines, and row 3 is made in the third. */
#ifndef TORT_RUNTIME_BANDS_ORDER_H
#define TORT_RUNTIME_BANDS_ORDER_H

#include "runtime/include/bands.h"

/* The state of a group; all 0 before the first band. */
typedef struct tinyort_band_state {
    int32_t made[TINYORT_LAYERS];  /* rows */
    int32_t first[TINYORT_LAYERS]; /* row in line 0 */
    int32_t need[TINYORT_LAYERS];  /* rows after this round: one row more of the last layer */
} tinyort_band_state;

/* An input row, where there is one. */
static inline int32_t tinyort_clip_row(const tinyort_layer *layer, int32_t row) {
    return (row < 0) ? 0 : (row > layer->in_rows) ? layer->in_rows : row;
}

/* The first input row that an output row reads. */
static inline int32_t tinyort_first_row(const tinyort_layer *layer, int32_t row) {
    return tinyort_clip_row(layer, (row * layer->stride) - layer->above);
}

/* One past the last input row that the first `rows` output rows read. */
static inline int32_t tinyort_end_row(const tinyort_layer *layer, int32_t rows) {
    return tinyort_clip_row(layer, ((rows - 1) * layer->stride) - layer->above + layer->reach);
}

/* Begins a round: the rows that each layer has to have made. The last round completes what others will read whole. */
static inline void tinyort_begin_round(const tinyort_layer *layers, int32_t count, tinyort_band_state *s) {
    const int32_t final = (s->made[count - 1] + 1) == layers[count - 1].out_rows;
    for (int32_t i = 0; i < count; i++) {
        s->need[i] = (final && layers[i].whole) ? layers[i].out_rows : s->made[i];
    }
    s->need[count - 1] = s->made[count - 1] + 1;
    for (int32_t i = count - 1; i >= 0; i--) {
        for (int32_t k = 0; (k < 2) && (s->need[i] > s->made[i]); k++) {
            const int32_t from = layers[i].from[k], end = tinyort_end_row(&layers[i], s->need[i]);
            if ((from >= 0) && (s->need[from] < end)) {
                s->need[from] = end;
            }
        }
    }
}

/* The first row of a layer that another one still reads, of those that are made. */
static inline int32_t tinyort_first_unread(const tinyort_layer *layers, int32_t count, const tinyort_band_state *s,
                                           int32_t layer) {
    int32_t first = s->made[layer];
    for (int32_t i = layer + 1; i < count; i++) {
        for (int32_t k = 0; k < 2; k++) {
            const int32_t row = tinyort_first_row(&layers[i], s->made[i]);
            if ((layers[i].from[k] == layer) && (s->made[i] < layers[i].out_rows) && (row < first)) {
                first = row;
            }
        }
    }
    return first;
}

/* True if a layer has a row to make, and the rows that it reads are made. */
static inline int32_t tinyort_is_ready(const tinyort_layer *layers, const tinyort_band_state *s, int32_t layer) {
    int32_t ready = s->need[layer] > s->made[layer];
    for (int32_t k = 0; (k < 2) && ready; k++) {
        const int32_t from = layers[layer].from[k];
        ready = (from < 0) || (s->made[from] >= tinyort_end_row(&layers[layer], s->made[layer] + 1));
    }
    return ready;
}

/* Returns the layer that works next, and its band of one row; -1: all is made. */
static inline int32_t tinyort_next_band(const tinyort_layer *layers, int32_t count, tinyort_band_state *s,
                                        tinyort_band *band) {
    int32_t i = count - 1;
    if (s->made[i] == layers[i].out_rows) {
        return -1;
    }
    if (s->need[i] == s->made[i]) {
        tinyort_begin_round(layers, count, s);
    }
    while ((i > 0) && !tinyort_is_ready(layers, s, i)) {
        i--;
    }
    const tinyort_layer *layer = &layers[i];
    const int32_t row = s->made[i], first = tinyort_first_row(layer, row);
    band->drop = 0;
    band->keep = 0;
    if ((row + 1 - s->first[i]) > layer->lines) {
        const int32_t unread = tinyort_first_unread(layers, count, s, i);
        band->drop = unread - s->first[i];
        band->keep = row - unread;
        s->first[i] = unread;
    }
    for (int32_t k = 0; k < 2; k++) {
        band->in_at[k] = first - ((layer->from[k] < 0) ? 0 : s->first[layer->from[k]]);
    }
    band->in_rows = tinyort_end_row(layer, row + 1) - first;
    band->above = first - ((row * layer->stride) - layer->above);
    band->out_first = row;
    band->out_rows = 1;
    band->out_at = row - s->first[i];
    s->made[i]++;
    return i;
}

#endif
