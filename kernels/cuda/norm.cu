/* norm.cu - LayerNormalization, RMSNormalization, InstanceNormalization and GroupNormalization as rows with statistics
 * of their own; BatchNormalization with given ones. half is computed in float and rounded once.
 *
 * A block takes a row: mean, then variance about it (two sweeps, because one cancels), then the result. Read first:
 * norm.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/block.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/norm.h"

/* ---- kernels ---- */

template <class T> static __global__ void normalize_rows(const gpu_norm norm) {
    __shared__ float shared[BLOCK_MOST_WARPS];
    const T *scale = (const T *)norm.scale, *bias = (const T *)norm.bias;
    for (size_t row = blockIdx.x; row < norm.rows; row += gridDim.x) {
        const size_t first = row * norm.size;
        const T *x = (const T *)norm.x + first;
        T *y = (T *)norm.y + first;
        float mean = 0.0f, squares = 0.0f;
        if (norm.centered) {
            for (size_t i = threadIdx.x; i < norm.size; i += blockDim.x) mean += (float)x[i];
            mean = block_join<join_sum>(mean, shared) / (float)norm.size;
        }
        for (size_t i = threadIdx.x; i < norm.size; i += blockDim.x) {
            const float distance = (float)x[i] - mean;
            squares += distance * distance;
        }
        squares = block_join<join_sum>(squares, shared);
        const float inverse = 1.0f / sqrtf(squares / (float)norm.size + norm.epsilon);
        for (size_t i = threadIdx.x; i < norm.size; i += blockDim.x) {
            int64_t at[2];
            loop_offsets(norm.affine, first + i, at);
            const float scaled = ((float)x[i] - mean) * inverse * (float)scale[at[0]];
            y[i] = (T)(bias ? scaled + (float)bias[at[1]] : scaled);
        }
        if (threadIdx.x == 0 && norm.mean) norm.mean[row] = mean;
        if (threadIdx.x == 0 && norm.inverse) norm.inverse[row] = inverse;
    }
}

/* S is the type of scale, bias, mean and variance. */
template <class T, class S> static __global__ void normalize_channels(const gpu_batch_norm norm) {
    const T *x = (const T *)norm.x;
    T *y = (T *)norm.y;
    const S *scale = (const S *)norm.scale, *bias = (const S *)norm.bias, *mean = (const S *)norm.mean,
            *variance = (const S *)norm.variance;
    for (size_t i = grid_first(); i < norm.count; i += grid_stride()) {
        const size_t c = i / norm.inner % norm.channels;
        const float factor = (float)scale[c] / sqrtf((float)variance[c] + norm.epsilon);
        y[i] = (T)(((float)x[i] - (float)mean[c]) * factor + (float)bias[c]);
    }
}

/* ---- launchers ---- */

template <class T> static cudaError_t run_rows(gpu_stream stream, const gpu_norm *norm) {
    return launch(normalize_rows<T>, grid_extent(norm->rows), block_threads(norm->size), 0, stream, *norm);
}

cudaError_t gpu_run_norm(gpu_stream stream, gpu_type type, const gpu_norm *norm) {
    if (!norm->rows) return cudaSuccess; /* an empty row still has a mean to report: NaN */
    return type == GPU_HALF ? run_rows<half>(stream, norm) : run_rows<float>(stream, norm);
}

cudaError_t gpu_load_norm(gpu_type type) {
    return type == GPU_HALF ? load_kernel(normalize_rows<half>) : load_kernel(normalize_rows<float>);
}

template <class T, class S> static cudaError_t run_channels(gpu_stream stream, const gpu_batch_norm *norm) {
    return launch(normalize_channels<T, S>, grid_blocks(norm->count), GRID_THREADS, 0, stream, *norm);
}

cudaError_t gpu_run_batch_norm(gpu_stream stream, gpu_type type, gpu_type statistics, const gpu_batch_norm *norm) {
    if (!norm->count) return cudaSuccess;
    if (type == GPU_FLOAT) return run_channels<float, float>(stream, norm);
    return statistics == GPU_HALF ? run_channels<half, half>(stream, norm) : run_channels<half, float>(stream, norm);
}

cudaError_t gpu_load_batch_norm(gpu_type type, gpu_type statistics) {
    if (type == GPU_FLOAT) return load_kernel(normalize_channels<float, float>);
    return statistics == GPU_HALF ? load_kernel(normalize_channels<half, half>)
                                  : load_kernel(normalize_channels<half, float>);
}
