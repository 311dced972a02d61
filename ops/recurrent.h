/* recurrent.h - what RNN, GRU and LSTM are once their attributes are decoded; shared by the kernels of all devices.
 * Read next: recurrent.c. */
#ifndef TORT_OPS_RECURRENT_H
#define TORT_OPS_RECURRENT_H

#include "runtime/op.h"

typedef enum tort_recurrent_kind { TORT_RNN, TORT_GRU, TORT_LSTM } tort_recurrent_kind;

typedef enum tort_gate_function {
    TORT_GATE_SIGMOID,
    TORT_GATE_TANH,
    TORT_GATE_RELU,
    TORT_GATE_AFFINE,
    TORT_GATE_LEAKY_RELU,
    TORT_GATE_THRESHOLDED_RELU,
    TORT_GATE_SCALED_TANH,
    TORT_GATE_HARD_SIGMOID,
    TORT_GATE_ELU,
    TORT_GATE_SOFTSIGN,
    TORT_GATE_SOFTPLUS,
    TORT_GATE_COUNT
} tort_gate_function;

typedef struct tort_gate {
    tort_gate_function function;
    float alpha, beta;
} tort_gate;

/* Numbers that are not yet known while claims are made are -1. */
typedef struct tort_recurrent_params {
    tort_recurrent_kind kind;
    int32_t gates;            /* 1, 3 (update, reset, hidden) or 4 (input, output, forget, cell) */
    int32_t directions;       /* 1 or 2 */
    bool reverse;             /* the only direction is backwards; of two the second is */
    bool batch_first;         /* layout 1 */
    bool linear_before_reset; /* of GRU */
    bool input_forget;        /* of LSTM: the forget gate is 1 - input gate */
    bool clipped;             /* what goes into activations is cut to -clip .. clip */
    float clip;
    tort_gate activations[2][3]; /* f, g, h of each direction */
    int64_t length, batch, input, hidden;
} tort_recurrent_params;

/* Elements of X, Y and the states before element 0 of what belongs to a time, batch entry and direction. */
int64_t tort_recurrent_x(const tort_recurrent_params *params, int64_t time, int64_t entry);
int64_t tort_recurrent_y(const tort_recurrent_params *params, int64_t time, int64_t entry, int64_t direction);
int64_t tort_recurrent_state(const tort_recurrent_params *params, int64_t entry, int64_t direction);

#endif
