/* place.h - elements moved along an axis: arguments and launchers of place.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_PLACE_H
#define TORT_KERNELS_CUDA_PLACE_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/divisor.h"
#include "kernels/cuda/status.h"

/* ReverseSequence: x as [batch, times, inner], or [times, batch, inner]. */
typedef struct gpu_reversal {
    size_t count, inner; /* count: elements of x */
    int64_t batches, times;
    bool batch_first;
    int32_t node;
    const int64_t *lengths;
    gpu_status *status;
} gpu_reversal;

/* TensorScatter: the cache as [outer, length, inner], the update as [outer, fresh, inner]. */
typedef struct gpu_cache {
    size_t count;                            /* elements of the cache */
    gpu_divisor inner, length, fresh, lines; /* lines: part of outer within one batch item */
    bool circular;
    int32_t node;
    const int64_t *first; /* position of each batch item's update; NULL: 0 */
    gpu_status *status;
} gpu_cache;

/* EyeLike: the element `one` where column - row == diagonal, else `zero`. */
typedef struct gpu_eye {
    size_t count;
    int64_t columns, diagonal;
    uint64_t zero, one;
} gpu_eye;

/* Elements of 1, 2, 4 or 8 bytes. A cache that is the past (present == past) is extended. */
GPU_LAUNCHER gpu_run_reversal(gpu_stream stream, int element_bytes, const gpu_reversal *reversal, const void *x,
                              void *y);
GPU_LAUNCHER gpu_load_reversal(int element_bytes);
GPU_LAUNCHER gpu_run_cache(gpu_stream stream, int element_bytes, const gpu_cache *cache, const void *past,
                           const void *update, void *present);
GPU_LAUNCHER gpu_load_cache(int element_bytes);
GPU_LAUNCHER gpu_run_eye(gpu_stream stream, int element_bytes, const gpu_eye *eye, void *y);
GPU_LAUNCHER gpu_load_eye(int element_bytes);
/* y = ~x; y may be x. */
GPU_LAUNCHER gpu_run_complement(gpu_stream stream, int element_bytes, size_t count, const void *x, void *y);
GPU_LAUNCHER gpu_load_complement(int element_bytes);

#endif
