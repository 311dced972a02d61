/* stream.h - a CUDA stream as launchers take it: with a count of what was launched on it. Plain C, for host code and
 * .cu files; who includes it has cudaStream_t already. */
#ifndef TORT_KERNELS_CUDA_STREAM_H
#define TORT_KERNELS_CUDA_STREAM_H

#include <stdint.h>

typedef struct gpu_stream {
    cudaStream_t handle;
    uint64_t *launches; /* one more for each kernel; NULL: nobody counts */
} gpu_stream;

static inline void gpu_count_launch(gpu_stream stream) {
    if (stream.launches) ++*stream.launches;
}

#endif
