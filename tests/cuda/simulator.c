/* simulator.c - see simulator.h. */
#include "tests/cuda/simulator.h"

#include <dlfcn.h>
#include <string.h>

#include "runtime/core/providers/plugin.h"

bool simulator_open(const tort_provider **provider, const cudasim_control **control) {
    const tort_plugin *(*entry)(void) = NULL;
    void *library = dlopen("libtinyort-cudasim.so", RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "tort_provider_plugin") : NULL;
    memcpy(&entry, &symbol, sizeof entry);
    if (!entry) return false;
    *provider = entry()->provider;
    *control = entry()->extra;
    return (*control)->version == CUDASIM_CONTROL_VERSION;
}

int simulator_calls_that_matter(const cudasim_control *control) {
    return control->calls(NULL) - control->calls("cuCtxPushCurrent") - control->calls("cuCtxPopCurrent");
}

static uint64_t sum(const cudasim_control *control, const char *const *functions) {
    uint64_t count = 0;
    for (; *functions; functions++) count += (uint64_t)control->calls(*functions);
    return count;
}

tort_device_calls simulator_saw(const cudasim_control *control) {
    static const char *const launching[] = {"cudaLaunchKernel",
                                            "cublasGemmEx",
                                            "cublasGemmStridedBatchedEx",
                                            "cublasLtMatmul",
                                            "cudnnConvolutionForward",
                                            "cudnnConvolutionBiasActivationForward",
                                            NULL};
    static const char *const copying[] = {"cudaMemcpy", "cudaMemcpyAsync", "cudaMemset", "cudaMemsetAsync", NULL};
    static const char *const waiting[] = {"cudaMemcpy", "cudaStreamSynchronize", "cudaDeviceSynchronize",
                                          "cudaEventSynchronize", NULL};
    static const char *const allocating[] = {"cudaMalloc", "cudaMallocAsync", "cudaMallocHost", "cudaHostAlloc", NULL};
    return (tort_device_calls){sum(control, launching), sum(control, copying), sum(control, waiting),
                               sum(control, allocating)};
}

tort_device_calls simulator_saw_since(const cudasim_control *control, const tort_device_calls *before) {
    const tort_device_calls now = simulator_saw(control);
    return (tort_device_calls){now.launches - before->launches, now.copies - before->copies, now.waits - before->waits,
                               now.allocations - before->allocations};
}
