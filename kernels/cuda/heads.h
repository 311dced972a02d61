/* heads.h - interface between heads.c and heads.cu, and what heads.c has for rows of other files. Plain C.
 */
#ifndef TORT_KERNELS_CUDA_HEADS_H
#define TORT_KERNELS_CUDA_HEADS_H

#include "kernels/cuda/attend.h"
#include "ops/heads.h"

/* Rows of queries, keys and values to be laid out: with biases, rotated, new keys and values behind those of the
 * past. Rows that are read in place have no room (NULL). */
typedef struct gpu_heads {
    tort_heads_params params;
    const void *query, *key, *value, *past_key, *past_value, *bias, *cosines, *sines;
    const int64_t *positions;
    const int32_t *lengths;      /* one per batch: keys less one; NULL: past_count and the new ones */
    int64_t past_count, longest; /* keys of the past, keys of the longest batch */
    bool first;                  /* the first run of a sequence, whose past is ignored */
    void *query_room, *key_room, *value_room;
    int64_t room_length;         /* positions per head that the rooms of keys and values have */
    bool key_stays, value_stays; /* the room is the buffer of the past, which is extended: only new rows are written */
    int32_t node;                /* node that reports an invalid length or position */
    void *status;
} gpu_heads;

tort_verdict tort_cuda_claim_heads(const tort_target *target, const tort_node_view *node);
tort_status tort_cuda_size_heads(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                 tort_error *error);

GPU_LAUNCHER gpu_lay_out_heads(gpu_stream stream, gpu_attend_type type, const gpu_heads *heads);
GPU_LAUNCHER gpu_load_heads(gpu_attend_type type);

tort_status cuda_prepare_heads(tort_prepare *prepare);
tort_status cuda_run_heads(const tort_call *call);
/* The same, where `project` makes the queries, keys and values of all heads, side by side for each position: `whole`
 * and memory for them, then the scratch memory behind that of tort_cuda_size_heads. */
tort_status cuda_run_heads_of(const tort_call *call, const tort_call *whole,
                              tort_status (*project)(const tort_call *whole, void *to, void *behind));

#endif
