/* start.c - copies initial values of variables to RAM, clears the others, and runs main (start.h). */
#include "tests/embed/board/start.h"

#include "tests/embed/board/host.h"
#include "tests/embed/board/semihost.h"

extern uint32_t board_data_image[], board_data_start[], board_data_end[], board_bss_start[], board_bss_end[];
int main(void);

/* The stores are volatile: otherwise the compiler makes memcpy and memset of these loops, which would count as
 * functions of the library that a model needs. */
void board_start(void) {
    const uint32_t *from = board_data_image;
    for (volatile uint32_t *to = board_data_start; to < board_data_end; to++) *to = *from++;
    for (volatile uint32_t *to = board_bss_start; to < board_bss_end; to++) *to = 0;
    semihost_exit(main());
}

void board_fault(const char *name, uint32_t cause) {
    static const char digits[] = "0123456789abcdef";
    char text[] = "00000000\n";
    for (int i = 7; i >= 0; i--, cause >>= 4) text[i] = digits[cause & 15u];
    host_print(name);
    host_print(text);
    semihost_exit(3);
}
