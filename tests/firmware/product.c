/* product.c - what a product does with a compiled model besides running it: steps, hooks, runs that are left, sections,
 * errors, helpers of its ports. products.py builds it for this machine and for boards, with a model named net that has
 * one input and one output, and gives it files; it prints each check that fails, and at the end their number. */
#include "net.h"
#include "net_config.h"
#include "tests/embed/board/host.h"
#include "tests/embed/board/ticks.h"

#include <stdint.h>
#include <string.h>

static struct {
    NET_IN0_TYPE in[NET_IN0_SIZE];
    NET_OUT0_TYPE out[NET_OUT0_SIZE], expected[NET_OUT0_SIZE];
} port;
static unsigned char arena[NET_ARENA_BYTES + NET_ARENA_ALIGN] __attribute__((aligned(NET_ARENA_ALIGN)));
#if defined(NET_SLOW_ARENA_BYTES)
static unsigned char slow_arena[NET_SLOW_ARENA_BYTES] __attribute__((aligned(NET_ARENA_ALIGN)));
#endif
#if defined(NET_WEIGHTS_BYTES)
static unsigned char weights[NET_WEIGHTS_BYTES + NET_WEIGHTS_ALIGN] __attribute__((aligned(NET_WEIGHTS_ALIGN)));
#endif
static const char *const names[] = {NET_STEP_NAMES};

static void print_number(int number) {
    char text[] = "         \n";
    for (int i = 8; i >= 0 && (number || i == 8); i--, number /= 10) text[i] = (char)('0' + number % 10);
    host_print(text);
}

static int checks, failures;

static void check(int right, const char *what) {
    checks++;
    if (right) return;
    failures++;
    host_print("FAILED ");
    host_print(what);
    host_print("\n");
}

/* ---- hooks ------------------------------------------------------------------------------------------------------- */

static int before, after, last_before, cancel_at;
static uint32_t began, spent[NET_STEPS + 1]; /* instructions of each step */

void product_before(int step) {
    before++;
    last_before = step;
    began = ticks();
}

void product_after(int step) {
    after++;
    spent[step] += INSTRUCTIONS_A_TICK * (ticks() - began);
    check(step == last_before, "a step ends that has not begun");
}

int product_cancels(int step) {
    return step == cancel_at;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static net_state fresh(void) {
    net_state state;
    memset(&state, 0xAB, sizeof state); /* members that a caller does not know of are not read */
    state.in0 = port.in;
    state.out0 = port.out;
#if defined(NET_WEIGHTS_BYTES)
    state.weights = weights;
#endif
#if defined(NET_SLOW_ARENA_BYTES)
    state.slow_arena = slow_arena;
    state.slow_arena_bytes = NET_SLOW_ARENA_BYTES;
#endif
    state.arena_bytes = NET_ARENA_BYTES;
    state.next = 0;
    return state;
}

static int run(void) {
#if defined(NET_WEIGHTS_BYTES)
    return net_run(port.in, port.out, weights, arena);
#elif defined(NET_SLOW_ARENA_BYTES)
    return net_run(port.in, port.out, arena, slow_arena);
#else
    return net_run(port.in, port.out, arena);
#endif
}

static void poison(unsigned char byte) {
    memset(arena, byte, NET_ARENA_BYTES);
#if defined(NET_SLOW_ARENA_BYTES)
    memset(slow_arena, byte, sizeof slow_arena);
#endif
    memset(port.out, byte, sizeof port.out);
}

static void check_output(const char *what) {
    check(!memcmp(port.out, port.expected, sizeof port.out), what);
    poison(0x5A);
}

/* Runs steps until one with this number is next, or to the end. */
static int run_until(net_state *state, int step) {
    int next = 1, calls = 0;
    while (next > 0 && next != step) {
        next = net_step(state, arena);
        check(next == state->next, "what a step returns is what the state says");
        calls++;
    }
    check(next >= 0, "a step fails");
    return calls;
}

static void check_steps(void) {
    net_state state = fresh();
    before = after = 0;
    const int calls = run_until(&state, -1);
    check_output("steps give other outputs than a run");
    check(calls >= NET_STEPS && before == calls && after == calls, "hooks are called once a step");
    check(last_before == NET_STEPS, "the last step is the last");
    check(sizeof names / sizeof *names == NET_STEPS && *names[0], "each step has a name");
    run_until(&state, -1); /* the state is ready for another run */
    check_output("a second run of a state gives other outputs");
    for (int step = 2; step <= NET_STEPS; step++) {
        state = fresh();
        run_until(&state, step);
        poison(0xFF);
        state.next = 0;
        run_until(&state, -1);
        check_output("a run that begins again after it was left gives other outputs");
        cancel_at = step;
        check(run() == NET_E_CANCELLED, "a run does not end where it is cancelled");
        cancel_at = 0;
        check(last_before == step - 1, "a step runs after the run was cancelled");
        poison(0x33);
        check(run() == NET_OK, "a run after one that was cancelled fails");
        check_output("a run after one that was cancelled gives other outputs");
    }
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static void check_errors(void) {
    net_state state = fresh();
    check(net_step(NULL, arena) == NET_E_NULL, "no state");
    check(net_step(&state, NULL) == NET_E_NULL, "no arena");
    check(net_step(&state, arena + 1) == NET_E_ALIGN, "an arena that is not aligned");
    state.in0 = NULL;
    check(net_step(&state, arena) == NET_E_NULL, "no input");
    state = fresh();
    state.out0 = NULL;
    check(net_step(&state, arena) == NET_E_NULL, "no output");
    state = fresh();
    state.arena_bytes = NET_ARENA_BYTES - 1;
    check(net_step(&state, arena) == NET_E_ARENA, "an arena that is too small");
    state = fresh();
    state.next = NET_STEPS + 1;
    check(net_step(&state, arena) == NET_E_STEP, "a step behind the last");
    state.next = -1;
    check(net_step(&state, arena) == NET_E_STEP, "a step before the first");
#if defined(NET_WEIGHTS_BYTES)
    state = fresh();
    state.weights = NULL;
    check(net_step(&state, arena) == NET_E_NULL, "no weights");
    state.weights = weights + 1;
    check(net_step(&state, arena) == NET_E_ALIGN, "weights that are not aligned");
    weights[0]++;
    check(run() == NET_E_WEIGHTS && net_verify(weights) == NET_E_WEIGHTS, "bytes that are no weights");
    weights[0]--;
    weights[NET_WEIGHTS_BYTES - 1]++;
    check(net_verify(weights) == NET_E_WEIGHTS, "weights with a byte that changed");
    weights[NET_WEIGHTS_BYTES - 1]--;
    check(net_verify(weights) == NET_OK, "weights are verified");
#endif
#if defined(NET_SLOW_ARENA_BYTES)
    state = fresh();
    state.slow_arena_bytes--;
    check(net_step(&state, arena) == NET_E_ARENA, "a second arena that is too small");
    state.slow_arena = NULL;
    check(net_step(&state, arena) == NET_E_NULL, "no second arena");
#endif
    poison(0x77);
    check(run() == NET_OK, "a run after errors fails");
    check_output("a run after errors gives other outputs");
}

/* ---- sections ---------------------------------------------------------------------------------------------------- */

#if defined(PRODUCT_SECTIONS)
extern const unsigned char __start_product_code[], __stop_product_code[];

static void check_sections(void) {
    const uintptr_t step = (uintptr_t)&net_step, run_at = (uintptr_t)&net_run;
    const uintptr_t from = (uintptr_t)__start_product_code, to = (uintptr_t)__stop_product_code;
    check(step >= from && step < to && run_at >= from && run_at < to, "code is not in its section");
}
#else
static void check_sections(void) {}
#endif

/* ---- ports ------------------------------------------------------------------------------------------------------- */

/* Scales that are with weights apart are found by their address. */
#if defined(PRODUCT_UPDATE) && defined(NET_WEIGHTS_BYTES)
#define QUANTIZE(value) net_in0_quantize(value, weights)
#define DEQUANTIZE(integer) net_out0_dequantize(integer, weights)
#else
#define QUANTIZE(value) net_in0_quantize(value)
#define DEQUANTIZE(integer) net_out0_dequantize(integer)
#endif

#if defined(NET_IN0_SCALE) && defined(NET_OUT0_SCALE)
static float values[PRODUCT_VALUES];
static NET_IN0_TYPE integers[PRODUCT_VALUES];
static float reals[256];

static void check_ports(void) {
    int different =
        host_read("values.raw", values, sizeof values) || host_read("integers.raw", integers, sizeof integers);
    different |= host_read("reals.raw", reals, sizeof reals);
    check(!different, "files of values are missing");
    for (int i = 0; i < PRODUCT_VALUES; i++) different += QUANTIZE(values[i]) != integers[i];
    check(!different, "a value is quantized to another integer");
    for (int i = 0; i < 256; i++) {
        const float real = DEQUANTIZE((NET_OUT0_TYPE)i);
        check(!memcmp(&real, &reals[i], sizeof real), "an integer has another value");
    }
}
#else
static void check_ports(void) {}
#endif

int main(void) {
    static uint32_t first_run[NET_STEPS + 1];
    const int missing =
        host_read("in0.raw", port.in, sizeof port.in) || host_read("out0.raw", port.expected, sizeof port.out);
    check(!missing, "files are missing");
#if defined(NET_WEIGHTS_BYTES)
    check(!host_read("net_weights.bin", weights, NET_WEIGHTS_BYTES), "weights are missing");
#endif
    poison(0);
    ticks_begin();
    check(run() == NET_OK, "a run fails");
    memcpy(first_run, spent, sizeof first_run);
    check_output("a run gives other outputs than --ep firmware");
    check_steps();
    check_errors();
    check_sections();
    check_ports();
    for (int step = 1; step <= NET_STEPS; step++) {
        host_print(names[step - 1]);
        host_print(": instructions");
        print_number((int)(first_run[step]));
    }
    host_print("checks ");
    print_number(checks);
    return failures ? 1 : 0;
}
