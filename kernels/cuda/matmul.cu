/* matmul.cu - products of matrices with any strides and broadcast batches. Read first: matmul.c, product.cuh. */
#include "kernels/cuda/product.cuh"

#include "kernels/cuda/grid.h"
#include "kernels/cuda/matmul.h"

/* ---- output ---- */

template <class T> struct scaled_output {
    T *data;
    const T *c, *residual;
    int64_t columns, c_row, c_column;
    float alpha, beta;
    tort_epilogue epilogue;
    __device__ void operator()(int64_t row, int64_t column, float sum) const {
        const int64_t at = row * columns + column;
        float value = alpha * sum;
        if (c) value += beta * (float)c[row * c_row + column * c_column];
        data[at] = finish(epilogue, residual, at, value);
    }
};

/* ---- kernel: tiles of the output along x, products of the batch along y ---- */

template <class T>
static __global__ void matmul(gpu_matmul p, const T *a, const T *b, const T *c, const T *residual, T *y) {
    for (int64_t batch = blockIdx.y; batch < p.batches; batch += gridDim.y) {
        int64_t a_first = 0, b_first = 0, rest = batch;
        for (int i = p.batch_rank - 1; i >= 0; i--) {
            const int64_t at = rest % p.batch_dims[i];
            rest /= p.batch_dims[i];
            a_first += at * p.a_batch[i];
            b_first += at * p.b_batch[i];
        }
        const strided_lines<T> left = {a + a_first, p.a_row, p.a_column}, right = {b + b_first, p.b_column, p.b_row};
        const int64_t first = batch * p.m * p.n;
        const scaled_output<T> out = {
            y + first, c, residual ? residual + first : nullptr, p.n, p.c_row, p.c_column, p.alpha, p.beta, p.epilogue};
        product<T>::run(left, right, out, p.m, p.n, p.k);
    }
}

/* ---- launcher ---- */

template <class T>
static cudaError_t run(gpu_stream stream, const gpu_matmul *p, const void *a, const void *b, const void *c,
                       const void *residual, void *y) {
    const int64_t tiles = tile_count(p->m, p->n);
    if (!tiles || !p->batches) return cudaSuccess;
    return launch(matmul<T>, dim3(grid_extent((size_t)tiles), grid_extent((size_t)p->batches)), product<T>::BLOCK_SIZE,
                  0, stream, *p, (const T *)a, (const T *)b, (const T *)c, (const T *)residual, (T *)y);
}

cudaError_t gpu_run_matmul(gpu_stream stream, gpu_type type, const gpu_matmul *p, const void *a, const void *b,
                           const void *c, const void *residual, void *y) {
    return type == GPU_HALF ? run<half>(stream, p, a, b, c, residual, y) : run<float>(stream, p, a, b, c, residual, y);
}

cudaError_t gpu_load_matmul(gpu_type type) {
    return type == GPU_HALF ? load_kernel(matmul<half>) : load_kernel(matmul<float>);
}
