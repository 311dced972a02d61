/* libraries.h - cuBLAS and cuDNN, opened at run time, once, when the first claimed node would use them. */
#ifndef TORT_KERNELS_CUDA_LIBRARIES_H
#define TORT_KERNELS_CUDA_LIBRARIES_H

#include <stdbool.h>

#include "kernels/cuda/cuda_provider.h"
#include "kernels/cuda/library_api.h"

#define CUDA_LIBRARY_MEMBER(type, name, parameters) type(*name) parameters;

typedef struct cublas_functions {
    CUBLAS_FUNCTIONS(CUDA_LIBRARY_MEMBER)
} cublas_functions;

typedef struct cudnn_functions {
    CUDNN_FUNCTIONS(CUDA_LIBRARY_MEMBER)
} cudnn_functions;

enum { CUDA_LIBRARY_PATH = 320 }; /* bytes of a path */

typedef struct cuda_libraries {
    char folder[CUDA_FOLDER_BYTES];     /* the only one in which they are looked for; "": see open_found */
    void *cublas_handle, *cudnn_handle; /* from dlopen; NULL: not opened */
    char cublas_path[CUDA_LIBRARY_PATH],
        cudnn_path[CUDA_LIBRARY_PATH]; /* of those that the loader does not find by their names alone; "" */
    cublas_functions cublas;
    cudnn_functions cudnn;
} cuda_libraries;

/* Explains why the driver tells no version. True: it is not installed; false: it is broken. */
bool cuda_driver_is_absent(char *message, size_t message_size, char *cure, size_t cure_size);

/* Open a library. Message gets the version, "13.1"; on false it names the files that are missing, broken or too old,
 * and cure the remedy. */
bool cuda_libraries_open_cublas(cuda_libraries *libraries, char *message, size_t message_size, char *cure,
                                size_t cure_size);
bool cuda_libraries_open_cudnn(cuda_libraries *libraries, char *message, size_t message_size, char *cure,
                               size_t cure_size);
void cuda_libraries_close(cuda_libraries *libraries);

#endif
