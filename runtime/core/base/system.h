/* system.h - what differs between processors and C libraries: names for descriptions, a rest in a loop that waits, and
 * subnormal numbers as 0. A port to another system begins here. (Instruction sets of kernels are the matter of
 * kernels/cpu.)
 *
 * From tort_subnormals_off on the calling thread takes subnormal numbers as 0, and makes 0 in their place; it returns
 * the mode before, for tort_subnormals_restore. */
#ifndef TORT_RUNTIME_BASE_SYSTEM_H
#define TORT_RUNTIME_BASE_SYSTEM_H

#include <stdint.h>
#include <stdlib.h> /* of which glibc makes itself known */

/* musl is the library that does not name itself. */
#if defined(__GLIBC__)
#define TORT_LIBC "glibc"
#else
#define TORT_LIBC "musl"
#endif

/* Stack of a thread of the pool, in bytes: glibc would give 8 MB, musl 128 kB, which a frame of a kernel may exceed. */
#define TORT_THREAD_STACK ((size_t)1 << 20)

#if defined(__x86_64__)

#define TORT_ARCHITECTURE "x86-64"

static inline void tort_rest_a_moment(void) {
    __builtin_ia32_pause();
}

/* MXCSR: flush to zero, denormals are zero. */
static inline uint64_t tort_subnormals_off(void) {
    const uint32_t mode = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(mode | 0x8040);
    return mode;
}

static inline void tort_subnormals_restore(uint64_t mode) {
    __builtin_ia32_ldmxcsr((uint32_t)mode);
}

#elif defined(__aarch64__) || (defined(__arm__) && defined(__VFP_FP__))

/* Bit 24 of FPCR, or FPSCR, flushes to zero, which is both; NEON of 32 bits always flushes. */
#ifdef __aarch64__
#define TORT_ARCHITECTURE "aarch64"
#define TORT_GET_FLOAT_MODE "mrs %0, fpcr"
#define TORT_SET_FLOAT_MODE "msr fpcr, %0"
#else
#define TORT_ARCHITECTURE "arm"
#define TORT_GET_FLOAT_MODE "vmrs %0, fpscr"
#define TORT_SET_FLOAT_MODE "vmsr fpscr, %0"
#endif

static inline void tort_rest_a_moment(void) {
    __asm__ volatile("yield");
}

static inline uint64_t tort_subnormals_off(void) {
    uintptr_t mode;
    __asm__ volatile(TORT_GET_FLOAT_MODE : "=r"(mode));
    __asm__ volatile(TORT_SET_FLOAT_MODE : : "r"(mode | 1u << 24));
    return mode;
}

static inline void tort_subnormals_restore(uint64_t mode) {
    __asm__ volatile(TORT_SET_FLOAT_MODE : : "r"((uintptr_t)mode));
}

#else /* subnormal numbers stay: RISC-V, for one, has no such mode */

#if defined(__riscv) && __riscv_xlen == 64
#define TORT_ARCHITECTURE "riscv64"
#else
#define TORT_ARCHITECTURE "unknown"
#endif

static inline void tort_rest_a_moment(void) {}

static inline uint64_t tort_subnormals_off(void) {
    return 0;
}

static inline void tort_subnormals_restore(uint64_t mode) {
    (void)mode;
}

#endif

#endif
