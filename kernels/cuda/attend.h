/* attend.h - softmax(scale * Q * K', masked) * V: one kernel family for every operator that is attention. What the
 * operators' rows ask of attend.c (which tile, how many parts) and of attend_half.cu and attend_float.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_ATTEND_H
#define TORT_KERNELS_CUDA_ATTEND_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/number.h"
#include "kernels/cuda/tiling.h"
#include "ops/fused_attention.h"

enum { GPU_ATTEND_SIZE = 256 }; /* the most elements of a key or value */

typedef enum gpu_attend_type { GPU_ATTEND_FLOAT, GPU_ATTEND_HALF, GPU_ATTEND_BFLOAT16 } gpu_attend_type;

/* What becomes of a query whose weights sum up to 0 (no key is left to it) or to NaN. */
typedef enum gpu_attend_empty {
    GPU_ATTEND_EMPTY_IS_NAN,
    GPU_ATTEND_EMPTY_IS_ZERO,
    GPU_ATTEND_NAN_IS_ZERO /* and an empty one too */
} gpu_attend_empty;

/* outer of strides: batch; inner: head (of k and v, key head); row: position; column: element, or key of a mask. What
 * an operator does not have is NULL. A score is capped, then replaced, then masked, then hidden. */
typedef struct gpu_attend {
    int64_t batch, heads, group; /* query head h reads key head h / group */
    int64_t queries, keys, key_size, value_size;
    tort_matrix_strides q_strides, k_strides, v_strides, y_strides, mask_strides, keep_strides;
    const void *q, *k, *v;
    void *y;
    float scale, softcap; /* softcap 0: none */
    const uint8_t *keep;  /* where it is not keep_where, `fill` takes the place of the score */
    bool keep_where;
    float fill;
    const void *mask; /* is added to the scores */
    gpu_attend_type mask_type;
    /* What is marked gets `marked` on top of its score: elements that are not positive, or keys outside of an interval
     * of each batch (a tort_heads_mask says which). */
    const int32_t *marks;
    int32_t mark_kind;
    tort_matrix_strides mark_strides;
    int64_t mark_offset;
    float marked;
    /* Query i stands at place i + before among the keys, and sees keys up to `end`; with `valid`, one a batch, or
     * `lengths`, one less, fewer, and then, from_end, the last query stands at the last of them. */
    int64_t before, end;
    const int64_t *valid;
    const int32_t *lengths;
    bool from_end, causal, last_sees_all; /* last_sees_all: the last query, in spite of causal */
    int64_t left, right; /* the window around a query's place, with lengths so many keys in all; -1: none */
    gpu_attend_empty empty;
    int32_t node; /* who reports a wrong number of valid keys */
    void *status;
} gpu_attend;

/* A block takes `rows` queries of `pack` heads that share their keys, and a part of the keys. */
typedef struct gpu_attend_tiling {
    int32_t size;   /* elements of keys and values that there is room for: 64, 128 or 256 */
    int32_t rows;   /* of a tile */
    int32_t step;   /* keys at a time */
    int32_t pack;   /* heads whose queries share tiles: 1, or the group */
    int64_t down;   /* tiles of rows; of one (batch, pack of heads) */
    int64_t tiles;  /* of all */
    int32_t parts;  /* blocks that share the keys of a tile; the last one joins their sums */
    int64_t part;   /* keys in a part, a multiple of step */
    size_t scratch; /* bytes for the sums of the parts; 0: there is one part. Never grows with the number of keys
                     * beyond a bound that the target sets */
} gpu_attend_tiling;

/* The most scratch for so many keys or fewer. */
size_t tort_cuda_attend_max_scratch(int32_t compute_capability, gpu_attend_type type, const gpu_attend *attend);
/* A pure function of shape and target, so that plans and runs get one answer. Sizes are not negative. */
gpu_attend_tiling tort_cuda_attend_tiling_of(int32_t compute_capability, gpu_attend_type type,
                                             const gpu_attend *attend);

static inline gpu_attend_type gpu_attend_type_of(tort_type type) {
    return type == TORT_FLOAT16 ? GPU_ATTEND_HALF : type == TORT_BFLOAT16 ? GPU_ATTEND_BFLOAT16 : GPU_ATTEND_FLOAT;
}

/* YES where input 0 is float, float16, or bfloat16 on code that has its tensor cores. */
tort_verdict tort_cuda_claim_attend_type(const tort_target *target, const tort_node_view *node);
/* YES where keys and values of these sizes fit (-1: not known yet, which is refused). */
tort_verdict tort_cuda_claim_attend(int64_t key_size, int64_t value_size);

#ifdef CUDA_DEVICE
#ifdef __cplusplus
extern "C" {
#endif
/* Of a type and a size of gpu_attend_tiling. */
cudaError_t gpu_load_attend_half(gpu_attend_type type, int32_t size);
cudaError_t gpu_load_attend_float(int32_t size);
cudaError_t gpu_run_attend_half(gpu_stream stream, gpu_attend_type type, const gpu_attend *attend,
                                const gpu_attend_tiling *tiling, const gpu_parts *parts);
cudaError_t gpu_run_attend_float(gpu_stream stream, const gpu_attend *attend, const gpu_attend_tiling *tiling,
                                 const gpu_parts *parts);
#ifdef __cplusplus
}
#else
/* For rows; scratch: gpu_attend_tiling.scratch bytes. */
tort_status cuda_prepare_attend(tort_prepare *prepare, int64_t key_size, int64_t value_size);
tort_status cuda_run_attend(const tort_call *call, const gpu_attend *attend, void *scratch);
#endif
#endif

#endif
