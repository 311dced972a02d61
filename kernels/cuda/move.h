/* move.h - interface between move.c and move.cu: data movement. Plain C. */
#ifndef TORT_KERNELS_CUDA_MOVE_H
#define TORT_KERNELS_CUDA_MOVE_H

#include "kernels/cuda/claims.h"
#include "ops/strided.h"

#define GPU_BOX_RANK 16

/* A box of elements between two strided layouts; strides in elements. Passed to the kernel by value. */
typedef struct gpu_box {
    int32_t rank;
    int64_t dims[GPU_BOX_RANK], dst_strides[GPU_BOX_RANK], src_strides[GPU_BOX_RANK];
} gpu_box;

/* element_bytes is 1, 2, 4 or 8; dst and src point to the first element of the box, which must not be empty. */
GPU_LAUNCHER gpu_copy_box(gpu_stream stream, int element_bytes, void *dst, const void *src, const gpu_box *box);
GPU_LAUNCHER gpu_load_copy_box(int element_bytes);
GPU_LAUNCHER gpu_fill(gpu_stream stream, int element_bytes, void *dst, size_t count, const void *value);
GPU_LAUNCHER gpu_load_fill(int element_bytes);

/* Rows of Y that consist of rows of parts, all of `rows` rows and without gaps. */
enum { GPU_JOINED_PARTS = 16 };
typedef struct gpu_joined_rows {
    int32_t count; /* of the parts */
    size_t rows;
    size_t first[GPU_JOINED_PARTS + 1]; /* bytes of a row of Y before each part, and of all */
    const void *parts[GPU_JOINED_PARTS];
    void *y;
} gpu_joined_rows;

/* Joins elements of so many bytes; Y is not empty. */
GPU_LAUNCHER gpu_join_rows(gpu_stream stream, int element_bytes, const gpu_joined_rows *joined);
GPU_LAUNCHER gpu_load_join_rows(int element_bytes);

/* Runs Concat: in one launch, or, with parts that are read by strides, a launch a part. */
tort_status tort_cuda_concat(const tort_call *call, tort_box_mover move);

/* Moves a box in device memory, for the decoders of ops/. */
tort_status tort_cuda_move_box(const tort_call *call, tort_type type, void *dst, const void *src, const tort_box *box);

#endif
