/* planted_bugs.cu - mistakes that kernel authors make, one each. Every one must be caught in at least one way of
 * building and running the simulator; planted_bugs.expected says in which. sample_kernels.cu holds the correct ones. */
#include "kernels/cuda/gpu.h"

#include "tests/cudasim/planted_bugs.h"

#define OWN threadIdx.x

/* ---- barriers and collectives ---- */

static __global__ void divergent(float *y) {
    __shared__ float s[64];
    s[OWN] = 1;
    if (OWN < 32) __syncthreads();
    y[OWN] = s[OWN];
}

static __global__ void two_sites(float *y) {
    __shared__ float s[64];
    s[OWN] = 1;
    if (OWN & 1) {
        __syncthreads();
    } else {
        __syncthreads();
    }
    y[OWN] = s[OWN];
}

static __global__ void missing_barrier(float *y) {
    __shared__ float s[64];
    s[OWN] = (float)OWN;
    y[OWN] = s[63 - OWN];
}

static __global__ void shfl_exit(float *y) {
    if (OWN == 5) return;
    y[OWN] = __shfl_xor_sync(~0u, 1.0f, 1);
}

static __global__ void shfl_branch(float *y) {
    float value = 1;
    if (OWN < 16) value = __shfl_xor_sync(~0u, value, 1);
    y[OWN] = value;
}

static __global__ void two_collectives(float *y) {
    float value = 1;
    if (OWN < 16)
        value = __shfl_xor_sync(~0u, value, 1);
    else
        value = (float)__ballot_sync(~0u, 1);
    y[OWN] = value;
}

static __global__ void deadlock(float *y) {
    if (OWN < 16)
        __syncthreads();
    else
        __syncwarp();
    y[0] = 1;
}

/* A shuffle makes lanes meet, but orders no memory. */
static __global__ void shfl_no_fence(float *y) {
    __shared__ float s[32];
    s[OWN] = __shfl_xor_sync(~0u, (float)OWN, 1);
    const float other = __shfl_xor_sync(~0u, 1.0f, 1);
    y[OWN] = s[31 - OWN] + other;
}

/* ---- memory ---- */

static __global__ void uninit(float *y) {
    __shared__ float s[64];
    if (OWN < 63) s[OWN] = 0;
    __syncthreads();
    y[OWN] = s[OWN];
}

static __global__ void oob(float *y, int count) {
    const int i = (int)OWN;
    if (i <= count) y[i] = 0;
}

static __global__ void smem_oob(float *y) {
    __shared__ float s[64];
    float *p = s;
    p[OWN + 1] = 1;
    __syncthreads();
    y[OWN] = p[OWN];
}

static __global__ void dyn_oob(float *y) {
    dynamic_shared<float>()[OWN] = 1;
    y[OWN] = 1;
}

static __global__ void rmw(float *y) {
    __shared__ int n;
    if (OWN == 0) n = 0;
    __syncthreads();
    n = n + 1;
    __syncthreads();
    y[OWN] = (float)n;
}

static __global__ void copy_one(float *y, const float *from) {
    y[OWN] = from[OWN];
}

static __global__ void interblock(float *y) {
    y[OWN] = (float)blockIdx.x;
}

/* The last block to come adds up what all have written, but none passes a __threadfence. */
static __global__ void parts_no_fence(float *y, unsigned *arrived) {
    y[blockIdx.x] = 1;
    if (atomicAdd(arrived, 1u) + 1 < gridDim.x) return;
    float sum = 0;
    for (unsigned i = 0; i < gridDim.x; i++) sum += y[i];
    y[gridDim.x] = sum;
    atomicExch(arrived, 0u);
}

static __global__ void misalign(const float *x, float *y) {
    *(float4 *)(y + 1) = *(const float4 *)(x + 1);
}

static __global__ void stack_overflow(float *y, int depth) {
    volatile float frame[64 * 1024];
    frame[(unsigned)depth % 65536] = 1;
    y[OWN] = frame[(unsigned)depth % 65536];
}

static __global__ void int_division(float *y, int divisor) {
    y[OWN] = (float)(7 / divisor);
}

/* ---- asynchronous copies and ldmatrix ---- */

static __global__ void cpasync(const float *x, float *y) {
    __shared__ __align__(16) float s[128];
    cp_async16(s + 4 * OWN, x + 4 * OWN);
    cp_async_commit();
    y[OWN] = s[4 * OWN];
    cp_async_wait<0>();
}

static __global__ void cpasync_exit(const float *x, float *y) {
    __shared__ __align__(16) float s[128];
    cp_async16(s + 4 * OWN, x + 4 * OWN);
    cp_async_commit();
    y[OWN] = 1;
}

static __global__ void overlap_no_wait(float *y) {
    if (OWN % 2) after_previous();
    y[OWN] = 1;
}

static __global__ void ldsm_nosync(const __half *x, float *y) {
    __shared__ __align__(16) __half a[16][24];
    cp_async16(&a[OWN / 2][OWN % 2 * 8], x + OWN * 8);
    cp_async_commit();
    cp_async_wait<0>();
    uint32_t r[4];
    ldmatrix_x4(r, &a[OWN % 16][OWN / 16 * 8]);
    y[OWN] = (float)r[0];
}

/* ---- the table ---- */

#define BUG(name) static cudaError_t act_##name(const PlantedBuffers *b)
#define LAUNCH(kernel, blocks, threads, bytes, ...) launch(kernel, blocks, threads, bytes, gpu_stream{}, __VA_ARGS__)

BUG(divergent) {
    return LAUNCH(divergent, 1, 64, 0, b->y);
}
BUG(two_sites) {
    return LAUNCH(two_sites, 1, 64, 0, b->y);
}
BUG(missing_barrier) {
    return LAUNCH(missing_barrier, 1, 64, 0, b->y);
}
BUG(shfl_exit) {
    return LAUNCH(shfl_exit, 1, 32, 0, b->y);
}
BUG(shfl_branch) {
    return LAUNCH(shfl_branch, 1, 32, 0, b->y);
}
BUG(uninit) {
    return LAUNCH(uninit, 1, 64, 0, b->y);
}
BUG(oob) {
    return LAUNCH(oob, 1, 128, 0, b->y, 100);
}
BUG(smem_oob) {
    return LAUNCH(smem_oob, 1, 64, 0, b->y);
}
BUG(dyn_oob) {
    return LAUNCH(dyn_oob, 1, 64, 63 * sizeof(float), b->y);
}
BUG(rmw) {
    return LAUNCH(rmw, 1, 64, 0, b->y);
}
BUG(host) {
    return LAUNCH(copy_one, 1, 64, 0, b->y, b->host);
}
BUG(interblock) {
    return LAUNCH(interblock, 2, 64, 0, b->y);
}
BUG(cpasync) {
    return LAUNCH(cpasync, 1, 16, 0, b->x, b->y);
}
BUG(ldsm_nosync) {
    return LAUNCH(ldsm_nosync, 1, 32, 0, (const __half *)b->x, b->y);
}
BUG(misalign) {
    return LAUNCH(misalign, 1, 1, 0, b->x, b->y);
}
BUG(deadlock) {
    return LAUNCH(deadlock, 1, 32, 0, b->y);
}
BUG(grid0) {
    return LAUNCH(copy_one, 0, 64, 0, b->y, b->x);
}
BUG(gridy) {
    return LAUNCH(copy_one, dim3(1, 65536), 64, 0, b->y, b->x);
}
BUG(smem49k) {
    return LAUNCH(dyn_oob, 1, 64, 49 << 10, b->y);
}
/* Host code that reads device memory as if it were its own. */
BUG(hostderef) {
    return *(volatile float *)b->x == 1.0f ? cudaSuccess : cudaErrorUnknown;
}
BUG(uaf) {
    const cudaError_t error = cudaFree(b->x);
    return error ? error : cudaMemcpy(b->host, b->x, 16, cudaMemcpyDeviceToHost);
}
BUG(two_collectives) {
    return LAUNCH(two_collectives, 1, 32, 0, b->y);
}
BUG(parts_no_fence) {
    const cudaError_t code = cudaMemsetAsync(b->y + 16, 0, sizeof(float), nullptr);
    return code != cudaSuccess ? code : LAUNCH(parts_no_fence, 4, 1, 0, b->y, (unsigned *)b->y + 16);
}
BUG(shfl_no_fence) {
    return LAUNCH(shfl_no_fence, 1, 32, 0, b->y);
}
BUG(cpasync_exit) {
    return LAUNCH(cpasync_exit, 1, 16, 0, b->x, b->y);
}
BUG(overlap_no_wait) {
    return launch_overlapping(overlap_no_wait, 1, 16, 0, gpu_stream{}, b->y);
}
BUG(foreign_device) {
    return LAUNCH(copy_one, 1, 64, 0, b->y, b->foreign);
}
BUG(stack_overflow) {
    return LAUNCH(stack_overflow, 1, 1, 0, b->y, 7);
}
BUG(int_division) {
    return LAUNCH(int_division, 1, 1, 0, b->y, 0);
}

/* name, floats of the output that the kernel writes */
#define ROW(name, outputs) {#name, act_##name, outputs},
const PlantedBug planted_bugs[] = {
    ROW(divergent, 64) ROW(two_sites, 64) ROW(missing_barrier, 64) ROW(shfl_exit, 32) ROW(shfl_branch, 32)
        ROW(uninit, 64) ROW(oob, 64) ROW(smem_oob, 64) ROW(dyn_oob, 64) ROW(rmw, 64) ROW(host, 64) ROW(interblock, 64)
            ROW(cpasync, 16) ROW(ldsm_nosync, 32) ROW(misalign, 0) ROW(deadlock, 0) ROW(grid0, 64) ROW(gridy, 64)
                ROW(smem49k, 64) ROW(hostderef, 0) ROW(uaf, 0)
    /* beyond the first 21 */
    ROW(two_collectives, 32) ROW(shfl_no_fence, 32) ROW(parts_no_fence, 5) ROW(cpasync_exit, 16)
        ROW(overlap_no_wait, 16) ROW(foreign_device, 64) ROW(stack_overflow, 1)
            ROW(int_division, 1){nullptr, nullptr, 0}};
