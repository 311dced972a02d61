/* traffic_test.cpp - the traffic meter tells of kernels what is known of them by hand, in every order of threads. */
#include <string.h>

#include <initializer_list>

#include "kernels/cudasim/control.h"
#include "tests/cudasim/check.h"
#include "tests/cudasim/traffic_kernels.h"

static const unsigned threads = 1024, warps = threads / 32;

static void must(cudaError_t error, const char *what) {
    if (error) check(false, "%s: %s %s", what, cudaGetErrorName(error), tinyort_cudasim()->failure());
}

static void configure(cudasim_order order, bool meter) {
    cudasim_settings settings = tinyort_cudasim()->defaults();
    settings.order = order;
    settings.seed = 3;
    settings.meter_traffic = meter;
    tinyort_cudasim()->configure(&settings);
}

static void expect(const TrafficKernel *kernel, const char *what, uint64_t found, double expected) {
    check((double)found == expected, "%s: %s are %llu, expected %.0f", kernel->name, what, (unsigned long long)found,
          expected);
}

static void test_kernel(const TrafficKernel *kernel, const float *x, float *y) {
    for (cudasim_order order : {CUDASIM_FORWARD, CUDASIM_REVERSE, CUDASIM_RANDOM}) {
        configure(order, true);
        must(kernel->launch(x, y, threads), kernel->name);
        must(kernel->launch(x, y, threads), kernel->name);
        cudasim_traffic row;
        const size_t rows = tinyort_cudasim()->traffic(&row, 1);
        if (!check(rows == 1, "%s: the meter tells of %zu kernels", kernel->name, rows)) continue;
        expect(kernel, "launches", row.counts.launches, 2);
        expect(kernel, "bytes read", row.counts.read_bytes, 2 * threads * kernel->reads);
        expect(kernel, "bytes written", row.counts.written_bytes, 2 * threads * kernel->writes);
        expect(kernel, "sectors", row.counts.sectors, 2 * warps * kernel->sectors);
        expect(kernel, "bank conflicts", row.counts.bank_conflicts, 2 * warps * kernel->conflicts);
    }
}

/* By name, and nothing of a launch that is not metered. */
static void test_grouping(const float *x, float *y) {
    cudasim_traffic rows[3];
    configure(CUDASIM_FORWARD, false);
    must(traffic_kernels[0].launch(x, y, threads), "launch");
    check(tinyort_cudasim()->traffic(rows, 3) == 0, "a launch is metered that was not asked for");
    configure(CUDASIM_FORWARD, true);
    must(traffic_kernels[1].launch(x, y, threads), "launch");
    must(traffic_kernels[0].launch(x, y, threads), "launch");
    check(tinyort_cudasim()->traffic(rows, 3) == 2, "two kernels are not told apart");
    check(!strcmp(rows[0].kernel, "copy") && !strcmp(rows[1].kernel, "copy_stride_2"), "kernels are called %s and %s",
          rows[0].kernel, rows[1].kernel);
}

int main() {
    float *x, *y;
    must(cudaMalloc((void **)&x, threads * 64 * sizeof *x), "cudaMalloc");
    must(cudaMalloc((void **)&y, threads * 16 * sizeof *y), "cudaMalloc");
    must(cudaMemset(x, 0, threads * 64 * sizeof *x), "cudaMemset");
    must(cudaMemset(y, 0, threads * 16 * sizeof *y), "cudaMemset");
    for (const TrafficKernel *kernel = traffic_kernels; kernel->name; kernel++) test_kernel(kernel, x, y);
    test_grouping(x, y);
    must(cudaFree(x), "cudaFree");
    must(cudaFree(y), "cudaFree");
    return summary("cudasim-traffic");
}
