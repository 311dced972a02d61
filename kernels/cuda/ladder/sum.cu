/* sum.cu - the sum of a list in five steps, each better for one reason: a tutorial, to be read from top to bottom
 * beside the table in kernels/cuda/README.md. tests/cudasim/ladder_test.cpp compares each step with a plain loop.
 *
 * A sum is one addition for 4 bytes, so a good kernel is bound by reading memory. The steps differ in how threads meet:
 * at one address, in shared memory, or in registers, and how many of them then wait for how few. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/block.h"
#include "kernels/cuda/ladder/sum.h"
#include "kernels/cuda/pack.h"

enum { THREADS = 256 };

/* ---- 1: every thread adds its element to the result. One address takes one addition at a time, and in an order that
 * differs from run to run: so do the last bits of the sum. ---- */

static __global__ void ladder_sum_1_atomics(const float *x, float *y) {
    atomicAdd(y, x[blockIdx.x * THREADS + threadIdx.x]);
}

/* ---- 2: a tree in shared memory, where pairs, then pairs of pairs meet; one atomic addition a block. But of a warp's
 * 32 threads half work in the first round, a quarter in the second: the others still go along. ---- */

static __global__ void ladder_sum_2_tree(const float *x, float *y) {
    __shared__ float part[THREADS];
    const unsigned i = threadIdx.x;
    part[i] = x[blockIdx.x * THREADS + i];
    for (unsigned apart = 1; apart < THREADS; apart *= 2) {
        __syncthreads();
        if (i % (2 * apart) == 0) part[i] += part[i + apart];
    }
    if (i == 0) atomicAdd(y, part[0]);
}

/* ---- 3: the same tree from its other end. The threads that work are neighbours, so that whole warps drop out, and the
 * elements that they read lie in 32 different banks. ---- */

static __global__ void ladder_sum_3_neighbours(const float *x, float *y) {
    __shared__ float part[THREADS];
    const unsigned i = threadIdx.x;
    part[i] = x[blockIdx.x * THREADS + i];
    for (unsigned apart = THREADS / 2; apart; apart /= 2) {
        __syncthreads();
        if (i < apart) part[i] += part[i + apart];
    }
    if (i == 0) atomicAdd(y, part[0]);
}

/* ---- 4: registers. Lanes of a warp read each other's registers (shuffles), without shared memory or barriers; only
 * the sums of the 8 warps meet in shared memory. ---- */

static __device__ __forceinline__ float sum_of_block(float sum) {
    __shared__ float warps[THREADS / 32];
    for (int apart = 16; apart; apart /= 2) sum += __shfl_xor_sync(~0u, sum, apart);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int i = 0; i < THREADS / 32; i++) sum += warps[i];
    return sum;
}

static __global__ void ladder_sum_4_shuffles(const float *x, float *y) {
    const float sum = sum_of_block(x[blockIdx.x * THREADS + threadIdx.x]);
    if (threadIdx.x == 0) atomicAdd(y, sum);
}

/* ---- 5: few blocks, that read much. A thread adds up many elements, 16 bytes a load, before it meets others once. No
 * atomic addition is left: blocks leave their sums in memory, and the last one to arrive adds them up in the order of
 * the blocks. So equal inputs have equal bits. ---- */

static __global__ void ladder_sum_5_packs(const float *x, int packs, float *y, float *room, uint32_t *counter) {
    __shared__ unsigned word;
    float sum = 0.0f;
    for (int i = (int)(blockIdx.x * THREADS + threadIdx.x); i < packs; i += (int)(gridDim.x * THREADS)) {
        const pack<float, 4> four = load_pack<4>(x + 4 * (size_t)i);
        sum += (four.at[0] + four.at[1]) + (four.at[2] + four.at[3]);
    }
    sum = sum_of_block(sum);
    if (threadIdx.x == 0) room[blockIdx.x] = sum;
    if (!last_to_arrive(counter, gridDim.x, &word) || threadIdx.x != 0) return;
    sum = 0.0f;
    for (unsigned i = 0; i < gridDim.x; i++) sum += room[i];
    *y = sum;
}

/* ---- launcher ---- */

cudaError_t ladder_sum(gpu_stream stream, int step, const float *x, int count, float *y, float *room,
                       uint32_t *counter) {
    const unsigned blocks = (unsigned)count / THREADS;
    switch (step) {
    case 1: return launch(ladder_sum_1_atomics, blocks, THREADS, 0, stream, x, y);
    case 2: return launch(ladder_sum_2_tree, blocks, THREADS, 0, stream, x, y);
    case 3: return launch(ladder_sum_3_neighbours, blocks, THREADS, 0, stream, x, y);
    case 4: return launch(ladder_sum_4_shuffles, blocks, THREADS, 0, stream, x, y);
    default: return launch(ladder_sum_5_packs, LADDER_SUM_BLOCKS, THREADS, 0, stream, x, count / 4, y, room, counter);
    }
}
