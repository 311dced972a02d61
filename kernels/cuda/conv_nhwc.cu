/* conv_nhwc.cu - convolutions of images whose channels are last. Read first: conv_nhwc.c, product_mma.cuh. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/grid.h"
#include "kernels/cuda/conv_window.cuh"
#include "kernels/cuda/product_mma.cuh"

/* ---- source: windows of pixels, in pieces of 16 bytes of channels. A thread copies one piece of each of PASSES
 * windows, with the same entry of the table ---- */

template <class T, class Tile, int LINES> struct pixel_windows {
    enum { ALONG_K = 1, LINES_A_PASS = Tile::THREADS / Tile::PIECES, PASSES = LINES / LINES_A_PASS };
    const T *first[PASSES]; /* element of the window; may be outside the image */
    unsigned seen[PASSES];  /* bit i: position i of the window is inside */
    const int32_t *next;    /* gpu_nhwc_offset of the step after this one */
    pack<int32_t, 2> offset;
    unsigned place;

    __device__ __forceinline__ pixel_windows(const gpu_nhwc_conv &p, const T *x, int64_t first_row, int64_t from) {
        const unsigned line = threadIdx.x / Tile::PIECES, piece = threadIdx.x % Tile::PIECES;
#pragma unroll
        for (int i = 0; i < PASSES; i++) {
            int64_t at;
            seen[i] = kept(window_of(p, min(first_row + line + i * LINES_A_PASS, p.rows - 1), &at));
            first[i] = x + at;
        }
        next = &p.offsets[from / piece_of<T>::SIZE + piece].elements;
        place = kept(place_along_k<T, Tile>(line, piece));
        offset = load_pack<2>(next);
    }
    __device__ __forceinline__ void copy(T *stage) {
#pragma unroll
        for (int i = 0; i < PASSES; i++)
            cp_async16_or_zero(stage + place + i * LINES_A_PASS * step_of<T, Tile>::SIZE, first[i] + offset.at[0],
                               seen[i] & (unsigned)offset.at[1]);
        next += Tile::PIECES * 2;
        offset = load_pack<2>(next);
    }
};

/* ---- kernels ---- */

/* Multiplies: tiles of the output along x, parts of their sums along y, groups along z. */
template <class T, class Tile>
static __global__ void __launch_bounds__(Tile::THREADS, Tile::RESIDENT)
    conv_nhwc(gpu_nhwc_conv p, gpu_conv_operands o, gpu_tiling tiling, gpu_parts parts, bool packs) {
    after_previous();
    for (int64_t group = blockIdx.z; Tile::FITS && group < p.group; group += gridDim.z) {
        const block_place at = place_of_block<Tile>(tiling, group, p.length);
        const T *bias = (const T *)o.bias, *residual = (const T *)o.residual;
        const int64_t filter = group * p.filters;
        const product_output<T> y = {(T *)o.y + filter,
                                     bias ? bias + filter : nullptr,
                                     residual ? residual + filter : nullptr,
                                     p.rows,
                                     p.filters,
                                     p.filters * p.group,
                                     0,
                                     1,
                                     1.0f,
                                     1.0f,
                                     packs,
                                     p.epilogue};
        const pixel_windows<T, Tile, Tile::M> a(p, (const T *)o.x + group * p.channels, at.first_row, at.from);
        const rounded_lines<T, Tile, Tile::N> b((const T *)o.w + filter * p.length, p.length, at.first_column,
                                                p.filters, at.from, at.to);
        product_mma<Tile, T>(a, b, y, at, parts);
        __syncthreads();
    }
}

/* Makes 8 channels of a pixel per thread. */
template <class T>
static __global__ void conv_depthwise_nhwc(gpu_nhwc_conv p, gpu_conv_operands o, unsigned pieces, size_t count) {
    after_previous();
    const int64_t channels = p.group;
    for (size_t i = grid_first(); i < count; i += grid_stride()) {
        const unsigned row = (unsigned)(i / pieces), channel = (unsigned)(i - (size_t)row * pieces) * PIECE;
        const unsigned image = row / (unsigned)p.pixels;
        int at[GPU_CONV_AXES];
        window_begin(p, row - image * (unsigned)p.pixels, at);
        const T *x = (const T *)o.x + (int64_t)image * p.in_pixels * channels + channel;
        const T *w = (const T *)o.w + channel, *bias = (const T *)o.bias, *residual = (const T *)o.residual;
        float sums[PIECE] = {};
        for (int d = 0; d < p.kernel[0]; d++)
            for (int h = 0; h < p.kernel[1]; h++)
                for (int v = 0; v < p.kernel[2]; v++, w += channels) {
                    const int at_d = at[0] + d * p.dilation[0], at_h = at[1] + h * p.dilation[1];
                    const int at_w = at[2] + v * p.dilation[2];
                    if ((unsigned)at_d >= (unsigned)p.in[0] || (unsigned)at_h >= (unsigned)p.in[1] ||
                        (unsigned)at_w >= (unsigned)p.in[2])
                        continue;
                    const int64_t pixel = ((int64_t)at_d * p.in[1] + at_h) * p.in[2] + at_w;
                    const pack<T, PIECE> a = load_pack<PIECE>(x + pixel * channels), b = load_pack<PIECE>(w);
#pragma unroll
                    for (int j = 0; j < PIECE; j++) sums[j] += (float)a.at[j] * (float)b.at[j];
                }
        const int64_t first = (int64_t)row * channels + channel;
        pack<T, PIECE> y;
#pragma unroll
        for (int j = 0; j < PIECE; j++) {
            if (bias) sums[j] += (float)bias[channel + j];
            if (residual) sums[j] += (float)residual[first + j];
        }
        activate(p.epilogue, sums);
#pragma unroll
        for (int j = 0; j < PIECE; j++) y.at[j] = (T)sums[j];
        store_pack<PIECE>((T *)o.y + first, y);
    }
}

/* ---- launchers ---- */

static auto choose(gpu_type type, gpu_tile tile) {
    return for_image(type, [=](auto zero) {
        return for_mma_tile(tile,
                            [](auto of) { return kernel_of<decltype(of)>(conv_nhwc<decltype(zero), decltype(of)>); });
    });
}

cudaError_t gpu_run_nhwc_conv(gpu_stream stream, gpu_type type, const gpu_nhwc_conv *p, const gpu_conv_operands *o,
                              const gpu_tiling *tiling, const gpu_parts *parts) {
    const auto choice = choose(type, tiling->tile);
    const dim3 grid((unsigned)tiling->tiles, (unsigned)tiling->parts, grid_extent((size_t)p->group));
    const bool packs = ((uintptr_t)o->y | (uintptr_t)o->residual | (uintptr_t)o->bias) % 16 == 0;
    return launch_overlapping(choice.kernel, grid, choice.threads, choice.shared_bytes, stream, *p, *o, *tiling, *parts,
                              packs);
}

cudaError_t gpu_load_nhwc_conv(gpu_type type) {
    return load_tiles([=](gpu_tile tile) { return choose(type, tile); });
}

cudaError_t gpu_run_nhwc_depthwise(gpu_stream stream, gpu_type type, const gpu_nhwc_conv *p,
                                   const gpu_conv_operands *o) {
    const unsigned pieces = (unsigned)(p->group / PIECE);
    const size_t count = (size_t)p->rows * pieces;
    if (!count) return cudaSuccess;
    return for_image(type, [=](auto zero) {
        return launch_overlapping(conv_depthwise_nhwc<decltype(zero)>, grid_blocks(count), GRID_THREADS, 0, stream, *p,
                                  *o, pieces, count);
    });
}

cudaError_t gpu_load_nhwc_depthwise(gpu_type type) {
    return for_image(type, [](auto zero) { return load_kernel(conv_depthwise_nhwc<decltype(zero)>); });
}
