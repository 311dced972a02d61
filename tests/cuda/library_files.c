/* library_files.c - what kernels/cuda/libraries.c says of real files, which library_files.sh lays where the system's
 * loader looks, and machine.c of those in a folder; and that a library which was opened stays mapped.
 *
 *   library_files driver | cublas | cudnn [FOLDER]   tries to open it; prints "found: MESSAGE" or "MESSAGE; CURE"
 *   library_files machine FOLDER              prints "GPU: PATH[, forbidden]; driver: NUMBER; memory: BYTES"
 *   library_files stays                       opens and closes cuBLAS twice; prints whether it is still there
 *
 * libraries.c is that of the simulated device, with the real loader (library_file.h) under it. */
#include <stdio.h>
#include <string.h>

#define cuda_library_open real_open
#define cuda_library_symbol real_symbol
#define cuda_library_error real_error
#define cuda_library_close real_close
#include "kernels/cuda/library_file.h"
#undef cuda_library_open
#undef cuda_library_symbol
#undef cuda_library_error
#undef cuda_library_close

#include "kernels/cuda/libraries.h"
#include "kernels/cuda/machine.h"

void *cuda_library_open(const char *file_name) {
    return real_open(file_name);
}
void *cuda_library_symbol(void *library, const char *name) {
    return real_symbol(library, name);
}
const char *cuda_library_error(void) {
    return real_error();
}
void cuda_library_close(void *library) {
    real_close(library);
}

bool cuda_machine_library(const char *file_name, char *path, size_t size) {
    return cuda_find_library("/nowhere", file_name, path, size);
}

static int stays(cuda_libraries *libraries) {
    char message[160], cure[160];
    for (int i = 0; i < 2; i++) {
        if (!cuda_libraries_open_cublas(libraries, message, sizeof message, cure, sizeof cure)) {
            printf("%s; %s\n", message, cure);
            return 1;
        }
        cuda_libraries_close(libraries);
    }
    void *mapped = dlopen("libcublas.so.13", RTLD_NOW | RTLD_NOLOAD);
    printf("libcublas.so.13 %s after the close\n", mapped ? "stays mapped" : "is gone");
    return !mapped;
}

static int tell_machine(const char *folder) {
    const cuda_gpu_file gpu = cuda_gpu_in(folder);
    char number[32];
    cuda_driver_in(folder, number, sizeof number);
    printf("GPU: %s%s; driver: %s; memory: %llu\n", gpu.path, gpu.forbidden ? ", forbidden" : "", number,
           (unsigned long long)cuda_memory_in(folder));
    return 0;
}

int main(int argc, char **argv) {
    const char *what = argc >= 2 ? argv[1] : "";
    cuda_libraries libraries = {.cublas_handle = NULL};
    char message[320] = "", cure[320] = "";
    bool found = false;
    if (argc == 3) snprintf(libraries.folder, sizeof libraries.folder, "%s", argv[2]);
    if (!strcmp(what, "machine") && argc == 3) return tell_machine(argv[2]);
    if (!strcmp(what, "stays")) return stays(&libraries);
    if (!strcmp(what, "driver"))
        printf("%s: ", cuda_driver_is_absent(message, sizeof message, cure, sizeof cure) ? "absent" : "broken");
    else if (!strcmp(what, "cublas"))
        found = cuda_libraries_open_cublas(&libraries, message, sizeof message, cure, sizeof cure);
    else if (!strcmp(what, "cudnn"))
        found = cuda_libraries_open_cudnn(&libraries, message, sizeof message, cure, sizeof cure);
    else
        return 2;
    printf(found ? "found: %s\n" : "%s; %s\n", message, cure);
    return 0;
}
