/* providers.c - the list of providers in this build: the file that who embeds tinyort edits.
 *
 * Beside runtime/cli the only file of the core that may name a provider. */
#include "runtime/provider.h"

extern const tort_provider tort_provider_cpu;

const tort_provider *const tort_providers[] = {
    &tort_provider_cpu,
    NULL,
};

const tort_foreign_provider tort_foreign_providers[] = {
    {"tensorrt", "TensorRT compiles whole graphs; tinyort runs its own kernels on the same GPU: use cuda"},
    {"nvtensorrtrtx", "TensorRT RTX is not part of tinyort: use cuda"},
    {"openvino", "OpenVINO is not part of tinyort: use cpu"},
    {"coreml", "CoreML is not part of tinyort: use cpu"},
    {"nnapi", "NNAPI is not part of tinyort: use cpu"},
    {"qnn", "QNN is not part of tinyort: use cpu"},
    {"xnnpack", "XNNPACK is not part of tinyort: use cpu"},
    {"dnnl", "oneDNN is not part of tinyort: use cpu"},
    {"directml", "DirectML is not part of tinyort: use cuda or cpu"},
    {"dml", "DirectML is not part of tinyort: use cuda or cpu"},
    {"webgpu", "WebGPU is not part of tinyort: use cuda or cpu"},
    {"rocm", "ROCm is for AMD GPUs, for which tinyort has no kernels: use cpu"},
    {"migraphx", "MIGraphX is for AMD GPUs, for which tinyort has no kernels: use cpu"},
    {"acl", "the Arm Compute Library is not part of tinyort: use cpu"},
    {NULL, NULL},
};
