/* startup.c - vector table and reset of a Cortex-M4: the FPU on, variables in place, then main. */
#include <stdint.h>

#include "semihosting.h"

#define CPACR (*(volatile uint32_t *)0xE000ED88u) /* access to coprocessors; 10 and 11 are the FPU */

/* Symbols of board.ld: only their addresses mean something. */
extern uint32_t stack_top[], data_image[], data_start[], data_end[], bss_start[], bss_end[];
int main(void);

static void fault(void) {
    print("fault\n");
    leave(3);
}

void reset_handler(void);
void reset_handler(void) {
    CPACR |= 0xFu << 20;
    __asm__ volatile("dsb\n"
                     "isb");
    const uint32_t *from = data_image;
    for (uint32_t *to = data_start; to < data_end; to++) *to = *from++;
    for (uint32_t *to = bss_start; to < bss_end; to++) *to = 0;
    leave(main());
}

typedef union vector {
    const void *stack;
    void (*handler)(void);
} vector;

/* NMI, HardFault, MemManage, BusFault and UsageFault follow the reset. */
__attribute__((section(".vectors"), used)) static const vector vectors[16] = {
    {.stack = stack_top}, {.handler = reset_handler}, {.handler = fault}, {.handler = fault},
    {.handler = fault},   {.handler = fault},         {.handler = fault},
};
