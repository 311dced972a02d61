/* machines.cpp - broken machines by name: what `cudasim:play=NAME` and the tests of the provider simulate. */
#include "kernels/cudasim/api.h"

#include <string.h>

namespace {

struct Broken {
    const char *name;
    void (*arrange)(cudasim_settings *s);
};

const Broken machines[] = {
    {"no_driver", [](cudasim_settings *s) { s->driver_version = 0; }},
    {"old_driver",
     [](cudasim_settings *s) {
         s->driver_version = 11040;
         s->driver_number = "470.256.02";
     }},
    {"old_unnumbered_driver", [](cudasim_settings *s) { s->driver_version = 11080; }},
    {"oldest_driver", [](cudasim_settings *s) { s->driver_version = 12000; }},
    {"broken_driver", [](cudasim_settings *s) { s->initialization_error = cudaErrorSystemDriverMismatch; }},
    {"broken_driver_file",
     [](cudasim_settings *s) {
         s->driver_version = 0;
         s->broken_file = "libcuda.so.1";
     }},
    {"foreign_driver_file",
     [](cudasim_settings *s) {
         s->driver_version = 0;
         s->driver_file = true;
         s->missing_symbol = "cuInit";
     }},
    {"mute_driver",
     [](cudasim_settings *s) {
         s->driver_version = 0;
         s->driver_file = true;
     }},
    {"stub_driver", [](cudasim_settings *s) { s->initialization_error = cudaErrorStubLibrary; }},
    {"compatibility_driver",
     [](cudasim_settings *s) { s->initialization_error = cudaErrorCompatNotSupportedOnDevice; }},
    {"no_fabric", [](cudasim_settings *s) { s->initialization_error = cudaErrorSystemNotReady; }},
    {"no_contexts", [](cudasim_settings *s) { s->missing_symbol = "cuCtxPushCurrent"; }},
    {"no_device", [](cudasim_settings *s) { s->device_count = 0; }},
    {"hidden_device",
     [](cudasim_settings *s) {
         s->device_count = 0;
         s->gpu_file = "/dev/nvidia5";
     }},
    {"forbidden_device",
     [](cudasim_settings *s) {
         s->device_count = 0;
         s->gpu_file = "/dev/nvhost-gpu";
         s->gpu_forbidden = true;
     }},
    {"no_image", [](cudasim_settings *s) { s->no_kernel_image = true; }},
    {"older_device", [](cudasim_settings *s) { s->capability = 70; }},
    {"newer_device", [](cudasim_settings *s) { s->capability = 130; }},
    {"minor_version", [](cudasim_settings *s) { s->capability = 103; }},
    {"no_libraries", [](cudasim_settings *s) { s->cublas_version = s->cudnn_version = 0; }},
    {"older_libraries", [](cudasim_settings *s) { s->cublas_version = 12; }},
    {"old_libraries",
     [](cudasim_settings *s) {
         s->cublas_version = 11;
         s->cudnn_version = 8;
     }},
    {"silent_libraries",
     [](cudasim_settings *s) {
         s->cudnn_version = 8;
         s->missing_symbol = "cudnnGetVersion";
     }},
    {"broken_cublas",
     [](cudasim_settings *s) {
         s->cublas_version = 0;
         s->broken_file = "libcublas.so.13";
     }},
    {"broken_and_older_cublas",
     [](cudasim_settings *s) {
         s->cublas_version = 12;
         s->broken_file = "libcublas.so.13";
     }},
    {"broken_cudnn",
     [](cudasim_settings *s) {
         s->cudnn_version = 8;
         s->broken_file = "libcudnn.so.9";
     }},
    {"no_gemm", [](cudasim_settings *s) { s->missing_symbol = "cublasGemmStridedBatchedEx"; }},
    {"no_convolution", [](cudasim_settings *s) { s->missing_symbol = "cudnnConvolutionForward"; }},
    {"shared_memory", [](cudasim_settings *s) { s->file_cache = s->memory_bytes - (s->memory_bytes >> 3); }},
    {"small_memory", [](cudasim_settings *s) { s->memory_bytes = 64 << 10; }},
};

} // namespace

bool cudasim::arrange_machine(const char *name, cudasim_settings *settings) {
    for (const Broken &broken : machines) {
        if (strcmp(broken.name, name) != 0) continue;
        broken.arrange(settings);
        return true;
    }
    return false;
}

const char *cudasim::machine_name(size_t index) {
    return index < sizeof machines / sizeof *machines ? machines[index].name : nullptr;
}
