/* fiber.cpp - fibers: a stack each, and a switch between them in a dozen instructions.
 *
 * swapcontext would work, but calls the kernel for the signal mask at each switch, which is 20 times slower; C++
 * coroutines would turn every device function that may wait into a coroutine. This file does not depend on CUDA.
 * AddressSanitizer is informed of each switch. Read next: block.cpp, which runs CUDA threads on fibers. */
#include "kernels/cudasim/sim.h"

#include <stdlib.h>
#include <sys/mman.h>
#ifdef CUDASIM_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

#ifndef __x86_64__
#error "the simulated CUDA device switches stacks in x86-64 assembly; build without it on this machine"
#endif

/* Pushes the callee-saved registers, stores the stack pointer in *save, and continues where `to` stopped. */
extern "C" void cudasim_switch(void **save, void *to) __attribute__((visibility("hidden")));
asm(".text\n"
    ".hidden cudasim_switch\n"
    ".globl cudasim_switch\n"
    ".type cudasim_switch, @function\n"
    "cudasim_switch:\n"
    "    push %rbp\n"
    "    push %rbx\n"
    "    push %r12\n"
    "    push %r13\n"
    "    push %r14\n"
    "    push %r15\n"
    "    mov %rsp, (%rdi)\n"
    "    mov %rsi, %rsp\n"
    "    pop %r15\n"
    "    pop %r14\n"
    "    pop %r13\n"
    "    pop %r12\n"
    "    pop %rbx\n"
    "    pop %rbp\n"
    "    ret\n"
    ".size cudasim_switch, . - cudasim_switch\n");

namespace cudasim {

namespace {

const size_t guard_bytes = 256 << 10; /* below each stack: an overflow faults, even by a large frame */
#ifdef CUDASIM_ASAN
const size_t stack_bytes = 256 << 10; /* frames grow by their red zones */
#else
const size_t stack_bytes = 64 << 10;
#endif

const int saved_registers = 6;

Fiber *switched_from;

} // namespace

/* Completes a switch. AddressSanitizer reports the bounds of the stack that was left, which is the only source of
 * the bounds of an operating system thread's. */
static void finish_switch(void *asan_stack) {
#ifdef CUDASIM_ASAN
    const void *bottom;
    size_t size;
    __sanitizer_finish_switch_fiber(asan_stack, &bottom, &size);
    if (switched_from->owns_stack) return;
    switched_from->stack = (char *)const_cast<void *>(bottom);
    switched_from->stack_size = size;
#else
    (void)asan_stack;
#endif
}

void fiber_entered() {
    finish_switch(nullptr);
}

void fiber_restart(Fiber *fiber, void (*entry)()) {
    ASAN_UNPOISON_MEMORY_REGION(fiber->stack, fiber->stack_size);
    /* Stacks lie at multiples of a large power of two; without the shift, their tops would share one cache set. */
    const size_t shift = 64 + (uintptr_t)fiber->stack / stack_bytes % 61 * 320;
    void **top = (void **)(fiber->stack + fiber->stack_size - shift);
    *--top = nullptr; /* in place of a return address; keeps the alignment of the ABI */
    *--top = (void *)entry;
    for (int i = 0; i < saved_registers; i++) *--top = nullptr;
    fiber->stack_pointer = top;
}

void fiber_create(Fiber *fiber, void (*entry)()) {
    char *memory = (char *)mmap(nullptr, stack_bytes + guard_bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, guard_bytes, PROT_NONE)) abort();
    fiber->stack = memory + guard_bytes;
    fiber->stack_size = stack_bytes;
    fiber->owns_stack = true;
    fiber_restart(fiber, entry);
}

void fiber_switch(Fiber *from, Fiber *to) {
    void *asan_stack = nullptr;
    switched_from = from;
#ifdef CUDASIM_ASAN
    __sanitizer_start_switch_fiber(&asan_stack, to->stack, to->stack_size);
#endif
    cudasim_switch(&from->stack_pointer, to->stack_pointer);
    finish_switch(asan_stack);
}

} // namespace cudasim
