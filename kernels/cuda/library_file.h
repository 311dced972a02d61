/* library_file.h - NVIDIA's libraries as files: opened by name at run time by the system's loader, once a process.
 *
 * They are never unmapped: they start threads and leave handlers for the end of the process behind, and do not survive
 * it. The loader keeps count, so that there is no state of ours, and the next session that opens one finds it there.
 * Plain C, no CUDA header; the simulated device has functions of these names (kernels/cudasim/libraries.h). */
#ifndef TORT_KERNELS_CUDA_LIBRARY_FILE_H
#define TORT_KERNELS_CUDA_LIBRARY_FILE_H

#include <dlfcn.h>

/* NULL: not found or not loadable; cuda_library_error says why. */
static inline void *cuda_library_open(const char *file_name) {
    return dlopen(file_name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}
static inline void *cuda_library_symbol(void *library, const char *name) {
    return dlsym(library, name);
}
/* What went wrong in the last call of the two above, in this thread. */
static inline const char *cuda_library_error(void) {
    const char *text = dlerror();
    return text ? text : "unknown error";
}
/* Its functions are not called any more; its code stays. */
static inline void cuda_library_close(void *library) {
    (void)dlclose(library);
}

#endif
