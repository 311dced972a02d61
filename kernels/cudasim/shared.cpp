/* shared.cpp - the running block's __shared__ memory: one arena, red zones between arrays, poison in fresh ones.
 *
 * Under clang++ -femulated-tls each use of a __shared__ array calls __emutls_get_address; its replacement here gives
 * every block fresh arrays of exactly the declared size. g++ has no such option: there only dynamic shared memory
 * lies in the arena, and __shared__ arrays are thread-local variables that the checks do not see. Read next:
 * heap.cpp. */
#include "kernels/cudasim/sim.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <vector>

namespace cudasim {

/* The compiler's record of a thread-local variable; the ABI of its runtime library fixes the layout. */
struct EmulatedTls {
    size_t size, alignment;
    void *address; /* free for our use: the array's address in this block; NULL before its first use */
    void *initial;
};

namespace {

const size_t arena_bytes = 1 << 20; /* several times a block's limit, for the red zones */
const size_t red_zone = 64;

struct Array {
    char *start;
    size_t size;
    EmulatedTls *variable; /* NULL for dynamic shared memory */
};

char *arena, *top;
size_t static_bytes, dynamic_bytes, max_bytes;
char *dynamic_start;
std::vector<Array> arrays;

char *place(size_t size, EmulatedTls *variable) {
    const uintptr_t alignment = 128;
    char *start = (char *)(((uintptr_t)top + red_zone + alignment - 1) & ~(alignment - 1));
    if (start + size + red_zone > arena + arena_bytes)
        stop_kernel(cudaErrorLaunchOutOfResources, "shared memory: %zu bytes more do not fit", size);
    ASAN_UNPOISON_MEMORY_REGION(start, size);
    memset(start, poison, size);
    top = start + size;
    arrays.push_back({start, size, variable});
    return start;
}

} // namespace

extern "C" __attribute__((visibility("hidden"))) void *__emutls_get_address(EmulatedTls *variable) {
    if (variable->address) return variable->address;
    if (!in_kernel()) abort(); /* a thread-local variable outside a kernel: kernel files have none */
    static_bytes += variable->size;
    if (static_bytes > max_static_shared)
        stop_kernel(cudaErrorLaunchOutOfResources, "__shared__ arrays take %zu bytes, more than %zu", static_bytes,
                    max_static_shared);
    if (static_bytes + dynamic_bytes > max_bytes)
        stop_kernel(cudaErrorLaunchOutOfResources, "shared memory: %zu bytes static and %zu dynamic, more than %zu",
                    static_bytes, dynamic_bytes, max_bytes);
    return variable->address = place(variable->size, variable);
}

void *dynamic_shared_memory() {
    if (!dynamic_start) dynamic_start = place(dynamic_bytes, nullptr);
    return dynamic_start;
}

void shared_reset(size_t new_dynamic_bytes, size_t new_max_bytes) {
    if (!arena) {
        void *memory = mmap(nullptr, arena_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) abort();
        arena = top = (char *)memory;
        ASAN_POISON_MEMORY_REGION(arena, arena_bytes);
    }
    for (const Array &array : arrays)
        if (array.variable) array.variable->address = nullptr;
    arrays.clear();
    ASAN_POISON_MEMORY_REGION(arena, (size_t)(top - arena));
    top = arena;
    static_bytes = 0;
    dynamic_bytes = new_dynamic_bytes;
    dynamic_start = nullptr;
    max_bytes = new_max_bytes;
}

#ifdef CUDASIM_EMULATED_TLS
bool shared_contains(uintptr_t address) {
    return address >= (uintptr_t)arena && address < (uintptr_t)arena + arena_bytes;
}
#else
/* __shared__ arrays are ordinary thread-local variables here, so any address may be shared. */
bool shared_contains(uintptr_t) {
    return true;
}
#endif

bool shared_owns(uintptr_t address, size_t size) {
    for (const Array &array : arrays)
        if (address >= (uintptr_t)array.start && address + size <= (uintptr_t)array.start + array.size) return true;
    return false;
}

} // namespace cudasim
