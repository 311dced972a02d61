/* conv_transpose.cu - ConvTranspose by gathering: a thread makes an output from all inputs that reach it, so no two
 * threads add to one output. Input i reaches output i * stride + k * dilation - pad. Sums are float, for double they
 * are double.
 * Read first: conv_transpose.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/conv_transpose.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/grid.h"

/* ---- kernel ---- */

/* Returns the input along an axis that kernel position k maps to `out`; -1: none. */
static __device__ __forceinline__ int64_t source(int64_t out, int64_t k, int64_t stride, int64_t dilation, int64_t pad,
                                                 int64_t size) {
    const int64_t at = out + pad - k * dilation;
    return at >= 0 && at % stride == 0 && at / stride < size ? at / stride : -1;
}

/* x, w, bias, y: as the operator has them, in planes. */
template <class T>
static __global__ void conv_transpose(const gpu_nhwc_conv p, size_t count, const T *x, const T *w, const T *bias,
                                      T *y) {
    typedef typename computed<T>::type C;
    const int64_t filters = p.filters * p.group, kernel = (int64_t)p.kernel[0] * p.kernel[1] * p.kernel[2];
    for (size_t i = grid_first(); i < count; i += grid_stride()) {
        int64_t rest = (int64_t)i, out[GPU_CONV_AXES];
#pragma unroll
        for (int axis = GPU_CONV_AXES - 1; axis >= 0; axis--) {
            const int64_t above = rest / p.out[axis];
            out[axis] = rest - above * p.out[axis];
            rest = above;
        }
        const int64_t filter = rest % filters, first = filter / p.filters * p.channels; /* channel of the group */
        const T *from = x + (rest / filters * p.channels * p.group + first) * p.in_pixels;
        const T *weights = w + (first * p.filters + filter % p.filters) * kernel;
        C sum = bias ? (C)bias[filter] : (C)0;
        for (int64_t k = 0; k < kernel; k++) {
            int64_t position = k, pixel = 0, plane = 1;
            bool reaches = true;
#pragma unroll
            for (int axis = GPU_CONV_AXES - 1; axis >= 0; axis--) {
                const int64_t above = position / p.kernel[axis];
                const int64_t in = source(out[axis], position - above * p.kernel[axis], p.stride[axis],
                                          p.dilation[axis], p.pad[axis], p.in[axis]);
                position = above;
                reaches = reaches && in >= 0;
                pixel += in * plane;
                plane *= p.in[axis];
            }
            if (!reaches) continue;
            for (int64_t c = 0; c < p.channels; c++)
                sum += (C)from[c * p.in_pixels + pixel] * (C)weights[c * p.filters * kernel + k];
        }
        y[i] = (T)sum;
    }
}

/* ---- launchers ---- */

cudaError_t gpu_run_conv_transpose(gpu_stream stream, gpu_type type, const gpu_nhwc_conv *p,
                                   const gpu_conv_operands *o) {
    const size_t count = (size_t)(p->rows * p->group * p->filters);
    if (!count) return cudaSuccess;
    return for_real(type, [=](auto zero) {
        typedef decltype(zero) T;
        return launch(conv_transpose<T>, grid_blocks(count), GRID_THREADS, 0, stream, *p, count, (const T *)o->x,
                      (const T *)o->w, (const T *)o->bias, (T *)o->y);
    });
}

cudaError_t gpu_load_conv_transpose(gpu_type type) {
    return for_real(type, [](auto zero) { return load_kernel(conv_transpose<decltype(zero)>); });
}
