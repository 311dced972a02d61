/* start_arm.c - vector table and reset of a Cortex-M. */
#include "tests/embed/board/start.h"

#define CPACR (*(volatile uint32_t *)0xE000ED88u)      /* access to coprocessors */
#define CFSR (*(const volatile uint32_t *)0xE000ED28u) /* status of configurable faults */

static void fault(void) {
    board_fault("fault, CFSR ", CFSR);
}

/* Coprocessors 10 and 11 are the FPU and MVE. */
void reset_handler(void);
void reset_handler(void) {
    CPACR |= 0xFu << 20;
    __asm__ volatile("dsb\n"
                     "isb");
#if defined(__ARM_FEATURE_MVE)
    /* FPSCR.LTPSIZE = 4, as the calling convention asks: no loop tail is predicated until a loop says so. */
    __asm__ volatile("vmrs r0, fpscr\n"
                     "bic r0, r0, #0x70000\n"
                     "orr r0, r0, #0x40000\n"
                     "vmsr fpscr, r0" ::
                         : "r0");
#endif
    board_start();
}

typedef union vector {
    const void *stack;
    void (*handler)(void);
} vector;

__attribute__((section(".vectors"), used)) static const vector vectors[16] = {
    {.stack = board_stack_top}, {.handler = reset_handler}, {.handler = fault}, {.handler = fault},
    {.handler = fault},         {.handler = fault},         {.handler = fault},
};
