/* unary.cu - functions of one tensor, element by element. half is computed in float and rounded once.
 *
 * Memory-bound: a thread takes a stride of elements, neighbours read neighbours. Read first: unary.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/grid.h"
#include "kernels/cuda/unary.h"

/* ---- kernel ---- */

template <int function> static __device__ __forceinline__ float apply(float x, float alpha, float beta) {
    switch (function) {
    case GPU_ABS: return fabsf(x);
    case GPU_CEIL: return ceilf(x);
    case GPU_COS: return cosf(x);
    case GPU_ELU: return x > 0.0f ? x : alpha * (expf(x) - 1.0f);
    case GPU_ERF: return erff(x);
    case GPU_EXP: return expf(x);
    case GPU_FLOOR: return floorf(x);
    case GPU_GELU: return 0.5f * x * (1.0f + erff(x * 0.70710678f));
    case GPU_GELU_TANH: return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
    case GPU_HARD_SIGMOID: return fmaxf(0.0f, fminf(1.0f, alpha * x + beta));
    case GPU_HARD_SWISH: return x * fmaxf(0.0f, fminf(1.0f, x / 6.0f + 0.5f));
    case GPU_LEAKY_RELU: return x < 0.0f ? alpha * x : x;
    case GPU_LOG: return logf(x);
    case GPU_NEG: return -x;
    case GPU_RECIPROCAL: return 1.0f / x;
    case GPU_RELU: return x < 0.0f ? 0.0f : x; /* NaN stays NaN */
    case GPU_SIGMOID: return 1.0f / (1.0f + expf(-x));
    case GPU_SIN: return sinf(x);
    case GPU_SOFTPLUS: return x > 0.0f ? x + log1pf(expf(-x)) : log1pf(expf(x));
    case GPU_SQRT: return sqrtf(x);
    default: return tanhf(x); /* GPU_TANH */
    }
}

template <int function, class T> static __global__ void unary(const T *x, T *y, size_t count, float alpha, float beta) {
    for (size_t i = grid_first(); i < count; i += grid_stride()) y[i] = (T)apply<function>((float)x[i], alpha, beta);
}

/* ---- launchers ---- */

template <int function, class T>
static cudaError_t run(cudaStream_t stream, const void *x, void *y, size_t count, float alpha, float beta) {
    if (!count) return cudaSuccess;
    return launch(unary<function, T>, grid_blocks(count), GRID_THREADS, 0, stream, (const T *)x, (T *)y, count, alpha,
                  beta);
}

/* One row a function and type; the compiler makes a kernel of each. */
typedef struct unary_row {
    cudaError_t (*run)(cudaStream_t, const void *, void *, size_t, float, float);
    cudaError_t (*load)();
} unary_row;

template <int function, class T> static cudaError_t load() {
    return load_kernel(unary<function, T>);
}

#define ROW(function)                                                                                                  \
    {                                                                                                                  \
        {run<function, float>, load<function, float>}, {                                                               \
            run<function, half>, load<function, half>                                                                  \
        }                                                                                                              \
    }

/* In the order of gpu_unary. */
static const unary_row rows[GPU_UNARY_COUNT][2] = {
    ROW(GPU_ABS),        ROW(GPU_CEIL),       ROW(GPU_COS),  ROW(GPU_ELU),       ROW(GPU_ERF),
    ROW(GPU_EXP),        ROW(GPU_FLOOR),      ROW(GPU_GELU), ROW(GPU_GELU_TANH), ROW(GPU_HARD_SIGMOID),
    ROW(GPU_HARD_SWISH), ROW(GPU_LEAKY_RELU), ROW(GPU_LOG),  ROW(GPU_NEG),       ROW(GPU_RECIPROCAL),
    ROW(GPU_RELU),       ROW(GPU_SIGMOID),    ROW(GPU_SIN),  ROW(GPU_SOFTPLUS),  ROW(GPU_SQRT),
    ROW(GPU_TANH),
};

cudaError_t gpu_run_unary(cudaStream_t stream, gpu_unary function, gpu_type type, const void *x, void *y, size_t count,
                          float alpha, float beta) {
    return rows[function][type].run(stream, x, y, count, alpha, beta);
}

cudaError_t gpu_load_unary(gpu_unary function, gpu_type type) {
    return rows[function][type].load();
}
