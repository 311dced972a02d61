/* fourier.h - DFT and STFT: arguments and launchers of fourier.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_FOURIER_H
#define TORT_KERNELS_CUDA_FOURIER_H

#include "kernels/cuda/claims.h"
#include "ops/fourier.h"

#define GPU_FAST_LENGTH 2048 /* the longest lane that is transformed in shared memory */

typedef struct gpu_fourier {
    tort_fourier_params lanes;
    const void *x, *window; /* window: NULL if there is none */
    void *roots;            /* exp(-2 pi i k / length) for each k, in the type that elements are computed in */
    void *y;
    double scale; /* of the sums: 1 / length of an inverse transform, else 1 */
} gpu_fourier;

GPU_LAUNCHER gpu_run_fourier(gpu_stream stream, gpu_type type, const gpu_fourier *fourier);
GPU_LAUNCHER gpu_load_fourier(gpu_type type);

#endif
