/* gather_block_quantized.h - interface between gather_block_quantized.c and gather_block_quantized.cu: slices of a
 * table of numbers of 2, 4 or 8 bits. Plain C. */
#ifndef TORT_KERNELS_CUDA_GATHER_BLOCK_QUANTIZED_H
#define TORT_KERNELS_CUDA_GATHER_BLOCK_QUANTIZED_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/divisor.h"

/* Table [outer, size, inner], output [outer, index_count, inner]. The table is also [before, along, after], with
 * `along` divided into blocks: scales are [before, blocks, after], zero points [before, zero_blocks, after]. */
typedef struct gpu_gather_block {
    size_t count; /* elements of the output */
    uint64_t max; /* largest number that a divisor divides */
    gpu_divisor inner, index_count, after, along;
    int64_t size, blocks, zero_blocks;
    int32_t bits, block_shift; /* a block has 2^block_shift numbers */
    bool is_signed;            /* numbers are two's complement */
    float zero;                /* zero point if `zeros` is NULL */
    const void *indices, *scales;
    const uint8_t *data, *zeros; /* numbers one after another, low bits first */
    void *y;
} gpu_gather_block;

/* type: of scales and output. */
GPU_LAUNCHER gpu_run_gather_block(gpu_stream stream, gpu_type type, int index_bytes, const gpu_gather_block *g);
GPU_LAUNCHER gpu_load_gather_block(gpu_type type, int index_bytes);

#endif
