/* rnn.h - params of RNN, LSTM and GRU, for every provider. */
#ifndef TORT_OPS_RNN_H
#define TORT_OPS_RNN_H

#include "runtime/include/op.h"

/* Input indices; DynamicQuantizeLSTM has others. */
enum {
    TORT_RNN_X,
    TORT_RNN_W,
    TORT_RNN_R,
    TORT_RNN_B,
    TORT_RNN_LENGTHS,
    TORT_RNN_INITIAL_H,
    TORT_RNN_INITIAL_C,
    TORT_RNN_PEEPHOLES
};

typedef enum tort_rnn_cell { TORT_CELL_RNN, TORT_CELL_LSTM, TORT_CELL_GRU } tort_rnn_cell;

typedef enum tort_rnn_function {
    TORT_RNN_RELU,
    TORT_RNN_TANH,
    TORT_RNN_SIGMOID,
    TORT_RNN_AFFINE,
    TORT_RNN_LEAKY_RELU,
    TORT_RNN_THRESHOLDED_RELU,
    TORT_RNN_SCALED_TANH,
    TORT_RNN_HARD_SIGMOID,
    TORT_RNN_ELU,
    TORT_RNN_SOFTSIGN,
    TORT_RNN_SOFTPLUS
} tort_rnn_function;

typedef struct tort_rnn_activation {
    tort_rnn_function function;
    double alpha, beta;
} tort_rnn_activation;

/* W is [directions, gates * hidden, input], R [directions, gates * hidden, hidden], B [directions, 2 * gates * hidden].
 * The gates of LSTM are in the order input, output, forget, cell; those of GRU update, reset, hidden. */
typedef struct tort_rnn_params {
    tort_rnn_cell cell;
    int32_t gates, directions;
    bool reverse;     /* the first direction goes from the end to the beginning; the second always does */
    bool batch_first; /* layout 1: X is [batch, length, input], Y [batch, length, directions, hidden] */
    bool input_forget, linear_before_reset;
    double clip;                           /* limits the arguments of the gates' functions; INFINITY: none */
    tort_rnn_activation activations[2][3]; /* per direction: f, g, h as ONNX calls them */
    int64_t length, batch, input, hidden;
} tort_rnn_params;

/* Reads attribute direction. */
tort_status tort_rnn_direction(const tort_node_view *node, tort_error *error, int32_t *directions, bool *reverse);
/* Reads all of params but the sizes. */
tort_status tort_rnn_attributes(tort_resolve *resolve, tort_rnn_params *params);
/* Number of functions of a direction: f; f, g; or f, g, h. */
int32_t tort_rnn_functions(tort_rnn_cell cell);
/* TORT_E_RUN if an element of sequence_lens is negative or above the length of X. */
tort_status tort_rnn_check_lengths(const tort_call *call);
/* Steps of a sequence, after that check: 0 to the length of X. It may differ from call to call (ops/index.h). */
int64_t tort_rnn_length(const tort_call *call, int64_t batch);
/* Makes one step of LSTM for one sequence: gates [4 * hidden] with all biases; the cell's state and h are
 * overwritten. */
void tort_lstm_cell(const tort_rnn_params *params, int64_t direction, const tort_tensor *peepholes, const double *gates,
                    double *state, double *h);

#endif
