/* matmul.cu - products of matrices with any strides and broadcast batches. Read first: matmul.c; product.cuh for the
 * algorithm. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/matmul.h"
#include "kernels/cuda/product_few.cuh"
#include "kernels/cuda/product_float.cuh"
#include "kernels/cuda/product_mma.cuh"

/* ---- the matrices of a product of the batch ---- */

template <class T> struct matrices {
    const T *a, *b;
    product_output<T> y;
};

/* Returns the matrices of product number `at` of those that are joined. */
template <class T>
static __device__ __forceinline__ matrices<T> joined_matrices(const gpu_matmul &p, const gpu_matmul_operands &o,
                                                              int64_t at, bool packs) {
    const void *b = o.b, *c = o.c;
    void *y = o.y;
#pragma unroll
    for (int i = 1; i < GPU_JOINED; i++) /* indexing by a variable would put all pointers into local memory */
        if (at == i) b = o.more_b[i - 1], c = o.more_c[i - 1], y = o.more_y[i - 1];
    return {(const T *)o.a,
            (const T *)b,
            {(T *)y, (const T *)c, nullptr, p.m, p.n, p.n, p.c_row, p.c_column, p.alpha, p.beta, packs, p.epilogue}};
}

template <class T>
static __device__ __forceinline__ matrices<T> matrices_of(const gpu_matmul &p, const gpu_matmul_operands &o,
                                                          int64_t batch, bool packs) {
    if (o.joined) return joined_matrices<T>(p, o, batch, packs);
    const int64_t first = batch * p.m * p.n;
    matrices<T> found = {(const T *)o.a,
                         (const T *)o.b,
                         {(T *)o.y + first, (const T *)o.c, o.residual ? (const T *)o.residual + first : nullptr, p.m,
                          p.n, p.n, p.c_row, p.c_column, p.alpha, p.beta, packs, p.epilogue}};
#pragma unroll 1
    for (int i = p.batch_rank - 1; i >= 0; i--) {
        const int64_t rest = batch / p.batch_dims[i], at = batch - rest * p.batch_dims[i];
        batch = rest;
        found.a += at * p.a_batch[i];
        found.b += at * p.b_batch[i];
        if (o.c) found.y.c += at * p.c_batch[i];
    }
    return found;
}

/* ---- kernels: tiles of the output along x, parts of their sums along y, products of the batch along z ---- */

template <class Tile>
static __global__ void __launch_bounds__(Tile::THREADS, Tile::RESIDENT)
    matmul_float(gpu_matmul p, gpu_matmul_operands o, gpu_tiling tiling, gpu_parts parts, bool packs) {
    after_previous();
    for (int64_t batch = blockIdx.z; batch < p.batches; batch += gridDim.z) {
        const block_place at = place_of_block<Tile>(tiling, batch, p.k);
        const matrices<float> of = matrices_of<float>(p, o, batch, packs);
        const float_lines<Tile::M, Tile::THREADS> a(of.a, p.a_row, p.a_column, at.first_row, p.m, at.from, at.to);
        const float_lines<Tile::N, Tile::THREADS> b(of.b, p.b_column, p.b_row, at.first_column, p.n, at.from, at.to);
        product_floats<Tile>(a, b, of.y, at, parts);
        __syncthreads();
    }
}

/* Layouts of the operands on tensor cores, read by pieces of 16 bytes: A along k, and B along k or across it; or both
 * in any layout. */
struct b_along_k {
    template <class T, class Tile>
    static __device__ __forceinline__ void run(const gpu_matmul &p, const matrices<T> &of, const block_place &at,
                                               const gpu_parts &parts) {
        const lines_along_k<T, Tile, Tile::M> a(of.a, p.a_row, at.first_row, p.m, at.from, at.to);
        const lines_along_k<T, Tile, Tile::N> b(of.b, p.b_column, at.first_column, p.n, at.from, at.to);
        product_mma<Tile, T>(a, b, of.y, at, parts);
    }
};
struct b_across {
    template <class T, class Tile>
    static __device__ __forceinline__ void run(const gpu_matmul &p, const matrices<T> &of, const block_place &at,
                                               const gpu_parts &parts) {
        const lines_along_k<T, Tile, Tile::M> a(of.a, p.a_row, at.first_row, p.m, at.from, at.to);
        const lines_across<T, Tile, Tile::N> b(of.b, p.b_row, at.first_column, p.n, at.from, at.to);
        product_mma<Tile, T>(a, b, of.y, at, parts);
    }
};
struct anyhow {
    template <class T, class Tile>
    static __device__ __forceinline__ void run(const gpu_matmul &p, const matrices<T> &of, const block_place &at,
                                               const gpu_parts &parts) {
        const lines_anyhow<T, Tile, Tile::M> a(of.a, p.a_row, p.a_column, at.first_row, p.m, at.from, at.to);
        const lines_anyhow<T, Tile, Tile::N> b(of.b, p.b_column, p.b_row, at.first_column, p.n, at.from, at.to);
        product_mma<Tile, T>(a, b, of.y, at, parts);
    }
};

template <class T, class Tile, class Lines>
static __global__ void __launch_bounds__(Tile::THREADS, Tile::RESIDENT)
    matmul_mma(gpu_matmul p, gpu_matmul_operands o, gpu_tiling tiling, gpu_parts parts, bool packs) {
    after_previous();
    for (int64_t batch = blockIdx.z; Tile::FITS && batch < p.batches; batch += gridDim.z) {
        const block_place at = place_of_block<Tile>(tiling, batch, p.k);
        Lines::template run<T, Tile>(p, matrices_of<T>(p, o, batch, packs), at, parts);
        __syncthreads();
    }
}

template <class F>
static __global__ void __launch_bounds__(FEW_THREADS, F::RESIDENT)
    matmul_few(gpu_matmul p, gpu_matmul_operands o, gpu_tiling tiling, gpu_parts parts, bool packs) {
    after_previous();
    for (int64_t batch = blockIdx.z; batch < p.batches; batch += gridDim.z) {
        const block_place at = place_of_block<F>(tiling, batch, p.k);
        const matrices<typename F::T> of = matrices_of<typename F::T>(p, o, batch, packs);
        product_few<F>(of.a, of.b, p, of.y, at, parts);
        __syncthreads();
    }
}

/* ---- which kernel ---- */

typedef tile_kernel<gpu_matmul, gpu_matmul_operands> matmul_kernel;

template <class T, class Lines> static matmul_kernel choose_mma(gpu_tile tile) {
    return for_mma_tile(tile, [](auto of) { return kernel_of<decltype(of)>(matmul_mma<T, decltype(of), Lines>); });
}
template <class T> static matmul_kernel choose_anyhow(gpu_tile tile, T) {
    return for_narrow_tile(tile, [](auto of) { return kernel_of<decltype(of)>(matmul_mma<T, decltype(of), anyhow>); });
}

/* Floats that are not read by pieces are multiplied exactly. */
static matmul_kernel choose_anyhow(gpu_tile tile, float) {
    return for_float_tile(tile, [](auto of) { return kernel_of<decltype(of)>(matmul_float<decltype(of)>); });
}

/* The three layouts above. */
enum how_lines_lie { ALONG_K, ACROSS, ANYHOW, LINES_COUNT };

template <class T> static matmul_kernel choose_lines(how_lines_lie lines, gpu_tile tile) {
    switch (lines) {
    case ALONG_K: return choose_mma<T, b_along_k>(tile);
    case ACROSS: return choose_mma<T, b_across>(tile);
    default: return choose_anyhow(tile, T());
    }
}

template <class F> static matmul_kernel few_kernel() {
    return {matmul_few<F>, FEW_THREADS, 0};
}

template <class T, bool ALONG_K> static matmul_kernel choose_rows(int32_t rows) {
    switch (rows) {
    case 1: return few_kernel<few_rows<T, 1, ALONG_K>>();
    case 4: return few_kernel<few_rows<T, 4, ALONG_K>>();
    default: return few_kernel<few_rows<T, GPU_FEW_ROWS, ALONG_K>>();
    }
}

template <bool ALONG_K> static matmul_kernel choose_few(gpu_type type, int32_t rows) {
    if (type == GPU_FLOAT || type == GPU_TF32) return choose_rows<float, ALONG_K>(rows);
    return type == GPU_BFLOAT16 ? choose_rows<bfloat16, ALONG_K>(rows) : choose_rows<half, ALONG_K>(rows);
}

static matmul_kernel choose(gpu_type type, how_lines_lie lines, gpu_tile tile) {
    if (type == GPU_FLOAT) return choose_anyhow(tile, 0.0f);
    if (type == GPU_TF32) return choose_lines<float>(lines, tile);
    return type == GPU_BFLOAT16 ? choose_lines<bfloat16>(lines, tile) : choose_lines<half>(lines, tile);
}

/* ---- launchers ---- */

/* True if each line of this operand, whose elements are contiguous, begins at a piece in every product. */
static bool begins_at_pieces(const gpu_matmul *p, const void *data, int64_t line_stride, const int64_t *batch_strides,
                             int64_t piece) {
    bool begins = (uintptr_t)data % 16 == 0 && line_stride % piece == 0 && line_stride <= LONGEST_LINE;
    for (int i = 0; i < p->batch_rank; i++) begins = begins && (p->batch_dims[i] == 1 || batch_strides[i] % piece == 0);
    return begins;
}

/* How lines lie in pieces of so many elements. */
static how_lines_lie lines_of(const gpu_matmul *p, const gpu_matmul_operands *o, int64_t piece) {
    for (int i = 1; i < o->joined; i++)
        if ((uintptr_t)o->more_b[i - 1] % 16) return ANYHOW;
    if (p->a_column != 1 || p->k % piece || !begins_at_pieces(p, o->a, p->a_row, p->a_batch, piece)) return ANYHOW;
    if (p->b_row == 1 && begins_at_pieces(p, o->b, p->b_column, p->b_batch, piece)) return ALONG_K;
    if (p->b_column == 1 && p->n % piece == 0 && begins_at_pieces(p, o->b, p->b_row, p->b_batch, piece)) return ACROSS;
    return ANYHOW;
}

/* True if rows of the output may be written in packs of 16 bytes. */
static bool rows_pack(const gpu_matmul *p, const gpu_matmul_operands *o, int64_t size) {
    uintptr_t places = (uintptr_t)o->y | (uintptr_t)o->residual | (p->c_column ? (uintptr_t)o->c : 0);
    for (int i = 1; i < o->joined; i++) places |= (uintptr_t)o->more_y[i - 1] | (uintptr_t)o->more_c[i - 1];
    return places % 16 == 0 && p->n % size == 0 && (!o->c || p->c_row % size == 0);
}

/* True if the operands that the kernel for few rows reads begin at packs of 16 bytes. */
static bool operands_are_aligned(const gpu_matmul_operands *o) {
    uintptr_t places = (uintptr_t)o->a | (uintptr_t)o->b;
    for (int i = 1; i < o->joined; i++) places |= (uintptr_t)o->more_b[i - 1];
    return places % 16 == 0;
}

/* The tiling in place of one for few rows, whose scratch memory may not suffice for sums in parts. */
static gpu_tiling whole_tiles(const gpu_matmul *p) {
    gpu_tiling tiling = {GPU_TILE_32x128, 32, 128, gpu_pieces(p->n, 128), 0, 1, p->k, 0};
    tiling.tiles = tiling.across;
    return tiling;
}

cudaError_t gpu_run_matmul(gpu_stream stream, gpu_type type, const gpu_matmul *p, const gpu_matmul_operands *o,
                           const gpu_tiling *tiling, const gpu_parts *parts) {
    if (!tiling->tiles || !p->batches) return cudaSuccess;
    const bool few = tiling->tile == GPU_TILE_FEW_ROWS && operands_are_aligned(o);
    const int64_t piece = type == GPU_FLOAT || type == GPU_TF32 ? 4 : PIECE;
    const how_lines_lie lines = lines_of(p, o, piece);
    const gpu_tiling used = few                                 ? *tiling
                            : tiling->tile == GPU_TILE_FEW_ROWS ? whole_tiles(p)
                            : lines == ANYHOW                   ? narrow_tiling(tiling, p->n)
                                                                : *tiling;
    const matmul_kernel choice = !few            ? choose(type, lines, used.tile)
                                 : p->b_row == 1 ? choose_few<true>(type, used.rows)
                                                 : choose_few<false>(type, used.rows);
    const dim3 grid((unsigned)used.tiles, (unsigned)used.parts, grid_extent((size_t)p->batches));
    return launch_overlapping(choice.kernel, grid, choice.threads, choice.shared_bytes, stream, *p, *o, used, *parts,
                              rows_pack(p, o, piece));
}

cudaError_t gpu_load_matmul(gpu_type type) {
    cudaError_t code = cudaSuccess;
    for (int lines = 0; code == cudaSuccess && lines < LINES_COUNT; lines++)
        code = load_tiles([=](gpu_tile tile) { return choose(type, (how_lines_lie)lines, tile); });
    for (int32_t rows = 1; code == cudaSuccess && rows <= GPU_FEW_ROWS; rows += rows == 1 ? 3 : 4) {
        code = load_kernel(choose_few<true>(type, rows).kernel);
        if (code == cudaSuccess) code = load_kernel(choose_few<false>(type, rows).kernel);
    }
    return code;
}
