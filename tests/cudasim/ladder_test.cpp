/* ladder_test.cpp - every step of kernels/cuda/ladder against three plain loops, forwards, in reverse and at random. */
#include <math.h>

#include <vector>

#include "kernels/cudasim/control.h"
#include "kernels/cudasim/cudart.h"
#include "kernels/cudasim/small_float.h"

#include "kernels/cuda/ladder/product.h"
#include "tests/cudasim/check.h"

typedef cudasim::SmallFloat<cudasim::HalfFormat> Half;

static std::vector<Half> random_halves(size_t count, unsigned seed) {
    std::vector<Half> values(count);
    for (Half &value : values) {
        seed = seed * 1664525u + 1013904223u;
        value = Half((float)(seed >> 16) / 65536.0f - 0.5f);
    }
    return values;
}

static std::vector<Half> product_by(int step, const std::vector<Half> &a, const std::vector<Half> &b, int m, int n,
                                    int k) {
    std::vector<Half> y((size_t)m * n);
    void *on_device[3];
    const size_t bytes[3] = {a.size() * sizeof(Half), b.size() * sizeof(Half), y.size() * sizeof(Half)};
    const void *from[2] = {a.data(), b.data()};
    for (int i = 0; i < 3; i++) check(!cudaMalloc(&on_device[i], bytes[i]), "cudaMalloc");
    for (int i = 0; i < 2; i++)
        check(!cudaMemcpy(on_device[i], from[i], bytes[i], cudaMemcpyHostToDevice), "copy to the device");
    check(!ladder_product(gpu_stream{nullptr, nullptr}, step, on_device[0], on_device[1], on_device[2], m, n, k),
          "step %d: %s", step, tinyort_cudasim()->failure());
    check(!cudaMemcpy(y.data(), on_device[2], bytes[2], cudaMemcpyDeviceToHost), "step %d: %s", step,
          tinyort_cudasim()->failure());
    for (void *memory : on_device) check(!cudaFree(memory), "cudaFree");
    return y;
}

static void test_step(int step, int m, int n, int k) {
    const std::vector<Half> a = random_halves((size_t)m * k, 1), b = random_halves((size_t)k * n, 2);
    const std::vector<Half> y = product_by(step, a, b, m, n, k);
    int wrong = 0;
    for (int row = 0; row < m; row++)
        for (int column = 0; column < n; column++) {
            double sum = 0;
            for (int i = 0; i < k; i++) sum += (double)(float)a[row * k + i] * (double)(float)b[i * n + column];
            wrong += !(fabs((float)y[row * n + column] - sum) <= 1e-2 + 1e-2 * fabs(sum));
        }
    check(!wrong, "step %d, %dx%dx%d: %d elements are wrong", step, m, n, k, wrong);
}

int main() {
    static const cudasim_order orders[] = {CUDASIM_FORWARD, CUDASIM_REVERSE, CUDASIM_RANDOM};
    for (const cudasim_order order : orders) {
        cudasim_settings settings = tinyort_cudasim()->defaults();
        settings.order = order;
        tinyort_cudasim()->configure(&settings);
        for (int step = 1; step <= LADDER_STEPS; step++) {
            test_step(step, 64, 128, 32);
            test_step(step, 128, 64, 160);
        }
    }
    return summary("cudasim-ladder");
}
