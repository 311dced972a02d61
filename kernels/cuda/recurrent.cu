/* recurrent.cu - RNN, LSTM and GRU, as ops/rnn.c defines them.
 *
 * One tiled product multiplies W with the inputs of all steps, which do not depend on the state. Then each step is
 * one launch (two for a GRU that resets the state before its product): a warp computes one element of one item's
 * next state from the products of R with its gates. The end of a launch is the barrier that makes the new state
 * visible to all blocks. Read first: recurrent.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/element.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/index.h"
#include "kernels/cuda/recurrent.h"

/* ---- products of W ---- */

#define TILE 32
#define TILE_ROWS (GRID_THREADS / TILE) /* rows of a tile that its threads cover at a time */

/* products = X W^T, with X as [steps and batch, input]. */
template <class T> static __global__ void input_products(const gpu_recurrent n) {
    typedef typename computed<T>::type C;
    __shared__ C xs[TILE][TILE + 1], ws[TILE][TILE + 1];
    const size_t input = (size_t)n.params.input, rows = (size_t)(n.params.length * n.params.batch);
    const size_t columns = (size_t)(n.params.gates * n.params.hidden);
    const size_t tiles_down = (rows + TILE - 1) / TILE, tiles_across = (columns + TILE - 1) / TILE;
    const unsigned across = threadIdx.x % TILE, down = threadIdx.x / TILE;
    for (size_t tile = blockIdx.x; tile < (size_t)n.params.directions * tiles_down * tiles_across; tile += gridDim.x) {
        const size_t direction = tile / tiles_across / tiles_down;
        const size_t row = tile / tiles_across % tiles_down * TILE, column = tile % tiles_across * TILE;
        const T *x = (const T *)n.x, *w = (const T *)n.w + direction * columns * input;
        C sums[TILE / TILE_ROWS] = {};
        for (size_t k = 0; k < input; k += TILE) {
            for (unsigned i = down; i < TILE; i += TILE_ROWS) {
                const bool inside = k + across < input;
                xs[i][across] = inside && row + i < rows ? (C)x[(row + i) * input + k + across] : (C)0;
                ws[i][across] = inside && column + i < columns ? (C)w[(column + i) * input + k + across] : (C)0;
            }
            __syncthreads();
            for (unsigned j = 0; j < TILE; j++)
                for (unsigned i = 0; i < TILE / TILE_ROWS; i++) sums[i] += xs[down + i * TILE_ROWS][j] * ws[across][j];
            __syncthreads();
        }
        for (unsigned i = 0; i < TILE / TILE_ROWS; i++) {
            const size_t at = row + down + i * TILE_ROWS;
            if (at < rows && column + across < columns)
                ((C *)n.products)[(direction * rows + at) * columns + column + across] = sums[i];
        }
    }
}

/* ---- functions ---- */

template <class C> static __device__ C apply(const tort_rnn_activation &activation, C x) {
    const C alpha = (C)activation.alpha, beta = (C)activation.beta, one = 1;
    switch (activation.function) {
    case TORT_RNN_RELU: return x > 0 || x != x ? x : (C)0;
    case TORT_RNN_TANH: return tanh(x);
    case TORT_RNN_SIGMOID: return one / (one + exp(-x));
    case TORT_RNN_AFFINE: return alpha * x + beta;
    case TORT_RNN_LEAKY_RELU: return x >= 0 ? x : alpha * x;
    case TORT_RNN_THRESHOLDED_RELU: return x >= alpha ? x : (C)0;
    case TORT_RNN_SCALED_TANH: return alpha * tanh(beta * x);
    case TORT_RNN_HARD_SIGMOID: x = alpha * x + beta; return x < 0 ? (C)0 : x > 1 ? one : x;
    case TORT_RNN_ELU: return x >= 0 ? x : alpha * expm1(x);
    case TORT_RNN_SOFTSIGN: return x / (one + fabs(x));
    case TORT_RNN_SOFTPLUS: return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
    }
    return x;
}

/* Clips the argument of a gate's activation, as the attribute `clip` demands. */
template <class C>
static __device__ __forceinline__ C gate(const gpu_recurrent &n, const tort_rnn_activation &activation, C x) {
    const C clip = (C)n.params.clip;
    return apply(activation, x > clip ? clip : x < -clip ? -clip : x);
}

/* ---- an element of a state ---- */

/* The work of a warp: element i of an item's state in one step. */
template <class C> struct unit {
    size_t item, direction, i;
    const C *h, *products; /* of the item; products of all gates */
    const tort_rnn_activation *functions;
};

template <class T, class C>
static __device__ __forceinline__ C bias_at(const gpu_recurrent &n, const unit<C> &u, int which, int g) {
    const size_t hidden = (size_t)n.params.hidden, gates = (size_t)n.params.gates;
    return n.bias ? (C)((const T *)n.bias)[((2 * u.direction + (size_t)which) * gates + (size_t)g) * hidden + u.i]
                  : (C)0;
}

/* Row i of a gate's R times a state; every lane gets the result. */
template <class T, class C>
static __device__ __forceinline__ C recurrent_product(const gpu_recurrent &n, const unit<C> &u, int g, const C *h) {
    const size_t hidden = (size_t)n.params.hidden;
    const T *row = (const T *)n.r + ((u.direction * (size_t)n.params.gates + (size_t)g) * hidden + u.i) * hidden;
    C sum = 0;
    for (size_t k = threadIdx.x % 32; k < hidden; k += 32) sum += (C)row[k] * h[k];
    for (int offset = 16; offset; offset >>= 1) sum += __shfl_xor_sync(~0u, sum, offset);
    return sum;
}

/* W x + R h + both biases. */
template <class T, class C>
static __device__ __forceinline__ C gate_sum(const gpu_recurrent &n, const unit<C> &u, int g) {
    return u.products[(size_t)g * (size_t)n.params.hidden + u.i] + recurrent_product<T>(n, u, g, u.h) +
           bias_at<T>(n, u, 0, g) + bias_at<T>(n, u, 1, g);
}

/* Gates are in the order input, output, forget, cell; peepholes in the order input, output, forget. */
template <class T, class C> static __device__ C lstm_unit(const gpu_recurrent &n, const unit<C> &u) {
    const size_t hidden = (size_t)n.params.hidden;
    const T *peepholes = n.peepholes ? (const T *)n.peepholes + u.direction * 3 * hidden + u.i : NULL;
    C *state = (C *)n.cell + u.item * hidden + u.i;
    const C last = *state;
    C in = gate_sum<T>(n, u, 0), out = gate_sum<T>(n, u, 1), forget = gate_sum<T>(n, u, 2), cell = gate_sum<T>(n, u, 3);
    if (peepholes) {
        in += (C)peepholes[0] * last;
        forget += (C)peepholes[2 * hidden] * last;
    }
    in = gate(n, u.functions[0], in);
    forget = n.params.input_forget ? (C)1 - in : gate(n, u.functions[0], forget);
    const C next = forget * last + in * gate(n, u.functions[1], cell);
    if (peepholes) out += (C)peepholes[hidden] * next;
    __syncwarp(); /* all lanes have read the old state */
    if (threadIdx.x % 32 == 0) *state = next;
    return gate(n, u.functions[0], out) * apply(u.functions[2], next);
}

/* Gates are in the order update, reset, hidden. linear_before_reset: the product R h is reset, otherwise h before
 * its product. */
template <class T, class C> static __device__ C gru_unit(const gpu_recurrent &n, const unit<C> &u) {
    const size_t hidden = (size_t)n.params.hidden;
    const C update = gate(n, u.functions[0], gate_sum<T>(n, u, 0));
    const bool linear = n.params.linear_before_reset;
    C recurrent = recurrent_product<T>(n, u, 2, linear ? u.h : (const C *)n.reset + u.item * hidden);
    recurrent += bias_at<T>(n, u, 1, 2);
    if (linear) recurrent *= gate(n, u.functions[0], gate_sum<T>(n, u, 1));
    const C fresh = gate(n, u.functions[1], u.products[2 * hidden + u.i] + bias_at<T>(n, u, 0, 2) + recurrent);
    return ((C)1 - update) * fresh + update * u.h[u.i];
}

/* ---- steps ---- */

static __device__ __forceinline__ int64_t length_of(const gpu_recurrent &n, size_t batch) {
    if (!n.lengths) return n.params.length;
    const int64_t length = n.lengths[batch];
    return length < 0 ? 0 : length > n.params.length ? n.params.length : length; /* begin reports it */
}

/* Row of step t in X and in the products. */
static __device__ __forceinline__ size_t row_of(const gpu_recurrent &n, size_t batch, int64_t t) {
    return n.params.batch_first ? batch * (size_t)n.params.length + (size_t)t
                                : (size_t)t * (size_t)n.params.batch + batch;
}

/* Offset of the state of step t in Y. */
static __device__ __forceinline__ size_t output_of(const gpu_recurrent &n, size_t direction, size_t batch, int64_t t) {
    const size_t directions = (size_t)n.params.directions;
    const size_t row = n.params.batch_first ? row_of(n, batch, t) * directions + direction
                                            : ((size_t)t * directions + direction) * (size_t)n.params.batch + batch;
    return row * (size_t)n.params.hidden;
}

template <class C>
static __device__ __forceinline__ unit<C> unit_of(const gpu_recurrent &n, size_t index, int64_t step, bool *live) {
    const size_t hidden = (size_t)n.params.hidden, batches = (size_t)n.params.batch, item = index / hidden;
    const size_t direction = item / batches, batch = item % batches;
    const int64_t length = length_of(n, batch);
    const int64_t t = n.params.reverse || direction == 1 ? length - 1 - step : step;
    const size_t rows = (size_t)n.params.length * batches;
    *live = step < length;
    const size_t row = direction * rows + (*live ? row_of(n, batch, t) : 0);
    return {item,
            direction,
            index % hidden,
            (const C *)n.states[step & 1] + item * hidden,
            (const C *)n.products + row * (size_t)n.params.gates * hidden,
            n.params.activations[direction]};
}

/* GRU without linear_before_reset: reset = r * h. */
template <class T> static __global__ void reset_states(const gpu_recurrent n, int64_t step) {
    typedef typename computed<T>::type C;
    const size_t count = (size_t)(n.params.directions * n.params.batch * n.params.hidden);
    for (size_t index = grid_first() / 32; index < count; index += grid_stride() / 32) {
        bool live;
        const unit<C> u = unit_of<C>(n, index, step, &live);
        if (!live) continue;
        const C reset = gate(n, u.functions[0], gate_sum<T>(n, u, 1));
        if (threadIdx.x % 32 == 0) ((C *)n.reset)[index] = reset * u.h[u.i];
    }
}

/* Computes a step's states. After the end of a sequence, its state stays and Y is zero. */
template <class T> static __global__ void step_states(const gpu_recurrent n, int64_t step) {
    typedef typename computed<T>::type C;
    const size_t count = (size_t)(n.params.directions * n.params.batch * n.params.hidden);
    for (size_t index = grid_first() / 32; index < count; index += grid_stride() / 32) {
        bool live;
        const unit<C> u = unit_of<C>(n, index, step, &live);
        C h = u.h[u.i];
        if (live && n.params.cell == TORT_CELL_LSTM)
            h = lstm_unit<T>(n, u);
        else if (live && n.params.cell == TORT_CELL_GRU)
            h = gru_unit<T>(n, u);
        else if (live)
            h = gate(n, u.functions[0], gate_sum<T>(n, u, 0));
        if (threadIdx.x % 32) continue;
        ((C *)n.states[(step + 1) & 1])[index] = h;
        const size_t batch = u.item % (size_t)n.params.batch;
        const bool backwards = n.params.reverse || u.direction == 1;
        const int64_t t = live && backwards ? length_of(n, batch) - 1 - step : step;
        if (n.y) ((T *)n.y)[output_of(n, u.direction, batch, t) + u.i] = (T)(live ? h : (C)0);
    }
}

/* Offset of state element `index` in initial_h, initial_c, Y_h and Y_c. */
static __device__ __forceinline__ size_t state_of(const gpu_recurrent &n, size_t index) {
    const size_t hidden = (size_t)n.params.hidden, batches = (size_t)n.params.batch, item = index / hidden;
    const size_t row = n.params.batch_first ? item % batches * (size_t)n.params.directions + item / batches : item;
    return row * hidden + index % hidden;
}

template <class T> static __global__ void begin(const gpu_recurrent n) {
    typedef typename computed<T>::type C;
    const size_t count = (size_t)(n.params.directions * n.params.batch * n.params.hidden);
    for (size_t i = grid_first(); i < count; i += grid_stride()) {
        const size_t from = state_of(n, i);
        ((C *)n.states[0])[i] = n.initial_h ? (C)((const T *)n.initial_h)[from] : (C)0;
        ((C *)n.cell)[i] = n.initial_c ? (C)((const T *)n.initial_c)[from] : (C)0;
        if (!n.lengths || i >= (size_t)n.params.batch * (size_t)n.params.hidden || i % (size_t)n.params.hidden)
            continue;
        const size_t batch = i / (size_t)n.params.hidden;
        const int64_t length = n.lengths[batch];
        if (length < 0 || length > n.params.length)
            report_fault(n.status, n.node, GPU_FAULT_RANGE, length, batch, n.params.length);
    }
}

template <class T> static __global__ void finish(const gpu_recurrent n) {
    typedef typename computed<T>::type C;
    const size_t count = (size_t)(n.params.directions * n.params.batch * n.params.hidden);
    for (size_t i = grid_first(); i < count; i += grid_stride()) {
        const size_t to = state_of(n, i);
        if (n.y_h) ((T *)n.y_h)[to] = (T)((const C *)n.states[n.params.length & 1])[i];
        if (n.y_c) ((T *)n.y_c)[to] = (T)((const C *)n.cell)[i];
    }
}

/* ---- launchers ---- */

template <class T> static cudaError_t run_products(gpu_stream stream, const gpu_recurrent *n) {
    const size_t rows = (size_t)(n->params.length * n->params.batch);
    const size_t columns = (size_t)(n->params.gates * n->params.hidden);
    const size_t tiles = (rows + TILE - 1) / TILE * ((columns + TILE - 1) / TILE) * (size_t)n->params.directions;
    if (!tiles) return cudaSuccess;
    return launch(input_products<T>, grid_extent(tiles), GRID_THREADS, 0, stream, *n);
}

template <class T> static cudaError_t run(gpu_stream stream, const gpu_recurrent *n) {
    const size_t count = (size_t)(n->params.directions * n->params.batch * n->params.hidden);
    const bool resets = n->params.cell == TORT_CELL_GRU && !n->params.linear_before_reset;
    if (!count) return cudaSuccess;
    cudaError_t code = run_products<T>(stream, n);
    if (code == cudaSuccess) code = launch(begin<T>, grid_blocks(count), GRID_THREADS, 0, stream, *n);
    for (int64_t step = 0; step < n->params.length && code == cudaSuccess; step++) {
        if (resets) code = launch(reset_states<T>, grid_blocks(32 * count), GRID_THREADS, 0, stream, *n, step);
        if (code == cudaSuccess)
            code = launch(step_states<T>, grid_blocks(32 * count), GRID_THREADS, 0, stream, *n, step);
    }
    if (code != cudaSuccess || !(n->y_h || n->y_c)) return code;
    return launch(finish<T>, grid_blocks(count), GRID_THREADS, 0, stream, *n);
}

template <class T> static cudaError_t load() {
    cudaError_t code = load_kernel(input_products<T>);
    if (code == cudaSuccess) code = load_kernel(begin<T>);
    if (code == cudaSuccess) code = load_kernel(reset_states<T>);
    if (code == cudaSuccess) code = load_kernel(step_states<T>);
    return code == cudaSuccess ? load_kernel(finish<T>) : code;
}

cudaError_t gpu_run_recurrent(gpu_stream stream, gpu_type type, const gpu_recurrent *n) {
    return for_real(type, [=](auto zero) { return run<decltype(zero)>(stream, n); });
}

cudaError_t gpu_load_recurrent(gpu_type type) {
    return for_real(type, [](auto zero) { return load<decltype(zero)>(); });
}
