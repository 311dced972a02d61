/* resize.cu - interpolation: nearest and linear in planes by tiles, and a kernel for any axes and taps. Floats are
 * combined in float, doubles and integers in double; integers are rounded to nearest and saturate. Read first:
 * resize.c, which makes the tables of input elements and weights. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/any_number.h"
#include "kernels/cuda/divisor.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/pack.h"
#include "kernels/cuda/resize.h"

/* ---- any axes ---- */

/* Combination `c` of the taps of output coordinates out[d], over all axes that change: sets *element to the input
 * element and returns the product of the weights. */
template <class C>
static __device__ __forceinline__ C combination(const gpu_resize &r, const int64_t *out, int64_t c, bool *outside,
                                                int64_t *element) {
    int64_t from = 0, stride = 1;
    C weight = 1;
    for (int d = r.params.rank - 1; d >= 0; d--) {
        const tort_resize_axis &axis = r.params.axes[d];
        int64_t index = out[d];
        if (r.tables[d] >= 0) {
            const int64_t taps = r.tables[d] + out[d] * axis.taps, tap = taps + c % axis.taps;
            if (r.indices[taps] < 0) *outside = true;
            index = r.indices[tap];
            weight *= (C)r.weights[tap];
            c /= axis.taps;
        }
        from += index * stride;
        stride *= axis.in;
    }
    *element = from;
    return weight;
}

/* Type in which elements of T are combined, and conversion of the sum back to T. */
template <class T> struct combined {
    typedef double type;
    static __device__ __forceinline__ T from(double sum) {
        const bool has_sign = (T)-1 < (T)0;
        const double span = ldexp(1.0, (int)sizeof(T) * 8 - has_sign), low = has_sign ? -span : 0.0;
        T y;
        convert(any_real(fmin(fmax(rint(sum), low), nextafter(span, 0.0))), &y);
        return y;
    }
};
template <class T> struct combined_floats {
    typedef float type;
    static __device__ __forceinline__ T from(float sum) {
        return (T)sum;
    }
};
template <> struct combined<float> : combined_floats<float> {};
template <> struct combined<half> : combined_floats<half> {};
template <> struct combined<bfloat16> : combined_floats<bfloat16> {};
template <> struct combined<double> {
    typedef double type;
    static __device__ __forceinline__ double from(double sum) {
        return sum;
    }
};

template <class T> static __global__ void resize_combine(const gpu_resize r, const T *x, T *y) {
    typedef typename combined<T>::type C;
    for (size_t i = grid_first(); i < r.count; i += grid_stride()) {
        int64_t out[TORT_MAX_RANK], element;
        size_t rest = i;
        for (int d = r.params.rank - 1; d >= 0; d--) {
            out[d] = (int64_t)(rest % (size_t)r.params.axes[d].out);
            rest /= (size_t)r.params.axes[d].out;
        }
        bool outside = false;
        C sum = 0;
        for (int64_t c = 0; c < r.combinations && !outside; c++) {
            const C weight = combination<C>(r, out, c, &outside, &element);
            if (!outside && weight != (C)0) sum += weight * (C)x[element];
        }
        y[i] = combined<T>::from(outside ? (C)r.params.extrapolation : sum);
    }
}

cudaError_t gpu_run_resize(gpu_stream stream, gpu_number type, const gpu_resize *r, const void *x, void *y) {
    if (!r->count) return cudaSuccess;
    return for_number(type, [=](auto zero) {
        typedef decltype(zero) T;
        return launch(resize_combine<T>, grid_blocks(r->count), GRID_THREADS, 0, stream, *r, (const T *)x, (T *)y);
    });
}

cudaError_t gpu_load_resize(gpu_number type) {
    return for_number(type, [](auto zero) { return load_kernel(resize_combine<decltype(zero)>); });
}

/* ---- nearest and linear in planes ---- */

/* The input elements that neighbouring outputs read. */
static __device__ __forceinline__ span read_by(const gpu_pair *pairs, int count) {
    const int first = pairs[0].low, last = pairs[count - 1].low + (pairs[count - 1].share != 0.0f);
    return {first, last - first + 1};
}

/* The second value is not used where its share is 0: it may be infinite. */
static __device__ __forceinline__ float between(float low, float high, float share) {
    return share == 0.0f ? low : low * (1.0f - share) + high * share;
}

/* Interpolates in a tile of `pitch` elements a row. */
template <bool LINEAR, class T>
static __device__ __forceinline__ T interpolated(const T *tile, int pitch, gpu_pair row, gpu_pair column) {
    const T *low = tile + row.low * pitch + column.low;
    if constexpr (LINEAR) {
        const int right = column.share != 0.0f, below = row.share != 0.0f ? pitch : 0;
        return (T)between(between((float)low[0], (float)low[right], column.share),
                          between((float)low[below], (float)low[below + right], column.share), row.share);
    }
    return low[0];
}

/* Makes tiles of the output, each in one plane after the other. */
template <bool LINEAR, class T>
static __global__ void resize_planes(const gpu_resize_planes p, plane_parts parts, const T *x, T *y) {
    gpu_pair *columns = dynamic_shared<gpu_pair>(), *rows = columns + p.tiles.columns;
    T *tile = (T *)(rows + p.tiles.rows);
    const int lane = (int)threadIdx.x, line = (int)threadIdx.y, lanes = (int)blockDim.x, lines = (int)blockDim.y;
    for (unsigned i = blockIdx.x; i < parts.total; i += gridDim.x) {
        const span out_h = part_of(p.out_h, p.tiles.rows, i / parts.across);
        const span out_w = part_of(p.out_w, p.tiles.columns, i % parts.across);
        if (line == 0 && lane < out_w.count) columns[lane] = p.pairs[out_w.first + lane];
        for (int k = line * lanes + lane; k < out_h.count; k += lanes * lines)
            rows[k] = p.pairs[p.out_w + out_h.first + k];
        __syncthreads();
        const span in_h = read_by(rows, out_h.count), in_w = read_by(columns, out_w.count);
        gpu_pair column = columns[lane < out_w.count ? lane : 0];
        column.low -= in_w.first;
        for (int64_t plane = blockIdx.y; plane < p.planes; plane += gridDim.y) {
            copy_part(tile, x + plane * p.in_h * p.in_w, p.in_w, in_h, in_w);
            __syncthreads();
            T *to = y + (plane * p.out_h + out_h.first) * p.out_w + out_w.first;
            for (int h = line; h < out_h.count && lane < out_w.count; h += lines) {
                const gpu_pair row = {rows[h].low - in_h.first, rows[h].share};
                to[(int64_t)h * p.out_w + lane] = interpolated<LINEAR>(tile, in_w.count, row, column);
            }
            __syncthreads();
        }
    }
}

template <bool LINEAR, class T>
static cudaError_t run_planes(gpu_stream stream, const gpu_resize_planes *p, const void *x, void *y) {
    const plane_parts parts = plane_parts_of(&p->tiles, p->out_h, p->out_w);
    const size_t shared =
        (size_t)(p->tiles.rows + p->tiles.columns) * sizeof(gpu_pair) + tile_elements(&p->tiles) * sizeof(T);
    return launch(resize_planes<LINEAR, T>, plane_grid(parts, p->planes), plane_block(&p->tiles), shared, stream, *p,
                  parts, (const T *)x, (T *)y);
}

cudaError_t gpu_run_resize_nearest(gpu_stream stream, int element_bytes, const gpu_resize_planes *p, const void *x,
                                   void *y) {
    return for_bytes(element_bytes, [=](auto zero) { return run_planes<false, decltype(zero)>(stream, p, x, y); });
}

cudaError_t gpu_load_resize_nearest(int element_bytes) {
    return for_bytes(element_bytes, [](auto zero) { return load_kernel(resize_planes<false, decltype(zero)>); });
}

cudaError_t gpu_run_resize_linear(gpu_stream stream, gpu_type type, const gpu_resize_planes *p, const void *x,
                                  void *y) {
    return for_image(type, [=](auto zero) { return run_planes<true, decltype(zero)>(stream, p, x, y); });
}

cudaError_t gpu_load_resize_linear(gpu_type type) {
    return for_image(type, [](auto zero) { return load_kernel(resize_planes<true, decltype(zero)>); });
}

/* ---- nearest and linear with channels last ---- */

enum { CHANNELS_A_THREAD = 8 };

/* The channels of the input pixels that one output pixel reads: corners[row][column]. */
template <bool LINEAR, class T>
static __device__ __forceinline__ pack<T, CHANNELS_A_THREAD> pixel_of(const T *corner, int64_t below, int64_t right,
                                                                      float down, float across) {
    pack<T, CHANNELS_A_THREAD> pixel = load_pack<CHANNELS_A_THREAD>(corner);
    if (!LINEAR) return pixel;
    const pack<T, CHANNELS_A_THREAD> beside = load_pack<CHANNELS_A_THREAD>(corner + right),
                                     under = load_pack<CHANNELS_A_THREAD>(corner + below),
                                     opposite = load_pack<CHANNELS_A_THREAD>(corner + below + right);
#pragma unroll
    for (int j = 0; j < CHANNELS_A_THREAD; j++)
        pixel.at[j] = (T)between(between((float)pixel.at[j], (float)beside.at[j], across),
                                 between((float)under.at[j], (float)opposite.at[j], across), down);
    return pixel;
}

/* Threads along x share a line of the output, lines are along y. */
template <bool LINEAR, class T>
static __global__ void resize_images(const gpu_resize_planes p, int64_t channels, gpu_divisor pieces, const T *x,
                                     T *y) {
    const unsigned line = (unsigned)(p.out_w * pieces.value);
    const int64_t in_line = p.in_w * channels, lines = p.planes * p.out_h;
    for (int64_t row = blockIdx.y; row < lines; row += gridDim.y) {
        const int64_t image = row / p.out_h;
        const gpu_pair down = p.pairs[p.out_w + (row - image * p.out_h)];
        const T *from = x + (image * p.in_h + down.low) * in_line;
        const int64_t below = down.share != 0.0f ? in_line : 0;
        for (unsigned i = (unsigned)grid_first(); i < line; i += (unsigned)grid_stride()) {
            uint64_t piece = i;
            const gpu_pair across = p.pairs[divide(&piece, pieces, GPU_NARROW_MAX)];
            const T *corner = from + across.low * channels + (int64_t)piece * CHANNELS_A_THREAD;
            const int64_t right = across.share != 0.0f ? channels : 0;
            store_pack<CHANNELS_A_THREAD>(y + row * p.out_w * channels + (int64_t)i * CHANNELS_A_THREAD,
                                          pixel_of<LINEAR>(corner, below, right, down.share, across.share));
        }
    }
}

/* Calls use(kernel, T()); bytes have no linear form. */
template <class Use> static cudaError_t for_images(gpu_number type, bool linear, Use use) {
    return for_moved_image(type, [=](auto zero) {
        typedef decltype(zero) T;
        if constexpr (sizeof(T) > 1)
            if (linear) return use(resize_images<true, T>, zero);
        return use(resize_images<false, T>, zero);
    });
}

cudaError_t gpu_run_resize_images(gpu_stream stream, gpu_number type, bool linear, const gpu_resize_planes *p,
                                  int64_t channels, const void *x, void *y) {
    const int64_t pieces = channels / CHANNELS_A_THREAD, lines = p->planes * p->out_h;
    if (!lines || !p->out_w || !pieces) return cudaSuccess;
    const dim3 grid(grid_blocks((size_t)(p->out_w * pieces)), grid_extent((size_t)lines));
    return for_images(type, linear, [=](auto kernel, auto zero) {
        typedef decltype(zero) T;
        return launch(kernel, grid, GRID_THREADS, 0, stream, *p, channels, gpu_divisor_of(pieces, GPU_NARROW_MAX),
                      (const T *)x, (T *)y);
    });
}

cudaError_t gpu_load_resize_images(gpu_number type, bool linear) {
    return for_images(type, linear, [](auto kernel, auto zero) {
        (void)zero;
        return load_kernel(kernel);
    });
}
