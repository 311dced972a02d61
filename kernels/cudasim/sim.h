/* sim.h - interfaces between the parts of the simulated device: fibers, the running block, shared memory, the device
 * heaps, the race checker, the traffic meter. Kernels include device.h, host code cudart.h, tests control.h; none of
 * them includes this.
 *
 * Everything here runs under the one lock of the fake API (api.h), so there is one running block and one clock.
 * Reading order: fiber.cpp, block.cpp, warp.cpp, fault.cpp, shared.cpp, heap.cpp, hooks.cpp, race.cpp, traffic.cpp;
 * then the API, api.h. */
#ifndef CUDASIM_SIM_H
#define CUDASIM_SIM_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string>

#include "kernels/cudasim/control.h"
#include "kernels/cudasim/device.h"

#if defined(__SANITIZE_ADDRESS__)
#define CUDASIM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CUDASIM_ASAN 1
#endif
#endif
#ifdef CUDASIM_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

namespace cudasim {

const int max_devices = 2;
const int max_block_threads = 1024;
const size_t max_static_shared = 48 << 10;
const unsigned char poison = 0xff; /* fill byte: NaN in every float type, -1 in every integer */

/* ---- fiber.cpp: stacks and switching between them ---- */

struct Fiber {
    void *stack_pointer;
    char *stack; /* lowest address; for an operating system thread, known only under AddressSanitizer */
    size_t stack_size;
    bool owns_stack; /* false: the operating system thread that launched */
};
/* The entry must call fiber_entered first, and must not return. */
void fiber_create(Fiber *fiber, void (*entry)());
void fiber_restart(Fiber *fiber, void (*entry)()); /* discards its position */
void fiber_entered();
void fiber_switch(Fiber *from, Fiber *to);

/* ---- block.cpp: runs grids, block after block ---- */

struct Kernel {
    Trampoline trampoline;
    const size_t *argument_sizes;
    int argument_count;
    Site site;     /* of its last launch */
    bool overlaps; /* its threads must call after_previous() */
};
bool find_kernel(const void *function, Kernel *kernel); /* false: launch() was never called with it */

enum class Order { forward, reverse, random };
struct Grid {
    const void *function;
    Kernel kernel;
    dim3 grid, block;
    size_t shared_bytes;
    void **arguments;
    int device;
    size_t max_shared_bytes; /* static and dynamic together */
};
struct Schedule {
    Order order;
    unsigned seed;
    bool stop_at_failure; /* abort(), for a debugger */
    bool meter_traffic;
};
/* Runs the grid to its end or to the first misbehaviour, which it returns; failure_text then explains it. */
cudaError_t run_grid(const Grid &grid, const Schedule &schedule);
const char *failure_text();

/* For checks that act on behalf of the running thread; stop_kernel abandons the whole grid. */
bool in_kernel();
int current_thread();
int running_device();
[[noreturn]] void stop_kernel(cudaError_t code, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool on_current_stack(uintptr_t address);

/* ---- fault.cpp: SIGSEGV and SIGFPE in a kernel stop that kernel ---- */

void install_fault_handlers(); /* calls after the first do nothing */

/* Gives this thread's signal handlers a stack of their own, since the fault may be a fiber's stack overflow. */
class FaultStack {
  public:
    FaultStack();
    ~FaultStack();

  private:
    stack_t previous;
    bool installed;
};

/* ---- shared.cpp ---- */

void shared_reset(size_t dynamic_bytes, size_t max_bytes); /* before each block, and after the last */
bool shared_contains(uintptr_t address);                   /* within the arena */
bool shared_owns(uintptr_t address, size_t size);          /* within one array */

/* ---- heap.cpp: one arena per device, accessible only while a kernel or a copy of that device runs ---- */

void *heap_allocate(int device, size_t bytes);    /* NULL: no room; aligned to 256 bytes, and no more */
bool heap_release(void *memory);                  /* false: not the start of a live buffer */
int heap_device(const void *memory);              /* device whose arena holds the address, or -1 */
bool heap_owns(const void *memory, size_t bytes); /* true if within one live buffer */
size_t heap_live_bytes(int device);
size_t heap_live_buffers(int device);
void heap_open(int device);
void heap_close(int device);

struct HeapAccess {
    int device;
    explicit HeapAccess(int device_) : device(device_) {
        if (device >= 0) heap_open(device);
    }
    ~HeapAccess() {
        if (device >= 0) heap_close(device);
    }
    HeapAccess(const HeapAccess &) = delete;
    HeapAccess &operator=(const HeapAccess &) = delete;
};

/* ---- hooks.cpp: callbacks of kernels compiled with -fsanitize=thread; unused in other programs ---- */

enum class Access { read, write, atomic };
const char *access_verb(Access access);
void note_access(int thread, const void *address, size_t size, Access access, const void *code);
bool races_checked();

/* ---- race.cpp ---- */

void race_next_launch();
void race_next_block();
void race_next_phase();        /* after a block-wide barrier */
void race_next_warp(int warp); /* after a warp-wide barrier */
void race_access(int thread, const void *address, size_t size, Access access, const void *code);
void race_meet_at(const void *counter); /* at an atomic operation */
void race_fence();
void race_forget(const void *address, size_t size); /* freed memory */

/* ---- traffic.cpp ---- */

typedef cudasim_traffic_counts Traffic;
void traffic_reset();
void traffic_next_launch(const void *kernel, bool metered);
bool traffic_metered(); /* true if the running launch is metered */
void traffic_access(int thread, const void *address, size_t size, Access access, const void *code);
void traffic_warp_meets(int warp); /* all its running lanes have met */
void traffic_block_meets();        /* all threads have met, or exited */
size_t traffic_of_kernels(cudasim_traffic *rows, size_t max);

/* ---- names.cpp ---- */

std::string kernel_name(const void *kernel); /* e.g. "softmax_rows<float>", if the symbol table has it */

} // namespace cudasim
#endif
