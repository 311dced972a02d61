/* api.h - the state behind the fake CUDA API, and the gate (class Call) that each of its functions passes.
 *
 * One recursive lock serializes all calls, kernels included. The functions are in api_device.cpp, api_context.cpp,
 * api_memory.cpp, api_stream.cpp, api_launch.cpp, fake_cublas.cpp and fake_cudnn.cpp; they use sim.h, and do not
 * call each other. Read next: api.cpp. */
#ifndef CUDASIM_API_H
#define CUDASIM_API_H

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sys/types.h>
#include <string>
#include <vector>

#include "kernels/cudasim/control.h"
#include "kernels/cudasim/sim.h"

namespace cudasim {
/* A unit of work of a stream; runs under the lock. */
typedef std::function<cudaError_t()> Work;
} // namespace cudasim

/* NVIDIA's headers give the handles' structs these names. */
struct CUgraph_st {
    std::vector<cudasim::Work> work;
    int device = 0;
    bool broken = false; /* a call that capture forbids was made during it */
    /* Mode of the capture (see cudaStreamCaptureMode) and the thread that began it: together they decide which calls
     * are forbidden. */
    int mode = 0;
    const void *thread = nullptr;
};
struct CUgraphExec_st {
    std::vector<cudasim::Work> work;
    int device = 0;
};
struct CUstream_st {
    int device = 0;
    bool blocking = true; /* synchronizes with the default stream, in both directions */
    std::deque<cudasim::Work> queue;
    long submitted = 0, done = 0; /* units of work since creation */
    CUgraph_st *capture = nullptr;
};
struct CUevent_st {
    int device = 0;
    bool timing = true;
    bool recorded = false;
    cudaStream_t stream = nullptr; /* stream of the record, and its number of units then */
    long position = 0;
    std::shared_ptr<long> microseconds; /* of the device's clock, once the stream gets there; only with timing */
};

namespace cudasim {

struct Device {
    cudaError_t lost = cudaSuccess; /* sticky: every later call returns it */
    long microseconds = 0;          /* that all work so far has taken, see cudasim_settings */
    bool used = false;              /* a CUDA context exists, which takes memory on a GPU */
    CUstream_st default_stream;
    std::vector<cudaStream_t> streams; /* in order of creation */
    std::set<const void *> loaded;     /* functions whose code is loaded */
    /* Limits of dynamic shared memory set by cudaFuncSetAttribute. */
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
    /* Error injection and counting. */
    std::map<std::string, int> calls;
    int all_calls;
    std::string fail_function;
    int fail_countdown, fail_code;
    int fault_countdown, fault_code; /* for kernels */
    int late_loads = 0;
    int broken_captures = 0; /* see control.h */
    pid_t process = 0;       /* that started CUDA; 0: none did */

    Machine();
};
Machine &machine();

/* State of the calling operating system thread. */
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

/* Constructed first by every API function: takes the lock, counts the call, injects errors. If `error` is set, the
 * function must return it and do nothing. */
class Call {
  public:
    explicit Call(const char *function, Needs needs = Needs::device);
    cudaError_t error;
    /* Returns the outcome, after recording an error for cudaGetLastError. */
    cudaError_t result(cudaError_t outcome);
    /* The same for functions that free: they do their work even if an injected error makes them fail. */
    cudaError_t freed(cudaError_t outcome);
    int device() const; /* current device of the thread */

  private:
    std::lock_guard<std::recursive_mutex> guard;
};

bool loses_device(cudaError_t error);

bool is_pinned(const void *memory, size_t bytes); /* true if the bytes lie in one page-locked block; api_memory.cpp */

/* Makes the settings those of a broken machine; false: no machine has this name. machine_name: nullptr after the last.
 * In machines.cpp. */
bool arrange_machine(const char *name, cudasim_settings *settings);
const char *machine_name(size_t index);
size_t shared_bytes_on_request(); /* per block, after cudaFuncSetAttribute; api_device.cpp */

/* ---- streams, in api_stream.cpp ---- */

/* Returns NULL if there is no such stream; handle NULL is the default stream of the current device. */
CUstream_st *find_stream(cudaStream_t handle);
/* Records the work if the stream is being captured; otherwise runs it, or queues it if streams are lazy. */
cudaError_t submit(CUstream_st *stream, const Work &work);
cudaError_t drain(CUstream_st *stream);
cudaError_t drain_device(int device); /* all its streams, youngest first */
/* Breaks a capture and returns an error, for calls that wait, allocate, or free memory in use: a global capture
 * forbids them to all threads, a thread-local one to its own thread. */
cudaError_t refuse_while_capturing(int device);
/* The same for calls that wait for the whole device: a capture of any mode and thread forbids them. */
cudaError_t refuse_device_wait(int device);

} // namespace cudasim
#endif
