/* bias.cu - sums of rows and a bias, and Gelu of them. Each thread makes output elements a grid stride apart. Read
 * first: bias.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/activation.h"
#include "kernels/cuda/bias.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/grid.h"

/* ---- kernel ---- */

template <class T> static __global__ void bias_rows(const gpu_bias b) {
    typedef typename computed<T>::type C;
    const T *x = (const T *)b.x, *bias = (const T *)b.bias, *skip = (const T *)b.skip;
    const size_t width = b.function == GPU_BIAS_SPLIT ? b.columns / 2 : b.columns;
    for (size_t i = grid_first(); i < b.count; i += grid_stride()) {
        const size_t row = i / width, column = i - row * width, from = row * b.columns + column;
        C sum = (C)x[from] + (C)bias[column];
        if (skip) sum += (C)skip[from];
        if (b.function == GPU_BIAS_GELU) sum = gelu(sum);
        if (b.function == GPU_BIAS_GELU_TANH) sum = gelu_tanh(sum);
        if (b.function == GPU_BIAS_SPLIT) sum *= gelu((C)x[from + width] + (C)bias[column + width]);
        ((T *)b.y)[i] = (T)sum;
        if (b.mask) b.mask[i] = 1;
    }
}

/* ---- launchers ---- */

cudaError_t gpu_run_bias(gpu_stream stream, gpu_type type, const gpu_bias *b) {
    if (!b->count) return cudaSuccess;
    return for_real(type, [=](auto zero) {
        return launch(bias_rows<decltype(zero)>, grid_blocks(b->count), GRID_THREADS, 0, stream, *b);
    });
}

cudaError_t gpu_load_bias(gpu_type type) {
    return for_real(type, [](auto zero) { return load_kernel(bias_rows<decltype(zero)>); });
}
