/* attend.h - softmax(scale * Q * K', masked) * V: one kernel family for all attention operators. Interface between
 * the operators' rows, attend.c (tiles and parts) and the kernels of attend_mma.cu and attend_float.cu. Plain C.
 *
 * The scheme is FlashAttention (Dao et al. 2022): a block keeps a tile of queries, walks over the keys, and never
 * stores scores in global memory, since softmax is computed online (Milakov and Gimelshein, "Online normalizer
 * calculation for softmax", 2018; see attend.cuh).
 * Cost: queries * visible keys * (key_size + value_size) multiply-adds per head; keys and values are read once per
 * tile of queries; memory does not grow with queries * keys.
 * Example: 1024 queries and keys of 64 half elements: 16 tiles of 64 queries per head, each 16 steps of 64 keys. */
#ifndef TORT_KERNELS_CUDA_ATTEND_H
#define TORT_KERNELS_CUDA_ATTEND_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/number.h"
#include "kernels/cuda/tiling.h"
#include "ops/heads.h"

enum {
    GPU_ATTEND_SIZE = 256, /* upper limit for the elements of a key or value */
    GPU_ATTEND_ROWS = 64   /* of a tile on tensor cores */
};

typedef enum gpu_attend_type {
    GPU_ATTEND_FLOAT,
    GPU_ATTEND_HALF,
    GPU_ATTEND_BFLOAT16,
    GPU_ATTEND_TF32 /* of products alone: floats that are rounded to 10 bits */
} gpu_attend_type;

/* Result of a query whose weights sum up to 0 (it sees no key) or to NaN. */
typedef enum gpu_attend_empty {
    GPU_ATTEND_EMPTY_IS_NAN,
    GPU_ATTEND_EMPTY_IS_ZERO,
    GPU_ATTEND_NAN_IS_ZERO /* likewise, also for NaN */
} gpu_attend_empty;

/* Operands of a launch; those that the operator does not have are NULL. Strides: the head is
 * the key head for k and v, the element of a mask is the key. A score is capped, then
 * replaced (keep), masked, marked, and hidden, in this order. */
typedef struct gpu_attend {
    int64_t batch, heads, group; /* query head h reads key head h / group */
    int64_t queries, keys, key_size, value_size;
    tort_head_strides q_strides, k_strides, v_strides, y_strides, mask_strides, keep_strides;
    const void *q, *k, *v;
    void *y;
    float scale, softcap; /* softcap 0: none */
    const uint8_t *keep;  /* where it differs from keep_where, `fill` replaces the score */
    bool keep_where;
    float fill;
    const void *mask; /* added to the scores */
    gpu_attend_type mask_type;
    /* Marked keys get `marked` added to their score: those whose element is not positive, or those outside of a
     * batch's interval (mark_kind is a tort_heads_mask). */
    const int32_t *marks;
    int32_t mark_kind;
    tort_head_strides mark_strides;
    int64_t mark_offset;
    float marked;
    /* Query i has position i + before among the keys and sees keys up to `end`. With `valid`, one per batch, or
     * `lengths`, one less, there are fewer keys; from_end then puts the last query at the last of them. */
    int64_t before, end;
    const int64_t *valid;
    const int32_t *lengths;
    bool from_end, causal, last_sees_all; /* last_sees_all: the last query ignores `causal` */
    bool causal_adds; /* a key that `causal` hides gets the lowest float added: it counts if others are as low */
    int64_t left,
        right; /* window around a query's position, but with `lengths`, left is the number of keys; -1: none */
    gpu_attend_empty empty;
    int32_t node; /* node that reports an invalid number of valid keys */
    void *status;
} gpu_attend;

/* Tiles: a block takes `rows` queries of `pack` heads that share their keys, and a part of the keys. */
typedef struct gpu_attend_tiling {
    int32_t size;   /* room for the elements of a key or value: 64, 128 or 256 */
    int32_t rows;   /* rows of a tile */
    int32_t step;   /* keys at a time */
    int32_t pack;   /* heads whose queries share a tile: 1, or the group */
    int64_t down;   /* tiles of rows per (batch, pack of heads) */
    int64_t tiles;  /* tiles of all batches and heads */
    int32_t parts;  /* blocks that share the keys of a tile; the last one to finish joins their sums */
    int64_t part;   /* keys of a part, a multiple of step */
    size_t scratch; /* bytes for the sums of the parts; 0 if there is one part. The target bounds it, whatever the
                       number of keys */
} gpu_attend_tiling;

/* Returns the maximum scratch for this many keys or fewer. */
size_t tort_cuda_attend_max_scratch(gpu_board board, tort_type type, const gpu_attend *attend);
/* Chooses the tiling: a pure function of shape and target, so plans and runs agree. Sizes must not be negative. */
gpu_attend_tiling tort_cuda_attend_tiling_of(gpu_board board, tort_type type, const gpu_attend *attend);

static inline gpu_attend_type gpu_attend_type_of(tort_type type) {
    return type == TORT_FLOAT16 ? GPU_ATTEND_HALF : type == TORT_BFLOAT16 ? GPU_ATTEND_BFLOAT16 : GPU_ATTEND_FLOAT;
}

/* The type of products on a device. */
static inline gpu_attend_type gpu_attended_type_of(gpu_board board, tort_type type) {
    return type == TORT_FLOAT && board.tf32 ? GPU_ATTEND_TF32 : gpu_attend_type_of(type);
}

/* Returns the strides of [batch, heads, length, size] without gaps. */
static inline tort_head_strides gpu_strides_laid_out(int64_t heads, int64_t length, int64_t size) {
    const tort_head_strides strides = {heads * length * size, length * size, size, 1};
    return strides;
}

/* Appends room for [batch, heads, length, size] of a type to scratch memory of *end bytes, at *at; false on overflow.
 */
bool tort_cuda_reserve_heads(size_t *end, size_t *at, int64_t batch, int64_t heads, int64_t length, int64_t size,
                             tort_type type);

/* Accepts an input 0 of float, float16, or bfloat16 if the device's code has tensor cores for it. */
tort_verdict tort_cuda_claim_attend_type(const tort_target *target, const tort_node_view *node);
/* Accepts keys and values of sizes that fit; -1 (not known yet) is refused. */
tort_verdict tort_cuda_claim_attend(int64_t key_size, int64_t value_size);

/* Kernels of a type and a size of gpu_attend_tiling. */
GPU_LAUNCHER gpu_load_attend_mma(gpu_attend_type type, int32_t size);
GPU_LAUNCHER gpu_load_attend_float(int32_t size);
GPU_LAUNCHER gpu_run_attend_mma(gpu_stream stream, gpu_attend_type type, const gpu_attend *attend,
                                const gpu_attend_tiling *tiling, const gpu_parts *parts);
GPU_LAUNCHER gpu_run_attend_float(gpu_stream stream, const gpu_attend *attend, const gpu_attend_tiling *tiling,
                                  const gpu_parts *parts);

/* For rows of operators; scratch has gpu_attend_tiling.scratch bytes. */
tort_status cuda_prepare_attend(tort_prepare *prepare, int64_t key_size, int64_t value_size);
tort_status cuda_run_attend(const tort_call *call, const gpu_attend *attend, void *scratch);

#endif
