/* cuda_api.h - the CUDA runtime API for host code: NVIDIA's, or that of the simulated device if built with
 * TORT_CUDASIM.
 *
 * Host code of this folder includes this header instead of cuda_runtime_api.h and uses CUDA's names; it cannot tell
 * which of the two it has. Libraries (cuBLAS, cuDNN) are opened, and the machine is inspected, through functions of
 * ours, so that a test can take both away. Read next: library_api.h. */
#ifndef TORT_KERNELS_CUDA_CUDA_API_H
#define TORT_KERNELS_CUDA_CUDA_API_H

#ifdef TORT_CUDASIM

#include "kernels/cudasim/cudart.h"
#include "kernels/cudasim/libraries.h"

#else

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <unistd.h>

#include "kernels/cuda/library_file.h"

/* True if this machine has a GPU, even if CUDA is told to hide it. */
static inline bool cuda_machine_has_gpu(void) {
    return access("/dev/nvidia0", F_OK) == 0 || access("/dev/nvidia1", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

#endif
#endif
