/* build.c - what is in this build: its operators, its providers. An application that wants others defines tort_build in
 * a file of its own, before the library's.
 *
 * Nothing includes this file's names but through runtime/core/base/build.h. Read next: ops/ops.c, chain.c. */
#include "ops/ops.h"
#include "runtime/core/base/build.h"
#include "runtime/core/lowered/bodies.h"
#include "runtime/core/passes/passes.h"
#include "runtime/core/providers/plugin.h"

extern const tort_provider tort_provider_cpu;

/* In the command line, and the last five in the package for Python, which link their objects: where one is missing
 * its address is NULL. The library stays without them, and an application that wants one links it and names it in its
 * options. */
#define IN_COMMAND_LINE __attribute__((weak, visibility("hidden")))
extern const tort_provider tort_provider_firmware IN_COMMAND_LINE, tort_provider_plugin IN_COMMAND_LINE,
    tort_provider_openvino IN_COMMAND_LINE, tort_provider_qnn IN_COMMAND_LINE,
    tort_provider_tensorrt_rtx IN_COMMAND_LINE, tort_provider_webgpu IN_COMMAND_LINE;

#ifndef TORT_CPU_PLAIN
/* With a CUDA compiler the file is compiled twice, with and without TORT_CUDA; once more for the package for Python,
 * whose provider `cuda` is in a package of its own. See the Makefile. */
#ifdef TORT_CUDA
extern const tort_provider tort_provider_cuda;
#define CUDA_PROVIDER tort_provider_cuda
#else
extern const tort_provider tort_provider_cuda_not_built;
#define CUDA_PROVIDER tort_provider_cuda_not_built
#endif

#ifdef TORT_CUDA_PLUGIN
/* Where the package is not installed, the one that can only plan says what to do. */
static const tort_provider *load_cuda(tort_condition *condition) {
    const tort_provider *loaded = tort_plugin_load("libtinyort-cuda.so", condition);
    return loaded ? loaded : &tort_provider_cuda_not_built;
}

static const tort_provider cuda_plugin = {
    .abi = TORT_PROVIDER_ABI,
    .name = "cuda",
    .summary = "NVIDIA GPUs: the package tinyort-cuda",
    .load = load_cuda,
};
#undef CUDA_PROVIDER
#define CUDA_PROVIDER cuda_plugin
#endif

static const tort_provider *load_cudasim(tort_condition *condition) {
    return tort_plugin_load("libtinyort-cudasim.so", condition);
}

static const tort_provider cudasim = {
    .abi = TORT_PROVIDER_ABI,
    .name = "cudasim",
    .summary = "a SIMULATION of a CUDA device on the CPU: for tests, never for speed",
    .options =
        (const tort_option_help[]){{"play", "old_driver", "simulates a broken machine; a name that is none lists them"},
                                   {0}},
    .load = load_cudasim,
};
#endif

static const tort_provider *const providers[] = {
#ifdef TORT_CPU_PLAIN /* the reference backend alone */
    &tort_provider_cpu,
#else
    &CUDA_PROVIDER,
    &tort_provider_cpu,
    &cudasim,
#endif
    &tort_provider_plugin,
    &tort_provider_openvino,
    &tort_provider_qnn,
    &tort_provider_tensorrt_rtx,
    &tort_provider_webgpu,
    &tort_provider_firmware,
    NULL,
};

const struct tort_build tort_build = {
    .families = tort_op_families,
    .patterns = tort_pattern_tables,
    .flops = tort_flops_table,
    .refusals = tort_refusals,
    .providers = providers,
#ifndef TORT_NO_BODIES /* make OPS=FILE, without If, Loop and Scan */
    .calls = &tort_calls,
#endif
#ifndef TORT_CPU_PLAIN
    .segmenting = &tort_segmenting,
#endif
};
