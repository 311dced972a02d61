/* signal.cu - HannWindow, HammingWindow, BlackmanWindow and MelWeightMatrix, in double, a thread an element. Read
 * first: signal.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/any_number.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/signal.h"

static __global__ void window(gpu_number type, tort_cosines c, double period, void *y, size_t count) {
    for (size_t n = grid_first(); n < count; n += grid_stride()) {
        const double turns = 2 * (double)n / period;
        store_real(type, y, n, c.a - c.b * cospi(turns) + c.c * cospi(2 * turns));
    }
}

static __global__ void mel_weights(const gpu_mel m) {
    for (size_t i = grid_first(); i < (size_t)(m.rows * m.columns); i += grid_stride()) {
        const int64_t row = (int64_t)i / m.columns, column = (int64_t)i - row * m.columns;
        const int64_t left = m.bins[column], center = m.bins[column + 1], right = m.bins[column + 2];
        double weight = row == center ? 1 : 0;
        if (row >= left && row < center) weight = (double)(row - left) / (double)(center - left);
        if (row > center && row < right) weight = (double)(right - row) / (double)(right - center);
        store_real(m.type, m.y, i, weight);
    }
}

cudaError_t gpu_run_window(gpu_stream stream, gpu_number type, tort_cosines cosines, double period, void *y,
                           size_t count) {
    return launch(window, grid_blocks(count), GRID_THREADS, 0, stream, type, cosines, period, y, count);
}

cudaError_t gpu_run_mel(gpu_stream stream, const gpu_mel *m) {
    return launch(mel_weights, grid_blocks((size_t)(m->rows * m->columns)), GRID_THREADS, 0, stream, *m);
}

cudaError_t gpu_load_signal() {
    const cudaError_t code = load_kernel(window);
    return code == cudaSuccess ? load_kernel(mel_weights) : code;
}
