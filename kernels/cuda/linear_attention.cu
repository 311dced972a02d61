/* linear_attention.cu - LinearAttention: the columns of a head's state do not depend on each other, so a block has 16
 * of them, each in the registers of 8 threads, and goes from token to token. CausalConvWithState: a thread an output.
 * Sums are float. Read first: linear_attention.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/activation.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/linear_attention.h"

enum { LANES = 8, COLUMNS = 16, ROWS = GPU_LINEAR_KEY_SIZE / LANES };

/* The sum of the 8 threads of a column, to all of them. */
static __device__ __forceinline__ float column_sum(float x) {
#pragma unroll
    for (int offset = LANES / 2; offset; offset /= 2) x += __shfl_xor_sync(~0u, x, offset);
    return x;
}

/* Thread `lane` of a column has the rows lane, lane + 8 ... of it. */
template <class T, class S> struct state_column {
    float at[ROWS];
    int lane, rows; /* rows: of this thread */

    __device__ __forceinline__ state_column(const gpu_linear_attention &p, int64_t head_of_all, int64_t column)
        : lane((int)threadIdx.x % LANES), rows(((int)p.params.key_size - lane + LANES - 1) / LANES) {
        const S *past = (const S *)p.past + head_of_all * p.params.key_size * p.params.value_size + column;
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            at[i] = p.past && i < rows ? (float)past[(lane + i * LANES) * p.params.value_size] : 0.0f;
    }
    __device__ __forceinline__ float dot(const T *vector) const {
        float sum = 0;
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            if (i < rows) sum += at[i] * (float)vector[lane + i * LANES];
        return column_sum(sum);
    }
    __device__ __forceinline__ void decay(const T *gates, bool each) {
        const float all = each ? 0.0f : exponential((float)gates[0]);
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            if (i < rows) at[i] *= each ? exponential((float)gates[lane + i * LANES]) : all;
    }
    __device__ __forceinline__ void add(const T *key, float value) {
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            if (i < rows) at[i] += (float)key[lane + i * LANES] * value;
    }
};

template <class T, class S>
static __global__ void __launch_bounds__(LANES *COLUMNS)
    linear_attention(const gpu_linear_attention p, unsigned parts) {
    const tort_linear_params &a = p.params;
    const int64_t head_of_all = blockIdx.x / parts, part = blockIdx.x % parts;
    const int64_t batch = head_of_all / a.key_heads, head = head_of_all % a.key_heads;
    const int64_t wanted = part * COLUMNS + threadIdx.x / LANES;
    const bool there = wanted < a.value_size; /* else a thread works along, for the shuffles */
    const int64_t column = there ? wanted : a.value_size - 1, group = a.query_heads / a.key_heads;
    state_column<T, S> state(p, head_of_all, column);
    for (int64_t t = 0; t < a.length; t++) {
        const int64_t at = batch * a.length + t, of_head = at * a.key_heads + head;
        const T *key = (const T *)p.key + of_head * a.key_size;
        float value = (float)((const T *)p.value)[of_head * a.value_size + column];
        if (p.decay) state.decay((const T *)p.decay + of_head * a.decay_columns, a.decay_columns > 1);
        if (p.beta) {
            const float beta = (float)((const T *)p.beta)[at * a.beta_columns + (a.beta_columns > 1 ? head : 0)];
            value = (value - state.dot(key)) * beta;
        }
        state.add(key, value);
        for (int64_t g = 0; g < group; g++) {
            const int64_t query = at * a.query_heads + head * group + g;
            const float y = state.dot((const T *)p.query + query * a.key_size) * (float)a.scale;
            if (there && state.lane == 0) ((T *)p.y)[query * a.value_size + column] = (T)y;
        }
    }
    S *present = (S *)p.present + head_of_all * a.key_size * a.value_size + column;
#pragma unroll
    for (int i = 0; i < ROWS; i++)
        if (p.present && there && i < state.rows) present[(state.lane + i * LANES) * a.value_size] = (S)state.at[i];
}

/* ---- CausalConvWithState ---- */

/* Position `at` of a channel: below 0 it is in the past state, or zero. */
template <class T>
static __device__ __forceinline__ float position_at(const gpu_causal_conv &p, int64_t channel, int64_t at) {
    const int64_t kept = p.params.kernel - 1;
    if (at >= 0) return (float)((const T *)p.x)[channel * p.params.length + at];
    return p.past ? (float)((const T *)p.past)[channel * kept + kept + at] : 0.0f;
}

template <class T> static __global__ void causal_conv(const gpu_causal_conv p) {
    const tort_causal_params &c = p.params;
    const int64_t kept = c.kernel - 1, each = c.length + (p.present ? kept : 0);
    for (size_t i = grid_first(); i < (size_t)(c.batch * c.channels * each); i += grid_stride()) {
        const int64_t channel = (int64_t)i / each, at = (int64_t)i - channel * each;
        if (at >= c.length) {
            const int64_t k = at - c.length;
            ((T *)p.present)[channel * kept + k] = (T)position_at<T>(p, channel, c.length - kept + k);
            continue;
        }
        const int64_t of_image = channel % c.channels;
        float sum = p.bias ? (float)((const T *)p.bias)[of_image] : 0.0f;
        for (int64_t k = 0; k < c.kernel; k++)
            sum += (float)((const T *)p.w)[of_image * c.kernel + k] * position_at<T>(p, channel, at - kept + k);
        ((T *)p.y)[channel * c.length + at] = (T)(c.silu ? swish(sum, 1.0f) : sum);
    }
}

/* ---- launchers ---- */

template <class Use> static cudaError_t for_state(gpu_type type, gpu_type state, Use use) {
    return for_image(type, [=](auto t) { return for_image(state, [=](auto s) { return use(t, s); }); });
}

cudaError_t gpu_run_linear_attention(gpu_stream stream, gpu_type type, gpu_type state, const gpu_linear_attention *p) {
    const unsigned parts = (unsigned)((p->params.value_size + COLUMNS - 1) / COLUMNS);
    const unsigned blocks = (unsigned)(p->params.batch * p->params.key_heads) * parts;
    if (!blocks) return cudaSuccess;
    return for_state(type, state, [=](auto t, auto s) {
        return launch(linear_attention<decltype(t), decltype(s)>, blocks, LANES * COLUMNS, 0, stream, *p, parts);
    });
}

cudaError_t gpu_load_linear_attention(gpu_type type, gpu_type state) {
    return for_state(type, state,
                     [](auto t, auto s) { return load_kernel(linear_attention<decltype(t), decltype(s)>); });
}

cudaError_t gpu_run_causal_conv(gpu_stream stream, gpu_type type, const gpu_causal_conv *p) {
    const size_t count = (size_t)(p->params.batch * p->params.channels * (p->params.length + p->params.kernel - 1));
    if (!count) return cudaSuccess;
    return for_image(type, [=](auto zero) {
        return launch(causal_conv<decltype(zero)>, grid_blocks(count), GRID_THREADS, 0, stream, *p);
    });
}

cudaError_t gpu_load_causal_conv(gpu_type type) {
    return for_image(type, [](auto zero) { return load_kernel(causal_conv<decltype(zero)>); });
}
