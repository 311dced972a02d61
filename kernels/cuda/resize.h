/* resize.h - interpolation along axes: arguments and launchers of resize.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_RESIZE_H
#define TORT_KERNELS_CUDA_RESIZE_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/number.h"
#include "kernels/cuda/plane_tiles.h"
#include "ops/resize.h"

/* Any axes and taps. The tables hold [out, taps] for each axis that changes, one after the other; the first index of
 * an output coordinate is -1 where it lies outside, and the output is the extrapolation value. */
typedef struct gpu_resize {
    tort_resize_params params;
    size_t count;                  /* elements of the output */
    int64_t tables[TORT_MAX_RANK]; /* offset of the axis' table; -1: the axis does not change */
    int64_t combinations;          /* product of the numbers of taps of all axes */
    const int64_t *indices;
    const double *weights;
} gpu_resize;

/* Input elements `low` and low + 1 of an output coordinate; share: the weight of the second, 0 where it is not read. */
typedef struct gpu_pair {
    int32_t low;
    float share;
} gpu_pair;

/* Nearest or linear in the planes [planes, in_h, in_w]. */
typedef struct gpu_resize_planes {
    int64_t planes;
    int32_t in_h, in_w, out_h, out_w;
    gpu_plane_tiles tiles;
    const gpu_pair *pairs; /* of out_w columns, then of out_h rows */
} gpu_resize_planes;

/* Nearest or linear with channels last (nhwc.h): planes are images; tiles are not used. Bytes are
 * int8 or uint8, and nearest alone. */
GPU_LAUNCHER gpu_run_resize_images(gpu_stream stream, gpu_number type, bool linear, const gpu_resize_planes *p,
                                   int64_t channels, const void *x, void *y);
GPU_LAUNCHER gpu_load_resize_images(gpu_number type, bool linear);
GPU_LAUNCHER gpu_run_resize(gpu_stream stream, gpu_number type, const gpu_resize *resize, const void *x, void *y);
GPU_LAUNCHER gpu_load_resize(gpu_number type);
/* Elements of 1, 2, 4 or 8 bytes. */
GPU_LAUNCHER gpu_run_resize_nearest(gpu_stream stream, int element_bytes, const gpu_resize_planes *p, const void *x,
                                    void *y);
GPU_LAUNCHER gpu_load_resize_nearest(int element_bytes);
/* float, half or bfloat16. */
GPU_LAUNCHER gpu_run_resize_linear(gpu_stream stream, gpu_type type, const gpu_resize_planes *p, const void *x,
                                   void *y);
GPU_LAUNCHER gpu_load_resize_linear(gpu_type type);

#endif
