/* traffic_kernels.cu - kernels whose traffic is known by hand, one property each: how lanes lie in sectors of global
 * memory, how they lie in the banks of shared memory, and what counts as one access. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/pack.h"
#include "tests/cudasim/traffic_kernels.h"

static __device__ unsigned own() {
    return blockIdx.x * blockDim.x + threadIdx.x;
}

/* ---- global memory: a warp's 128 bytes of floats are 4 sectors ---- */

static __global__ void copy(const float *x, float *y) {
    y[own()] = x[own()];
}

static __global__ void copy_stride_2(const float *x, float *y) {
    y[own()] = x[2 * own()];
}

/* Down a column of a matrix of 64 floats a row. */
static __global__ void copy_column(const float *x, float *y) {
    y[own()] = x[64 * own()];
}

static __global__ void copy_one_off(const float *x, float *y) {
    y[own()] = x[own() + 1];
}

static __global__ void copy_half(const __half *x, __half *y) {
    y[own()] = x[own()];
}

static __global__ void copy_float4(const float4 *x, float4 *y) {
    store_vector(&y[own()], load_vector(&x[own()]));
}

/* The members are used one by one, which must not make four loads and stores of it. */
static __global__ void scale_float4(const float4 *x, float4 *y) {
    const float4 v = load_vector(&x[own()]);
    store_vector(&y[own()], make_float4(2 * v.x, 3 * v.y, 4 * v.z, 5 * v.w));
}

static __global__ void scale_pack(const __half *x, __half *y) {
    const pack<__half, 8> v = load_pack<8>(x + 8 * own());
    pack<__half, 8> scaled;
    for (int i = 0; i < 8; i++) scaled.at[i] = __half((float)v.at[i] * (float)i);
    store_pack<8>(y + 8 * own(), scaled);
}

/* What a kernel does that takes four neighbours without vectors. */
static __global__ void copy_four_singly(const float *x, float *y) {
    for (unsigned i = 0; i < 4; i++) y[4 * own() + i] = x[4 * own() + i];
}

/* Many times round: the lanes of one time belong together. */
static __global__ void copy_grid_stride(const float *x, float *y, unsigned count) {
    for (unsigned i = own(); i < count; i += gridDim.x * blockDim.x) y[i] = x[i];
}

static __global__ void broadcast_one(const float *x, float *y) {
    y[own()] = x[blockIdx.x];
}

static __global__ void add_in_place(float *y) {
    y[own()] += 1;
}

static __global__ void count_atomically(unsigned *y) {
    atomicAdd(&y[own()], 1u);
}

/* ---- shared memory ---- */

template <int columns> static __global__ void read_column(float *y) {
    __shared__ float tile[32][columns];
    for (int i = threadIdx.x / 32; i < 32; i += blockDim.x / 32) tile[i][threadIdx.x % 32] = (float)i;
    __syncthreads();
    y[own()] = tile[threadIdx.x % 32][threadIdx.x / 32];
}

static __global__ void read_one_word(float *y) {
    __shared__ float word;
    if (threadIdx.x == 0) word = 1;
    __syncthreads();
    y[own()] = word;
}

/* 16 bytes a lane, side by side: each quarter of the warp has one pass. */
static __global__ void read_vectors(float *y) {
    __shared__ __align__(16) float4 tile[256];
    store_vector(&tile[threadIdx.x], make_float4(1, 2, 3, 4));
    __syncthreads();
    const float4 v = load_vector(&tile[threadIdx.x ^ 1]);
    y[own()] = v.x + v.y + v.z + v.w;
}

/* Every lane of a quarter in the same 4 banks: 8 passes in place of 1, for each of 4 quarters. */
static __global__ void read_vectors_down(float *y) {
    __shared__ __align__(16) float4 tile[32][8];
    store_vector(&tile[threadIdx.x / 8][threadIdx.x % 8], make_float4(1, 2, 3, 4));
    __syncthreads();
    const float4 v = load_vector(&tile[threadIdx.x % 32][threadIdx.x / 32]);
    y[own()] = v.x + v.y + v.z + v.w;
}

/* Rows of 16 bytes, `stride` bytes apart: ldmatrix passes once for each of its 4 matrices where they are neighbours. */
template <int stride> static __global__ void load_matrices(float *y) {
    __shared__ __align__(16) unsigned char rows[32 * stride];
    for (unsigned i = threadIdx.x; i < sizeof rows / 4; i += blockDim.x) ((unsigned *)rows)[i] = i;
    __syncthreads();
    uint32_t r[4];
    ldmatrix_x4(r, rows + threadIdx.x % 32 * stride);
    y[own()] = (float)(r[0] + r[1] + r[2] + r[3]);
}

static __global__ void copy_asynchronously(const float *x, float *y) {
    __shared__ __align__(16) float tile[1024];
    cp_async16(tile + 4 * threadIdx.x, x + 4 * own());
    cp_async_commit();
    cp_async_wait<0>();
    __syncthreads();
    y[own()] = tile[threadIdx.x];
}

/* ---- the table ---- */

#define KERNEL(name) static cudaError_t run_##name([[maybe_unused]] const float *x, float *y, unsigned threads)
#define LAUNCH(kernel, ...) launch(kernel, threads / 256, 256, 0, gpu_stream{}, __VA_ARGS__)

KERNEL(copy) {
    return LAUNCH(copy, x, y);
}
KERNEL(copy_stride_2) {
    return LAUNCH(copy_stride_2, x, y);
}
KERNEL(copy_column) {
    return LAUNCH(copy_column, x, y);
}
KERNEL(copy_one_off) {
    return LAUNCH(copy_one_off, x, y);
}
KERNEL(copy_half) {
    return LAUNCH(copy_half, (const __half *)x, (__half *)y);
}
KERNEL(copy_float4) {
    return LAUNCH(copy_float4, (const float4 *)x, (float4 *)y);
}
KERNEL(scale_float4) {
    return LAUNCH(scale_float4, (const float4 *)x, (float4 *)y);
}
KERNEL(scale_pack) {
    return LAUNCH(scale_pack, (const __half *)x, (__half *)y);
}
KERNEL(copy_four_singly) {
    return LAUNCH(copy_four_singly, x, y);
}
KERNEL(copy_grid_stride) {
    return LAUNCH(copy_grid_stride, x, y, 3 * threads);
}
KERNEL(broadcast_one) {
    return LAUNCH(broadcast_one, x, y);
}
KERNEL(add_in_place) {
    return LAUNCH(add_in_place, y);
}
KERNEL(count_atomically) {
    return LAUNCH(count_atomically, (unsigned *)y);
}
KERNEL(read_column) {
    return LAUNCH(read_column<32>, y);
}
KERNEL(read_padded_column) {
    return LAUNCH(read_column<33>, y);
}
KERNEL(read_one_word) {
    return LAUNCH(read_one_word, y);
}
KERNEL(read_vectors) {
    return LAUNCH(read_vectors, y);
}
KERNEL(read_vectors_down) {
    return LAUNCH(read_vectors_down, y);
}
KERNEL(load_matrices) {
    return LAUNCH(load_matrices<16>, y);
}
KERNEL(load_matrices_apart) {
    return LAUNCH(load_matrices<128>, y);
}
KERNEL(copy_asynchronously) {
    return LAUNCH(copy_asynchronously, x, y);
}

#define ROW(name) #name, run_##name
const TrafficKernel traffic_kernels[] = {
    /* bytes that a thread reads and writes; sectors and bank conflicts of a warp */
    {ROW(copy), 4, 4, 4 + 4, 0},
    {ROW(copy_stride_2), 4, 4, 8 + 4, 0},
    {ROW(copy_column), 4, 4, 32 + 4, 0},
    {ROW(copy_one_off), 4, 4, 5 + 4, 0},
    {ROW(copy_half), 2, 2, 2 + 2, 0},
    {ROW(copy_float4), 16, 16, 16 + 16, 0},
    {ROW(scale_float4), 16, 16, 16 + 16, 0},
    {ROW(scale_pack), 16, 16, 16 + 16, 0},
    {ROW(copy_four_singly), 16, 16, 4 * (16 + 16), 0},
    {ROW(copy_grid_stride), 12, 12, 3 * (4 + 4), 0},
    {ROW(broadcast_one), 4, 4, 1 + 4, 0},
    {ROW(add_in_place), 4, 4, 4 + 4, 0},
    {ROW(count_atomically), 0, 4, 4, 0},
    {ROW(read_column), 0, 4, 4, 31},
    {ROW(read_padded_column), 0, 4, 4, 0},
    {ROW(read_one_word), 0, 4, 4, 0},
    {ROW(read_vectors), 0, 4, 4, 0},
    {ROW(read_vectors_down), 0, 4, 4, 4 * 7},
    {ROW(load_matrices), 0, 4, 4, 0},
    {ROW(load_matrices_apart), 0, 4, 4, 4 * 7},
    {ROW(copy_asynchronously), 16, 4, 16 + 4, 0},
    {nullptr, nullptr, 0, 0, 0, 0}};
