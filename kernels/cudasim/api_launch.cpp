/* api_launch.cpp - the fake CUDA API: kernels. Checks a launch as the driver does, copies its arguments, and submits
 * it to its stream. Read next: libraries.cpp. */
#include "kernels/cudasim/api.h"

using namespace cudasim;

namespace {

bool fits_the_device(const dim3 &grid, const dim3 &block) {
    const bool some = grid.x && grid.y && grid.z && block.x && block.y && block.z;
    const bool grid_fits = grid.x <= 2147483647u && grid.y <= 65535 && grid.z <= 65535;
    const bool block_fits = block.x <= max_block_threads && block.y <= max_block_threads && block.z <= 64;
    return some && grid_fits && block_fits && (size_t)block.x * block.y * block.z <= (size_t)max_block_threads;
}

size_t dynamic_shared_allowed(int device, const void *function) {
    const auto &allowed = machine().devices[device].dynamic_shared;
    const auto found = allowed.find(function);
    return found == allowed.end() ? max_static_shared : found->second;
}

Schedule schedule() {
    const cudasim_settings &settings = machine().settings;
    const Order order = settings.order == CUDASIM_REVERSE  ? Order::reverse
                        : settings.order == CUDASIM_RANDOM ? Order::random
                                                           : Order::forward;
    return {order, settings.seed, settings.stop_at_failure, settings.meter_traffic};
}

struct alignas(16) Chunk {
    unsigned char bytes[16];
};

/* A launch with copies of its arguments, since the caller's may be gone when it runs; each begins a Chunk, for
 * alignment. */
struct Launch {
    Grid grid;
    std::vector<std::vector<Chunk>> arguments;
    cudaError_t fault; /* injected error; cudaSuccess: none */

    void add_argument(const void *value, size_t size) {
        arguments.emplace_back((size + sizeof(Chunk) - 1) / sizeof(Chunk));
        memcpy(arguments.back().data(), value, size);
    }

    cudaError_t run() {
        if (fault) return fault;
        machine().devices[grid.device].microseconds += machine().settings.kernel_microseconds;
        std::vector<void *> pointers;
        for (std::vector<Chunk> &argument : arguments) pointers.push_back(argument.data());
        grid.arguments = pointers.data();
        const cudaError_t error = run_grid(grid, schedule());
        if (error) machine().failure = failure_text();
        return error;
    }
};

} // namespace

extern "C" {

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function) {
    Call call(__func__);
    if (call.error) return call.error;
    if (machine().settings.no_kernel_image) return call.result(cudaErrorNoKernelImageForDevice);
    Kernel kernel;
    if (!find_kernel(function, &kernel)) return call.result(cudaErrorInvalidDeviceFunction);
    machine().devices[call.device()].loaded.insert(function);
    *attributes = cudaFuncAttributes();
    attributes->maxThreadsPerBlock = max_block_threads;
    attributes->binaryVersion = attributes->ptxVersion = machine().settings.capability;
    attributes->maxDynamicSharedSizeBytes = (int)dynamic_shared_allowed(call.device(), function);
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value) {
    Call call(__func__);
    if (call.error) return call.error;
    if (machine().settings.no_kernel_image) return call.result(cudaErrorNoKernelImageForDevice);
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    if (value < 0 || (size_t)value > shared_bytes_on_request()) return call.result(cudaErrorInvalidValue);
    machine().devices[call.device()].loaded.insert(function);
    machine().devices[call.device()].dynamic_shared[function] = (size_t)value;
    return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
                             cudaStream_t handle) {
    Call call(__func__);
    if (call.error) return call.error;
    CUstream_st *stream = find_stream(handle);
    if (!stream || stream->device != call.device()) return call.result(cudaErrorInvalidResourceHandle);
    if (machine().settings.no_kernel_image) return call.result(cudaErrorNoKernelImageForDevice);
    Launch launch = {};
    if (!find_kernel(function, &launch.grid.kernel)) return call.result(cudaErrorInvalidDeviceFunction);
    if (!fits_the_device(grid, block)) return call.result(cudaErrorInvalidConfiguration);
    if (shared_bytes > dynamic_shared_allowed(stream->device, function)) return call.result(cudaErrorInvalidValue);
    Machine &all = machine();
    all.late_loads += all.devices[stream->device].loaded.insert(function).second;
    if (all.fault_countdown && !--all.fault_countdown) launch.fault = (cudaError_t)all.fault_code;
    launch.grid.function = function;
    launch.grid.grid = grid;
    launch.grid.block = block;
    launch.grid.shared_bytes = shared_bytes;
    launch.grid.device = stream->device;
    launch.grid.max_shared_bytes = shared_bytes_on_request();
    for (int i = 0; i < launch.grid.kernel.argument_count; i++)
        launch.add_argument(arguments[i], launch.grid.kernel.argument_sizes[i]);
    return call.result(submit(stream, [launch]() mutable { return launch.run(); }));
}
}
