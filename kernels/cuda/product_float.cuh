/* product_float.cuh - GEMM of floats by FMA, with operands of any strides. It does not use TF32 tensor cores, which
 * would round the operands to 10 bits of mantissa. Algorithm and cost: product.cuh.
 *
 * A stage holds FLOAT_STEP values of k for each line, with the lines contiguous, so that a thread reads its lines of
 * one k as vectors of 4. cp.async copies one element (4 bytes) at a time, which transposes an operand whose lines
 * run along k. A thread multiplies ROWS vectors of 4 rows by COLUMNS vectors of 4 columns (outer product in
 * registers).
 * Example: float_128x128 has 256 threads; each computes 8x8 sums and reads 16 floats for 64 FMAs. */
#ifndef TORT_KERNELS_CUDA_PRODUCT_FLOAT_CUH
#define TORT_KERNELS_CUDA_PRODUCT_FLOAT_CUH

#include "kernels/cuda/product.cuh"

enum { FLOAT_STEP = 8, FLOAT_STAGES = 4, FLOAT_PAD = 4 /* floats after each row of a stage, against bank conflicts */ };

/* ROWS, COLUMNS: vectors of 4 that a thread multiplies. */
template <int M_, int N_, int ROWS_, int COLUMNS_> struct float_tile {
    enum {
        M = M_,
        N = N_,
        ROWS = ROWS_,
        COLUMNS = COLUMNS_,
        THREADS_N = N / (COLUMNS * 4),
        THREADS = THREADS_N * (M / (ROWS * 4)),
        STAGE = (M + N + 2 * FLOAT_PAD) * FLOAT_STEP, /* elements */
        BLOCKS = ROWS * 4 * COLUMNS,                  /* blocks of 1x4 sums of a thread */
        STAGED_BYTES = FLOAT_STAGES * STAGE * 4,
        SUMMED_BYTES = M * N * 4,
        SHARED_BYTES = STAGED_BYTES > SUMMED_BYTES ? STAGED_BYTES : SUMMED_BYTES,
        RESIDENT = resident_blocks(512 / THREADS, SHARED_BYTES) /* 128 registers a thread */
    };
};

/* Separate types rather than aliases: a profiler shows their names. */
struct float_128x128 : float_tile<128, 128, 2, 2> {};
struct float_128x64 : float_tile<128, 64, 2, 1> {};
struct float_64x64 : float_tile<64, 64, 2, 1> {};
struct float_32x128 : float_tile<32, 128, 1, 2> {};

/* The choice of tiles knows them by their shared memory. */
static_assert(float_128x128::SHARED_BYTES == GPU_KIB_FLOAT_128x128 << 10, "tiling.h");
static_assert(float_128x64::SHARED_BYTES == GPU_KIB_FLOAT_128x64 << 10, "tiling.h");
static_assert(float_64x64::SHARED_BYTES == GPU_KIB_FLOAT_64x64 << 10, "tiling.h");
static_assert(float_32x128::SHARED_BYTES == GPU_KIB_FLOAT_32x128 << 10, "tiling.h");

/* Returns use(Tile()) for the tile. */
template <class Use> static inline auto for_float_tile(gpu_tile tile, Use use) {
    switch (tile) {
    case GPU_TILE_128x128: return use(float_128x128());
    case GPU_TILE_128x64: return use(float_128x64());
    case GPU_TILE_64x64: return use(float_64x64());
    default: return use(float_32x128());
    }
}

/* ---- source: a matrix of any strides. A thread copies PASSES elements in a step: from different lines if lines are
 * contiguous along k, otherwise at different k. Lines past the last one repeat the last: their sums are never
 * stored, and the address needs no condition. ---- */

template <int LINES, int THREADS> struct float_lines {
    enum { PASSES = LINES * FLOAT_STEP / THREADS, LINES_A_PASS = THREADS / FLOAT_STEP, K_A_PASS = THREADS / LINES };
    const float *at[PASSES];
    int64_t step;     /* elements from one step to the next */
    int left[PASSES]; /* elements of k left, from the thread's own */
    unsigned place, place_a_pass;

    __device__ __forceinline__ float_lines(const float *data, int64_t line_stride, int64_t k_stride, int64_t first,
                                           int64_t lines, int64_t from, int64_t to) {
        const bool along_k = k_stride == 1;
        const unsigned line = along_k ? threadIdx.x / FLOAT_STEP : threadIdx.x % LINES;
        const unsigned k = along_k ? threadIdx.x % FLOAT_STEP : threadIdx.x / LINES;
#pragma unroll
        for (int i = 0; i < PASSES; i++) {
            const int64_t line_of_pass = min(first + line + (along_k ? i * LINES_A_PASS : 0), lines - 1);
            const int64_t k_of_pass = from + k + (along_k ? 0 : i * K_A_PASS);
            at[i] = data + line_of_pass * line_stride + k_of_pass * k_stride;
            left[i] = (int)(to - k_of_pass);
        }
        step = FLOAT_STEP * k_stride;
        place = kept(k * (LINES + FLOAT_PAD) + line);
        place_a_pass = along_k ? LINES_A_PASS : K_A_PASS * (LINES + FLOAT_PAD);
    }
    __device__ __forceinline__ void copy(float *stage) {
#pragma unroll
        for (int i = 0; i < PASSES; i++) {
            cp_async4_zero_fill(stage + place + i * place_a_pass, at[i], left[i] > 0);
            at[i] += step;
            left[i] -= FLOAT_STEP;
        }
    }
};

/* ---- products ---- */

template <int COUNT, int DISTANCE>
static __device__ __forceinline__ void load_vectors(float (&values)[COUNT * 4], const float *from) {
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        const pack<float, 4> vector = load_pack<4>(from + i * DISTANCE);
#pragma unroll
        for (int j = 0; j < 4; j++) values[i * 4 + j] = vector.at[j];
    }
}

/* sums[row * COLUMNS + vector of columns][4]. */
template <class Tile>
static __device__ __forceinline__ void multiply_stage(float (&sums)[Tile::BLOCKS][4], const float *a, const float *b) {
#pragma unroll
    for (int k = 0; k < FLOAT_STEP; k++) {
        float left[Tile::ROWS * 4], right[Tile::COLUMNS * 4];
        load_vectors<Tile::ROWS, Tile::M / Tile::ROWS>(left, a + k * (Tile::M + FLOAT_PAD));
        load_vectors<Tile::COLUMNS, Tile::N / Tile::COLUMNS>(right, b + k * (Tile::N + FLOAT_PAD));
#pragma unroll
        for (int i = 0; i < Tile::ROWS * 4; i++)
#pragma unroll
            for (int j = 0; j < Tile::COLUMNS * 4; j++) sums[i * Tile::COLUMNS + j / 4][j % 4] += left[i] * right[j];
    }
}

/* ---- the whole tile ---- */

template <class Tile, class A, class B, class Output>
static __device__ __forceinline__ void product_floats(A a, B b, const Output &y, const block_place &place,
                                                      const gpu_parts &parts) {
    enum {
        OF_A = (Tile::M + FLOAT_PAD) * FLOAT_STEP,
        APART_M = Tile::M / Tile::ROWS,
        APART_N = Tile::N / Tile::COLUMNS
    };
    float *const shared = dynamic_shared<float>(), *const end = shared + FLOAT_STAGES * Tile::STAGE;
    const unsigned row = threadIdx.x / Tile::THREADS_N * 4, column = threadIdx.x % Tile::THREADS_N * 4;
    int steps = (int)((place.to - place.from + FLOAT_STEP - 1) / FLOAT_STEP);
    float sums[Tile::BLOCKS][4] = {};
#pragma unroll
    for (int i = 0; i < FLOAT_STAGES - 1; i++) {
        float *const stage = shared + i * Tile::STAGE;
        if (i < steps) a.copy(stage), b.copy(stage + OF_A);
        cp_async_commit();
    }
    for (float *stage = shared; steps > 0; steps--) {
        cp_async_wait<FLOAT_STAGES - 2>();
        __syncthreads();
        float *const next = (stage == shared ? end : stage) - Tile::STAGE; /* read by all threads: free */
        if (steps >= FLOAT_STAGES) a.copy(next), b.copy(next + OF_A);
        cp_async_commit();
        multiply_stage<Tile>(sums, stage + row, stage + OF_A + column);
        stage = stage + Tile::STAGE == end ? shared : stage + Tile::STAGE;
    }
    cp_async_wait<0>();
    if (!join_parts<Tile::THREADS>(sums, parts, place.tile)) return;
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < Tile::ROWS * 4; i++)
#pragma unroll
        for (unsigned j = 0; j < Tile::COLUMNS; j++) {
            const unsigned at = row + i / 4 * APART_M + i % 4;
            const float *four = sums[i * Tile::COLUMNS + j];
            store_pack<4>(shared + at * Tile::N + tile_column(at, column + j * APART_N),
                          pack<float, 4>{{four[0], four[1], four[2], four[3]}});
        }
    store_tile<Tile, 4>(shared, place, y);
}

#endif
