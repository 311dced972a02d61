/* sample_test.cpp - the correct kernels give the right numbers, and the same bits in every order of blocks and threads.
 *
 * Run in every build of the simulator: plain, sanitizers, race checker. Inputs are multiples of 2^-15, so that even a
 * sum by atomicAdd is exact and may come in any order. Odd shapes throughout: no extent is a multiple of its tile,
 * but where tensor cores ask for it. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include <functional>
#include <vector>

#include "kernels/cudasim/control.h"
#include "kernels/cudasim/small_float.h"
#include "tests/cudasim/check.h"
#include "tests/cudasim/sample_kernels.h"

typedef std::vector<float> Floats;

static Floats random_floats(size_t count) {
    static unsigned state = 1;
    Floats values(count);
    for (float &value : values) {
        state = state * 1664525u + 1013904223u;
        value = (float)(int)(state >> 8 & 0xffff) / 32768.0f - 1.0f;
    }
    return values;
}

template <class T> static std::vector<T> narrow(const Floats &values) {
    return std::vector<T>(values.begin(), values.end());
}
template <class T> static Floats widen(const std::vector<T> &values) {
    return Floats(values.begin(), values.end());
}

/* Says nothing, and counts nothing, unless it failed. */
static void must(cudaError_t error, const char *what) {
    if (error) check(false, "%s: %s %s", what, cudaGetErrorName(error), tinyort_cudasim()->failure());
}

/* A device buffer that lives as long as this. */
template <class T> class Buffer {
  public:
    T *data = nullptr;
    explicit Buffer(size_t count_) : count(count_) {
        must(cudaMalloc((void **)&data, count * sizeof(T)), "cudaMalloc");
    }
    explicit Buffer(const std::vector<T> &values) : Buffer(values.size()) {
        must(cudaMemcpy(data, values.data(), count * sizeof(T), cudaMemcpyHostToDevice), "copy to the device");
    }
    ~Buffer() {
        must(cudaFree(data), "cudaFree");
    }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    std::vector<T> download() const {
        std::vector<T> values(count);
        must(cudaMemcpy(values.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost), "copy from the device");
        return values;
    }

  private:
    size_t count;
};

static Floats run_in_order(const char *name, cudasim_order order, unsigned seed, const std::function<Floats()> &run) {
    const cudasim_control *control = tinyort_cudasim();
    cudasim_settings settings = control->defaults();
    settings.order = order;
    settings.seed = seed;
    control->configure(&settings);
    const Floats result = run();
    if (*control->failure()) check(false, "%s: %s", name, control->failure());
    return result;
}

static void test_kernel(const char *name, double tolerance, const Floats &expected,
                        const std::function<Floats()> &run) {
    const Floats forward = run_in_order(name, CUDASIM_FORWARD, 0, run);
    size_t right = 0;
    while (right < expected.size() && fabs((double)forward[right] - expected[right]) <= tolerance) right++;
    const size_t shown = right < expected.size() ? right : 0;
    check(right == expected.size(), "%s: element %zu is %g, expected %g", name, shown, forward[shown], expected[shown]);
    const size_t bytes = forward.size() * sizeof(float);
    const Floats reverse = run_in_order(name, CUDASIM_REVERSE, 0, run);
    check(!memcmp(forward.data(), reverse.data(), bytes), "%s: reverse order gives other bits", name);
    for (unsigned seed = 1; seed <= 3; seed++) {
        const Floats shuffled = run_in_order(name, CUDASIM_RANDOM, seed, run);
        check(!memcmp(forward.data(), shuffled.data(), bytes), "%s: random order %u gives other bits", name, seed);
    }
}

/* ---- elementwise ---- */

static void test_add() {
    const int count = 1000;
    const Floats a = random_floats(count), b = random_floats(count);
    Floats expected(count);
    for (int i = 0; i < count; i++) expected[i] = a[i] + b[i];
    test_kernel("add", 0, expected, [&] {
        const Buffer<float> x(a), y(b), z(count);
        must(sample_add(nullptr, x.data, y.data, z.data, count), "launch");
        return z.download();
    });
}

static void test_scale_bf16() {
    const std::vector<__nv_bfloat16> x = narrow<__nv_bfloat16>(random_floats(500));
    Floats expected(x.size());
    for (size_t i = 0; i < x.size(); i++) expected[i] = 2 * (float)x[i];
    test_kernel("scale bf16", 0, expected, [&] {
        const Buffer<__nv_bfloat16> from(x), to(x.size());
        must(sample_scale_bf16(nullptr, from.data, to.data, 2, (int)x.size()), "launch");
        return widen(to.download());
    });
}

static void test_copies() {
    const Floats x = random_floats(1024);
    test_kernel("copy float4", 0, x, [&] {
        const Buffer<float> from(x), to(x.size());
        must(sample_copy_vectors(nullptr, from.data, to.data, (int)x.size() / 4), "launch");
        return to.download();
    });
    const Floats many = random_floats(13001); /* 52004 bytes of dynamic shared memory */
    test_kernel("reverse", 0, Floats(many.rbegin(), many.rend()), [&] {
        const Buffer<float> from(many), to(many.size());
        must(sample_reverse(nullptr, from.data, to.data, (int)many.size()), "launch");
        return to.download();
    });
    for (int valid : {0, 1, 13, 32}) {
        Floats expected(64, 0.0f);
        for (int i = 0; i < valid; i++) expected[31 - i] = expected[63 - i] = x[i];
        test_kernel("asynchronous copies", 0, expected, [&] {
            const Buffer<float> from(x), to(64);
            must(sample_async_copies(nullptr, from.data, to.data, valid), "launch");
            return to.download();
        });
    }
}

/* ---- reductions ---- */

static Floats softmax(const Floats &x, int rows, int columns) {
    Floats y(x.size());
    for (int i = 0; i < rows; i++) {
        const float *from = &x[(size_t)(i * columns)];
        double sum = 0;
        for (int j = 0; j < columns; j++) sum += exp((double)from[j]);
        for (int j = 0; j < columns; j++) y[(size_t)(i * columns + j)] = (float)(exp((double)from[j]) / sum);
    }
    return y;
}

static void test_softmax() {
    const int rows = 37, columns = 100;
    const Floats x = random_floats(rows * columns);
    test_kernel("softmax f32", 1e-6, softmax(x, rows, columns), [&] {
        const Buffer<float> from(x), to(x.size());
        must(sample_softmax_f32(nullptr, from.data, to.data, rows, columns), "launch");
        return to.download();
    });
    const std::vector<__half> h = narrow<__half>(x);
    test_kernel("softmax f16", 1e-4, softmax(widen(h), rows, columns), [&] {
        const Buffer<__half> from(h), to(h.size());
        must(sample_softmax_f16(nullptr, from.data, to.data, rows, columns), "launch");
        return widen(to.download());
    });
}

static void test_layernorm() {
    const int rows = 9, columns = 300;
    const float epsilon = 1e-5f;
    const Floats x = random_floats(rows * columns), scale = random_floats(columns), bias = random_floats(columns);
    Floats expected(x.size());
    for (int i = 0; i < rows; i++) {
        const float *from = &x[(size_t)(i * columns)];
        double mean = 0, variance = 0;
        for (int j = 0; j < columns; j++) mean += from[j] / (double)columns;
        for (int j = 0; j < columns; j++) variance += (from[j] - mean) * (from[j] - mean) / columns;
        for (int j = 0; j < columns; j++)
            expected[i * columns + j] = (float)((from[j] - mean) / sqrt(variance + epsilon) * scale[j] + bias[j]);
    }
    test_kernel("layernorm", 1e-5, expected, [&] {
        const Buffer<float> from(x), g(scale), b(bias), to(x.size());
        must(sample_layernorm(nullptr, from.data, g.data, b.data, to.data, rows, columns, epsilon), "launch");
        return to.download();
    });
}

static void test_sum() {
    const Floats x = random_floats(5000);
    double sum = 0;
    for (float value : x) sum += value;
    test_kernel("sum by atomics", 0, {(float)sum}, [&] {
        const Buffer<float> from(x), to(Floats(1, 0.0f));
        must(sample_sum(nullptr, from.data, to.data, (int)x.size()), "launch");
        return to.download();
    });
}

/* ---- products ---- */

static Floats product(const Floats &a, const Floats &b, int m, int n, int k) {
    Floats c((size_t)(m * n));
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int x = 0; x < k; x++) sum += (double)a[i * k + x] * b[x * n + j];
            c[i * n + j] = (float)sum;
        }
    return c;
}

static void test_products() {
    int m = 35, n = 50, k = 33;
    const Floats a = random_floats(m * k), b = random_floats(k * n);
    test_kernel("sgemm", 1e-4, product(a, b, m, n, k), [&] {
        const Buffer<float> x(a), y(b), z((size_t)(m * n));
        must(sample_sgemm(nullptr, x.data, y.data, z.data, m, n, k), "launch");
        return z.download();
    });
    m = 48, n = 40, k = 64;
    const std::vector<__half> ha = narrow<__half>(random_floats(m * k)), hb = narrow<__half>(random_floats(k * n));
    test_kernel("hgemm on tensor cores", 1e-4, product(widen(ha), widen(hb), m, n, k), [&] {
        const Buffer<__half> x(ha), y(hb);
        const Buffer<float> z((size_t)(m * n));
        must(sample_hgemm(nullptr, x.data, y.data, z.data, m, n, k), "launch");
        return z.download();
    });
}

int main() {
    test_add();
    test_scale_bf16();
    test_copies();
    test_softmax();
    test_layernorm();
    test_sum();
    test_products();
    char text[256];
    check(!tinyort_cudasim()->leftovers(text, sizeof text), "left over: %s", text);
    return summary("cudasim-kernels");
}
