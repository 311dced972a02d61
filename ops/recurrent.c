/* recurrent.c - RNN, GRU and LSTM, every version: one or both directions, sequence lengths, peepholes, clip, any
 * activations, linear_before_reset, input_forget, both layouts.
 *
 * The plain loop walks one batch entry in one direction at a time; sums and gates are double, the hidden state has the
 * type of X (float for smaller ones), and outputs round once. Behind the end of a sequence Y is 0; a reversed sequence
 * begins at its own end. Read next: recurrent.h, matmul.h. */
#include "ops/recurrent.h"
#include "ops/matmul.h"
#include "ops/numeric.h"
#include "ops/shapes.h"
#include "ops/widen.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

enum { INPUT_X, INPUT_W, INPUT_R, INPUT_B, INPUT_LENGTHS, INPUT_H, INPUT_C, INPUT_P };
enum { OUTPUT_Y, OUTPUT_H, OUTPUT_C };

/* ---- activations ------------------------------------------------------------------------------------------------- */

/* Names are compared without regard to case. The defaults of alpha and beta are those of the operators of that name;
 * uses says which of the two lists of the node an activation takes an entry from. */
static const struct {
    const char *name;
    float alpha, beta;
    bool uses_alpha, uses_beta;
} functions[TORT_GATE_COUNT] = {
    [TORT_GATE_SIGMOID] = {"Sigmoid", 0, 0, false, false},
    [TORT_GATE_TANH] = {"Tanh", 0, 0, false, false},
    [TORT_GATE_RELU] = {"Relu", 0, 0, false, false},
    [TORT_GATE_AFFINE] = {"Affine", 1, 0, true, true},
    [TORT_GATE_LEAKY_RELU] = {"LeakyRelu", 0.01f, 0, true, false},
    [TORT_GATE_THRESHOLDED_RELU] = {"ThresholdedRelu", 1, 0, true, false},
    [TORT_GATE_SCALED_TANH] = {"ScaledTanh", 1, 1, true, true},
    [TORT_GATE_HARD_SIGMOID] = {"HardSigmoid", 0.2f, 0.5f, true, true},
    [TORT_GATE_ELU] = {"Elu", 1, 0, true, false},
    [TORT_GATE_SOFTSIGN] = {"Softsign", 0, 0, false, false},
    [TORT_GATE_SOFTPLUS] = {"Softplus", 0, 0, false, false},
};

static double activate(const tort_gate *gate, double x) {
    const double alpha = (double)gate->alpha, beta = (double)gate->beta;
    switch (gate->function) {
    case TORT_GATE_SIGMOID: return 1 / (1 + exp(-x));
    case TORT_GATE_TANH: return tanh(x);
    case TORT_GATE_RELU: return x < 0 ? 0 : x;
    case TORT_GATE_AFFINE: return alpha * x + beta;
    case TORT_GATE_LEAKY_RELU: return x < 0 ? alpha * x : x;
    case TORT_GATE_THRESHOLDED_RELU: return x < alpha ? 0 : x;
    case TORT_GATE_SCALED_TANH: return alpha * tanh(beta * x);
    case TORT_GATE_HARD_SIGMOID: return fmin(fmax(alpha * x + beta, 0), 1);
    case TORT_GATE_ELU: return x < 0 ? alpha * expm1(x) : x;
    case TORT_GATE_SOFTSIGN: return x / (1 + fabs(x));
    default: return fmax(x, 0) + log1p(exp(-fabs(x)));
    }
}

static tort_status find_function(const tort_string *name, tort_gate_function *out, tort_error *error) {
    for (int32_t i = 0; i < TORT_GATE_COUNT; i++)
        if (strcasecmp(functions[i].name, name->data) == 0) {
            *out = (tort_gate_function)i;
            return TORT_OK;
        }
    return tort_fail(error, TORT_E_MODEL, "activation '%.40s' is not one of those that the operator lists", name->data);
}

static tort_status read_activations(const tort_node_view *node, tort_recurrent_params *p, tort_error *error) {
    static const tort_gate_function defaults[3][3] = {
        [TORT_RNN] = {TORT_GATE_TANH},
        [TORT_GRU] = {TORT_GATE_SIGMOID, TORT_GATE_TANH},
        [TORT_LSTM] = {TORT_GATE_SIGMOID, TORT_GATE_TANH, TORT_GATE_TANH}};
    const tort_attribute *names = tort_attr(node, "activations");
    const int32_t each = p->kind == TORT_LSTM ? 3 : p->kind == TORT_GRU ? 2 : 1, count = each * p->directions;
    const bool given = names && names->kind == TORT_ATTR_STRINGS && names->count > 0;
    int32_t alphas, betas, alpha = 0, beta = 0;
    const float *alpha_list = tort_attr_floats(node, "activation_alpha", &alphas);
    const float *beta_list = tort_attr_floats(node, "activation_beta", &betas);
    if (given && names->count < count)
        return tort_fail(error, TORT_E_MODEL, "attribute activations has %d entries, expected %d", (int)names->count,
                         (int)count);
    for (int32_t i = 0; i < count; i++) {
        tort_gate *gate = &p->activations[i / each][i % each];
        gate->function = defaults[p->kind][i % each];
        tort_status status = given ? find_function(&names->u.strings[i], &gate->function, error) : TORT_OK;
        if (status) return status;
        gate->alpha = functions[gate->function].alpha;
        gate->beta = functions[gate->function].beta;
        if (functions[gate->function].uses_alpha && alpha < alphas) gate->alpha = alpha_list[alpha++];
        if (functions[gate->function].uses_beta && beta < betas) gate->beta = beta_list[beta++];
    }
    return TORT_OK;
}

/* ---- infer ------------------------------------------------------------------------------------------------------- */

static tort_status read_direction(const tort_node_view *node, int32_t *directions, bool *reverse, tort_error *error) {
    const char *direction = tort_attr_string(node, "direction");
    *reverse = strcasecmp(direction, "reverse") == 0;
    *directions = strcasecmp(direction, "bidirectional") == 0 ? 2 : 1;
    /* "foward" is the default that version 1 of GRU writes down. */
    if (*reverse || *directions == 2 || strcasecmp(direction, "forward") == 0 || strcasecmp(direction, "foward") == 0)
        return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "attribute direction is '%.40s', expected forward, reverse or bidirectional",
                     direction);
}

/* hidden_size, or what R and W tell; -1: not known. */
static int64_t hidden_size(const tort_node_view *node, int32_t gates) {
    const int64_t given = tort_attr_int(node, "hidden_size");
    const int64_t columns = tort_known_dim(&node->inputs[INPUT_R], 2), rows = tort_known_dim(&node->inputs[INPUT_W], 1);
    return given > 0 ? given : columns >= 0 ? columns : rows >= 0 ? rows / gates : -1;
}

static tort_status expect_shape(const tort_infer *infer, int32_t input, const char *name, int32_t rank,
                                const int64_t *expected) {
    const tort_info *info = &infer->node->inputs[input];
    if (!tort_has_input(infer->node, input) || info->rank < 0) return TORT_OK;
    if (info->rank != rank)
        return tort_fail(infer->error, TORT_E_MODEL, "%s has rank %d, expected %d", name, (int)info->rank, (int)rank);
    for (int32_t i = 0; i < rank; i++) {
        const int64_t have = tort_known_dim(info, i);
        if (have >= 0 && expected[i] >= 0 && have != expected[i])
            return tort_fail(infer->error, TORT_E_MODEL, "%s has size %" PRId64 " along axis %d, expected %" PRId64,
                             name, have, (int)i, expected[i]);
    }
    return TORT_OK;
}

static tort_status infer_recurrent(tort_infer *infer, int32_t gates) {
    const tort_node_view *node = infer->node;
    const tort_info *x = &node->inputs[INPUT_X];
    const bool batch_first = tort_attr_int(node, "layout") != 0;
    int32_t directions;
    bool reverse;
    tort_status status = read_direction(node, &directions, &reverse, infer->error);
    if (status) return status;
    const int64_t size = hidden_size(node, gates);
    const int64_t batch = tort_known_dim(x, batch_first ? 0 : 1), rows = size < 0 ? -1 : gates * size;
    if (size > INT32_MAX)
        return tort_fail(infer->error, TORT_E_MODEL, "the hidden size is %" PRId64 ", expected less than 2147483648",
                         size);
    if (x->rank >= 0 && x->rank != 3)
        return tort_fail(infer->error, TORT_E_MODEL, "X has rank %d, expected 3", (int)x->rank);
    const int64_t w[3] = {directions, rows, tort_known_dim(x, 2)}, r[3] = {directions, rows, size};
    const int64_t b[2] = {directions, rows < 0 ? -1 : 2 * rows}, p[2] = {directions, size < 0 ? -1 : 3 * size};
    const int64_t h[3] = {batch_first ? batch : directions, batch_first ? directions : batch, size};
    status = expect_shape(infer, INPUT_W, "W", 3, w);
    if (!status) status = expect_shape(infer, INPUT_R, "R", 3, r);
    if (!status) status = expect_shape(infer, INPUT_B, "B", 2, b);
    if (!status) status = expect_shape(infer, INPUT_LENGTHS, "sequence_lens", 1, &batch);
    if (!status) status = expect_shape(infer, INPUT_H, "initial_h", 3, h);
    if (!status) status = expect_shape(infer, INPUT_C, "initial_c", 3, h);
    if (!status) status = expect_shape(infer, INPUT_P, "P", 2, p);
    if (status) return status;
    const tort_dim last = size < 0 ? tort_dim_fresh(infer->dims, true) : size;
    const tort_dim time = x->rank == 3 ? x->dims[batch_first] : tort_dim_fresh(infer->dims, true);
    const tort_dim entries = x->rank == 3 ? x->dims[!batch_first] : tort_dim_fresh(infer->dims, true);
    const tort_dim y[4] = {batch_first ? entries : time, batch_first ? time : directions,
                           batch_first ? directions : entries, last};
    const tort_dim state[3] = {batch_first ? entries : directions, batch_first ? directions : entries, last};
    tort_infer_shape(infer, OUTPUT_Y, x->type, 4, y);
    for (int32_t i = OUTPUT_H; i < node->output_count; i++) tort_infer_shape(infer, i, x->type, 3, state);
    return TORT_OK;
}

static tort_status infer_rnn(tort_infer *infer) {
    return infer_recurrent(infer, 1);
}

static tort_status infer_gru(tort_infer *infer) {
    return infer_recurrent(infer, 3);
}

static tort_status infer_lstm(tort_infer *infer) {
    return infer_recurrent(infer, 4);
}

/* ---- resolve ----------------------------------------------------------------------------------------------------- */

/* What one task keeps: sums of X and of the state for each gate, both states and two vectors beside them. */
static bool task_scratch(const tort_recurrent_params *p, size_t *bytes) {
    return tort_mul_size((size_t)(2 * p->gates + 4), (size_t)p->hidden, bytes) &&
           tort_mul_size(*bytes, sizeof(double), bytes) && tort_align_size(*bytes, TORT_HOST_ALIGN, bytes);
}

static tort_status size_scratch(tort_resolve *resolve) {
    const tort_recurrent_params *p = resolve->params;
    size_t wide, each, all;
    if (p->hidden < 0 || p->batch < 0) return TORT_OK;
    if (tort_widen_scratch(resolve->node, INPUT_B + 1, &wide) && tort_align_size(wide, TORT_HOST_ALIGN, &wide) &&
        task_scratch(p, &each) && tort_mul_size(each, (size_t)p->batch, &all) &&
        tort_mul_size(all, (size_t)p->directions, &all) && tort_add_size(all, wide, &resolve->scratch_bytes))
        return TORT_OK;
    return tort_out_of_memory(resolve->error, SIZE_MAX);
}

static tort_status resolve_recurrent(tort_resolve *resolve, tort_recurrent_kind kind, int32_t gates) {
    tort_recurrent_params *p = resolve->params;
    const tort_node_view *node = resolve->node;
    const tort_attribute *clip = tort_attr(node, "clip");
    tort_status status = read_direction(node, &p->directions, &p->reverse, resolve->error);
    p->kind = kind;
    p->gates = gates;
    p->batch_first = tort_attr_int(node, "layout") != 0;
    p->linear_before_reset = tort_attr_int(node, "linear_before_reset") != 0;
    p->input_forget = tort_attr_int(node, "input_forget") != 0;
    p->clipped = clip != NULL && clip->kind == TORT_ATTR_FLOAT && clip->u.f > 0;
    p->clip = p->clipped ? clip->u.f : 0;
    p->length = tort_known_dim(&node->inputs[INPUT_X], p->batch_first ? 1 : 0);
    p->batch = tort_known_dim(&node->inputs[INPUT_X], p->batch_first ? 0 : 1);
    p->input = tort_known_dim(&node->inputs[INPUT_X], 2);
    p->hidden = hidden_size(node, gates);
    if (!status) status = read_activations(node, p, resolve->error);
    return status ? status : size_scratch(resolve);
}

static tort_status resolve_rnn(tort_resolve *resolve) {
    return resolve_recurrent(resolve, TORT_RNN, 1);
}

static tort_status resolve_gru(tort_resolve *resolve) {
    return resolve_recurrent(resolve, TORT_GRU, 3);
}

static tort_status resolve_lstm(tort_resolve *resolve) {
    return resolve_recurrent(resolve, TORT_LSTM, 4);
}

int64_t tort_recurrent_x(const tort_recurrent_params *p, int64_t time, int64_t entry) {
    return (p->batch_first ? entry * p->length + time : time * p->batch + entry) * p->input;
}

int64_t tort_recurrent_y(const tort_recurrent_params *p, int64_t time, int64_t entry, int64_t direction) {
    const int64_t row = p->batch_first ? (entry * p->length + time) * p->directions + direction
                                       : (time * p->directions + direction) * p->batch + entry;
    return row * p->hidden;
}

int64_t tort_recurrent_state(const tort_recurrent_params *p, int64_t entry, int64_t direction) {
    return (p->batch_first ? entry * p->directions + direction : direction * p->batch + entry) * p->hidden;
}

/* ---- the plain loop ---------------------------------------------------------------------------------------------- */

typedef struct recurrent_job {
    const tort_call *call;
    const tort_recurrent_params *params;
    tort_type type;      /* of data and of hidden states: float or double */
    const void *data[4]; /* X, W, R, B or NULL */
    char *scratch;       /* one part a task */
    size_t each;
} recurrent_job;

/* One batch entry in one direction. */
typedef struct walker {
    const recurrent_job *job;
    const tort_recurrent_params *p;
    const tort_gate *gates;
    int64_t entry, direction;
    double *from_x, *from_h; /* sums for each gate */
    double *c, *out;         /* cell state; new hidden state */
    void *h, *reset;         /* hidden state, and it times the reset gate, as they enter products */
} walker;

static double clip(const tort_recurrent_params *p, double x) {
    const double limit = (double)p->clip;
    if (!p->clipped) return x;
    return x > limit ? limit : x < -limit ? -limit : x;
}

static double bias(const walker *w, int64_t gate, int64_t j) {
    const tort_recurrent_params *p = w->p;
    if (!w->job->data[INPUT_B]) return 0;
    return tort_wide_element(w->job->type, w->job->data[INPUT_B], (w->direction * 2 * p->gates + gate) * p->hidden + j);
}

/* out[j] = sum of state or input (k elements from `first`) times row j of weights, for the rows of gates from .. to. */
static void multiply(const walker *w, const void *vector, int64_t first, int64_t k, const void *weights, int64_t from,
                     int64_t to, double *out) {
    const tort_recurrent_params *p = w->p;
    const tort_product_row row = {.a = vector,
                                  .b = weights,
                                  .k = k,
                                  .a_first = first,
                                  .a_step = 1,
                                  .b_first = (w->direction * p->gates + from) * p->hidden * k,
                                  .b_row_step = 1,
                                  .b_column_step = k};
    tort_product_floats(w->job->type, &row, (to - from) * p->hidden, out + from * p->hidden);
}

static double peephole(const walker *w, int64_t gate, int64_t j) {
    const tort_tensor *peepholes = tort_call_input(w->job->call, INPUT_P);
    double value = 0;
    if (peepholes)
        tort_load_doubles(peepholes->type, peepholes->data, (w->direction * 3 + gate) * w->p->hidden + j, 1, &value);
    return value;
}

static void step_rnn(walker *w) {
    for (int64_t j = 0; j < w->p->hidden; j++)
        w->out[j] = activate(&w->gates[0], clip(w->p, w->from_x[j] + w->from_h[j] + bias(w, 0, j) + bias(w, 1, j)));
}

static void set_wide(tort_type type, void *data, int64_t i, double value) {
    if (type == TORT_DOUBLE)
        ((double *)data)[i] = value;
    else
        ((float *)data)[i] = (float)value;
}

/* Gates: update z, reset r, hidden. */
static void step_gru(walker *w) {
    const tort_recurrent_params *p = w->p;
    const int64_t n = p->hidden;
    const tort_type type = w->job->type;
    for (int64_t j = 0; j < n; j++) {
        const double z = w->from_x[j] + w->from_h[j] + bias(w, 0, j) + bias(w, 3, j);
        const double r = w->from_x[n + j] + w->from_h[n + j] + bias(w, 1, j) + bias(w, 4, j);
        w->from_x[j] = activate(&w->gates[0], clip(p, z));
        w->from_x[n + j] = activate(&w->gates[0], clip(p, r));
        set_wide(type, w->reset, j, w->from_x[n + j] * tort_wide_element(type, w->h, j));
    }
    if (!p->linear_before_reset) multiply(w, w->reset, 0, n, w->job->data[INPUT_R], 2, 3, w->from_h);
    for (int64_t j = 0; j < n; j++) {
        const double z = w->from_x[j], linear = w->from_h[2 * n + j] + bias(w, 5, j);
        const double sum =
            w->from_x[2 * n + j] + bias(w, 2, j) + (p->linear_before_reset ? w->from_x[n + j] : 1) * linear;
        w->out[j] = (1 - z) * activate(&w->gates[1], clip(p, sum)) + z * tort_wide_element(type, w->h, j);
    }
}

/* Gates: input, output, forget, cell. Peepholes: input, output, forget. */
static void step_lstm(walker *w) {
    const tort_recurrent_params *p = w->p;
    const int64_t n = p->hidden;
    for (int64_t j = 0; j < n; j++) {
        double sums[4];
        for (int64_t g = 0; g < 4; g++)
            sums[g] = w->from_x[g * n + j] + w->from_h[g * n + j] + bias(w, g, j) + bias(w, 4 + g, j);
        const double before = w->c[j];
        const double in = activate(&w->gates[0], clip(p, sums[0] + peephole(w, 0, j) * before));
        const double forget =
            p->input_forget ? 1 - in : activate(&w->gates[0], clip(p, sums[2] + peephole(w, 2, j) * before));
        w->c[j] = forget * before + in * activate(&w->gates[1], clip(p, sums[3]));
        const double out = activate(&w->gates[0], clip(p, sums[1] + peephole(w, 1, j) * w->c[j]));
        w->out[j] = out * activate(&w->gates[2], w->c[j]); /* clip cuts sums of gates, not the cell */
    }
}

static void step(walker *w, int64_t time) {
    const tort_recurrent_params *p = w->p;
    const recurrent_job *job = w->job;
    const tort_tensor *y = tort_call_output(job->call, OUTPUT_Y);
    const bool late = p->kind == TORT_GRU && !p->linear_before_reset; /* the hidden gate waits for the reset gate */
    multiply(w, job->data[INPUT_X], tort_recurrent_x(p, time, w->entry), p->input, job->data[INPUT_W], 0, p->gates,
             w->from_x);
    multiply(w, w->h, 0, p->hidden, job->data[INPUT_R], 0, late ? 2 : p->gates, w->from_h);
    if (p->kind == TORT_RNN)
        step_rnn(w);
    else if (p->kind == TORT_GRU)
        step_gru(w);
    else
        step_lstm(w);
    for (int64_t j = 0; j < p->hidden; j++) set_wide(job->type, w->h, j, w->out[j]);
    if (y) tort_store_doubles(y->type, y->data, tort_recurrent_y(p, time, w->entry, w->direction), p->hidden, w->out);
}

/* Initial states; without one it is 0. */
static void begin_walk(walker *w) {
    const int64_t at = tort_recurrent_state(w->p, w->entry, w->direction), n = w->p->hidden;
    const tort_tensor *h = tort_call_input(w->job->call, INPUT_H), *c = tort_call_input(w->job->call, INPUT_C);
    for (int64_t j = 0; j < n; j++) w->out[j] = w->c[j] = 0;
    if (h) tort_load_doubles(h->type, h->data, at, n, w->out);
    if (c) tort_load_doubles(c->type, c->data, at, n, w->c);
    for (int64_t j = 0; j < n; j++) set_wide(w->job->type, w->h, j, w->out[j]);
}

static void end_walk(walker *w, int64_t length) {
    const tort_recurrent_params *p = w->p;
    const int64_t at = tort_recurrent_state(p, w->entry, w->direction), n = p->hidden;
    const tort_tensor *y = tort_call_output(w->job->call, OUTPUT_Y);
    const tort_tensor *h = tort_call_output(w->job->call, OUTPUT_H), *c = tort_call_output(w->job->call, OUTPUT_C);
    if (h) tort_store_doubles(h->type, h->data, at, n, w->out);
    if (c) tort_store_doubles(c->type, c->data, at, n, w->c);
    for (int64_t j = 0; j < n; j++) w->out[j] = 0;
    for (int64_t time = length; y && time < p->length; time++)
        tort_store_doubles(y->type, y->data, tort_recurrent_y(p, time, w->entry, w->direction), n, w->out);
}

static void walk(void *arg, int64_t begin, int64_t end) {
    const recurrent_job *job = arg;
    const tort_recurrent_params *p = job->params;
    const tort_tensor *lengths = tort_call_input(job->call, INPUT_LENGTHS);
    for (int64_t task = begin; task < end; task++) {
        double *scratch = (double *)(void *)(job->scratch + (size_t)task * job->each);
        walker w = {.job = job, .p = p, .entry = task % p->batch, .direction = task / p->batch, .from_x = scratch};
        w.gates = p->activations[w.direction];
        w.from_h = w.from_x + p->gates * p->hidden;
        w.c = w.from_h + p->gates * p->hidden;
        w.out = w.c + p->hidden;
        w.h = w.out + p->hidden;
        w.reset = w.out + 2 * p->hidden;
        const int64_t length = lengths ? ((const int32_t *)lengths->data)[w.entry] : p->length;
        const bool backwards = w.direction == 1 || p->reverse;
        begin_walk(&w);
        for (int64_t i = 0; i < length; i++) step(&w, backwards ? length - 1 - i : i);
        end_walk(&w, length);
    }
}

static tort_status run_recurrent(const tort_call *call) {
    const tort_recurrent_params *p = call->params;
    const tort_tensor *lengths = tort_call_input(call, INPUT_LENGTHS);
    recurrent_job job = {.call = call, .params = p};
    for (int64_t i = 0; lengths && i < p->batch; i++) {
        const int32_t length = ((const int32_t *)lengths->data)[i];
        if (length < 0 || length > p->length)
            return tort_fail(call->error, TORT_E_RUN,
                             "sequence_lens[%" PRId64 "] is %d, expected 0 to %" PRId64 ", the length of X", i,
                             (int)length, p->length);
    }
    if (p->batch == 0 || p->hidden == 0) return TORT_OK;
    tort_widen_inputs(call, INPUT_B + 1, &job.type, job.data);
    size_t wide = 0;
    for (int32_t i = 0; job.type == TORT_FLOAT && i <= INPUT_B; i++)
        if (job.data[i] && job.data[i] != call->inputs[i].data)
            wide += (size_t)tort_count(&call->inputs[i]) * sizeof(float);
    tort_align_size(wide, TORT_HOST_ALIGN, &wide);
    task_scratch(p, &job.each);
    job.scratch = (char *)call->scratch + wide;
    tort_parallel(call, p->directions * p->batch, p->length * p->gates * p->hidden * (p->hidden + p->input) + 1, walk,
                  &job);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define COMMON                                                                                                         \
    "activation_alpha:floats activation_beta:floats clip:float direction:string=forward hidden_size:int "              \
    "activations:strings"
#define RNN_COMMON                                                                                                     \
    "activation_alpha:floats activation_beta:floats clip:float direction:string=forward hidden_size:int "              \
    "activations:strings=Tanh,Tanh"
#define ROW(name_, since_, until_, inputs_, outputs_, types_, attributes_, infer_, resolve_)                           \
    {                                                                                                                  \
        .domain = "", .name = name_, .since = since_, .until = until_,                                                 \
        .inputs = "X:T W:T R:T B?:T sequence_lens?:T1 initial_h?:T" inputs_, .outputs = outputs_, .types = types_,     \
        .attributes = attributes_, .params_size = sizeof(tort_recurrent_params), .infer = infer_, .resolve = resolve_, \
        .reference = run_recurrent                                                                                     \
    }
#define RNN(since_, until_, types_, attributes_)                                                                       \
    ROW("RNN", since_, until_, "", "Y?:T Y_h?:T", types_, RNN_COMMON attributes_, infer_rnn, resolve_rnn)
#define GRU(since_, until_, types_, attributes_)                                                                       \
    ROW("GRU", since_, until_, "", "Y?:T Y_h?:T", types_, COMMON attributes_, infer_gru, resolve_gru)
#define LSTM(since_, until_, types_, attributes_)                                                                      \
    ROW("LSTM", since_, until_, " initial_c?:T P?:T", "Y?:T Y_h?:T Y_c?:T", types_, COMMON attributes_, infer_lstm,    \
        resolve_lstm)

const tort_op tort_ops_recurrent[] = {
    RNN(1, 6, "T=floats T1=int32", " output_sequence:int=0"),
    RNN(7, 13, "T=floats T1=int32", ""),
    RNN(14, 21, "T=floats T1=int32", " layout:int=0"),
    RNN(22, TORT_NEWEST_OPSET, "T=floats13 T1=int32", " layout:int=0"),
    ROW("GRU", 1, 2, "", "Y?:T Y_h:T", "T=floats T1=int32",
        "activation_alpha:floats activation_beta:floats clip:float direction:string=foward hidden_size:int "
        "activations:strings output_sequence:int=0",
        infer_gru, resolve_gru),
    GRU(3, 6, "T=floats T1=int32", " output_sequence:int=0 linear_before_reset:int=0"),
    GRU(7, 13, "T=floats T1=int32", " linear_before_reset:int=0"),
    GRU(14, 21, "T=floats T1=int32", " linear_before_reset:int=0 layout:int=0"),
    GRU(22, TORT_NEWEST_OPSET, "T=floats13 T1=int32", " linear_before_reset:int=0 layout:int=0"),
    LSTM(1, 6, "T=floats T1=int32", " output_sequence:int=0 input_forget:int=0"),
    LSTM(7, 13, "T=floats T1=int32", " input_forget:int=0"),
    LSTM(14, 21, "T=floats T1=int32", " input_forget:int=0 layout:int=0"),
    LSTM(22, TORT_NEWEST_OPSET, "T=floats13 T1=int32", " input_forget:int=0 layout:int=0"),
    {0},
};
