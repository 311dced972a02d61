/* grid.h - grids of kernels that walk over their elements in a grid-stride loop: enough blocks to fill any GPU, and
 * no more. For .cu files, after gpu.h. */
#ifndef TORT_KERNELS_CUDA_GRID_H
#define TORT_KERNELS_CUDA_GRID_H

#define GRID_THREADS 256
#ifndef GRID_MAX_BLOCKS /* tests build with few blocks, so that every grid loop has several rounds */
#define GRID_MAX_BLOCKS 65535
#endif

/* Returns the grid's extent along a dimension whose blocks take `count` pieces of work in turn: blockIdx.x, +
 * gridDim.x, ... */
static inline unsigned grid_extent(size_t count) {
    return (unsigned)(count < GRID_MAX_BLOCKS ? count : GRID_MAX_BLOCKS);
}

/* Returns the blocks of a kernel whose threads take `count` elements in turn. */
static inline unsigned grid_blocks(size_t count) {
    return grid_extent((count + GRID_THREADS - 1) / GRID_THREADS);
}

/* The loop of such a kernel: for (size_t i = grid_first(); i < count; i += grid_stride()) */
static __device__ __forceinline__ size_t grid_first() {
    return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}
static __device__ __forceinline__ size_t grid_stride() {
    return (size_t)gridDim.x * blockDim.x;
}

/* Returns the quotient, and leaves the remainder in `number`. Divides in 32 bits if possible: in 64 it is many times
 * slower. */
static __device__ __forceinline__ size_t divide(size_t *number, size_t by, bool is_small) {
    const size_t whole = *number, quotient = is_small ? (uint32_t)whole / (uint32_t)by : whole / by;
    *number = whole - quotient * by;
    return quotient;
}

#endif
