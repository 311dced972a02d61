/* dynamic_quantize_lstm.c - DynamicQuantizeLSTM: LSTM with weights of 8 bits.
 *
 * The other operands of the products are quantized to uint8 first, with one scale: X as a whole, up to its longest
 * sequence, and the states of all sequences at each step. Therefore all sequences advance together. W is [directions,
 * input, 4 * hidden], R [directions, hidden, 4 * hidden]; their scales and zero points are one per direction or one per
 * column. Read next: rnn.h, quantize.h. */
#include "ops/index.h"
#include "ops/matmul.h"
#include "ops/quantize.h"
#include "ops/rnn.h"
#include "ops/shapes.h"

enum { X, W, R, B, LENGTHS, INITIAL_H, INITIAL_C, PEEPHOLES, W_SCALE, W_ZERO, R_SCALE, R_ZERO }; /* inputs */
enum { Y, Y_H, Y_C };                                                                            /* outputs */

/* ---- infer and resolve ------------------------------------------------------------------------------------------- */

static tort_status infer_lstm(tort_infer *infer) {
    const tort_node_view *node = infer->node;
    const tort_info *x = &node->inputs[X], *r = &node->inputs[R];
    int32_t directions;
    bool reverse;
    tort_status status = tort_rnn_direction(node, infer->error, &directions, &reverse);
    for (int32_t o = Y; o <= Y_C; o++) infer->outputs[o].type = TORT_FLOAT;
    if (status != TORT_OK) return status;
    if ((x->rank >= 0 && x->rank != 3) || (r->rank >= 0 && r->rank != 3))
        return tort_fail(infer->error, TORT_E_MODEL, "X has rank %d and R %d; expected 3 and 3", x->rank, r->rank);
    if (x->rank < 0) return TORT_OK;
    tort_dim hidden = tort_attr_int(node, "hidden_size");
    if (hidden <= 0) hidden = r->rank == 3 ? r->dims[1] : tort_dim_fresh(infer->dims, true);
    const tort_dim all[4] = {x->dims[0], directions, x->dims[1], hidden};
    const tort_dim last[3] = {directions, x->dims[1], hidden};
    tort_infer_shape(infer, Y, TORT_FLOAT, 4, all);
    tort_infer_shape(infer, Y_H, TORT_FLOAT, 3, last);
    tort_infer_shape(infer, Y_C, TORT_FLOAT, 3, last);
    return TORT_OK;
}

static tort_status check_shapes(const tort_resolve *resolve, const tort_rnn_params *p) {
    const tort_node_view *node = resolve->node;
    const int64_t d = p->directions, h = p->hidden, b = p->batch;
    const struct {
        int32_t rank;
        int64_t dims[3];
    } wanted[] = {[W] = {3, {d, p->input, 4 * h}}, [R] = {3, {d, h, 4 * h}},
                  [B] = {2, {d, 8 * h}},           [LENGTHS] = {1, {b}},
                  [INITIAL_H] = {3, {d, b, h}},    [INITIAL_C] = {3, {d, b, h}},
                  [PEEPHOLES] = {2, {d, 3 * h}},   [W_SCALE] = {2, {d, 4 * h}},
                  [W_ZERO] = {2, {d, 4 * h}},      [R_SCALE] = {2, {d, 4 * h}},
                  [R_ZERO] = {2, {d, 4 * h}}};
    for (int32_t i = W; i < node->input_count && i <= R_ZERO; i++) {
        const tort_info *info = &node->inputs[i];
        if (!tort_has_input(node, i)) continue;
        const bool one = i >= W_SCALE && info->rank == 1 && info->dims[0] == d;
        bool fits = info->rank == wanted[i].rank;
        for (int32_t k = 0; fits && k < info->rank; k++) fits = info->dims[k] == wanted[i].dims[k];
        if (!fits && !one)
            return tort_fail(resolve->error, TORT_E_MODEL,
                             "the shape of input %d does not fit %lld directions, hidden size %lld and X", (int)i,
                             (long long)d, (long long)h);
    }
    return TORT_OK;
}

/* Numbers of elements of the arrays in scratch. */
typedef struct lstm_sizes {
    int64_t w, r, x, states, gates;
} lstm_sizes;

static lstm_sizes sizes_of(const tort_rnn_params *p) {
    return (lstm_sizes){.w = p->directions * p->input * 4 * p->hidden,
                        .r = p->directions * p->hidden * 4 * p->hidden,
                        .x = p->length * p->batch * p->input,
                        .states = p->batch * p->hidden,
                        .gates = p->batch * 4 * p->hidden};
}

static tort_status resolve_lstm(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    tort_rnn_params *p = resolve->params;
    tort_status status = tort_rnn_attributes(resolve, p);
    if (status != TORT_OK) return status;
    if (!tort_inputs_known(node)) return TORT_OK;
    p->length = node->inputs[X].dims[0];
    p->batch = node->inputs[X].dims[1];
    p->input = node->inputs[X].dims[2];
    p->hidden = node->inputs[R].dims[1];
    if (tort_attr(node, "hidden_size") && tort_attr_int(node, "hidden_size") != p->hidden)
        return tort_fail(resolve->error, TORT_E_MODEL, "hidden_size is %lld; R says %lld",
                         (long long)tort_attr_int(node, "hidden_size"), (long long)p->hidden);
    status = check_shapes(resolve, p);
    /* Each size is at most a few times that of a tensor of the node: the sums cannot overflow. */
    const lstm_sizes s = sizes_of(p);
    resolve->scratch_bytes =
        (size_t)(2 * s.states + s.gates) * sizeof(double) + (size_t)(s.w + s.r + s.x + 2 * s.states) * sizeof(float);
    return status;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

typedef struct lstm_walk {
    const tort_call *call;
    const tort_rnn_params *params;
    double *h, *c, *gates;     /* [batch][hidden], and [batch][4 * hidden] */
    float *w, *r;              /* less their zero points */
    float *x, *state, *spread; /* X and the states, quantized; the states as floats */
    float x_scale, state_scale;
    int64_t direction, step, longest;
} lstm_walk;

/* Quantizes to integers in the range of uint8, less their zero point, stored as floats; returns the scale. */
static float round_all(struct tort_watch *watch, const float *from, int64_t count, float *out) {
    float scale, zero;
    tort_dynamic_scale(watch, from, count, &scale, &zero);
    const float min = -zero, max = 255 - zero, round = 0x1.8p23f, divisor = scale > 0 ? scale : 1;
    for (int64_t at = 0; at < count && tort_row_goes_on(watch, at); at += TORT_PART)
        for (int64_t i = at; i < count && i < at + TORT_PART; i++) {
            const float x = from[i] / divisor, above = x > min ? x : min;
            out[i] = ((above < max ? above : max) + round) - round;
        }
    return scale;
}

/* Widens input `weights` to floats, less its zero points. */
static void widen_weights(const tort_call *call, int32_t weights, int32_t zeros, float *out) {
    const tort_rnn_params *p = call->params;
    const tort_tensor *from = &call->inputs[weights], *zero = &call->inputs[zeros];
    const int64_t columns = 4 * p->hidden, rows = tort_count(from) / columns;
    for (int64_t row = 0, done = 0; row < rows && tort_work_goes_on(call->watch, &done, 8 * columns); row++) {
        const int64_t direction = row / (rows / p->directions);
        float *to = out + row * columns;
        tort_load_floats(from->type, from->data, row * columns, columns, to);
        for (int64_t j = 0; j < columns; j++) {
            float subtracted;
            tort_load_floats(zero->type, zero->data, zero->rank == 2 ? direction * columns + j : direction, 1,
                             &subtracted);
            to[j] -= subtracted;
        }
    }
}

static int64_t length_of(const lstm_walk *walk, int64_t batch) {
    const tort_tensor *lengths = tort_call_input(walk->call, LENGTHS);
    return lengths ? tort_index_at(lengths, batch) : walk->params->length;
}

/* Step of X that sequence `batch` is at; -1: it has ended. Its length was checked, but see ops/index.h. */
static int64_t position(const lstm_walk *walk, int64_t batch) {
    const bool backwards = walk->params->reverse || walk->direction == 1;
    const int64_t length = tort_index_within(length_of(walk, batch), walk->params->length + 1);
    if (walk->step >= length) return -1;
    return backwards ? length - 1 - walk->step : walk->step;
}

/* gates += (a * weights) * scale, of columns first .. first+count-1. */
static void add_product(const lstm_walk *walk, const float *a, float a_scale, const float *weights, int64_t depth,
                        int32_t scales, int64_t first, int64_t count, double *gates) {
    const int64_t columns = 4 * walk->params->hidden;
    const tort_tensor *scale = &walk->call->inputs[scales];
    const tort_product_row row = {.watch = walk->call->watch,
                                  .a = a,
                                  .b = weights + walk->direction * depth * columns,
                                  .k = depth,
                                  .a_step = 1,
                                  .b_first = first,
                                  .b_row_step = columns,
                                  .b_column_step = 1};
    double sums[TORT_BLOCK];
    tort_product_floats(TORT_FLOAT, &row, count, sums);
    for (int64_t j = 0; j < count; j++) {
        const int64_t at = scale->rank == 2 ? walk->direction * columns + first + j : walk->direction;
        gates[first + j] += sums[j] * (double)(a_scale * ((const float *)scale->data)[at]);
    }
}

static void store(const tort_tensor *to, int64_t first, int64_t count, const double *from) {
    if (to) tort_store_doubles(to->type, to->data, first, count, from);
}

/* Makes one step of the sequences begin .. end-1. */
static void step_sequences(void *arg, int64_t begin, int64_t end) {
    const lstm_walk *walk = arg;
    const tort_rnn_params *p = walk->params;
    const tort_call *call = walk->call;
    const tort_tensor *bias = tort_call_input(call, B);
    const int64_t columns = 4 * p->hidden;
    for (int64_t b = begin; b < end; b++) {
        double *h = walk->h + b * p->hidden, *c = walk->c + b * p->hidden, *gates = walk->gates + b * columns;
        const int64_t t = position(walk, b);
        if (t < 0) continue;
        for (int64_t j = 0; j < columns; j++) {
            const int64_t at = walk->direction * 2 * columns + j;
            gates[j] = bias ? tort_element_at(bias, at) + tort_element_at(bias, at + columns) : 0;
        }
        for (int64_t first = 0; first < columns; first += TORT_BLOCK) {
            const int64_t count = tort_block_count(columns, first);
            add_product(walk, walk->x + (t * p->batch + b) * p->input, walk->x_scale, walk->w, p->input, W_SCALE, first,
                        count, gates);
            add_product(walk, walk->state + b * p->hidden, walk->state_scale, walk->r, p->hidden, R_SCALE, first, count,
                        gates);
        }
        tort_lstm_cell(p, walk->direction, tort_call_input(call, PEEPHOLES), gates, c, h);
        store(tort_call_output(call, Y), ((t * p->directions + walk->direction) * p->batch + b) * p->hidden, p->hidden,
              h);
    }
}

/* Sets the states that sequences begin in. */
static void begin_states(const lstm_walk *walk) {
    const int64_t count = sizes_of(walk->params).states;
    const tort_tensor *h = tort_call_input(walk->call, INITIAL_H), *c = tort_call_input(walk->call, INITIAL_C);
    memset(walk->h, 0, (size_t)count * sizeof *walk->h);
    memset(walk->c, 0, (size_t)count * sizeof *walk->c);
    if (h) tort_load_doubles(h->type, h->data, walk->direction * count, count, walk->h);
    if (c) tort_load_doubles(c->type, c->data, walk->direction * count, count, walk->c);
}

/* Outputs the states of the sequences that end after this number of steps. As in ONNX Runtime these states still count
 * for the scale of the next step; then they become zeros. */
static void end_sequences(const lstm_walk *walk, int64_t steps) {
    const tort_rnn_params *p = walk->params;
    for (int64_t b = 0; b < p->batch; b++) {
        double *h = walk->h + b * p->hidden, *c = walk->c + b * p->hidden;
        const int64_t at = (walk->direction * p->batch + b) * p->hidden;
        if (length_of(walk, b) == steps - 1) memset(h, 0, (size_t)p->hidden * sizeof *h);
        if (length_of(walk, b) != steps) continue;
        store(tort_call_output(walk->call, Y_H), at, p->hidden, h);
        store(tort_call_output(walk->call, Y_C), at, p->hidden, c);
    }
}

static void walk_direction(lstm_walk *walk) {
    const tort_rnn_params *p = walk->params;
    const int64_t states = sizes_of(p).states;
    begin_states(walk);
    end_sequences(walk, 0);
    for (walk->step = 0; walk->step < walk->longest && tort_call_goes_on(walk->call, 0); walk->step++) {
        for (int64_t i = 0; i < states; i++) walk->spread[i] = (float)walk->h[i];
        walk->state_scale = round_all(walk->call->watch, walk->spread, states, walk->state);
        tort_parallel(walk->call, p->batch, 4 * p->hidden * (p->hidden + p->input), step_sequences, walk);
        end_sequences(walk, walk->step + 1);
    }
}

static tort_status check_lengths(const tort_call *call, lstm_walk *walk) {
    for (int64_t b = 0; b < walk->params->batch; b++) {
        const int64_t length = length_of(walk, b);
        if (length < 0 || length > walk->params->length)
            return tort_fail(call->error, TORT_E_RUN, "sequence_lens[%lld] is %lld, expected 0 to %lld", (long long)b,
                             (long long)length, (long long)walk->params->length);
        walk->longest = length > walk->longest ? length : walk->longest;
    }
    return TORT_OK;
}

static tort_status run_lstm(const tort_call *call) {
    const tort_rnn_params *p = call->params;
    const lstm_sizes s = sizes_of(p);
    const tort_tensor *y = tort_call_output(call, Y);
    lstm_walk walk = {.call = call, .params = p, .h = call->scratch};
    tort_status status = check_lengths(call, &walk);
    if (status != TORT_OK) return status;
    walk.c = walk.h + s.states;
    walk.gates = walk.c + s.states;
    walk.w = (float *)(walk.gates + s.gates);
    walk.r = walk.w + s.w;
    walk.x = walk.r + s.r;
    walk.state = walk.x + s.x;
    walk.spread = walk.state + s.states;
    if (y) memset(y->data, 0, (size_t)tort_count(y) * sizeof(float));
    if (s.states == 0) return TORT_OK;
    widen_weights(call, W, W_ZERO, walk.w);
    widen_weights(call, R, R_ZERO, walk.r);
    walk.x_scale = round_all(call->watch, call->inputs[X].data, walk.longest * p->batch * p->input, walk.x);
    for (walk.direction = 0; walk.direction < p->directions; walk.direction++) walk_direction(&walk);
    return TORT_OK;
}

const tort_op tort_ops_dynamic_quantize_lstm[] = {
    {"com.microsoft", "DynamicQuantizeLSTM", 1, 1,
     "X:T W:T2 R:T2 B?:T sequence_lens?:T1 initial_h?:T initial_c?:T P?:T W_scale:T W_zero_point:T2 R_scale:T "
     "R_zero_point:T2",
     "Y?:T Y_h?:T Y_c?:T", "T=float T1=int32 T2=uint8|int8",
     "activation_alpha:floats activation_beta:floats activations:strings clip:float direction:string=forward "
     "hidden_size:int input_forget:int=0",
     .params_size = sizeof(tort_rnn_params), infer_lstm, resolve_lstm, run_lstm},
    {0},
};
