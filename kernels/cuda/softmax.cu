/* softmax.cu - Softmax and LogSoftmax: exp(x - max) over its sum. 16-bit floats are computed in float and rounded once.
 * A lane that holds NaN, +inf or nothing but -inf becomes NaN, as in ops/softmax.c.
 *
 * Three sweeps over a lane: largest, sum, result. Lanes that are contiguous get a block each, whose threads join by
 * shuffles; others a thread each, and neighbours read neighbours. Read first: softmax.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/block.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/softmax.h"

/* ---- kernels ---- */

template <bool logarithm, class C> static __device__ __forceinline__ C normalized(C x, C largest, C sum) {
    return logarithm ? x - largest - log(sum) : exp(x - largest) / sum;
}

template <bool logarithm, class T> static __global__ void softmax_rows(const T *x, T *y, size_t count, size_t length) {
    typedef typename computed<T>::type C;
    __shared__ C shared[BLOCK_MOST_WARPS];
    for (size_t row = blockIdx.x; row < count; row += gridDim.x) {
        const T *from = x + row * length;
        C largest = -(C)INFINITY, sum = 0;
        for (size_t i = threadIdx.x; i < length; i += blockDim.x) largest = fmax(largest, (C)from[i]);
        largest = block_join<join_max>(largest, shared);
        for (size_t i = threadIdx.x; i < length; i += blockDim.x) sum += exp((C)from[i] - largest);
        sum = block_join<join_sum>(sum, shared);
        for (size_t i = threadIdx.x; i < length; i += blockDim.x)
            y[row * length + i] = (T)normalized<logarithm>((C)from[i], largest, sum);
    }
}

template <bool logarithm, class T>
static __global__ void softmax_lanes(const T *x, T *y, size_t count, size_t length, size_t inner) {
    typedef typename computed<T>::type C;
    for (size_t lane = grid_first(); lane < count; lane += grid_stride()) {
        const size_t first = lane / inner * length * inner + lane % inner;
        C largest = -(C)INFINITY, sum = 0;
        for (size_t i = 0; i < length; i++) largest = fmax(largest, (C)x[first + i * inner]);
        for (size_t i = 0; i < length; i++) sum += exp((C)x[first + i * inner] - largest);
        for (size_t i = 0; i < length; i++)
            y[first + i * inner] = (T)normalized<logarithm>((C)x[first + i * inner], largest, sum);
    }
}

/* ---- launchers ---- */

template <bool logarithm, class T>
static cudaError_t run(gpu_stream stream, const void *x, void *y, size_t outer, size_t length, size_t inner) {
    if (inner == 1)
        return launch(softmax_rows<logarithm, T>, grid_extent(outer), block_threads(length), 0, stream, (const T *)x,
                      (T *)y, outer, length);
    return launch(softmax_lanes<logarithm, T>, grid_blocks(outer * inner), GRID_THREADS, 0, stream, (const T *)x,
                  (T *)y, outer * inner, length, inner);
}

template <bool logarithm, class T> static cudaError_t load() {
    const cudaError_t code = load_kernel(softmax_rows<logarithm, T>);
    return code == cudaSuccess ? load_kernel(softmax_lanes<logarithm, T>) : code;
}

cudaError_t gpu_run_softmax(gpu_stream stream, gpu_type type, bool logarithm, const void *x, void *y, size_t outer,
                            size_t length, size_t inner) {
    if (!outer || !length || !inner) return cudaSuccess;
    return for_real(type, [=](auto zero) {
        typedef decltype(zero) T;
        return logarithm ? run<true, T>(stream, x, y, outer, length, inner)
                         : run<false, T>(stream, x, y, outer, length, inner);
    });
}

cudaError_t gpu_load_softmax(gpu_type type, bool logarithm) {
    return for_real(type, [=](auto zero) {
        typedef decltype(zero) T;
        return logarithm ? load<true, T>() : load<false, T>();
    });
}
