/* matmul_nbits.cu - products with weights of 2, 4 or 8 bits. Read first: matmul_nbits.c.
 *
 * matmul_nbits_few is bound by reading the weights, each once. A block has some columns of B, and its warps take
 * COLUMNS of them at a time, with the lanes along k; A is in shared memory, a tile of k after the other. A number q
 * becomes a float without a conversion, of which a multiprocessor makes few: as the highest bits of a mantissa it
 * stands for 1 + q / 2^bits. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/matmul_nbits.h"
#include "kernels/cuda/row.h"

/* ---- weights ---- */

/* A column of B. */
template <class T> struct weights {
    const uint8_t *numbers;
    int64_t first, first_zero; /* its first block; the byte of its first packed zero point */

    __device__ __forceinline__ weights() {}
    __device__ __forceinline__ weights(const gpu_nbits &p, int64_t column)
        : numbers((const uint8_t *)p.b + column * ((p.blocks << p.block_shift) * p.bits / 8)), first(column * p.blocks),
          first_zero(column * ((p.blocks * p.bits + 7) / 8)) {}

    __device__ __forceinline__ float scale(const gpu_nbits &p, int block) const {
        return (float)((const T *)p.scales)[first + block];
    }
    __device__ __forceinline__ float zero(const gpu_nbits &p, int block) const {
        if (p.zeros) return (float)((const T *)p.zeros)[first + block];
        if (!p.packed_zeros) return (float)(1 << (p.bits - 1));
        const uint64_t bit = (uint64_t)block * (uint64_t)p.bits;
        return (float)(p.packed_zeros[first_zero + (int64_t)(bit / 8)] >> (bit % 8) & ((1 << p.bits) - 1));
    }
};

/* Number i of a word, as 1 + number / 2^BITS, in two instructions: the number is masked where it is, then multiplied to
 * the top of the mantissa, with 1.0f added as bits. What lies beyond comes from the upper half of the word. The
 * compiler, if it knew the bits of the mask, would shift, mask and join instead. */
template <int BITS> static __device__ __forceinline__ float fraction(uint32_t word, int i) {
    const int top = 23 - BITS, place = i * BITS <= top ? i * BITS : i * BITS - 16;
    const uint32_t masked = kept((place == i * BITS ? word : word >> 16) & ((1u << BITS) - 1) << place);
    return __uint_as_float(masked * (1u << (top - place)) + 0x3f800000);
}

/* WORDS words of numbers; of a single word any byte may be the first, unless `aligned`. */
template <int WORDS>
static __device__ __forceinline__ pack<uint32_t, WORDS> load_words(const uint8_t *from, bool aligned) {
    if (WORDS > 1 || aligned) return load_pack<WORDS>((const uint32_t *)from);
    pack<uint32_t, WORDS> read = {};
#pragma unroll
    for (int i = 0; i < 4; i++) read.at[0] |= (uint32_t)from[i] << (8 * i);
    return read;
}

/* ---- few rows ---- */

enum {
    FEW_WARPS = 8,
    FEW_THREADS = 32 * FEW_WARPS,
    FEW_STAGED = 8192,            /* elements of A in shared memory, 32 KiB */
    FEW_MAX_COLUMNS = FEW_THREADS /* of a block */
};

/* A chunk is what a lane loads of a column at once: WORDS words, of one block. ROWS: of A, those beyond m are zeros. */
template <int BITS_, int WORDS_, int ROWS_> struct few {
    enum {
        BITS = BITS_,
        WORDS = WORDS_,
        ROWS = ROWS_,
        COLUMNS = ROWS > 4 ? 2 : 4,
        RESIDENT = ROWS > 1 ? 1 : 2, /* blocks of a multiprocessor, for which registers suffice */
        WORD_PIECES = 8 / BITS,      /* pieces of 4 elements */
        PIECES = WORDS * WORD_PIECES,
        CHUNK = 4 * PIECES,
        CHUNK_SHIFT = CHUNK == 4    ? 2
                      : CHUNK == 8  ? 3
                      : CHUNK == 16 ? 4
                      : CHUNK == 32 ? 5
                                    : 6,
        TILE = FEW_STAGED / ROWS, /* elements of k at a time */
        TILE_PIECES = TILE / 4,
        SHARED_BYTES = (FEW_STAGED + ROWS * FEW_MAX_COLUMNS) * 4
    };

    /* Place of a piece of a row in shared memory. Lanes read the same piece of neighbouring chunks, which the exclusive
     * or moves to different banks. */
    static __device__ __forceinline__ int place(int chunk, int piece) {
        const int spread = PIECES < 8 ? 8 / PIECES : 1;
        return chunk * PIECES + (piece ^ (chunk / spread % PIECES));
    }
};

/* Copies elements first, first + 1, ... of the rows of A into shared memory, zeros behind the end. */
template <class T, class Few>
static __device__ __forceinline__ void stage(const gpu_nbits &p, int64_t first, int chunks, bool aligned,
                                             float4 *staged) {
    for (int i = threadIdx.x; i < Few::ROWS * Few::TILE_PIECES; i += FEW_THREADS) {
        const int row = i / Few::TILE_PIECES, piece = i % Few::TILE_PIECES, chunk = piece / Few::PIECES;
        const int64_t at = first + 4 * piece;
        const T *from = (const T *)p.a + row * p.k + at;
        if (chunk >= chunks) continue;
        float read[4] = {0, 0, 0, 0};
        if (row < p.m && at + 4 <= p.k) {
            const pack<T, 4> whole = load_neighbours<4>(from, aligned);
#pragma unroll
            for (int j = 0; j < 4; j++) read[j] = (float)whole.at[j];
        } else if (row < p.m) {
#pragma unroll
            for (int j = 0; j < 4; j++)
                if (at + j < p.k) read[j] = (float)from[j];
        }
        store_vector(staged + row * Few::TILE_PIECES + Few::place(chunk, piece % Few::PIECES),
                     make_float4(read[0], read[1], read[2], read[3]));
    }
}

/* Adds the products of piece i of a chunk; a: that piece of row 0 of A. */
template <class Few>
static __device__ __forceinline__ void
add_piece(const float4 *a, const pack<uint32_t, Few::WORDS> (&words)[Few::COLUMNS], int i,
          const float (&zeros)[Few::COLUMNS], float (&dots)[Few::COLUMNS][Few::ROWS]) {
    float b[Few::COLUMNS][4];
#pragma unroll
    for (int c = 0; c < Few::COLUMNS; c++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            b[c][j] = fraction<Few::BITS>(words[c].at[i / Few::WORD_PIECES], i % Few::WORD_PIECES * 4 + j) - zeros[c];
#pragma unroll
    for (int r = 0; r < Few::ROWS; r++) {
        const float4 row = load_vector(a + r * Few::TILE_PIECES);
#pragma unroll
        for (int c = 0; c < Few::COLUMNS; c++) {
            dots[c][r] += row.x * b[c][0];
            dots[c][r] += row.y * b[c][1];
            dots[c][r] += row.z * b[c][2];
            dots[c][r] += row.w * b[c][3];
        }
    }
}

/* Adds the products of chunk `at` of the tile, which is number `chunk` of the columns. */
template <class T, class Few>
static __device__ __forceinline__ void add_chunk(const gpu_nbits &p, const float4 *staged, int at, int chunk,
                                                 const weights<T> (&columns)[Few::COLUMNS], bool aligned,
                                                 float (&sums)[Few::COLUMNS][Few::ROWS]) {
    const int block = chunk >> (p.block_shift - Few::CHUNK_SHIFT);
    pack<uint32_t, Few::WORDS> words[Few::COLUMNS];
    float zeros[Few::COLUMNS], dots[Few::COLUMNS][Few::ROWS] = {};
#pragma unroll
    for (int c = 0; c < Few::COLUMNS; c++)
        words[c] = load_words<Few::WORDS>(columns[c].numbers + (int64_t)chunk * (4 * Few::WORDS), aligned);
#pragma unroll
    for (int c = 0; c < Few::COLUMNS; c++) zeros[c] = 1 + columns[c].zero(p, block) * (1.0f / (1 << Few::BITS));
#pragma unroll
    for (int i = 0; i < Few::PIECES; i++) add_piece<Few>(staged + Few::place(at, i), words, i, zeros, dots);
#pragma unroll
    for (int c = 0; c < Few::COLUMNS; c++) {
        const float scale = columns[c].scale(p, block) * (1 << Few::BITS);
#pragma unroll
        for (int r = 0; r < Few::ROWS; r++) sums[c][r] += scale * dots[c][r];
    }
}

/* Adds, to the totals of a warp's columns from `first_column` on, their products with the staged tile, whose first
 * chunk is `first`. Columns behind the last are computed as the last is, and not written. */
template <class T, class Few>
static __device__ __forceinline__ void add_tile(const gpu_nbits &p, const float4 *staged, int first, int chunks,
                                                int64_t first_column, bool aligned, float *totals) {
    const int lane = threadIdx.x % 32;
    weights<T> columns[Few::COLUMNS];
    float sums[Few::COLUMNS][Few::ROWS] = {};
#pragma unroll
    for (int c = 0; c < Few::COLUMNS; c++)
        columns[c] = weights<T>(p, first_column + c < p.n ? first_column + c : p.n - 1);
    for (int at = lane; at < chunks; at += 32) add_chunk<T, Few>(p, staged, at, first + at, columns, aligned, sums);
#pragma unroll
    for (int c = 0; c < Few::COLUMNS; c++)
#pragma unroll
        for (int r = 0; r < Few::ROWS; r++) {
            float sum = sums[c][r];
            for (int offset = 16; offset; offset >>= 1) sum += __shfl_xor_sync(~0u, sum, offset);
            float *total = totals + r * FEW_MAX_COLUMNS + c;
            if (lane == 0) *total = first ? *total + sum : sum;
        }
}

/* Blocks have `columns` columns, a multiple of what their warps take at a time. */
template <class T, class Few>
static __global__ void __launch_bounds__(FEW_THREADS, resident_blocks(Few::RESIDENT, Few::SHARED_BYTES))
    matmul_nbits_few(const gpu_nbits p, int columns, bool a_aligned, bool b_aligned) {
    after_previous();
    __shared__ float4 staged[FEW_STAGED / 4];
    __shared__ float totals[Few::ROWS * FEW_MAX_COLUMNS];
    const int64_t first_column = (int64_t)blockIdx.x * columns, left = p.n - first_column;
    const int count = left < columns ? (int)left : columns;
    for (int64_t first = 0; first < p.k; first += Few::TILE) {
        const int64_t rest = (p.k - first + Few::CHUNK - 1) / Few::CHUNK, whole = Few::TILE / Few::CHUNK;
        const int chunks = (int)(rest < whole ? rest : whole);
        __syncthreads(); /* the previous tile has been read */
        stage<T, Few>(p, first, chunks, a_aligned, staged);
        __syncthreads();
        for (int c = threadIdx.x / 32 * Few::COLUMNS; c < count; c += FEW_WARPS * Few::COLUMNS)
            add_tile<T, Few>(p, staged, (int)(first / Few::CHUNK), chunks, first_column + c, b_aligned, totals + c);
    }
    __syncthreads();
    if ((int)threadIdx.x >= count) return;
    const int64_t column = first_column + threadIdx.x;
    const float bias = p.bias ? (float)((const T *)p.bias)[column] : 0;
#pragma unroll
    for (int r = 0; r < Few::ROWS; r++)
        if (r < p.m) ((T *)p.y)[r * p.n + column] = (T)(totals[r * FEW_MAX_COLUMNS + threadIdx.x] + bias);
}

/* ---- all weights ---- */

/* Writes rows of k elements, one for each column of B. */
template <class T> static __global__ void dequantize_nbits(const gpu_nbits p, T *y, bool aligned) {
    enum { SIZE = 16 / sizeof(T) };
    const int64_t packs = (p.k + SIZE - 1) / SIZE;
    const int bytes = SIZE * p.bits / 8;
    for (int64_t column = blockIdx.y; column < p.n; column += gridDim.y) {
        const weights<T> from(p, column);
        for (int64_t i = (int64_t)grid_first(); i < packs; i += (int64_t)grid_stride()) {
            const int64_t first = i * SIZE;
            const int block = (int)(first >> p.block_shift);
            const float scale = from.scale(p, block), zero = from.zero(p, block);
            uint64_t numbers = 0;
            pack<T, SIZE> made;
            for (int j = 0; j < bytes; j++) numbers |= (uint64_t)from.numbers[i * bytes + j] << (8 * j);
#pragma unroll
            for (int j = 0; j < SIZE; j++) {
                made.at[j] = (T)(((float)(uint32_t)(numbers & ((1u << p.bits) - 1)) - zero) * scale);
                numbers >>= p.bits;
            }
            T *to = y + column * p.k + first;
            if (aligned) {
                store_pack<SIZE>(to, made);
                continue;
            }
#pragma unroll
            for (int j = 0; j < SIZE; j++)
                if (first + j < p.k) to[j] = made.at[j];
        }
    }
}

/* ---- which kernel ---- */

/* Calls use(few()) for a chunk of 16 bytes if `wide`, and the least ROWS for m rows; narrow chunks are rare. */
template <int BITS, class Use> static cudaError_t for_rows(bool wide, int64_t m, Use use) {
    if (!wide) return use(few<BITS, 1, 8>());
    if (m == 1) return use(few<BITS, 4, 1>());
    return m <= 4 ? use(few<BITS, 4, 4>()) : use(few<BITS, 4, 8>());
}
template <class Use> static cudaError_t for_few(int bits, bool wide, int64_t m, Use use) {
    switch (bits) {
    case 2: return for_rows<2>(wide, m, use);
    case 4: return for_rows<4>(wide, m, use);
    default: return for_rows<8>(wide, m, use);
    }
}
/* Calls use(T()) for the types of A. */
template <class Use> static cudaError_t for_activation(gpu_type type, Use use) {
    switch (type) {
    case GPU_HALF: return use(half());
    case GPU_BFLOAT16: return use(bfloat16());
    default: return use(float());
    }
}

/* ---- launchers ---- */

/* Columns of a block: a multiple of `step`, so many that there are no more blocks than are resident at a time, as each
 * reads all of A. */
static int columns_of_block(int64_t n, int step, int64_t resident) {
    const int64_t steps = (n + step - 1) / step, columns = (steps + resident - 1) / resident * step;
    return columns < FEW_MAX_COLUMNS ? (int)columns : FEW_MAX_COLUMNS;
}

cudaError_t gpu_run_nbits_few(gpu_stream stream, gpu_type type, const gpu_nbits *p, int32_t multiprocessors) {
    if (!p->m || !p->n) return cudaSuccess;
    const int block_bits = p->block_shift > 16 ? 1 << 16 : p->bits << p->block_shift;
    const bool wide = block_bits % 128 == 0 && (uintptr_t)p->b % 16 == 0;
    return for_activation(type, [=](auto zero) {
        typedef decltype(zero) T;
        return for_few(p->bits, wide, p->m, [=](auto of) {
            typedef decltype(of) Few;
            const int columns =
                columns_of_block(p->n, FEW_WARPS * Few::COLUMNS, (int64_t)multiprocessors * Few::RESIDENT);
            const bool a_aligned = p->k % 4 == 0 && pack_aligned<4>((const T *)p->a);
            return launch_overlapping(matmul_nbits_few<T, Few>, (unsigned)((p->n + columns - 1) / columns), FEW_THREADS,
                                      0, stream, *p, columns, a_aligned, (uintptr_t)p->b % 4 == 0);
        });
    });
}

cudaError_t gpu_run_nbits_dequantize(gpu_stream stream, gpu_type type, const gpu_nbits *p, void *weights) {
    return for_activation(type, [=](auto zero) {
        typedef decltype(zero) T;
        enum { SIZE = 16 / sizeof(T) };
        const dim3 grid(grid_blocks((size_t)(p->k + SIZE - 1) / SIZE), grid_extent((size_t)p->n));
        return launch(dequantize_nbits<T>, grid, GRID_THREADS, 0, stream, *p, (T *)weights, p->k % SIZE == 0);
    });
}

cudaError_t gpu_load_nbits(gpu_type type, int32_t bits) {
    return for_activation(type, [=](auto zero) {
        typedef decltype(zero) T;
        const auto load = [](auto of) { return load_kernel(matmul_nbits_few<T, decltype(of)>); };
        cudaError_t code = load_kernel(dequantize_nbits<T>);
        if (code == cudaSuccess) code = for_few(bits, false, 1, load);
        for (int64_t m = 1; code == cudaSuccess && m <= GPU_NBITS_FEW; m *= 2) code = for_few(bits, true, m, load);
        return code;
    });
}
