/* recurrent_shape.h - sizes of a recurrent layer, and what its steps work on. */
#ifndef TORT_FIRMWARE_CODE_RECURRENT_SHAPE_H
#define TORT_FIRMWARE_CODE_RECURRENT_SHAPE_H

#include <stdint.h>

/* summed: gates, from the first, whose sums hold R h; the step multiplies the others itself. */
typedef struct tinyort_recurrent_shape {
    int32_t length, batch, input, hidden, gates, summed, directions, reverse, batch_first, input_forget,
        linear_before_reset;
} tinyort_recurrent_shape;

/* The same for recurrent_open.h. */
typedef struct tinyort_recurrent_open_shape {
    tinyort_recurrent_shape layer;
} tinyort_recurrent_open_shape;

typedef float tinyort_function(float);

/* Operands of a step, in one direction. */
typedef struct tinyort_cell {
    const float *r, *bias, *peepholes; /* r, bias: those of the gates behind the summed ones */
    float *sums, *h, *c, *room;        /* sums, room: of gates of `rows` rows */
    int32_t rows;
    float clip;
} tinyort_cell;

/* Makes the next h (and c). */
typedef void tinyort_recurrent_step(const tinyort_recurrent_shape *s, const tinyort_cell *cell, tinyort_function *f,
                                    tinyort_function *g, tinyort_function *k);

#endif
