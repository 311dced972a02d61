/* conv_bytes.cu - convolutions of 8-bit images: products of windows by filters on tensor cores, depthwise, and any
 * others element by element; all with exact sums. Read first: conv_bytes.c; product_mma.cuh for the algorithm. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/conv_bytes.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/integer_output.cuh"
#include "kernels/cuda/conv_window.cuh"
#include "kernels/cuda/product_mma.cuh"

/* ---- windows of images with channels last, in pieces of 16 bytes that are copied in parts of COPY: 8 where a pixel's
 * channels are no whole pieces. What lies outside of the image is copied from `padding`: the zero point. ---- */

template <class T, class Tile, int COPY> struct byte_windows {
    enum { ALONG_K = 1, ROUNDS = 0, LINES_A_PASS = Tile::THREADS / Tile::PIECES, PASSES = Tile::M / LINES_A_PASS };
    enum { PARTS = 16 / COPY };
    const T *first[PASSES]; /* element of the window; may be outside the image */
    unsigned seen[PASSES];  /* bit i: position i of the window is inside */
    const int32_t *next;    /* gpu_nhwc_offset of the step after this one */
    const T *padding;
    pack<int32_t, 2 * PARTS> offset;
    unsigned place;

    __device__ __forceinline__ byte_windows(const gpu_bytes_conv &p, const T *x, int64_t first_row, int64_t from)
        : padding((const T *)p.padding) {
        const unsigned line = threadIdx.x / Tile::PIECES, piece = threadIdx.x % Tile::PIECES;
#pragma unroll
        for (int i = 0; i < PASSES; i++) {
            int64_t at;
            seen[i] = kept(window_of(p.images, min(first_row + line + i * LINES_A_PASS, p.images.rows - 1), &at));
            first[i] = x + at;
        }
        next = &p.images.offsets[from / COPY + piece * PARTS].elements;
        place = kept(place_along_k<T, Tile>(line, piece));
        offset = load_pack<2 * PARTS>(next);
    }
    __device__ __forceinline__ void copy(T *stage) {
#pragma unroll
        for (int i = 0; i < PASSES; i++)
#pragma unroll
            for (int part = 0; part < PARTS; part++) {
                const bool inside = seen[i] & (unsigned)offset.at[2 * part + 1];
                T *const to = stage + place + i * LINES_A_PASS * step_of<T, Tile>::SIZE + part * COPY;
                const T *const from = inside ? first[i] + offset.at[2 * part] : padding;
                if constexpr (COPY == 16)
                    cp_async16(to, from);
                else
                    cp_async8(to, from);
            }
        next += Tile::PIECES * 2 * PARTS;
        offset = load_pack<2 * PARTS>(next);
    }
};

/* ---- windows of planes: a thread stays with one pixel, and copies 4 neighbouring elements at a time ---- */

template <class T, class Tile> struct plane_windows {
    enum { ALONG_K = 1, ROUNDS = 0, LINES = Tile::M, FOURS = Tile::THREADS / LINES };
    enum { PASSES = step_of<T, Tile>::SIZE / 4 / FOURS };
    const T *first;
    const int32_t *next; /* gpu_conv_offset of the thread's next element */
    int at[GPU_CONV_AXES];
    const gpu_nhwc_conv &p;
    unsigned line, four;
    uint8_t fill;

    __device__ __forceinline__ plane_windows(const gpu_bytes_conv &conv, const T *x, int64_t first_row, int64_t from)
        : p(conv.images), line(threadIdx.x % LINES), four(threadIdx.x / LINES), fill(*(const uint8_t *)conv.padding) {
        const unsigned row = (unsigned)min(first_row + line, p.rows - 1), image = row / (unsigned)p.pixels;
        first = x + (int64_t)image * p.channels * p.in_pixels + window_begin(p, row - image * (unsigned)p.pixels, at);
        next = &conv.planes[from + four * 4].elements;
    }
    __device__ __forceinline__ uint8_t element(const window_offset &offset) const {
        return is_inside(p, at, offset) ? (uint8_t)first[offset.at[0]] : fill;
    }
    __device__ __forceinline__ void copy(T *stage) {
        for (int i = 0; i < PASSES; i++, next += FOURS * 16) {
            uint32_t bytes = 0;
#pragma unroll
            for (int j = 0; j < 4; j++) bytes |= (uint32_t)element(load_pack<4>(next + j * 4)) << j * 8;
            const unsigned step = (four + i * FOURS) * 4;
            *(uint32_t *)(stage + place_along_k<T, Tile>(line, step / 16) + step % 16) = bytes;
        }
    }
};

/* ---- the product: tiles of the output along x, parts of their sums along y, groups along z ---- */

template <int COPY> struct channels_last {
    template <class T, class Tile>
    static __device__ __forceinline__ auto of(const gpu_bytes_conv &p, const T *x, const block_place &at) {
        return byte_windows<T, Tile, COPY>(p, x, at.first_row, at.from);
    }
};
struct planes {
    template <class T, class Tile>
    static __device__ __forceinline__ auto of(const gpu_bytes_conv &p, const T *x, const block_place &at) {
        return plane_windows<T, Tile>(p, x, at.first_row, at.from);
    }
};

template <class T, class Tile, class Windows>
static __global__ void __launch_bounds__(Tile::THREADS, Tile::RESIDENT)
    conv_bytes(gpu_bytes_conv p, gpu_byte_operands o, gpu_tiling tiling, gpu_parts parts, bool packs) {
    after_previous();
    const gpu_nhwc_conv &i = p.images;
    for (int64_t group = blockIdx.z; Tile::FITS && group < i.group; group += gridDim.z) {
        const block_place at = place_of_block<Tile>(tiling, group, i.length);
        const int64_t filter = group * i.filters, filters = i.filters * i.group;
        const char *packed = (const char *)o.packed;
        const integer_output out = {p.sums, o.y,    filter,    (const int32_t *)(packed + filters * i.length),
                                    filter, i.rows, i.filters, filters,
                                    packs};
        const lines_along_k<T, Tile, Tile::N> b((const T *)packed + filter * i.length, i.length, at.first_column,
                                                i.filters, at.from, at.to);
        product_mma<Tile, T>(Windows::template of<T, Tile>(p, (const T *)o.a + group * i.channels, at), b, out, at,
                             parts);
        __syncthreads();
    }
}

/* ---- depthwise: 8 channels of a pixel per thread ---- */

template <class T>
static __global__ void conv_bytes_depthwise(gpu_bytes_conv p, const T *x, const int16_t *weights, uint8_t *y,
                                            unsigned pieces, size_t count) {
    after_previous();
    const gpu_nhwc_conv &c = p.images;
    const int64_t channels = c.group;
    const int32_t zero = p.sums.a_zero.at ? (int32_t) * (const T *)p.sums.a_zero.at : 0;
    for (size_t i = grid_first(); i < count; i += grid_stride()) {
        const unsigned row = (unsigned)(i / pieces), channel = (unsigned)(i - (size_t)row * pieces) * PIECE;
        int64_t first;
        const unsigned seen = window_of(c, row, &first);
        const T *from = x + first + channel;
        const int16_t *w = weights + channel;
        int32_t sums[PIECE] = {};
        unsigned position = 0;
        for (int d = 0; d < c.kernel[0]; d++)
            for (int h = 0; h < c.kernel[1]; h++)
                for (int v = 0; v < c.kernel[2]; v++, position++, w += channels) {
                    if (!(seen >> position & 1)) continue;
                    const int64_t pixel =
                        ((int64_t)d * c.dilation[0] * c.in[1] + h * c.dilation[1]) * c.in[2] + v * c.dilation[2];
                    const pack<T, PIECE> a = load_pack<PIECE>(from + pixel * channels);
                    const pack<int16_t, PIECE> b = load_pack<PIECE>(w);
#pragma unroll
                    for (int j = 0; j < PIECE; j++) sums[j] += ((int32_t)a.at[j] - zero) * b.at[j];
                }
        const integer_columns<PIECE> columns(p.sums, y, channel, channels, nullptr, channel, PIECE,
                                             (uintptr_t)y % PIECE == 0);
        columns.store(row, sums);
    }
}

/* ---- any: a thread makes an element of Y ---- */

static __global__ void conv_bytes_direct(gpu_bytes_conv p, const void *x, const void *w, void *y, size_t count) {
    after_previous();
    const gpu_nhwc_conv &c = p.images;
    const int64_t positions = (int64_t)c.kernel[0] * c.kernel[1] * c.kernel[2], filters = c.filters * c.group;
    const int32_t x_zero = p.sums.a_zero.at ? byte_at(p.sums.a_zero.at, 0, p.sums.a_signed) : 0;
    for (size_t i = grid_first(); i < count; i += grid_stride()) {
        const int64_t inner = p.last ? filters : c.pixels, outer = (int64_t)i / inner,
                      within = (int64_t)i - outer * inner;
        const int64_t image = outer / (p.last ? c.pixels : filters),
                      of_image = outer - image * (p.last ? c.pixels : filters);
        const int64_t filter = p.last ? within : of_image;
        int at[GPU_CONV_AXES];
        window_begin(c, (unsigned)(p.last ? of_image : within), at);
        const int32_t w_zero =
            p.sums.b_zero.at ? byte_at(p.sums.b_zero.at, filter * p.sums.b_zero.step, p.sums.b_signed) : 0;
        uint32_t sum = 0; /* wraps, as int32 */
        for (int64_t channel = 0; channel < c.channels; channel++) {
            const int64_t of_all = filter / c.filters * c.channels + channel, channels = c.group * c.channels;
            const int64_t from = image * channels * c.in_pixels + of_all * (p.last ? 1 : c.in_pixels);
            int64_t k = (filter * c.channels + channel) * positions;
            for (int d = 0; d < c.kernel[0]; d++)
                for (int h = 0; h < c.kernel[1]; h++)
                    for (int v = 0; v < c.kernel[2]; v++, k++) {
                        const int at_d = at[0] + d * c.dilation[0], at_h = at[1] + h * c.dilation[1];
                        const int at_v = at[2] + v * c.dilation[2];
                        if ((unsigned)at_d >= (unsigned)c.in[0] || (unsigned)at_h >= (unsigned)c.in[1] ||
                            (unsigned)at_v >= (unsigned)c.in[2])
                            continue;
                        const int64_t pixel = ((int64_t)at_d * c.in[1] + at_h) * c.in[2] + at_v;
                        sum +=
                            (uint32_t)((byte_at(x, from + pixel * (p.last ? channels : 1), p.sums.a_signed) - x_zero) *
                                       (byte_at(w, k, p.sums.b_signed) - w_zero));
                    }
        }
        const int32_t sums[1] = {(int32_t)sum};
        const integer_columns<1> columns(p.sums, y, (int64_t)i, 0, nullptr, filter, 1, false);
        columns.store(0, sums);
    }
}

/* ---- launchers ---- */

typedef tile_kernel<gpu_bytes_conv, gpu_byte_operands> bytes_kernel;

template <class T, class Windows> static bytes_kernel choose_tile(gpu_tile tile) {
    return for_mma_tile(tile, [](auto of) { return kernel_of<decltype(of)>(conv_bytes<T, decltype(of), Windows>); });
}
/* Few channels make few columns of short sums: one tile serves. */
template <class T> static bytes_kernel choose(gpu_tile tile, bool in_planes, bool halves) {
    if (in_planes) return kernel_of<mma_128x64>(conv_bytes<T, mma_128x64, planes>);
    return halves ? choose_tile<T, channels_last<8>>(tile) : choose_tile<T, channels_last<16>>(tile);
}
static bytes_kernel choose_type(bool is_signed, gpu_tile tile, bool in_planes, bool halves) {
    return is_signed ? choose<int8_t>(tile, in_planes, halves) : choose<uint8_t>(tile, in_planes, halves);
}

static gpu_tiling tiles_of_planes(const gpu_nhwc_conv *p) {
    gpu_tiling tiling = {GPU_TILE_128x64, 128, 64, gpu_pieces(p->filters, 64), 0, 1, p->length, 0};
    tiling.tiles = tiling.across * gpu_pieces(p->rows, 128);
    return tiling;
}

cudaError_t gpu_run_bytes_conv(gpu_stream stream, const gpu_bytes_conv *p, const gpu_byte_operands *o,
                               const gpu_tiling *tiling, const gpu_parts *parts) {
    const bool in_planes = p->planes != nullptr;
    if (!p->images.filters || !p->images.group) return cudaSuccess;
    const gpu_tiling used = in_planes ? tiles_of_planes(&p->images) : *tiling;
    const bytes_kernel choice = choose_type(p->sums.a_signed, used.tile, in_planes, p->images.channels % 16 != 0);
    const dim3 grid((unsigned)used.tiles, (unsigned)used.parts, grid_extent((size_t)p->images.group));
    return launch_overlapping(choice.kernel, grid, choice.threads, choice.shared_bytes, stream, *p, *o, used, *parts,
                              (uintptr_t)o->y % PIECE == 0);
}

cudaError_t gpu_load_bytes_conv(bool is_signed, bool in_planes) {
    if (in_planes) {
        const bytes_kernel only = choose_type(is_signed, GPU_TILE_128x64, true, false);
        return allow_dynamic_shared(only.kernel, only.shared_bytes);
    }
    cudaError_t code = cudaSuccess;
    for (int halves = 0; code == cudaSuccess && halves < 2; halves++)
        code = load_tiles([=](gpu_tile tile) { return choose_type(is_signed, tile, false, halves); });
    return code;
}

cudaError_t gpu_run_bytes_depthwise(gpu_stream stream, const gpu_bytes_conv *p, const void *x, const int16_t *weights,
                                    void *y) {
    const unsigned pieces = (unsigned)(p->images.group / PIECE);
    const size_t count = (size_t)p->images.rows * pieces;
    if (!count) return cudaSuccess;
    return for_byte(p->sums.a_signed, [=](auto zero) {
        return launch_overlapping(conv_bytes_depthwise<decltype(zero)>, grid_blocks(count), GRID_THREADS, 0, stream, *p,
                                  (const decltype(zero) *)x, weights, (uint8_t *)y, pieces, count);
    });
}

cudaError_t gpu_load_bytes_depthwise(bool is_signed) {
    return for_byte(is_signed, [](auto zero) { return load_kernel(conv_bytes_depthwise<decltype(zero)>); });
}

cudaError_t gpu_run_bytes_direct(gpu_stream stream, const gpu_bytes_conv *p, const void *x, const void *w, void *y) {
    const size_t count = (size_t)(p->images.rows * p->images.filters * p->images.group);
    if (!count) return cudaSuccess;
    return launch_overlapping(conv_bytes_direct, grid_blocks(count), GRID_THREADS, 0, stream, *p, x, w, y, count);
}

cudaError_t gpu_load_bytes_direct(void) {
    return load_kernel(conv_bytes_direct);
}
