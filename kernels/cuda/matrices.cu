/* matrices.cu - determinants and inverses, a block each, by the steps of ops/det.c; distances, a thread each. Read
 * first: matrices.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/block.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/matrices.h"

enum { THREADS = 256 };

static __device__ __forceinline__ double as_double(half x) {
    return (double)(float)x;
}
static __device__ __forceinline__ double as_double(bfloat16 x) {
    return (double)(float)x;
}
static __device__ __forceinline__ double as_double(float x) {
    return x;
}
static __device__ __forceinline__ double as_double(double x) {
    return x;
}

/* The first row from k on whose element of column k is the largest: of the same size, the first one. */
static __device__ size_t pivot_of(const double *a, size_t n, size_t k, double *shared, unsigned *row) {
    double max = 0;
    if (threadIdx.x == 0) *row = (unsigned)k;
    for (size_t i = k + threadIdx.x; i < n; i += THREADS) max = fmax(max, fabs(a[i * n + k]));
    max = block_join<join_max>(max, shared);
    if (threadIdx.x == 0)
        for (size_t i = k; i < n; i++)
            if (fabs(a[i * n + k]) == max) {
                *row = (unsigned)i;
                break;
            }
    __syncthreads();
    return *row;
}

static __device__ __forceinline__ void swap_rows(double *a, size_t n, size_t i, size_t k) {
    for (size_t j = threadIdx.x; i != k && j < n; j += THREADS) {
        const double swapped = a[k * n + j];
        a[k * n + j] = a[i * n + j];
        a[i * n + j] = swapped;
    }
}

/* Subtracts from each row of `a`, from the column on, its factor times row k. */
static __device__ void eliminate(double *a, size_t n, size_t k, size_t column, size_t first, const double *factors) {
    const size_t width = n - column;
    for (size_t i = first; i < n; i++) {
        if (i == k) continue;
        const double factor = factors[i];
        for (size_t j = threadIdx.x; j < width; j += THREADS)
            a[i * n + column + j] = __dadd_rn(a[i * n + column + j], -__dmul_rn(factor, a[k * n + column + j]));
    }
}

template <class T, bool INVERTS> static __global__ void __launch_bounds__(THREADS) matrices(const gpu_matrices p) {
    __shared__ double shared[BLOCK_MAX_WARPS];
    __shared__ unsigned row;
    const size_t n = p.n, all = n * n;
    double *a = p.work + blockIdx.x * ((INVERTS ? 2 : 1) * all + n), *factors = a + all, *other = factors + n;
    for (size_t m = blockIdx.x; m < p.count; m += gridDim.x) {
        double product = 1;
        for (size_t i = threadIdx.x; i < all; i += THREADS) a[i] = as_double(((const T *)p.x)[m * all + i]);
        for (size_t i = threadIdx.x; INVERTS && i < all; i += THREADS) other[i] = 0;
        __syncthreads();
        for (size_t i = threadIdx.x; INVERTS && i < n; i += THREADS) other[i * (n + 1)] = 1;
        __syncthreads();
        for (size_t k = 0; k < n && product != 0; k++) {
            const size_t pivot = pivot_of(a, n, k, shared, &row);
            swap_rows(a, n, pivot, k);
            if (INVERTS) swap_rows(other, n, pivot, k);
            __syncthreads();
            const double divisor = a[k * n + k];
            if (!INVERTS) product *= pivot != k ? -divisor : divisor;
            for (size_t i = threadIdx.x; i < n; i += THREADS)
                factors[i] = INVERTS ? a[i * n + k] : a[i * n + k] / divisor;
            __syncthreads();
            for (size_t j = threadIdx.x; INVERTS && j < n; j += THREADS) {
                a[k * n + j] = a[k * n + j] / divisor;
                other[k * n + j] = other[k * n + j] / divisor;
            }
            __syncthreads();
            eliminate(a, n, k, INVERTS ? 0 : k + 1, INVERTS ? 0 : k + 1, factors);
            if (INVERTS) eliminate(other, n, k, 0, 0, factors);
            __syncthreads();
        }
        for (size_t i = threadIdx.x; INVERTS && i < all; i += THREADS) ((T *)p.y)[m * all + i] = (T)other[i];
        if (!INVERTS && threadIdx.x == 0) ((T *)p.y)[m] = (T)product;
        __syncthreads();
    }
}

template <class T> static __global__ void distances(const gpu_distances p) {
    for (uint64_t i = grid_first(); i < p.count; i += grid_stride()) {
        uint64_t column = i;
        const uint64_t row = divide(&column, p.b_rows, p.count);
        const T *a = (const T *)p.a + row * p.columns, *b = (const T *)p.b + column * p.columns;
        double sum = 0;
        for (size_t k = 0; k < p.columns; k++) {
            const double difference = as_double(a[k]) - as_double(b[k]);
            sum += difference * difference;
        }
        ((T *)p.y)[i] = (T)(p.root ? sqrt(sum) : sum);
    }
}

/* ---- launchers ---- */

cudaError_t gpu_run_matrices(gpu_stream stream, gpu_type type, bool inverts, const gpu_matrices *p) {
    const unsigned blocks = (unsigned)(p->count < GPU_MATRICES_BLOCKS ? p->count : GPU_MATRICES_BLOCKS);
    return for_real(type, [=](auto zero) {
        typedef decltype(zero) T;
        return inverts ? launch(matrices<T, true>, blocks, THREADS, 0, stream, *p)
                       : launch(matrices<T, false>, blocks, THREADS, 0, stream, *p);
    });
}

cudaError_t gpu_load_matrices(gpu_type type, bool inverts) {
    return for_real(type, [=](auto zero) {
        typedef decltype(zero) T;
        return inverts ? load_kernel(matrices<T, true>) : load_kernel(matrices<T, false>);
    });
}

cudaError_t gpu_run_distances(gpu_stream stream, gpu_type type, const gpu_distances *p) {
    return for_real(type, [=](auto zero) {
        return launch(distances<decltype(zero)>, grid_blocks(p->count), GRID_THREADS, 0, stream, *p);
    });
}

cudaError_t gpu_load_distances(gpu_type type) {
    return for_real(type, [](auto zero) { return load_kernel(distances<decltype(zero)>); });
}
