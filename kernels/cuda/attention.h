/* attention.h - interface between attention.c and attention.cu: Attention and RotaryEmbedding. Plain C. */
#ifndef TORT_KERNELS_CUDA_ATTENTION_H
#define TORT_KERNELS_CUDA_ATTENTION_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/number.h"
#include "ops/heads.h"

/* Operands of Attention; those that the node does not have are NULL. Each block has a row of floats, one per key, in
 * `scores`. */
typedef struct gpu_attention {
    tort_heads_params params;
    const void *query, *key, *value, *past_key, *past_value;
    const void *mask;
    gpu_number mask_type;      /* float, half or bool */
    const int64_t *valid_keys; /* one per batch: later keys are hidden */
    void *output, *present_key, *present_value, *shown;
    float *scores; /* scratch */
    int64_t keys;  /* of the past and new ones; set by gpu_run_attention */
    int32_t node;  /* node that reports an invalid number of valid keys */
    void *status;
} gpu_attention;

/* Returns the queries of all heads and batches. */
static inline size_t gpu_attention_rows(const tort_heads_params *params) {
    return (size_t)params->batch * (size_t)params->query_heads * (size_t)params->queries;
}

/* Returns the number of blocks, which take rows in turn; more blocks would only need more scratch. */
static inline size_t gpu_attention_blocks(const tort_heads_params *params) {
    const size_t rows = gpu_attention_rows(params), max = 1024;
    return rows < max ? rows : max;
}

/* Operands of RotaryEmbedding. Caches are [rows, rotated / 2]; positions, one per (batch, position), may be NULL. */
typedef struct gpu_rotary {
    tort_rotary_params params;
    size_t count; /* elements of x */
    bool packed;  /* [batch, length, heads, size], else [batch, heads, length, size] */
    const void *x, *cosines, *sines;
    const int64_t *positions;
    void *y;
    int32_t node; /* node that reports an invalid position */
    void *status;
} gpu_rotary;

GPU_LAUNCHER gpu_run_attention(gpu_stream stream, gpu_type type, const gpu_attention *attention);
GPU_LAUNCHER gpu_load_attention(gpu_type type);
GPU_LAUNCHER gpu_run_rotary(gpu_stream stream, gpu_type type, const gpu_rotary *rotary);
GPU_LAUNCHER gpu_load_rotary(gpu_type type);

#endif
