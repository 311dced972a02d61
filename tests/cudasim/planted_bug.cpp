/* planted_bug.cpp - lets one planted bug act and prints in one line how it showed itself, or "missed".
 *
 * Usage: planted_bug NAME; without a name, lists them. Sanitizers end the process themselves: planted_bugs.sh, which
 * runs every bug in every build, reads that from their message. */
#include "tests/cudasim/planted_bugs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cudasim/control.h"

static const int max_outputs = 64;

static void must(cudaError_t error, const char *what) {
    if (!error) return;
    printf("%s: %s\n", what, cudaGetErrorString(error));
    exit(2);
}

static float *allocate(int device, int count, float *host) {
    float *memory;
    const size_t bytes = (size_t)count * sizeof *memory;
    must(cudaSetDevice(device), "cudaSetDevice");
    must(cudaMalloc((void **)&memory, bytes), "cudaMalloc");
    if (host) must(cudaMemcpy(memory, host, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    must(cudaSetDevice(0), "cudaSetDevice");
    return memory;
}

/* Runs the bug in the given order; returns its error, else fills the output. */
static cudaError_t act(const PlantedBug *bug, cudasim_order order, float *output) {
    const cudasim_control *control = tinyort_cudasim();
    cudasim_settings settings = control->defaults();
    settings.order = order;
    control->configure(&settings);
    float *ones = (float *)malloc(256 * sizeof *ones);
    for (int i = 0; i < 256; i++) ones[i] = 1;
    const PlantedBuffers buffers = {allocate(0, 100, nullptr), allocate(0, 256, ones), ones, allocate(1, 256, ones)};
    const cudaError_t error = bug->act(&buffers);
    if (!error) {
        must(cudaMemcpy(output, buffers.y, max_outputs * sizeof *output, cudaMemcpyDeviceToHost), "cudaMemcpy");
    }
    free(ones);
    return error;
}

static bool has_nan(const float *values, int count) {
    for (int i = 0; i < count; i++)
        if (isnan(values[i])) return true;
    return false;
}

int main(int argc, char **argv) {
    const PlantedBug *bug = planted_bugs;
    if (argc < 2) {
        for (; bug->name; bug++) printf("%s\n", bug->name);
        return 0;
    }
    while (bug->name && strcmp(bug->name, argv[1])) bug++;
    if (!bug->name) return 2;

    float forward[max_outputs], reverse[max_outputs];
    const cudaError_t error = act(bug, CUDASIM_FORWARD, forward);
    const char *failure = tinyort_cudasim()->failure();
    if (error && cudaDeviceSynchronize())
        printf("stopped %s\n", failure);
    else if (error)
        printf("refused %s\n", cudaGetErrorName(error));
    else if (act(bug, CUDASIM_REVERSE, reverse))
        printf("reverse stopped %s\n", tinyort_cudasim()->failure());
    else if (has_nan(forward, bug->outputs) || has_nan(reverse, bug->outputs))
        printf("poison in the output\n");
    else if (memcmp(forward, reverse, (size_t)bug->outputs * sizeof *forward))
        printf("order changes the output\n");
    else
        printf("missed\n");
    return 0;
}
