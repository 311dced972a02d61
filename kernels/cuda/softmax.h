/* softmax.h - normalisation of lanes: what softmax.c asks of softmax.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_SOFTMAX_H
#define TORT_KERNELS_CUDA_SOFTMAX_H

#include "kernels/cuda/claims.h"

#ifdef CUDA_DEVICE
#ifdef __cplusplus
extern "C" {
#endif
/* x seen as [outer, length, inner]; every lane along `length` on its own. `logarithm`: LogSoftmax. */
cudaError_t gpu_run_softmax(gpu_stream stream, gpu_type type, bool logarithm, const void *x, void *y, size_t outer,
                            size_t length, size_t inner);
/* Loads both forms: which one serves is known with the shapes. */
cudaError_t gpu_load_softmax(gpu_type type, bool logarithm);
#ifdef __cplusplus
}
#endif
#endif

#endif
