/* pad.cu - padding: a thread takes output elements in a grid stride and finds the source of each, axis by axis, as
 * tort_pad_source of ops/pad.c does. Read first: pad.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/element.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/pad.h"

/* ---- kernel ---- */

static __device__ __forceinline__ int64_t modulo(int64_t a, int64_t b) {
    const int64_t rest = a % b;
    return rest < 0 ? rest + b : rest;
}

/* Returns the input position that output position `at` of an axis of `size` elements copies, or -1 for the pad
 * value. Elements cropped by a negative pad do not take part in reflecting or wrapping. */
static __device__ int64_t source(const tort_pad_params &p, int d, int64_t size, int64_t at) {
    const int64_t before = p.before[d], after = p.after[d];
    const int64_t low = before < 0 ? -before : 0, count = size - low + (after < 0 ? after : 0);
    const int64_t i = at - (before > 0 ? before : 0);
    if (i >= 0 && i < count) return low + i;
    switch (p.mode) {
    case TORT_PAD_CONSTANT: return -1;
    case TORT_PAD_EDGE: return i < 0 ? low : low + count - 1;
    case TORT_PAD_WRAP: return low + modulo(i, count);
    case TORT_PAD_REFLECT: break;
    }
    if (count == 1) return low;
    const int64_t mirrored = modulo(i, 2 * (count - 1));
    return low + (mirrored < count ? mirrored : 2 * (count - 1) - mirrored);
}

template <class T> static __global__ void pad(const gpu_pad p, T value, const T *x, T *y) {
    if (p.device_value) value = *(const T *)p.device_value;
    for (size_t i = grid_first(); i < p.count; i += grid_stride()) {
        size_t rest = i;
        int64_t from = 0, stride = 1;
        for (int d = p.params.rank - 1; d >= 0 && from >= 0; d--) {
            const int64_t at = source(p.params, d, p.in[d], (int64_t)(rest % (size_t)p.out[d]));
            from = at < 0 ? -1 : from + at * stride;
            rest /= (size_t)p.out[d];
            stride *= p.in[d];
        }
        y[i] = from < 0 ? value : x[from];
    }
}

/* ---- launchers ---- */

/* Little-endian: the 64 bits of the value begin with the bytes of a narrow type. */
template <class T> static cudaError_t run(gpu_stream stream, const gpu_pad *p, const void *x, void *y) {
    return launch(pad<T>, grid_blocks(p->count), GRID_THREADS, 0, stream, *p, (T)p->value, (const T *)x, (T *)y);
}

cudaError_t gpu_run_pad(gpu_stream stream, int element_bytes, const gpu_pad *p, const void *x, void *y) {
    if (!p->count) return cudaSuccess;
    return for_bytes(element_bytes, [=](auto zero) { return run<decltype(zero)>(stream, p, x, y); });
}

cudaError_t gpu_load_pad(int element_bytes) {
    return for_bytes(element_bytes, [](auto zero) { return load_kernel(pad<decltype(zero)>); });
}
