/* qlinear_mean.cu - means, pools and softmax of bytes with a scale and a zero point. Sums are of integers, so that
 * their order does not matter, and each output is rounded once. Read first: qlinear_mean.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/block.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/qlinear.cuh"
#include "kernels/cuda/qlinear_mean.h"

/* ---- means ---- */

/* Gives every lane of a warp Join of all values. */
template <class Join, class C> static __device__ __forceinline__ C warp_join(C value) {
    for (int offset = 16; offset; offset >>= 1) value = Join::of(value, __shfl_xor_sync(~0u, value, offset));
    return value;
}

struct join_largest {
    template <class C> static __device__ __forceinline__ C of(C a, C b) {
        return a > b ? a : b;
    }
};

/* The byte of the mean of `count` numbers, whose bytes less the zero point make up `sum`; of none, 0. In double, as a
 * sum may have more bits than a float. */
template <class T>
static __device__ __forceinline__ T mean_of(int64_t sum, int64_t count, const linear &from, const linear &to) {
    const float factor = count > 0 ? __fdiv_rn(from.scale, __fmul_rn(to.scale, (float)count)) : 0.0f;
    return byte_of<T>((float)((double)sum * (double)factor), to.zero);
}

enum { MEAN_LINES = 8 }; /* of 32 threads in a block */

/* Where neighbours are reduced, a warp makes an output; else 8 threads do, whose neighbours make neighbouring ones. */
template <bool ALONG, class T> static __global__ void linear_mean(const gpu_linear_mean m, const T *x, T *y) {
    enum { OUTPUTS = ALONG ? MEAN_LINES : 32, MEMBERS = ALONG ? 32 : MEAN_LINES };
    __shared__ int64_t sums[MEAN_LINES][32];
    const unsigned mine = ALONG ? threadIdx.y : threadIdx.x, member = ALONG ? threadIdx.x : threadIdx.y;
    const linear from = linear_of<T>(m.from), to = linear_of<T>(m.to);
    for (size_t first = (size_t)blockIdx.x * OUTPUTS; first < m.kept.count; first += (size_t)gridDim.x * OUTPUTS) {
        const size_t out = first + mine;
        int64_t sum = 0, start[1] = {0};
        if (out < m.kept.count) loop_offsets(m.kept, out, start);
        for (size_t i = member; i < m.reduced.count && out < m.kept.count; i += MEMBERS) {
            int64_t at[1];
            loop_offsets(m.reduced, i, at);
            sum += (int64_t)x[start[0] + at[0]];
        }
        if constexpr (ALONG) {
            sum = warp_join<join_sum>(sum);
        } else {
            sums[member][mine] = sum;
            __syncthreads();
            for (int i = 1; member == 0 && i < MEMBERS; i++) sum += sums[i][mine];
            __syncthreads();
        }
        const int64_t count = (int64_t)m.reduced.count;
        if (member == 0 && out < m.kept.count) y[out] = mean_of<T>(sum - count * (int64_t)from.zero, count, from, to);
    }
}

/* ---- windows ---- */

template <class T> static __global__ void linear_pool(const gpu_linear_pool p, const T *x, T *y) {
    const gpu_window &g = p.window;
    const linear from = linear_of<T>(p.from), to = linear_of<T>(p.to);
    const int64_t zero = (int64_t)from.zero, step = (int64_t)p.inner.value;
    for (size_t i = grid_first(); i < p.count; i += grid_stride()) {
        uint64_t inner = i, out_w = divide(&inner, p.inner, p.count), out_h = divide(&out_w, p.out_w, p.count);
        const int64_t outer = (int64_t)divide(&out_h, p.out_h, p.count);
        const int64_t first_h = (int64_t)out_h * g.stride_h - g.pad_h, first_w = (int64_t)out_w * g.stride_w - g.pad_w;
        const int64_t row_from = first_at(-first_h, g.dilation_h, g.kernel_h);
        const int64_t row_to = first_at(g.in_h - first_h, g.dilation_h, g.kernel_h);
        const int64_t column_from = first_at(-first_w, g.dilation_w, g.kernel_w);
        const int64_t column_to = first_at(g.in_w - first_w, g.dilation_w, g.kernel_w);
        const T *plane = x + outer * g.in_h * g.in_w * step + (int64_t)inner;
        int64_t sum = 0, counted = 0;
        for (int64_t row = row_from; row < row_to; row++)
            for (int64_t column = column_from; column < column_to; column++, counted++) {
                const int64_t h = first_h + row * g.dilation_h, w = first_w + column * g.dilation_w;
                sum += (int64_t)plane[(h * g.in_w + w) * step];
            }
        sum -= counted * zero;
        if (p.count_include_pad) counted = counted_positions(g, first_h, first_w);
        y[i] = mean_of<T>(sum, counted, from, to);
    }
}

/* ---- softmax ---- */

enum { POWERS = 256, NEAR = 16 };

/* Fills powers of e, as 32 bits of its fraction: number 255 - d for d steps below the largest. Each is a product of
 * two, as in tort_linear_powers. All threads of a block call it; it ends with a barrier. */
static __device__ __forceinline__ void fill_powers(float scale, uint32_t *powers) {
    __shared__ double near[NEAR], far[POWERS / NEAR];
    for (unsigned i = threadIdx.x; i < NEAR; i += blockDim.x) {
        near[i] = exp(-(double)i * (double)scale);
        far[i] = 4294967295.0 * exp(-(double)(i * NEAR) * (double)scale);
    }
    __syncthreads();
    for (unsigned d = threadIdx.x; d < POWERS; d += blockDim.x)
        powers[POWERS - 1 - d] = (uint32_t)rint(far[d / NEAR] * near[d % NEAR]);
    __syncthreads();
}

/* A warp makes a lane if its elements are neighbours, else a thread does. */
template <bool IS_WARP, class T> static __global__ void linear_softmax(const gpu_linear_softmax s, const T *x, T *y) {
    enum { MEMBERS = IS_WARP ? 32 : 1, FLIP = (T)-1 < (T)0 ? 128 : 0 };
    __shared__ uint32_t powers[POWERS];
    const linear to = linear_of<T>(s.to);
    const size_t member = threadIdx.x % MEMBERS, count = s.lanes;
    const int64_t step = (int64_t)s.inner.value;
    fill_powers(*s.from.scale, powers);
    for (size_t lane = grid_first() / MEMBERS; lane < count; lane += grid_stride() / MEMBERS) {
        uint64_t inner = lane;
        const int64_t outer = (int64_t)divide(&inner, s.inner, count), first = outer * s.length * step + (int64_t)inner;
        unsigned largest = 0;
        uint64_t sum = 0;
        for (int64_t i = (int64_t)member; i < s.length; i += MEMBERS) {
            const unsigned byte = (uint8_t)x[first + i * step] ^ FLIP;
            largest = byte > largest ? byte : largest;
        }
        if constexpr (IS_WARP) largest = warp_join<join_largest>(largest);
        const uint32_t *table = powers + (POWERS - 1 - largest);
        for (int64_t i = (int64_t)member; i < s.length; i += MEMBERS) sum += table[(uint8_t)x[first + i * step] ^ FLIP];
        if constexpr (IS_WARP) sum = warp_join<join_sum>(sum);
        const float factor = __fdiv_rn(1.0f, __fmul_rn(to.scale, (float)sum));
        for (int64_t i = (int64_t)member; i < s.length; i += MEMBERS) {
            const float steps = __fmul_rn((float)table[(uint8_t)x[first + i * step] ^ FLIP], factor);
            y[first + i * step] = byte_of<T>(fminf(steps, 512.0f), to.zero); /* NaN, of a scale of 0, is the highest */
        }
    }
}

/* ---- launchers ---- */

cudaError_t gpu_run_linear_mean(gpu_stream stream, bool is_signed, const gpu_linear_mean *mean, const void *x,
                                void *y) {
    const size_t outputs = mean->along ? MEAN_LINES : 32;
    if (!mean->kept.count) return cudaSuccess;
    return for_byte(is_signed, [=](auto zero) {
        typedef decltype(zero) T;
        return launch(mean->along ? linear_mean<true, T> : linear_mean<false, T>,
                      grid_extent((mean->kept.count + outputs - 1) / outputs), dim3(32, MEAN_LINES), 0, stream, *mean,
                      (const T *)x, (T *)y);
    });
}

cudaError_t gpu_load_linear_mean(bool is_signed) {
    return for_byte(is_signed, [](auto zero) {
        const cudaError_t code = load_kernel(linear_mean<true, decltype(zero)>);
        return code == cudaSuccess ? load_kernel(linear_mean<false, decltype(zero)>) : code;
    });
}

cudaError_t gpu_run_linear_pool(gpu_stream stream, bool is_signed, const gpu_linear_pool *pool, const void *x,
                                void *y) {
    if (!pool->count) return cudaSuccess;
    return for_byte(is_signed, [=](auto zero) {
        typedef decltype(zero) T;
        return launch(linear_pool<T>, grid_blocks(pool->count), GRID_THREADS, 0, stream, *pool, (const T *)x, (T *)y);
    });
}

cudaError_t gpu_load_linear_pool(bool is_signed) {
    return for_byte(is_signed, [](auto zero) { return load_kernel(linear_pool<decltype(zero)>); });
}

cudaError_t gpu_run_linear_softmax(gpu_stream stream, bool is_signed, const gpu_linear_softmax *softmax, const void *x,
                                   void *y) {
    const bool is_warp = softmax->inner.value == 1;
    if (!softmax->lanes || !softmax->length) return cudaSuccess;
    return for_byte(is_signed, [=](auto zero) {
        typedef decltype(zero) T;
        return launch(is_warp ? linear_softmax<true, T> : linear_softmax<false, T>,
                      grid_blocks(softmax->lanes * (is_warp ? 32 : 1)), GRID_THREADS, 0, stream, *softmax, (const T *)x,
                      (T *)y);
    });
}

cudaError_t gpu_load_linear_softmax(bool is_signed) {
    return for_byte(is_signed, [](auto zero) {
        const cudaError_t code = load_kernel(linear_softmax<true, decltype(zero)>);
        return code == cudaSuccess ? load_kernel(linear_softmax<false, decltype(zero)>) : code;
    });
}
