/* api_stream.cpp - the fake CUDA API: streams, events, graphs of captured work.
 *
 * Eager streams run work when it is submitted. Lazy streams run it only when something waits for it, and a wait for
 * the whole device runs the youngest stream first: host code that forgets to synchronize reads old data every time.
 * If a lazy stream's queue is limited, a later, unrelated call returns a kernel's fault, as on a GPU. Streams
 * synchronize as CUDA's do: the default stream and blocking streams wait for each other, other streams only for
 * events. Read next: api_launch.cpp. */
#include "kernels/cudasim/api.h"

#include <algorithm>

using namespace cudasim;

namespace {

bool stream_exists(const CUstream_st *stream) {
    for (Device &device : machine().devices) {
        if (stream == &device.default_stream) return true;
        if (std::find(device.streams.begin(), device.streams.end(), stream) != device.streams.end()) return true;
    }
    return false;
}

/* Runs the stream's work up to a position (see CUevent_st). An error loses the device and discards the stream's
 * queue. */
cudaError_t drain_until(CUstream_st *stream, long position) {
    cudaError_t &lost = machine().devices[stream->device].lost;
    while (stream->done < position && !stream->queue.empty()) {
        const Work work = stream->queue.front();
        stream->queue.pop_front();
        stream->done++;
        const cudaError_t error = work();
        if (error) {
            lost = error;
            stream->queue.clear();
            stream->done = stream->submitted;
            return error;
        }
    }
    return cudaSuccess;
}

struct Position {
    CUstream_st *stream;
    long position;
};

/* Positions of other streams that new work of this stream must wait for: the default stream and blocking streams
 * wait for each other. */
std::vector<Position> predecessors(const CUstream_st *stream) {
    Device &device = machine().devices[stream->device];
    std::vector<Position> result;
    if (stream != &device.default_stream) {
        if (stream->blocking) result.push_back({&device.default_stream, device.default_stream.submitted});
        return result;
    }
    for (CUstream_st *other : device.streams)
        if (other->blocking) result.push_back({other, other->submitted});
    return result;
}

bool is_pending(const Position &before) {
    return stream_exists(before.stream) && before.stream->done < before.position;
}

/* Advances the stream by one unit of work, so that a loop of polls ends. */
cudaError_t poll(CUstream_st *stream, long position) {
    const cudaError_t error = drain_until(stream, std::min(position, stream->done + 1));
    if (error) return error;
    return stream->done < position ? cudaErrorNotReady : cudaSuccess;
}

bool event_exists(cudaEvent_t event) {
    return machine().events.count(event) != 0;
}

cudaError_t create_stream(int device, bool blocking, cudaStream_t *stream) {
    *stream = new CUstream_st();
    (*stream)->device = device;
    (*stream)->blocking = blocking;
    machine().devices[device].streams.push_back(*stream);
    return cudaSuccess;
}

cudaError_t create_event(int device, bool timing, cudaEvent_t *event) {
    *event = new CUevent_st();
    (*event)->device = device;
    (*event)->timing = timing;
    machine().events.insert(*event);
    return cudaSuccess;
}

cudaError_t break_capture(CUgraph_st *graph) {
    graph->broken = true;
    machine().broken_captures++;
    return cudaErrorStreamCaptureUnsupported;
}

} // namespace

namespace cudasim {

CUstream_st *find_stream(cudaStream_t handle) {
    if (!handle) return &machine().devices[thread_state().device()].default_stream;
    return stream_exists(handle) ? handle : nullptr;
}

cudaError_t submit(CUstream_st *stream, const Work &work) {
    if (stream->capture) {
        stream->capture->work.push_back(work);
        return cudaSuccess;
    }
    std::vector<Position> before = predecessors(stream);
    before.erase(std::remove_if(before.begin(), before.end(), [](const Position &p) { return !is_pending(p); }),
                 before.end());
    if (before.empty()) {
        stream->queue.push_back(work);
    } else {
        stream->queue.push_back([=] {
            for (const Position &position : before) {
                const cudaError_t error =
                    is_pending(position) ? drain_until(position.stream, position.position) : cudaSuccess;
                if (error) return error;
            }
            return work();
        });
    }
    stream->submitted++;
    const cudasim_settings &settings = machine().settings;
    if (!settings.lazy_streams) return drain(stream);
    return settings.queue_length ? drain_until(stream, stream->submitted - settings.queue_length) : cudaSuccess;
}

cudaError_t drain(CUstream_st *stream) {
    return drain_until(stream, stream->submitted);
}

cudaError_t drain_device(int index) {
    Device &device = machine().devices[index];
    for (auto stream = device.streams.rbegin(); stream != device.streams.rend(); ++stream) {
        const cudaError_t error = drain(*stream);
        if (error) return error;
    }
    return drain(&device.default_stream);
}

cudaError_t refuse_while_capturing(int device) {
    for (CUstream_st *stream : machine().devices[device].streams) {
        CUgraph_st *capture = stream->capture;
        if (!capture || capture->mode == cudaStreamCaptureModeRelaxed) continue;
        if (capture->mode == cudaStreamCaptureModeGlobal || capture->thread == &thread_state())
            return break_capture(capture);
    }
    return cudaSuccess;
}

cudaError_t refuse_device_wait(int device) {
    const std::lock_guard<std::recursive_mutex> guard(machine().lock);
    cudaError_t error = cudaSuccess;
    for (CUstream_st *stream : machine().devices[device].streams)
        if (stream->capture) error = break_capture(stream->capture);
    if (!machine().settings.others_capture) return error;
    machine().broken_captures++;
    return cudaErrorStreamCaptureUnsupported;
}

} // namespace cudasim

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags) {
    Call call(__func__);
    if (call.error) return call.error;
    return call.result(create_stream(call.device(), !(flags & cudaStreamNonBlocking), stream));
}

cudaError_t cudaStreamCreate(cudaStream_t *stream) {
    Call call(__func__);
    if (call.error) return call.error;
    return call.result(create_stream(call.device(), true, stream));
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    Call call(__func__);
    if (!stream || !stream_exists(stream)) return call.freed(cudaErrorInvalidResourceHandle);
    Device &device = machine().devices[stream->device];
    const cudaError_t error = device.lost ? device.lost : drain(stream);
    device.streams.erase(std::find(device.streams.begin(), device.streams.end(), stream));
    delete stream->capture;
    delete stream;
    return call.freed(error);
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
    Call call(__func__);
    if (call.error) return call.error;
    CUstream_st *stream = find_stream(handle);
    if (!stream) return call.result(cudaErrorInvalidResourceHandle);
    return call.result(stream->capture ? break_capture(stream->capture) : drain(stream));
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
    Call call(__func__);
    if (call.error) return call.error;
    CUstream_st *stream = find_stream(handle);
    return stream ? poll(stream, stream->submitted) : call.result(cudaErrorInvalidResourceHandle);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned int) {
    Call call(__func__);
    if (call.error) return call.error;
    CUstream_st *stream = find_stream(handle);
    if (!stream || !event_exists(event)) return call.result(cudaErrorInvalidResourceHandle);
    if (stream->capture) return call.result(break_capture(stream->capture));
    if (!event->recorded) return cudaSuccess;
    const Position before = {event->stream, event->position};
    return call.result(
        submit(stream, [=] { return is_pending(before) ? drain_until(before.stream, before.position) : cudaSuccess; }));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags) {
    Call call(__func__);
    if (call.error) return call.error;
    return call.result(create_event(call.device(), !(flags & cudaEventDisableTiming), event));
}

cudaError_t cudaEventCreate(cudaEvent_t *event) {
    Call call(__func__);
    if (call.error) return call.error;
    return call.result(create_event(call.device(), true, event));
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    Call call(__func__);
    if (!machine().events.erase(event)) return call.freed(cudaErrorInvalidResourceHandle);
    delete event;
    return call.freed(cudaSuccess);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
    Call call(__func__);
    if (call.error) return call.error;
    CUstream_st *stream = find_stream(handle);
    if (!stream || !event_exists(event) || stream->device != event->device)
        return call.result(cudaErrorInvalidResourceHandle);
    if (stream->capture) return call.result(break_capture(stream->capture));
    if (event->timing) {
        const std::shared_ptr<long> time = event->microseconds = std::make_shared<long>(0);
        const long &clock = machine().devices[stream->device].microseconds;
        const cudaError_t error = submit(stream, [time, &clock] { return *time = clock, cudaSuccess; });
        if (error) return call.result(error);
    }
    event->recorded = true;
    event->stream = stream;
    event->position = stream->submitted;
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    Call call(__func__);
    if (call.error) return call.error;
    if (!event_exists(event)) return call.result(cudaErrorInvalidResourceHandle);
    if (!event->recorded || !stream_exists(event->stream)) return cudaSuccess;
    return poll(event->stream, event->position);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    Call call(__func__);
    if (call.error) return call.error;
    if (!event_exists(event)) return call.result(cudaErrorInvalidResourceHandle);
    if (!event->recorded || !stream_exists(event->stream)) return cudaSuccess;
    return call.result(drain_until(event->stream, event->position));
}

/* Simulated time is what the settings say of each kernel and library call. */
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
    Call call(__func__);
    if (call.error) return call.error;
    if (!event_exists(start) || !event_exists(end) || !start->timing || !end->timing || !start->recorded ||
        !end->recorded)
        return call.result(cudaErrorInvalidResourceHandle);
    const bool done = !is_pending({start->stream, start->position}) && !is_pending({end->stream, end->position});
    if (!done) return call.result(cudaErrorNotReady);
    *milliseconds = (float)(*end->microseconds - *start->microseconds) / 1000;
    return cudaSuccess;
}

/* ---- graphs: the work of one captured stream, replayed by a launch ---- */

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
    Call call(__func__);
    if (call.error) return call.error;
    if (!stream) return call.result(cudaErrorStreamCaptureUnsupported);
    if (!stream_exists(stream)) return call.result(cudaErrorInvalidResourceHandle);
    if (stream->capture) return call.result(cudaErrorIllegalState);
    stream->capture = new CUgraph_st();
    stream->capture->device = stream->device;
    stream->capture->mode = mode;
    stream->capture->thread = &thread_state();
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, enum cudaStreamCaptureStatus *status) {
    Call call(__func__);
    if (call.error) return call.error;
    const CUstream_st *stream = find_stream(handle);
    if (!stream) return call.result(cudaErrorInvalidResourceHandle);
    *status = !stream->capture          ? cudaStreamCaptureStatusNone
              : stream->capture->broken ? cudaStreamCaptureStatusInvalidated
                                        : cudaStreamCaptureStatusActive;
    return cudaSuccess;
}

/* Ends the capture even if an injected error makes it fail. */
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    Call call(__func__);
    *graph = nullptr;
    if (!stream || !stream_exists(stream)) return call.freed(cudaErrorInvalidResourceHandle);
    if (!stream->capture) return call.freed(cudaErrorIllegalState);
    CUgraph_st *captured = stream->capture;
    stream->capture = nullptr;
    if (call.error || captured->broken) {
        delete captured;
        return call.freed(cudaErrorStreamCaptureInvalidated);
    }
    machine().graphs.insert(*graph = captured);
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long) {
    Call call(__func__);
    if (call.error) return call.error;
    if (!machine().graphs.count(graph)) return call.result(cudaErrorInvalidValue);
    *executable = new CUgraphExec_st();
    (*executable)->work = graph->work;
    (*executable)->device = graph->device;
    machine().executables.insert(*executable);
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t handle) {
    Call call(__func__);
    if (call.error) return call.error;
    CUstream_st *stream = find_stream(handle);
    if (!machine().executables.count(executable) || !stream || stream->device != executable->device)
        return call.result(cudaErrorInvalidValue);
    for (const Work &work : executable->work) {
        const cudaError_t error = submit(stream, work);
        if (error) return call.result(error);
    }
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    Call call(__func__);
    if (!machine().graphs.erase(graph)) return call.freed(cudaErrorInvalidValue);
    delete graph;
    return call.freed(cudaSuccess);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    Call call(__func__);
    if (!machine().executables.erase(executable)) return call.freed(cudaErrorInvalidValue);
    delete executable;
    return call.freed(cudaSuccess);
}
}
