/* hooks.cpp - callbacks of kernels compiled with -fsanitize=thread, at each memory access.
 *
 * Only the compiler pass of ThreadSanitizer is used; its runtime is not linked. An access is reported to the race
 * checker, or to the traffic meter while a metered launch runs. Read next: race.cpp, traffic.cpp. */
#include "kernels/cudasim/sim.h"

namespace cudasim {

namespace {

bool instrumented;

void hook(const void *address, size_t size, Access access, const void *code, bool must_be_aligned = true) {
    if (!in_kernel()) return;
    if (must_be_aligned && (uintptr_t)address % size)
        stop_kernel(cudaErrorMisalignedAddress, "misaligned: kernel %s %zu bytes at %p (code %p)", access_verb(access),
                    size, address, code);
    note_access(current_thread(), address, size, access, code);
}

} // namespace

const char *access_verb(Access access) {
    return access == Access::read ? "reads" : "writes";
}

bool races_checked() {
    return instrumented && !traffic_metered();
}

void note_access(int thread, const void *address, size_t size, Access access, const void *code) {
    if (!instrumented) return;
    if (traffic_metered())
        traffic_access(thread, address, size, access, code);
    else
        race_access(thread, address, size, access, code);
}

void note_atomic(const void *address, size_t size) {
    hook(address, size, Access::atomic, __builtin_return_address(0));
    if (races_checked()) race_meet_at(address);
}

void note_fence() {
    if (races_checked()) race_fence();
}

extern "C" {
#pragma GCC visibility push(hidden)

#define CUDASIM_HOOKS(size)                                                                                            \
    void __tsan_read##size(const void *address) {                                                                      \
        hook(address, size, Access::read, __builtin_return_address(0));                                                \
    }                                                                                                                  \
    void __tsan_write##size(const void *address) {                                                                     \
        hook(address, size, Access::write, __builtin_return_address(0));                                               \
    }                                                                                                                  \
    void __tsan_read_write##size(const void *address) {                                                                \
        hook(address, size, Access::write, __builtin_return_address(0));                                               \
    }                                                                                                                  \
    void __tsan_unaligned_read##size(const void *address) {                                                            \
        hook(address, size, Access::read, __builtin_return_address(0), false);                                         \
    }                                                                                                                  \
    void __tsan_unaligned_write##size(const void *address) {                                                           \
        hook(address, size, Access::write, __builtin_return_address(0), false);                                        \
    }
CUDASIM_HOOKS(1)
CUDASIM_HOOKS(2)
CUDASIM_HOOKS(4)
CUDASIM_HOOKS(8)
CUDASIM_HOOKS(16)
#undef CUDASIM_HOOKS

/* Called by every instrumented file before main. */
void __tsan_init() {
    instrumented = true;
}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
/* Copies and fills of whole structs. For compilers that call memcpy nevertheless, the build renames it in kernel
 * objects. */
void *__tsan_memcpy(void *to, const void *from, size_t size) {
    if (size) hook(from, size, Access::read, __builtin_return_address(0), false);
    if (size) hook(to, size, Access::write, __builtin_return_address(0), false);
    return memcpy(to, from, size);
}
void *__tsan_memset(void *to, int value, size_t size) {
    if (size) hook(to, size, Access::write, __builtin_return_address(0), false);
    return memset(to, value, size);
}
void *__tsan_memmove(void *to, const void *from, size_t size) {
    if (size) hook(from, size, Access::read, __builtin_return_address(0), false);
    if (size) hook(to, size, Access::write, __builtin_return_address(0), false);
    return memmove(to, from, size);
}

#pragma GCC visibility pop
}

} // namespace cudasim
