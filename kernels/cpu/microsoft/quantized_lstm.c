/* quantized_lstm.c - DynamicQuantizeLSTM: products of bytes, and the functions of a step as vector loops.
 *
 * X is quantized as a whole and multiplied by W in one product; each step quantizes the states of all sequences and
 * multiplies them by R. W and R are packed ahead. Where a state is midway between two bytes, the last bit of a float
 * decides the rounding: so results occasionally differ by a step of the scale from those of the plain loop, which
 * computes in double. Read next: ops/microsoft/dynamic_quantize_lstm.c for the meaning, byte_product.h. */
#include "kernels/cpu/byte_product.h"
#include "kernels/cpu/quantize.h"
#include "ops/rnn.h"

#include <math.h>
#include <string.h>

/* Inputs and outputs. */
enum { X, W, R, B, LENGTHS, INITIAL_H, INITIAL_C, PEEPHOLES, W_SCALE, W_ZERO, R_SCALE, R_ZERO };
enum { Y, Y_H, Y_C };

/* ---- claim and weights ------------------------------------------------------------------------------------------- */

static bool has_usual_functions(const tort_rnn_params *p) {
    bool usual = p->clip == INFINITY && !p->input_forget;
    for (int32_t d = 0; d < p->directions; d++)
        usual = usual && p->activations[d][0].function == TORT_RNN_SIGMOID &&
                p->activations[d][1].function == TORT_RNN_TANH && p->activations[d][2].function == TORT_RNN_TANH;
    return usual;
}

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    if (!has_usual_functions(node->params))
        return tort_no(TORT_NO_ATTR, "activations", "is for Sigmoid, Tanh and Tanh, without clip and input_forget");
    if (tort_has_input(node, LENGTHS) || tort_has_input(node, PEEPHOLES))
        return tort_no(TORT_NO_SHAPE, "", "is for sequences of one length, without peepholes");
    if (!node->inputs[W].constant || !node->inputs[R].constant)
        return tort_no(TORT_NO_DYNAMIC, "", "W or R is not a constant, so it cannot be packed ahead");
    if (node->inputs[W].rank != 3 || node->inputs[R].rank != 3)
        return tort_no(TORT_NO_DYNAMIC, "", "the shape of W or R is not known");
    const tort_verdict verdict = tort_byte_claim(target, node, W, R);
    return verdict.code == TORT_YES ? tort_cpu_claim_processor(target) : verdict;
}

/* Bytes of the packed W and R of a direction, multiples of 64. */
typedef struct packed_sizes {
    int64_t w, r;
} packed_sizes;

/* Rounds a size up to whole cache lines; -1 stays -1. */
static int64_t in_lines(int64_t size) {
    return size < 0 ? -1 : tort_round_up(size, TORT_HOST_ALIGN);
}

static packed_sizes sizes_of(const tort_bytes *bytes, int64_t input, int64_t hidden) {
    return (packed_sizes){.w = in_lines(tort_packed_byte_columns_size(bytes, 4 * hidden, input)),
                          .r = in_lines(tort_packed_byte_columns_size(bytes, 4 * hidden, hidden))};
}

static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    const tort_info *w = &node->inputs[W], *r = &node->inputs[R];
    const packed_sizes sizes = sizes_of(tort_bytes_choose(target->instructions), w->dims[1], r->dims[1]);
    int64_t all;
    if (sizes.w < 0 || sizes.r < 0 || __builtin_add_overflow(sizes.w, sizes.r, &all) ||
        __builtin_mul_overflow(all, w->dims[0], &all))
        return tort_out_of_memory(error, SIZE_MAX);
    *bytes = (size_t)all;
    *consumed = 1u << W | 1u << R;
    return TORT_OK;
}

static void pack_one(const tort_prepare *prepare, const tort_info *info, int64_t direction, uint8_t *packed) {
    const tort_cpu_device *device = prepare->device;
    const int64_t k = info->dims[1], columns = info->dims[2];
    const tort_byte_matrix matrix = {.data = (const uint8_t *)info->data + direction * k * columns,
                                     .line_stride = 1,
                                     .k_stride = columns,
                                     .sign = tort_byte_sign_of(device->bytes, info->type, true)};
    tort_pack_byte_columns(prepare->watch, device->simd, device->bytes, packed, &matrix, columns, k);
}

static tort_status prepare(tort_prepare *prepare) {
    const tort_cpu_device *device = prepare->device;
    const tort_info *w = &prepare->node->inputs[W], *r = &prepare->node->inputs[R];
    uint8_t *packed = prepare->packed;
    if (!w->data || !r->data) return tort_fail(prepare->error, TORT_E_INTERNAL, "the constants W and R have no data");
    const packed_sizes sizes = sizes_of(device->bytes, w->dims[1], r->dims[1]);
    for (int64_t d = 0; d < w->dims[0]; d++, packed += sizes.w + sizes.r) {
        pack_one(prepare, w, d, packed);
        pack_one(prepare, r, d, packed + sizes.w);
    }
    return TORT_OK;
}

/* ---- scratch ----------------------------------------------------------------------------------------------------- */

typedef struct lstm_job {
    const tort_call *call;
    const tort_rnn_params *params;
    int64_t direction, rows, columns; /* rows: steps times sequences of X; columns: 4 * hidden */
    uint8_t *x, *state, *buffers;     /* x, state: X and the states as bytes */
    float *gates, *products;          /* [rows][columns], of X and biases; [batch][columns], of the states */
    float *h, *c, *biases;
    float *row_scales; /* [rows]: the scale of X, or of the states */
    float *scales;     /* of the columns of the current weights */
    int32_t *zeros;    /* likewise, if they differ between columns */
    float x_scale;
    uint8_t x_zero;
} lstm_job;

static bool reserve(const tort_target *target, const tort_rnn_params *p, size_t *scratch) {
    int64_t rows, x, gates, columns, products;
    *scratch = 0;
    return !__builtin_mul_overflow(p->length, p->batch, &rows) && !__builtin_mul_overflow(rows, p->input, &x) &&
           !__builtin_mul_overflow(p->hidden, 4, &columns) && !__builtin_mul_overflow(rows, columns, &gates) &&
           !__builtin_mul_overflow(p->batch, columns, &products) && tort_cpu_reserve(scratch, (size_t)x) &&
           tort_cpu_reserve_floats(scratch, products) /* the states as floats and bytes */ &&
           tort_cpu_reserve_floats(scratch, gates) && tort_cpu_reserve_floats(scratch, products) &&
           tort_cpu_reserve_floats(scratch, columns) && tort_cpu_reserve_floats(scratch, rows) &&
           tort_cpu_reserve_floats(scratch, columns) && tort_cpu_reserve_floats(scratch, columns) &&
           tort_byte_product_reserve(target, rows, p->input, true, scratch) &&
           tort_byte_product_reserve(target, p->batch, p->hidden, true, scratch);
}

static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    return reserve(target, node->params, scratch) ? TORT_OK : tort_out_of_memory(error, SIZE_MAX);
}

static void take_scratch(lstm_job *job, char *scratch) {
    const tort_rnn_params *p = job->params;
    const int64_t states = p->batch * p->hidden;
    job->rows = p->length * p->batch;
    job->columns = 4 * p->hidden;
    job->x = tort_cpu_take(&scratch, (size_t)(job->rows * p->input));
    job->h = tort_cpu_take(&scratch, (size_t)(4 * states) * sizeof(float));
    job->c = job->h + states;
    job->state = (uint8_t *)(job->c + states);
    job->gates = tort_cpu_take(&scratch, (size_t)(job->rows * job->columns) * sizeof(float));
    job->products = tort_cpu_take(&scratch, (size_t)(p->batch * job->columns) * sizeof(float));
    job->biases = tort_cpu_take(&scratch, (size_t)job->columns * sizeof(float));
    job->row_scales = tort_cpu_take(&scratch, (size_t)job->rows * sizeof(float));
    job->scales = tort_cpu_take(&scratch, (size_t)job->columns * sizeof(float));
    job->zeros = tort_cpu_take(&scratch, (size_t)job->columns * sizeof(int32_t));
    job->buffers = (uint8_t *)scratch;
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* Returns the part of a list of scales or zero points for this direction: one number, or one per column. */
static tort_tensor of_direction(const lstm_job *job, int32_t input) {
    tort_tensor part = job->call->inputs[input];
    const int64_t count = part.rank == 2 ? job->columns : 1;
    const size_t element = part.type == TORT_FLOAT ? sizeof(float) : 1;
    part.data = (char *)part.data + (size_t)(job->direction * count) * element;
    part.rank = part.rank == 2;
    part.dims[0] = count;
    return part;
}

/* W or R of a direction, as arguments of its products. */
typedef struct weights {
    tort_packed_bytes packed;
    tort_byte_zeros zeros;
    int64_t k;
} weights;

/* Opens weights; their lists overwrite those of the weights opened before. */
static weights open_weights(const lstm_job *job, const uint8_t *packed, int64_t k, int32_t input, int32_t scales) {
    const tort_cpu_device *device = job->call->device;
    const tort_tensor scale = of_direction(job, scales), zero = of_direction(job, scales + 1);
    const tort_byte_sign sign = tort_byte_sign_of(device->bytes, job->call->inputs[input].type, true);
    const float *from = scale.data;
    for (int64_t j = 0; j < job->columns; j++) job->scales[j] = from[scale.rank ? j : 0];
    return (weights){.packed = tort_packed_byte_columns(device->bytes, packed, job->columns, k),
                     .zeros = tort_byte_zeros_of(&zero, &sign, job->columns, job->zeros),
                     .k = k};
}

/* y (m, columns) = (a - a_zero) * a_scale times (weights - zeros) * scales, + `added` in every row. */
static void multiply(const lstm_job *job, const weights *w, const uint8_t *a, float a_scale, uint8_t a_zero, int64_t m,
                     const float *added, float *y) {
    const tort_cpu_device *device = job->call->device;
    const tort_byte_sign sign = tort_byte_sign_of(device->bytes, TORT_UINT8, false);
    const tort_byte_gemm gemm = {.call = job->call,
                                 .simd = device->simd,
                                 .bytes = device->bytes,
                                 .m = m,
                                 .n = job->columns,
                                 .k = w->k,
                                 .products = w->k,
                                 .unsigned_rows = true,
                                 .a = {.data = a, .line_stride = w->k, .k_stride = 1, .sign = sign},
                                 .packed_columns = w->packed,
                                 .row_zeros = {.one = a_zero + sign.shift},
                                 .column_zeros = w->zeros,
                                 .row_factors = job->row_scales,
                                 .column_factors = job->scales,
                                 .column_floats = added,
                                 .result = TORT_BYTES_TO_FLOAT,
                                 .y_type = TORT_FLOAT,
                                 .y = y,
                                 .y_stride = job->columns};
    for (int64_t i = 0; i < m; i++) job->row_scales[i] = a_scale;
    tort_byte_product_run(job->call, &gemm, NULL, job->buffers);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* Makes a step of a sequence. Gates are in the order input, output, forget, cell. */
static void step_sequence(const lstm_job *job, float *restrict gates, float *restrict c, float *restrict h) {
    const tort_simd *simd = ((const tort_cpu_device *)job->call->device)->simd;
    const int64_t hidden = job->params->hidden;
    const float *out = gates + hidden, *forget = out + hidden, *cell = forget + hidden;
    simd->map(TORT_ACTIVATION_SIGMOID, 0, 0, gates, gates, 3 * hidden);
    simd->map(TORT_ACTIVATION_TANH, 0, 0, cell, gates + 3 * hidden, hidden);
    for (int64_t i = 0; i < hidden; i++) c[i] = forget[i] * c[i] + gates[i] * cell[i];
    simd->map(TORT_ACTIVATION_TANH, 0, 0, c, h, hidden);
    for (int64_t i = 0; i < hidden; i++) h[i] *= out[i];
}

/* Makes a step. The products of the states are added to the gates, for a single sequence within the product. */
static void take_step(const lstm_job *job, const weights *r, int64_t t) {
    const tort_rnn_params *p = job->params;
    const int64_t states = p->batch * p->hidden;
    const tort_tensor *y = tort_call_output(job->call, Y);
    const tort_tensor before = {.type = TORT_FLOAT, .rank = 1, .dims = {states}, .data = job->h};
    float scale, *restrict gates = job->gates + t * p->batch * job->columns;
    uint8_t zero;
    tort_cpu_quantize_dynamically(job->call, &before, job->state, &scale, &zero);
    if (p->batch == 1) {
        multiply(job, r, job->state, scale, zero, 1, gates, gates);
    } else {
        multiply(job, r, job->state, scale, zero, p->batch, NULL, job->products);
        for (int64_t i = 0; i < p->batch * job->columns; i++) gates[i] += job->products[i];
    }
    for (int64_t b = 0; b < p->batch; b++)
        step_sequence(job, gates + b * job->columns, job->c + b * p->hidden, job->h + b * p->hidden);
    if (y)
        memcpy((float *)y->data + (t * p->directions + job->direction) * states, job->h,
               (size_t)states * sizeof(float));
}

static void begin_states(const lstm_job *job, int32_t input, float *states) {
    const int64_t count = job->params->batch * job->params->hidden;
    const tort_tensor *given = tort_call_input(job->call, input);
    if (given)
        memcpy(states, (const float *)given->data + job->direction * count, (size_t)count * sizeof *states);
    else
        memset(states, 0, (size_t)count * sizeof *states);
}

static void end_states(const lstm_job *job, int32_t output, const float *states) {
    const int64_t count = job->params->batch * job->params->hidden;
    const tort_tensor *wanted = tort_call_output(job->call, output);
    if (wanted) memcpy((float *)wanted->data + job->direction * count, states, (size_t)count * sizeof *states);
}

static void add_biases(const lstm_job *job) {
    const tort_tensor *given = tort_call_input(job->call, B);
    const float *of_w = given ? (const float *)given->data + job->direction * 2 * job->columns : NULL;
    for (int64_t j = 0; j < job->columns; j++) job->biases[j] = of_w ? of_w[j] + of_w[job->columns + j] : 0;
}

static void walk_direction(const lstm_job *job, const uint8_t *packed_w, const uint8_t *packed_r) {
    const tort_rnn_params *p = job->params;
    const bool backwards = p->reverse || job->direction == 1;
    begin_states(job, INITIAL_H, job->h);
    begin_states(job, INITIAL_C, job->c);
    add_biases(job);
    const weights w = open_weights(job, packed_w, p->input, W, W_SCALE);
    multiply(job, &w, job->x, job->x_scale, job->x_zero, job->rows, job->biases, job->gates);
    const weights r = open_weights(job, packed_r, p->hidden, R, R_SCALE);
    for (int64_t step = 0; step < p->length && tort_call_goes_on(job->call, 0); step++)
        take_step(job, &r, backwards ? p->length - 1 - step : step);
    end_states(job, Y_H, job->h);
    end_states(job, Y_C, job->c);
}

static tort_status run(const tort_call *call) {
    const tort_rnn_params *p = call->params;
    const tort_cpu_device *device = call->device;
    const packed_sizes sizes = sizes_of(device->bytes, p->input, p->hidden);
    const uint8_t *packed = call->packed;
    lstm_job job = {.call = call, .params = p};
    if (p->batch == 0 || p->hidden == 0) return TORT_OK;
    take_scratch(&job, call->scratch);
    tort_cpu_quantize_dynamically(call, &call->inputs[X], job.x, &job.x_scale, &job.x_zero);
    for (; job.direction < p->directions && tort_call_goes_on(call, 0); job.direction++, packed += sizes.w + sizes.r)
        walk_direction(&job, packed, packed + sizes.w);
    return TORT_OK;
}

const tort_kernel tort_cpu_quantized_lstm[] = {
    {"com.microsoft", "DynamicQuantizeLSTM", "quantized_lstm_packed", .claim = claim, .size = size,
     .pack.size = pack_size, .prepare = prepare, .run = run},
    {.op = NULL},
};
