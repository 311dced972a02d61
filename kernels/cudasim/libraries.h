/* libraries.h - how host code opens the simulated cuBLAS and cuDNN: dlopen's part, as kernels/cuda/library_file.h has
 * it, for library names that exist only in the simulation. Which of them are "installed", and in which version, is a
 * setting (control.h), and so is whether the machine has a GPU. C and C++. */
#ifndef CUDASIM_LIBRARIES_H
#define CUDASIM_LIBRARIES_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "libcublas.so.13" and the like. NULL: not installed; cuda_library_error says so in dlerror's words. */
void *cuda_library_open(const char *file_name);
void *cuda_library_symbol(void *library, const char *name);
const char *cuda_library_error(void);
void cuda_library_close(void *library);
/* Has this machine a GPU, whatever CUDA is told to show? */
bool cuda_machine_has_gpu(void);

#ifdef __cplusplus
}
#endif
#endif
