/* main.c - a board that runs the model for `tinyort validate`: an emulated one with a Cortex-M4 (MPS2), whose UART and
 * timer stand in the place of yours. On a chip with DWT, board_ticks returns DWT->CYCCNT. */
#include <stdint.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define UART_DATA REGISTER(0x40004000u)
#define UART_STATE REGISTER(0x40004004u) /* bit 0: no byte can be sent yet; bit 1: one has come */
#define UART_CONTROL REGISTER(0x40004008u)
#define UART_DIVIDER REGISTER(0x40004010u)
#define TIMER_CONTROL REGISTER(0x40000000u)
#define TIMER_VALUE REGISTER(0x40000004u) /* counts down at 25 MHz */
#define TIMER_RELOAD REGISTER(0x40000008u)

void gesture_serve(void); /* of gesture_serial.c, which calls the three below */
int board_read(void);
void board_write(int byte);
uint32_t board_ticks(void);

int board_read(void) {
    while (!(UART_STATE & 2u)) {}
    return (int)(UART_DATA & 0xFFu);
}

void board_write(int byte) {
    while (UART_STATE & 1u) {}
    UART_DATA = (uint32_t)byte;
}

uint32_t board_ticks(void) {
    return 0u - TIMER_VALUE;
}

int main(void) {
    UART_DIVIDER = 217; /* 25 MHz / 115,200 */
    UART_CONTROL = 3;
    TIMER_RELOAD = 0xFFFFFFFFu;
    TIMER_VALUE = 0xFFFFFFFFu;
    TIMER_CONTROL = 1;
    for (;;) gesture_serve();
}
