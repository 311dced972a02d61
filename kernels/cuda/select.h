/* select.h - which elements are not zero: what select.c asks of select.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_SELECT_H
#define TORT_KERNELS_CUDA_SELECT_H

#include "kernels/cuda/claims.h"

#define GPU_SELECT_PARTS 1024 /* of a tensor, at most: a block each, and a count in scratch memory */

/* The coordinates of the elements of x that have bits of `mask`, in order: output as [rank, columns]. */
typedef struct gpu_selection {
    size_t count, columns; /* elements of x, and of those how many the host has found */
    uint64_t mask;
    int32_t rank;
    int64_t dims[TORT_MAX_RANK];
    const void *x;
    int64_t *output;
    uint64_t *counts; /* of the parts */
} gpu_selection;

#ifdef CUDA_DEVICE
#ifdef __cplusplus
extern "C" {
#endif
/* Elements of 1, 2, 4 or 8 bytes. */
cudaError_t gpu_run_selection(gpu_stream stream, int element_bytes, const gpu_selection *selection);
cudaError_t gpu_load_selection(int element_bytes);
#ifdef __cplusplus
}
#endif
#endif

#endif
