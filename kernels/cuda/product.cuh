/* product.cuh - a tiled matrix product over operands of any kind: plain matrices for matmul.cu, windows of an image for
 * conv.cu.
 *
 * An operand is a set of lines of length k: the rows of A, the columns of B. line(i) works out where line i is, and its
 * operator()(at) reads an element; along_k tells whether neighbours in memory are neighbours in a line.
 * A block makes a tile of TILE by TILE outputs, STEP columns of A and rows of B at a time, through shared memory. float
 * multiplies in registers, 4 by 4 outputs a thread (256 threads); half goes to the tensor cores, 32 by 32 outputs a
 * warp (128 threads), with float accumulators. Edges are filled with zeros, so any shape is right. */
#ifndef TORT_KERNELS_CUDA_PRODUCT_CUH
#define TORT_KERNELS_CUDA_PRODUCT_CUH

#include "kernels/cuda/gpu.h"

enum { TILE = 64, FLOAT_STEP = 16, HALF_STEP = 32, HALF_PAD = 8, FLOAT_THREADS = 256, HALF_THREADS = 128 };

/* ---- operands ---- */

template <class T> struct strided_lines {
    const T *data;
    int64_t line_stride, k_stride;
    struct line_type {
        const T *data;
        int64_t stride;
        __device__ __forceinline__ T operator()(int64_t at) const {
            return data[at * stride];
        }
    };
    __device__ __forceinline__ bool along_k() const {
        return k_stride == 1;
    }
    __device__ __forceinline__ line_type line(int64_t i) const {
        return {data + i * line_stride, k_stride};
    }
};

/* The line that a thread stays with, where threads go across lines. */
template <class Operand>
static __device__ __forceinline__ typename Operand::line_type own_line(const Operand &operand, int64_t first,
                                                                       int64_t lines) {
    const int64_t line = first + threadIdx.x % TILE;
    return operand.line(line < lines ? line : first);
}

/* Brings elements at..at+STEP of TILE lines into a tile, zeros where the operand ends. Neighbouring threads read
 * neighbours in memory; across lines, each has one line only, so that its place is not worked out again. */
template <int STEP, int THREADS, int LINE_STRIDE, int STEP_STRIDE, class S, class Operand>
static __device__ __forceinline__ void fill_tile(S *tile, const Operand &operand,
                                                 const typename Operand::line_type &own, int64_t first, int64_t lines,
                                                 int64_t at, int64_t k) {
    const S zero = (S)0.0f;
    if (operand.along_k()) {
        for (int i = (int)threadIdx.x; i < TILE * STEP; i += THREADS) {
            const int line = i / STEP, step = i % STEP;
            const bool inside = first + line < lines && at + step < k;
            tile[line * LINE_STRIDE + step * STEP_STRIDE] = inside ? (S)operand.line(first + line)(at + step) : zero;
        }
        return;
    }
    const int line = (int)threadIdx.x % TILE;
    const int64_t end = first + line < lines ? k : 0;
    for (int step = (int)threadIdx.x / TILE; step < STEP; step += THREADS / TILE)
        tile[line * LINE_STRIDE + step * STEP_STRIDE] = at + step < end ? (S)own(at + step) : zero;
}

/* ---- float ---- */

template <class A, class B, class Y>
static __device__ void product_floats(const A &a, const B &b, const Y &y, int64_t m, int64_t n, int64_t k,
                                      int64_t first_row, int64_t first_column) {
    __shared__ float tile_a[FLOAT_STEP][TILE + 1], tile_b[FLOAT_STEP][TILE + 1];
    const int thread = (int)threadIdx.x, row = thread / 16 * 4, column = thread % 16 * 4;
    const auto own_a = own_line(a, first_row, m);
    const auto own_b = own_line(b, first_column, n);
    float sum[4][4] = {};
    for (int64_t at = 0; at < k; at += FLOAT_STEP) {
        fill_tile<FLOAT_STEP, FLOAT_THREADS, 1, TILE + 1>(&tile_a[0][0], a, own_a, first_row, m, at, k);
        fill_tile<FLOAT_STEP, FLOAT_THREADS, 1, TILE + 1>(&tile_b[0][0], b, own_b, first_column, n, at, k);
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
    /* An index that is not constant would put sum into local memory. */
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            if (first_row + row + i < m && first_column + column + j < n)
                y(first_row + row + i, first_column + column + j, sum[i][j]);
}

/* ---- half, on tensor cores; fragments as gpu.h lays them out ---- */

/* Two neighbouring 16-bit elements in a register, as fragments want them; `at` is aligned to 4 bytes. One load. */
template <class T> static __device__ __forceinline__ uint32_t load_two(const T *at) {
    uint32_t bits;
    memcpy(&bits, __builtin_assume_aligned(at, sizeof bits), sizeof bits);
    return bits;
}

template <class A, class B, class Y>
static __device__ void product_halves(const A &a, const B &b, const Y &y, int64_t m, int64_t n, int64_t k,
                                      int64_t first_row, int64_t first_column) {
    __shared__ __align__(16) half tile_a[TILE][HALF_STEP + HALF_PAD]; /* rows of A */
    __shared__ __align__(16) half tile_b[TILE][HALF_STEP + HALF_PAD]; /* columns of B */
    const int thread = (int)threadIdx.x, warp = thread / 32, lane = thread % 32;
    const int row = warp / 2 * 32, column = warp % 2 * 32, group = lane / 4, pair = lane % 4 * 2;
    const auto own_a = own_line(a, first_row, m);
    const auto own_b = own_line(b, first_column, n);
    float sum[2][4][4] = {};
    for (int64_t at = 0; at < k; at += HALF_STEP) {
        fill_tile<HALF_STEP, HALF_THREADS, HALF_STEP + HALF_PAD, 1>(&tile_a[0][0], a, own_a, first_row, m, at, k);
        fill_tile<HALF_STEP, HALF_THREADS, HALF_STEP + HALF_PAD, 1>(&tile_b[0][0], b, own_b, first_column, n, at, k);
        __syncthreads();
        for (int step = 0; step < HALF_STEP; step += 16) {
            uint32_t left[2][4], right[4][2];
            for (int i = 0; i < 2; i++)
                for (int part = 0; part < 4; part++) {
                    const int line = row + i * 16 + group + part % 2 * 8, first = step + pair + part / 2 * 8;
                    left[i][part] = load_two(&tile_a[line][first]);
                }
            for (int j = 0; j < 4; j++)
                for (int part = 0; part < 2; part++)
                    right[j][part] = load_two(&tile_b[column + j * 8 + group][step + pair + part * 8]);
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 4; j++) mma_m16n8k16_f16(sum[i][j], left[i], right[j], sum[i][j]);
        }
        __syncthreads();
    }
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
