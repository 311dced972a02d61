/* quantize.cu - floats to integers of 8 bits and back, with the bits of ops/quantize.c, and the scale of a tensor's
 * range. All are bound by memory: elements go by in packs, which have one scale or, along the last axis, a pack of
 * scales; one by one where rows are not whole packs. Read first: quantize.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/block.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/pack.h"
#include "kernels/cuda/quantize.h"

#define RANGE_EACH 16     /* elements of a thread that finds a range, at least */
#define RANGE_OF_ONE 8192 /* elements that one block quantizes too, which is faster than a second launch */

/* ---- scales ---- */

/* Scale and zero point of an element. B: the integers. */
template <class B> struct linear {
    float scale;
    int zero;
};

/* Calls use(k, part, scale) for the elements i, i + 1 ... of a pack: for all at once if they have one scale, part being
 * the whole pack's size, otherwise, as the axis is the last, for each. R: type of scales. */
template <class R, class B, int size, class Use>
static __device__ __forceinline__ void each_scale(const gpu_quantize &p, size_t i, const Use &use) {
    uint64_t index = i;
    const R *scale = (const R *)p.scale;
    const B *zero = (const B *)p.zero;
    if (size > 1 && p.inner.value == 1) {
        divide(&index, p.length, p.count);
        const pack<R, size> scales = load_pack<size>(scale + index);
        const pack<B, size> zeros = zero ? load_pack<size>(zero + index) : same_pack<size>((B)0);
#pragma unroll
        for (int k = 0; k < size; k++) use(k, known<1>(), linear<B>{(float)scales.at[k], (int)zeros.at[k]});
    } else {
        index = divide(&index, p.inner, p.count);
        divide(&index, p.length, p.count);
        use(0, known<size>(), linear<B>{(float)scale[index], zero ? (int)zero[index] : 0});
    }
}

/* ---- quantizing ---- */

/* Adding 1.5 * 2^23 rounds a small float to an integer, to even, which is then the low bits of the sum. Maximum and
 * minimum make NaN the least integer. rounds: quotients have the precision of X. */
template <int part, class X, class Y>
static __device__ __forceinline__ void quantize_all(known<part>, const X *x, const linear<Y> &l, bool rounds, Y *y) {
    const float least = (Y)-1 < (Y)0 ? -128.0f : 0.0f, low = least - (float)l.zero, high = low + 255.0f;
    float quotients[part];
#pragma unroll
    for (int k = 0; k < part; k++) quotients[k] = __fdiv_rn((float)x[k], l.scale);
    if (sizeof(X) < sizeof(float) && rounds) {
#pragma unroll
        for (int k = 0; k < part; k++) quotients[k] = (float)(X)quotients[k];
    }
#pragma unroll
    for (int k = 0; k < part; k++) y[k] = (Y)(rounded_within(quotients[k], low, high) + (uint32_t)l.zero);
}

template <int size, class X, class Y>
static __device__ __forceinline__ void quantize_range(const gpu_quantize &p, size_t first, size_t end) {
    for (size_t i = first + grid_first() * size; i < end; i += grid_stride() * size) {
        const pack<X, size> value = load_pack<size>((const X *)p.x + i);
        pack<Y, size> result;
        each_scale<X, Y, size>(p, i, [&](int k, auto part, const linear<Y> &l) {
            quantize_all(part, value.at + k, l, p.rounds, result.at + k);
        });
        store_pack((Y *)p.y + i, result);
    }
}

template <class X, class Y> static __global__ void quantize(const gpu_quantize p, size_t packed) {
    quantize_range<pack_size<X, Y>::VALUE, X, Y>(p, 0, packed);
    quantize_range<1, X, Y>(p, packed, p.count);
}

/* ---- dequantizing ---- */

template <int size, class X, class Y>
static __device__ __forceinline__ void dequantize_range(const gpu_quantize &p, size_t first, size_t end) {
    for (size_t i = first + grid_first() * size; i < end; i += grid_stride() * size) {
        const pack<X, size> value = load_pack<size>((const X *)p.x + i);
        pack<Y, size> result;
        each_scale<Y, X, size>(p, i, [&](int k, auto part, const linear<X> &l) {
#pragma unroll
            for (int j = k; j < k + (int)part; j++) result.at[j] = (Y)((float)((int)value.at[j] - l.zero) * l.scale);
        });
        store_pack((Y *)p.y + i, result);
    }
}

template <class X, class Y> static __global__ void dequantize(const gpu_quantize p, size_t packed) {
    dequantize_range<pack_size<X, Y>::VALUE, X, Y>(p, 0, packed);
    dequantize_range<1, X, Y>(p, packed, p.count);
}

/* ---- the range of a tensor ---- */

struct extremes {
    float low, high;

    __device__ __forceinline__ void take(float least, float largest) { /* both ignore NaN */
        low = fminf(low, least);
        high = fmaxf(high, largest);
    }
    __device__ __forceinline__ void join(float *shared) {
        low = -block_join<join_max>(-low, shared);
        high = block_join<join_max>(high, shared);
    }
};

template <int size>
static __device__ __forceinline__ void take_range(const float *x, size_t first, size_t end, extremes *found) {
#pragma unroll 4 /* loads in flight */
    for (size_t i = first + grid_first() * size; i < end; i += grid_stride() * size) {
        const pack<float, size> value = load_pack<size>(x + i);
#pragma unroll
        for (int k = 0; k < size; k++) found->take(value.at[k], value.at[k]);
    }
}

/* The scale of x and, if a single block is launched, y. */
static __global__ void byte_scale(const gpu_quantize p, size_t packed, gpu_byte_scale *scratch, uint32_t *arrivals,
                                  float *y_scale, uint8_t *y_zero) {
    __shared__ float shared[BLOCK_MAX_WARPS];
    __shared__ unsigned is_last;
    extremes found = {0.0f, 0.0f};
    take_range<pack_size<float, uint8_t>::VALUE>((const float *)p.x, 0, packed, &found);
    take_range<1>((const float *)p.x, packed, p.count, &found);
    found.join(shared);
    if (threadIdx.x == 0) {
        scratch->parts[blockIdx.x][0] = found.low;
        scratch->parts[blockIdx.x][1] = found.high;
    }
    if (!last_to_arrive(arrivals, gridDim.x, &is_last)) return;
    for (unsigned b = threadIdx.x; b < gridDim.x; b += blockDim.x)
        found.take(scratch->parts[b][0], scratch->parts[b][1]);
    found.join(shared);
    if (threadIdx.x == 0) {
        const float scale = found.high > found.low ? __fdiv_rn(found.high - found.low, 255.0f) : 1.0f;
        const float zero = scale > 0.0f ? rintf(__fdiv_rn(-found.low, scale)) : 0.0f;
        *y_scale = scale;
        *y_zero = (uint8_t)(zero > 0.0f ? fminf(zero, 255.0f) : 0.0f); /* NaN, of infinities: 0 */
        scratch->divisor = scale > 0.0f ? scale : 1.0f;
    }
    if (gridDim.x > 1 || !p.y) return;
    __syncthreads();
    quantize_range<pack_size<float, uint8_t>::VALUE, float, uint8_t>(p, 0, packed);
    quantize_range<1, float, uint8_t>(p, packed, p.count);
}

/* ---- launchers ---- */

/* Number of leading elements that are taken in packs: all that fill some, if each has one scale, or its own pack of
 * scales. R: type of scales; B: of zero points. */
template <int size, class R, class B, class X, class Y>
static size_t packed_elements(const gpu_quantize *p, const X *x, Y *y) {
    const bool one = p->length.value == 1 || p->inner.value % size == 0;
    const bool own = p->inner.value == 1 && p->length.value % size == 0 && pack_aligned<size>((const R *)p->scale) &&
                     pack_aligned<size>((const B *)p->zero);
    return one || own ? packed_count<size>(p->count, x, y) : 0;
}

/* Calls use(T(), B()) for the types of floats and of integers. */
template <class Use> static cudaError_t for_types(gpu_type type, bool is_signed, Use use) {
    return for_image(type, [=](auto zero) { return is_signed ? use(zero, int8_t()) : use(zero, uint8_t()); });
}

cudaError_t gpu_run_quantize(gpu_stream stream, gpu_type x, bool is_signed, const gpu_quantize *p) {
    if (!p->count) return cudaSuccess;
    return for_types(x, is_signed, [=](auto real, auto integer) {
        typedef decltype(real) X;
        typedef decltype(integer) Y;
        constexpr int size = pack_size<X, Y>::VALUE;
        const size_t packed = packed_elements<size, X, Y>(p, (const X *)p->x, (Y *)p->y);
        return launch(quantize<X, Y>, pack_blocks<size>(p->count, packed), GRID_THREADS, 0, stream, *p, packed);
    });
}

cudaError_t gpu_load_quantize(gpu_type x, bool is_signed) {
    return for_types(x, is_signed,
                     [](auto real, auto integer) { return load_kernel(quantize<decltype(real), decltype(integer)>); });
}

cudaError_t gpu_run_dequantize(gpu_stream stream, bool is_signed, gpu_type y, const gpu_quantize *p) {
    if (!p->count) return cudaSuccess;
    return for_types(y, is_signed, [=](auto real, auto integer) {
        typedef decltype(integer) X;
        typedef decltype(real) Y;
        constexpr int size = pack_size<X, Y>::VALUE;
        const size_t packed = packed_elements<size, Y, X>(p, (const X *)p->x, (Y *)p->y);
        return launch(dequantize<X, Y>, pack_blocks<size>(p->count, packed), GRID_THREADS, 0, stream, *p, packed);
    });
}

cudaError_t gpu_load_dequantize(bool is_signed, gpu_type y) {
    return for_types(y, is_signed, [](auto real, auto integer) {
        return load_kernel(dequantize<decltype(integer), decltype(real)>);
    });
}

cudaError_t gpu_run_quantize_dynamically(gpu_stream stream, const gpu_quantize *p, gpu_byte_scale *scratch,
                                         uint32_t *arrivals, float *scale, uint8_t *zero) {
    const unsigned parts = GPU_BYTE_SCALE_PARTS, wanted = grid_blocks(p->count / RANGE_EACH);
    const unsigned blocks = p->count <= RANGE_OF_ONE ? 1 : wanted < parts ? wanted : parts;
    const size_t packed =
        packed_count<pack_size<float, uint8_t>::VALUE>(p->count, (const float *)p->x, (uint8_t *)p->y);
    const cudaError_t code =
        launch(byte_scale, blocks, GRID_THREADS, 0, stream, *p, packed, scratch, arrivals, scale, zero);
    return code || blocks == 1 || !p->y ? code : gpu_run_quantize(stream, GPU_FLOAT, false, p);
}

cudaError_t gpu_load_quantize_dynamically() {
    const cudaError_t code = gpu_load_quantize(GPU_FLOAT, false);
    return code ? code : load_kernel(byte_scale);
}
