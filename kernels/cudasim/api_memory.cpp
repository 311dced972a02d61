/* api_memory.cpp - the fake CUDA API: device and page-locked memory, copies, fills.
 *
 * A copy is checked when it is submitted (direction, bounds: cudaErrorInvalidValue) and again when it runs, because
 * its buffer may have been freed meanwhile (which loses the device, as on a GPU). An asynchronous copy from or to
 * pageable memory returns before it is done, and reads the memory when it runs, in a lazy stream long afterwards: CUDA
 * promises no more ("API synchronization behavior": a driver *might* stage the memory first), and a GPU that reads the
 * host's pages by itself needs no staging. Read next: api_stream.cpp. */
#include "kernels/cudasim/api.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

using namespace cudasim;

bool cudasim::is_pinned(const void *memory, size_t bytes) {
    const auto &pinned = machine().pinned;
    const auto next = pinned.upper_bound((char *)const_cast<void *>(memory));
    if (next == pinned.begin()) return false;
    const auto &[block, size] = *std::prev(next);
    const size_t offset = (size_t)((const char *)memory - block);
    return offset <= size && bytes <= size - offset;
}

namespace {

bool says_device(enum cudaMemcpyKind kind, bool destination) {
    return kind == cudaMemcpyDeviceToDevice || kind == (destination ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost);
}

/* True if one end of a copy is a host pointer, or bytes within one live device buffer, and fits the direction. */
bool end_is_valid(const void *memory, size_t bytes, enum cudaMemcpyKind kind, bool destination) {
    const bool on_device = heap_device(memory) >= 0;
    if (kind != cudaMemcpyDefault && on_device != says_device(kind, destination)) return false;
    return on_device ? heap_owns(memory, bytes) : memory != nullptr;
}

bool copy_is_valid(const void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    if (end_is_valid(to, bytes, kind, true) && end_is_valid(from, bytes, kind, false)) return true;
    machine().failure = "copy: the pointers do not fit the direction, or the bytes are not within a live device buffer";
    return false;
}

cudaError_t run_copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    if (!copy_is_valid(to, from, bytes, kind)) return cudaErrorIllegalAddress;
    const HeapAccess destination(heap_device(to)), source(heap_device(from));
    memmove(to, from, bytes);
    return cudaSuccess;
}

/* Copies from host memory that may be gone, or changed, since the copy was submitted, when it held `before`. */
cudaError_t run_late_copy(void *to, const void *from, const std::string &before) {
    std::string now(before.size(), 0);
    const iovec mine = {&now[0], now.size()}, theirs = {const_cast<void *>(from), now.size()};
    errno = 0;
    if (process_vm_readv(getpid(), &mine, 1, &theirs, 1, 0) != (ssize_t)now.size()) {
        if (errno == EPERM || errno == ENOSYS)
            return run_copy(to, from, now.size(), cudaMemcpyHostToDevice); /* a sandbox */
        machine().failure = "copy: its source in pageable memory was unmapped before the copy ran";
        return cudaErrorIllegalAddress;
    }
    if (now != before)
        machine().failure = "copy: its source in pageable memory was changed or freed before the copy ran";
    return run_copy(to, now.data(), now.size(), cudaMemcpyHostToDevice);
}

cudaError_t submit_copy(CUstream_st *stream, void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    if (!bytes) return cudaSuccess;
    if (!copy_is_valid(to, from, bytes, kind)) return cudaErrorInvalidValue;
    const bool to_device = heap_device(to) >= 0, from_device = heap_device(from) >= 0;
    if (to_device && !from_device && !is_pinned(from, bytes) && !stream->capture) {
        const std::string before((const char *)from, bytes);
        return submit(stream, [=] { return run_late_copy(to, from, before); });
    }
    return submit(stream, [=] { return run_copy(to, from, bytes, kind); });
}

cudaError_t submit_fill(CUstream_st *stream, void *memory, int value, size_t bytes) {
    if (!bytes) return cudaSuccess;
    if (!heap_owns(memory, bytes)) return cudaErrorInvalidValue;
    return submit(stream, [=] {
        if (!heap_owns(memory, bytes)) return cudaErrorIllegalAddress;
        const HeapAccess access(heap_device(memory));
        memset(memory, value, bytes);
        return cudaSuccess;
    });
}

cudaError_t allocate(int device, size_t bytes, void **memory) {
    *memory = nullptr;
    if (!bytes) return cudaSuccess;
    const size_t capacity = machine().settings.memory_bytes, live = heap_live_bytes(device);
    if (live > capacity || bytes > capacity - live) return cudaErrorMemoryAllocation;
    *memory = heap_allocate(device, bytes);
    return *memory ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t release(void *memory) {
    if (!memory) return cudaSuccess;
    const int device = heap_device(memory);
    if (device < 0) return cudaErrorInvalidValue;
    cudaError_t error = refuse_while_capturing(device);
    if (error) return error;
    if (!machine().devices[device].lost) error = drain_device(device);
    return heap_release(memory) ? error : cudaErrorInvalidValue;
}

cudaError_t allocate_pinned(void **memory, size_t bytes) {
    *memory = malloc(bytes ? bytes : 1);
    if (!*memory) return cudaErrorMemoryAllocation;
    machine().pinned[(char *)*memory] = bytes;
    return cudaSuccess;
}

} // namespace

extern "C" {

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes) {
    Call call(__func__);
    if (call.error) return call.error;
    const size_t live = heap_live_bytes(call.device()) + machine().settings.file_cache;
    *total_bytes = machine().settings.memory_bytes;
    *free_bytes = live < *total_bytes ? *total_bytes - live : 0;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **memory, size_t bytes) {
    Call call(__func__);
    if (call.error) return call.error;
    const cudaError_t error = refuse_while_capturing(call.device());
    return call.result(error ? error : allocate(call.device(), bytes, memory));
}

cudaError_t cudaFree(void *memory) {
    Call call(__func__);
    return call.freed(release(memory));
}

cudaError_t cudaMallocAsync(void **memory, size_t bytes, cudaStream_t handle) {
    Call call(__func__);
    if (call.error) return call.error;
    CUstream_st *stream = find_stream(handle);
    if (!stream) return call.result(cudaErrorInvalidResourceHandle);
    return call.result(allocate(stream->device, bytes, memory));
}

cudaError_t cudaFreeAsync(void *memory, cudaStream_t handle) {
    Call call(__func__);
    CUstream_st *stream = find_stream(handle);
    if (!stream) return call.freed(cudaErrorInvalidResourceHandle);
    if (!memory) return call.freed(cudaSuccess);
    if (!heap_owns(memory, 0)) return call.freed(cudaErrorInvalidValue);
    if (call.error) return heap_release(memory) ? call.error : cudaErrorInvalidValue;
    return call.result(submit(stream, [=] { return heap_release(memory) ? cudaSuccess : cudaErrorInvalidValue; }));
}

cudaError_t cudaMallocHost(void **memory, size_t bytes) {
    Call call(__func__);
    if (call.error) return call.error;
    const cudaError_t error = refuse_while_capturing(call.device());
    return call.result(error ? error : allocate_pinned(memory, bytes));
}

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned int) {
    Call call(__func__);
    if (call.error) return call.error;
    const cudaError_t error = refuse_while_capturing(call.device());
    return call.result(error ? error : allocate_pinned(memory, bytes));
}

cudaError_t cudaFreeHost(void *memory) {
    Call call(__func__);
    if (!memory) return call.freed(cudaSuccess);
    if (!machine().pinned.erase((char *)memory)) return call.freed(cudaErrorInvalidValue);
    free(memory);
    return call.freed(cudaSuccess);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer) {
    Call call(__func__, Needs::driver);
    if (call.error) return call.error;
    void *plain = const_cast<void *>(pointer);
    const int device = heap_device(pointer);
    if (device >= 0 && heap_owns(pointer, 0))
        *attributes = {cudaMemoryTypeDevice, device, plain, nullptr};
    else if (is_pinned(pointer, 1))
        *attributes = {cudaMemoryTypeHost, call.device(), plain, plain};
    else
        *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, plain};
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    Call call(__func__);
    if (call.error) return call.error;
    cudaError_t error = refuse_while_capturing(call.device());
    if (!error) error = submit_copy(find_stream(nullptr), to, from, bytes, kind);
    return call.result(error ? error : drain(find_stream(nullptr)));
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t handle) {
    Call call(__func__);
    if (call.error) return call.error;
    CUstream_st *stream = find_stream(handle);
    return call.result(stream ? submit_copy(stream, to, from, bytes, kind) : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                                cudaStream_t handle) {
    Call call(__func__);
    if (call.error) return call.error;
    CUstream_st *stream = find_stream(handle);
    if (!stream) return call.result(cudaErrorInvalidResourceHandle);
    if (heap_device(to) != to_device || heap_device(from) != from_device) return call.result(cudaErrorInvalidValue);
    return call.result(submit_copy(stream, to, from, bytes, cudaMemcpyDeviceToDevice));
}

cudaError_t cudaMemset(void *memory, int value, size_t bytes) {
    Call call(__func__);
    if (call.error) return call.error;
    return call.result(submit_fill(find_stream(nullptr), memory, value, bytes));
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t handle) {
    Call call(__func__);
    if (call.error) return call.error;
    CUstream_st *stream = find_stream(handle);
    return call.result(stream ? submit_fill(stream, memory, value, bytes) : cudaErrorInvalidResourceHandle);
}
}
