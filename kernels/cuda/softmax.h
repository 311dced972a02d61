/* softmax.h - Softmax and LogSoftmax: launchers of softmax.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_SOFTMAX_H
#define TORT_KERNELS_CUDA_SOFTMAX_H

#include "kernels/cuda/claims.h"

#ifdef CUDA_DEVICE
#ifdef __cplusplus
extern "C" {
#endif
/* x as [outer, length, inner]; each lane along `length` is normalized separately. `logarithm`: LogSoftmax. */
cudaError_t gpu_run_softmax(gpu_stream stream, gpu_type type, bool logarithm, const void *x, void *y, size_t outer,
                            size_t length, size_t inner);
/* Loads the kernels for contiguous and for strided lanes: shapes are not known yet. */
cudaError_t gpu_load_softmax(gpu_type type, bool logarithm);
#ifdef __cplusplus
}
#endif
#endif

#endif
