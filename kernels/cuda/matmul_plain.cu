/* matmul_plain.cu - matrix products of other types: double in double, bfloat16 in float, integers in 64 bits that
 * wrap. A block makes 16 x 16 outputs, one per thread, and brings 16 of k at a time to shared memory. Read first:
 * matmul.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/element.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/matmul_plain.h"

enum { SIDE = 16 };

/* Type of a sum of products of T, and the conversion of a sum to an output. */
template <class T> struct summed {
    typedef uint64_t type;
    static __device__ __forceinline__ T finished(const gpu_matmul &, const T *c, const T *, int64_t, uint64_t sum) {
        return (T)(c ? sum + (uint64_t)*c : sum);
    }
};
template <class T> struct summed_reals {
    typedef typename computed<T>::type type;
    static __device__ __forceinline__ T finished(const gpu_matmul &p, const T *c, const T *residual, int64_t at,
                                                 type sum) {
        type value = (type)p.alpha * sum;
        if (c) value += (type)p.beta * (type)*c;
        return finish(p.epilogue, residual, at, value);
    }
};
template <> struct summed<double> : summed_reals<double> {};
template <> struct summed<bfloat16> : summed_reals<bfloat16> {};

/* ---- kernel ---- */

/* Offsets of the matrices of a product of the batch. */
struct plain_offsets {
    int64_t a, b, c;
};

static __device__ __forceinline__ plain_offsets offsets_of(const gpu_matmul &p, int64_t batch) {
    plain_offsets found = {0, 0, 0};
    for (int i = p.batch_rank - 1; i >= 0; i--) {
        const int64_t rest = batch / p.batch_dims[i], at = batch - rest * p.batch_dims[i];
        batch = rest;
        found.a += at * p.a_batch[i];
        found.b += at * p.b_batch[i];
        found.c += at * p.c_batch[i];
    }
    return found;
}

template <class T>
static __global__ void matmul_plain(const gpu_matmul p, const gpu_matmul_operands o, int64_t across, int64_t tiles) {
    typedef typename summed<T>::type C;
    __shared__ C left[SIDE][SIDE + 1], right[SIDE][SIDE + 1];
    const int64_t x = threadIdx.x, y = threadIdx.y;
    for (int64_t tile = blockIdx.x; tile < tiles * p.batches; tile += gridDim.x) {
        const int64_t batch = tile / tiles, place = tile % tiles;
        const int64_t row = place / across * SIDE + y, column = place % across * SIDE + x;
        const plain_offsets first = offsets_of(p, batch);
        const T *a = (const T *)o.a + first.a, *b = (const T *)o.b + first.b;
        C sum = 0;
        for (int64_t k = 0; k < p.k; k += SIDE) {
            left[y][x] = row < p.m && k + x < p.k ? (C)a[row * p.a_row + (k + x) * p.a_column] : (C)0;
            right[y][x] = column < p.n && k + y < p.k ? (C)b[(k + y) * p.b_row + column * p.b_column] : (C)0;
            __syncthreads();
#pragma unroll
            for (int i = 0; i < SIDE; i++) sum += left[y][i] * right[i][x];
            __syncthreads();
        }
        if (row >= p.m || column >= p.n) continue;
        const int64_t at = (batch * p.m + row) * p.n + column;
        const T *c = o.c ? (const T *)o.c + first.c + row * p.c_row + column * p.c_column : nullptr;
        ((T *)o.y)[at] = summed<T>::finished(p, c, (const T *)o.residual, at, sum);
    }
}

/* ---- launchers ---- */

/* Calls use(T()) for the types that have such a kernel. */
template <class Use> static cudaError_t for_plain(gpu_number type, Use use) {
    switch (type) {
    case GPU_NUMBER_BFLOAT16: return use(bfloat16());
    case GPU_NUMBER_INT32: return use(int32_t());
    case GPU_NUMBER_INT64: return use(int64_t());
    case GPU_NUMBER_UINT32: return use(uint32_t());
    case GPU_NUMBER_UINT64: return use(uint64_t());
    default: return use(double());
    }
}

cudaError_t gpu_run_matmul_plain(gpu_stream stream, gpu_number type, const gpu_matmul *p,
                                 const gpu_matmul_operands *o) {
    const int64_t across = (p->n + SIDE - 1) / SIDE, tiles = (p->m + SIDE - 1) / SIDE * across;
    if (!tiles || !p->batches) return cudaSuccess;
    return for_plain(type, [=](auto zero) {
        return launch(matmul_plain<decltype(zero)>, grid_extent((size_t)(tiles * p->batches)), dim3(SIDE, SIDE), 0,
                      stream, *p, *o, across, tiles);
    });
}

cudaError_t gpu_load_matmul_plain(gpu_number type) {
    return for_plain(type, [](auto zero) { return load_kernel(matmul_plain<decltype(zero)>); });
}
