/* instruction_test.cpp - what single instructions and types of the simulated device compute, against plain definitions:
 * votes, shuffles, ldmatrix, tensor-core products, atomics, half and bfloat16 conversions over all their values. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include <vector>

#include "kernels/cudasim/control.h"
#include "kernels/cudasim/small_float.h"
#include "tests/cudasim/check.h"
#include "tests/cudasim/sample_kernels.h"

/* Runs a launcher on device copies of the inputs and brings the output back. */
template <class T> static std::vector<T> download(T *data, size_t count) {
    std::vector<T> values(count);
    check(!cudaMemcpy(values.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost), "copy from the device: %s",
          tinyort_cudasim()->failure());
    check(!cudaFree(data), "cudaFree");
    return values;
}
template <class T> static T *upload(const std::vector<T> &values) {
    T *data = nullptr;
    const size_t bytes = values.size() * sizeof(T);
    check(!cudaMalloc((void **)&data, bytes), "cudaMalloc");
    check(!cudaMemcpy(data, values.data(), bytes, cudaMemcpyHostToDevice), "copy to the device");
    return data;
}

static void test_votes() {
    unsigned *device = upload(std::vector<unsigned>(7));
    check(!sample_warp_votes(nullptr, device), "launch: %s", tinyort_cudasim()->failure());
    const std::vector<unsigned> found = download(device, 7);
    const unsigned expected[7] = {0xaaaaaaaau, 1, 0, 0xff000000u, 5, 1, 1};
    for (int i = 0; i < 7; i++) check(found[i] == expected[i], "vote %d: %x, not %x", i, found[i], expected[i]);
}

static void test_shuffles() {
    int *device = upload(std::vector<int>(160));
    check(!sample_shuffles(nullptr, device), "launch: %s", tinyort_cudasim()->failure());
    const std::vector<int> found = download(device, 160);
    for (int lane = 0; lane < 32; lane++) {
        const int down = lane % 8 + 3 < 8 ? lane + 3 : lane, up = lane % 16 >= 2 ? lane - 2 : lane;
        const int expected[5] = {(lane / 8 * 8 + 3) * 10, up, down, lane ^ 5, 9};
        for (int i = 0; i < 5; i++)
            check(found[i * 32 + lane] == expected[i], "shuffle %d, lane %d: %d, not %d", i, lane, found[i * 32 + lane],
                  expected[i]);
    }
}

static void test_matrix_loads() {
    std::vector<uint16_t> matrices(256);
    for (int i = 0; i < 256; i++) matrices[i] = (uint16_t)(i * 7 + 1);
    uint16_t *from = upload(matrices);
    unsigned *x4 = upload(std::vector<unsigned>(128)), *x2 = upload(std::vector<unsigned>(64));
    check(!sample_matrix_loads(nullptr, from, x4, x2), "launch: %s", tinyort_cudasim()->failure());
    const std::vector<unsigned> four = download(x4, 128), two = download(x2, 64);
    for (int lane = 0; lane < 32; lane++) {
        const int row = lane / 4, column = lane % 4 * 2;
        for (int m = 0; m < 4; m++) {
            const unsigned low = matrices[m * 64 + row * 8 + column], high = matrices[m * 64 + row * 8 + column + 1];
            check(four[lane * 4 + m] == (low | high << 16), "ldmatrix.x4: lane %d, matrix %d", lane, m);
        }
        for (int m = 0; m < 2; m++) {
            const unsigned low = matrices[m * 64 + column * 8 + row], high = matrices[m * 64 + (column + 1) * 8 + row];
            check(two[lane * 2 + m] == (low | high << 16), "ldmatrix.x2.trans: lane %d, matrix %d", lane, m);
        }
    }
    download(from, 1);
}

/* Small integers: every product and sum is exact in every type. */
template <class T> static void test_mma(int kind, int depth) {
    std::vector<T> a((size_t)(16 * depth)), b((size_t)(depth * 8));
    for (size_t i = 0; i < a.size(); i++) a[i] = T((float)(i * 5 % 11) - 5.0f);
    for (size_t i = 0; i < b.size(); i++) b[i] = T((float)(i * 3 % 7) - 3.0f);
    T *device_a = upload(a), *device_b = upload(b);
    float *device_d = upload(std::vector<float>(128));
    check(!sample_mma(nullptr, kind, device_a, device_b, device_d), "launch: %s", tinyort_cudasim()->failure());
    const std::vector<float> d = download(device_d, 128);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 8; j++) {
            float sum = 1;
            for (int k = 0; k < depth; k++) sum += (float)a[i * depth + k] * (float)b[k * 8 + j];
            check(d[i * 8 + j] == sum, "mma of kind %d at %d,%d: %g, not %g", kind, i, j, d[i * 8 + j], sum);
        }
    download(device_a, 1);
    download(device_b, 1);
}

static void test_atomics() {
    int *device = upload(std::vector<int>(6, 0));
    check(!sample_atomics(nullptr, device), "launch: %s", tinyort_cudasim()->failure());
    const std::vector<int> found = download(device, 6);
    const int expected[6] = {192, 191, -191, 255, 7, 9};
    for (int i = 0; i < 6; i++) check(found[i] == expected[i], "atomic %d: %d, not %d", i, found[i], expected[i]);
}

/* The number that follows low in T's order; past the largest, the one that would follow it. */
template <class T> static double successor(int bits, int infinity) {
    const double low = (float)T::from_bits((uint16_t)bits);
    if (bits + 1 < infinity) return (float)T::from_bits((uint16_t)(bits + 1));
    return 2 * low - (double)(float)T::from_bits((uint16_t)(bits - 1));
}

/* The value survives the way to float and back; numbers up to its successor go to the nearer, ties to even. */
template <class T> static bool rounds_right(int bits, int infinity) {
    const double low = (float)T::from_bits((uint16_t)bits), high = successor<T>(bits, infinity), step = high - low;
    const int even = bits & 1 ? bits + 1 : bits;
    return T(low).bits == bits && T(-low).bits == (bits | 0x8000) && T(low + step / 2).bits == even &&
           T(low + step * 0.49).bits == bits && T(low + step * 0.51).bits == bits + 1;
}

template <class T> static void test_conversions(const char *name, int infinity) {
    int right = 0;
    while (right < infinity && rounds_right<T>(right, infinity)) right++;
    check(right == infinity, "%s: rounding between %#x and its successor", name, (unsigned)right);
    check(T(INFINITY).bits == infinity && T(-INFINITY).bits == (infinity | 0x8000), "%s: infinities", name);
    check(isnan((float)T(NAN)) && T(NAN).bits == 0x7fff, "%s: NaN", name);
    check(T(1e-300).bits == 0 && T(-1e-300).bits == 0x8000, "%s: tiny numbers become zeros with their sign", name);
    check((float)(T(1.5f) * T(2) + T(1)) == 4.0f && (float)__hfma(T(2), T(3), T(-1)) == 5.0f, "%s: arithmetic", name);
    check(T(1) < T(2) && T(0) == T(-0.0f) && !(T(NAN) == T(NAN)), "%s: comparisons", name);
}

int main() {
    test_votes();
    test_shuffles();
    test_matrix_loads();
    test_mma<__half>(0, 16);
    test_mma<__nv_bfloat16>(1, 16);
    test_mma<float>(2, 8);
    test_atomics();
    test_conversions<__half>("half", 0x7c00);
    test_conversions<__nv_bfloat16>("bfloat16", 0x7f80);
    check(!tinyort_cudasim()->leftovers(nullptr, 0), "something was left over");
    return summary("cudasim-instructions");
}
