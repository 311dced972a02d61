/* block.h - reductions over the threads of a block, and arrival of blocks at a counter. For .cu files, after gpu.h. */
#ifndef TORT_KERNELS_CUDA_BLOCK_H
#define TORT_KERNELS_CUDA_BLOCK_H

#define BLOCK_MAX_WARPS 8

/* KiB of shared memory of a multiprocessor, of which the system takes one a block; CUDA Programming Guide, "Compute
 * Capabilities". */
#if !defined(__CUDA_ARCH__)
#define SHARED_KIB 0
#elif __CUDA_ARCH__ < 800
#define SHARED_KIB 64
#elif __CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200
#define SHARED_KIB 100
#elif __CUDA_ARCH__ < 900
#define SHARED_KIB 164
#else
#define SHARED_KIB 228
#endif

/* Blocks that a multiprocessor should hold at a time, for __launch_bounds__: it limits their registers. Where shared
 * memory has room for fewer, they may have more registers instead of spilling some. */
constexpr int resident_blocks(int wanted, int shared_bytes) {
    const int room = SHARED_KIB * 1024 / (shared_bytes + 1024);
    return room < 1 ? 1 : room < wanted ? room : wanted;
}

/* True if a block can have so much; on the host, that is for the device to say. */
constexpr bool fits_multiprocessor(int shared_bytes) {
    return SHARED_KIB == 0 || shared_bytes <= SHARED_KIB * 1024;
}

/* Shared memory that a block of the current device may have on request. */
static inline cudaError_t max_dynamic_shared(unsigned *bytes) {
    int device = 0, found = 0;
    cudaError_t code = cudaGetDevice(&device);
    if (code == cudaSuccess) code = cudaDeviceGetAttribute(&found, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    *bytes = (unsigned)found;
    return code;
}

/* Returns whole warps for a block that works on `count` elements. */
static inline unsigned block_threads(size_t count) {
    const size_t max = 32 * BLOCK_MAX_WARPS;
    return (unsigned)(count >= max ? max : (count + 31) / 32 * 32 + (count == 0 ? 32 : 0));
}

struct join_sum {
    template <class C> static __device__ __forceinline__ C of(C a, C b) {
        return a + b;
    }
};
struct join_max { /* ignores NaN, as fmax does */
    template <class C> static __device__ __forceinline__ C of(C a, C b) {
        return fmax(a, b);
    }
};

/* Gives every thread Join of all threads' values, in an order that does not depend on timing. The block is
 * one-dimensional, consists of whole warps, and all its threads must call this. `shared` holds BLOCK_MAX_WARPS
 * elements and may be reused at once. In a block of two dimensions each line along x joins its own values, in elements
 * of its own, one per warp of the line. */
template <class Join, class C>
static __device__ __forceinline__ C block_join(C value, C *shared, const Join &join = Join()) {
    const unsigned warp = threadIdx.x / 32, warps = blockDim.x / 32;
    for (int offset = 16; offset; offset >>= 1) value = join.of(value, __shfl_xor_sync(~0u, value, offset));
    if (warps == 1) return value;
    __syncthreads(); /* the previous call's reads are over */
    if (threadIdx.x % 32 == 0) shared[warp] = value;
    __syncthreads();
    value = shared[0];
    for (unsigned i = 1; i < warps; i++) value = join.of(value, shared[i]);
    return value;
}

/* True if this block is the last of `blocks` to arrive at the counter; it then sees what the others wrote before.
 * The counter starts at 0 and is reset to 0 by the last. All threads of a block must call this, and get the same
 * answer. `shared` is one word of the caller's shared memory that no thread needs any more; it may be written again
 * after a barrier. It is not a variable here, because a tile may take all the memory that its architecture has. */
static __device__ __forceinline__ bool last_to_arrive(uint32_t *counter, unsigned blocks, unsigned *shared) {
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        *shared = atomicAdd(counter, 1u) == blocks - 1;
        if (*shared) atomicExch(counter, 0u);
    }
    __syncthreads();
    __threadfence();
    return *shared;
}

#endif
