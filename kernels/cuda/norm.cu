/* norm.cu - LayerNormalization, RMSNormalization, InstanceNormalization and GroupNormalization as rows with statistics
 * of their own; BatchNormalization with given ones. 16-bit floats are computed in float and rounded once.
 *
 * A block takes a row: mean, then variance about it (two sweeps, because one cancels), then the result. Read first:
 * norm.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/block.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/norm.h"

/* ---- kernels ---- */

template <class T> static __global__ void normalize_rows(const gpu_norm norm) {
    typedef typename computed<T>::type C;
    __shared__ C shared[BLOCK_MOST_WARPS];
    const T *scale = (const T *)norm.scale, *bias = (const T *)norm.bias;
    for (size_t row = blockIdx.x; row < norm.rows; row += gridDim.x) {
        const size_t first = row * norm.size;
        const T *x = (const T *)norm.x + first;
        T *y = (T *)norm.y + first;
        C mean = 0, squares = 0;
        if (norm.centered) {
            for (size_t i = threadIdx.x; i < norm.size; i += blockDim.x) mean += (C)x[i];
            mean = block_join<join_sum>(mean, shared) / (C)norm.size;
        }
        for (size_t i = threadIdx.x; i < norm.size; i += blockDim.x) {
            const C distance = (C)x[i] - mean;
            squares += distance * distance;
        }
        squares = block_join<join_sum>(squares, shared);
        const C inverse = (C)1 / sqrt(squares / (C)norm.size + (C)norm.epsilon);
        for (size_t i = threadIdx.x; i < norm.size; i += blockDim.x) {
            int64_t at[2];
            loop_offsets(norm.affine, first + i, at);
            const C scaled = ((C)x[i] - mean) * inverse * number_as<C>(scale[at[0]]);
            y[i] = (T)(bias ? scaled + number_as<C>(bias[at[1]]) : scaled);
        }
        if (threadIdx.x == 0 && norm.mean) norm.mean[row] = (float)mean;
        if (threadIdx.x == 0 && norm.inverse) norm.inverse[row] = (float)inverse;
    }
}

/* S is the type of scale, bias, mean and variance. */
template <class T, class S> static __global__ void normalize_channels(const gpu_batch_norm norm) {
    typedef typename computed<T>::type C;
    const T *x = (const T *)norm.x;
    T *y = (T *)norm.y;
    const S *scale = (const S *)norm.scale, *bias = (const S *)norm.bias, *mean = (const S *)norm.mean,
            *variance = (const S *)norm.variance;
    for (size_t i = grid_first(); i < norm.count; i += grid_stride()) {
        const size_t c = i / norm.inner % norm.channels;
        const C factor = number_as<C>(scale[c]) / sqrt(number_as<C>(variance[c]) + (C)norm.epsilon);
        y[i] = (T)(((C)x[i] - number_as<C>(mean[c])) * factor + number_as<C>(bias[c]));
    }
}

/* ---- launchers ---- */

template <class T> static cudaError_t run_rows(gpu_stream stream, const gpu_norm *norm) {
    return launch(normalize_rows<T>, grid_extent(norm->rows), block_threads(norm->size), 0, stream, *norm);
}

cudaError_t gpu_run_norm(gpu_stream stream, gpu_type type, const gpu_norm *norm) {
    if (!norm->rows) return cudaSuccess; /* an empty row still has a mean to report: NaN */
    return for_real(type, [=](auto zero) { return run_rows<decltype(zero)>(stream, norm); });
}

cudaError_t gpu_load_norm(gpu_type type) {
    return for_real(type, [](auto zero) { return load_kernel(normalize_rows<decltype(zero)>); });
}

template <class T, class S> static cudaError_t run_channels(gpu_stream stream, const gpu_batch_norm *norm) {
    return launch(normalize_channels<T, S>, grid_blocks(norm->count), GRID_THREADS, 0, stream, *norm);
}

cudaError_t gpu_run_batch_norm(gpu_stream stream, gpu_type type, gpu_type statistics, const gpu_batch_norm *norm) {
    if (!norm->count) return cudaSuccess;
    return for_real(type, [=](auto zero) {
        typedef decltype(zero) T;
        return statistics == type ? run_channels<T, T>(stream, norm) : run_channels<T, float>(stream, norm);
    });
}

cudaError_t gpu_load_batch_norm(gpu_type type, gpu_type statistics) {
    return for_real(type, [=](auto zero) {
        typedef decltype(zero) T;
        return statistics == type ? load_kernel(normalize_channels<T, T>) : load_kernel(normalize_channels<T, float>);
    });
}
