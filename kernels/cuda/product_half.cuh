/* product_half.cuh - GEMM of 16-bit elements on tensor cores, with float accumulators. Algorithm and cost:
 * product.cuh; ldmatrix and the fragments of mma: gpu.h.
 *
 * Shared memory is divided into pieces of 8 elements (16 bytes): the unit that cp.async copies and that ldmatrix
 * reads as a row of an 8x8 matrix. A stage holds the lines of an operand in one of two layouts:
 *
 *     along k:   piece (line, k / 8):  STEP / 8 a line     rows of A, columns of a transposed B
 *     across:    piece (k, line / 8):  LINES / 8 a k       columns of a plain B; ldmatrix transposes them
 *
 * The pieces of a row are permuted by XOR (a swizzle), so that the 8 pieces that ldmatrix reads at once lie in 8
 * different groups of banks. A warp computes WARP_M x WARP_N elements of the tile.
 * Example: half_128x128 has 4 warps of 64x64 sums, 4 stages of 32 k (64 KiB of shared memory), 2 blocks a
 * multiprocessor. Sums of a warp are square because these need the fewest reads: 64x64 take 8 ldmatrix for 32 mma,
 * 64x32 take 6 for 16, and shared memory (128 bytes a clock) would hold tensor cores of 1024 multiplications a clock
 * up. */
#ifndef TORT_KERNELS_CUDA_PRODUCT_HALF_CUH
#define TORT_KERNELS_CUDA_PRODUCT_HALF_CUH

#include "kernels/cuda/element.h"
#include "kernels/cuda/product.cuh"

enum { PIECE = 8, LONGEST_LINE = 1 << 24 };

/* M x N outputs, STEP of k at a time. RESIDENT: blocks per multiprocessor. */
template <int M_, int N_, int STEP_, int STAGES_, int WARPS_M_, int WARPS_N_, int RESIDENT_> struct half_tile {
    enum {
        M = M_,
        N = N_,
        STEP = STEP_,
        STAGES = STAGES_,
        WARPS_N = WARPS_N_,
        THREADS = 32 * WARPS_M_ * WARPS_N_,
        WARP_M = M / WARPS_M_,
        WARP_N = N / WARPS_N_,
        BLOCKS = WARP_M / 16 * (WARP_N / 8), /* blocks of 16x8 sums of a warp */
        STAGE = (M + N) * STEP,              /* elements */
        STAGED_BYTES = STAGES * STAGE * 2,
        SUMMED_BYTES = M * N * 4,
        SHARED_BYTES = STAGED_BYTES > SUMMED_BYTES ? STAGED_BYTES : SUMMED_BYTES,
        RESIDENT = resident_blocks(RESIDENT_, SHARED_BYTES),
        FITS = fits_multiprocessor(SHARED_BYTES) /* else kernels of the tile are empty: tiling.c does not choose it */
    };
};

/* Separate types rather than aliases: a profiler shows their names. */
struct half_128x256 : half_tile<128, 256, 64, 3, 2, 4, 1> {};
struct half_128x128 : half_tile<128, 128, 32, 4, 2, 2, 2> {};
struct half_128x64 : half_tile<128, 64, 32, 4, 2, 2, 3> {};
struct half_64x64 : half_tile<64, 64, 64, 3, 2, 2, 4> {};
struct half_32x128 : half_tile<32, 128, 64, 3, 1, 4, 3> {};

/* The choice of tiles knows them by their shared memory. */
static_assert(half_128x256::SHARED_BYTES == GPU_KIB_HALF_128x256 << 10, "tiling.h");
static_assert(half_128x128::SHARED_BYTES == GPU_KIB_HALF_128x128 << 10, "tiling.h");
static_assert(half_128x64::SHARED_BYTES == GPU_KIB_HALF_128x64 << 10, "tiling.h");
static_assert(half_64x64::SHARED_BYTES == GPU_KIB_HALF_64x64 << 10, "tiling.h");
static_assert(half_32x128::SHARED_BYTES == GPU_KIB_HALF_32x128 << 10, "tiling.h");

/* Returns use(Tile()) for the tile. The widest is for sources that cp.async copies; the others take narrow_tiling(). */
template <class Use> static inline auto for_narrow_tile(gpu_tile tile, Use use) {
    switch (tile) {
    case GPU_TILE_128x128: return use(half_128x128());
    case GPU_TILE_128x64: return use(half_128x64());
    case GPU_TILE_64x64: return use(half_64x64());
    default: return use(half_32x128());
    }
}
template <class Use> static inline auto for_half_tile(gpu_tile tile, Use use) {
    return tile == GPU_TILE_128x256 ? use(half_128x256()) : for_narrow_tile(tile, use);
}

/* The same product without the widest tile. Scratch memory suffices: it has the same columns, rounded up to fewer. */
static inline gpu_tiling narrow_tiling(const gpu_tiling *tiling, int64_t columns) {
    gpu_tiling narrow = *tiling;
    if (tiling->tile != GPU_TILE_128x256) return narrow;
    narrow.tile = GPU_TILE_128x128;
    narrow.columns = half_128x128::N;
    narrow.across = gpu_pieces(columns, narrow.columns);
    narrow.tiles = tiling->tiles / tiling->across * narrow.across;
    return narrow;
}

/* ---- where a piece of a stage lies: elements from its beginning ---- */

template <int STEP> static __device__ __forceinline__ unsigned place_along_k(unsigned line, unsigned piece) {
    return (line * (STEP / PIECE) + (piece ^ (STEP == 64 ? line & 7 : line >> 1 & 3))) * PIECE;
}
template <int LINES> static __device__ __forceinline__ unsigned place_across(unsigned k, unsigned piece) {
    return (k * (LINES / PIECE) + (piece ^ (k & 7))) * PIECE;
}

/* ---- sources: matrices whose lines (or rows of lines) begin and end with whole pieces. Lines past the last one
 * repeat the last: their sums are never stored, and the address needs no condition. ---- */

/* Lines that are contiguous along k. A thread copies one piece of each of PASSES lines. */
template <class T, class Tile, int LINES> struct lines_along_k {
    enum { ALONG_K = 1, LINES_A_PASS = Tile::THREADS / (Tile::STEP / PIECE), PASSES = LINES / LINES_A_PASS };
    const T *at;
    unsigned offset[PASSES]; /* of each pass from `at`; LONGEST_LINE keeps it in 32 bits */
    int left;                /* elements of k left, from the thread's pieces on */
    unsigned place;

    __device__ __forceinline__ lines_along_k(const T *data, int64_t stride, int64_t first, int64_t lines, int64_t from,
                                             int64_t to) {
        const unsigned line = threadIdx.x / (Tile::STEP / PIECE), piece = threadIdx.x % (Tile::STEP / PIECE);
        at = data + first * stride + from + piece * PIECE;
#pragma unroll
        for (int i = 0; i < PASSES; i++)
            offset[i] = kept((unsigned)(min((int64_t)line + i * LINES_A_PASS, lines - 1 - first) * stride));
        left = (int)(to - from) - (int)piece * PIECE;
        place = kept(place_along_k<Tile::STEP>(line, piece));
    }
    /* Copies the next step. */
    __device__ __forceinline__ void copy(T *stage) {
#pragma unroll
        for (int i = 0; i < PASSES; i++)
            cp_async16_or_zero(stage + place + i * LINES_A_PASS * Tile::STEP, at + offset[i], left > 0);
        at += Tile::STEP;
        left -= Tile::STEP;
    }
};

/* Lines that are adjacent in memory, with k strided. A thread copies one piece at each of PASSES values of k. */
template <class T, class Tile, int LINES> struct lines_across {
    enum { ALONG_K = 0, K_A_PASS = Tile::THREADS / (LINES / PIECE), PASSES = Tile::STEP / K_A_PASS };
    const T *at;
    int64_t pass; /* elements to the next pass; the last pass ends at the next step */
    int left;     /* elements of k left, from the thread's first */
    unsigned place;

    __device__ __forceinline__ lines_across(const T *data, int64_t stride, int64_t first, int64_t lines, int64_t from,
                                            int64_t to) {
        const unsigned k = threadIdx.x / (LINES / PIECE), piece = threadIdx.x % (LINES / PIECE);
        const int64_t line = min(first + piece * PIECE, lines - PIECE);
        at = data + (from + k) * stride + line;
        pass = K_A_PASS * stride;
        left = (int)(to - from) - (int)k;
        place = kept(place_across<LINES>(k, piece));
    }
    __device__ __forceinline__ void copy(T *stage) {
#pragma unroll
        for (int i = 0; i < PASSES; i++, at += pass)
            cp_async16_or_zero(stage + place + i * K_A_PASS * LINES, at, i * K_A_PASS < left);
        left -= Tile::STEP;
    }
};

/* Any strides and alignment, one element at a time: for shapes whose rows do not begin at whole pieces. */
template <class T, class Tile, int LINES> struct lines_anyhow {
    enum { ALONG_K = 1 };
    const T *data;
    int64_t line_stride, k_stride, lines, k, to;

    __device__ __forceinline__ lines_anyhow(const T *data_, int64_t line_stride_, int64_t k_stride_, int64_t first,
                                            int64_t lines_, int64_t from, int64_t to_)
        : data(data_ + first * line_stride_), line_stride(line_stride_), k_stride(k_stride_), lines(lines_ - first),
          k(from), to(to_) {}
    __device__ __forceinline__ void copy(T *stage) {
        for (int i = (int)threadIdx.x; i < LINES * Tile::STEP; i += Tile::THREADS) {
            const int line = k_stride == 1 ? i / Tile::STEP : i % LINES,
                      step = k_stride == 1 ? i % Tile::STEP : i / LINES;
            const bool inside = line < lines && k + step < to;
            stage[place_along_k<Tile::STEP>(line, step / PIECE) + step % PIECE] =
                inside ? data[line * line_stride + (k + step) * k_stride] : (T)0.0f;
        }
        k += Tile::STEP;
    }
};

/* ---- products ---- */

static __device__ __forceinline__ void multiply(float (&sum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], half) {
    mma_m16n8k16_f16(sum, a, b, sum);
}
static __device__ __forceinline__ void multiply(float (&sum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                                                bfloat16) {
    mma_m16n8k16_bf16(sum, a, b, sum);
}

/* Addresses that a lane passes to ldmatrix, for blocks of 16 lines x 16 k of the LINES_A_WARP lines that begin at
 * `first`. mma expects the four 8x8 matrices of a block in a different order for A (lines 0-7, lines 8-15, then both
 * for k 8-15) and B (k 0-7, k 8-15, then both for lines 8-15). */
template <class Tile, bool ALONG_K, bool AS_A, int LINES, int LINES_A_WARP> struct fragment_reader {
    enum { PLACES = ALONG_K ? Tile::STEP / 16 : LINES_A_WARP / 16 };
    unsigned place[PLACES]; /* one per k / 16 along k, one per block of lines across: the XOR differs in each */

    __device__ __forceinline__ fragment_reader(unsigned first) {
        const unsigned row = threadIdx.x % 8, low = threadIdx.x >> 3 & 1, high = threadIdx.x >> 4 & 1;
        const unsigned line = AS_A ? low : high, k = AS_A ? high : low; /* of the lane's 8x8 matrix, in units of 8 */
#pragma unroll
        for (unsigned i = 0; i < PLACES; i++)
            place[i] = ALONG_K ? place_along_k<Tile::STEP>(first + line * 8 + row, i * 2 + k)
                               : place_across<LINES>(k * 8 + row, first / 8 + i * 2 + line);
    }
    template <class T>
    __device__ __forceinline__ void load(uint32_t (&fragment)[4], const T *stage, int block, int k) const {
        if (ALONG_K)
            ldmatrix_x4(fragment, stage + place[k / 16] + block * 16 * Tile::STEP);
        else
            ldmatrix_x4_trans(fragment, stage + place[block] + k * LINES);
    }
};

/* sums[row block * COLUMNS + column block]: blocks of 16x8. */
template <class Tile, class A, class B, class T>
static __device__ __forceinline__ void multiply_stage(float (&sums)[Tile::BLOCKS][4], const A &a, const B &b,
                                                      const T *stage) {
    enum { ROWS = Tile::WARP_M / 16, COLUMNS = Tile::WARP_N / 8 };
#pragma unroll
    for (int k = 0; k < Tile::STEP; k += 16) {
        uint32_t left[ROWS][4], right[COLUMNS / 2][4];
#pragma unroll
        for (int i = 0; i < ROWS; i++) a.load(left[i], stage, i, k);
#pragma unroll
        for (int j = 0; j < COLUMNS / 2; j++) b.load(right[j], stage + Tile::M * Tile::STEP, j, k);
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int j = 0; j < COLUMNS; j++) {
                const uint32_t pair[2] = {right[j / 2][j % 2 * 2], right[j / 2][j % 2 * 2 + 1]};
                multiply(sums[i * COLUMNS + j], left[i], pair, T());
            }
    }
}

/* ---- output ---- */

/* Writes a thread's sums, pairs of neighbours, to shared memory in the layout that store_tile reads. */
template <class Tile>
static __device__ __forceinline__ void leave_sums(const float (&sums)[Tile::BLOCKS][4], float *tile, unsigned row,
                                                  unsigned column) {
    enum { ROWS = Tile::WARP_M / 16, COLUMNS = Tile::WARP_N / 8 };
    const unsigned group = threadIdx.x % 32 / 4, pair = threadIdx.x % 4 * 2;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ROWS; i++)
#pragma unroll
        for (int j = 0; j < COLUMNS; j++)
#pragma unroll
            for (int part = 0; part < 2; part++) {
                const unsigned at = row + i * 16 + group + part * 8;
                const float *two = &sums[i * COLUMNS + j][part * 2];
                store_pack<2>(tile + at * Tile::N + tile_column(at, column + j * 8 + pair),
                              pack<float, 2>{{two[0], two[1]}});
            }
}

/* ---- the whole tile ---- */

template <class Tile, class T, class A, class B, class Output>
static __device__ __forceinline__ void product_halves(A a, B b, const Output &y, const block_place &place,
                                                      const gpu_parts &parts) {
    T *const shared = dynamic_shared<T>(), *const end = shared + Tile::STAGES * Tile::STAGE;
    const unsigned warp = threadIdx.x / 32;
    const unsigned row = warp / Tile::WARPS_N * Tile::WARP_M, column = warp % Tile::WARPS_N * Tile::WARP_N;
    const fragment_reader<Tile, A::ALONG_K, true, Tile::M, Tile::WARP_M> read_a(row);
    const fragment_reader<Tile, B::ALONG_K, false, Tile::N, Tile::WARP_N> read_b(column);
    int steps = (int)((place.to - place.from + Tile::STEP - 1) / Tile::STEP);
    float sums[Tile::BLOCKS][4] = {};
#pragma unroll
    for (int i = 0; i < Tile::STAGES - 1; i++) {
        T *const stage = shared + i * Tile::STAGE;
        if (i < steps) a.copy(stage), b.copy(stage + Tile::M * Tile::STEP);
        cp_async_commit();
    }
    for (T *stage = shared; steps > 0; steps--) {
        cp_async_wait<Tile::STAGES - 2>();
        __syncthreads();
        T *const next = (stage == shared ? end : stage) - Tile::STAGE; /* read by all threads: free */
        if (steps >= Tile::STAGES) a.copy(next), b.copy(next + Tile::M * Tile::STEP);
        cp_async_commit();
        multiply_stage<Tile>(sums, read_a, read_b, stage);
        stage = stage + Tile::STAGE == end ? shared : stage + Tile::STAGE;
    }
    cp_async_wait<0>();
    if (!join_parts<Tile::THREADS>(sums, parts, place.tile)) return;
    leave_sums<Tile>(sums, (float *)shared, row, column);
    store_tile<Tile, PIECE>((const float *)shared, place, y);
}

#endif
