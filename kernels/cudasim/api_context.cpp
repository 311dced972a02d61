/* api_context.cpp - the fake CUDA API: the functions of the driver API that make a device's primary context current,
 * and their lookup by name. Their error codes equal the runtime's. Read next: api_memory.cpp. */
#include "kernels/cudasim/api.h"

using namespace cudasim;

/* A primary context: one per device, as old as the machine. */
struct CUctx_st {
    int device;
};

namespace {

CUctx_st primary[max_devices] = {{0}, {1}};

/* Functions of the driver do not set what cudaGetLastError returns. */
struct DriverCall : Call {
    explicit DriverCall(const char *function, cudaError_t before = thread_state().last_error)
        : Call(function, Needs::driver) {
        thread_state().last_error = before;
    }
};

CUresult as_driver(cudaError_t error) {
    return (CUresult)error;
}

struct Function {
    const char *name;
    void *address;
};

#define CUDASIM_SYMBOL(type, name, parameters) {#name, (void *)name},
const Function functions[] = {CUDASIM_DRIVER_FUNCTIONS(CUDASIM_SYMBOL)};
#undef CUDASIM_SYMBOL

} // namespace

extern "C" {

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    DriverCall call(__func__);
    if (call.error) return as_driver(call.error);
    if (ordinal < 0 || ordinal >= machine().settings.device_count) return as_driver(cudaErrorInvalidDevice);
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    DriverCall call(__func__);
    if (call.error) return as_driver(call.error);
    if (device < 0 || device >= machine().settings.device_count) return as_driver(cudaErrorInvalidDevice);
    machine().devices[device].used = true;
    *context = &primary[device];
    return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext context) {
    DriverCall call(__func__);
    if (call.error) return as_driver(call.error);
    if (!context) return as_driver(cudaErrorInvalidValue);
    thread_state().pushed.push_back(context->device);
    return CUDA_SUCCESS;
}

/* Pops even if an injected error makes it fail, as functions that free do. */
CUresult cuCtxPopCurrent(CUcontext *context) {
    DriverCall call(__func__);
    std::vector<int> &pushed = thread_state().pushed;
    if (pushed.empty()) return as_driver(cudaErrorInvalidValue);
    *context = &primary[pushed.back()];
    pushed.pop_back();
    return as_driver(call.error);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned int, unsigned long long,
                                             enum cudaDriverEntryPointQueryResult *result) {
    Call call(__func__, Needs::driver);
    if (call.error) return call.error;
    const char *missing = machine().settings.missing_symbol;
    *function = nullptr;
    for (const Function &known : functions)
        if (!strcmp(known.name, symbol) && !(missing && !strcmp(missing, symbol))) *function = known.address;
    *result = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}
}
