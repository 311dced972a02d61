/* api.cpp - state of the simulated machine, the gate of every API function (class Call), and the control table for
 * tests. Read next: api_device.cpp. */
#include "kernels/cudasim/api.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

namespace cudasim {

namespace {

cudasim_settings default_settings() {
    cudasim_settings settings = {};
    settings.device_count = 2;
    settings.driver_version = 13000;
    settings.runtime_version = 12090;
    settings.capability = 80;
    settings.multiprocessors = 108;
    settings.memory_bytes = (size_t)1 << 30;
    settings.cublas_version = 13;
    settings.cudnn_version = 9;
    settings.kernel_microseconds = settings.library_microseconds = 10;
    return settings;
}

/* A pthread key instead of a thread_local, which shared.cpp would take for a __shared__ array under -femulated-tls. */
pthread_key_t thread_key;

void create_thread_key() {
    pthread_key_create(&thread_key, [](void *state) { delete (ThreadState *)state; });
}

} // namespace

Machine::Machine()
    : settings(default_settings()), all_calls(0), fail_countdown(0), fail_code(0), fault_countdown(0), fault_code(0) {
    for (int i = 0; i < max_devices; i++) devices[i].default_stream.device = i;
}

/* Never destroyed: an application may free device memory while it exits. */
Machine &machine() {
    static Machine *the_machine = new Machine();
    return *the_machine;
}

ThreadState &thread_state() {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, create_thread_key);
    ThreadState *state = (ThreadState *)pthread_getspecific(thread_key);
    if (!state) {
        state = new ThreadState();
        pthread_setspecific(thread_key, state);
    }
    return *state;
}

/* True for errors that leave a GPU's context unusable: every later call returns them again. */
bool loses_device(cudaError_t error) {
    return error == cudaErrorIllegalAddress || error == cudaErrorLaunchFailure || error == cudaErrorMisalignedAddress ||
           error == cudaErrorLaunchTimeout || error == cudaErrorHardwareStackError ||
           error == cudaErrorECCUncorrectable || error == cudaErrorContained;
}

Call::Call(const char *function, Needs needs) : error(cudaSuccess), guard(machine().lock) {
    Machine &all = machine();
    all.calls[function]++;
    all.all_calls++;
    const bool counts = all.fail_function.empty() || all.fail_function == function;
    if (all.fail_countdown && counts && !--all.fail_countdown) {
        error = result((cudaError_t)all.fail_code);
        if (loses_device(error)) all.devices[device()].lost = error;
        return;
    }
    const cudasim_settings &settings = all.settings;
    if (needs == Needs::nothing) return;
    if (settings.driver_version / 1000 < settings.runtime_version / 1000) /* minor versions are compatible */
        error = cudaErrorInsufficientDriver;
    else if (all.process && all.process != getpid())
        error = cudaErrorInitializationError;
    else if (settings.initialization_error)
        error = (cudaError_t)settings.initialization_error;
    else if (!settings.device_count)
        error = cudaErrorNoDevice;
    else if (needs == Needs::device)
        error = all.devices[device()].lost;
    if (needs == Needs::device && !error) {
        all.devices[device()].used = true;
        all.process = getpid();
    }
    result(error);
}

cudaError_t Call::result(cudaError_t outcome) {
    if (outcome) thread_state().last_error = outcome;
    return outcome;
}

cudaError_t Call::freed(cudaError_t outcome) {
    return error ? error : result(outcome);
}

int Call::device() const {
    return thread_state().device();
}

enum { few_blocks = 7, blocks_of_a_gpu = 65535 };
unsigned grid_limit = few_blocks; /* see device.h */

namespace {

typedef std::lock_guard<std::recursive_mutex> Guard;

void configure(const cudasim_settings *settings) {
    Machine &all = machine();
    const Guard guard(all.lock);
    all.settings = *settings;
    grid_limit = settings->meter_traffic ? blocks_of_a_gpu : few_blocks;
    all.failure.clear();
    all.calls.clear();
    all.all_calls = all.fail_countdown = all.fault_countdown = all.late_loads = all.broken_captures = 0;
    all.process = 0;
    for (Device &device : all.devices) {
        device.lost = cudaSuccess;
        device.used = false;
        device.default_stream.queue.clear();
        for (cudaStream_t stream : device.streams) stream->queue.clear();
    }
    thread_state() = ThreadState();
    traffic_reset();
}

void fail_nth(const char *function, int nth, int code) {
    Machine &all = machine();
    const Guard guard(all.lock);
    all.fail_function = function ? function : "";
    all.fail_countdown = nth;
    all.fail_code = code;
}

void fault_nth(int nth, int code) {
    Machine &all = machine();
    const Guard guard(all.lock);
    all.fault_countdown = nth;
    all.fault_code = code;
}

int calls(const char *function) {
    Machine &all = machine();
    const Guard guard(all.lock);
    return function ? all.calls[function] : all.all_calls;
}

size_t leftovers(char *text, size_t text_size) {
    Machine &all = machine();
    const Guard guard(all.lock);
    size_t buffers = 0, bytes = 0, streams = 0;
    for (int i = 0; i < max_devices; i++) {
        buffers += heap_live_buffers(i);
        bytes += heap_live_bytes(i);
        streams += all.devices[i].streams.size();
    }
    const size_t graphs = all.graphs.size() + all.executables.size();
    if (text)
        snprintf(text, text_size,
                 "%zu device buffers (%zu bytes), %zu pinned, %zu streams, %zu events, %zu graphs, %zu library objects",
                 buffers, bytes, all.pinned.size(), streams, all.events.size(), graphs, all.library_objects.size());
    return buffers + all.pinned.size() + streams + all.events.size() + graphs + all.library_objects.size();
}

const char *failure() {
    return machine().failure.c_str();
}

void *host_alloc(size_t bytes) {
    void *memory = nullptr;
    return cudaMallocHost(&memory, bytes) == cudaSuccess ? memory : nullptr;
}

void host_free(void *memory) {
    cudaFreeHost(memory);
}

void *stream_open() {
    cudaStream_t stream = nullptr;
    return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess ? stream : nullptr;
}

int stream_capture(void *stream) {
    return cudaStreamBeginCapture((cudaStream_t)stream, cudaStreamCaptureModeGlobal);
}

int stream_copy(void *stream, void *to, const void *from, size_t bytes) {
    return (int)cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, (cudaStream_t)stream);
}

void stream_close(void *stream) {
    cudaStreamDestroy((cudaStream_t)stream);
}

void set_device(int device) {
    thread_state() = ThreadState();
    thread_state().chosen = device;
}

int current_device() {
    return thread_state().device();
}

int broken_captures() {
    const Guard guard(machine().lock);
    return machine().broken_captures;
}

int last_error() {
    const cudaError_t error = thread_state().last_error;
    thread_state().last_error = cudaSuccess;
    return (int)error;
}

int late_loads() {
    const Guard guard(machine().lock);
    return machine().late_loads;
}

void unload() {
    const Guard guard(machine().lock);
    for (Device &device : machine().devices) device.loaded.clear();
}

bool is_used(int device) {
    const Guard guard(machine().lock);
    return machine().devices[device].used;
}

size_t traffic(cudasim_traffic *rows, size_t most) {
    const Guard guard(machine().lock);
    return traffic_of_kernels(rows, most);
}

const cudasim_control control = {CUDASIM_CONTROL_VERSION,
                                 default_settings,
                                 configure,
                                 arrange_machine,
                                 fail_nth,
                                 fault_nth,
                                 calls,
                                 leftovers,
                                 failure,
                                 host_alloc,
                                 host_free,
                                 stream_open,
                                 stream_capture,
                                 stream_copy,
                                 stream_close,
                                 set_device,
                                 current_device,
                                 last_error,
                                 late_loads,
                                 broken_captures,
                                 unload,
                                 is_used,
                                 traffic};

} // namespace

} // namespace cudasim

extern "C" const cudasim_control *tinyort_cudasim(void) {
    return &cudasim::control;
}
