/* cuda_api.h - the CUDA runtime API for host code: NVIDIA's, or that of the simulated device if built with
 * TORT_CUDASIM.
 *
 * Host code of this folder includes this header instead of cuda_runtime_api.h and uses CUDA's names; it cannot tell
 * which of the two it has. Libraries (cuBLAS, cuDNN) are opened, and the machine is inspected, through functions of
 * ours, so that a test can take both away. Read next: library_api.h. */
#ifndef TORT_KERNELS_CUDA_CUDA_API_H
#define TORT_KERNELS_CUDA_CUDA_API_H

#include "kernels/cuda/machine.h"

#ifdef TORT_CUDASIM

#include "kernels/cudasim/cudart.h"
#include "kernels/cudasim/libraries.h"

#else

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "kernels/cuda/library_file.h"

#endif
#endif
