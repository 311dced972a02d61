/* cuda_api.h - the CUDA runtime API for host code: NVIDIA's, or the simulated device's when built with TORT_CUDASIM.
 *
 * Host code of this folder includes this header instead of cuda_runtime_api.h and uses CUDA's own names; it neither
 * sees nor asks which of the two it has. Libraries (cuBLAS, cuDNN) are opened at run time, and the machine is looked
 * at, through the functions below, so that a test can take both away. Read next: library_api.h. */
#ifndef TORT_KERNELS_CUDA_CUDA_API_H
#define TORT_KERNELS_CUDA_CUDA_API_H

#ifdef TORT_CUDASIM

#include "kernels/cudasim/cudart.h"
#include "kernels/cudasim/libraries.h"

#else

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <unistd.h>

/* NULL: not found or not loadable; cuda_library_error says why. */
static inline void *cuda_library_open(const char *file_name) {
    return dlopen(file_name, RTLD_NOW | RTLD_LOCAL);
}
static inline void *cuda_library_symbol(void *library, const char *name) {
    return dlsym(library, name);
}
/* What went wrong in the last call of the two above, in this thread. */
static inline const char *cuda_library_error(void) {
    const char *text = dlerror();
    return text ? text : "unknown error";
}
static inline void cuda_library_close(void *library) {
    (void)dlclose(library);
}
/* Has this machine a GPU, whatever CUDA is told to show? */
static inline bool cuda_machine_has_gpu(void) {
    return access("/dev/nvidia0", F_OK) == 0 || access("/dev/nvidia1", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

#endif
#endif
