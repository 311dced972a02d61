/* product.cuh - a tiled matrix product: what its kernels share, whatever their operands are (matrices for matmul.cu,
 * windows of an image for conv.cu) and whatever multiplies (tensor cores in product_half.cuh, FMA in
 * product_float.cuh).
 *
 * A block makes a tile of the output (tiling.h). An operand is a set of lines of length k: the rows of A, the columns
 * of B. A source brings the next STEP elements of a tile's lines into a stage of shared memory by cp.async, zeros where
 * the operand ends; STAGES of them are on their way while the oldest is multiplied. Where a tile's sums are divided,
 * the block that arrives last adds the parts up in their order, so that the same bits come out whichever that is. Tiles
 * leave through shared memory, since a thread's own sums are not neighbours. */
#ifndef TORT_KERNELS_CUDA_PRODUCT_CUH
#define TORT_KERNELS_CUDA_PRODUCT_CUH

#include "kernels/cuda/gpu.h"

#include "kernels/cuda/block.h"
#include "kernels/cuda/epilogue.h"
#include "kernels/cuda/pack.h"
#include "kernels/cuda/tiling.h"

/* ---- which tile ---- */

/* The place of a block in the grid: tiles along x (neighbours share columns of B, which are more often the larger
 * operand), parts of k along y, products of the batch along z. */
struct block_place {
    int64_t first_row, first_column; /* of its tile */
    int64_t tile;                    /* among all products */
    int64_t from, to;                /* of k */
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
    const T *c, *residual; /* NULL where there is none; the residual lies as Y does */
    int64_t rows, columns; /* of Y, whose columns are neighbours */
    int64_t stride;        /* elements from one row to the next */
    int64_t c_row, c_column;
    float alpha, beta;
    bool packs; /* rows of Y, residual and C begin at packs */
    tort_epilogue epilogue;

    /* COUNT neighbouring elements of this row, from `column` on, out of their sums in shared memory. */
    template <int COUNT> __device__ __forceinline__ void store(int64_t row, int64_t column, const float *sums) const {
        const int64_t at = row * stride + column, at_c = row * c_row + column * c_column;
        if (packs && column + COUNT <= columns) {
            store_packed<COUNT>(at, at_c, sums);
            return;
        }
#pragma unroll 1
        for (int i = 0; i < COUNT && column + i < columns; i++) {
            float value = alpha * sums[i];
            if (c) value += beta * (float)c[at_c + i * c_column];
            data[at + i] = finish(epilogue, residual, at + i, value);
        }
    }
    template <int COUNT>
    __device__ __forceinline__ void store_packed(int64_t at, int64_t at_c, const float *sums) const {
        float values[COUNT];
#pragma unroll
        for (int i = 0; i < COUNT; i += 4) {
            const pack<float, 4> four = load_pack<4>(sums + i);
#pragma unroll
            for (int j = 0; j < 4; j++) values[i + j] = alpha * four.at[j];
        }
        if (c) {
            const pack<T, COUNT> more = c_column ? load_pack<COUNT>(c + at_c) : same_pack<COUNT>(c[at_c]);
#pragma unroll
            for (int i = 0; i < COUNT; i++) values[i] += beta * (float)more.at[i];
        }
        if (residual) {
            const pack<T, COUNT> more = load_pack<COUNT>(residual + at);
#pragma unroll
            for (int i = 0; i < COUNT; i++) values[i] += (float)more.at[i];
        }
        activate_all(epilogue, values);
        pack<T, COUNT> y;
#pragma unroll
        for (int i = 0; i < COUNT; i++) y.at[i] = (T)values[i];
        store_pack<COUNT>(data + at, y);
    }
};

/* Hands out the sums of a tile, which lie in shared memory row by row, COUNT neighbours a thread at a time. Blocks of 8
 * columns are permuted by XOR (tile_column), for the banks' sake. */
static __device__ __forceinline__ unsigned tile_column(unsigned row, unsigned column) {
    return column ^ (row & 3) * 8;
}
template <class Tile, int COUNT, class Output>
static __device__ __forceinline__ void store_tile(const float *tile, const block_place &place, const Output &y) {
    __syncthreads();
    for (unsigned i = threadIdx.x; i < Tile::M * Tile::N / COUNT; i += Tile::THREADS) {
        const unsigned row = i / (Tile::N / COUNT), column = i % (Tile::N / COUNT) * COUNT;
        if (place.first_row + row < y.rows && place.first_column + column < y.columns)
            y.template store<COUNT>(place.first_row + row, place.first_column + column,
                                    tile + row * Tile::N + tile_column(row, column));
    }
}

/* ---- sums in parts ---- */

/* Adds up what all parts of this tile have summed. False: another block is to do it. */
template <int THREADS, int COUNT>
static __device__ __forceinline__ bool join_parts(float (&sums)[COUNT][4], const gpu_parts &parts, int64_t tile) {
    const int count = (int)gridDim.y;
    if (count == 1) return true;
    pack<float, 4> *shares = (pack<float, 4> *)parts.sums + tile * count * COUNT * THREADS + threadIdx.x;
    pack<float, 4> *own = shares + (int64_t)blockIdx.y * COUNT * THREADS;
#pragma unroll
    for (int i = 0; i < COUNT; i++) own[i * THREADS] = {{sums[i][0], sums[i][1], sums[i][2], sums[i][3]}};
    if (!last_to_arrive(parts.arrivals + tile, (unsigned)count)) return false;
    for (int part = 0; part < count; part++, shares += COUNT * THREADS)
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const pack<float, 4> share = shares[i * THREADS];
#pragma unroll
            for (int j = 0; j < 4; j++) sums[i][j] = part ? sums[i][j] + share.at[j] : share.at[j];
        }
    return true;
}

#endif
