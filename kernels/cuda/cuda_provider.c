/* cuda_provider.c - the provider `cuda`: its vtable, its options, the list of its kernel families.
 *
 * This file and the families' rows and claims are plain C and part of every build, so that a laptop can plan for a
 * board (--target cuda:sm_87). Only builds with CUDA have code that touches a device: device.c. The simulated
 * device, cudasim, is the same source under another name. Read next: device.c (why a device did not open), README.md
 * (writing a kernel), then a family. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cuda_provider.h"
#include "kernels/cuda/images.h"
#include "kernels/cuda/nhwc.h"
#include "kernels/cuda/tiling.h"

#if defined(TORT_CUDA) || defined(TORT_CUDASIM)
#include "kernels/cuda/device.h"
#endif

/* ---- options ----------------------------------------------------------------------------------------------------- */

static const tort_option_help known_options[] = {
    {"device", "1", "the second GPU (default 0)"},
    {"mem_limit", "2G", "limit of GPU memory in bytes: k, M, G"},
    {"tf32", "on", "float32 products in TensorFloat-32: faster, 3 digits (default off)"},
    {"libraries", "off", "no cuBLAS and cuDNN (default on); /FOLDER: where they are"},
    {"graph", "off", "no recording as CUDA graphs (default on)"},
    {"tune", "on", "own kernels and libraries are timed; the fastest (default off)"},
    {"overlap", "on", "launches overlap, from sm_90 on; not yet timed (default off)"},
    {0},
};

static const char *const known_libraries[] = {"cuBLAS", "cuDNN", NULL};

static bool parse_switch(const char *text, bool *value) {
    *value = !strcmp(text, "on") || !strcmp(text, "1") || !*text;
    return *value || !strcmp(text, "off") || !strcmp(text, "0");
}

bool tort_cuda_options_parse(const tort_provider_config *config, cuda_options *options, char *message, size_t size) {
    *options = (cuda_options){.libraries = true, .graphs = true};
    const char *device = tort_provider_option_get(config, "device");
    const char *limit = tort_provider_option_get(config, "mem_limit");
    const char *tf32 = tort_provider_option_get(config, "tf32");
    const char *libraries = tort_provider_option_get(config, "libraries");
    const char *graph = tort_provider_option_get(config, "graph");
    const char *overlap = tort_provider_option_get(config, "overlap");
    const char *tune = tort_provider_option_get(config, "tune");
    char *end = NULL;
    if (device) {
        long number = strtol(device, &end, 10);
        if (end == device || *end || number < 0 || number > 1023) {
            snprintf(message, size, "device=%s is not a device number", device);
            return false;
        }
        options->device = (int)number;
    }
    if (limit && (!tort_read_size(limit, &options->memory_limit) || !options->memory_limit)) {
        snprintf(message, size, "mem_limit=%s is not a size such as 2G, 512M or a number of bytes", limit);
        return false;
    }
    options->tf32_chosen = tf32 != NULL;
    if (tf32 && !parse_switch(tf32, &options->tf32)) {
        snprintf(message, size, "tf32=%s is neither on nor off", tf32);
        return false;
    }
    if (libraries && *libraries == '/') {
        if (strlen(libraries) >= CUDA_FOLDER_BYTES) {
            snprintf(message, size, "libraries=%.40s... is longer than %d bytes", libraries, CUDA_FOLDER_BYTES - 1);
            return false;
        }
        /* A saved plan is no reason to run code from a folder that it names. */
        if (!config->from_file) options->library_folder = libraries;
    } else if (libraries && !parse_switch(libraries, &options->libraries)) {
        snprintf(message, size, "libraries=%s is neither on nor off, nor a folder (/...)", libraries);
        return false;
    }
    if (graph && !parse_switch(graph, &options->graphs)) {
        snprintf(message, size, "graph=%s is neither on nor off", graph);
        return false;
    }
    if (overlap && !parse_switch(overlap, &options->overlap)) {
        snprintf(message, size, "overlap=%s is neither on nor off", overlap);
        return false;
    }
    if (tune && !parse_switch(tune, &options->tune)) {
        snprintf(message, size, "tune=%s is neither on nor off", tune);
        return false;
    }
    return true;
}

/* ---- what it computes in ----------------------------------------------------------------------------------------- */

void tort_cuda_describe_tf32(tort_target *target) {
    const size_t used = strlen(target->description);
    if (!target->facts[CUDA_TF32]) return;
    snprintf(target->description + used, sizeof target->description - used, ", tf32=on %s",
             target->instructions < FIRST_WITH_TF32 ? "without effect before sm_80" : "for products");
}

static void remark(const tort_target *target, const tort_kernel *kernel, tort_type type, char *text, size_t size) {
    if (!kernel->needs || type != TORT_FLOAT || target->facts[CUDA_TF32_CHOSEN] ||
        target->instructions < FIRST_WITH_TF32)
        return;
    snprintf(text, size, "exact float32 (tf32=on: 10 bits, in 0.3 to 0.4 of the time on an H200)");
}

/* ---- a device that is not here ----------------------------------------------------------------------------------- */

/* Reads "sm_87" or "sm_87:multiprocessors=8". */
static bool read_target(const char *text, int32_t *capability, int32_t *multiprocessors) {
    static const char key[] = ":multiprocessors=";
    char *end = NULL;
    const long found = strncmp(text, "sm_", 3) ? 0 : strtol(text + 3, &end, 10);
    if (found < 50 || found > 200) return false;
    *capability = (int32_t)found;
    *multiprocessors = tort_cuda_multiprocessors(*capability);
    if (!*end) return true;
    if (strncmp(end, key, sizeof key - 1)) return false;
    const long count = strtol(end + sizeof key - 1, &end, 10);
    *multiprocessors = (int32_t)count;
    return !*end && count > 0 && count <= GPU_MAX_MULTIPROCESSORS;
}

static tort_status describe(const tort_provider_config *config, const char *text, tort_target *target,
                            tort_error *error) {
    cuda_options options;
    char message[160], by_ptx[48] = "", counted[32] = "";
    const char *tuned = "";
    int32_t capability, multiprocessors;
    if (!tort_cuda_options_parse(config, &options, message, sizeof message))
        return tort_fail(error, TORT_E_USAGE, "provider %s: %s", config->provider, message);
    if (!read_target(text, &capability, &multiprocessors))
        return tort_fail(error, TORT_E_USAGE,
                         "target %s:%s is not of the form %s:sm_87 (sm_ and the compute capability without its dot) or "
                         "%s:sm_87:multiprocessors=8 (up to %d)",
                         config->provider, text, config->provider, config->provider, GPU_MAX_MULTIPROCESSORS);
    const cuda_image image = tort_cuda_image_of(capability);
    if (!image.code) {
        tort_cuda_image_cure(capability, message, sizeof message);
        return tort_fail(error, TORT_E_USAGE, "target %s:%s: NO_IMAGE, this tinyort has code for %s; %s",
                         config->provider, text, tort_cuda_images, message);
    }
    *target = (tort_target){.instructions = (uint32_t)capability,
                            .facts = {[CUDA_MULTIPROCESSORS] = multiprocessors,
                                      [CUDA_TF32] = options.tf32,
                                      [CUDA_TF32_CHOSEN] = options.tf32_chosen},
                            .memory = options.memory_limit,
                            .libraries = options.libraries};
    if (image.ptx) snprintf(by_ptx, sizeof by_ptx, ", PTX-%d compiled at the first start", image.code);
    if (options.tune) tuned = ", tune=on without effect";
    if (strchr(text, ':')) snprintf(counted, sizeof counted, ", %d multiprocessors", (int)multiprocessors);
    snprintf(target->description, sizeof target->description, "target sm_%d%s, not opened%s%s", (int)capability,
             counted, by_ptx, tuned);
    tort_cuda_describe_tf32(target);
    return TORT_OK;
}

/* ---- without CUDA in the build ----------------------------------------------------------------------------------- */

#if !defined(TORT_CUDA) && !defined(TORT_CUDASIM)
static void cuda_open(const tort_provider_config *config, void **device, tort_target *target,
                      tort_condition *condition) {
    (void)device, (void)target;
    cuda_options options;
    *condition = (tort_condition){.ready = false, .code = "NOT_BUILT"};
    if (!tort_cuda_options_parse(config, &options, condition->message, sizeof condition->message)) {
        snprintf(condition->code, sizeof condition->code, "BAD_OPTION");
        return;
    }
    snprintf(condition->message, sizeof condition->message, "this tinyort was built without CUDA");
    snprintf(condition->cure, sizeof condition->cure,
             "build it with make CUDA=1 (fetches nvcc if there is none); for Python: make wheel-cuda");
}
#endif

/* ---- families ---------------------------------------------------------------------------------------------------- */

#define TABLE(name) extern const tort_kernel name[];
#include "kernels/cuda/tables.inc"
#undef TABLE

#define TABLE(name) name,
static const tort_kernel *const families[] = {
#include "kernels/cuda/tables.inc"
    NULL,
};

const tort_provider CUDA_PROVIDER_SYMBOL = {
    .abi = TORT_PROVIDER_ABI,
    .name = CUDA_PROVIDER_NAME,
    .summary = CUDA_PROVIDER_SUMMARY,
    .built_for = tort_cuda_images,
    .kernels = families,
    .layouts = tort_cuda_layouts,
    .remark = remark,
    .options = known_options,
    .libraries = known_libraries,
    .describe = describe,
    .open = cuda_open,
    .recording.can = true,
#if defined(TORT_CUDA) || defined(TORT_CUDASIM)
    .close = cuda_close,
    .enter = cuda_enter,
    .leave = cuda_leave,
    .library = cuda_library,
    .memory.alloc = cuda_alloc,
    .memory.free = cuda_free,
    .memory.copy = cuda_copy,
    .memory.copy_late = cuda_copy_late,
    .memory.stage = cuda_stage,
    .recording.begin = cuda_begin,
    .recording.end = cuda_end,
    .recording.note = cuda_recording_note,
    .stream.open = cuda_stream_open,
    .stream.close = cuda_stream_close,
    .stream.follow = cuda_follow,
    .stream.sync = cuda_sync,
    .stream.calls = cuda_calls,
    .memory.bytes_free = cuda_memory_free,
    .memory.reach = cuda_reach,
#endif
};
