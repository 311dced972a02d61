/* start_riscv.c - entry of a 32-bit RISC-V board in machine mode. */
#include "tests/embed/board/start.h"

__attribute__((used, aligned(4))) static void trap(void) {
    uint32_t cause;
    __asm__ volatile(".option arch, +zicsr\n"
                     "csrr %0, mcause"
                     : "=r"(cause));
    board_fault("trap, mcause ", cause);
}

/* Sets the pointers that compiled code relies on (gp: small variables, tp: the math library's errno), the stack and
 * the trap handler, and switches the FPU on (mstatus.FS). */
void reset_handler(void);
__attribute__((naked, section(".vectors"), used)) void reset_handler(void) {
    __asm__ volatile(".option arch, +zicsr\n"
                     ".option push\n"
                     ".option norelax\n"
                     "la gp, __global_pointer$\n"
                     ".option pop\n"
                     "la tp, board_tls\n"
                     "la sp, board_stack_top\n"
                     "la t0, trap\n"
                     "csrw mtvec, t0\n"
                     "li t0, 0x6000\n"
                     "csrs mstatus, t0\n"
                     "j board_start");
}
