/* library_file.h - NVIDIA's libraries as files: opened by name at run time by the system's loader, once per process.
 *
 * They are never unmapped: they start threads and register handlers for the end of the process, which would then
 * call unmapped code. The loader counts references, so no state is kept here, and the next session finds the library
 * open. Plain C, no CUDA header; the simulated device has functions of these names (kernels/cudasim/libraries.h). */
#ifndef TORT_KERNELS_CUDA_LIBRARY_FILE_H
#define TORT_KERNELS_CUDA_LIBRARY_FILE_H

#include <dlfcn.h>

/* Opens a library. NULL: not found or not loadable; cuda_library_error says why. */
static inline void *cuda_library_open(const char *file_name) {
    return dlopen(file_name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}
static inline void *cuda_library_symbol(void *library, const char *name) {
    return dlsym(library, name);
}
/* Describes the last error of the two functions above, in this thread. */
static inline const char *cuda_library_error(void) {
    const char *text = dlerror();
    return text ? text : "unknown error";
}
/* Ends the use of a library; its code stays mapped. */
static inline void cuda_library_close(void *library) {
    (void)dlclose(library);
}

#endif
