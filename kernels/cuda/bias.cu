/* bias.cu - sums of rows and a bias, and Gelu or Softmax of them; SwiGLU. Each thread makes output elements a grid
 * stride apart; a block takes a lane of a Softmax, whose sums it makes anew in each sweep. Read first: bias.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/activation.h"
#include "kernels/cuda/bias.h"
#include "kernels/cuda/block.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/pack.h"

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

template <int size, class T>
static __device__ __forceinline__ void swiglu_range(const T *a, const T *b, T *y, float alpha, size_t first,
                                                    size_t end) {
    typedef typename computed<T>::type C;
    for (size_t i = first + grid_first() * size; i < end; i += grid_stride() * size) {
        const pack<T, size> left = load_pack<size>(a + i), right = load_pack<size>(b + i);
        pack<T, size> result;
#pragma unroll
        for (int k = 0; k < size; k++) result.at[k] = (T)(swish((C)left.at[k], (C)alpha) * (C)right.at[k]);
        store_pack(y + i, result);
    }
}

template <class T>
static __global__ void swiglu(const T *a, const T *b, T *y, float alpha, size_t packed, size_t count) {
    swiglu_range<pack_size<T>::VALUE>(a, b, y, alpha, 0, packed);
    swiglu_range<1>(a, b, y, alpha, packed, count);
}

template <class T> static __global__ void bias_softmax(const gpu_bias_softmax s) {
    typedef typename computed<T>::type C;
    __shared__ C shared[BLOCK_MAX_WARPS];
    for (size_t lane = blockIdx.x; lane < s.lanes; lane += gridDim.x) {
        const T *x = (const T *)s.x + lane * s.length;
        const T *bias = (const T *)s.bias + lane / s.repeats % s.bias_lanes * s.length;
        C max = -(C)INFINITY, sum = 0;
        for (size_t i = threadIdx.x; i < s.length; i += blockDim.x) max = fmax(max, (C)x[i] + (C)bias[i]);
        max = block_join<join_max>(max, shared);
        for (size_t i = threadIdx.x; i < s.length; i += blockDim.x) sum += exponential((C)x[i] + (C)bias[i] - max);
        const C share = (C)1 / block_join<join_sum>(sum, shared);
        for (size_t i = threadIdx.x; i < s.length; i += blockDim.x)
            ((T *)s.y)[lane * s.length + i] = (T)(exponential((C)x[i] + (C)bias[i] - max) * share);
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

cudaError_t gpu_run_swiglu(gpu_stream stream, gpu_type type, float alpha, const void *a, const void *b, void *y,
                           size_t count) {
    return for_real(type, [=](auto zero) {
        typedef decltype(zero) T;
        constexpr int size = pack_size<T>::VALUE;
        const bool aligned = pack_aligned<size>((const T *)b);
        const size_t packed = aligned ? packed_count<size>(count, (const T *)a, (T *)y) : 0;
        return launch(swiglu<T>, pack_blocks<size>(count, packed), GRID_THREADS, 0, stream, (const T *)a, (const T *)b,
                      (T *)y, alpha, packed, count);
    });
}

cudaError_t gpu_load_swiglu(gpu_type type) {
    return for_real(type, [](auto zero) { return load_kernel(swiglu<decltype(zero)>); });
}

cudaError_t gpu_run_bias_softmax(gpu_stream stream, gpu_type type, const gpu_bias_softmax *s) {
    return for_real(type, [=](auto zero) {
        return launch(bias_softmax<decltype(zero)>, grid_extent(s->lanes), block_threads(s->length), 0, stream, *s);
    });
}

cudaError_t gpu_load_bias_softmax(gpu_type type) {
    return for_real(type, [](auto zero) { return load_kernel(bias_softmax<decltype(zero)>); });
}
