/* attention.cu - attention of one head in three steps, each better for one reason: a tutorial, to be read from top to
 * bottom beside the table in kernels/cuda/README.md, after sum.cu. tests/cudasim/ladder_test.cpp compares each step
 * with plain loops. The fourth is attend_mma.cu, which does the products of step 3 on tensor cores.
 *
 * Every step multiplies 2 * queries * keys * 64 times. The steps differ in where the scores go, of which there are
 * queries * keys, and how often keys and values are read. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/block.h"
#include "kernels/cuda/ladder/attention.h"

enum { HEAD = LADDER_HEAD, TILE = 64 };
static constexpr float SCALE = 0.125f; /* 1 / sqrt(HEAD) */

static __device__ __forceinline__ float dot(const half *a, const half *b) {
    float sum = 0.0f;
    for (int i = 0; i < HEAD; i++) sum += (float)a[i] * (float)b[i];
    return sum;
}

/* ---- 1: three launches, as a graph of MatMul, Softmax and MatMul. The scores go to memory and come back three times;
 * of a text of 4096 words they are 64 MiB a head, 64 times as much as keys and values. ---- */

static __global__ void ladder_attention_1_scores(const half *q, const half *k, float *scores, int keys) {
    const int key = (int)(blockIdx.x * TILE + threadIdx.x), query = (int)blockIdx.y;
    scores[(size_t)query * keys + key] = dot(q + query * HEAD, k + key * HEAD) * SCALE;
}

/* Exponentials of a row are taken after its maximum was subtracted: they cannot overflow, and the quotient is the same.
 */
static __device__ __forceinline__ void softmax(float *row, int keys) {
    __shared__ float shared[BLOCK_MAX_WARPS];
    float max = -INFINITY, sum = 0.0f;
    for (int i = (int)threadIdx.x; i < keys; i += TILE) max = fmaxf(max, row[i]);
    max = block_join<join_max>(max, shared);
    for (int i = (int)threadIdx.x; i < keys; i += TILE) sum += row[i] = expf(row[i] - max);
    sum = block_join<join_sum>(sum, shared);
    const float factor = 1.0f / sum;
    for (int i = (int)threadIdx.x; i < keys; i += TILE) row[i] *= factor;
}

static __global__ void ladder_attention_1_softmax(float *scores, int keys) {
    softmax(scores + (size_t)blockIdx.x * keys, keys);
}

static __device__ __forceinline__ void add_values(const float *weights, const half *v, half *y, int keys) {
    float sum = 0.0f;
    for (int i = 0; i < keys; i++) sum += weights[i] * (float)v[i * HEAD + (int)threadIdx.x];
    y[threadIdx.x] = (half)sum;
}

static __global__ void ladder_attention_1_values(const float *scores, const half *v, half *y, int keys) {
    add_values(scores + (size_t)blockIdx.x * keys, v, y + blockIdx.x * HEAD, keys);
}

/* ---- 2: one launch. A block keeps the scores of one query in shared memory, which limits the number of keys, and no
 * score goes to memory. But each query reads all keys and values. ---- */

static __global__ void ladder_attention_2_row(const half *q, const half *k, const half *v, half *y, int keys) {
    __shared__ float scores[LADDER_MAX_KEYS];
    for (int i = (int)threadIdx.x; i < keys; i += TILE) scores[i] = dot(q + blockIdx.x * HEAD, k + i * HEAD) * SCALE;
    __syncthreads();
    softmax(scores, keys);
    __syncthreads();
    add_values(scores, v, y + blockIdx.x * HEAD, keys);
}

/* ---- 3: a tile of queries, and keys in steps. A block takes 64 queries, one a thread, and brings 64 keys and values
 * at a time to shared memory, so that each is read once for 64 queries, and no memory grows with the keys.
 *
 * The maximum of a row is not known before its last step (online softmax, Milakov and Gimelshein 2018): a step that
 * finds a larger one multiplies what was summed up so far by exp(old - new), as if that maximum had been known from the
 * start. The loops over a head are unrolled, because registers cannot be indexed at run time. Example: scores 1,
 * then 3. After the first step max = 1, sum = exp(0) = 1; at the second, max = 3, and sum = 1 * exp(1 - 3) + exp(0).
 * ---- */

static __global__ void ladder_attention_3_online(const half *q, const half *k, const half *v, half *y, int keys) {
    __shared__ half tile_k[TILE][HEAD], tile_v[TILE][HEAD];
    const int query = (int)(blockIdx.x * TILE + threadIdx.x);
    float own[HEAD], sums[HEAD] = {}, max = -INFINITY, weights = 0.0f;
#pragma unroll
    for (int i = 0; i < HEAD; i++) own[i] = (float)q[query * HEAD + i] * SCALE;
    for (int at = 0; at < keys; at += TILE) {
        for (int i = (int)threadIdx.x; i < TILE * HEAD; i += TILE) {
            tile_k[i / HEAD][i % HEAD] = k[at * HEAD + i];
            tile_v[i / HEAD][i % HEAD] = v[at * HEAD + i];
        }
        __syncthreads();
        for (int key = 0; key < TILE; key++) {
            float score = 0.0f;
#pragma unroll
            for (int i = 0; i < HEAD; i++) score += own[i] * (float)tile_k[key][i];
            const float larger = fmaxf(max, score), fade = expf(max - larger), weight = expf(score - larger);
            max = larger;
            weights = weights * fade + weight;
#pragma unroll
            for (int i = 0; i < HEAD; i++) sums[i] = sums[i] * fade + weight * (float)tile_v[key][i];
        }
        __syncthreads();
    }
    const float factor = 1.0f / weights;
#pragma unroll
    for (int i = 0; i < HEAD; i++) y[query * HEAD + i] = (half)(sums[i] * factor);
}

/* ---- launcher ---- */

static cudaError_t run_scores(gpu_stream stream, const half *q, const half *k, const half *v, half *y, float *scores,
                              int queries, int keys) {
    const dim3 tiles((unsigned)keys / TILE, (unsigned)queries);
    cudaError_t code = launch(ladder_attention_1_scores, tiles, TILE, 0, stream, q, k, scores, keys);
    if (code == cudaSuccess)
        code = launch(ladder_attention_1_softmax, (unsigned)queries, TILE, 0, stream, scores, keys);
    if (code != cudaSuccess) return code;
    return launch(ladder_attention_1_values, (unsigned)queries, HEAD, 0, stream, scores, v, y, keys);
}

cudaError_t ladder_attention(gpu_stream stream, int step, const void *q_, const void *k_, const void *v_, void *y_,
                             float *scores, int queries, int keys) {
    const half *q = (const half *)q_, *k = (const half *)k_, *v = (const half *)v_;
    half *y = (half *)y_;
    switch (step) {
    case 1: return run_scores(stream, q, k, v, y, scores, queries, keys);
    case 2: return launch(ladder_attention_2_row, (unsigned)queries, TILE, 0, stream, q, k, v, y, keys);
    default: return launch(ladder_attention_3_online, (unsigned)queries / TILE, TILE, 0, stream, q, k, v, y, keys);
    }
}
