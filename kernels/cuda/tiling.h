/* tiling.h - choice of the output tile of a block in a matrix product, and of the number of parts of its sums. A
 * pure function of shape and target, so that `plan` on a laptop shows what `run` on the target does. Plain C. */
#ifndef TORT_KERNELS_CUDA_TILING_H
#define TORT_KERNELS_CUDA_TILING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns length / piece, rounded up. */
static inline int64_t gpu_pieces(int64_t length, int64_t piece) {
    return length / piece + (length % piece != 0);
}

/* Rows x columns of the output that a block computes; the table in tiling.c has the same order. */
typedef enum gpu_tile { GPU_TILE_128x128, GPU_TILE_128x64, GPU_TILE_64x64, GPU_TILE_32x128, GPU_TILE_COUNT } gpu_tile;

/* Elements of k in a step. A part consists of whole steps, whichever the tile. */
enum { GPU_STEP_HALF = 64, GPU_STEP_FLOAT = 16 };

typedef struct gpu_tiling {
    gpu_tile tile;
    int32_t rows, columns; /* of a tile */
    int64_t across, tiles; /* tiles along n; tiles of one product */
    int32_t parts;         /* blocks that share a tile's sums; the last to finish adds them */
    int64_t part;          /* elements of k in a part */
    size_t scratch;        /* bytes for the sums of the parts; 0 if there is one part */
} gpu_tiling;

/* The tiling of `batches` products (m, k) by (k, n) of 16-bit elements (`half`) or 32-bit ones. Sizes are >= 0. */
gpu_tiling tort_cuda_tiling_of(int32_t compute_capability, bool half, int64_t m, int64_t n, int64_t k, int64_t batches);

/* Multiprocessors of the largest common board of an architecture; an unknown one counts as the newest older one. */
int32_t tort_cuda_multiprocessors(int32_t compute_capability);

/* Arrival counters of a context, one per divided tile. Enough: only a product with fewer tiles than multiprocessors
 * is divided. */
enum { GPU_ARRIVALS = 1024 };

/* Device memory that the parts of a product share. */
typedef struct gpu_parts {
    float *sums;        /* gpu_tiling.scratch bytes */
    uint32_t *arrivals; /* GPU_ARRIVALS zeros; each launch leaves them zero */
} gpu_parts;

#endif
