/* rnn.c - RNN, LSTM and GRU: one layer of a recurrent network over a batch of sequences.
 *
 * Every (direction, sequence of the batch) is an item of work that walks its steps one after another. A step computes
 * all gates as products of weights with the input and the last state, then the cell's own equations. Computed in
 * double, from weights that are widened once per run. Positions behind a sequence's own length give zeros. */
#include "ops/index.h"
#include "ops/rnn.h"
#include "runtime/core/base/ascii.h"

#include <math.h>

enum { Y, Y_H, Y_C };                                     /* outputs */
enum { INPUT_GATE, OUTPUT_GATE, FORGET_GATE, CELL_GATE }; /* of LSTM */
enum { UPDATE_GATE, RESET_GATE, HIDDEN_GATE };            /* of GRU */

static tort_rnn_cell cell_of(const tort_node_view *node) {
    if (strstr(node->op->name, "LSTM")) return TORT_CELL_LSTM; /* DynamicQuantizeLSTM too */
    return strcmp(node->op->name, "GRU") == 0 ? TORT_CELL_GRU : TORT_CELL_RNN;
}

/* ---- infer ------------------------------------------------------------------------------------------------------- */

/* The schema of GRU-1 spells its default "foward". */
tort_status tort_rnn_direction(const tort_node_view *node, tort_error *error, int32_t *directions, bool *reverse) {
    const char *direction = tort_attr_string(node, "direction");
    *reverse = strcmp(direction, "reverse") == 0;
    *directions = strcmp(direction, "bidirectional") == 0 ? 2 : 1;
    if (*reverse || *directions == 2 || strcmp(direction, "forward") == 0 || strcmp(direction, "foward") == 0)
        return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "direction \"%s\" is not forward, reverse or bidirectional", direction);
}

static tort_status infer_rnn(tort_infer *infer) {
    const tort_node_view *node = infer->node;
    const tort_info *x = &node->inputs[TORT_RNN_X], *r = &node->inputs[TORT_RNN_R];
    int32_t directions;
    bool reverse, batch_first = tort_attr_int(node, "layout") != 0;
    tort_status status = tort_rnn_direction(node, infer->error, &directions, &reverse);
    if (status != TORT_OK) return status;
    for (int32_t o = Y; o <= Y_C; o++) infer->outputs[o].type = x->type;
    if ((x->rank >= 0 && x->rank != 3) || (r->rank >= 0 && r->rank != 3))
        return tort_fail(infer->error, TORT_E_MODEL, "X has rank %d and R %d; expected 3 and 3", x->rank, r->rank);
    if (x->rank < 0) return TORT_OK;
    tort_dim hidden = tort_attr_int(node, "hidden_size");
    if (hidden <= 0) hidden = r->rank == 3 ? r->dims[2] : tort_dim_fresh(infer->dims, true);
    const tort_dim length = x->dims[batch_first ? 1 : 0], batch = x->dims[batch_first ? 0 : 1];
    const tort_dim all[2][4] = {{length, directions, batch, hidden}, {batch, length, directions, hidden}};
    const tort_dim last[2][3] = {{directions, batch, hidden}, {batch, directions, hidden}};
    tort_infer_shape(infer, Y, x->type, 4, all[batch_first]);
    tort_infer_shape(infer, Y_H, x->type, 3, last[batch_first]);
    tort_infer_shape(infer, Y_C, x->type, 3, last[batch_first]);
    return TORT_OK;
}

/* ---- resolve ----------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    tort_rnn_function function;
    bool has_alpha, has_beta;
    double alpha, beta; /* defaults */
} functions[] = {
    {"Relu", TORT_RNN_RELU, false, false, 0, 0},
    {"Tanh", TORT_RNN_TANH, false, false, 0, 0},
    {"Sigmoid", TORT_RNN_SIGMOID, false, false, 0, 0},
    {"Affine", TORT_RNN_AFFINE, true, true, 1, 0},
    {"LeakyRelu", TORT_RNN_LEAKY_RELU, true, false, 0.01, 0},
    {"ThresholdedRelu", TORT_RNN_THRESHOLDED_RELU, true, false, 1, 0},
    {"ScaledTanh", TORT_RNN_SCALED_TANH, true, true, 1, 1},
    {"HardSigmoid", TORT_RNN_HARD_SIGMOID, true, true, 0.2, 0.5},
    {"Elu", TORT_RNN_ELU, true, false, 1, 0},
    {"Softsign", TORT_RNN_SOFTSIGN, false, false, 0, 0},
    {"Softplus", TORT_RNN_SOFTPLUS, false, false, 0, 0},
};

int32_t tort_rnn_functions(tort_rnn_cell cell) {
    return cell == TORT_CELL_RNN ? 1 : cell == TORT_CELL_GRU ? 2 : 3;
}

/* Reads the activation functions. Those that have an alpha or beta take the next entry of the list, in order. */
static tort_status resolve_activations(tort_resolve *resolve, tort_rnn_params *params) {
    static const char *const usual[3][3] = {[TORT_CELL_RNN] = {"Tanh"},
                                            [TORT_CELL_LSTM] = {"Sigmoid", "Tanh", "Tanh"},
                                            [TORT_CELL_GRU] = {"Sigmoid", "Tanh"}};
    const tort_attribute *named = tort_attr(resolve->node, "activations");
    const int32_t count = tort_rnn_functions(params->cell);
    int32_t alpha_count, beta_count, alphas_used = 0, betas_used = 0;
    const float *alphas = tort_attr_floats(resolve->node, "activation_alpha", &alpha_count);
    const float *betas = tort_attr_floats(resolve->node, "activation_beta", &beta_count);
    if (named && named->count < count * params->directions)
        return tort_fail(resolve->error, TORT_E_MODEL, "%d activations; expected %d for each direction", named->count,
                         count);
    for (int32_t d = 0; d < params->directions; d++)
        for (int32_t i = 0; i < count; i++) {
            const char *name = named ? named->u.strings[d * count + i].data : usual[params->cell][i];
            size_t k = 0, known = sizeof functions / sizeof functions[0];
            while (k < known && !tort_same_word(functions[k].name, name)) k++;
            if (k == known) return tort_fail(resolve->error, TORT_E_MODEL, "activation \"%s\" is not known", name);
            tort_rnn_activation *activation = &params->activations[d][i];
            *activation = (tort_rnn_activation){functions[k].function, functions[k].alpha, functions[k].beta};
            if (functions[k].has_alpha && alphas_used < alpha_count) activation->alpha = (double)alphas[alphas_used++];
            if (functions[k].has_beta && betas_used < beta_count) activation->beta = (double)betas[betas_used++];
        }
    return TORT_OK;
}

static bool has_shape(const tort_info *info, int32_t rank, int64_t a, int64_t b, int64_t c) {
    const int64_t wanted[3] = {a, b, c};
    bool fits = info->rank == rank;
    for (int32_t d = 0; fits && d < rank; d++) fits = info->dims[d] == wanted[d];
    return fits;
}

static tort_status check_shapes(tort_resolve *resolve, const tort_rnn_params *params) {
    const tort_node_view *node = resolve->node;
    const int64_t directions = params->directions, hidden = params->hidden, rows = params->gates * hidden;
    const int64_t outer = params->batch_first ? params->batch : directions;
    const int64_t middle = params->batch_first ? directions : params->batch;
    const struct {
        int32_t rank;
        int64_t dims[3];
    } wanted[] = {[TORT_RNN_W] = {3, {directions, rows, params->input}},
                  [TORT_RNN_R] = {3, {directions, rows, hidden}},
                  [TORT_RNN_B] = {2, {directions, 2 * rows}},
                  [TORT_RNN_LENGTHS] = {1, {params->batch}},
                  [TORT_RNN_INITIAL_H] = {3, {outer, middle, hidden}},
                  [TORT_RNN_INITIAL_C] = {3, {outer, middle, hidden}},
                  [TORT_RNN_PEEPHOLES] = {2, {directions, 3 * hidden}}};
    for (int32_t i = TORT_RNN_W; i < node->input_count && i <= TORT_RNN_PEEPHOLES; i++) {
        const int64_t *dims = wanted[i].dims;
        if (!tort_has_input(node, i) || has_shape(&node->inputs[i], wanted[i].rank, dims[0], dims[1], dims[2]))
            continue;
        return tort_fail(resolve->error, TORT_E_MODEL,
                         "the shape of input %d does not fit %lld directions, %d gates, hidden size %lld and X", i,
                         (long long)directions, params->gates, (long long)hidden);
    }
    return TORT_OK;
}

/* Scratch of an item, in doubles: its input, state, cell and gates, and the reset state of GRU. */
static int64_t item_doubles(const tort_rnn_params *params) {
    return params->input + (2 + params->gates + 1) * params->hidden;
}

/* Weights of one direction, in doubles. */
static int64_t weight_doubles(const tort_rnn_params *params) {
    return params->gates * params->hidden * (params->input + params->hidden);
}

static tort_status count_scratch(tort_resolve *resolve, const tort_rnn_params *params) {
    size_t weights, items, total;
    if (!tort_mul_size((uint64_t)weight_doubles(params), (uint64_t)params->directions, &weights) ||
        !tort_mul_size((uint64_t)item_doubles(params), (uint64_t)(params->directions * params->batch), &items) ||
        !tort_add_size(weights, items, &total) || !tort_mul_size(total, sizeof(double), &resolve->scratch_bytes))
        return tort_fail(resolve->error, TORT_E_MEMORY, "the states of %lld sequences do not fit in memory",
                         (long long)params->batch);
    return TORT_OK;
}

tort_status tort_rnn_attributes(tort_resolve *resolve, tort_rnn_params *params) {
    const tort_node_view *node = resolve->node;
    params->cell = cell_of(node);
    params->gates = params->cell == TORT_CELL_RNN ? 1 : params->cell == TORT_CELL_GRU ? 3 : 4;
    tort_status status = tort_rnn_direction(node, resolve->error, &params->directions, &params->reverse);
    if (status == TORT_OK) status = resolve_activations(resolve, params);
    if (status != TORT_OK) return status;
    params->batch_first = tort_attr_int(node, "layout") != 0;
    params->input_forget = tort_attr_int(node, "input_forget") != 0;
    params->linear_before_reset = tort_attr_int(node, "linear_before_reset") != 0;
    params->clip = tort_attr(node, "clip") ? (double)tort_attr_float(node, "clip") : INFINITY;
    return TORT_OK;
}

static tort_status resolve_rnn(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    const tort_info *x = &node->inputs[TORT_RNN_X], *r = &node->inputs[TORT_RNN_R];
    tort_rnn_params *params = resolve->params;
    tort_status status = tort_rnn_attributes(resolve, params);
    if (status != TORT_OK) return status;
    if (!tort_inputs_known(node)) return TORT_OK;
    params->length = x->dims[params->batch_first ? 1 : 0];
    params->batch = x->dims[params->batch_first ? 0 : 1];
    params->input = x->dims[2];
    params->hidden = r->dims[2];
    if (tort_attr(node, "hidden_size") && tort_attr_int(node, "hidden_size") != params->hidden)
        return tort_fail(resolve->error, TORT_E_MODEL, "hidden_size is %lld; R says %lld",
                         (long long)tort_attr_int(node, "hidden_size"), (long long)params->hidden);
    status = check_shapes(resolve, params);
    return status == TORT_OK ? count_scratch(resolve, params) : status;
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

/* Keeps NaN, which fmin and fmax would drop. */
static double hard_sigmoid(double x) {
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

static double apply(const tort_rnn_activation *activation, double x) {
    const double alpha = activation->alpha, beta = activation->beta;
    switch (activation->function) {
    case TORT_RNN_RELU: return x > 0 || x != x ? x : 0;
    case TORT_RNN_TANH: return tanh(x);
    case TORT_RNN_SIGMOID: return 1 / (1 + exp(-x));
    case TORT_RNN_AFFINE: return alpha * x + beta;
    case TORT_RNN_LEAKY_RELU: return x >= 0 ? x : alpha * x;
    case TORT_RNN_THRESHOLDED_RELU: return x >= alpha ? x : 0;
    case TORT_RNN_SCALED_TANH: return alpha * tanh(beta * x);
    case TORT_RNN_HARD_SIGMOID: return hard_sigmoid(alpha * x + beta);
    case TORT_RNN_ELU: return x >= 0 ? x : alpha * expm1(x);
    case TORT_RNN_SOFTSIGN: return x / (1 + fabs(x));
    case TORT_RNN_SOFTPLUS: return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
    }
    return x;
}

static double clipped(const tort_rnn_params *params, double x) {
    return x > params->clip ? params->clip : x < -params->clip ? -params->clip : x;
}

/* ---- one step ---------------------------------------------------------------------------------------------------- */

/* State of one sequence in one direction. */
typedef struct rnn_item {
    const tort_call *call;
    const tort_rnn_params *params;
    int64_t direction, batch;
    const double *w, *r;                  /* of the direction */
    double *x, *h, *c, *gates, *products; /* `products`: GRU's reset state */
    const tort_rnn_activation *functions;
} rnn_item;

/* Bias of a gate's row: that of W (which = 0) or of R (1). */
static double bias_at(const rnn_item *item, int64_t which, int64_t row) {
    const int64_t rows = item->params->gates * item->params->hidden;
    const tort_tensor *bias = tort_call_input(item->call, TORT_RNN_B);
    return bias ? tort_element_at(bias, (item->direction * 2 + which) * rows + row) : 0;
}

/* Computes gates from .. to-1: W x + R h + both biases. */
static void compute_gates(const rnn_item *item, int64_t from, int64_t to) {
    const int64_t input = item->params->input, hidden = item->params->hidden;
    for (int64_t row = from * hidden; row < to * hidden; row++)
        item->gates[row] = tort_dot(item->w + row * input, item->x, input) +
                           tort_dot(item->r + row * hidden, item->h, hidden) + bias_at(item, 0, row) +
                           bias_at(item, 1, row);
}

static void step_rnn(const rnn_item *item) {
    compute_gates(item, 0, 1);
    for (int64_t i = 0; i < item->params->hidden; i++)
        item->h[i] = apply(&item->functions[0], clipped(item->params, item->gates[i]));
}

void tort_lstm_cell(const tort_rnn_params *params, int64_t direction, const tort_tensor *peepholes, const double *gates,
                    double *state, double *h) {
    const int64_t hidden = params->hidden, first = direction * 3 * hidden;
    const tort_rnn_activation *f = params->activations[direction], *g = f + 1, *squash = f + 2;
    for (int64_t i = 0; i < hidden; i++) {
        double last = state[i], in = gates[INPUT_GATE * hidden + i], out = gates[OUTPUT_GATE * hidden + i];
        double forget = gates[FORGET_GATE * hidden + i], cell = gates[CELL_GATE * hidden + i];
        if (peepholes) {
            in += tort_element_at(peepholes, first + i) * last;
            forget += tort_element_at(peepholes, first + 2 * hidden + i) * last;
        }
        in = apply(f, clipped(params, in));
        forget = params->input_forget ? 1 - in : apply(f, clipped(params, forget));
        state[i] = forget * last + in * apply(g, clipped(params, cell));
        if (peepholes) out += tort_element_at(peepholes, first + hidden + i) * state[i];
        h[i] = apply(f, clipped(params, out)) * apply(squash, state[i]);
    }
}

static void step_lstm(const rnn_item *item) {
    compute_gates(item, 0, 4);
    tort_lstm_cell(item->params, item->direction, tort_call_input(item->call, TORT_RNN_PEEPHOLES), item->gates, item->c,
                   item->h);
}

static void step_gru(const rnn_item *item) {
    const tort_rnn_params *params = item->params;
    const int64_t hidden = params->hidden, input = params->input, first = HIDDEN_GATE * hidden;
    const tort_rnn_activation *f = &item->functions[0], *g = &item->functions[1];
    double *reset = item->gates + RESET_GATE * hidden;
    compute_gates(item, UPDATE_GATE, HIDDEN_GATE);
    for (int64_t i = 0; i < hidden; i++) {
        reset[i] = apply(f, clipped(params, reset[i]));
        /* With linear_before_reset, the product of the state is reset instead of the state. */
        item->products[i] = reset[i] * item->h[i];
    }
    for (int64_t i = 0; i < hidden; i++) {
        const double *row = item->r + (first + i) * hidden;
        double recurrent = tort_dot(row, params->linear_before_reset ? item->h : item->products, hidden);
        recurrent += bias_at(item, 1, first + i);
        if (params->linear_before_reset) recurrent *= reset[i];
        item->gates[first + i] =
            tort_dot(item->w + (first + i) * input, item->x, input) + bias_at(item, 0, first + i) + recurrent;
    }
    for (int64_t i = 0; i < hidden; i++) {
        double update = apply(f, clipped(params, item->gates[i]));
        double fresh = apply(g, clipped(params, item->gates[first + i]));
        item->h[i] = (1 - update) * fresh + update * item->h[i];
    }
}

/* ---- all steps --------------------------------------------------------------------------------------------------- */

/* Offset of an item's state in initial_h, Y_h and their like. */
static int64_t state_index(const rnn_item *item) {
    const tort_rnn_params *params = item->params;
    int64_t row = params->batch_first ? item->batch * params->directions + item->direction
                                      : item->direction * params->batch + item->batch;
    return row * params->hidden;
}

static void load_state(const rnn_item *item, int32_t input, double *state) {
    const tort_tensor *initial = tort_call_input(item->call, input);
    if (initial)
        tort_load_doubles(initial->type, initial->data, state_index(item), item->params->hidden, state);
    else
        memset(state, 0, (size_t)item->params->hidden * sizeof *state);
}

static void store_state(const rnn_item *item, int32_t output, const double *state) {
    const tort_tensor *last = tort_call_output(item->call, output);
    if (last) tort_store_doubles(last->type, last->data, state_index(item), item->params->hidden, state);
}

static void store_step(const rnn_item *item, int64_t t, const double *state) {
    const tort_rnn_params *params = item->params;
    const tort_tensor *y = tort_call_output(item->call, Y);
    if (!y) return;
    int64_t row = params->batch_first ? (item->batch * params->length + t) * params->directions + item->direction
                                      : (t * params->directions + item->direction) * params->batch + item->batch;
    tort_store_doubles(y->type, y->data, row * params->hidden, params->hidden, state);
}

static void walk_sequence(const rnn_item *item) {
    const tort_rnn_params *params = item->params;
    const tort_tensor *x = &item->call->inputs[TORT_RNN_X];
    const int64_t length = tort_rnn_length(item->call, item->batch);
    const bool backwards = params->reverse || item->direction == 1;
    load_state(item, TORT_RNN_INITIAL_H, item->h);
    load_state(item, TORT_RNN_INITIAL_C, item->c);
    for (int64_t step = 0; step < length; step++) {
        int64_t t = backwards ? length - 1 - step : step;
        if (!tort_call_goes_on(item->call, 0)) return;
        int64_t row = params->batch_first ? item->batch * params->length + t : t * params->batch + item->batch;
        tort_load_doubles(x->type, x->data, row * params->input, params->input, item->x);
        if (params->cell == TORT_CELL_LSTM)
            step_lstm(item);
        else if (params->cell == TORT_CELL_GRU)
            step_gru(item);
        else
            step_rnn(item);
        store_step(item, t, item->h);
    }
    store_state(item, Y_H, item->h);
    store_state(item, Y_C, item->c);
    memset(item->h, 0, (size_t)params->hidden * sizeof *item->h);
    for (int64_t t = length; t < params->length; t++) store_step(item, t, item->h);
}

static void walk_items(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_rnn_params *params = call->params;
    const int64_t hidden = params->hidden;
    double *weights = call->scratch, *states = weights + params->directions * weight_doubles(params);
    for (int64_t i = begin; i < end; i++) {
        rnn_item item = {.call = call, .params = params, .direction = i / params->batch, .batch = i % params->batch};
        item.functions = params->activations[item.direction];
        item.w = weights + item.direction * weight_doubles(params);
        item.r = item.w + params->gates * hidden * params->input;
        item.x = states + i * item_doubles(params);
        item.h = item.x + params->input;
        item.c = item.h + hidden;
        item.gates = item.c + hidden;
        item.products = item.gates + params->gates * hidden;
        walk_sequence(&item);
    }
}

int64_t tort_rnn_length(const tort_call *call, int64_t batch) {
    const tort_rnn_params *params = call->params;
    const tort_tensor *lengths = tort_call_input(call, TORT_RNN_LENGTHS);
    return lengths ? tort_index_within(tort_index_at(lengths, batch), params->length + 1) : params->length;
}

tort_status tort_rnn_check_lengths(const tort_call *call) {
    const tort_rnn_params *params = call->params;
    const tort_tensor *lengths = tort_call_input(call, TORT_RNN_LENGTHS);
    for (int64_t b = 0; lengths && b < params->batch; b++) {
        const int64_t length = tort_index_at(lengths, b);
        if (length < 0 || length > params->length)
            return tort_fail(call->error, TORT_E_RUN, "sequence_lens[%lld] is %lld; expected 0 to %lld", (long long)b,
                             (long long)length, (long long)params->length);
    }
    return TORT_OK;
}

/* Loads elements first .. first+count-1, in parts: weights are large. */
static void load_weights(const tort_call *call, const tort_tensor *from, int64_t first, int64_t count, double *to) {
    for (int64_t at = 0; at < count && tort_row_goes_on(call->watch, at); at += TORT_PART)
        tort_load_doubles(from->type, from->data, first + at, tort_part_count(count, at), to + at);
}

static tort_status rnn(const tort_call *call) {
    const tort_rnn_params *params = call->params;
    const tort_tensor *w = &call->inputs[TORT_RNN_W], *r = &call->inputs[TORT_RNN_R];
    const int64_t rows = params->gates * params->hidden;
    double *weights = call->scratch;
    tort_status status = tort_rnn_check_lengths(call);
    if (status != TORT_OK) return status;
    for (int64_t d = 0; d < params->directions; d++, weights += weight_doubles(params)) {
        load_weights(call, w, d * rows * params->input, rows * params->input, weights);
        load_weights(call, r, d * rows * params->hidden, rows * params->hidden, weights + rows * params->input);
    }
    double work = (double)params->length * (double)weight_doubles(params);
    tort_parallel(call, params->directions * params->batch, work < 1e15 ? (int64_t)work : (int64_t)1e15, walk_items,
                  (void *)call);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define INPUTS "X:T W:T R:T B?:T sequence_lens?:T1 initial_h?:T"
#define LSTM_INPUTS INPUTS " initial_c?:T P?:T"
#define FLOATS "T=floats T1=int32"
#define FLOATS_13 "T=floats13 T1=int32"
#define COMMON "activation_alpha:floats activation_beta:floats clip:float hidden_size:int direction:string=forward "
#define RNN COMMON "activations:strings=Tanh,Tanh"
#define LSTM COMMON "activations:strings input_forget:int=0"
#define GRU COMMON "activations:strings linear_before_reset:int=0"
#define GRU_1                                                                                                          \
    "activation_alpha:floats activation_beta:floats activations:strings clip:float direction:string=foward "           \
    "hidden_size:int output_sequence:int=0"
#define BY .params_size = sizeof(tort_rnn_params), infer_rnn, resolve_rnn, rnn

const tort_op tort_ops_rnn[] = {
    {"", "RNN", 1, 6, INPUTS, "Y?:T Y_h?:T", FLOATS, RNN " output_sequence:int=0", BY},
    {"", "RNN", 7, 13, INPUTS, "Y?:T Y_h?:T", FLOATS, RNN, BY},
    {"", "RNN", 14, 21, INPUTS, "Y?:T Y_h?:T", FLOATS, RNN " layout:int=0", BY},
    {"", "RNN", 22, TORT_NEWEST_OPSET, INPUTS, "Y?:T Y_h?:T", FLOATS_13, RNN " layout:int=0", BY},
    {"", "LSTM", 1, 6, LSTM_INPUTS, "Y?:T Y_h?:T Y_c?:T", FLOATS, LSTM " output_sequence:int=0", BY},
    {"", "LSTM", 7, 13, LSTM_INPUTS, "Y?:T Y_h?:T Y_c?:T", FLOATS, LSTM, BY},
    {"", "LSTM", 14, 21, LSTM_INPUTS, "Y?:T Y_h?:T Y_c?:T", FLOATS, LSTM " layout:int=0", BY},
    {"", "LSTM", 22, TORT_NEWEST_OPSET, LSTM_INPUTS, "Y?:T Y_h?:T Y_c?:T", FLOATS_13, LSTM " layout:int=0", BY},
    {"", "GRU", 1, 2, INPUTS, "Y?:T Y_h:T", FLOATS, GRU_1, BY},
    {"", "GRU", 3, 6, INPUTS, "Y?:T Y_h?:T", FLOATS, GRU " output_sequence:int=0", BY},
    {"", "GRU", 7, 13, INPUTS, "Y?:T Y_h?:T", FLOATS, GRU, BY},
    {"", "GRU", 14, 21, INPUTS, "Y?:T Y_h?:T", FLOATS, GRU " layout:int=0", BY},
    {"", "GRU", 22, TORT_NEWEST_OPSET, INPUTS, "Y?:T Y_h?:T", FLOATS_13, GRU " layout:int=0", BY},
    {0},
};
