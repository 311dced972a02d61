/* random_calls.c - calls the library's functions in any order, with arguments that may be NULL or wrong, while
 * allocations fail, runs are cancelled, and threads run contexts of one session.
 *
 * Usage: random_calls CALLS [SEED]. Every status has to be one that the function can have, TORT_E_INTERNAL never, and
 * all memory has to be given back. With a seed the calls are the same again, but for what threads and clocks do.
 * Prints `random-calls: N passed, N failed`. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/random_calls/world.h"

enum { CALLS_OF_A_WORLD = 400, CALLS_OF_A_THREAD = 8 };

typedef struct runner {
    caller calls;
    const tort_env *env;
    tort_context *context;
    side which;
    pthread_t thread;
} runner;

static void *run_context(void *arg) {
    runner *r = arg;
    for (int i = 0; i < CALLS_OF_A_THREAD; i++) call_context(&r->calls, r->env, r->context, r->which);
    return NULL;
}

/* Runs all contexts of a session at once, while the driver asks the session. */
static void run_side_by_side(world *w) {
    runner runners[CONTEXTS];
    const int session = (int)roll(&w->driver, SESSIONS);
    int count = 0;
    for (int i = 0; i < CONTEXTS; i++) {
        if (!w->contexts[i].context || w->contexts[i].session != session) continue;
        runners[count] = (runner){.calls = {.state = w->driver.state + (uint64_t)i},
                                  .env = &w->env,
                                  .context = w->contexts[i].context,
                                  .which = w->sessions[session].which};
        if (pthread_create(&runners[count].thread, NULL, run_context, &runners[count])) abort();
        count++;
    }
    if (count) ask_beside(w, session);
    for (int i = 0; i < count; i++) {
        pthread_join(runners[i].thread, NULL);
        add_caller(&w->driver, &runners[i].calls);
    }
}

/* One world from its begin to its end. In every second one allocations fail. */
static void live(const onnx_bytes *files, uint64_t seed, caller *sum) {
    world w;
    world_begin(&w, files, seed);
    if (one_in(&w.driver, 2)) w.chances = 20u << roll(&w.driver, 8);
    while (w.driver.calls < CALLS_OF_A_WORLD && !w.driver.failed) {
        call_at_random(&w);
        if (one_in(&w.driver, 25)) run_side_by_side(&w);
    }
    world_end(&w);
    if (w.driver.failed)
        printf("random-calls: FAILED with the seed %llu: %s\n", (unsigned long long)seed, w.driver.complaint);
    add_caller(sum, &w.driver);
}

int main(int argc, char **argv) {
    const int64_t calls = argc > 1 ? strtoll(argv[1], NULL, 10) : 0;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    onnx_bytes files[SIDE_COUNT];
    caller sum = {.state = 0};
    for (int i = 0; i < SIDE_COUNT; i++) side_model(&files[i], (side)i);
    while (sum.calls < calls && !sum.failed) live(files, seed++, &sum);
    for (int i = 0; i < SIDE_COUNT; i++) onnx_free(&files[i]);
    for (unsigned i = 0; i < STATUSES; i++)
        if (sum.by_status[i]) printf("%-20s %lld\n", tort_status_name((tort_status)i), (long long)sum.by_status[i]);
    printf("random-calls: %lld passed, %lld failed\n", (long long)(sum.calls - sum.failed), (long long)sum.failed);
    return sum.failed != 0;
}
