/* heads.h - com.microsoft's attention operators: what heads.c asks of heads.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_HEADS_H
#define TORT_KERNELS_CUDA_HEADS_H

#include "kernels/cuda/attend.h"
#include "ops/microsoft/heads.h"

/* Queries, keys and values as rows: with their biases, rotated, keys and values behind those of the past. What is not
 * to be laid out has no room (NULL). */
typedef struct gpu_heads {
    tort_heads_params params;
    const void *query, *key, *value, *past_key, *past_value, *bias, *cosines, *sines;
    const int64_t *positions;
    const int32_t *lengths;      /* one a batch: keys less one; NULL: past_count and the new ones */
    int64_t past_count, longest; /* keys of the past, of the longest batch */
    bool first;                  /* the first run of a sequence, whose past counts for nothing */
    void *query_room, *key_room, *value_room;
    int64_t room_length; /* positions of a head that there is room for in those of keys and values */
    int32_t node;        /* who reports a wrong length or position */
    void *status;
} gpu_heads;

#ifdef CUDA_DEVICE
#ifdef __cplusplus
extern "C" {
#endif
cudaError_t gpu_lay_out_heads(gpu_stream stream, gpu_attend_type type, const gpu_heads *heads);
cudaError_t gpu_load_heads(gpu_attend_type type);
#ifdef __cplusplus
}
#endif
#endif

#endif
