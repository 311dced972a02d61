/* select.h - selection of nonzero elements: arguments and launchers of select.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_SELECT_H
#define TORT_KERNELS_CUDA_SELECT_H

#include "kernels/cuda/claims.h"

#define GPU_SELECT_PARTS 1024 /* max parts of a tensor: a block and a count in scratch each */
#define GPU_SELECT_COUNTS (GPU_SELECT_PARTS + 1)

/* Coordinates of the elements of x with any bit of `mask`, in order: output as [rank, columns]. */
typedef struct gpu_selection {
    size_t count, columns; /* elements of x; selected elements */
    uint64_t mask;
    int32_t rank;
    int64_t dims[TORT_MAX_RANK];
    const void *x;
    int64_t *output;
    uint64_t *counts; /* GPU_SELECT_COUNTS: one per part, at the end their sum */
    uint32_t *arrivals;
} gpu_selection;

/* Elements of 1, 2, 4 or 8 bytes. The first counts the selected elements, the second, behind it, writes. */
GPU_LAUNCHER gpu_run_selection_count(gpu_stream stream, int element_bytes, const gpu_selection *selection);
GPU_LAUNCHER gpu_run_selection(gpu_stream stream, int element_bytes, const gpu_selection *selection);
GPU_LAUNCHER gpu_load_selection(int element_bytes);

#endif
