/* main.c - classifies samples with a compiled model, and tells how many are right and how many instructions that took.
 *
 * The samples are constants of this program (TEST and RIGHT name the files). A model with --io integer gets them as
 * QuantizeLinear would round them; its outputs become floats again, so both kinds print the hash of the same floats.
 * Timer 0 of the board counts at 25 MHz; `qemu -icount shift=0` executes an instruction a nanosecond: 40 are a tick. */
#include <stdint.h>

#include "net.h"
#include "semihosting.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define TIMER_CONTROL REGISTER(0x40000000u)
#define TIMER_VALUE REGISTER(0x40000004u) /* counts down */
#define TIMER_RELOAD REGISTER(0x40000008u)
enum { INSTRUCTIONS_A_TICK = 40 };

#ifdef NET_IN0_SCALE
#define TO_INPUT(value) net_in0_quantize(value)
#define OF_OUTPUT(value) net_out0_dequantize(value)
#else
#define TO_INPUT(value) (value)
#define OF_OUTPUT(value) (value)
#endif

__asm__(".section .rodata.samples, \"a\"\n"
        ".balign 4\n"
        "test_begin: .incbin \"" TEST "\"\n"
        "right_begin: .incbin \"" RIGHT "\"\n"
        "right_end:\n"
        ".text\n");
extern const float test_begin[];
extern const uint8_t right_begin[], right_end[];

static unsigned char arena[NET_ARENA_BYTES] __attribute__((aligned(NET_ARENA_ALIGN)));
static NET_IN0_TYPE input[NET_IN0_SIZE];
static NET_OUT0_TYPE output[NET_OUT0_SIZE];

static void print_number(uint32_t number, uint32_t base) {
    char text[12];
    int at = sizeof text - 1;
    text[at] = '\0';
    do {
        text[--at] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number);
    print(text + at);
}

/* FNV-1a over the bytes of a float. */
static uint32_t hash_float(uint32_t hash, float value) {
    union {
        float value;
        unsigned char bytes[4];
    } it = {value};
    for (int i = 0; i < 4; i++) hash = (hash ^ it.bytes[i]) * 16777619u;
    return hash;
}

int main(void) {
    const uint32_t count = (uint32_t)(right_end - right_begin);
    uint32_t right = 0, hash = 2166136261u;
    uint64_t ticks = 0;
    TIMER_RELOAD = 0xFFFFFFFFu;
    TIMER_VALUE = 0xFFFFFFFFu;
    TIMER_CONTROL = 1;
    for (uint32_t n = 0; n < count; n++) {
        for (int i = 0; i < NET_IN0_SIZE; i++) input[i] = TO_INPUT(test_begin[n * NET_IN0_SIZE + (uint32_t)i]);
        const uint32_t begin = TIMER_VALUE;
        if (net_run(input, output, arena)) return 1;
        ticks += begin - TIMER_VALUE;
        int best = 0;
        for (int i = 0; i < NET_OUT0_SIZE; i++) {
            if (output[i] > output[best]) best = i;
            hash = hash_float(hash, OF_OUTPUT(output[i]));
        }
        right += best == right_begin[n];
    }
    print("right         ");
    print_number(right, 10);
    print(" of ");
    print_number(count, 10);
    print("\ninstructions  ");
    print_number((uint32_t)(ticks * INSTRUCTIONS_A_TICK / count), 10);
    print("\narena         ");
    print_number(NET_ARENA_BYTES, 10);
    print("\noutputs       ");
    print_number(hash, 16);
    print("\n");
    return 0;
}
