/* product.cuh - a tiled matrix product whose operands come from functors: plain matrices for matmul.cu, windows of an
 * image for conv.cu.
 *
 * A block makes a tile of TILE by TILE outputs, STEP columns of A and rows of B at a time, through shared memory. float
 * multiplies in registers, 4 by 4 outputs a thread (256 threads); half goes to the tensor cores, 32 by 32 outputs a
 * warp (128 threads), with float accumulators. Edges are filled with zeros, so any shape is right. */
#ifndef TORT_KERNELS_CUDA_PRODUCT_CUH
#define TORT_KERNELS_CUDA_PRODUCT_CUH

#include "kernels/cuda/gpu.h"

enum { TILE = 64, FLOAT_STEP = 16, HALF_STEP = 32, HALF_PAD = 8, FLOAT_THREADS = 256, HALF_THREADS = 128 };

/* ---- float ---- */

template <class A, class B, class Y>
static __device__ void product_floats(const A &a, const B &b, const Y &y, int64_t m, int64_t n, int64_t k,
                                      int64_t first_row, int64_t first_column) {
    __shared__ float tile_a[FLOAT_STEP][TILE + 1], tile_b[FLOAT_STEP][TILE + 1];
    const int thread = (int)threadIdx.x, row = thread / 16 * 4, column = thread % 16 * 4;
    float sum[4][4] = {};
    for (int64_t at = 0; at < k; at += FLOAT_STEP) {
        for (int i = thread; i < TILE * FLOAT_STEP; i += FLOAT_THREADS) {
            const int step = i % FLOAT_STEP, line = i / FLOAT_STEP;
            const bool inside = first_row + line < m && at + step < k;
            tile_a[step][line] = inside ? (float)a(first_row + line, at + step) : 0.0f;
        }
        for (int i = thread; i < TILE * FLOAT_STEP; i += FLOAT_THREADS) {
            const int line = i % TILE, step = i / TILE;
            const bool inside = first_column + line < n && at + step < k;
            tile_b[step][line] = inside ? (float)b(at + step, first_column + line) : 0.0f;
        }
        __syncthreads();
        for (int step = 0; step < FLOAT_STEP; step++) {
            float left[4], right[4];
            for (int i = 0; i < 4; i++) left[i] = tile_a[step][row + i];
            for (int i = 0; i < 4; i++) right[i] = tile_b[step][column + i];
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) sum[i][j] += left[i] * right[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            if (first_row + row + i < m && first_column + column + j < n)
                y(first_row + row + i, first_column + column + j, sum[i][j]);
}

/* ---- half, on tensor cores; fragments as gpu.h lays them out ---- */

template <class A, class B, class Y>
static __device__ void product_halves(const A &a, const B &b, const Y &y, int64_t m, int64_t n, int64_t k,
                                      int64_t first_row, int64_t first_column) {
    __shared__ __align__(16) half tile_a[TILE][HALF_STEP + HALF_PAD]; /* rows of A */
    __shared__ __align__(16) half tile_b[TILE][HALF_STEP + HALF_PAD]; /* columns of B */
    const int thread = (int)threadIdx.x, warp = thread / 32, lane = thread % 32;
    const int row = warp / 2 * 32, column = warp % 2 * 32, group = lane / 4, pair = lane % 4 * 2;
    const half zero = (half)0.0f;
    float sum[2][4][4] = {};
    for (int64_t at = 0; at < k; at += HALF_STEP) {
        for (int i = thread; i < TILE * HALF_STEP; i += HALF_THREADS) {
            const int step = i % HALF_STEP, line = i / HALF_STEP;
            tile_a[line][step] = first_row + line < m && at + step < k ? a(first_row + line, at + step) : zero;
        }
        for (int i = thread; i < TILE * HALF_STEP; i += HALF_THREADS) {
            const int line = i % TILE, step = i / TILE;
            tile_b[line][step] = first_column + line < n && at + step < k ? b(at + step, first_column + line) : zero;
        }
        __syncthreads();
        for (int step = 0; step < HALF_STEP; step += 16) {
            uint32_t left[2][4], right[4][2];
            for (int i = 0; i < 2; i++)
                for (int part = 0; part < 4; part++) {
                    const int line = row + i * 16 + group + part % 2 * 8, first = step + pair + part / 2 * 8;
                    left[i][part] = *(const uint32_t *)&tile_a[line][first];
                }
            for (int j = 0; j < 4; j++)
                for (int part = 0; part < 2; part++)
                    right[j][part] = *(const uint32_t *)&tile_b[column + j * 8 + group][step + pair + part * 8];
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 4; j++) mma_m16n8k16_f16(sum[i][j], left[i], right[j], sum[i][j]);
        }
        __syncthreads();
    }
    /* An index that is not constant would put sum into local memory. */
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int part = 0; part < 4; part++) {
                const int64_t at_row = first_row + row + i * 16 + group + part / 2 * 8;
                const int64_t at_column = first_column + column + j * 8 + pair + part % 2;
                if (at_row < m && at_column < n) y(at_row, at_column, sum[i][j][part]);
            }
}

/* ---- either type ---- */

static inline int64_t tile_count(int64_t m, int64_t n) {
    return ((m + TILE - 1) / TILE) * ((n + TILE - 1) / TILE);
}

/* Blocks along x take the tiles of an (m, n) output in turn. */
template <class T> struct product;
template <> struct product<float> {
    enum { BLOCK_SIZE = FLOAT_THREADS };
    template <class A, class B, class Y>
    static __device__ void run(const A &a, const B &b, const Y &y, int64_t m, int64_t n, int64_t k) {
        const int64_t across = (n + TILE - 1) / TILE, tiles = (m + TILE - 1) / TILE * across;
        for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x)
            product_floats(a, b, y, m, n, k, tile / across * TILE, tile % across * TILE);
    }
};
template <> struct product<half> {
    enum { BLOCK_SIZE = HALF_THREADS };
    template <class A, class B, class Y>
    static __device__ void run(const A &a, const B &b, const Y &y, int64_t m, int64_t n, int64_t k) {
        const int64_t across = (n + TILE - 1) / TILE, tiles = (m + TILE - 1) / TILE * across;
        for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x)
            product_halves(a, b, y, m, n, k, tile / across * TILE, tile % across * TILE);
    }
};

#endif
