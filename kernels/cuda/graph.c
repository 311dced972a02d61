/* graph.c - records the work of a run as a CUDA graph, and replays it with one call.
 *
 * A launch costs the host some microseconds, so small kernels wait for their launches; a graph is one launch. The
 * first run of a plan is plain: libraries create what they need once. The second is recorded while its steps are
 * made, and every later one replays it as long as the plan and the addresses of its memory stay the same; a stream
 * keeps some graphs, for shapes and buffers that come in turns. Host inputs and outputs go through the stream's staging
 * memory, whose addresses and order of copies are the same in each run: so a graph serves any buffers of the caller.
 * The status word is read back within the graph. If something fails while recording, nothing has been executed yet: the
 * steps are made again, plainly, and the device keeps the reason for the report. The cause may be another thread, since
 * a wait for the whole device breaks every recording on it: so recording is tried again, after 1 run, then after 2, 4,
 * 8 and so on.
 * Read first: staging.h; next: runtime/core/plan/plan_record.c, which runs are offered. */
#if defined(TORT_CUDA) || defined(TORT_CUDASIM)
#include "kernels/cuda/graph.h"

#include <stdio.h>

#include "kernels/cuda/device.h"

/* ---- why it does not record -------------------------------------------------------------------------------------- */

enum { MAX_FAILURES = 16 }; /* in a row; they bound the number of runs until the next attempt */

static void refuse(cuda_stream *stream, const char *what, cudaError_t code) {
    cuda_device *device = stream->device;
    cuda_recording *recording = stream->recording;
    recording->pause = (int32_t)2 << recording->failures; /* the first of these runs is this one, made again */
    if (recording->failures < MAX_FAILURES) recording->failures++;
    pthread_mutex_lock(&device->lock);
    if (code == cudaSuccess)
        snprintf(device->unrecorded, sizeof device->unrecorded, "%s", what);
    else
        snprintf(device->unrecorded, sizeof device->unrecorded, "%s: %s (%s)", what, cudaGetErrorString(code),
                 cudaGetErrorName(code));
    pthread_mutex_unlock(&device->lock);
    if (code != cudaSuccess) (void)cudaGetLastError(); /* later calls must not see it */
}

static void clear_reason(cuda_device *device) {
    pthread_mutex_lock(&device->lock);
    *device->unrecorded = '\0';
    pthread_mutex_unlock(&device->lock);
}

void cuda_recording_note(void *opened, char *text, size_t size) {
    cuda_device *device = opened;
    pthread_mutex_lock(&device->lock);
    snprintf(text, size, "%s", device->graphs ? device->unrecorded : "switched off by graph=off");
    pthread_mutex_unlock(&device->lock);
}

/* ---- recording --------------------------------------------------------------------------------------------------- */

static void free_graph(cuda_recording *recording) {
    if (recording->graph) cudaGraphExecDestroy(recording->graph);
    recording->graph = NULL;
}

static void forget(cuda_recording *recording) {
    free_graph(recording);
    *recording = (cuda_recording){.mode = CUDA_PLAIN};
}

void cuda_recording_forget(cuda_stream *stream) {
    for (int32_t i = 0; i < TORT_RECORDINGS; i++) forget(&stream->recordings[i]);
}

/* The bytes of staging memory that a new graph leaves to copies before it: a power of two, so that copies that grow
 * from run to run seldom reach the graph's own. */
static size_t room_before(size_t used) {
    size_t room = used ? 4096 : 0;
    while (room < used) room *= 2;
    return room;
}

/* Gives the copies of the run the places in staging memory that they have in the graph. What was staged before it, such
 * as a mask that is longer in each run, stays; if there is too much of it, it is waited for. */
static bool align_staging(cuda_stream *stream) {
    cuda_recording *recording = stream->recording;
    if (recording->graph && stream->staging.used > recording->staged) free_graph(recording);
    const size_t staged = recording->graph ? recording->staged : room_before(stream->staging.used);
    recording->staged = staged;
    if (cuda_staging_skip(&stream->staging, staged)) return true;
    if (cuda_sync(stream->device, stream, NULL)) return false;
    if (!recording->graph) recording->staged = 0;
    return cuda_staging_skip(&stream->staging, recording->staged);
}

/* True if this run should neither be recorded nor replayed. */
static bool stays_plain(cuda_stream *stream, bool same) {
    cuda_recording *recording = stream->recording;
    if (!stream->device->graphs || !same || recording->why) return true;
    if (recording->pause) {
        recording->pause--;
        return true;
    }
    return !align_staging(stream);
}

/* Starts recording. Thread-local mode: other threads may allocate meanwhile. */
static void start(cuda_stream *stream) {
    cuda_recording *recording = stream->recording;
    const cudaError_t code = cudaStreamBeginCapture(stream->stream, cudaStreamCaptureModeThreadLocal);
    if (code != cudaSuccess) {
        refuse(stream, "a CUDA graph could not be begun", code);
        return;
    }
    recording->mode = CUDA_RECORDS;
    recording->launches = stream->launches;
    recording->copies = stream->copies;
    stream->may_fault = false; /* set again by the recorded steps */
}

bool cuda_begin(void *device, void *handle, int32_t which, bool same) {
    cuda_stream *stream = handle;
    (void)device;
    stream->recording = &stream->recordings[which];
    if (!same) forget(stream->recording);
    if (stays_plain(stream, same)) return false;
    if (stream->recording->graph)
        stream->recording->mode = CUDA_REPLAYS;
    else
        start(stream);
    return stream->recording->mode == CUDA_REPLAYS;
}

/* Undoes the counts of a recording that failed: none of it was executed. */
static void drop(cuda_stream *stream) {
    stream->launches = stream->recording->launches;
    stream->copies = stream->recording->copies;
    stream->may_fault = false;
    cuda_staging_deliver(&stream->staging, false);
}

/* Ends the capture, also if a step has failed. */
static cudaError_t finish(cuda_stream *stream, bool good, cudaGraph_t *graph) {
    stream->recording->faults = stream->may_fault;
    const cudaError_t code = good && stream->may_fault ? cuda_read_status(stream) : cudaSuccess;
    const cudaError_t ended = cudaStreamEndCapture(stream->stream, graph);
    return code == cudaSuccess ? ended : code;
}

static cudaError_t instantiate(cuda_recording *recording, cudaGraph_t graph) {
    const cudaError_t code = cudaGraphInstantiate(&recording->graph, graph, 0);
    if (code != cudaSuccess) recording->graph = NULL;
    return code;
}

/* Completes the recording of a run; false if it was dropped. */
static bool record(cuda_stream *stream, tort_status status) {
    cuda_recording *recording = stream->recording;
    cudaGraph_t graph = NULL;
    cudaError_t code = finish(stream, !status, &graph);
    if (!status && code == cudaSuccess) code = instantiate(recording, graph);
    if (graph && cudaGraphDestroy(graph) != cudaSuccess) (void)cudaGetLastError();
    if (status || code != cudaSuccess) {
        drop(stream);
        if (status != TORT_E_CANCELLED)
            refuse(stream, recording->why ? recording->why : "a step could not be recorded in a CUDA graph", code);
        return false;
    }
    recording->launches = stream->launches - recording->launches;
    recording->copies = stream->copies - recording->copies;
    recording->failures = 0;
    clear_reason(stream->device);
    return true;
}

/* ---- replaying --------------------------------------------------------------------------------------------------- */

static bool launch(cuda_stream *stream) {
    stream->may_fault = stream->status_read = stream->recording->faults;
    const cudaError_t code = cudaGraphLaunch(stream->recording->graph, stream->stream);
    if (code == cudaSuccess) return true;
    stream->may_fault = stream->status_read = false;
    free_graph(stream->recording);
    cuda_staging_deliver(&stream->staging, false);
    refuse(stream, "the CUDA graph of the run could not be launched", code);
    return false;
}

bool cuda_end(void *device, void *handle, tort_status status) {
    cuda_stream *stream = handle;
    cuda_recording *recording = stream->recording;
    const cuda_recording_mode mode = recording->mode;
    (void)device;
    recording->mode = CUDA_PLAIN;
    if (mode == CUDA_PLAIN) return false;
    if (mode == CUDA_RECORDS && !record(stream, status)) return status != TORT_E_CANCELLED;
    if (mode == CUDA_REPLAYS && status) {
        cuda_staging_deliver(&stream->staging, false);
        return false;
    }
    if (!launch(stream)) return true;
    if (mode == CUDA_RECORDS) return false;
    stream->launches += recording->launches;
    stream->copies += recording->copies;
    return false;
}
#else
typedef int cuda_graphs_are_in_builds_with_cuda; /* ISO C requires a declaration */
#endif
