/* rnn.c - RNN, LSTM and GRU in fp32: the products of a step are packed ones, its functions vector loops.
 *
 * Items, which are directions times shares of the batch, run on one thread each; a single item shares large products
 * by columns. An item takes some steps together: their part of X times W is one product, so W is read once for all
 * of them; then each step adds the product of the state and R. W and R are packed ahead if they are constant, else
 * at the start of a run. Cost of a step: batch * gates * hidden * (input + hidden) multiply-adds.
 * Example: an LSTM with hidden = input = 256 reads R (1 MiB) at each step, but W once in 112 steps.
 * Read next: ops/rnn.c for the meaning, packed_gemm.h. */
#include "ops/rnn.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/packed_gemm.h"

#include <math.h>
#include <string.h>

#define ROWS_TOGETHER 112         /* of X, at least one step: W is read once for all of them */
#define SHARED_WEIGHTS (32 << 10) /* weights of a product from which on threads share it: some microseconds to read */

/* ---- packing ----------------------------------------------------------------------------------------------------- */

/* Packed floats of a direction: W, R of the gates whose product is with the state itself, R of GRU's hidden gate. */
typedef struct direction_sizes {
    int64_t w, r, hidden_gate;
} direction_sizes;

/* Returns the rows of R in the first of both products. */
static int64_t state_columns(tort_rnn_cell cell, int64_t columns) {
    return cell == TORT_CELL_GRU ? columns / 3 * 2 : columns;
}

/* Computes the sizes; columns: gates * hidden. */
static direction_sizes sizes_of(const tort_simd *simd, tort_rnn_cell cell, int64_t columns, int64_t input,
                                int64_t hidden) {
    const int64_t first = state_columns(cell, columns), rest = columns - first;
    return (direction_sizes){.w = tort_packed_b_size(simd, columns, input),
                             .r = tort_packed_b_size(simd, first, hidden),
                             .hidden_gate = rest ? tort_packed_b_size(simd, rest, hidden) : 0};
}

static int64_t direction_floats(const direction_sizes *sizes) {
    return sizes->w + sizes->r + sizes->hidden_gate;
}

static void pack_weights(struct tort_watch *watch, const tort_simd *simd, const tort_rnn_params *p, int64_t columns,
                         int64_t input, int64_t hidden, const float *w, const float *r, float *packed) {
    const direction_sizes sizes = sizes_of(simd, p->cell, columns, input, hidden);
    const int64_t first = state_columns(p->cell, columns);
    for (int32_t d = 0; d < p->directions; d++, packed += direction_floats(&sizes)) {
        tort_pack_b(watch, simd, packed, w, 1, input, columns, input, 1);
        tort_pack_b(watch, simd, packed + sizes.w, r, 1, hidden, first, hidden, 1);
        if (sizes.hidden_gate)
            tort_pack_b(watch, simd, packed + sizes.w + sizes.r, r + first * hidden, 1, hidden, columns - first, hidden,
                        1);
        w += columns * input;
        r += columns * hidden;
    }
}

static bool packs(const tort_node_view *node) {
    return node->inputs[TORT_RNN_W].constant && node->inputs[TORT_RNN_R].constant;
}

static tort_status pack_size_rnn(const tort_target *target, const tort_node_view *node, size_t *bytes,
                                 uint32_t *consumed, tort_error *error) {
    const tort_rnn_params *p = node->params;
    const tort_info *w = &node->inputs[TORT_RNN_W], *r = &node->inputs[TORT_RNN_R];
    if (!packs(node)) return TORT_OK;
    const direction_sizes sizes =
        sizes_of(tort_simd_choose(target->instructions), p->cell, w->dims[1], w->dims[2], r->dims[2]);
    tort_status status = tort_cpu_pack_floats(p->directions * direction_floats(&sizes), bytes, consumed, error);
    *consumed = 1u << TORT_RNN_W | 1u << TORT_RNN_R;
    return status;
}

static tort_status prepare_rnn(tort_prepare *prepare) {
    const tort_cpu_device *device = prepare->device;
    const tort_info *w = &prepare->node->inputs[TORT_RNN_W], *r = &prepare->node->inputs[TORT_RNN_R];
    if (!prepare->packed) return TORT_OK;
    if (!w->data || !r->data) return tort_fail(prepare->error, TORT_E_INTERNAL, "the constants W and R have no data");
    pack_weights(prepare->watch, device->simd, prepare->node->params, w->dims[1], w->dims[2], r->dims[2], w->data,
                 r->data, prepare->packed);
    return TORT_OK;
}

/* ---- claim ------------------------------------------------------------------------------------------------------- */

static bool map_of(const tort_rnn_activation *activation, tort_epilogue *map) {
    *map = (tort_epilogue){.alpha = (float)activation->alpha, .beta = (float)activation->beta};
    switch (activation->function) {
    case TORT_RNN_RELU: map->activation = TORT_ACTIVATION_RELU; return true;
    case TORT_RNN_TANH: map->activation = TORT_ACTIVATION_TANH; return true;
    case TORT_RNN_SIGMOID: map->activation = TORT_ACTIVATION_SIGMOID; return true;
    case TORT_RNN_HARD_SIGMOID: map->activation = TORT_ACTIVATION_HARD_SIGMOID; return true;
    default: return false;
    }
}

static tort_verdict claim_rnn(const tort_target *target, const tort_node_view *node) {
    const tort_rnn_params *p = node->params;
    tort_epilogue map;
    for (int32_t d = 0; d < p->directions; d++)
        for (int32_t i = 0; i < tort_rnn_functions(p->cell); i++)
            if (!map_of(&p->activations[d][i], &map))
                return tort_no(TORT_NO_ATTR, "activations",
                               "is for the activations Tanh, Sigmoid, HardSigmoid and Relu alone");
    return tort_cpu_claim_float(target, node);
}

/* ---- scratch ----------------------------------------------------------------------------------------------------- */

/* Division of a run: items are directions times shares of the batch. */
typedef struct cut {
    int32_t items, shares;
    int64_t batch, rows; /* maximum per item: sequences; rows of X taken together */
    size_t buffer_bytes, item_bytes;
} cut;

/* Divides a run. A share has at least two sequences: a product of a single row adds in another order, so results
 * would depend on the number of threads. */
static bool cut_run(const tort_rnn_params *p, const tort_simd *simd, int32_t threads, cut *made) {
    const int64_t max = p->batch / 2, wanted = (threads + p->directions - 1) / p->directions;
    const int64_t shares = max < 1 ? 1 : wanted < max ? wanted : max, columns = p->gates * p->hidden;
    made->shares = (int32_t)shares;
    made->items = made->shares * p->directions;
    made->batch = (p->batch + shares - 1) / shares;
    made->rows = made->batch > ROWS_TOGETHER ? made->batch : ROWS_TOGETHER;
    if (made->batch > 0 && made->rows / made->batch > p->length) made->rows = made->batch * p->length;
    made->buffer_bytes = tort_packed_gemm_buffer(simd, false, true);
    made->item_bytes = 0;
    size_t rows_of_x, gates, states;
    return tort_mul_size((uint64_t)made->rows, (uint64_t)p->input, &rows_of_x) &&
           tort_mul_size((uint64_t)made->rows, (uint64_t)columns, &gates) &&
           tort_mul_size((uint64_t)made->batch, (uint64_t)(3 * p->hidden), &states) &&
           tort_cpu_reserve_floats(&made->item_bytes, (int64_t)rows_of_x) &&
           tort_cpu_reserve_floats(&made->item_bytes, (int64_t)gates) &&
           tort_cpu_reserve_floats(&made->item_bytes, (int64_t)states) &&
           tort_cpu_reserve_floats(&made->item_bytes, 2 * columns);
}

/* Reserves buffers of products for all threads, the items' arrays, and packed weights if they are not constant. */
static tort_status size_rnn(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_simd *simd = tort_simd_choose(target->instructions);
    const tort_rnn_params *p = node->params;
    cut made;
    size_t items, buffers;
    *scratch = 0;
    if (!cut_run(p, simd, target->threads, &made) || !tort_mul_size(made.item_bytes, (uint64_t)made.items, &items) ||
        !tort_mul_size(made.buffer_bytes, (uint64_t)(made.items > target->threads ? made.items : target->threads),
                       &buffers) ||
        !tort_cpu_reserve(scratch, buffers) || !tort_cpu_reserve(scratch, items))
        return tort_out_of_memory(error, SIZE_MAX);
    if (packs(node)) return TORT_OK;
    const direction_sizes sizes = sizes_of(simd, p->cell, p->gates * p->hidden, p->input, p->hidden);
    if (tort_cpu_reserve_floats(scratch, p->directions * direction_floats(&sizes))) return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* An item: some sequences in one direction. */
typedef struct rnn_item {
    const tort_call *call;
    const tort_rnn_params *params;
    const tort_simd *simd;
    int64_t direction, batch_first, batch; /* sequences batch_first .. + batch */
    bool backwards;
    int32_t threads; /* that share a product */
    float *buffers;  /* one per thread */
    size_t buffer_bytes;
    const float *w, *r, *hidden_gate; /* packed */
    float *x, *gates;                 /* of the steps taken together, [step][sequence] */
    float *h, *c, *products; /* [batch, hidden]; `products`: GRU's hidden gate: its product, or that product's input */
    float *bias, *hidden_bias;  /* [gates * hidden], of W and R; [hidden], of R alone, for GRU's hidden gate */
    tort_epilogue functions[3]; /* f, g, h of the ONNX specification */
} rnn_item;

typedef struct product {
    const rnn_item *item;
    tort_packed_gemm gemm;
} product;

static void product_part(void *arg, int64_t begin, int64_t end) {
    const product *job = arg;
    const rnn_item *item = job->item;
    for (int64_t part = begin; part < end; part++) {
        int64_t first, last;
        float *buffer = item->buffers + (size_t)part * item->buffer_bytes / sizeof(float);
        tort_cpu_share(job->gemm.n, item->simd->tile_columns, part, item->threads, &first, &last);
        if (first < last) tort_packed_gemm_block(&job->gemm, 0, job->gemm.m, first, last, buffer);
    }
}

/* C (rows, columns) = A (rows, k) * packed B + bias, or C += A * B if bias is NULL. A tile of a single row adds in
 * another order, and the division of the batch decides which row is alone: so the last two rows are made together. */
static void multiply(const rnn_item *item, const float *a, const float *packed, float *c, int64_t c_stride,
                     int64_t rows, int64_t columns, int64_t k, const float *bias) {
    if (rows > 1 && rows % item->simd->tile_rows == 1) {
        multiply(item, a, packed, c, c_stride, rows - 2, columns, k, bias);
        a += (rows - 2) * k;
        c += (rows - 2) * c_stride;
        rows = 2;
    }
    product job = {.item = item,
                   .gemm = {.call = item->call,
                            .simd = item->simd,
                            .m = rows,
                            .n = columns,
                            .k = k,
                            .a = a,
                            .a_row_stride = k,
                            .a_k_stride = 1,
                            .scale = 1,
                            .packed_b = packed,
                            .c = c,
                            .c_stride = c_stride,
                            .column_bias = bias,
                            .accumulate = bias == NULL}};
    if (item->threads > 1 && rows * columns * k >= SHARED_WEIGHTS)
        tort_cpu_parts(item->call, item->threads, product_part, &job);
    else
        tort_packed_gemm_block(&job.gemm, 0, rows, 0, columns, item->buffers);
}

/* ---- one step ---------------------------------------------------------------------------------------------------- */

static void apply(const rnn_item *item, int32_t function, const float *x, float *y, int64_t count) {
    const tort_epilogue *map = &item->functions[function];
    item->simd->map((int32_t)map->activation, map->alpha, map->beta, x, y, count);
}

/* Clips x and applies a function of the gates. */
static void apply_clipped(const rnn_item *item, int32_t function, float *x, int64_t count) {
    const float clip = (float)item->params->clip;
    if (clip < INFINITY) item->simd->map(TORT_ACTIVATION_CLIP, -clip, clip, x, x, count);
    apply(item, function, x, x, count);
}

/* sums += a * b, element by element */
static void add_products(float *restrict sums, const float *a, const float *b, int64_t count) {
    for (int64_t i = 0; i < count; i++) sums[i] += a[i] * b[i];
}

static void step_lstm(const rnn_item *item, float *gates, int64_t sequence) {
    const tort_rnn_params *p = item->params;
    const int64_t hidden = p->hidden;
    const tort_tensor *given = tort_call_input(item->call, TORT_RNN_PEEPHOLES);
    const float *peepholes = given ? (const float *)given->data + item->direction * 3 * hidden : NULL;
    float *restrict c = item->c + sequence * hidden, *restrict h = item->h + sequence * hidden;
    float *in = gates, *out = in + hidden, *forget = out + hidden, *cell = forget + hidden;
    if (peepholes) {
        add_products(in, peepholes, c, hidden);
        add_products(forget, peepholes + 2 * hidden, c, hidden);
    }
    apply_clipped(item, 0, in, peepholes ? hidden : 3 * hidden);
    if (p->input_forget)
        for (int64_t i = 0; i < hidden; i++) forget[i] = 1 - in[i];
    else if (peepholes)
        apply_clipped(item, 0, forget, hidden);
    apply_clipped(item, 1, cell, hidden);
    for (int64_t i = 0; i < hidden; i++) c[i] = forget[i] * c[i] + in[i] * cell[i];
    if (peepholes) {
        add_products(out, peepholes + hidden, c, hidden);
        apply_clipped(item, 0, out, hidden);
    }
    apply(item, 2, c, h, hidden);
    for (int64_t i = 0; i < hidden; i++) h[i] *= out[i];
}

/* Makes GRU's update and reset gates, and the hidden gate or the input of its product. */
static void begin_gru(const rnn_item *item, float *gates, int64_t sequence) {
    const int64_t hidden = item->params->hidden;
    const float *h = item->h + sequence * hidden, *reset = gates + hidden;
    float *restrict products = item->products + sequence * hidden;
    apply_clipped(item, 0, gates, 2 * hidden);
    if (item->params->linear_before_reset)
        add_products(gates + 2 * hidden, reset, products, hidden);
    else
        for (int64_t i = 0; i < hidden; i++) products[i] = reset[i] * h[i];
}

static void end_gru(const rnn_item *item, float *gates, int64_t sequence) {
    const int64_t hidden = item->params->hidden;
    float *restrict h = item->h + sequence * hidden, *fresh = gates + 2 * hidden;
    apply_clipped(item, 1, fresh, hidden);
    for (int64_t i = 0; i < hidden; i++) h[i] = (1 - gates[i]) * fresh[i] + gates[i] * h[i];
}

static void step_rnn(const rnn_item *item, float *gates, int64_t sequence) {
    const int64_t hidden = item->params->hidden;
    apply_clipped(item, 0, gates, hidden);
    memcpy(item->h + sequence * hidden, gates, (size_t)hidden * sizeof *gates);
}

/* Returns the steps that a sequence has. */
static int64_t length_of(const rnn_item *item, int64_t sequence) {
    return tort_rnn_length(item->call, item->batch_first + sequence);
}

static void for_sequences(const rnn_item *item, float *gates, int64_t step,
                          void (*body)(const rnn_item *item, float *gates, int64_t sequence)) {
    const int64_t columns = item->params->gates * item->params->hidden;
    const int64_t work = tort_work(columns, 16, 4);
    for (int64_t b = 0; b < item->batch && tort_piece_goes_on(item->call, b, work); b++)
        if (step < length_of(item, b)) body(item, gates + b * columns, b);
}

/* Makes a step. gates: the part of X and the biases. The states are overwritten by those after the step. */
static void take_step(const rnn_item *item, float *gates, int64_t step) {
    const tort_rnn_params *p = item->params;
    const int64_t hidden = p->hidden, columns = p->gates * hidden, first = state_columns(p->cell, columns);
    multiply(item, item->h, item->r, gates, columns, item->batch, first, hidden, NULL);
    if (p->cell != TORT_CELL_GRU) {
        for_sequences(item, gates, step, p->cell == TORT_CELL_LSTM ? step_lstm : step_rnn);
        return;
    }
    if (p->linear_before_reset)
        multiply(item, item->h, item->hidden_gate, item->products, hidden, item->batch, hidden, hidden,
                 item->hidden_bias);
    for_sequences(item, gates, step, begin_gru);
    if (!p->linear_before_reset)
        multiply(item, item->products, item->hidden_gate, gates + first, columns, item->batch, hidden, hidden, NULL);
    for_sequences(item, gates, step, end_gru);
}

/* ---- all steps --------------------------------------------------------------------------------------------------- */

/* Finds the position of a step in its sequence; false, and the step itself: the sequence does not have it. */
static bool time_of(const rnn_item *item, int64_t sequence, int64_t step, int64_t *time) {
    const int64_t length = length_of(item, sequence);
    *time = item->backwards && step < length ? length - 1 - step : step;
    return step < length;
}

/* Makes the part of X in the gates of `steps` steps from `first` on. */
static void multiply_input(const rnn_item *item, int64_t first, int64_t steps) {
    const tort_rnn_params *p = item->params;
    const float *x = item->call->inputs[TORT_RNN_X].data;
    float *row = item->x;
    for (int64_t step = first; step < first + steps; step++)
        for (int64_t b = 0; b < item->batch; b++, row += p->input) {
            int64_t t;
            const bool has = time_of(item, b, step, &t);
            const int64_t sequence = item->batch_first + b;
            const int64_t from = p->batch_first ? sequence * p->length + t : t * p->batch + sequence;
            if (has)
                memcpy(row, x + from * p->input, (size_t)p->input * sizeof *row);
            else
                memset(row, 0, (size_t)p->input * sizeof *row);
        }
    multiply(item, item->x, item->w, item->gates, p->gates * p->hidden, steps * item->batch, p->gates * p->hidden,
             p->input, item->bias);
}

/* Returns the offset of a sequence's state in initial_h, Y_h and the like. */
static int64_t state_at(const rnn_item *item, int64_t sequence) {
    const tort_rnn_params *p = item->params;
    const int64_t b = item->batch_first + sequence;
    return (p->batch_first ? b * p->directions + item->direction : item->direction * p->batch + b) * p->hidden;
}

static void load_states(const rnn_item *item, int32_t input, float *states) {
    const int64_t hidden = item->params->hidden;
    const tort_tensor *initial = tort_call_input(item->call, input);
    for (int64_t b = 0; b < item->batch; b++)
        if (initial)
            memcpy(states + b * hidden, (const float *)initial->data + state_at(item, b),
                   (size_t)hidden * sizeof *states);
        else
            memset(states + b * hidden, 0, (size_t)hidden * sizeof *states);
}

static void store_states(const rnn_item *item, int32_t output, const float *states) {
    const int64_t hidden = item->params->hidden;
    const tort_tensor *last = tort_call_output(item->call, output);
    for (int64_t b = 0; last && b < item->batch; b++)
        memcpy((float *)last->data + state_at(item, b), states + b * hidden, (size_t)hidden * sizeof *states);
}

/* Stores the states of a step in Y; positions beyond the end of a sequence become 0. */
static void store_step(const rnn_item *item, int64_t step) {
    const tort_rnn_params *p = item->params;
    const tort_tensor *y = tort_call_output(item->call, 0);
    for (int64_t b = 0; y && b < item->batch; b++) {
        int64_t t;
        const bool has = time_of(item, b, step, &t);
        const int64_t sequence = item->batch_first + b;
        const int64_t row = p->batch_first ? (sequence * p->length + t) * p->directions + item->direction
                                           : (t * p->directions + item->direction) * p->batch + sequence;
        float *to = (float *)y->data + row * p->hidden;
        if (has)
            memcpy(to, item->h + b * p->hidden, (size_t)p->hidden * sizeof *to);
        else
            memset(to, 0, (size_t)p->hidden * sizeof *to);
    }
}

static void add_biases(const rnn_item *item) {
    const tort_rnn_params *p = item->params;
    const int64_t columns = p->gates * p->hidden, first = state_columns(p->cell, columns);
    const tort_tensor *given = tort_call_input(item->call, TORT_RNN_B);
    const float *of_w = given ? (const float *)given->data + item->direction * 2 * columns : NULL;
    const bool apart = p->cell == TORT_CELL_GRU && p->linear_before_reset;
    for (int64_t i = 0; i < columns; i++) {
        const float of_r = of_w ? of_w[columns + i] : 0;
        item->bias[i] = (of_w ? of_w[i] : 0) + (apart && i >= first ? 0 : of_r);
        if (i >= first) item->hidden_bias[i - first] = of_r;
    }
}

static void walk(const rnn_item *item) {
    const tort_rnn_params *p = item->params;
    const int64_t columns = p->gates * p->hidden;
    const int64_t max = item->batch > ROWS_TOGETHER ? 1 : ROWS_TOGETHER / item->batch;
    add_biases(item);
    load_states(item, TORT_RNN_INITIAL_H, item->h);
    load_states(item, TORT_RNN_INITIAL_C, item->c);
    for (int64_t first = 0; first < p->length && tort_call_goes_on(item->call, 0); first += max) {
        const int64_t steps = p->length - first < max ? p->length - first : max;
        multiply_input(item, first, steps);
        for (int64_t step = first; step < first + steps && tort_call_goes_on(item->call, 0); step++) {
            take_step(item, item->gates + (step - first) * item->batch * columns, step);
            store_step(item, step);
        }
    }
    store_states(item, 1, item->h);
    store_states(item, 2, item->c);
}

typedef struct rnn_job {
    const tort_call *call;
    cut made;
    const float *packed;
    char *buffers, *items;
} rnn_job;

static void walk_item(const rnn_job *job, int64_t number) {
    const tort_call *call = job->call;
    const tort_rnn_params *p = call->params;
    const tort_cpu_device *device = call->device;
    const int64_t columns = p->gates * p->hidden, share = number % job->made.shares;
    const direction_sizes sizes = sizes_of(device->simd, p->cell, columns, p->input, p->hidden);
    char *scratch = job->items + (size_t)number * job->made.item_bytes;
    rnn_item item = {.call = call, .params = p, .simd = device->simd, .direction = number / job->made.shares};
    item.batch_first = p->batch * share / job->made.shares;
    item.batch = p->batch * (share + 1) / job->made.shares - item.batch_first;
    item.backwards = p->reverse || item.direction == 1;
    item.threads = job->made.items == 1 ? device->threads : 1;
    item.buffer_bytes = job->made.buffer_bytes;
    item.buffers = (float *)(job->buffers + (size_t)number * item.buffer_bytes);
    item.w = job->packed + item.direction * direction_floats(&sizes);
    item.r = item.w + sizes.w;
    item.hidden_gate = item.r + sizes.r;
    item.x = tort_cpu_take(&scratch, (size_t)(job->made.rows * p->input) * sizeof(float));
    item.gates = tort_cpu_take(&scratch, (size_t)(job->made.rows * columns) * sizeof(float));
    item.h = tort_cpu_take(&scratch, (size_t)(job->made.batch * 3 * p->hidden) * sizeof(float));
    item.c = item.h + job->made.batch * p->hidden;
    item.products = item.c + job->made.batch * p->hidden;
    item.bias = (float *)scratch;
    item.hidden_bias = item.bias + columns;
    for (int32_t i = 0; i < tort_rnn_functions(p->cell); i++)
        map_of(&p->activations[item.direction][i], &item.functions[i]);
    walk(&item);
}

static void walk_items(void *arg, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) walk_item(arg, i);
}

static tort_status run_rnn(const tort_call *call) {
    const tort_rnn_params *p = call->params;
    const tort_cpu_device *device = call->device;
    rnn_job job = {.call = call, .packed = call->packed, .buffers = call->scratch};
    tort_status status = tort_rnn_check_lengths(call);
    if (status != TORT_OK || p->batch == 0) return status;
    cut_run(p, device->simd, device->threads, &job.made);
    const int64_t buffers = job.made.items > device->threads ? job.made.items : device->threads;
    job.items = job.buffers + (size_t)buffers * job.made.buffer_bytes;
    if (!call->packed) {
        float *packed = (float *)(job.items + (size_t)job.made.items * job.made.item_bytes);
        pack_weights(call->watch, device->simd, p, p->gates * p->hidden, p->input, p->hidden,
                     call->inputs[TORT_RNN_W].data, call->inputs[TORT_RNN_R].data, packed);
        job.packed = packed;
    }
    tort_cpu_parts(call, job.made.items, walk_items, &job);
    return TORT_OK;
}

#define ROW(op_)                                                                                                       \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = "rnn_packed", .claim = claim_rnn, .size = size_rnn,                           \
        .pack.size = pack_size_rnn, .prepare = prepare_rnn, .run = run_rnn                                             \
    }

const tort_kernel tort_cpu_rnn[] = {
    ROW("RNN"),
    ROW("LSTM"),
    ROW("GRU"),
    {.op = NULL},
};
