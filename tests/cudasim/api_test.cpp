/* api_test.cpp - the fake CUDA API: situations at start, memory, streams, events, graphs, launches, two devices.
 *
 * What it must refuse, it refuses with CUDA's own code; what hides a mistake on most runs of a GPU shows here on every
 * run. library_test.cpp does the same for the libraries, and holds the fault loop. */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <functional>
#include <thread>
#include <vector>

#include "kernels/cudasim/control.h"
#include "tests/cudasim/check.h"
#include "tests/cudasim/sample_kernels.h"

static const cudasim_control *const control = tinyort_cudasim();

static void expect(cudaError_t found, cudaError_t expected, const char *what) {
    check(found == expected, "%s: %s, expected %s (%s)", what, cudaGetErrorName(found), cudaGetErrorName(expected),
          control->failure());
}
static void succeeds(cudaError_t found, const char *what) {
    expect(found, cudaSuccess, what);
}

static void play(const std::function<void(cudasim_settings &)> &change) {
    cudasim_settings settings = control->defaults();
    change(settings);
    control->configure(&settings);
}
static void play_default() {
    play([](cudasim_settings &) {});
}

static float *allocate(size_t count) {
    float *memory = nullptr;
    succeeds(cudaMalloc((void **)&memory, count * sizeof *memory), "cudaMalloc");
    return memory;
}
static float *upload(const std::vector<float> &values) {
    float *memory = allocate(values.size());
    succeeds(cudaMemcpy(memory, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice), "cudaMemcpy");
    return memory;
}
static float first_of(const float *memory) {
    float value = 0;
    succeeds(cudaMemcpy(&value, memory, sizeof value, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return value;
}

/* ---- situations ---- */

static void test_no_driver() {
    int version = -1, count = -1;
    play([](cudasim_settings &s) { s.driver_version = 0; });
    succeeds(cudaDriverGetVersion(&version), "cudaDriverGetVersion without a driver");
    check(version == 0, "driver version %d, expected 0", version);
    expect(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver, "no driver");
    play([](cudasim_settings &s) { s.driver_version = 11080; });
    expect(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver, "old driver");
    expect(cudaGetLastError(), cudaErrorInsufficientDriver, "cudaGetLastError after it");
    succeeds(cudaGetLastError(), "cudaGetLastError again");
}

static void test_no_device() {
    int count = -1;
    void *memory;
    play([](cudasim_settings &s) { s.device_count = 0; });
    expect(cudaGetDeviceCount(&count), cudaErrorNoDevice, "no device");
    play([](cudasim_settings &s) { s.initialization_error = cudaErrorStubLibrary; });
    expect(cudaGetDeviceCount(&count), cudaErrorStubLibrary, "stub library");
    play([](cudasim_settings &s) { s.device_count = 1; });
    expect(cudaSetDevice(1), cudaErrorInvalidDevice, "device 1 of 1");
    play([](cudasim_settings &s) { s.memory_bytes = 1000; });
    expect(cudaMalloc(&memory, 1001), cudaErrorMemoryAllocation, "more memory than there is");
    check(!memory, "a failed cudaMalloc returns no pointer");
    play([](cudasim_settings &s) { s.no_kernel_image = true; });
    expect(sample_add(nullptr, nullptr, nullptr, nullptr, 1), cudaErrorNoKernelImageForDevice, "no kernel image");
}

static void test_properties() {
    struct cudaDeviceProp properties;
    int major = 0, count = 0;
    play([](cudasim_settings &s) { s.capability = 75; });
    succeeds(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    check(count == 2, "%d devices, expected 2", count);
    succeeds(cudaGetDeviceProperties(&properties, 1), "cudaGetDeviceProperties");
    check(strstr(properties.name, "simulated") != nullptr, "the name says it is simulated: %s", properties.name);
    check(properties.major == 7 && properties.minor == 5, "capability %d.%d", properties.major, properties.minor);
    succeeds(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), "cudaDeviceGetAttribute");
    check(major == 7, "major %d", major);
    check(!strcmp(cudaGetErrorName(cudaErrorNoDevice), "cudaErrorNoDevice"), "cudaGetErrorName");
}

static void test_injection() {
    void *memory = nullptr;
    play_default();
    control->fail_nth("cudaMalloc", 2, cudaErrorMemoryAllocation);
    succeeds(cudaMalloc(&memory, 16), "first cudaMalloc");
    void *other = nullptr;
    expect(cudaMalloc(&other, 16), cudaErrorMemoryAllocation, "second cudaMalloc");
    control->fail_nth("cudaFree", 1, cudaErrorUnknown);
    expect(cudaFree(memory), cudaErrorUnknown, "cudaFree made to fail");
    check(!control->leftovers(nullptr, 0), "it frees all the same");
    check(control->calls("cudaMalloc") == 2 && control->calls(nullptr) == 3, "counts: %d cudaMalloc, %d in all",
          control->calls("cudaMalloc"), control->calls(nullptr));
}

/* ---- memory ---- */

static void test_memory() {
    float host[8] = {0};
    play_default();
    float *memory = allocate(4);
    check(isnan(first_of(memory)), "fresh memory is NaN");
    check((uintptr_t)memory % 256 == 0 && (uintptr_t)memory % 512 != 0, "aligned to 256 bytes and no more: %p", memory);
    expect(cudaMemcpy(memory, host, 17, cudaMemcpyHostToDevice), cudaErrorInvalidValue, "past the end");
    expect(cudaMemcpy(memory, host, 16, cudaMemcpyDeviceToHost), cudaErrorInvalidValue, "wrong direction");
    expect(cudaMemset(memory + 2, 0, 12), cudaErrorInvalidValue, "fill past the end");
    succeeds(cudaMemcpy(memory, host, 16, cudaMemcpyDefault), "default direction");
    expect(cudaFree(memory + 1), cudaErrorInvalidValue, "free within a buffer");
    struct cudaPointerAttributes attributes;
    succeeds(cudaPointerGetAttributes(&attributes, memory + 1), "cudaPointerGetAttributes");
    check(attributes.type == cudaMemoryTypeDevice && attributes.device == 0, "a device pointer of device 0");
    succeeds(cudaPointerGetAttributes(&attributes, host), "cudaPointerGetAttributes");
    check(attributes.type == cudaMemoryTypeUnregistered, "an ordinary pointer");
    size_t free_bytes, total_bytes;
    succeeds(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
    check(total_bytes - free_bytes == 16, "%zu bytes in use", total_bytes - free_bytes);
    succeeds(cudaFree(memory), "cudaFree");
    expect(cudaFree(memory), cudaErrorInvalidValue, "free twice");
    succeeds(cudaFree(nullptr), "free nothing");
}

static void test_pinned_memory() {
    void *pinned;
    struct cudaPointerAttributes attributes;
    play_default();
    succeeds(cudaMallocHost(&pinned, 64), "cudaMallocHost");
    succeeds(cudaPointerGetAttributes(&attributes, (char *)pinned + 63), "cudaPointerGetAttributes");
    check(attributes.type == cudaMemoryTypeHost, "page-locked memory");
    succeeds(cudaFreeHost(pinned), "cudaFreeHost");
    expect(cudaFreeHost(pinned), cudaErrorInvalidValue, "cudaFreeHost twice");
}

/* ---- streams and events ---- */

/* Host code that forgets to synchronize reads the old value where streams are lazy, and never where they are eager. */
static void test_missing_synchronization() {
    for (bool lazy : {false, true}) {
        play([=](cudasim_settings &s) { s.lazy_streams = lazy; });
        float *memory = upload({1}), value = 7;
        cudaStream_t stream;
        succeeds(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
        succeeds(cudaMemcpyAsync(&value, memory, sizeof value, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
        check(value == (lazy ? 7 : 1), "%s stream: the host reads %g without waiting", lazy ? "lazy" : "eager", value);
        succeeds(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        check(value == 1, "after waiting it reads %g", value);
        succeeds(cudaStreamDestroy(stream), "cudaStreamDestroy");
        succeeds(cudaFree(memory), "cudaFree");
    }
}

/* Likewise host code that reuses, or unmaps, pageable memory while a copy from it may still be under way. */
static void test_late_upload() {
    enum { PAGE = 4096 };
    for (bool lazy : {false, true}) {
        play([=](cudasim_settings &s) { s.lazy_streams = lazy; });
        float *memory = upload({0}), value = 1;
        cudaStream_t stream;
        succeeds(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
        succeeds(cudaMemcpyAsync(memory, &value, sizeof value, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
        value = 7;
        succeeds(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        check(first_of(memory) == (lazy ? 7 : 1), "%s stream: %g arrives", lazy ? "lazy" : "eager", first_of(memory));
        check((*tinyort_cudasim()->failure() != 0) == lazy, "it says '%s'", tinyort_cudasim()->failure());
        void *page = mmap(nullptr, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        succeeds(cudaMemcpyAsync(memory, page, sizeof value, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
        munmap(page, PAGE);
        expect(cudaStreamSynchronize(stream), lazy ? cudaErrorIllegalAddress : cudaSuccess,
               "a source that is unmapped");
        cudaStreamDestroy(stream);
        cudaFree(memory);
    }
    play_default();
}

/* Two streams without an event between them: the younger runs first, and reads too early. */
static void test_events() {
    for (bool with_event : {false, true}) {
        play([](cudasim_settings &s) { s.lazy_streams = true; });
        float *a = upload({1, 2, 3, 4}), *b = upload({0, 0, 0, 0}), result = -1;
        cudaStream_t first, second;
        cudaEvent_t event;
        succeeds(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking), "first stream");
        succeeds(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking), "second stream");
        succeeds(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "event");
        succeeds(sample_add(first, a, a, b, 4), "launch");
        succeeds(cudaEventRecord(event, first), "cudaEventRecord");
        if (with_event) succeeds(cudaStreamWaitEvent(second, event, 0), "cudaStreamWaitEvent");
        succeeds(cudaMemcpyAsync(&result, b, sizeof result, cudaMemcpyDeviceToHost, second), "cudaMemcpyAsync");
        succeeds(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        check(result == (with_event ? 2 : 0), "%s event: %g", with_event ? "with" : "without", result);
        succeeds(cudaEventDestroy(event), "cudaEventDestroy");
        succeeds(cudaStreamDestroy(first), "cudaStreamDestroy");
        succeeds(cudaStreamDestroy(second), "cudaStreamDestroy");
        succeeds(cudaFree(a), "cudaFree");
        succeeds(cudaFree(b), "cudaFree");
    }
}

static void test_default_stream() {
    play([](cudasim_settings &s) { s.lazy_streams = true; });
    float *a = upload({1}), *b = upload({0});
    cudaStream_t blocking, independent;
    succeeds(cudaStreamCreate(&blocking), "blocking stream");
    succeeds(cudaStreamCreateWithFlags(&independent, cudaStreamNonBlocking), "independent stream");
    succeeds(sample_add(blocking, a, a, b, 1), "launch");
    check(first_of(b) == 2, "a copy in the default stream waits for blocking streams");
    succeeds(sample_add(independent, b, b, b, 1), "launch");
    check(first_of(b) == 2, "but not for others");
    while (cudaStreamQuery(independent) == cudaErrorNotReady) continue;
    check(first_of(b) == 4, "polling lets a stream advance");
    succeeds(cudaStreamDestroy(blocking), "cudaStreamDestroy");
    succeeds(cudaStreamDestroy(independent), "cudaStreamDestroy");
    expect(cudaStreamSynchronize(blocking), cudaErrorInvalidResourceHandle, "a destroyed stream");
    succeeds(cudaFree(a), "cudaFree");
    succeeds(cudaFree(b), "cudaFree");
}

static void test_graphs() {
    play_default();
    float *a = upload({1}), *b = upload({0});
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    succeeds(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    succeeds(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    succeeds(sample_add(stream, a, b, b, 1), "launch");
    succeeds(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    check(first_of(b) == 0, "capturing runs nothing");
    succeeds(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
    for (int i = 0; i < 3; i++) succeeds(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
    check(first_of(b) == 3, "three launches: %g", first_of(b));
    succeeds(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
    succeeds(cudaGraphDestroy(graph), "cudaGraphDestroy");
    succeeds(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    expect(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported, "waiting while capturing");
    expect(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated, "the capture after it");
    void *memory;
    succeeds(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
    succeeds(cudaMalloc(&memory, 4), "cudaMalloc in a relaxed capture");
    succeeds(cudaStreamEndCapture(stream, &graph), "the relaxed capture");
    succeeds(cudaGraphDestroy(graph), "cudaGraphDestroy");
    succeeds(cudaFree(memory), "cudaFree");
    succeeds(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    void *elsewhere = nullptr;
    std::thread([&] { succeeds(cudaMalloc(&elsewhere, 4), "cudaMalloc of another thread"); }).join();
    expect(cudaMalloc(&memory, 4), cudaErrorStreamCaptureUnsupported, "cudaMalloc while capturing");
    expect(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated, "the capture after cudaMalloc");
    succeeds(cudaStreamDestroy(stream), "cudaStreamDestroy");
    succeeds(cudaFree(elsewhere), "cudaFree of what the other thread allocated");
    succeeds(cudaFree(a), "cudaFree");
    succeeds(cudaFree(b), "cudaFree");
}

/* ---- a lost device, two devices ---- */

static void test_lost_device() {
    play_default();
    float *a = upload({1});
    succeeds(cudaSetDevice(1), "cudaSetDevice");
    float *other = upload({5});
    succeeds(cudaSetDevice(0), "cudaSetDevice");
    expect(sample_add(nullptr, a, a, other, 1), cudaErrorIllegalAddress, "a kernel that writes to the other device");
    check(strstr(control->failure(), "belongs to device 1") && strstr(control->failure(), "sample_kernels.cu"),
          "the failure names the device and the launch: %s", control->failure());
    expect(cudaDeviceSynchronize(), cudaErrorIllegalAddress, "the next call");
    expect(cudaGetLastError(), cudaErrorIllegalAddress, "cudaGetLastError");
    expect(cudaGetLastError(), cudaErrorIllegalAddress, "cudaGetLastError keeps it");
    succeeds(cudaSetDevice(1), "the other device");
    check(first_of(other) == 5, "it is not affected");
    succeeds(cudaFree(other), "cudaFree");
    succeeds(cudaFree(a), "memory of the lost device, freed from the other");
    play_default();
}

static void test_lazy_use_after_free() {
    play([](cudasim_settings &s) { s.lazy_streams = true; });
    float *a = upload({1}), result;
    cudaStream_t first, second;
    succeeds(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking), "stream");
    succeeds(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking), "stream");
    succeeds(cudaMemcpyAsync(&result, a, sizeof result, cudaMemcpyDeviceToHost, first), "cudaMemcpyAsync");
    succeeds(cudaFreeAsync(a, second), "cudaFreeAsync in another stream");
    succeeds(cudaStreamSynchronize(second), "cudaStreamSynchronize");
    expect(cudaStreamSynchronize(first), cudaErrorIllegalAddress, "the copy finds its buffer freed");
    cudaStreamDestroy(first);
    cudaStreamDestroy(second);
    play_default();
}

static void test_streams_of_another_device() {
    play_default();
    cudaStream_t stream;
    float *a = upload({1});
    succeeds(cudaSetDevice(1), "cudaSetDevice");
    succeeds(cudaStreamCreate(&stream), "stream of device 1");
    succeeds(cudaSetDevice(0), "cudaSetDevice");
    expect(sample_add(stream, a, a, a, 1), cudaErrorInvalidResourceHandle, "a launch on it from device 0");
    succeeds(cudaStreamDestroy(stream), "cudaStreamDestroy");
    succeeds(cudaFree(a), "cudaFree");
}

/* The driver's stack of contexts: the top is current, and what cudaSetDevice chose is below it. */
static void test_contexts() {
    play_default();
    CUcontext contexts[2] = {nullptr, nullptr}, popped = nullptr;
    CUdevice device = -1;
    void *found = nullptr;
    enum cudaDriverEntryPointQueryResult result;
    succeeds(cudaGetDriverEntryPointByVersion("cuCtxPushCurrent", &found, 12000, cudaEnableDefault, &result), "lookup");
    check(found == (void *)cuCtxPushCurrent && result == cudaDriverEntryPointSuccess, "a function that is there");
    succeeds(cudaGetDriverEntryPointByVersion("cuCtxDance", &found, 12000, cudaEnableDefault, &result), "lookup");
    check(!found && result == cudaDriverEntryPointSymbolNotFound, "a function that is not there");
    check(!control->is_used(0) && !control->is_used(1), "looking functions up starts CUDA on a device");
    check(cuDeviceGet(&device, 2) == (CUresult)cudaErrorInvalidDevice, "a third device");
    check(!cuDeviceGet(&device, 1) && device == 1, "the second device");
    check(!cuDevicePrimaryCtxRetain(&contexts[1], 1), "its context");
    check(control->is_used(1) && !control->is_used(0), "holding a context starts CUDA on its device alone");
    check(!cuCtxPushCurrent(contexts[1]), "a push");
    check(control->current_device() == 1, "current after a push: %d", control->current_device());
    float *a = upload({1});
    check(!cuDevicePrimaryCtxRetain(&contexts[0], 0) && !cuCtxPushCurrent(contexts[0]), "a push on top");
    check(control->current_device() == 0, "current after the second push: %d", control->current_device());
    check(!cuCtxPopCurrent(&popped) && popped == contexts[0], "a pop");
    check(!cuCtxPopCurrent(&popped) && popped == contexts[1], "the other pop");
    check(cuCtxPopCurrent(&popped) == (CUresult)cudaErrorInvalidValue, "nothing to pop");
    check(control->current_device() == 0, "current at the end: %d", control->current_device());
    succeeds(cudaFree(a), "cudaFree");
    check(cuCtxPushCurrent(nullptr) == (CUresult)cudaErrorInvalidValue, "a push of no context");
}

/* Two threads, a device each, many launches: the lock keeps them apart and results are each one's own. */
static void test_threads() {
    play_default();
    bool right[2] = {false, false};
    const auto work = [&right](int device) {
        float *sum = nullptr, zero = 0, one = 1, *ones = nullptr, result = 0;
        bool fine = !cudaSetDevice(device) && !cudaMalloc((void **)&sum, 4) && !cudaMalloc((void **)&ones, 4) &&
                    !cudaMemcpy(sum, &zero, 4, cudaMemcpyHostToDevice) &&
                    !cudaMemcpy(ones, &one, 4, cudaMemcpyHostToDevice);
        const int rounds = 200 + device;
        for (int i = 0; fine && i < rounds; i++) fine = !sample_sum(nullptr, ones, sum, 1);
        fine = fine && !cudaMemcpy(&result, sum, 4, cudaMemcpyDeviceToHost) && result == (float)rounds;
        right[device] = !cudaFree(sum) && !cudaFree(ones) && fine;
    };
    std::thread first(work, 0), second(work, 1);
    first.join();
    second.join();
    check(right[0] && right[1], "two threads on two devices: %d %d", right[0], right[1]);
}

int main() {
    test_no_driver();
    test_no_device();
    test_properties();
    test_injection();
    test_memory();
    test_pinned_memory();
    test_missing_synchronization();
    test_late_upload();
    test_events();
    test_default_stream();
    test_graphs();
    test_lost_device();
    test_lazy_use_after_free();
    test_streams_of_another_device();
    test_contexts();
    test_threads();
    char text[256];
    check(!control->leftovers(text, sizeof text), "left over: %s", text);
    return summary("cudasim-api");
}
