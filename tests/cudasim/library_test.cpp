/* library_test.cpp - the simulated cuBLAS and cuDNN against plain loops, opened as host code opens them; and the fault
 * loop: a small network of both libraries and a kernel, in which the nth call fails, for every n. */
#include <math.h>
#include <string.h>

#include <functional>
#include <vector>

#include "kernels/cuda/library_api.h"
#include "kernels/cudasim/control.h"
#include "kernels/cudasim/small_float.h"
#include "tests/cudasim/check.h"
#include "tests/cudasim/sample_kernels.h"

typedef std::vector<float> Floats;

static const cudasim_control *const control = tinyort_cudasim();

#define POINTER(type, name, parameters) type(*name) parameters;
static struct Libraries {
    CUBLAS_FUNCTIONS(POINTER)
    CUDNN_FUNCTIONS(POINTER)
} lib;
#undef POINTER

static bool open_libraries() {
    void *cublas = cuda_library_open("libcublas.so.13"), *cudnn = cuda_library_open("libcudnn.so.9");
    if (!cublas || !cudnn) return false;
#define RESOLVE(library, name)                                                                                         \
    if (!((void *&)lib.name = cuda_library_symbol(library, #name))) return false;
#define RESOLVE_CUBLAS(type, name, parameters) RESOLVE(cublas, name)
#define RESOLVE_CUDNN(type, name, parameters) RESOLVE(cudnn, name)
    CUBLAS_FUNCTIONS(RESOLVE_CUBLAS)
    CUDNN_FUNCTIONS(RESOLVE_CUDNN)
    return true;
}

static void play(const std::function<void(cudasim_settings &)> &change) {
    cudasim_settings settings = control->defaults();
    change(settings);
    control->configure(&settings);
}

static void test_opening() {
    play([](cudasim_settings &s) { s.cudnn_version = 8; });
    check(!cuda_library_open("libcudnn.so.9"), "cuDNN 9 is not found where 8 is installed");
    check(strstr(cuda_library_error(), "libcudnn.so.9") != nullptr, "the error names it: %s", cuda_library_error());
    check(cuda_library_open("libcudnn.so.8") != nullptr, "cuDNN 8 is found");
    play([](cudasim_settings &s) { s.missing_symbol = "cublasGemmEx"; });
    check(!open_libraries() && strstr(cuda_library_error(), "cublasGemmEx"), "a missing symbol is named");
    play([](cudasim_settings &) {});
    check(open_libraries(), "both libraries open: %s", cuda_library_error());
    check(lib.cudnnGetVersion() / 10000 == 9, "cuDNN version %zu", lib.cudnnGetVersion());
}

/* ---- a network: y = softmax(relu(conv(x, w) + bias) * m); every step may fail ---- */

enum { channels = 2, filters = 3, side = 5, taps = 3, columns = 4, pixels = side * side };

struct Network {
    cudaStream_t stream = nullptr;
    cublasHandle_t cublas = nullptr;
    cudnnHandle_t cudnn = nullptr;
    cudnnTensorDescriptor_t x_shape = nullptr, y_shape = nullptr, bias_shape = nullptr;
    cudnnFilterDescriptor_t w_shape = nullptr;
    cudnnConvolutionDescriptor_t convolution = nullptr;
    cudnnActivationDescriptor_t relu = nullptr;
    float *x = nullptr, *w = nullptr, *bias = nullptr, *m = nullptr, *conv = nullptr, *product = nullptr, *y = nullptr;
    void *workspace = nullptr;
    size_t workspace_bytes = 0;
};

static const cudnnConvolutionFwdAlgo_t algorithm = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;

static bool describe(Network *n) {
    const int x_dims[4] = {1, channels, side, side}, x_strides[4] = {channels * pixels, pixels, side, 1};
    const int y_dims[4] = {1, filters, side, side}, y_strides[4] = {filters * pixels, pixels, side, 1};
    const int bias_dims[4] = {1, filters, 1, 1}, bias_strides[4] = {filters, 1, 1, 1};
    const int w_dims[4] = {filters, channels, taps, taps}, ones[2] = {1, 1};
    return !lib.cudnnCreateTensorDescriptor(&n->x_shape) && !lib.cudnnCreateTensorDescriptor(&n->y_shape) &&
           !lib.cudnnCreateTensorDescriptor(&n->bias_shape) && !lib.cudnnCreateFilterDescriptor(&n->w_shape) &&
           !lib.cudnnCreateConvolutionDescriptor(&n->convolution) && !lib.cudnnCreateActivationDescriptor(&n->relu) &&
           !lib.cudnnSetTensorNdDescriptor(n->x_shape, CUDNN_DATA_FLOAT, 4, x_dims, x_strides) &&
           !lib.cudnnSetTensorNdDescriptor(n->y_shape, CUDNN_DATA_FLOAT, 4, y_dims, y_strides) &&
           !lib.cudnnSetTensorNdDescriptor(n->bias_shape, CUDNN_DATA_FLOAT, 4, bias_dims, bias_strides) &&
           !lib.cudnnSetFilterNdDescriptor(n->w_shape, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 4, w_dims) &&
           !lib.cudnnSetConvolutionNdDescriptor(n->convolution, 2, ones, ones, ones, CUDNN_CROSS_CORRELATION,
                                                CUDNN_DATA_FLOAT) &&
           !lib.cudnnSetConvolutionMathType(n->convolution, CUDNN_FMA_MATH) &&
           !lib.cudnnSetActivationDescriptor(n->relu, CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0) &&
           !lib.cudnnGetConvolutionForwardWorkspaceSize(n->cudnn, n->x_shape, n->w_shape, n->convolution, n->y_shape,
                                                        algorithm, &n->workspace_bytes);
}

static bool to_device(float **memory, const Floats &values, cudaStream_t stream) {
    const size_t bytes = values.size() * sizeof(float);
    return !cudaMalloc((void **)memory, bytes) &&
           !cudaMemcpyAsync(*memory, values.data(), bytes, cudaMemcpyHostToDevice, stream);
}

struct Inputs {
    Floats x, w, bias, m;
};

static bool run(Network *n, const Inputs &in, Floats *y) {
    const float one = 1, zero = 0;
    const size_t y_bytes = filters * columns * sizeof(float);
    y->assign(filters * columns, -1.0f);
    return !cudaStreamCreateWithFlags(&n->stream, cudaStreamNonBlocking) && !lib.cublasCreate_v2(&n->cublas) &&
           !lib.cublasSetStream_v2(n->cublas, n->stream) && !lib.cudnnCreate(&n->cudnn) &&
           !lib.cudnnSetStream(n->cudnn, n->stream) && describe(n) && to_device(&n->x, in.x, n->stream) &&
           to_device(&n->w, in.w, n->stream) && to_device(&n->bias, in.bias, n->stream) &&
           to_device(&n->m, in.m, n->stream) && !cudaMalloc((void **)&n->conv, filters * pixels * sizeof(float)) &&
           !cudaMalloc((void **)&n->product, y_bytes) && !cudaMalloc((void **)&n->y, y_bytes) &&
           !cudaMalloc(&n->workspace, n->workspace_bytes) &&
           !lib.cudnnConvolutionBiasActivationForward(
               n->cudnn, &one, n->x_shape, n->x, n->w_shape, n->w, n->convolution, algorithm, n->workspace,
               n->workspace_bytes, &zero, n->y_shape, n->conv, n->bias_shape, n->bias, n->relu, n->y_shape, n->conv) &&
           !lib.cublasGemmEx(n->cublas, CUBLAS_OP_N, CUBLAS_OP_N, columns, filters, pixels, &one, n->m, CUDA_R_32F,
                             columns, n->conv, CUDA_R_32F, pixels, &zero, n->product, CUDA_R_32F, columns,
                             CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT) &&
           !sample_softmax_f32(n->stream, n->product, n->y, filters, columns) &&
           !cudaMemcpyAsync(y->data(), n->y, y_bytes, cudaMemcpyDeviceToHost, n->stream) &&
           !cudaStreamSynchronize(n->stream);
}

static void release(Network *n) {
    for (float *memory : {n->x, n->w, n->bias, n->m, n->conv, n->product, n->y}) cudaFree(memory);
    cudaFree(n->workspace);
    for (cudnnTensorDescriptor_t shape : {n->x_shape, n->y_shape, n->bias_shape})
        if (shape) lib.cudnnDestroyTensorDescriptor(shape);
    if (n->w_shape) lib.cudnnDestroyFilterDescriptor(n->w_shape);
    if (n->convolution) lib.cudnnDestroyConvolutionDescriptor(n->convolution);
    if (n->relu) lib.cudnnDestroyActivationDescriptor(n->relu);
    if (n->cudnn) lib.cudnnDestroy(n->cudnn);
    if (n->cublas) lib.cublasDestroy_v2(n->cublas);
    if (n->stream) cudaStreamDestroy(n->stream);
}

static bool run_network(const Inputs &in, Floats *y) {
    Network network;
    const bool fine = run(&network, in, y);
    release(&network);
    return fine;
}

static float conv_at(const Inputs &in, int k, int p, int q) {
    double sum = in.bias[k];
    for (int c = 0; c < channels; c++)
        for (int r = 0; r < taps; r++)
            for (int s = 0; s < taps; s++) {
                const int row = p + r - 1, column = q + s - 1;
                if (row < 0 || row >= side || column < 0 || column >= side) continue;
                sum +=
                    (double)in.x[c * pixels + row * side + column] * in.w[((k * channels + c) * taps + r) * taps + s];
            }
    return sum > 0 ? (float)sum : 0.0f;
}

static Floats expected_output(const Inputs &in) {
    Floats y(filters * columns);
    for (int k = 0; k < filters; k++) {
        double values[columns] = {0}, total = 0;
        for (int i = 0; i < pixels; i++)
            for (int j = 0; j < columns; j++)
                values[j] += (double)conv_at(in, k, i / side, i % side) * in.m[i * columns + j];
        for (double value : values) total += exp(value);
        for (int j = 0; j < columns; j++) y[k * columns + j] = (float)(exp(values[j]) / total);
    }
    return y;
}

static Floats some_floats(size_t count, unsigned state) {
    Floats values(count);
    for (float &value : values) {
        state = state * 1664525u + 1013904223u;
        value = (float)(int)(state >> 16 & 255) / 256.0f - 0.5f;
    }
    return values;
}

static void check_released(const char *when, int n) {
    char text[256];
    check(!control->leftovers(text, sizeof text), "%s %d: left over: %s", when, n, text);
}

/* Failures in clean-up calls leave the result right; all others must be reported. */
static void test_faults(const Inputs &in, const Floats &expected) {
    play([](cudasim_settings &) {});
    Floats y;
    check(run_network(in, &y), "the network runs");
    for (size_t i = 0; i < y.size(); i++) check(fabsf(y[i] - expected[i]) < 1e-5f, "output %zu: %g", i, y[i]);
    const int calls = control->calls(nullptr);
    check(calls > 50, "it makes %d calls", calls);
    check_released("after call", 0);
    for (int code : {cudaErrorMemoryAllocation, cudaErrorUnknown, cudaErrorLaunchFailure}) {
        int reported = 0;
        for (int n = 1; n <= calls; n++) {
            play([](cudasim_settings &) {});
            control->fail_nth(nullptr, n, code);
            const bool fine = run_network(in, &y);
            reported += !fine;
            if (fine) check(fabsf(y[0] - expected[0]) < 1e-5f, "call %d failed, and the output is wrong", n);
            check_released("after the failure of call", n);
        }
        check(reported > calls / 2 && reported < calls, "%d of %d failures were reported", reported, calls);
    }
}

static void test_lazy_streams(const Inputs &in, const Floats &expected) {
    play([](cudasim_settings &s) { s.lazy_streams = true; });
    Floats y;
    check(run_network(in, &y), "the network runs on lazy streams");
    for (size_t i = 0; i < y.size(); i++) check(fabsf(y[i] - expected[i]) < 1e-5f, "lazy output %zu: %g", i, y[i]);
    check_released("on lazy streams", 0);
}

/* ---- products in other types, transposed, batched; TF32 only where it was asked for ---- */

static float product_with(cublasMath_t math, cublasComputeType_t compute) {
    const float values[2] = {1.0009765625f + 0x1p-13f, 3}, one = 1, zero = 0; /* more bits than TF32 has */
    float *memory = nullptr, result = 0;
    cublasHandle_t handle = nullptr;
    check(!cudaMalloc((void **)&memory, 3 * sizeof(float)) && !lib.cublasCreate_v2(&handle), "set-up");
    check(!cudaMemcpy(memory, values, sizeof values, cudaMemcpyHostToDevice), "copy");
    check(!lib.cublasSetMathMode(handle, math), "cublasSetMathMode");
    check(!lib.cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, memory, CUDA_R_32F, 1, memory + 1,
                            CUDA_R_32F, 1, &zero, memory + 2, CUDA_R_32F, 1, compute, CUBLAS_GEMM_DEFAULT),
          "cublasGemmEx");
    check(!cudaMemcpy(&result, memory + 2, sizeof result, cudaMemcpyDeviceToHost), "copy");
    check(!lib.cublasDestroy_v2(handle) && !cudaFree(memory), "clean-up");
    return result;
}

static void test_tf32() {
    play([](cudasim_settings &) {});
    const float exact = (1.0009765625f + 0x1p-13f) * 3;
    check(product_with(CUBLAS_DEFAULT_MATH, CUBLAS_COMPUTE_32F) == exact, "the default is exact");
    check(product_with(CUBLAS_TF32_TENSOR_OP_MATH, CUBLAS_COMPUTE_32F) != exact, "the math mode asks for TF32");
    check(product_with(CUBLAS_DEFAULT_MATH, CUBLAS_COMPUTE_32F_FAST_TF32) != exact, "the compute type asks for TF32");
    check(product_with(CUBLAS_TF32_TENSOR_OP_MATH, CUBLAS_COMPUTE_32F_PEDANTIC) == exact, "pedantic overrules");
}

/* ---- what cuDNN refuses, and how its algorithms differ ---- */

static void test_cudnn_refusals(const Inputs &in) {
    play([](cudasim_settings &) {});
    Network n;
    Floats y;
    check(run(&n, in, &y), "the network runs");
    const float one = 1, zero = 0;
    const auto convolve = [&](const float *x, cudnnConvolutionFwdAlgo_t chosen, size_t bytes, float *out) {
        return lib.cudnnConvolutionForward(n.cudnn, &one, n.x_shape, x, n.w_shape, n.w, n.convolution, chosen,
                                           n.workspace, bytes, &zero, n.y_shape, out);
    };
    const auto convolve_biased = [&](cudnnConvolutionFwdAlgo_t chosen, cudnnTensorDescriptor_t bias_shape) {
        return lib.cudnnConvolutionBiasActivationForward(n.cudnn, &one, n.x_shape, n.x, n.w_shape, n.w, n.convolution,
                                                         chosen, n.workspace, n.workspace_bytes, &zero, n.y_shape,
                                                         n.conv, bias_shape, n.bias, n.relu, n.y_shape, n.conv);
    };
    const auto describe_activation = [&](cudnnActivationMode_t mode, cudnnNanPropagation_t nan) {
        check(!lib.cudnnSetActivationDescriptor(n.relu, mode, nan, 0), "cudnnSetActivationDescriptor");
    };
    const int dims[4] = {2, 1 << 15, 1 << 15, 1}, strides[4] = {1 << 30, 1 << 15, 1, 1}, none[4] = {1, 0, 1, 1};
    check(convolve(n.x, algorithm, n.workspace_bytes - 1, n.conv) == CUDNN_STATUS_BAD_PARAM, "too little workspace");
    check(convolve(n.x + 1, algorithm, n.workspace_bytes, n.conv) == CUDNN_STATUS_BAD_PARAM, "a misaligned tensor");
    check(convolve(n.x, algorithm, n.workspace_bytes, n.x) == CUDNN_STATUS_BAD_PARAM, "a result over its operand");
    check(convolve(n.x, CUDNN_CONVOLUTION_FWD_ALGO_FFT, n.workspace_bytes, n.conv) == CUDNN_STATUS_NOT_SUPPORTED,
          "FFT");
    check(!convolve(n.x, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, 0, n.conv), "IMPLICIT_GEMM without workspace");
    check(convolve_biased(algorithm, n.x_shape) == CUDNN_STATUS_NOT_SUPPORTED,
          "a bias that is not one value a channel");
    describe_activation(CUDNN_ACTIVATION_RELU, CUDNN_PROPAGATE_NAN);
    check(convolve_biased(algorithm, n.bias_shape) == CUDNN_STATUS_NOT_SUPPORTED, "NaN propagated");
    describe_activation(CUDNN_ACTIVATION_IDENTITY, CUDNN_NOT_PROPAGATE_NAN);
    check(convolve_biased(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, n.bias_shape) == CUDNN_STATUS_NOT_SUPPORTED,
          "no activation with another algorithm than IMPLICIT_PRECOMP_GEMM");
    check(!convolve_biased(algorithm, n.bias_shape), "no activation with it");
    check(lib.cudnnSetTensorNdDescriptor(n.x_shape, CUDNN_DATA_FLOAT, 4, dims, strides) == CUDNN_STATUS_NOT_SUPPORTED,
          "2^31 elements");
    check(lib.cudnnSetTensorNdDescriptor(n.x_shape, CUDNN_DATA_FLOAT, 4, none, strides) == CUDNN_STATUS_BAD_PARAM,
          "no elements");
    check(lib.cudnnSetTensorNdDescriptor(n.x_shape, CUDNN_DATA_FLOAT, 3, dims, strides) == CUDNN_STATUS_NOT_SUPPORTED,
          "three dims");
    const cudnnTensorDescriptor_t gone = n.x_shape;
    check(!lib.cudnnDestroyTensorDescriptor(gone), "cudnnDestroyTensorDescriptor");
    check(convolve(n.x, algorithm, n.workspace_bytes, n.conv) == CUDNN_STATUS_BAD_PARAM, "a dead descriptor");
    n.x_shape = nullptr;
    check(!cudaStreamSynchronize(n.stream), "synchronize");
    release(&n);
    check_released("after refusals", 0);
}

/* y = relu(convolution + bias + z), where z is what the network's own convolution made: 2 z, as Relu leaves only what
 * is positive. */
static void test_cudnn_residual(const Inputs &in) {
    play([](cudasim_settings &) {});
    Network n;
    Floats y, sums(filters * pixels);
    float *memory = nullptr;
    check(run(&n, in, &y) && to_device(&memory, sums, n.stream), "the network runs");
    const float one = 1;
    const auto convolve = [&](const float *z) {
        return lib.cudnnConvolutionBiasActivationForward(n.cudnn, &one, n.x_shape, n.x, n.w_shape, n.w, n.convolution,
                                                         algorithm, n.workspace, n.workspace_bytes, &one, n.y_shape, z,
                                                         n.bias_shape, n.bias, n.relu, n.y_shape, memory);
    };
    check(!convolve(n.conv), "with a residual");
    check(convolve(n.conv + 1) == CUDNN_STATUS_BAD_PARAM, "a misaligned residual");
    check(!cudaMemcpyAsync(sums.data(), memory, sums.size() * sizeof(float), cudaMemcpyDeviceToHost, n.stream) &&
              !cudaStreamSynchronize(n.stream),
          "copy");
    for (int i = 0; i < filters * pixels; i++) {
        const float expected = 2 * conv_at(in, i / pixels, i % pixels / side, i % side);
        check(fabsf(sums[i] - expected) < 1e-5f, "sum %d is %g, expected %g", i, sums[i], expected);
    }
    check(!cudaFree(memory), "clean-up");
    release(&n);
    check_released("after a residual", 0);
}

static void test_batched_half() {
    play([](cudasim_settings &) {});
    enum { m = 3, n = 2, k = 4, batch = 2 };
    const float alpha = 2, beta = 1;
    std::vector<__half> a(batch * m * k), b(batch * k * n);
    Floats c(batch * m * n, 1.0f);
    for (size_t i = 0; i < a.size(); i++) a[i] = __half((float)(i % 5));
    for (size_t i = 0; i < b.size(); i++) b[i] = __half((float)(i % 3));
    char *memory = nullptr;
    cublasHandle_t handle = nullptr;
    const size_t a_bytes = a.size() * 2, b_bytes = b.size() * 2, c_bytes = c.size() * 4;
    check(!cudaMalloc((void **)&memory, 1024) && !lib.cublasCreate_v2(&handle), "set-up");
    cudaMemcpy(memory, a.data(), a_bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(memory + 256, b.data(), b_bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(memory + 512, c.data(), c_bytes, cudaMemcpyHostToDevice);
    check(!lib.cublasGemmStridedBatchedEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, k, &alpha, memory, CUDA_R_16F, k,
                                          m * k, memory + 256, CUDA_R_16F, k, k * n, &beta, memory + 512, CUDA_R_32F, m,
                                          m * n, batch, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
          "cublasGemmStridedBatchedEx");
    cudaMemcpy(c.data(), memory + 512, c_bytes, cudaMemcpyDeviceToHost);
    for (int g = 0; g < batch; g++)
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) {
                float sum = 0;
                for (int x = 0; x < k; x++) sum += (float)a[(g * m + i) * k + x] * (float)b[(g * n + j) * k + x];
                const float found = c[(g * n + j) * m + i];
                check(found == 2 * sum + 1, "batch %d at %d,%d: %g, not %g", g, i, j, found, 2 * sum + 1);
            }
    check(lib.cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, memory, CUDA_R_16F, m - 1, memory + 256,
                           CUDA_R_16F, k, &beta, memory + 512, CUDA_R_32F, m, CUBLAS_COMPUTE_32F,
                           CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_INVALID_VALUE,
          "a leading dimension below the rows is refused");
    check(!lib.cublasDestroy_v2(handle) && !cudaFree(memory), "clean-up");
    check(lib.cublasDestroy_v2(handle) == CUBLAS_STATUS_NOT_INITIALIZED, "a destroyed handle is refused");
}

int main() {
    test_opening();
    const Inputs in = {some_floats(channels * pixels, 1), some_floats(filters * channels * taps * taps, 2),
                       some_floats(filters, 3), some_floats(pixels * columns, 4)};
    const Floats expected = expected_output(in);
    test_faults(in, expected);
    test_lazy_streams(in, expected);
    test_tf32();
    test_batched_half();
    test_cudnn_refusals(in);
    test_cudnn_residual(in);
    check_released("at the end", 0);
    return summary("cudasim-libraries");
}
