/* harness.c - runs a compiled model twice, writes its outputs, and prints its result and the depth of its stack.
 *
 * The arena holds other bytes before each run, and the outputs must be the same: a model that read what it had not
 * written would differ. The second run is measured, so that whatever happens once is not in its instructions. */
#include "tests/embed/harness.h"

#include <stdint.h>

#include "tests/embed/board/host.h"

/* ---- the stack --------------------------------------------------------------------------------------------------- */

enum { PAINTED_WORDS = 8192 }; /* half of a board's stack */
static const uint32_t paint = 0xA5A5A5A5u;
static size_t stack_bytes;

static inline volatile uint32_t *stack_pointer(void) {
    uint32_t *here;
#if defined(__riscv)
    __asm__ volatile("mv %0, sp" : "=r"(here));
#else
    __asm__ volatile("mov %0, sp" : "=r"(here));
#endif
    return here;
}

/* Paints the memory below the stack pointer, runs the model, and finds the lowest word that changed. Neither loop calls
 * a function: its frame would lie in the paint. */
__attribute__((noinline)) static int measured_run(void) {
    volatile uint32_t *const top = stack_pointer();
    for (size_t i = 1; i <= PAINTED_WORDS; i++) *(top - i) = paint;
    harness_begin();
    const int status = harness_run();
    harness_end();
    size_t depth = PAINTED_WORDS;
    while (depth && *(top - depth) == paint) depth--;
    stack_bytes = depth * sizeof *top;
    return status;
}

/* The empty statement keeps calls of these from being removed. */
__attribute__((noinline)) void harness_begin(void) {
    __asm__ volatile("");
}

__attribute__((noinline)) void harness_end(void) {
    __asm__ volatile("");
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

static void fill(const harness_port *port, unsigned char byte) {
    unsigned char *bytes = port->bytes;
    for (size_t i = 0; i < port->count; i++) bytes[i] = byte;
}

static void fill_all(unsigned char byte) {
    fill(&harness_arena, byte);
    for (size_t i = 0; i < harness_output_count; i++) fill(&harness_outputs[i], byte);
}

/* FNV-1a. */
static uint32_t hash_outputs(void) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < harness_output_count; i++) {
        const unsigned char *bytes = harness_outputs[i].bytes;
        for (size_t k = 0; k < harness_outputs[i].count; k++) hash = (hash ^ bytes[k]) * 16777619u;
    }
    return hash;
}

static void print_number(const char *name, size_t number) {
    char text[24];
    size_t at = sizeof text;
    text[--at] = '\0';
    text[--at] = '\n';
    do {
        text[--at] = (char)('0' + (char)(number % 10));
        number /= 10;
    } while (number);
    host_print(name);
    host_print(text + at);
}

static int fail(const char *what, const char *path) {
    host_print(what);
    host_print(path);
    host_print("\n");
    return 2;
}

int main(void) {
    for (size_t i = 0; i < harness_input_count; i++) {
        const harness_port *port = &harness_inputs[i];
        if (host_read(port->path, port->bytes, port->count)) return fail("cannot read ", port->path);
    }
    fill_all(0x00);
    int status = harness_run();
    const uint32_t first = hash_outputs();
    fill_all(0xFF);
    status |= measured_run();
    if (hash_outputs() != first) return fail("a second run gives other outputs", "");
    for (size_t i = 0; i < harness_output_count; i++) {
        const harness_port *port = &harness_outputs[i];
        if (host_write(port->path, port->bytes, port->count)) return fail("cannot write ", port->path);
    }
    print_number("stack ", stack_bytes);
    return status;
}
