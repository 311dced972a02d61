/* cast.h - conversion and clipping of elements: what cast.c and clip.c ask of cast.cu and clip.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_CAST_H
#define TORT_KERNELS_CUDA_CAST_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/number.h"

#ifdef CUDA_DEVICE
#ifdef __cplusplus
extern "C" {
#endif
/* y[i] = x[i] in another type, between all of gpu_number. */
cudaError_t gpu_run_cast(gpu_stream stream, gpu_number from, gpu_number to, const void *x, void *y, size_t count);
cudaError_t gpu_load_cast(gpu_number from, gpu_number to);

/* y[i] = x[i] within bounds. low_data and high_data point to one element on the device, or are NULL: then low and high
 * hold for floats, and integers have no bound. All but bool. */
cudaError_t gpu_run_clip(gpu_stream stream, gpu_number type, const void *x, void *y, size_t count, const void *low_data,
                         const void *high_data, double low, double high);
cudaError_t gpu_load_clip(gpu_number type);
#ifdef __cplusplus
}
#endif
#endif

#endif
