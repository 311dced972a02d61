/* fused_attention.cu - softmax(scale * Q * K, masked) * V in one launch, computed in float and rounded once.
 *
 * A block takes QUERIES queries of a matrix, and their keys and values KEYS at a time through shared memory. Four lanes
 * of a warp share a query: each makes a quarter of its scores, and keeps a quarter of its sums in registers. The
 * largest score so far is what all of them are relative to; where a larger one comes, the sums are scaled down. So no
 * score leaves the block, and any number of keys fits. Read first: fused_attention.c, ops/fused_attention.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/fused_attention.h"
#include "kernels/cuda/grid.h"

enum { QUERIES = 32, KEYS = 16, LANES = 4, THREADS = QUERIES * LANES };

/* Rows first..first+ROWS of a matrix, as floats; zeros where rows or elements end. Neighbouring threads read
 * neighbours in memory. */
template <int ROWS, int ROOM, class T>
static __device__ __forceinline__ void fill(float (&tile)[ROWS][ROOM], const T *data, int64_t row_stride,
                                            int64_t element_stride, int64_t first, int64_t rows, int64_t size) {
    enum { SIZE = ROOM - 1 }; /* a row is longer by one, so that lanes read from different banks */
    for (int i = (int)threadIdx.x; i < ROWS * SIZE; i += THREADS) {
        const int row = element_stride == 1 ? i / SIZE : i % ROWS, at = element_stride == 1 ? i % SIZE : i / ROWS;
        const bool inside = first + row < rows && at < size;
        tile[row][at] = inside ? (float)data[(first + row) * row_stride + at * element_stride] : 0.0f;
    }
}

/* Element offset of row 0 of a matrix. */
static __device__ __forceinline__ int64_t offset_of(const tort_fused_attention_params &p, const tort_matrix_strides &s,
                                                    int64_t matrix) {
    return matrix / p.inner * s.outer + matrix % p.inner * s.inner;
}

/* Where mask and keep of a query begin; NULL where there is none. */
template <class T> struct query_masks {
    const T *mask;
    const uint8_t *keep;
};

template <class T>
static __device__ __forceinline__ query_masks<T> masks_of(const gpu_fused_attention &a, int64_t matrix, int64_t row) {
    const tort_fused_attention_params &p = a.params;
    query_masks<T> m = {NULL, NULL};
    if (a.mask) m.mask = (const T *)a.mask + offset_of(p, p.mask, matrix) + row * p.mask.row;
    if (a.keep) m.keep = a.keep + offset_of(p, p.keep, matrix) + row * p.keep.row;
    return m;
}

/* A product becomes a score: scaled, hidden or not, and masked. */
template <class T>
static __device__ __forceinline__ float score_of(const tort_fused_attention_params &p, const query_masks<T> &m,
                                                 int64_t key, float product) {
    float score = (float)p.scale * product;
    if (m.keep && (m.keep[key * p.keep.column] != 0) != p.keep_where) score = (float)p.fill;
    if (m.mask) score += (float)m.mask[key * p.mask.column];
    return score;
}

static __device__ __forceinline__ float lanes_max(float value) {
    for (int offset = 1; offset < LANES; offset *= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, offset));
    return value;
}

static __device__ __forceinline__ float lanes_sum(float value) {
    for (int offset = 1; offset < LANES; offset *= 2) value += __shfl_xor_sync(~0u, value, offset);
    return value;
}

/* What a sum is divided by to become an output: of a query whose keys are all hidden, or with a score that is NaN or
 * +inf, NaN, unless that counts as 0; no keys at all make 0. */
static __device__ __forceinline__ float factor_of(const tort_fused_attention_params &p, float sum) {
    if (p.keys == 0) return 0.0f;
    return p.nan_to_zero && !(sum > 0.0f) ? 0.0f : 1.0f / sum;
}

template <class T, int SIZE>
static __device__ __forceinline__ void attend(const gpu_fused_attention &a, int64_t matrix, int64_t first,
                                              float (&queries)[QUERIES][SIZE + 1], float (&keys)[KEYS][SIZE + 1],
                                              float (&values)[KEYS][SIZE + 1], float (&weights)[QUERIES][KEYS + 1]) {
    const tort_fused_attention_params &p = a.params;
    const int query = (int)threadIdx.x / LANES, lane = (int)threadIdx.x % LANES;
    const int64_t row = first + query;
    const T *q = (const T *)a.q + offset_of(p, p.q, matrix);
    const T *k = (const T *)a.k + offset_of(p, p.k, matrix);
    const T *v = (const T *)a.v + offset_of(p, p.v, matrix);
    const query_masks<T> masks = masks_of<T>(a, matrix, row);
    float largest = -INFINITY, sum = 0.0f, sums[SIZE / LANES] = {};
    fill(queries, q, p.q.row, p.q.column, first, p.queries, p.key_size);
    for (int64_t at = 0; at < p.keys; at += KEYS) {
        fill(keys, k, p.k.column, p.k.row, at, p.keys, p.key_size);
        fill(values, v, p.v.row, p.v.column, at, p.keys, p.value_size);
        __syncthreads();
        float scores[KEYS / LANES] = {}, tile_largest = largest;
        for (int i = 0; i < SIZE; i++)
            for (int j = 0; j < KEYS / LANES; j++) scores[j] += queries[query][i] * keys[j * LANES + lane][i];
        for (int j = 0; j < KEYS / LANES; j++) {
            const int64_t key = at + j * LANES + lane;
            const bool inside = key < p.keys && row < p.queries;
            scores[j] = inside ? score_of<T>(p, masks, key, scores[j]) : -INFINITY;
            tile_largest = fmaxf(tile_largest, scores[j]);
        }
        tile_largest = lanes_max(tile_largest);
        const float shift = tile_largest == -INFINITY ? 0.0f : tile_largest, fade = expf(largest - shift);
        largest = tile_largest;
        sum *= fade;
        for (int j = 0; j < KEYS / LANES; j++) {
            const float weight = expf(scores[j] - shift);
            weights[query][j * LANES + lane] = weight;
            sum += weight;
        }
        /* A query's weights are those of one warp. An index that is not constant would put sums into local memory. */
        __syncwarp();
#pragma unroll
        for (int i = 0; i < SIZE / LANES; i++) {
            sums[i] *= fade;
            for (int j = 0; j < KEYS; j++) sums[i] += weights[query][j] * values[j][i * LANES + lane];
        }
        __syncthreads(); /* keys and values have been read */
    }
    const float factor = factor_of(p, lanes_sum(sum));
    T *y = (T *)a.y + offset_of(p, p.y, matrix) + row * p.y.row;
#pragma unroll
    for (int i = 0; i < SIZE / LANES; i++)
        if (row < p.queries && i * LANES + lane < p.value_size)
            y[(i * LANES + lane) * p.y.column] = (T)(factor == 0.0f ? 0.0f : sums[i] * factor);
}

template <class T, int SIZE> static __global__ void fused_attention(const gpu_fused_attention a, int64_t blocks) {
    __shared__ float queries[QUERIES][SIZE + 1], keys[KEYS][SIZE + 1], values[KEYS][SIZE + 1],
        weights[QUERIES][KEYS + 1];
    const int64_t across = (a.params.queries + QUERIES - 1) / QUERIES;
    for (int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
        attend<T, SIZE>(a, block / across, block % across * QUERIES, queries, keys, values, weights);
        __syncthreads(); /* the queries have been read */
    }
}

/* ---- launchers ---- */

template <class T, int SIZE> static cudaError_t run_size(gpu_stream stream, const gpu_fused_attention *a) {
    const tort_fused_attention_params &p = a->params;
    const int64_t blocks = p.outer * p.inner * ((p.queries + QUERIES - 1) / QUERIES);
    if (!blocks || !p.value_size) return cudaSuccess;
    return launch(fused_attention<T, SIZE>, grid_extent((size_t)blocks), THREADS, 0, stream, *a, blocks);
}

/* The least room that keys and values fit. */
template <class T> static cudaError_t run(gpu_stream stream, const gpu_fused_attention *a) {
    const int64_t key = a->params.key_size, value = a->params.value_size, size = key > value ? key : value;
    if (size <= 32) return run_size<T, 32>(stream, a);
    return size <= 64 ? run_size<T, 64>(stream, a) : run_size<T, GPU_ATTENTION_SIZE>(stream, a);
}

template <class T> static cudaError_t load() {
    cudaError_t code = load_kernel(fused_attention<T, 32>);
    if (code == cudaSuccess) code = load_kernel(fused_attention<T, 64>);
    if (code == cudaSuccess) code = load_kernel(fused_attention<T, GPU_ATTENTION_SIZE>);
    return code;
}

cudaError_t gpu_run_fused_attention(gpu_stream stream, gpu_type type, const gpu_fused_attention *a) {
    return type == GPU_HALF ? run<half>(stream, a) : run<float>(stream, a);
}

cudaError_t gpu_load_fused_attention(gpu_type type) {
    return type == GPU_HALF ? load<half>() : load<float>();
}
