/* streams.c - streams of an open device: with the handles of libraries, copies that are staged, waits, and the report
 * of a bad value that a kernel found. It knows no operators. Read first: device.c; next: staging.h, graph.c. */
#if defined(TORT_CUDA) || defined(TORT_CUDASIM)
#include <string.h>

#include "kernels/cuda/device.h"

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

static cudaError_t wait_for(cuda_stream *stream) {
    stream->waits++;
    const cudaError_t code = cudaStreamSynchronize(stream->stream);
    if (code == cudaSuccess) stream->settled = stream->launches + stream->copies;
    cuda_staging_deliver(&stream->staging, code == cudaSuccess);
    return code;
}

/* The workspace is set last: a new stream resets it. */
static tort_status open_cublas(cuda_stream *stream, tort_error *error) {
    cuda_device *device = stream->device;
    const cublas_functions *f = &device->libraries.cublas;
    if (device->workspace) stream->workspace = cuda_alloc(device, device->workspace);
    if (device->workspace && !stream->workspace) {
        const tort_status status = cuda_sync(device, NULL, error); /* the device may be lost */
        return status ? status
                      : tort_fail(error, TORT_E_MEMORY, "the device has no %zu bytes for the workspace of cuBLAS",
                                  device->workspace);
    }
    cublasStatus_t code = f->cublasCreate_v2(&stream->blas);
    if (code == CUBLAS_STATUS_SUCCESS) code = f->cublasSetStream_v2(stream->blas, stream->stream);
    if (code == CUBLAS_STATUS_SUCCESS)
        code = f->cublasSetWorkspace_v2(stream->blas, stream->workspace, device->workspace);
    if (code == CUBLAS_STATUS_SUCCESS) return TORT_OK;
    return cuda_library_failed(error, stream, "starting cuBLAS", f->cublasGetStatusString(code));
}

static tort_status open_handles(cuda_stream *stream, tort_error *error) {
    const cuda_libraries *libraries = &stream->device->libraries;
    const tort_status status = libraries->cublas_handle ? open_cublas(stream, error) : TORT_OK;
    if (status) return status;
    if (stream->device->dnn) {
        cudnnStatus_t code = libraries->cudnn.cudnnCreate(&stream->dnn);
        if (code == CUDNN_STATUS_SUCCESS) code = libraries->cudnn.cudnnSetStream(stream->dnn, stream->stream);
        if (code != CUDNN_STATUS_SUCCESS)
            return cuda_cudnn_failed(error, stream->device, stream, "starting cuDNN", code);
    }
    return TORT_OK;
}

tort_status cuda_stream_open(void *opened, void **out, tort_error *error) {
    cuda_device *device = opened;
    cuda_stream *stream = tort_alloc_zero(&device->env, 1, sizeof *stream);
    if (!stream) return tort_out_of_memory(error, sizeof *stream);
    stream->device = device;
    stream->recording = stream->recordings;
    const size_t bytes = sizeof(gpu_status) + GPU_ARRIVALS * sizeof *stream->arrivals;
    void *word = NULL, *host_word = NULL;
    cudaError_t code = cuda_check_current(device);
    if (code == cudaSuccess) code = cudaStreamCreateWithFlags(&stream->stream, cudaStreamNonBlocking);
    if (code == cudaSuccess) code = cudaMalloc(&word, bytes);
    stream->status = word;
    stream->arrivals = word ? (uint32_t *)(stream->status + 1) : NULL;
    if (code == cudaSuccess) code = cudaMallocHost(&host_word, sizeof(gpu_status));
    stream->status_host = host_word;
    if (code == cudaSuccess) code = cudaMemsetAsync(stream->status, 0, bytes, stream->stream);
    if (code == cudaSuccess) code = cudaStreamSynchronize(stream->stream);
    tort_status status = cuda_status(error, code, "opening a stream");
    if (!status) status = open_handles(stream, error);
    if (status) {
        cuda_stream_close(device, stream);
        return status;
    }
    *out = stream;
    return TORT_OK;
}

void cuda_stream_close(void *opened, void *handle) {
    cuda_device *device = opened;
    cuda_stream *stream = handle;
    if (stream->stream) cudaStreamSynchronize(stream->stream);
    cuda_recording_forget(stream);
    if (stream->blas) device->libraries.cublas.cublasDestroy_v2(stream->blas);
    if (stream->dnn) device->libraries.cudnn.cudnnDestroy(stream->dnn);
    if (stream->workspace) cuda_free(device, stream->workspace, device->workspace);
    if (stream->status) cudaFree(stream->status);
    if (stream->status_host) cudaFreeHost(stream->status_host);
    cuda_staging_free(&stream->staging);
    if (stream->application) cudaEventDestroy(stream->application);
    if (stream->stream) cudaStreamDestroy(stream->stream);
    tort_free(&device->env, stream, sizeof *stream);
}

/* ---- copies and waits -------------------------------------------------------------------------------------------- */

static const enum cudaMemcpyKind kinds[] = {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice};

static cudaError_t submit_copy(cuda_stream *stream, void *dst, const void *src, size_t bytes,
                               tort_direction direction) {
    stream->copies++;
    return cudaMemcpyAsync(dst, src, bytes, kinds[direction], stream->stream);
}

/* Refuses a copy that would have to be waited for, which a recording cannot do. */
static cudaError_t refuse_to_record(cuda_stream *stream) {
    stream->recording->why = "copies between host and device are larger than what is staged for them";
    return cudaErrorStreamCaptureUnsupported;
}

static cudaError_t copy_on_stream(cuda_stream *stream, void *dst, const void *src, size_t bytes,
                                  tort_direction direction) {
    void *staged = direction == TORT_TO_DEVICE ? cuda_staging_take(&stream->staging, bytes, NULL) : NULL;
    if (staged) memcpy(staged, src, bytes);
    if (staged && stream->recording->mode == CUDA_REPLAYS) return cudaSuccess; /* the graph copies from there */
    if (stream->recording->mode != CUDA_PLAIN && direction != TORT_ON_DEVICE && !staged)
        return refuse_to_record(stream);
    cudaError_t code = submit_copy(stream, dst, staged ? staged : src, bytes, direction);
    if (code == cudaSuccess && direction != TORT_ON_DEVICE && !staged) code = wait_for(stream);
    return code;
}

static cudaError_t wait_for_uploads(cuda_device *device) {
    device->waits++;
    return cudaStreamSynchronize(device->uploads);
}

/* Always waited for, so that the caller may free the source: of pageable memory CUDA promises only that the driver
 * might have read it when the call returns, and a GPU that reads the host's pages by itself reads them later. */
static cudaError_t copy_unstreamed(cuda_device *device, void *dst, const void *src, size_t bytes,
                                   tort_direction direction) {
    cudaError_t code = cuda_check_current(device);
    if (code != cudaSuccess) return code;
    device->copies++;
    code = cudaMemcpyAsync(dst, src, bytes, kinds[direction], device->uploads);
    return code == cudaSuccess ? wait_for_uploads(device) : code;
}

tort_status cuda_copy(void *opened, void *handle, void *dst, const void *src, size_t bytes, tort_direction direction,
                      tort_error *error) {
    const cudaError_t code = handle ? copy_on_stream(handle, dst, src, bytes, direction)
                                    : copy_unstreamed(opened, dst, src, bytes, direction);
    return cuda_status(error, code, "copying");
}

tort_status cuda_copy_late(void *opened, void *handle, void *dst, const void *src, size_t bytes, tort_error *error) {
    cuda_stream *stream = handle;
    void *staged = cuda_staging_take(&stream->staging, bytes, dst);
    if (!staged) return cuda_copy(opened, stream, dst, src, bytes, TORT_TO_HOST, error);
    if (stream->recording->mode == CUDA_REPLAYS) return TORT_OK;
    return cuda_status(error, submit_copy(stream, staged, src, bytes, TORT_TO_HOST), "copying");
}

enum { ROOM_BEFORE_GRAPHS = 64 << 10 }; /* bytes of staging memory that graphs may leave unused (graph.c) */

/* Grows the staging memory. A body subgraph may ask while the run around it is going on, with copies pending: so
 * they are waited for. */
void cuda_stage(void *opened, void *handle, int32_t copies, size_t bytes) {
    cuda_device *device = opened;
    cuda_stream *stream = handle;
    const size_t need = cuda_staging_need(copies, bytes + (device->graphs ? ROOM_BEFORE_GRAPHS : 0));
    if (need <= stream->staging.bytes || (stream->staging.used && wait_for(stream) != cudaSuccess)) return;
    device->allocations++;
    cuda_recording_forget(stream); /* their copies are from and to the memory that is freed now */
    cuda_staging_grow(&stream->staging, need);
}

/* Reports the bad value that the first failing node has left, and clears the word. */
static tort_status report_fault(cuda_stream *stream, tort_error *error) {
    const gpu_status found = *stream->status_host;
    stream->copies++;
    cudaError_t code = cudaMemsetAsync(stream->status, 0, sizeof(gpu_status), stream->stream);
    if (code == cudaSuccess) code = wait_for(stream);
    if (code != cudaSuccess) /* later runs would find a value that is not theirs */
        return tort_fail(error, TORT_E_DEVICE_LOST, "clearing the status word: %s (%s); make a new session",
                         cudaGetErrorString(code), cudaGetErrorName(code));
    double share;
    memcpy(&share, &found.value, sizeof share);
    if (found.fault == GPU_FAULT_PROBABILITY)
        tort_fail(error, TORT_E_RUN, "element %lld is %g, expected a probability from 0 to 1", (long long)found.place,
                  share);
    else if (found.fault == GPU_FAULT_RANGE)
        tort_fail(error, TORT_E_RUN, "an input holds %lld as its element %lld; expected 0 to %lld",
                  (long long)found.value, (long long)found.place, (long long)found.limit);
    else
        tort_fail(error, TORT_E_RUN, "index %lld, element %lld of indices, is not in [-%lld, %lld)",
                  (long long)found.value, (long long)found.place, (long long)found.limit, (long long)found.limit);
    if (error) error->node = found.node - 1;
    return TORT_E_RUN;
}

cudaError_t cuda_read_status(cuda_stream *stream) {
    stream->copies++;
    return cudaMemcpyAsync(stream->status_host, stream->status, sizeof(gpu_status), cudaMemcpyDeviceToHost,
                           stream->stream);
}

/* Waits for the stream; if a kernel may have reported a bad value, the status word is copied first. */
static tort_status sync_stream(cuda_stream *stream, tort_error *error) {
    const bool looks = stream->may_fault;
    cudaError_t code = looks && !stream->status_read ? cuda_read_status(stream) : cudaSuccess;
    stream->status_read = false;
    if (code == cudaSuccess && stream->launches + stream->copies > stream->settled) code = wait_for(stream);
    if (code != cudaSuccess) return cuda_status(error, code, "waiting for the device");
    stream->may_fault = false;
    return looks && stream->status_host->node ? report_fault(stream, error) : TORT_OK;
}

tort_status cuda_sync(void *opened, void *handle, tort_error *error) {
    cuda_device *device = opened;
    if (handle) return sync_stream(handle, error);
    cudaError_t code = cuda_check_current(device);
    if (code == cudaSuccess) code = wait_for_uploads(device);
    return cuda_status(error, code, "waiting for the device");
}

tort_status cuda_follow(void *opened, void *handle, void *application, tort_error *error) {
    cuda_device *device = opened;
    cuda_stream *stream = handle;
    enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    cudaError_t code = cuda_check_current(device);
    if (code == cudaSuccess) code = cudaStreamIsCapturing(application, &capturing);
    if (code == cudaSuccess && capturing != cudaStreamCaptureStatusNone)
        return tort_fail(
            error, TORT_E_USAGE,
            "the application captures a CUDA graph from the stream that it gave to this session: a run waits "
            "for the device, which would break that graph; end the capture before the run (a session replays CUDA "
            "graphs of its own)");
    if (code == cudaSuccess && !stream->application)
        code = cudaEventCreateWithFlags(&stream->application, cudaEventDisableTiming);
    if (code == cudaSuccess) code = cudaEventRecord(stream->application, application);
    if (code == cudaSuccess) code = cudaStreamWaitEvent(stream->stream, stream->application, 0);
    return cuda_status(error, code, "following the application's stream");
}

void cuda_calls(void *opened, void *handle, tort_device_calls *calls) {
    cuda_device *device = opened;
    const cuda_stream *stream = handle;
    *calls = (tort_device_calls){.launches = stream->launches,
                                 .copies = stream->copies + device->copies,
                                 .waits = stream->waits + device->waits,
                                 .allocations = device->allocations};
}
#else
typedef int cuda_streams_are_in_builds_with_cuda; /* ISO C requires a declaration */
#endif
