/* serial_board.c - the functions that a program of `compile --serial` asks of a board, for emulated boards and, with
 * the standard input and output as its line, for this machine. */
#include "tests/embed/board/ticks.h"

#include <stdint.h>

int board_read(void);
void board_write(int byte);
uint32_t board_ticks(void);
void net_serve(void);

#if defined(__ARM_ARCH_PROFILE) /* an MPS2 board: UART 0 of CMSDK */
#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))
enum { UART = 0x40004000 };

static void begin(void) {
    REGISTER(UART + 0x10) = 16; /* divides the clock: the emulator does not look at it, but takes nothing below 16 */
    REGISTER(UART + 0x8) = 3;   /* sends and receives */
}

int board_read(void) {
    while (!(REGISTER(UART + 0x4) & 2u)) {}
    return (int)(REGISTER(UART) & 0xFFu);
}

void board_write(int byte) {
    while (REGISTER(UART + 0x4) & 1u) {}
    REGISTER(UART) = (uint32_t)byte;
}
#elif defined(__riscv) /* qemu's virt: a 16550 */
#define REGISTER(offset) (*(volatile uint8_t *)(uintptr_t)(0x10000000 + (offset)))

static void begin(void) {}

int board_read(void) {
    while (!(REGISTER(5) & 1u)) {}
    return REGISTER(0);
}

void board_write(int byte) {
    while (!(REGISTER(5) & 0x20u)) {}
    REGISTER(0) = (uint8_t)byte;
}
#else
#include <stdlib.h>
#include <unistd.h>

static void begin(void) {}

int board_read(void) {
    unsigned char byte;
    if (read(0, &byte, 1) != 1) exit(0); /* the other end is gone */
    return byte;
}

void board_write(int byte) {
    const unsigned char put = (unsigned char)byte;
    if (write(1, &put, 1) != 1) exit(0);
}
#endif

uint32_t board_ticks(void) {
    static uint32_t calls;
    calls += 100; /* where there is no counter, a step takes a hundred */
    return INSTRUCTIONS_A_TICK * ticks() + (ticks() ? 0 : calls);
}

int main(void) {
    begin();
    ticks_begin();
    for (;;) net_serve();
}
