/* device.h - an open CUDA device and a context's stream on it. For host code of builds with CUDA (or cudasim). */
#ifndef TORT_KERNELS_CUDA_DEVICE_H
#define TORT_KERNELS_CUDA_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>

#include "kernels/cuda/context.h"
#include "kernels/cuda/cuda_api.h"
#include "kernels/cuda/graph.h"
#include "kernels/cuda/libraries.h"
#include "kernels/cuda/staging.h"
#include "kernels/cuda/status.h"
#include "kernels/cuda/stream.h"
#include "kernels/cuda/tiling.h"
#include "runtime/provider.h"
#include "runtime/tinyort_profile.h"

typedef struct cuda_device {
    tort_env env;
    int ordinal;
    int compute_capability;
    bool tf32;
    bool libraries_allowed;
    bool graphs;           /* runs are recorded */
    char unrecorded[200];  /* why the last run that could not be recorded could not; under the lock */
    uint64_t memory_limit; /* 0: none */
    uint64_t memory_used;
    /* What belongs to no stream; a thread may count while another one allocates. */
    atomic_uint_least64_t copies, waits, allocations;
    pthread_mutex_t lock;
    cuda_context context;
    cuda_libraries libraries;
    cudnnHandle_t dnn; /* for questions while planning, one at a time; NULL: cuDNN is not there or was not asked for */
} cuda_device;

/* What tort_call.stream points to. */
typedef struct cuda_stream {
    cuda_device *device;
    cudaStream_t stream;
    /* Since it was opened; launches are of kernels, and calls of libraries that launch some. */
    uint64_t launches, copies, waits;
    gpu_status *status;      /* on the device; kernels get it from cuda_status_word alone */
    gpu_status *status_host; /* pinned */
    bool may_fault;          /* a kernel got it since it was read */
    bool status_read;        /* it is on its way to the host already */
    uint64_t settled; /* launches and copies when it was last waited for: nothing is under way if there are no more */
    cuda_staging staging;
    cuda_recording recording;
    uint32_t *arrivals;  /* on the device, GPU_ARRIVALS zeros: see tiling.h */
    cublasHandle_t blas; /* NULL: not opened */
    cudnnHandle_t dnn;   /* NULL: not opened */
} cuda_stream;

void cuda_open(const tort_provider_config *config, void **device, tort_target *target, tort_condition *condition);
void cuda_close(void *device);
int32_t cuda_enter(void *device);
void cuda_leave(void *device, int32_t before);
bool cuda_library(void *device, tort_library library, char *message, size_t message_size, char *cure, size_t cure_size);
void *cuda_alloc(void *device, size_t bytes);
void cuda_free(void *device, void *ptr, size_t bytes);
tort_status cuda_copy(void *device, void *stream, void *dst, const void *src, size_t bytes, tort_direction direction,
                      tort_error *error);
tort_status cuda_copy_late(void *device, void *stream, void *dst, const void *src, size_t bytes, tort_error *error);
void cuda_stage(void *device, void *stream, int32_t copies, size_t bytes);
tort_status cuda_stream_open(void *device, void **stream, tort_error *error);
void cuda_stream_close(void *device, void *stream);
void cuda_calls(void *device, void *stream, tort_device_calls *calls);
tort_status cuda_sync(void *device, void *stream, tort_error *error);
uint64_t cuda_memory_free(void *device);
uint32_t cuda_reach(void *device, const void *pointer);

/* Has the status word brought to the host; nothing waits for it. */
cudaError_t cuda_read_status(cuda_stream *stream);
/* Gives back what was recorded of a stream's runs; graph.c. */
void cuda_recording_forget(cuda_stream *stream);

/* An error code of CUDA as a status: what was asked, CUDA's own words; a broken context is TORT_E_DEVICE_LOST. */
tort_status cuda_status(tort_error *error, cudaError_t code, const char *what);

/* Waits for work that was given to no stream. A failure that is not sticky is forgotten: the next call must not see it.
 */
tort_status cuda_wait_unstreamed(tort_error *error, const char *what);

/* The status of a library call that failed with these words: they hide a lost device, so CUDA is asked. stream is NULL
 * where none was used. */
tort_status cuda_library_failed(tort_error *error, const cuda_stream *stream, const char *library, const char *words);
/* The same of a call of cuDNN. */
tort_status cuda_cudnn_failed(tort_error *error, const cuda_device *device, const cuda_stream *stream,
                              const char *function, cudnnStatus_t code);

#endif
