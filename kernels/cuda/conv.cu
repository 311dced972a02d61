/* conv.cu - Conv and FusedConv over one to three spatial axes: a matrix product of weights (filters, length) by
 * windows (length, pixels). Read first: conv.c, product.cuh; depthwise convolutions are in depthwise.cu. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/conv_window.cuh"
#include "kernels/cuda/product_float.cuh"
#include "kernels/cuda/product_mma.cuh"

/* ---- source: windows of an image. A thread stays with one pixel, and copies PASSES elements of its window a step.
 * ---- */

template <class T, class Tile, int LINES, int STEP> struct windows {
    enum { ALONG_K = 1, ROUNDS = 1, K_A_PASS = Tile::THREADS / LINES, PASSES = STEP / K_A_PASS };
    const T *first;        /* element of the window; may be outside the image */
    const int32_t *next;   /* gpu_conv_offset of the thread's next element */
    int at[GPU_CONV_AXES]; /* where the window begins */
    const gpu_conv_product &p;
    unsigned line, k;

    __device__ __forceinline__ windows(const T *image, const gpu_conv_product &product, int64_t first_pixel,
                                       int64_t from)
        : p(product), line(threadIdx.x % LINES), k(threadIdx.x / LINES) {
        first = image + window_begin(p, (unsigned)min(first_pixel + line, p.pixels - 1), at);
        next = p.offsets ? &p.offsets[from + k].elements : nullptr; /* NULL: windows are empty */
    }
    /* Copies floats to where product_float.cuh expects them: in rows of lines. */
    __device__ __forceinline__ void copy(float *stage) {
#pragma unroll
        for (int i = 0; i < PASSES; i++, next += K_A_PASS * 4) {
            const window_offset offset = load_pack<4>(next);
            cp_async4_zero_fill(stage + (k + i * K_A_PASS) * (LINES + FLOAT_PAD) + line, first + offset.at[0],
                                is_inside(p, at, offset));
        }
    }
    /* Copies 16-bit elements, which cp.async cannot copy singly, into pieces along k. */
    template <class U> __device__ __forceinline__ void copy(U *stage) {
        for (int i = 0; i < PASSES; i++, next += K_A_PASS * 4) {
            const window_offset offset = load_pack<4>(next);
            const unsigned step = k + i * K_A_PASS;
            stage[place_along_k<U, Tile>(line, step / PIECE) + step % PIECE] =
                is_inside(p, at, offset) ? first[offset.at[0]] : (U)0.0f;
        }
    }
};

/* ---- kernels: tiles of the output along x, parts of their sums along y, images and groups along z ---- */

template <class T> struct conv_matrices {
    const T *w, *x;
    product_output<T> y;
};

template <class T>
static __device__ __forceinline__ conv_matrices<T> matrices_of(const gpu_conv_product &p, const gpu_conv_operands &o,
                                                               int64_t index, bool packs) {
    const int64_t image = index / p.group, group = index - image * p.group;
    const int64_t first = (image * p.group + group) * p.filters * p.pixels;
    const T *bias = (const T *)o.bias, *residual = (const T *)o.residual;
    return {(const T *)o.w + group * p.filters * p.length,
            (const T *)o.x + (image * p.group + group) * p.channels * p.in_pixels,
            {(T *)o.y + first, bias ? bias + group * p.filters : nullptr, residual ? residual + first : nullptr,
             p.filters, p.pixels, p.pixels, 1, 0, 1.0f, 1.0f, packs, p.epilogue}};
}

template <class Tile>
static __global__ void __launch_bounds__(Tile::THREADS, Tile::RESIDENT)
    conv_float(gpu_conv_product p, gpu_conv_operands o, gpu_tiling tiling, gpu_parts parts, bool packs) {
    for (int64_t index = blockIdx.z; index < p.batch * p.group; index += gridDim.z) {
        const block_place at = place_of_block<Tile>(tiling, index, p.length);
        const conv_matrices<float> of = matrices_of<float>(p, o, index, packs);
        const float_lines<Tile::M, Tile::THREADS> a(of.w, p.length, 1, at.first_row, p.filters, at.from, at.to);
        const windows<float, Tile, Tile::N, FLOAT_STEP> b(of.x, p, at.first_column, at.from);
        product_floats<Tile>(a, b, of.y, at, parts);
        __syncthreads();
    }
}

template <class T, class Tile>
static __global__ void __launch_bounds__(Tile::THREADS, 1)
    conv_half(gpu_conv_product p, gpu_conv_operands o, gpu_tiling tiling, gpu_parts parts, bool packs) {
    for (int64_t index = blockIdx.z; index < p.batch * p.group; index += gridDim.z) {
        const block_place at = place_of_block<Tile>(tiling, index, p.length);
        const conv_matrices<T> of = matrices_of<T>(p, o, index, packs);
        const lines_anyhow<T, Tile, Tile::M> a(of.w, p.length, 1, at.first_row, p.filters, at.from, at.to);
        const windows<T, Tile, Tile::N, step_of<T, Tile>::SIZE> b(of.x, p, at.first_column, at.from);
        product_mma<Tile, T>(a, b, of.y, at, parts);
        __syncthreads();
    }
}

/* ---- launchers ---- */

typedef tile_kernel<gpu_conv_product, gpu_conv_operands> conv_kernel;

template <class T> static conv_kernel choose_half(gpu_tile tile) {
    return for_narrow_tile(tile, [](auto of) { return kernel_of<decltype(of)>(conv_half<T, decltype(of)>); });
}

static conv_kernel choose(gpu_type type, gpu_tile tile) {
    if (type == GPU_FLOAT)
        return for_float_tile(tile, [](auto of) { return kernel_of<decltype(of)>(conv_float<decltype(of)>); });
    return type == GPU_BFLOAT16 ? choose_half<bfloat16>(tile) : choose_half<half>(tile);
}

cudaError_t gpu_run_conv(gpu_stream stream, gpu_type type, const gpu_conv_product *p, const gpu_conv_operands *o,
                         const gpu_tiling *tiling, const gpu_parts *parts) {
    const int64_t products = p->batch * p->group, pack = type == GPU_FLOAT ? 4 : 8;
    if (!tiling->tiles || !products) return cudaSuccess;
    const gpu_tiling used = narrow_tiling(tiling, p->pixels);
    const conv_kernel choice = choose(type, used.tile);
    const bool packs = ((uintptr_t)o->y | (uintptr_t)o->residual) % 16 == 0 && p->pixels % pack == 0;
    const dim3 grid((unsigned)used.tiles, (unsigned)used.parts, grid_extent((size_t)products));
    return launch(choice.kernel, grid, choice.threads, choice.shared_bytes, stream, *p, *o, used, *parts, packs);
}

cudaError_t gpu_load_conv(gpu_type type) {
    return load_tiles([=](gpu_tile tile) { return choose(type, tile); });
}
