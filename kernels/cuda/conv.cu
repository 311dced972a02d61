/* conv.cu - Conv and FusedConv over one or two spatial axes: as an implicit matrix product, and directly where every
 * channel is a group of its own. Read first: conv.c, product.cuh. */
#include "kernels/cuda/product.cuh"

#include "kernels/cuda/conv.h"
#include "kernels/cuda/grid.h"

/* ---- implicit product: weights (filters, channels*kernel) by windows (channels*kernel, batch*out_h*out_w) ---- */

/* The windows of the output's pixels, zero in the padding. */
template <class T> struct windows {
    const T *data; /* of this group's first channel in image 0 */
    gpu_conv p;
    struct line_type { /* of one pixel: elements are (channel, row, column) */
        const T *image;
        const gpu_window *g;
        int64_t first_h, first_w;
        __device__ __forceinline__ T operator()(int64_t at) const {
            const int64_t rows = at / g->kernel_w, column = at - rows * g->kernel_w;
            const int64_t channel = rows / g->kernel_h, row = rows - channel * g->kernel_h;
            const int64_t h = first_h + row * g->dilation_h, w = first_w + column * g->dilation_w;
            if (h < 0 || h >= g->in_h || w < 0 || w >= g->in_w) return (T)0.0f;
            return image[(channel * g->in_h + h) * g->in_w + w];
        }
    };
    __device__ __forceinline__ bool along_k() const {
        return false;
    }
    __device__ __forceinline__ line_type line(int64_t pixel) const {
        const gpu_window &g = p.window;
        const int64_t rows = pixel / g.out_w, out_w = pixel - rows * g.out_w;
        const int64_t image = rows / g.out_h, out_h = rows - image * g.out_h;
        return {data + image * p.group * p.channels * g.in_h * g.in_w, &g, out_h * g.stride_h - g.pad_h,
                out_w * g.stride_w - g.pad_w};
    }
};

template <class T> struct conv_output {
    T *data;
    const T *bias, *residual;                     /* bias: of this group's first filter; NULL: none */
    int64_t filters, group_filters_first, pixels; /* filters of all groups; pixels of one image */
    tort_epilogue epilogue;
    __device__ void operator()(int64_t filter, int64_t pixel, float sum) const {
        const int64_t image = pixel / pixels;
        const int64_t at = (image * filters + group_filters_first + filter) * pixels + pixel % pixels;
        if (bias) sum += (float)bias[filter];
        data[at] = finish(epilogue, residual, at, sum);
    }
};

/* Tiles of the output along x, groups along y. */
template <class T>
static __global__ void conv(gpu_conv p, const T *x, const T *w, const T *bias, const T *residual, T *y) {
    const gpu_window &g = p.window;
    const int64_t length = p.channels * g.kernel_h * g.kernel_w, pixels = g.out_h * g.out_w;
    for (int64_t group = blockIdx.y; group < p.group; group += gridDim.y) {
        const strided_lines<T> left = {w + group * p.filters * length, length, 1};
        const windows<T> right = {x + group * p.channels * g.in_h * g.in_w, p};
        const conv_output<T> out = {y,
                                    bias ? bias + group * p.filters : nullptr,
                                    residual,
                                    p.group * p.filters,
                                    group * p.filters,
                                    pixels,
                                    p.epilogue};
        product<T>::run(left, right, out, p.filters, p.batch * pixels, length);
    }
}

/* ---- depthwise: one thread an output; filters is how many outputs a channel has ---- */

template <class T>
static __global__ void conv_depthwise(gpu_conv p, const T *x, const T *w, const T *bias, const T *residual, T *y,
                                      size_t count) {
    const gpu_window &g = p.window;
    for (size_t i = grid_first(); i < count; i += grid_stride()) {
        const int64_t out_w = (int64_t)i % g.out_w, out_h = (int64_t)i / g.out_w % g.out_h;
        const int64_t plane = (int64_t)i / (g.out_w * g.out_h), filters = p.group * p.filters;
        const int64_t filter = plane % filters, image = plane / filters;
        const T *input = x + (image * p.group + filter / p.filters) * g.in_h * g.in_w;
        const T *weight = w + filter * g.kernel_h * g.kernel_w;
        float sum = bias ? (float)bias[filter] : 0.0f;
        for (int64_t row = 0; row < g.kernel_h; row++) {
            const int64_t h = out_h * g.stride_h - g.pad_h + row * g.dilation_h;
            if (h < 0 || h >= g.in_h) continue;
            for (int64_t column = 0; column < g.kernel_w; column++) {
                const int64_t at = out_w * g.stride_w - g.pad_w + column * g.dilation_w;
                if (at < 0 || at >= g.in_w) continue;
                sum += (float)input[h * g.in_w + at] * (float)weight[row * g.kernel_w + column];
            }
        }
        y[i] = finish(p.epilogue, residual, (int64_t)i, sum);
    }
}

/* ---- launchers ---- */

template <class T> static cudaError_t run(gpu_stream stream, const gpu_conv *p, const gpu_conv_operands *o) {
    const int64_t tiles = tile_count(p->filters, p->batch * p->window.out_h * p->window.out_w);
    if (!tiles || !p->group) return cudaSuccess;
    return launch(conv<T>, dim3(grid_extent((size_t)tiles), grid_extent((size_t)p->group)), product<T>::BLOCK_SIZE, 0,
                  stream, *p, (const T *)o->x, (const T *)o->w, (const T *)o->bias, (const T *)o->residual, (T *)o->y);
}

template <class T> static cudaError_t run_depthwise(gpu_stream stream, const gpu_conv *p, const gpu_conv_operands *o) {
    const size_t count = (size_t)(p->batch * p->group * p->filters * p->window.out_h * p->window.out_w);
    if (!count) return cudaSuccess;
    return launch(conv_depthwise<T>, grid_blocks(count), GRID_THREADS, 0, stream, *p, (const T *)o->x, (const T *)o->w,
                  (const T *)o->bias, (const T *)o->residual, (T *)o->y, count);
}

cudaError_t gpu_run_conv(gpu_stream stream, gpu_type type, const gpu_conv *p, const gpu_conv_operands *o) {
    return type == GPU_HALF ? run<half>(stream, p, o) : run<float>(stream, p, o);
}

cudaError_t gpu_run_conv_depthwise(gpu_stream stream, gpu_type type, const gpu_conv *p, const gpu_conv_operands *o) {
    return type == GPU_HALF ? run_depthwise<half>(stream, p, o) : run_depthwise<float>(stream, p, o);
}

cudaError_t gpu_load_conv(gpu_type type) {
    return type == GPU_HALF ? load_kernel(conv<half>) : load_kernel(conv<float>);
}

cudaError_t gpu_load_conv_depthwise(gpu_type type) {
    return type == GPU_HALF ? load_kernel(conv_depthwise<half>) : load_kernel(conv_depthwise<float>);
}
