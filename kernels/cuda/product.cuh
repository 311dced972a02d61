/* product.cuh - blocked matrix product (GEMM) on a GPU: the parts that all its kernels share, whatever the operands
 * are (matrices in matmul.cu, windows of an image in conv.cu) and whichever unit multiplies (tensor cores in
 * product_mma.cuh, FMA in product_float.cuh).
 *
 * The scheme is that of Goto and van de Geijn 2008, "Anatomy of High-Performance Matrix Multiplication", with shared
 * memory in the place of a CPU's caches: a block computes an M x N tile of the output; it copies STEP elements of k
 * at a time of M rows of A and N columns of B (both called lines) into a stage of shared memory, and each warp or
 * thread keeps its sums in registers. cp.async copies STAGES - 1 stages ahead of the multiplication (a software
 * pipeline) and fills zeros past an operand's end. If the output has too few tiles for the GPU, k is divided too
 * (split-K, tiling.c): the last block to finish a tile adds the parts in the order of k, so the result does not
 * depend on which block that is. Sums leave by way of shared memory, because a thread's own sums are not neighbours
 * in a row.
 * Cost: m*n*k multiplications; A is read n / N times and B m / M times from global memory.
 * Example: m = n = k = 1024 with 128x128 tiles: 64 blocks, and each operand is read 8 times instead of 1024 times. */
#ifndef TORT_KERNELS_CUDA_PRODUCT_CUH
#define TORT_KERNELS_CUDA_PRODUCT_CUH

#include "kernels/cuda/gpu.h"

#include "kernels/cuda/block.h"
#include "kernels/cuda/epilogue.h"
#include "kernels/cuda/pack.h"
#include "kernels/cuda/tiling.h"

/* ---- which tile ---- */

/* The tile of a block: blockIdx.x counts the tiles of a product downwards, so that neighbours read the same columns
 * of B (mostly the larger operand); blockIdx.y is the part of k, blockIdx.z the product of the batch. */
struct block_place {
    int64_t first_row, first_column; /* of the tile */
    int64_t tile;                    /* index among the tiles of all products */
    int64_t from, to;                /* range of k */
};

template <class Tile>
static __device__ __forceinline__ block_place place_of_block(const gpu_tiling &tiling, int64_t batch, int64_t k) {
    const unsigned down = (unsigned)(tiling.tiles / tiling.across), column = blockIdx.x / down;
    const int64_t row = blockIdx.x - column * down, from = blockIdx.y * tiling.part;
    return {row * Tile::M, (int64_t)column * Tile::N, batch * tiling.tiles + blockIdx.x, from,
            min(k, from + tiling.part)};
}

/* ---- output: y = activation(alpha * sums + beta * c + residual) ---- */

template <class T> struct product_output {
    T *data;
    const T *c, *residual; /* may be NULL; the residual has the layout of Y */
    int64_t rows, columns; /* of Y; the elements of a row are contiguous */
    int64_t stride;        /* elements from one row to the next */
    int64_t c_row, c_column;
    float alpha, beta;
    bool packs; /* rows of Y, residual and C start at aligned packs */
    tort_epilogue epilogue;

    /* Adds COUNT neighbouring elements, of which `there` exist, `step` apart (0: the same one). */
    template <int COUNT>
    static __device__ __forceinline__ void add(float (&values)[COUNT], const T *from, int64_t at, int64_t step,
                                               float factor, bool whole, int there) {
        if (whole) {
            const pack<T, COUNT> more = step ? load_pack<COUNT>(from + at) : same_pack<COUNT>(from[at]);
#pragma unroll
            for (int i = 0; i < COUNT; i++) values[i] += factor * (float)more.at[i];
            return;
        }
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            if (i < there) values[i] += factor * (float)from[at + i * step];
    }
    /* Stores COUNT neighbouring elements of a row, beginning at `column`, from their sums in shared memory. */
    template <int COUNT> __device__ __forceinline__ void store(int64_t row, int64_t column, const float *sums) const {
        const int64_t at = row * stride + column;
        const int there = (int)min((int64_t)COUNT, columns - column);
        const bool whole = packs && there == COUNT;
        float values[COUNT];
#pragma unroll
        for (int i = 0; i < COUNT; i += 4) {
            const pack<float, 4> four = load_pack<4>(sums + i);
#pragma unroll
            for (int j = 0; j < 4; j++) values[i + j] = alpha * four.at[j];
        }
        if (c) add(values, c, row * c_row + column * c_column, c_column, beta, whole, there);
        if (residual) add(values, residual, at, 1, 1.0f, whole, there);
        activate(epilogue, values);
        pack<T, COUNT> y;
#pragma unroll
        for (int i = 0; i < COUNT; i++) y.at[i] = (T)values[i];
        if (whole) return store_pack<COUNT>(data + at, y);
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            if (i < there) data[at + i] = y.at[i];
    }
    /* The same for one element. */
    __device__ __forceinline__ void store_one(int64_t row, int64_t column, float sum) const {
        const int64_t at = row * stride + column;
        float value = alpha * sum;
        if (c) value += beta * (float)c[row * c_row + column * c_column];
        data[at] = finish(epilogue, residual, at, value);
    }
};

/* Sums of a tile lie in shared memory row by row; blocks of 8 columns are permuted by XOR (tile_column) against bank
 * conflicts. store_tile gives each thread COUNT neighbouring sums at a time. */
static __device__ __forceinline__ unsigned tile_column(unsigned row, unsigned column) {
    return column ^ (row & 3) * 8;
}
template <class Tile, int COUNT, class S, class Output>
static __device__ __forceinline__ void store_tile(const S *tile, const block_place &place, const Output &y) {
    __syncthreads();
    for (unsigned i = threadIdx.x; i < Tile::M * Tile::N / COUNT; i += Tile::THREADS) {
        const unsigned row = i / (Tile::N / COUNT), column = i % (Tile::N / COUNT) * COUNT;
        if (place.first_row + row < y.rows && place.first_column + column < y.columns)
            y.template store<COUNT>(place.first_row + row, place.first_column + column,
                                    tile + row * Tile::N + tile_column(row, column));
    }
}
/* The same for an output of bytes, which has much to do for each column: a thread's columns are the same in all rows.
 */
template <class Tile, int COUNT, class Output>
static __device__ __forceinline__ void store_tile(const int32_t *tile, const block_place &place, const Output &y) {
    enum { ACROSS = Tile::N / COUNT };
    static_assert(Tile::THREADS % ACROSS == 0, "columns of a thread");
    const unsigned column = threadIdx.x % ACROSS * COUNT;
    __syncthreads();
    if (place.first_column + column >= y.columns) return;
    const auto columns = y.template at<COUNT>(place.first_column + column);
    for (unsigned row = threadIdx.x / ACROSS; row < Tile::M; row += Tile::THREADS / ACROSS)
        if (place.first_row + row < y.rows)
            columns.store(place.first_row + row, tile + row * Tile::N + tile_column(row, column));
}

/* ---- the kernel of a tile ---- */

/* A kernel of a product P with operands O, and what its launch needs. */
template <class P, class O> struct tile_kernel {
    void (*kernel)(P, O, gpu_tiling, gpu_parts, bool);
    unsigned threads, shared_bytes;
};

template <class Tile, class P, class O>
static inline tile_kernel<P, O> kernel_of(void (*kernel)(P, O, gpu_tiling, gpu_parts, bool)) {
    return {kernel, Tile::THREADS, Tile::SHARED_BYTES};
}

/* Loads the kernels of all tiles that the device has the shared memory for, as `choose` chooses them. */
template <class Choose> static inline cudaError_t load_tiles(Choose choose) {
    unsigned available = 0;
    cudaError_t code = max_dynamic_shared(&available);
    for (int i = 0; code == cudaSuccess && i < GPU_TILE_COUNT; i++) {
        const auto chosen = choose((gpu_tile)i);
        if (chosen.shared_bytes > available) continue;
        code = allow_dynamic_shared(chosen.kernel, chosen.shared_bytes);
    }
    return code;
}

/* ---- sums in parts ---- */

/* Adds up `count` shares that are `apart` from each other, in their order. Four loads at a time are under way, as each
 * takes as long as some hundred additions. */
template <class S>
static __device__ __forceinline__ void add_shares(S (&sum)[4], const pack<S, 4> *shares, int count, int apart) {
    enum { AT_A_TIME = 4 };
#pragma unroll
    for (int j = 0; j < 4; j++) sum[j] = 0;
#pragma unroll 1
    for (int part = 0; part < count; part += AT_A_TIME, shares += AT_A_TIME * apart) {
        pack<S, 4> share[AT_A_TIME];
#pragma unroll
        for (int k = 0; k < AT_A_TIME; k++) share[k] = part + k < count ? shares[k * apart] : pack<S, 4>{{0, 0, 0, 0}};
#pragma unroll
        for (int k = 0; k < AT_A_TIME; k++)
#pragma unroll
            for (int j = 0; j < 4; j++) sum[j] += share[k].at[j];
    }
}

/* Adds up the parts of this tile. False: the block is not the last to arrive; that one adds and stores. */
template <int THREADS, int COUNT, class S>
static __device__ __forceinline__ bool join_parts(S (&sums)[COUNT][4], const gpu_parts &parts, int64_t tile) {
    const int count = (int)gridDim.y;
    if (count == 1) return true;
    pack<S, 4> *shares = (pack<S, 4> *)parts.sums + tile * count * COUNT * THREADS + threadIdx.x;
    pack<S, 4> *own = shares + (int64_t)blockIdx.y * COUNT * THREADS;
#pragma unroll
    for (int i = 0; i < COUNT; i++) own[i * THREADS] = {{sums[i][0], sums[i][1], sums[i][2], sums[i][3]}};
    if (!last_to_arrive(parts.arrivals + tile, (unsigned)count, dynamic_shared<unsigned>())) return false;
#pragma unroll
    for (int i = 0; i < COUNT; i++) add_shares(sums[i], shares + i * THREADS, count, COUNT * THREADS);
    return true;
}

#endif
