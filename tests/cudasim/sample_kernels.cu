/* sample_kernels.cu - correct kernels of every kind the runtime has: elementwise, warp and block reductions, tiled and
 * tensor-core products, dynamic shared memory, atomics, asynchronous copies; and one warp for each instruction.
 * Compiled unchanged by nvcc. planted_bugs.cu holds the wrong ones. */
#include "kernels/cuda/gpu.h"

#include "tests/cudasim/sample_kernels.h"

static int blocks_for(int count, int per_block) {
    return (count + per_block - 1) / per_block;
}

static __device__ float warp_sum(float value) {
    for (int distance = 16; distance; distance /= 2) value += __shfl_xor_sync(~0u, value, distance);
    return value;
}

static __device__ float warp_max(float value) {
    for (int distance = 16; distance; distance /= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, distance));
    return value;
}

static __device__ float block_sum(float value) {
    __shared__ float partial[32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    value = warp_sum(value);
    if (lane == 0) partial[warp] = value;
    __syncthreads();
    value = warp_sum(lane < (int)blockDim.x / 32 ? partial[lane] : 0.0f);
    __syncthreads();
    return value;
}

static __global__ void add(const float *a, const float *b, float *c, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) c[i] = a[i] + b[i];
}

/* A warp each row. */
template <class T> static __global__ void softmax(const T *x, T *y, int rows, int columns) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
    if (row >= rows) return; /* the whole warp at once */
    const T *from = x + (size_t)row * columns;
    T *to = y + (size_t)row * columns;
    float largest = -INFINITY, sum = 0;
    for (int i = lane; i < columns; i += 32) largest = fmaxf(largest, (float)from[i]);
    largest = warp_max(largest);
    for (int i = lane; i < columns; i += 32) sum += __expf((float)from[i] - largest);
    sum = warp_sum(sum);
    for (int i = lane; i < columns; i += 32) to[i] = (T)(__expf((float)from[i] - largest) / sum);
}

/* A block each row. */
static __global__ void __launch_bounds__(256) layernorm(const float *__restrict__ x, const float *scale,
                                                        const float *bias, float *y, int columns, float epsilon) {
    const float *from = x + (size_t)blockIdx.x * columns;
    float *to = y + (size_t)blockIdx.x * columns;
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += from[i];
    const float mean = block_sum(sum) / columns;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) squares += (from[i] - mean) * (from[i] - mean);
    const float inverse = rsqrtf(block_sum(squares) / columns + epsilon);
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        to[i] = (from[i] - mean) * inverse * __ldg(scale + i) + __ldg(bias + i);
}

template <int tile> static __global__ void sgemm(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float tile_a[tile][tile], tile_b[tile][tile + 1];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * tile + y, column = blockIdx.x * tile + x;
    float sum = 0;
    for (int start = 0; start < k; start += tile) {
        tile_a[y][x] = row < m && start + x < k ? a[row * k + start + x] : 0;
        tile_b[y][x] = column < n && start + y < k ? b[(start + y) * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < tile; i++) sum += tile_a[y][i] * tile_b[i][x];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}

static __global__ void sum_all(const float *x, float *sum, int count) {
    float *partial = dynamic_shared<float>();
    const int i = blockIdx.x * blockDim.x + threadIdx.x, own = threadIdx.x;
    partial[own] = i < count ? x[i] : 0;
    __syncthreads();
    for (int half_size = blockDim.x / 2; half_size; half_size /= 2) {
        if (own < half_size) partial[own] += partial[own + half_size];
        __syncthreads();
    }
    if (own == 0) atomicAdd(sum, partial[0]);
}

static __global__ void scale_bf16(const __nv_bfloat16 *x, __nv_bfloat16 *y, float factor, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) y[i] = __float2bfloat16(__bfloat162float(x[i]) * factor);
}

static __global__ void copy_vectors(const float4 *x, float4 *y, int vectors) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < vectors) y[i] = x[i];
}

static __global__ void reverse(const float *x, float *y, int count) {
    float *values = dynamic_shared<float>();
    for (int i = threadIdx.x; i < count; i += blockDim.x) values[i] = x[i];
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += blockDim.x) y[i] = values[count - 1 - i];
}

struct HalfTiles {
    __half a[2][16][24], b[2][16][8]; /* two stages; a's rows padded against bank conflicts */
};

static __device__ void load_tiles(HalfTiles *tiles, int stage, const __half *a, const __half *b, int n, int k,
                                  int start) {
    const int lane = threadIdx.x, row = blockIdx.y * 16 + lane / 2, column = blockIdx.x * 8;
    cp_async16(&tiles->a[stage][lane / 2][lane % 2 * 8], a + (size_t)row * k + start + lane % 2 * 8);
    if (lane < 16) cp_async16(&tiles->b[stage][lane][0], b + (size_t)(start + lane) * n + column);
    cp_async_commit();
}

/* A warp each 16x8 tile of c, double buffered. */
static __global__ void hgemm(const __half *a, const __half *b, float *c, int n, int k) {
    __shared__ __align__(16) HalfTiles tiles;
    const int lane = threadIdx.x;
    float sum[4] = {0, 0, 0, 0};
    load_tiles(&tiles, 0, a, b, n, k, 0);
    for (int start = 0, stage = 0; start < k; start += 16, stage ^= 1) {
        if (start + 16 < k) {
            load_tiles(&tiles, stage ^ 1, a, b, n, k, start + 16);
            cp_async_wait<1>();
        } else {
            cp_async_wait<0>();
        }
        __syncwarp();
        uint32_t fragment_a[4], fragment_b[2];
        ldmatrix_x4(fragment_a, &tiles.a[stage][lane % 16][lane / 16 * 8]);
        ldmatrix_x2_trans(fragment_b, &tiles.b[stage][lane % 16][0]);
        mma_m16n8k16_f16(sum, fragment_a, fragment_b, sum);
        __syncwarp();
    }
    const size_t row = blockIdx.y * 16 + lane / 4, column = blockIdx.x * 8 + lane % 4 * 2;
    for (int i = 0; i < 4; i++) c[(row + i / 2 * 8) * n + column + i % 2] = sum[i];
}

static __global__ void warp_votes(unsigned *results) {
    const int lane = threadIdx.x;
    const unsigned odd = __ballot_sync(~0u, lane & 1);
    const int any = __any_sync(~0u, lane == 7), all = __all_sync(~0u, lane < 31);
    unsigned upper = 0;
    if (lane >= 16) upper = __ballot_sync(0xffff0000u, lane >= 24);
    const int count = __syncthreads_count(lane < 5), both = __syncthreads_and(1), either = __syncthreads_or(lane == 31);
    if (lane == 31) {
        const unsigned values[7] = {
            odd, (unsigned)any, (unsigned)all, upper, (unsigned)count, (unsigned)(both != 0), (unsigned)(either != 0)};
        for (int i = 0; i < 7; i++) results[i] = values[i];
    }
}

static __global__ void shuffles(int *results) {
    const int lane = threadIdx.x;
    results[lane] = __shfl_sync(~0u, lane * 10, 3, 8);
    results[32 + lane] = __shfl_up_sync(~0u, lane, 2, 16);
    results[64 + lane] = __shfl_down_sync(~0u, lane, 3, 8);
    results[96 + lane] = __shfl_xor_sync(~0u, lane, 5);
    const double wide = __shfl_sync(~0u, (double)lane / 2, 9);
    results[128 + lane] = (int)(wide * 2);
}

/* Four 8x8 matrices of 16-bit values, 64 each. */
static __global__ void matrix_loads(const uint16_t *matrices, unsigned *x4, unsigned *x2_trans) {
    __shared__ __align__(16) uint16_t rows[32][8];
    const int lane = threadIdx.x;
    for (int i = 0; i < 8; i++) rows[lane][i] = matrices[lane * 8 + i];
    __syncwarp();
    uint32_t four[4], two[2];
    ldmatrix_x4(four, rows[lane]);
    ldmatrix_x2_trans(two, rows[lane]);
    for (int i = 0; i < 4; i++) x4[lane * 4 + i] = four[i];
    for (int i = 0; i < 2; i++) x2_trans[lane * 2 + i] = two[i];
}

static __device__ uint32_t pair_of(uint16_t low, uint16_t high) {
    return (uint32_t)low | (uint32_t)high << 16;
}

/* a is 16 x depth, b depth x 8, both row-major; fragments by the rule that gpu.h writes out. */
static __global__ void mma_16_bit(bool bfloat, const uint16_t *a, const uint16_t *b, float *d) {
    const int group = threadIdx.x / 4, pair = threadIdx.x % 4 * 2;
    uint32_t fragment_a[4], fragment_b[2];
    for (int i = 0; i < 4; i++) {
        const uint16_t *at = a + (group + i % 2 * 8) * 16 + pair + i / 2 * 8;
        fragment_a[i] = pair_of(at[0], at[1]);
    }
    for (int i = 0; i < 2; i++) {
        const uint16_t *at = b + (pair + i * 8) * 8 + group;
        fragment_b[i] = pair_of(at[0], at[8]);
    }
    float sum[4] = {1, 1, 1, 1};
    if (bfloat)
        mma_m16n8k16_bf16(sum, fragment_a, fragment_b, sum);
    else
        mma_m16n8k16_f16(sum, fragment_a, fragment_b, sum);
    for (int i = 0; i < 4; i++) d[(group + i / 2 * 8) * 8 + pair + i % 2] = sum[i];
}

static __global__ void mma_tf32(const float *a, const float *b, float *d) {
    const int group = threadIdx.x / 4, k = threadIdx.x % 4;
    uint32_t fragment_a[4], fragment_b[2];
    for (int i = 0; i < 4; i++) fragment_a[i] = __float_as_uint(a[(group + i % 2 * 8) * 8 + k + i / 2 * 4]);
    for (int i = 0; i < 2; i++) fragment_b[i] = __float_as_uint(b[(k + i * 4) * 8 + group]);
    float sum[4] = {1, 1, 1, 1};
    mma_m16n8k8_tf32(sum, fragment_a, fragment_b, sum);
    for (int i = 0; i < 4; i++) d[(group + i / 2 * 8) * 8 + k * 2 + i % 2] = sum[i];
}

static __global__ void atomics(int *counters) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&counters[0], 1);
    atomicMax(&counters[1], thread);
    atomicMin(&counters[2], -thread);
    atomicOr(&counters[3], 1 << threadIdx.x % 8);
    atomicCAS(&counters[4], 0, 7);
    atomicExch(&counters[5], 9);
}

/* The first `valid` floats, zeros behind; by 4-byte copies, then by 16-byte ones. */
static __global__ void async_copies(const float *x, float *y, int valid) {
    __shared__ __align__(16) float single[32], vectors[32];
    const int lane = threadIdx.x;
    cp_async4_zero_fill(&single[lane], x + lane, lane < valid);
    if (lane < 8) {
        const int left = max(0, min(4, valid - lane * 4));
        cp_async16_zero_fill(&vectors[lane * 4], x + lane * 4, (unsigned)left * 4);
    }
    cp_async_commit();
    cp_async_wait<0>();
    __syncwarp();
    y[lane] = single[31 - lane];
    y[32 + lane] = vectors[31 - lane];
}

/* ---- launchers ---- */

cudaError_t sample_add(cudaStream_t stream, const float *a, const float *b, float *c, int count) {
    return launch(add, blocks_for(count, 256), 256, 0, gpu_stream{stream, nullptr, false}, a, b, c, count);
}
cudaError_t sample_softmax_f32(cudaStream_t stream, const float *x, float *y, int rows, int columns) {
    return launch(softmax<float>, blocks_for(rows, 4), dim3(32, 4), 0, gpu_stream{stream, nullptr, false}, x, y, rows,
                  columns);
}
cudaError_t sample_softmax_f16(cudaStream_t stream, const void *x, void *y, int rows, int columns) {
    return launch(softmax<__half>, blocks_for(rows, 4), dim3(32, 4), 0, gpu_stream{stream, nullptr, false},
                  (const __half *)x, (__half *)y, rows, columns);
}
cudaError_t sample_layernorm(cudaStream_t stream, const float *x, const float *scale, const float *bias, float *y,
                             int rows, int columns, float epsilon) {
    return launch(layernorm, rows, 256, 0, gpu_stream{stream, nullptr, false}, x, scale, bias, y, columns, epsilon);
}
cudaError_t sample_sgemm(cudaStream_t stream, const float *a, const float *b, float *c, int m, int n, int k) {
    return launch(sgemm<16>, dim3(blocks_for(n, 16), blocks_for(m, 16)), dim3(16, 16), 0,
                  gpu_stream{stream, nullptr, false}, a, b, c, m, n, k);
}
cudaError_t sample_sum(cudaStream_t stream, const float *x, float *sum, int count) {
    return launch(sum_all, blocks_for(count, 256), 256, 256 * sizeof(float), gpu_stream{stream, nullptr, false}, x, sum,
                  count);
}
cudaError_t sample_scale_bf16(cudaStream_t stream, const void *x, void *y, float factor, int count) {
    return launch(scale_bf16, blocks_for(count, 256), 256, 0, gpu_stream{stream, nullptr, false},
                  (const __nv_bfloat16 *)x, (__nv_bfloat16 *)y, factor, count);
}
cudaError_t sample_copy_vectors(cudaStream_t stream, const void *x, void *y, int vectors) {
    return launch(copy_vectors, blocks_for(vectors, 256), 256, 0, gpu_stream{stream, nullptr, false}, (const float4 *)x,
                  (float4 *)y, vectors);
}
cudaError_t sample_hgemm(cudaStream_t stream, const void *a, const void *b, float *c, int m, int n, int k) {
    return launch(hgemm, dim3(n / 8, m / 16), 32, 0, gpu_stream{stream, nullptr, false}, (const __half *)a,
                  (const __half *)b, c, n, k);
}
cudaError_t sample_reverse(cudaStream_t stream, const float *x, float *y, int count) {
    const size_t bytes = (size_t)count * sizeof(float);
    const cudaError_t error = allow_dynamic_shared(reverse, bytes);
    return error ? error : launch(reverse, 1, 256, bytes, gpu_stream{stream, nullptr, false}, x, y, count);
}
cudaError_t sample_warp_votes(cudaStream_t stream, unsigned *results) {
    return launch(warp_votes, 1, 32, 0, gpu_stream{stream, nullptr, false}, results);
}
cudaError_t sample_shuffles(cudaStream_t stream, int *results) {
    return launch(shuffles, 1, 32, 0, gpu_stream{stream, nullptr, false}, results);
}
cudaError_t sample_matrix_loads(cudaStream_t stream, const void *matrices, unsigned *x4, unsigned *x2_trans) {
    return launch(matrix_loads, 1, 32, 0, gpu_stream{stream, nullptr, false}, (const uint16_t *)matrices, x4, x2_trans);
}
cudaError_t sample_mma(cudaStream_t stream, int kind, const void *a, const void *b, float *d) {
    if (kind == 2)
        return launch(mma_tf32, 1, 32, 0, gpu_stream{stream, nullptr, false}, (const float *)a, (const float *)b, d);
    return launch(mma_16_bit, 1, 32, 0, gpu_stream{stream, nullptr, false}, kind == 1, (const uint16_t *)a,
                  (const uint16_t *)b, d);
}
cudaError_t sample_atomics(cudaStream_t stream, int *counters) {
    return launch(atomics, 3, 64, 0, gpu_stream{stream, nullptr, false}, counters);
}
cudaError_t sample_async_copies(cudaStream_t stream, const float *x, float *y, int valid) {
    return launch(async_copies, 1, 32, 0, gpu_stream{stream, nullptr, false}, x, y, valid);
}
