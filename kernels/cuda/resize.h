/* resize.h - interpolation along axes: arguments and launchers of resize.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_RESIZE_H
#define TORT_KERNELS_CUDA_RESIZE_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/number.h"
#include "ops/resize.h"

/* A weighted input element of an output coordinate along one axis. index -1: the coordinate lies outside, and the
 * output is the extrapolation value. */
typedef struct gpu_tap {
    int64_t index;
    double weight;
} gpu_tap;

/* `taps` holds a table [out, taps] for each axis that changes, one after the other. */
typedef struct gpu_resize {
    tort_resize_params params;
    size_t count;                  /* elements of the output */
    int64_t tables[TORT_MAX_RANK]; /* offset of the axis' table in `taps`; -1: the axis does not change */
    int64_t combinations;          /* product of the numbers of taps of all axes */
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
