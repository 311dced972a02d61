/* product_mma.cuh - GEMM on tensor cores: of 16-bit elements, or of floats rounded to TF32 (10 bits of mantissa), with
 * float accumulators; of bytes with exact 32-bit integers, where B is signed and T is the type of A. Algorithm and
 * cost: product.cuh; ldmatrix and the fragments of mma: gpu.h.
 *
 * Shared memory is divided into pieces of 16 bytes (8 elements, or 4 floats): the unit that cp.async copies and that
 * ldmatrix reads as a row of an 8x8 matrix of 16 bits, which also is an 8x4 matrix of floats as mma takes it. A stage
 * holds the lines of an operand in one of two layouts:
 *
 *     along k:   piece (line, k / 8):  PIECES a line       rows of A, columns of a transposed B
 *     across:    piece (k, line / 8):  LINES / 8 a k       columns of a plain B; ldmatrix transposes 16-bit elements,
 *                                                          floats are loaded one by one
 *
 * The pieces of a row are permuted by XOR (a swizzle), so that the 8 pieces that ldmatrix reads at once lie in 8
 * different groups of banks. A warp computes WARP_M x WARP_N elements of the tile.
 * Example: mma_128x128 has 4 warps of 64x64 sums, 4 stages of 32 k in halves or 16 in floats (64 KiB of shared memory),
 * 2 blocks a multiprocessor. Sums of a warp are square because these need the fewest reads: 64x64 take 8 ldmatrix for
 * 32 mma, 64x32 take 6 for 16, and shared memory (128 bytes a clock) would hold tensor cores of 1024 multiplications a
 * clock up. */
#ifndef TORT_KERNELS_CUDA_PRODUCT_MMA_CUH
#define TORT_KERNELS_CUDA_PRODUCT_MMA_CUH

#include "kernels/cuda/element.h"
#include "kernels/cuda/product.cuh"

enum { PIECE = 8, /* 16-bit elements */ LONGEST_LINE = 1 << 24 };

/* Elements of a piece, and of k in a step of a tile. */
template <class T> struct piece_of {
    enum { SIZE = 16 / (int)sizeof(T) };
};
template <class T, class Tile> struct step_of {
    enum { SIZE = Tile::PIECES * piece_of<T>::SIZE };
};

/* Type of a sum. */
template <class T> struct sum_of { typedef float type; };
template <> struct sum_of<int8_t> { typedef int32_t type; };
template <> struct sum_of<uint8_t> { typedef int32_t type; };

/* M x N outputs, PIECES of k at a time. RESIDENT: blocks per multiprocessor. */
template <int M_, int N_, int PIECES_, int STAGES_, int WARPS_M_, int WARPS_N_, int RESIDENT_> struct mma_tile {
    enum {
        M = M_,
        N = N_,
        PIECES = PIECES_,
        STAGES = STAGES_,
        WARPS_N = WARPS_N_,
        THREADS = 32 * WARPS_M_ * WARPS_N_,
        WARP_M = M / WARPS_M_,
        WARP_N = N / WARPS_N_,
        BLOCKS = WARP_M / 16 * (WARP_N / 8), /* blocks of 16x8 sums of a warp */
        STAGE_BYTES = (M + N) * PIECES * 16,
        STAGED_BYTES = STAGES * STAGE_BYTES,
        SUMMED_BYTES = M * N * 4,
        SHARED_BYTES = STAGED_BYTES > SUMMED_BYTES ? STAGED_BYTES : SUMMED_BYTES,
        RESIDENT = resident_blocks(RESIDENT_, SHARED_BYTES),
        FITS = fits_multiprocessor(SHARED_BYTES) /* else kernels of the tile are empty: tiling.c does not choose it */
    };
};

/* Separate types rather than aliases: a profiler shows their names. */
struct mma_128x256 : mma_tile<128, 256, 8, 3, 2, 4, 1> {};
struct mma_128x128 : mma_tile<128, 128, 4, 4, 2, 2, 2> {};
struct mma_128x64 : mma_tile<128, 64, 4, 4, 2, 2, 3> {};
struct mma_64x64 : mma_tile<64, 64, 8, 3, 2, 2, 4> {};
struct mma_32x128 : mma_tile<32, 128, 8, 3, 1, 4, 3> {};

/* The choice of tiles knows them by their shared memory. */
static_assert(mma_128x256::SHARED_BYTES == GPU_KIB_MMA_128x256 << 10, "tiling.h");
static_assert(mma_128x128::SHARED_BYTES == GPU_KIB_MMA_128x128 << 10, "tiling.h");
static_assert(mma_128x64::SHARED_BYTES == GPU_KIB_MMA_128x64 << 10, "tiling.h");
static_assert(mma_64x64::SHARED_BYTES == GPU_KIB_MMA_64x64 << 10, "tiling.h");
static_assert(mma_32x128::SHARED_BYTES == GPU_KIB_MMA_32x128 << 10, "tiling.h");

/* Returns use(Tile()) for the tile. The widest is for sources that cp.async copies; the others take narrow_tiling(). */
template <class Use> static inline auto for_narrow_tile(gpu_tile tile, Use use) {
    switch (tile) {
    case GPU_TILE_128x128: return use(mma_128x128());
    case GPU_TILE_128x64: return use(mma_128x64());
    case GPU_TILE_64x64: return use(mma_64x64());
    default: return use(mma_32x128());
    }
}
template <class Use> static inline auto for_mma_tile(gpu_tile tile, Use use) {
    return tile == GPU_TILE_128x256 ? use(mma_128x256()) : for_narrow_tile(tile, use);
}

/* The same product without the widest tile. Scratch memory suffices: it has the same columns, rounded up to fewer. */
static inline gpu_tiling narrow_tiling(const gpu_tiling *tiling, int64_t columns) {
    gpu_tiling narrow = *tiling;
    if (tiling->tile != GPU_TILE_128x256) return narrow;
    narrow.tile = GPU_TILE_128x128;
    narrow.columns = mma_128x128::N;
    narrow.across = gpu_pieces(columns, narrow.columns);
    narrow.tiles = tiling->tiles / tiling->across * narrow.across;
    return narrow;
}

/* ---- where a piece of a stage lies: elements from its beginning ---- */

template <class T, class Tile> static __device__ __forceinline__ unsigned place_along_k(unsigned line, unsigned piece) {
    return (line * Tile::PIECES + (piece ^ (Tile::PIECES == 8 ? line & 7 : line >> 1 & 3))) * piece_of<T>::SIZE;
}
/* Pairs of pieces are permuted where elements are floats, as a warp reads 8 lines of these at 4 values of k at once. */
template <class T, int LINES> static __device__ __forceinline__ unsigned place_across(unsigned k, unsigned piece) {
    enum { SIZE = piece_of<T>::SIZE };
    return (k * (LINES / SIZE) + (piece ^ (sizeof(T) == 2 ? k & 7 : (k & 3) * 2))) * SIZE;
}

/* ---- sources: matrices whose lines (or rows of lines) begin and end with whole pieces. Lines past the last one
 * repeat the last: their sums are never stored, and the address needs no condition. ---- */

/* Lines that are contiguous along k. A thread copies one piece of each of PASSES lines. */
template <class T, class Tile, int LINES> struct lines_along_k {
    enum {
        ALONG_K = 1,
        ROUNDS = 1,
        STEP = step_of<T, Tile>::SIZE,
        LINES_A_PASS = Tile::THREADS / Tile::PIECES,
        PASSES = LINES / LINES_A_PASS
    };
    const T *at;
    unsigned offset[PASSES]; /* of each pass from `at`; LONGEST_LINE keeps it in 32 bits */
    int left;                /* elements of k left, from the thread's pieces on */
    unsigned place;

    __device__ __forceinline__ lines_along_k(const T *data, int64_t stride, int64_t first, int64_t lines, int64_t from,
                                             int64_t to) {
        const unsigned line = threadIdx.x / Tile::PIECES, piece = threadIdx.x % Tile::PIECES;
        at = data + first * stride + from + piece * piece_of<T>::SIZE;
#pragma unroll
        for (int i = 0; i < PASSES; i++)
            offset[i] = kept((unsigned)(min((int64_t)line + i * LINES_A_PASS, lines - 1 - first) * stride));
        left = (int)(to - from) - (int)piece * piece_of<T>::SIZE;
        place = kept(place_along_k<T, Tile>(line, piece));
    }
    /* Copies the next step. */
    __device__ __forceinline__ void copy(T *stage) {
#pragma unroll
        for (int i = 0; i < PASSES; i++)
            cp_async16_or_zero(stage + place + i * LINES_A_PASS * STEP, at + offset[i], left > 0);
        at += STEP;
        left -= STEP;
    }
};

/* The same of floats that have been rounded before. */
template <class T, class Tile, int LINES> struct rounded_lines : lines_along_k<T, Tile, LINES> {
    enum { ROUNDS = 0 };
    using lines_along_k<T, Tile, LINES>::lines_along_k;
};

/* Lines that are adjacent in memory, with k strided. A thread copies one piece at each of PASSES values of k. */
template <class T, class Tile, int LINES> struct lines_across {
    enum {
        ALONG_K = 0,
        ROUNDS = 1,
        SIZE = piece_of<T>::SIZE,
        STEP = step_of<T, Tile>::SIZE,
        K_A_PASS = Tile::THREADS / (LINES / SIZE),
        PASSES = STEP / K_A_PASS
    };
    const T *at;
    int64_t pass; /* elements to the next pass; the last pass ends at the next step */
    int left;     /* elements of k left, from the thread's first */
    unsigned place;

    __device__ __forceinline__ lines_across(const T *data, int64_t stride, int64_t first, int64_t lines, int64_t from,
                                            int64_t to) {
        const unsigned k = threadIdx.x / (LINES / SIZE), piece = threadIdx.x % (LINES / SIZE);
        const int64_t line = min(first + piece * SIZE, lines - SIZE);
        at = data + (from + k) * stride + line;
        pass = K_A_PASS * stride;
        left = (int)(to - from) - (int)k;
        place = kept(place_across<T, LINES>(k, piece));
    }
    __device__ __forceinline__ void copy(T *stage) {
#pragma unroll
        for (int i = 0; i < PASSES; i++, at += pass)
            cp_async16_or_zero(stage + place + i * K_A_PASS * LINES, at, i * K_A_PASS < left);
        left -= STEP;
    }
};

/* Any strides and alignment, one element at a time: for shapes whose rows do not begin at whole pieces. */
template <class T, class Tile, int LINES> struct lines_anyhow {
    enum { ALONG_K = 1, ROUNDS = 1, STEP = step_of<T, Tile>::SIZE };
    const T *data;
    int64_t line_stride, k_stride, lines, k, to;

    __device__ __forceinline__ lines_anyhow(const T *data_, int64_t line_stride_, int64_t k_stride_, int64_t first,
                                            int64_t lines_, int64_t from, int64_t to_)
        : data(data_ + first * line_stride_), line_stride(line_stride_), k_stride(k_stride_), lines(lines_ - first),
          k(from), to(to_) {}
    __device__ __forceinline__ void copy(T *stage) {
        for (int i = (int)threadIdx.x; i < LINES * STEP; i += Tile::THREADS) {
            const int line = k_stride == 1 ? i / STEP : i % LINES, step = k_stride == 1 ? i % STEP : i / LINES;
            const bool inside = line < lines && k + step < to;
            stage[place_along_k<T, Tile>(line, step / piece_of<T>::SIZE) + step % piece_of<T>::SIZE] =
                inside ? data[line * line_stride + (k + step) * k_stride] : (T)0.0f;
        }
        k += STEP;
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
static __device__ __forceinline__ void multiply(float (&sum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                                                float) {
    mma_m16n8k8_tf32(sum, a, b, sum);
}
static __device__ __forceinline__ void multiply(int32_t (&sum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                                                int8_t) {
    mma_m16n8k32_s8s8(sum, a, b, sum);
}
static __device__ __forceinline__ void multiply(int32_t (&sum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                                                uint8_t) {
    mma_m16n8k32_u8s8(sum, a, b, sum);
}

/* Prepares loaded operands. Of floats mma drops the last 13 bits, which would make every product smaller; what is
 * added before makes up for it in the mean. Numbers of 10 bits stay as they are, others come within 0.7 units of the
 * last bit kept, infinity and NaN stay: in one instruction, where cvt.rna takes three. */
template <class T> static __device__ __forceinline__ void round_operands(uint32_t (&)[4], T) {}
static __device__ __forceinline__ void round_operands(uint32_t (&operands)[4], float) {
    const float UP = 1.0f + 0.69f / 2048;
#pragma unroll
    for (int i = 0; i < 4; i++) operands[i] = __float_as_uint(__uint_as_float(operands[i]) * UP);
}

/* Loads the operands of 2 pieces of k from a warp's LINES_A_WARP lines, which begin at `first`, in blocks of 16 lines.
 * mma expects the four 8x8 matrices of a block in a different order for A (lines 0-7, lines 8-15, then both for the
 * second piece) and B (the pieces of lines 0-7, then those of lines 8-15). */
template <class T, class Tile, bool ALONG_K, bool AS_A, bool ROUNDS, int LINES, int LINES_A_WARP>
struct fragment_reader {
    enum { BLOCKS = LINES_A_WARP / 16, PLACES = ALONG_K ? Tile::PIECES / 2 : BLOCKS, QUADS = 0 };
    unsigned place[PLACES]; /* one per 2 pieces along k, one per block of lines across: the XOR differs in each */

    __device__ __forceinline__ fragment_reader(unsigned first) {
        const unsigned row = threadIdx.x % 8, low = threadIdx.x >> 3 & 1, high = threadIdx.x >> 4 & 1;
        const unsigned line = AS_A ? low : high, k = AS_A ? high : low; /* of the lane's 8x8 matrix, in units of 8 */
#pragma unroll
        for (unsigned i = 0; i < PLACES; i++)
            place[i] = ALONG_K ? place_along_k<T, Tile>(first + line * 8 + row, i * 2 + k)
                               : place_across<T, LINES>(k * 8 + row, first / 8 + i * 2 + line);
    }
    __device__ __forceinline__ void load(uint32_t (&blocks)[BLOCKS][4], const T *stage, int piece) const {
#pragma unroll
        for (int i = 0; i < BLOCKS; i++) {
            if (ALONG_K)
                ldmatrix_x4(blocks[i], stage + place[piece / 2] + i * 16 * step_of<T, Tile>::SIZE);
            else
                ldmatrix_x4_trans(blocks[i], stage + place[i] + piece * PIECE * LINES);
            if (ROUNDS) round_operands(blocks[i], T());
        }
    }
};

/* Floats across k as B, which ldmatrix cannot transpose. Lane l loads 4 lines at k = l % 4 and 4 further on, one for
 * each of 4 operands: the columns of 32 sums lie by fours then (QUADS), which costs nothing. */
template <class Tile, int LINES, int LINES_A_WARP>
struct fragment_reader<float, Tile, false, false, true, LINES, LINES_A_WARP> {
    enum { BLOCKS = LINES_A_WARP / 16, QUADS = 1 };
    unsigned place;

    __device__ __forceinline__ fragment_reader(unsigned first)
        : place(place_across<float, LINES>(threadIdx.x % 4, first / 4 + threadIdx.x % 32 / 4)) {}
    __device__ __forceinline__ void load(uint32_t (&blocks)[BLOCKS][4], const float *stage, int piece) const {
#pragma unroll
        for (int i = 0; i < BLOCKS; i += 2) {
            const float *at = stage + place + piece * piece_of<float>::SIZE * LINES + i * 16;
            const pack<float, 4> low = load_pack<4>(at), high = load_pack<4>(at + 4 * LINES);
#pragma unroll
            for (int j = 0; j < 4; j++) {
                blocks[i + j / 2][j % 2 * 2] = __float_as_uint(low.at[j]);
                blocks[i + j / 2][j % 2 * 2 + 1] = __float_as_uint(high.at[j]);
            }
            round_operands(blocks[i], 0.0f);
            round_operands(blocks[i + 1], 0.0f);
        }
    }
};

/* sums[row block * COLUMNS + column block]: blocks of 16x8. */
template <class Tile, class A, class B, class T, class S>
static __device__ __forceinline__ void multiply_stage(S (&sums)[Tile::BLOCKS][4], const A &a, const B &b,
                                                      const T *stage) {
    enum { ROWS = Tile::WARP_M / 16, COLUMNS = Tile::WARP_N / 8 };
#pragma unroll
    for (int piece = 0; piece < Tile::PIECES; piece += 2) {
        uint32_t left[ROWS][4], right[COLUMNS / 2][4];
        a.load(left, stage, piece);
        b.load(right, stage + Tile::M * step_of<T, Tile>::SIZE, piece);
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

/* Neighbouring columns among a lane's sums of a row, in BLOCKS blocks of 16x8 beside each other: pairs; or fours with
 * QUADS, where column c of block j of 4 is number 4 c + j of their 32. */
template <bool QUADS, int BLOCKS, class S = float> struct neighbours {
    enum { SIZE = QUADS ? 4 : 2, COUNT = BLOCKS * 2 / SIZE, IN_PIECE = QUADS ? 4 : 8 };
    typedef pack<S, SIZE> group;

    /* Piece of the output in which group i lies, and its offset there. */
    static __device__ __forceinline__ unsigned piece(unsigned i) {
        return QUADS ? i / 2 * 8 + threadIdx.x % 4 * 2 + i % 2 : i;
    }
    static __device__ __forceinline__ unsigned offset() {
        return QUADS ? 0 : threadIdx.x % 4 * 2;
    }
    static __device__ __forceinline__ unsigned column(unsigned i) {
        return piece(i) * IN_PIECE + offset();
    }
    /* part: 0 for the rows 0 to 7 of the blocks, 1 for the others. */
    static __device__ __forceinline__ group of(const S (*sums)[4], int part, int i) {
        group found;
#pragma unroll
        for (int j = 0; j < SIZE; j++)
            found.at[j] = QUADS ? sums[i / 2 * 4 + j][part * 2 + i % 2] : sums[i][part * 2 + j];
        return found;
    }
};

/* Writes a thread's sums to shared memory in the layout that store_tile reads. */
template <class Tile, bool QUADS, class S>
static __device__ __forceinline__ void leave_sums(const S (&sums)[Tile::BLOCKS][4], S *tile, unsigned row,
                                                  unsigned column) {
    enum { ROWS = Tile::WARP_M / 16, COLUMNS = Tile::WARP_N / 8 };
    typedef neighbours<QUADS, COLUMNS, S> near;
    const unsigned lane_row = row + threadIdx.x % 32 / 4;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ROWS; i++)
#pragma unroll
        for (int j = 0; j < near::COUNT; j++)
#pragma unroll
            for (int part = 0; part < 2; part++) {
                const unsigned at = lane_row + i * 16 + part * 8;
                store_pack(tile + at * Tile::N + tile_column(at, column + near::column(j)),
                           near::of(sums + i * COLUMNS, part, j));
            }
}

/* ---- the whole tile ---- */

template <class Tile, class T, class A, class B, class Output>
static __device__ __forceinline__ void product_mma(A a, B b, const Output &y, const block_place &place,
                                                   const gpu_parts &parts) {
    enum { STEP = step_of<T, Tile>::SIZE, STAGE = (Tile::M + Tile::N) * STEP };
    typedef typename sum_of<T>::type S;
    T *const shared = dynamic_shared<T>(), *const end = shared + Tile::STAGES * STAGE;
    const unsigned warp = threadIdx.x / 32;
    const unsigned row = warp / Tile::WARPS_N * Tile::WARP_M, column = warp % Tile::WARPS_N * Tile::WARP_N;
    typedef fragment_reader<T, Tile, A::ALONG_K, true, true, Tile::M, Tile::WARP_M> reader_a;
    typedef fragment_reader<T, Tile, B::ALONG_K, false, B::ROUNDS, Tile::N, Tile::WARP_N> reader_b;
    const reader_a read_a(row);
    const reader_b read_b(column);
    int steps = (int)((place.to - place.from + STEP - 1) / STEP);
    S sums[Tile::BLOCKS][4] = {};
#pragma unroll
    for (int i = 0; i < Tile::STAGES - 1; i++) {
        T *const stage = shared + i * STAGE;
        if (i < steps) a.copy(stage), b.copy(stage + Tile::M * STEP);
        cp_async_commit();
    }
    for (T *stage = shared; steps > 0; steps--) {
        cp_async_wait<Tile::STAGES - 2>();
        __syncthreads();
        T *const next = (stage == shared ? end : stage) - STAGE; /* read by all threads: free */
        if (steps >= Tile::STAGES) a.copy(next), b.copy(next + Tile::M * STEP);
        cp_async_commit();
        multiply_stage<Tile>(sums, read_a, read_b, stage);
        stage = stage + STAGE == end ? shared : stage + STAGE;
    }
    cp_async_wait<0>();
    if (!join_parts<Tile::THREADS>(sums, parts, place.tile)) return;
    leave_sums<Tile, reader_b::QUADS>(sums, (S *)shared, row, column);
    store_tile<Tile, sizeof(T) == 4 ? 4 : PIECE>((const S *)shared, place, y);
}

#endif
