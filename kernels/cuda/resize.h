/* resize.h - interpolation along axes: what resize.c asks of resize.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_RESIZE_H
#define TORT_KERNELS_CUDA_RESIZE_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/number.h"
#include "ops/resize.h"

/* An input element that goes into an output coordinate of one axis. index -1: the coordinate lies outside, where the
 * output is the extrapolation value. */
typedef struct gpu_tap {
    int64_t index;
    double weight;
} gpu_tap;

/* Where the taps of an axis begin in the tables: [out, taps] of each axis that changes, one behind the other. */
typedef struct gpu_resize {
    tort_resize_params params;
    size_t count;                  /* elements of the output */
    int64_t tables[TORT_MAX_RANK]; /* -1: the axis stays as it is and has none */
    int64_t combinations;          /* of the taps of all axes */
    gpu_tap *taps;                 /* scratch */
} gpu_resize;

#ifdef CUDA_DEVICE
#ifdef __cplusplus
extern "C" {
#endif
cudaError_t gpu_run_resize(gpu_stream stream, gpu_number type, const gpu_resize *resize, const void *x, void *y);
cudaError_t gpu_load_resize(gpu_number type);
#ifdef __cplusplus
}
#endif
#endif

#endif
