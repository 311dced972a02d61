/* grid.h - grids of kernels that walk their elements with a stride: enough blocks to fill any GPU, and no more. For .cu
 * files, after gpu.h. */
#ifndef TORT_KERNELS_CUDA_GRID_H
#define TORT_KERNELS_CUDA_GRID_H

#define GRID_THREADS 256
#define GRID_MOST_BLOCKS 65535

static inline unsigned grid_blocks(size_t count) {
    const size_t blocks = (count + GRID_THREADS - 1) / GRID_THREADS;
    return (unsigned)(blocks < GRID_MOST_BLOCKS ? blocks : GRID_MOST_BLOCKS);
}

/* The loop of such a kernel: for (size_t i = grid_first(); i < count; i += grid_stride()) */
static __device__ __forceinline__ size_t grid_first() {
    return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}
static __device__ __forceinline__ size_t grid_stride() {
    return (size_t)gridDim.x * blockDim.x;
}

#endif
