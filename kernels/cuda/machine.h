/* machine.h - what the files of this machine tell of its GPUs and its driver where CUDA does not: a GPU that is hidden
 * from CUDA, the number of a driver that is too old. For host code; the simulated device has functions of its own. */
#ifndef TORT_KERNELS_CUDA_MACHINE_H
#define TORT_KERNELS_CUDA_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cuda_gpu_file {
    char path[64];  /* "/dev/nvidia5"; "" if this machine has no GPU */
    bool forbidden; /* this user may not open it */
} cuda_gpu_file;

/* Finds the device file of a GPU, whatever CUDA shows. */
cuda_gpu_file cuda_machine_gpu(void);
/* Writes the number of the running driver, "550.54.14"; "" where the machine does not tell (WSL). */
void cuda_machine_driver(char *number, size_t size);

/* Bytes of this machine's memory that programs may have, page cache included; 0: it does not tell. */
uint64_t cuda_machine_memory(void);
/* Finds one of NVIDIA's libraries in a folder: right in it, or where pip puts it if the folder is that of Python's
 * packages, or a Python environment. False, and path "": it is not there. */
bool cuda_find_library(const char *folder, const char *file_name, char *path, size_t size);
/* The same among the packages of the system's Python. */
bool cuda_machine_library(const char *file_name, char *path, size_t size);

/* The first three in another folder than /, for tests. */
cuda_gpu_file cuda_gpu_in(const char *root);
void cuda_driver_in(const char *root, char *number, size_t size);
uint64_t cuda_memory_in(const char *root);

#ifdef __cplusplus
}
#endif
#endif
