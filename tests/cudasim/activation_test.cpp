/* activation_test.cpp - every activation of an epilogue, in float, against its definition in double over numbers of all
 * sizes: the approximations of activation.h stay within 1e-6 of the result or of 1. What the simulated device does not
 * have are the errors of ex2 and rcp themselves, 2^-22 of the result. */
#include <math.h>

#include <vector>

#include "kernels/cuda/gpu.h"

#include "kernels/cuda/epilogue.h"
#include "kernels/cudasim/control.h"
#include "tests/cudasim/check.h"

static double normal_below(double x) {
    return 0.5 * erfc(-x / sqrt(2.0));
}

static double limited(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

/* As ops/epilogue.h defines them. */
static double expected(tort_activation activation, double x, double alpha, double beta) {
    switch (activation) {
    case TORT_ACTIVATION_NONE: return x;
    case TORT_ACTIVATION_RELU: return x > 0 ? x : 0;
    case TORT_ACTIVATION_LEAKY_RELU: return x < 0 ? alpha * x : x;
    case TORT_ACTIVATION_CLIP: return limited(x, alpha, beta);
    case TORT_ACTIVATION_SIGMOID: return 1 / (1 + exp(-x));
    case TORT_ACTIVATION_SILU: return x / (1 + exp(-x));
    case TORT_ACTIVATION_HARD_SIGMOID: return limited(alpha * x + beta, 0, 1);
    case TORT_ACTIVATION_HARD_SWISH: return x * limited(x / 6 + 0.5, 0, 1);
    case TORT_ACTIVATION_GELU: return x * normal_below(x);
    case TORT_ACTIVATION_GELU_TANH: return x / (1 + exp(-2 * sqrt(2 / acos(-1.0)) * (x + 0.044715 * x * x * x)));
    case TORT_ACTIVATION_TANH: return tanh(x);
    case TORT_ACTIVATION_ELU: return x < 0 ? alpha * expm1(x) : x;
    case TORT_ACTIVATION_SELU: return beta * (x < 0 ? alpha * expm1(x) : x);
    case TORT_ACTIVATION_CELU: return x < 0 ? alpha * expm1(x / alpha) : x;
    case TORT_ACTIVATION_SOFTPLUS: return fmax(x, 0) + log1p(exp(-fabs(x)));
    case TORT_ACTIVATION_SOFTSIGN: return x / (1 + fabs(x));
    default: return x > alpha ? x : 0;
    }
}

static std::vector<float> numbers() {
    std::vector<float> x = {0.0f, -0.0f, 1e-30f, -1e-30f, 2e38f, -2e38f, 1e30f, -1e30f, 87.5f, -87.5f, 0.625f, 100.0f};
    for (float size = 1e-6f; size < 30.0f; size *= 1.003f) {
        x.push_back(size);
        x.push_back(-size);
    }
    x.push_back(NAN);
    return x;
}

static std::vector<float> run(const tort_epilogue &epilogue, const std::vector<float> &x) {
    std::vector<float> y(x.size());
    float *data = nullptr;
    const size_t bytes = x.size() * sizeof(float);
    check(!cudaMalloc((void **)&data, bytes), "cudaMalloc");
    check(!cudaMemcpy(data, x.data(), bytes, cudaMemcpyHostToDevice), "copy to the device");
    gpu_epilogue e = {};
    e.epilogue = epilogue;
    e.loop.count = x.size();
    e.loop.rank = 1;
    e.loop.dims[0] = (int64_t)x.size();
    e.y = data;
    check(!gpu_run_epilogue({}, GPU_FLOAT, &e), "launch: %s", tinyort_cudasim()->failure());
    check(!cudaMemcpy(y.data(), data, bytes, cudaMemcpyDeviceToHost), "copy from the device");
    check(!cudaFree(data), "cudaFree");
    return y;
}

static void test_activation(tort_activation activation) {
    const tort_epilogue epilogue = {activation, 0.75f, 1.5f, false};
    const std::vector<float> x = numbers(), y = run(epilogue, x);
    size_t worst = 0;
    double max_error = -1;
    for (size_t i = 0; i + 1 < x.size(); i++) {
        const double want = expected(activation, (double)x[i], 0.75, 1.5);
        const double error = fabs((double)y[i] - want) / fmax(fabs(want), fmin(fabs((double)x[i]), 1.0));
        if (error > max_error) max_error = error, worst = i;
    }
    check(max_error <= 1e-6, "activation %d of %g is %.9g, not %.9g", (int)activation, (double)x[worst],
          (double)y[worst], expected(activation, (double)x[worst], 0.75, 1.5));
    const bool is_nan = y.back() != y.back();
    check(is_nan == (activation != TORT_ACTIVATION_THRESHOLDED_RELU), "activation %d of NaN is %g", (int)activation,
          (double)y.back());
}

int main() {
    for (int i = 0; i < TORT_ACTIVATION_COUNT; i++) test_activation((tort_activation)i);
    return summary("cudasim-activations");
}
