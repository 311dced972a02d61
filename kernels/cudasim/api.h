/* api.h - the state behind the fake CUDA API, and the gate that each of its functions passes.
 *
 * One recursive lock around everything: calls of several threads are served one after the other, kernels included.
 * The functions are in api_device.cpp, api_context.cpp, api_memory.cpp, api_stream.cpp, api_launch.cpp,
 * fake_cublas.cpp, fake_cudnn.cpp; they use sim.h and know nothing of each other. Read next: api.cpp. */
#ifndef CUDASIM_API_H
#define CUDASIM_API_H

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "kernels/cudasim/control.h"
#include "kernels/cudasim/sim.h"

namespace cudasim {
/* A piece of work of a stream; runs under the lock. */
typedef std::function<cudaError_t()> Work;
} // namespace cudasim

/* NVIDIA's headers give the handles' structs these names. */
struct CUgraph_st {
    std::vector<cudasim::Work> work;
    int device = 0;
    bool broken = false; /* something happened during capture that capture forbids */
    /* Of the capture: whose calls it forbids, see cudaStreamCaptureMode. */
    int mode = 0;
    const void *thread = nullptr;
};
struct CUgraphExec_st {
    std::vector<cudasim::Work> work;
    int device = 0;
};
struct CUstream_st {
    int device = 0;
    bool blocking = true; /* waits for the default stream, and it for this one */
    std::deque<cudasim::Work> queue;
    long submitted = 0, done = 0; /* pieces of work, ever */
    CUgraph_st *capture = nullptr;
};
struct CUevent_st {
    int device = 0;
    bool timing = true;
    bool recorded = false;
    cudaStream_t stream = nullptr; /* where it was recorded, after so many pieces of work */
    long position = 0;
};

namespace cudasim {

struct Device {
    cudaError_t lost = cudaSuccess; /* sticky: what every call returns since */
    bool used = false;              /* CUDA was started on it: on a GPU that takes memory */
    CUstream_st default_stream;
    std::vector<cudaStream_t> streams; /* in order of creation */
    std::set<const void *> loaded;     /* functions whose code is there */
    /* Dynamic shared memory that cudaFuncSetAttribute allowed. */
    std::map<const void *, size_t> dynamic_shared;
};

struct Machine {
    std::recursive_mutex lock;
    cudasim_settings settings;
    Device devices[max_devices];
    std::set<cudaEvent_t> events;
    std::set<cudaGraph_t> graphs;
    std::set<cudaGraphExec_t> executables;
    std::map<char *, size_t> pinned;        /* page-locked host memory */
    std::set<const void *> library_objects; /* handles and descriptors of the fake libraries */
    std::string library_error, cudnn_error;
    std::string failure;
    /* Injection and counting. */
    std::map<std::string, int> calls;
    int all_calls;
    std::string fail_function;
    int fail_countdown, fail_code;
    int fault_countdown, fault_code; /* of kernels */
    int late_loads = 0;

    Machine();
};
Machine &machine();

/* Of the calling operating system thread. */
struct ThreadState {
    int chosen = 0;          /* by cudaSetDevice */
    std::vector<int> pushed; /* devices of the contexts on the driver's stack: the last one is current */
    cudaError_t last_error = cudaSuccess;
    int device() const {
        return pushed.empty() ? chosen : pushed.back();
    }
};
ThreadState &thread_state();

enum class Needs { nothing, driver, device };

/* Entered by every API function: takes the lock, counts, injects. `error` says why the call must not proceed. */
class Call {
  public:
    explicit Call(const char *function, Needs needs = Needs::device);
    cudaError_t error;
    /* What the function returns: remembers an error for cudaGetLastError. */
    cudaError_t result(cudaError_t outcome);
    /* For functions that free: they did their work even if they were made to fail. */
    cudaError_t freed(cudaError_t outcome);
    int device() const; /* the thread's current one */

  private:
    std::lock_guard<std::recursive_mutex> guard;
};

bool loses_device(cudaError_t error);

bool is_pinned(const void *memory, size_t bytes); /* wholly within one page-locked block; api_memory.cpp */

size_t shared_bytes_on_request(); /* what one block may have after cudaFuncSetAttribute; api_device.cpp */

/* ---- streams, in api_stream.cpp ---- */

/* The null handle is the current device's default stream. NULL: no such stream. */
CUstream_st *find_stream(cudaStream_t handle);
/* Runs the work now, or queues it where streams are lazy, or records it where the stream is being captured. */
cudaError_t submit(CUstream_st *stream, const Work &work);
cudaError_t drain(CUstream_st *stream);
cudaError_t drain_device(int device); /* every stream of it, the youngest first */
/* For what would wait, allocate, or free memory in use: not in any thread while a capture is global, not in its own
 * while it is of a thread. */
cudaError_t refuse_while_capturing(int device);

} // namespace cudasim
#endif
