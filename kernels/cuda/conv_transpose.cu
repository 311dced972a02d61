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

template <class T>
static __global__ void conv_transpose(const gpu_conv p, size_t count, const T *x, const T *w, const T *bias, T *y) {
    typedef typename computed<T>::type C;
    const gpu_window &g = p.window;
    const int64_t filters = p.filters * p.group, plane = g.in_h * g.in_w, kernel = g.kernel_h * g.kernel_w;
    for (size_t i = grid_first(); i < count; i += grid_stride()) {
        const int64_t out_w = (int64_t)i % g.out_w, out_h = (int64_t)i / g.out_w % g.out_h;
        const int64_t rest = (int64_t)i / (g.out_w * g.out_h), filter = rest % filters;
        const int64_t group = filter / p.filters, first = group * p.channels; /* channel */
        const T *from = x + (rest / filters * p.channels * p.group + first) * plane;
        const T *weights = w + (first * p.filters + filter % p.filters) * kernel;
        C sum = bias ? (C)bias[filter] : (C)0;
        for (int64_t row = 0; row < g.kernel_h; row++) {
            const int64_t in_h = source(out_h, row, g.stride_h, g.dilation_h, g.pad_h, g.in_h);
            for (int64_t column = 0; in_h >= 0 && column < g.kernel_w; column++) {
                const int64_t in_w = source(out_w, column, g.stride_w, g.dilation_w, g.pad_w, g.in_w);
                if (in_w < 0) continue;
                const T *pixel = from + in_h * g.in_w + in_w, *weight = weights + row * g.kernel_w + column;
                for (int64_t c = 0; c < p.channels; c++) sum += (C)pixel[c * plane] * (C)weight[c * p.filters * kernel];
            }
        }
        y[i] = (T)sum;
    }
}

/* ---- launchers ---- */

template <class T> static cudaError_t run(gpu_stream stream, const gpu_conv *p, const gpu_conv_operands *o) {
    const size_t count = (size_t)(p->batch * p->group * p->filters * p->window.out_h * p->window.out_w);
    if (!count) return cudaSuccess;
    return launch(conv_transpose<T>, grid_blocks(count), GRID_THREADS, 0, stream, *p, count, (const T *)o->x,
                  (const T *)o->w, (const T *)o->bias, (T *)o->y);
}

cudaError_t gpu_run_conv_transpose(gpu_stream stream, gpu_type type, const gpu_conv *p, const gpu_conv_operands *o) {
    return for_real(type, [=](auto zero) { return run<decltype(zero)>(stream, p, o); });
}

cudaError_t gpu_load_conv_transpose(gpu_type type) {
    return for_real(type, [](auto zero) { return load_kernel(conv_transpose<decltype(zero)>); });
}
