/* stream.h - a CUDA stream with a count of its launches, as launchers take it. Plain C, for host code and .cu files;
 * the including file has cudaStream_t already. */
#ifndef TORT_KERNELS_CUDA_STREAM_H
#define TORT_KERNELS_CUDA_STREAM_H

#include <stdint.h>

typedef struct gpu_stream {
    cudaStream_t handle;
    uint64_t *launches; /* incremented by each launch; may be NULL */
} gpu_stream;

static inline void gpu_count_launch(gpu_stream stream) {
    if (stream.launches) ++*stream.launches;
}

#endif
