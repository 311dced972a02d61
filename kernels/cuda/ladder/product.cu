/* product.cu - the matrix product (GEMM) in five steps, each faster for one reason: a tutorial, to be read from top
 * to bottom beside the table of times in kernels/cuda/README.md. tests/cudasim/ladder_test.cpp compares each step
 * with plain loops.
 *
 * Every step multiplies m*n*k times. The steps differ in how often an operand is fetched, from which memory, and in
 * the number of instructions for each multiplication. Operands are halves, sums are floats. Step 5 is
 * product_mma.cuh without its edges, other sources and split-K. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/ladder/product.h"

/* ---- 1: three loops, the outer two of them threads. Every multiplication fetches both of its operands. ---- */

static __global__ void ladder_1_loops(const half *a, const half *b, half *y, int n, int k) {
    const int row = (int)(blockIdx.y * blockDim.y + threadIdx.y), column = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    float sum = 0.0f;
    for (int i = 0; i < k; i++) sum += (float)a[row * k + i] * (float)b[i * n + column];
    y[row * n + column] = (half)sum;
}

/* ---- 2: shared memory. A block copies 16x16 tiles of A and B, where 16 threads read each element: global memory is
 * read a sixteenth as often. Shared memory is now the limit: each multiplication reads it twice. ---- */

enum { SIDE = 16 };

static __global__ void ladder_2_tiles(const half *a, const half *b, half *y, int n, int k) {
    __shared__ half tile_a[SIDE][SIDE], tile_b[SIDE][SIDE];
    const int x = (int)threadIdx.x, line = (int)threadIdx.y;
    const int row = (int)blockIdx.y * SIDE + line, column = (int)blockIdx.x * SIDE + x;
    float sum = 0.0f;
    for (int at = 0; at < k; at += SIDE) {
        tile_a[line][x] = a[row * k + at + x];
        tile_b[line][x] = b[(at + line) * n + column];
        __syncthreads();
        for (int i = 0; i < SIDE; i++) sum += (float)tile_a[line][i] * (float)tile_b[i][x];
        __syncthreads();
    }
    y[row * n + column] = (half)sum;
}

/* ---- 3: registers. A thread computes 4x4 outputs, so 8 values from shared memory serve 16 multiplications; the
 * tile of a block grows to 64x64, which divides the reads of global memory by 4 again. The loops over sums are
 * unrolled, because registers cannot be indexed at run time. ---- */

enum { TILE = 64, THIN = 16 };

static __global__ void ladder_3_registers(const half *a, const half *b, half *y, int n, int k) {
    __shared__ float tile_a[THIN][TILE + 4], tile_b[THIN][TILE + 4]; /* padded, because columns of A are written */
    const int thread = (int)threadIdx.x, row = thread / 16 * 4, column = thread % 16 * 4;
    const int first_row = (int)blockIdx.y * TILE, first_column = (int)blockIdx.x * TILE;
    float sums[4][4] = {};
    for (int at = 0; at < k; at += THIN) {
        for (int i = thread; i < TILE * THIN; i += 256) {
            tile_a[i % THIN][i / THIN] = (float)a[(first_row + i / THIN) * k + at + i % THIN];
            tile_b[i / TILE][i % TILE] = (float)b[(at + i / TILE) * n + first_column + i % TILE];
        }
        __syncthreads();
#pragma unroll
        for (int step = 0; step < THIN; step++) {
            const float4 left = *(const float4 *)&tile_a[step][row], right = *(const float4 *)&tile_b[step][column];
            const float l[4] = {left.x, left.y, left.z, left.w}, r[4] = {right.x, right.y, right.z, right.w};
#pragma unroll
            for (int i = 0; i < 16; i++) sums[i / 4][i % 4] += l[i / 4] * r[i % 4];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 16; i++)
        y[(first_row + row + i / 4) * n + first_column + column + i % 4] = (half)sums[i / 4][i % 4];
}

/* ---- what tensor cores read and write: a warp makes 32 by 32 outputs of the tile ---- */

enum { DEEP = 32, WARPS = 4, THREADS = 32 * WARPS };

/* Adds the products of a stage; place_a and place_b map (row, piece of 8 halves) to an offset in shared memory. */
template <class PlaceA, class PlaceB>
static __device__ __forceinline__ void multiply_stage(float (&sums)[2][4][4], const half *a, const half *b,
                                                      PlaceA place_a, PlaceB place_b) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, low = lane & 15, high = lane >> 4;
#pragma unroll
    for (unsigned k = 0; k < DEEP; k += 16) {
        uint32_t left[2][4], right[2][4];
#pragma unroll
        for (unsigned i = 0; i < 2; i++) {
            ldmatrix_x4(left[i], a + place_a(warp / 2 * 32 + i * 16 + low, k / 8 + high));
            ldmatrix_x4_trans(right[i], b + place_b(k + low, warp % 2 * 4 + i * 2 + high));
        }
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const uint32_t pair[2] = {right[i % 4 / 2][i % 2 * 2], right[i % 4 / 2][i % 2 * 2 + 1]};
            mma_m16n8k16_f16(sums[i / 4][i % 4], left[i / 4], pair, sums[i / 4][i % 4]);
        }
    }
}

static __device__ __forceinline__ void store_sums(const float (&sums)[2][4][4], half *y, int n) {
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const int row = (int)blockIdx.y * TILE + warp / 2 * 32 + lane / 4;
    const int column = (int)blockIdx.x * TILE + warp % 2 * 32 + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 32; i++)
        y[(row + i / 16 * 16 + i % 4 / 2 * 8) * n + column + i / 4 % 4 * 8 + i % 2] =
            (half)sums[i / 16][i / 4 % 4][i % 4];
}

/* ---- 4: tensor cores. A warp multiplies 16x8x16 with one instruction, and ldmatrix loads its operands from shared
 * memory as four 8x8 matrices at a time. A thread reads global memory 16 bytes at a time. Rows are padded by 8
 * halves, so that the 8 rows of a matrix lie in different banks. Tensor cores idle while the block fetches. ---- */

struct padded {
    int row;
    __device__ __forceinline__ unsigned operator()(unsigned line, unsigned piece) const {
        return line * (unsigned)row + piece * 8;
    }
};

static __global__ void __launch_bounds__(THREADS)
    ladder_4_tensor_cores(const half *a, const half *b, half *y, int n, int k) {
    enum { ROW_A = DEEP + 8, ROW_B = TILE + 8 };
    __shared__ __align__(16) half tile_a[TILE * ROW_A], tile_b[DEEP * ROW_B];
    const half *from_a = a + (int64_t)blockIdx.y * TILE * k, *from_b = b + blockIdx.x * TILE;
    float sums[2][4][4] = {};
    for (int at = 0; at < k; at += DEEP) {
        for (int i = (int)threadIdx.x; i < TILE * DEEP / 8; i += THREADS) {
            const int row = i / (DEEP / 8), piece = i % (DEEP / 8), line = i / (TILE / 8), across = i % (TILE / 8);
            *(int4 *)&tile_a[row * ROW_A + piece * 8] = *(const int4 *)&from_a[row * k + at + piece * 8];
            *(int4 *)&tile_b[line * ROW_B + across * 8] = *(const int4 *)&from_b[(at + line) * n + across * 8];
        }
        __syncthreads();
        multiply_stage(sums, tile_a, tile_b, padded{ROW_A}, padded{ROW_B});
        __syncthreads();
    }
    store_sums(sums, y, n);
}

/* ---- 5: a pipeline. cp.async copies to shared memory asynchronously, without registers: three stages are in flight
 * while the fourth is multiplied, with one barrier a stage. Pieces are permuted by XOR instead of padded, which
 * keeps 16-byte copies aligned and wastes no memory. ---- */

enum { STAGES = 4, STAGE = 2 * TILE * DEEP };

struct permuted_a {
    __device__ __forceinline__ unsigned operator()(unsigned line, unsigned piece) const {
        return (line * (DEEP / 8) + (piece ^ (line >> 1 & 3))) * 8;
    }
};
struct permuted_b {
    __device__ __forceinline__ unsigned operator()(unsigned line, unsigned piece) const {
        return (line * (TILE / 8) + (piece ^ (line & 7))) * 8;
    }
};

static __device__ __forceinline__ void copy_stage(half *stage, const half *a, const half *b, int n, int k, int at) {
#pragma unroll
    for (int i = 0; i < TILE * DEEP / 8; i += THREADS) {
        const unsigned j = threadIdx.x + (unsigned)i, row = j / (DEEP / 8), line = j / (TILE / 8);
        cp_async16(stage + permuted_a()(row, j % (DEEP / 8)), a + (int)row * k + at + (int)(j % (DEEP / 8)) * 8);
        cp_async16(stage + TILE * DEEP + permuted_b()(line, j % (TILE / 8)),
                   b + (at + (int)line) * n + (int)(j % (TILE / 8)) * 8);
    }
}

static __global__ void __launch_bounds__(THREADS) ladder_5_stages(const half *a, const half *b, half *y, int n, int k) {
    half *shared = dynamic_shared<half>();
    const half *from_a = a + (int64_t)blockIdx.y * TILE * k, *from_b = b + blockIdx.x * TILE;
    float sums[2][4][4] = {};
    for (int i = 0; i < STAGES - 1; i++) {
        if (i * DEEP < k) copy_stage(shared + i * STAGE, from_a, from_b, n, k, i * DEEP);
        cp_async_commit();
    }
    for (int at = 0, stage = 0; at < k; at += DEEP, stage = stage + 1 == STAGES ? 0 : stage + 1) {
        cp_async_wait<STAGES - 2>();
        __syncthreads();
        const int next = at + (STAGES - 1) * DEEP, behind = stage ? stage - 1 : STAGES - 1;
        if (next < k) copy_stage(shared + behind * STAGE, from_a, from_b, n, k, next);
        cp_async_commit();
        const half *now = shared + stage * STAGE;
        multiply_stage(sums, now, now + TILE * DEEP, permuted_a(), permuted_b());
    }
    cp_async_wait<0>();
    store_sums(sums, y, n);
}

/* ---- launcher ---- */

cudaError_t ladder_product(gpu_stream stream, int step, const void *a_, const void *b_, void *y_, int m, int n, int k) {
    const half *a = (const half *)a_, *b = (const half *)b_;
    half *y = (half *)y_;
    const dim3 small((unsigned)n / SIDE, (unsigned)m / SIDE), large((unsigned)n / TILE, (unsigned)m / TILE);
    switch (step) {
    case 1: return launch(ladder_1_loops, small, dim3(SIDE, SIDE), 0, stream, a, b, y, n, k);
    case 2: return launch(ladder_2_tiles, small, dim3(SIDE, SIDE), 0, stream, a, b, y, n, k);
    case 3: return launch(ladder_3_registers, large, 256, 0, stream, a, b, y, n, k);
    case 4: return launch(ladder_4_tensor_cores, large, THREADS, 0, stream, a, b, y, n, k);
    default: return launch(ladder_5_stages, large, THREADS, STAGES * STAGE * sizeof(half), stream, a, b, y, n, k);
    }
}
