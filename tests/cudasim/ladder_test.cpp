/* ladder_test.cpp - every step of kernels/cuda/ladder against plain loops, forwards, in reverse and at random. */
#include <math.h>

#include <vector>

#include "kernels/cudasim/control.h"
#include "kernels/cudasim/cudart.h"
#include "kernels/cudasim/small_float.h"

#include "kernels/cuda/ladder/attention.h"
#include "kernels/cuda/ladder/product.h"
#include "kernels/cuda/ladder/sum.h"
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
    check(!ladder_product(gpu_stream{}, step, on_device[0], on_device[1], on_device[2], m, n, k), "step %d: %s", step,
          tinyort_cudasim()->failure());
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

/* ---- sums ---- */

static float *device_floats(size_t count) {
    void *memory = nullptr;
    check(!cudaMalloc(&memory, count * sizeof(float)) && !cudaMemset(memory, 0, count * sizeof(float)),
          "device memory");
    return (float *)memory;
}

/* The bits of the sum must be those of `first`, unless that is NaN; returns it. */
static float test_sum(int step, int count, float first) {
    std::vector<float> x((size_t)count);
    double expected = 0;
    unsigned seed = 7;
    for (float &value : x) {
        seed = seed * 1664525u + 1013904223u;
        expected += value = (float)(seed >> 8) / 16777216.0f - 0.25f;
    }
    float *on_device = device_floats(x.size()), *y = device_floats(1), *room = device_floats(LADDER_SUM_BLOCKS),
          *counter = device_floats(1), found = 0;
    check(!cudaMemcpy(on_device, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice), "copy to the device");
    check(!ladder_sum(gpu_stream{}, step, on_device, count, y, room, (uint32_t *)counter), "sum, step %d: %s", step,
          tinyort_cudasim()->failure());
    check(!cudaMemcpy(&found, y, sizeof found, cudaMemcpyDeviceToHost), "sum, step %d: %s", step,
          tinyort_cudasim()->failure());
    check(fabs(found - expected) <= 1e-4 * fabs(expected), "sum, step %d of %d: %g, not %g", step, count, found,
          expected);
    check(isnan(first) || found == first, "sum, step %d: other bits in another order", step);
    for (float *memory : {on_device, y, room, counter}) check(!cudaFree(memory), "cudaFree");
    return found;
}

/* ---- attention ---- */

static std::vector<double> attend(const std::vector<Half> &q, const std::vector<Half> &k, const std::vector<Half> &v,
                                  int query, int keys) {
    std::vector<double> y(LADDER_HEAD), weights((size_t)keys);
    double sum = 0;
    for (int i = 0; i < keys; i++) {
        double score = 0;
        for (int e = 0; e < LADDER_HEAD; e++)
            score += (double)(float)q[query * LADDER_HEAD + e] * (double)(float)k[i * LADDER_HEAD + e];
        sum += weights[i] = exp(score / 8);
    }
    for (int i = 0; i < keys; i++)
        for (int e = 0; e < LADDER_HEAD; e++) y[e] += weights[i] / sum * (double)(float)v[i * LADDER_HEAD + e];
    return y;
}

static void test_attention(int step, int queries, int keys) {
    const std::vector<Half> q = random_halves((size_t)queries * LADDER_HEAD, 3),
                            k = random_halves((size_t)keys * LADDER_HEAD, 4),
                            v = random_halves((size_t)keys * LADDER_HEAD, 5);
    std::vector<Half> y(q.size());
    void *on_device[4];
    const std::vector<Half> *const from[4] = {&q, &k, &v, &y};
    float *scores = device_floats((size_t)queries * keys);
    int wrong = 0;
    for (int i = 0; i < 4; i++) {
        const size_t bytes = from[i]->size() * sizeof(Half);
        check(!cudaMalloc(&on_device[i], bytes), "cudaMalloc");
        check(!cudaMemcpy(on_device[i], from[i]->data(), bytes, cudaMemcpyHostToDevice), "copy to the device");
    }
    check(!ladder_attention(gpu_stream{}, step, on_device[0], on_device[1], on_device[2], on_device[3], scores, queries,
                            keys),
          "attention, step %d: %s", step, tinyort_cudasim()->failure());
    check(!cudaMemcpy(y.data(), on_device[3], y.size() * sizeof(Half), cudaMemcpyDeviceToHost),
          "attention, step %d: %s", step, tinyort_cudasim()->failure());
    for (int query = 0; query < queries; query++) {
        const std::vector<double> expected = attend(q, k, v, query, keys);
        for (int e = 0; e < LADDER_HEAD; e++) wrong += !(fabs((float)y[query * LADDER_HEAD + e] - expected[e]) <= 1e-3);
    }
    check(!wrong, "attention, step %d, %d queries, %d keys: %d elements are wrong", step, queries, keys, wrong);
    for (void *memory : on_device) check(!cudaFree(memory), "cudaFree");
    check(!cudaFree(scores), "cudaFree");
}

int main() {
    float bits = NAN;
    static const cudasim_order orders[] = {CUDASIM_FORWARD, CUDASIM_REVERSE, CUDASIM_RANDOM};
    for (const cudasim_order order : orders) {
        cudasim_settings settings = tinyort_cudasim()->defaults();
        settings.order = order;
        tinyort_cudasim()->configure(&settings);
        for (int step = 1; step <= LADDER_STEPS; step++) {
            test_step(step, 64, 128, 32);
            test_step(step, 128, 64, 160);
        }
        for (int step = 1; step <= LADDER_SUM_STEPS; step++) {
            const float found = test_sum(step, 256 * 70, step == LADDER_SUM_STEPS ? bits : NAN);
            if (step == LADDER_SUM_STEPS) bits = found;
            test_sum(step, 256, NAN);
        }
        for (int step = 1; step <= LADDER_ATTENTION_STEPS; step++) {
            test_attention(step, 64, 64);
            test_attention(step, 128, 192);
        }
    }
    return summary("cudasim-ladder");
}
