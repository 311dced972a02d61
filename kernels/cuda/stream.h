/* stream.h - how headers declare launchers, the functions of a .cu file that C calls: GPU_LAUNCHER, and the stream that
 * each takes, with a count of its launches. Plain C, for host code and .cu files; the including file has CUDA's types
 * already. A build without CUDA calls no launcher: there the names of the types are enough to declare them. */
#ifndef TORT_KERNELS_CUDA_STREAM_H
#define TORT_KERNELS_CUDA_STREAM_H

#include <stdbool.h>
#include <stdint.h>

/* What a launcher returns, and that its name is one of C. */
#ifdef __cplusplus
#define GPU_LAUNCHER extern "C" cudaError_t
#else
#define GPU_LAUNCHER cudaError_t
#endif

#ifdef TORT_CUDA
typedef struct gpu_stream {
    cudaStream_t handle;
    uint64_t *launches; /* incremented by each launch; may be NULL */
    bool overlaps;      /* launch_overlapping may begin before the kernel before has ended */
} gpu_stream;

static inline void gpu_count_launch(gpu_stream stream) {
    if (stream.launches) ++*stream.launches;
}
#else
typedef struct gpu_stream gpu_stream;
typedef struct cudaError_t cudaError_t;
#endif

#endif
