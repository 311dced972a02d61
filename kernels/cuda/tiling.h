/* tiling.h - which tile of the output a block of a matrix product makes, and into how many parts its sums are divided.
 * A pure function of shape and target, so that `plan` on a laptop says what `run` on the board does. Plain C. */
#ifndef TORT_KERNELS_CUDA_TILING_H
#define TORT_KERNELS_CUDA_TILING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows by columns of the output that a block makes. Names are those of the table in tiling.c. */
typedef enum gpu_tile { GPU_TILE_128x128, GPU_TILE_128x64, GPU_TILE_64x64, GPU_TILE_32x128, GPU_TILE_COUNT } gpu_tile;

/* A part is so many steps of k, whichever the tile: the elements of a step. */
enum { GPU_STEP_HALF = 64, GPU_STEP_FLOAT = 16 };

typedef struct gpu_tiling {
    gpu_tile tile;
    int32_t rows, columns; /* of a tile */
    int64_t across, tiles; /* tiles along n; of one product */
    int32_t parts;         /* blocks that share the sums of a tile; the last one adds them up */
    int64_t part;          /* elements of k in a part */
    size_t scratch;        /* bytes for the sums of the parts; 0: there is one part */
} gpu_tiling;

/* Of `batches` products (m, k) by (k, n), whose elements have 16 bits (`half`) or 32. Sizes are not negative. */
gpu_tiling tort_cuda_tiling_of(int32_t compute_capability, bool half, int64_t m, int64_t n, int64_t k, int64_t batches);

/* Multiprocessors of the largest board of an architecture that is common; of others, of the newest that is older. */
int32_t tort_cuda_multiprocessors(int32_t compute_capability);

/* Counters of a context for parts that have arrived, one a tile that is divided: never more are. */
enum { GPU_ARRIVALS = 1024 };

/* What the parts of a product meet in, on the device. */
typedef struct gpu_parts {
    float *sums;        /* gpu_tiling.scratch bytes */
    uint32_t *arrivals; /* GPU_ARRIVALS zeros, which are zeros again behind the launch */
} gpu_parts;

#endif
