/* fourier.c - DFT and STFT: discrete Fourier transforms of any length.
 *
 * A mixed-radix transform in double: length n costs n times the sum of its prime factors. A real signal is a complex
 * one with imaginary part 0; the inverse of a one-sided spectrum completes it by symmetry. */
#include "ops/fourier.h"
#include "ops/extent.h"
#include "ops/shapes.h"

#include <math.h>

typedef struct complex_number {
    double re, im;
} complex_number;

enum { WHOLE_SIGNAL, SHORT_TIME }; /* values of tort_op.variant */

/* ---- the transform ----------------------------------------------------------------------------------------------- */

typedef struct fourier_plan {
    const tort_call *call;
    int64_t length;
    const complex_number *roots; /* exp(-2 pi i k / length) for k in 0 .. length-1; conjugates for the inverse */
    complex_number *column;      /* room for the largest factor */
} fourier_plan;

static int64_t smallest_factor(int64_t n) {
    if (n % 4 == 0) return 4;
    for (int64_t p = 2; p <= n / p; p++)
        if (n % p == 0) return p;
    return n;
}

enum { OFTEN = 1 << 9 }; /* factors, or columns, that are worth a question whether the run goes on */

static inline complex_number times(complex_number a, complex_number b) {
    return (complex_number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* Joins four transforms of m numbers each, which lie one behind the other, with three multiplications for four numbers:
 * powers of the root of 4, 1 and +-i, need none. The numbers of the whole are `stride` apart in the plan's. */
static void join_four(const fourier_plan *plan, int64_t stride, complex_number *out, int64_t m) {
    const double turn = plan->roots[plan->length / 4].im; /* -1, or 1 for the inverse */
    for (int64_t u = 0; u < m; u++) {
        if (u % OFTEN == OFTEN - 1 && !tort_call_goes_on(plan->call, 0)) return;
        const complex_number a = out[u], b = times(out[u + m], plan->roots[stride * u]);
        const complex_number c = times(out[u + 2 * m], plan->roots[2 * stride * u]);
        const complex_number d = times(out[u + 3 * m], plan->roots[3 * stride * u]);
        const complex_number even = {a.re + c.re, a.im + c.im}, odd = {b.re + d.re, b.im + d.im};
        const complex_number left = {a.re - c.re, a.im - c.im}, right = {turn * (d.im - b.im), turn * (b.re - d.re)};
        out[u] = (complex_number){even.re + odd.re, even.im + odd.im};
        out[u + m] = (complex_number){left.re + right.re, left.im + right.im};
        out[u + 2 * m] = (complex_number){even.re - odd.re, even.im - odd.im};
        out[u + 3 * m] = (complex_number){left.re - right.re, left.im - right.im};
    }
}

/* Joins p transforms of m numbers each. */
static void join(const fourier_plan *plan, int64_t stride, complex_number *out, int64_t p, int64_t m) {
    const int64_t length = plan->length;
    complex_number *column = plan->column;
    for (int64_t u = 0; u < m; u++) {
        if (u % OFTEN == OFTEN - 1 && !tort_call_goes_on(plan->call, 0)) return;
        for (int64_t k = 0; k < p; k++) column[k] = out[u + k * m];
        for (int64_t q = 0; q < p; q++) {
            if (p > OFTEN && !tort_call_goes_on(plan->call, 0)) return;
            const int64_t step = stride * (u + q * m) % length;
            complex_number sum = column[0];
            for (int64_t k = 1, at = step; k < p; k++) {
                const complex_number product = times(column[k], plan->roots[at]);
                sum.re += product.re;
                sum.im += product.im;
                at += step;
                if (at >= length) at -= length;
            }
            out[u + q * m] = sum;
        }
    }
}

/* Computes out = transform of the n numbers in[0], in[stride] ... where stride * n is the plan's length. */
static void transform(const fourier_plan *plan, const complex_number *in, int64_t stride, complex_number *out,
                      int64_t n) {
    if (n == 1) {
        out[0] = in[0];
        return;
    }
    const int64_t p = smallest_factor(n), m = n / p;
    for (int64_t k = 0; k < p && m > 1; k++) transform(plan, in + k * stride, stride * p, out + k * m, m);
    for (int64_t k = 0; k < p && m == 1; k++) out[k] = in[k * stride];
    if (p == 4)
        join_four(plan, stride, out, m);
    else
        join(plan, stride, out, p, m);
}

static void fill_roots(const tort_call *call, complex_number *roots, int64_t length, bool inverse) {
    const double turn = (inverse ? 2 : -2) * 3.14159265358979323846 / (double)length;
    for (int64_t k = 0; k < length; k++) {
        if (k % 4096 == 4095 && !tort_call_goes_on(call, 4096 * 40)) return;
        roots[k] = (complex_number){cos(turn * (double)k), sin(turn * (double)k)};
    }
}

/* Nanoseconds of one transform, which takes as many steps for each number as the prime factors sum up to. */
static double cost_of(int64_t length) {
    double sum = 10;
    for (int64_t rest = length, p; rest > 1; rest /= p) sum += (double)(p = smallest_factor(rest));
    return 4 * sum * (double)length;
}

/* At most 16 workers, since each needs scratch: a lane in, a lane out and a column, behind the shared roots. */
static int64_t worker_count(int64_t lanes) {
    return lanes < 16 ? lanes : 16;
}

static tort_status count_scratch(tort_resolve *resolve, int64_t length, int64_t lanes) {
    size_t bytes;
    if (!tort_mul_size((uint64_t)length, 1 + 3 * (uint64_t)worker_count(lanes), &bytes) ||
        !tort_mul_size(bytes, sizeof(complex_number), &resolve->scratch_bytes))
        return tort_fail(resolve->error, TORT_E_MEMORY, "a transform of length %lld does not fit in memory",
                         (long long)length);
    return TORT_OK;
}

/* ---- DFT: infer and resolve -------------------------------------------------------------------------------------- */

/* Reads the axis: an attribute in DFT-17, an input in DFT-20; *known is false if its value is not known yet. */
static tort_status dft_axis(const tort_node_view *node, tort_error *error, int32_t rank, int32_t *axis, bool *known) {
    int64_t wanted = node->op->since < 20 ? tort_attr_int(node, "axis") : -2;
    tort_status status = TORT_OK;
    *known = true;
    if (node->op->since >= 20 && tort_has_input(node, 2))
        status = tort_read_number(node, 2, "axis", &wanted, known, error);
    if (status || !*known) return status;
    status = tort_normalize_axis(error, wanted, rank, axis);
    if (status == TORT_OK && *axis == rank - 1)
        return tort_fail(error, TORT_E_MODEL, "axis %lld is that of real and imaginary parts", (long long)wanted);
    return status;
}

static tort_status check_dft_input(tort_error *error, const tort_info *input) {
    if (input->rank < 2)
        return tort_fail(error, TORT_E_MODEL, "the input has rank %d; expected 2 or more", input->rank);
    tort_dim parts = input->dims[input->rank - 1];
    if (!tort_dim_known(parts) || parts == 1 || parts == 2) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "the last dimension is %lld; expected 1 (real) or 2 (complex)",
                     (long long)parts);
}

/* given: value of input dft_length; NULL: absent. */
static tort_dim dft_output_length(const tort_infer *infer, tort_dim length, const tort_scalar *given) {
    const bool inverse = tort_attr_int(infer->node, "inverse") != 0;
    const bool onesided = tort_attr_int(infer->node, "onesided") != 0;
    if (inverse && onesided) length = tort_dim_mul(infer->dims, tort_dim_add_const(infer->dims, length, -1), 2);
    if (given) length = tort_scalar_to_dim(infer->dims, *given);
    if (inverse || !onesided) return length;
    return tort_dim_add_const(infer->dims, tort_dim_floordiv(infer->dims, length, 2), 1);
}

static tort_status infer_dft(tort_infer *infer) {
    const tort_node_view *node = infer->node;
    const tort_info *input = &node->inputs[0];
    const bool sized = tort_has_input(node, 1);
    const bool real = tort_attr_int(node, "inverse") != 0 && tort_attr_int(node, "onesided") != 0;
    tort_dim dims[TORT_MAX_RANK];
    tort_scalar given;
    int32_t axis;
    bool known;
    infer->outputs[0].type = input->type;
    tort_status status = sized ? tort_read_symbol(infer, 1, "dft_length", &given) : TORT_OK;
    if (!status && sized && !given.symbolic && given.value < 1)
        status =
            tort_fail(infer->error, TORT_E_MODEL, "dft_length is %lld, expected 1 or more", (long long)given.value);
    if (status || input->rank < 0) return status;
    status = check_dft_input(infer->error, input);
    if (!status) status = dft_axis(node, infer->error, input->rank, &axis, &known);
    if (status) return status;
    for (int32_t d = 0; d < input->rank - 1; d++) dims[d] = known ? input->dims[d] : tort_dim_fresh(infer->dims, true);
    dims[input->rank - 1] = real ? 1 : 2;
    if (known) dims[axis] = dft_output_length(infer, input->dims[axis], sized ? &given : NULL);
    tort_infer_shape(infer, 0, input->type, input->rank, dims);
    return TORT_OK;
}

static tort_status resolve_dft(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    const tort_info *input = &node->inputs[0], *output = &node->outputs[0];
    tort_fourier_params *params = resolve->params;
    const bool onesided = tort_attr_int(node, "onesided") != 0;
    int32_t axis;
    bool known;
    params->inverse = tort_attr_int(node, "inverse") != 0;
    params->completes = params->inverse && onesided;
    if (!tort_shape_known(input) || !tort_shape_known(output)) return TORT_OK;
    tort_status status = dft_axis(node, resolve->error, input->rank, &axis, &known);
    if (status != TORT_OK || !known) return status;
    params->in_parts = input->dims[input->rank - 1];
    params->out_parts = output->dims[output->rank - 1];
    if (onesided && params->inverse != (params->in_parts == 2))
        return tort_fail(resolve->error, TORT_E_MODEL,
                         "onesided=1 takes a real signal, or a complex spectrum (inverse)");
    params->outer = tort_extent(input->dims, 0, axis);
    params->inner = tort_extent(input->dims, axis + 1, input->rank - 1);
    params->in_length = input->dims[axis];
    params->out_length = output->dims[axis];
    params->length = params->completes ? params->out_length : params->in_length;
    if (tort_has_input(node, 1)) {
        status = tort_read_number(node, 1, "dft_length", &params->length, &known, resolve->error);
        if (status || !known) return status;
    }
    if (params->length < 1)
        return tort_fail(resolve->error, TORT_E_MODEL, "the length of the transform is %lld; expected 1 or more",
                         (long long)params->length);
    return count_scratch(resolve, params->length, params->outer * params->inner);
}

/* ---- STFT: infer and resolve ------------------------------------------------------------------------------------- */

enum { SIGNAL, FRAME_STEP, WINDOW, FRAME_LENGTH }; /* inputs */

/* Length of a frame as far as it is known: input frame_length, else the window's length, else the signal's. */
static tort_status frame_length(const tort_infer *infer, tort_scalar *length) {
    const tort_node_view *node = infer->node;
    const tort_info *from = &node->inputs[tort_has_input(node, WINDOW) ? WINDOW : SIGNAL];
    if (tort_has_input(node, WINDOW) && from->rank >= 0 && from->rank != 1)
        return tort_fail(infer->error, TORT_E_MODEL, "the window has rank %d; expected 1", from->rank);
    if (tort_has_input(node, FRAME_LENGTH)) return tort_read_symbol(infer, FRAME_LENGTH, "frame_length", length);
    int32_t axis = tort_has_input(node, WINDOW) ? 0 : 1;
    *length = from->rank > axis ? tort_scalar_of_dim(from->dims[axis]) : tort_scalar_unknown(infer->dims, true);
    return TORT_OK;
}

static tort_status check_signal(tort_error *error, const tort_info *signal, const tort_scalar *length) {
    if (signal->rank != 2 && signal->rank != 3)
        return tort_fail(error, TORT_E_MODEL,
                         "the signal has rank %d; expected 3 (batch, length, 1 or 2), or 2 (batch, length)",
                         signal->rank);
    if (length->symbolic || length->value >= 1) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "the frame length is %lld; expected 1 or more", (long long)length->value);
}

static tort_status count_frames(const tort_infer *infer, tort_scalar length, int64_t step, tort_dim *frames) {
    const tort_dim samples = infer->node->inputs[SIGNAL].dims[1];
    if (step < 1)
        return tort_fail(infer->error, TORT_E_MODEL, "frame_step is %lld; expected 1 or more", (long long)step);
    tort_scalar room = tort_scalar_sub(infer->dims, tort_scalar_of_dim(samples), length);
    if (!room.symbolic && room.value < 0)
        return tort_fail(infer->error, TORT_E_MODEL, "the signal has %lld samples, a frame %lld", (long long)samples,
                         (long long)length.value);
    *frames = tort_dim_add_const(infer->dims, tort_dim_floordiv(infer->dims, room.value, step), 1);
    return TORT_OK;
}

static tort_status infer_stft(tort_infer *infer) {
    const tort_node_view *node = infer->node;
    const tort_info *signal = &node->inputs[SIGNAL];
    tort_scalar length;
    int64_t step;
    bool step_known;
    infer->outputs[0].type = signal->type;
    tort_status status = frame_length(infer, &length);
    if (!status) status = tort_read_number(node, FRAME_STEP, "frame_step", &step, &step_known, infer->error);
    if (status || signal->rank < 0) return status;
    status = check_signal(infer->error, signal, &length);
    if (status) return status;
    tort_dim frames = tort_dim_fresh(infer->dims, true), bins = tort_scalar_to_dim(infer->dims, length);
    if (step_known) status = count_frames(infer, length, step, &frames);
    if (status) return status;
    if (tort_attr_int(node, "onesided") != 0)
        bins = tort_dim_add_const(infer->dims, tort_dim_floordiv(infer->dims, bins, 2), 1);
    const tort_dim dims[4] = {signal->dims[0], frames, bins, 2};
    tort_infer_shape(infer, 0, signal->type, 4, dims);
    return TORT_OK;
}

static tort_status resolve_stft(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    const tort_info *signal = &node->inputs[SIGNAL], *window = &node->inputs[WINDOW], *output = &node->outputs[0];
    tort_fourier_params *params = resolve->params;
    const bool windowed = tort_has_input(node, WINDOW);
    bool known = true;
    tort_status status = TORT_OK;
    if (!tort_shape_known(signal) || !tort_shape_known(output) || (windowed && !tort_shape_known(window)))
        return TORT_OK;
    params->signal_length = signal->dims[1];
    params->in_parts = signal->rank == 3 ? signal->dims[2] : 1;
    params->in_length = windowed ? window->dims[0] : params->signal_length;
    if (tort_has_input(node, FRAME_LENGTH))
        status = tort_read_number(node, FRAME_LENGTH, "frame_length", &params->in_length, &known, resolve->error);
    if (status || !known) return status;
    status = tort_read_number(node, FRAME_STEP, "frame_step", &params->frame_step, &known, resolve->error);
    if (status || !known) return status;
    if (params->in_parts != 1 && params->in_parts != 2)
        return tort_fail(resolve->error, TORT_E_MODEL, "the last dimension of the signal is %lld; expected 1 or 2",
                         (long long)params->in_parts);
    if (windowed && (window->rank != 1 || window->dims[0] != params->in_length))
        return tort_fail(resolve->error, TORT_E_MODEL, "the window must have shape [%lld], the length of a frame",
                         (long long)params->in_length);
    params->frames = output->dims[1];
    params->outer = signal->dims[0] * params->frames;
    params->inner = 1;
    params->length = params->in_length;
    params->out_length = output->dims[2];
    params->out_parts = 2;
    return count_scratch(resolve, params->length, params->outer);
}

/* ---- the loops --------------------------------------------------------------------------------------------------- */

typedef struct fourier_task {
    const tort_call *call;
    const tort_fourier_params *params;
    const tort_tensor *window; /* NULL: none */
    int64_t workers;
} fourier_task;

/* Loads `count` numbers that lie one behind the other, times the window. */
static void load_numbers(const fourier_task *task, int64_t first, int64_t count, complex_number *in) {
    enum { NUMBERS = TORT_BLOCK / 2 };
    const tort_tensor *input = &task->call->inputs[0];
    const int64_t parts = task->params->in_parts;
    double block[TORT_BLOCK], window[NUMBERS];
    for (int64_t at = 0; at < count; at += NUMBERS) {
        const int64_t some = count - at < NUMBERS ? count - at : NUMBERS;
        tort_load_doubles(input->type, input->data, (first + at) * parts, some * parts, block);
        if (task->window) tort_load_doubles(task->window->type, task->window->data, at, some, window);
        for (int64_t i = 0; i < some; i++) {
            const double weight = task->window ? window[i] : 1;
            in[at + i].re = block[i * parts] * weight;
            if (parts == 2) in[at + i].im = block[2 * i + 1] * weight;
        }
    }
}

static void load_lane(const fourier_task *task, int64_t lane, complex_number *in) {
    const tort_fourier_params *params = task->params;
    const tort_tensor *input = &task->call->inputs[0];
    int64_t first = lane / params->inner * params->in_length * params->inner + lane % params->inner;
    if (params->frames > 0)
        first = lane / params->frames * params->signal_length + lane % params->frames * params->frame_step;
    int64_t count = params->in_length < params->length ? params->in_length : params->length;
    memset(in, 0, (size_t)params->length * sizeof *in);
    if (params->inner == 1) {
        load_numbers(task, first, count, in);
    } else {
        for (int64_t i = 0; i < count; i++)
            tort_load_doubles(input->type, input->data, (first + i * params->inner) * params->in_parts,
                              params->in_parts, (double *)&in[i]);
    }
    for (int64_t i = params->length / 2 + 1; params->completes && i < params->length; i++)
        in[i] = (complex_number){in[params->length - i].re, -in[params->length - i].im};
}

/* Stores the bins that the output keeps; those of the inverse are divided by the length. */
static void store_lane(const fourier_task *task, int64_t lane, complex_number *out) {
    const tort_fourier_params *params = task->params;
    const tort_tensor *output = &task->call->outputs[0];
    const int64_t first = lane / params->inner * params->out_length * params->inner + lane % params->inner;
    for (int64_t i = 0; i < params->out_length && params->inverse; i++) {
        out[i].re /= (double)params->length;
        out[i].im /= (double)params->length;
    }
    if (params->inner == 1 && params->out_parts == 2) {
        tort_store_doubles(output->type, output->data, 2 * first, 2 * params->out_length, (double *)out);
        return;
    }
    for (int64_t i = 0; i < params->out_length; i++)
        tort_store_doubles(output->type, output->data, (first + i * params->inner) * params->out_parts,
                           params->out_parts, (double *)&out[i]);
}

static void transform_lanes(void *arg, int64_t begin, int64_t end) {
    const fourier_task *task = arg;
    const tort_fourier_params *params = task->params;
    const int64_t length = params->length;
    complex_number *roots = task->call->scratch;
    for (int64_t worker = begin; worker < end; worker++) {
        complex_number *in = roots + length * (1 + 3 * worker), *out = in + length;
        fourier_plan plan = {task->call, length, roots, out + length};
        for (int64_t lane = worker; lane < params->outer * params->inner; lane += task->workers) {
            if (!tort_call_goes_on(task->call, 0)) return;
            load_lane(task, lane, in);
            transform(&plan, in, 1, out, length);
            store_lane(task, lane, out);
        }
    }
}

static tort_status run(const tort_call *call) {
    const tort_tensor *window = call->op->variant == SHORT_TIME ? tort_call_input(call, WINDOW) : NULL;
    const tort_fourier_params *params = call->params;
    const int64_t lanes = params->outer * params->inner;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    fourier_task task = {call, params, window, worker_count(lanes)};
    fill_roots(call, call->scratch, params->length, params->inverse);
    const double work = (double)(lanes / task.workers) * cost_of(params->length);
    tort_parallel(call, task.workers, work < 1e15 ? (int64_t)work + 1 : (int64_t)1e15, transform_lanes, &task);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define TYPES "T1=floats13 T2=int32|int64"

const tort_op tort_ops_fourier[] = {
    {"", "DFT", 17, 19, "input:T1 dft_length?:T2", "output:T1", TYPES, "axis:int=1 inverse:int=0 onesided:int=0",
     .shape_inputs = 1u << 1, .variant = WHOLE_SIGNAL, .params_size = sizeof(tort_fourier_params), .infer = infer_dft,
     .resolve = resolve_dft, .reference = run},
    {"", "DFT", 20, TORT_NEWEST_OPSET, "input:T1 dft_length?:T2 axis?:int64", "output:T1", TYPES,
     "inverse:int=0 onesided:int=0", .shape_inputs = 1u << 1 | 1u << 2, .variant = WHOLE_SIGNAL,
     .params_size = sizeof(tort_fourier_params), .infer = infer_dft, .resolve = resolve_dft, .reference = run},
    {"", "STFT", 17, TORT_NEWEST_OPSET, "signal:T1 frame_step:T2 window?:T1 frame_length?:T2", "output:T1", TYPES,
     "onesided:int=1", .shape_inputs = 1u << 1 | 1u << 3, .variant = SHORT_TIME,
     .params_size = sizeof(tort_fourier_params), .infer = infer_stft, .resolve = resolve_stft, .reference = run},
    {0},
};
