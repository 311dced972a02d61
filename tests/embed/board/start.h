/* start.h - the part of a board's start that does not depend on the processor. */
#ifndef TORT_TESTS_EMBED_START_H
#define TORT_TESTS_EMBED_START_H

#include <stdint.h>

/* Symbols of board.ld.in: only their addresses mean something. */
extern uint32_t board_stack_top[];

/* Prepares memory for C, runs main and ends the emulator with its result. Needs a stack and, where there is one, the
 * FPU: the compiler may use its registers anywhere. */
void board_start(void);

/* Reports an exception and ends the emulator with status 3. */
void board_fault(const char *name, uint32_t cause);

#endif
