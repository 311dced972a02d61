/* block.cpp - runs a grid: blocks one after the other, the threads of a block on fibers, with barriers and
 * collectives.
 *
 * A fiber runs thread after thread until one must wait; only then is a second fiber used, so a kernel without
 * barriers costs one function call per thread. The order of blocks, threads and wake-ups is forward, reverse or
 * random. A kernel that misbehaves is abandoned: its launch fails with a text that explains it, and its fibers are
 * restarted. This file must not depend on the API above it, nor on the computation of a collective (warp.cpp). Read
 * next: warp.cpp. */
#include "kernels/cudasim/sim.h"

#include <algorithm>
#include <mutex>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unordered_map>

#include "kernels/cudasim/warp.h"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace cudasim {

namespace {

enum class State { idle, running, ready, at_barrier, at_collective };

/* A fiber, and the CUDA thread that it currently runs. */
struct Worker {
    Fiber fiber;
    State state;
    Lane lane; /* lane.thread: linear index in the block */
    uint3 index;
    const char *operation; /* operation it waits in, and its place in the source */
    Site site;
    unsigned mask; /* of the collective */
    Collective collective;
    int predicate; /* of the barrier vote */
    bool waited;   /* for the kernel before */
    AsyncCopies copies;
};

Worker launcher = {}; /* the operating system thread that runs the grid */
Worker *current = &launcher;
pthread_t launching_thread;
/* Plain arrays without destructors: a program may still run kernels while it exits. */
const int max_workers = max_block_threads + 1;
Worker *all_workers[max_workers], *idle_workers[max_workers];
int worker_count, idle_count;

Grid grid;
Schedule schedule;
uint64_t random_state;
cudaError_t failure;
char failure_message[900];

/* The running block. */
int thread_count, started, exited, waiting_at_barrier;
Worker *first_at_barrier;
int start_order[max_block_threads];
Worker *carrier[max_block_threads]; /* worker of each thread that has started and not exited */
unsigned arrived_lanes[max_block_threads / 32], exited_lanes[max_block_threads / 32];

/* Released threads that wait for their turn: a ring buffer, which holds each thread at most once. */
Worker *ready[max_block_threads];
unsigned ready_head, ready_count;

Worker *&ready_at(unsigned position) {
    return ready[(ready_head + position) % max_block_threads];
}

void worker_loop();

unsigned random_below(unsigned bound) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)((random_state >> 33) % bound);
}

void resume(Worker *worker) {
    if (worker == current) return;
    Worker *self = current;
    current = worker;
    threadIdx = worker->index;
    fiber_switch(&self->fiber, &worker->fiber);
}

Worker *take_idle() {
    if (idle_count) return idle_workers[--idle_count];
    if (worker_count == max_workers) abort(); /* impossible: one worker per thread suffices */
    Worker *worker = new Worker();
    fiber_create(&worker->fiber, worker_loop);
    return all_workers[worker_count++] = worker;
}

void make_ready(Worker *worker) {
    worker->state = State::ready;
    ready_at(ready_count++) = worker;
}

Worker *take_ready() {
    if (schedule.order == Order::random) std::swap(ready_at(random_below(ready_count)), ready_at(0));
    Worker *worker = ready_at(0);
    ready_head++;
    ready_count--;
    return worker;
}

/* A plain buffer, because stop_kernel abandons its callers without running destructors. */
struct Where {
    char text[256];
    explicit Where(const Worker *worker) {
        snprintf(text, sizeof text, "thread %d waits in %s (%s:%d)", worker->lane.thread, worker->operation,
                 worker->site.file, worker->site.line);
    }
};

bool waits(const Worker *worker) {
    return worker && (worker->state == State::at_barrier || worker->state == State::at_collective);
}

/* Reports that no thread can run although some have not exited. Names each distinct place of waiting once, at most
 * four. */
[[noreturn]] void report_deadlock() {
    char places[500] = "";
    const Worker *last = nullptr;
    for (int i = 0, named = 0; i < thread_count && named < 4; i++) {
        const Worker *worker = carrier[i];
        if (!waits(worker)) continue;
        if (last && last->operation == worker->operation && last->site.line == worker->site.line &&
            last->mask == worker->mask)
            continue;
        const size_t length = strlen(places);
        snprintf(places + length, sizeof places - length, "%s%s", named++ ? "; " : "", Where(worker).text);
        last = worker;
    }
    stop_kernel(cudaErrorLaunchFailure, "deadlock: %d of %d threads have exited; %s", exited, thread_count, places);
}

/* Returns the worker to run next: a released one, an idle one that starts further threads, or at the end the
 * launcher. */
Worker *next_worker() {
    const bool can_start = started < thread_count;
    const bool rather_start = can_start && schedule.order == Order::random && random_below(2);
    if (ready_count && !rather_start) return take_ready();
    if (can_start) return take_idle();
    if (exited == thread_count) return &launcher;
    report_deadlock();
}

void wait_until_resumed() {
    resume(next_worker());
    current->state = State::running;
}

void thread_exits(Worker *worker) {
    const int thread = worker->lane.thread;
    worker->state = State::idle;
    carrier[thread] = nullptr;
    exited++;
    exited_lanes[thread / 32] |= 1u << thread % 32;
    if (worker->copies.pending())
        stop_kernel(cudaErrorLaunchFailure, "thread %d exits with cp.async copies that it never waited for", thread);
    if (grid.kernel.overlaps && !worker->waited)
        stop_kernel(cudaErrorLaunchFailure,
                    "thread %d exits without after_previous(), although it may overlap the kernel before", thread);
    if (waiting_at_barrier)
        stop_kernel(cudaErrorLaunchFailure, "divergent barrier: thread %d exits while %s", thread,
                    Where(first_at_barrier).text);
}

void run_thread(Worker *worker, int thread) {
    worker->lane.thread = thread;
    worker->state = State::running;
    worker->copies.reset();
    worker->waited = false;
    carrier[thread] = worker;
    const unsigned index = (unsigned)thread;
    worker->index = {index % blockDim.x, index / blockDim.x % blockDim.y, index / (blockDim.x * blockDim.y)};
    threadIdx = worker->index;
    grid.kernel.trampoline(grid.function, grid.arguments);
    thread_exits(worker);
}

void worker_loop() {
    fiber_entered();
    for (;;) {
        while (started < thread_count && !ready_count) run_thread(current, start_order[started++]);
        Worker *self = current;
        idle_workers[idle_count++] = self;
        Worker *next = next_worker();
        if (next == self) continue; /* next_worker took this worker itself as the idle one */
        resume(next);
    }
}

void release_barrier() {
    int count = 0;
    for (int i = 0; i < thread_count; i++) count += carrier[i]->predicate != 0;
    for (int i = 0; i < thread_count; i++) {
        Worker *worker = carrier[start_order[i]];
        memcpy(worker->lane.output, &count, sizeof count);
        make_ready(worker);
    }
    waiting_at_barrier = 0;
    race_next_phase();
    traffic_block_meets();
}

/* Returns the number of threads of the block whose predicate is true. */
int wait_at_barrier(int predicate, const char *operation, Site site) {
    Worker *self = current;
    if (exited)
        stop_kernel(cudaErrorLaunchFailure, "divergent barrier: thread %d in %s (%s:%d), but %d threads have exited",
                    self->lane.thread, operation, site.file, site.line, exited);
    if (waiting_at_barrier &&
        (first_at_barrier->site.line != site.line || strcmp(first_at_barrier->site.file, site.file)))
        stop_kernel(cudaErrorLaunchFailure, "divergent barrier: thread %d in %s (%s:%d), but %s", self->lane.thread,
                    operation, site.file, site.line, Where(first_at_barrier).text);
    if (!waiting_at_barrier) first_at_barrier = self;
    self->state = State::at_barrier;
    self->operation = operation;
    self->site = site;
    self->mask = 0;
    self->predicate = predicate;
    if (++waiting_at_barrier == thread_count) release_barrier();
    wait_until_resumed();
    int count;
    memcpy(&count, self->lane.output, sizeof count);
    return count;
}

/* True if all lanes of the mask wait in this collective with this mask. With different masks, lanes that must meet
 * never will, and report_deadlock says so once no thread can run. Two different collectives under one mask are an
 * error at once. */
bool everyone_is_here(const Worker *self, int first_thread, Lane **lanes) {
    bool complete = true;
    for (int i = 0; i < 32; i++) {
        if (!(self->mask >> i & 1)) continue;
        Worker *other = carrier[first_thread + i];
        lanes[i] = &other->lane;
        if (other->mask != self->mask)
            complete = false;
        else if (other->collective != self->collective)
            stop_kernel(cudaErrorLaunchFailure, "warp divergence: thread %d in %s (%s:%d), but %s", self->lane.thread,
                        self->operation, self->site.file, self->site.line, Where(other).text);
    }
    return complete;
}

void reset_block() {
    started = exited = waiting_at_barrier = 0;
    ready_head = ready_count = 0;
    memset(arrived_lanes, 0, sizeof arrived_lanes);
    memset(exited_lanes, 0, sizeof exited_lanes);
    const bool reverse = schedule.order == Order::reverse;
    for (int i = 0; i < thread_count; i++) {
        carrier[i] = nullptr;
        start_order[i] = reverse ? thread_count - 1 - i : i;
    }
    if (schedule.order == Order::random)
        for (int i = thread_count - 1; i > 0; i--)
            std::swap(start_order[i], start_order[random_below((unsigned)i + 1)]);
    shared_reset(grid.shared_bytes, grid.max_shared_bytes);
}

/* Runs one block. Afterwards every fiber is idle, in worker_loop or restarted there. */
void run_block() {
    reset_block();
    race_next_block();
    resume(take_idle());
    traffic_block_meets();
    for (idle_count = 0; idle_count < worker_count; idle_count++) {
        Worker *worker = idle_workers[idle_count] = all_workers[idle_count];
        if (!failure) continue;
        fiber_restart(&worker->fiber, worker_loop);
        worker->state = State::idle;
    }
}

std::mutex registry_lock;
std::unordered_map<const void *, Kernel> &registry() {
    static auto *kernels = new std::unordered_map<const void *, Kernel>();
    return *kernels;
}

} // namespace

/* ---- what kernels call ---- */

void barrier(Site site) {
    wait_at_barrier(0, "__syncthreads", site);
}

int barrier_vote(int predicate, Vote vote, Site site) {
    const int count = wait_at_barrier(predicate, "__syncthreads_<vote>", site);
    if (vote == Vote::all) return count == thread_count;
    if (vote == Vote::any) return count != 0;
    return count;
}

int lane_index() {
    return current->lane.thread % 32;
}

void collect(Collective collective, const char *name, unsigned mask, const void *input, size_t input_size, void *output,
             size_t output_size, Site site) {
    Worker *self = current;
    const int warp = self->lane.thread / 32, first_thread = warp * 32;
    const int lanes_here = std::min(32, thread_count - first_thread);
    const unsigned own_bit = 1u << lane_index(), all_lanes = ~0u >> (32 - lanes_here);
    mask &= all_lanes; /* a GPU ignores lanes that a partial warp lacks */
    if (!(mask & own_bit))
        stop_kernel(cudaErrorLaunchFailure, "thread %d calls %s (%s:%d) but is not in its mask %08x", self->lane.thread,
                    name, site.file, site.line, mask);
    if (mask & exited_lanes[warp])
        stop_kernel(cudaErrorLaunchFailure, "%s (%s:%d): the mask %08x names lanes %08x that have exited", name,
                    site.file, site.line, mask, mask & exited_lanes[warp]);
    if (input_size) memcpy(self->lane.input, input, input_size);
    self->state = State::at_collective;
    self->operation = name;
    self->site = site;
    self->mask = mask;
    self->collective = collective;
    arrived_lanes[warp] |= own_bit;

    Lane *lanes[32] = {};
    if ((arrived_lanes[warp] & mask) == mask && everyone_is_here(self, first_thread, lanes)) {
        collective(lanes, mask);
        arrived_lanes[warp] &= ~mask;
        if (collective == synchronize_warp) race_next_warp(warp);
        if ((mask | exited_lanes[warp]) == all_lanes) traffic_warp_meets(warp);
        for (int i = 0; i < 32; i++)
            if (mask >> i & 1 && (1u << i) != own_bit) make_ready(carrier[first_thread + i]);
        self->state = State::running;
    } else {
        wait_until_resumed();
    }
    if (output_size) memcpy(output, self->lane.output, output_size);
}

void note_wait() {
    current->waited = true;
}

void trap(Site site) {
    stop_kernel(cudaErrorLaunchFailure, "__trap() at %s:%d", site.file, site.line);
}

void copy_async(void *shared, const void *global, size_t size, size_t valid, Site site) {
    current->copies.start(current->lane.thread, shared, global, size, valid, site, __builtin_return_address(0));
}
void copy_async_commit() {
    current->copies.commit();
}
void copy_async_wait(int groups_left) {
    current->copies.wait(current->lane.thread, groups_left);
}

/* ---- what the API and the checks call ---- */

void register_kernel(const void *kernel, Trampoline trampoline, const size_t *argument_sizes, int argument_count,
                     Site site, bool overlaps) {
    std::lock_guard<std::mutex> guard(registry_lock);
    registry()[kernel] = {trampoline, argument_sizes, argument_count, site, overlaps};
}

bool find_kernel(const void *function, Kernel *kernel) {
    std::lock_guard<std::mutex> guard(registry_lock);
    const auto found = registry().find(function);
    if (found == registry().end()) return false;
    *kernel = found->second;
    return true;
}

bool in_kernel() {
    return current != &launcher && pthread_equal(pthread_self(), launching_thread);
}

int current_thread() {
    return current->lane.thread;
}

bool on_current_stack(uintptr_t address) {
    const uintptr_t stack = (uintptr_t)current->fiber.stack;
    return address >= stack && address < stack + current->fiber.stack_size;
}

void stop_kernel(cudaError_t code, const char *format, ...) {
    char what[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    failure = code;
    snprintf(failure_message, sizeof failure_message,
             "%s; kernel launched at %s:%d, block (%u,%u,%u), thread (%u,%u,%u)", what, grid.kernel.site.file,
             grid.kernel.site.line, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z);
    if (schedule.stop_at_failure) {
        fprintf(stderr, "simulated CUDA device: %s\n", failure_message);
        abort();
    }
    resume(&launcher); /* run_block restarts this fiber: resume does not return */
    abort();
}

const char *failure_text() {
    return failure_message;
}

int running_device() {
    return grid.device;
}

cudaError_t run_grid(const Grid &new_grid, const Schedule &new_schedule) {
    install_fault_handlers();
    const FaultStack fault_stack;
    grid = new_grid;
    schedule = new_schedule;
    random_state = 88172645463325252ull ^ schedule.seed * 0x9e3779b97f4a7c15ull;
    gridDim = grid.grid;
    blockDim = grid.block;
    thread_count = (int)(blockDim.x * blockDim.y * blockDim.z);
    failure = cudaSuccess;
    launching_thread = pthread_self();
    race_next_launch();
    traffic_next_launch(grid.function, schedule.meter_traffic);
    const HeapAccess access(grid.device);
    const uint64_t blocks = (uint64_t)gridDim.x * gridDim.y * gridDim.z;
    for (uint64_t i = 0; i < blocks && !failure; i++) {
        const uint64_t block = schedule.order == Order::reverse ? blocks - 1 - i : i;
        blockIdx = {(unsigned)(block % gridDim.x), (unsigned)(block / gridDim.x % gridDim.y),
                    (unsigned)(block / ((uint64_t)gridDim.x * gridDim.y))};
        run_block();
    }
    shared_reset(0, 0);
    return failure;
}

} // namespace cudasim
