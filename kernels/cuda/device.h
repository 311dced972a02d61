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
#include "runtime/include/provider.h"
#include "runtime/include/tinyort_profile.h"

typedef struct cuda_device {
    tort_env env;
    int ordinal;
    gpu_board board;
    bool tf32, tf32_chosen, tune;
    bool integrated; /* its memory is the host's */
    bool libraries_allowed;
    bool graphs;           /* runs are recorded */
    bool overlaps;         /* kernels may begin before those before them have ended */
    char unrecorded[200];  /* why the last run that could not be recorded was refused; under the lock */
    uint64_t memory_limit; /* 0: none */
    uint64_t memory_used;
    /* Counts of calls outside of any stream; atomic, as one thread may count while another allocates. */
    atomic_uint_least64_t copies, waits, allocations;
    pthread_mutex_t lock;
    cuda_context context;
    /* Work outside of any context: uploads and trials. A stream of its own, because a wait for the device, or for its
     * default stream, would stop other sessions and break what they record. */
    cudaStream_t uploads;
    cuda_libraries libraries;
    size_t workspace;    /* bytes that each stream has for cuBLAS and cublasLt */
    cublasLtHandle_t lt; /* for planning; NULL: was not needed yet; under the lock */
    cudnnHandle_t dnn;   /* on `uploads`, for planning, one at a time; NULL: cuDNN is absent or was not asked for */
} cuda_device;

/* Target of tort_call.stream. */
typedef struct cuda_stream {
    cuda_device *device;
    cudaStream_t stream;
    cudaEvent_t application; /* how far the application's stream was when the last run began; NULL: none was given */
    /* Counts since the stream was opened; launches are kernels, and library calls that launch some. */
    uint64_t launches, copies, waits;
    gpu_status *status;      /* on the device; kernels get it only from cuda_status_word */
    gpu_status *status_host; /* pinned */
    bool may_fault;          /* a kernel got the word since it was last read */
    bool status_read;        /* its copy to the host is already submitted */
    uint64_t settled;        /* launches + copies at the last wait: if the sum is the same now, nothing is pending */
    cuda_staging staging;
    cuda_recording recordings[TORT_RECORDINGS], *recording; /* recording: of the last run that was offered */
    uint32_t *arrivals;                                     /* on the device, GPU_ARRIVALS zeros: see tiling.h */
    cublasHandle_t blas;                                    /* NULL: not opened */
    void *workspace;   /* on the device; NULL without cuBLAS. Without one, cuBLAS would allocate, also in a recording */
    cudnnHandle_t dnn; /* NULL: not opened */
} cuda_stream;

void cuda_open(const tort_provider_config *config, void **device, tort_target *target, tort_condition *condition);
void cuda_close(void *device);
int32_t cuda_enter(void *device);
void cuda_leave(void *device, int32_t before);
bool cuda_library(void *device, const char *name, char *message, size_t message_size, char *cure, size_t cure_size);
void *cuda_alloc(void *device, size_t bytes);
void cuda_free(void *device, void *ptr, size_t bytes);
tort_status cuda_copy(void *device, void *stream, void *dst, const void *src, size_t bytes, tort_direction direction,
                      tort_error *error);
tort_status cuda_copy_late(void *device, void *stream, void *dst, const void *src, size_t bytes, tort_error *error);
void cuda_stage(void *device, void *stream, int32_t copies, size_t bytes);
tort_status cuda_stream_open(void *device, void **stream, tort_error *error);
void cuda_stream_close(void *device, void *stream);
tort_status cuda_follow(void *device, void *stream, void *application, tort_error *error);
void cuda_calls(void *device, void *stream, tort_device_calls *calls);
tort_status cuda_sync(void *device, void *stream, tort_error *error);
uint64_t cuda_memory_free(void *device);
uint32_t cuda_reach(void *device, const void *pointer);

/* Fails if another device is current: for calls that go to the current device, and would use the wrong one if entering
 * ours had failed. */
cudaError_t cuda_check_current(const cuda_device *device);
/* Submits a copy of the status word to the host, without waiting. */
cudaError_t cuda_read_status(cuda_stream *stream);
/* Frees all recordings of a stream; graph.c. */
void cuda_recording_forget(cuda_stream *stream);

/* Turns a CUDA error code into a status: what was asked, CUDA's description; a broken context is TORT_E_DEVICE_LOST.
 * The thread's last error, which the application may look at, is cleared. */
tort_status cuda_status(tort_error *error, cudaError_t code, const char *what);

/* Waits for the device's own stream. An error that does not lose the device is cleared, so that the next call does
 * not see it. */
tort_status cuda_wait_uploads(const cuda_device *device, tort_error *error, const char *what);

/* Returns the status of a failed library call with this description. It may hide a lost device, so CUDA is asked
 * too. stream is NULL if none was used. */
tort_status cuda_library_failed(tort_error *error, const cuda_stream *stream, const char *library, const char *words);
/* The same for a call of cuDNN. */
tort_status cuda_cudnn_failed(tort_error *error, const cuda_device *device, const cuda_stream *stream,
                              const char *function, cudnnStatus_t code);

#endif
