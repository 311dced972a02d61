/* libraries.cpp - opening the simulated cuBLAS and cuDNN, and functions that they share with the API.
 *
 * A library is "installed" in the version that the settings name, and found under that version's file name only. Its
 * functions are part of this program; cuda_library_symbol returns their addresses. Read next: fake_cublas.cpp,
 * fake_cudnn.cpp. */
#include "kernels/cudasim/libraries.h"

#include <stdio.h>

#include "kernels/cuda/machine.h"
#include "kernels/cudasim/fake_libraries.h"

using namespace cudasim;

namespace {

struct Symbol {
    const char *name;
    void *address;
};

#define CUDASIM_SYMBOL(type, name, parameters) {#name, (void *)name},
const Symbol cublas_symbols[] = {CUBLAS_FUNCTIONS(CUDASIM_SYMBOL){nullptr, nullptr}};
const Symbol cudnn_symbols[] = {CUDNN_FUNCTIONS(CUDASIM_SYMBOL){nullptr, nullptr}};
const Symbol driver_symbols[] = {{"cuInit", (void *)cuDeviceGet}, {nullptr, nullptr}}; /* must exist; never called */
#undef CUDASIM_SYMBOL

bool is_installed(const char *name, const char *library, int version) {
    return version && std::string(name) == "lib" + std::string(library) + ".so." + std::to_string(version);
}

} // namespace

extern "C" {

void *cuda_library_open(const char *file_name) {
    const std::lock_guard<std::recursive_mutex> guard(machine().lock);
    const cudasim_settings &settings = machine().settings;
    if (settings.broken_file && !strcmp(settings.broken_file, file_name)) {
        machine().library_error = "/simulated/" + std::string(file_name) + ": file too short";
        return nullptr;
    }
    if (settings.driver_file && !strcmp(file_name, "libcuda.so.1")) return const_cast<Symbol *>(driver_symbols);
    if (is_installed(file_name, "cublas", settings.cublas_version)) return const_cast<Symbol *>(cublas_symbols);
    if (is_installed(file_name, "cudnn", settings.cudnn_version)) return const_cast<Symbol *>(cudnn_symbols);
    machine().library_error = std::string(file_name) + ": cannot open shared object file: No such file or directory";
    return nullptr;
}

void *cuda_library_symbol(void *library, const char *name) {
    const std::lock_guard<std::recursive_mutex> guard(machine().lock);
    const char *missing = machine().settings.missing_symbol;
    for (const Symbol *symbol = (const Symbol *)library; symbol->name; symbol++)
        if (!strcmp(symbol->name, name) && !(missing && !strcmp(missing, name))) return symbol->address;
    machine().library_error = "undefined symbol: " + std::string(name);
    return nullptr;
}

const char *cuda_library_error(void) {
    return machine().library_error.c_str();
}

void cuda_library_close(void *) {}

cuda_gpu_file cuda_machine_gpu(void) {
    const std::lock_guard<std::recursive_mutex> guard(machine().lock);
    cuda_gpu_file file = {"", machine().settings.gpu_forbidden};
    if (machine().settings.gpu_file) snprintf(file.path, sizeof file.path, "%s", machine().settings.gpu_file);
    return file;
}

uint64_t cuda_machine_memory(void) {
    const std::lock_guard<std::recursive_mutex> guard(machine().lock);
    const size_t live = heap_live_bytes(thread_state().device()), all = machine().settings.memory_bytes;
    return live < all ? all - live : 0;
}

bool cuda_machine_library(const char *, char *, size_t) {
    return false;
}

void cuda_machine_driver(char *number, size_t size) {
    const std::lock_guard<std::recursive_mutex> guard(machine().lock);
    snprintf(number, size, "%s", machine().settings.driver_number ? machine().settings.driver_number : "");
}
}

namespace cudasim {

bool library_call_fails(const char *function) {
    return Call(function, Needs::nothing).error != cudaSuccess;
}

bool library_submit(int device, cudaStream_t handle, const std::function<void()> &work) {
    const std::lock_guard<std::recursive_mutex> guard(machine().lock);
    CUstream_st *stream = find_stream(handle);
    if (!stream || stream->device != device || thread_state().device() != device) return false;
    if (machine().devices[device].lost) return false;
    return !submit(stream, [=] {
        const HeapAccess access(device);
        machine().devices[device].microseconds += machine().settings.library_microseconds;
        work();
        return cudaSuccess;
    });
}

bool library_object_lives(const void *object) {
    const std::lock_guard<std::recursive_mutex> guard(machine().lock);
    return machine().library_objects.count(object) != 0;
}

bool operand_is_valid(const void *memory, size_t bytes) {
    return !bytes || heap_owns(memory, bytes) || is_pinned(memory, bytes);
}

} // namespace cudasim
