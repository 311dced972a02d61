/* mistakes.cu - one planted mistake for each tool of compute-sanitizer, so that check.sh knows whether the tool sees
 * anything on this machine. Usage: mistakes memcheck|racecheck|initcheck|synccheck, under that tool. */
#include <stdio.h>
#include <string.h>

#include "kernels/cuda/gpu.h"

enum { THREADS = 64 };

static __global__ void write_behind_the_end(float *y) {
    y[threadIdx.x + 1] = 1.0f;
}

static __global__ void read_without_barrier(float *y) {
    __shared__ float shared[THREADS];
    shared[threadIdx.x] = (float)threadIdx.x;
    y[threadIdx.x] = shared[THREADS - 1 - threadIdx.x];
}

static __global__ void add_to_what_nobody_wrote(float *y) {
    y[threadIdx.x] += 1.0f;
}

/* Lanes that are not in the mask take part. */
static __global__ void wait_with_a_wrong_mask(float *y) {
    const uint32_t mask = __ballot_sync(~0u, threadIdx.x % 32 < 16);
    __syncwarp(mask);
    y[threadIdx.x] = 1.0f;
}

static cudaError_t plant(const char *tool, float *y) {
    if (!strcmp(tool, "memcheck")) return launch(write_behind_the_end, 1, THREADS, 0, gpu_stream{}, y);
    if (!strcmp(tool, "racecheck")) return launch(read_without_barrier, 1, THREADS, 0, gpu_stream{}, y);
    if (!strcmp(tool, "initcheck")) return launch(add_to_what_nobody_wrote, 1, THREADS, 0, gpu_stream{}, y);
    return launch(wait_with_a_wrong_mask, 1, THREADS, 0, gpu_stream{}, y);
}

int main(int argc, char **argv) {
    void *y = NULL;
    cudaError_t code = argc == 2 ? cudaMalloc(&y, THREADS * sizeof(float)) : cudaErrorInvalidValue;
    if (code == cudaSuccess) code = plant(argv[1], (float *)y);
    if (code == cudaSuccess) code = cudaDeviceSynchronize();
    printf("mistakes: %s\n", cudaGetErrorString(code));
    return 0;
}
