/* deform_conv.cu - samples of DeformConv by bilinear interpolation, a thread each. Read first: deform_conv.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/deform_conv.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/grid.h"

template <class C, class T>
static __device__ __forceinline__ C pixel_at(const gpu_deform &p, const T *plane, int64_t row, int64_t column) {
    const bool inside = row >= 0 && row < p.in[0] && column >= 0 && column < p.in[1];
    return inside ? (C)plane[row * p.in[1] + column] : (C)0;
}

/* The value at real coordinates, which is 0 a pixel beyond the image. */
template <class C, class T>
static __device__ __forceinline__ C interpolate(const gpu_deform &p, const T *plane, C y, C x) {
    if (!(y > -1 && y < (C)p.in[0] && x > -1 && x < (C)p.in[1])) return 0;
    const C top = floor(y), left = floor(x), below = y - top, right = x - left;
    const int64_t row = (int64_t)top, column = (int64_t)left;
    return (1 - below) *
               ((1 - right) * pixel_at<C>(p, plane, row, column) + right * pixel_at<C>(p, plane, row, column + 1)) +
           below * ((1 - right) * pixel_at<C>(p, plane, row + 1, column) +
                    right * pixel_at<C>(p, plane, row + 1, column + 1));
}

template <class T> static __global__ void deform_samples(const gpu_deform p) {
    typedef typename computed<T>::type C;
    for (uint64_t i = grid_first(); i < p.count; i += grid_stride()) {
        uint64_t pixel = i, plane = divide(&pixel, p.pixels, p.count), position = plane;
        const uint64_t channel_of_all = divide(&position, p.positions, p.count);
        uint64_t channel = channel_of_all, moves, x = pixel, k_x = position;
        const uint64_t image = divide(&channel, p.channel, p.count);
        const uint64_t y = divide(&x, p.width, p.count), k_y = divide(&k_x, p.kernel_width, p.count);
        moves = channel;
        const int64_t group = (int64_t)image * p.offset_group + (int64_t)divide(&moves, p.moved, p.count);
        const int64_t moved = group * (int64_t)p.positions.value + (int64_t)position, pixels = (int64_t)p.pixels.value;
        const T *offset = (const T *)p.offset + moved * 2 * pixels + (int64_t)pixel;
        const C row = (C)((int64_t)y * p.stride[0] - p.pad[0] + (int64_t)k_y * p.dilation[0]) + (C)offset[0],
                column = (C)((int64_t)x * p.stride[1] - p.pad[1] + (int64_t)k_x * p.dilation[1]) + (C)offset[pixels];
        const T *from = (const T *)p.x + (int64_t)channel_of_all * p.in[0] * p.in[1];
        C value = interpolate<C>(p, from, row, column);
        if (p.mask) value *= (C)((const T *)p.mask)[moved * pixels + (int64_t)pixel];
        ((T *)p.samples)[i] = (T)value;
    }
}

cudaError_t gpu_run_deform_samples(gpu_stream stream, gpu_type type, const gpu_deform *p) {
    return for_real(type, [=](auto zero) {
        return launch(deform_samples<decltype(zero)>, grid_blocks(p->count), GRID_THREADS, 0, stream, *p);
    });
}

cudaError_t gpu_load_deform_samples(gpu_type type) {
    return for_real(type, [](auto zero) { return load_kernel(deform_samples<decltype(zero)>); });
}
