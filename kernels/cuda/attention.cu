/* attention.cu - softmax(query * keys, masked) * values, plainly: a block takes one query at a time; its threads
 * make the scores, reduce to their maximum and their sum, then each makes elements of the output. Everything is
 * computed in float.
 *
 * The scores are in global memory, so any number of keys fits. A query whose keys are all hidden yields zeros.
 * Read first: attention.c, ops/attention.c (the meaning). */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/attention.h"
#include "kernels/cuda/block.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/index.h"

/* ---- keys and values: those of the past, then the new ones ---- */

static __host__ __device__ __forceinline__ int64_t keys_of(const tort_heads_params &p) {
    return p.past_length + p.new_keys;
}

/* present = [batch, key_heads, keys, size] */
struct gpu_join {
    tort_heads_params params;
    tort_head_strides strides; /* of the new ones */
    int64_t size;
    const void *past, *fresh;
    void *present; /* NULL: nothing to do */
};

template <class T>
static __device__ __forceinline__ const T *row_of(const void *past, const void *fresh, const tort_head_strides &strides,
                                                  int64_t past_length, int64_t batch, int64_t head, int64_t heads,
                                                  int64_t size, int64_t j) {
    if (j < past_length) return (const T *)past + ((batch * heads + head) * past_length + j) * size;
    return (const T *)fresh + batch * strides.batch + head * strides.head + (j - past_length) * strides.position;
}

/* present = past, then new ones */
template <class T> static __global__ void attention_join_past(const gpu_join join, size_t count) {
    const tort_heads_params &p = join.params;
    for (size_t i = grid_first(); i < count; i += grid_stride()) {
        const int64_t row = (int64_t)(i / (size_t)join.size), head = row / keys_of(p);
        ((T *)join.present)[i] =
            row_of<T>(join.past, join.fresh, join.strides, p.past_length, head / p.key_heads, head % p.key_heads,
                      p.key_heads, join.size, row % keys_of(p))[i % (size_t)join.size];
    }
}

/* ---- one query ---- */

struct query_place {
    int64_t batch, head, position;
    int64_t valid, at; /* valid keys; the key at this query's own position */
};

static __device__ __forceinline__ query_place place_of(const gpu_attention &a, size_t row) {
    const tort_heads_params &p = a.params;
    query_place q;
    q.position = (int64_t)(row % (size_t)p.queries);
    q.head = (int64_t)(row / (size_t)p.queries) % p.query_heads;
    q.batch = (int64_t)(row / (size_t)(p.queries * p.query_heads));
    q.valid = a.keys;
    q.at = q.position + p.past_length;
    if (!a.valid_keys) return q;
    q.valid = a.valid_keys[q.batch];
    if (q.valid < 0 || q.valid > a.keys) {
        report_fault((gpu_status *)a.status, a.node, GPU_FAULT_RANGE, q.valid, (size_t)q.batch, a.keys);
        q.valid = 0;
    }
    q.at = q.position + q.valid - p.queries;
    return q;
}

/* Returns the number added to the score of key j: 0, an element of a float mask, or -inf if the key is hidden. */
static __device__ __forceinline__ float bias_of(const gpu_attention &a, const query_place &q, int64_t j) {
    const tort_heads_params &p = a.params;
    if (j >= p.end || j >= q.valid || (p.causal && j > q.at) || (p.left_window >= 0 && j < q.at - p.left_window) ||
        (p.right_window >= 0 && j > q.at + p.right_window))
        return -INFINITY;
    if (!a.mask) return 0.0f;
    const int64_t i = q.batch * p.score_bias_strides.batch + q.head * p.score_bias_strides.head +
                      q.position * p.score_bias_strides.position + j * p.score_bias_strides.element;
    switch (a.mask_type) {
    case GPU_NUMBER_FLOAT: return ((const float *)a.mask)[i];
    case GPU_NUMBER_HALF: return (float)((const half *)a.mask)[i];
    default: return ((const uint8_t *)a.mask)[i] ? 0.0f : -INFINITY;
    }
}

template <class T>
static __device__ __forceinline__ void show(const gpu_attention &a, int stage, size_t row, int64_t j, float score) {
    if (a.shown && a.params.scores_stage == stage) ((T *)a.shown)[row * (size_t)a.keys + (size_t)j] = (T)score;
}

template <class T>
static __device__ __forceinline__ float score_of(const gpu_attention &a, const query_place &q, size_t row, int64_t j,
                                                 float bias) {
    const tort_heads_params &p = a.params;
    const T *query = (const T *)a.query + q.batch * p.query.strides.batch + q.head * p.query.strides.head +
                     q.position * p.query.strides.position;
    const T *key = row_of<T>(a.past_key, a.key, p.key.strides, p.past_length, q.batch,
                             q.head / (p.query_heads / p.key_heads), p.key_heads, p.key_size, j);
    float score = 0.0f;
    for (int64_t i = 0; i < p.key_size; i++) score += (float)query[i] * (float)key[i];
    score *= (float)p.scale;
    show<T>(a, 0, row, j, score);
    if (p.softcap > 0) score = (float)p.softcap * tanhf(score / (float)p.softcap);
    show<T>(a, 1, row, j, score);
    score += bias;
    show<T>(a, 2, row, j, score);
    return score;
}

/* ---- kernel ---- */

template <class T> static __global__ void attention(const gpu_attention a) {
    __shared__ float shared[BLOCK_MAX_WARPS];
    const tort_heads_params &p = a.params;
    const size_t rows = (size_t)p.batch * (size_t)p.query_heads * (size_t)p.queries;
    float *scores = a.scores + (size_t)blockIdx.x * (size_t)a.keys;
    for (size_t row = blockIdx.x; row < rows; row += gridDim.x) {
        const query_place q = place_of(a, row);
        float largest = -INFINITY, visible = 0.0f, sum = 0.0f;
        for (int64_t j = threadIdx.x; j < a.keys; j += blockDim.x) {
            const float bias = bias_of(a, q, j);
            scores[j] = score_of<T>(a, q, row, j, bias);
            largest = fmaxf(largest, scores[j]);
            if (bias != -INFINITY) visible = 1.0f;
        }
        largest = block_join<join_max>(largest, shared);
        visible = block_join<join_max>(visible, shared);
        for (int64_t j = threadIdx.x; j < a.keys; j += blockDim.x) {
            scores[j] = visible == 0.0f || scores[j] == -INFINITY ? 0.0f : expf(scores[j] - largest);
            sum += scores[j];
        }
        sum = block_join<join_sum>(sum, shared);
        for (int64_t j = threadIdx.x; j < a.keys; j += blockDim.x) {
            if (sum != 0.0f) scores[j] /= sum;
            show<T>(a, 3, row, j, scores[j]);
        }
        __syncthreads(); /* all scores are written */
        T *output = (T *)a.output + q.batch * p.output.strides.batch + q.head * p.output.strides.head +
                    q.position * p.output.strides.position;
        for (int64_t i = threadIdx.x; i < p.value_size; i += blockDim.x) {
            float total = 0.0f;
            for (int64_t j = 0; j < a.keys; j++) {
                const T *value = row_of<T>(a.past_value, a.value, p.value.strides, p.past_length, q.batch,
                                           q.head / (p.query_heads / p.key_heads), p.key_heads, p.value_size, j);
                if (scores[j] != 0.0f) total += scores[j] * (float)value[i];
            }
            output[i] = (T)total;
        }
        __syncthreads(); /* the scores have been read */
    }
}

/* ---- launchers ---- */

template <class T> static cudaError_t run_join(gpu_stream stream, const gpu_join *join) {
    const tort_heads_params &p = join->params;
    const size_t count = (size_t)p.batch * (size_t)p.key_heads * (size_t)keys_of(p) * (size_t)join->size;
    if (!join->present || !count) return cudaSuccess;
    return launch(attention_join_past<T>, grid_blocks(count), GRID_THREADS, 0, stream, *join, count);
}

template <class T> static cudaError_t run(gpu_stream stream, const gpu_attention *a) {
    const tort_heads_params &p = a->params;
    const gpu_join keys = {p, p.key.strides, p.key_size, a->past_key, a->key, a->present_key};
    const gpu_join values = {p, p.value.strides, p.value_size, a->past_value, a->value, a->present_value};
    const size_t blocks = gpu_attention_blocks(&p);
    cudaError_t code = run_join<T>(stream, &keys);
    if (code == cudaSuccess) code = run_join<T>(stream, &values);
    if (code != cudaSuccess || !blocks) return code;
    const size_t work = (size_t)(keys_of(p) > p.value_size ? keys_of(p) : p.value_size);
    return launch(attention<T>, grid_extent(blocks), block_threads(work), 0, stream, *a);
}

template <class T> static cudaError_t load() {
    const cudaError_t code = load_kernel(attention<T>);
    return code == cudaSuccess ? load_kernel(attention_join_past<T>) : code;
}

cudaError_t gpu_run_attention(gpu_stream stream, gpu_type type, const gpu_attention *given) {
    gpu_attention a = *given;
    a.keys = keys_of(a.params); /* kernels have no registers to spare for the sum */
    return type == GPU_HALF ? run<half>(stream, &a) : run<float>(stream, &a);
}

cudaError_t gpu_load_attention(gpu_type type) {
    return type == GPU_HALF ? load<half>() : load<float>();
}
