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
typedef enum gpu_tile {
    GPU_TILE_128x256, /* of tensor cores only, where a block can have as much shared memory */
    GPU_TILE_128x128,
    GPU_TILE_128x64,
    GPU_TILE_64x64,
    GPU_TILE_32x128,
    GPU_TILE_COUNT,
    GPU_TILE_FEW_ROWS = GPU_TILE_COUNT /* all rows of the output, see product_few.cuh */
} gpu_tile;

/* Products of so few rows have a kernel of their own; columns of one of its blocks, where B is stored transposed. */
enum { GPU_FEW_ROWS = 8, GPU_FEW_COLUMNS_ALONG_K = 32 };

/* Unit that multiplies: tensor cores take 16-bit elements, floats that are rounded to 10 bits, or bytes; FMA exact
 * floats. */
typedef enum gpu_unit { GPU_FMA, GPU_MMA_HALF, GPU_MMA_TF32, GPU_MMA_BYTES, GPU_UNIT_COUNT } gpu_unit;

enum { GPU_MAX_STEP = 128 }; /* elements of k in a step, of any unit */

/* KiB of shared memory of a block with such a tile, on tensor cores and of exact floats; product_mma.cuh and
 * product_float.cuh are held to them. */
enum {
    GPU_KIB_MMA_128x256 = 144,
    GPU_KIB_MMA_128x128 = 64,
    GPU_KIB_MMA_128x64 = 48,
    GPU_KIB_MMA_64x64 = 48,
    GPU_KIB_MMA_32x128 = 60,
    GPU_KIB_FLOAT_128x128 = 64,
    GPU_KIB_FLOAT_128x64 = 32,
    GPU_KIB_FLOAT_64x64 = 17,
    GPU_KIB_FLOAT_32x128 = 21
};

/* A GPU as the estimates see it. */
typedef struct gpu_board {
    int32_t capability, multiprocessors;
    bool tf32; /* products of floats are rounded: asked for, and there are tensor cores for it */
} gpu_board;

typedef struct gpu_tiling {
    gpu_tile tile;
    int32_t rows, columns; /* of a tile */
    int64_t across, tiles; /* tiles along n; tiles of one product */
    int32_t parts;         /* blocks that share a tile's sums; the last to finish adds them */
    int64_t part;          /* elements of k in a part */
    size_t scratch;        /* bytes for the sums of the parts; 0 if there is one part */
} gpu_tiling;

/* The tiling of `batches` products (m, k) by (k, n). Sizes are >= 0. */
gpu_tiling tort_cuda_tiling_of(gpu_board board, gpu_unit unit, int64_t m, int64_t n, int64_t k, int64_t batches);

/* The tiling of products of at most GPU_FEW_ROWS rows, in blocks of so many columns. */
gpu_tiling tort_cuda_few_rows_tiling_of(gpu_board board, bool half, int32_t columns, int64_t m, int64_t n, int64_t k,
                                        int64_t batches);

/* Multiprocessors of the largest common board of an architecture, for targets that do not tell; an unknown one counts
 * as the newest older one. */
int32_t tort_cuda_multiprocessors(int32_t compute_capability);
/* Blocks with such a tile that a multiprocessor of the architecture holds at a time; 0: it has no such tile. */
int32_t tort_cuda_resident(int32_t compute_capability, gpu_tile tile, gpu_unit unit);

/* Arrival counters of a context, one per divided tile. Enough: an operator divides its sums only if it has fewer tiles
 * than 4 a multiprocessor, and no more than GPU_MAX_MULTIPROCESSORS of these are believed. */
enum { GPU_ARRIVALS = 1024, GPU_MAX_MULTIPROCESSORS = 256 };

/* Device memory that the parts of a product share. */
typedef struct gpu_parts {
    float *sums;        /* gpu_tiling.scratch bytes */
    uint32_t *arrivals; /* GPU_ARRIVALS zeros; each launch leaves them zero */
} gpu_parts;

#endif
