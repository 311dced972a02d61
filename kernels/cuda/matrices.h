/* matrices.h - interface between matrices.c and matrices.cu: determinants and inverses of square matrices, distances of
 * rows. Plain C. */
#ifndef TORT_KERNELS_CUDA_MATRICES_H
#define TORT_KERNELS_CUDA_MATRICES_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/divisor.h"

typedef struct gpu_matrices {
    size_t count, n; /* matrices; their side */
    const void *x;
    double *work; /* a block's matrix, and for inverses another: GPU_MATRICES_BLOCKS blocks at most */
    void *y;
} gpu_matrices;

#define GPU_MATRICES_BLOCKS 256

/* By elimination with partial pivoting, in double. */
GPU_LAUNCHER gpu_run_matrices(gpu_stream stream, gpu_type type, bool inverts, const gpu_matrices *p);
GPU_LAUNCHER gpu_load_matrices(gpu_type type, bool inverts);

/* y[i, j] = the distance of row i of a from row j of b, or its square. */
typedef struct gpu_distances {
    size_t count, columns;
    gpu_divisor b_rows; /* of numbers up to count */
    bool root;
    const void *a, *b;
    void *y;
} gpu_distances;

GPU_LAUNCHER gpu_run_distances(gpu_stream stream, gpu_type type, const gpu_distances *p);
GPU_LAUNCHER gpu_load_distances(gpu_type type);

#endif
