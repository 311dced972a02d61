/* api_device.cpp - the fake CUDA API: versions, devices, their properties, errors as text.
 *
 * The name of a device says that it is simulated. Read next: api_context.cpp. */
#include "kernels/cudasim/api.h"

#include <stdio.h>

using namespace cudasim;

namespace {

const int l2_cache_bytes = 4 << 20;

bool device_exists(int device) {
    return device >= 0 && device < machine().settings.device_count;
}

bool read_attribute(enum cudaDeviceAttr attribute, int device, int *value) {
    const int capability = machine().settings.capability;
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = max_block_threads; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = (int)max_static_shared; break;
    case cudaDevAttrWarpSize: *value = warpSize; break;
    case cudaDevAttrMultiProcessorCount: *value = machine().settings.multiprocessors; break;
    case cudaDevAttrIntegrated: *value = 0; break;
    case cudaDevAttrComputeMode: *value = 0; break;
    case cudaDevAttrPciBusId: *value = device + 1; break;
    case cudaDevAttrPciDeviceId: *value = 0; break;
    case cudaDevAttrL2CacheSize: *value = l2_cache_bytes; break;
    case cudaDevAttrComputeCapabilityMajor: *value = capability / 10; break;
    case cudaDevAttrComputeCapabilityMinor: *value = capability % 10; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = (int)shared_bytes_on_request() + 1024; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = (int)shared_bytes_on_request(); break;
    case cudaDevAttrMemoryPoolsSupported: *value = 1; break;
    default: return false;
    }
    return true;
}

} // namespace

size_t cudasim::shared_bytes_on_request() {
    if (machine().settings.shared_bytes) return machine().settings.shared_bytes;
    switch (machine().settings.capability) {
    case 75: return 64 << 10;
    case 80:
    case 87: return 163 << 10;
    case 86:
    case 89:
    case 120: return 99 << 10;
    default: return 227 << 10;
    }
}

extern "C" {

cudaError_t cudaGetLastError(void) {
    const std::lock_guard<std::recursive_mutex> guard(machine().lock);
    ThreadState &thread = thread_state();
    const cudaError_t error = thread.last_error;
    thread.last_error = machine().devices[thread.device()].lost;
    return error;
}

cudaError_t cudaPeekAtLastError(void) {
    return thread_state().last_error;
}

const char *cudaGetErrorName(cudaError_t error) {
#define CUDASIM_NAME(name, value, text)                                                                                \
    case name: return #name;
    switch (error) { CUDASIM_ERRORS(CUDASIM_NAME) }
#undef CUDASIM_NAME
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error) {
#define CUDASIM_TEXT(name, value, text)                                                                                \
    case name: return text;
    switch (error) { CUDASIM_ERRORS(CUDASIM_TEXT) }
#undef CUDASIM_TEXT
    return "unrecognized error code";
}

cudaError_t cudaDriverGetVersion(int *version) {
    Call call(__func__, Needs::nothing);
    if (call.error) return call.error;
    *version = machine().settings.driver_version;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count) {
    Call call(__func__, Needs::driver);
    if (call.error) return call.error;
    *count = machine().settings.device_count;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
    Call call(__func__, Needs::driver);
    if (call.error) return call.error;
    if (!device_exists(device)) return call.result(cudaErrorInvalidDevice);
    ThreadState &thread = thread_state();
    (thread.pushed.empty() ? thread.chosen : thread.pushed.back()) = device;
    machine().devices[device].used = true;
    return call.result(machine().devices[device].lost);
}

cudaError_t cudaGetDevice(int *device) {
    Call call(__func__, Needs::driver);
    if (call.error) return call.error;
    *device = call.device();
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device) {
    Call call(__func__, Needs::driver);
    if (call.error) return call.error;
    if (!device_exists(device)) return call.result(cudaErrorInvalidDevice);
    const cudasim_settings &settings = machine().settings;
    *properties = cudaDeviceProp();
    snprintf(properties->name, sizeof properties->name, "simulated CUDA device %d (cudasim, runs on the CPU)", device);
    properties->totalGlobalMem = settings.memory_bytes;
    properties->sharedMemPerBlock = max_static_shared;
    properties->sharedMemPerBlockOptin = shared_bytes_on_request();
    properties->major = settings.capability / 10;
    properties->minor = settings.capability % 10;
    properties->multiProcessorCount = settings.multiprocessors;
    properties->warpSize = warpSize;
    properties->maxThreadsPerBlock = max_block_threads;
    properties->maxGridSize[0] = 2147483647;
    properties->maxGridSize[1] = properties->maxGridSize[2] = 65535;
    properties->l2CacheSize = l2_cache_bytes;
    properties->integrated = settings.file_cache > 0;
    properties->pciBusID = device + 1;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
    Call call(__func__, Needs::driver);
    if (call.error) return call.error;
    if (!device_exists(device)) return call.result(cudaErrorInvalidDevice);
    return call.result(read_attribute(attribute, device, value) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int length, int device) {
    Call call(__func__, Needs::driver);
    if (call.error) return call.error;
    if (!device_exists(device)) return call.result(cudaErrorInvalidDevice);
    const int written = snprintf(text, (size_t)length, "0000:%02x:00.0", (unsigned)device + 1);
    return call.result(written < length ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaDeviceSynchronize(void) {
    Call call(__func__);
    if (call.error) return call.error;
    const cudaError_t capturing = refuse_device_wait(call.device());
    return call.result(capturing ? capturing : drain_device(call.device()));
}
}
