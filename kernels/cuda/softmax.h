/* softmax.h - Softmax and LogSoftmax: launchers of softmax.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_SOFTMAX_H
#define TORT_KERNELS_CUDA_SOFTMAX_H

#include "kernels/cuda/claims.h"

/* x as [outer, length, inner]; each lane along `length` is normalized separately. `logarithm`: LogSoftmax. */
GPU_LAUNCHER gpu_run_softmax(gpu_stream stream, gpu_type type, bool logarithm, const void *x, void *y, size_t outer,
                             size_t length, size_t inner);
/* Loads the kernels for contiguous and for strided lanes: shapes are not known yet. */
GPU_LAUNCHER gpu_load_softmax(gpu_type type, bool logarithm);

#endif
