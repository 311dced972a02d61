/* resize.cu - interpolation along any axes, in two kernels. The first fills a table for each axis: the input
 * elements (taps) and weights of every output coordinate. It computes in double like the CPU provider, so that a
 * coordinate on the border between two elements rounds to the same side. The second combines elements, floats in
 * float, doubles and integers in double; integers are rounded to nearest and saturate. Read first: resize.c,
 * ops/resize_taps.c (the same formulas). */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/any_number.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/resize.h"

/* ---- taps of one axis ---- */

static __device__ double coordinate_of(tort_resize_transform transform, const tort_resize_axis &axis, double x) {
    const double in = (double)axis.in;
    switch (transform) {
    case TORT_RESIZE_HALF_PIXEL: return (x + 0.5) / axis.scale - 0.5;
    case TORT_RESIZE_HALF_PIXEL_SYMMETRIC:
        return in / 2 * (1 - (double)axis.out / axis.width) + (x + 0.5) / axis.scale - 0.5;
    case TORT_RESIZE_PYTORCH_HALF_PIXEL: return axis.out > 1 ? (x + 0.5) / axis.scale - 0.5 : 0;
    case TORT_RESIZE_ALIGN_CORNERS: return axis.out == 1 ? 0 : x * (in - 1) / (double)(axis.out - 1);
    case TORT_RESIZE_ASYMMETRIC: return x / axis.scale;
    case TORT_RESIZE_TF_HALF_PIXEL_FOR_NN: return (x + 0.5) / axis.scale;
    case TORT_RESIZE_TF_CROP_AND_RESIZE: break;
    }
    if (axis.out == 1) return 0.5 * (axis.start + axis.end) * (in - 1);
    return x * (axis.end - axis.start) * (in - 1) / (double)(axis.out - 1) + axis.start * (in - 1);
}

static __device__ double nearest(tort_resize_rounding rounding, const tort_resize_axis &axis, double x) {
    const double fraction = x - floor(x);
    switch (rounding) {
    case TORT_RESIZE_ROUND_PREFER_FLOOR: return fraction <= 0.5 ? floor(x) : ceil(x);
    case TORT_RESIZE_ROUND_PREFER_CEIL: return fraction < 0.5 ? floor(x) : ceil(x);
    case TORT_RESIZE_CEIL: return ceil(x);
    case TORT_RESIZE_FLOOR_OR_CEIL: return axis.scale < 1 ? ceil(x) : floor(x);
    case TORT_RESIZE_FLOOR: break;
    }
    return floor(x);
}

static __device__ double weight_of(const tort_resize_params &p, double distance) {
    const double x = fabs(distance), a = p.cubic_a;
    if (p.mode == TORT_RESIZE_LINEAR) return x < 1 ? 1 - x : 0;
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

static __device__ int64_t clamp(double index, int64_t size) {
    if (!(index > 0)) return 0;
    return index < (double)(size - 1) ? (int64_t)index : size - 1;
}

/* True if the kernel is stretched: with antialias, a shrinking axis averages all elements between two output
 * elements. */
static __device__ bool is_stretched(const tort_resize_params &p, const tort_resize_axis &axis) {
    return p.antialias && axis.scale < 1;
}

static __device__ double tap_weight(const tort_resize_params &p, const tort_resize_axis &axis, double x, double index) {
    if (p.exclude_outside && (index < 0 || index > (double)(axis.in - 1))) return 0;
    return weight_of(p, (index - x) * (is_stretched(p, axis) ? axis.scale : 1));
}

static __global__ void resize_table(const tort_resize_params p, int d, gpu_tap *table) {
    const tort_resize_axis &axis = p.axes[d];
    for (size_t out = grid_first(); out < (size_t)axis.out; out += grid_stride()) {
        gpu_tap *taps = table + out * (size_t)axis.taps;
        const double x = coordinate_of(p.transform, axis, (double)out);
        if (p.transform == TORT_RESIZE_TF_CROP_AND_RESIZE && (x < 0 || x > (double)(axis.in - 1))) {
            taps[0].index = -1;
            continue;
        }
        if (p.mode == TORT_RESIZE_NEAREST) {
            taps[0].index = clamp(nearest(p.rounding, axis, x), axis.in);
            taps[0].weight = 1;
            continue;
        }
        const double first = floor(x) + (double)(1 - axis.taps / 2);
        double sum = 0;
        for (int64_t t = 0; t < axis.taps; t++) sum += tap_weight(p, axis, x, first + (double)t);
        /* Unstretched kernels already sum to 1; others are normalized. */
        if (!(is_stretched(p, axis) || p.exclude_outside) || sum == 0) sum = 1;
        for (int64_t t = 0; t < axis.taps; t++) {
            taps[t].index = clamp(first + (double)t, axis.in);
            taps[t].weight = tap_weight(p, axis, x, first + (double)t) / sum;
        }
    }
}

/* ---- combining ---- */

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
            const gpu_tap *taps = r.taps + r.tables[d] + out[d] * axis.taps;
            if (taps[0].index < 0) *outside = true;
            index = taps[c % axis.taps].index;
            weight *= (C)taps[c % axis.taps].weight;
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

/* ---- launchers ---- */

template <class T> static cudaError_t run(gpu_stream stream, const gpu_resize *r, const void *x, void *y) {
    for (int d = 0; d < r->params.rank; d++) {
        if (r->tables[d] < 0) continue;
        const cudaError_t code = launch(resize_table, grid_blocks((size_t)r->params.axes[d].out), GRID_THREADS, 0,
                                        stream, r->params, d, r->taps + r->tables[d]);
        if (code != cudaSuccess) return code;
    }
    return launch(resize_combine<T>, grid_blocks(r->count), GRID_THREADS, 0, stream, *r, (const T *)x, (T *)y);
}

cudaError_t gpu_run_resize(gpu_stream stream, gpu_number type, const gpu_resize *r, const void *x, void *y) {
    if (!r->count) return cudaSuccess;
    return for_number(type, [=](auto zero) { return run<decltype(zero)>(stream, r, x, y); });
}

cudaError_t gpu_load_resize(gpu_number type) {
    const cudaError_t code = load_kernel(resize_table);
    if (code != cudaSuccess) return code;
    return for_number(type, [](auto zero) { return load_kernel(resize_combine<decltype(zero)>); });
}
