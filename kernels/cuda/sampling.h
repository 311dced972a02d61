/* sampling.h - sampling of points and regions of images: arguments and launchers of sampling.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_SAMPLING_H
#define TORT_KERNELS_CUDA_SAMPLING_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/number.h"
#include "kernels/cuda/status.h"
#include "ops/grid_sample.h"
#include "ops/roi.h"

/* GridSample; the grid may have another type than X. */
typedef struct gpu_grid {
    tort_grid_params params;
    gpu_type grid_type;
    size_t elements; /* of a channel of X */
    const void *x, *grid;
    void *y;
} gpu_grid;

/* AffineGrid: theta is [batch, spatial, spatial + 1], the grid [batch, ..., height, width, spatial]. */
typedef struct gpu_affine {
    size_t count; /* elements of the grid */
    int32_t spatial;
    int64_t sizes[3]; /* width, height, depth */
    bool align_corners;
    const void *theta;
    void *grid;
} gpu_affine;

typedef enum gpu_roi_kind { GPU_ROI_ALIGN, GPU_ROI_CROP, GPU_ROI_POOL } gpu_roi_kind;

/* RoiAlign, CropAndResize and MaxRoiPool. A region is four coordinates; for MaxRoiPool, preceded by its batch index. */
typedef struct gpu_roi {
    tort_roi_params params;
    size_t count; /* elements of Y */
    int32_t node;
    bool narrow_batches;            /* batch_indices is int32, not int64 */
    const void *x, *rois, *batches; /* batches: NULL for MaxRoiPool */
    void *y;
    gpu_status *status;
} gpu_roi;

/* Interpolates elements of a real type. */
GPU_LAUNCHER gpu_run_grid(gpu_stream stream, gpu_type type, const gpu_grid *grid);
GPU_LAUNCHER gpu_load_grid(gpu_type type);
/* Mode nearest copies elements of 1, 2, 4 or 8 bytes. */
GPU_LAUNCHER gpu_run_grid_nearest(gpu_stream stream, int element_bytes, const gpu_grid *grid);
GPU_LAUNCHER gpu_load_grid_nearest(int element_bytes);
GPU_LAUNCHER gpu_run_affine(gpu_stream stream, gpu_type type, const gpu_affine *affine);
GPU_LAUNCHER gpu_load_affine(gpu_type type);
GPU_LAUNCHER gpu_run_roi(gpu_stream stream, gpu_roi_kind kind, gpu_type type, const gpu_roi *roi);
GPU_LAUNCHER gpu_load_roi(gpu_roi_kind kind, gpu_type type);

#endif
