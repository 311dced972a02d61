/* sampling.cu - GridSample: a thread takes a point and some channels; RoiAlign, CropAndResize and MaxRoiPool: a
 * thread takes a bin of a channel. Coordinates are computed as in ops/grid_sample.c and ops/roi.c, rounding for
 * rounding, because their last bit decides which elements are read: in double, and rounded to float where the CPU
 * code computes in float. Read first: sampling.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/element.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/index.h"
#include "kernels/cuda/sampling.h"

#define CHANNELS 8 /* per thread of GridSample, which share its taps */

/* ---- GridSample: places ---- */

static __device__ double load_real(gpu_type type, const void *from, size_t i) {
    switch (type) {
    case GPU_HALF: return (double)(float)((const half *)from)[i];
    case GPU_BFLOAT16: return (double)(float)((const bfloat16 *)from)[i];
    case GPU_DOUBLE: return ((const double *)from)[i];
    default: return (double)((const float *)from)[i];
    }
}

static __device__ __forceinline__ double rounded(bool wide, double x) {
    return wide ? x : (double)(float)x;
}

/* Maps -1..1 to 0..size-1 (align_corners: centres of the outer elements) or -0.5..size-0.5 (their edges). */
static __device__ double to_element(const gpu_grid &g, size_t i, int64_t size) {
    const bool wide = g.grid_type == GPU_DOUBLE;
    const double n = rounded(wide, load_real(g.grid_type, g.grid, i) + 1), length = rounded(wide, (double)size);
    if (g.params.align_corners) return rounded(wide, n / 2 * rounded(wide, length - 1));
    return rounded(wide, rounded(wide, n * length) - 1) / 2;
}

/* Reflects x at both borders until it lies between them. */
static __device__ double reflect(double x, double low, double high) {
    const double span = high - low;
    if (!(span > 0) || !isfinite(x)) return 0; /* 0 is in range: low <= 0 */
    const double offset = fmod(fabs(x - low), 2 * span);
    return offset <= span ? low + offset : high - (offset - span);
}

/* Returns the input element for index i of an axis after padding; -1: outside, with value 0. */
static __device__ int64_t padded_index(const tort_grid_params &p, double i, int64_t size) {
    const double last = (double)(size - 1), edge = p.align_corners ? 0 : 0.5;
    if (p.padding == TORT_GRID_ZEROS && !(i >= 0 && i <= last)) return -1;
    if (p.padding == TORT_GRID_REFLECTION && !(i >= 0 && i <= last)) i = reflect(i, -edge, last + edge);
    return !(i > 0) ? 0 : i > last ? size - 1 : (int64_t)i;
}

/* Applies the padding to a coordinate. Cubic with border keeps the coordinate, because the weights depend on it;
 * only the indices of its taps are clamped. */
static __device__ double place_on_axis(const tort_grid_params &p, double x, int64_t size) {
    const double last = (double)(size - 1), edge = p.align_corners ? 0 : 0.5;
    if (p.mode == TORT_GRID_NEAREST) x = nearbyint(x);
    const bool outside = !(x >= -edge && x <= last + edge);
    if (p.padding == TORT_GRID_BORDER && p.mode != TORT_GRID_CUBIC && outside) x = x > last ? last : 0;
    if (p.padding == TORT_GRID_REFLECTION && outside) x = reflect(x, -edge, last + edge);
    return x;
}

struct grid_taps {
    int64_t indices[4];
    double weights[4];
};

static __device__ grid_taps taps_at(const tort_grid_params &p, double x, int64_t size) {
    x = place_on_axis(p, x, size);
    if (!isfinite(x)) x = x > 0 ? (double)(size - 1) + 8 : -8; /* far enough outside that every tap is */
    const double base = floor(x), t = x - base, u = 1 - t, a = -0.75, t1 = t + 1, u1 = u + 1;
    const bool cubic = p.mode == TORT_GRID_CUBIC;
    grid_taps taps = {{0, 0, 0, 0}, {u, t, 0, 0}};
    if (cubic) {
        taps.weights[0] = ((a * t1 - 5 * a) * t1 + 8 * a) * t1 - 4 * a;
        taps.weights[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
        taps.weights[2] = ((a + 2) * u - (a + 3)) * u * u + 1;
        taps.weights[3] = ((a * u1 - 5 * a) * u1 + 8 * a) * u1 - 4 * a;
    }
    for (int k = 0; k < (cubic ? 4 : 2); k++) taps.indices[k] = padded_index(p, base + (double)(k - cubic), size);
    return taps;
}

/* ---- GridSample: kernels ---- */

/* Item i is [batch, group of channels, point]. */
struct grid_item {
    size_t point, entry, channel,
        count; /* entry: offset of its first coordinate; channel: its first, over all batches */
};

static __device__ __forceinline__ grid_item item_of(const tort_grid_params &p, size_t i) {
    const size_t points = (size_t)p.points, channels = (size_t)p.channels,
                 groups = (channels + CHANNELS - 1) / CHANNELS;
    const size_t batch = i / points / groups, first = i / points % groups * CHANNELS;
    return {i % points, (batch * points + i % points) * (size_t)p.spatial, batch * channels + first,
            channels - first < CHANNELS ? channels - first : CHANNELS};
}

static inline size_t items_of(const tort_grid_params &p) {
    return (size_t)p.batch * (((size_t)p.channels + CHANNELS - 1) / CHANNELS) * (size_t)p.points;
}

/* Coordinate 0 belongs to the last axis. The bits of `combination` are one tap number per axis, of one or two bits. */
template <class T> static __global__ void grid_interpolate(const gpu_grid g, size_t count) {
    typedef typename computed<T>::type C;
    const tort_grid_params &p = g.params;
    const int bits = p.mode == TORT_GRID_CUBIC ? 2 : 1;
    for (size_t i = grid_first(); i < count; i += grid_stride()) {
        const grid_item item = item_of(p, i);
        grid_taps taps[TORT_MAX_RANK];
        C sums[CHANNELS] = {};
        for (int d = 0; d < p.spatial; d++)
            taps[d] = taps_at(p, to_element(g, item.entry + (size_t)(p.spatial - 1 - d), p.sizes[d]), p.sizes[d]);
        for (unsigned combination = 0; combination < 1u << bits * p.spatial; combination++) {
            int64_t offset = 0;
            double weight = 1;
            bool inside = true;
            for (int d = 0; d < p.spatial; d++) {
                const unsigned tap = combination >> bits * d & ((1u << bits) - 1);
                inside = inside && taps[d].indices[tap] >= 0;
                offset = offset * p.sizes[d] + taps[d].indices[tap];
                weight *= taps[d].weights[tap];
            }
            const T *x = (const T *)g.x + item.channel * g.elements + (inside ? offset : 0);
            for (size_t c = 0; inside && c < CHANNELS; c++)
                if (c < item.count) sums[c] += (C)weight * (C)x[c * g.elements];
        }
        for (size_t c = 0; c < CHANNELS; c++)
            if (c < item.count) ((T *)g.y)[(item.channel + c) * (size_t)p.points + item.point] = (T)sums[c];
    }
}

template <class T> static __global__ void grid_nearest(const gpu_grid g, size_t count) {
    const tort_grid_params &p = g.params;
    for (size_t i = grid_first(); i < count; i += grid_stride()) {
        const grid_item item = item_of(p, i);
        int64_t offset = 0;
        bool inside = true;
        for (int d = 0; d < p.spatial; d++) {
            const double place = to_element(g, item.entry + (size_t)(p.spatial - 1 - d), p.sizes[d]);
            /* a reflected coordinate may lie between two elements */
            const int64_t index = padded_index(p, trunc(place_on_axis(p, place, p.sizes[d])), p.sizes[d]);
            inside = inside && index >= 0;
            offset = offset * p.sizes[d] + index;
        }
        const T *x = (const T *)g.x + item.channel * g.elements + (inside ? offset : 0);
        for (size_t c = 0; c < item.count; c++)
            ((T *)g.y)[(item.channel + c) * (size_t)p.points + item.point] = inside ? x[c * g.elements] : (T)0;
    }
}

/* ---- AffineGrid ---- */

template <class T> static __global__ void affine_grid(const gpu_affine a) {
    typedef typename computed<T>::type C;
    const size_t spatial = (size_t)a.spatial;
    for (size_t i = grid_first(); i < a.count; i += grid_stride()) {
        size_t rest = i / spatial;
        C places[3];
        for (int d = 0; d < a.spatial; d++) {
            const int64_t size = a.sizes[d], at = (int64_t)(rest % (size_t)size);
            rest /= (size_t)size;
            places[d] = a.align_corners ? (C)(size > 1 ? 2.0 * (double)at / (double)(size - 1) - 1 : 0)
                                        : (C)((2.0 * (double)at + 1) / (double)size - 1);
        }
        const T *row = (const T *)a.theta + (rest * spatial + i % spatial) * (spatial + 1);
        C sum = (C)row[spatial];
        for (int d = 0; d < a.spatial; d++) sum += (C)row[d] * places[d];
        ((T *)a.grid)[i] = (T)sum;
    }
}

/* ---- regions ---- */

#define MAX_SAMPLES 1024 /* max samples per axis that sampling_ratio may request */

/* The element of Y that a thread computes. */
struct roi_bin {
    size_t region;
    int64_t channel, by, bx;
};

static __device__ __forceinline__ roi_bin bin_of(const tort_roi_params &p, size_t i) {
    const size_t wide = (size_t)p.bins_wide, high = (size_t)p.bins_high, item = i / wide / high;
    return {item / (size_t)p.channels, (int64_t)(item % (size_t)p.channels), (int64_t)(i / wide % high),
            (int64_t)(i % wide)};
}

/* Returns the plane of X that a bin reads, or NULL (and reports it) if the batch index is out of range. */
template <class T> static __device__ __forceinline__ const T *plane_of(const gpu_roi &r, const roi_bin &bin) {
    const int64_t batch =
        r.narrow_batches ? ((const int32_t *)r.batches)[bin.region] : ((const int64_t *)r.batches)[bin.region];
    if (batch < 0 || batch >= r.params.batches) {
        report_fault(r.status, r.node, GPU_FAULT_RANGE, batch, bin.region, r.params.batches - 1);
        return NULL;
    }
    return (const T *)r.x + (batch * r.params.channels + bin.channel) * r.params.height * r.params.width;
}

/* Samples of a bin along an axis: those from `first` on, `count` of `samples` in all; the others lie outside. */
struct roi_axis {
    double start, bin, samples, first;
    int64_t count;
};

/* Computes a bin's samples. `size` is the image's: a region may ask for more samples than fit any loop, so the count
 * is limited to those that can lie in the image. */
static __device__ roi_axis axis_of(const tort_roi_params &p, bool wide, double low, double high, int64_t bins,
                                   int64_t index, int64_t size) {
    low = rounded(wide, rounded(wide, low * p.spatial_scale) - p.offset);
    high = rounded(wide, rounded(wide, high * p.spatial_scale) - p.offset);
    double length = rounded(wide, high - low);
    if (p.offset == 0) length = fmax(length, 1.0); /* ROI versions without offset have a minimum of 1 x 1 */
    const double bin = rounded(wide, length / (double)bins);
    const double samples = p.sampling_ratio ? (double)p.sampling_ratio : fmax(ceil(bin), 0.0);
    const double start = rounded(wide, low + rounded(wide, (double)index * bin)), step = bin / samples;
    if (samples <= MAX_SAMPLES) return {start, bin, samples, 0, (int64_t)samples};
    if (!isfinite(start) || !isfinite(step)) return {start, bin, samples, 0, 0};
    const double first = fmax(floor((-1 - start) / step) - 1, 0.0);
    const double last = fmin(ceil(((double)size - start) / step) + 1, samples);
    const int64_t count = first < last ? (int64_t)fmin(last - first, 2 * (double)size + 8) : 0;
    return {start, bin, samples, first, count};
}

static __device__ __forceinline__ double sample_place(bool wide, const roi_axis &axis, int64_t i) {
    const double index = axis.first + (double)i;
    return rounded(wide, axis.start + rounded(wide, rounded(wide, (index + 0.5) * axis.bin) / axis.samples));
}

/* The maximum is over the weighted elements, not the interpolated samples: ONNX defines it so. */
template <class T> static __global__ void roi_align(const gpu_roi r) {
    typedef typename computed<T>::type C;
    const tort_roi_params &p = r.params;
    const bool is_wide = sizeof(T) == sizeof(double);
    const double high = (double)p.height, wide = (double)p.width;
    for (size_t i = grid_first(); i < r.count; i += grid_stride()) {
        const roi_bin bin = bin_of(p, i);
        const T *x = plane_of<T>(r, bin), *corners = (const T *)r.rois + 4 * bin.region;
        if (!x) continue;
        const roi_axis down =
            axis_of(p, is_wide, (double)(C)corners[1], (double)(C)corners[3], p.bins_high, bin.by, p.height);
        const roi_axis across =
            axis_of(p, is_wide, (double)(C)corners[0], (double)(C)corners[2], p.bins_wide, bin.bx, p.width);
        C sum = 0, max = 0;
        double seen = 0;
        for (int64_t k = 0; k < down.count; k++) {
            double y_at = sample_place(is_wide, down, k);
            if (!(y_at >= -1 && y_at <= high)) continue;
            y_at = fmin(fmax(y_at, 0.0), high - 1);
            const int64_t top = (int64_t)y_at, bottom = top + 1 < p.height ? top + 1 : top;
            for (int64_t n = 0; n < across.count; n++) {
                double x_at = sample_place(is_wide, across, n);
                if (!(x_at >= -1 && x_at <= wide)) continue;
                x_at = fmin(fmax(x_at, 0.0), wide - 1);
                const int64_t left = (int64_t)x_at, right = left + 1 < p.width ? left + 1 : left;
                const C lower = (C)(y_at - (double)top), later = (C)(x_at - (double)left);
                const C values[4] = {(1 - lower) * (1 - later) * (C)x[top * p.width + left],
                                     (1 - lower) * later * (C)x[top * p.width + right],
                                     lower * (1 - later) * (C)x[bottom * p.width + left],
                                     lower * later * (C)x[bottom * p.width + right]};
                for (int corner = 0; corner < 4; corner++) {
                    sum += values[corner];
                    if ((seen == 0 && corner == 0) || values[corner] > max) max = values[corner];
                }
                seen++;
            }
        }
        const double samples = down.samples * across.samples;
        if (seen < samples && max < 0) max = 0; /* samples outside count as 0 */
        ((T *)r.y)[i] = (T)(p.max ? max : (C)(sum / (C)fmax(samples, 1.0)));
    }
}

/* Coordinate of sample i of `bins` along an axis; a single sample lies in the middle. */
static __device__ double crop_place(bool wide, double start, double end, int64_t size, int64_t bins, int64_t i) {
    const double last = (double)(size - 1);
    if (bins == 1) return rounded(wide, 0.5 * rounded(wide, start + end) * last);
    if (i == bins - 1) return rounded(wide, end * last);
    const double step = rounded(wide, rounded(wide, rounded(wide, end - start) * last) / (double)(bins - 1));
    return rounded(wide, rounded(wide, start * last) + rounded(wide, (double)i * step));
}

template <class T, class C> static __device__ __forceinline__ C between_columns(const T *row, double at) {
    const C left = (C)row[(int64_t)at], right = (C)row[(int64_t)ceil(at)];
    return left + (right - left) * (C)(at - floor(at));
}

template <class T> static __global__ void crop_and_resize(const gpu_roi r) {
    typedef typename computed<T>::type C;
    const tort_roi_params &p = r.params;
    const bool wide = sizeof(T) == sizeof(double);
    for (size_t i = grid_first(); i < r.count; i += grid_stride()) {
        const roi_bin bin = bin_of(p, i);
        const T *x = plane_of<T>(r, bin), *corners = (const T *)r.rois + 4 * bin.region; /* y1, x1, y2, x2 */
        if (!x) continue;
        const double y_at =
            crop_place(wide, (double)(C)corners[0], (double)(C)corners[2], p.height, p.bins_high, bin.by);
        const double x_at =
            crop_place(wide, (double)(C)corners[1], (double)(C)corners[3], p.width, p.bins_wide, bin.bx);
        C value = (C)p.outside;
        if (y_at >= 0 && y_at <= (double)(p.height - 1) && x_at >= 0 && x_at <= (double)(p.width - 1)) {
            const C top = between_columns<T, C>(x + (int64_t)y_at * p.width, x_at);
            const C bottom = between_columns<T, C>(x + (int64_t)ceil(y_at) * p.width, x_at);
            value = p.nearest ? (C)x[(int64_t)round(y_at) * p.width + (int64_t)round(x_at)]
                              : top + (bottom - top) * (C)(y_at - floor(y_at));
        }
        ((T *)r.y)[i] = (T)value;
    }
}

/* Range of elements of bin i along an axis, clamped to 0 .. size. */
static __device__ void bin_range(double start, double end, int64_t i, int64_t bins, int64_t size, int64_t *from,
                                 int64_t *to) {
    const double bin = fmax(end - start + 1, 1.0) / (double)bins;
    const double low = fmin(fmax(floor((double)i * bin) + start, 0.0), (double)size);
    const double high = fmin(fmax(ceil((double)(i + 1) * bin) + start, 0.0), (double)size);
    *from = low == low ? (int64_t)low : 0;
    *to = high == high ? (int64_t)high : 0;
}

template <class T> static __global__ void roi_pool(const gpu_roi r) {
    typedef typename computed<T>::type C;
    const tort_roi_params &p = r.params;
    for (size_t i = grid_first(); i < r.count; i += grid_stride()) {
        const roi_bin bin = bin_of(p, i);
        const T *region = (const T *)r.rois + 5 * bin.region;
        const double batch = (double)(C)region[0];
        if (!(batch >= 0 && batch < (double)p.batches)) {
            report_fault(r.status, r.node, GPU_FAULT_RANGE, (int64_t)fmax(fmin(batch, 9e18), -9e18), 5 * bin.region,
                         p.batches - 1);
            continue;
        }
        double corners[4];
        for (int k = 0; k < 4; k++) corners[k] = round((double)(C)region[k + 1] * p.spatial_scale);
        int64_t top, bottom, left, right;
        bin_range(corners[1], corners[3], bin.by, p.bins_high, p.height, &top, &bottom);
        bin_range(corners[0], corners[2], bin.bx, p.bins_wide, p.width, &left, &right);
        const T *x = (const T *)r.x + ((int64_t)batch * p.channels + bin.channel) * p.height * p.width;
        C max = top < bottom && left < right ? -(C)INFINITY : (C)0; /* an empty bin is 0 */
        for (int64_t h = top; h < bottom; h++)
            for (int64_t w = left; w < right; w++) max = fmax(max, (C)x[h * p.width + w]);
        ((T *)r.y)[i] = (T)max;
    }
}

/* ---- launchers ---- */

cudaError_t gpu_run_grid(gpu_stream stream, gpu_type type, const gpu_grid *g) {
    const size_t count = items_of(g->params);
    return for_real(type, [=](auto zero) {
        return launch(grid_interpolate<decltype(zero)>, grid_blocks(count), GRID_THREADS, 0, stream, *g, count);
    });
}

cudaError_t gpu_load_grid(gpu_type type) {
    return for_real(type, [](auto zero) { return load_kernel(grid_interpolate<decltype(zero)>); });
}

cudaError_t gpu_run_grid_nearest(gpu_stream stream, int element_bytes, const gpu_grid *g) {
    const size_t count = items_of(g->params);
    return for_bytes(element_bytes, [=](auto zero) {
        return launch(grid_nearest<decltype(zero)>, grid_blocks(count), GRID_THREADS, 0, stream, *g, count);
    });
}

cudaError_t gpu_load_grid_nearest(int element_bytes) {
    return for_bytes(element_bytes, [](auto zero) { return load_kernel(grid_nearest<decltype(zero)>); });
}

cudaError_t gpu_run_affine(gpu_stream stream, gpu_type type, const gpu_affine *a) {
    if (!a->count) return cudaSuccess;
    return for_real(type, [=](auto zero) {
        return launch(affine_grid<decltype(zero)>, grid_blocks(a->count), GRID_THREADS, 0, stream, *a);
    });
}

cudaError_t gpu_load_affine(gpu_type type) {
    return for_real(type, [](auto zero) { return load_kernel(affine_grid<decltype(zero)>); });
}

template <class T> static auto roi_kernel(gpu_roi_kind kind) {
    return kind == GPU_ROI_ALIGN ? roi_align<T> : kind == GPU_ROI_CROP ? crop_and_resize<T> : roi_pool<T>;
}

cudaError_t gpu_run_roi(gpu_stream stream, gpu_roi_kind kind, gpu_type type, const gpu_roi *r) {
    if (!r->count) return cudaSuccess;
    return for_real(type, [=](auto zero) {
        return launch(roi_kernel<decltype(zero)>(kind), grid_blocks(r->count), GRID_THREADS, 0, stream, *r);
    });
}

cudaError_t gpu_load_roi(gpu_roi_kind kind, gpu_type type) {
    return for_real(type, [=](auto zero) { return load_kernel(roi_kernel<decltype(zero)>(kind)); });
}
