/* stack.c - the stack that printed functions need besides NAME_state, by processor: stack.inc, which
 * tests/embed/stack.py makes of gcc's account of -O2 and -Os. */
#include "kernels/firmware/firmware.h"

#include <string.h>

enum { PROCESSORS = 9 };

/* In the order of stack.inc; others have the code of one of these. */
static const struct {
    const char *name;
    int32_t column;
} processors[] = {{"cortex-m0plus", 0}, {"cortex-m3", 1}, {"cortex-m23", 2}, {"cortex-m4", 3},
                  {"cortex-m33", 3},    {"cortex-m7", 4}, {"cortex-m55", 5}, {"cortex-m85", 5},
                  {"riscv32", 6},       {"rv32imac", 7},  {"cortex-a53", 8}};

static const struct {
    const char *function;
    int16_t bytes[PROCESSORS]; /* -1: not known */
} table[] = {
#include "kernels/firmware/stack.inc"
};

static int32_t bytes_of(const char *function, int32_t column) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].function, function)) return table[i].bytes[column];
    return -1;
}

uint32_t tort_firmware_stack(const char *processor, const char *function, bool banded) {
    for (size_t i = 0; processor && i < sizeof processors / sizeof *processors; i++) {
        if (strcmp(processors[i].name, processor) != 0) continue;
        const int32_t own = bytes_of(function, processors[i].column);
        const int32_t above = bytes_of(banded ? "net_run in bands" : "net_run", processors[i].column);
        return own < 0 || above < 0 ? TORT_FIRMWARE_NO_STACK : (uint32_t)(own + above);
    }
    return TORT_FIRMWARE_NO_STACK;
}
