/* ticks.h - a counter of instructions on emulated boards, which `qemu -icount shift=0` lets run by one nanosecond an
 * instruction: a timer of 25 MHz counts 40 of them, RISC-V counts each. Elsewhere it stays 0. */
#ifndef TORT_TESTS_EMBED_TICKS_H
#define TORT_TESTS_EMBED_TICKS_H

#include <stdint.h>

#if defined(__ARM_ARCH_PROFILE) /* timer 0 of CMSDK, which counts down */
enum { TICKS_TIMER = 0x40000000, INSTRUCTIONS_A_TICK = 40 };
#define TICKS_REGISTER(offset) (*(volatile uint32_t *)(uintptr_t)(TICKS_TIMER + (offset)))

static inline void ticks_begin(void) {
    TICKS_REGISTER(8) = 0xFFFFFFFFu;
    TICKS_REGISTER(4) = 0xFFFFFFFFu;
    TICKS_REGISTER(0) = 1;
}

static inline uint32_t ticks(void) {
    return 0u - TICKS_REGISTER(4);
}
#elif defined(__riscv)
enum { INSTRUCTIONS_A_TICK = 1 };

static inline void ticks_begin(void) {}

static inline uint32_t ticks(void) {
    uint32_t count;
    __asm__ volatile("csrr %0, instret" : "=r"(count));
    return count;
}
#else
enum { INSTRUCTIONS_A_TICK = 1 };

static inline void ticks_begin(void) {}

static inline uint32_t ticks(void) {
    return 0;
}
#endif

#endif
