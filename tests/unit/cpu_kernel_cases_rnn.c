/* cpu_kernel_cases_rnn.c - the random nodes of RNN, LSTM and GRU for cpu_kernels.c.
 *
 * Weights are small, so that what the functions round does not grow from step to step. */
#include <math.h>

#include "tests/unit/cpu_kernel_cases.h"

/* The more of them make a sum, the smaller: else small differences of states would grow from step to step. */
static void add_weights(random_node *n, random_source *r, int32_t rank, const int64_t *dims) {
    const float divisor = 4 + (float)dims[rank - 1] / 4;
    add_tensor(n, r, rank, dims);
    tort_tensor *weights = &n->inputs[n->input_count - 1];
    int64_t count = 1;
    for (int32_t i = 0; i < rank; i++) count *= dims[i];
    for (int64_t i = 0; i < count; i++) ((float *)weights->data)[i] /= divisor;
}

static void add_absent(random_node *n) {
    n->inputs[n->input_count++] = (tort_tensor){0};
}

static void add_lengths(random_node *n, random_source *r, int64_t batch, int64_t length) {
    int64_t lengths[8];
    for (int64_t b = 0; b < batch; b++) lengths[b] = draw(r, 0, length);
    add_numbers(n, 1, &batch, lengths);
}

static void add_states(random_node *n, random_source *r, bool batch_first, int64_t directions, int64_t batch,
                       int64_t hidden) {
    const int64_t dims[2][3] = {{directions, batch, hidden}, {batch, directions, hidden}};
    add_tensor(n, r, 3, dims[batch_first]);
}

static void make_recurrent(random_node *n, random_source *r, int64_t gates, bool is_lstm) {
    const int64_t length = chance(r, 10) ? draw(r, 100, 130) : draw(r, 0, 5), directions = draw(r, 1, 2);
    const int64_t batch = chance(r, 10) ? 0 : draw(r, 1, 7), input = draw(r, 1, 40);
    const int64_t hidden = chance(r, 30) ? draw(r, 40, 300) : draw(r, 1, 40);
    const bool batch_first = chance(r, 40);
    const int64_t x[2][3] = {{length, batch, input}, {batch, length, input}};
    n->opset = 14;
    n->tolerance = 1e-4f;
    add_tensor(n, r, 3, x[batch_first]);
    if (length * batch * input > 0 && chance(r, 20)) ((float *)n->inputs[0].data)[0] = chance(r, 50) ? NAN : INFINITY;
    add_weights(n, r, 3, (const int64_t[]){directions, gates * hidden, input});
    add_weights(n, r, 3, (const int64_t[]){directions, gates * hidden, hidden});
    n->constant[1] = n->constant[2] = chance(r, 70);
    if (chance(r, 60))
        add_tensor(n, r, 2, (const int64_t[]){directions, 2 * gates * hidden});
    else
        add_absent(n);
    if (batch > 0 && chance(r, 30))
        add_lengths(n, r, batch, length);
    else
        add_absent(n);
    for (int states = is_lstm ? 2 : 1; states > 0; states--)
        if (chance(r, 50))
            add_states(n, r, batch_first, directions, batch, hidden);
        else
            add_absent(n);
    add_int(n, "layout", batch_first);
    add_int(n, "hidden_size", hidden);
    add_string(n, "direction", directions == 2 ? "bidirectional" : chance(r, 50) ? "reverse" : "forward");
    if (chance(r, 25)) add_float(n, "clip", 0.5f);
    if (is_lstm && chance(r, 40)) add_tensor(n, r, 2, (const int64_t[]){directions, 3 * hidden});
}

void make_rnn(random_node *n, random_source *r) {
    make_recurrent(n, r, 1, false);
}

void make_lstm(random_node *n, random_source *r) {
    make_recurrent(n, r, 4, true);
    add_int(n, "input_forget", chance(r, 20));
}

void make_gru(random_node *n, random_source *r) {
    make_recurrent(n, r, 3, false);
    add_int(n, "linear_before_reset", chance(r, 50));
}

/* Scales of weights, or their zero points: one a direction, or one a column. */
static void add_scales(random_node *n, random_source *r, int64_t directions, int64_t columns, tort_type zeros) {
    const bool one = chance(r, 50);
    const int64_t dims[2] = {directions, columns};
    add_tensor(n, r, one ? 1 : 2, dims);
    tort_tensor *scales = &n->inputs[n->input_count - 1];
    for (int64_t i = 0; i < directions * (one ? 1 : columns); i++)
        ((float *)scales->data)[i] = (float)draw(r, 1, 8) / 4096;
    add_integers(n, r, zeros, one ? 1 : 2, dims);
}

/* A state that lies between two bytes may become the other one. */
void make_quantized_lstm(random_node *n, random_source *r) {
    const int64_t directions = draw(r, 1, 2), batch = chance(r, 10) ? 0 : draw(r, 1, 5), input = draw(r, 1, 70);
    const int64_t hidden = draw(r, 1, 70), columns = 4 * hidden;
    const tort_type w = byte_type(r), q = w;
    n->opset = 1;
    n->tolerance = 0.05f;
    add_tensor(n, r, 3, (const int64_t[]){draw(r, 0, 6), batch, input});
    add_integers(n, r, w, 3, (const int64_t[]){directions, input, columns});
    add_integers(n, r, q, 3, (const int64_t[]){directions, hidden, columns});
    n->constant[1] = n->constant[2] = true;
    if (chance(r, 60))
        add_tensor(n, r, 2, (const int64_t[]){directions, 2 * columns});
    else
        add_absent(n);
    add_absent(n);
    for (int states = 0; states < 2; states++)
        if (chance(r, 50))
            add_states(n, r, false, directions, batch, hidden);
        else
            add_absent(n);
    add_absent(n);
    add_scales(n, r, directions, columns, w);
    add_scales(n, r, directions, columns, q);
    add_int(n, "hidden_size", hidden);
    add_string(n, "direction", directions == 2 ? "bidirectional" : chance(r, 50) ? "reverse" : "forward");
}
