/* product_few.cuh - products of few rows (m <= 8): a decoder's step, a classifier's last layer. Reading B takes all the
 * time, so each element of B is read once, 16 bytes a thread, and multiplied with all rows of A, which lie in shared
 * memory. Elements are multiplied in float.
 *
 *     along k (B is stored transposed): a warp has FEW_COLUMNS columns, and its lanes share k
 *     across:                           a lane has neighbouring columns, and the warps of a block share k
 *
 * Cost: 2 * m FLOPs an element of B; bound by memory. A is read once a block.
 * Example: m = 1, n = 4096, k = 4096 in halves, along k: 128 blocks of 32 columns, each of which reads 256 KiB of B and
 * 8 KiB of A. Read first: product.cuh. */
#ifndef TORT_KERNELS_CUDA_PRODUCT_FEW_CUH
#define TORT_KERNELS_CUDA_PRODUCT_FEW_CUH

#include "kernels/cuda/product.cuh"

/* Blocks of one row that a multiprocessor holds. The compiler needs more registers on sm_100 and newer, and spilled
 * some. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
#define ONE_ROW_RESIDENT 3
#else
#define ONE_ROW_RESIDENT 4
#endif

enum { FEW_WARPS = 8, FEW_THREADS = 32 * FEW_WARPS, FEW_COLUMNS = GPU_FEW_COLUMNS_ALONG_K / FEW_WARPS };

/* M rows, the elements of type T. A block of threads makes N columns; STAGE elements of each row of A are in shared
 * memory at a time. */
template <class T_, int M_, bool ALONG_K_> struct few_rows {
    typedef T_ T;
    enum {
        M = M_,
        ALONG_K = ALONG_K_,
        PACK = 16 / sizeof(T),
        N = ALONG_K ? (int)GPU_FEW_COLUMNS_ALONG_K : 32 * PACK,
        STAGE = M > 4 ? 1024 : 2048,
        RESIDENT = M > 1 ? 2 : ONE_ROW_RESIDENT,
        AT_A_TIME = M > 1 ? 1 : 2, /* packs of each column that are loaded before the first is used */
        STAGED_BYTES = M * STAGE * (int)sizeof(T),
        SHARED_BYTES = (int)STAGED_BYTES > FEW_WARPS *N * 4 ? (int)STAGED_BYTES : FEW_WARPS *N * 4
    };
};

/* ---- A ---- */

/* Copies `count` elements, from k on, of each row of A to shared memory; rows past the last repeat it. */
template <class F>
static __device__ __forceinline__ void stage_rows(typename F::T *stage, const typename F::T *a, const gpu_matmul &p,
                                                  int64_t k, int count) {
    __syncthreads(); /* the previous stage has been read */
#pragma unroll
    for (int row = 0; row < F::M; row++) {
        const typename F::T *from = a + min((int64_t)row, p.m - 1) * p.a_row + k;
        for (int i = (int)threadIdx.x * F::PACK; i < count; i += FEW_THREADS * F::PACK)
            store_pack<F::PACK>(stage + row * F::STAGE + i, load_pack<F::PACK>(from + i));
    }
    __syncthreads();
}

/* ---- sums of a thread over its elements of k ---- */

/* Adds the products of FEW_COLUMNS columns; lanes take packs in turn. Columns past the last repeat it, and their sums
 * are not stored. */
template <class F>
static __device__ __forceinline__ void add_along_k(float (&sums)[F::M][FEW_COLUMNS], const typename F::T *stage,
                                                   const typename F::T *const (&columns)[FEW_COLUMNS], int64_t k,
                                                   int count) {
    typedef typename F::T T;
#pragma unroll F::AT_A_TIME
    for (int i = (int)threadIdx.x % 32 * F::PACK; i < count; i += 32 * F::PACK) {
        pack<T, F::PACK> b[FEW_COLUMNS];
#pragma unroll
        for (int c = 0; c < FEW_COLUMNS; c++) b[c] = load_pack<F::PACK>(columns[c] + k + i);
#pragma unroll
        for (int row = 0; row < F::M; row++) {
            const pack<T, F::PACK> a = load_pack<F::PACK>(stage + row * F::STAGE + i);
#pragma unroll
            for (int c = 0; c < FEW_COLUMNS; c++)
#pragma unroll
                for (int j = 0; j < F::PACK; j++) sums[row][c] += (float)a.at[j] * (float)b[c].at[j];
        }
    }
}

/* Adds the products of PACK neighbouring columns; warps take elements of k in turn. */
template <class F>
static __device__ __forceinline__ void add_across(float (&sums)[F::M][F::PACK], const typename F::T *stage,
                                                  const typename F::T *columns, int64_t b_row, int count) {
#pragma unroll 4
    for (int i = (int)threadIdx.x / 32; i < count; i += FEW_WARPS) {
        const pack<typename F::T, F::PACK> b = load_pack<F::PACK>(columns + i * b_row);
#pragma unroll
        for (int row = 0; row < F::M; row++) {
            const float a = (float)stage[row * F::STAGE + i];
#pragma unroll
            for (int j = 0; j < F::PACK; j++) sums[row][j] += a * (float)b.at[j];
        }
    }
}

/* ---- sums of the block, in `out`: M rows of N ---- */

template <class F>
static __device__ __forceinline__ void sum_along_k(const typename F::T *a, const typename F::T *b, const gpu_matmul &p,
                                                   const block_place &at, void *shared, float *out) {
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const typename F::T *columns[FEW_COLUMNS];
    float sums[F::M][FEW_COLUMNS] = {};
#pragma unroll
    for (int c = 0; c < FEW_COLUMNS; c++)
        columns[c] = b + min(at.first_column + warp * FEW_COLUMNS + c, p.n - 1) * p.b_column;
    for (int64_t k = at.from; k < at.to; k += F::STAGE) {
        const int count = (int)min((int64_t)F::STAGE, at.to - k);
        stage_rows<F>((typename F::T *)shared, a, p, k, count);
        add_along_k<F>(sums, (const typename F::T *)shared, columns, k, count);
    }
#pragma unroll
    for (int row = 0; row < F::M; row++)
#pragma unroll
        for (int c = 0; c < FEW_COLUMNS; c++) {
            for (int offset = 16; offset; offset >>= 1) sums[row][c] += __shfl_xor_sync(~0u, sums[row][c], offset);
            if (lane == 0) out[row * F::N + warp * FEW_COLUMNS + c] = sums[row][c];
        }
}

template <class F>
static __device__ __forceinline__ void sum_across(const typename F::T *a, const typename F::T *b, const gpu_matmul &p,
                                                  const block_place &at, void *shared, float *out) {
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32, thread = (int)threadIdx.x;
    const typename F::T *columns = b + min(at.first_column + lane * F::PACK, p.n - F::PACK);
    float sums[F::M][F::PACK] = {}, *const of_warps = (float *)shared;
    for (int64_t k = at.from; k < at.to; k += F::STAGE) {
        const int count = (int)min((int64_t)F::STAGE, at.to - k);
        stage_rows<F>((typename F::T *)shared, a, p, k, count);
        add_across<F>(sums, (const typename F::T *)shared, columns + k * p.b_row, p.b_row, count);
    }
#pragma unroll
    for (int row = 0; row < F::M; row++) {
        __syncthreads(); /* the stage, or the sums of the previous row, have been read */
#pragma unroll
        for (int j = 0; j < F::PACK; j++) of_warps[warp * F::N + lane * F::PACK + j] = sums[row][j];
        __syncthreads();
        if (thread >= F::N) continue;
        float sum = 0.0f;
#pragma unroll
        for (int w = 0; w < FEW_WARPS; w++) sum += of_warps[w * F::N + thread];
        out[row * F::N + thread] = sum;
    }
}

/* ---- output ---- */

/* Adds up the parts of the block's sums, as join_parts does; rows past the last are left out. */
template <class F>
static __device__ __forceinline__ bool join_few(float *out, int64_t rows, const gpu_parts &parts, int64_t tile,
                                                unsigned *shared) {
    const int count = (int)gridDim.y, used = (int)rows * F::N;
    if (count == 1) return true;
    float *const shares = parts.sums + tile * count * (F::M * F::N);
    for (int i = (int)threadIdx.x; i < used; i += FEW_THREADS) shares[blockIdx.y * (F::M * F::N) + i] = out[i];
    if (!last_to_arrive(parts.arrivals + tile, (unsigned)count, shared)) return false;
    for (int i = (int)threadIdx.x; i < used; i += FEW_THREADS) {
        float sum = 0.0f;
#pragma unroll 4
        for (int part = 0; part < count; part++) sum += shares[part * (F::M * F::N) + i];
        out[i] = sum;
    }
    return true;
}

template <class F, class Output>
static __device__ __forceinline__ void product_few(const typename F::T *a, const typename F::T *b, const gpu_matmul &p,
                                                   const Output &y, const block_place &at, const gpu_parts &parts) {
    __shared__ __align__(16) unsigned char shared[F::SHARED_BYTES];
    __shared__ float out[F::M * F::N];
    if constexpr (F::ALONG_K)
        sum_along_k<F>(a, b, p, at, shared, out);
    else
        sum_across<F>(a, b, p, at, shared, out);
    __syncthreads();
    if (!join_few<F>(out, p.m, parts, at.tile, (unsigned *)shared)) return;
    for (int i = (int)threadIdx.x; i < (int)p.m * F::N; i += FEW_THREADS) {
        const int64_t row = i / F::N, column = at.first_column + i % F::N;
        if (column < p.n) y.store_one(row, column, out[i]);
    }
}

#endif
