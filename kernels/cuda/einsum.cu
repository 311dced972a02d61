/* einsum.cu - Einsum whose output is not one matrix behind the other. A block makes 16 x 16 outputs of a product, one
 * per thread, and brings 16 of the depth at a time to shared memory, each of which 16 threads use. Of other equations a
 * thread makes an output from the operands as they are. Read first: einsum.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/einsum.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/grid.h"

enum { SIDE = 16 };

struct einsum_place {
    int64_t a, b, c;
};

/* Returns the offsets of index number i over all axes. */
static __device__ __forceinline__ einsum_place place_of(const gpu_einsum_axes &axes, uint64_t i) {
    einsum_place at = {0, 0, 0};
    for (int d = axes.count - 1; d >= 0; d--) {
        uint64_t index = i;
        i = divide(&index, axes.divisors[d], axes.total);
        at.a += (int64_t)index * axes.a[d];
        at.b += (int64_t)index * axes.b[d];
        at.c += (int64_t)index * axes.c[d];
    }
    return at;
}

/* ---- kernel ---- */

template <class T>
static __global__ void einsum_tiles(const gpu_einsum e, const gpu_divisor across, const gpu_divisor tiles,
                                    uint64_t blocks) {
    typedef typename computed<T>::type C;
    __shared__ C left[SIDE][SIDE + 1], right[SIDE][SIDE + 1];
    const int64_t x = threadIdx.x, y = threadIdx.y;
    for (uint64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
        uint64_t rest = block;
        const einsum_place of = place_of(e.loops, divide(&rest, tiles, blocks));
        const int64_t row = (int64_t)divide(&rest, across, blocks) * SIDE + y, column = (int64_t)rest * SIDE + x;
        C sum = 0;
        for (uint64_t s = 0; s < e.sums.total; s++) {
            const einsum_place from = place_of(e.sums, s);
            const T *a = (const T *)e.a + of.a + from.a + row * e.row.a,
                    *b = (const T *)e.b + of.b + from.b + column * e.column.b;
            for (int64_t k = 0; k < e.depth.size; k += SIDE) {
                left[y][x] = row < e.row.size && k + x < e.depth.size ? (C)a[(k + x) * e.depth.a] : (C)0;
                right[y][x] = column < e.column.size && k + y < e.depth.size ? (C)b[(k + y) * e.depth.b] : (C)0;
                __syncthreads();
#pragma unroll
                for (int i = 0; i < SIDE; i++) sum += left[y][i] * right[i][x];
                __syncthreads();
            }
        }
        if (row < e.row.size && column < e.column.size) ((T *)e.y)[of.c + row * e.row.c + column * e.column.c] = (T)sum;
    }
}

/* ---- any equation ---- */

/* Adds to the offsets of all operands those of index i over the labels from `first` to before `end`; returns the
 * output's. */
static __device__ __forceinline__ int64_t walk(const gpu_einsum_any &e, uint64_t i, uint64_t total, int first, int end,
                                               int64_t (&at)[GPU_EINSUM_OPERANDS]) {
    int64_t y = 0;
    for (int l = end - 1; l >= first; l--) {
        uint64_t index = i;
        i = divide(&index, e.divisors[l], total);
        y += (int64_t)index * e.y_strides[l];
#pragma unroll
        for (int o = 0; o < GPU_EINSUM_OPERANDS; o++) at[o] += (int64_t)index * e.strides[o][l];
    }
    return y;
}

template <class T> static __global__ void einsum_any(const gpu_einsum_any e) {
    typedef typename computed<T>::type C;
    for (uint64_t i = grid_first(); i < e.outputs; i += grid_stride()) {
        int64_t from[GPU_EINSUM_OPERANDS] = {};
        const int64_t to = walk(e, i, e.outputs, 0, e.kept, from);
        C sum = 0;
        for (uint64_t s = 0; s < e.sums; s++) {
            int64_t at[GPU_EINSUM_OPERANDS];
#pragma unroll
            for (int o = 0; o < GPU_EINSUM_OPERANDS; o++) at[o] = from[o];
            walk(e, s, e.sums, e.kept, e.labels, at);
            for (int64_t k = 0; k < e.inner; k++) {
                C product = 1;
#pragma unroll
                for (int o = 0; o < GPU_EINSUM_OPERANDS; o++) {
                    if (o < e.operands) product *= (C)((const T *)e.x[o])[at[o]];
                    at[o] += e.steps[o];
                }
                sum += product;
            }
        }
        ((T *)e.y)[to] = (T)sum;
    }
}

/* ---- launchers ---- */

cudaError_t gpu_run_einsum_any(gpu_stream stream, gpu_type type, const gpu_einsum_any *e) {
    return for_real(type, [=](auto zero) {
        return launch(einsum_any<decltype(zero)>, grid_blocks(e->outputs), GRID_THREADS, 0, stream, *e);
    });
}

cudaError_t gpu_load_einsum_any(gpu_type type) {
    return for_real(type, [](auto zero) { return load_kernel(einsum_any<decltype(zero)>); });
}

cudaError_t gpu_run_einsum(gpu_stream stream, gpu_type type, const gpu_einsum *e) {
    const int64_t across = (e->column.size + SIDE - 1) / SIDE, tiles = (e->row.size + SIDE - 1) / SIDE * across;
    const uint64_t blocks = (uint64_t)tiles * e->loops.total;
    if (!blocks) return cudaSuccess;
    return for_real(type, [=](auto zero) {
        return launch(einsum_tiles<decltype(zero)>, grid_extent(blocks), dim3(SIDE, SIDE), 0, stream, *e,
                      gpu_divisor_of(across, blocks), gpu_divisor_of(tiles, blocks), blocks);
    });
}

cudaError_t gpu_load_einsum(gpu_type type) {
    return for_real(type, [](auto zero) { return load_kernel(einsum_tiles<decltype(zero)>); });
}
