/* fourier.cu - DFT and STFT. The roots of unity are a table, computed in double and rounded once. A lane whose length
 * is a power of two is transformed by a block in shared memory (radix 2, in the self-sorting order of Stockham: each
 * step reads one half of the memory and writes the other). Of any other lane each thread sums up one frequency bin.
 *
 * Example: 3000 frames of 400 samples, as speech models have them, are 201 * 3000 sums of 400 terms: 0.24 * 10^9
 * multiplications of complex numbers, whose operands are a broadcast and a table of 3200 bytes. Read first: fourier.c.
 */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/element.h"
#include "kernels/cuda/fourier.h"
#include "kernels/cuda/grid.h"

template <class C> struct complex_number { C re, im; };

template <class C>
static __device__ __forceinline__ complex_number<C> times(const complex_number<C> &a, const complex_number<C> &b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* The place in x of the first number of a lane. */
static __device__ __forceinline__ size_t first_of(const tort_fourier_params &p, size_t lane) {
    if (p.frames > 0)
        return lane / (size_t)p.frames * (size_t)p.signal_length + lane % (size_t)p.frames * (size_t)p.frame_step;
    return lane / (size_t)p.inner * (size_t)(p.in_length * p.inner) + lane % (size_t)p.inner;
}

/* Number i of a lane, times the window; a lane is padded with zeros, or completed by symmetry. */
template <class C, class T>
static __device__ __forceinline__ complex_number<C> number_of(const gpu_fourier &f, const T *x, int64_t i) {
    const tort_fourier_params &p = f.lanes;
    const bool mirrored = p.completes && i > p.length / 2;
    if (mirrored) i = p.length - i;
    if (i >= p.in_length) return {0, 0};
    const T *at = x + i * p.inner * p.in_parts;
    const C weight = f.window ? (C)((const T *)f.window)[i] : (C)1, im = p.in_parts == 2 ? (C)at[1] * weight : (C)0;
    return {(C)at[0] * weight, mirrored ? -im : im};
}

/* Bin 0 of a lane. */
template <class T> static __device__ __forceinline__ T *bins_of(const gpu_fourier &f, size_t lane) {
    const tort_fourier_params &p = f.lanes;
    const size_t first = lane / (size_t)p.inner * (size_t)(p.out_length * p.inner) + lane % (size_t)p.inner;
    return (T *)f.y + first * (size_t)p.out_parts;
}

/* Stores bin k of a lane. */
template <class T, class C>
static __device__ __forceinline__ void store_bin(const gpu_fourier &f, T *bins, int64_t k,
                                                 const complex_number<C> &bin) {
    const tort_fourier_params &p = f.lanes;
    T *y = bins + k * p.inner * p.out_parts;
    y[0] = (T)(bin.re * (C)f.scale);
    if (p.out_parts == 2) y[1] = (T)(bin.im * (C)f.scale);
}

/* ---- kernels ---- */

template <class C> static __global__ void fill_roots(complex_number<C> *roots, int64_t length, bool inverse) {
    const double turn = (inverse ? 2 : -2) / (double)length;
    for (size_t k = grid_first(); k < (size_t)length; k += grid_stride())
        roots[k] = {(C)cospi(turn * (double)k), (C)sinpi(turn * (double)k)};
}

/* A block takes a lane. */
template <class T> static __global__ void transform_fast(const gpu_fourier f) {
    typedef typename computed<T>::type C;
    const int length = (int)f.lanes.length;
    const complex_number<C> *roots = (const complex_number<C> *)f.roots;
    for (size_t lane = blockIdx.x; lane < (size_t)(f.lanes.outer * f.lanes.inner); lane += gridDim.x) {
        complex_number<C> *from = dynamic_shared<complex_number<C>>(), *to = from + length;
        const T *x = (const T *)f.x + first_of(f.lanes, lane) * (size_t)f.lanes.in_parts;
        __syncthreads(); /* the previous lane is stored */
        for (int i = (int)threadIdx.x; i < length; i += (int)blockDim.x) from[i] = number_of<C>(f, x, i);
        __syncthreads();
        for (int stride = 1; stride < length; stride *= 2) {
            for (int i = (int)threadIdx.x; i < length / 2; i += (int)blockDim.x) {
                const int low = i & (stride - 1), high = i - low; /* high: the group times stride */
                const complex_number<C> a = from[i], b = from[i + length / 2], left = {a.re - b.re, a.im - b.im};
                to[2 * high + low] = {a.re + b.re, a.im + b.im};
                to[2 * high + low + stride] = times(left, roots[high]);
            }
            __syncthreads();
            complex_number<C> *const done = to;
            to = from;
            from = done;
        }
        T *bins = bins_of<T>(f, lane);
        for (int k = (int)threadIdx.x; k < (int)f.lanes.out_length; k += (int)blockDim.x)
            store_bin(f, bins, k, from[k]);
    }
}

/* A thread takes a bin. */
template <class T> static __global__ void transform_bins(const gpu_fourier f) {
    typedef typename computed<T>::type C;
    const tort_fourier_params &p = f.lanes;
    const complex_number<C> *roots = (const complex_number<C> *)f.roots;
    const int64_t count = p.completes || p.in_length > p.length ? p.length : p.in_length;
    for (size_t i = grid_first(); i < (size_t)(p.outer * p.inner * p.out_length); i += grid_stride()) {
        const size_t lane = i / (size_t)p.out_length;
        const int64_t k = (int64_t)(i % (size_t)p.out_length);
        const T *x = (const T *)f.x + first_of(p, lane) * (size_t)p.in_parts;
        complex_number<C> sum = {0, 0};
        int64_t at = 0;
        for (int64_t j = 0; j < count; j++) {
            const complex_number<C> term = times(number_of<C>(f, x, j), roots[at]);
            sum.re += term.re;
            sum.im += term.im;
            at += k;
            if (at >= p.length) at -= p.length;
        }
        store_bin(f, bins_of<T>(f, lane), k, sum);
    }
}

/* ---- launchers ---- */

template <class T> static cudaError_t run(gpu_stream stream, const gpu_fourier *f) {
    typedef typename computed<T>::type C;
    const tort_fourier_params *p = &f->lanes;
    const size_t length = (size_t)p->length, lanes = (size_t)(p->outer * p->inner);
    const unsigned bytes = (unsigned)(2 * length * sizeof(complex_number<C>));
    const cudaError_t code = launch(fill_roots<C>, grid_blocks(length), GRID_THREADS, 0, stream,
                                    (complex_number<C> *)f->roots, p->length, p->inverse);
    if (code != cudaSuccess) return code;
    if ((length & (length - 1)) == 0 && length * sizeof(C) <= GPU_FAST_LENGTH * sizeof(float))
        return launch(transform_fast<T>, grid_extent(lanes), length < 512 ? 64 : GRID_THREADS, bytes, stream, *f);
    return launch(transform_bins<T>, grid_blocks(lanes * (size_t)p->out_length), GRID_THREADS, 0, stream, *f);
}

template <class T> static cudaError_t load() {
    cudaError_t code = load_kernel(fill_roots<typename computed<T>::type>);
    if (code == cudaSuccess) code = load_kernel(transform_fast<T>);
    return code == cudaSuccess ? load_kernel(transform_bins<T>) : code;
}

cudaError_t gpu_run_fourier(gpu_stream stream, gpu_type type, const gpu_fourier *fourier) {
    return for_real(type, [=](auto zero) { return run<decltype(zero)>(stream, fourier); });
}

cudaError_t gpu_load_fourier(gpu_type type) {
    return for_real(type, [](auto zero) { return load<decltype(zero)>(); });
}
