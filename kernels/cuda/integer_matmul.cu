/* integer_matmul.cu - products of 8-bit matrices on tensor cores, with exact sums. Read first: integer.h;
 * product_mma.cuh for the algorithm. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/integer_matmul.h"
#include "kernels/cuda/integer_output.cuh"
#include "kernels/cuda/product_mma.cuh"

/* ---- the product: tiles of the output along x, parts of their sums along y, products of the batch along z ---- */

template <class T> struct byte_matrices {
    const T *a, *b;
    integer_output y;
};

template <class T>
static __device__ __forceinline__ byte_matrices<T> matrices_of(const gpu_integer_matmul &p, const gpu_byte_operands &o,
                                                               int64_t batch, bool packs) {
    int64_t rest = batch, a_at = 0, b_at = 0;
#pragma unroll 1
    for (int i = p.batch_rank - 1; i >= 0; i--) {
        const int64_t above = rest / p.batch_dims[i], at = rest - above * p.batch_dims[i];
        rest = above;
        a_at += at * p.a_batch[i];
        b_at += at * p.b_batch[i];
    }
    const char *b = (const char *)o.packed + b_at * p.matrix;
    byte_matrices<T> found = {
        (const T *)o.a + a_at,
        (const T *)b,
        {p.sums, o.y, batch * p.m * p.n, p.k ? (const int32_t *)(b + p.n * p.line) : nullptr, 0, p.m, p.n, p.n, packs}};
    if (p.sums.row_sums) found.y.p.row_sums += p.k ? a_at / p.k : 0;
    return found;
}

/* A by pieces of 16 bytes, or in any alignment. */
struct a_in_pieces {
    template <class T, class Tile>
    static __device__ __forceinline__ auto lines(const gpu_integer_matmul &p, const T *a, const block_place &at) {
        return lines_along_k<T, Tile, Tile::M>(a, p.k, at.first_row, p.m, at.from, at.to);
    }
};
struct a_anyhow {
    template <class T, class Tile>
    static __device__ __forceinline__ auto lines(const gpu_integer_matmul &p, const T *a, const block_place &at) {
        return lines_anyhow<T, Tile, Tile::M>(a, p.k, 1, at.first_row, p.m, at.from, at.to);
    }
};

template <class T, class Tile, class Lines>
static __global__ void __launch_bounds__(Tile::THREADS, Tile::RESIDENT)
    integer_matmul(gpu_integer_matmul p, gpu_byte_operands o, gpu_tiling tiling, gpu_parts parts, bool packs) {
    after_previous();
    for (int64_t batch = blockIdx.z; Tile::FITS && batch < p.batches; batch += gridDim.z) {
        const block_place at = place_of_block<Tile>(tiling, batch, p.k);
        const byte_matrices<T> of = matrices_of<T>(p, o, batch, packs);
        const lines_along_k<T, Tile, Tile::N> b(of.b, p.line, at.first_column, p.n, at.from, at.to);
        product_mma<Tile, T>(Lines::template lines<T, Tile>(p, of.a, at), b, of.y, at, parts);
        __syncthreads();
    }
}

/* ---- packing ---- */

enum { PACK_COLUMNS = 32, PACK_STEP = 32, PACK_WORDS = PACK_STEP / 4, FLIP = 0x80 };

/* Packs 32 columns of a matrix a block: threads read along rows, 32 rows at a time, and write 4 bytes of a line. */
static __global__ void pack_bytes(const uint8_t *b, bool by_columns, bool is_signed, int64_t matrices, int64_t n,
                                  int64_t k, int64_t line, int64_t bytes, char *packed) {
    __shared__ uint8_t stage[PACK_STEP][PACK_COLUMNS + 4];
    __shared__ int32_t sums[PACK_WORDS][PACK_COLUMNS];
    const int column = (int)threadIdx.x % PACK_COLUMNS, word = (int)threadIdx.x / PACK_COLUMNS;
    const int64_t first = (int64_t)blockIdx.x * PACK_COLUMNS;
    for (int64_t matrix = blockIdx.y; matrix < matrices; matrix += gridDim.y) {
        const uint8_t *from = b + matrix * n * k;
        char *to = packed + matrix * bytes;
        int32_t sum = 0;
        for (int64_t at = 0; at < line; at += PACK_STEP) {
            __syncthreads();
            for (int i = word; i < PACK_STEP; i += PACK_WORDS) {
                const bool inside = at + i < k && first + column < n;
                const uint8_t byte =
                    inside ? from[by_columns ? (first + column) * k + at + i : (at + i) * n + first + column]
                           : (uint8_t)0;
                stage[i][column] = inside && !is_signed ? (uint8_t)(byte ^ FLIP) : byte;
            }
            __syncthreads();
            uint32_t four = 0;
            for (int i = 0; i < 4; i++) four |= (uint32_t)stage[word * 4 + i][column] << i * 8;
            sum = __dp4a((int)four, 0x01010101, sum);
            if (first + column < n && at + word * 4 < line)
                *(uint32_t *)(to + (first + column) * line + at + word * 4) = four;
        }
        sums[word][column] = sum;
        __syncthreads();
        for (int i = 1; i < PACK_WORDS && word == 0; i++) sum += sums[i][column];
        if (word == 0 && first + column < n) ((int32_t *)(to + n * line))[first + column] = sum;
        __syncthreads();
    }
}

/* A warp sums a row. */
static __global__ void sum_byte_rows(const void *a, bool is_signed, int64_t rows, int64_t k, int32_t *sums) {
    const int lane = (int)threadIdx.x % 32;
    for (int64_t row = (int64_t)grid_first() / 32; row < rows; row += (int64_t)grid_stride() / 32) {
        int32_t sum = 0;
        for (int64_t i = lane; i < k; i += 32) sum += byte_at(a, row * k + i, is_signed);
        for (int offset = 16; offset; offset >>= 1) sum += __shfl_xor_sync(~0u, sum, offset);
        if (lane == 0) sums[row] = sum;
    }
}

/* ---- launchers ---- */

typedef tile_kernel<gpu_integer_matmul, gpu_byte_operands> integer_kernel;

template <class T> static integer_kernel choose(gpu_tile tile) {
    return for_mma_tile(tile,
                        [](auto of) { return kernel_of<decltype(of)>(integer_matmul<T, decltype(of), a_in_pieces>); });
}
template <class T> static integer_kernel anyhow() {
    return kernel_of<mma_64x64>(integer_matmul<T, mma_64x64, a_anyhow>);
}

/* True if each row of A begins at a piece of 16 bytes. */
static bool begins_at_pieces(const gpu_integer_matmul *p, const void *a) {
    bool begins = (uintptr_t)a % 16 == 0 && p->k % 16 == 0 && p->k <= LONGEST_LINE;
    for (int i = 0; i < p->batch_rank; i++) begins = begins && p->a_batch[i] % 16 == 0;
    return begins;
}

/* Undivided tiles of 64x64. */
static gpu_tiling small_tiles(const gpu_integer_matmul *p) {
    gpu_tiling tiling = {GPU_TILE_64x64, 64, 64, gpu_pieces(p->n, 64), 0, 1, p->k, 0};
    tiling.tiles = tiling.across * gpu_pieces(p->m, 64);
    return tiling;
}

cudaError_t gpu_run_integer_matmul(gpu_stream stream, const gpu_integer_matmul *p, const gpu_byte_operands *o,
                                   const gpu_tiling *tiling, const gpu_parts *parts) {
    if (!p->m || !p->n || !p->batches) return cudaSuccess;
    const bool pieces = begins_at_pieces(p, o->a), is_signed = p->sums.a_signed;
    const gpu_tiling used = pieces ? *tiling : small_tiles(p);
    const integer_kernel choice = !pieces     ? is_signed ? anyhow<int8_t>() : anyhow<uint8_t>()
                                      : is_signed ? choose<int8_t>(used.tile)
                                              : choose<uint8_t>(used.tile);
    const dim3 grid((unsigned)used.tiles, (unsigned)used.parts, grid_extent((size_t)p->batches));
    return launch_overlapping(choice.kernel, grid, choice.threads, choice.shared_bytes, stream, *p, *o, used, *parts,
                              (uintptr_t)o->y % 16 == 0 && p->n % PIECE == 0);
}

cudaError_t gpu_pack_bytes(gpu_stream stream, const void *b, bool by_columns, bool is_signed, int64_t matrices,
                           int64_t n, int64_t k, void *packed) {
    if (!n || !matrices) return cudaSuccess;
    const dim3 grid((unsigned)gpu_pieces(n, PACK_COLUMNS), grid_extent((size_t)matrices));
    return launch(pack_bytes, grid, PACK_COLUMNS * PACK_WORDS, 0, stream, (const uint8_t *)b, by_columns, is_signed,
                  matrices, n, k, gpu_byte_line(k), gpu_byte_matrix(n, k), (char *)packed);
}

cudaError_t gpu_sum_byte_rows(gpu_stream stream, const void *a, bool is_signed, int64_t rows, int64_t k,
                              int32_t *sums) {
    if (!rows) return cudaSuccess;
    return launch(sum_byte_rows, grid_blocks((size_t)rows * 32), GRID_THREADS, 0, stream, a, is_signed, rows, k, sums);
}

template <class T> static cudaError_t load() {
    const cudaError_t code = load_tiles([](gpu_tile tile) { return choose<T>(tile); });
    return code == cudaSuccess ? allow_dynamic_shared(anyhow<T>().kernel, anyhow<T>().shared_bytes) : code;
}

cudaError_t gpu_load_integer_matmul(bool a_signed) {
    cudaError_t code = a_signed ? load<int8_t>() : load<uint8_t>();
    if (code == cudaSuccess) code = load_kernel(pack_bytes);
    return code == cudaSuccess ? load_kernel(sum_byte_rows) : code;
}
