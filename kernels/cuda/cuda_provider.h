/* cuda_provider.h - declarations that the plain C of this folder shares in every build: the provider's name, its
 * options, and CUDA_ONLY for functions that only a build with CUDA has. No CUDA header in here. */
#ifndef TORT_KERNELS_CUDA_CUDA_PROVIDER_H
#define TORT_KERNELS_CUDA_CUDA_PROVIDER_H

#include "kernels/cuda/tiling.h"
#include "runtime/include/provider.h"

/* One source, three providers: real, simulated, and one that can only plan. The libraries of a simulated device are
 * simulated, too, and reports say so behind their versions. */
#if defined(TORT_CUDASIM)
#define CUDA_PROVIDER_SYMBOL tort_provider_cudasim
#define CUDA_PROVIDER_NAME "cudasim"
#define CUDA_PROVIDER_SUMMARY "a SIMULATION of a CUDA device on the CPU: for tests, never for speed"
#define CUDA_LIBRARY_NOTE " (simulated)"
#elif defined(TORT_CUDA)
#define CUDA_PROVIDER_SYMBOL tort_provider_cuda
#define CUDA_PROVIDER_NAME "cuda"
#define CUDA_PROVIDER_SUMMARY "NVIDIA GPUs: own kernels, cuBLAS and cuDNN where they are installed"
#else
#define CUDA_PROVIDER_SYMBOL tort_provider_cuda_not_built
#define CUDA_PROVIDER_NAME "cuda"
#define CUDA_PROVIDER_SUMMARY "NVIDIA GPUs (not in this build: it can plan for them, not run)"
#endif

#ifndef CUDA_LIBRARY_NOTE
#define CUDA_LIBRARY_NOTE ""
#endif

/* Usage in a row: `.run = CUDA_ONLY(run_conv)`; the function itself is inside #ifdef CUDA_DEVICE. `.measure` is
 * CUDA_MEASURE(...): a plan for a device that is only described must know that the row measures. */
#if defined(TORT_CUDA) || defined(TORT_CUDASIM)
#define CUDA_DEVICE 1
#define CUDA_ONLY(function) function
#define CUDA_MEASURE(function) function
#else
#define CUDA_ONLY(function) NULL
#define CUDA_MEASURE(function) tort_cuda_measures_elsewhere
#endif

enum { FIRST_WITH_TF32 = 80 }; /* compute capability */

/* tort_target.facts of this provider; tort_target.instructions is the compute capability, 87 for sm_87. */
enum { CUDA_MULTIPROCESSORS, CUDA_TF32, CUDA_TF32_CHOSEN /* the option was given */, CUDA_TUNE };

static inline gpu_board tort_cuda_board_of(const tort_target *target) {
    return (gpu_board){(int32_t)target->instructions, target->facts[CUDA_MULTIPROCESSORS],
                       target->facts[CUDA_TF32] && target->instructions >= FIRST_WITH_TF32};
}

enum { CUDA_FOLDER_BYTES = 256 }; /* of the option libraries=FOLDER */

typedef struct cuda_options {
    int device;
    uint64_t memory_limit; /* bytes; 0: all of the device's */
    bool tf32, tf32_chosen, libraries;
    bool graphs;                /* runs are recorded as CUDA graphs */
    bool tune;                  /* rows with a choice try what could serve; see trial.h */
    bool overlap;               /* programmatic dependent launches, from sm_90 on */
    const char *library_folder; /* of cuBLAS and cuDNN, and the only one; NULL: they are searched. Borrowed of config */
} cuda_options;

/* Parses the options; on false, message says which one is wrong. */
bool tort_cuda_options_parse(const tort_provider_config *config, cuda_options *options, char *message, size_t size);

/* Appends to the description what tf32=on does on this device, or that it has no effect. */
void tort_cuda_describe_tf32(tort_target *target);

#endif
