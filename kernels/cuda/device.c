/* device.c - opens a CUDA device, or finds out why it cannot; memory and errors of an open one.
 *
 * The checks distinguish causes that CUDA's error codes blur: without a driver, cudaGetDeviceCount reports an
 * "insufficient" driver, so cudaDriverGetVersion is asked first (0: there is none). It knows no operators.
 * Read next: streams.c, libraries.c, then a family such as conv.c. */
#if defined(TORT_CUDA) || defined(TORT_CUDASIM)
#include "kernels/cuda/device.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cuda_provider.h"
#include "kernels/cuda/images.h"
#include "kernels/cuda/move.h"
#include "runtime/core/base/locale.h"

/* ---- why it did not open ----------------------------------------------------------------------------------------- */

static void down(tort_condition *condition, const char *code, const char *cure, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void down(tort_condition *condition, const char *code, const char *cure, const char *format, ...) {
    va_list arguments;
    *condition = (tort_condition){.ready = false};
    snprintf(condition->code, sizeof condition->code, "%s", code);
    snprintf(condition->cure, sizeof condition->cure, "%s", cure);
    va_start(arguments, format);
    tort_vsnprintf(condition->message, sizeof condition->message, format, arguments);
    va_end(arguments);
}

/* Returns a remedy for an error of the driver, as far as the code tells. */
static const char *cure_of(cudaError_t code) {
    switch (code) {
    case cudaErrorDevicesUnavailable:
        return "see whether another process holds the GPU alone (nvidia-smi -q -d COMPUTE shows its compute mode)";
    case cudaErrorSystemDriverMismatch:
        return "reboot: the running kernel module and libcuda.so.1 are of different driver versions";
    case cudaErrorSystemNotReady:
        return "start the service of the machine's NVSwitches (nvidia-fabricmanager), or see whether nvidia-smi works";
    case cudaErrorCompatNotSupportedOnDevice:
        return "take the cuda-compat folder out of LD_LIBRARY_PATH: this GPU needs the libcuda.so.1 of its own driver";
    case cudaErrorECCUncorrectable:
        return "the GPU's memory is failing: see nvidia-smi -q -d ECC; start the program anew, on another GPU if need be";
    case cudaErrorLaunchTimeout:
        return "use a GPU without a display, whose driver stops no long kernel; start the program anew";
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorHardwareStackError:
    case cudaErrorAssert: return "start the program anew: after this CUDA does nothing more for it";
    case cudaErrorInitializationError:
        return "CUDA does not survive fork: let the child process start by spawn, or open CUDA in the child alone; if this "
               "process was not forked, see whether nvidia-smi works";
    case cudaErrorStubLibrary:
        return "take the toolkit's stubs folder out of LD_LIBRARY_PATH: it shadows the driver's libcuda.so.1";
    default: return "see whether nvidia-smi works";
    }
}

/* Formats 13000 as "13.0". */
static const char *version_text(int version, char *buffer, size_t size) {
    snprintf(buffer, size, "%d.%d", version / 1000, version % 1000 / 10);
    return buffer;
}

/* The CUDA that the oldest driver for this build supports: NVIDIA's "CUDA Toolkit Release Notes" has the table. */
enum { NEEDED_CUDA = TORT_CUDA_DRIVER >= 580 ? 13000 : TORT_CUDA_DRIVER >= 550 ? 12040 : 12000 };

static bool check_driver(tort_condition *condition, int *driver) {
    *driver = 0;
    cudaDriverGetVersion(driver);
    if (*driver == 0) {
        *condition = (tort_condition){.ready = false};
        const bool absent = cuda_driver_is_absent(condition->message, sizeof condition->message, condition->cure,
                                                  sizeof condition->cure);
        snprintf(condition->code, sizeof condition->code, absent ? "NO_DRIVER" : "FAILED");
        return false;
    }
    if (*driver < NEEDED_CUDA) {
        char have[16], need[16], number[32], cure[160];
        cuda_machine_driver(number, sizeof number);
        snprintf(cure, sizeof cure, "update the NVIDIA driver to %d or newer (nvidia-smi shows its number)%s",
                 TORT_CUDA_DRIVER,
                 TORT_CUDA_DRIVER > 525 ? ", or build tinyort for drivers from 525 on (make CUDA_DRIVER=525)" : "");
        const char *in = *number ? " (" : "", *out = *number ? ")" : "";
        down(condition, "OLD_DRIVER", cure,
             "the NVIDIA driver is %s%sfor CUDA %s%s, this tinyort needs %d or newer (CUDA %s)", number, in,
             version_text(*driver, have, sizeof have), out, TORT_CUDA_DRIVER,
             version_text(NEEDED_CUDA, need, sizeof need));
        return false;
    }
    return true;
}

static bool check_devices(tort_condition *condition, int ordinal) {
    int count = 0;
    cudaError_t code = cudaGetDeviceCount(&count);
    if (code == cudaErrorNoDevice || (code == cudaSuccess && count == 0)) {
        const cuda_gpu_file gpu = cuda_machine_gpu();
        if (gpu.forbidden)
            down(condition, "HIDDEN", "let this user open the file (ls -l shows its group: video or render, say)",
                 "this machine has an NVIDIA GPU (%s), but this user may not open it", gpu.path);
        else if (*gpu.path)
            down(condition, "HIDDEN", "set CUDA_VISIBLE_DEVICES to the device's number, or unset it",
                 "this machine has an NVIDIA GPU (%s), but CUDA shows none (CUDA_VISIBLE_DEVICES hides it?)", gpu.path);
        else
            down(condition, "NO_DEVICE", "use a machine with an NVIDIA GPU, or take cuda out of the chain",
                 "there is an NVIDIA driver, but no GPU");
        return false;
    }
    if (code != cudaSuccess) {
        down(condition, "FAILED", cure_of(code), "cudaGetDeviceCount: %s (%s)", cudaGetErrorString(code),
             cudaGetErrorName(code));
        return false;
    }
    if (ordinal >= count) {
        down(condition, "NO_DEVICE", "choose another with device=N",
             "device %d was asked for, but CUDA shows %d (the first is device 0)", ordinal, count);
        return false;
    }
    return true;
}

static bool check_image(tort_condition *condition, int capability) {
    const cuda_image image = tort_cuda_image_of(capability);
    cudaError_t code = image.code ? gpu_load_fill(1) : cudaErrorNoKernelImageForDevice; /* any kernel will do */
    if (code == cudaErrorNoKernelImageForDevice || code == cudaErrorInvalidDeviceFunction) {
        down(condition, "NO_IMAGE", "", "the GPU is sm_%d, this tinyort has code for %s", capability, tort_cuda_images);
        tort_cuda_image_cure(capability, condition->cure, sizeof condition->cure);
        (void)cudaGetLastError();
        return false;
    }
    if (code == cudaErrorInvalidPtx || code == cudaErrorUnsupportedPtxVersion) {
        down(condition, "NO_IMAGE",
             "build tinyort with CUDA_ARCHS set to this GPU's compute capability, or update the driver",
             "the GPU is sm_%d, this tinyort has code for %s, and the driver does not compile its PTX: %s (%s)",
             capability, tort_cuda_images, cudaGetErrorString(code), cudaGetErrorName(code));
        (void)cudaGetLastError();
        return false;
    }
    if (code != cudaSuccess) {
        down(condition, "FAILED", cure_of(code), "loading code on the GPU: %s (%s)", cudaGetErrorString(code),
             cudaGetErrorName(code));
        return false;
    }
    if (image.ptx)
        snprintf(condition->note, sizeof condition->note,
                 "no machine code for sm_%d (built for %s): the driver compiles PTX-%d at the first start, which takes "
                 "seconds; build with CUDA_ARCHS=%d to avoid it",
                 capability, tort_cuda_images, image.code, capability);
    return true;
}

/* ---- the current device ------------------------------------------------------------------------------------------ */

int32_t cuda_enter(void *opened) {
    const cuda_device *device = opened;
    return cuda_context_push(&device->context);
}

void cuda_leave(void *opened, int32_t before) {
    const cuda_device *device = opened;
    if (before) cuda_context_pop(&device->context);
}

cudaError_t cuda_check_current(const cuda_device *device) {
    int current = -1;
    cudaError_t code = cudaGetDevice(&current);
    if (code != cudaSuccess) (void)cudaGetLastError();
    return code == cudaSuccess && current != device->ordinal ? cudaErrorInvalidDevice : code;
}

/* ---- open, close ------------------------------------------------------------------------------------------------- */

static bool opened_well(const cuda_device *device, cudaError_t code, tort_condition *condition) {
    if (code == cudaSuccess) return true;
    if (code == cudaErrorMemoryAllocation)
        down(condition, "NO_MEMORY", "free memory on the GPU (nvidia-smi shows who holds it), or choose another device",
             "the GPU has no memory left for a CUDA context");
    else
        down(condition, "FAILED", cure_of(code), "opening device %d: %s (%s)", device->ordinal,
             cudaGetErrorString(code), cudaGetErrorName(code));
    return false;
}

/* Bytes of a workspace: what cuBLAS takes by default, but no more than a small share of the memory that may be used. */
static size_t workspace_of(int compute_capability, uint64_t memory) {
    enum { ALIGN = 256, SHARE = 32 };
    const uint64_t wanted = (uint64_t)(compute_capability < 90 ? 8 : 32) << 20, share = memory / SHARE;
    return (size_t)((share < wanted ? share : wanted) / ALIGN * ALIGN);
}

/* Bytes that can be allocated. A GPU that shares the host's memory counts pages of the file cache as taken, though they
 * are given up when asked for ("CUDA for Tegra", Estimating Total Allocatable Device Memory). */
static cudaError_t memory_info(const cuda_device *device, size_t *free_bytes, size_t *total_bytes) {
    const cudaError_t code = cudaMemGetInfo(free_bytes, total_bytes);
    const uint64_t available = code == cudaSuccess && device->integrated ? cuda_machine_memory() : 0;
    if (available > *free_bytes) *free_bytes = available < *total_bytes ? (size_t)available : *total_bytes;
    return code;
}

/* overlap=on holds where the code that runs was compiled for sm_90 or newer, as older code does not wait, and where the
 * driver can record such launches. */
static void settle_overlap(cuda_device *device, int driver, tort_target *target) {
    enum { FIRST_CODE = 90, FIRST_DRIVER = 12030 };
    const size_t used = strlen(target->description);
    if (!device->overlaps) return;
    const bool compiled = tort_cuda_image_of(device->board.capability).code >= FIRST_CODE;
    device->overlaps = compiled && driver >= FIRST_DRIVER;
    snprintf(target->description + used, sizeof target->description - used, ", overlap=on%s",
             !compiled           ? " without effect before sm_90"
             : !device->overlaps ? " without effect before CUDA 12.3"
                                 : "");
}

static bool read_properties(cuda_device *device, int driver, tort_target *target, tort_condition *condition) {
    struct cudaDeviceProp properties;
    size_t free_bytes = 0, total_bytes = 0;
    char version[16], bus[20] = "";
    cudaError_t code = cuda_check_current(device);
    if (code == cudaSuccess) code = cudaGetDeviceProperties(&properties, device->ordinal);
    if (code == cudaSuccess) code = cudaDeviceGetPCIBusId(bus, (int)sizeof bus, device->ordinal);
    device->integrated = code == cudaSuccess && properties.integrated;
    if (code == cudaSuccess) code = memory_info(device, &free_bytes, &total_bytes);
    if (!opened_well(device, code, condition)) return false;
    if (device->memory_limit > free_bytes) {
        down(condition, "NO_MEMORY", "lower mem_limit, or free memory on the GPU (nvidia-smi shows who holds it)",
             "mem_limit asks for %llu bytes, %llu of %llu are free", (unsigned long long)device->memory_limit,
             (unsigned long long)free_bytes, (unsigned long long)total_bytes);
        return false;
    }
    device->board = (gpu_board){properties.major * 10 + properties.minor, properties.multiProcessorCount,
                                device->tf32 && properties.major * 10 >= FIRST_WITH_TF32};
    if (device->board.multiprocessors > GPU_MAX_MULTIPROCESSORS)
        device->board.multiprocessors = GPU_MAX_MULTIPROCESSORS;
    *target = (tort_target){.instructions = (uint32_t)device->board.capability,
                            .facts = {[CUDA_MULTIPROCESSORS] = device->board.multiprocessors,
                                      [CUDA_TF32] = device->tf32,
                                      [CUDA_TF32_CHOSEN] = device->tf32_chosen,
                                      [CUDA_TUNE] = device->tune},
                            .memory = device->memory_limit ? device->memory_limit : free_bytes,
                            .libraries = device->libraries_allowed};
    device->workspace = workspace_of(device->board.capability, target->memory);
    snprintf(target->description, sizeof target->description, "%.60s, sm_%d, driver for CUDA %s%s", properties.name,
             device->board.capability, version_text(driver, version, sizeof version), device->tune ? ", tune=on" : "");
    snprintf(target->space, sizeof target->space, "%.30s at %s", properties.name, bus);
    tort_cuda_describe_tf32(target);
    settle_overlap(device, driver, target);
    return true;
}

static bool open_uploads(cuda_device *device, tort_condition *condition) {
    return opened_well(device, cudaStreamCreateWithFlags(&device->uploads, cudaStreamNonBlocking), condition);
}

static bool start(cuda_device *device, int driver, tort_target *target, tort_condition *condition) {
    if (!opened_well(device, cuda_context_open(&device->context, device->ordinal), condition)) return false;
    const int32_t before = cuda_enter(device);
    const bool started = read_properties(device, driver, target, condition) &&
                         check_image(condition, device->board.capability) && open_uploads(device, condition);
    cuda_leave(device, before);
    return started;
}

void cuda_open(const tort_provider_config *config, void **out, tort_target *target, tort_condition *condition) {
    cuda_options options;
    char message[160];
    int driver;
    *out = NULL;
    *condition = (tort_condition){.ready = true, .code = "READY"};
    if (!tort_cuda_options_parse(config, &options, message, sizeof message)) {
        down(condition, "BAD_OPTION", "", "%s", message);
        return;
    }
    if (!check_driver(condition, &driver) || !check_devices(condition, options.device)) return;
    cuda_device *device = tort_alloc_zero(config->env, 1, sizeof *device);
    if (!device) {
        down(condition, "NO_MEMORY", "free memory of this machine, or let the allocator given to tinyort have more",
             "the host has no memory for the provider's %zu bytes", sizeof *device);
        return;
    }
    device->env = *config->env;
    device->ordinal = options.device;
    device->tf32 = options.tf32;
    device->tf32_chosen = options.tf32_chosen;
    device->tune = options.tune;
    device->libraries_allowed = options.libraries;
    snprintf(device->libraries.folder, sizeof device->libraries.folder, "%s",
             options.library_folder ? options.library_folder : "");
    device->graphs = options.graphs;
    device->overlaps = options.overlap;
    device->memory_limit = options.memory_limit;
    pthread_mutex_init(&device->lock, NULL);
    if (start(device, driver, target, condition))
        *out = device;
    else
        cuda_close(device);
}

void cuda_close(void *opened) {
    cuda_device *device = opened;
    if (device->uploads) { /* all that is freed here comes after it */
        const int32_t before = cuda_enter(device);
        if (device->lt) device->libraries.cublas.cublasLtDestroy(device->lt);
        if (device->dnn) device->libraries.cudnn.cudnnDestroy(device->dnn);
        cudaStreamDestroy(device->uploads);
        cuda_leave(device, before);
    }
    cuda_libraries_close(&device->libraries);
    pthread_mutex_destroy(&device->lock);
    tort_env env = device->env;
    tort_free(&env, device, sizeof *device);
}

/* Writes the name of the code, and cuDNN's description of this thread's last error if it has one. */
static void cudnn_words(const cudnn_functions *cudnn, cudnnStatus_t code, char *words, size_t size) {
    char sentence[160] = "";
    cudnn->cudnnGetLastErrorString(sentence, sizeof sentence);
    snprintf(words, size, "%s%s%s", cudnn->cudnnGetErrorString(code), *sentence ? ": " : "", sentence);
}

/* Starts cuDNN: it is a family of files that find each other only when it starts, so only this shows whether it
 * works. */
static bool start_cudnn(cuda_device *device, char *message, size_t message_size, char *cure, size_t cure_size) {
    const cudnn_functions *cudnn = &device->libraries.cudnn;
    char words[112];
    if (!cuda_libraries_open_cudnn(&device->libraries, message, message_size, cure, cure_size)) return false;
    if (device->dnn) return true;
    cudnnStatus_t code = CUDNN_STATUS_NOT_INITIALIZED;
    if (cuda_check_current(device) == cudaSuccess) code = cudnn->cudnnCreate(&device->dnn);
    if (code == CUDNN_STATUS_SUCCESS) code = cudnn->cudnnSetStream(device->dnn, device->uploads);
    if (code == CUDNN_STATUS_SUCCESS) return true;
    if (device->dnn) cudnn->cudnnDestroy(device->dnn);
    device->dnn = NULL;
    cudnn_words(cudnn, code, words, sizeof words);
    snprintf(message, message_size, "cuDNN was found but does not start: %s", words);
    snprintf(cure, cure_size,
             "see that all files of cuDNN 9 (libcudnn*.so.9) are of one version, for this driver; until then the own "
             "kernel serves");
    return false;
}

bool cuda_library(void *opened, const char *name, char *message, size_t message_size, char *cure, size_t cure_size) {
    cuda_device *device = opened;
    if (!device->libraries_allowed) {
        snprintf(message, message_size, "switched off by libraries=off");
        snprintf(cure, cure_size, "drop libraries=off from the chain");
        return false;
    }
    const bool found = !strcmp(name, "cuBLAS")
                           ? cuda_libraries_open_cublas(&device->libraries, message, message_size, cure, cure_size)
                           : start_cudnn(device, message, message_size, cure, cure_size);
    const size_t used = strlen(message);
    if (found) snprintf(message + used, message_size - used, "%s", CUDA_LIBRARY_NOTE);
    return found;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static bool within_limit(const cuda_device *device, size_t bytes) {
    return !device->memory_limit ||
           (bytes <= device->memory_limit && device->memory_used <= device->memory_limit - bytes);
}

static bool allocate(cuda_device *device, void **ptr, size_t bytes) {
    device->allocations++;
    return cudaMalloc(ptr, bytes) == cudaSuccess;
}

void *cuda_alloc(void *opened, size_t bytes) {
    cuda_device *device = opened;
    void *ptr = NULL;
    pthread_mutex_lock(&device->lock);
    const bool allocated =
        within_limit(device, bytes) && cuda_check_current(device) == cudaSuccess && allocate(device, &ptr, bytes);
    if (allocated)
        device->memory_used += bytes;
    else
        (void)cudaGetLastError(); /* out of memory is not sticky: clear it, so that later calls do not see it */
    pthread_mutex_unlock(&device->lock);
    return allocated ? ptr : NULL;
}

void cuda_free(void *opened, void *ptr, size_t bytes) {
    cuda_device *device = opened;
    pthread_mutex_lock(&device->lock);
    device->memory_used -= bytes;
    cudaFree(ptr);
    pthread_mutex_unlock(&device->lock);
}

uint64_t cuda_memory_free(void *opened) {
    cuda_device *device = opened;
    size_t free_bytes = 0, total_bytes = 0;
    if (cuda_check_current(device) != cudaSuccess) return 0;
    if (memory_info(device, &free_bytes, &total_bytes) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    uint64_t left = device->memory_limit ? device->memory_limit - device->memory_used : free_bytes;
    return left < free_bytes ? left : free_bytes;
}

/* Returns who can access a pointer: host and device for pinned and managed memory. If CUDA cannot tell, claims both;
 * the copy or kernel will fail otherwise. */
uint32_t cuda_reach(void *opened, const void *pointer) {
    const cuda_device *device = opened;
    const uint32_t both = TORT_REACH_HOST | TORT_REACH_DEVICE;
    struct cudaPointerAttributes found;
    if (cudaPointerGetAttributes(&found, pointer) != cudaSuccess) {
        (void)cudaGetLastError();
        return both;
    }
    if (found.type == cudaMemoryTypeDevice) return found.device == device->ordinal ? TORT_REACH_DEVICE : 0;
    return found.type != cudaMemoryTypeUnregistered && found.devicePointer == pointer ? both : TORT_REACH_HOST;
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

/* True if every call on the context fails from now on. CUDA's list of such codes grows with its releases, so it is
 * asked again; while a stream is recorded it may refuse to answer, which is no failure. */
static bool is_lost(cudaError_t code) {
    (void)cudaGetLastError();
    const cudaError_t again = cudaStreamQuery(NULL);
    (void)cudaGetLastError();
    if (again == cudaSuccess || again == cudaErrorNotReady) return code == cudaErrorDevicesUnavailable;
    return again < cudaErrorStreamCaptureUnsupported || again > cudaErrorStreamCaptureWrongThread;
}

tort_status cuda_status(tort_error *error, cudaError_t code, const char *what) {
    if (code == cudaSuccess) return TORT_OK;
    if (code == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        return tort_fail(error, TORT_E_MEMORY, "%s: the device is out of memory", what);
    }
    if (is_lost(code))
        return tort_fail(error, TORT_E_DEVICE_LOST, "%s: %s (%s); %s", what, cudaGetErrorString(code),
                         cudaGetErrorName(code), cure_of(code));
    return tort_fail(error, TORT_E_RUN, "%s: %s (%s)", what, cudaGetErrorString(code), cudaGetErrorName(code));
}

tort_status cuda_wait_uploads(const cuda_device *device, tort_error *error, const char *what) {
    return cuda_status(error, cudaStreamSynchronize(device->uploads), what);
}

tort_status cuda_library_failed(tort_error *error, const cuda_stream *stream, const char *library, const char *words) {
    cudaError_t code = cudaStreamSynchronize(stream ? stream->stream : NULL);
    const tort_status status = cuda_status(error, code, library);
    return status == TORT_E_DEVICE_LOST ? status : tort_fail(error, TORT_E_RUN, "%s: %s", library, words);
}

tort_status cuda_cudnn_failed(tort_error *error, const cuda_device *device, const cuda_stream *stream,
                              const char *function, cudnnStatus_t code) {
    char words[208];
    cudnn_words(&device->libraries.cudnn, code, words, sizeof words);
    return cuda_library_failed(error, stream, function, words);
}
#else
typedef int cuda_device_is_in_builds_with_cuda; /* ISO C requires a declaration */
#endif
