/* libraries.h - opening the simulated cuBLAS and cuDNN: the dlopen functions of kernels/cuda/library_file.h, for
 * library names that exist only in the simulation. Settings (control.h) select the libraries and versions that are
 * "installed". C and C++. */
#ifndef CUDASIM_LIBRARIES_H
#define CUDASIM_LIBRARIES_H

#ifdef __cplusplus
extern "C" {
#endif

/* Opens "libcublas.so.13" and the like. NULL: not installed; cuda_library_error then returns dlerror's text. */
void *cuda_library_open(const char *file_name);
void *cuda_library_symbol(void *library, const char *name);
const char *cuda_library_error(void);
void cuda_library_close(void *library);

#ifdef __cplusplus
}
#endif
#endif
